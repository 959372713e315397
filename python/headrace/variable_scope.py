# SPDX-License-Identifier: Apache-2.0
"""Variables shared by name: `get_variable` within `variable_scope`s.

A graph has one store (name -> variable, and how often each scope name was opened) and one current scope (a prefix and defaults for the
variables made under it)."""
from . import graph as G
from . import initializers
from .dtypes import as_dtype, float32
from .tensor import Tensor
from .tensor_shape import as_shape
from .tensor_util import convert_to_tensor
from .variables import Variable, VariableAggregation, VariableSynchronization

_STORE, _SCOPE = "variable_store", "variable_scope"


class _ReuseMode:
    def __repr__(self):
        return "AUTO_REUSE"


AUTO_REUSE = _ReuseMode()


# --- the store ----------------------------------------------------------------------------------------------------------------------------
class _Store:
    def __init__(self):
        self.variables, self.counts = {}, {}

    def open(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def forget_below(self, name):
        """Names of scopes inside `name` count from zero when it is opened again."""
        for key in self.counts:
            if not name or key.startswith(name + "/"):
                self.counts[key] = 0

    def unique(self, prefix):
        here = get_variable_scope().name
        name = here + "/" + prefix if here else prefix
        if not self.counts.get(name):
            return prefix
        k = 1
        while self.counts.get("%s_%d" % (name, k)):
            k += 1
        return "%s_%d" % (prefix, k)

    def find(self, name, shape, dtype):
        found = self.variables[name]
        if shape is not None and not as_shape(shape).is_compatible_with(found.get_shape()):
            raise ValueError("Trying to share variable %s, but specified shape %s and found shape %s." % (name, as_shape(shape), found.get_shape()))
        if not dtype.is_compatible_with(found.dtype.base_dtype):
            raise ValueError("Trying to share variable %s, but specified dtype %s and found dtype %s." % (name, dtype.name, found.dtype.base_dtype.name))
        return found

    def get(self, name, shape=None, dtype=float32, initializer=None, regularizer=None, reuse=None, trainable=None, collections=None,
            caching_device=None, partitioner=None, validate_shape=True, use_resource=None, constraint=None,
            synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, custom_getter=None):
        dtype = as_dtype(dtype).base_dtype
        if partitioner is not None:
            raise NotImplementedError("partitioned variables are not implemented: get_variable(%r, partitioner=...)" % name)
        if name in self.variables:
            if reuse is False:
                raise ValueError("Variable %s already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?" % name)
            return self.find(name, shape, dtype)
        if reuse is True:
            raise ValueError("Variable %s does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
                             % name)
        value, dtype = _initial_value(name, None if shape is None else as_shape(shape), dtype, initializer)
        variable = Variable(initial_value=value, name=name, trainable=trainable, collections=collections, caching_device=caching_device, dtype=dtype,
                            validate_shape=validate_shape, constraint=constraint, use_resource=use_resource, synchronization=synchronization,
                            aggregation=aggregation)
        self.variables[name] = variable
        if regularizer:
            _regularize(variable, name, regularizer)
        return variable


def _initial_value(name, shape, dtype, initializer):
    """(value or function of no arguments, dtype) for a new variable."""
    if initializer is None:
        initializer = initializers.default_for(dtype, name)
    if not callable(initializer):
        value = initializer if isinstance(initializer, Tensor) else convert_to_tensor(initializer) if isinstance(initializer, Variable) else initializer
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        if isinstance(value, Tensor):
            return value, value.dtype.base_dtype
        with G.init_scope():
            return value, convert_to_tensor(value).dtype.base_dtype
    if isinstance(initializer, type):
        initializer = initializer()
    if shape is None or not shape.is_fully_defined():
        if shape is None and not isinstance(initializer, initializers.Initializer):
            return initializer, dtype  # a function of no arguments
        raise ValueError("Shape of a new variable (%s) must be fully defined, but instead was %s." % (name, shape))
    return lambda: initializer(shape.as_list(), dtype=dtype), dtype


def _regularize(variable, name, regularizer):
    """Adds regularizer(variable) to the losses, under `<name>/Regularizer/`. TensorFlow calls it once more to see whether it gives anything."""
    with G.init_scope():
        if regularizer(variable) is None:
            return
        with G.colocate_with(variable.op), G.name_scope(name + "/Regularizer/"):
            loss = regularizer(variable)
    G.add_to_collection(G.GraphKeys.REGULARIZATION_LOSSES, loss)


def _store():
    state = G.get_default_graph()._state
    if _STORE not in state:
        state[_STORE] = _Store()
    return state[_STORE]


# --- scopes -----------------------------------------------------------------------------------------------------------------------------------
class VariableScope:
    """A prefix of names and defaults for get_variable."""

    def __init__(self, reuse, name="", initializer=None, regularizer=None, caching_device=None, partitioner=None, custom_getter=None, name_scope="",
                 dtype=float32, use_resource=None, constraint=None):
        self._name, self._reuse, self._initializer, self._regularizer = name, reuse, initializer, regularizer
        self._caching_device, self._partitioner, self._custom_getter, self._name_scope = caching_device, partitioner, custom_getter, name_scope
        self._dtype, self._use_resource, self._constraint = dtype, use_resource, constraint

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)
    constraint = property(lambda self: self._constraint)

    def reuse_variables(self):
        self._reuse = True

    def set_initializer(self, initializer):
        self._initializer = initializer

    def set_dtype(self, dtype):
        self._dtype = dtype

    def set_use_resource(self, use_resource):
        self._use_resource = use_resource

    def set_regularizer(self, regularizer):
        self._regularizer = regularizer

    def set_caching_device(self, caching_device):
        self._caching_device = caching_device

    def set_partitioner(self, partitioner):
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self._custom_getter = custom_getter

    def get_collection(self, name):
        return G.get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self):
        return self.get_collection(G.GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(G.GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        return self.get_collection(G.GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, store, name, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None, custom_getter=None, **more):
        full = self._name + "/" + name if self._name else name
        more.setdefault("use_resource", None)
        arguments = dict(more, shape=shape, dtype=self._dtype if dtype is None else dtype, reuse=self._reuse if reuse is None else reuse,
                         initializer=self._initializer if initializer is None else initializer,
                         regularizer=self._regularizer if regularizer is None else regularizer)
        for key, own in (("caching_device", self._caching_device), ("partitioner", self._partitioner), ("use_resource", self._use_resource),
                         ("constraint", self._constraint)):
            if arguments.get(key) is None:
                arguments[key] = own
        getter = self._custom_getter if custom_getter is None else custom_getter
        with G.name_scope(None):  # names of variables depend on variable scopes alone
            if getter is None:
                return store.get(full, **arguments)
            return getter(getter=store.get, name=full, **arguments)


def get_variable_scope():
    state = G.get_default_graph()._state
    if _SCOPE not in state:
        state[_SCOPE] = VariableScope(False)
    return state[_SCOPE]


def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None, caching_device=None,
                 partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
    """The variable of this name in the current scope: made, or found where the scope reuses."""
    return get_variable_scope().get_variable(
        _store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable, collections=collections,
        caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter,
        constraint=constraint, synchronization=synchronization, aggregation=aggregation)


def get_local_variable(name, *args, **kwargs):
    kwargs["trainable"] = False
    kwargs["collections"] = list(kwargs.get("collections") or []) + [G.GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, *args, **kwargs)


def _chained(outer, inner):
    """A custom getter that calls `inner`, whose own getter is `outer`."""
    if outer is None or inner is None:
        return inner or outer

    def both(getter, *args, **kwargs):
        return inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)
    return both


class variable_scope:
    """with variable_scope(name_or_scope, ...) as scope: opens a variable scope and, with it, a name scope."""

    def __init__(self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None, caching_device=None, partitioner=None,
                 custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None, auxiliary_name_scope=True):
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, False, True, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if name_or_scope is not None and not isinstance(name_or_scope, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if isinstance(auxiliary_name_scope, bool) is False:
            raise TypeError("The auxiliary_name_scope must be `True` or `False`, while get %s" % (auxiliary_name_scope,))
        self.target, self.default, self.values, self.auxiliary = name_or_scope, default_name, values or [], auxiliary_name_scope
        self.overrides = dict(initializer=initializer, regularizer=regularizer, caching_device=caching_device, partitioner=partitioner,
                              dtype=dtype, use_resource=use_resource, constraint=constraint)
        self.reuse, self.custom_getter = reuse, custom_getter

    def __enter__(self):
        graph = G.graph_of(self.values)
        self.graph_context = graph.as_default()
        self.graph_context.__enter__()
        self.state, self.store, self.old = graph._state, _store(), get_variable_scope()
        self.scope_context = None
        try:
            return self._open()
        except BaseException:
            if self.scope_context:
                self.scope_context.__exit__(None, None, None)
            self.graph_context.__exit__(None, None, None)
            raise

    def _open(self):
        target, reuse = self.target, self.reuse
        if target is None:
            if reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            name_scope = self._name_scope(self.default)
            name = self._below(self.store.unique(self.default))
        elif isinstance(target, str):
            name_scope, name = self._name_scope(target), self._below(target)
        else:
            name_scope, name = self._name_scope(target.name.split("/")[-1]) and target.original_name_scope, target.name
        self.fresh = VariableScope(self._reuse_of(target, reuse), name, name_scope=name_scope, custom_getter=self._getter_of(target), **self._fields(target))
        self.shares = isinstance(target, VariableScope)
        if self.shares:
            self.counts = dict(self.store.counts)
        self.store.open(name)
        self.state[_SCOPE] = self.fresh
        return self.fresh

    def _below(self, name):
        return self.old.name + "/" + name if self.old.name else name

    def _name_scope(self, name):
        if not self.auxiliary or not name:
            current = G.get_default_graph().get_name_scope()
            return current + "/" if current else ""
        self.scope_context = G.name_scope(name)
        return self.scope_context.__enter__()

    def _reuse_of(self, target, reuse):
        parent = target if isinstance(target, VariableScope) else self.old
        return reuse or parent.reuse

    def _getter_of(self, target):
        parent = target if isinstance(target, VariableScope) else self.old
        return _chained(parent.custom_getter, self.custom_getter)

    def _fields(self, target):
        parent = target if isinstance(target, VariableScope) else self.old
        return {key: getattr(parent, key) if value is None else value for key, value in self.overrides.items()}

    def __exit__(self, *exc):
        self.store.forget_below(self.fresh.name)
        if self.shares:
            self.store.counts = self.counts
        self.state[_SCOPE] = self.old
        if self.scope_context:
            self.scope_context.__exit__(*exc)
        self.graph_context.__exit__(*exc)
        return False


def variable_op_scope(values, name_or_scope, default_name=None, **kwargs):
    return variable_scope(name_or_scope, default_name=default_name, values=values, **kwargs)


def no_regularizer(_):
    return None


# --- templates, partitioners ------------------------------------------------------------------------------------------------------------------
class _Template:
    """A function whose variables are made at its first call and shared by all later ones."""

    def __init__(self, name, function, unique_name, custom_getter, create_scope_now):
        self._name, self._function, self._custom_getter, self._unique_name = name, function, custom_getter, unique_name
        self._scope, self._called = None, False
        if create_scope_now:
            self._open()

    def _open(self):
        target = dict(name_or_scope=self._unique_name) if self._unique_name else dict(name_or_scope=None, default_name=self._name)
        with variable_scope(custom_getter=self._custom_getter, **target) as self._scope:
            pass

    name = property(lambda self: self._name)
    variable_scope = property(lambda self: self._scope)
    variables = property(lambda self: self._scope.global_variables())
    trainable_variables = property(lambda self: self._scope.trainable_variables())

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            self._open()
        with variable_scope(self._scope, reuse=self._called):
            result = self._function(*args, **kwargs)
        self._called = True
        return result


def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    import functools
    return _Template(name_, functools.partial(func_, **kwargs) if kwargs else func_, unique_name_, custom_getter_, create_scope_now_)


def _no_partitions(*args, **kwargs):
    raise NotImplementedError("partitioned variables are not implemented")


fixed_size_partitioner = variable_axis_size_partitioner = min_max_variable_partitioner = _no_partitions
