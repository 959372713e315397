# SPDX-License-Identifier: Apache-2.0
"""Dense, Dropout, Flatten."""
from ..initializers import zeros_initializer
from ..op_gen import gen
from ..tensor import Tensor
from ..tensor_util import constant_value
from .base import InputSpec, Layer, known


class Dense(Layer):
    """activation(inputs @ kernel + bias) along the last axis."""

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=zeros_initializer(), kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", [known(input_shape, -1, self), self.units], initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.bias = self.add_weight("bias", [self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                                    constraint=self.bias_constraint) if self.use_bias else None

    def call(self, inputs):
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            from ..math import tensordot
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(inputs.shape.as_list()[:-1] + [self.units])
        else:
            outputs = gen.MatMul(inputs, self.kernel)
        if self.use_bias:
            outputs = gen.BiasAdd(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)


class Dropout(Layer):
    """Drops units in training."""

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=False):
        from ..array import identity
        from ..nn import dropout
        return either(training, lambda: dropout(inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate), lambda: identity(inputs))


def either(condition, yes, no):
    """yes() or no() at once where the condition is known, else a conditional of the graph."""
    if isinstance(condition, Tensor) or hasattr(condition, "_as_graph_element"):
        value = constant_value(condition) if isinstance(condition, Tensor) else None
        if value is None:
            from ..flow import cond
            return cond(condition, yes, no)
        condition = bool(value)
    return yes() if condition else no()


class Flatten(Layer):
    """All axes but the first in one."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format

    def call(self, inputs):
        from .. import array as A
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = gen.Transpose(inputs, [0] + list(range(2, rank)) + [1])
        dims = inputs.shape.as_list() if rank is not None else None
        first = dims[0] if dims and dims[0] is not None else A.shape(inputs)[0]
        outputs = A.reshape(inputs, A.stack([first, -1], name="Reshape/shape") if isinstance(first, Tensor) else [first, -1])
        if dims is not None:
            size = 1
            for n in dims[1:]:
                size = None if size is None or n is None else size * n
            outputs.set_shape([dims[0], size])
        return outputs


# --- as functions ----------------------------------------------------------------------------------------------------------------------------------
def dense(inputs, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=zeros_initializer(), kernel_regularizer=None,
          bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    return Dense(units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                 kernel_constraint, bias_constraint, trainable=trainable, name=name, _scope=name, _reuse=reuse)(inputs)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name)(inputs, training=training)


def flatten(inputs, name=None, data_format="channels_last"):
    return Flatten(name=name, data_format=data_format)(inputs)
