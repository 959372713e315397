# SPDX-License-Identifier: Apache-2.0
"""Softmax regression on images, by gradients written by hand (--by-hand) or by the built-in optimizer."""
import numpy as np
import headrace as tf
import idx


def main():
    p = idx.arguments(__doc__, 5)
    p.add_argument("--by-hand", action="store_true", help="write the gradients out")
    a = p.parse_args()
    images, labels = idx.load(a.data, "train", a.limit)
    x, y = tf.placeholder(tf.float32, [None, images.shape[1]]), tf.placeholder(tf.float32, [None, 10])
    w, b = tf.Variable(tf.zeros([images.shape[1], 10])), tf.Variable(tf.zeros([10]))
    logits = tf.matmul(x, w) + b
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    if a.by_hand:
        error = (tf.nn.softmax(logits) - y) / tf.cast(tf.shape(x)[0], tf.float32)
        dw, db = tf.matmul(x, error, transpose_a=True), tf.reduce_sum(error, 0)
        with tf.control_dependencies([dw, db]):
            step = tf.group(w.assign_sub(0.1 * dw), b.assign_sub(0.1 * db))
    else:
        step = tf.train.GradientDescentOptimizer(0.1).minimize(cost)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(a.epochs):
            costs = [session.run([step, cost], {x: xs, y: ys})[1] for xs, ys in idx.batches(images, labels, a.batch, epoch)]
            print("epoch %d: cost %.4f" % (epoch + 1, np.mean(costs)))
        xs, ys = idx.load(a.data, "t10k", a.limit)
        print("accuracy %.4f" % session.run(accuracy, {x: xs, y: ys}))


if __name__ == "__main__":
    main()
