# SPDX-License-Identifier: Apache-2.0
"""Order and checks: groups, dependencies, assertions, printing."""
import builtins

from headrace import _headrace, dtypes
from headrace.graph import control_dependencies, get_default_graph, name_scope
from headrace.op_gen import gen
from headrace.tensor_util import constant_value, convert_to_tensor

_Tensor, _Operation = _headrace.Tensor, _headrace.Operation


def no_op(name=None):
    return gen.NoOp(name)


def _flat(items):
    for item in items:
        if isinstance(item, (list, builtins.tuple)):
            for x in _flat(item):
                yield x
        elif item is not None:
            yield item


def group(*inputs, **kwargs):
    """An operation that runs all inputs."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: %s" % ", ".join(kwargs))
    with name_scope(name, "group_deps", list(_flat(inputs))) as scope:
        with control_dependencies([i.op if hasattr(i, "values") and hasattr(i, "indices") else i for i in _flat(inputs)]):
            return gen.NoOp(name=scope)


def with_dependencies(dependencies, output_tensor, name=None):
    """output_tensor, to be had after the dependencies ran."""
    values = list(dependencies) + [output_tensor]
    with name_scope(name, "control_dependency", values) as scope:
        with get_default_graph().colocate_with(getattr(output_tensor, "values", output_tensor)):
            with control_dependencies(dependencies):
                if type(output_tensor).__name__ == "IndexedSlices":
                    from headrace.gradients import IndexedSlices
                    return IndexedSlices(gen.Identity(output_tensor.values, name=scope), output_tensor.indices, output_tensor.dense_shape)
                return gen.Identity(convert_to_tensor(output_tensor), name=scope)


def tuple(tensors, name=None, control_inputs=None):
    """The tensors, none of which is to be had before all are computed."""
    with name_scope(name, "tuple", [t for t in tensors if t is not None]):
        gates = [t if isinstance(t, _Operation) else t.op for t in tensors if t is not None]
        for c in control_inputs or ():
            gates.append(c if isinstance(c, _Operation) else c.op)
        if not gates:
            raise ValueError("Must have at least one Tensor: %s" % (tensors,))
        gate = group(*gates)
        out = []
        for t in tensors:
            if t is None:
                out.append(None)
            elif isinstance(t, _Operation):
                with control_dependencies([gate]):
                    out.append(gen.NoOp())
            else:
                out.append(with_dependencies([gate], t))
        return out


def tables_initializer(name="init_all_tables"):
    """Runs the initializers of all look-up tables of the graph."""
    from headrace.graph import GraphKeys, get_collection
    found = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*found, name=name) if found else no_op(name=name)


# --- checks -------------------------------------------------------------
def Assert(condition, data, summarize=None, name=None):
    """An operation that fails with INVALID_ARGUMENT, showing data, unless condition holds. Data that could be large, or far away, is only
    looked at when it does not."""
    with name_scope(name, "Assert", [condition] + list(data)):
        kinds = [convert_to_tensor(d).dtype.base_dtype for d in data]  # TensorFlow looks so, and names of what comes later count these constants
        condition = convert_to_tensor(condition, name="Condition")
        summarize = 3 if summarize is None else summarize
        if all(kind in (dtypes.string, dtypes.int32) for kind in kinds) or not _headrace.has_op("Switch"):
            return gen.Assert(condition, list(data), summarize=summarize, name="Assert")
        from headrace.flow import cond
        return cond(condition, no_op, lambda: gen.Assert(condition, list(data), summarize=summarize, name="Assert"), name="AssertGuard").op


def _comparison(op_name, op, word, static):
    def check(x, y, data=None, summarize=None, message=None, name=None):
        from headrace.math import reduce_all
        if op_name == "assert_equal":
            with name_scope(name, op_name, [x, y, data]):  # TensorFlow opens it twice
                if x is y:
                    return no_op()
        with name_scope(name, op_name, [x, y, data]):
            x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
            if data is None:
                data = ["Condition x %s y did not hold element-wise:" % word, "x (%s) = " % x.name, x, "y (%s) = " % y.name, y]
                data = [message] + data if message else data
            a, b = constant_value(x), constant_value(y)
            if a is not None and b is not None and not static(a, b).all():
                from headrace.errors import InvalidArgumentError
                raise InvalidArgumentError(None, None, "%s Condition x %s y did not hold. First: x = %s, y = %s" % (message or "", word, a, b))
            return Assert(reduce_all(getattr(gen, op)(x, y)), data, summarize)
    check.__name__ = op_name
    return check


def _make_comparisons():
    import numpy as np
    return (_comparison("assert_equal", "Equal", "==", np.equal), _comparison("assert_less", "Less", "<", np.less),
            _comparison("assert_less_equal", "LessEqual", "<=", np.less_equal), _comparison("assert_greater", "Greater", ">", np.greater),
            _comparison("assert_greater_equal", "GreaterEqual", ">=", np.greater_equal),
            _comparison("assert_none_equal", "NotEqual", "!=", np.not_equal))


assert_equal, assert_less, assert_less_equal, assert_greater, assert_greater_equal, assert_none_equal = _make_comparisons()


def _sign_check(op_name, comparison, word, flipped):
    def check(x, data=None, summarize=None, message=None, name=None):
        with name_scope(name, op_name, [x]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                data = [message or "", "Condition x %s 0 did not hold element-wise:" % word, "x (%s) = " % x.name, x]
            zero = convert_to_tensor(0, x.dtype.base_dtype)
            return comparison(zero, x, data, summarize) if flipped else comparison(x, zero, data, summarize)
    return check


assert_positive, assert_negative = _sign_check("assert_positive", assert_less, ">", True), _sign_check("assert_negative", assert_less, "<", False)
assert_non_negative, assert_non_positive = (_sign_check("assert_non_negative", assert_less_equal, ">=", True),
                                            _sign_check("assert_non_positive", assert_less_equal, "<=", False))


def _rank_check(op_name, words, static, op):
    def check(x, rank, data=None, summarize=None, message=None, name=None):
        with name_scope(name, op_name, [x, rank] + list(data or [])):
            from headrace.array import shape
            x, rank = convert_to_tensor(x, name="x"), convert_to_tensor(rank, name="rank")
            message_ = message or ""
            known = constant_value(rank)
            if data is None:
                data = [message_, "Tensor %s must have rank%s" % (x.name, words), rank, "Received shape: ", shape(x)]
            assert_type(rank, dtypes.int32)
            if x.shape.rank is not None and known is not None:
                if not static(x.shape.rank, int(known)):
                    raise ValueError("%s. Tensor %s must have rank%s %d. Received rank %d, shape %s"
                                     % (message_, x.name, words, known, x.shape.rank, x.shape))
                return gen.NoOp(name="static_checks_determined_all_ok")
            return Assert(getattr(gen, op)(gen.Rank(x), rank), data, summarize)
    return check


assert_rank = _rank_check("assert_rank", "", lambda a, b: a == b, "Equal")
assert_rank_at_least = _rank_check("assert_rank_at_least", " at least", lambda a, b: a >= b, "GreaterEqual")


def assert_type(tensor, tf_type, message=None, name=None):
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not dtypes.as_dtype(tf_type):
            raise TypeError("%s. Tensor %s must be of type %r; got %r" % (message or "", tensor.name, tf_type, tensor.dtype))
        return gen.NoOp(name="statically_determined_correct_type")


def assert_scalar(tensor, name=None, message=None):
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank not in (None, 0):
        raise ValueError("%sExpected scalar shape for %s, saw shape: %s." % (message or "", tensor.name, tensor.shape))
    return tensor


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """input_, which writes data to standard error when it is computed."""
    return gen.Print(input_, [convert_to_tensor(d) for d in data], message=message or "", first_n=-1 if first_n is None else first_n,
                     summarize=3 if summarize is None else summarize, name=name)


def print(*inputs, **kwargs):
    from headrace.strings import string_format
    stream = kwargs.pop("output_stream", None)
    name_of_stream = "<stderr>" if stream is None else getattr(stream, "name", "")
    where = {"<stderr>": "stderr", "<stdout>": "stdout"}.get(name_of_stream, stream)
    template = kwargs.pop("sep", " ").join("{}" if isinstance(i, _Tensor) else str(i) for i in inputs)
    return gen.PrintV2(string_format(template, [i for i in inputs if isinstance(i, _Tensor)], summarize=kwargs.pop("summarize", 3)),
                       output_stream=where, end=kwargs.pop("end", "\n"), name=kwargs.pop("name", None))


def py_func(*args, **kwargs):
    raise NotImplementedError("tf.py_func: Python functions as operations are not part of this version")


def executing_eagerly():
    return False
