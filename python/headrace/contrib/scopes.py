# SPDX-License-Identifier: Apache-2.0
"""arg_scope: defaults for the arguments of functions, within a `with` statement."""
import contextlib
import functools

_stack = [{}]
_decorated = {}  # key of a function -> the names of its arguments that have defaults


def _key(func):
    return getattr(func, "_key_op", (getattr(func, "__module__", ""), getattr(func, "__name__", str(func))))


def add_arg_scope(func):
    """Decorates a function that arg_scope may give defaults to."""
    key = _key(func)

    @functools.wraps(func)
    def with_defaults(*args, **kwargs):
        defaults = _stack[-1].get(key)
        return func(*args, **dict(defaults, **kwargs)) if defaults else func(*args, **kwargs)

    code = func.__code__
    _decorated[key] = code.co_varnames[max(0, code.co_argcount - len(func.__defaults__ or ())):code.co_argcount]
    with_defaults._key_op = key
    return with_defaults


def has_arg_scope(func):
    return _key(func) in _decorated


def arg_scoped_arguments(func):
    """The names of the arguments that arg_scope may set."""
    return _decorated[_key(func)]


def current_arg_scope():
    return _stack[-1]


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """Within it the functions take these arguments unless they are given; or what an earlier arg_scope yielded, once more."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        new = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        new = dict(_stack[-1])
        for func in list_ops_or_scope:
            if not has_arg_scope(func):
                raise ValueError("%s is not decorated with @add_arg_scope" % (_key(func),))
            new[_key(func)] = dict(new.get(_key(func), {}), **kwargs)
    _stack.append(new)
    try:
        yield new
    finally:
        _stack.pop()
