# SPDX-License-Identifier: Apache-2.0
"""tf.saved_model of TensorFlow 1: SavedModel folders written (SavedModelBuilder, simple_save) and loaded (loader.load).

A folder holds saved_model.pb (MetaGraphDefs, each under a set of tags), variables/ (one checkpoint for all of them) and assets/ (files that
string constants name). TensorFlow reads what is written here, and the other way round."""
import os
import shutil
import types

from . import graph as G

ASSETS_DIRECTORY, ASSETS_KEY = "assets", "saved_model_assets"
VARIABLES_DIRECTORY, VARIABLES_FILENAME = "variables", "variables"
DEBUG_DIRECTORY, DEBUG_INFO_FILENAME_PB = "debug", "saved_model_debug_info.pb"
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT, SAVED_MODEL_SCHEMA_VERSION = "saved_model.pb", "saved_model.pbtxt", 1
LEGACY_INIT_OP_KEY, MAIN_OP_KEY = "legacy_init_op", "saved_model_main_op"
_INIT_SIGNATURE = "__saved_model_init_op"
SERVING, TRAINING, GPU, TPU = "serve", "train", "gpu", "tpu"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
CLASSIFY_INPUTS, CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = "inputs", "classes", "scores"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
PREDICT_INPUTS, PREDICT_OUTPUTS, PREDICT_METHOD_NAME = "inputs", "outputs", "tensorflow/serving/predict"
REGRESS_INPUTS, REGRESS_OUTPUTS, REGRESS_METHOD_NAME = "inputs", "outputs", "tensorflow/serving/regress"


def _message(name, **fields):
    from .protos import message
    return message(name)(**fields)


def _copy_of(name, theirs):
    """The message as one of ours, whoever's class it is of."""
    return type(_message(name)).FromString(theirs.SerializeToString())


# --- signatures -----------------------------------------------------------------------------------------------------------------------------
def build_tensor_info(tensor):
    """A TensorInfo: name, type and shape of a tensor, or the names of a sparse tensor's parts."""
    info = _message("TensorInfo", dtype=tensor.dtype.base_dtype.as_datatype_enum)
    if all(hasattr(tensor, part) for part in ("indices", "values", "dense_shape")):
        shape = tensor.get_shape() if hasattr(tensor, "get_shape") else tensor.shape
        parts = info.coo_sparse
        parts.values_tensor_name, parts.indices_tensor_name = tensor.values.name, tensor.indices.name
        parts.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        shape, info.name = tensor.shape, tensor.name
    info.tensor_shape.CopyFrom(shape.as_proto())
    return info


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """The tensor of the graph that a TensorInfo describes."""
    graph = graph or G.get_default_graph()

    def find(name):
        return graph.get_tensor_by_name("%s/%s" % (import_scope, name) if import_scope else name)
    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return find(tensor_info.name)
    if encoding == "coo_sparse":
        from .gradients import SparseTensor
        parts = tensor_info.coo_sparse
        return SparseTensor(find(parts.indices_tensor_name), find(parts.values_tensor_name), find(parts.dense_shape_tensor_name))
    raise ValueError("Invalid TensorInfo.encoding: %s" % encoding)


def build_signature_def(inputs=None, outputs=None, method_name=None, **kwargs):
    """A SignatureDef of TensorInfos by name."""
    signature = _message("SignatureDef")
    for key, info in (inputs or {}).items():
        signature.inputs[key].CopyFrom(_copy_of("TensorInfo", info))
    for key, info in (outputs or {}).items():
        signature.outputs[key].CopyFrom(_copy_of("TensorInfo", info))
    if method_name is not None:
        signature.method_name = method_name
    return signature


def _infos(tensors):
    from .tensor_util import convert_to_tensor
    return {key: build_tensor_info(t if hasattr(t, "dtype") and hasattr(t, "shape") else convert_to_tensor(t)) for key, t in tensors.items()}


def predict_signature_def(inputs, outputs):
    """A signature for prediction from tensors by name."""
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), PREDICT_METHOD_NAME)


def _check_type(tensor, dtype, what):
    if tensor.dtype.base_dtype.name != dtype:
        raise ValueError("%s must be of type %s, not %s" % (what, dtype, tensor.dtype.base_dtype.name))


def classification_signature_def(examples, classes, scores):
    """A signature for classification: strings of examples in, strings of classes or floats of scores out."""
    if examples is None:
        raise ValueError("Classification `examples` cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    _check_type(examples, "string", "Classification input tensors")
    outputs = {}
    for key, tensor, dtype in ((CLASSIFY_OUTPUT_CLASSES, classes, "string"), (CLASSIFY_OUTPUT_SCORES, scores, "float32")):
        if tensor is not None:
            _check_type(tensor, dtype, "Classification %s" % key)
            outputs[key] = tensor
    return build_signature_def(_infos({CLASSIFY_INPUTS: examples}), _infos(outputs), CLASSIFY_METHOD_NAME)


def regression_signature_def(examples, predictions):
    """A signature for regression: strings of examples in, floats out."""
    if examples is None:
        raise ValueError("Regression `examples` cannot be None.")
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    _check_type(examples, "string", "Regression input tensors")
    _check_type(predictions, "float32", "Regression output tensors")
    return build_signature_def(_infos({REGRESS_INPUTS: examples}), _infos({REGRESS_OUTPUTS: predictions}), REGRESS_METHOD_NAME)


def is_valid_signature(signature_def):
    """Whether a signature has what its method asks for."""
    from .dtypes import as_dtype
    if signature_def is None:
        return False
    sides = {CLASSIFY_METHOD_NAME: (CLASSIFY_INPUTS, {CLASSIFY_OUTPUT_CLASSES: "string", CLASSIFY_OUTPUT_SCORES: "float32"}),
             REGRESS_METHOD_NAME: (REGRESS_INPUTS, {REGRESS_OUTPUTS: "float32"})}
    if signature_def.method_name == PREDICT_METHOD_NAME:
        return bool(signature_def.inputs) and bool(signature_def.outputs)
    if signature_def.method_name not in sides:
        return False
    key, outputs = sides[signature_def.method_name]
    if set(signature_def.inputs) != {key} or as_dtype(signature_def.inputs[key].dtype).name != "string":
        return False
    found = signature_def.outputs
    return bool(found) and all(k in outputs and as_dtype(info.dtype).name == outputs[k] for k, info in found.items())


# --- initialisers ---------------------------------------------------------------------------------------------------------------------------
def _main_op():
    """An operation that initialises variables and tables."""
    from .control import group, tables_initializer
    from .variables import global_variables_initializer, local_variables_initializer
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name):
    """As main_op.main_op, with the restoring operation after it."""
    from .control import group, tables_initializer
    with G.control_dependencies([_main_op()]):
        return group(restore_op_name, tables_initializer())


# --- writing --------------------------------------------------------------------------------------------------------------------------------
def _asset_path(tensor):
    from .tensor_util import constant_value
    value = constant_value(tensor)
    if value is None or tensor.dtype.name != "string" or value.size != 1:
        raise ValueError("An asset is a constant string that names a file, not %s" % tensor)
    return os.fsdecode(value.item() if hasattr(value, "item") else value)


def _asset_names(paths):
    """{path: name in assets/}: two files of one name are numbered apart."""
    names = {}
    for path in paths:
        if path in names:
            continue
        base = name = os.path.basename(path)
        number = 0
        while name in names.values():
            number += 1
            name = "%s_%d" % (base, number)
        names[path] = name
    return names


def _strip_defaults(meta):
    """Takes away the attrs that say what the op says by default."""
    from .protos import op_def
    defaults = {}
    for node in meta.graph_def.node:
        if node.op not in defaults:
            defaults[node.op] = {a.name: a.default_value for a in op_def(node.op).attr if a.HasField("default_value")}
        for name, value in defaults[node.op].items():
            if name in node.attr and node.attr[name] == value:
                del node.attr[name]
    meta.meta_info_def.stripped_default_attrs = True


class SavedModelBuilder:
    """Collects MetaGraphDefs and writes them at save(); the first also writes variables and assets."""

    def __init__(self, export_dir):
        self._dir = os.fsdecode(export_dir)
        self._model = _message("SavedModel", saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
        self._has_variables = False
        if os.path.isdir(self._dir) and os.listdir(self._dir):
            raise AssertionError("Export directory %s already exists, and isn't empty. Please choose a different export directory, or delete all the "
                                 "contents of the specified directory." % self._dir)
        os.makedirs(self._dir, exist_ok=True)

    # --- one MetaGraphDef
    def _add_assets(self, meta, assets):
        """Names the asset files in the MetaGraphDef and copies them."""
        paths = {tensor.name: _asset_path(tensor) for tensor in assets or ()}
        names = _asset_names(paths.values())
        folder = os.path.join(self._dir, ASSETS_DIRECTORY)
        for tensor, path in paths.items():
            asset = meta.asset_file_def.add(filename=names[path])
            asset.tensor_info.name = tensor
            meta.collection_def[ASSETS_KEY].any_list.value.add(type_url="type.googleapis.com/tensorflow.AssetFileDef", value=asset.SerializeToString())
        for path, name in names.items():
            os.makedirs(folder, exist_ok=True)
            target = os.path.join(folder, name)
            if not os.path.exists(target):
                shutil.copyfile(path, target)

    @staticmethod
    def _check_signatures(signatures):
        for name, signature in (signatures or {}).items():
            for side in (signature.inputs, signature.outputs):
                for key, info in side.items():
                    if info.WhichOneof("encoding") is None:
                        raise AssertionError("Tensor %r of signature %r has neither a name nor the parts of a sparse tensor" % (key, name))
                    if not info.dtype:
                        raise AssertionError("Tensor %r of signature %r has no dtype" % (key, name))

    def _add(self, graph, saver, tags, signatures, assets, init_op, legacy, clear_devices, strip_default_attrs):
        from .train.export import export_meta_graph
        meta = export_meta_graph(graph=graph, saver_def=saver.saver_def, clear_devices=clear_devices)
        for tag in tags:
            meta.meta_info_def.tags.append(tag)
        for key, signature in (signatures or {}).items():
            meta.signature_def[key].CopyFrom(_copy_of("SignatureDef", signature))
        if init_op is not None:
            op = graph.as_graph_element(init_op) if isinstance(init_op, str) else init_op
            meta.collection_def[LEGACY_INIT_OP_KEY if legacy else MAIN_OP_KEY].node_list.value[:] = [op.name]
        if strip_default_attrs:
            _strip_defaults(meta)
        self._add_assets(meta, assets)
        self._model.meta_graphs.append(meta)

    def _prepare(self, signature_def_map, main_op, legacy_init_op, graph, saver):
        """(saver, initialiser, whether in the old collection)."""
        from .saver import Saver
        self._check_signatures(signature_def_map)
        if main_op is not None and legacy_init_op is not None:
            raise ValueError("Only one of main_op and legacy_init_op can be given")
        if saver is None:
            with graph.as_default():
                saver = Saver(sharded=True, allow_empty=True)
        return saver, main_op if main_op is not None else legacy_init_op, main_op is None

    def add_meta_graph(self, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None, clear_devices=False, main_op=None,
                       strip_default_attrs=False, saver=None):
        """Adds the default graph under another set of tags; its variables are those that were saved."""
        if not self._has_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke `add_meta_graph_and_variables()` first.")
        graph = G.get_default_graph()
        saver, init_op, legacy = self._prepare(signature_def_map, main_op, legacy_init_op, graph, saver)
        self._add(graph, saver, tags, signature_def_map, assets_collection, init_op, legacy, clear_devices, strip_default_attrs)

    def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None, clear_devices=False,
                                     main_op=None, strip_default_attrs=False, saver=None):
        """Adds the session's graph, and writes the values that its variables have now."""
        if self._has_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` instead.")
        saver, init_op, legacy = self._prepare(signature_def_map, main_op, legacy_init_op, sess.graph, saver)
        folder = os.path.join(self._dir, VARIABLES_DIRECTORY)
        os.makedirs(folder, exist_ok=True)
        saver.save(sess, os.path.join(folder, VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
        self._add(sess.graph, saver, tags, signature_def_map, assets_collection, init_op, legacy, clear_devices, strip_default_attrs)
        self._has_variables = True

    def save(self, as_text=False):
        """Writes saved_model.pb (.pbtxt), whole or not at all, and gives its path in bytes."""
        from .train.export import _write
        path = os.path.join(self._dir, SAVED_MODEL_FILENAME_PBTXT if as_text else SAVED_MODEL_FILENAME_PB)
        _write(self._model, path, as_text)
        return os.fsencode(path)


Builder = SavedModelBuilder


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """A SavedModel for serving: one prediction signature from tensors by name."""
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(session, [SERVING], {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
                                         assets_collection=G.get_collection(G.GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op, clear_devices=True)
    builder.save()


# --- loading --------------------------------------------------------------------------------------------------------------------------------
def contains_saved_model(export_dir):
    """Whether the folder holds a SavedModel."""
    return any(os.path.isfile(os.path.join(os.fsdecode(export_dir), name)) for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT))


maybe_saved_model_directory = contains_saved_model


def _read_model(export_dir):
    from google.protobuf import message as protobuf_message
    from google.protobuf import text_format
    binary, text = (os.path.join(export_dir, name) for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT))
    try:
        if os.path.isfile(binary):
            with open(binary, "rb") as f:
                return type(_message("SavedModel")).FromString(f.read())
        if os.path.isfile(text):
            with open(text) as f:
                return text_format.Merge(f.read(), _message("SavedModel"))
    except (protobuf_message.DecodeError, text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError("Cannot parse file %s: %s." % (binary if os.path.isfile(binary) else text, e)) from None
    raise OSError("SavedModel file does not exist at: %s/{%s|%s}" % (export_dir, SAVED_MODEL_FILENAME_PBTXT, SAVED_MODEL_FILENAME_PB))


def _assets(meta, export_dir, scope):
    """{name of an asset's tensor: path of its file}."""
    found = list(meta.asset_file_def)
    if not found and ASSETS_KEY in meta.collection_def:
        found = [type(_message("AssetFileDef")).FromString(any_.value) for any_ in meta.collection_def[ASSETS_KEY].any_list.value]
    folder = os.path.join(export_dir, ASSETS_DIRECTORY)
    return {(scope + "/" if scope else "") + a.tensor_info.name: os.path.join(folder, a.filename) for a in found}


def _init_op_name(meta):
    if _INIT_SIGNATURE in meta.signature_def:
        return meta.signature_def[_INIT_SIGNATURE].outputs[_INIT_SIGNATURE].name
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key in meta.collection_def and meta.collection_def[key].node_list.value:
            names = meta.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError("Expected exactly one op in collection %r, found %d: %s" % (key, len(names), list(names)))
            return names[0]
    return None


class SavedModelLoader:
    """A folder that is there; each step of loading by itself."""

    def __init__(self, export_dir):
        self._dir = os.fsdecode(export_dir)
        self._model = _read_model(self._dir)

    export_dir = property(lambda self: self._dir)
    saved_model = property(lambda self: self._model)
    variables_path = property(lambda self: os.path.join(self._dir, VARIABLES_DIRECTORY, VARIABLES_FILENAME))

    def get_meta_graph_def_from_tags(self, tags):
        wanted = {tags} if isinstance(tags, str) else set(tags)
        available = [set(m.meta_info_def.tags) for m in self._model.meta_graphs]
        for meta, found in zip(self._model.meta_graphs, available):
            if found == wanted:
                return meta
        raise RuntimeError("MetaGraphDef associated with tags %s could not be found in SavedModel, with available tags '%s'." %
                           (str(sorted(wanted)).strip("[]"), available))

    def load_graph(self, graph, tags, import_scope=None, **saver_kwargs):
        """Adds the graph; gives its Saver (None without variables)."""
        from .train.export import import_meta_graph
        meta = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return import_meta_graph(meta, import_scope=import_scope, **saver_kwargs), [None]

    def restore_variables(self, sess, saver, import_scope=None):
        if saver is not None and os.path.exists(self.variables_path + ".index"):
            saver.restore(sess, self.variables_path)

    def run_init_ops(self, sess, tags, import_scope=None):
        meta = self.get_meta_graph_def_from_tags(tags)
        name = _init_op_name(meta)
        if name:
            name = import_scope + "/" + name if import_scope else name
            feeds = {sess.graph.as_graph_element(k): path for k, path in _assets(meta, self._dir, import_scope).items()}
            sess.run(sess.graph.as_graph_element(name.split(":")[0]), feeds)

    def load(self, sess, tags, import_scope=None, **saver_kwargs):
        saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Adds the model with these tags to the session's graph, restores its variables and runs its initialiser; gives the MetaGraphDef."""
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


# --- the older names, in modules --------------------------------------------------------------------------------------------------------------
def _gathered(names):
    return types.SimpleNamespace(**{name: globals()[name] for name in names.split()})


builder = _gathered("SavedModelBuilder")
loader = _gathered("load maybe_saved_model_directory contains_saved_model SavedModelLoader")
utils = _gathered("build_tensor_info get_tensor_from_tensor_info")
signature_def_utils = _gathered("build_signature_def classification_signature_def is_valid_signature predict_signature_def regression_signature_def")
tag_constants = _gathered("SERVING TRAINING GPU TPU")
signature_constants = _gathered("DEFAULT_SERVING_SIGNATURE_DEF_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
                                "PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS")
constants = _gathered("ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY MAIN_OP_KEY SAVED_MODEL_FILENAME_PB "
                      "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY VARIABLES_FILENAME")
main_op = types.SimpleNamespace(main_op=_main_op, main_op_with_restore=main_op_with_restore)
