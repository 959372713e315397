# SPDX-License-Identifier: Apache-2.0
"""Variables: `Variable` makes one of two kinds, TensorFlow 1's references (VariableV2, the default) or resources (VarHandleOp).

Both have the same methods and the same node names as TensorFlow's; a variable stands for its value wherever a tensor may stand."""
from . import errors
from . import graph as G
from .dtypes import as_dtype
from .op_gen import gen
from .tensor import add_operators
from .tensor_shape import TensorShape
from .tensor_util import convert_to_tensor, register_tensor_conversion_function


class VariableSynchronization:
    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation:
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


class Settings:
    """What `enable_resource_variables` and `disable_resource_variables` switch."""
    use_resource = False


def enable_resource_variables():
    Settings.use_resource = True


def disable_resource_variables():
    Settings.use_resource = False


def resource_variables_enabled():
    return Settings.use_resource


def wants_resource(use_resource):
    """Whether a new variable is a resource: asked for, else as the variable scope says, else as the process is set."""
    if use_resource is None:
        from .variable_scope import get_variable_scope
        use_resource = get_variable_scope().use_resource
    return Settings.use_resource if use_resource is None else bool(use_resource)


class Variable:
    """A tensor that lives from step to step in a session, from its initializer on."""

    __slots__ = ("__weakref__", "__dict__")
    __array_priority__ = 100

    def __new__(cls, *args, **kwargs):
        if cls is Variable:
            cls = ResourceVariable if wants_resource(kwargs.get("use_resource")) else RefVariable
        return object.__new__(cls)

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None,
                 variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None, use_resource=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None):
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            return self._from_proto(variable_def, import_scope)
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is None:
            collections = [G.GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError("collections argument to Variable constructor must be a list, tuple, or set. Got %s of type %s" % (collections, type(collections)))
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self.trainable = True if trainable is None else bool(trainable)
        self.synchronization, self.aggregation, self.constraint, self._save_slice_info = synchronization, aggregation, constraint, None
        collections = list(collections)
        if self.trainable and G.GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(G.GraphKeys.TRAINABLE_VARIABLES)
        dtype = None if dtype is None else as_dtype(dtype)
        shape = None if shape is None else TensorShape(shape)
        with G.init_scope():
            self._make(initial_value, name, dtype, validate_shape, shape)
            G.add_to_collections(collections, self)

    def _initial(self, initial_value, scope, dtype, initializer_scope):
        """The tensor of the initial value. That of a function is made colocated with the variable that is not there yet."""
        if not callable(initial_value):
            return convert_to_tensor(initial_value, dtype=dtype, name="initial_value")
        with _colocated(scope[:-1]), G.name_scope(initializer_scope), G.device(None):
            value = initial_value()
            return convert_to_tensor(value, dtype=dtype, name="initial_value")

    # --- what it is -------------------------------------------------------------------------------------------------------------------
    @property
    def op(self):
        return self._handle.op

    @property
    def graph(self):
        return self._handle.graph

    @property
    def device(self):
        return self._handle.device

    @property
    def name(self):
        return self.op.name + ":0"

    @property
    def _shared_name(self):
        return self.op.name

    @property
    def initializer(self):
        return self._initializer

    @property
    def initial_value(self):
        return self._initial_value

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self._snapshot.set_shape(shape)

    def __repr__(self):
        return "<tf.Variable '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def __bool__(self):
        raise TypeError("a Variable has no truth value while the graph is built; run it, or use tf.cond")

    def _as_graph_element(self):
        return self._snapshot

    def _set_save_slice_info(self, info):
        self._save_slice_info = info

    # --- its value ----------------------------------------------------------------------------------------------------------------------
    def eval(self, session=None):
        return self._snapshot.eval(session=session)

    def load(self, value, session=None):
        """Writes a value in a session without adding nodes: feeds the initial value and runs the initializer."""
        from .session import get_default_session
        session = session or get_default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def initialized_value(self):
        """The value, or where it has none yet the initial value: for other variables' initial values. In a runtime without conditionals (no op
        Switch) it is the initial value itself: the same while variables are initialised together."""
        from . import _headrace, flow
        with G.init_scope():
            if not _headrace.has_op("Switch"):
                return self.initial_value
            return flow.cond(is_variable_initialized(self), self.read_value, lambda: self.initial_value)

    def count_up_to(self, limit):
        return gen.CountUpTo(self._handle, limit=limit)

    def __getitem__(self, key):
        from .tensor import slice_helper
        return slice_helper(self.value(), key, self)

    def __matmul__(self, other):
        from .math import matmul
        return matmul(self, other)

    def __rmatmul__(self, other):
        from .math import matmul
        return matmul(other, self)

    # --- as messages -------------------------------------------------------------------------------------------------------------------------
    def to_proto(self, export_scope=None):
        if export_scope and not self.op.name.startswith(export_scope):
            return None
        from .protos import message

        def inside(name):
            return name[len(export_scope):].lstrip("/") if export_scope else name
        d = message("VariableDef")()
        d.variable_name, d.snapshot_name, d.trainable = inside(self.name), inside(self._snapshot.name), self.trainable
        d.initial_value_name, d.initializer_name = inside(self._initial_value.name) if self._initial_value is not None else "", inside(self.initializer.name)
        d.is_resource = isinstance(self, ResourceVariable)
        return d

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        kind = ResourceVariable if variable_def.is_resource else RefVariable
        v = object.__new__(kind)
        v._from_proto(variable_def, import_scope)
        return v

    def _from_proto(self, d, import_scope):
        graph = G.get_default_graph()

        def element(name):
            return graph.as_graph_element(import_scope.rstrip("/") + "/" + name if import_scope else name)
        self._handle, self._initializer, self._snapshot = element(d.variable_name), element(d.initializer_name), element(d.snapshot_name)
        self._initial_value = element(d.initial_value_name) if d.initial_value_name else None
        self.trainable, self.constraint, self._save_slice_info = d.trainable or not d.snapshot_name, None, None
        self.synchronization, self.aggregation = VariableSynchronization.AUTO, VariableAggregation.NONE

    @classmethod
    def _from_parts(cls, handle, read, initial_value, initializer, is_resource, trainable=False):
        """A variable whose nodes the C client made."""
        v = object.__new__(ResourceVariable if is_resource else RefVariable)
        v._handle, v._snapshot, v._initial_value, v._initializer = handle, read, initial_value, initializer
        v.trainable, v.constraint, v._save_slice_info = trainable, None, None
        v.synchronization, v.aggregation = VariableSynchronization.AUTO, VariableAggregation.NONE
        return v


class RefVariable(Variable):
    """VariableV2: ops take a reference to it and change it in place."""

    def _make(self, initial_value, name, dtype, validate_shape, shape):
        from_function = callable(initial_value)
        with G.name_scope(name, "Variable", [] if from_function else [initial_value]) as scope:
            value = self._initial_value = self._initial(initial_value, scope, dtype, "Initializer")
            shape = shape if shape is not None else value.shape if validate_shape else TensorShape(None)
            with _colocated(scope[:-1]) if from_function else _Nothing():
                self._handle = gen.VariableV2(shape=shape, dtype=value.dtype.base_dtype, name=scope)
            with G.colocate_with(self._handle.op):
                self._initializer = gen.Assign(self._handle, value, validate_shape=validate_shape, name="Assign").op
                self._snapshot = gen.Identity(self._handle, name="read")

    @property
    def dtype(self):
        return self._handle.dtype

    @property
    def shape(self):
        return self._handle.shape

    def _ref(self):
        return self._handle

    def value(self):
        return self._snapshot

    def read_value(self):
        return gen.Identity(self._handle, name="read")

    def is_initialized(self, name=None):
        return gen.IsVariableInitialized(self._handle, name=name)

    def _update(self, op, value, use_locking, name, read_value):
        result = op(self._handle, value, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign(self, value, use_locking=False, name=None, read_value=True):
        return self._update(gen.Assign, value, use_locking, name, read_value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        return self._update(gen.AssignAdd, delta, use_locking, name, read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        return self._update(gen.AssignSub, delta, use_locking, name, read_value)

    def _scatter(self, op, slices, use_locking, name):
        _require_slices(slices)
        return op(self._handle, slices.indices, slices.values, use_locking=use_locking, name=name)

    def scatter_nd_update(self, indices, updates, name=None):
        return gen.ScatterNdUpdate(self._handle, indices, updates, use_locking=True, name=name)

    def scatter_nd_add(self, indices, updates, name=None):
        return gen.ScatterNdAdd(self._handle, indices, updates, use_locking=True, name=name)

    def scatter_nd_sub(self, indices, updates, name=None):
        return gen.ScatterNdSub(self._handle, indices, updates, use_locking=True, name=name)


class ResourceVariable(Variable):
    """VarHandleOp: a handle goes through the graph, reads are operations of their own."""

    def _make(self, initial_value, name, dtype, validate_shape, shape):
        from_function = callable(initial_value)
        with G.name_scope(name, "Variable", [] if from_function else [initial_value]) as scope:
            if from_function:
                value = self._initial(initial_value, scope, dtype, "Initializer")
            else:
                with G.name_scope("Initializer"), G.device(None), _colocated(scope[:-1]):
                    value = self._initial(initial_value, scope, dtype, None)
            self._initial_value = value
            self._dtype = value.dtype.base_dtype
            shape = shape if shape is not None else value.shape if validate_shape else TensorShape(None)
            with _colocated(scope[:-1]):
                self._handle = gen.VarHandleOp(dtype=self._dtype, shape=shape, shared_name=scope[:-1], name=scope)
            self._shape = shape
            with G.name_scope("IsInitialized"):
                self._is_initialized = gen.VarIsInitializedOp(self._handle)
            with G.device(self._handle.device):
                self._initializer = gen.AssignVariableOp(self._handle, value, name="Assign")
            with G.name_scope("Read"), G.device(self._handle.device):
                self._snapshot = gen.ReadVariableOp(self._handle, dtype=self._dtype)

    @property
    def handle(self):
        return self._handle

    @property
    def dtype(self):
        return self._snapshot.dtype

    @property
    def shape(self):
        return self._snapshot.shape

    def _ref(self):
        raise errors.InvalidArgumentError(None, self.op, "%s is a resource variable: it has no reference; make it with use_resource=False" % self.name)

    def value(self):
        with G.colocate_with(None, ignore_existing=True):
            return gen.ReadVariableOp(self._handle, dtype=self.dtype)

    def read_value(self):
        with G.name_scope("Read"):
            value = gen.ReadVariableOp(self._handle, dtype=self.dtype)
        return gen.Identity(value)

    def sparse_read(self, indices, name=None):
        with G.name_scope("Gather" if name is None else name) as scope:
            return gen.ResourceGather(self._handle, indices, dtype=self.dtype, name=scope)

    def is_initialized(self, name=None):
        return gen.VarIsInitializedOp(self._handle, name=name)

    def _after(self, op, read_value):
        """What an assignment gives: the operation, or the value read after it."""
        if not read_value:
            return op
        with G.control_dependencies([op]):
            value = gen.ReadVariableOp(self._handle, dtype=self.dtype)
        value._updated = self
        return value

    def assign(self, value, use_locking=None, name=None, read_value=True):
        value = convert_to_tensor(value, dtype=self.dtype)
        if not self.shape.is_compatible_with(value.shape):
            raise ValueError("Cannot assign value to variable '%s': Shape mismatch. The variable shape %s, and the assigned value shape %s are incompatible."
                             % (self.name, self.shape, value.shape))
        return self._after(gen.AssignVariableOp(self._handle, value, name=name), read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._after(gen.AssignAddVariableOp(self._handle, convert_to_tensor(delta, dtype=self.dtype), name=name), read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._after(gen.AssignSubVariableOp(self._handle, convert_to_tensor(delta, dtype=self.dtype), name=name), read_value)

    def _scatter(self, op, slices, use_locking, name):
        _require_slices(slices)
        return self._after(op(self._handle, slices.indices, convert_to_tensor(slices.values, self.dtype), name=name), True)

    def scatter_nd_update(self, indices, updates, name=None):
        return self._after(gen.ResourceScatterNdUpdate(self._handle, indices, convert_to_tensor(updates, self.dtype), name=name), True)

    def scatter_nd_add(self, indices, updates, name=None):
        return self._after(gen.ResourceScatterNdAdd(self._handle, indices, convert_to_tensor(updates, self.dtype), name=name), True)

    def scatter_nd_sub(self, indices, updates, name=None):
        return self._after(gen.ResourceScatterNdSub(self._handle, indices, convert_to_tensor(updates, self.dtype), name=name), True)


def _colocated(name):
    """A scope for operations that belong beside an operation that is yet to be made."""
    return G.get_default_graph()._attr_scope({"_class": ["loc:@" + name]})


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def _require_slices(slices):
    from .gradients import IndexedSlices
    if not isinstance(slices, IndexedSlices):
        raise TypeError("sparse_delta is not IndexedSlices: %s" % (slices,))


def _add_scatters():
    """scatter_add, scatter_sub...: methods of both kinds and functions of the module; each is one op of each kind."""
    for verb in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
        name = "scatter_" + verb.lower()

        def method(self, sparse_delta, use_locking=False, name=None, verb=verb):
            op = getattr(gen, ("ResourceScatter" if isinstance(self, ResourceVariable) else "Scatter") + verb)
            return self._scatter(op, sparse_delta, use_locking, name)

        def function(ref, indices, updates, use_locking=verb == "Update", name=None, verb=verb):
            if isinstance(ref, ResourceVariable):
                op = getattr(gen, "ResourceScatter" + verb)
                return ref._after(op(ref.handle, indices, convert_to_tensor(updates, ref.dtype), name=name), True)
            return getattr(gen, "Scatter" + verb)(ref, indices, updates, use_locking=use_locking, name=name)
        method.__name__ = function.__name__ = name
        setattr(Variable, name, method)
        globals()[name] = function
    for verb in ("update", "add", "sub"):

        def nd(ref, indices, updates, use_locking=True, name=None, verb=verb):
            if isinstance(ref, Variable):
                return getattr(ref, "scatter_nd_" + verb)(indices, updates, name=name)
            return getattr(gen, "ScatterNd" + verb.capitalize())(ref, indices, updates, use_locking=use_locking, name=name)
        nd.__name__ = "scatter_nd_" + verb
        globals()[nd.__name__] = nd


_add_scatters()
add_operators(Variable)


def _variable_to_tensor(value, dtype=None, name=None, as_ref=False):
    if as_ref:
        return value._ref()
    if dtype is not None and not dtype.base_dtype.is_compatible_with(value.dtype.base_dtype):
        raise ValueError("Incompatible type conversion requested to type '%s' for variable of type '%s'" % (dtype.name, value.dtype.base_dtype.name))
    return value.value()


register_tensor_conversion_function(Variable, _variable_to_tensor)
VariableV1 = Variable


# --- functions over variables and references ------------------------------------------------------------------------------------------------
def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    if isinstance(ref, ResourceVariable):
        return ref.assign(value, name=name)
    return gen.Assign(ref, value, validate_shape=True if validate_shape is None else validate_shape, use_locking=True if use_locking is None else use_locking, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    if isinstance(ref, ResourceVariable):
        return ref.assign_add(value, name=name)
    return gen.AssignAdd(ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    if isinstance(ref, ResourceVariable):
        return ref.assign_sub(value, name=name)
    return gen.AssignSub(ref, value, use_locking=bool(use_locking), name=name)


def count_up_to(ref, limit, name=None):
    return gen.CountUpTo(ref, limit=limit, name=name)


def is_variable_initialized(variable):
    """A bool tensor: whether the variable has a value in the session that runs it."""
    return variable.is_initialized() if isinstance(variable, Variable) else gen.IsVariableInitialized(variable)


# --- collections --------------------------------------------------------------------------------------------------------------------------------
def global_variables(scope=None):
    return G.get_collection(G.GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope=None):
    return G.get_collection(G.GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None):
    return G.get_collection(G.GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope=None):
    return G.get_collection(G.GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope=None):
    return G.get_collection(G.GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def _saveable_variables(scope=None):
    return global_variables(scope) + G.get_collection(G.GraphKeys.SAVEABLE_OBJECTS, scope)


all_variables = global_variables


def variables_initializer(var_list, name="init"):
    from .control import group, no_op
    return group(*[v.initializer for v in var_list], name=name) if var_list else no_op(name=name)


def global_variables_initializer():
    return variables_initializer(global_variables())


def local_variables_initializer():
    return variables_initializer(local_variables())


initialize_variables, initialize_all_variables, initialize_local_variables = variables_initializer, global_variables_initializer, local_variables_initializer


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """A 1-D string tensor with the names of the variables that have no value yet."""
    from . import array
    if var_list is None:
        var_list = global_variables() + local_variables()
    with G.name_scope(name):
        if not var_list:
            return convert_to_tensor([], dtype=as_dtype("string"))
        known = [is_variable_initialized(v) for v in var_list]
        with G.device("/cpu:0"):
            missing = gen.LogicalNot(array.stack(known))
            names = convert_to_tensor([v.op.name for v in var_list], dtype=as_dtype("string"), name="Const")
            return array.boolean_mask(names, missing)


def assert_variables_initialized(var_list=None):
    """An operation that fails where a variable has no value (deprecated in TensorFlow too)."""
    from .control import group
    if var_list is None:
        var_list = global_variables() + local_variables()
    return group(*[v.value() if isinstance(v, Variable) else gen.Identity(v) for v in var_list], name="assert_variables_initialized") if var_list else None
