# SPDX-License-Identifier: Apache-2.0
"""tf.gradients: values, None, upstream gradients, slices, functions of the script's own."""
import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def run(x):
    with tf.Session() as s:
        return s.run(x)


def test_values_and_none():
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    z = tf.reduce_sum(x * x * y)
    dx, dy, none = tf.gradients(z, [x, y, tf.constant(1.0)])
    assert none is None and run(dx).tolist() == [6, 12] and run(dy) == 5
    assert run(tf.gradients(z, x)[0]).tolist() == [6, 12]
    assert run(tf.gradients([z, 2.0 * z], x)[0]).tolist() == [18, 36]
    assert run(tf.gradients(z, tf.constant(1.0), unconnected_gradients="zero")[0]) == 0
    assert dx.op.name.startswith("gradients/")


def test_upstream_and_stops():
    x = tf.constant([1.0, 2.0])
    y = tf.square(x)
    assert run(tf.gradients(y, x, grad_ys=tf.constant([10.0, 1.0]))[0]).tolist() == [20, 4]
    z = tf.exp(y) + x
    assert run(tf.gradients(z, x, stop_gradients=[y])[0]).tolist() == [1, 1]
    assert tf.gradients(tf.stop_gradient(x) * 2.0, x) == [None]
    with pytest.raises(ValueError):
        tf.gradients([y, z], x, grad_ys=[None])


def test_second_order():
    x = tf.constant(2.0)
    y = x ** 4.0
    first = tf.gradients(y, x)[0]
    np.testing.assert_allclose(run(tf.gradients(first, x)[0]), 48, rtol=1e-5)
    v = tf.constant([1.0, 2.0])
    np.testing.assert_allclose(run(tf.hessians(tf.reduce_sum(v * v * v), v)[0]), [[6, 0], [0, 12]], rtol=1e-5)


def test_slices():
    table = tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2))
    y = tf.reduce_sum(tf.gather(table, [1, 1, 3]) * 2.0)
    g = tf.gradients(y, table)[0]
    assert isinstance(g, tf.IndexedSlices)
    values, indices = run([g.values, g.indices])
    assert indices.tolist() == [1, 1, 3] and values.tolist() == [[2, 2]] * 3
    assert run(g).indices.tolist() == [1, 1, 3]


def test_not_differentiable():
    x = tf.constant([1.0, 2.0])
    assert tf.gradients(tf.cast(x, tf.int32), x) == [None]


def test_own_gradient_by_override_map(graph):
    @tf.RegisterGradient("TestClipped")
    def clipped(op, grad):
        assert op.type == "Identity"
        return tf.clip_by_value(grad, -1.0, 1.0)
    x = tf.constant([1.0, 2.0])
    with graph.gradient_override_map({"Identity": "TestClipped"}):
        y = tf.identity(x)
    assert run(tf.gradients(y * 5.0, x)[0]).tolist() == [1, 1]
    assert run(tf.gradients(tf.identity(x) * 5.0, x)[0]).tolist() == [5, 5]
    with pytest.raises(KeyError):
        tf.RegisterGradient("TestClipped")(clipped)


def test_own_gradient_that_fails(graph):
    @tf.RegisterGradient("TestBroken")
    def broken(op, grad):
        raise ZeroDivisionError("mine")
    x = tf.constant(1.0)
    with graph.gradient_override_map({"Exp": "TestBroken"}):
        y = tf.exp(x)
    with pytest.raises(ZeroDivisionError, match="mine"):
        tf.gradients(y, x)
    assert run(tf.gradients(tf.exp(x), x)[0]) == pytest.approx(2.7182817)


def test_custom_gradient():
    @tf.custom_gradient
    def loud(x):
        return x * 2.0, lambda dy: dy * 100.0
    x = tf.constant(3.0)
    y = loud(x)
    assert run([y, tf.gradients(y, x)[0]]) == [6, 100]
