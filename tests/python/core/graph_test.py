# SPDX-License-Identifier: Apache-2.0
"""Graphs: names, scopes, look-up, collections, control inputs, devices, import and export, seeds."""
import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_unique_names(graph):
    assert [tf.constant(1, name=n).op.name for n in ("a", "a", "A", "a_1", "a")] == ["a", "a_1", "A_2", "a_1_1", "a_3"]
    assert graph.unique_name("b", mark_as_used=False) == "b" and graph.unique_name("b") == "b" and graph.unique_name("b") == "b_1"


def test_name_scopes(graph):
    with tf.name_scope("outer") as scope:
        assert scope == "outer/" and graph.get_name_scope() == "outer"
        assert tf.constant(1).op.name == "outer/Const"
        with tf.name_scope("inner"):
            assert tf.constant(1, name="c").op.name == "outer/inner/c"
        with tf.name_scope(scope):
            assert tf.constant(1).op.name == "outer/Const_1"
        with tf.name_scope(None):
            assert tf.constant(1).op.name == "Const"
        with tf.name_scope(None, "fallback") as inner:
            assert inner == "outer/fallback/"
    with tf.name_scope("outer") as again:
        assert again == "outer_1/"
    with pytest.raises(ValueError):
        tf.name_scope("_bad").__enter__()
    with pytest.raises(TypeError):
        tf.name_scope([1])


def test_identity_of_objects(graph):
    a = tf.constant(1.0, name="a")
    a.mark = "kept"
    assert graph.get_tensor_by_name("a:0") is a and graph.get_operation_by_name("a") is a.op
    assert a.op.outputs[0] is a and graph.get_tensor_by_name("a:0").mark == "kept"
    b = tf.add(a, a)
    assert b.op.inputs[0] is a and len({a, b, a}) == 2 and a.consumers() == [b.op, b.op]


def test_look_up_failures(graph):
    tf.constant(1.0, name="a")
    for name, kind in (("b:0", KeyError), ("a:1", KeyError), ("a", ValueError), ("a:x", ValueError)):
        with pytest.raises(kind):
            graph.get_tensor_by_name(name)
    with pytest.raises(KeyError):
        graph.get_operation_by_name("b")
    with pytest.raises(ValueError):
        graph.get_operation_by_name("a:0")
    with pytest.raises(TypeError):
        graph.as_graph_element(3)


def test_shapes(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    assert x.shape.as_list() == [None, 3] and x.get_shape()[1].value == 3 and str(x.shape) == "(?, 3)"
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError):
        x.set_shape([5, 3])
    assert tf.matmul(x, tf.zeros([3, 4])).shape == [2, 4]
    assert tf.placeholder(tf.float32).shape.ndims is None
    with pytest.raises(ValueError):
        tf.matmul(x, tf.zeros([4, 4]))


def test_operators_compute():
    a, b = tf.constant([7.0, -3.0]), tf.constant([2.0, 2.0])
    i, j = tf.constant([7, -3]), 2
    with tf.Session() as s:
        def check(t, want):
            np.testing.assert_allclose(s.run(t), want, rtol=1e-6)
        check(a + b, [9, -1]), check(1 - a, [-6, 4]), check(a * 2, [14, -6]), check(a / b, [3.5, -1.5]), check(2 / b, [1, 1])
        check(a // b, [3, -2]), check(a % b, [1, 1]), check(b ** 3, [8, 8]), check(2 ** b, [4, 4]), check(-a, [-7, 3]), check(abs(a), [7, 3])
        check(i / j, [3.5, -1.5]), check(i // j, [3, -2]), check(7 // tf.constant(2), 3), check(i % j, [1, 1])
        assert s.run(i / j).dtype == np.float64
        assert s.run(a < b).tolist() == [False, True] and s.run(a >= 7.0).tolist() == [True, False]
        t = tf.constant([True, False])
        assert s.run(t & True).tolist() == [True, False] and s.run(t | True).tolist() == [True, True] and s.run(~t).tolist() == [False, True]
        assert s.run(t ^ t).tolist() == [False, False]
        check(np.array([1.0, 2.0], np.float32) + a, [8, -1])
        check(tf.constant([[1.0, 2.0]]) @ tf.constant([[3.0], [4.0]]), [[11]])


def test_slicing():
    v = np.arange(24).reshape(2, 3, 4)
    t = tf.constant(v)
    n = tf.constant(1)
    keys = [0, -1, slice(1, None), (0, 1), (slice(None), 1), (Ellipsis, 2), (slice(None, None, 2), slice(None, 2)), (None, 1), (1, Ellipsis, None),
            (slice(None), slice(None, None, -1)), (0, slice(2, 0, -1), slice(1, 3))]
    with tf.Session() as s:
        for key in keys:
            np.testing.assert_array_equal(s.run(t[key]), v[key], err_msg=str(key))
        np.testing.assert_array_equal(s.run(t[n]), v[1])
        np.testing.assert_array_equal(s.run(t[0, n:]), v[0, 1:])
        np.testing.assert_array_equal(s.run(t[:, :n + 1]), v[:, :2])
    for bad in ("a", 1.5):
        with pytest.raises(TypeError):
            t[bad]


def test_no_python_truth():
    t = tf.constant(True)
    with pytest.raises(TypeError):
        bool(t)
    with pytest.raises(TypeError):
        len(t)
    assert (t == 3) is False and (t == t) is True


def test_control_dependencies(graph):
    a, b = tf.constant(1.0, name="a"), tf.no_op(name="b")
    with tf.control_dependencies([a, b]):
        c = tf.constant(2.0)
        d = tf.add(c, c)  # waits through c
        with tf.control_dependencies(None):
            e = tf.constant(3.0)
        with tf.control_dependencies([c]):
            f = tf.no_op()
    assert c.op.control_inputs == [a.op, b] and d.op.control_inputs == [] and e.op.control_inputs == []
    assert f.control_inputs == [a.op, b, c.op]
    with pytest.raises(TypeError):
        tf.control_dependencies([3])


def test_devices_and_colocation(graph):
    with tf.device("/job:worker/task:1"):
        with tf.device("/cpu:0"):
            a = tf.constant(1.0)
        with tf.device(lambda op: "/gpu:1" if op.type == "Const" else None):
            b = tf.constant(1.0)
            c = tf.no_op()
        with tf.device(None):
            d = tf.no_op()
    assert a.device == "/job:worker/task:1/device:CPU:0" and b.device == "/job:worker/task:1/device:GPU:1"
    assert c.device == "/job:worker/task:1" and d.device == ""
    with tf.colocate_with(a):
        e = tf.constant(2.0)
    assert e.op.colocation_groups() == [b"loc:@Const"] and e.device == a.device


def test_collections(graph):
    tf.add_to_collection("k", 1)
    tf.add_to_collections(["k", "m"], 2)
    got = tf.get_collection("k")
    got.append(9)
    assert tf.get_collection("k") == [1, 2] and tf.get_collection_ref("m") == [2] and tf.get_collection("none") == []
    graph.clear_collection("k")
    assert tf.get_collection("k") == [] and "m" in graph.get_all_collection_keys()
    a, b = tf.constant(1, name="x/a"), tf.constant(1, name="y/b")
    tf.add_to_collection("t", a), tf.add_to_collection("t", b)
    assert tf.get_collection("t", "x") == [a]


def test_finalize(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)


def test_seeds(graph):
    from headrace.graph import get_seed
    assert get_seed(None) == (None, None) and get_seed(5) == (87654321, 5)
    tf.set_random_seed(3)
    tf.constant(1), tf.constant(2)
    assert get_seed(None) == (3, 0) and get_seed(7) == (3, 7) and get_seed(None) == (3, 1)  # counted: see graph.get_seed
    tf.set_random_seed(0)
    assert get_seed(0) == (0, 2 ** 31 - 1)


def test_export_and_import(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("s"):
        y = tf.add(x, 1.0, name="y")
    with tf.control_dependencies([y]):
        tf.no_op(name="last")
    graph_def = graph.as_graph_def()
    assert [n.name for n in graph_def.node] == ["x", "s/y/y", "s/y", "last"] and graph_def.versions.producer > 0
    assert y.op.node_def.attr["T"].type == 1 and y.op.get_attr("T") is tf.float32 and x.op.get_attr("shape") == [2]
    with tf.Graph().as_default() as g:
        mine = tf.constant([5.0, 6.0], name="mine")
        out, op = tf.import_graph_def(graph_def, {"x:0": mine}, ["s/y:0", "last"], name="")
        again = tf.import_graph_def(graph_def, return_elements=["s/y:0"])[0]
        assert out.name == "s/y:0" and op.name == "last" and again.name == "import/s/y:0"
        assert tf.constant(1, name="y").name == "y:0"
        with tf.name_scope("s") as scope:
            assert scope == "s_1/"
        with tf.Session() as s:
            assert s.run(out).tolist() == [6, 7] and s.run(again, {"import/x:0": [0, 1]}).tolist() == [1, 2]
        with pytest.raises(ValueError):
            tf.import_graph_def(graph_def, {"nothing:0": mine}, name="m")
        bad = tf.GraphDef()
        bad.node.add(name="n", op="Neg", input=["absent"])
        with pytest.raises(ValueError):
            tf.import_graph_def(bad)
    with pytest.raises(TypeError):
        tf.import_graph_def("text")


def test_create_op_and_errors(graph):
    a = tf.constant([1.0, 2.0])
    op = graph.create_op("Sum", [a, tf.constant(0)], attrs={"keep_dims": True, "T": tf.float32}, name="mysum")
    assert op.name == "mysum" and op.outputs[0].shape == [1]
    with pytest.raises(tf.errors.NotFoundError):
        graph.create_op("NoSuchOp", [])
    with pytest.raises(TypeError):
        tf.add(a, tf.constant([1, 2]))
    with pytest.raises(TypeError):
        tf.nn.relu("text")
    with pytest.raises(TypeError):
        tf.raw_ops.Neg(a)
    assert tf.raw_ops.Neg(x=a).op.type == "Neg"


def test_two_graphs_do_not_mix(graph):
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(1.0)
        with pytest.raises(ValueError):
            tf.add(a, b)
        assert tf.negative(a).graph is graph


def test_protos_beside_the_rest():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    assert tf.ConfigProto.FromString(config.SerializeToString()).gpu_options.allow_growth
    assert tf.make_ndarray(tf.make_tensor_proto([[1.0, 2.0]])).tolist() == [[1.0, 2.0]]
