# SPDX-License-Identifier: Apache-2.0
"""Part of tf.nn: means and variances, batch normalisation."""
from . import graph as G
from .dtypes import float32
from .op_gen import gen
from .tensor_util import constant, convert_to_tensor


def moments(x, axes=None, shift=None, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) along the axes; half precision is averaged in float32."""
    from .math import reduce_mean
    keep = bool(keep_dims if keepdims is None else keepdims)
    with G.name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x)
        half = x.dtype.name == "float16"
        y = gen.Cast(x, float32) if half else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        variance = reduce_mean(gen.SquaredDifference(y, gen.StopGradient(mean)), axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = gen.Squeeze(mean, axes), gen.Squeeze(variance, axes)
        return (gen.Cast(mean, x.dtype), gen.Cast(variance, x.dtype)) if half else (mean, variance)


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    from .math import reduce_sum
    keep = bool(keep_dims if keepdims is None else keepdims)
    with G.name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, dtype=x.dtype, name="frequency_weights")
        spread = weights + 0 * x
        total = reduce_sum(spread, axes, keepdims=True)
        mean = reduce_sum(weights * x, axes, keepdims=True) / total
        variance = reduce_sum(weights * gen.SquaredDifference(x, mean), axes, keepdims=True) / total
        return (mean, variance) if keep else (gen.Squeeze(mean, axes), gen.Squeeze(variance, axes))


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """(count, sum, sum of squares, shift) along the axes."""
    from . import array as A
    from .math import reduce_prod, reduce_sum
    keep = bool(keep_dims if keepdims is None else keepdims)
    axes = list(set(axes))
    with G.name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        dims = x.shape.as_list() if x.shape.ndims is not None else None
        if dims is not None and all(dims[a] is not None for a in axes):
            count = 1
            for a in axes:
                count *= dims[a]
            count = constant(count, dtype=x.dtype.base_dtype, name="count")
        else:
            count = reduce_prod(gen.Cast(A.gather(A.shape(x), axes), x.dtype.base_dtype), name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift")
        mean, square = (x, gen.Square(x)) if shift is None else (gen.Sub(x, shift), gen.SquaredDifference(x, shift))
        return count, reduce_sum(mean, axes, keepdims=keep, name="mean_ss"), reduce_sum(square, axes, keepdims=keep, name="var_ss"), shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    with G.name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = gen.Reciprocal(counts, name="divisor")
        shifted = gen.Mul(mean_ss, divisor, name="shifted_mean" if shift is not None else "mean")
        mean = shifted if shift is None else gen.AddV2(shifted, shift, name="mean")
        return mean, gen.Sub(gen.Mul(variance_ss, divisor), gen.Square(shifted), name="variance")


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """scale (x - mean) / sqrt(variance + epsilon) + offset, with what does not depend on x multiplied out first."""
    with G.name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        factor = gen.Rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        return x * gen.Cast(factor, x.dtype) + gen.Cast(offset - mean * factor if offset is not None else -mean * factor, x.dtype) \
            if factor.dtype.base_dtype != convert_to_tensor(x).dtype.base_dtype else \
            x * factor + (offset - mean * factor if offset is not None else -mean * factor)


def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None, scale_after_normalization=None, name=None,
                                         input=None, mean=None, variance=None):
    t, m, v = input if t is None else t, mean if m is None else m, variance if v is None else v
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True, name=None,
                     exponential_avg_factor=1.0):
    """(y, mean, variance) in one op; mean and variance are given where not training."""
    if is_training and exponential_avg_factor == 1.0 and (mean is not None or variance is not None):
        raise ValueError("Both `mean` and `variance` must be None when `is_training` is True and `exponential_avg_factor` == 1.0.")
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be a 1D tensor when `is_training` is False or `exponential_avg_factor` != 1.0.")
    x = convert_to_tensor(x, name="input")
    scale, offset = convert_to_tensor(scale, name="scale"), convert_to_tensor(offset, name="offset")
    mean = constant([], dtype=scale.dtype.base_dtype) if mean is None else mean
    variance = constant([], dtype=scale.dtype.base_dtype) if variance is None else variance
    return gen.FusedBatchNormV3(x, scale, offset, mean, variance, epsilon=max(epsilon, 1.001e-5), exponential_avg_factor=exponential_avg_factor,
                                data_format=data_format, is_training=is_training, name=name)[:3]


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    return gen.LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


lrn = local_response_normalization
