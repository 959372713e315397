# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.slim: layers, arg_scope and variables under one name."""
from headrace import losses  # noqa: F401

from . import framework, layers, scopes


def __getattr__(name):
    for home in () if name.startswith("_") else (layers, framework, scopes):
        found = getattr(home, name, None)
        if getattr(getattr(found, "func", found), "__module__", "").startswith("headrace.contrib."):
            return found
    raise AttributeError("headrace has no tf.contrib.slim.%s" % name)
