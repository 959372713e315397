# SPDX-License-Identifier: Apache-2.0
"""XOR learnt by two layers, with the graph, the cost and the accuracy written for TensorBoard (tensorboard --logdir logs/xor)."""
import argparse

import numpy as np
import headrace as tf


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=2000, metavar="N", help="training steps (%(default)s)")
    p.add_argument("--logs", default="logs/xor", metavar="DIR", help="where the event file goes (%(default)s)")
    a = p.parse_args()
    tf.set_random_seed(3)
    xs, ys = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32), np.array([[0], [1], [1], [0]], np.float32)
    x, y = tf.placeholder(tf.float32, [None, 2], "x"), tf.placeholder(tf.float32, [None, 1], "y")
    with tf.name_scope("layer1"):
        h = tf.tanh(tf.matmul(x, tf.Variable(tf.random_normal([2, 8]), name="w")) + tf.Variable(tf.zeros([8]), name="b"))
    with tf.name_scope("layer2"):
        out = tf.sigmoid(tf.matmul(h, tf.Variable(tf.random_normal([8, 1]), name="w")) + tf.Variable(tf.zeros([1]), name="b"))
    with tf.name_scope("cost"):
        cost = -tf.reduce_mean(y * tf.log(out) + (1 - y) * tf.log(1 - out))
        tf.summary.scalar("cost", cost)
    with tf.name_scope("train"):
        step = tf.train.GradientDescentOptimizer(0.5).minimize(cost)
    with tf.name_scope("accuracy"):
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.cast(out > 0.5, tf.float32), y), tf.float32))
        tf.summary.scalar("accuracy", accuracy)
    summaries = tf.summary.merge_all()
    with tf.Session() as session, tf.summary.FileWriter(a.logs, session.graph) as writer:
        session.run(tf.global_variables_initializer())
        for k in range(a.steps):
            summary, _ = session.run([summaries, step], {x: xs, y: ys})
            if k % 50 == 0:
                writer.add_summary(summary, k)
        print("cost %.4f, accuracy %.2f" % tuple(session.run([cost, accuracy], {x: xs, y: ys})))
        print("outputs %s" % np.round(session.run(out, {x: xs}).ravel(), 2))


if __name__ == "__main__":
    main()
