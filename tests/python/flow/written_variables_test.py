# SPDX-License-Identifier: Apache-2.0
"""Reads of reference variables that the same step writes: behind a write they see it, fetches come after it, loops see what their body assigns."""
import numpy as np

import headrace as tf


def _run(build):
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, feed = build()
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def test_a_reader_behind_an_update():
    def build():
        v = tf.Variable(5.0)
        update = tf.assign_add(v, 1.0)
        with tf.control_dependencies([update]):
            return [v * 2.0, tf.reduce_sum(v)], {}
    assert _run(build) == [12.0, 6.0]


def test_fetches_come_after_updates():
    def build():
        v = tf.Variable(5.0)
        old = tf.identity(v)
        with tf.control_dependencies([old]):
            first = tf.assign_add(v, 1.0)
        return [v, old, first, tf.assign_add(v, 10.0)], {}
    assert _run(build) == [16.0] * 4


def test_fetch_with_a_loop_or_a_branch_that_writes():
    def build(taken):
        v, w, p = tf.Variable(5.0), tf.Variable(1.0), tf.placeholder(tf.bool, [])

        def body(i):
            with tf.control_dependencies([tf.assign_add(v, 1.0)]):
                return i + 1
        loop = tf.while_loop(lambda i: i < 10, body, [0])
        branch = tf.cond(p, lambda: tf.assign_add(w, 2.0), lambda: tf.identity(w))
        return [v, loop, w, branch], {p: taken}
    assert _run(lambda: build(True)) == [15.0, 10, 3.0, 3.0]
    assert _run(lambda: build(False)) == [15.0, 10, 1.0, 1.0]


def test_a_loop_s_condition_reads_what_its_body_assigns():
    def build():
        v, w = tf.Variable(0), tf.Variable(0)

        def body(i):
            with tf.control_dependencies([tf.assign_add(v, 1)]):
                add = tf.assign_add(w, v)
            with tf.control_dependencies([add]):
                return tf.identity(v)
        return [tf.while_loop(lambda _: tf.less(v, 10), body, [v], parallel_iterations=1), w], {}
    assert _run(build) == [10, 55]


def test_a_branch_in_a_loop_reads_what_the_last_round_assigned():
    def build():
        v = tf.Variable(1.0)

        def body(i):
            branch = tf.cond(tf.equal(i % 2, 0), lambda: tf.assign(v, v * 2.0), lambda: tf.assign(v, v + 1.0))
            with tf.control_dependencies([branch]):
                return i + 1
        return [tf.while_loop(lambda i: i < 6, body, [0], parallel_iterations=1), v], {}
    assert _run(build) == [6, 15.0]


def test_training_steps_are_as_before():
    def build():
        w = tf.Variable(np.float32([1, 2]))
        loss = tf.reduce_sum(tf.square(w))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step())
        return [train, loss, w, tf.train.get_global_step()], {}
    _, loss, w, step = _run(build)
    assert loss == 5.0 and np.allclose(w, [0.8, 1.6]) and step == 1


def test_a_partial_run_fetches_without_waiting_for_a_write():
    with tf.Graph().as_default(), tf.Session() as session:
        v, x = tf.Variable(5.0), tf.placeholder(tf.float32, [])
        add = tf.assign_add(v, x)
        session.run(tf.global_variables_initializer())
        handle = session.partial_run_setup([v.read_value(), add], [x])
        assert session.partial_run(handle, add, {x: 2.0}) == 7.0
        read = v.read_value()
        handle = session.partial_run_setup([read, add], [x])
        assert session.partial_run(handle, read) == 7.0
        assert session.partial_run(handle, add, {x: 1.0}) == 8.0
