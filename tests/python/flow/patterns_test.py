# SPDX-License-Identifier: Apache-2.0
"""What tutorials do: towers on several devices, a language model whose state is carried from step to step, a loop that writes what it decides."""
import numpy as np

import headrace as tf


def test_towers():
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        optimizer, towers = tf.train.GradientDescentOptimizer(0.1), []
        x = tf.placeholder(tf.float32, [8, 4])
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(2):
                with tf.device("/cpu:%d" % i), tf.name_scope("tower_%d" % i):
                    w = tf.get_variable("w", [4, 1])
                    loss = tf.reduce_mean(tf.square(tf.matmul(x[i * 4:i * 4 + 4], w) - 1.0))
                    tf.get_variable_scope().reuse_variables()
                    towers.append(optimizer.compute_gradients(loss))
        means = [(tf.reduce_mean(tf.stack([g for g, _ in pairs]), 0), pairs[0][1]) for pairs in zip(*towers)]
        train = optimizer.apply_gradients(means, global_step=tf.train.get_or_create_global_step())
        feed = {x: np.ones([8, 4])}
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(60):
                session.run(train, feed)
            assert session.run(loss, feed) < 1e-6


def _language_model(ids, targets):
    def cell():
        return tf.nn.rnn_cell.BasicLSTMCell(16, forget_bias=0.0, reuse=tf.get_variable_scope().reuse)
    cells = tf.nn.rnn_cell.MultiRNNCell([cell() for _ in range(2)])
    initial = state = cells.zero_state(4, tf.float32)
    inputs, outputs = tf.nn.embedding_lookup(tf.get_variable("embedding", [20, 16]), ids), []
    with tf.variable_scope("RNN"):
        for t in range(6):
            if t > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cells(inputs[:, t, :], state)
            outputs.append(output)
    logits = tf.nn.xw_plus_b(tf.reshape(tf.concat(outputs, 1), [-1, 16]), tf.get_variable("softmax_w", [16, 20]), tf.get_variable("softmax_b", [20]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits))
    return initial, state, loss


def test_language_model():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        ids, targets = tf.placeholder(tf.int32, [4, 6]), tf.placeholder(tf.int32, [4, 6])
        with tf.variable_scope("Model", initializer=tf.random_uniform_initializer(-0.1, 0.1)):
            initial, last, loss = _language_model(ids, targets)
        variables = tf.trainable_variables()
        gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5)
        train = tf.train.AdamOptimizer(0.02).apply_gradients(zip(gradients, variables))
        assert "Model/RNN/multi_rnn_cell/cell_1/basic_lstm_cell/kernel" in [v.op.name for v in variables]
        session.run(tf.global_variables_initializer())
        data = np.random.RandomState(0).randint(0, 20, [4, 6])
        state, losses = session.run(initial), []
        for _ in range(60):
            feed = {ids: data, targets: np.roll(data, 1, 1)}
            for i, (c, h) in enumerate(initial):
                feed[c], feed[h] = state[i].c, state[i].h
            value, state, _ = session.run([loss, last, train], feed)
            losses.append(value)
        assert losses[-1] < 0.7 * losses[0]


def test_a_loop_that_branches_and_writes_can_be_trained():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        w = tf.get_variable("w", [3, 3])

        def body(t, x, rows):
            x = tf.cond(tf.equal(t % 2, 0), lambda: tf.tanh(tf.matmul(x, w)), lambda: x * 0.9)
            return t + 1, x, rows.write(t, x)
        _, _, rows = tf.while_loop(lambda t, *_: t < 5, body, [0, tf.ones([2, 3]), tf.TensorArray(tf.float32, 5)])
        loss = tf.reduce_sum(tf.square(rows.stack() - 0.3))
        train = tf.train.AdamOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(100):
            session.run(train)
        assert session.run(loss) < before / 3
