# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors: what is not set takes its shape from the others, only what is gathered must agree, lists of lists; what clients match errors by."""
import numpy as np
import pytest

import headrace as tf

R = tf.raw_ops


def _run(build, error=None):
    with tf.Graph().as_default(), tf.Session() as session:
        if error is None:
            return session.run(build())
        with pytest.raises(tf.errors.InvalidArgumentError, match=error):
            session.run(build())


def _known(value, dtype):  # but not to shape inference
    return tf.placeholder_with_default(tf.constant(value, dtype), None)


def _shape(s):
    return tf.constant(-1 if s is None else [-1 if d is None else d for d in s], tf.int32)


def _reserve(n, shape=None):
    return R.TensorListReserve(element_shape=_shape(shape), num_elements=n, element_dtype=tf.float32)


def _set(l, i, v):
    return R.TensorListSetItem(input_handle=l, index=i, item=tf.constant(v, tf.float32))


def _get(l, i):
    return R.TensorListGetItem(input_handle=l, index=i, element_shape=_shape(None), element_dtype=tf.float32)


def _gather(l, indices):
    return R.TensorListGather(input_handle=l, indices=tf.constant(indices, tf.int32), element_shape=_shape(None), element_dtype=tf.float32)


def _stack(l):
    return R.TensorListStack(input_handle=l, element_shape=_shape(None), element_dtype=tf.float32)


def _concat(l, shape=None, leading=()):
    return R.TensorListConcatV2(input_handle=l, element_shape=_shape(shape), leading_dims=tf.constant(list(leading), tf.int64), element_dtype=tf.float32)[0]


def _split(rows, lengths, shape=None):
    element_shape = tf.placeholder_with_default(_shape(shape), None)
    return R.TensorListLength(input_handle=R.TensorListSplit(
        tensor=_known(rows, tf.float32), element_shape=element_shape, lengths=tf.constant(lengths, tf.int64)))


def _mixed():
    return _set(_set(_reserve(3), 0, 1.0), 1, [3.0, 4.0])


def test_what_is_not_set_is_like_the_others():
    assert np.array_equal(_run(lambda: _get(_set(_reserve(3), 1, [4.0, 5.0]), 0)), [0, 0])
    assert np.array_equal(_run(lambda: _concat(_set(_reserve(3), 1, [[4.0, 5.0]]))), [[0, 0], [4, 5], [0, 0]])
    assert np.array_equal(_run(lambda: _concat(_set(_reserve(3, [1, 2]), 1, [[4.0, 5.0]]), [None, 2])), [[0, 0], [4, 5], [0, 0]])
    assert np.array_equal(_run(lambda: _concat(_set(_reserve(2), 0, [[4.0]]), [None, 1], [1, 3])), [[4], [0], [0], [0]])


def test_only_what_is_gathered_must_agree():
    assert np.array_equal(_run(lambda: _gather(_mixed(), [1])), [[3, 4]])
    assert np.array_equal(_run(lambda: _gather(_mixed(), [1, 2])), [[3, 4], [0, 0]])
    _run(lambda: _gather(_mixed(), [0, 1]), r"Incompatible ranks during merge: 0 vs\. 1")
    _run(lambda: _stack(_mixed()), r"Incompatible ranks during merge: 0 vs\. 1")


def test_pairs_of_lists():
    def build():
        lists = [R.TensorListFromTensor(tensor=tf.constant(v, tf.float32), element_shape=_shape([])) for v in ([1.0, 2.0], [3.0])]
        a, b = tf.stack(lists), tf.stack(lists[::-1])
        joined = tf.unstack(R.TensorListConcatLists(input_a=a, input_b=b, element_dtype=tf.float32), 2)
        return [_stack(l) for l in joined]
    first, second = _run(build)
    assert first.tolist() == [1, 2, 3] and second.tolist() == [3, 1, 2]


@pytest.mark.parametrize("build, error", [
    (lambda: _get(_reserve(3), 0), "Trying to read an uninitialized tensor but element_shape is not fully defined"),
    (lambda: _get(_reserve(3), 3), "Trying to access element 3 in a list with 3 elements."),
    (lambda: _stack(_reserve(3)), "only contains uninitialized tensors and has a non-fully-defined element_shape: <unknown>"),
    (lambda: _stack(_reserve(0, [None, 2])), r"stack elements of an empty list with non-fully-defined element_shape: \[\?,2\]"),
    (lambda: _gather(_reserve(3), [-1]), "Trying to gather element -1 in a list with 3 elements."),
    (lambda: _gather(_reserve(3), [0]), "gather uninitialized tensors from a list with non-fully-defined element_shape"),
    (lambda: _concat(_reserve(0)), "All except the first dimension must be fully defined when concating an empty tensor list"),
    (lambda: _concat(_reserve(2)), "only uninitialized tensors but element_shape_except_first_dim is not fully defined"),
    (lambda: _concat(_set(_reserve(1), 0, 1.0)), "Concat saw a scalar shape at index 0 but requires at least vectors"),
    (lambda: _concat(_reserve(1, [None, 2])), "uninitialized tensor at index 0 but leading_dims has only 0 elements"),
    (lambda: _stack(tf.add_n([_reserve(2, []), _reserve(3, [])])), "Trying to add two lists of tensors with different lengths"),
    (lambda: R.TensorListLength(input_handle=R.TensorListScatterV2(
        tensor=tf.constant([1.0, 2.0]), indices=[1, 3], element_shape=_shape([]), num_elements=3)), "scatter at index 3 in list with size 3"),
    (lambda: R.TensorListLength(input_handle=R.TensorListSplit(
        tensor=tf.constant([1.0, 2.0, 3.0]), element_shape=_shape(None), lengths=tf.constant([1], tf.int64))),
     "Unused values in tensor. Length of tensor: 3 Values used: 1"),
    (lambda: R.TensorListLength(input_handle=R.TensorListResize(input_handle=_reserve(3), size=_known(-1, tf.int32))), "non-negative. Got: -1"),
    (lambda: R.TensorListLength(input_handle=R.TensorListResize(input_handle=_reserve(3), size=_known([1], tf.int32))), "size must be a scalar"),
    (lambda: R.TensorListLength(input_handle=R.TensorListScatterV2(
        tensor=tf.constant([1.0]), indices=[0], element_shape=_shape([]), num_elements=_known([3], tf.int32))), "num_elements must be a scalar"),
    (lambda: _split([1.0, 2.0], [3]), r"Attempting to slice \[0, 3\] from tensor with length 2"),
    (lambda: _split([1.0, 2.0], [1, 1], []), r"requires element_shape to be at least of rank 1, but saw: \[\]"),
    (lambda: _split([[1.0], [2.0]], [1, 1], [1]), r"tensor shape \[2,1\] is not compatible with element_shape \[1\]"),
    (lambda: _split([[1.0], [2.0]], [1, 1], [7, 2]), r"tensor shape \[2,1\] is not compatible with element_shape \[7,2\]"),
    (lambda: tf.add_n([R.OptionalNone(), R.OptionalFromValue(components=[tf.constant(1.0)])]), "one has a value and the other doesn't"),
])
def test_errors(build, error):
    _run(build, error)


def test_a_grown_array_s_gradient_ends_where_it_was_split():
    def build():
        x = tf.constant([1.0, 2.0, 3.0])
        y = tf.TensorArray(tf.float32, 3, dynamic_size=True).split(x, [1, 1, 1]).write(3, [4.0]).concat()
        return [y, tf.gradients(y, x)[0]]
    y, dx = _run(build)
    assert y.tolist() == [1, 2, 3, 4] and dx.tolist() == [1, 1, 1]


@pytest.mark.parametrize("op", ["ZerosLike", "AddN"])
@pytest.mark.parametrize("width, levels, good", [(100, 2, True), (128, 3, False)])
def test_few_nodes_do_not_ask_for_more_than_a_machine_holds(op, width, levels, good):
    """A variant that stands in many places is walked in each: width ** levels tensors."""
    with tf.Graph().as_default() as g, tf.Session() as session:
        value = tf.constant(1.0)
        for _ in range(levels):
            value = g.create_op("OptionalFromValue", [value] * width, attrs={"Toutput_types": [value.dtype] * width}).outputs[0]
        inputs = {"ZerosLike": [value], "AddN": [value, value]}[op]
        made = g.create_op(op, inputs, attrs={} if op == "ZerosLike" else {"N": 2}).outputs[0]
        has = R.OptionalHasValue(optional=made)
        if good:
            assert session.run(has)
        else:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="variants within variants hold more than"):
                session.run(has)
