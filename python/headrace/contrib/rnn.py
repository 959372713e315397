# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.rnn: the cells of tf.nn.rnn_cell, and loops written out."""
from headrace import rnn as _rnn
from headrace import rnn_cell as _cells


def __getattr__(name):
    for home in (_cells, _rnn):
        found = None if name.startswith("_") else getattr(home, name, None)
        if found is not None and getattr(found, "__module__", "").startswith("headrace.rnn"):
            globals()[name] = found
            return found
    raise AttributeError("headrace has no tf.contrib.rnn.%s" % name)
