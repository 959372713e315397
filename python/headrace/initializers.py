# SPDX-License-Identifier: Apache-2.0
"""Initial values of variables: objects called with (shape, dtype), with TensorFlow's nodes and seeds, so that values equal bit for bit."""
from . import errors
from .dtypes import as_dtype, float32


class Initializer:
    """Called as init(shape, dtype=None, partition_info=None); `dtype` at construction is the default."""

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def get_config(self):
        return {k: v.name if k == "dtype" else v for k, v in vars(self).items()}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class zeros_initializer(Initializer):
    def __init__(self, dtype=float32):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .array import zeros
        return zeros(shape, self.dtype if dtype is None else dtype)


class ones_initializer(Initializer):
    def __init__(self, dtype=float32):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .array import ones
        return ones(shape, self.dtype if dtype is None else dtype)


class constant_initializer(Initializer):
    """A scalar everywhere, or a list or array with as many elements as the shape."""

    def __init__(self, value=0, dtype=float32, verify_shape=False):
        self.value, self.dtype, self._verify_shape = value, as_dtype(dtype), verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        from .tensor_util import constant
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, dtype=self.dtype if dtype is None else dtype, shape=shape, verify_shape=verify)


class random_uniform_initializer(Initializer):
    def __init__(self, minval=0, maxval=None, seed=None, dtype=float32):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .random import random_uniform
        return random_uniform(shape, self.minval, self.maxval, self.dtype if dtype is None else dtype, seed=self.seed)


class random_normal_initializer(Initializer):
    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .random import random_normal
        return random_normal(shape, self.mean, self.stddev, self.dtype if dtype is None else dtype, seed=self.seed)


class truncated_normal_initializer(Initializer):
    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .random import truncated_normal
        return truncated_normal(shape, self.mean, self.stddev, self.dtype if dtype is None else dtype, seed=self.seed)


class uniform_unit_scaling_initializer(Initializer):
    def __init__(self, factor=1.0, seed=None, dtype=float32):
        self.factor, self.seed, self.dtype = factor, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .random import random_uniform
        inputs = 1.0
        for n in list(shape)[:-1]:
            inputs *= float(n)
        bound = (3 / max(inputs, 1.0)) ** 0.5 * self.factor
        return random_uniform(shape, -bound, bound, self.dtype if dtype is None else dtype, seed=self.seed)


def _fans(shape):
    """How many numbers an output depends on and an input goes to; a kernel's leading axes are its window."""
    shape = [int(n) for n in shape]
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    window = 1.0
    for n in shape[:-2]:
        window *= n
    return shape[-2] * window, shape[-1] * window


class variance_scaling_initializer(Initializer):
    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype=float32):
        if scale <= 0.:
            raise ValueError("Argument `scale` must be a positive float. Received: %s" % scale)
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: %s" % mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Argument `distribution` should be one of ('normal', 'uniform', 'truncated_normal', 'untruncated_normal'). Received: %s"
                             % distribution)
        self.scale, self.mode, self.distribution, self.seed, self.dtype = scale, mode, distribution, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from .random import random_normal, random_uniform, truncated_normal
        dtype = self.dtype if dtype is None else dtype
        fan_in, fan_out = _fans(shape)
        scale = self.scale / max(1., {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.}[self.mode])
        if self.distribution == "uniform":
            limit = (3.0 * scale) ** 0.5
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, scale ** 0.5, dtype, seed=self.seed)
        # .879...: the standard deviation of a normal distribution cut at two standard deviations.
        return truncated_normal(shape, 0.0, scale ** 0.5 / .87962566103423978, dtype, seed=self.seed)


class glorot_uniform_initializer(variance_scaling_initializer):
    def __init__(self, seed=None, dtype=float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


class glorot_normal_initializer(glorot_uniform_initializer):
    def __init__(self, seed=None, dtype=float32):
        variance_scaling_initializer.__init__(self, 1.0, "fan_avg", "truncated_normal", seed, dtype)


def lecun_normal(seed=None):
    return variance_scaling_initializer(1., "fan_in", "truncated_normal", seed)


def lecun_uniform(seed=None):
    return variance_scaling_initializer(1., "fan_in", "uniform", seed)


def he_normal(seed=None):
    return variance_scaling_initializer(2., "fan_in", "truncated_normal", seed)


def he_uniform(seed=None):
    return variance_scaling_initializer(2., "fan_in", "uniform", seed)


class identity_initializer(Initializer):
    """The identity matrix times gain."""

    def __init__(self, gain=1.0, dtype=float32):
        self.gain, self.dtype = gain, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        import numpy as np
        from .tensor_util import constant
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        return constant(self.gain * np.eye(int(shape[0]), int(shape[1])), dtype=self.dtype if dtype is None else dtype)


class orthogonal_initializer(Initializer):
    """A random matrix with orthogonal rows or columns, times gain: Q of the QR decomposition of normally distributed numbers."""

    def __init__(self, gain=1.0, seed=None, dtype=float32):
        self.gain, self.seed, self.dtype = gain, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        from . import _headrace, array as A, op_gen
        from .random import random_normal
        if len(shape) < 2:
            raise ValueError("The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received shape=%s" % (shape,))
        if not (_headrace.has_op("Qr") and _headrace.has_op("DiagPart")):
            raise errors.UnimplementedError(None, None, "orthogonal_initializer needs the op Qr, which this build does not have")
        gen, dtype = op_gen.gen, self.dtype if dtype is None else as_dtype(dtype)
        rows, columns = 1, int(shape[-1])
        for n in shape[:-1]:
            rows *= int(n)
        normal = random_normal((max(rows, columns), min(rows, columns)), dtype=dtype, seed=self.seed)
        q, r = gen.Qr(normal, full_matrices=False)
        q = gen.Mul(q, gen.Sign(gen.DiagPart(r)), name="mul")
        if rows < columns:
            q = A.matrix_transpose(q)
        return self.gain * A.reshape(q, shape)


def default_for(dtype, name):
    """What get_variable takes when no initializer is given."""
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype.name == "string":
        return zeros_initializer()
    raise ValueError("An initializer for variable %s of %s is required" % (name, dtype))


# tf.initializers
constant, identity, ones, orthogonal, zeros = constant_initializer, identity_initializer, ones_initializer, orthogonal_initializer, zeros_initializer
random_normal, random_uniform, truncated_normal, uniform_unit_scaling = (random_normal_initializer, random_uniform_initializer, truncated_normal_initializer,
                                                                         uniform_unit_scaling_initializer)
glorot_normal, glorot_uniform, variance_scaling = glorot_normal_initializer, glorot_uniform_initializer, variance_scaling_initializer


def __getattr__(name):
    if name in ("global_variables", "local_variables", "tables_initializer", "variables"):
        from . import variables as V
        return {"global_variables": V.global_variables_initializer, "local_variables": V.local_variables_initializer,
                "variables": V.variables_initializer}.get(name) or (lambda: V.variables_initializer([], "init_all_tables"))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
