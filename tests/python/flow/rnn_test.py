# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks against the same arithmetic in NumPy: each cell, each way to run it, lengths, wrappers, training."""
import numpy as np
import pytest

import headrace as tf

R = tf.nn.rnn_cell
BATCH, STEPS, DEPTH, UNITS = 3, 5, 4, 6
X = np.random.RandomState(0).randn(BATCH, STEPS, DEPTH).astype(np.float32)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def basic_step(w, x, h):
    out = np.tanh(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"])
    return out, out


def lstm_step(w, x, state):
    c, h = state
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 4, 1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    h = sigmoid(o) * np.tanh(c)
    return h, (c, h)


def gru_step(w, x, h):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ w["gates/kernel"] + w["gates/bias"]), 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1) @ w["candidate/kernel"] + w["candidate/bias"])
    new = u * h + (1 - u) * c
    return new, new


CELLS = {"basic": (R.BasicRNNCell, basic_step, "basic_rnn_cell", False), "gru": (R.GRUCell, gru_step, "gru_cell", False),
         "basic_lstm": (R.BasicLSTMCell, lstm_step, "basic_lstm_cell", True), "lstm": (R.LSTMCell, lstm_step, "lstm_cell", True)}


def reference(step, w, x, lengths=None, pair=False):
    """(outputs, last state) as NumPy has it."""
    zero = np.zeros((len(x), UNITS), np.float32)
    state, outs = (zero, zero) if pair else zero, []
    for t in range(x.shape[1]):
        out, new = step(w, x[:, t], state)
        if lengths is not None:
            done = (t >= np.asarray(lengths))[:, None]
            out = np.where(done, 0, out)
            new = tuple(np.where(done, a, b) for a, b in zip(state, new)) if pair else np.where(done, state, new)
        state = new
        outs.append(out)
    return np.stack(outs, 1), state


def run(build, feed=None):
    """(what build gives, {variable's name below the scope: value}) in a new graph."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        fetches = build()
        session.run(tf.global_variables_initializer())
        values = session.run(fetches, feed)
        return values, dict((v.op.name, session.run(v)) for v in tf.global_variables())


def weights(found, scope):
    return dict((n[len(scope) + 1:], v) for n, v in found.items() if n.startswith(scope + "/"))


def close(found, wanted):
    for a, b in zip(found if isinstance(found, tuple) else [found], wanted if isinstance(wanted, tuple) else [wanted]):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kind", sorted(CELLS))
@pytest.mark.parametrize("lengths", [None, [5, 2, 3]])
def test_dynamic_and_static(kind, lengths):
    make, step, name, pair = CELLS[kind]
    (out, last), found = run(lambda: tf.nn.dynamic_rnn(make(UNITS), X, sequence_length=lengths, dtype=tf.float32))
    assert sorted(found)[0] == "rnn/%s/%s" % (name, "bias" if kind != "gru" else "candidate/bias")
    wanted = reference(step, weights(found, "rnn/" + name), X, lengths, pair)
    close(out, wanted[0])
    close(last, wanted[1])
    (outs, last), found = run(lambda: tf.nn.static_rnn(make(UNITS), tf.unstack(tf.constant(X), axis=1), sequence_length=lengths, dtype=tf.float32))
    wanted = reference(step, weights(found, "rnn/" + name), X, lengths, pair)
    close(np.stack(outs, 1), wanted[0])
    close(last, wanted[1])


def test_time_major_and_initial_state():
    def build():
        cell = R.GRUCell(UNITS)
        x = tf.placeholder(tf.float32, [None, None, DEPTH], name="x")
        first, state = tf.nn.dynamic_rnn(cell, x[:2], dtype=tf.float32, time_major=True, scope="s")
        second, _ = tf.nn.dynamic_rnn(cell, x[2:], initial_state=state, time_major=True, scope="s")
        assert first.shape.as_list() == [None, None, UNITS]
        return tf.concat([first, second], 0)
    out, found = run(build, {"x:0": X.transpose(1, 0, 2)})
    close(out.transpose(1, 0, 2), reference(gru_step, weights(found, "s/gru_cell"), X)[0])


def test_bidirectional():
    lengths = [5, 2, 3]
    ((fw, bw), _), found = run(lambda: tf.nn.bidirectional_dynamic_rnn(R.GRUCell(UNITS), R.GRUCell(UNITS), X, sequence_length=lengths, dtype=tf.float32))
    close(fw, reference(gru_step, weights(found, "bidirectional_rnn/fw/gru_cell"), X, lengths)[0])
    turned = np.stack([np.concatenate([x[:n][::-1], x[n:]]) for x, n in zip(X, lengths)])
    back = reference(gru_step, weights(found, "bidirectional_rnn/bw/gru_cell"), turned, lengths)[0]
    close(bw, np.stack([np.concatenate([x[:n][::-1], x[n:]]) for x, n in zip(back, lengths)]))
    (outs, _, _), found = run(lambda: tf.nn.static_bidirectional_rnn(R.GRUCell(UNITS), R.GRUCell(UNITS), tf.unstack(tf.constant(X), axis=1), dtype=tf.float32))
    close(np.stack(outs, 1)[:, :, :UNITS], reference(gru_step, weights(found, "bidirectional_rnn/fw/gru_cell"), X)[0])


def test_raw_rnn_is_dynamic_rnn():
    lengths = [5, 2, 3]

    def build():
        cell, x = R.LSTMCell(UNITS), tf.constant(X)
        rows = tf.TensorArray(tf.float32, STEPS).unstack(tf.transpose(x, [1, 0, 2]))

        def loop_fn(time, output, state, loop_state):
            finished = time >= tf.constant(lengths)
            state = cell.zero_state(BATCH, tf.float32) if output is None else state
            following = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([BATCH, DEPTH]), lambda: rows.read(time))
            return finished, following, state, output, None
        with tf.variable_scope("rnn") as scope:
            arrays, last, _ = tf.nn.raw_rnn(cell, loop_fn, scope=scope)
        with tf.variable_scope("rnn", reuse=True) as scope:
            outs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32, scope=scope)
        return tf.transpose(arrays.stack(), [1, 0, 2]), outs, last, state
    (raw, outs, last, state), _ = run(build)
    close(raw, outs)
    close(tuple(last), tuple(state))


def test_multi_layer_and_residual():
    def build():
        cells = R.MultiRNNCell([R.GRUCell(DEPTH), R.ResidualWrapper(R.GRUCell(DEPTH))])
        return tf.nn.dynamic_rnn(cells, X, dtype=tf.float32)
    global UNITS
    (out, last), found = run(build)
    keep, UNITS = UNITS, DEPTH
    try:
        below = reference(gru_step, weights(found, "rnn/multi_rnn_cell/cell_0/gru_cell"), X)
        above = reference(gru_step, weights(found, "rnn/multi_rnn_cell/cell_1/gru_cell"), below[0])
    finally:
        UNITS = keep
    close(out, above[0] + below[0])
    close(last, (below[1], above[1]))


def test_lstm_with_everything():
    def build():
        cell = R.LSTMCell(UNITS, use_peepholes=True, cell_clip=0.2, num_proj=2, proj_clip=0.1)
        assert cell.state_size == R.LSTMStateTuple(UNITS, 2) and cell.output_size == 2
        return tf.nn.dynamic_rnn(cell, X, dtype=tf.float32)
    (out, last), found = run(build)
    assert out.shape == (BATCH, STEPS, 2) and np.abs(out).max() <= 0.1 and np.abs(last.c).max() <= 0.2 + 1e-6
    assert sorted(n.split("/", 2)[2] for n in found) == ["bias", "kernel", "projection/kernel", "w_f_diag", "w_i_diag", "w_o_diag"]


def test_flat_states():
    (out, last), found = run(lambda: tf.nn.dynamic_rnn(R.BasicLSTMCell(UNITS, state_is_tuple=False), X, dtype=tf.float32))
    wanted = reference(lstm_step, weights(found, "rnn/basic_lstm_cell"), X, pair=True)
    close(out, wanted[0])
    close(last, np.concatenate(wanted[1], 1))


def test_dropout_wrapper():
    def build():
        same = R.DropoutWrapper(R.BasicRNNCell(UNITS), 1.0, 1.0)
        drops = R.DropoutWrapper(R.BasicRNNCell(UNITS), output_keep_prob=0.5, seed=3)
        tied = R.DropoutWrapper(R.BasicRNNCell(UNITS), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32, seed=3)
        return [tf.nn.dynamic_rnn(c, tf.ones([BATCH, STEPS, DEPTH]), dtype=tf.float32, scope=s)[0] for c, s in ((same, "a"), (drops, "b"), (tied, "c"))]
    (same, drops, tied), _ = run(build)
    assert (same != 0).all()
    zeros = drops == 0
    assert 0.2 < zeros.mean() < 0.8 and not (zeros == zeros[:, :1]).all()
    zeros = tied == 0
    assert zeros.any() and (zeros == zeros[:, :1]).all()


def test_training_learns_and_gradients_are_right():
    """The sum of a sequence, learned; and d loss / d kernel against a difference quotient."""
    def build():
        x, y = tf.placeholder(tf.float32, [None, STEPS, 1], "x"), tf.placeholder(tf.float32, [None, 1], "y")
        out, _ = tf.nn.dynamic_rnn(R.BasicLSTMCell(8), x, dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(tf.layers.dense(out[:, -1], 1) - y), name="loss")
        return loss, tf.train.AdamOptimizer(0.02).minimize(loss), tf.gradients(loss, tf.trainable_variables()[0])[0], tf.trainable_variables()[0]
    r = np.random.RandomState(1)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(2)
        loss, train, gradient, kernel = build()
        session.run(tf.global_variables_initializer())
        x = r.rand(64, STEPS, 1).astype(np.float32)
        feed = {"x:0": x, "y:0": x.sum(1)}
        before, slope = session.run([loss, gradient], feed)
        value = session.run(kernel)
        for at in ((0, 3), (5, 20)):
            nudge = np.zeros_like(value)
            nudge[at] = 1e-2
            kernel.load(value + nudge, session)
            up = session.run(loss, feed)
            kernel.load(value - nudge, session)
            down = session.run(loss, feed)
            assert abs((up - down) / 2e-2 - slope[at]) < 2e-2 * max(1, abs(slope[at]))
        kernel.load(value, session)
        for _ in range(150):
            session.run(train, feed)
        assert session.run(loss, feed) < before / 20


def test_what_is_refused():
    with tf.Graph().as_default():
        with pytest.raises(TypeError):
            tf.nn.dynamic_rnn(7, X, dtype=tf.float32)
        with pytest.raises(ValueError, match="dtype"):
            tf.nn.dynamic_rnn(R.GRUCell(2), X)
        with pytest.raises(ValueError):
            R.DropoutWrapper(R.GRUCell(2), input_keep_prob=1.5)
        with pytest.raises(ValueError):
            R.MultiRNNCell([])
    with tf.Graph().as_default(), tf.Session() as session:
        out, _ = tf.nn.dynamic_rnn(R.GRUCell(2), X, sequence_length=tf.placeholder_with_default([1, 2], [None]), dtype=tf.float32)
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(out)
