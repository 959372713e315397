# SPDX-License-Identifier: Apache-2.0
"""tf.contrib, as far as TensorFlow 1.15's scripts use it most: layers, slim, framework, rnn, training. It is not in TensorFlow 2: what is here
follows the documented behaviour of 1.15 (names of variables and scopes, defaults, collections) and is built on tf.layers and tf.nn.rnn_cell."""


def __getattr__(name):
    if name in ("framework", "layers", "rnn", "slim", "training"):
        from importlib import import_module
        globals()[name] = found = import_module("headrace.contrib." + name)
        return found
    raise AttributeError("headrace has no tf.contrib.%s" % name)
