# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers: initial values and penalties for weights."""
import math
import numbers

from headrace import dtypes
from headrace import graph as G
from headrace.math import abs as absolute
from headrace.math import add_n, multiply, reduce_sum
from headrace.nn import l2_loss
from headrace.random import random_uniform, truncated_normal
from headrace.tensor_util import constant, convert_to_tensor


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32):
    """Values of variance factor / n, n being the number of inputs, of outputs, or their mean; normal ones are cut at two deviations."""
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError("Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]" % mode)

    def initializer(shape, dtype=dtype, partition_info=None):
        dims = [float(d) for d in shape] or [1.0]
        field = math.prod(dims[:-2])
        fan_in, fan_out = (dims[-2] if len(dims) > 1 else dims[-1]) * field, dims[-1] * field
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)  # cutting takes a quarter of the variance away

    return initializer


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """Glorot and Bengio, 2010: variance 2 / (inputs + outputs)."""
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


xavier_initializer_conv2d = xavier_initializer


def _checked(scale):
    if isinstance(scale, numbers.Integral):
        raise ValueError("scale cannot be an integer: %s" % scale)
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError("Setting a scale less than 0 on a regularizer: %g" % scale)
    return isinstance(scale, numbers.Real) and scale == 0.0


def _regularizer(scale, name, scope, norm):
    if _checked(scale):
        return lambda _: None

    def penalty(weights):
        with G.name_scope(scope, name, [weights]) as inner:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return multiply(factor, norm(weights), name=inner)

    return penalty


def l1_regularizer(scale, scope=None):
    """scale * sum(|weights|); of scale 0 no penalty at all."""
    return _regularizer(scale, "l1_regularizer", scope, lambda w: reduce_sum(absolute(w)))


def l2_regularizer(scale, scope=None):
    """scale * sum(weights^2) / 2; of scale 0 no penalty at all."""
    return _regularizer(scale, "l2_regularizer", scope, l2_loss)


def sum_regularizer(regularizer_list, scope=None):
    """All penalties together."""
    regularizers = [r for r in regularizer_list if r is not None]

    def penalty(weights):
        with G.name_scope(scope, "sum_regularizer", [weights]) as inner:
            parts = [p for p in (r(weights) for r in regularizers) if p is not None]
            return add_n(parts, name=inner) if parts else None

    return penalty if regularizers else None


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope or "l1_l2_regularizer")


def apply_regularization(regularizer, weights_list=None):
    """The sum of the penalties of weights_list (the collection WEIGHTS), which are added to REGULARIZATION_LOSSES."""
    weights = G.get_collection(G.GraphKeys.WEIGHTS) if weights_list is None else weights_list
    if not weights:
        raise ValueError("No weights to regularize.")
    with G.name_scope(None, "get_regularization_penalty", weights):
        penalties = [constant(0.0) if p is None else p for p in (regularizer(w) for w in weights)]
        for p in penalties:
            if p.shape.ndims != 0:
                raise ValueError("regularizer must return a scalar Tensor instead of a Tensor with rank %s" % p.shape.ndims)
            G.add_to_collection(G.GraphKeys.REGULARIZATION_LOSSES, p)
        return add_n(penalties)
