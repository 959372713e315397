# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.tools.freeze_graph: a graph and a checkpoint as one GraphDef without variables, for `import_graph_def` and for programs in C."""
from . import gfile
from .graph import Graph
from .graph_util import convert_variables_of_checkpoint, convert_variables_to_constants
from .protos import message
from .session import Session


def _read(path, kind, name, binary):
    """The message in a file, binary or text."""
    if not gfile.Exists(path):
        raise IOError("Input %s file '%s' does not exist!" % (name, path))
    with gfile.GFile(path, "rb" if binary else "r") as f:
        if binary:
            return message(kind).FromString(f.read())
        from google.protobuf import text_format
        return text_format.Parse(f.read(), message(kind)())


def _names(text):
    return [n for n in text.replace(" ", "").split(",") if n] if text else None


def _restored(session, graph_def, saver_def, meta_graph_def, checkpoint, saved_model, tags, initializer_nodes):
    """Brings values into the session; the GraphDef whose variables they are."""
    from . import saved_model as models, train
    if saved_model:
        return models.loader.load(session, tags, saved_model).graph_def
    if meta_graph_def is not None:
        train.import_meta_graph(meta_graph_def, clear_devices=True).restore(session, checkpoint)
        for name in _names(initializer_nodes) or ():
            session.run(session.graph.get_operation_by_name(name))
        return meta_graph_def.graph_def
    from .importer import import_graph_def
    import_graph_def(graph_def, name="")
    train.Saver(saver_def=saver_def).restore(session, checkpoint)
    return graph_def


def freeze_graph_with_def_protos(input_graph_def, input_saver_def, input_checkpoint, output_node_names, restore_op_name, filename_tensor_name,
                                 output_graph, clear_devices, initializer_nodes, variable_names_whitelist="", variable_names_denylist="",
                                 input_meta_graph_def=None, input_saved_model_dir=None, saved_model_tags=None, checkpoint_version=2):
    """The frozen GraphDef, also written to output_graph unless that is "". Values come from a SavedModel, from a MetaGraph's or a SaverDef's restore
    operation, or else from what the checkpoint has under the variables' names. restore_op_name and filename_tensor_name are not used."""
    from . import train
    if not input_saved_model_dir and not train.checkpoint_exists(input_checkpoint):
        raise ValueError("Input checkpoint '%s' doesn't exist!" % input_checkpoint)
    outputs = _names(output_node_names)
    if not outputs:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    choice = _names(variable_names_whitelist), _names(variable_names_denylist)
    for d in (input_graph_def, input_meta_graph_def and input_meta_graph_def.graph_def):
        for node in d.node if d and clear_devices else ():
            node.device = ""
    if input_saved_model_dir or input_meta_graph_def is not None or input_saver_def is not None:
        with Graph().as_default() as graph, Session(graph=graph) as session:
            source = _restored(session, input_graph_def, input_saver_def, input_meta_graph_def, input_checkpoint, input_saved_model_dir,
                               saved_model_tags or [], initializer_nodes)
            frozen = convert_variables_to_constants(session, source, outputs, *choice)
    else:
        frozen = convert_variables_of_checkpoint(train.NewCheckpointReader(input_checkpoint), input_graph_def, outputs, *choice)
    if clear_devices:
        for node in frozen.node:
            node.device = ""
    if output_graph:
        with gfile.GFile(output_graph, "wb") as f:
            f.write(frozen.SerializeToString(deterministic=True))
    return frozen


def freeze_graph(input_graph, input_saver, input_binary, input_checkpoint, output_node_names, restore_op_name, filename_tensor_name, output_graph,
                 clear_devices, initializer_nodes, variable_names_whitelist="", variable_names_denylist="", input_meta_graph=None,
                 input_saved_model_dir=None, saved_model_tags="serve", checkpoint_version=2):
    """freeze_graph_with_def_protos of files: a GraphDef, or a MetaGraphDef, or a SavedModel's folder; input_saver is a SaverDef's file or ""."""
    graph_def = _read(input_graph, "GraphDef", "graph", input_binary) if input_graph and not input_saved_model_dir else None
    meta_graph_def = _read(input_meta_graph, "MetaGraphDef", "meta graph", input_binary) if input_meta_graph else None
    saver_def = _read(input_saver, "SaverDef", "saver", input_binary) if input_saver else None
    return freeze_graph_with_def_protos(graph_def, saver_def, input_checkpoint, output_node_names, restore_op_name, filename_tensor_name, output_graph,
                                        clear_devices, initializer_nodes, variable_names_whitelist, variable_names_denylist, meta_graph_def,
                                        input_saved_model_dir, _names(saved_model_tags), checkpoint_version)
