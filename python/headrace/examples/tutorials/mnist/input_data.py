# SPDX-License-Identifier: Apache-2.0
"""tensorflow.examples.tutorials.mnist.input_data: MNIST's files, and others in their format, as batches for a feed.

`mnist = input_data.read_data_sets(folder, one_hot=True)`, then `images, labels = mnist.train.next_batch(100)`. The folder holds
{train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or as .gz. Nothing is fetched from a network: where files are missing an error says so."""
import collections
import gzip
import os

import numpy as np

from headrace import dtypes
from headrace.graph import get_seed

Datasets = collections.namedtuple("Datasets", "train validation test")
DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"  # for messages; nothing here goes there


def _open(folder, name):
    for path, opener in ((os.path.join(folder, name), open), (os.path.join(folder, name + ".gz"), gzip.open)):
        if os.path.exists(path):
            return opener(path, "rb")
    raise FileNotFoundError("no %s[.gz] in %s; the four files are at %s, and Debian's package dataset-fashion-mnist has clothes in the same format"
                            % (name, folder, DEFAULT_SOURCE_URL))


def _read_idx(f, rank):
    """The array in an IDX file of bytes: 0, 0, 8 (the type), the rank, the sizes as big-endian 32-bit numbers, the elements."""
    data = f.read()
    name = getattr(f, "name", "the file")
    if data[:4] != bytes((0, 0, 8, rank)):
        raise ValueError("%s is no IDX file of bytes with %d dimensions: it begins with %s" % (name, rank, data[:4].hex()))
    shape = np.frombuffer(data[4:4 + 4 * rank].ljust(4 * rank, b"\0"), ">u4").astype(int)
    if len(data) != 4 + 4 * rank + shape.prod():
        raise ValueError("%s has %d bytes, for %s elements there should be %d" % (name, len(data), shape.tolist(), 4 + 4 * rank + shape.prod()))
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def extract_images(f):
    """The images of an open IDX file: uint8 [count, rows, columns, 1]."""
    return _read_idx(f, 3)[..., None]


def dense_to_one_hot(labels_dense, num_classes):
    """float64 [count, num_classes], 1 at each label."""
    return np.eye(num_classes)[labels_dense]


def extract_labels(f, one_hot=False, num_classes=10):
    """The labels of an open IDX file: uint8 [count], or one_hot."""
    labels = _read_idx(f, 1)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet(object):
    """Images and labels, given out in batches. With dtype float32 bytes become 0..1; with reshape an image is one row."""

    def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, seed=None):
        graph_seed, op_seed = get_seed(seed)
        self._random = np.random.RandomState(graph_seed if seed is None else op_seed)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError("Invalid image dtype %r, expected uint8 or float32" % dtype)
        self._fake = (1.0 if dtype == dtypes.float32 else 1, one_hot) if fake_data else None
        if fake_data:
            self._images, self._labels, self._num_examples = images, labels, 10000
        else:
            if len(images) != len(labels):
                raise ValueError("%d images, but %d labels" % (len(images), len(labels)))
            if reshape:
                images = images.reshape(len(images), int(np.prod(images.shape[1:])))
            self._images = images.astype(np.float32) * np.float32(1 / 255.) if dtype == dtypes.float32 else images
            self._labels, self._num_examples = labels, len(images)
        self._epochs_completed = self._at = 0

    images = property(lambda self: self._images)
    labels = property(lambda self: self._labels)
    num_examples = property(lambda self: self._num_examples)
    epochs_completed = property(lambda self: self._epochs_completed)

    def _shuffle(self):
        order = self._random.permutation(self._num_examples)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """The next batch_size images and labels; a batch over the end of an epoch goes on with the next one, in another order."""
        if fake_data or self._fake:
            value, one_hot = self._fake or (1.0, False)
            return [[value] * 784] * batch_size, [[1] + [0] * 9 if one_hot else 0] * batch_size
        if batch_size > self._num_examples:
            raise ValueError("a batch of %d from %d examples" % (batch_size, self._num_examples))
        if shuffle and self._at == self._epochs_completed == 0:
            self._shuffle()
        start, self._at = self._at, self._at + batch_size
        if self._at <= self._num_examples:
            return self._images[start:self._at], self._labels[start:self._at]
        rest = self._images[start:], self._labels[start:]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at -= self._num_examples
        return np.concatenate((rest[0], self._images[:self._at])), np.concatenate((rest[1], self._labels[:self._at]))


def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, validation_size=5000, seed=None,
                   source_url=DEFAULT_SOURCE_URL):
    """Datasets(train, validation, test) of the four files in train_dir; the first validation_size training examples are for validation."""
    options = dict(one_hot=one_hot, dtype=dtype, reshape=reshape, seed=seed)
    if fake_data:
        return Datasets(*(DataSet([], [], fake_data=True, **options) for _ in range(3)))
    parts = {}
    for part in ("train", "t10k"):
        with _open(train_dir, part + "-images-idx3-ubyte") as images, _open(train_dir, part + "-labels-idx1-ubyte") as labels:
            parts[part] = extract_images(images), extract_labels(labels, one_hot=one_hot)
    images, labels = parts["train"]
    if not 0 <= validation_size <= len(images):
        raise ValueError("Validation size should be between 0 and %d. Received: %d." % (len(images), validation_size))
    return Datasets(train=DataSet(images[validation_size:], labels[validation_size:], **options),
                    validation=DataSet(images[:validation_size], labels[:validation_size], **options), test=DataSet(*parts["t10k"], **options))


def load_mnist(train_dir="MNIST-data"):
    return read_data_sets(train_dir)
