# SPDX-License-Identifier: Apache-2.0
"""tf.metrics: values gathered over many steps in local variables. Each gives (value, operation that takes a step's data in)."""
from . import graph as G
from .dtypes import float32
from .op_gen import gen
from .tensor_util import convert_to_tensor
from .variable_scope import variable_scope
from .variables import Variable


def metric_variable(shape, dtype, validate_shape=True, name=None):
    from .array import zeros
    from .variable_scope import get_variable_scope
    here = get_variable_scope().name
    with G.name_scope(None):
        return Variable(lambda: zeros(shape, dtype), trainable=False, name=here + "/" + name if here else name, validate_shape=validate_shape,
                        collections=[G.GraphKeys.LOCAL_VARIABLES, G.GraphKeys.METRIC_VARIABLES])


def _collect(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        G.add_to_collections(metrics_collections, value)
    if updates_collections:
        G.add_to_collections(updates_collections, update)
    return value, update


def _ratio(total, count, name):
    """total / count, zero while nothing was counted."""
    return gen.DivNoNan(total, gen.Maximum(count, 0.0), name=name)


def _weighted(values, weights):
    """(values times weights, the weights' sum) with weights spread over the values."""
    from .losses import _broadcast_weights
    from .math import cast, reduce_sum
    weights = cast(weights, float32)
    if weights.shape.ndims not in (0, None) and values.shape.ndims is not None and weights.shape.ndims == values.shape.ndims + 1:
        weights = gen.Squeeze(weights, [-1])
    spread = _broadcast_weights(weights, values)
    return gen.Mul(values, spread), reduce_sum(spread)


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    from .array import size
    from .math import cast, reduce_sum
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, float32)
        total = metric_variable([], float32, name="total")
        count = metric_variable([], float32, name="count")
        if weights is None:
            present = gen.Cast(size(values), float32)
        else:
            values, present = _weighted(values, weights)
        update_total = total.assign_add(reduce_sum(values))
        with G.control_dependencies([values]):
            update_count = count.assign_add(present)
        return _collect(_ratio(total, count, "value"), _ratio(update_total, update_count, "update_op"), metrics_collections, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """How often predictions are labels."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if labels.shape.ndims is not None and predictions.shape.ndims is not None and labels.shape.ndims != predictions.shape.ndims:
        if labels.shape.ndims == predictions.shape.ndims + 1:
            labels = gen.Squeeze(labels, [-1])
        elif predictions.shape.ndims == labels.shape.ndims + 1:
            predictions = gen.Squeeze(predictions, [-1])
    if not predictions.shape.is_compatible_with(labels.shape):
        raise ValueError("Shapes %s and %s are incompatible" % (predictions.shape, labels.shape))
    if labels.dtype.base_dtype != predictions.dtype.base_dtype:
        predictions = gen.Cast(predictions, labels.dtype)
    correct = gen.Cast(gen.Equal(predictions, labels), float32)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")


def _of_difference(default, loss):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        from .math import cast
        return mean(loss(cast(predictions, float32), cast(labels, float32)), weights, metrics_collections, updates_collections, name or default)
    metric.__name__ = default
    return metric


mean_absolute_error = _of_difference("mean_absolute_error", lambda p, l: gen.Abs(gen.Sub(p, l)))
mean_squared_error = _of_difference("mean_squared_error", gen.SquaredDifference)


def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    return _collect(gen.Sqrt(value), gen.Sqrt(update), metrics_collections, updates_collections)


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of each element."""
    from .array import ones_like
    from .math import cast
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, float32)
        total = metric_variable(values.shape, float32, name="total_tensor")
        count = metric_variable(values.shape, float32, name="count_tensor")
        present = ones_like(values)
        if weights is not None:
            values, present = gen.Mul(values, weights), gen.Mul(present, weights)
        update_total = total.assign_add(values)
        with G.control_dependencies([values]):
            update_count = count.assign_add(present)
        return _collect(_ratio(total, count, "value"), _ratio(update_total, update_count, "update_op"), metrics_collections, updates_collections)


def percentage_below(values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None):
    return mean(gen.Cast(gen.Less(values, threshold), float32), weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


# --- counts of a two-way classification ------------------------------------------------------------------------------------------------------------
def _count(condition, weights):
    """A counter of the cases where a condition holds: (value, update)."""
    from .losses import _broadcast_weights
    from .math import cast, reduce_sum
    count = metric_variable([], float32, name="count")
    cases = gen.Cast(condition, float32)
    if weights is not None:
        cases = gen.Mul(cases, _broadcast_weights(cast(weights, float32), cases))
    return gen.Identity(count), count.assign_add(reduce_sum(cases))


def _counter(default, wanted_prediction, wanted_label):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        from .math import cast
        with variable_scope(name, default, (predictions, labels, weights)):
            p, l = cast(predictions, "bool"), cast(labels, "bool")
            p = p if wanted_prediction else gen.LogicalNot(p)
            l = l if wanted_label else gen.LogicalNot(l)
            return _collect(*_count(gen.LogicalAnd(p, l), weights), metrics_collections, updates_collections)
    metric.__name__ = default
    return metric


true_positives, false_positives = _counter("true_positives", True, True), _counter("false_positives", True, False)
true_negatives, false_negatives = _counter("true_negatives", False, False), _counter("false_negatives", False, True)


def _share_of(default, other):
    """true positives / (true positives + others)"""
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        with variable_scope(name, default, (predictions, labels, weights)):
            hit, hit_update = true_positives(labels, predictions, weights)
            miss, miss_update = other(labels, predictions, weights)
            return _collect(gen.DivNoNan(hit, hit + miss, name="value"), gen.DivNoNan(hit_update, hit_update + miss_update, name="update_op"),
                            metrics_collections, updates_collections)
    metric.__name__ = default
    return metric


precision, recall = _share_of("precision", false_positives), _share_of("recall", false_negatives)
