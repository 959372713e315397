# SPDX-License-Identifier: Apache-2.0
"""Programs with branches and loops: of NODES, TensorFlow recorded the nodes (flow_nodes.json), of VALUES the results (flow_values.json);
`python flow_programs.py` with an interpreter that has tensorflow records both."""

import collections
import json
import os


# --- programs whose nodes are compared ------------------------------------------------------------------------------------------------------
def cond_simple(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.constant(2.0, name="x")
    tf.cond(p, lambda: tf.square(x), lambda: x + 1.0)


def cond_nested(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.constant(2.0, name="x")
    tf.cond(p, lambda: tf.cond(x > 1.0, lambda: x * 2.0, lambda: x), lambda: (tf.no_op(), x - 1.0)[1])


def cond_struct(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.constant(2.0, name="x")
    v = tf.Variable(1.0, name="v")
    tf.cond(p, lambda: {"a": (x, 1), "b": [x * 2]}, lambda: {"a": (x + 1, 2), "b": [x]})
    tf.cond(p, lambda: [x], lambda: [x + 1], strict=True)
    tf.cond(p, lambda: v.assign(2.0), lambda: v.assign_add(1.0), name="upd")
    tf.cond(p, lambda: tf.assign(v, 2.0).op, lambda: tf.no_op(), name="ops")
    tf.cond(p, lambda: v, lambda: v + 1)


def cond_controls(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.constant(2.0, name="x")
    n = tf.no_op()
    with tf.control_dependencies([n]):
        tf.cond(p, lambda: tf.constant(1.0), lambda: tf.identity(x))

    def f():
        with tf.control_dependencies([tf.no_op(name="inner")]):
            return tf.constant(3.0)

    tf.cond(p, f, lambda: 1.0)
    tf.cond(tf.less(1, 2), lambda: tf.constant(1), lambda: 2)


def cond_slices(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    s = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
    tf.cond(p, lambda: s, lambda: tf.SparseTensor([[1, 1]], [2.0], [2, 2]))


def case_simple(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.case([(x < 1.0, lambda: x * 1.0), (x < 2.0, lambda: x * 2.0)], default=lambda: x * 3.0)


def case_ex(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.case([(x < 1.0, lambda: x * 1.0), (x > 2.0, lambda: x * 2.0)], default=lambda: x * 3.0, exclusive=True)
    tf.case([(x < 1.0, lambda: x * 1.0), (x > 2.0, lambda: x * 2.0)])
    tf.case({x < 1.0: lambda: x * 1.0, x > 2.0: lambda: x * 2.0}, default=lambda: x, exclusive=True, name="c")


def while_simple(tf):
    tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])


def while_ext(tf):
    w = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="w")
    b = tf.placeholder(tf.float32, [2], name="b")
    tf.while_loop(
        lambda i, x: tf.less(i, 10), lambda i, x: (i + 1, tf.matmul(x, w) + b), [0, tf.ones([1, 2])], parallel_iterations=3, name="loop"
    )


def while_nested(tf):
    n = tf.constant(4, name="n")

    def body(i, s):
        _, t = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * n), [0, s])
        return i + 1, t

    tf.while_loop(lambda i, s: i < n, body, (0, 0))


def while_cond(tf):
    x = tf.constant(2.0, name="x")

    def body(i, s):
        s = tf.cond(tf.equal(i % 2, 0), lambda: s + x, lambda: s * tf.constant(0.5))
        return [i + 1, s]

    tf.while_loop(lambda i, s: i < 4, body, [tf.constant(0), x])


def cond_while(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.constant(2, name="x")
    tf.cond(p, lambda: tf.while_loop(lambda i: i < x, lambda i: i + 1, [0]), lambda: x)


def while_inv(tf):
    tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x], 0)),
        [tf.constant(0), tf.ones([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )


def while_max(tf):
    tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (tf.constant(0), tf.constant(1)), maximum_iterations=5)
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], maximum_iterations=5)
    tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)], return_same_structure=True)


def while_struct(tf):

    P = collections.namedtuple("P", "j k")
    tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, P(p.j + p.k, p.j - p.k)), (tf.constant(0), P(tf.constant(1), tf.constant(2))))
    tf.while_loop(
        lambda i, d: i < 3,
        lambda i, d: (i + 1, {"a": d["a"] + 1, "b": [d["b"][0] * 2]}),
        (tf.constant(0), {"b": [tf.constant(1)], "a": tf.constant(2)}),
    )


def while_controls(tf):
    n = tf.constant(3, name="n")

    def body(i):
        with tf.control_dependencies([tf.no_op(name="in"), n.op]):
            return tf.identity(i) + 1

    with tf.control_dependencies([n]):
        tf.while_loop(lambda i: i < n, body, [0])
    tf.while_loop(lambda i: tf.constant(True), lambda i: tf.constant(1), [0])
    with tf.control_dependencies([tf.no_op(name="outer")]):
        tf.while_loop(lambda i: i < n, lambda i: tf.add(i, n), [0])


def while_var(tf):
    v = tf.Variable(1.0, name="v")

    def body(i, x):
        with tf.variable_scope("q"):
            w = tf.get_variable("w", [])
        a = tf.assign_add(v, x)
        with tf.control_dependencies([a]):
            return i + 1, x * w + v

    tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])


def while_sparse(tf):
    s = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
    tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2, s.dense_shape)), [0, s])


def ta_all(tf):
    ta = tf.TensorArray(tf.float32, size=3, name="ta")
    ta = ta.write(0, [1.0, 2.0]).write(1, tf.constant([3.0, 4.0]))
    ta.read(0)
    ta.stack()
    ta.gather([0, 1])
    ta.concat()
    ta.size()
    ta.close()
    ta.identity()
    t2 = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False, infer_shape=False)
    t2 = t2.unstack(tf.ones([3, 2]))
    t2 = t2.scatter([0, 2], tf.ones([2, 2]))
    t2 = t2.split(tf.ones([4, 2]), [2, 2])
    t2.size()
    t2.stack()
    ta.grad("g")
    t3 = tf.TensorArray(tf.int32, size=tf.constant(2), element_shape=[2], tensor_array_name="nm")
    t3.stack(name="st")
    t3.write(0, [1, 2], name="wr").read(0, name="rd")


def ta_loop(tf):
    x = tf.placeholder(tf.float32, [5, 2], name="x")
    i = tf.TensorArray(tf.float32, 5).unstack(x)
    o = tf.TensorArray(tf.float32, 5)
    _, r = tf.while_loop(lambda k, o: k < 5, lambda k, o: (k + 1, o.write(k, i.read(k) * 2.0)), [0, o])
    r.stack()


def ta_cond(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    ta = tf.TensorArray(tf.float32, 5)
    r = tf.cond(p, lambda: ta.write(0, 1.0), lambda: ta.write(1, 2.0))
    r.stack()


def map_fn(tf):
    tf.map_fn(lambda x: x * 2, tf.constant([1, 2, 3]))
    tf.map_fn(
        lambda x: (x[0] + x[1], tf.cast(x[0], tf.float32)),
        (tf.placeholder(tf.int32, [None, 2]), tf.constant([1, 2])),
        dtype=(tf.int32, tf.float32),
        name="m",
    )
    tf.map_fn(
        lambda x: tf.cast(x, tf.float32), tf.placeholder(tf.int32, [None, 2]), dtype=tf.float32, parallel_iterations=2, infer_shape=False
    )


def folds(tf):
    e = tf.constant([1, 2, 3], name="e")
    tf.foldl(lambda a, x: a + x, e)
    tf.foldr(lambda a, x: a + x, e)
    tf.foldl(lambda a, x: a + x, e, initializer=10, name="q")
    tf.foldr(lambda a, x: a + x, e, initializer=tf.constant(1))
    tf.foldl(lambda a, x: a + x, tf.placeholder(tf.int32, [None]))
    tf.foldr(lambda a, x: a + x, tf.placeholder(tf.int32, [None]))


def scans(tf):
    e = tf.constant([1, 2, 3], name="e")
    tf.scan(lambda a, x: a + x, e)
    tf.scan(lambda a, x: a + x, e, reverse=True)
    tf.scan(lambda a, x: a + x, e, initializer=10, name="q")
    tf.scan(lambda a, x: (a[0] + x, a[1] * x), tf.placeholder(tf.int32, [None]), initializer=(0, 1), infer_shape=False)
    tf.scan(lambda a, x: a + x, tf.placeholder(tf.float32, [None, 2]), reverse=True)


def asserts(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.Assert(tf.reduce_all(x > 0), [x])
    tf.Assert(tf.reduce_all(x > 0), ["s", 1])
    with tf.control_dependencies(
        [
            tf.assert_equal(x, 1.0),
            tf.assert_positive(x, name="pos"),
            tf.assert_rank(x, 1),
            tf.assert_less(tf.placeholder(tf.int32), 3, message="m"),
        ]
    ):
        tf.identity(x)
    tf.assert_rank(tf.placeholder(tf.float32), 1)


def device_loop(tf):
    w = tf.constant(1.0, name="w")
    with tf.device("/cpu:1"):
        tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + w), [0, 1.0])
        tf.cond(w > 1.0, lambda: w + 1.0, lambda: w)


def gather_in_loop(tf):
    t = tf.placeholder(tf.float32, [None, 3], name="t")
    n = tf.shape(t)[0]
    tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a + t[i] * tf.cast(n, tf.float32)), [0, tf.zeros([3])])


def ctl2(tf):
    n = tf.constant(3, name="n")
    m = tf.constant(3.0, name="m")

    def body(i):
        with tf.control_dependencies([n.op]):
            return tf.add(i, i)

    tf.while_loop(lambda i: i < 10, body, [0])

    def body(i):
        with tf.control_dependencies([m.op]):
            return tf.add(i, n)

    tf.while_loop(lambda i: i < 10, body, [0])

    def body(i):
        with tf.control_dependencies([tf.no_op(name="z")]):
            return tf.add(i, n)

    tf.while_loop(lambda i: i < 10, body, [0])
    with tf.control_dependencies([n]):

        def body(i):
            return tf.add(i, 1)

        tf.while_loop(lambda i: i < 10, body, [0])
        tf.cond(tf.equal(n, 3), lambda: tf.while_loop(lambda i: i < 10, body, [0]), lambda: n + 1)


NODES = [f for n, f in list(globals().items()) if callable(f)]


# --- programs whose results are compared ---
def loops(tf):
    w = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    a = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.matmul(x, w) / 5.0), [0, tf.ones([1, 2])])
    b = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x], 0)),
        [tf.constant(0), tf.ones([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )
    c = tf.while_loop(lambda i, x: i < 30, lambda i, x: (i + 1, x * 2), (tf.constant(0), tf.constant(1)), maximum_iterations=5)
    d = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(7)])
    return [a, b, c, d]


def arrays(tf):
    ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    ta = ta.unstack(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    return [
        ta.stack(),
        ta.concat(),
        ta.gather([2, 0]),
        ta.read(1),
        ta.size(),
        tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False).split(tf.range(5.0), [2, 3]).concat(),
        tf.TensorArray(tf.float32, 3).scatter([2, 0, 1], tf.constant([1.0, 2.0, 3.0])).stack(),
    ]


def fns(tf):
    e = tf.constant([1, 2, 3, 4])
    return [
        tf.map_fn(lambda x: x * x, e),
        tf.foldl(lambda a, x: a * 2 + x, e),
        tf.foldr(lambda a, x: a * 2 + x, e),
        tf.scan(lambda a, x: a + x, e),
        tf.scan(lambda a, x: a + x, e, reverse=True),
        tf.scan(lambda a, x: (a[0] + x, a[1] * x), e, initializer=(10, 1)),
        tf.map_fn(lambda x: (x[0] + x[1], x[0] - x[1]), (e, e + 1), dtype=(tf.int32, tf.int32)),
        tf.foldl(lambda a, x: a + x, e, initializer=100),
    ]


def grads(tf):
    x = tf.constant(3.0)
    i, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x])
    z = tf.cond(x > 2.0, lambda: x * x * x, lambda: x)
    e = tf.constant([1.0, 2.0, 3.0])
    m = tf.map_fn(lambda v: v * v * x, e)
    s = tf.scan(lambda a, v: a * v, e)
    f = tf.foldl(lambda a, v: a * v + v, e)
    out = [tf.gradients(y, x), tf.gradients(z, x), tf.gradients(m, [e, x]), tf.gradients(s, e), tf.gradients(f, e)]

    def body(i, s):
        _, t = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * x), [0, s])
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: t + x, lambda: t * 2.0)

    _, n = tf.while_loop(lambda i, s: i < 4, body, [0, 1.0])
    out.append([n] + tf.gradients(n, x))
    return out


def asserts(tf):
    with tf.control_dependencies([tf.Assert(tf.constant(True), [tf.constant(1.0)])]):
        return [tf.identity(3)]


def cases(tf):
    x = tf.constant(1.5)
    s = tf.cond(x > 1.0, lambda: tf.SparseTensor([[0, 1]], [2.0], [2, 2]), lambda: tf.SparseTensor([[1, 1]], [1.0], [2, 2]))
    return [
        tf.case([(x < 1.0, lambda: x * 1.0), (x < 2.0, lambda: x * 2.0)], default=lambda: x * 3.0),
        s,
        tf.cond(x < 1.0, lambda: {"a": (x, x)}, lambda: {"a": (x + 1, x * 2)}),
    ]


def gradients_inside(tf):
    w = tf.constant(3.0)

    def body(i, x):
        y = x * x * w
        g = tf.gradients(y, x)[0]
        return i + 1, x - 0.01 * g

    r = tf.while_loop(lambda i, x: i < 5, body, [0, 1.0])
    c = tf.cond(w > 1.0, lambda: tf.gradients(w * w, w)[0], lambda: w)
    return [r, c]


def without_back_prop(tf):
    x = tf.constant(2.0)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], back_prop=False)
    g = tf.gradients(y, x)
    g2 = tf.gradients(y + x, x)
    return [tf.constant(0.0 if g[0] is None else 1.0), g2]


def array_gradients(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    ta = tf.TensorArray(tf.float32, 2).unstack(x)
    y = ta.read(0) * 3.0 + ta.read(1)
    a = tf.TensorArray(tf.float32, 2, clear_after_read=False).split(x, [1, 1]).concat()
    return [tf.gradients(y, x), tf.gradients(a * a, x)]


def growing_array(tf):
    n = tf.placeholder_with_default(4, [])
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    x = tf.constant(1.5)
    _, ta = tf.while_loop(lambda i, _: i < n, lambda i, t: (i + 1, t.write(i, tf.cast(i, tf.float32) * x)), [0, ta])
    s = ta.stack()
    return [s, tf.gradients(s, x)]


def gradients_of_unknown_shapes(tf):
    x = tf.placeholder_with_default([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], None)
    w = tf.placeholder_with_default([[0.5, -1.0], [2.0, 0.25]], [None, 2])
    i = tf.constant([2, 0, 2])
    rows = tf.gather(x, i) * 2.0 + tf.gather(x, [1, 1, 0])
    y = tf.matmul(rows, w) + tf.reduce_sum(x, 0, keepdims=True)
    z = tf.reduce_mean(y * y, 0) + tf.concat([x, x * x], 0)[1] - tf.reduce_max(x, 0)
    s = tf.stack([z, tf.reshape(x, [-1])[1:3]])
    t = tf.transpose(tf.pad(s, [[0, 1], [1, 0]])) / tf.reduce_prod(w)
    return [t, tf.gradients(t, [x, w]), tf.gradients(tf.gather(x, i), x, aggregation_method=tf.AggregationMethod.ADD_N)[0]]


def gradients_of_nested_loops(tf):
    x = tf.placeholder_with_default([1.0, 0.5], None)
    k = tf.constant(0.75)

    def inner(j, t):
        return j + 1, tf.cond(tf.equal(j % 2, 1), lambda: t * x + k, lambda: t - tf.sin(t) * k)

    def outer(i, s, total):
        _, t = tf.while_loop(lambda j, t: j <= i, inner, [0, s], parallel_iterations=1)
        return i + 1, t * 0.5 + x, total + tf.reduce_sum(t) * k

    _, s, total = tf.while_loop(lambda i, s, total: i < 3, outer, [0, x, 0.0], shape_invariants=[
        tf.TensorShape([]), tf.TensorShape(None), tf.TensorShape([])])
    first = tf.gradients([s, total], [x, k], grad_ys=[tf.stack([2.0, -1.0]), tf.constant(3.0)])
    return [s, total, first]


def gradients_of_slices_in_loops(tf):
    x = tf.placeholder_with_default([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [None, 2])

    def body(i, s):
        row = tf.gather(x, [i, 2])
        return i + 1, s + tf.reduce_sum(row * row) * tf.cond(i > 1, lambda: x[0, 1], lambda: tf.reduce_max(x))

    _, s = tf.while_loop(lambda i, s: i < 3, body, [0, 0.0])
    ta = tf.TensorArray(tf.float32, 3).unstack(x)
    _, t = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * ta.read(i) + x[i]), [0, tf.ones([2])])
    return [s, t, tf.gradients(s, x), tf.gradients(t * t, x), tf.gradients(s + tf.reduce_sum(tf.gather(x, [0, 0])), x)]


def second_gradients(tf):
    x = tf.placeholder_with_default([1.5, -0.5], [None])
    y = tf.cond(x[0] > 0.0, lambda: x * x * x, lambda: tf.exp(x))
    g = tf.gradients(y, x)[0]
    m = tf.map_fn(lambda v: v * v * tf.tanh(v), x)
    h = tf.gradients(tf.reduce_sum(m), x)[0]
    return [g, tf.gradients(g, x), h, tf.gradients(tf.square(g), x)]


VALUES = [f for n, f in list(globals().items()) if callable(f) and f not in NODES]


def listed(tf, program):
    graph = tf.Graph()
    with graph.as_default():
        program(tf)
    out = []
    for node in graph.as_graph_def().node:
        data, controls = [i for i in node.input if i[0] != "^"], sorted(i for i in node.input if i[0] == "^")
        group = sorted(g.decode() for g in node.attr["_class"].list.s) if "_class" in node.attr else []
        out.append([node.op, node.name, data + controls, node.device, group])
    return out


def _plain(value):
    if isinstance(value, dict):
        return dict((k, _plain(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.tolist()


def results(tf, program):
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = program(tf)
        return _plain(session.run(fetches))


def main():
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    here = os.path.dirname(os.path.abspath(__file__))
    for name, found in (
        ("flow_nodes.json", dict((f.__name__, listed(tf, f)) for f in NODES)),
        ("flow_values.json", dict((f.__name__, results(tf, f)) for f in VALUES)),
    ):
        with open(os.path.join(here, name), "w") as f:
            json.dump(found, f, separators=(",", ":"), sort_keys=True)
            f.write("\n")


if __name__ == "__main__":
    main()
