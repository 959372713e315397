# SPDX-License-Identifier: Apache-2.0
"""Which type a Python value gets, dtypes, shapes and conversions."""
import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.mark.parametrize("value, dtype", [
    (1, "int32"), (2 ** 40, "int64"), (1.5, "float32"), (True, "bool"), ("a", "string"), (b"a", "string"), (1j, "complex128"), ([1, 2.5], "float32"),
    ([[1], [2]], "int32"), ([], "float32"), (np.float64(1), "float64"), (np.int8(1), "int8"), (np.zeros(2, np.uint16), "uint16"),
    ([np.float64(1), 2], "float64"), (np.array(["a"]), "string"), (np.zeros(2, np.float16), "float16"), ((True, False), "bool")])
def test_inferred_types(value, dtype):
    assert tf.constant(value).dtype.name == dtype


def test_requested_types():
    assert tf.constant(1, tf.float64).dtype is tf.float64
    assert tf.constant([1, 2], "uint8").dtype is tf.uint8
    assert tf.constant(np.zeros(2), np.float32).dtype is tf.float32
    for value, dtype in ((1.5, tf.int32), ("a", tf.float32), (1, tf.string), (1, tf.bool), (True, tf.float32)):
        with pytest.raises(TypeError):
            tf.constant(value, dtype)
    for value in (None, [[1], [2, 3]], [1, None]):
        with pytest.raises((ValueError, TypeError)):
            tf.constant(value)


def test_constant_shapes():
    with tf.Session() as s:
        assert s.run(tf.constant(3, shape=[2, 2])).tolist() == [[3, 3], [3, 3]]
        assert s.run(tf.constant([1, 2], shape=[2, 2])).tolist() == [[1, 2], [2, 2]]
        assert s.run(tf.constant([1, 2, 3, 4], shape=[2, 2])).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError):
        tf.constant([1, 2, 3], shape=[2])


def test_constants_are_copies():
    a = np.zeros(1000, np.float32)
    t = tf.constant(a)
    a[:] = 1
    with tf.Session() as s:
        assert s.run(t).sum() == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
                                   "complex128"])
def test_every_type_goes_in_and_out(dtype):
    v = np.array([[0, 1], [1, 0]]).astype(dtype)
    x = tf.placeholder(dtype, [2, 2])
    with tf.Session() as s:
        for out in (s.run(tf.identity(x), {x: v}), s.run(tf.constant(v))):
            assert out.dtype == v.dtype and (out == v).all()


def test_bfloat16_goes_in_and_out():
    bits = np.array([0x3f80, 0x4000], np.uint16)
    x = tf.placeholder(tf.bfloat16, [2])
    with tf.Session() as s:
        out = s.run(tf.identity(x), {x: bits.view(tf.bfloat16.as_numpy_dtype)})
    assert out.view(np.uint16).tolist() == bits.tolist()


def test_numbers_of_types_that_numpy_lacks():
    x = tf.placeholder(tf.bfloat16, [None])
    outs = [tf.cast(t, tf.float32) for t in (tf.constant([1.5, -2], tf.bfloat16), tf.ones([2], tf.bfloat16),
                                             tf.constant(np.array([0.1, 300.25]), tf.bfloat16), tf.Variable([3.0, 4.0], dtype=tf.bfloat16))]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        assert [v.tolist() for v in s.run(outs)] == [[1.5, -2], [1, 1], [0.10009765625, 300], [3, 4]]
        assert s.run(tf.cast(x, tf.float32), {x: [1.5, 7]}).tolist() == [1.5, 7]
        assert s.run(tf.cast(x, tf.float32), {x: s.run(x, {x: np.array([2.5])})}).tolist() == [2.5]
        with pytest.raises(TypeError):
            s.run(x, {x: ["a"]})


@pytest.mark.parametrize("name, values, bits", [
    ("bfloat16", [1.00390625, 1.01171875, float("inf"), float("nan"), -0.0], [0x3f80, 0x3f82, 0x7f80, 0x7fc0, 0x8000]),
    ("float8_e5m2", [1, -1.5, 61439, 61440, 1e9, float("nan"), 2.0 ** -17, 3 * 2.0 ** -17], [0x3c, 0xbe, 0x7b, 0x7c, 0x7c, 0x7e, 0, 2]),
    ("float8_e4m3fn", [1, 448, 464, 465, -1e9, float("nan")], [0x38, 0x7e, 0x7e, 0x7f, 0xff, 0x7f]),
    ("float8_e4m3fnuz", [1, 240, 249, -1e-9, float("inf")], [0x40, 0x7f, 0x80, 0, 0x80]),
    ("float8_e4m3b11fnuz", [1, -1], [0x58, 0xd8]), ("float8_e5m2fnuz", [1, -1], [0x40, 0xc0]),
    ("float4_e2m1fn", [0.5, 2.5, 5, -100], [1, 4, 6, 15]),
    ("int4", [1, -1, 7, 9], [1, 255, 7, 249]), ("uint4", [1, 17], [1, 1]), ("int2", [1, 2], [1, 254]), ("uint2", [3, -1], [3, 3])])
def test_small_numbers_are_made_of_ordinary_ones(name, values, bits):
    width = np.uint16 if name == "bfloat16" else np.uint8
    made = tf.make_ndarray(tf.make_tensor_proto(values, dtype=tf.as_dtype(name)))
    assert np.ascontiguousarray(made).view(width).tolist() == bits
    with tf.Session() as s:
        out = s.run(tf.constant(values, tf.as_dtype(name)))
    assert out.dtype == made.dtype and out.view(width).tolist() == bits


def test_protos_of_small_numbers_are_read():
    proto = tf.make_tensor_proto([1], dtype=tf.as_dtype("float8_e5m2"))
    proto.tensor_content, proto.float8_val = b"", b"\x3c"
    assert tf.make_ndarray(proto).view(np.uint8).tolist() == [0x3c]
    proto = tf.make_tensor_proto([1, 2], dtype=tf.as_dtype("int4"))
    proto.tensor_content = b""
    proto.int_val.extend([-3])
    assert tf.make_ndarray(proto).view(np.int8).tolist() == [-3, -3]


def test_lists_with_tensors():
    a = tf.constant(2.0)
    with tf.Session() as s:
        assert s.run(tf.convert_to_tensor([a, 1, [3.0][0]])).tolist() == [2, 1, 3]
        assert s.run(tf.convert_to_tensor([[a, 1], [0, a]])).tolist() == [[2, 1], [0, 2]]
        assert s.run(tf.reshape(tf.zeros([4]), [tf.constant(2), -1])).shape == (2, 2)
    with pytest.raises(TypeError):
        tf.convert_to_tensor([a, tf.constant(1)])


def test_convert_checks_the_type():
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.constant(1), tf.float32)
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype is tf.float32
    assert tf.convert_to_tensor("a", preferred_dtype=tf.float32).dtype is tf.string


def test_conversion_functions():
    class Meter(object):
        pass
    tf.register_tensor_conversion_function(Meter, lambda v, dtype=None, name=None, as_ref=False: tf.constant(2.0, dtype or tf.float32))
    with tf.Session() as s:
        assert s.run(tf.constant(1.0) + Meter()) == 3


def test_dtypes():
    assert tf.as_dtype("float") is tf.float32 and tf.as_dtype(np.int64) is tf.int64 and tf.as_dtype(1) is tf.float32 and tf.as_dtype(float) is tf.float32
    assert tf.float32 == np.float32 and tf.float32 != tf.int32 and tf.float32 == "float32" and tf.int32 != None  # noqa: E711
    assert tf.float32.is_floating and tf.int8.is_integer and tf.uint8.is_unsigned and tf.complex64.is_complex and tf.qint8.is_quantized
    assert tf.float32._as_ref.name == "float32_ref" and tf.float32._as_ref.base_dtype is tf.float32 and tf.int8.max == 127 and tf.float32.size == 4
    with pytest.raises(TypeError):
        tf.as_dtype("no such type")


def test_tensor_shapes():
    s = tf.TensorShape([None, 3])
    assert s.ndims == 2 and s[1].value == 3 and s.as_list() == [None, 3] and not s.is_fully_defined() and s.num_elements() is None
    assert s.merge_with([2, None]) == [2, 3] and s.concatenate([4]).as_list() == [None, 3, 4] and s.is_compatible_with([7, 3]) and s[1:] == [3]
    assert s.with_rank(2) is not None and tf.TensorShape(None).with_rank(2).as_list() == [None, None]
    for bad in (lambda: s.merge_with([1, 2]), lambda: s.with_rank(3), lambda: tf.TensorShape(None).as_list(), lambda: tf.TensorShape([-1])):
        with pytest.raises(ValueError):
            bad()
    d = tf.Dimension(3)
    assert d * 2 == 6 and d == 3 and int(d) == 3 and (tf.Dimension(None) == 3) is None and list(range(d)) == [0, 1, 2] and d // 2 == 1
    assert tf.TensorShape(tf.TensorShape([1, 2]).as_proto()) == [1, 2]


def test_static_values():
    x = tf.placeholder(tf.float32, [2, 3])
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(x) is None
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])) == [2, 3]
