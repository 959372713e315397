# SPDX-License-Identifier: Apache-2.0
"""Variables initialized from a checkpoint, by name, by scope, by themselves."""
import pytest

import headrace as tf


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("checkpoint"))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a/w", [2], initializer=tf.constant_initializer(3.0))
        tf.get_variable("a/b", [], initializer=tf.constant_initializer(4.0))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path + "/model")
    return path


@pytest.mark.parametrize("use_resource", [False, True])
def test_by_scope_name_and_variable(folder, use_resource):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        with tf.variable_scope("x", use_resource=use_resource):
            w, b = tf.get_variable("w", [2]), tf.get_variable("b", [])
        other, third = tf.get_variable("other", [2]), tf.get_variable("third", [])
        tf.train.init_from_checkpoint(folder, {"a/": "x/"})
        tf.train.init_from_checkpoint(tf.train.latest_checkpoint(folder), {"a/w": other, "a/b": "third"})
        session.run(tf.global_variables_initializer())
        assert session.run([w, b, other, third])[1] == 4.0 and session.run(w).tolist() == session.run(other).tolist() == [3.0, 3.0]
        assert session.run(third) == 4.0
        assert graph.get_operation_by_name("checkpoint_initializer").type == "RestoreV2"


def test_what_does_not_fit(folder):
    with tf.Graph().as_default():
        w = tf.get_variable("w", [3])
        for bad in ({"a/w": w}, {"nothing": w}, {"a/": "w"}, {"a": "x"}):
            with pytest.raises(ValueError):
                tf.train.init_from_checkpoint(folder, bad)
    with pytest.raises(ValueError):
        tf.train.init_from_checkpoint(folder + "/..", {"a/": "b/"})


def test_checkpoints_iterator(folder):
    found = tf.train.checkpoints_iterator(folder, timeout=0)
    assert next(found) == folder + "/model"
    assert list(found) == []
