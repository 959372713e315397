# SPDX-License-Identifier: Apache-2.0
"""Device names, device functions and cluster descriptions; the devices that nodes get are what TensorFlow gives them."""
import pytest

import headrace as tf


def devices_of(graph):
    return dict((op.name, op.device) for op in graph.get_operations())


def test_device_spec():
    spec = tf.DeviceSpec.from_string("/job:ps/replica:0/task:1/device:gpu:3")
    assert spec.to_string() == "/job:ps/replica:0/task:1/device:GPU:3"
    assert (spec.job, spec.task, spec.device_type, spec.device_index) == ("ps", 1, "GPU", 3)
    spec.merge_from(tf.DeviceSpec(job="w", device_index=1))
    assert spec.to_string() == "/job:w/replica:0/task:1/device:GPU:1"
    assert tf.DeviceSpec.from_string("/cpu:*").to_string() == "/device:CPU:*"
    assert tf.DeviceSpec(job="a") == tf.DeviceSpec.from_string("/job:a") and tf.DeviceSpec() != spec
    with pytest.raises(ValueError):
        tf.DeviceSpec.from_string("/jobs:a")


def test_replica_device_setter():
    cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": ["c:1", "d:2"]})
    with tf.Graph().as_default() as graph:
        with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:1")):
            v, w = tf.Variable(1.0, name="v"), tf.Variable([1.0], name="w")
            y = tf.multiply(v, w, name="y")
            with tf.device("/cpu:0"):
                tf.Variable(2.0, name="u")
            tf.assign(v, 2.0, name="set")
            with tf.device(None):
                tf.constant(1.0, name="free")
            grads = tf.gradients(y, [v, w], name="g")
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))
        found = devices_of(graph)
        assert [found[n] for n in ("v", "v/Assign", "v/read", "set")] == ["/job:ps/task:0"] * 4
        assert found["w"] == "/job:ps/task:1" and found["y"] == "/job:worker/task:1"
        assert found["u"] == "/job:ps/task:0/device:CPU:0" and found["free"] == ""
        assert all(g.device == "/job:worker/task:1" for g in grads)
        assert found["w/Momentum"] == "/job:ps/task:1" and found["Momentum/update_w/ApplyMomentum"] == "/job:ps/task:1"
        assert train.type == "NoOp"
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None


def test_colocation_hides_the_devices_around_it():
    with tf.Graph().as_default() as graph:
        with tf.device("/job:a"):
            x = tf.constant(1.0, name="x")
        with tf.device("/job:b"), tf.colocate_with(x):
            tf.constant(2.0, name="y")
        assert devices_of(graph) == {"x": "/job:a", "y": "/job:a"}
        assert graph.get_operation_by_name("y").colocation_groups() == [b"loc:@x"]


def test_gradients_lie_beside_their_operations_when_asked():
    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0, name="x")
        with tf.device("/cpu:1"):
            y = tf.multiply(x, x, name="y")
        tf.gradients(y, x, colocate_gradients_with_ops=True)
        tf.gradients(y, x, name="plain")
        made = dict((n, d) for n, d in devices_of(graph).items() if "_grad/" in n)
    assert made and all(d == ("/device:CPU:1" if n.startswith("gradients/") else "") for n, d in made.items())


def test_cluster_spec():
    cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {3: "c:1", 1: "b"}})
    assert cluster.as_dict() == {"ps": ["a:1"], "worker": {1: "b", 3: "c:1"}}
    assert cluster.job_tasks("worker") == [None, "b", None, "c:1"] and cluster.num_tasks("worker") == 2
    assert cluster.task_address("worker", 3) == "c:1" and cluster.task_indices("worker") == [1, 3]
    assert tf.train.ClusterSpec(cluster.as_cluster_def()) == cluster
    for bad in (7, {"a": "b:1"}, {"a": [1]}, {"a": {"x": "b:1"}}):
        with pytest.raises(TypeError):
            tf.train.ClusterSpec(bad)
    with pytest.raises(ValueError):
        cluster.task_address("worker", 0)


def test_devices_of_a_session():
    with tf.Session(graph=tf.Graph(), config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        found = session.list_devices()
    assert [d.name for d in found] == ["/job:localhost/replica:0/task:0/device:CPU:%d" % i for i in range(3)]
    assert {d.device_type for d in found} == {"CPU"}
