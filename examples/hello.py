# SPDX-License-Identifier: Apache-2.0
"""Hello, and basic operations: constants, placeholders, a matrix product."""
import headrace as tf

hello = tf.constant("Hello, Headrace!")
a = tf.placeholder(tf.float32, [])
b = tf.placeholder(tf.float32, [])
product = tf.matmul(tf.constant([[3.0, 3.0]]), tf.constant([[2.0], [2.0]]))

with tf.Session() as session:
    print(session.run(hello).decode())
    print("a + b = %g, a * b = %g" % tuple(session.run([a + b, a * b], {a: 2, b: 3})))
    print("matrix product: %s" % session.run(product))
