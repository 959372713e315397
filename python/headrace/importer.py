# SPDX-License-Identifier: Apache-2.0
"""import_graph_def: names in the script's terms; the graph does the rest."""
from headrace import _headrace
from headrace.graph import get_default_graph


def _endpoint(name):
    """("node", index) of "node", "node:index"; index -1 for "^node"."""
    if isinstance(name, bytes):
        name = name.decode()
    if name.startswith("^"):
        return name[1:], -1
    node, colon, index = name.rpartition(":")
    if colon and index.isdigit():
        return node, int(index)
    return name, 0


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None):
    """Adds a GraphDef's nodes to the default graph, below scope `name` ("import"; "" for none). Gives what return_elements names."""
    if not hasattr(graph_def, "SerializeToString"):
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    input_map = dict(input_map or {})
    if not all(isinstance(k, (str, bytes)) for k in input_map):
        raise TypeError("Argument `input_map` must be a dictionary mapping strings to Tensor objects.")
    if return_elements is not None and not all(isinstance(e, (str, bytes)) for e in return_elements):
        raise TypeError("Argument `return_elements` must be a list of strings.")
    graph = get_default_graph()
    data = graph_def.SerializeToString()
    wanted = [e.decode() if isinstance(e, bytes) else e for e in return_elements or ()]
    outputs = [_endpoint(e) for e in wanted if ":" in e]
    nodes = [e for e in wanted if ":" not in e]
    rows = []
    scope_name = "import" if name is None else name
    with graph.name_scope(scope_name) as scope:
        if not all(isinstance(v, _headrace.Tensor) for v in input_map.values()):
            input_map = _converted(graph, scope_name, input_map)
        rows = [_endpoint(k) + (v,) for k, v in input_map.items()]
        controls, device = _surroundings(graph)
        producer = producer_op_list.SerializeToString() if producer_op_list is not None else b""
        tensors, ops, unused, first = _headrace.import_graph_def(
            graph, data, scope[:-1] if scope_name else "", rows, outputs, nodes, device, controls, producer)
        _decorate_new(graph, first)
    if unused:
        names = [k.decode() if isinstance(k, bytes) else k for k in input_map]
        missing = [names[i] for i in unused]
        raise ValueError("Attempted to map inputs that were not found in graph_def: [%s]" % ", ".join(missing))
    if return_elements is None:
        return None
    tensors, ops = iter(tensors), iter(ops)
    return [next(tensors) if ":" in e else next(ops) for e in wanted]


def _converted(graph, scope_name, input_map):
    from headrace.tensor_util import convert_to_tensor
    if not scope_name:
        raise ValueError("tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try calling "
                         "tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def().")
    with graph.name_scope("_inputs"):
        return dict((k, convert_to_tensor(v)) for k, v in input_map.items())


def _surroundings(graph):
    """Control inputs of the scopes around, and their device when they name one for all."""
    controls = []
    for scope in graph._controls:
        controls.extend(op for op in scope.ops if op not in controls)
    device = ""
    if graph._devices and not any(callable(d) for d in graph._devices):
        device = graph._device_for("", "", [])
    return controls, device


def _decorate_new(graph, first):
    """Device functions see each imported node."""
    if not any(callable(d) for d in graph._devices):
        return
    from headrace.device import merge
    for op in graph._operations()[first:]:
        op._set_device(merge(graph._device_for(op.type, op.name, op.inputs), op.device))
