# SPDX-License-Identifier: Apache-2.0
"""Graphs as files: write_graph, and MetaGraphDefs (graph, saver, collections) out and in."""
import os

from .. import graph as G
from ..tensor import Operation, Tensor
from ..variables import Variable

_VARIABLE_COLLECTIONS = ("variables", "trainable_variables", "local_variables", "model_variables", "moving_average_variables", "global_step",
                         "concatenated_variables", "metric_variables")


def _write(message, path, as_text):
    """The message's file, whole or not at all."""
    temporary = "%s.tmp%d" % (path, os.getpid())
    try:
        if as_text:
            from google.protobuf import text_format
            with open(temporary, "w") as f:
                f.write(text_format.MessageToString(message))
        else:
            with open(temporary, "wb") as f:
                f.write(message.SerializeToString())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a GraphDef to logdir/name and gives that path."""
    graph_def = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, G.Graph) else graph_or_graph_def
    os.makedirs(logdir or ".", exist_ok=True)
    path = os.path.join(logdir, name)
    _write(graph_def, path, as_text)
    return path


# --- out ---------------------------------------------------------------------------------------------------------------------------------------
def _collection_def(items, export_scope):
    """A CollectionDef, or None where the items have no form there."""
    from ..protos import message
    d = message("CollectionDef")()
    if all(isinstance(v, Variable) for v in items):
        d.bytes_list.value.extend(p.SerializeToString() for p in (v.to_proto(export_scope) for v in items) if p is not None)
    elif all(isinstance(v, (Tensor, Operation)) for v in items):
        d.node_list.value.extend(v.name for v in items)
    elif all(isinstance(v, bool) is False and isinstance(v, int) for v in items):
        d.int64_list.value.extend(items)
    elif all(isinstance(v, float) for v in items):
        d.float_list.value.extend(items)
    elif all(isinstance(v, (str, bytes)) for v in items):
        d.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in items)
    elif all(hasattr(v, "to_proto") for v in items):
        d.bytes_list.value.extend(v.to_proto().SerializeToString() for v in items)
    else:
        return None
    return d


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None, as_text=False, graph=None, export_scope=None,
                      clear_devices=False, clear_extraneous_savers=False, strip_default_attrs=False, save_debug_info=False, **kwargs):
    """The MetaGraphDef of a graph; written to a file when one is named."""
    from ..protos import message
    from .. import VERSION
    graph = graph or G.get_default_graph()
    meta = message("MetaGraphDef")()
    if meta_info_def is not None:
        meta.meta_info_def.MergeFrom(meta_info_def)
    meta.meta_info_def.tensorflow_version, meta.meta_info_def.tensorflow_git_version = VERSION, "headrace"
    meta.graph_def.MergeFrom(graph.as_graph_def() if graph_def is None else graph_def)
    if export_scope:
        _keep_scope(meta.graph_def, export_scope.rstrip("/") + "/")
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    if saver_def is not None:
        meta.saver_def.MergeFrom(saver_def)
    for key in (graph.get_all_collection_keys() if collection_list is None else collection_list):
        items = graph.get_collection(key)
        d = _collection_def(items, export_scope) if items else None
        if d is not None:
            meta.collection_def[key].CopyFrom(d)
    if filename:
        folder = os.path.dirname(filename)
        if folder:
            os.makedirs(folder, exist_ok=True)
        _write(meta, filename, as_text)
    return meta


def _keep_scope(graph_def, scope):
    """Cuts a GraphDef down to one scope, whose name goes."""
    kept = [n for n in graph_def.node if n.name.startswith(scope)]
    names = {n.name for n in kept}

    def inside(reference):
        mark, bare = ("^", reference[1:]) if reference.startswith("^") else ("", reference)
        if bare.split(":")[0] not in names:
            raise ValueError("a node of scope %s takes %s from outside of it" % (scope, reference))
        return mark + bare[len(scope):]
    copies = []
    for n in kept:
        copy = type(n)()
        copy.CopyFrom(n)
        copy.name = n.name[len(scope):]
        copy.input[:] = [inside(i) for i in n.input]
        copies.append(copy)
    del graph_def.node[:]
    graph_def.node.extend(copies)


# --- in -----------------------------------------------------------------------------------------------------------------------------------------
def read_meta_graph_file(filename):
    from ..protos import message
    with open(filename, "rb") as f:
        data = f.read()
    meta = message("MetaGraphDef")()
    try:
        meta.ParseFromString(data)
        return meta
    except Exception:
        from google.protobuf import text_format
        try:
            return text_format.Merge(data.decode(), message("MetaGraphDef")())
        except (text_format.ParseError, UnicodeDecodeError):
            raise OSError("Cannot parse file %s: neither a binary nor a text MetaGraphDef" % filename) from None


def _take_collections(meta, graph, scope):
    from ..protos import message
    for key, d in meta.collection_def.items():
        kind = d.WhichOneof("kind")
        if kind is None:
            continue
        values = getattr(d, kind).value
        if kind == "node_list":
            for name in values:
                graph.add_to_collection(key, graph.as_graph_element(scope + "/" + name if scope else name))
        elif kind == "bytes_list" and key in _VARIABLE_COLLECTIONS:
            known = {v.name: v for v in graph.get_collection("variables")}
            for data in values:
                proto = message("VariableDef").FromString(data)
                name = scope + "/" + proto.variable_name if scope else proto.variable_name
                graph.add_to_collection(key, known[name] if name in known else Variable.from_proto(proto, scope))
        elif kind == "bytes_list" and key == G.GraphKeys.QUEUE_RUNNERS:
            from .queue_runners import QueueRunner
            for data in values:
                graph.add_to_collection(key, QueueRunner.from_proto(message("QueueRunnerDef").FromString(data), scope))
        elif kind == "bytes_list" and key in (G.GraphKeys.COND_CONTEXT, G.GraphKeys.WHILE_CONTEXT):
            from ..contexts import CondContext, WhileContext
            name, of = ("CondContextDef", CondContext) if key == G.GraphKeys.COND_CONTEXT else ("WhileContextDef", WhileContext)
            for data in values:
                graph.add_to_collection(key, of.from_proto(message(name).FromString(data), scope))
        else:
            for value in values:
                graph.add_to_collection(key, value)


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, return_elements=None, **kwargs):
    """Adds a MetaGraphDef to the default graph: its nodes and collections; gives its Saver (None without variables)."""
    from ..importer import import_graph_def
    from ..saver import Saver
    meta = meta_graph_or_file if hasattr(meta_graph_or_file, "graph_def") else read_meta_graph_file(os.fspath(meta_graph_or_file))
    graph = G.get_default_graph()
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    import_graph_def(meta.graph_def, name=import_scope or "", input_map=kwargs.get("input_map"))
    _take_collections(meta, graph, import_scope)
    if meta.HasField("saver_def"):
        return Saver.from_proto(meta.saver_def, import_scope)
    return Saver() if "variables" in meta.collection_def else None
