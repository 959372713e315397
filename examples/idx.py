# SPDX-License-Identifier: Apache-2.0
"""Reads data sets in MNIST's format (IDX files, plain or gzipped) for the examples beside it."""
import argparse
import gzip
import os

import numpy as np


def read(folder, name):
    path = os.path.join(folder, name)
    opener = open if os.path.exists(path) else gzip.open
    try:
        with opener(path if opener is open else path + ".gz", "rb") as f:
            data = f.read()
    except OSError as e:
        raise SystemExit("cannot read %s[.gz]: %s\n--data DIR names a folder with the four IDX files; Debian: apt install dataset-fashion-mnist"
                         % (path, e.strerror or e))
    rank = data[3]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(np.frombuffer(data, ">u4", rank, 4).astype(int))


def load(folder, part, limit=None):
    """(images as float32 rows in 0..1, labels as one-hot rows) of part "train" or "t10k"."""
    images, labels = read(folder, part + "-images-idx3-ubyte")[:limit], read(folder, part + "-labels-idx1-ubyte")[:limit]
    return images.reshape(len(images), -1).astype(np.float32) / 255, np.eye(10, dtype=np.float32)[labels]


def batches(images, labels, size, epoch):
    order = np.random.RandomState(epoch).permutation(len(images))
    for at in range(0, len(images) - size + 1, size):
        chosen = order[at:at + size]
        yield images[chosen], labels[chosen]


def arguments(doc, epochs):
    p = argparse.ArgumentParser(description=doc)
    p.add_argument("--data", metavar="DIR", default="/usr/share/datasets/fashion-mnist", help="folder with IDX files (%(default)s)")
    p.add_argument("--epochs", type=int, default=epochs, metavar="N", help="times through the training images (%(default)s)")
    p.add_argument("--limit", type=int, metavar="N", help="take only the first N images")
    p.add_argument("--batch", type=int, default=100, metavar="N", help="images a step (%(default)s)")
    return p
