# SPDX-License-Identifier: Apache-2.0
"""A callable for each registered op, made when first asked for, and which `tf.` name is which op.

`gen.MatMul(a, b, transpose_a=True, name="x")`; `raw_ops.MatMul(a=a, b=b)`. Arguments are called as TensorFlow calls them: `_RENAMES` lists
the few whose name in the op's signature is another."""
from headrace import _headrace

_REDUCTION = {"reduction_indices": "axis"}
_RENAMES = {name: _REDUCTION for name in ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")}
_RENAMES.update(ExpandDims={"dim": "axis"}, Select={"t": "x", "e": "y"}, Split={"split_dim": "axis"}, SplitV={"split_dim": "axis"},
                Squeeze={"squeeze_dims": "axis"}, Where={"input": "condition"})


class _Ops(object):
    """Attributes are ops by their registered name."""

    def __init__(self, keywords_only):
        self._keywords_only = keywords_only

    def __getattr__(self, name):
        if name[:1].islower() or name.startswith("__") or not _headrace.has_op(name):
            raise AttributeError("no op named %r is registered" % name)
        function = _headrace.op_function(name, _RENAMES.get(name), self._keywords_only)
        setattr(self, name, function)
        return function

    def __dir__(self):
        return _headrace.op_names()


gen = _Ops(False)
raw_ops = _Ops(True)

# tf.name (top level and in modules such as tf.math) -> op, for functions that are the op itself.
_SAME = """
acos acosh asin asinh atan atan2 atanh betainc bitcast broadcast_to check_numerics cholesky cos cosh cross diag digamma
dynamic_partition dynamic_stitch erf erfc erfinv expm1 fft fft2d:FFT2D fft3d:FFT3D ifft:IFFT ifft2d:IFFT2D ifft3d:IFFT3D
floor_div:FloorDiv floormod:FloorMod greater greater_equal igamma igammac identity_n:IdentityN invert_permutation is_finite is_inf is_nan less
less_equal lgamma log log1p logical_and logical_not logical_or matching_files matrix_band_part matrix_determinant matrix_inverse matrix_solve
matrix_square_root matrix_triangular_solve maximum minimum mod:FloorMod negative:Neg no_op:NoOp polygamma qr realdiv:RealDiv reciprocal reverse:ReverseV2
reverse_v2:ReverseV2 rint scatter_nd:ScatterNd segment_max segment_mean segment_min segment_prod segment_sum sin sinh
space_to_batch_nd:SpaceToBatchND batch_to_space_nd:BatchToSpaceND square squared_difference string_to_hash_bucket_fast
string_to_hash_bucket_strong tan tanh tensor_scatter_add tensor_scatter_nd_add:TensorScatterAdd tensor_scatter_sub
tensor_scatter_nd_sub:TensorScatterSub tensor_scatter_nd_max:TensorScatterMax tensor_scatter_nd_min:TensorScatterMin tile timestamp
truncatediv:TruncateDiv truncatemod:TruncateMod unravel_index unsorted_segment_max unsorted_segment_min unsorted_segment_prod
unsorted_segment_sum write_file zeta floor sqrt:Sqrt rsqrt:Rsqrt exp ceil sigmoid:Sigmoid sign xlogy xdivy
as_string decode_base64 encode_base64 parse_tensor serialize_tensor string_strip regex_full_match
guarantee_const tensor_scatter_update left_shift:LeftShift right_shift:RightShift invert:Invert bitwise_and:BitwiseAnd bitwise_or:BitwiseOr
bitwise_xor:BitwiseXor population_count:PopulationCount l2_loss:L2Loss lin_space:LinSpace ndtri
matrix_logarithm:MatrixLogarithm
softsign softplus relu elu selu fake_quant_with_min_max_args fake_quant_with_min_max_vars fake_quant_with_min_max_vars_per_channel
sparse_matmul:SparseMatMul
""".split()
_table = None


def _camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def exported(name):
    """The op's callable for a TensorFlow name, or None."""
    global _table
    if _table is None:
        _table = {}
        for row in _SAME:
            key, _, op = row.partition(":")
            _table[key] = op or _camel(key)
    op = _table.get(name)
    return getattr(gen, op) if op and _headrace.has_op(op) else None
