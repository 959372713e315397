# SPDX-License-Identifier: Apache-2.0
"""map_fn, foldl, foldr, scan: loops over the first dimension of their elements, each a while_loop on TensorArrays."""
from headrace import dtypes
from headrace.flow import while_loop
from headrace.graph import name_scope
from headrace.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from headrace.op_gen import gen
from headrace.tensor_array import TensorArray
from headrace.tensor_shape import TensorShape
from headrace.tensor_util import constant, convert_to_tensor


class _Frozen(object):
    """Variable scopes made inside of the loop read variables outside of it, once."""

    def __enter__(self):
        from headrace.variable_scope import get_variable_scope
        self._scope = scope = get_variable_scope()
        self._changed = scope.caching_device is None
        if self._changed:
            scope.set_caching_device(lambda op: op.device)

    def __exit__(self, *unused):
        if self._changed:
            self._scope.set_caching_device(None)
        return False


def _elements(elems, name="elem"):
    if not flatten(elems):
        raise ValueError("elems must be a Tensor or (possibly nested) sequence of Tensors. Got %r" % (elems,))
    return [convert_to_tensor(e, name=name) for e in flatten(elems)]


def _count(tensors):
    """Elements along the first dimension: a number where it is known."""
    from headrace.array import shape
    first = tensors[0].shape
    if first.rank == 0:
        raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
    known = first._dims[0] if first.rank else None
    return known if known is not None else shape(tensors[0])[0]


def _arrays(tensors, count, shaped=False):
    made = [TensorArray(t.dtype, size=count, dynamic_size=False, element_shape=t.shape[1:] if shaped else None, infer_shape=True) for t in tensors]
    return [a.unstack(t) for a, t in zip(made, tensors)]


def _settle(result, tensors):
    """The known number of elements, in the results' shapes."""
    dims = tensors[0].shape._dims
    count = dims[0] if dims else None
    for r in result:
        if r.shape.rank is not None:
            r.set_shape(TensorShape([count]).concatenate(r.shape[1:]))
    return result


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
           fn_output_signature=None):
    """fn of each element along the first dimension, stacked."""
    if not callable(fn):
        raise TypeError("The provided function %s is not callable. fn must be callable." % getattr(fn, "__name__", fn))
    dtype = dtype if fn_output_signature is None else fn_output_signature
    parallel_iterations = parallel_iterations or 10
    with name_scope(name, "map", flatten(elems)), _Frozen():
        tensors = _elements(elems)
        count = _count(tensors)
        arrays = _arrays(tensors, count)
        i = constant(0)
        same = elems if dtype is None else dtype
        types = [t.dtype for t in tensors] if dtype is None else [_type_of(d) for d in flatten(dtype)]
        results = [TensorArray(t, size=count, dynamic_size=False, infer_shape=infer_shape) for t in types]

        def compute(i, outputs):
            value = fn(pack_sequence_as(elems, [a.read(i) for a in arrays]))
            assert_same_structure(same, value, check_types=False)
            written = [o.write(i, v) for o, v in zip(outputs, flatten(value))]
            return i + 1, written
        _, arrays_out = while_loop(lambda i, _: i < count, compute, (i, results), parallel_iterations=parallel_iterations, back_prop=back_prop,
                                   swap_memory=swap_memory, maximum_iterations=count)
        return pack_sequence_as(same, _settle([a.stack() for a in arrays_out], tensors))


def _type_of(signature):
    return dtypes.as_dtype(getattr(signature, "dtype", signature))


def _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, backwards):
    if not callable(fn):
        raise TypeError("%s is not callable; please provide a callable function." % getattr(fn, "__name__", fn))
    with name_scope(name, "foldr" if backwards else "foldl", flatten(elems)), _Frozen():
        tensors = _elements(elems)
        count = _count(tensors)
        arrays = _arrays(tensors, count)
        element = lambda at: pack_sequence_as(elems, [a.read(at) for a in arrays])
        if initializer is not None:
            start, at = initializer, count if backwards else constant(0)
        elif backwards:
            at = count - 1
            start = element(at)
        else:
            start, at = element(0), constant(1)

        def up(i, a):
            value = fn(a, element(i))
            return i + 1, value

        def down(i, a):
            i -= 1
            return i, fn(a, element(i))
        more = (lambda i, a: i > 0) if backwards else (lambda i, a: i < count)
        limit = count if initializer is not None or not isinstance(count, int) else count - 1
        _, result = while_loop(more, down if backwards else up, [at, start], parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                               swap_memory=swap_memory, maximum_iterations=limit)
        return result


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """fn(...fn(fn(initializer, first), second)..., last)"""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, False)


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """fn(...fn(fn(initializer, last), last but one)..., first)"""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, True)


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True, reverse=False, name=None):
    """What foldl has after each element, stacked."""
    if not callable(fn):
        raise TypeError("%s is not callable" % getattr(fn, "__name__", fn))
    with name_scope(name, "scan", flatten(elems)), _Frozen():
        tensors = _elements(elems)
        count = _count(tensors)
        arrays = _arrays(tensors, count, shaped=True)
        if initializer is None:
            start, at = [a.read(count - 1 if reverse else 0) for a in arrays], 1
            structure = elems
        else:
            start, at, structure = [convert_to_tensor(a) for a in flatten(initializer)], 0, initializer
        results = [TensorArray(a.dtype, size=count, element_shape=a.shape if infer_shape else None, dynamic_size=False, infer_shape=infer_shape)
                   for a in start]
        if initializer is None:
            results = [r.write(count - 1 if reverse else 0, a) for r, a in zip(results, start)]
        counter = count - 1 - at if reverse else at

        def compute(i, last, outputs):
            value = fn(pack_sequence_as(structure, last), pack_sequence_as(elems, [a.read(i) for a in arrays]))
            assert_same_structure(structure, value, check_types=False)
            flat = flatten(value)
            outputs = [o.write(i, v) for o, v in zip(outputs, flat)]
            return (i - 1 if reverse else i + 1), flat, outputs
        more = (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count)
        _, _, outs = while_loop(more, compute, (counter, start, results), parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                                swap_memory=swap_memory, maximum_iterations=count)
        return pack_sequence_as(structure, _settle([a.stack() for a in outs], tensors))
