# SPDX-License-Identifier: Apache-2.0
"""tensorflow.examples.tutorials.mnist.input_data: IDX files as batches."""
import gzip
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

from headrace.examples.tutorials.mnist import input_data

TRAIN, TEST = 12, 5


def write_idx(path, array, opener=open):
    with opener(path, "wb") as f:
        f.write(bytes((0, 0, 8, array.ndim)) + struct.pack(">%dI" % array.ndim, *array.shape) + array.astype(np.uint8).tobytes())


@pytest.fixture
def folder(tmp_path):
    for part, count, opener, end in (("train", TRAIN, open, ""), ("t10k", TEST, gzip.open, ".gz")):
        images = np.arange(count * 6).reshape(count, 2, 3) + 100 # the first pixel tells which image it is
        write_idx(str(tmp_path / (part + "-images-idx3-ubyte" + end)), images, opener)
        write_idx(str(tmp_path / (part + "-labels-idx1-ubyte" + end)), np.arange(count) % 10, opener)
    return str(tmp_path)


def numbers(images):
    return [int(round((row[0] * 255 - 100) / 6)) for row in images]


def test_parts(folder):
    data = input_data.read_data_sets(folder, validation_size=4)
    assert [d.num_examples for d in data] == [8, 4, 5]
    assert data.train.images.dtype == np.float32 and data.train.images.shape == (8, 6) and data.train.labels.dtype == np.uint8
    assert numbers(data.train.images) == list(range(4, 12)) and numbers(data.validation.images) == [0, 1, 2, 3]
    assert data.test.labels.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(data.test.images[0], np.arange(100, 106) / 255., rtol=1e-6)


def test_forms(folder):
    data = input_data.read_data_sets(folder, one_hot=True, dtype=np.uint8, reshape=False, validation_size=0)
    assert data.train.images.shape == (TRAIN, 2, 3, 1) and data.train.images.dtype == np.uint8 and data.validation.num_examples == 0
    assert data.train.labels.dtype == np.float64 and data.train.labels[11].tolist() == [0, 1] + [0] * 8


def test_batches_go_through_every_epoch(folder):
    train = input_data.read_data_sets(folder, validation_size=0, seed=3).train
    seen = []
    for i in range(12): # five of twelve: over an end twice in twelve calls and a half
        images, labels = train.next_batch(5)
        assert labels.tolist() == [n % 10 for n in numbers(images)]
        seen += numbers(images)
        assert train.epochs_completed == (len(seen) - 1) // TRAIN
    epochs = [seen[i:i + TRAIN] for i in range(0, 60, TRAIN)]
    assert all(sorted(e) == list(range(TRAIN)) for e in epochs) and len({tuple(e) for e in epochs}) == 5
    order = np.arange(TRAIN)
    random = np.random.RandomState(3)
    random.shuffle(order) # the order that a seed stands for is NumPy's
    assert epochs[0] == order.tolist()


def test_without_shuffling(folder):
    train = input_data.read_data_sets(folder, validation_size=0).train
    assert [n for _ in range(3) for n in numbers(train.next_batch(8, shuffle=False)[0])] == [n % TRAIN for n in range(24)]
    with pytest.raises(ValueError, match="a batch of 13 from 12 examples"):
        train.next_batch(13)


def test_fake_data():
    train = input_data.read_data_sets("nowhere", fake_data=True, one_hot=True).train
    images, labels = train.next_batch(2)
    assert images == [[1.0] * 784] * 2 and labels == [[1] + [0] * 9] * 2 and train.num_examples == 10000


def test_what_is_wrong_is_named(folder):
    with pytest.raises(ValueError, match="Validation size should be between 0 and 12. Received: 13."):
        input_data.read_data_sets(folder, validation_size=13)
    with pytest.raises(TypeError, match="Invalid image dtype"):
        input_data.read_data_sets(folder, dtype=np.int32, validation_size=0)
    labels = os.path.join(folder, "train-labels-idx1-ubyte")
    for bytes_, message in ((b"\0\0\x08\x03", "no IDX file of bytes with 1 dimensions"), (b"\0\0\x08\x01\0\0\0\x05abcd", "12 bytes, for .5. elements .* 13")):
        with open(labels, "wb") as f:
            f.write(bytes_)
        with pytest.raises(ValueError, match=message):
            input_data.read_data_sets(folder)
    write_idx(labels, np.arange(3))
    with pytest.raises(ValueError, match="images, but .* labels"):
        input_data.read_data_sets(folder, validation_size=0)
    os.remove(labels)
    with pytest.raises(FileNotFoundError, match="no train-labels-idx1-ubyte.* dataset-fashion-mnist"):
        input_data.read_data_sets(folder)


def test_scripts_import_it_from_tensorflow(folder, tmp_path):
    path = str(tmp_path / "script.py")
    with open(path, "w") as f:
        f.write("from tensorflow.examples.tutorials.mnist import input_data\n"
                "import tensorflow.examples.tutorials.mnist.input_data as same\n"
                "mnist = input_data.read_data_sets(%r, one_hot=True, validation_size=2)\n"
                "print(mnist.train.next_batch(4)[1].shape, same.read_data_sets is input_data.read_data_sets)\n" % folder)
    done = subprocess.run([sys.executable, "-m", "headrace", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(4, 10) True\n"
