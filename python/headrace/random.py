# SPDX-License-Identifier: Apache-2.0
"""Random values: the ops take their pair of seeds from graph.get_seed, so streams equal TensorFlow's bit for bit."""
from headrace import _headrace, dtypes
from headrace.graph import get_seed, name_scope
from headrace.op_gen import gen
from headrace.tensor_util import constant, convert_to_tensor, shape_tensor

_Tensor = _headrace.Tensor


def _seeds(seed):
    a, b = get_seed(seed)
    return {"seed": a or 0, "seed2": b or 0}


def _shaped(tensor, shape):
    from headrace.tensor_util import constant_value_as_shape
    if tensor._dims is None or None in tensor._dims:
        known = constant_value_as_shape(shape)
        if known._dims is not None:
            tensor.set_shape(known)
    return tensor


def _normal(op, default_name):
    def make(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
        with name_scope(name, default_name, [shape, mean, stddev]) as scope:
            shape = shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype, name="stddev")
            out = getattr(gen, op)(shape, dtypes.as_dtype(dtype), **_seeds(seed))
            return _shaped(gen.AddV2(gen.Mul(out, stddev, name="mul"), mean, name=scope), shape)
    make.__name__ = default_name
    return make


random_normal, truncated_normal = _normal("RandomStandardNormal", "random_normal"), _normal("TruncatedNormal", "truncated_normal")


def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    dtype = dtypes.as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError("Must specify maxval for integer dtype %s" % dtype.name)
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape = shape_tensor(shape)
        from_zero = type(minval) is int and minval == 0
        unit = from_zero and type(maxval) is int and maxval == 1 and not dtype.is_integer
        if not unit:
            minval = convert_to_tensor(minval, dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return _shaped(gen.RandomUniformInt(shape, minval, maxval, name=scope, **_seeds(seed)), shape)
        out = gen.RandomUniform(shape, dtype, **_seeds(seed))
        if unit:
            return _shaped(out, shape)
        if from_zero:
            return _shaped(gen.Mul(out, maxval), shape)
        return _shaped(gen.AddV2(gen.Mul(out, gen.Sub(maxval, minval, name="sub"), name="mul"), minval, name=scope), shape)


def random_shuffle(value, seed=None, name=None):
    return gen.RandomShuffle(value, name=name, **_seeds(seed))


def random_crop(value, size, seed=None, name=None):
    from headrace.array import shape as shape_of, slice as take
    from headrace.control import Assert, with_dependencies
    from headrace.math import reduce_all
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        shape = shape_of(value)
        check = Assert(reduce_all(gen.GreaterEqual(shape, size)), ["Need value.shape >= size, got ", shape, size], summarize=1000)
        shape = with_dependencies([check], shape)
        limit = shape - size + 1
        offset = random_uniform(shape_of(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        return take(value, offset, size, name=scope)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    with name_scope(name, "multinomial", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        extra = {} if output_dtype is None else {"output_dtype": dtypes.as_dtype(output_dtype)}
        return gen.Multinomial(logits, num_samples, **dict(_seeds(seed), **extra))


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    with name_scope(name, "categorical", [logits]):
        return multinomial(logits, num_samples, seed, None, dtype)


def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        alpha = alpha + gen.ZerosLike(beta)
        return gen.Maximum(constant(dtypes.as_dtype(dtype).as_numpy_dtype(1e-38), alpha.dtype),
                           gen.RandomGamma(shape, alpha, **_seeds(seed)) / beta)


def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    with name_scope(name, "random_poisson", [lam, shape]):
        return gen.RandomPoissonV2(convert_to_tensor(shape, dtypes.int32), lam, dtype=dtypes.as_dtype(dtype), **_seeds(seed))
