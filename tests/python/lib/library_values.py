# SPDX-License-Identifier: Apache-2.0
"""Programs whose results TensorFlow recorded in library_values.json: python record.py writes it with an interpreter that has tensorflow.

A program gives what is fetched after the variables were initialised; `steps` of it are run before, if it gives a pair (fetches, step)."""
import numpy as np

R = np.random.RandomState
X34, Y34 = R(0).randn(3, 4).astype(np.float32), R(1).rand(3, 4).astype(np.float32)
IMAGE = R(2).randn(2, 6, 6, 3).astype(np.float32)


# --- initial values, bit for bit ---------------------------------------------------------------------------------------------------------------
def initial_values(tf):
    tf.set_random_seed(7)
    made = [tf.get_variable("glorot", [4, 5]), tf.get_variable("he", [3, 3, 2, 4], initializer=tf.initializers.he_normal()),
            tf.get_variable("uniform", [5], initializer=tf.random_uniform_initializer(-2, 3)),
            tf.get_variable("normal", [5], initializer=tf.random_normal_initializer(1.0, 0.5)),
            tf.get_variable("truncated", [7], initializer=tf.truncated_normal_initializer(stddev=0.1, seed=3)),
            tf.get_variable("scaled", [4, 4], initializer=tf.variance_scaling_initializer(2.0, "fan_out", "uniform")),
            tf.get_variable("unit", [4, 4], initializer=tf.uniform_unit_scaling_initializer()),
            tf.get_variable("lecun", [4, 4], initializer=tf.initializers.lecun_uniform()),
            tf.get_variable("constant", [2, 2], initializer=tf.constant_initializer([1, 2, 3, 4])),
            tf.Variable(tf.truncated_normal([3, 3], stddev=0.1), name="raw"), tf.Variable(tf.random_uniform([3], seed=9), name="seeded")]
    return [v.value() for v in made]


def initial_values_resource(tf):
    tf.set_random_seed(11)
    with tf.variable_scope("s", use_resource=True):
        a, b = tf.get_variable("a", [3, 3]), tf.get_variable("b", [2, 2], initializer=tf.glorot_normal_initializer())
    return [a.read_value(), b.read_value()]


def dropout(tf):
    tf.set_random_seed(5)
    x = tf.ones([4, 6])
    return [tf.nn.dropout(x, 0.5), tf.nn.dropout(x, rate=0.25), tf.nn.dropout(x, rate=0.5, noise_shape=[4, 1]), tf.nn.dropout(x, rate=0.5, seed=8)]


# --- tf.nn -----------------------------------------------------------------------------------------------------------------------------------
def cross_entropies(tf):
    x, y, z = tf.constant(X34), tf.nn.softmax(tf.constant(Y34)), tf.constant([0, 3, 1])
    cube = tf.reshape(x, [1, 3, 4])
    return [tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x), tf.nn.sparse_softmax_cross_entropy_with_logits(labels=z, logits=x),
            tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.constant(Y34), logits=x), tf.nn.weighted_cross_entropy_with_logits(tf.constant(Y34), x, 2.0),
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.reshape(y, [1, 3, 4]), logits=cube),
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(z, [1, 3]), logits=cube), tf.nn.softmax(cube, axis=1), tf.nn.log_softmax(x)]


def cross_entropy_gradients(tf):
    x, y = tf.constant(X34), tf.constant(Y34)
    loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(y), logits=x))
    loss += tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x))
    return tf.gradients(loss, [x, y])


def convolutions(tf):
    x, f = tf.constant(IMAGE), tf.constant(R(3).randn(3, 3, 3, 4).astype(np.float32))
    same, valid = tf.nn.conv2d(x, f, [1, 1, 1, 1], "SAME"), tf.nn.conv2d(x, f, [1, 2, 2, 1], "VALID")
    up = tf.nn.conv2d_transpose(valid, f, [2, 6, 6, 3], [1, 2, 2, 1], "VALID")
    return [same, valid, up, tf.nn.max_pool(same, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), tf.nn.avg_pool(same, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
            tf.nn.bias_add(same, tf.constant([1.0, 2.0, 3.0, 4.0])), tf.nn.conv2d(x, f, 1, [[0, 0], [2, 1], [1, 0], [0, 0]])]


def normalisation(tf):
    x = tf.constant(IMAGE)
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    one, zero = tf.constant([1.0, 2.0, 0.5]), tf.constant([0.1, 0.2, 0.3])
    return [mean, variance, tf.nn.batch_normalization(x, mean, variance, zero, one, 1e-3), tf.nn.l2_normalize(x, 3), tf.nn.zero_fraction(tf.nn.relu(x)),
            tf.nn.l2_loss(x)] + list(tf.nn.fused_batch_norm(x, one, zero)) + [tf.nn.fused_batch_norm(x, one, zero, mean, variance, is_training=False)[0]]


def activations(tf):
    x = tf.constant(X34)
    return [tf.nn.relu(x), tf.nn.relu6(3 * x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.leaky_relu(x), tf.nn.softplus(x), tf.nn.softsign(x), tf.nn.crelu(x),
            tf.nn.swish(x), tf.nn.sigmoid(x), tf.nn.tanh(x), tf.math.log_sigmoid(x), tf.nn.xw_plus_b(x, tf.ones([4, 2]), tf.constant([1.0, 2.0])),
            tf.nn.relu_layer(x, tf.ones([4, 2]), tf.constant([1.0, 2.0]))]


def embedding(tf):
    table = tf.Variable(R(4).randn(5, 3).astype(np.float32))
    return [tf.nn.embedding_lookup(table, [[0, 4], [2, 2]]), tf.nn.embedding_lookup(table, [1], max_norm=0.5)]


def nce(tf):
    tf.set_random_seed(3)
    w, b = tf.Variable(R(5).randn(20, 4).astype(np.float32)), tf.Variable(R(6).randn(20).astype(np.float32))
    x, y = tf.constant(X34), tf.constant([[1], [7], [3]])
    noise = tf.random.log_uniform_candidate_sampler(tf.cast(y, tf.int64), 1, 6, True, 20, seed=1)
    return [tf.nn.nce_loss(w, b, y, x, 6, 20, sampled_values=noise)]


# --- losses, metrics -----------------------------------------------------------------------------------------------------------------------------
def losses(tf):
    x, y, w = tf.constant(X34), tf.constant(Y34), tf.constant([[1.0], [0.0], [2.0]])
    return [tf.losses.mean_squared_error(y, x), tf.losses.mean_squared_error(y, x, w), tf.losses.absolute_difference(y, x, 2.0), tf.losses.huber_loss(y, x),
            tf.losses.log_loss(y, tf.sigmoid(x)), tf.losses.hinge_loss(tf.round(y), x), tf.losses.cosine_distance(y, x, axis=1),
            tf.losses.sparse_softmax_cross_entropy([1, 2, 0], x), tf.losses.softmax_cross_entropy(y, x, label_smoothing=0.1),
            tf.losses.sigmoid_cross_entropy(y, x, label_smoothing=0.1), tf.losses.mean_pairwise_squared_error(y, x),
            tf.losses.mean_squared_error(y, x, w, reduction=tf.losses.Reduction.MEAN),
            tf.losses.mean_squared_error(y, x, w, reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE),
            tf.losses.mean_squared_error(y, x, w, loss_collection=None, reduction=tf.losses.Reduction.NONE),
            tf.losses.get_total_loss()]


def metrics(tf):
    value, update = tf.metrics.accuracy(tf.constant([1, 2, 3]), tf.constant([1, 0, 3]))
    mean, mean_update = tf.metrics.mean(tf.constant([1.0, 2.0, 6.0]), tf.constant([1.0, 1.0, 0.0]))
    precision, precision_update = tf.metrics.precision(tf.constant([1, 1, 0]), tf.constant([1, 0, 1]))
    recall, recall_update = tf.metrics.recall(tf.constant([1, 1, 0]), tf.constant([1, 0, 1]))
    return [value, mean, precision, recall], tf.group(update, mean_update, precision_update, recall_update)


# --- training ----------------------------------------------------------------------------------------------------------------------------------------
def decays(tf):
    g = tf.train.get_or_create_global_step()
    rates = [tf.train.exponential_decay(0.1, g, 2, 0.5), tf.train.exponential_decay(0.1, g, 2, 0.5, staircase=True), tf.train.inverse_time_decay(0.1, g, 2, 0.5),
             tf.train.natural_exp_decay(0.1, g, 2, 0.5), tf.train.polynomial_decay(0.1, g, 5), tf.train.polynomial_decay(0.1, g, 2, power=2.0, cycle=True),
             tf.train.cosine_decay(0.1, g, 5), tf.train.piecewise_constant(g, [1, 2, 4], [0.4, 0.3, 0.2, 0.1]), tf.train.cosine_decay_restarts(0.1, g, 2),
             tf.train.linear_cosine_decay(0.1, g, 5)]
    return rates, tf.assign_add(g, 1)


def moving_averages(tf):
    g = tf.train.get_or_create_global_step()
    x = tf.cast(g, tf.float32) * tf.constant([1.0, -2.0])
    average, adapting = tf.train.ExponentialMovingAverage(0.9), tf.train.ExponentialMovingAverage(0.9, num_updates=g, name="adapting")
    unbiased = tf.train.ExponentialMovingAverage(0.9, zero_debias=True, name="unbiased")
    with tf.control_dependencies([average.apply([x]), adapting.apply([x]), unbiased.apply([x])]):
        step = tf.group(tf.assign_add(g, 1))
    return [average.average(x).value(), adapting.average(x).value(), unbiased.average(x).value()], step


def _trained(tf, optimizer, use_resource=False):
    v = tf.Variable([1.0, -2.0, 3.0], use_resource=use_resource)
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3) / 10, use_resource=use_resource)
    loss = tf.reduce_sum(tf.square(v)) + tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, [2, 0, 2])) * [[1.0], [2.0], [3.0]])
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(loss, step)
    return [x.read_value() for x in sorted(tf.global_variables(), key=lambda x: x.name)], train


def _images(tf, dtype, unknown):
    """An image and a batch, of a shape that is known or not while the graph is built."""
    x = (np.arange(60).reshape(4, 5, 3) * 37 % 256).astype(np.uint8)
    values = [v if dtype == "uint8" else v.astype(dtype) / 255 for v in (x, np.stack([x, 255 - x, x[::-1]]))]
    return [tf.placeholder_with_default(v, [None] * (v.ndim - 1) + [3]) if unknown else tf.constant(v) for v in values]


def image_edits(tf, dtype="float32", unknown=False):
    im, out = tf.image, []
    for x in _images(tf, dtype, unknown):
        out += [im.flip_left_right(x), im.flip_up_down(x), im.transpose_image(x), im.rot90(x), im.rot90(x, 2), im.rot90(x, 3), im.rot90(x, tf.constant(5)),
                im.rot90(x, tf.placeholder_with_default(-1, [])), im.random_flip_left_right(x, seed=4), im.random_flip_up_down(x, seed=5),
                im.crop_to_bounding_box(x, 1, 2, 3, 2), im.crop_to_bounding_box(x, 0, 0, tf.constant(2), 5), im.pad_to_bounding_box(x, 2, 1, 7, 6),
                im.central_crop(x, 0.5), im.central_crop(x, 1.0), im.grayscale_to_rgb(x[..., :1]), im.rgb_to_grayscale(x)]
        out += [im.resize_image_with_crop_or_pad(x, h, w) for h, w in ((4, 5), (2, 8), (7, 3), (3, 4), (tf.constant(6), 2))]
        out += [tf.cast(y, tf.float32) for y in (im.adjust_brightness(x, 0.25), im.adjust_brightness(x, -0.5), im.random_brightness(x, 0.3, seed=6),
                                                 im.adjust_contrast(x, 2.0), im.random_contrast(x, 0.2, 0.9, seed=7), im.adjust_gamma(x, 2.0, 0.5))]
    return [tf.cast(y, tf.float32) for y in out]


def image_sizes(tf):
    """Values, and gradients where there are some, of images that are made larger and smaller."""
    im, out = tf.image, []
    for x in (tf.constant(IMAGE), tf.placeholder_with_default(IMAGE, [None, None, None, 3])):
        made = [im.resize_images(x, [4, 9]), im.resize_images(x, [11, 6], align_corners=True), im.resize_images(x, tf.constant([3, 3]), 1),
                im.resize_images(x, [12, 9], preserve_aspect_ratio=True), im.resize_images(x, [6, 6]), im.resize_images(x[0], [7, 2]),
                im.resize_bilinear(x, [4, 5], half_pixel_centers=True), im.resize_nearest_neighbor(x, [9, 4], align_corners=True)]
        out += made + tf.gradients([tf.square(y) for y in made], [x])
    ints = tf.constant((np.arange(60).reshape(1, 4, 5, 3) * 37 % 256).astype(np.uint8))
    return out + [tf.cast(y, tf.float32) for y in (im.resize_images(ints, [3, 7]), im.resize_images(ints, [3, 7], im.ResizeMethod.NEAREST_NEIGHBOR))]


def depthwise(tf):
    """Depthwise and separable convolutions, normalization over channels, blocks in the batch: values and gradients."""
    x, f = tf.constant(IMAGE), tf.constant(R(5).randn(3, 3, 3, 2).astype(np.float32))
    point = tf.constant(R(6).randn(1, 1, 6, 4).astype(np.float32))
    made = [tf.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME"), tf.nn.depthwise_conv2d(x, f, [1, 2, 2, 1], "VALID"),
            tf.nn.separable_conv2d(x, f, point, [1, 1, 1, 1], "SAME"), tf.nn.lrn(x), tf.nn.local_response_normalization(x, 1, 2.0, 0.5, 0.75),
            tf.space_to_batch_nd(x, [3, 2], [[1, 2], [0, 2]]), tf.space_to_batch(x, [[1, 1], [0, 0]], 2),
            tf.batch_to_space_nd(tf.tile(x, [3, 1, 1, 1]), [2, 3], [[1, 2], [0, 4]]),
            tf.cross(x, x[:, ::-1])]
    dense = tf.sparse_to_dense([[0, 1], [2, 0]], [3, 2], [5.0, 6.0], -1.0)
    return made + [dense] + tf.gradients([tf.square(y) for y in made], [x, f])


def _image_programs():
    for dtype in ("float32", "uint8"):
        for unknown in (False, True):
            yield "image_edits_%s%s" % (dtype, "_unknown" if unknown else ""), lambda tf, dtype=dtype, unknown=unknown: image_edits(tf, dtype, unknown)


def einsums(tf):
    """Values and gradients: products, transposes, diagonals, sums, ellipses that broadcast."""
    shapes = {"a": 2, "b": 3, "c": 4, "d": 5}
    rows = [("ab,bc->ac", ()), ("ab,cb->ca", ()), ("ba,bc->ac", ()), ("dab,dbc->dac", ()), ("ab->ba", ()), ("ab->", ()), ("aa->a", ()), ("aa->", ()),
            ("abb,bc->ca", ()), ("ab,c->c", ()), ("ab,ab->ab", ()), ("a,b->ba", ()), ("abc,cd->dab", ()), ("cab,dac->dcb", ()),
            ("...ab,...bc->...ac", ([2, 3], [3])), ("...ab,bc->ac...", ([2], None)), ("a...,a...->...", ([1, 3], [2, 1])), ("...a->a...", ([2, 2],)),
            ("ab...,b->a...", ([3], None)), ("ab,bc,cd->ad", ()), ("a,b,c,d->dcba", ()), ("...a,ab,bc->...c", ([2], None, None))]
    out, r = [], np.random.RandomState(8)
    for equation, wide in rows:
        inputs = []
        for i, term in enumerate(equation.partition("->")[0].split(",")):
            dims = [n for part in term.replace("...", ".") for n in (wide[i] if part == "." else [shapes[part]])]
            inputs.append(tf.constant(np.asarray(r.randn(*dims), np.float32)))
        y = tf.einsum(equation, *inputs)
        out += [y] + tf.gradients(tf.reduce_sum(y * y), inputs)
    return out


def _optimizers():
    makers = {"sgd": lambda tf: tf.train.GradientDescentOptimizer(0.05), "momentum": lambda tf: tf.train.MomentumOptimizer(0.05, 0.9),
              "nesterov": lambda tf: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True), "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
              "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.01, momentum=0.5), "centered": lambda tf: tf.train.RMSPropOptimizer(0.01, centered=True),
              "adam": lambda tf: tf.train.AdamOptimizer(0.1), "adadelta": lambda tf: tf.train.AdadeltaOptimizer(1.0),
              "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1), "ftrl_sparse": lambda tf: tf.train.FtrlOptimizer(0.2, -0.4, 0.5, 0.3, 0.1),
              "ftrl_shrunk": lambda tf: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_shrinkage_regularization_strength=0.2),
              "proximal": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.05, 0.2, 0.1),
              "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1, 0.2, 0.1, 0.3),
              "decayed": lambda tf: tf.train.MomentumOptimizer(tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 1, 0.5), 0.9)}
    for name, make in makers.items():
        for kind, use_resource in (("ref", False), ("resource", True)):
            yield "%s_%s" % (name, kind), lambda tf, make=make, use_resource=use_resource: _trained(tf, make(tf), use_resource)


PROGRAMS = {f.__name__: f for f in (initial_values, initial_values_resource, dropout, cross_entropies, cross_entropy_gradients, convolutions, normalisation,
                                    activations, embedding, nce, losses, metrics, decays, moving_averages, einsums, image_sizes, depthwise)}
PROGRAMS.update(_optimizers())
PROGRAMS.update(_image_programs())
EXACT = ("initial_values", "initial_values_resource", "dropout")
STEPS = 3


def results(tf, program):
    """What a program's fetches are after its steps, as arrays."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = program(tf)
        fetches, step = made if isinstance(made, tuple) else (made, None)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(STEPS if step is not None else 0):
            session.run(step)
        return [np.asarray(v) for v in session.run(fetches)]
