# SPDX-License-Identifier: Apache-2.0
"""Failures of the runtime as exceptions: one class a code."""


class OpError(Exception):
    """A failure of a step. `op` and `node_def` are of the operation that its message names, when it names one."""

    def __init__(self, node_def, op, message, error_code, *unused):
        super(OpError, self).__init__(message)
        self._node_def, self._op, self._message, self._error_code = node_def, op, message, error_code

    message = property(lambda self: self._message)
    op = property(lambda self: self._op)
    error_code = property(lambda self: self._error_code)
    experimental_payloads = property(lambda self: {})

    @property
    def node_def(self):
        if self._node_def is None and self._op is not None:
            self._node_def = self._op.node_def
        return self._node_def

    def __str__(self):
        return self._message

    def __reduce__(self):
        return type(self), (None, None, self._message) + ((self._error_code,) if type(self) is OpError else ())


_NAMES = {
    1: "Cancelled",
    2: "Unknown",
    3: "InvalidArgument",
    4: "DeadlineExceeded",
    5: "NotFound",
    6: "AlreadyExists",
    7: "PermissionDenied",
    8: "ResourceExhausted",
    9: "FailedPrecondition",
    10: "Aborted",
    11: "OutOfRange",
    12: "Unimplemented",
    13: "Internal",
    14: "Unavailable",
    15: "DataLoss",
    16: "Unauthenticated"}
_CLASSES = {}
OK = 0


def _make(code, name):
    def __init__(self, node_def, op, message, error_code=code):
        OpError.__init__(self, node_def, op, message, error_code)
    title = name + "Error"
    cls = type(title, (OpError,), {"__init__": __init__, "__module__": __name__, "__doc__": "The runtime's code %d." % code})
    _CLASSES[code] = globals()[title] = cls
    upper = "".join("_" + c if c.isupper() and i else c for i, c in enumerate(name)).upper()
    globals()[upper] = code


for _code, _name in _NAMES.items():
    _make(_code, _name)


def _named_node(message, graph):
    """The operation in "node 'x' (Add)": the first one of that graph that the message names."""
    at = message.find("node '")
    end = message.find("'", at + 6) if at >= 0 else -1
    return graph._find(message[at + 6:end]) if graph is not None and end > 0 else None


def make(code, message, graph):
    """What the extension raises."""
    op = _named_node(message, graph)
    cls = _CLASSES.get(code)
    return cls(None, op, message) if cls else OpError(None, op, message, code)


def exception_type_from_error_code(error_code):
    return _CLASSES[error_code]


def error_code_from_exception_type(cls):
    return next(code for code, known in _CLASSES.items() if known is cls)


class raise_exception_on_not_ok_status(object):
    """Kept for scripts that import it: failures are raised where they happen."""

    def __enter__(self):
        return None

    def __exit__(self, *unused):
        return False
