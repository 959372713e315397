# SPDX-License-Identifier: Apache-2.0
"""tf.image: as far as the ops are there: decoding and encoding, and what is arithmetic on arrays."""
from . import graph as G
from .op_gen import exported, gen
from .tensor_util import convert_to_tensor


def decode_png(contents, channels=0, dtype="uint8", name=None):
    return gen.DecodePng(contents, channels=channels, dtype=dtype, name=name)


def encode_png(image, compression=-1, name=None):
    return gen.EncodePng(image, compression=compression, name=name)


def _is_batch(image):
    rank = image.shape.ndims
    if rank not in (3, 4):
        raise ValueError("'image' (shape %s) must have either 3 or 4 dimensions." % image.shape)
    return rank == 4


def flip_left_right(image):
    image = convert_to_tensor(image, name="image")
    return gen.ReverseV2(image, [2 if _is_batch(image) else 1])


def flip_up_down(image):
    image = convert_to_tensor(image, name="image")
    return gen.ReverseV2(image, [1 if _is_batch(image) else 0])


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Between integers of the whole range and floats in 0..1."""
    from .dtypes import as_dtype
    from .math import cast, saturate_cast
    image, dtype = convert_to_tensor(image, name="image"), as_dtype(dtype)
    if image.dtype == dtype:
        return gen.Identity(image, name=name)
    with G.name_scope(name, "convert_image", [image]) as scope:
        if image.dtype.is_floating and dtype.is_floating:
            return gen.Cast(image, dtype, name=scope)
        if image.dtype.is_integer and dtype.is_floating:
            return gen.Mul(cast(image, dtype), 1.0 / image.dtype.max, name=scope)
        if image.dtype.is_floating:
            scaled = gen.Mul(image, dtype.max + 0.5)
            return saturate_cast(scaled, dtype, name=scope) if saturate else cast(scaled, dtype, name=scope)
        raise NotImplementedError("convert_image_dtype from %s to %s" % (image.dtype.name, dtype.name))


def per_image_standardization(image):
    """(x - mean) / max(standard deviation, 1 / sqrt(number of elements)), an image at a time."""
    from . import array as A
    from .math import reduce_mean, reduce_prod
    with G.name_scope(None, "per_image_standardization", [image]) as scope:
        image = gen.Cast(image, "float32")
        axes = [-1, -2, -3]
        count = gen.Cast(reduce_prod(A.shape(image)[-3:]), "float32")
        mean = reduce_mean(image, axes, keepdims=True)
        deviation = gen.Sqrt(reduce_mean(gen.SquaredDifference(image, mean), axes, keepdims=True))
        return gen.RealDiv(image - mean, gen.Maximum(deviation, gen.Rsqrt(count)), name=scope)


def __getattr__(name):
    from importlib import import_module
    for module in () if name.startswith("_") else ("headrace.image_edit", "headrace.image_resize"):
        own = getattr(import_module(module), name, None)
        if getattr(own, "__module__", "") == module:
            return own
    op = None if name.startswith("__") else exported(name)
    if op is None:
        raise AttributeError("module 'tensorflow.image' has no attribute %r in headrace" % name)
    return op
