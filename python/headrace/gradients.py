# SPDX-License-Identifier: Apache-2.0
"""Symbolic derivatives: one call of the runtime's builder. Python adds gradient functions of the script's own, by op type or by
`gradient_override_map`."""
from headrace import _headrace, dtypes
from headrace.graph import GraphKeys, get_default_graph, name_scope  # noqa: F401
from headrace.tensor_util import convert_to_tensor, register_tensor_conversion_function

_Tensor = _headrace.Tensor


class IndexedSlices(object):
    """Some rows of a large tensor: values[j] belongs to row indices[j]; rows that occur twice add up."""
    __array_priority__ = 100

    def __init__(self, values, indices, dense_shape=None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    values = property(lambda self: self._values)
    indices = property(lambda self: self._indices)
    dense_shape = property(lambda self: self._dense_shape)
    name = property(lambda self: self.values.name)
    device = property(lambda self: self.values.device)
    op = property(lambda self: self.values.op)
    dtype = property(lambda self: self.values.dtype)
    graph = property(lambda self: self.values.graph)

    @property
    def shape(self):
        from headrace.tensor_shape import TensorShape
        from headrace.tensor_util import constant_value_as_shape
        return TensorShape(None) if self._dense_shape is None else constant_value_as_shape(self._dense_shape)

    def consumers(self):
        return self.values.consumers()

    def __neg__(self):
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __mul__(self, other):
        return IndexedSlices(self.values * other, self.indices, self.dense_shape)

    def __str__(self):
        return "IndexedSlices(indices=%s, values=%s%s)" % (self._indices, self._values,
                                                           "" if self._dense_shape is None else ", dense_shape=%s" % self._dense_shape)

    __repr__ = __str__


def _make_values():
    from collections import namedtuple
    return (namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"]),
            namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"]))


IndexedSlicesValue, SparseTensorValue = _make_values()


class SparseTensor(object):
    """A tensor by its non-zero elements: indices[j] is where values[j] lies."""

    def __init__(self, indices, values, dense_shape):
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtypes.int64, name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, name="dense_shape")

    indices = property(lambda self: self._indices)
    values = property(lambda self: self._values)
    dense_shape = property(lambda self: self._dense_shape)
    op = property(lambda self: self._values.op)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._indices.graph)

    @property
    def shape(self):
        from headrace.tensor_util import constant_value_as_shape
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self):
        return self.shape

    def eval(self, feed_dict=None, session=None):
        from headrace.session import get_default_session
        return SparseTensorValue(*(session or get_default_session()).run([self.indices, self.values, self.dense_shape], feed_dict))

    @classmethod
    def from_value(cls, value):
        return value if isinstance(value, SparseTensor) else cls(value.indices, value.values, value.dense_shape)


def _slices_to_tensor(value, dtype, name, as_ref):
    from headrace.op_gen import gen
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError("Tensor conversion requested dtype %s for IndexedSlices with dtype %s" % (dtype.name, value.dtype.name))
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape: %s" % value)
    from headrace.math import cast
    rows = gen.StridedSlice(value.dense_shape, [0], [1], [1], shrink_axis_mask=1)
    return gen.UnsortedSegmentSum(value.values, value.indices, cast(rows, dtypes.int32), name)


register_tensor_conversion_function(IndexedSlices, _slices_to_tensor)


# --- functions of the script's own --------------------------------------
_functions = {}      # op type, or name for gradient_override_map -> f(op, *grads)


class RegisterGradient(object):
    """`@tf.RegisterGradient("Name")`: the gradient of an op type, or one to be named in gradient_override_map."""

    def __init__(self, op_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f):
        if self._op_type in _functions:
            raise KeyError("Registering two gradient with name '%s'!" % self._op_type)
        _functions[self._op_type] = f
        return f


def NotDifferentiable(op_type):
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _functions[op_type] = None


NoGradient = NotDifferentiable


def _call(f):
    def run(op, upstreams):
        from headrace.array import zeros_like
        grads = [zeros_like(t) if g is None and t.dtype.is_floating else g for g, t in zip(upstreams, op.outputs)]
        out = [] if f is None else f(op, *grads)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        if f is None:
            out = [None] * len(op.inputs)
        return [g if g is None or isinstance(g, (_Tensor, IndexedSlices)) else convert_to_tensor(g) for g in out]
    return run


def _override(op):
    """Called for every operation on the way while gradients are built: the function for it, or None."""
    try:
        name = op.get_attr("_gradient_op_type")
    except ValueError:
        name = op.type
    name = name.decode() if isinstance(name, bytes) else name
    if name in _functions:
        return _call(_functions[name])
    if name != op.type:
        raise LookupError("Gradient registry has no entry for: %s" % name)
    return None


class AggregationMethod(object):
    ADD_N, EXPERIMENTAL_TREE, EXPERIMENTAL_ACCUMULATE_N = 0, 1, 2
    DEFAULT = ADD_N


def _as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _not_differentiated(graph):
    """What leaves loops made with back_prop=False."""
    stops, loops = [], [c for key in (GraphKeys.WHILE_CONTEXT, GraphKeys.COND_CONTEXT) for c in graph._collections.get(key, ())]
    while loops:
        context = loops.pop()
        loops.extend(context._nested)
        if context.IsWhileContext() and not context.back_prop:
            stops.extend(context.loop_exits)
    return stops


def _lay_beside(graph, first, scope):
    """Gives the new nodes, which are called <scope><operation>_grad/..., the devices of the operations that they differentiate."""
    for op in graph._operations()[first:]:
        name, found, _ = op.name[len(scope):].partition("_grad/")
        forward = graph._find(name) if found else None
        if forward is not None and forward.device:
            op._set_device(forward.device)


def gradients(ys, xs, grad_ys=None, name="gradients", colocate_gradients_with_ops=False, gate_gradients=False, aggregation_method=None,
              stop_gradients=None, unconnected_gradients="none"):
    """dy/dx for each of xs, summed over ys: a Tensor, IndexedSlices for what gathers read, None where no y depends on x."""
    ys, xs = _as_list(ys), _as_list(xs)
    handles = []
    for x in xs:  # a resource variable is differentiated by its handle, any other by its reference or value
        handles.append(x.handle if hasattr(x, "handle") and isinstance(getattr(x, "handle"), _Tensor) else x)
    ys = [convert_to_tensor(y, name="y") for y in ys]
    targets = [
        h if isinstance(h, _Tensor) else h.values if isinstance(h, IndexedSlices) else convert_to_tensor(h, name="x", as_ref=True) for h in handles]
    if not targets:
        return []
    graph = (ys + targets)[0].graph
    with name_scope(name, "gradients", ys) as scope:
        upstream = None
        if grad_ys is not None:
            upstream = []
            for i, (g, y) in enumerate(zip(_as_list(grad_ys), ys)):
                if len(_as_list(grad_ys)) != len(ys):
                    raise ValueError("Passed %d grad_ys for %d ys" % (len(_as_list(grad_ys)), len(ys)))
                g = None if g is None else convert_to_tensor(g, y.dtype.base_dtype, name="grad_ys_%d" % i)
                if g is not None and not g.dtype.is_compatible_with(y.dtype.base_dtype):
                    raise ValueError("Gradient type %s generated for tensor %s with type %s must match" % (g.dtype.name, y, y.dtype.name))
                upstream.append(g)
        stops = [convert_to_tensor(s) for s in _as_list(stop_gradients or [])] + _not_differentiated(graph)
        watch = _functions or graph._state.get("gradient_overrides")
        if graph._context is not None:
            graph._context._adopt_new()
        first = graph.node_count()
        out = _headrace.gradients(graph, ys, targets, upstream, stops, scope[:-1], _override if watch else None)
        if colocate_gradients_with_ops:
            _lay_beside(graph, first, scope)
        graph._settle_made(first)
        if graph._context is not None:
            graph._context.take_placed(first)
    unconnected = getattr(unconnected_gradients, "value", unconnected_gradients)
    if unconnected == "zero":
        from headrace.array import zeros_like
        out = [zeros_like(convert_to_tensor(x)) if g is None else g for g, x in zip(out, xs)]
    elif unconnected != "none":
        raise ValueError("Unknown value for unconnected_gradients: %r" % unconnected_gradients)
    return out


def hessians(ys, xs, name="hessians", colocate_gradients_with_ops=False, gate_gradients=False, aggregation_method=None):
    """Second derivatives of ys by each x of known size, row by row."""
    from headrace.array import reshape, shape, stack, unstack
    out = []
    for x in _as_list(xs):
        first = gradients(ys, x)[0]
        count = convert_to_tensor(x).shape.num_elements()
        if count is None:
            raise NotImplementedError("hessians need x of known shape")
        rows = [gradients(g, x)[0] for g in unstack(reshape(first, [-1]), count)]
        from headrace.array import concat, zeros_like
        x = convert_to_tensor(x)
        rows = [zeros_like(x) if r is None else r for r in rows]
        out.append(reshape(stack(rows), concat([shape(x), shape(x)], 0)))
    return out


def custom_gradient(f=None):
    """`f(*args)` gives (outputs, grad_fn): the outputs' gradient is grad_fn's, whatever f is made of."""
    def decorated(*args, **kwargs):
        from headrace.op_gen import gen
        graph = get_default_graph()
        name = "CustomGradient-%d" % graph._state.setdefault("custom_gradients", 0)
        graph._state["custom_gradients"] += 1
        args = [gen.Identity(convert_to_tensor(a)) for a in args]
        result, grad_fn = f(*args, **kwargs)
        flat = [convert_to_tensor(r) for r in _as_list(result)]
        count = len(flat)

        def internal(op, *upstream):
            grads = grad_fn(*upstream[:count])
            return [None] * count + (_as_list(grads))
        RegisterGradient(name)(internal)
        with graph.gradient_override_map({"IdentityN": name}):
            outputs = gen.IdentityN(flat + args)
        outputs = outputs[:count]
        return type(result)(outputs) if isinstance(result, (list, tuple)) else outputs[0]
    return decorated if f is not None else custom_gradient


def recompute_grad(f):
    return f
