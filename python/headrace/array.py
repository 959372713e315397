# SPDX-License-Identifier: Apache-2.0
"""Shapes and arrangement of elements: sugar over ops, with TensorFlow's names for what it makes."""
import builtins

import numpy as np

from headrace import _headrace, dtypes
from headrace.math import cast, reduce_max, reduce_prod
from headrace.graph import name_scope
from headrace.op_gen import gen
from headrace.tensor_shape import Dimension, TensorShape, as_shape, broadcast_shape
from headrace.tensor_util import constant, convert_to_tensor

_Tensor = _headrace.Tensor
_range = builtins.range


# --- sources ------------------------------------------------------------------------------------------------------------------------------
def placeholder(dtype, shape=None, name=None):
    return gen.Placeholder(dtype=dtype, shape=None if shape is None else as_shape(shape), name=name)


def placeholder_with_default(input, shape, name=None):
    return gen.PlaceholderWithDefault(input, as_shape(shape), name)


def sparse_placeholder(dtype, shape=None, name=None):
    from headrace.gradients import SparseTensor
    base = "" if name is None else name + "/"
    rank = None if shape is None else len(shape)
    dense = (placeholder(dtypes.int64, [rank], base + "shape" if name else None) if shape is None or any(d is None for d in shape)
             else convert_to_tensor(shape, dtypes.int64))
    return SparseTensor(values=placeholder(dtype, [None], base + "values" if name else None),
                        indices=placeholder(dtypes.int64, [None, rank], base + "indices" if name else None), dense_shape=dense)


def identity(input, name=None):
    if type(input).__name__ == "IndexedSlices":
        from headrace.gradients import IndexedSlices
        return IndexedSlices(gen.Identity(input.values, name), input.indices, input.dense_shape)
    return gen.Identity(input, name)


def stop_gradient(input, name=None):
    return gen.StopGradient(input, name)


def _constant_fill(value, dims, dtype, name):
    """A Const for up to 1,000 elements, as TensorFlow has it; else None."""
    count = 1
    for d in dims:
        count *= d
    if count >= 1000:
        return None
    return constant(np.broadcast_to(dtype._array_of(value), dims), dtype, name=name)


def _filled(value, default_name):
    def make(shape, dtype=dtypes.float32, name=None, layout=None):
        dtype = dtypes.as_dtype(dtype).base_dtype
        with name_scope(name, default_name, [shape]) as scope:
            fill = bool(value) if dtype is dtypes.bool else b"" if dtype is dtypes.string else value
            if not isinstance(shape, _Tensor):
                known = None
                try:
                    dims = as_shape(shape).as_list() if isinstance(shape, (list, tuple, TensorShape, int, np.integer, Dimension)) or \
                        isinstance(shape, np.ndarray) else None
                    known = dims is not None and None not in dims
                except (TypeError, ValueError):
                    known = False
                if known:
                    small = _constant_fill(fill, dims, dtype, scope)
                    if small is not None:
                        return small
                    shape = gen_shape_as_tensor(dims)
                else:
                    shape = convert_to_tensor(shape, dtypes.int32 if not _has_tensor(shape) else None,
                                              name="packed" if _has_tensor(shape) else "shape_as_tensor")
            if shape._rank != 1:
                shape = reshape(shape, [-1])
            return gen.Fill(shape, constant(fill, dtype), name=scope)
    make.__name__ = default_name
    return make


def gen_shape_as_tensor(dims):
    return constant(np.array(dims, np.int32), dtypes.int32, name="shape_as_tensor")


def _has_tensor(shape):
    return isinstance(shape, (list, tuple)) and any(isinstance(d, _Tensor) or hasattr(d, "_as_graph_element") for d in shape)


zeros, ones = _filled(0, "zeros"), _filled(1, "ones")


def fill(dims, value, name=None):
    return gen.Fill(dims, value, name)


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
        if optimize and tensor.shape.is_fully_defined() and wanted not in (dtypes.variant, dtypes.resource):
            return zeros(tensor.shape, wanted, scope)
        if wanted is not tensor.dtype.base_dtype:
            return zeros(shape_internal(tensor, optimize), wanted, scope)
        return gen.ZerosLike(tensor, scope)


def ones_like(tensor, dtype=None, name=None, optimize=True):
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        dims = _ones_shape(tensor, optimize)
        wanted = tensor.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
        one = True if wanted is dtypes.bool else 1
        return gen.Fill(dims, constant(one, wanted), name=scope)


def _ones_shape(tensor, optimize):
    if optimize and tensor.shape.is_fully_defined():
        with name_scope("Shape"):
            return gen_shape_as_tensor(tensor.shape.as_list())
    return gen.Shape(tensor)


def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]) as scope:
        square = num_columns is None
        batch = [] if batch_shape is None else batch_shape
        columns = num_rows if square else num_columns
        static = all(isinstance(d, (int, np.integer)) for d in (num_rows, columns)) and not isinstance(batch, _Tensor)
        if static:
            n = min(num_rows, columns)
            diagonal = ones(list(batch) + [n], dtype)
        else:
            n = gen.Minimum(num_rows, columns)
            diagonal = ones(concat([convert_to_tensor(batch, dtypes.int32), stack([n])], 0), dtype)
        if square:
            return matrix_diag(diagonal, name=scope)
        return gen.MatrixSetDiag(zeros(list(batch) + [num_rows, columns], dtype), diagonal, name=scope)


def linspace(start, stop, num, name=None, axis=0):
    """`num` values from start to stop, both included; scalars give a vector. One op, where TensorFlow composes it of sixty."""
    with name_scope(name, "linspace", [start, stop]) as scope:
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, start.dtype.base_dtype, name="stop")
        if start.dtype.is_integer:
            start, stop = cast(start, dtypes.float64), cast(stop, dtypes.float64)
        if start._rank == 0 and stop._rank == 0:
            return gen.LinSpace(start, stop, num, name=scope)
        steps = gen.LinSpace(constant(0.0, start.dtype), constant(1.0, start.dtype), num)
        start, stop = expand_dims(start, axis), expand_dims(stop, axis)
        rank = start.shape.rank
        dims = [1] * rank
        dims[axis] = -1
        return gen.AddV2(start, (stop - start) * reshape(steps, dims), name=scope)


# --- shapes -------------------------------------------------------------
def shape_internal(input, optimize=True, name=None, out_type=dtypes.int32):
    with name_scope(name, "Shape", [input]) as scope:
        if type(input).__name__ in ("SparseTensor",):
            return cast(input.dense_shape, out_type)
        input = convert_to_tensor(input, name="input")
        out_type = dtypes.as_dtype(out_type)
        if optimize and input.shape.is_fully_defined():
            return constant(np.array(input.shape.as_list(), out_type.as_numpy_dtype), out_type, name=scope)
        return gen.Shape(input, out_type, name=scope)


def shape(input, name=None, out_type=dtypes.int32):
    return shape_internal(input, True, name, out_type)


def shape_n(input, out_type=dtypes.int32, name=None):
    return gen.ShapeN(list(input), out_type, name)


def size(input, name=None, out_type=dtypes.int32):
    with name_scope(name, "Size", [input]) as scope:
        if type(input).__name__ == "SparseTensor":
            return gen.Prod(cast(input.dense_shape, out_type), 0, name=scope)
        input, out_type = convert_to_tensor(input, name="input"), dtypes.as_dtype(out_type)
        count = input.shape.num_elements()
        return gen.Size(input, out_type, name=scope) if count is None else constant(
            np.array(count, out_type.as_numpy_dtype), out_type, name=scope)


def rank(input, name=None):
    with name_scope(name, "Rank", [input]) as scope:
        if type(input).__name__ == "SparseTensor":
            return size(input.dense_shape, scope)
        input = convert_to_tensor(input, name="input")
        n = input._rank
        return gen.Rank(input, scope) if n < 0 else constant(n, dtypes.int32, name=scope)


def reshape(tensor, shape, name=None):
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (list, tuple)) and any(isinstance(d, Dimension) for d in shape):
        shape = [d.value if isinstance(d, Dimension) else d for d in shape]
    return gen.Reshape(tensor, shape, name)


def expand_dims(input, axis=None, name=None, dim=None):
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return gen.ExpandDims(input, axis, name)


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    axis = squeeze_dims if axis is None else axis
    if axis is not None and not isinstance(axis, (list, tuple)):
        axis = [axis]
    return gen.Squeeze(input, [] if axis is None else axis, name)


def ensure_shape(x, shape, name=None):
    return gen.EnsureShape(x, as_shape(shape), name)


def broadcast_static_shape(shape_x, shape_y):
    return broadcast_shape(shape_x, shape_y)


def broadcast_dynamic_shape(shape_x, shape_y):
    return gen.BroadcastArgs(shape_x, shape_y)


def transpose(a, perm=None, name="transpose", conjugate=False):
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        op = gen.ConjugateTranspose if conjugate and a.dtype.is_complex else gen.Transpose
        if perm is None:
            n = a._rank
            if n >= 0:
                perm = constant(np.arange(n - 1, -1, -1, dtype=np.int32), dtypes.int32, name="perm")
            else:
                n = gen.Rank(a)
                perm = gen.Range(n - 1, -1, -1, name="Range")
        return op(a, perm, name=scope)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    with name_scope(name, "matrix_transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        n = a._rank
        if n < 0:
            r = gen.Rank(a)
            perm = concat([gen.Range(0, r - 2, 1), stack([r - 1, r - 2])], 0)
        else:
            perm = list(_range(n - 2)) + [n - 1, n - 2]
        return transpose(a, perm, scope, conjugate)


# --- together and apart -------------------------------------------------
def concat(values, axis, name="concat"):
    if isinstance(values, int) or (isinstance(values, _Tensor) and values._rank == 0 and isinstance(axis, (list, tuple))):
        values, axis = axis, values  # the order before TensorFlow 1.0
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            convert_to_tensor(axis, dtypes.int32, name="concat_dim")
            return gen.Identity(values[0], name="concat")
    return gen.ConcatV2(list(values), axis, name=name)


def stack(values, axis=0, name="stack"):
    if axis == 0 and not isinstance(values, _Tensor):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    if isinstance(values, _Tensor):
        values = unstack(values)
    first = values[0]
    dims = as_shape(first.shape) if hasattr(first, "shape") else TensorShape(np.shape(first))
    if dims.rank is not None and not -dims.rank - 1 <= axis < dims.rank + 1:
        raise ValueError("Argument `axis` = %d not in range [%d, %d)" % (axis, -dims.rank - 1, dims.rank + 1))
    return gen.Pack(list(values), axis, name)


def parallel_stack(values, name="parallel_stack"):
    return stack(values, 0, name)


def unstack(value, num=None, axis=0, name="unstack"):
    value = convert_to_tensor(value)
    if num is None:
        dims = value._dims
        if dims is not None:
            if not -len(dims) <= axis < len(dims):
                raise ValueError("Argument `axis` = %d not in range [%d, %d)" % (axis, -len(dims), len(dims)))
            num = dims[axis]
        if num is None:
            raise ValueError("Cannot infer argument `num` from shape %s" % value.shape)
    return gen.Unpack(value, num, axis, name)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    if isinstance(num_or_size_splits, (int, Dimension)) or (isinstance(num_or_size_splits, np.integer)):
        return gen.Split(axis, value, int(num_or_size_splits), name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes._rank == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split.")
    if num is None:
        num = sizes._dims[0] if sizes._dims else None
        if num is None:
            raise ValueError("Cannot infer argument `num` from shape %s" % sizes.shape)
    return gen.SplitV(value, sizes, axis, num, name)


def tile(input, multiples, name=None):
    return gen.Tile(input, multiples, name)


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, _Tensor) and np.isscalar(constant_values) and constant_values == 0:
            return gen.Pad(tensor, paddings, name)
        return gen.PadV2(tensor, paddings, constant_values, name)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError("Expected `mode` to be 'CONSTANT', 'REFLECT', or 'SYMMETRIC', got '%s' instead" % mode)
    return gen.MirrorPad(tensor, paddings, mode, name)


def repeat(input, repeats, axis=None, name=None):
    with name_scope(name, "Repeat"):
        input = convert_to_tensor(input)
        if axis is None:
            input, axis = reshape(input, [-1]), 0
        n = input._rank
        axis = axis + n if axis < 0 else axis
        repeats = cast(convert_to_tensor(repeats, name="repeats"), dtypes.int32)
        if repeats._rank == 0 or repeats._dims == (1,):
            wide = expand_dims(input, axis + 1)
            times = [1] * (n + 1)
            times[axis + 1] = reshape(repeats, [])
            out = tile(wide, stack(times))
            dims = shape(input)
            return reshape(out, concat([dims[:axis], [-1], dims[axis + 1:]], 0))
        most = reduce_max(repeats)
        mask = sequence_mask(repeats, most)
        wide = expand_dims(input, axis + 1)
        times = [1] * (n + 1)
        times[axis + 1] = most
        return boolean_mask(tile(wide, stack(times)), mask, axis=axis)


def roll(input, shift, axis, name=None):
    return gen.Roll(input, shift, axis, name)


def reverse(tensor, axis, name=None):
    return gen.ReverseV2(tensor, axis, name)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None):
    seq = seq_axis if seq_dim is None else seq_dim
    return gen.ReverseSequence(input, seq_lengths, seq, (batch_axis or 0) if batch_dim is None else batch_dim, name)


def meshgrid(*args, **kwargs):
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError("'%s' is an invalid keyword argument for this function" % next(iter(kwargs)))
    if indexing not in ("xy", "ij"):
        raise ValueError("Argument `indexing` parameter must be either 'xy' or 'ij', got '%s'" % indexing)
    with name_scope(name, "meshgrid", args):
        n = len(args)
        if not n:
            return []
        parts = [reshape(stack(x) if isinstance(x, (list, tuple)) else x, (1,) * i + (-1,) + (1,) * (n - i - 1)) for i, x in enumerate(args)]
        sizes = [size(x) for x in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and n > 1:
            parts[0] = reshape(parts[0], (1, -1) + (1,) * (n - 2))
            parts[1] = reshape(parts[1], (-1, 1) + (1,) * (n - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        whole = ones(sizes, dtype)
        return [x * whole for x in parts]


# --- picking ------------------------------------------------------------
def slice(input_, begin, size, name=None):
    return gen.Slice(input_, begin, size, name)


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
                  var=None, name=None):
    with name_scope(name, "strided_slice", [input_]) as scope:
        if strides is None:
            strides = ones_like(convert_to_tensor(begin))
        if not isinstance(begin, _Tensor) and not isinstance(end, _Tensor) and not isinstance(strides, _Tensor):
            begin, end, strides = (constant(_plain_ints(v), name=n) for v, n in ((begin, "stack"), (end, "stack_1"), (strides, "stack_2")))
        out = gen.StridedSlice(input_, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
                               new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask, name=scope)
    if var is not None:
        def assign(value, name=None):
            return gen.StridedSliceAssign(var._ref(), begin, end, strides, value, begin_mask=begin_mask, end_mask=end_mask,
                                          ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask,
                                          name=name or scope + "assign")
        out.assign = assign
    return out


def _plain_ints(values):
    values = [v.value if isinstance(v, Dimension) else v for v in values]
    return np.array(values, np.int32 if all(-2 ** 31 <= v < 2 ** 31 for v in values) else np.int64) if values else np.zeros(0, np.int32)


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    if axis is None:
        axis = batch_dims
    if hasattr(params, "sparse_read") and batch_dims == 0 and isinstance(axis, int) and axis == 0:
        return params.sparse_read(indices, name=name)
    return gen.GatherV2(params, indices, axis, batch_dims, name)


def batch_gather(params, indices, name=None):
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        return gather(convert_to_tensor(params, name="params"), indices, axis=indices._rank - 1, batch_dims=indices._rank - 1)


def gather_nd(params, indices, name=None, batch_dims=0):
    if batch_dims:
        raise NotImplementedError("gather_nd with batch_dims")
    return gen.GatherNd(params, indices, name=name)


def scatter_nd(indices, updates, shape, name=None):
    return gen.ScatterNd(indices, updates, shape, name)


def tensor_scatter_nd_update(tensor, indices, updates, name=None):
    return gen.TensorScatterUpdate(tensor, indices, updates, name)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    with name_scope(name, values=[tensor, mask]):
        tensor, mask = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask")
        n = mask._rank
        if n < 0:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None")
        if n == 0:
            raise ValueError("mask cannot be scalar.")
        axis = 0 if axis is None else axis
        tensor.shape[axis:axis + n].assert_is_compatible_with(mask.shape)
        leading = reduce_prod(shape(tensor)[axis:axis + n], [0])
        flat = reshape(tensor, concat([shape(tensor)[:axis], [leading], shape(tensor)[axis + n:]], 0))
        dims = tensor._dims
        if dims is not None:
            first = 1
            for d in dims[axis:axis + n]:
                first = None if first is None or d is None else first * d
            flat.set_shape(dims[:axis] + (first,) + dims[axis + n:])
        found = squeeze(gen.Where(reshape(mask, [-1])), axis=[1])
        return gather(flat, found, axis=axis)


def where(condition, x=None, y=None, name=None):
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            return gen.Where(convert_to_tensor(condition, dtypes.bool, name="condition"), scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    if not isinstance(x, _Tensor) and isinstance(y, _Tensor):
        x = convert_to_tensor(x, y.dtype.base_dtype)
    return gen.Select(condition, x, y, name)


def where_v2(condition, x=None, y=None, name=None):
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return gen.SelectV2(condition, x, y, name)


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as scope:
        on_dtype = off_dtype = None
        if on_value is not None:
            on_value = convert_to_tensor(on_value, None if dtype is None else dtypes.as_dtype(dtype), name="Const")
            on_dtype = on_value.dtype.base_dtype
        if off_value is not None:
            off_value = convert_to_tensor(off_value, None if dtype is None else dtypes.as_dtype(dtype), name="Const")
            off_dtype = off_value.dtype.base_dtype
        if on_dtype is not None and off_dtype is not None and on_dtype is not off_dtype:
            raise TypeError("dtype %s of on_value does not match dtype %s of off_value" % (on_dtype.name, off_dtype.name))
        dtype = on_dtype or off_dtype or (dtypes.float32 if dtype is None else dtypes.as_dtype(dtype))
        if on_value is None:
            on_value = convert_to_tensor(1, dtype, name="on_value")
        if off_value is None:
            off_value = convert_to_tensor(0, dtype, name="off_value")
        return gen.OneHot(indices, depth, on_value, off_value, axis=-1 if axis is None else axis, name=scope)


def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = reduce_max(lengths, list(_range(max(lengths._rank, 0))) if lengths._rank >= 0 else None)
            maxlen = gen.Maximum(constant(0, maxlen.dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        row = gen.Range(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        matrix = gen.Cast(expand_dims(lengths, -1), maxlen.dtype)
        mask = gen.Less(row, matrix)
        return mask if dtypes.as_dtype(dtype) is dtypes.bool else cast(mask, dtype)


def unique(x, out_idx=dtypes.int32, name=None):
    return gen.Unique(x, out_idx, name)


def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    return gen.UniqueWithCounts(x, out_idx, name)


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    return gen.ListDiff(x, y, index_dtype, name)


def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    op = gen.LowerBound if side == "left" else gen.UpperBound
    seq, vals = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    out = op(reshape(seq, [-1, shape(seq)[-1]]), reshape(vals, [-1, shape(vals)[-1]]), dtypes.as_dtype(out_type), name)
    return reshape(out, shape(vals))


def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    return gen.HistogramFixedWidth(values, value_range, nbins, dtype, name)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    with name_scope(name, "sort"):
        return _sorted(values, axis, direction)[0]


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    with name_scope(name, "argsort"):
        return _sorted(values, axis, direction)[1]


def _sorted(values, axis, direction):
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError("Unknown direction: %s" % direction)
    values = convert_to_tensor(values, name="values")
    n = values._rank
    axis = axis + n if axis < 0 else axis
    up = direction == "ASCENDING"
    keys = gen.Neg(values) if up else values
    perm = list(_range(n))
    perm[axis], perm[n - 1] = n - 1, axis
    moved = keys if axis == n - 1 else transpose(keys, perm)
    top, index = gen.TopKV2(moved, shape(moved)[-1])
    top = gen.Neg(top) if up else top
    return (top, index) if axis == n - 1 else (transpose(top, perm), transpose(index, perm))


# --- matrices, images ---------------------------------------------------
def diag(diagonal, name=None):
    return gen.Diag(diagonal, name)


def diag_part(input, name=None):
    return gen.DiagPart(input, name)


def matrix_diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    with name_scope(name, "diag", [diagonal]) as scope:
        diagonal = convert_to_tensor(diagonal, name="diagonal")
        if _headrace.has_op("MatrixDiagV3"):
            return gen.MatrixDiagV3(diagonal, k, num_rows, num_cols, constant(padding_value, diagonal.dtype.base_dtype, name="padding_value"),
                                    align, name=scope)
        return gen.MatrixDiag(diagonal, name=scope)


def matrix_diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):
    with name_scope(name, "diag_part", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if _headrace.has_op("MatrixDiagPartV3"):
            return gen.MatrixDiagPartV3(input, k, constant(padding_value, input.dtype.base_dtype, name="padding_value"), align, name=scope)
        return gen.MatrixDiagPart(input, name=scope)


def matrix_set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):
    if _headrace.has_op("MatrixSetDiagV3"):
        return gen.MatrixSetDiagV3(input, diagonal, k, align, name)
    return gen.MatrixSetDiag(input, diagonal, name)


def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    return gen.SpaceToDepth(input, block_size, data_format, name)


def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    return gen.DepthToSpace(input, block_size, data_format, name)


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None):
    return gen.SparseToDense(sparse_indices, output_shape, sparse_values, default_value, validate_indices=validate_indices, name=name)


def space_to_batch(input, paddings, block_size=None, name=None):
    return gen.SpaceToBatch(input, paddings, block_size, name)


def batch_to_space(input, crops, block_size, name=None):
    return gen.BatchToSpace(input, crops, block_size, name)
