# SPDX-License-Identifier: Apache-2.0
"""Graphs and what surrounds the making of operations: scopes of names, devices, control inputs and attrs; collections; seeds."""
import threading

from headrace import _headrace, dtypes
from headrace.tensor import Operation, Tensor
from headrace.tensor_shape import TensorShape

_thread = threading.local()


class GraphKeys(object):
    """Names of the collections that the library uses."""
    GLOBAL_VARIABLES, LOCAL_VARIABLES, METRIC_VARIABLES = "variables", "local_variables", "metric_variables"
    MODEL_VARIABLES, TRAINABLE_VARIABLES, SUMMARIES = "model_variables", "trainable_variables", "summaries"
    QUEUE_RUNNERS, TABLE_INITIALIZERS, ASSET_FILEPATHS = "queue_runners", "table_initializer", "asset_filepaths"
    MOVING_AVERAGE_VARIABLES, REGULARIZATION_LOSSES = "moving_average_variables", "regularization_losses"
    CONCATENATED_VARIABLES, SAVERS, WEIGHTS, BIASES, ACTIVATIONS = "concatenated_variables", "savers", "weights", "biases", "activations"
    UPDATE_OPS, LOSSES, SAVEABLE_OBJECTS = "update_ops", "losses", "saveable_objects"
    RESOURCES, LOCAL_RESOURCES = "resources", "local_resources"
    INIT_OP, LOCAL_INIT_OP, READY_OP, SUMMARY_OP = "init_op", "local_init_op", "ready_op", "summary_op"
    READY_FOR_LOCAL_INIT_OP, GLOBAL_STEP, EVAL_STEP, TRAIN_OP = "ready_for_local_init_op", "global_step", "eval_step", "train_op"
    COND_CONTEXT, WHILE_CONTEXT = "cond_context", "while_context"
    TRAINABLE_RESOURCE_VARIABLES, VARIABLES = "trainable_resource_variables", "variables"
    _VARIABLE_STORE_KEY, _SUMMARY_COLLECTION, _STREAMING_MODEL_PORTS = ("__variable_store",), "_SUMMARY_V2", "streaming_model_ports"


_FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.")
_REST = _FIRST | frozenset("_\\-/>")


def _check_scope(name, first):
    if not name or (first and name[0] not in _FIRST) or not _REST.issuperset(name):
        raise ValueError("'%s' is not a valid scope name. A scope name has to match the following pattern: "
                         "^%s*$" % (name, "[A-Za-z0-9.][A-Za-z0-9_.\\-/]" if first else "[A-Za-z0-9_.\\-/]"))


class _Scope(object):
    """A context manager from two functions: enter gives what `as` binds."""
    __slots__ = ("_enter", "_exit")

    def __init__(self, enter, exit):
        self._enter, self._exit = enter, exit

    def __enter__(self):
        return self._enter()

    def __exit__(self, *unused):
        self._exit()
        return False


class _NameScope(object):
    """`with g.name_scope(name) as scope`: scope is "a/b/", or "" at the top."""
    __slots__ = ("_graph", "_name", "_old")

    def __init__(self, graph, name):
        self._graph, self._name = graph, name

    def __enter__(self):
        g, name = self._graph, self._name
        self._old = g._name_stack
        if not name:
            g._name_stack = ""
            return ""
        if name.endswith("/"):
            full = name[:-1]
        else:
            _check_scope(name, not self._old)
            full = g.unique_name(name)
        g._name_stack = full
        return full + "/"

    def __exit__(self, *unused):
        self._graph._name_stack = self._old
        return False


class _Controls(object):
    """One `with control_dependencies`: its operations, and those made inside it (which need not wait again through their consumers)."""

    def __init__(self, graph, ops, fresh):
        self._graph, self.ops, self._fresh, self._inside = graph, ops, fresh, set()

    def __enter__(self):
        g = self._graph
        self._old, self._context = g._controls, g._context
        if self._fresh:
            g._context = None
        g._controls = ([] if self._fresh else self._old) + ([self] if self.ops else [])
        g._update_decorated()
        return self

    def __exit__(self, *unused):
        self._graph._controls = self._old
        if self._fresh:
            self._graph._set_control_flow_context(self._context)
        self._graph._update_decorated()
        return False


class _Colocation(object):
    """Operations made inside lie where others do: devices said around it do not count."""
    __slots__ = ("_graph", "_ops", "_old")

    def __init__(self, graph, ops):
        self._graph, self._ops = graph, ops

    def __enter__(self):
        g = self._graph
        self._old = g._colocation, g._devices
        g._colocation, g._devices = self._ops, []
        g._update_decorated()

    def __exit__(self, *unused):
        self._graph._colocation, self._graph._devices = self._old
        self._graph._update_decorated()
        return False


class Graph(_headrace.Graph):
    """A graph of operations."""

    def __init__(self):
        self._controls = []        # _Controls, outermost first
        self._devices = []         # names and functions, outermost first
        self._colocation = []      # operations, outermost first
        self._attr_scopes = {}     # attrs for every new operation
        self._overrides = {}       # op type -> gradient name
        self._collections = {}
        self._seed = None
        self._state = {}           # what modules keep by graph
        self._lock = threading.RLock()
        self._unfeedable, self._unfetchable = set(), set()
        self._container = ""
        self._context = None       # ControlFlowContext that new operations lie in

    # --- names
    def name_scope(self, name):
        if isinstance(name, (bytes,)):
            name = name.decode()
        if name is not None and not isinstance(name, str):
            raise TypeError("name for name_scope must be a string, got %r" % (name,))
        return _NameScope(self, name)

    def get_name_scope(self):
        return self._name_stack

    # --- default
    def as_default(self):
        stack = _graph_stack()
        return _Scope(lambda: (stack.append((self, _headrace.swap_graph(self))), self)[1], lambda: _headrace.swap_graph(stack.pop()[1]))

    @property
    def finalized(self):
        return self._finalized

    def finalize(self):
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    building_function = property(lambda self: False)
    is_control_flow_graph = property(lambda self: False)

    # --- look-up
    def get_operations(self):
        return self._operations()

    def get_operation_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError("Operation names are strings (or similar), not %s." % type(name).__name__)
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError("Tensor names are strings (or similar), not %s." % type(name).__name__)
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """The Tensor or Operation that obj is, names or stands for."""
        if not (allow_tensor or allow_operation):
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        wanted = "Tensor or Operation" if allow_tensor and allow_operation else "Tensor" if allow_tensor else "Operation"
        if not isinstance(obj, (_headrace.Tensor, _headrace.Operation, str)) and hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._named_element(obj, allow_tensor, allow_operation, wanted)
        if (isinstance(obj, _headrace.Tensor) and allow_tensor) or (isinstance(obj, _headrace.Operation) and allow_operation):
            if obj.graph is not self:
                what = ("Operation", obj.name) if isinstance(obj, _headrace.Operation) else ("Tensor", obj)
                raise ValueError("%s %s is not an element of this graph." % what)
            return obj
        raise TypeError("Can not convert a %s into a %s." % (type(obj).__name__, wanted))

    def _named_element(self, name, allow_tensor, allow_operation, wanted):
        if ":" in name and allow_tensor:
            op_name, _, index = name.rpartition(":")
            if not index.isdigit():
                raise ValueError(
                    "The name %r looks a like a Tensor name, but is not a valid one. Tensor names must be of the form \"<op_name>:<output_index>\"."
                    % name)
            op = self._find(op_name)
            if op is None:
                raise KeyError("The name %r refers to a Tensor which does not exist. The operation, %r, does not exist in the graph." %
                               (name, op_name))
            outputs = op.outputs
            if int(index) >= len(outputs):
                raise KeyError("The name %r refers to a Tensor which does not exist. The operation, %r, exists but only has %d outputs."
                               % (name, op_name, len(outputs)))
            return outputs[int(index)]
        if ":" in name:
            raise ValueError("Name %r appears to refer to a Tensor, not an Operation." % name)
        op = self._find(name)
        if op is not None and allow_operation:
            return op
        if op is not None:
            raise ValueError("The name %r refers to an Operation, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\"." %
                             name)
        if allow_operation:
            raise KeyError("The name %r refers to an Operation not in the graph." % name)
        raise ValueError(
            "The name %r looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form \"<op_name>:<output_index>\"." %
            name)

    def is_feedable(self, tensor):
        return tensor not in self._unfeedable

    def prevent_feeding(self, tensor):
        self._unfeedable.add(tensor)
        self._restricted = True

    def is_fetchable(self, element):
        return element not in self._unfetchable

    def prevent_fetching(self, op):
        self._unfetchable.add(op)
        self._restricted = True

    # --- making operations
    def create_op(self, op_type, inputs, dtypes=None, input_types=None, name=None, attrs=None, op_def=None, compute_shapes=True,
                  compute_device=True):
        """The operation op_type of the given tensors; attrs by name (Python values or AttrValue messages)."""
        self._check_not_finalized()
        name = op_type if name is None else name
        name = name[:-1] if name.endswith("/") else self.unique_name(name)
        return self._create(op_type, inputs, attrs or {}, name)

    def _update_decorated(self):
        self._decorated = int(bool(self._context or self._controls or self._devices or self._colocation or self._attr_scopes or self._overrides))

    def _get_control_flow_context(self):
        return self._context

    def _set_control_flow_context(self, context):
        """Operations made from here on lie in this context (contexts.py); what came before is not its business."""
        self._context = context
        if context is not None:
            context._seen = self.node_count()
        self._update_decorated()

    def _controls_for(self, input_ops):
        """What a new operation on these waits for: the scopes' operations, but for a scope inside which one of the inputs was made."""
        found = {}
        for scope in self._controls:
            if not any(op in scope._inside for op in input_ops):
                found.update((op, None) for op in scope.ops if op not in input_ops)
        return list(found)

    def _note_made(self, op):
        for scope in self._controls:
            scope._inside.add(op)

    def _decorate(self, op_type, name, inputs, refs=0):
        """What the scopes say about a new operation: called by the extension when `_decorated`, and for what takes references, with a bit set
        for each of those inputs: such an operation lies where the referred variable does, whatever device is said around it."""
        controls = self._controls_for([t.op for t in inputs]) if self._controls else []
        attrs = {}
        for key, value in self._attr_scopes.items():
            if callable(value):
                value = value(_Description(op_type, name, inputs))
            if value is not None:
                attrs[key] = value
        if op_type in self._overrides:
            attrs["_gradient_op_type"] = self._overrides[op_type]
        colocation = self._colocation
        if refs:
            colocation = colocation + [t.op for i, t in enumerate(inputs) if refs >> i & 1]
        device = "" if refs else self._device_for(op_type, name, inputs)
        if colocation:
            groups = set()
            for op in colocation:
                groups.update(op.colocation_groups())
            device = next((op.device for op in colocation if op.device), device)
            attrs["_class"] = sorted(g.decode() if isinstance(g, bytes) else g for g in groups)
        return device, controls, attrs

    def _created(self, op):
        if self._controls:
            self._note_made(op)
        if self._context is not None:
            self._context.created(op)

    def _device_for(self, op_type, name, inputs):
        if not self._devices:
            return ""
        from headrace.device import merge
        device = ""
        for said in reversed(self._devices):  # innermost first: what it says stays
            if said is None:
                break
            if callable(said):
                said = said(_Description(op_type, name, inputs, device))
            if said is not None:
                device = merge(said, device)
        return device

    def _settle_made(self, first):
        """Devices of the nodes from id `first` on, which C made: where what they are colocated with lies, else what the scopes say."""
        if not self._devices and not self._colocation:
            return
        for op in self._operations()[first:]:
            if op.device:
                continue
            with_name = next((g[5:].decode() for g in op.colocation_groups()), op.name)
            other = self._find(with_name)
            device = other.device if other is not None and other is not op else self._device_for(op.type, op.name, op.inputs)
            if device:
                op._set_device(device)

    def control_dependencies(self, control_inputs):
        if control_inputs is None:
            return _Controls(self, [], True)
        ops, seen = [], set(op for scope in self._controls for op in scope.ops)
        for c in control_inputs:
            if isinstance(c, _headrace.Operation):
                op = c
            elif hasattr(c, "_as_graph_element") or isinstance(c, (_headrace.Tensor, str)):
                c = self.as_graph_element(c)
                op = c if isinstance(c, _headrace.Operation) else c.op
            elif hasattr(c, "values") and hasattr(c, "op"):
                op = c.op
            else:
                raise TypeError("Control input must be Operation or Tensor, got %r" % (c,))
            if op.graph is not self:
                raise ValueError("Operation %s is not an element of this graph." % op.name)
            if op not in seen:
                seen.add(op)
                ops.append(op)
        return _Controls(self, ops, False)

    def _stack_scope(self, attribute, value, result=None):
        def enter():
            olds.append(getattr(self, attribute))
            setattr(self, attribute, value(olds[-1]))
            self._update_decorated()
            return result

        def leave():
            setattr(self, attribute, olds.pop())
            self._update_decorated()
        olds = []
        return _Scope(enter, leave)

    def device(self, device_name_or_function):
        said = device_name_or_function
        if said is not None and not callable(said):
            said = said if isinstance(said, str) else said.to_string()
        return self._stack_scope("_devices", lambda old: old + [said])

    def colocate_with(self, op, ignore_existing=False):
        op = None if op is None else op if isinstance(op, _headrace.Operation) else self.as_graph_element(op)
        op = op.op if isinstance(op, _headrace.Tensor) else op
        return _Colocation(self, ([] if ignore_existing or op is None else self._colocation) + ([op] if op is not None else []))

    def _colocate_with_for_gradient(self, op, gradient_uid, ignore_existing=False):
        return self.colocate_with(op, ignore_existing)

    def container(self, container_name):
        return self._stack_scope("_container", lambda old: container_name, container_name)

    def gradient_override_map(self, op_type_map):
        return self._stack_scope("_overrides", lambda old: dict(old, **op_type_map))

    def _attr_scope(self, attr_map):
        return self._stack_scope("_attr_scopes", lambda old: dict((k, v) for k, v in dict(old, **attr_map).items() if v is not None))

    def _kernel_label_map(self, op_to_kernel_label_map):
        labels = dict(op_to_kernel_label_map)
        return self._attr_scope({"_kernel": lambda op: labels.get(op.type)})

    # --- collections
    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in ([names] if isinstance(names, str) else list(dict.fromkeys(names))):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        found = self._collections.get(name, [])
        if scope is None:
            return list(found)
        import re
        match = re.compile(scope).match
        return [item for item in found if hasattr(item, "name") and match(item.name)]

    def get_all_collection_keys(self):
        return [k for k in self._collections if isinstance(k, str)]

    def clear_collection(self, name):
        self._check_not_finalized()
        self._collections.pop(name, None)

    collections = property(lambda self: self.get_all_collection_keys())

    # --- the rest
    @property
    def seed(self):
        return self._seed

    @seed.setter
    def seed(self, value):
        self._seed = value

    version = _last_id = property(lambda self: self.node_count())

    @property
    def graph_def_versions(self):
        from headrace.protos import message
        producer, min_consumer, _ = self._versions
        return message("VersionDef")(producer=producer, min_consumer=min_consumer)

    def as_graph_def(self, from_version=None, add_shapes=False):
        from headrace.protos import message
        graph_def = message("GraphDef").FromString(self._export(from_version or 0))
        if add_shapes:
            for node in graph_def.node:
                op = self._find(node.name)
                if op is not None and op.outputs:
                    node.attr["_output_shapes"].list.shape.extend([t.shape.as_proto() for t in op.outputs])
        return graph_def

    def switch_to_thread_local(self):
        pass


class _Description(object):
    """An operation about to be made, for device functions."""

    def __init__(self, op_type, name, inputs, device=""):
        self.type, self.name, self.inputs, self.device = op_type, name, inputs, device
        self.outputs, self.control_inputs = [], []
        self.node_def = self

    op = property(lambda self: self.type)


# --- module functions ---------------------------------------------------
def _graph_stack():
    try:
        return _thread.graphs
    except AttributeError:
        _thread.graphs = []
        return _thread.graphs


get_default_graph = _headrace.default_graph


def has_default_graph():
    return bool(_graph_stack())


def reset_default_graph():
    if _graph_stack():
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph.")
    _headrace.reset_graph()


def _is_element(value):
    return isinstance(value, (_headrace.Tensor, _headrace.Operation))


def graph_of(values):
    """The graph of the first tensor among values, else the default one; the body of a function while it is being made."""
    current = get_default_graph()
    if current._captures:
        return current
    for value in values or ():
        if isinstance(value, (list, tuple)):
            for v in value:
                if _is_element(v):
                    return v.graph
        elif _is_element(value) or isinstance(getattr(value, "graph", None), _headrace.Graph):
            return value.graph
    return get_default_graph()


class name_scope(object):
    """`with tf.name_scope(name, default_name, values) as scope`: name None means default_name, and both None the current scope."""
    __slots__ = ("_name", "_values", "_scopes")

    def __init__(self, name=None, default_name=None, values=None, skip_on_eager=True):
        if name is not None and not isinstance(name, str):
            raise TypeError("`name` type (%s) is not a string type. You likely meant to pass this into the `values` kwarg." % type(name).__name__)
        if name is None and default_name is None and values is not None:
            raise ValueError("At least one of name (None) and default_name (None) must be provided.")
        self._name = default_name if name is None else name
        self._values = values

    name = property(lambda self: self._name)

    def __enter__(self):
        graph = graph_of(self._values)
        scope = graph.name_scope(self._name)
        if graph is get_default_graph():
            self._scopes = (scope,)
            return scope.__enter__()
        default = graph.as_default()
        default.__enter__()
        self._scopes = (scope, default)
        return scope.__enter__()

    def __exit__(self, *exc):
        for scope in self._scopes:
            scope.__exit__(*exc)
        return False


def op_scope(values, name, default_name=None):
    return name_scope(name, default_name, values)


def device(device_name_or_function):
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs):
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op, ignore_existing=False):
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name):
    return get_default_graph().container(container_name)


def init_scope():
    """Leaves control dependencies and devices for the time: initial values are made where nothing holds them up."""
    graph = get_default_graph()
    return graph.control_dependencies(None)


def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys():
    return get_default_graph().get_all_collection_keys()


# --- seeds --------------------------------------------------------------
_DEFAULT_GRAPH_SEED, _MOST = 87654321, 2 ** 31 - 1


def set_random_seed(seed):
    get_default_graph().seed = seed


def get_seed(op_seed):
    """The pair (seed, seed2) of an op, None for "of the system's choice"."""
    graph = get_default_graph()
    if graph.seed is not None:
        if op_seed is None:  # how many were asked for in this graph without one: TensorFlow 2's rule (1.x took the number of operations)
            op_seed = graph._state.get("seeds_given", 0)
            graph._state["seeds_given"] = op_seed + 1
        seeds = graph.seed % _MOST, op_seed % _MOST
    else:
        seeds = (None, None) if op_seed is None else (_DEFAULT_GRAPH_SEED, op_seed % _MOST)
    return (0, _MOST) if seeds == (0, 0) else seeds


# --- hooks --------------------------------------------------------------
def _convert(value, dtype, name, as_ref, preferred_dtype):
    from headrace.tensor_util import convert_to_tensor
    return convert_to_tensor(value, dtype, name, as_ref, preferred_dtype)


def _make_result(name, fields):
    from collections import namedtuple
    return namedtuple(name, fields, rename=True)


def _make_error(code, message, graph):
    from headrace import errors
    return errors.make(code, message, graph)


def _make_slices(values, indices, dense_shape):
    from headrace.gradients import IndexedSlices
    return IndexedSlices(values, indices, dense_shape)


_headrace.install({"operation": Operation, "tensor": Tensor, "make_graph": Graph, "convert": _convert, "make_result": _make_result,
                   "error": _make_error, "make_shape": TensorShape, "make_slices": _make_slices, "dtypes": dtypes._by_number})
