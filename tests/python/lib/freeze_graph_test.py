# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.tools.freeze_graph, and TensorFlow's protobuf modules that scripts import beside it."""
import os
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace import freeze_graph, internal_names


@pytest.fixture
def model(tmp_path):
    """A folder with a trained graph: text and binary, a checkpoint with its MetaGraph, a SavedModel; and y for x = [1, 2]."""
    folder = str(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], "x")
        with tf.device("/cpu:0"):
            a = tf.Variable([2.0, 3.0], name="a")
        b = tf.Variable([10.0, 20.0], name="b", use_resource=True)
        y = tf.add(x * a, b, name="y")
        unused = tf.Variable(1.0, name="unused")
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        session.run([a.assign([5.0, 6.0]), b.assign([30.0, 40.0])])
        saver.save(session, os.path.join(folder, "model"))
        for name, as_text in (("graph.pbtxt", True), ("graph.pb", False)):
            tf.train.write_graph(session.graph.as_graph_def(), folder, name, as_text)
        with open(os.path.join(folder, "saver.pb"), "wb") as f:
            f.write(saver.as_saver_def().SerializeToString())
        tf.saved_model.simple_save(session, os.path.join(folder, "saved"), {"x": x}, {"y": y})
    return folder


def values(frozen):
    assert not {"VariableV2", "VarHandleOp", "ReadVariableOp"} & {n.op for n in frozen.node} and all(n.name != "unused" for n in frozen.node)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(frozen, name="")
        return session.run("y:0", {"x:0": [1, 2]}).tolist()


@pytest.mark.parametrize("inputs", [
    dict(input_graph="graph.pbtxt", input_binary=False), dict(input_graph="graph.pb"), dict(input_graph="graph.pb", input_saver="saver.pb"),
    dict(input_meta_graph="model.meta"), dict(input_saved_model_dir="saved", input_checkpoint=None)])
def test_a_graph_and_its_values_in_one_file(model, inputs):
    arguments = dict(input_graph="", input_saver="", input_binary=True, input_checkpoint="model", output_node_names="y", restore_op_name="save/restore_all",
                     filename_tensor_name="save/Const:0", clear_devices=True, initializer_nodes="")
    arguments.update(inputs)
    for name in ("input_graph", "input_saver", "input_checkpoint", "input_meta_graph", "input_saved_model_dir"):
        if arguments.get(name):
            arguments[name] = os.path.join(model, arguments[name])
    out = os.path.join(model, "frozen.pb")
    frozen = freeze_graph.freeze_graph(output_graph=out, **arguments)
    assert values(frozen) == [35.0, 52.0] and all(not n.device for n in frozen.node)
    with open(out, "rb") as f:
        assert values(tf.GraphDef.FromString(f.read())) == [35.0, 52.0]


def freeze(model, **more):
    arguments = dict(input_graph=os.path.join(model, "graph.pb"), input_saver="", input_binary=True, input_checkpoint=os.path.join(model, "model"),
                     output_node_names="y", restore_op_name="", filename_tensor_name="", output_graph="", clear_devices=False, initializer_nodes="")
    arguments.update(more)
    return freeze_graph.freeze_graph(**arguments)


def test_choice_of_variables(model):
    assert any(n.device for n in freeze(model).node)
    ops = {n.name: n.op for n in freeze(model, variable_names_whitelist="a, c").node}
    assert ops["a"] == "Const" and ops["b"] == "VarHandleOp"
    ops = {n.name: n.op for n in freeze(model, variable_names_denylist="a").node}
    assert ops["a"] == "VariableV2" and ops["b"] == "Const"


def test_what_is_wrong_is_named(model):
    for more, error, message in ((dict(input_checkpoint=os.path.join(model, "none")), ValueError, "Input checkpoint '.*none' doesn't exist!"),
                                 (dict(output_node_names=""), ValueError, "supply the name of a node"),
                                 (dict(output_node_names="z"), AssertionError, "z is not in graph"),
                                 (dict(input_graph=os.path.join(model, "nope")), IOError, "Input graph file '.*nope' does not exist!")):
        with pytest.raises(error, match=message):
            freeze(model, **more)
    frozen = freeze(model, output_graph=os.path.join(model, "frozen.pb"))
    with pytest.raises(ValueError, match="You cannot freeze a graph twice"):
        freeze(model, input_graph=os.path.join(model, "frozen.pb"))
    frozen.node.add(name="v", op="VariableV2")
    with pytest.raises(ValueError, match="The checkpoint has no value for v"):
        freeze_graph.freeze_graph_with_def_protos(frozen, None, os.path.join(model, "model"), "v", "", "", "", False, "")


def test_protobuf_modules():
    core = internal_names.core()
    assert core.protobuf.rewriter_config_pb2.RewriterConfig.OFF == 2 and core.framework.types_pb2.DT_INVALID == 0
    assert core.framework.graph_pb2.GraphDef is tf.GraphDef and core.framework.types_pb2.DataType.Name(3) == "DT_INT32"
    for path in (lambda: core.nope, lambda: core.framework.nope, lambda: core.framework.nope_pb2.X, lambda: core.framework.graph_pb2.Nope):
        with pytest.raises(AttributeError, match="headrace has no tensorflow.core"):
            path()


def test_scripts_import_them(tmp_path):
    path = str(tmp_path / "script.py")
    with open(path, "w") as f:
        f.write("from tensorflow.python.tools import freeze_graph\nfrom tensorflow.python.tools.freeze_graph import freeze_graph as f\n"
                "from tensorflow.core.protobuf import rewriter_config_pb2, config_pb2\nfrom tensorflow.core.framework import graph_pb2\n"
                "import tensorflow.core.framework.types_pb2 as types\nimport tensorflow as tf\n"
                "c = config_pb2.ConfigProto()\nc.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF\n"
                "with tf.Session(config=c) as s:\n  print(s.run(tf.constant(2) + 1), f is freeze_graph.freeze_graph, types.DT_FLOAT)\n")
    done = subprocess.run([sys.executable, "-m", "headrace", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 True 1\n"
