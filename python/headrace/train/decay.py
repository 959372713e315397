# SPDX-License-Identifier: Apache-2.0
"""Learning rates that fall with the global step, as tensors of the graph."""
import math

from .. import graph as G
from ..op_gen import gen
from ..tensor_util import constant, convert_to_tensor
from ..variables import Variable


def _start(learning_rate, global_step, name, default, function):
    if global_step is None:
        raise ValueError("global_step is required for %s." % function)
    return G.name_scope(name, default, [learning_rate, global_step])


def _cast(x, dtype):
    """As tf.cast: numbers become constants `Cast/x`, tensors of the type stay."""
    from ..math import cast
    return cast(x, dtype)


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate * decay_rate ^ (global_step / decay_steps), the power cut to a whole number when staircase."""
    with _start(learning_rate, global_step, name, "ExponentialDecay", "exponential_decay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps, base, step = (_cast(v, rate.dtype) for v in (decay_steps, decay_rate, global_step))
        power = gen.RealDiv(step, steps, name="truediv")
        if staircase:
            power = gen.Floor(power)
        return gen.Mul(rate, gen.Pow(base, power), name=scope)


def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    return exponential_decay(learning_rate, global_step, decay_steps, gen.Exp(gen.Neg(decay_rate)), staircase, name)


def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate / (1 + decay_rate * global_step / decay_steps)"""
    with _start(learning_rate, global_step, name, "InverseTimeDecay", "inverse_time_decay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps, fall, step = (_cast(v, rate.dtype) for v in (decay_steps, decay_rate, global_step))
        share = gen.RealDiv(step, steps, name="truediv")
        if staircase:
            share = gen.Floor(share)
        one = _cast(convert_to_tensor(1), rate.dtype)
        return gen.RealDiv(rate, gen.AddV2(one, gen.Mul(fall, share), name="Add"), name=scope)


def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name=None):
    """From learning_rate to end_learning_rate in decay_steps along (1 - share)^power; cycle starts over with longer periods."""
    with _start(learning_rate, global_step, name, "PolynomialDecay", "polynomial_decay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        end, power, step, steps = (_cast(v, rate.dtype) for v in (end_learning_rate, power, global_step, decay_steps))
        if cycle:
            periods = gen.SelectV2(gen.Equal(step, 0.0), 1.0, gen.Ceil(step / decay_steps)) if not isinstance(decay_steps, Variable) else \
                gen.Maximum(gen.Ceil(step / steps), 1.0)
            steps = gen.Mul(steps, periods, name="Mul")
        else:
            step = gen.Minimum(step, steps)
        share = gen.RealDiv(step, steps, name="truediv")
        return gen.AddV2(gen.Mul(rate - end, gen.Pow(1 - share, power), name="Mul"), end, name=scope)


def piecewise_constant(x, boundaries, values, name=None):
    """values[k], k the number of boundaries that x is greater than."""
    from ..array import gather, stack
    from ..math import reduce_sum
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with G.name_scope(name, "PiecewiseConstant", [x, boundaries, values]):
        x = convert_to_tensor(x)
        limits = stack([_cast(convert_to_tensor(b), x.dtype.base_dtype) for b in boundaries])
        values = [convert_to_tensor(v) for v in values]
        for v in values:
            if v.dtype.base_dtype != values[0].dtype.base_dtype:
                raise ValueError("`values` must have elements all with the same dtype: %s and %s" % (v.dtype.base_dtype, values[0].dtype.base_dtype))
        passed = reduce_sum(gen.Cast(gen.Greater(x, limits), "int32"))
        return gather(stack(values), passed)


def _cosine(share):
    return 0.5 * (1.0 + gen.Cos(constant(math.pi) * share))


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """Half a cosine from learning_rate to alpha * learning_rate in decay_steps."""
    with _start(learning_rate, global_step, name, "CosineDecay", "cosine_decay"):
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps, step = _cast(decay_steps, rate.dtype), _cast(global_step, rate.dtype)
        share = gen.RealDiv(gen.Minimum(step, steps), steps, name="truediv")
        return gen.Mul(rate, (1 - alpha) * _cosine(share) + alpha)


def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None):
    """Cosine decay that starts over, each period t_mul times as long and m_mul times as high as the one before."""
    with _start(learning_rate, global_step, name, "SGDRDecay", "cosine_decay_restarts"):
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        first, step = _cast(first_decay_steps, rate.dtype), _cast(global_step, rate.dtype)
        share = step / first
        if t_mul == 1.0:
            period = gen.Floor(share)
            share = share - period
        else:
            period = gen.Floor(gen.Log(1.0 - share * (1.0 - t_mul)) / math.log(t_mul))
            before = (1.0 - t_mul ** period) / (1.0 - t_mul)
            share = (share - before) / t_mul ** period
        return gen.Mul(rate, (1 - alpha) * (m_mul ** period * _cosine(share)) + alpha)


def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    with _start(learning_rate, global_step, name, "LinearCosineDecay", "linear_cosine_decay"):
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps = _cast(decay_steps, rate.dtype)
        share = gen.Minimum(_cast(global_step, rate.dtype), steps) / steps
        cosine = 0.5 * (1.0 + gen.Cos(math.pi * (2.0 * num_periods) * share))
        return gen.Mul(rate, (alpha + (1.0 - share)) * cosine + beta)
