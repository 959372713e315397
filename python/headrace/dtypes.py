# SPDX-License-Identifier: Apache-2.0
"""Element types: one `DType` object for each number, references too, so that `is` and `==` agree."""
import numpy as np

# number, name, NumPy type (None: no NumPy form), class
_ROWS = (
    (1, "float32", np.float32, "f"), (2, "float64", np.float64, "f"), (3, "int32", np.int32, "i"), (4, "uint8", np.uint8, "u"),
    (5, "int16", np.int16, "i"), (6, "int8", np.int8, "i"), (7, "string", np.object_, ""), (8, "complex64", np.complex64, "c"),
    (9, "int64", np.int64, "i"), (10, "bool", np.bool_, "b"), (11, "qint8", np.int8, "q"), (12, "quint8", np.uint8, "q"),
    (13, "qint32", np.int32, "q"), (14, "bfloat16", None, "f"), (15, "qint16", np.int16, "q"), (16, "quint16", np.uint16, "q"),
    (17, "uint16", np.uint16, "u"), (18, "complex128", np.complex128, "c"), (19, "float16", np.float16, "f"),
    (20, "resource", np.object_, ""),
    (21, "variant", np.object_, ""), (22, "uint32", np.uint32, "u"), (23, "uint64", np.uint64, "u"), (24, "float8_e5m2", None, "f"),
    (25, "float8_e4m3fn", None, "f"), (26, "float8_e4m3fnuz", None, "f"), (27, "float8_e4m3b11fnuz", None, "f"),
    (28, "float8_e5m2fnuz", None, "f"),
    (29, "int4", None, "i"), (30, "uint4", None, "u"), (31, "int2", None, "i"), (32, "uint2", None, "u"), (33, "float4_e2m1fn", None, "f"))


class DType(object):
    """The type of a tensor's elements. `tf.float32` and its like are the only instances."""
    __slots__ = ("_number", "_name", "_numpy", "_class", "__weakref__")

    def __init__(self, number, name, numpy, kind):
        self._number, self._name, self._numpy, self._class = number, name, numpy, kind

    as_datatype_enum = property(lambda self: self._number)
    name = property(lambda self: self._name)
    _is_ref_dtype = property(lambda self: self._number > 100)
    base_dtype = property(lambda self: _by_number[self._number - 100] if self._number > 100 else self)
    _as_ref = property(lambda self: self if self._number > 100 else _by_number[self._number + 100])
    is_floating = property(lambda self: self._class == "f")
    is_complex = property(lambda self: self._class == "c")
    is_integer = property(lambda self: self._class in ("i", "u"))
    is_unsigned = property(lambda self: self._class == "u")
    is_bool = property(lambda self: self._class == "b")
    is_quantized = property(lambda self: self._class == "q")
    is_numpy_compatible = property(lambda self: self._number % 100 not in (20, 21))

    @property
    def as_numpy_dtype(self):
        if self._numpy is None:
            self._numpy = self.base_dtype._extension_type() if self._number < 100 else self.base_dtype.as_numpy_dtype
        return self._numpy

    def _extension_type(self):
        """NumPy's own types lack this one: ml_dtypes has it; else its bits as an integer, under its name."""
        try:
            import ml_dtypes
            return getattr(ml_dtypes, self._name)
        except (ImportError, AttributeError):
            return np.dtype([(self._name, np.uint16 if self._name == "bfloat16" else np.int8 if self._class == "i" else np.uint8)])

    def _array_of(self, values):
        """Numbers as an array of this type."""
        kind = np.dtype(self.as_numpy_dtype)
        if kind.fields is None:
            return np.asarray(values).astype(kind) if isinstance(values, (np.ndarray, np.generic)) else np.array(values, kind)
        from headrace import small_numbers
        return small_numbers.array(values, self.base_dtype)

    @property
    def real_dtype(self):
        return {8: float32, 18: float64}.get(self.base_dtype._number, self)

    @property
    def size(self):
        return 1 if self._numpy is np.object_ else np.dtype(self.as_numpy_dtype).itemsize

    @property
    def min(self):
        return self._limits().min

    @property
    def max(self):
        return self._limits().max

    def _limits(self):
        kind = np.dtype(self.as_numpy_dtype)
        if kind.kind in "iu":
            return np.iinfo(kind)
        if kind.kind == "f":
            return np.finfo(kind)
        if kind.kind == "V" and kind.fields is None:
            import ml_dtypes
            return ml_dtypes.finfo(kind)
        raise TypeError("Cannot find minimum value of %r." % self)

    @property
    def limits(self):
        return self.min, self.max

    def is_compatible_with(self, other):
        other = as_dtype(other)
        return self._number in (other._number, other.base_dtype._number)

    def __eq__(self, other):
        if other is None:
            return False
        if type(other) is not DType:
            try:
                other = as_dtype(other)
            except TypeError:
                return False
        return self is other

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self._number

    def __int__(self):
        return self._number

    def __repr__(self):
        return "tf." + self._name

    def __str__(self):
        return "<dtype: %r>" % self._name

    def __reduce__(self):
        return as_dtype, (self._name,)


_by_number = {}
_by_name = {}
_by_numpy = {}
for _number, _name, _numpy, _kind in _ROWS:
    _plain = DType(_number, _name, _numpy, _kind)
    _ref = DType(_number + 100, _name + "_ref", _numpy, _kind)
    for _d in (_plain, _ref):
        _by_number[_d._number] = _by_name[_d._name] = globals()[_d._name] = _d
    if _numpy is not None and _kind != "q" and _numpy is not np.object_:
        _by_numpy[_numpy] = _by_numpy[np.dtype(_numpy)] = _plain
_by_name.update(half=float16, half_ref=float16_ref, float=float32, float_ref=float32_ref)  # noqa: F821
_by_name.update(double=float64, double_ref=float64_ref)  # noqa: F821
half, double = float16, float64  # noqa: F821
_by_numpy.update({float: float32, int: int32, type(True): globals()["bool"], str: string, bytes: string,  # noqa: F821
                  object: string, complex: complex128,  # noqa: F821
                  np.object_: string, np.str_: string, np.bytes_: string, np.dtype("O"): string})  # noqa: F821
QUANTIZED_DTYPES = frozenset(d for d in _by_number.values() if d._class == "q")


def as_dtype(value):
    """The DType for a DType, its number or name, a NumPy type, or Python's float, int, bool, str."""
    if type(value) is DType:
        return value
    try:
        d = _by_numpy.get(value) or _by_number.get(value) or _by_name.get(value)
    except TypeError:
        d = None
    if d is not None:
        return d
    try:
        kind = np.dtype(value) if not hasattr(value, "dtype") or isinstance(value, type) else np.dtype(value.dtype)
    except TypeError:
        kind = None
    if kind is not None and value is not None:
        if kind.kind in "SUO":
            return string  # noqa: F821
        d = _by_numpy.get(kind) or _by_numpy.get(kind.type) or _by_name.get(kind.name)
        if d is not None:
            return d
        if kind.fields and len(kind.fields) == 1:
            d = _by_name.get(next(iter(kind.fields)))
            if d is not None:
                return d
    raise TypeError("Cannot convert value %r to a TensorFlow DType." % (value,))


def __getattr__(name):
    """tf.dtypes has a few functions beside the types."""
    if name in ("cast", "saturate_cast", "complex"):
        import headrace
        return getattr(headrace, name)
    raise AttributeError("module 'headrace.dtypes' has no attribute %r" % name)
