# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling."""
import numpy as np

from ..initializers import zeros_initializer
from ..op_gen import gen
from ..tensor_util import convert_to_tensor
from .base import InputSpec, Layer, known


def _sizes(value, n, name):
    value = (value,) * n if isinstance(value, int) else tuple(value)
    if len(value) != n:
        raise ValueError("The `%s` argument must be a tuple of %d integers. Received: %s" % (name, n, value))
    return value


def _format(data_format, n):
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError("The `data_format` argument must be one of \"channels_first\", \"channels_last\". Received: %s" % data_format)
    letters = "DHW"[3 - n:]
    return "N%sC" % letters if data_format == "channels_last" else "NC" + letters


class _Conv(Layer):
    """activation(convolution + bias) over n spatial axes."""

    def __init__(self, rank, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1, activation=None, use_bias=True,
                 kernel_initializer=None, bias_initializer=zeros_initializer(), kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 kernel_constraint=None, bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.rank, self.filters, self.padding, self.data_format = rank, int(filters), padding.upper(), data_format
        self.kernel_size, self.strides = _sizes(kernel_size, rank, "kernel_size"), _sizes(strides, rank, "strides")
        self.dilation_rate, self.activation, self.use_bias = _sizes(dilation_rate, rank, "dilation_rate"), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.op_format = _format(data_format, rank)
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def channel_axis(self):
        return 1 if self.data_format == "channels_first" else -1

    def kernel_shape(self, channels):
        return list(self.kernel_size) + [channels, self.filters]

    def build(self, input_shape):
        channels = known(input_shape, self.channel_axis, self)
        self.kernel = self.add_weight("kernel", self.kernel_shape(channels), initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
                                      constraint=self.kernel_constraint)
        self.bias = self.add_weight("bias", [self.filters], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                                    constraint=self.bias_constraint) if self.use_bias else None

    def call(self, inputs):
        return self._finish(self.convolve(inputs))

    def _finish(self, outputs):
        if self.use_bias:
            outputs = gen.BiasAdd(outputs, self.bias, data_format="NCHW" if self.data_format == "channels_first" else "NHWC")
        return outputs if self.activation is None else self.activation(outputs)

    def _all_axes(self, sizes):
        return [1, 1] + list(sizes) if self.data_format == "channels_first" else [1] + list(sizes) + [1]


class Conv2D(_Conv):
    def __init__(self, filters, kernel_size, strides=(1, 1), *args, **kwargs):
        super().__init__(2, filters, kernel_size, strides, *args, **kwargs)

    def convolve(self, inputs):
        convert_to_tensor(np.array(self.dilation_rate, np.int32), name="dilation_rate")  # a node that TensorFlow's layer makes
        return gen.Conv2D(inputs, self.kernel, strides=self._all_axes(self.strides), padding=self.padding, data_format=self.op_format,
                          dilations=self._all_axes(self.dilation_rate))


class Conv1D(_Conv):
    def __init__(self, filters, kernel_size, strides=1, *args, **kwargs):
        super().__init__(1, filters, kernel_size, strides, *args, **kwargs)

    def convolve(self, inputs):
        from ..nn import conv1d
        return conv1d(inputs, self.kernel, self.strides[0], self.padding, data_format=self.op_format, dilations=self.dilation_rate[0])


class Conv2DTranspose(_Conv):
    """The gradient of a convolution with regard to its input, as a layer."""

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None, *args, **kwargs):
        super().__init__(2, filters, kernel_size, strides, padding, data_format, 1, activation, *args, **kwargs)

    def kernel_shape(self, channels):
        return list(self.kernel_size) + [self.filters, channels]

    def convolve(self, inputs):
        from .. import array as A
        first = self.data_format == "channels_first"
        shape, dims = A.shape(inputs), inputs.shape.as_list()
        spatial, static = [], []
        for k, axis in enumerate((2, 3) if first else (1, 2)):
            stretch = self.strides[k]
            extra = max(self.kernel_size[k] - stretch, 0) if self.padding == "VALID" else 0
            spatial.append(shape[axis] * stretch + extra)
            static.append(None if dims[axis] is None else dims[axis] * stretch + extra)
        sizes = [shape[0], self.filters] + spatial if first else [shape[0]] + spatial + [self.filters]
        outputs = gen.Conv2DBackpropInput(A.stack(sizes), self.kernel, inputs, strides=self._all_axes(self.strides), padding=self.padding,
                                          data_format=self.op_format, name="conv2d_transpose")
        outputs.set_shape([dims[0], self.filters] + static if first else [dims[0]] + static + [self.filters])
        return outputs


class _Pooling(Layer):
    def __init__(self, rank, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rank, self.padding, self.data_format = rank, padding.upper(), data_format
        self.pool_size, self.strides = _sizes(pool_size, rank, "pool_size"), _sizes(pool_size if strides is None else strides, rank, "strides")
        self.op_format = _format(data_format, rank)
        self.input_spec = InputSpec(ndim=rank + 2)

    def call(self, inputs):
        from .. import nn
        pool = getattr(nn, self.function)
        first = self.data_format == "channels_first"
        if self.rank == 1:
            axis = 3 if first else 2
            outputs = pool(gen.ExpandDims(inputs, axis), [1, 1, self.pool_size[0], 1] if first else [1, self.pool_size[0], 1, 1],
                           [1, 1, self.strides[0], 1] if first else [1, self.strides[0], 1, 1], self.padding, "NCHW" if first else "NHWC")
            return gen.Squeeze(outputs, [axis])
        return pool(inputs, ([1, 1] if first else [1]) + list(self.pool_size) + ([] if first else [1]),
                    ([1, 1] if first else [1]) + list(self.strides) + ([] if first else [1]), self.padding, self.op_format)


class MaxPooling2D(_Pooling):
    function = "max_pool"

    def __init__(self, pool_size, strides, *args, **kwargs):
        super().__init__(2, pool_size, strides, *args, **kwargs)


class AveragePooling2D(MaxPooling2D):
    function = "avg_pool"


class MaxPooling1D(_Pooling):
    function = "max_pool"

    def __init__(self, pool_size, strides, *args, **kwargs):
        super().__init__(1, pool_size, strides, *args, **kwargs)


class AveragePooling1D(MaxPooling1D):
    function = "avg_pool"


# --- as functions ----------------------------------------------------------------------------------------------------------------------------------
def conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1), activation=None, use_bias=True,
           kernel_initializer=None, bias_initializer=zeros_initializer(), kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
           kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    return Conv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer, bias_initializer,
                  kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable=trainable, name=name,
                  _scope=name, _reuse=reuse)(inputs)


def conv1d(inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1, activation=None, use_bias=True,
           kernel_initializer=None, bias_initializer=zeros_initializer(), kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
           kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    return Conv1D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer, bias_initializer,
                  kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable=trainable, name=name,
                  _scope=name, _reuse=reuse)(inputs)


def conv2d_transpose(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None, use_bias=True,
                     kernel_initializer=None, bias_initializer=zeros_initializer(), kernel_regularizer=None, bias_regularizer=None,
                     activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    return Conv2DTranspose(filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer, bias_initializer,
                           kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable=trainable, name=name,
                           _scope=name, _reuse=reuse)(inputs)


def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling1d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)


def separable_conv2d(*args, **kwargs):
    raise NotImplementedError("tf.layers.separable_conv2d is not implemented: use tf.nn.separable_conv2d")
