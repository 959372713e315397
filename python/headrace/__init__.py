# SPDX-License-Identifier: Apache-2.0
"""`import headrace as tf`: TensorFlow 1's Python interface in graph mode (tensorflow.compat.v1), on the Headrace runtime.

Little is loaded here: a name is found in the tables below when it is first asked for, then kept. A name that is in none is looked
for among the registered ops (op_gen.py)."""
import sys
import types

_SHADOWED = frozenset(("device", "gradients", "graph_util", "math", "nest", "random", "strings", "variable_scope"))


class _Package(types.ModuleType):
    """Files of the package called like something else in `tf.` do not take its place when they are imported."""

    def __setattr__(self, name, value):
        if not (name in _SHADOWED and isinstance(value, types.ModuleType) and value.__name__ == "headrace." + name):
            types.ModuleType.__setattr__(self, name, value)


sys.modules[__name__].__class__ = _Package
from headrace import _headrace, dtypes  # noqa: E402
from headrace.graph import Graph, GraphKeys, get_default_graph, name_scope  # noqa: E402
from headrace.session import Session  # noqa: E402

__version__ = "0.1.0"
VERSION, GIT_VERSION, COMPILER_VERSION = "1.15.5", "headrace " + __version__, ""  # of the interface that scripts ask for
GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER = _headrace.GRAPH_VERSION, 0, 0
newaxis = None

# module of the package -> names that it gives to `tf.` (another name there: tf_name=its_name)
_NAMES = {
    "graph":
        "add_to_collection add_to_collections colocate_with container control_dependencies device get_collection "
        "get_collection_ref init_scope op_scope reset_default_graph set_random_seed has_default_graph",
    "tensor":
        "Tensor Operation",
    "tensor_shape":
        "TensorShape Dimension dimension_value",
    "tensor_util":
        "constant convert_to_tensor convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor is_tensor "
        "make_ndarray make_tensor_proto register_tensor_conversion_function get_static_value=constant_value",
    "dtypes":
        "DType as_dtype QUANTIZED_DTYPES",
    "session":
        "InteractiveSession get_default_session",
    "math":
        "abs sign negative square sqrt rsqrt exp floor ceil round sigmoid real imag complex angle conj cast to_float to_double "
        "to_int32 to_int64 to_bfloat16 to_complex64 to_complex128 saturate_cast truediv divide div div_no_nan floordiv mod "
        "floormod add multiply subtract pow equal not_equal logical_xor scalar_mul add_n accumulate_n cumsum cumprod range "
        "reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any reduce_logsumexp count_nonzero argmax "
        "argmin arg_max arg_min matmul tensordot einsum trace bincount clip_by_value clip_by_norm global_norm "
        "clip_by_global_norm norm lbeta mul=multiply sub=subtract neg=negative",
    "array":
        "placeholder placeholder_with_default sparse_placeholder identity shape shape_n size rank reshape transpose expand_dims "
        "squeeze concat stack unstack split gather gather_nd batch_gather slice strided_slice one_hot tile pad where where_v2 "
        "linspace lin_space=linspace zeros ones zeros_like ones_like fill eye boolean_mask sequence_mask meshgrid reverse "
        "reverse_sequence unique unique_with_counts broadcast_dynamic_shape broadcast_static_shape repeat roll diag diag_part "
        "matrix_diag matrix_diag_part matrix_set_diag matrix_transpose space_to_depth depth_to_space sort argsort ensure_shape "
        "stop_gradient parallel_stack pack=stack unpack=unstack searchsorted setdiff1d histogram_fixed_width "
        "required_space_to_batch_paddings space_to_batch batch_to_space sparse_to_dense edit_distance quantize dequantize scatter_nd "
        "tensor_scatter_nd_update",
    "random":
        "random_uniform random_normal truncated_normal random_shuffle random_crop multinomial random_gamma random_poisson "
        "get_seed",
    "control":
        "group tuple no_op Assert assert_equal assert_less assert_less_equal assert_greater "
        "assert_greater_equal assert_positive assert_negative assert_non_negative assert_non_positive assert_rank "
        "assert_rank_at_least assert_type assert_scalar Print print py_func with_dependencies numeric_py_func=py_func "
        "executing_eagerly tables_initializer initialize_all_tables=tables_initializer",
    "device":
        "DeviceSpec",
    "flow":
        "cond case while_loop smart_cond",
    "tensor_array":
        "TensorArray",
    "functional":
        "map_fn foldl foldr scan",
    "function":
        "Defun",
    "gradients":
        "gradients hessians IndexedSlices IndexedSlicesValue SparseTensor SparseTensorValue RegisterGradient NotDifferentiable "
        "NoGradient AggregationMethod custom_gradient no_gradient=NotDifferentiable recompute_grad",
    "queues":
        "FIFOQueue RandomShuffleQueue PaddingFIFOQueue QueueBase",
    "importer":
        "import_graph_def",
    "library":
        "load_op_library load_library",
    "files":
        "read_file write_file decode_csv decode_raw",
    "strings":
        "as_string string_join string_split string_to_number substr string_to_hash_bucket regex_replace",
    "compat_names":
        "disable_v2_behavior enable_v2_behavior disable_eager_execution enable_eager_execution disable_resource_variables "
        "enable_resource_variables resource_variables_enabled disable_control_flow_v2 enable_control_flow_v2 "
        "control_flow_v2_enabled disable_tensor_equality enable_tensor_equality disable_v2_tensorshape enable_v2_tensorshape "
        "disable_mixed_precision_graph_rewrite get_logger no_regularizer",
    # --- the library modules
    "variables":
        "Variable VariableV1=Variable global_variables local_variables trainable_variables model_variables "
        "moving_average_variables all_variables=global_variables global_variables_initializer local_variables_initializer "
        "variables_initializer initialize_all_variables=global_variables_initializer initialize_variables=variables_initializer "
        "initialize_local_variables=local_variables_initializer is_variable_initialized report_uninitialized_variables "
        "assert_variables_initialized assign assign_add assign_sub scatter_add scatter_sub scatter_update scatter_mul "
        "scatter_div scatter_nd_add scatter_nd_sub scatter_nd_update count_up_to VariableSynchronization VariableAggregation",
    "variable_scope":
        "variable_scope get_variable get_variable_scope VariableScope AUTO_REUSE variable_op_scope get_local_variable "
        "variable_creator_scope make_template no_regularizer fixed_size_partitioner variable_axis_size_partitioner "
        "min_max_variable_partitioner",
    "initializers":
        "zeros_initializer ones_initializer constant_initializer random_uniform_initializer random_normal_initializer "
        "truncated_normal_initializer variance_scaling_initializer uniform_unit_scaling_initializer orthogonal_initializer "
        "glorot_uniform_initializer glorot_normal_initializer",
}
_MODULES = {
    "nn": "nn",
    "layers": "layers",
    "losses": "losses",
    "metrics": "metrics",
    "train": "train",
    "summary": "summary",
    "image": "image",
    "initializers": "initializers",
    "errors": "errors",
    "logging": "logging",
    "flags": "flags",
    "app": "app",
    "gfile": "gfile",
    "test": "test_names",
    "saved_model": "saved_model",
    "python_io": "python_io",
    "contrib": "contrib",
    "examples": "examples"}
# modules that gather functions under other names: tf.math.log is tf.log
_GATHERED = ("math", "linalg", "random", "bitwise", "strings", "io", "dtypes", "debugging", "quantization", "sparse", "manip", "version",
             "graph_util", "sysconfig", "nest", "config", "compat", "resource_loader", "autograph", "random_names", "signal", "spectral",
             "sets", "lookup", "data")
_MESSAGES = frozenset(
    """GraphDef NodeDef AttrValue NameAttrList ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions RunMetadata Summary
    SummaryMetadata HistogramProto MetaGraphDef Event LogMessage SessionLog TensorInfo""".split())
_where = None


def _find_home(name):
    """(module, attribute) of a name in `_NAMES`, or None."""
    global _where
    if _where is None:
        _where = {}
        for module, names in _NAMES.items():
            for item in names.split():
                shown, _, own = item.partition("=")
                _where.setdefault(shown, (module, own or shown))
    return _where.get(name)


def _import(module):
    from importlib import import_module
    return import_module("headrace." + module)


def _look_up(name):
    home = _find_home(name)
    if home is not None:
        return getattr(_import(home[0]), home[1])
    if name in _MODULES:
        return _import(_MODULES[name])
    if name in _GATHERED:
        return _import("gathered").module(name)
    if name == "python":
        return _import("internal_names").module("")
    if name == "core":
        return _import("internal_names").core()
    if name in _MESSAGES:
        return _import("protos").message(name)
    if name == "raw_ops":
        return _import("op_gen").raw_ops
    found = dtypes._by_name.get(name)
    if found is not None:
        return found
    return _import("op_gen").exported(name)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    found = _look_up(name)
    if found is None:
        if name == "FLAGS":
            return _import("flags").FLAGS
        raise AttributeError("module 'headrace' has no attribute %r" % name)
    if "<locals>" in getattr(found, "__qualname__", ""):
        found.__name__ = found.__qualname__ = name  # made by a factory: a wrong argument is blamed on reduce_mean(), not on the factory's insides
    globals()[name] = found
    return found


def __dir__():
    _find_home("")
    return sorted(set(globals()) | set(_where) | set(_MODULES) | set(_GATHERED) | _MESSAGES | set(dtypes._by_name))


float32, int32, int64, string = dtypes.float32, dtypes.int32, dtypes.int64, dtypes.string
