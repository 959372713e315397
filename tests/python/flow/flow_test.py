# SPDX-License-Identifier: Apache-2.0
"""Branches and loops: the nodes and the results that TensorFlow recorded, and what must be refused."""
import json
import os

import numpy as np
import pytest

import flow_programs
import headrace as tf

HERE = os.path.dirname(os.path.abspath(__file__))


def _load(name):
    with open(os.path.join(HERE, name)) as f:
        return json.load(f)


NODES, VALUES = _load("flow_nodes.json"), _load("flow_values.json")


@pytest.mark.parametrize("program", flow_programs.NODES, ids=lambda f: f.__name__)
def test_nodes(program):
    found, wanted = flow_programs.listed(tf, program), NODES[program.__name__]
    assert [n[1] for n in found] == [n[1] for n in wanted]
    assert found == wanted


def _same(found, wanted):
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted)
        for key in wanted:
            _same(found[key], wanted[key])
    elif isinstance(wanted, list) and any(isinstance(w, (list, dict)) for w in wanted):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted):
            _same(f, w)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("program", flow_programs.VALUES, ids=lambda f: f.__name__)
def test_results(program):
    _same(flow_programs.results(tf, program), VALUES[program.__name__])


def test_every_program_is_recorded():
    assert sorted(NODES) == sorted(f.__name__ for f in flow_programs.NODES)
    assert sorted(VALUES) == sorted(f.__name__ for f in flow_programs.VALUES)


# --- what is refused ----------------------------------------------------
def _in_graph(f):
    def run():
        with tf.Graph().as_default():
            f()
    run.__name__ = f.__name__
    return run


@_in_graph
def test_branches_must_agree():
    p, x = tf.placeholder(tf.bool, []), tf.constant(1.0)
    with pytest.raises(ValueError):
        tf.cond(p, lambda: x, lambda: tf.constant(1))
    with pytest.raises(ValueError):
        tf.cond(p, lambda: [x, x], lambda: [x])
    with pytest.raises(ValueError):
        tf.cond(p, lambda: None, lambda: x)
    with pytest.raises(TypeError):
        tf.cond(True, lambda: x, lambda: x)
    with pytest.raises(TypeError):
        tf.cond(p, x, lambda: x)


@_in_graph
def test_loop_variables_must_keep_their_form():
    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [tf.constant(0), tf.ones([1])])
    with pytest.raises(ValueError):
        tf.while_loop(lambda i, x: i < 3, lambda i, x: i + 1, [tf.constant(0), tf.constant(0)])
    with pytest.raises(TypeError):
        tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [tf.constant(0)])
    with pytest.raises(ValueError):
        tf.while_loop(lambda: True, lambda: [], [])
    with pytest.raises(ValueError, match="not compatible"):
        tf.while_loop(lambda x: True, lambda x: x, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])])


@_in_graph
def test_the_inside_of_a_branch_or_loop_cannot_be_fetched_or_read_elsewhere():
    inside = []

    def body(i):
        inside.append(i + 1)
        return inside[0]
    tf.while_loop(lambda i: i < 3, body, [0])
    with tf.Session() as session:
        with pytest.raises(ValueError, match="not fetchable"):
            session.run(inside[0])
        with pytest.raises(ValueError):
            session.run(tf.constant(1), {inside[0]: 1})
    with pytest.raises(ValueError, match="different while loops"):
        tf.while_loop(lambda i: i < 3, lambda i: i + inside[0], [0])


def test_assert_shows_its_data_only_when_it_fails():
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.bool, [])
        with tf.control_dependencies([tf.Assert(p, [tf.constant(2.5)])]):
            x = tf.constant(1)
        assert session.run(x, {p: True}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="2.5"):
            session.run(x, {p: False})


def test_contexts_survive_a_meta_graph():
    def build():
        x = tf.placeholder(tf.int32, [], name="x")
        _, s = tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, tf.cond(s > 3, lambda: s + 10, lambda: s + i)), [0, 0])
        tf.identity(s, name="s")
    with tf.Graph().as_default():
        build()
        meta = tf.train.export_meta_graph()
    assert len(meta.collection_def["while_context"].bytes_list.value) == 1
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(meta, import_scope="there")
        loop, = graph.get_collection("while_context")
        assert loop.name == "there/while/while_context" and loop.pivot.op.type == "LoopCond"
        assert session.run("there/s:0", {"there/x:0": 6}) == 26
        with pytest.raises(ValueError):
            session.run("there/while/add:0", {"there/x:0": 6})


def test_a_variable_made_in_a_loop_is_made_once_outside_of_it():
    with tf.Graph().as_default(), tf.Session() as session:
        def body(i, x):
            with tf.variable_scope("inner", reuse=tf.AUTO_REUSE):
                return i + 1, x * tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))
        result = tf.while_loop(lambda i, x: i < 4, body, [0, 1.0])
        session.run(tf.global_variables_initializer())
        assert [v.op.name for v in tf.global_variables()] == ["inner/w"]
        assert session.run(result[1]) == 81


def test_smart_cond_and_python_values():
    from headrace.flow import smart_cond
    with tf.Graph().as_default() as graph:
        assert smart_cond(True, lambda: 1, lambda: 2) == 1 and smart_cond(0, lambda: 1, lambda: 2) == 2
        assert smart_cond(tf.constant(False), lambda: 1, lambda: 2) == 2
        assert not [op for op in graph.get_operations() if op.type == "Switch"]
        with pytest.raises(TypeError):
            smart_cond(7, lambda: 1, lambda: 2)
