# SPDX-License-Identifier: Apache-2.0
"""`Tensor` and `Operation`: what the extension's objects get in Python, operators and slicing above all."""
from headrace import _headrace
from headrace.tensor_shape import TensorShape
from headrace.op_gen import gen

_Tensor, _Operation = _headrace.Tensor, _headrace.Operation


class Operation(_Operation):
    """A node of a graph. Made by the graph alone."""
    _context = None  # the ControlFlowContext that it was made in

    @property
    def node_def(self):
        from headrace.protos import message
        return message("NodeDef").FromString(self._node_def())

    @property
    def op_def(self):
        from headrace.protos import op_def
        return op_def(self.type)

    @property
    def traceback(self):
        return []

    def values(self):
        return tuple(self.outputs)

    def colocation_groups(self):
        try:
            return [g for g in self.get_attr("_class") if g.startswith(b"loc:@")] or [b"loc:@" + self.name.encode()]
        except ValueError:
            return [b"loc:@" + self.name.encode()]

    def run(self, feed_dict=None, session=None):
        from headrace.session import run_in_session
        run_in_session(self, feed_dict, self.graph, session)

    def _add_control_inputs(self, ops):
        for op in ops:
            self._add_control_input(op)

    def _get_control_flow_context(self):
        return self._context

    def _set_control_flow_context(self, context):
        self._context = context

    def __repr__(self):
        return "<tf.Operation '%s' type=%s>" % (self.name, self.type)

    def __str__(self):
        return str(self.node_def)


class Tensor(_Tensor):
    """One output of an operation: a value that a session computes."""
    __array_priority__ = 100

    @property
    def shape(self):
        return TensorShape(self._dims)

    def get_shape(self):
        return TensorShape(self._dims)

    def set_shape(self, shape):
        self.graph._refine(self, TensorShape(shape)._dims)

    def _shape_as_list(self):
        dims = self._dims
        return None if dims is None else list(dims)

    def eval(self, feed_dict=None, session=None):
        from headrace.session import run_in_session
        return run_in_session(self, feed_dict, self.graph, session)

    def _as_tf_output(self):
        return self

    def __getitem__(self, key):
        return slice_helper(self, key)

    def __iter__(self):
        dims = self._dims
        if dims is None:
            raise TypeError("Tensor objects are only iterable when eager execution is enabled. To iterate over this tensor use tf.map_fn.")
        if not dims:
            raise TypeError("iteration over a 0-d tensor")
        if dims[0] is None:
            raise TypeError("Tensor objects are not iterable when their first dim is not known: use tf.map_fn or tf.unstack.")
        return (self[i] for i in range(dims[0]))

    def __len__(self):
        raise TypeError("len is not well defined for a symbolic Tensor (%s). Please call `x.shape` rather than `len(x)` for shape information." %
                        self.name)

    def __bool__(self):
        raise TypeError("Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to test if a tensor is "
                        "defined, and use TensorFlow ops such as tf.cond to execute subgraphs conditioned on the value of a tensor.")

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("Cannot convert a symbolic tf.Tensor (%s) to a numpy array." % self.name)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return "<tf.Tensor '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)

    def __str__(self):
        dims = self._dims
        return 'Tensor("%s"%s, dtype=%s%s)' % (self.name, "" if dims is None else ", shape=%s" % self.shape, self.dtype.name,
                                               ", device=%s" % self.device if self.device else "")


# --- operators -------------------------------------------------------------------------------------------------------------------------
def _forward(op, name):
    function = getattr(gen, op)

    def method(self, other):
        return function(self, other, name)
    return method


def _backward(op, name):
    function = getattr(gen, op)

    def method(self, other):
        return _headrace.call_typed(function, other, self, name)
    return method


def _make_add():
    add_v2 = gen.AddV2

    def method(self, other):
        if self.dtype.base_dtype.name == "string":
            return gen.Add(self, other, "add")
        return add_v2(self, other, "add")
    return method


def _truediv(self, other):
    from headrace.math import truediv
    return truediv(self, other)


def _rtruediv(self, other):
    from headrace.math import truediv
    from headrace.tensor_util import convert_to_tensor
    from headrace.graph import name_scope
    with name_scope("truediv") as scope:
        return truediv(convert_to_tensor(other, dtype_of(self), "x"), self, scope)


def dtype_of(tensor):
    return tensor.dtype.base_dtype


def _logical(bitwise, logical, name):
    def pick(self):
        return getattr(gen, logical if dtype_of(self).name == "bool" else bitwise)

    def method(self, other):
        return pick(self)(self, other, name)

    def backward(self, other):
        return _headrace.call_typed(pick(self), other, self, name)
    return method, backward


def _xor(self, other):
    from headrace.math import logical_xor
    return logical_xor(self, other, "xor") if dtype_of(self).name == "bool" else gen.BitwiseXor(self, other, "xor")


def _rxor(self, other):
    from headrace.tensor_util import convert_to_tensor
    return _xor(convert_to_tensor(other, dtype_of(self), "x"), self)


def _invert(self):
    return gen.LogicalNot(self) if dtype_of(self).name == "bool" else gen.Invert(self)


def _abs(self):
    from headrace.math import abs as absolute
    return absolute(self)


def _matmul(self, other):
    from headrace.math import matmul
    return matmul(self, other, name="matmul")


def _rmatmul(self, other):
    from headrace.tensor_util import convert_to_tensor
    return _matmul(convert_to_tensor(other, dtype_of(self), "x"), self)


def _add_tensor_operators():
    _and, _rand = _logical("BitwiseAnd", "LogicalAnd", "and")
    _or, _ror = _logical("BitwiseOr", "LogicalOr", "or")
    table = {
        "__add__": _make_add(),
        "__radd__": _backward("AddV2", "add"),
        "__truediv__": _truediv,
        "__rtruediv__": _rtruediv,
        "__div__": _truediv,
        "__rdiv__": _rtruediv,
        "__and__": _and,
        "__rand__": _rand,
        "__or__": _or,
        "__ror__": _ror,
        "__xor__": _xor,
        "__rxor__": _rxor,
        "__invert__": _invert,
        "__neg__": lambda self: gen.Neg(self),
        "__abs__": _abs,
        "__matmul__": _matmul,
        "__rmatmul__": _rmatmul
    }
    for method, op in (("sub", "Sub"), ("mul", "Mul"), ("floordiv", "FloorDiv"), ("mod", "FloorMod"), ("pow", "Pow")):
        table["__%s__" % method] = _forward(op, method)
        table["__r%s__" % method] = _backward(op, method)
    for method, op in (("lt", "Less"), ("le", "LessEqual"), ("gt", "Greater"), ("ge", "GreaterEqual")):
        table["__%s__" % method] = _forward(op, op)
    for name, method in table.items():
        setattr(Tensor, name, method)
    return table


_OPERATORS = None


def _lazy(name):
    """The first use of any operator makes them all: a script that only runs graphs pays for none."""
    def method(self, *args):
        global _OPERATORS
        if _OPERATORS is None:
            _OPERATORS = _add_tensor_operators()
        return _OPERATORS[name](self, *args)
    return method


OPERATOR_NAMES = tuple("__%s%s__" % (r, n) for n in ("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor", "matmul")
                       for r in ("", "r")) + ("__lt__", "__le__", "__gt__", "__ge__", "__invert__", "__neg__", "__abs__")
for _name in OPERATOR_NAMES:
    setattr(Tensor, _name, _lazy(_name))


def add_operators(cls):
    """Gives cls Tensor's operators and slicing; self is converted to a tensor first."""
    def make(name):
        def method(self, *args):
            from headrace.tensor_util import convert_to_tensor
            return getattr(Tensor, name)(convert_to_tensor(self), *args)
        return method
    for name in OPERATOR_NAMES:
        setattr(cls, name, make(name))
    cls.__array_priority__ = 100
    return cls


# --- slicing ------------------------------------------------------------------------------------------------------------------------------
def _index_error(item):
    if item is None or isinstance(item, (int, _Tensor)) or hasattr(item, "__index__") or hasattr(item, "_as_graph_element"):
        return
    raise TypeError("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices, got %r"
                    % (item,))


def _missing_bound(bounds):
    """What stands for a bound left out beside those given: a constant of their type where one of them is a tensor."""
    from headrace.tensor_util import constant
    typed = next((b for b in bounds if isinstance(b, _Tensor)), None)
    return (lambda value: value) if typed is None else (lambda value: constant(value, dtype_of(typed)))


def slice_helper(tensor, key, var=None):
    """tensor[key] as a StridedSlice: masks say which entries of begin, end and strides count."""
    from headrace.array import strided_slice, stack
    from headrace.graph import name_scope
    items = key if isinstance(key, (list, tuple)) else (key,)
    if isinstance(key, list) and any(isinstance(i, (list, tuple)) for i in key):
        raise TypeError("lists of lists are no index")
    begin, end, strides = [], [], []
    begin_mask = end_mask = ellipsis_mask = new_axis_mask = shrink_mask = 0
    for i, item in enumerate(items):
        bit = 1 << i
        if isinstance(item, slice):
            for bound in (item.start, item.stop, item.step):
                _index_error(bound)
            fill = _missing_bound((item.start, item.stop, item.step))
            begin.append(fill(0) if item.start is None else item.start)
            end.append(fill(0) if item.stop is None else item.stop)
            strides.append(fill(1) if item.step is None else item.step)
            begin_mask |= bit if item.start is None else 0
            end_mask |= bit if item.stop is None else 0
            continue
        if item is Ellipsis or item is None:
            begin.append(0)
            end.append(0)
            ellipsis_mask |= bit if item is Ellipsis else 0
            new_axis_mask |= bit if item is None else 0
        else:
            if getattr(getattr(item, "dtype", None), "name", "") == "bool" and getattr(item, "ndim", 1):
                from headrace.array import boolean_mask
                if len(items) == 1:
                    return boolean_mask(tensor, item)
            _index_error(item)
            begin.append(item)
            end.append(item + 1)
            shrink_mask |= bit
        strides.append(1)
    with name_scope(None, "strided_slice", [tensor], skip_on_eager=False) as scope:
        symbolic = any(isinstance(v, _Tensor) or hasattr(v, "_as_graph_element") for v in begin + end + strides)
        if symbolic:
            begin, end, strides = stack(begin), stack(end), stack(strides)
            if begin.dtype.name == "int64" or end.dtype.name == "int64" or strides.dtype.name == "int64":
                from headrace.math import cast
                begin, end, strides = (v if v.dtype.name == "int64" else cast(v, "int64") for v in (begin, end, strides))
        return strided_slice(tensor, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask, var=var,
                             name=scope)
