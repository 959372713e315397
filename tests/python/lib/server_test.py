# SPDX-License-Identifier: Apache-2.0
"""tf.train.Server in this process, and sessions that reach it over loopback."""
import threading
import time

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(scope="module")
def server():
    made = tf.train.Server.create_local_server()
    yield made
    made.stop()


def test_a_session_runs_on_a_server(server):
    assert server.target.startswith("grpc://localhost:") and server.server_def.job_name == "localhost"
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        loop = tf.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2.0), [0, 1.0])
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            assert session.run(v.assign_add(2.0)) == 3.0 and session.run(loop)[1] == 32.0
            names = [d.name for d in session.list_devices()]
            assert names == ["/job:localhost/replica:0/task:0/device:CPU:0"]
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(tf.reshape(tf.constant([1.0, 2.0]), tf.placeholder_with_default([3], [1])))


def test_variables_outlive_sessions_until_reset(server):
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="outlives")
        with tf.Session(server.target) as session:
            session.run(v.initializer)
            session.run(v.assign_add(4.0))
        with tf.Session(server.target) as session:
            assert session.run(v) == 5.0
        tf.Session.reset(server.target)
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(v)


def test_what_has_no_shared_name_is_one_session_s_alone(server):
    with tf.Graph().as_default():
        own, shared = tf.FIFOQueue(5, tf.float32, [()]), tf.FIFOQueue(5, tf.float32, [()], shared_name="shared_by_sessions")
        put, sizes, close = [own.enqueue(1.0), shared.enqueue(1.0)], [own.size(), shared.size()], own.close()
        with tf.Session(server.target) as first, tf.Session(server.target) as second:
            first.run(put)
            assert first.run(sizes) == [1, 1] and second.run(sizes) == [0, 1]
            first.run(close)
            with pytest.raises(tf.errors.OutOfRangeError, match=r"'_\d+_%s' is closed and has insufficient elements \(requested 2, current size 1\)" % own.name):
                first.run(own.dequeue_many(2))
            second.run(put)
            assert second.run(sizes) == [1, 2]
        with tf.Session(server.target) as third:
            assert third.run(sizes) == [0, 2]
            with pytest.raises(tf.errors.InvalidArgumentError, match="shared_name cannot start with '_'"):
                third.run(tf.FIFOQueue(5, tf.float32, shared_name="_mine").size())
        tf.Session.reset(server.target)


def test_a_session_s_own_queue_leaves_others_alone_whatever_its_container_is_called(server):
    def size_of(container, shared_name, target, puts=0):
        with tf.Graph().as_default() as g, tf.Session(target) as session:
            attrs = {"component_types": [tf.float32], "container": container, "shared_name": shared_name}
            queue = g.create_op("FIFOQueueV2", [], attrs=attrs).outputs[0]
            put = g.create_op("QueueEnqueueV2", [queue, tf.constant(1.0)], attrs={"Tcomponents": [tf.float32]})
            size = g.create_op("QueueSizeV2", [queue]).outputs[0]
            for _ in range(puts):
                session.run(put)
            return session.run(size)

    assert size_of("a", "b", server.target, puts=1) == 1
    assert size_of("a\0b", "", server.target) == 0 # and goes with its session
    assert size_of("a", "b", server.target) == 1
    tf.Session.reset(server.target, ["a"])


def test_references_and_handles_of_one_name_are_two_variables(server):
    for use_resource, value in ((True, 1.0), (False, [2.0, 3.0])):
        with tf.Graph().as_default(), tf.Session(server.target) as session:
            v = tf.get_variable("of_one_name", initializer=tf.constant(value), use_resource=use_resource)
            session.run(v.initializer)
            assert np.array_equal(session.run(v), value)
    tf.Session.reset(server.target)


def test_training_through_a_monitored_session(server):
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1, ps_device="/job:localhost", worker_device="/job:localhost")):
        step = tf.train.get_or_create_global_step()
        w = tf.Variable(0.0, name="w")
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w - 3.0), global_step=step)
        with tf.train.MonitoredTrainingSession(server.target, hooks=[tf.train.StopAtStepHook(last_step=20)]) as session:
            while not session.should_stop():
                session.run(train)
            assert session._tf_sess().run(w) > 2.9


def test_two_tasks_share_a_variable():
    import socket
    sockets = [socket.socket() for _ in range(2)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    cluster = {"ps": ["localhost:%d" % sockets[0].getsockname()[1]], "worker": ["localhost:%d" % sockets[1].getsockname()[1]]}
    for s in sockets:
        s.close()
    servers = [tf.train.Server(cluster, job, 0) for job in ("ps", "worker")]
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            v = tf.Variable([1.0, 2.0])
        with tf.device("/job:worker"):
            y = v * 2.0
        with tf.Session(servers[1].target) as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            got = session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    assert got.tolist() == [2.0, 4.0]
    where = dict((n.node_name, d.device) for d in metadata.step_stats.dev_stats for n in d.node_stats)
    assert "/job:worker" in where["mul"]
    for s in servers:
        s.stop()


def test_join_ends_when_the_server_is_stopped():
    server = tf.train.Server.create_local_server()
    waiting = threading.Thread(target=server.join)
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    began = time.time()
    server.stop()
    waiting.join(5)
    assert not waiting.is_alive() and time.time() - began < 2


def test_bad_definitions():
    with pytest.raises(ValueError):
        tf.train.Server({"a": ["localhost:0"], "b": ["localhost:0"]})
    with pytest.raises(tf.errors.OpError):
        tf.train.Server({"a": ["localhost:1"]}, job_name="c", task_index=0)
    with pytest.raises(tf.errors.OpError):
        tf.train.Server({"a": ["localhost:0"]}, protocol="smoke+signals")
