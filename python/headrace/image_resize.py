# SPDX-License-Identifier: Apache-2.0
"""tf.image: images of another size, as TensorFlow 1 gives them."""
from . import array as A
from . import graph as G
from .op_gen import gen
from .tensor_util import constant_value, convert_to_tensor


class ResizeMethod(object):
    """As TensorFlow 1 numbers them; the kernels for the last two are missing."""
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


def resize_bilinear(images, size, align_corners=False, name=None, half_pixel_centers=False):
    return gen.ResizeBilinear(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


def resize_nearest_neighbor(images, size, align_corners=False, name=None, half_pixel_centers=False):
    return gen.ResizeNearestNeighbor(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


_RESIZERS = {ResizeMethod.BILINEAR: resize_bilinear, "bilinear": resize_bilinear,
             ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor, "nearest": resize_nearest_neighbor}


def _within(size, shape):
    """The largest size in `size` that has the image's proportions."""
    height, width = gen.Cast(shape[0], "float32"), gen.Cast(shape[1], "float32")
    wanted = gen.Cast(size, "float32")
    scale = gen.Minimum(gen.RealDiv(wanted[0], height), gen.RealDiv(wanted[1], width))
    return gen.Pack([gen.Cast(gen.Round(gen.Mul(scale, height)), "int32"), gen.Cast(gen.Round(gen.Mul(scale, width)), "int32")])


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False, preserve_aspect_ratio=False, name=None):
    """Images, or one, of the size [height, width]. Images that have it already are given back as they are, whatever their type."""
    with G.name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        rank = images.shape.ndims
        if rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions." if rank else "'images' contains no shape.")
        if method not in _RESIZERS:
            raise NotImplementedError("resize method %r" % (method,)) if method in (2, 3) else ValueError("Resize method is not implemented.")
        if rank == 3:
            images = A.expand_dims(images, 0)
        size = convert_to_tensor(size, dtype="int32", name="size")
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            size = _within(size, A.shape(images)[1:3])
        known = constant_value(size)
        if known is None or images.shape.as_list()[1:3] != [int(v) for v in known]:
            images = _RESIZERS[method](images, size, align_corners=align_corners)
        return A.squeeze(images, [0]) if rank == 3 else images


resize = resize_images
