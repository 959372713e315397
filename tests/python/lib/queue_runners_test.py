# SPDX-License-Identifier: Apache-2.0
"""Threads that fill queues: they start, stop together, end with their input, hand failures to join(), and outlive export and import."""
import threading
import time

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def _endless(threads=2):
    """A queue of threes that runners keep full."""
    q = tf.FIFOQueue(4, [tf.float32], shapes=[[]], name="q")
    tf.train.add_queue_runner(tf.train.QueueRunner(q, [q.enqueue([tf.constant(3.0)])] * threads))
    return q


def test_fills_until_asked_to_stop():
    q = _endless()
    values = q.dequeue_many(10)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert len(threads) == 3 and all(t.daemon for t in threads)
        assert tf.train.start_queue_runners(sess, coord) == []  # those run still
        assert sess.run(values).tolist() == [3.0] * 10 and not coord.should_stop()
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=20)
        assert coord.joined and not any(t.is_alive() for t in threads) and sess.run(q.is_closed())


def test_ends_with_its_input():
    source = tf.FIFOQueue(4, [tf.int32], shapes=[[]])
    q = tf.FIFOQueue(8, [tf.int32], shapes=[[]])
    runner = tf.train.QueueRunner(q, [q.enqueue(source.dequeue())])
    fill, close, value = source.enqueue_many([[1, 2, 3]]), source.close(), q.dequeue()
    with tf.Session() as sess:
        sess.run(fill), sess.run(close)
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, start=True)
        got = []
        with coord.stop_on_exception():
            while not coord.should_stop():
                got.append(int(sess.run(value)))
        assert got == [1, 2, 3] and coord.should_stop()
        coord.join(threads, stop_grace_period_secs=20)  # the end of the input is no failure


def test_failures_reach_join():
    q = tf.FIFOQueue(4, [tf.int32], shapes=[[]])
    bad = tf.placeholder(tf.int32, [], name="bad")
    runner = tf.train.QueueRunner(q, [q.enqueue(bad)])
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, daemon=True, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'bad'"):
            coord.join(threads, stop_grace_period_secs=20)
    with pytest.raises(ValueError, match="no default session"):
        tf.train.start_queue_runners()


def test_coordinator():
    coord, release = tf.train.Coordinator(), threading.Event()
    t = threading.Thread(target=release.wait, daemon=True)
    t.start()
    coord.register_thread(t)
    coord.request_stop(ValueError("first"))
    coord.request_stop(ValueError("second"))
    began = time.monotonic()
    with pytest.raises(ValueError, match="first"):
        coord.join(stop_grace_period_secs=0.1)
    assert time.monotonic() - began < 10 and coord.should_stop() and coord.wait_for_stop(0)
    coord.clear_stop()
    assert not coord.should_stop()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="threads still running"):
        coord.join([t], stop_grace_period_secs=0.1)
    release.set()


def test_export_and_import():
    _endless(1).dequeue()
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope="in")
        runner, = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.name == "in/q" and [op.name for op in runner.enqueue_ops] == ["in/q_enqueue"]
        assert (runner.close_op.name, runner.cancel_op.name) == ("in/q_Close", "in/q_Close_1")
        with tf.Session() as sess:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(coord=coord)
            assert sess.run("in/q_Dequeue:0") == 3.0
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=20)
