# SPDX-License-Identifier: Apache-2.0
"""tf.graph_util: parts of GraphDefs, and graphs frozen with their variables' values."""


def _inputs(node):
    for name in node.input:
        yield name.lstrip("^").partition(":")[0]


def extract_sub_graph(graph_def, dest_nodes):
    """The nodes that dest_nodes need, in their order."""
    from headrace.protos import message
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = dict((n.name, n) for n in graph_def.node)
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError("%s is not in graph" % name)
    keep, todo = set(), list(dest_nodes)
    while todo:
        name = todo.pop()
        if name not in keep:
            keep.add(name)
            todo.extend(_inputs(nodes[name]))
    out = message("GraphDef")()
    out.node.extend(n for n in graph_def.node if n.name in keep)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def _variable_names(part, allowed, refused):
    return [n.name for n in part.node if n.op in _VARIABLES and (allowed is None or n.name in allowed) and n.name not in (refused or ())]


def with_constants(part, values):
    """The GraphDef with the variables named in `values` as constants of these values, and reads of them as identities."""
    from headrace.protos import message
    from headrace.tensor_util import make_tensor_proto
    out = message("GraphDef")()
    for n in part.node:
        new = out.node.add()
        if n.name in values:
            dtype = n.attr["dtype"]
            new.op, new.name = "Const", n.name
            new.attr["dtype"].CopyFrom(dtype)
            new.attr["value"].tensor.CopyFrom(make_tensor_proto(values[n.name], dtype.type))
        elif n.op == "ReadVariableOp" and n.input[0] in values:
            new.op, new.name = "Identity", n.name
            new.input.append(n.input[0])
            new.attr["T"].CopyFrom(n.attr["dtype"])
        else:
            new.CopyFrom(n)
    out.library.CopyFrom(part.library)
    out.versions.CopyFrom(part.versions)
    return out


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None, variable_names_blacklist=None):
    """The graph that output_node_names need, each variable in it a constant of its value in sess."""
    part = extract_sub_graph(input_graph_def, output_node_names)
    names = _variable_names(part, variable_names_whitelist, variable_names_blacklist)
    handles = {n.name for n in part.node if n.op == "VarHandleOp"}
    reads = {}
    for n in sess.graph.as_graph_def().node:
        if n.op == "ReadVariableOp" and n.input[0] in handles:
            reads.setdefault(n.input[0], n.name + ":0")
    return with_constants(part, dict(zip(names, sess.run([reads[n] if n in handles else n + ":0" for n in names]))) if names else {})


def convert_variables_of_checkpoint(reader, input_graph_def, output_node_names, variable_names_whitelist=None, variable_names_blacklist=None):
    """The same with the values that a checkpoint has under the variables' names."""
    part = extract_sub_graph(input_graph_def, output_node_names)
    names = _variable_names(part, variable_names_whitelist, variable_names_blacklist)
    if not any(n.op in _VARIABLES for n in input_graph_def.node):
        raise ValueError("No variables were found in this model. It is likely the model was frozen previously. You cannot freeze a graph twice.")
    absent = [n for n in names if not reader.has_tensor(n)]
    if absent:
        raise ValueError("The checkpoint has no value for %s" % ", ".join(absent))
    return with_constants(part, {n: reader.get_tensor(n) for n in names})


def remove_training_nodes(input_graph, protected_nodes=None):
    """Without checks and identities that only training needs."""
    from headrace.protos import message
    protected = set(protected_nodes or ())
    controlled = {name.lstrip("^") for n in input_graph.node for name in n.input if name.startswith("^")}
    skip = {}
    for n in input_graph.node:
        data = [i for i in n.input if not i.startswith("^")]
        if n.op in ("Identity", "CheckNumerics") and n.name not in protected | controlled and len(data) == len(n.input) == 1:
            skip[n.name] = data[0]
    out = message("GraphDef")()
    for n in input_graph.node:
        if n.name in skip:
            continue
        new = out.node.add()
        new.CopyFrom(n)
        for i, name in enumerate(new.input):
            while name in skip:
                name = skip[name]
            new.input[i] = name
    out.versions.CopyFrom(input_graph.versions)
    return out


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    return True


def tensor_shape_from_node_def_name(graph, input_name):
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).shape
