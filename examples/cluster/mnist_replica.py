# SPDX-License-Identifier: Apache-2.0
"""One task of a cluster that trains the demo's network on Fashion-MNIST: two 5x5 convolutions with max pooling, 1024 hidden units, dropout,
softmax, Adam. The variables lie on parameter servers; each worker has the graph to itself and updates them when it has gradients, without
waiting for the others (between-graph replication, asynchronous).

By hand, a terminal for each task:

    python mnist_replica.py --job_name=ps --task_index=0
    python mnist_replica.py --job_name=worker --task_index=0
    python mnist_replica.py --job_name=worker --task_index=1

with --ps_hosts and --worker_hosts the same for all. Worker 0 is the chief: it initializes or restores, and writes checkpoints. Any task may
be killed and started again: training goes on from the last checkpoint. Parameter servers run until they are stopped. cluster/run.py does all
this on one machine.

The file runs on TensorFlow as well, with the import below changed to `import tensorflow.compat.v1 as tf`.
"""
import argparse
import gzip
import os
import sys
import time

import numpy as np
import headrace as tf

DEBIAN = "/usr/share/datasets/fashion-mnist"
KEEP = 0.5  # of the hidden units, in training


# --- data -----------------------------------------------------------------------------------------------------------------------------
def read_idx(folder, name):
    """The array in an IDX file: 0, 0, type (8: bytes), rank, the sizes as big-endian 32-bit numbers, the elements."""
    path = os.path.join(folder, name)
    opener = open if os.path.exists(path) else gzip.open
    try:
        with opener(path if opener is open else path + ".gz", "rb") as f:
            data = f.read()
    except OSError as e:
        raise SystemExit("cannot read %s[.gz]: %s\n--data DIR names a folder with the four IDX files; Debian: apt install dataset-fashion-mnist"
                         % (path, e.strerror or e))
    rank = data[3]
    shape = np.frombuffer(data[:4 + 4 * rank][4:], ">u4").astype(int)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def load(folder, part):
    """(images as float32 in 0..1, labels as int64) of part "train" or "t10k"."""
    images, labels = read_idx(folder, part + "-images-idx3-ubyte"), read_idx(folder, part + "-labels-idx1-ubyte")
    return images[:, :, :, None].astype(np.float32) / 255, labels.astype(np.int64)


def batches(images, labels, size, seed):
    """Random batches without end, each image once before any comes again."""
    random = np.random.RandomState(seed)
    while True:
        order = random.permutation(len(images))
        for at in range(0, len(order) - size + 1, size):
            chosen = order[at:at + size]
            yield images[chosen], labels[chosen]


# --- network --------------------------------------------------------------------------------------------------------------------------
class Network:
    """What is fed (images, labels, keep) and fetched (loss, hits) and the training step."""

    def __init__(self, height, width, rate):
        self.images = tf.placeholder(tf.float32, [None, height, width, 1], "images")
        self.labels = tf.placeholder(tf.int64, [None], "labels")
        self.keep = tf.placeholder_with_default(1.0, [], "keep")
        self.step = tf.train.get_or_create_global_step()
        h = self.convolution(self.images, 1, 32, "conv1")
        h = self.convolution(h, 32, 64, "conv2")
        size = -(-height // 4) * -(-width // 4) * 64  # two poolings, rounded up
        h = tf.nn.relu(self.dense(tf.reshape(h, [-1, size]), size, 1024, "hidden"))
        logits = self.dense(tf.nn.dropout(h, keep_prob=self.keep), 1024, 10, "logits")
        self.hits = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(logits, 1), self.labels), tf.float32))
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits), name="loss")
        warm = tf.minimum(1.0, (tf.cast(self.step, tf.float32) + 1.0) / 100.0)
        self.train = tf.train.AdamOptimizer(rate * warm).minimize(self.loss, self.step)

    def variables(self, shape, inputs, name):
        weights = tf.truncated_normal(shape, stddev=(2.0 / inputs) ** 0.5)
        return tf.Variable(weights, name=name + "/weights"), tf.Variable(tf.fill([shape[-1]], 0.1), name=name + "/biases")

    def convolution(self, x, inputs, outputs, name):
        w, b = self.variables([5, 5, inputs, outputs], 25 * inputs, name)
        h = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") + b)
        return tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def dense(self, x, inputs, outputs, name):
        w, b = self.variables([inputs, outputs], inputs, name)
        return tf.matmul(x, w) + b


class TestAccuracy(tf.train.SessionRunHook):
    """Counts right answers on the test images when training is over."""

    def __init__(self, net, images, labels):
        self.net, self.images, self.labels = net, images, labels

    def end(self, session):
        hits = 0.0
        for k in range(0, len(self.images), 500):
            hits += session.run(self.net.hits, {self.net.images: self.images[k:k + 500], self.net.labels: self.labels[k:k + 500]})
        say("accuracy %.4f of %d test images" % (hits / len(self.images), len(self.images)))


# --- tasks ----------------------------------------------------------------------------------------------------------------------------
def say(text):
    print("%s %d: %s" % (FLAGS.job_name, FLAGS.task_index, text), flush=True)


class Progress:
    """A line every few seconds: the global step, the loss averaged over about the last 20 steps of this worker, its rate."""

    def __init__(self, every):
        self.every, self.loss, self.count, self.began = every, None, 0, time.time()

    def add(self, step, loss):
        self.loss = loss if self.loss is None else 0.95 * self.loss + 0.05 * loss
        self.count += 1
        now = time.time()
        if now - self.began >= self.every:
            rate = self.count / (now - self.began)
            say("step %d, loss %.3f, %.1f steps/s, %.0f images/s" % (step, self.loss, rate, rate * FLAGS.batch))
            self.count, self.began = 0, now


def run_worker(cluster, server):
    chief = FLAGS.task_index == 0
    images, labels = load(FLAGS.data, "train")
    here = "/job:worker/task:%d" % FLAGS.task_index
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=cluster)):
        net = Network(images.shape[1], images.shape[2], FLAGS.rate)
    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps)]
    if chief:
        hooks.append(TestAccuracy(net, *load(FLAGS.data, "t10k")))
    # Only these tasks: the other workers may be missing.
    config = tf.ConfigProto(device_filters=["/job:ps", here])
    progress, batch = Progress(FLAGS.every), batches(images, labels, FLAGS.batch, FLAGS.task_index)
    say("waiting for the parameter servers" if chief else "waiting for the chief")
    with tf.train.MonitoredTrainingSession(master=server.target, is_chief=chief, checkpoint_dir=FLAGS.train_dir, config=config, hooks=hooks,
                                           save_checkpoint_secs=FLAGS.save_secs, save_summaries_steps=0, log_step_count_steps=0) as session:
        while not session.should_stop():
            x, y = next(batch)
            _, loss, step = session.run([net.train, net.loss, net.step], {net.images: x, net.labels: y, net.keep: KEEP})
            progress.add(step, loss)
    say("done")


def main():
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        say("serving %s" % cluster.task_address("ps", FLAGS.task_index))
        server.join()
    else:
        with tf.Graph().as_default():
            if FLAGS.seed is not None:
                tf.set_random_seed(FLAGS.seed)
            run_worker(cluster, server)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--job_name", choices=["ps", "worker"], required=True, help="what this task is")
    p.add_argument("--task_index", type=int, default=0, metavar="N", help="which of its job (0)")
    p.add_argument("--ps_hosts", default="localhost:2222", metavar="HOST:PORT,...", help="addresses of the parameter servers (%(default)s)")
    p.add_argument("--worker_hosts", default="localhost:2223,localhost:2224", metavar="HOST:PORT,...", help="addresses of the workers (%(default)s)")
    p.add_argument("--train_dir", default="/tmp/mnist_replica", metavar="DIR",
                   help="checkpoints, seen by all tasks (%(default)s); servers let graphs touch no other folder (HEADRACE_SERVER_ROOT)")
    p.add_argument("--data", default=DEBIAN, metavar="DIR", help="folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] (%(default)s)")
    p.add_argument("--steps", type=int, default=1000, metavar="N", help="of all workers together (%(default)s)")
    p.add_argument("--batch", type=int, default=64, metavar="N", help="images a step (%(default)s)")
    p.add_argument("--rate", type=float, default=1e-3, metavar="X", help="learning rate (%(default)s)")
    p.add_argument("--seed", type=int, metavar="N", help="of initial values and dropout: with one worker each run is the same (random)")
    p.add_argument("--save_secs", type=float, default=10, metavar="S", help="seconds between checkpoints (%(default)s)")
    p.add_argument("--every", type=float, default=2, metavar="S", help="seconds between lines (%(default)s)")
    return p.parse_args()


if __name__ == "__main__":
    FLAGS = arguments()
    os.makedirs(FLAGS.train_dir, exist_ok=True)
    os.environ.setdefault("HEADRACE_SERVER_ROOT", os.path.abspath(FLAGS.train_dir))
    sys.exit(main())
