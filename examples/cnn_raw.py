# SPDX-License-Identifier: Apache-2.0
"""A convolutional network in raw operations, with dropout as tf.nn.dropout makes it."""
import numpy as np
import headrace as tf
import idx


def convolution(x, w, b):
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
    return tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def network(x, keep):
    def weights(shape, inputs):
        return tf.Variable(tf.random_normal(shape, stddev=(2 / inputs) ** 0.5)), tf.Variable(tf.zeros(shape[-1:]))
    h = tf.reshape(x, [-1, 28, 28, 1])
    h = convolution(h, *weights([5, 5, 1, 16], 25))
    h = convolution(h, *weights([5, 5, 16, 32], 400))
    h = tf.reshape(h, [-1, 7 * 7 * 32])
    w, b = weights([7 * 7 * 32, 256], 7 * 7 * 32)
    h = tf.nn.dropout(tf.nn.relu(tf.matmul(h, w) + b), keep_prob=keep)
    w, b = weights([256, 10], 256)
    return tf.matmul(h, w) + b


def main():
    a = idx.arguments(__doc__, 1).parse_args()
    tf.set_random_seed(1)
    images, labels = idx.load(a.data, "train", a.limit)
    x, y, keep = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.float32, [])
    logits = network(x, keep)
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    step = tf.train.AdamOptimizer(0.001).minimize(cost)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(a.epochs):
            costs = [session.run([step, cost], {x: xs, y: ys, keep: 0.75})[1] for xs, ys in idx.batches(images, labels, a.batch, epoch)]
            print("epoch %d: cost %.4f" % (epoch + 1, np.mean(costs)))
        xs, ys = idx.load(a.data, "t10k", min(a.limit or 1000, 1000))
        print("accuracy %.4f" % session.run(accuracy, {x: xs, y: ys, keep: 1.0}))


if __name__ == "__main__":
    main()
