# SPDX-License-Identifier: Apache-2.0
"""Sessions: what is fetched and fed, in any nesting, brought down to tensors; the extension runs them."""
import threading

from headrace import _headrace
from headrace.graph import _Scope, get_default_graph

_thread = threading.local()
_Element = (_headrace.Tensor, _headrace.Operation)


def _stack():
    try:
        return _thread.sessions
    except AttributeError:
        _thread.sessions = []
        return _thread.sessions


def get_default_session():
    stack = _stack()
    return stack[-1] if stack else None


def run_in_session(element, feed_dict, graph, session):
    """Tensor.eval and Operation.run."""
    is_op = isinstance(element, _headrace.Operation)
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError("Cannot %s using `%s()`: No default session is registered. Use `with sess.as_default()` or pass an explicit session to "
                             "`%s(session=sess)`" % (("execute operation", "run", "run") if is_op else ("evaluate tensor", "eval", "eval")))
        if session.graph is not graph:
            raise ValueError("Cannot use the default session to %s: the %s graph is different from the session's graph. Pass an explicit session to it."
                             % (("execute operation", "operation's") if is_op else ("evaluate tensor", "tensor's")))
    elif session.graph is not graph:
        raise ValueError("Cannot use the given session: its graph is different from that of %s." % element.name)
    return session.run(element, feed_dict)


# --- fetches ------------------------------------------------------------
class _Fetches(object):
    """Flattens fetches into `elements` (each once) and puts values back in their place."""

    def __init__(self, graph, fetches):
        self.graph, self.elements, self._index = graph, [], {}
        self._build = self._plan(fetches)

    def _slot(self, element):
        if element not in self._index:
            if not self.graph.is_fetchable(element) or not self.graph.is_fetchable(getattr(element, "op", element)):
                raise ValueError("Operation %r has been marked as not fetchable." % element.name)
            self._index[element] = len(self.elements)
            self.elements.append(element)
        return self._index[element]

    def _plan(self, fetch):
        if fetch is None:
            raise TypeError("Argument `fetch` = %r has invalid type %r. Cannot be None" % (fetch, type(fetch).__name__))
        if isinstance(fetch, _Element):
            i = self._slot(self._element(fetch))
            return lambda values: values[i]
        if isinstance(fetch, (list, tuple)):
            parts = [self._plan(f) for f in fetch]
            kind = type(fetch)
            if kind is list:
                return lambda values: [p(values) for p in parts]
            if hasattr(fetch, "_fields"):
                return lambda values: kind(*[p(values) for p in parts])
            return lambda values: kind([p(values) for p in parts])
        if hasattr(fetch, "keys") and hasattr(fetch, "__getitem__"):
            kind, keyed = type(fetch), [(k, self._plan(fetch[k])) for k in fetch.keys()]
            if kind is dict:
                return lambda values: dict((k, p(values)) for k, p in keyed)
            return lambda values: kind((k, p(values)) for k, p in keyed)
        if hasattr(fetch, "values") and hasattr(fetch, "indices") and not hasattr(fetch, "_as_graph_element"):
            return self._plan_composite(fetch)
        if type(fetch).__module__ != "builtins" and hasattr(fetch, "__attrs_attrs__"):
            names = [a.name for a in type(fetch).__attrs_attrs__]
            parts, kind = [self._plan(getattr(fetch, n)) for n in names], type(fetch)
            return lambda values: kind(*[p(values) for p in parts])
        i = self._slot(self._element(fetch))
        return lambda values: values[i]

    def _element(self, fetch):
        try:
            return self.graph.as_graph_element(fetch, True, True)
        except TypeError as e:
            raise TypeError("Argument `fetch` = %r has invalid type %r must be a string or Tensor. (%s)" %
                            (fetch, type(fetch).__name__, e)) from None
        except ValueError as e:
            raise ValueError("Argument `fetch` = %r cannot be interpreted as a Tensor. (%s)" % (fetch, e)) from None
        except KeyError as e:
            raise ValueError("Argument `fetch` = %r cannot be interpreted as a Tensor. (%s)" % (fetch, e)) from None

    def _plan_composite(self, fetch):
        from headrace.gradients import IndexedSlicesValue, SparseTensorValue, IndexedSlices
        parts = [None if t is None else self._plan(t) for t in _components(fetch)]
        kind = IndexedSlicesValue if isinstance(fetch, IndexedSlices) else SparseTensorValue
        return lambda values: kind(*[None if p is None else p(values) for p in parts])

    def rebuild(self, values):
        return self._build(values)


def _is_composite(x):
    return not isinstance(x, (_headrace.Tensor, str)) and hasattr(x, "values") and hasattr(x, "indices") and not hasattr(x, "_as_graph_element")


def _components(x):
    """The tensors of slices or of a sparse tensor, in the order of their values' fields."""
    return (x.values, x.indices, x.dense_shape) if type(x).__name__ == "IndexedSlices" else (x.indices, x.values, x.dense_shape)


def _feed_pairs(graph, feed_dict):
    """[(tensor, value)] of a dict whose keys may be names, variables, sparse tensors, lists of tensors."""
    pairs = []
    for key, value in feed_dict.items():
        if _is_composite(key):
            pairs.extend((t, v) for t, v in zip(_components(key), value) if t is not None)
            continue
        if isinstance(key, tuple):
            pairs.extend(_feed_pairs(graph, dict(zip(key, value))))
            continue
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except Exception as e:
            raise TypeError("Cannot interpret feed_dict key as Tensor: %s" % (e.args[0] if e.args else e)) from None
        if not graph.is_feedable(tensor):
            raise ValueError("Tensor %s may not be fed." % tensor)
        pairs.append((tensor, value))
    return pairs


# --- sessions -----------------------------------------------------------
class BaseSession(_headrace.Session):
    """A session on a graph: `run` computes what is fetched."""

    def __init__(self, target="", graph=None, config=None):
        if graph is None:
            graph = get_default_graph()
        elif not isinstance(graph, _headrace.Graph):
            raise TypeError("Argument `graph` must be a tf.Graph, but got \"%s\"" % type(graph).__name__)
        if not isinstance(target, (str, bytes)):
            raise TypeError("Argument `target` must be a string, but got \"%s\"" % type(target).__name__)
        if config is not None and not hasattr(config, "SerializeToString"):
            raise TypeError("Argument `config` must be a tf.ConfigProto, but got \"%s\"" % type(config).__name__)
        self._target = target if isinstance(target, str) else target.decode()
        self._config = config
        self._partials = {}
        self._start(graph, self._target, b"" if config is None else config.SerializeToString())
        _live.add(self)

    graph_def = property(lambda self: self.graph.as_graph_def())
    sess_str = property(lambda self: self._target.encode())

    def close(self):
        self._close()

    def as_default(self):
        stack = _stack()
        return _Scope(lambda: (stack.append(self), self)[1], stack.pop)

    def _run_any(self, fetches, feed_dict, options, run_metadata):
        """run, for what the extension does not do itself."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        graph = self.graph
        if not graph.node_count():
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        if feed_dict is not None and not hasattr(feed_dict, "items"):
            raise TypeError("feed_dict must be a dictionary, got %r" % (feed_dict,))
        plan = _Fetches(graph, fetches)
        pairs = _feed_pairs(graph, feed_dict) if feed_dict else []
        out = self._run_flat(plan.elements, [t for t, _ in pairs], [v for _, v in pairs],
                             None if options is None else options.SerializeToString(), run_metadata is not None)
        if run_metadata is not None:
            out, metadata = out
            run_metadata.ParseFromString(metadata)
        return plan.rebuild(out)

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function of the feeds' values that runs one step: nothing is looked up when it is called."""
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("Argument `feed_list` must be a list or tuple.")
        graph = self.graph
        feeds = [graph.as_graph_element(f, allow_operation=False) for f in feed_list or ()]
        plan = _Fetches(graph, fetches)
        if accept_options:
            def run(*args, **kwargs):
                options, metadata = kwargs.pop("options", None), kwargs.pop("run_metadata", None)
                return self._run_any(fetches, dict(zip(feeds, args)), options, metadata)
            return run
        if isinstance(fetches, _Element):
            return self._make_callable([fetches], feeds, 0)
        flat = isinstance(fetches, (list, tuple)) and not hasattr(fetches, "_fields") and list(fetches) == plan.elements
        call = self._make_callable(plan.elements, feeds, 2 if flat and isinstance(fetches, tuple) else 1)
        return call if flat else lambda *args: plan.rebuild(call(*args))

    # --- partial runs
    def partial_run_setup(self, fetches, feeds=None):
        graph = self.graph
        plan = _Fetches(graph, fetches)
        handle = "partial_%d" % len(self._partials)
        tensors = [graph.as_graph_element(f, allow_operation=False) for f in feeds or ()]
        self._partials[handle] = self._partial(plan.elements, tensors)
        return handle

    def partial_run(self, handle, fetches, feed_dict=None):
        run = self._partials.get(handle)
        if run is None:
            raise ValueError("%r is no handle of a partial run" % (handle,))
        plan = _Fetches(self.graph, fetches)
        pairs = _feed_pairs(self.graph, feed_dict) if feed_dict else []
        return plan.rebuild(run.run(plan.elements, [t for t, _ in pairs], [v for _, v in pairs]))

    def list_devices(self):
        from collections import namedtuple
        kind = namedtuple("_DeviceAttributes", ("name", "device_type", "memory_limit_bytes", "incarnation"))
        return [kind(*row) for row in self._list_devices()]


class Session(BaseSession):
    """`with tf.Session() as sess:` also makes its graph the default one, and closes it at the end."""

    def __enter__(self):
        self._scopes = getattr(self, "_scopes", [])
        graph, session = self.graph.as_default(), self.as_default()
        graph.__enter__()
        session.__enter__()
        self._scopes.append((graph, session))
        return self

    def __exit__(self, *exc):
        graph, session = self._scopes.pop()
        session.__exit__(*exc)
        graph.__exit__(*exc)
        self.close()
        return False

    @staticmethod
    def reset(target, containers=None, config=None):
        """Forgets the containers' resources at the target's master, or in every live session of this process, and closes those sessions."""
        if target and _headrace.Session._reset(target, [c.decode() if isinstance(c, bytes) else c for c in containers or []]):
            return
        for session in list(_live):
            if session._target == target and not session._closed:
                for name in containers or [""]:
                    session._clear_container(name)
                session.close()


class InteractiveSession(BaseSession):
    """A session that is the default one from the start."""

    def __init__(self, target="", graph=None, config=None):
        super(InteractiveSession, self).__init__(target, graph, config)
        self._scope = self.as_default()
        self._scope.__enter__()
        self._graph_scope = None
        if graph is not None:
            self._graph_scope = graph.as_default()
            self._graph_scope.__enter__()

    def close(self):
        super(InteractiveSession, self).close()
        stack = _stack()
        if self in stack:
            stack.remove(self)
        if self._graph_scope is not None:
            self._graph_scope.__exit__()
            self._graph_scope = None


class _Live(object):
    """The sessions that exist, without keeping them."""

    def __init__(self):
        self._set = None

    def add(self, session):
        if self._set is None:
            from _weakrefset import WeakSet
            self._set = WeakSet()
        self._set.add(session)

    def __iter__(self):
        return iter(self._set or ())


_live = _Live()
