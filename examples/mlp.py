# SPDX-License-Identifier: Apache-2.0
"""A multi-layer perceptron in raw operations: two hidden layers, Adam."""
import numpy as np
import headrace as tf
import idx


def layer(x, inputs, outputs, name):
    w = tf.Variable(tf.random_normal([inputs, outputs], stddev=(2 / inputs) ** 0.5), name=name + "_w")
    return tf.matmul(x, w) + tf.Variable(tf.zeros([outputs]), name=name + "_b")


def main():
    p = idx.arguments(__doc__, 5)
    p.add_argument("--hidden", type=int, default=256, metavar="N", help="units of each hidden layer (%(default)s)")
    a = p.parse_args()
    tf.set_random_seed(1)
    images, labels = idx.load(a.data, "train", a.limit)
    x, y = tf.placeholder(tf.float32, [None, images.shape[1]]), tf.placeholder(tf.float32, [None, 10])
    h = tf.nn.relu(layer(x, images.shape[1], a.hidden, "first"))
    h = tf.nn.relu(layer(h, a.hidden, a.hidden, "second"))
    logits = layer(h, a.hidden, 10, "out")
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    step = tf.train.AdamOptimizer(0.001).minimize(cost)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(a.epochs):
            costs = [session.run([step, cost], {x: xs, y: ys})[1] for xs, ys in idx.batches(images, labels, a.batch, epoch)]
            print("epoch %d: cost %.4f" % (epoch + 1, np.mean(costs)))
        xs, ys = idx.load(a.data, "t10k", a.limit)
        print("accuracy %.4f" % session.run(accuracy, {x: xs, y: ys}))


if __name__ == "__main__":
    main()
