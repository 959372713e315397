# SPDX-License-Identifier: Apache-2.0
"""tf.nn: layers' arithmetic, activations, losses, normalisation, embeddings. Candidate sampling losses are in nn_sampled.py, batch
statistics in nn_norm.py; both are part of tf.nn."""
from . import graph as G
from .dtypes import float16, float32, int32, int64
from ._headrace import has_op
from .op_gen import exported, gen
from .tensor_util import convert_to_tensor


# --- convolution and pooling -----------------------------------------------------------------------------------------------------------------
def _window(value, name, data_format, n=2):
    """A window or stride as the op wants it, one number an axis: from a number, one number a spatial axis, or all of them."""
    value = [value] if isinstance(value, int) else list(value)
    if len(value) == n + 2:
        return value
    if len(value) not in (1, n):
        raise ValueError("%s should be of length 1, %d or %d but was %d" % (name, n, n + 2, len(value)))
    value = value * n if len(value) == 1 else value
    return [1, 1] + value if data_format and data_format.startswith("NC") else [1] + value + [1]


def _padding(padding):
    """(padding, explicit_paddings) from "SAME", "VALID" or four pairs."""
    if isinstance(padding, (list, tuple)):
        return "EXPLICIT", [int(n) for pair in padding for n in pair]
    return padding, []


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC", dilations=[1, 1, 1, 1], name=None, filters=None):
    filter = filters if filter is None else filter
    data_format = data_format or "NHWC"
    padding, explicit = _padding(padding)
    return gen.Conv2D(input, filter, strides=_window(strides, "strides", data_format), padding=padding, use_cudnn_on_gpu=use_cudnn_on_gpu,
                      explicit_paddings=explicit, data_format=data_format, dilations=_window(dilations, "dilations", data_format), name=name)


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NHWC", name=None, input=None, filters=None,
                     dilations=None):
    value, filter = input if value is None else value, filters if filter is None else filter
    with G.name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        return gen.Conv2DBackpropInput(output_shape, filter, value, strides=_window(strides or 1, "strides", data_format), padding=padding,
                                       data_format=data_format or "NHWC", dilations=_window(dilations or 1, "dilations", data_format), name=scope)


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True, data_format="NHWC", dilations=[1, 1, 1, 1],
                           name=None):
    padding, explicit = _padding(padding)
    return gen.Conv2DBackpropFilter(input, filter_sizes, out_backprop, strides=strides, padding=padding, use_cudnn_on_gpu=use_cudnn_on_gpu,
                                    explicit_paddings=explicit, data_format=data_format, dilations=dilations, name=name)


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC",
                          dilations=[1, 1, 1, 1], name=None, filters=None):
    padding, explicit = _padding(padding)
    return gen.Conv2DBackpropInput(input_sizes, filters if filter is None else filter, out_backprop, strides=strides, padding=padding,
                                   use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format, dilations=dilations, name=name)


def depthwise_conv2d(input, filter=None, strides=None, padding=None, rate=None, name=None, data_format=None, dilations=None, filters=None):
    filter = filters if filter is None else filter
    data_format, rate = data_format or "NHWC", rate if dilations is None else dilations
    with G.name_scope(name, "depthwise", [input, filter]):
        return gen.DepthwiseConv2dNative(input, filter, strides=strides, padding=padding, data_format=data_format,
                                         dilations=_window(rate or 1, "rate", data_format), name=name)


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):
    with G.name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        data_format = data_format or "NHWC"
        middle = gen.DepthwiseConv2dNative(input, depthwise_filter, strides=strides, padding=padding, data_format=data_format,
                                           dilations=_window((rate if dilations is None else dilations) or 1, "rate", data_format), name="depthwise")
        return gen.Conv2D(middle, pointwise_filter, strides=[1, 1, 1, 1], padding="VALID", data_format=data_format, name=scope)


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None, input=None, dilations=None):
    """As a two-dimensional convolution of height one."""
    value = input if value is None else value
    with G.name_scope(name, "conv1d", [value, filters]):
        first = data_format in ("NCW", "NCHW")
        axis = 2 if first else 1
        stride = stride if isinstance(stride, int) else list(stride)[0] if len(stride) == 1 else list(stride)[axis]
        dilation = 1 if dilations is None else dilations if isinstance(dilations, int) else list(dilations)[-1 if first else 0 if len(dilations) == 1 else 1]
        strides, dilations = ([1, 1, 1, stride], [1, 1, 1, dilation]) if first else ([1, 1, stride, 1], [1, 1, dilation, 1])
        h = gen.ExpandDims(value, axis)
        h = gen.Conv2D(h, gen.ExpandDims(filters, 0), strides=strides, padding=padding, data_format="NCHW" if first else "NHWC", dilations=dilations, name="Conv2D")
        return gen.Squeeze(h, [axis])


def conv3d(input, filter=None, strides=None, padding=None, data_format="NDHWC", dilations=[1, 1, 1, 1, 1], name=None, filters=None):
    return gen.Conv3D(input, filters if filter is None else filter, strides=_window(strides, "strides", data_format, 3), padding=padding,
                      data_format=data_format, dilations=_window(dilations, "dilations", data_format, 3), name=name)


def atrous_conv2d(value, filters, rate, padding, name=None):
    return conv2d(value, filters, [1, 1, 1, 1], padding, dilations=[1, rate, rate, 1], name=name)


def convolution(input, filter=None, padding="VALID", strides=None, dilation_rate=None, name=None, data_format=None, filters=None, dilations=None):
    """N-D convolution (N of 1 to 3), window sizes by the filter's shape."""
    filter = filters if filter is None else filter
    n, rate = len(convert_to_tensor(filter).shape) - 2, dilation_rate if dilations is None else dilations
    if n == 1:
        return conv1d(input, filter, (strides or [1])[0] if not isinstance(strides, int) else strides, padding, data_format=data_format, dilations=rate, name=name)
    if n == 2:
        return conv2d(input, filter, strides or 1, padding, data_format=data_format or "NHWC", dilations=rate or 1, name=name)
    return conv3d(input, filter, strides or 1, padding, data_format or "NDHWC", rate or 1, name)


def _pool(op, default, input, ksize, strides, padding, data_format, name):
    with G.name_scope(name, default, [input]) as scope:
        data_format = data_format or "NHWC"
        padding, explicit = _padding(padding)
        more = {"explicit_paddings": explicit} if explicit else {}
        return getattr(gen, op)(input, ksize=_window(ksize, "ksize", data_format), strides=_window(strides, "strides", data_format), padding=padding,
                                data_format=data_format, name=scope, **more)


def max_pool(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None, input=None):
    return _pool("MaxPool", "MaxPool", input if value is None else value, ksize, strides, padding, data_format, name)


def avg_pool(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None, input=None):
    return _pool("AvgPool", "AvgPool", input if value is None else value, ksize, strides, padding, data_format, name)


max_pool2d, avg_pool2d = max_pool, avg_pool


def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None, data_format=None, dilations=None):
    rate = dilation_rate if dilations is None else dilations
    if len(window_shape) != 2 or any(r != 1 for r in (rate or [1])):
        raise NotImplementedError("tf.nn.pool with %d window sizes and dilation %s: only two, undilated" % (len(window_shape), rate))
    return (max_pool if pooling_type == "MAX" else avg_pool)(input, window_shape, strides or [1, 1], padding, data_format or "NHWC", name)


def bias_add(value, bias, data_format=None, name=None):
    with G.name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format not in (None, "N...C", "NHWC", "NDHWC", "NWC") and not data_format.startswith("NC") and data_format != "NC...":
            raise ValueError("`data_format` must be of the form `N...C` or `NC...`. Received: data_format=%s" % data_format)
        channels_first = data_format is not None and data_format.startswith("NC")
        return gen.BiasAdd(value, convert_to_tensor(bias, dtype=convert_to_tensor(value).dtype.base_dtype, name="bias"),
                           data_format="NCHW" if channels_first else "NHWC", name=scope)


def xw_plus_b(x, weights, biases, name=None):
    with G.name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return gen.BiasAdd(gen.MatMul(x, weights), biases, name=scope)


def relu_layer(x, weights, biases, name=None):
    with G.name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return gen.Relu(gen.BiasAdd(gen.MatMul(x, weights), biases), name=scope)


# --- activations --------------------------------------------------------------------------------------------------------------------------------
def relu6(features, name=None):
    with G.name_scope(name, "Relu6", [features]) as scope:
        return gen.Relu6(features, name=scope)


def leaky_relu(features, alpha=0.2, name=None):
    with G.name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            from .math import cast
            features = cast(features, float32)
        return gen.LeakyRelu(features, alpha=alpha, name=scope)


def crelu(features, name=None, axis=-1):
    with G.name_scope(name, "CRelu", [features]) as scope:
        from .array import concat
        return gen.Relu(concat([features, gen.Neg(features)], axis, name=scope), name="Relu")


def swish(features, name=None):
    features = convert_to_tensor(features, name="features")
    return features * gen.Sigmoid(features)


silu = swish


def _along(op, logits, axis, name, default):
    """Softmax kinds along any axis: the op works on the last one."""
    logits = convert_to_tensor(logits)
    rank = len(logits.shape) if logits.shape.ndims is not None else None
    if axis in (-1, None) or (rank is not None and axis == rank - 1):
        return op(logits, name=name)
    if rank is None:
        raise ValueError("softmax along axis %d needs logits of known rank" % axis)
    if not -rank <= axis < rank:
        raise ValueError("`axis` (%d) must be in the range [%d, %d) where %d is the number of dimensions in the input." % (axis, -rank, rank, rank))
    order = list(range(rank))
    order[axis], order[-1] = rank - 1, axis % rank
    with G.name_scope(name, default, [logits]) as scope:
        return gen.Transpose(op(gen.Transpose(logits, order)), order, name=scope)


def softmax(logits, axis=None, name=None, dim=None):
    return _along(gen.Softmax, logits, dim if axis is None else axis, name, "softmax")


def log_softmax(logits, axis=None, name=None, dim=None):
    return _along(gen.LogSoftmax, logits, dim if axis is None else axis, name, "log_softmax")


def log_sigmoid(x, name=None):
    with G.name_scope(name, "LogSigmoid", [x]) as scope:
        return gen.Neg(gen.Softplus(gen.Neg(x)), name=scope)


# --- dropout ------------------------------------------------------------------------------------------------------------------------------------
def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Drops each unit with probability `rate` (1 - keep_prob) and scales what stays by 1 / (1 - rate)."""
    if keep_prob is not None and rate is not None:
        raise ValueError("Specify only one of `rate` or `keep_prob` (the other is None).")
    if keep_prob is None and rate is None:
        raise ValueError("You must provide a rate to dropout.")
    if rate is None:
        rate = 1 - keep_prob
    from . import array as A
    from .random import random_uniform
    with G.name_scope(name, "dropout", [x]):
        known = isinstance(rate, (int, float))
        if known and not 0 <= rate < 1:
            raise ValueError("`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate=%g" % rate)
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError("`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x.dtype=%s" % x.dtype)
        if known and rate == 0:
            return x
        if known:
            result = gen.Mul(x, convert_to_tensor(1.0 / (1 - rate), dtype=x.dtype), name="Mul")
        else:
            rate = convert_to_tensor(rate, dtype=x.dtype, name="rate")
            result = gen.RealDiv(x, gen.Sub(convert_to_tensor(1.0, dtype=x.dtype), rate))
        shape = _noise_shape(x, noise_shape, A)
        keep = gen.GreaterEqual(random_uniform(shape, seed=seed, dtype=x.dtype), rate)
        if has_op("SelectV2"):
            result = gen.SelectV2(keep, result, convert_to_tensor(0.0, dtype=x.dtype))
        else:
            result = gen.Mul(result, gen.Cast(keep, x.dtype))
        result.set_shape(x.shape)
        return result


def _noise_shape(x, noise_shape, A):
    if noise_shape is None:
        return A.shape(x)
    dims = x.shape.as_list() if x.shape.ndims is not None else None
    if isinstance(noise_shape, (list, tuple)) and dims is not None and len(noise_shape) == len(dims):
        return [mine if n is None else n for n, mine in zip(noise_shape, dims)]
    return noise_shape


# --- losses -------------------------------------------------------------------------------------------------------------------------------------
def _sentinel(sentinel, name):
    if sentinel is not None:
        raise ValueError("Only call `%s` with named arguments (labels=..., logits=..., ...)" % name)


def _flatten_outer(t):
    """The tensor as a matrix of rows along its last axis."""
    from . import array as A
    rank = A.rank(t)
    shape = A.shape(t)
    size = gen.Slice(shape, [gen.Sub(rank, 1)], [1])
    output = gen.Reshape(t, A.concat([[-1], size], 0))
    dims = t.shape.as_list() if t.shape.ndims is not None else None
    if dims:
        product = 1
        for n in dims[:-1]:
            product = None if product is None or n is None else product * n
        output.set_shape([product, dims[-1]])
    return output


def softmax_cross_entropy_with_logits_v2(labels=None, logits=None, axis=None, name=None, dim=None):
    """-sum(labels * log softmax(logits)) along the axis; gradients reach the labels too."""
    from . import array as A
    axis = -1 if axis is None and dim is None else dim if axis is None else axis
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    with G.name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        half = logits.dtype.name in ("float16", "bfloat16")
        precise = gen.Cast(logits, float32) if half else logits
        labels = gen.Cast(labels, precise.dtype.base_dtype) if labels.dtype.base_dtype != precise.dtype.base_dtype else labels
        input_rank = A.rank(precise)
        shape = logits.shape
        if axis != -1:
            rank = shape.ndims
            order = [k for k in range(rank) if k != axis % rank] + [axis % rank]
            precise, labels = gen.Transpose(precise, order), gen.Transpose(labels, order)
        input_shape = A.shape(precise)
        cost = gen.SoftmaxCrossEntropyWithLogits(_flatten_outer(precise), _flatten_outer(labels), name=scope)[0]
        outer = gen.Slice(input_shape, [0], [gen.Sub(input_rank, 1)])
        cost = gen.Reshape(cost, outer)
        if shape.ndims is not None:
            dims = shape.as_list()
            del dims[axis]
            cost.set_shape(dims)
        return gen.Cast(cost, logits.dtype.base_dtype) if half else cost


def softmax_cross_entropy_with_logits(_sentinel_=None, labels=None, logits=None, dim=-1, name=None, axis=None, _sentinel=None):
    """As _v2, with labels that gradients do not reach."""
    if _sentinel_ is not None or _sentinel is not None:
        raise ValueError("Only call `softmax_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    with G.name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = gen.StopGradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels, logits, dim if axis is None else axis, name=scope)


def sparse_softmax_cross_entropy_with_logits(_sentinel_=None, labels=None, logits=None, name=None, _sentinel=None):
    """The loss of a softmax whose right class is labels[i]; labels have one axis less than logits."""
    from . import array as A
    if _sentinel_ is not None or _sentinel is not None:
        raise ValueError("Only call `sparse_softmax_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    with G.name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        half = logits.dtype.name in ("float16", "bfloat16")
        precise = gen.Cast(logits, float32) if half else logits
        label_rank, rank = labels.shape.ndims, logits.shape.ndims
        shape = A.shape(labels)
        if rank == 0:
            raise ValueError("`logits` cannot be a scalar. Received logits=%s" % logits)
        if rank is not None and label_rank is not None and label_rank != rank - 1:
            raise ValueError("`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape=%s of rank %d and logits.shape=%s of rank %d"
                             % (labels.shape, label_rank, logits.shape, rank))
        if rank == 2:
            name = name.rstrip("/").split("/")[-1] if name else "SparseSoftmaxCrossEntropyWithLogits"
            cost = gen.SparseSoftmaxCrossEntropyWithLogits(precise, labels, name=name)[0]
        else:
            flat = gen.Reshape(precise, A.stack([-1, A.shape(logits)[-1]]) if logits.shape.ndims is None or logits.shape[-1].value is None
                               else [-1, logits.shape[-1].value])
            cost = gen.SparseSoftmaxCrossEntropyWithLogits(flat, gen.Reshape(labels, [-1]))[0]
            cost = gen.Reshape(cost, shape)
            cost.set_shape(labels.shape)
        return gen.Cast(cost, logits.dtype.base_dtype) if half else cost


def sigmoid_cross_entropy_with_logits(_sentinel_=None, labels=None, logits=None, name=None, _sentinel=None):
    """max(x, 0) - x z + log(1 + exp(-|x|)), written without |x| so that gradients at zero are right."""
    if _sentinel_ is not None or _sentinel is not None:
        raise ValueError("Only call `sigmoid_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    from .array import zeros_like
    with G.name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError("`logits` and `labels` must have the same shape, received (%s vs %s)." % (logits.shape, labels.shape))
        zeros = zeros_like(logits)
        positive = gen.GreaterEqual(logits, zeros)
        relu_logits = gen.Select(positive, logits, zeros)
        negative_size = gen.Select(positive, gen.Neg(logits), logits)
        return gen.AddV2(gen.Sub(relu_logits, gen.Mul(logits, labels, name="mul"), name="sub"), gen.Log1p(gen.Exp(negative_size)), name=scope)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    labels = targets if labels is None else labels
    with G.name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        weight = 1 + (pos_weight - 1) * labels
        from .math import abs as absolute
        return gen.AddV2((1 - labels) * logits, weight * (gen.Log1p(gen.Exp(gen.Neg(absolute(logits)))) + gen.Relu(gen.Neg(logits))), name=scope)


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    with G.name_scope(name, "log_poisson_loss", [log_input, targets]):
        if compute_full_loss:
            raise NotImplementedError("log_poisson_loss(compute_full_loss=True) is not implemented")
        return gen.Exp(log_input) - log_input * targets


# --- norms, counts ------------------------------------------------------------------------------------------------------------------------------
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    from .math import reduce_sum
    axis = dim if axis is None else axis
    with G.name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(gen.Square(x), axis, keepdims=True)
        return gen.Mul(x, gen.Rsqrt(gen.Maximum(total, epsilon)), name=scope)


def zero_fraction(value, name=None):
    """The share of elements that are zero, as float32."""
    from . import array as A
    from .math import reduce_sum
    with G.name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        size = A.size(value, out_type=int64)
        nonzero = reduce_sum(gen.Cast(gen.NotEqual(value, A.zeros([], value.dtype.base_dtype)), int64))
        return gen.Identity(gen.RealDiv(gen.Cast(size - nonzero, float32), gen.Cast(size, float32)), name="fraction")


def top_k(input, k=1, sorted=True, name=None):
    return gen.TopKV2(input, k, sorted=sorted, name=name)


def in_top_k(predictions, targets, k, name=None):
    with G.name_scope(name, "in_top_k"):
        return gen.InTopKV2(predictions, targets, k)


# --- embeddings ---------------------------------------------------------------------------------------------------------------------------------
def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """Rows `ids` of a table that may be spread over several: row i is in table i % n ("mod") or in runs ("div")."""
    from . import array as A
    if params is None or (isinstance(params, (list, tuple)) and not params):
        raise ValueError("params must be specified")
    params = list(params) if isinstance(params, (list, tuple)) else [params]
    if len(params) > 1:
        return _embedding_partitioned(params, ids, partition_strategy, name, max_norm)
    with G.name_scope(name, "embedding_lookup", params + [ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        with G.colocate_with(_op_of(params[0])):
            result = A.gather(params[0], ids, name=scope)
            if max_norm is not None:
                result = _clip_rows(result, ids, max_norm)
        return gen.Identity(result)


def _op_of(x):
    return x.op if hasattr(x, "op") else convert_to_tensor(x).op


def _clip_rows(rows, ids, max_norm):
    from .math import clip_by_norm
    rank = rows.shape.ndims
    return clip_by_norm(rows, max_norm, axes=list(range(ids.shape.ndims, rank)))


def _embedding_partitioned(params, ids, strategy, name, max_norm):
    from . import array as A
    n = len(params)
    with G.name_scope(name, "embedding_lookup", params + [ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        flat = gen.Reshape(ids, [-1])
        places = gen.Range(0, A.size(flat), 1)
        if strategy == "mod":
            which, row = gen.FloorMod(flat, n, name="mod"), gen.FloorDiv(flat, n, name="floordiv")
        elif strategy == "div":
            rows = [p.shape[0].value for p in params]
            if None in rows:
                raise NotImplementedError("embedding_lookup with partition_strategy='div' needs tables of known size")
            each, extra = divmod(sum(rows), n)
            which = gen.Maximum(flat // (each + 1), (flat - extra) // each)
            row = gen.Select(which < extra, flat % (each + 1), (flat - extra) % each)
        else:
            raise ValueError("Unrecognized partition strategy: " + strategy)
        which = gen.Cast(which, int32) if which.dtype != int32 else which
        rows = gen.DynamicPartition(row, which, num_partitions=n)
        spots = gen.DynamicPartition(places, which, num_partitions=n)
        found = [A.gather(p, r) for p, r in zip(params, rows)]
        result = gen.ParallelDynamicStitch(spots, found, name=scope)
        result = gen.Reshape(result, A.concat([A.shape(ids), list(params[0].shape.as_list()[1:])], 0))
        return result if max_norm is None else _clip_rows(result, ids, max_norm)


# --- the rest of tf.nn ---------------------------------------------------------------------------------------------------------------------------
_ELSEWHERE = {"nn_norm": ("moments", "weighted_moments", "sufficient_statistics", "normalize_moments", "batch_normalization", "fused_batch_norm",
                          "batch_norm_with_global_normalization", "local_response_normalization", "lrn"),
              "rnn": ("dynamic_rnn", "raw_rnn", "bidirectional_dynamic_rnn", "static_rnn", "static_bidirectional_rnn"),
              "nn_sampled": ("nce_loss", "sampled_softmax_loss", "log_uniform_candidate_sampler", "uniform_candidate_sampler",
                             "learned_unigram_candidate_sampler", "fixed_unigram_candidate_sampler", "all_candidate_sampler", "compute_accidental_hits")}
_OPS = {"relu": "Relu", "elu": "Elu", "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign", "sigmoid": "Sigmoid", "tanh": "Tanh",
        "l2_loss": "L2Loss", "depthwise_conv2d_native": "DepthwiseConv2dNative",
        "depthwise_conv2d_native_backprop_input": "DepthwiseConv2dNativeBackpropInput",
        "depthwise_conv2d_native_backprop_filter": "DepthwiseConv2dNativeBackpropFilter", "max_pool_with_argmax": "MaxPoolWithArgmax"}


def __getattr__(name):
    if name in _OPS:
        return getattr(gen, _OPS[name])
    if name == "rnn_cell":
        from . import rnn_cell
        return rnn_cell
    for module, names in _ELSEWHERE.items():
        if name in names:
            import importlib
            return getattr(importlib.import_module("." + module, __package__), name)
    op = exported(name)
    if op is None:
        raise AttributeError("module 'tensorflow.nn' has no attribute %r in headrace" % name)
    return op
