# SPDX-License-Identifier: Apache-2.0
"""Ops from shared libraries of one's own, and where to compile them against."""
import os
import sys
import types

from headrace import _headrace

_loaded = {}


class _Library(types.ModuleType):
    """A loaded library: its ops, as functions in TensorFlow's lower-case spelling and under their own names."""

    def __init__(self, name, ops):
        super(_Library, self).__init__(name)
        self.OP_LIST = ops
        self._names = {}
        for op in ops.op:
            self._names[snake(op.name)] = self._names[op.name] = op.name

    def __getattr__(self, name):
        names = self.__dict__.get("_names", {})
        if name not in names:
            raise AttributeError("library %s has no op %r" % (self.__name__, name))
        from headrace.op_gen import gen
        return getattr(gen, names[name])

    def __dir__(self):
        return sorted(self._names)


def snake(name):
    """ZeroOut -> zero_out, as TensorFlow spells its functions."""
    out = ""
    for i, c in enumerate(name):
        after_lower = i and (name[i - 1].islower() or name[i - 1].isdigit())
        before_lower = i and i + 1 < len(name) and name[i + 1].islower() and name[i - 1] != "_"
        out += ("_" if c.isupper() and (after_lower or before_lower) else "") + c.lower()
    return out


def load_op_library(library_filename):
    path = os.fspath(library_filename)
    if path not in _loaded:
        data = _headrace.load_library(path)
        from headrace.protos import message
        _loaded[path] = _Library("headrace_ops_%d" % len(_loaded), message("OpList").FromString(data))
        sys.modules[_loaded[path].__name__] = _loaded[path]
    return _loaded[path]


def load_library(library_location):
    """Loads one library, or all in a folder."""
    path = os.fspath(library_location)
    if not os.path.exists(path):
        from headrace.errors import NotFoundError
        raise NotFoundError(None, None, "The file or folder to load kernel libraries from does not exist: %s" % path)
    for name in ([path] if os.path.isfile(path) else [os.path.join(path, n) for n in sorted(os.listdir(path)) if n.endswith(".so")]):
        load_op_library(name)


def get_include():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def get_lib():
    return os.path.dirname(os.path.abspath(__file__))
