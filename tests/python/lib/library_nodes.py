# SPDX-License-Identifier: Apache-2.0
"""Programs whose nodes TensorFlow recorded in library_nodes.json (record.py): checkpoints and seeds depend on names and order.

What gradients add is the C gradients' business and left out (nodes of scope `gradients`)."""


def variable(tf):
    tf.Variable([1.0, 2.0], name="v")
    tf.Variable(lambda: tf.zeros([2]), name="w")
    tf.Variable([1.0, 2.0], name="r", use_resource=True)


def variable_operations(tf):
    v = tf.Variable([1.0, 2.0])
    v.assign([3.0, 4.0])
    v.assign_add([1.0, 1.0])
    v.assign_sub([1.0, 1.0])
    v + 1.0
    2.0 * v
    table = tf.Variable(tf.zeros([3, 2]))
    tf.scatter_add(table, [0], [[1.0, 2.0]])
    tf.scatter_update(table, [0], [[1.0, 2.0]])
    tf.scatter_nd_update(table, [[0]], [[1.0, 2.0]])


def initializers(tf):
    tf.Variable(1.0)
    tf.Variable(2.0, name="b")
    tf.global_variables_initializer()
    tf.report_uninitialized_variables()


def get_variable(tf):
    with tf.variable_scope("s"):
        tf.get_variable("w", [3, 4])
        tf.get_variable("b", [4], initializer=tf.zeros_initializer())
        with tf.variable_scope("t"):
            tf.get_variable("w", [3, 4], initializer=tf.truncated_normal_initializer(stddev=0.1))
            tf.constant(1.0)
    with tf.variable_scope("s", reuse=True):
        tf.get_variable("w", [3, 4])
        tf.constant(1.0)
    with tf.variable_scope(None, default_name="s"):
        tf.get_variable("w", [3, 4], regularizer=tf.nn.l2_loss)
    with tf.variable_scope("r", use_resource=True):
        tf.get_variable("w", [3, 4])


def initial_values(tf):
    for make in (tf.zeros_initializer(), tf.ones_initializer(), tf.constant_initializer(2.0), tf.random_uniform_initializer(-1, 1),
                 tf.random_normal_initializer(), tf.truncated_normal_initializer(), tf.variance_scaling_initializer(), tf.glorot_uniform_initializer(),
                 tf.glorot_normal_initializer(), tf.uniform_unit_scaling_initializer(), tf.initializers.he_normal(), tf.initializers.lecun_uniform()):
        make([4, 4])


def dropout(tf):
    tf.nn.dropout(tf.zeros([2, 3]), 0.5)
    tf.nn.dropout(tf.zeros([2, 3]), rate=0.5)
    tf.nn.dropout(tf.zeros([2, 3]), keep_prob=tf.placeholder(tf.float32, []), noise_shape=[2, 1])


def cross_entropies(tf):
    x, y, z = tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.int64, [None])
    tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x)
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=z, logits=x)
    tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x)
    tf.nn.weighted_cross_entropy_with_logits(y, x, 2.0)
    tf.nn.softmax(x)
    tf.nn.log_softmax(x)


def convolutions(tf):
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    c = tf.nn.conv2d(x, tf.zeros([3, 3, 3, 4]), [1, 1, 1, 1], "SAME")
    tf.nn.max_pool(c, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    tf.nn.avg_pool(c, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    tf.nn.bias_add(c, tf.zeros([4]))
    for f in (tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.leaky_relu, tf.nn.crelu):
        f(c)
    tf.nn.conv2d_transpose(tf.placeholder(tf.float32, [2, 8, 8, 3]), tf.zeros([3, 3, 4, 3]), [2, 16, 16, 4], [1, 2, 2, 1])


def normalisation(tf):
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    m, v = tf.nn.moments(x, [0, 1, 2])
    tf.nn.batch_normalization(x, m, v, tf.zeros([3]), tf.ones([3]), 1e-3)
    tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]))
    tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), tf.zeros([3]), tf.ones([3]), is_training=False)
    tf.nn.l2_normalize(x, 3)
    tf.nn.xw_plus_b(tf.reshape(x, [-1, 192]), tf.zeros([192, 2]), tf.zeros([2]))


def embedding(tf):
    for use_resource in (False, True):
        table = tf.Variable(tf.zeros([10, 3]), use_resource=use_resource)
        tf.nn.embedding_lookup(table, tf.constant([1, 2]))
        tf.nn.embedding_lookup(table, tf.constant([1, 2]), max_norm=1.0)


def nce(tf):
    w, b = tf.Variable(tf.zeros([50, 3])), tf.Variable(tf.zeros([50]))
    tf.nn.nce_loss(w, b, tf.placeholder(tf.int32, [4, 1]), tf.placeholder(tf.float32, [4, 3]), 8, 50)


def losses(tf):
    x, y, z = tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.int64, [None])
    for f in (tf.losses.mean_squared_error, tf.losses.softmax_cross_entropy, tf.losses.sigmoid_cross_entropy, tf.losses.absolute_difference,
              tf.losses.huber_loss, tf.losses.log_loss, tf.losses.hinge_loss):
        f(y, x)
    tf.losses.cosine_distance(y, x, axis=1)
    tf.losses.sparse_softmax_cross_entropy(z, x)
    tf.losses.get_total_loss()


def metrics(tf):
    tf.metrics.accuracy(tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None]))
    tf.metrics.mean(tf.placeholder(tf.float32, [None]))


def decays(tf):
    g = tf.train.get_or_create_global_step()
    tf.train.exponential_decay(0.1, g, 10, 0.9)
    tf.train.exponential_decay(0.1, g, 10, 0.9, staircase=True)
    tf.train.polynomial_decay(0.1, g, 10)
    tf.train.polynomial_decay(0.1, g, 10, cycle=True)
    tf.train.inverse_time_decay(0.1, g, 10, 0.5)
    tf.train.natural_exp_decay(0.1, g, 10, 0.5)
    tf.train.cosine_decay(0.1, g, 10)


def moving_average_of_tensor(tf):
    v = tf.square(tf.Variable([1.0, 2.0], name="v"), name="sq")
    tf.train.ExponentialMovingAverage(0.99).apply([v])


def summaries(tf):
    tf.summary.scalar("loss", tf.constant(1.0))
    tf.summary.scalar("a b", tf.constant(1.0), family="f")
    tf.summary.merge_all()


def savers(tf):
    tf.Variable([1.0], name="b")
    tf.Variable([1.0], name="a", use_resource=True)
    tf.train.Saver()
    tf.train.Saver({"key": tf.global_variables()[0]}, name="mine")


def scoped_optimizers(tf):
    with tf.name_scope("train"):
        v = tf.Variable([1.0, 2.0], name="v")
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    with tf.variable_scope("net"):
        v = tf.get_variable("v", [2])
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v * v), var_list=[v])


def clipped_gradients(tf):
    v = tf.Variable([1.0, 2.0], name="v")
    optimizer = tf.train.AdamOptimizer(tf.placeholder(tf.float32, []))
    pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
    clipped, _ = tf.clip_by_global_norm([g for g, _ in pairs], 5.0)
    optimizer.apply_gradients(zip(clipped, [v]))
    optimizer.apply_gradients(pairs, name="again")


def _optimizer(make, use_resource):
    def program(tf):
        v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
        w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w", use_resource=use_resource)
        loss = tf.reduce_sum(v * v) + tf.reduce_sum(tf.gather(w, [0, 0]))
        make(tf).minimize(loss, tf.train.get_or_create_global_step())
    return program


PROGRAMS = {f.__name__: f for f in (variable, variable_operations, initializers, get_variable, initial_values, dropout, cross_entropies, convolutions,
                                    normalisation, embedding, nce, losses, metrics, decays, moving_average_of_tensor, summaries, savers,
                                    scoped_optimizers, clipped_gradients)}
_MAKERS = {"sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1), "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
           "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1), "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1),
           "centered": lambda tf: tf.train.RMSPropOptimizer(0.1, centered=True), "adam": lambda tf: tf.train.AdamOptimizer(0.1)}
for _name, _make in _MAKERS.items():
    PROGRAMS[_name], PROGRAMS[_name + "_resource"] = _optimizer(_make, False), _optimizer(_make, True)


def listed(tf, program):
    """[op, name, inputs, control inputs] of every node in its order, but for gradients."""
    with tf.Graph().as_default() as graph:
        program(tf)
        return [[o.type, o.name, [i.name for i in o.inputs if not _of_gradients(i.name)], sorted(c.name for c in o.control_inputs if not _of_gradients(c.name))]
                for o in graph.get_operations() if not _of_gradients(o.name)]


def _of_gradients(name):
    return "gradients" in name.split("/")
