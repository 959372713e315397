# SPDX-License-Identifier: Apache-2.0
"""tf.contrib: layers, slim, framework, rnn and training, as TensorFlow 1.15's scripts use them."""
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace import contrib

layers, slim, framework = contrib.layers, contrib.slim, contrib.framework


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def names(key=tf.GraphKeys.GLOBAL_VARIABLES):
    return [v.op.name for v in tf.get_collection(key)]


def run(fetches, feed=None):
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        return s.run(fetches, feed)


def test_fully_connected_is_a_product_biases_and_relu():
    x = tf.constant([[1.0, -2.0], [3.0, 4.0]])
    y = layers.fully_connected(x, 3, biases_initializer=tf.constant_initializer(0.5), weights_regularizer=layers.l2_regularizer(0.1))
    z = layers.fully_connected(y, 2, activation_fn=None, biases_initializer=None, scope="last")
    assert names() == ["fully_connected/weights", "fully_connected/biases", "last/weights"] == names(tf.GraphKeys.MODEL_VARIABLES)
    w, b, u = tf.global_variables()
    penalty, = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    vy, vz, vw, vb, vu, p = run([y, z, w, b, u, penalty])
    np.testing.assert_allclose(vy, np.maximum(np.array([[1, -2], [3, 4]]) @ vw + vb, 0), rtol=1e-5)
    np.testing.assert_allclose(vz, vy @ vu, rtol=1e-5)
    assert vb.tolist() == [0.5] * 3 and abs(p - 0.05 * (vw ** 2).sum()) < 1e-6
    with pytest.raises(ValueError, match="num_outputs type should be one of int, got float"):
        layers.fully_connected(x, 2.0)


def test_reuse_and_collections():
    x = tf.ones([2, 3])
    first = layers.fully_connected(x, 4, scope="a", variables_collections={"weights": "w", "biases": ["b"]}, outputs_collections="out")
    again = layers.fully_connected(x, 4, scope="a", reuse=True)
    assert names() == ["a/weights", "a/biases"] and names("w") == ["a/weights"] and names("b") == ["a/biases"]
    assert tf.get_collection("out") == [first] and first.alias == "a"
    assert np.array_equal(*run([first, again]))
    with pytest.raises(ValueError):
        layers.fully_connected(x, 4, scope="a", reuse=False) and layers.fully_connected(x, 4, scope="a")


def test_convolutions_and_pooling():
    images = tf.random_normal([2, 8, 8, 3], seed=1)
    a = slim.conv2d(images, 4, [3, 3])
    b = slim.conv2d(a, 6, 3, stride=2, padding="VALID", scope="second")
    c = slim.max_pool2d(b, 2)
    d = slim.avg_pool2d(a, [2, 2], padding="SAME", scope="mean")
    e = slim.conv2d_transpose(c, 2, 2, stride=2)
    f = slim.flatten(slim.dropout(e, 0.5, is_training=False))
    assert [t.shape.as_list() for t in (a, b, c, d, e, f)] == [[2, 8, 8, 4], [2, 3, 3, 6], [2, 1, 1, 6], [2, 4, 4, 4], [2, 2, 2, 2], [2, 8]]
    assert names() == ["Conv/weights", "Conv/biases", "second/weights", "second/biases", "Conv2d_transpose/weights", "Conv2d_transpose/biases"]
    ve, vf = run([e, f])
    assert np.array_equal(ve.reshape(2, -1), vf) and a.op.name == "Conv/Relu" and c.op.name.startswith("MaxPool2D/")
    with pytest.raises(ValueError, match="Invalid data_format"):
        slim.conv2d(images, 4, 3, data_format="CHWN")


def test_normalizers_take_the_place_of_biases():
    x = tf.random_normal([16, 4, 4, 3], 5.0, 2.0, seed=2)
    training = tf.placeholder(tf.bool, [])
    y = slim.conv2d(x, 2, 1, activation_fn=None, normalizer_fn=slim.batch_norm,
                    normalizer_params={"is_training": training, "decay": 0.5, "scale": True, "updates_collections": None})
    assert names() == ["Conv/weights", "Conv/BatchNorm/gamma", "Conv/BatchNorm/beta", "Conv/BatchNorm/moving_mean", "Conv/BatchNorm/moving_variance"]
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    mean = tf.global_variables()[3]
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        v = s.run(y, {training: True})
        np.testing.assert_allclose(v.mean((0, 1, 2)), [0, 0], atol=1e-4)
        np.testing.assert_allclose(v.std((0, 1, 2)), [1, 1], atol=1e-2)
        moved = s.run(mean)
        assert np.abs(moved).min() > 0
        s.run(y, {training: False})
        assert np.array_equal(s.run(mean), moved)


def test_batch_norm_leaves_its_updates_in_a_collection():
    slim.batch_norm(tf.ones([4, 3]))
    assert names() == ["BatchNorm/beta", "BatchNorm/moving_mean", "BatchNorm/moving_variance"]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
    for more in (dict(batch_weights=tf.ones([4])), dict(updates_collections="mine"), dict(zero_debias_moving_mean=True)):
        with pytest.raises(NotImplementedError):
            slim.batch_norm(tf.ones([4, 3]), **more)


def test_layer_norm():
    y = layers.layer_norm(tf.random_normal([3, 5, 7], 2.0, 3.0, seed=3))
    assert [(v.op.name, v.shape.as_list()) for v in tf.global_variables()] == [("LayerNorm/beta", [7]), ("LayerNorm/gamma", [7])]
    v = run(y)
    np.testing.assert_allclose(v.mean((1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(v.std((1, 2)), 1, atol=1e-4)


def test_arg_scopes_nest():
    x = tf.ones([1, 4, 4, 1])
    with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=None, weights_initializer=tf.ones_initializer()):
        with slim.arg_scope([slim.conv2d], padding="VALID", biases_initializer=None) as inner:
            a = slim.conv2d(x, 1, 3)
            b = slim.conv2d(x, 1, 3, padding="SAME")
        c = slim.conv2d(x, 1, 3)
        d = slim.fully_connected(slim.flatten(x), 1)
    with slim.arg_scope(inner):
        e = slim.conv2d(x, 1, 3)
    f = slim.conv2d(-x, 1, 3, weights_initializer=tf.ones_initializer())
    assert [t.shape.as_list()[1] for t in (a, b, c, e)] == [2, 4, 4, 2] and len(tf.global_variables()) == 1 + 1 + 2 + 2 + 1 + 2
    va, vd, ve, vf = run([a, d, e, f])
    assert va[0, 0, 0, 0] == 9 and vd[0, 0] == 16 and ve[0, 1, 1, 0] == 9 and vf.max() == 0 # outside all scopes: relu
    with pytest.raises(ValueError, match="is not decorated with @add_arg_scope"), slim.arg_scope([len], a=1):
        pass
    with pytest.raises(TypeError, match="must either be a list/tuple or reused scope"), slim.arg_scope(slim.conv2d, a=1):
        pass
    with pytest.raises(ValueError, match="kwargs must be empty"), slim.arg_scope(inner, a=1):
        pass

    @framework.add_arg_scope
    def mine(a, b=2, *, c=3):
        return a, b, c
    with framework.arg_scope([mine], b=5):
        assert mine(1) == (1, 5, 3) and mine(1, b=4) == (1, 4, 3)
    assert mine(1) == (1, 2, 3) and framework.arg_scoped_arguments(mine) == ("b",) and framework.has_arg_scope(mine)


def test_repeat_and_stack():
    x = tf.ones([1, 4])
    slim.repeat(x, 2, slim.fully_connected, 3, scope="r")
    slim.stack(x, slim.fully_connected, [2, 5], scope="s")
    assert [n for n in names() if n.endswith("weights")] == ["r/r_1/weights", "r/r_2/weights", "s/s_1/weights", "s/s_2/weights"]


def test_initial_values():
    wide = run([layers.xavier_initializer()([300, 200]), layers.xavier_initializer(uniform=False)([300, 200]),
                layers.variance_scaling_initializer()([3, 3, 50, 100]), layers.variance_scaling_initializer(1.0, "FAN_OUT", True)([200, 100])])
    limit = (6 / 500) ** 0.5
    assert 0.98 * limit < np.abs(wide[0]).max() <= limit and abs(wide[1].std() - (2 / 500) ** 0.5) < 0.002
    assert abs(wide[2].std() - (2 / 450) ** 0.5) < 0.002 and 0.98 * 0.03 ** 0.5 < wide[3].max() <= 0.03 ** 0.5
    for make, error in ((lambda: layers.variance_scaling_initializer(mode="ALL"), TypeError), (lambda: layers.xavier_initializer(dtype=tf.int32), TypeError),
                        (lambda: layers.l2_regularizer(1), ValueError), (lambda: layers.l1_regularizer(-0.5), ValueError)):
        with pytest.raises(error):
            make()


def test_regularizers():
    w = tf.constant([3.0, -4.0])
    both = layers.apply_regularization(layers.l1_l2_regularizer(0.1, 0.2), [w, 2 * w])
    np.testing.assert_allclose(run([layers.l1_regularizer(0.5)(w), layers.l2_regularizer(0.5)(w), both]), [3.5, 6.25, 0.7 + 2.5 + 1.4 + 10], rtol=1e-6)
    assert layers.l2_regularizer(0.0)(w) is None and len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2
    assert layers.sum_regularizer([None]) is None
    with pytest.raises(ValueError, match="No weights to regularize"):
        layers.apply_regularization(layers.l1_regularizer(0.5))


def test_variables_by_name(tmp_path):
    with tf.variable_scope("net"):
        slim.fully_connected(tf.ones([1, 2]), 3)
        framework.model_variable("extra", [2], initializer=tf.ones_initializer())
    tf.get_variable("other", [1])
    found = lambda vs: [v.op.name for v in vs]
    assert found(framework.get_variables("net", "weights")) == ["net/fully_connected/weights"]
    assert found(framework.get_model_variables()) == ["net/fully_connected/weights", "net/fully_connected/biases", "net/extra"]
    assert found(framework.get_variables_to_restore(exclude=["net/fully_connected"])) == ["net/extra", "other"]
    assert found(framework.get_variables_by_name("extra")) == ["net/extra"] and found(framework.get_variables_by_name("other")) == ["other"]
    assert found(framework.filter_variables(tf.global_variables(), ["net"], ["biases"])) == ["net/fully_connected/weights", "net/extra"]
    path = str(tmp_path / "model")
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        tf.train.Saver(framework.get_variables("net/extra")).save(s, path)
        extra = framework.get_variables("net/extra")[0]
        s.run(extra.assign([7.0, 8.0]))
        framework.assign_from_checkpoint_fn(path, tf.global_variables(), ignore_missing_vars=True)(s)
        assert s.run(extra).tolist() == [1.0, 1.0]
    assert framework.assign_from_checkpoint_fn(path, framework.get_variables("other"), ignore_missing_vars=True) is None


def test_other_layers():
    a, b, c = run([layers.softmax(tf.constant([[[1.0, 1.0]], [[0.0, 1e9]]])), layers.one_hot_encoding(tf.constant([1, 0]), 3),
                   tf.shape(contrib.rnn.static_rnn(contrib.rnn.BasicLSTMCell(4), [tf.ones([2, 3])] * 3, dtype=tf.float32)[0][-1])])
    assert a.tolist() == [[[0.5, 0.5]], [[0.0, 1.0]]] and b.tolist() == [[0, 1, 0], [1, 0, 0]] and c.tolist() == [2, 4]
    for missing in (lambda: contrib.nope, lambda: contrib.rnn.nope, lambda: slim.nope, lambda: tf.contrib.slim.nn):
        with pytest.raises(AttributeError):
            missing()


def test_hparams():
    h = contrib.training.HParams(rate=0.1, units=8, name="x", flag=True, sizes=[1, 2])
    assert h.parse("rate=1e-3,units=16,flag=false,sizes=[3,4,5]") is h
    assert h.values() == {"rate": 1e-3, "units": 16, "name": "x", "flag": False, "sizes": [3, 4, 5]} and "rate" in h and "nope" not in h
    h.parse("sizes[1]=9,name=a b")
    h.override_from_dict({"rate": 2})
    assert h.sizes == [3, 9, 5] and h.name == "a b" and h.rate == 2.0 and h.get("nope", 5) == 5 and h.get("units") == 16
    assert contrib.training.HParams(units=1).parse_json('{"units": 4}').units == 4 and '"units": 16' in h.to_json()
    h.del_hparam("name")
    assert "name" not in h and not hasattr(h, "name")
    for text, message in (("nope=1", "Unknown hyperparameter type for nope"), ("units=1.5", "Could not parse hparam 'units' of type 'int'"),
                          ("flag=maybe", "of type 'bool'"), ("=", "Malformed hyperparameter value"), ("units=[1]", "Must not pass a list"),):
        with pytest.raises(ValueError, match=message):
            h.parse(text)
    with pytest.raises(ValueError, match="reserved"):
        h.add_hparam("rate", 1)
    with pytest.raises(ValueError, match="cannot be empty"):
        h.add_hparam("more", [])


def test_scripts_import_it(tmp_path):
    path = str(tmp_path / "script.py")
    with open(path, "w") as f:
        f.write("import tensorflow as tf\nimport tensorflow.contrib.slim as slim\nfrom tensorflow.contrib import rnn, layers\n"
                "from tensorflow.contrib.layers import xavier_initializer\nfrom tensorflow.contrib.framework import arg_scope\n"
                "print(slim.conv2d(tf.ones([1, 2, 2, 1]), 3, 1).name, tf.contrib.layers.flatten is layers.flatten, rnn.GRUCell.__name__)\n")
    done = subprocess.run([sys.executable, "-m", "headrace", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Conv/Relu:0 True GRUCell\n"
