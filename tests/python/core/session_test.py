# SPDX-License-Identifier: Apache-2.0
"""Sessions: fetches in any nesting, feeds of all kinds, failures, callables, threads, Ctrl-C."""
import collections
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_nested_fetches():
    pair = collections.namedtuple("pair", "first second")
    a, b = tf.constant(1.0), tf.constant([2, 3])
    with tf.Session() as s:
        out = s.run({"l": [a, (b, a)], "n": pair(a, b), "name": "Const_1:0", "op": a.op, "e": []})
    assert out["l"][0] == 1.0 and isinstance(out["l"][1], tuple)
    assert type(out["n"]) is pair and out["n"].second.tolist() == [2, 3]
    assert out["name"].tolist() == [2, 3] and out["op"] is None and out["e"] == []
    ordered = collections.OrderedDict([("z", a), ("y", b)])
    with tf.Session() as s:
        assert list(s.run(ordered)) == ["z", "y"]


def test_scalars_and_strings():
    with tf.Session() as s:
        v = s.run(tf.constant(3.5))
        assert type(v) is np.float32 and v == 3.5
        assert s.run(tf.constant("abc")) == b"abc"
        out = s.run(tf.constant([["a", b"bc"], ["", "d" * 40]]))
        assert out.dtype == object and out.tolist() == [[b"a", b"bc"], [b"", b"d" * 40]]


def test_feeds():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = x * 2.0
    with tf.Session() as s:
        assert s.run(y, {x: [[1, 2]]}).tolist() == [[2, 4]]
        assert s.run(y, {"x:0": np.ones((1, 2))}).tolist() == [[2, 2]]
        assert s.run(y, feed_dict={x: np.arange(8, dtype=np.float64).reshape(2, 4)[:, ::2]}).tolist() == [[0, 4], [8, 12]]
        assert s.run(y, {x: np.asfortranarray(np.arange(4, dtype=np.float32).reshape(2, 2))}).tolist() == [[0, 2], [4, 6]]
        assert s.run(y, {x: np.arange(4).reshape(2, 2).astype(">f4")}).tolist() == [[0, 2], [4, 6]]
        assert s.run(y, {y: [[7, 7]]}).tolist() == [[7, 7]]
        assert s.run([y, x, y.op], {y: [[7, 7]], x: [[1, 2]]})[1].tolist() == [[1, 2]]
        assert s.run(y + 1, {y: [[7, 7]]}).tolist() == [[8, 8]]
        assert s.run(y, {x: np.zeros((0, 2), np.float32)}).shape == (0, 2)


def test_a_feed_is_not_changed_and_a_fetch_is_ones_own():
    x = tf.placeholder(tf.float32, [1000])
    y = tf.identity(x)
    z = tf.constant(np.arange(1000, dtype=np.float32))
    with tf.Session() as s:
        v = np.arange(1000, dtype=np.float32)
        out = s.run(y, {x: v})
        out[:] = -1
        assert v[5] == 5
        s.run(tf.exp(tf.negative(y)), {x: v})
        assert v[7] == 7
        c = s.run(z)
        c[:] = 0
        assert s.run(z)[9] == 9
        big = s.run(tf.square(x), {x: v})
        again = s.run(tf.square(x), {x: v})
        big[:] = 0
        assert again[3] == 9


def test_feed_failures():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    i = tf.placeholder(tf.int32, [], name="i")
    with tf.Session() as s:
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            s.run(x + 1, {x: [1, 2, 3]})
        with pytest.raises(TypeError):
            s.run(x + 1, {x: tf.zeros([1, 2])})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            s.run(x + 1, {"nothing:0": 1})
        with pytest.raises(TypeError):
            s.run(i + 1, {i: 1.5})
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            s.run(x + 1)
        assert e.value.op is not None and e.value.op.name == "x" and e.value.error_code == 3
        assert e.value.node_def.op == "Placeholder"


def test_fetch_failures(graph):
    a = tf.constant(1.0)
    with tf.Session() as s:
        with pytest.raises(TypeError):
            s.run(None)
        with pytest.raises(TypeError):
            s.run([a, 3])
        with pytest.raises(ValueError):
            s.run("nothing:0")
        with tf.Graph().as_default():
            other = tf.constant(2.0)
        with pytest.raises(ValueError, match="not an element of this graph"):
            s.run(other)
    with pytest.raises(RuntimeError, match="closed Session"):
        s.run(a)


def test_marked_tensors(graph):
    a, b = tf.placeholder(tf.float32, []), tf.constant(1.0)
    graph.prevent_feeding(b), graph.prevent_fetching(a.op)
    with tf.Session() as s:
        assert s.run(a + b, {a: 1}) == 2
        with pytest.raises(ValueError, match="may not be fed"):
            s.run(a + b, {a: 1, b: 2})
        with pytest.raises(ValueError, match="not fetchable"):
            s.run(a, {a: 1})


def test_empty_graph():
    with tf.Session(graph=tf.Graph()) as s:
        with pytest.raises(RuntimeError, match="graph is empty"):
            s.run([])


def test_graph_grows_between_runs():
    a = tf.constant(1.0)
    s = tf.Session()
    assert s.run(a) == 1
    for i in range(50):
        a = a + 1.0
        assert s.run(a) == i + 2


def test_callables():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [None])
    z = x + 1.0
    s = tf.Session()
    assert s.make_callable(z, [x])(2) == 3
    assert s.make_callable([z, y], [x, y])(2, [5])[1].tolist() == [5]
    assert s.make_callable((z,), [x])(1) == (2.0,)
    assert s.make_callable({"z": z, "op": z.op}, [x])(1) == {"z": 2.0, "op": None}
    assert s.make_callable(z.op, [x])(1) is None
    f = s.make_callable(z, [x])
    with pytest.raises(ValueError):
        f()
    s.close()
    with pytest.raises(RuntimeError):
        f(1)


def test_options_and_metadata():
    x = tf.placeholder(tf.float32, [2])
    a = tf.exp(x) * 0.0 + 6.0
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=1)) as s:
        metadata = tf.RunMetadata()
        out = s.run(a, {x: [1, 2]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        assert out.tolist() == [6, 6]
        assert sum(len(d.node_stats) for d in metadata.step_stats.dev_stats) > 0


def test_interactive_session_and_eval(graph):
    s = tf.InteractiveSession()
    a = tf.constant(4.0)
    assert a.eval() == 4 and tf.get_default_session() is s
    a.op.run()
    s.close()
    assert tf.get_default_session() is None
    with pytest.raises(ValueError, match="No default session"):
        a.eval()


def test_partial_run():
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    c = a * 2.0
    d = c + b
    with tf.Session() as s:
        h = s.partial_run_setup([c, d], [a, b])
        v = s.partial_run(h, c, feed_dict={a: 3})
        assert v == 6
        assert s.partial_run(h, d, feed_dict={b: v * 10}) == 66


def test_threads():
    x = tf.placeholder(tf.float32, [64])
    y = tf.reduce_sum(tf.tanh(x) * 2.0)
    s = tf.Session()
    failures = []

    def work(k):
        v = np.full(64, k, np.float32)
        for _ in range(100):
            if abs(s.run(y, {x: v}) - 128 * np.tanh(np.float32(k))) > 1e-3:
                failures.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_many_signatures_do_not_pile_up():
    x = tf.placeholder(tf.float32, [])
    s = tf.Session()
    ys = [x + float(i) for i in range(1500)]
    for i, y in enumerate(ys):
        assert s.run(y, {x: 1}) == i + 1
    assert s.run(ys[0], {x: 1}) == 1


def test_default_graph_of_a_session_block():
    g = tf.Graph()
    with tf.Session(graph=g):
        assert tf.get_default_graph() is g
        a = tf.constant(1)
    assert a.graph is g and tf.get_default_graph() is not g


INTERRUPTED = """
import headrace as tf, numpy as np, sys, time
x = tf.placeholder(tf.float32, [700, 700])
y = x
for _ in range(3000):
    y = tf.matmul(y, x)
s = tf.Session()
f = s.make_callable(y, [x])
print("ready", flush=True)
try:
    f(np.eye(700, dtype=np.float32))
    print("finished")
except KeyboardInterrupt:
    print("interrupted", s.run(tf.constant(5)), flush=True)
"""


def test_interrupt_during_a_step():
    heeds = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) # what a shell starts in the background is deaf to it
    p = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=dict(os.environ), preexec_fn=heeds)
    assert p.stdout.readline() == "ready\n"
    time.sleep(0.5)
    start = time.time()
    p.send_signal(signal.SIGINT)
    assert p.stdout.readline() == "interrupted 5\n"
    assert time.time() - start < 5
    assert p.wait(20) == 0
