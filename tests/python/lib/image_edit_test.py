# SPDX-License-Identifier: Apache-2.0
"""tf.image: what flips, crops and colours refuse (their values: library_values.py)."""
import numpy as np
import pytest

import headrace as tf

IMAGE = np.zeros([4, 5, 3], np.float32)


@pytest.mark.parametrize("make, message", [
    (lambda im: im.rot90(tf.zeros([4])), "must have either 3 or 4 dimensions"),
    (lambda im: im.crop_to_bounding_box(IMAGE, -1, 0, 1, 1), "offset_height must be >= 0"),
    (lambda im: im.crop_to_bounding_box(IMAGE, 0, -1, 1, 1), "offset_width must be >= 0"),
    (lambda im: im.crop_to_bounding_box(IMAGE, 0, 0, 0, 1), "target_height must be > 0"),
    (lambda im: im.crop_to_bounding_box(IMAGE, 0, 0, 1, 0), "target_width must be > 0"),
    (lambda im: im.crop_to_bounding_box(IMAGE, 2, 0, 3, 1), "height must be >= target"),
    (lambda im: im.crop_to_bounding_box(IMAGE, 0, 2, 1, 4), "width must be >= target"),
    (lambda im: im.pad_to_bounding_box(IMAGE, -1, 0, 9, 9), "offset_height must be >= 0"),
    (lambda im: im.pad_to_bounding_box(IMAGE, 1, 0, 4, 9), "height must be <= target"),
    (lambda im: im.pad_to_bounding_box(IMAGE, 0, 1, 9, 5), "width must be <= target"),
    (lambda im: im.resize_image_with_crop_or_pad(IMAGE, 0, 5), "target_height must be > 0"),
    (lambda im: im.central_crop(IMAGE, 0.0), "must be within"), (lambda im: im.central_crop(IMAGE, 1.5), "must be within"),
    (lambda im: im.random_brightness(IMAGE, -0.1), "max_delta must be non-negative"),
    (lambda im: im.random_contrast(IMAGE, 2.0, 1.0), "upper must be > lower"), (lambda im: im.random_contrast(IMAGE, -1.0, 1.0), "lower must be non-neg"),
    (lambda im: im.adjust_gamma(IMAGE, -1), "Gamma should be"), (lambda im: im.grayscale_to_rgb(IMAGE), "should be size 1")])
def test_what_is_known_to_be_wrong(make, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        make(tf.image)


def test_what_a_step_finds_wrong():
    with tf.Graph().as_default(), tf.Session() as s:
        size, image = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None, None, 3])
        crop, pad = tf.image.crop_to_bounding_box(image, 0, 1, size, 2), tf.image.pad_to_bounding_box(image, 1, 0, size, 6)
        assert crop.shape.as_list() == [None, 2, 3] and s.run(crop, {image: IMAGE, size: 4}).shape == (4, 2, 3)
        assert s.run(pad, {image: IMAGE, size: 5}).shape == (5, 6, 3)
        for fetch, wrong, message in ((crop, 5, "height must be >= target"), (crop, 0, "target_height must be > 0"), (pad, 4, "height must be <= target")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                s.run(fetch, {image: IMAGE, size: wrong})


def test_flips_of_a_batch_are_each_ones_own():
    with tf.Graph().as_default(), tf.Session() as s:
        x = np.tile(np.arange(6, dtype=np.float32).reshape(1, 1, 6, 1), [200, 1, 1, 1])
        rows = s.run(tf.image.random_flip_left_right(x, seed=1))[:, 0, :, 0]
        flipped = (rows == np.arange(5, -1, -1)).all(1)
        assert ((rows == np.arange(6)).all(1) | flipped).all() and 60 < flipped.sum() < 140
