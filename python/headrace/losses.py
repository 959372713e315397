# SPDX-License-Identifier: Apache-2.0
"""tf.losses: weighted losses, each added to the collection of losses as it is made."""
from . import graph as G
from .dtypes import float32
from .op_gen import gen
from .tensor_util import convert_to_tensor


class Reduction:
    NONE, SUM, SUM_OVER_BATCH_SIZE, SUM_OVER_NONZERO_WEIGHTS = "none", "weighted_sum", "weighted_sum_over_batch_size", "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS, MEAN = "weighted_sum_by_nonzero_weights", "weighted_mean"

    @classmethod
    def all(cls):
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError("Invalid Reduction Key %s." % key)


# --- weights ----------------------------------------------------------------------------------------------------------------------------------
def _assert_broadcastable(weights, values):
    """Weights are a scalar, or of the losses' rank with each size 1 or the same. Static shapes are checked here, others when they meet."""
    from . import array as A
    with G.name_scope(None, "assert_broadcastable", [weights, values]):
        weights = convert_to_tensor(weights, name="weights")
        A.shape(weights, name="weights/shape")
        A.rank(weights, name="weights/rank")
        A.shape(values, name="values/shape")
        A.rank(values, name="values/rank")
        rank, values_rank = weights.shape.ndims, values.shape.ndims
        if rank in (0, None) or values_rank is None:
            return gen.NoOp(name="static_scalar_check_success")
        if rank != values_rank:
            raise ValueError("weights can not be broadcast to values. values.rank=%d. weights.rank=%d. values.shape=%s. weights.shape=%s."
                             % (values_rank, rank, values.shape, weights.shape))
        for w, v in zip(weights.shape.as_list(), values.shape.as_list()):
            if w not in (None, 1) and v not in (None, w):
                raise ValueError("weights can not be broadcast to values. values.shape=%s. weights.shape=%s." % (values.shape, weights.shape))
        return gen.NoOp(name="static_dims_check_success")


def _broadcast_weights(weights, values):
    from . import array as A
    with G.name_scope(None, "broadcast_weights", [weights, values]) as scope:
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and weights.shape.as_list() == values.shape.as_list():
            return weights
        with G.control_dependencies([_assert_broadcastable(weights, values)]):
            return gen.Mul(weights, A.ones_like(values), name=scope)


def _num_present(losses, weights, per_batch=False):
    """How many losses count: those whose weight is not zero."""
    from . import array as A
    from .math import reduce_sum
    with G.name_scope(None, "num_present", [losses, weights]) as scope:
        weights = gen.Cast(weights, float32) if weights.dtype.base_dtype != float32 else weights
        present = gen.Select(gen.Equal(weights, 0.0), A.zeros_like(weights), A.ones_like(weights))
        present = _broadcast_weights(present, losses)
        if per_batch:
            return reduce_sum(present, list(range(1, losses.shape.ndims)), keepdims=True, name=scope)
        return reduce_sum(present, name=scope)


def _mean(total, count):
    """total / count, zero where there is nothing to count."""
    from .math import reduce_sum
    return gen.DivNoNan(reduce_sum(total), count, name="value")


def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    """The losses times their weights, brought down to one number as `reduction` says."""
    from .math import cast, reduce_sum
    Reduction.validate(reduction)
    with G.name_scope(scope, "weighted_loss", (losses, weights)):
        with G.control_dependencies([_assert_broadcastable(weights, convert_to_tensor(losses))]):
            losses = convert_to_tensor(losses)
            kind = losses.dtype
            losses = cast(losses, float32)
            weights = cast(weights, float32)
            loss = gen.Mul(losses, weights, name="Mul")
            if reduction != Reduction.NONE:
                loss = reduce_sum(loss)
                if reduction == Reduction.MEAN:
                    from .array import ones_like
                    loss = _mean(loss, reduce_sum(gen.Mul(ones_like(losses), weights)))
                elif reduction in (Reduction.SUM_BY_NONZERO_WEIGHTS, Reduction.SUM_OVER_NONZERO_WEIGHTS):
                    loss = _mean(loss, _num_present(losses, weights))
                elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                    from .array import size
                    loss = _mean(loss, gen.Cast(size(losses, name="num_elements"), float32))
            loss = cast(loss, kind.base_dtype)
        add_loss(loss, loss_collection)
        return loss


# --- the losses -----------------------------------------------------------------------------------------------------------------------------------
def _pair(labels, predictions):
    """Both as float32 of the same shape."""
    from .math import cast
    if labels is None or predictions is None:
        raise ValueError("labels and predictions must not be None.")
    predictions, labels = cast(predictions, float32), cast(labels, float32)
    if not predictions.shape.is_compatible_with(labels.shape):
        raise ValueError("Shapes %s and %s are incompatible" % (predictions.shape, labels.shape))
    return labels, predictions


def absolute_difference(labels, predictions, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with G.name_scope(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        return compute_weighted_loss(gen.Abs(gen.Sub(predictions, labels)), weights, scope, loss_collection, reduction)


def mean_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with G.name_scope(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        return compute_weighted_loss(gen.SquaredDifference(predictions, labels), weights, scope, loss_collection, reduction)


def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    """Quadratic up to delta, linear beyond."""
    with G.name_scope(scope, "huber_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        size = gen.Abs(gen.Sub(predictions, labels))
        quadratic = gen.Minimum(size, delta)
        linear = gen.Sub(size, quadratic)
        half = convert_to_tensor(0.5, dtype=quadratic.dtype)
        losses = gen.AddV2(gen.Mul(half, gen.Mul(quadratic, quadratic)), gen.Mul(delta, linear), name="Add")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with G.name_scope(scope, "log_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = -gen.Mul(labels, gen.Log(predictions + epsilon)) - gen.Mul(1 - labels, gen.Log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    """max(0, 1 - y x), y the labels brought from 0, 1 to -1, 1."""
    from .array import ones_like
    with G.name_scope(scope, "hinge_loss", (logits, labels, weights)) as scope:
        labels, logits = _pair(labels, logits)
        ones = ones_like(labels)
        signs = gen.Sub(2 * labels, ones)
        return compute_weighted_loss(gen.Relu(gen.Sub(ones, gen.Mul(signs, logits))), weights, scope, loss_collection, reduction)


def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES,
                    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS, dim=None):
    """1 - the product of unit vectors along axis."""
    from .math import reduce_sum
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    with G.name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = 1 - reduce_sum(gen.Mul(predictions, labels), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES):
    """The mean square of differences between pairs within each example, of predictions less those of labels."""
    from . import array as A
    from .math import reduce_sum
    with G.name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)):
        labels, predictions = _pair(labels, predictions)
        weights = convert_to_tensor(float(weights) if isinstance(weights, int) else weights)
        with G.control_dependencies([_assert_broadcastable(weights, labels)]):
            difference = predictions - labels
            axes = list(range(1, difference.shape.ndims))
            squares = reduce_sum(gen.Square(difference), axes, keepdims=True)
            count = _num_present(difference, weights, per_batch=True)
            first = 2.0 * gen.DivNoNan(squares, gen.Maximum(count - 1, 0.0))
            total = reduce_sum(difference, axes, keepdims=True)
            second = 2.0 * gen.DivNoNan(gen.Square(total), gen.Maximum(gen.Mul(count, count - 1), 0.0))
            weighted = gen.Mul(first - second, weights)
            loss = reduce_sum(weighted)
            loss = gen.Select(gen.Greater(reduce_sum(count), 0.0), loss, A.zeros_like(loss), name="value")
        add_loss(loss, loss_collection)
        return loss


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=G.GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    from .math import cast
    from .nn import sigmoid_cross_entropy_with_logits
    with G.name_scope(scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=G.GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    from . import array as A
    from .math import cast
    from .nn import softmax_cross_entropy_with_logits_v2
    with G.name_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes = gen.Cast(A.shape(labels)[labels.shape.ndims - 1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = gen.StopGradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None, loss_collection=G.GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    from .nn import sparse_softmax_cross_entropy_with_logits
    with G.name_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as scope:
        labels, logits, weights = convert_to_tensor(labels), convert_to_tensor(logits), convert_to_tensor(weights)
        if labels.shape.ndims is not None and labels.shape.ndims == logits.shape.ndims:  # a last axis of one
            labels = gen.Squeeze(labels, [-1])
        if weights.shape.ndims and labels.shape.ndims and weights.shape.ndims == labels.shape.ndims + 1:
            weights = gen.Squeeze(weights, [-1])
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


# --- the collection --------------------------------------------------------------------------------------------------------------------------------
def add_loss(loss, loss_collection=G.GraphKeys.LOSSES):
    if loss_collection:
        G.add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=G.GraphKeys.LOSSES):
    return G.get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return G.get_collection(G.GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    from .math import add_n
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else convert_to_tensor(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """The sum of all losses made so far."""
    from .math import add_n
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope=scope)
    return add_n(losses, name=name)
