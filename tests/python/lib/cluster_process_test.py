# SPDX-License-Identifier: Apache-2.0
"""A cluster of processes over gRPC, of ours alone (with TensorFlow's: tests/conformance_cluster.py): the same results as in one process; tasks
that are killed, stopped and started again."""
import argparse
import os
import signal
import sys
import time

import pytest

import headrace as tf

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import conformance_cluster as C

BUILD = os.environ.get("HEADRACE_BUILD", "")
pytestmark = pytest.mark.skipif(not BUILD, reason="HEADRACE_BUILD names no build folder") # one without the command fails


@pytest.fixture(scope="module")
def a():
    return argparse.Namespace(build=BUILD, python=sys.executable, tf_python="")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("cluster"))
    for name, text in [("client.py", C.CLIENT), ("waiter.py", C.WAITER)]:
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    return folder


@pytest.fixture()
def cluster(a, folder):
    made = C.Cluster(a, folder, "hr", "hr", 1000)
    yield made
    made.stop()


def test_a_cluster_computes_what_one_process_does(a, folder, cluster):
    assert C.difference(C.client(a, folder, "", "hr"), C.client(a, folder, cluster.target, "hr")) == ""


def test_tasks_that_die_or_freeze(a, folder):
    report = C.Report()
    C.failures(a, folder, report)
    assert report.passed == 3 and report.failed == 0


def two_tasks():
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(2.0, name="v")
    with tf.device("/job:worker/task:0"):
        y = v * 3.0 + 1.0
    return v, y


def test_a_restarted_task_wants_a_new_session(cluster):
    with tf.Graph().as_default():
        v, y = two_tasks()
        with tf.Session(cluster.target) as session:
            session.run(tf.global_variables_initializer())
            assert session.run(y) == 7.0
            cluster.processes["ps"].kill()
            cluster.processes["ps"].wait()
            cluster.start("ps", "hr")
            with pytest.raises((tf.errors.AbortedError, tf.errors.UnavailableError)):
                for _ in range(3): session.run(y)
        with tf.Session(cluster.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):  # its variables went with it
                session.run(y)
            session.run(tf.global_variables_initializer())
            assert session.run(y) == 7.0


def test_a_trace_tells_of_both_tasks(cluster):
    with tf.Graph().as_default():
        v, y = two_tasks()
        with tf.Session(cluster.target) as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True), run_metadata=metadata)
            devices = {d.device for d in metadata.step_stats.dev_stats if d.node_stats}
            assert {"/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"} <= devices
            assert len(metadata.partition_graphs) == 2


def test_timeouts_and_closing(cluster):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            got = tf.FIFOQueue(1, [tf.float32]).dequeue()
        session = tf.Session(cluster.target)
        start = time.time()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(got, options=tf.RunOptions(timeout_in_ms=200))
        assert time.time() - start < 1.5
        start = time.time()
        session.close()
        assert time.time() - start < 1


@pytest.mark.skipif(os.environ.get("HEADRACE_NEAR") == "0", reason="gRPC's calls hang in the child of a fork")
def test_the_child_of_a_fork_cannot_call_tasks(cluster):
    with tf.Graph().as_default() as graph, tf.Session(cluster.target) as session:
        y = tf.add(1, 1)
        assert session.run(y) == 2
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            refused = 0
            for target in [lambda: session, lambda: tf.Session(cluster.target, graph=graph)]:
                try:
                    target().run(y)
                except tf.errors.UnavailableError:
                    refused += 1
            session.close()
            os._exit(0 if refused == 2 and tf.Session().run(y) == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert session.run(y) == 2


def test_isolated_sessions_share_nothing(cluster):
    with tf.Graph().as_default():
        v, y = two_tasks()
        config = tf.ConfigProto(isolate_session_state=True)
        with tf.Session(cluster.target, config=config) as one, tf.Session(cluster.target, config=config) as other:
            one.run(v.initializer)
            assert one.run(y) == 7.0
            with pytest.raises(tf.errors.FailedPreconditionError):
                other.run(y)


def test_a_client_brings_its_own_cluster(a, folder):
    one, other = C.Cluster(a, folder, "hr", "hr", 1000), C.Cluster(a, folder, "hr", "hr", 1000)
    try:
        definition = tf.train.ClusterSpec({"mine": [other.tasks["worker"][0], one.tasks["worker"][0]]}).as_cluster_def()
        with tf.Graph().as_default():
            with tf.device("/job:mine/task:0"):
                v = tf.Variable(2.0)
            with tf.device("/job:mine/task:1"):
                y = v * 3.0 + 1.0
            with tf.Session(one.target, config=tf.ConfigProto(cluster_def=definition)) as session:
                session.run(tf.global_variables_initializer())
                assert session.run(y) == 7.0
                assert sorted(d.name for d in session.list_devices()) == [
                    "/job:mine/replica:0/task:%d/device:CPU:0" % i for i in range(2)]
            with tf.Session("grpc://" + one.tasks["ps"][0], config=tf.ConfigProto(cluster_def=definition)) as session:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(y)
    finally:
        one.stop()
        other.stop()
