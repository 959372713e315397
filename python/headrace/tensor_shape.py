# SPDX-License-Identifier: Apache-2.0
"""Static shapes in TensorFlow 1's manner: a `TensorShape` of `Dimension`s, either of which may be unknown."""


class Dimension(object):
    """One dim: a size, or None. Arithmetic with an unknown dim gives an unknown one; so does a comparison (None)."""
    __slots__ = ("_value",)

    def __init__(self, value):
        if value is None:
            self._value = None
        elif isinstance(value, Dimension):
            self._value = value._value
        else:
            try:
                self._value = value.__index__()
            except AttributeError:
                self._value = int(value)
                if isinstance(value, str) or self._value != value:
                    raise TypeError("Dimension value must be integer or None or have an __index__ method, got value %r" % (value,)) from None
            if self._value < 0:
                raise ValueError("Dimension %d must be >= 0" % self._value)

    value = property(lambda self: self._value)

    def __repr__(self):
        return "Dimension(%r)" % self._value

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __eq__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or other._value is None else self._value == other._value

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same is NotImplemented else None if same is None else not same

    def __hash__(self):
        return hash(self._value)

    def __bool__(self):
        return bool(self._value)

    def __int__(self):
        return self._value

    def __long__(self):
        return self._value

    def __index__(self):
        return self._value

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError("Dimensions %s and %s are not compatible" % (self, other))

    def merge_with(self, other):
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)


def _add_dimension_arithmetic():
    def forward(compute):
        def method(self, other):
            try:
                other = as_dimension(other)
            except (TypeError, ValueError):
                return NotImplemented
            a, b = self._value, other._value
            return Dimension(None if a is None or b is None else compute(a, b))
        return method

    def backward(compute):
        return forward(lambda a, b: compute(b, a))

    def comparison(compute):
        def method(self, other):
            other = as_dimension(other)
            a, b = self._value, other._value
            return None if a is None or b is None else compute(a, b)
        return method

    for name, compute in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b),
                          ("floordiv", lambda a, b: a // b), ("mod", lambda a, b: a % b)):
        setattr(Dimension, "__%s__" % name, forward(compute))
        setattr(Dimension, "__r%s__" % name, backward(compute))
    Dimension.__div__ = Dimension.__floordiv__
    for name, compute in (("lt", lambda a, b: a < b), ("le", lambda a, b: a <= b), ("gt", lambda a, b: a > b), ("ge", lambda a, b: a >= b)):
        setattr(Dimension, "__%s__" % name, comparison(compute))


_add_dimension_arithmetic()


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


class TensorShape(object):
    """What is known of a shape. `_dims` is a tuple of ints and None, or None when even the rank is unknown."""
    __slots__ = ("_dims",)

    def __init__(self, dims):
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "unknown_rank"):  # a TensorShapeProto
            self._dims = None if dims.unknown_rank else tuple(None if d.size < 0 else d.size for d in dims.dim)
        elif isinstance(dims, (str, bytes)):
            raise TypeError("A string has ambiguous TensorShape, please wrap in a list or convert to an int: %s" % dims)
        else:
            try:
                dims = iter(dims)
            except TypeError:
                dims = (dims,)
            self._dims = tuple(d if d.__class__ is int and d >= 0 else Dimension(d)._value for d in dims)

    @property
    def dims(self):
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def rank(self):
        return None if self._dims is None else len(self._dims)

    ndims = rank

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter([Dimension(d) for d in self._dims])

    def __getitem__(self, key):
        if self._dims is not None:
            return TensorShape(self._dims[key]) if isinstance(key, slice) else Dimension(self._dims[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None or stop is None or stop < 0 or start < 0:
            return TensorShape(None)
        return TensorShape([None] * max(0, stop - start))

    def __repr__(self):
        return "TensorShape(%s)" % (None if self._dims is None else [Dimension(d) for d in self._dims])

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        text = ", ".join("?" if d is None else str(d) for d in self._dims)
        return "(%s,)" % text if len(self._dims) == 1 else "(%s)" % text

    def __eq__(self, other):
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._dims == other._dims

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __hash__(self):
        return hash(self._dims)

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def __reduce__(self):
        return TensorShape, (self._dims,)

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self):
        from headrace.protos import message
        proto = message("TensorShapeProto")()
        if self._dims is None:
            proto.unknown_rank = True
        else:
            for d in self._dims:
                proto.dim.add().size = -1 if d is None else d
        return proto

    def num_elements(self):
        if not self.is_fully_defined():
            return None
        n = 1
        for d in self._dims:
            n *= d
        return n

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError("Shape %s is not fully defined" % self)

    def is_compatible_with(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError("Shapes %s and %s are incompatible" % (self, other))

    def most_specific_compatible_shape(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims)])

    def merge_with(self, other):
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError("Shapes %s and %s are not compatible" % (self, other))
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims)])

    def concatenate(self, other):
        other = as_shape(other)
        return TensorShape(None) if self._dims is None or other._dims is None else TensorShape(self._dims + other._dims)

    def assert_same_rank(self, other):
        other = as_shape(other)
        if self._dims is not None and other._dims is not None and len(self._dims) != len(other._dims):
            raise ValueError("Shapes %s and %s must have the same rank" % (self, other))

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError("Shape %s must have rank %d" % (self, rank))

    def with_rank(self, rank):
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError("Shape %s must have rank %d" % (self, rank)) from None

    def with_rank_at_least(self, rank):
        if self.rank is not None and self.rank < rank:
            raise ValueError("Shape %s must have rank at least %d" % (self, rank))
        return self

    def with_rank_at_most(self, rank):
        if self.rank is not None and self.rank > rank:
            raise ValueError("Shape %s must have rank at most %d" % (self, rank))
        return self


def as_shape(shape):
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(ndims=None, rank=None):
    ndims = ndims if rank is None else rank
    return TensorShape(None if ndims is None else [None] * ndims)


def dimension_value(dimension):
    return dimension.value if isinstance(dimension, Dimension) else dimension


def broadcast_shape(a, b):
    """The static shape of two operands' broadcast."""
    a, b = as_shape(a), as_shape(b)
    if a._dims is None or b._dims is None:
        return TensorShape(None)
    n = max(len(a._dims), len(b._dims))
    out = []
    for x, y in zip((1,) * (n - len(a._dims)) + a._dims, (1,) * (n - len(b._dims)) + b._dims):
        if x == 1 or y == 1:
            out.append(y if x == 1 else x)
        elif x is None or y is None:
            out.append(y if x is None else x)
        elif x == y:
            out.append(x)
        else:
            raise ValueError("Incompatible shapes for broadcasting: %s and %s" % (a, b))
    return TensorShape(out)
