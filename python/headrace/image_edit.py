# SPDX-License-Identifier: Apache-2.0
"""tf.image: flips, turns, crops, paddings and colours, made of operations on arrays. Images are [height, width, channels] or a batch of them."""
from . import array as A
from . import graph as G
from .control import Assert, with_dependencies
from .dtypes import float32, int32
from .flow import case, cond
from .image import convert_image_dtype, flip_left_right, flip_up_down
from .math import add, cast, equal, mod, multiply, pow as power, reduce_mean, round as rounded, subtract, tensordot
from .random import random_uniform
from .op_gen import gen
from .tensor import Tensor
from .tensor_util import constant_value, convert_to_tensor


def _image(image):
    image = convert_to_tensor(image, name="image")
    if image.shape.ndims not in (3, 4):
        raise ValueError("'image' (shape %s) must have either 3 or 4 dimensions." % image.shape)
    return image


def _size(image, axis):
    """The size of an axis, as a number where it is known."""
    known = image.shape.as_list()[axis]
    return A.shape(image)[axis] if known is None else known


def _is_tensor(*values):
    return any(isinstance(v, Tensor) for v in values)


def _check(image, *conditions):
    """The image, once conditions hold: [(condition, message)...]. What is known now is a ValueError."""
    asserts = []
    for condition, message in conditions:
        if _is_tensor(condition):
            asserts.append(Assert(condition, [message]))
        elif not condition:
            raise ValueError(message)
    return with_dependencies(asserts, image) if asserts else image


# --- flips and turns ------------------------------------------------------------------------------------------------------------------
def _random_flip(image, flip, seed, name):
    with G.name_scope(None, name, [image]):
        image = _image(image)
        if image.shape.ndims == 3:
            flipped = cond(gen.Less(random_uniform([], 0, 1.0, seed=seed), 0.5), lambda: flip(image), lambda: image)
            flipped.set_shape(image.shape)
            return flipped
        batch = A.shape(image)[0]
        flips = cast(rounded(A.reshape(random_uniform([batch], 0, 1.0, seed=seed), [batch, 1, 1, 1])), image.dtype)
        return add(multiply(flips, flip(image)), multiply(1 - flips, image))


def random_flip_left_right(image, seed=None):
    """Flipped in half of the cases, each image of a batch by itself."""
    return _random_flip(image, flip_left_right, seed, "random_flip_left_right")


def random_flip_up_down(image, seed=None):
    """Flipped in half of the cases, each image of a batch by itself."""
    return _random_flip(image, flip_up_down, seed, "random_flip_up_down")


def transpose(image, name=None):
    """Rows become columns."""
    image = _image(image)
    return A.transpose(image, [1, 0, 2] if image.shape.ndims == 3 else [0, 2, 1, 3], name=name or "transpose")


transpose_image = transpose


def rot90(image, k=1, name=None):
    """Turned by k times 90 degrees, counter-clockwise."""
    with G.name_scope(name, "rot90", [image, k]):
        image, turns = _image(image), mod(convert_to_tensor(k, dtype=int32, name="k"), 4)
        once = lambda: flip_up_down(transpose(image))
        twice = lambda: flip_up_down(flip_left_right(image))
        thrice = lambda: flip_left_right(transpose(image))
        known = constant_value(k) if _is_tensor(k) else k
        if known is not None:
            return [lambda: A.identity(image), once, twice, thrice][int(known) % 4]()
        out = case([(equal(turns, 1), once), (equal(turns, 2), twice), (equal(turns, 3), thrice)], default=lambda: A.identity(image), exclusive=True)
        out.set_shape([None, None, image.shape.as_list()[-1]] if image.shape.ndims == 3 else [image.shape.as_list()[0], None, None, image.shape.as_list()[-1]])
        return out


# --- crops and paddings ---------------------------------------------------------------------------------------------------------------
def _as_batch(image):
    image = _image(image)
    return (A.expand_dims(image, 0), True) if image.shape.ndims == 3 else (image, False)


def _known(*sizes):
    return [None if _is_tensor(s) else s for s in sizes]


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The target_height rows from offset_height on, of them the target_width columns from offset_width on."""
    with G.name_scope(None, "crop_to_bounding_box", [image]):
        batch, is_one = _as_batch(image)
        height, width = _size(batch, 1), _size(batch, 2)
        batch = _check(batch, (offset_width >= 0, "offset_width must be >= 0."), (offset_height >= 0, "offset_height must be >= 0."),
                       (target_width > 0, "target_width must be > 0."), (target_height > 0, "target_height must be > 0."),
                       (width >= target_width + offset_width, "width must be >= target + offset."),
                       (height >= target_height + offset_height, "height must be >= target + offset."))
        out = A.slice(batch, A.stack([0, offset_height, offset_width, 0]), A.stack([-1, target_height, target_width, -1]))
        dims = batch.shape.as_list()
        out.set_shape([dims[0]] + _known(target_height, target_width) + [dims[3]])
        return A.squeeze(out, [0]) if is_one else out


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The image at these offsets in a black one of the target's size."""
    with G.name_scope(None, "pad_to_bounding_box", [image]):
        batch, is_one = _as_batch(image)
        below, right = target_height - offset_height - _size(batch, 1), target_width - offset_width - _size(batch, 2)
        batch = _check(batch, (offset_height >= 0, "offset_height must be >= 0"), (offset_width >= 0, "offset_width must be >= 0"),
                       (right >= 0, "width must be <= target - offset"), (below >= 0, "height must be <= target - offset"))
        out = A.pad(batch, A.reshape(A.stack([0, 0, offset_height, below, offset_width, right, 0, 0]), [4, 2]))
        dims = batch.shape.as_list()
        out.set_shape([dims[0]] + _known(target_height, target_width) + [dims[3]])
        return A.squeeze(out, [0]) if is_one else out


def resize_image_with_crop_or_pad(image, target_height, target_width):
    """Cropped around the middle, or padded around it, to the target's size, either axis by itself."""
    with G.name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = _image(image)
        image = _check(image, (target_width > 0, "target_width must be > 0."), (target_height > 0, "target_height must be > 0."))
        largest, smallest = (gen.Maximum, gen.Minimum) if _is_tensor(target_height, target_width) or None in image.shape.as_list()[-3:-1] else (max, min)
        height, width = _size(image, -3), _size(image, -2)
        missing_height, missing_width = target_height - height, target_width - width
        cropped = crop_to_bounding_box(image, largest(-missing_height // 2, 0), largest(-missing_width // 2, 0), smallest(target_height, height),
                                       smallest(target_width, width))
        return pad_to_bounding_box(cropped, largest(missing_height // 2, 0), largest(missing_width // 2, 0), target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def central_crop(image, central_fraction):
    """The middle part of each axis: central_fraction of it, in (0, 1]."""
    with G.name_scope(None, "central_crop", [image]):
        image = _image(image)
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image

        def start(size):
            if not _is_tensor(size):
                return int((size - size * central_fraction) / 2)
            whole = cast(size, "float64")
            return cast((whole - whole * central_fraction) / 2, int32)
        height, width = _size(image, -3), _size(image, -2)
        top, left = start(height), start(width)
        return crop_to_bounding_box(image, top, left, height - 2 * top, width - 2 * left)


# --- colours --------------------------------------------------------------------------------------------------------------------------
def _in_floats(image, change, name):
    """The image after `change` of it as floats in 0..1, in its own type again."""
    with G.name_scope(None, name, [image]) as scope:
        image = convert_to_tensor(image, name="image")
        own = image.dtype
        changed = change(image if own.is_floating else convert_image_dtype(image, float32))
        return A.identity(changed, name=scope) if own.is_floating else convert_image_dtype(changed, own, saturate=True, name=scope)


def adjust_brightness(image, delta):
    """Lighter by delta, of the range 0..1; integers are cut to their range."""
    return _in_floats(image, lambda x: add(x, cast(delta, x.dtype)), "adjust_brightness")


def random_brightness(image, max_delta, seed=None):
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def adjust_contrast(images, contrast_factor):
    """(x - mean) * contrast_factor + mean, each channel of each image by itself."""
    def change(x):
        mean = reduce_mean(x, [-3, -2], keepdims=True)
        return add(multiply(subtract(x, mean), cast(contrast_factor, x.dtype)), mean)
    return _in_floats(images, change, "adjust_contrast")


def random_contrast(image, lower, upper, seed=None):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def adjust_gamma(image, gamma=1, gain=1):
    """gain * x^gamma, of the range 0..1."""
    def change(x):
        x = _check(x, (gamma >= 0, "Gamma should be a non-negative real number."))
        return multiply(power(x, cast(gamma, x.dtype)), cast(gain, x.dtype))
    return _in_floats(image, change, "adjust_gamma")


def rgb_to_grayscale(images, name=None):
    """0.2989 red + 0.5870 green + 0.1140 blue."""
    with G.name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        grey = tensordot(convert_image_dtype(images, float32), [0.2989, 0.5870, 0.1140], [[-1], [-1]])
        return convert_image_dtype(A.expand_dims(grey, -1), images.dtype, name=scope)


def grayscale_to_rgb(images, name=None):
    """The one channel three times."""
    with G.name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None or images.shape.as_list()[-1] not in (1, None):
            raise ValueError("Last dimension of a grayscale image should be size 1, not of shape %s." % images.shape)
        return A.tile(images, [1] * (images.shape.ndims - 1) + [3], name=scope)
