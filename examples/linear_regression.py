# SPDX-License-Identifier: Apache-2.0
"""A line through points, by gradient descent: once with gradients written by hand, once with tf.gradients; both find the same line."""
import argparse

import numpy as np
import headrace as tf

# House prices against size, both scaled.
X = np.array([3.3, 4.4, 5.5, 6.71, 6.93, 4.168, 9.779, 6.182, 7.59, 2.167, 7.042, 10.791, 5.313, 7.997, 5.654, 9.27, 3.1], np.float32)
Y = np.array([1.7, 2.76, 2.09, 3.19, 1.694, 1.573, 3.366, 2.596, 2.53, 1.221, 2.827, 3.465, 1.65, 2.904, 2.42, 2.94, 1.3], np.float32)


def fit(by_hand, epochs, rate):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
        w, b = tf.Variable(-0.5, name="weight"), tf.Variable(0.1, name="bias")
        error = w * x + b - y
        cost = tf.reduce_mean(tf.square(error)) / 2
        if by_hand:
            dw, db = tf.reduce_mean(error * x), tf.reduce_mean(error)
        else:
            dw, db = tf.gradients(cost, [w, b])
        with tf.control_dependencies([dw, db]):  # both gradients before either variable moves
            step = tf.group(w.assign_sub(rate * dw), b.assign_sub(rate * db))
        session.run(tf.global_variables_initializer())
        for _ in range(epochs):
            session.run(step, {x: X, y: Y})
        return session.run([w, b, cost], {x: X, y: Y})


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", type=int, default=1000, metavar="N", help="times through the points (%(default)s)")
    p.add_argument("--rate", type=float, default=0.01, metavar="X", help="learning rate (%(default)s)")
    a = p.parse_args()
    for name, by_hand in (("by hand", True), ("built in", False)):
        print("%-9s y = %.4f x + %.4f, cost %.4f" % ((name,) + tuple(fit(by_hand, a.epochs, a.rate))))


if __name__ == "__main__":
    main()
