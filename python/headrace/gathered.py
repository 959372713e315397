# SPDX-License-Identifier: Apache-2.0
"""Modules that hold other modules' functions under TensorFlow's newer names: `tf.math.log`, `tf.random.normal`, `tf.io.gfile`.

A name is looked up in the module's own row, then at the top level."""
import sys
import types

# module -> its own names, "there=tf name" or "there=@module.name" of the package; just the name where both are one
_ROWS = {
    "math":
        "reduce_variance=@math.reduce_variance reduce_std=@math.reduce_std log_sigmoid=@math.log_sigmoid l2_normalize=@nn.l2_normalize "
        "softmax=@nn.softmax log_softmax=@nn.log_softmax softplus=@nn.softplus softsign=@nn.softsign top_k=@math.top_k in_top_k=@math.in_top_k "
        "zero_fraction=@nn.zero_fraction argmax mod reduce_euclidean_norm=@math.reduce_euclidean_norm ceil invert_permutation "
        "special=@gathered.math_special erfinv xlogy rint unsorted_segment_sum accumulate_n confusion_matrix=@math.confusion_matrix",
    "linalg":
        "matmul matvec=@math.matvec transpose=matrix_transpose diag=matrix_diag diag_part=matrix_diag_part det=matrix_determinant inv=matrix_inverse "
        "band_part=matrix_band_part set_diag=matrix_set_diag solve=matrix_solve l2_normalize=@nn.l2_normalize tensor_diag=diag "
        "tensor_diag_part=diag_part triangular_solve=matrix_triangular_solve",
    "random":
        "uniform=random_uniform normal=random_normal truncated_normal shuffle=random_shuffle set_random_seed set_seed=set_random_seed "
        "gamma=random_gamma poisson=random_poisson categorical=@random.categorical get_seed "
        "log_uniform_candidate_sampler=@nn.log_uniform_candidate_sampler uniform_candidate_sampler=@nn.uniform_candidate_sampler "
        "learned_unigram_candidate_sampler=@nn.learned_unigram_candidate_sampler fixed_unigram_candidate_sampler=@nn.fixed_unigram_candidate_sampler",
    "bitwise": "",
    "strings":
        "join=string_join split=@strings.string_split_v2 to_number=string_to_number to_hash_bucket_fast=string_to_hash_bucket_fast "
        "to_hash_bucket_strong=string_to_hash_bucket_strong to_hash_bucket=string_to_hash_bucket as_string strip=string_strip "
        "length=@strings.string_length lower=@strings.string_lower upper=@strings.string_upper substr format=@strings.string_format regex_replace "
        "regex_full_match reduce_join=@strings.reduce_join",
    "io":
        "gfile read_file write_file write_graph=@train.write_graph decode_raw decode_csv decode_png=@image.decode_png encode_png=@image.encode_png "
        "decode_image=@image.decode_image decode_jpeg=@image.decode_jpeg encode_jpeg=@image.encode_jpeg matching_files parse_tensor serialize_tensor "
        "TFRecordWriter=@python_io.TFRecordWriter TFRecordOptions=@python_io.TFRecordOptions "
        "TFRecordCompressionType=@python_io.TFRecordCompressionType tf_record_iterator=@python_io.tf_record_iterator",
    "dtypes":
        "as_dtype cast DType saturate_cast complex",
    "debugging":
        "Assert is_finite assert_all_finite=@nn.assert_all_finite",
    "quantization": "",
    "sparse":
        "placeholder=sparse_placeholder SparseTensor",
    "manip":
        "roll gather_nd",
    "version":
        "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
    "graph_util":
        "convert_variables_to_constants=@graph_util.convert_variables_to_constants extract_sub_graph=@graph_util.extract_sub_graph "
        "remove_training_nodes=@graph_util.remove_training_nodes import_graph_def must_run_on_cpu=@graph_util.must_run_on_cpu "
        "tensor_shape_from_node_def_name=@graph_util.tensor_shape_from_node_def_name",
    "nest":
        "flatten=@nest.flatten map_structure=@nest.map_structure pack_sequence_as=@nest.pack_sequence_as "
        "assert_same_structure=@nest.assert_same_structure is_nested=@nest.is_nested",
    "compat":
        "as_bytes=@compat_names.as_bytes as_text=@compat_names.as_text as_str=@compat_names.as_text as_str_any=@compat_names.as_str_any "
        "path_to_str=@compat_names.path_to_str bytes_or_text_types=@compat_names.bytes_or_text_types real_types=@compat_names.real_types "
        "integral_types=@compat_names.integral_types complex_types=@compat_names.complex_types forward_compatible=@compat_names.forward_compatible "
        "dimension_value dimension_at_index=@compat_names.dimension_at_index v1=@compat_names.v1",
    "resource_loader": "",
    "sysconfig":
        "get_include=@library.get_include get_lib=@library.get_lib"}
_STRICT = frozenset(("nest", "compat", "graph_util", "version", "sysconfig"))


def _row(module_name):
    """{name there: place}"""
    return {there: place or there for there, _, place in (item.partition("=") for item in _ROWS[module_name].split())}


class _Gathered(types.ModuleType):
    def __getattr__(self, name):
        import headrace
        if name.startswith("__"):
            raise AttributeError(name)
        short = self.__name__.rpartition(".")[2].replace("tf_", "", 1)
        place = _row(short).get(name, None if short in _STRICT else name)
        try:
            if place is None:
                raise AttributeError(name)
            if place.startswith("@"):
                module, _, attribute = place[1:].partition(".")
                found = getattr(headrace._import(module), attribute)
            else:
                found = getattr(headrace, place)
        except (AttributeError, ImportError):
            raise AttributeError("module 'headrace.%s' has no attribute %r" % (short, name)) from None
        setattr(self, name, found)
        return found


_made = {}


def module(name):
    """The gathered module; None for a name that has no row yet."""
    if name not in _ROWS:
        return None
    if name not in _made:
        _made[name] = sys.modules.setdefault("headrace.tf_" + name, _Gathered("headrace.tf_" + name, "tf." + name))
    return _made[name]
