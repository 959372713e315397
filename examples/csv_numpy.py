# SPDX-License-Identifier: Apache-2.0
"""Data from a CSV file through NumPy: a classifier of points in a plane (columns x, y, class). Without --csv it makes such a file."""
import argparse
import os
import tempfile

import numpy as np
import headrace as tf


def make_file(path):
    r = np.random.RandomState(0)
    points = np.concatenate([r.randn(100, 2) * 0.5 + centre for centre in ((0, 0), (2, 2), (-2, 2))])
    np.savetxt(path, np.column_stack([points, np.repeat([0, 1, 2], 100)]), delimiter=",", header="x,y,class", fmt="%.5g", comments="")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--csv", metavar="FILE", help="a file with the columns x, y, class")
    p.add_argument("--epochs", type=int, default=50, metavar="N", help="times through the rows (%(default)s)")
    a = p.parse_args()
    path = a.csv or os.path.join(tempfile.mkdtemp(), "points.csv")
    if not a.csv:
        make_file(path)
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32, ndmin=2)
    except (OSError, ValueError) as e:
        raise SystemExit("--csv %s: %s" % (path, e))
    features, classes = table[:, :2], table[:, 2].astype(np.int64)
    train = np.arange(len(table)) % 5 != 0
    tf.set_random_seed(1)
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    h = tf.layers.dense(x, 16, activation=tf.nn.relu)
    logits = tf.layers.dense(h, int(classes.max()) + 1)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(a.epochs):
            session.run(step, {x: features[train], y: classes[train]})
        print("%d rows; accuracy on held-out rows %.3f" % (len(table), session.run(accuracy, {x: features[~train], y: classes[~train]})))


if __name__ == "__main__":
    main()
