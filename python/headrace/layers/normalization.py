# SPDX-License-Identifier: Apache-2.0
"""BatchNormalization: fused in one op where the channels are an axis of an image, written out elsewhere."""
from .. import graph as G
from .. import nn
from ..initializers import ones_initializer, zeros_initializer
from ..op_gen import gen
from ..tensor_util import constant, convert_to_tensor
from ..variables import assign_sub
from .base import Layer, known
from .core import either


class BatchNormalization(Layer):
    """Brings each channel to mean 0 and variance 1, of the batch in training and of running averages else; then gamma and beta."""

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=zeros_initializer(),
                 gamma_initializer=ones_initializer(), moving_mean_initializer=zeros_initializer(), moving_variance_initializer=ones_initializer(),
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, renorm=False, renorm_clipping=None,
                 renorm_momentum=0.99, fused=None, trainable=True, virtual_batch_size=None, adjustment=None, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size or adjustment:
            raise NotImplementedError("BatchNormalization: renorm, virtual_batch_size and adjustment are not implemented")
        self.axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
        if not isinstance(self.axis, int):
            raise NotImplementedError("BatchNormalization over several axes: %s" % (axis,))
        self.momentum, self.epsilon, self.center, self.scale, self.fused = momentum, epsilon, center, scale, fused
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer, self.moving_variance_initializer = moving_mean_initializer, moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint

    def build(self, input_shape):
        rank = input_shape.ndims
        if rank is None:
            raise ValueError("BatchNormalization needs inputs of known rank")
        self.channels, self._at = known(input_shape, self.axis, self), self.axis % rank
        if self.fused is None:
            self.fused = rank == 4 and self._at in (1, 3)
        shape = [self.channels]
        self.gamma = self.add_weight("gamma", shape, initializer=self.gamma_initializer, regularizer=self.gamma_regularizer,
                                     constraint=self.gamma_constraint) if self.scale else None
        self.beta = self.add_weight("beta", shape, initializer=self.beta_initializer, regularizer=self.beta_regularizer,
                                    constraint=self.beta_constraint) if self.center else None
        self.moving_mean = self.add_weight("moving_mean", shape, initializer=self.moving_mean_initializer, trainable=False)
        self.moving_variance = self.add_weight("moving_variance", shape, initializer=self.moving_variance_initializer, trainable=False)

    def call(self, inputs, training=False):
        return self._fused_call(inputs, training) if self.fused else self._plain_call(inputs, training)

    def _average(self, variable, value):
        """variable -= (variable - value) * (1 - momentum), as an operation."""
        with G.name_scope("AssignMovingAvg") as scope, G.colocate_with(variable.op):
            decay = convert_to_tensor(1.0 - self.momentum, dtype=variable.dtype.base_dtype, name="decay")
            return assign_sub(variable, gen.Mul(gen.Sub(variable, value, name="sub"), decay, name="mul"), name=scope)

    def _update(self, training, mean, variance):
        """Moves the averages, in training only."""
        if training is False or training == 0 and not hasattr(training, "graph"):
            return
        mean = either(training, lambda: mean, lambda: self.moving_mean.value())
        variance = either(training, lambda: variance, lambda: self.moving_variance.value())
        self.add_update([self._average(self.moving_mean, mean), self._average(self.moving_variance, variance)])

    def _fused_call(self, inputs, training):
        gamma = constant(1.0, shape=[self.channels]) if self.gamma is None else self.gamma
        beta = constant(0.0, shape=[self.channels]) if self.beta is None else self.beta
        data_format = "NCHW" if self._at == 1 else "NHWC"

        def train():
            return list(nn.fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format))

        def infer():
            return list(nn.fused_batch_norm(inputs, gamma, beta, self.moving_mean, self.moving_variance, self.epsilon, data_format, is_training=False))
        output, mean, variance = either(training, train, infer)
        self._update(training, mean, variance)
        return output

    def _plain_call(self, inputs, training):
        rank = inputs.shape.ndims
        axes = [k for k in range(rank) if k != self._at]
        spread = [self.channels if k == self._at else 1 for k in range(rank)]

        def along(v):
            return v if v is None or self._at == rank - 1 else gen.Reshape(v, spread)
        if training is False:
            mean, variance = self.moving_mean.value(), self.moving_variance.value()
        else:
            batch_mean, batch_variance = nn.moments(inputs, axes)
            mean = either(training, lambda: batch_mean, lambda: self.moving_mean.value())
            variance = either(training, lambda: batch_variance, lambda: self.moving_variance.value())
            self._update(training, batch_mean, batch_variance)
        return nn.batch_normalization(inputs, along(mean), along(variance), along(self.beta), along(self.gamma), self.epsilon)


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=zeros_initializer(),
                        gamma_initializer=ones_initializer(), moving_mean_initializer=zeros_initializer(), moving_variance_initializer=ones_initializer(),
                        beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, training=False, trainable=True,
                        name=None, reuse=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None, virtual_batch_size=None,
                        adjustment=None):
    return BatchNormalization(axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
                              moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm, renorm_clipping,
                              renorm_momentum, fused, trainable, virtual_batch_size, adjustment, name=name, _reuse=reuse, _scope=name)(inputs, training=training)
