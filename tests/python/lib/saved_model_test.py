# SPDX-License-Identifier: Apache-2.0
"""SavedModels: those that TensorFlow wrote are loaded and run; what is written here is loaded again, and refused where it should be."""
import json
import os

import numpy as np
import pytest

import headrace as tf

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "golden", "files")
sm = tf.saved_model


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def _tensors(sess, infos):
    return {key: sm.utils.get_tensor_from_tensor_info(info, sess.graph) for key, info in infos.items()}


def _run_signature(sess, meta, name, feeds):
    signature = meta.signature_def[name]
    inputs = _tensors(sess, signature.inputs)
    return sess.run(_tensors(sess, signature.outputs), {inputs[k]: v for k, v in feeds.items()})


def _network():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 2], initializer=tf.constant_initializer(0.5))
    step = tf.get_variable("step", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
    return x, tf.nn.softmax(tf.matmul(x, w), name="y"), w, step


# --- from TensorFlow ----------------------------------------------------------------------------------------------------------------------
def test_loads_variables_asset_table_and_signatures():
    with open(os.path.join(FILES, "contents.json")) as f:
        wanted = json.load(f)["saved_model_tf1"]
    folder = os.path.join(FILES, "saved_model_tf1")
    assert sm.contains_saved_model(folder)
    with tf.Session() as sess:
        meta = sm.loader.load(sess, [sm.tag_constants.SERVING], folder)
        y = _run_signature(sess, meta, sm.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY, {"x": wanted["x"]})["y"]
        np.testing.assert_allclose(y, wanted["y"], 1e-6)
        ids = _run_signature(sess, meta, "words", {"words": wanted["words"]})["ids"]
        assert ids.tolist() == wanted["ids"]
        assert [v.op.name for v in tf.trainable_variables()] == ["w"]


def test_loads_a_network_and_trains_on():
    x = [[1.6243454, -0.6117564, -0.5281718, -1.0729686], [0.86540765, -2.3015387, 1.7448118, -0.7612069]]
    with tf.Session() as sess:
        meta = sm.load(sess, ["serve"], os.path.join(FILES, "saved_model_network"))
        out = _run_signature(sess, meta, "serving_default", {"x": x})
        np.testing.assert_allclose(out["probabilities"], [[0.16840854, 0.40078032, 0.43081114], [0.16291249, 0.13957278, 0.6975147]], 1e-5)
        assert out["classes"].tolist() == [2, 2]
        sess.run("train", {"x:0": x, "labels:0": [1, 1]})
        loss, step = sess.run(["loss:0", "global_step:0"], {"x:0": x, "labels:0": [1, 1]})
        assert step == 4 and abs(loss - 1.3796821) < 1e-5


def test_import_scope():
    with tf.Session() as sess:
        sm.loader.load(sess, ["serve"], os.path.join(FILES, "saved_model_tf1"), import_scope="model")
        y = sess.run("model/y:0", {"model/x:0": [[1, -1, 0]]})
        np.testing.assert_allclose(y, [[0.5, 0.5]], 1e-6)
        assert sess.run("model/hash_table_Lookup/SelectV2:0", {"model/words:0": ["blue"]}).tolist() == [2]


# --- there and back -----------------------------------------------------------------------------------------------------------------------
def test_simple_save_round_trip(tmp_path):
    folder = str(tmp_path / "model")
    x, y, w, step = _network()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run([tf.assign(w, [[1, 2], [3, 4], [5, 6]]), tf.assign(step, 7)])
        wanted = sess.run(y, {x: [[1, -1, 0.5]]})
        sm.simple_save(sess, folder, {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = sm.loader.load(sess, {"serve"}, folder)
        np.testing.assert_array_equal(_run_signature(sess, meta, "serving_default", {"x": [[1, -1, 0.5]]})["y"], wanted)
        assert sess.run("step:0") == 7
        assert meta.signature_def["serving_default"].method_name == "tensorflow/serving/predict"


@pytest.mark.parametrize("as_text", (False, True))
def test_builder_with_asset_main_op_and_two_graphs(tmp_path, as_text):
    words, folder = tmp_path / "words.txt", str(tmp_path / "model")
    words.write_text("red\nblue\n")
    x, y, w, _ = _network()
    path = tf.constant(str(words), name="path")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
    text = tf.get_variable("text", initializer=tf.constant(b"", tf.string), collections=[tf.GraphKeys.LOCAL_VARIABLES])
    init = tf.group(tf.assign(text, tf.read_file(path)), name="init_text")
    builder = sm.builder.SavedModelBuilder(folder)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(["train"])
        builder.add_meta_graph_and_variables(sess, ["serve", "gpu"], {"words": sm.predict_signature_def({"x": x}, {"text": text, "y": y})},
                                             assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), main_op=init,
                                             strip_default_attrs=True)
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(sess, ["serve"])
        builder.add_meta_graph(["train"])
        written = builder.save(as_text=as_text)
    assert os.path.basename(written) == (b"saved_model.pbtxt" if as_text else b"saved_model.pb")
    words.unlink()
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = sm.loader.load(sess, ["gpu", "serve"], folder)
        assert _run_signature(sess, meta, "words", {"x": [[0, 0, 0]]})["text"] == b"red\nblue\n"  # of the copy in assets/
    with tf.Graph().as_default(), tf.Session() as sess:
        sm.loader.load(sess, ["train"], folder)
        np.testing.assert_array_equal(sess.run("w:0"), np.full([3, 2], 0.5, np.float32))


def test_a_model_without_variables(tmp_path):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as sess:
        sm.simple_save(sess, str(tmp_path / "model"), {"x": x}, {"y": x * 2})
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = sm.loader.load(sess, ["serve"], str(tmp_path / "model"))
        assert _run_signature(sess, meta, "serving_default", {"x": 4})["y"] == 8


def test_assets_of_one_name_stay_apart(tmp_path):
    paths = []
    for i in range(2):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / "words").write_text("file %d" % i)
        paths.append(tf.constant(str(tmp_path / str(i) / "words")))
    texts = [tf.read_file(p) for p in paths]
    builder = sm.Builder(str(tmp_path / "model"))
    with tf.Session() as sess:
        builder.add_meta_graph_and_variables(sess, ["serve"], assets_collection=paths, main_op=tf.no_op(name="init"))
    builder.save()
    assert sorted(os.listdir(tmp_path / "model" / "assets")) == ["words", "words_1"]
    with pytest.raises(ValueError, match="constant string"):
        with tf.Session() as sess:
            sm.Builder(str(tmp_path / "other")).add_meta_graph_and_variables(sess, ["serve"], assets_collection=[texts[0]])


# --- refused ------------------------------------------------------------------------------------------------------------------------------
def test_what_is_refused(tmp_path):
    folder = str(tmp_path / "model")
    x, y, _, _ = _network()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sm.simple_save(sess, folder, {"x": x}, {"y": y})
        with pytest.raises(AssertionError, match="already exists"):
            sm.Builder(folder)
        with pytest.raises(RuntimeError, match="could not be found"):
            sm.loader.load(sess, ["serve", "gpu"], folder)
        with pytest.raises(OSError, match="does not exist"):
            sm.loader.load(sess, ["serve"], folder + "x")
        with open(os.path.join(folder, "saved_model.pb"), "r+b") as f:
            f.truncate(100)
        with pytest.raises(OSError, match="Cannot parse"):
            sm.loader.load(sess, ["serve"], folder)
        for broken in ({}, None):
            with pytest.raises(ValueError):
                sm.predict_signature_def(broken, {"y": y})
            with pytest.raises(ValueError):
                sm.predict_signature_def({"x": x}, broken)
        info = sm.build_tensor_info(x)
        info.ClearField("name")
        with pytest.raises(AssertionError, match="neither a name"):
            sm.Builder(str(tmp_path / "b")).add_meta_graph_and_variables(sess, ["t"], {"s": sm.build_signature_def({"x": info})})


def test_signatures():
    examples, classes = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [None, 2])
    scores = tf.placeholder(tf.float32, [None, 2])
    utils = sm.signature_def_utils
    for signature in (utils.classification_signature_def(examples, classes, scores), utils.classification_signature_def(examples, None, scores),
                      utils.regression_signature_def(examples, scores), utils.predict_signature_def({"a": scores}, {"b": classes})):
        assert utils.is_valid_signature(signature)
    assert not utils.is_valid_signature(sm.build_signature_def({"a": sm.build_tensor_info(scores)}, {}, sm.PREDICT_METHOD_NAME))
    with pytest.raises(ValueError, match="cannot both be None"):
        utils.classification_signature_def(examples, None, None)
    with pytest.raises(ValueError, match="string"):
        utils.regression_signature_def(scores, scores)
    sparse = tf.sparse_placeholder(tf.float32, [None, 4])
    info = sm.build_tensor_info(sparse)
    again = sm.get_tensor_from_tensor_info(info)
    assert again.values is sparse.values and again.indices is sparse.indices
