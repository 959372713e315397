# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.layers: layers as functions that arg_scope gives defaults to. Variables are called weights and biases."""
import functools

from headrace import graph as G
from headrace import nn
from headrace.array import one_hot, reshape
from headrace.control import with_dependencies
from headrace.initializers import ones_initializer, zeros_initializer
from headrace.layers.convolutional import AveragePooling2D, Conv1D, Conv2D, Conv2DTranspose, MaxPooling2D
from headrace.layers.core import Dense, Dropout, Flatten
from headrace.layers.normalization import BatchNormalization
from headrace.tensor_util import convert_to_tensor
from headrace.variable_scope import get_variable, variable_scope

from .regularizers import (apply_regularization, l1_l2_regularizer, l1_regularizer, l2_regularizer, sum_regularizer,  # noqa: F401
                           variance_scaling_initializer, xavier_initializer, xavier_initializer_conv2d)
from .scopes import add_arg_scope

DATA_FORMATS = {"NHWC": "channels_last", "NCHW": "channels_first", "NWC": "channels_last", "NCW": "channels_first", None: "channels_last"}
_RENAMED = {"kernel": "weights", "bias": "biases"}


def _opened(scope, default, inputs, reuse=None):
    """A variable scope in which tf.layers' variables have the names that they have in tf.contrib."""
    def renaming(getter, name, *args, **kwargs):
        head, _, last = name.rpartition("/")
        return getter(head + "/" + _RENAMED.get(last, last) if head else _RENAMED.get(last, last), *args, **kwargs)
    return variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=renaming)


def _finished(outputs, scope, collections):
    for name in ([collections] if isinstance(collections, str) else collections or ()):
        G.add_to_collection(name, outputs)
    outputs.alias = scope.name
    return outputs


def _collect(layer, collections):
    """The layer's variables join MODEL_VARIABLES and `collections`: names, or a dict of names by "weights" and "biases"."""
    for v in layer.weights:
        kind = v.op.name.rpartition("/")[2]
        named = collections.get(kind) if isinstance(collections, dict) else collections
        names = [named] if isinstance(named, str) else list(named or ())
        for name in [G.GraphKeys.MODEL_VARIABLES] + names:
            if v not in G.get_collection(name):
                G.add_to_collection(name, v)


def _with_weights(make, scope, default, inputs, reuse, activation_fn, normalizer_fn, normalizer_params, variables_collections, outputs_collections):
    """A layer with weights: its product, then the normalizer instead of biases, then the activation."""
    with _opened(scope, default, inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        layer = make(opened)
        outputs = layer(inputs)
        _collect(layer, variables_collections)
        if normalizer_fn is not None:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return _finished(outputs, opened, outputs_collections)


@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=nn.relu, normalizer_fn=None, normalizer_params=None, weights_initializer=xavier_initializer(),
                    weights_regularizer=None, biases_initializer=zeros_initializer(), biases_regularizer=None, reuse=None, variables_collections=None,
                    outputs_collections=None, trainable=True, scope=None):
    """activation(inputs * weights + biases); with normalizer_fn, or biases_initializer None, without biases."""
    if not isinstance(num_outputs, int):
        raise ValueError("num_outputs type should be one of int, got %s." % type(num_outputs).__name__)

    def make(opened):
        return Dense(num_outputs, use_bias=normalizer_fn is None and biases_initializer is not None, kernel_initializer=weights_initializer,
                     bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
                     trainable=trainable, name=opened.name.rpartition("/")[2], _scope=opened, _reuse=reuse)
    return _with_weights(make, scope, "fully_connected", inputs, reuse, activation_fn, normalizer_fn, normalizer_params, variables_collections,
                         outputs_collections)


def _convolution(kind, default, inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn, normalizer_params,
                 weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
                 trainable, scope):
    if data_format not in DATA_FORMATS:
        raise ValueError("Invalid data_format: %r" % (data_format,))
    dilation = {} if kind is Conv2DTranspose else {"dilation_rate": rate}

    def make(opened):
        return kind(num_outputs, kernel_size, stride, padding=padding, data_format=DATA_FORMATS[data_format],
                    use_bias=normalizer_fn is None and biases_initializer is not None, kernel_initializer=weights_initializer,
                    bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
                    trainable=trainable, name=opened.name.rpartition("/")[2], _scope=opened, _reuse=reuse, **dilation)
    return _with_weights(make, scope, default, inputs, reuse, activation_fn, normalizer_fn, normalizer_params, variables_collections,
                         outputs_collections)


@add_arg_scope
def convolution2d(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=nn.relu, normalizer_fn=None,
                  normalizer_params=None, weights_initializer=xavier_initializer(), weights_regularizer=None, biases_initializer=zeros_initializer(),
                  biases_regularizer=None, reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """activation(convolution + biases) of images; see fully_connected for the rest."""
    return _convolution(Conv2D, "Conv", inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
                        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
                        variables_collections, outputs_collections, trainable, scope)


@add_arg_scope
def convolution1d(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=nn.relu, normalizer_fn=None,
                  normalizer_params=None, weights_initializer=xavier_initializer(), weights_regularizer=None, biases_initializer=zeros_initializer(),
                  biases_regularizer=None, reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """convolution2d over one axis."""
    return _convolution(Conv1D, "Conv", inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
                        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
                        variables_collections, outputs_collections, trainable, scope)


@add_arg_scope
def convolution2d_transpose(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format="NHWC", activation_fn=nn.relu, normalizer_fn=None,
                            normalizer_params=None, weights_initializer=xavier_initializer(), weights_regularizer=None,
                            biases_initializer=zeros_initializer(), biases_regularizer=None, reuse=None, variables_collections=None,
                            outputs_collections=None, trainable=True, scope=None):
    """The transpose of a convolution's product: images grow by the stride."""
    return _convolution(Conv2DTranspose, "Conv2d_transpose", inputs, num_outputs, kernel_size, stride, padding, data_format, 1, activation_fn,
                        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
                        variables_collections, outputs_collections, trainable, scope)


@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None, param_initializers=None, param_regularizers=None,
               updates_collections=G.GraphKeys.UPDATE_OPS, is_training=True, reuse=None, variables_collections=None, outputs_collections=None,
               trainable=True, batch_weights=None, fused=None, data_format="NHWC", zero_debias_moving_mean=False, scope=None):
    """Batch normalization (Ioffe and Szegedy, 2015). The averages' updates join updates_collections; where that is None the outputs wait for them."""
    if batch_weights is not None or zero_debias_moving_mean:
        raise NotImplementedError("batch_norm: batch_weights and zero_debias_moving_mean are not implemented")
    if updates_collections not in (None, G.GraphKeys.UPDATE_OPS):
        raise NotImplementedError("batch_norm: updates go to %r or to none, not to %r" % (G.GraphKeys.UPDATE_OPS, updates_collections))
    initial, penalties = param_initializers or {}, param_regularizers or {}
    with _opened(scope, "BatchNorm", inputs, reuse) as opened:
        layer = BatchNormalization(1 if data_format == "NCHW" else -1, decay, epsilon, center, scale, initial.get("beta", zeros_initializer()),
                                   initial.get("gamma", ones_initializer()), initial.get("moving_mean", zeros_initializer()),
                                   initial.get("moving_variance", ones_initializer()), penalties.get("beta"), penalties.get("gamma"), fused=fused,
                                   trainable=trainable, name=opened.name.rpartition("/")[2], _scope=opened, _reuse=reuse)
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        _collect(layer, variables_collections)
        if updates_collections is None and layer.updates:
            kept = G.get_collection_ref(G.GraphKeys.UPDATE_OPS)
            kept[:] = [u for u in kept if all(u is not mine for mine in layer.updates)]
            outputs = with_dependencies(layer.updates, outputs)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return _finished(outputs, opened, outputs_collections)


@add_arg_scope
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None, variables_collections=None, outputs_collections=None, trainable=True,
               begin_norm_axis=1, begin_params_axis=-1, scope=None):
    """Layer normalization (Ba et al., 2016): moments over the axes from begin_norm_axis, gamma and beta over those from begin_params_axis."""
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        first = begin_norm_axis % rank
        shape = inputs.shape.as_list()[begin_params_axis % rank:]
        collections = [G.GraphKeys.GLOBAL_VARIABLES, G.GraphKeys.MODEL_VARIABLES] + list(variables_collections or ())
        beta = get_variable("beta", shape, initializer=zeros_initializer(), collections=collections, trainable=trainable) if center else None
        gamma = get_variable("gamma", shape, initializer=ones_initializer(), collections=collections, trainable=trainable) if scale else None
        mean, variance = nn.moments(inputs, list(range(first, rank)), keep_dims=True)
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12 if inputs.dtype.base_dtype.name != "float16" else 1e-3)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return _finished(outputs, opened, outputs_collections)


def _pooling(kind, default, inputs, kernel_size, stride, padding, data_format, outputs_collections, scope):
    with variable_scope(scope, default, [inputs]) as opened:
        return _finished(kind(kernel_size, stride, padding, DATA_FORMATS[data_format], _scope=opened)(convert_to_tensor(inputs)), opened,
                         outputs_collections)


@add_arg_scope
def max_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None):
    return _pooling(MaxPooling2D, "MaxPool2D", inputs, kernel_size, stride, padding, data_format, outputs_collections, scope)


@add_arg_scope
def avg_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None):
    return _pooling(AveragePooling2D, "AvgPool2D", inputs, kernel_size, stride, padding, data_format, outputs_collections, scope)


@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None, seed=None):
    with variable_scope(scope, "Dropout", [inputs]) as opened:
        layer = Dropout(1 - keep_prob, noise_shape=noise_shape, seed=seed, name=opened.name.rpartition("/")[2], _scope=opened)
        return _finished(layer(convert_to_tensor(inputs), training=is_training), opened, outputs_collections)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """[batch, all the rest]"""
    with variable_scope(scope, "Flatten", [inputs]) as opened:
        return _finished(Flatten(_scope=opened)(convert_to_tensor(inputs)), opened, outputs_collections)


@add_arg_scope
def softmax(logits, scope=None):
    """Softmax over the last axis of any rank."""
    with variable_scope(scope, "softmax", [logits]):
        classes = logits.shape.as_list()[-1]
        flat = nn.softmax(reshape(logits, [-1, classes]))
        predictions = reshape(flat, [-1] + logits.shape.as_list()[1:])
        predictions.set_shape(logits.shape)
        return predictions


@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    with variable_scope(scope, "OneHotEncoding", [labels]) as opened:
        return _finished(one_hot(labels, num_classes, on_value, off_value), opened, outputs_collections)


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """layer(layer(...)), each in a scope `<layer>_<number>` of a scope of their own."""
    name = kwargs.pop("scope", None)
    base = getattr(layer, "__name__", "repeat")
    with variable_scope(name, "Repeat", [inputs]) as opened:
        for i in range(repetitions):
            inputs = layer(inputs, *args, scope="%s_%d" % (opened.name.rpartition("/")[2] if name else base, i + 1), **kwargs)
        return inputs


def stack(inputs, layer, stack_args, **kwargs):
    """layer over layer, each with an element of stack_args for its arguments."""
    name = kwargs.pop("scope", None)
    with variable_scope(name, "Stack", [inputs]):
        base = name.rpartition("/")[2] if isinstance(name, str) else getattr(layer, "__name__", "stack")
        for i, args in enumerate(stack_args):
            inputs = layer(inputs, *(args if isinstance(args, (list, tuple)) else [args]), scope="%s_%d" % (base, i + 1), **kwargs)
        return inputs


linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
conv1d, conv2d, conv2d_transpose, convolution = convolution1d, convolution2d, convolution2d_transpose, convolution2d
