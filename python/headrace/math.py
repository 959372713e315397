# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons, reductions, products: sugar over ops, with TensorFlow's names for what it makes."""
import builtins

from headrace import _headrace, dtypes
from headrace.graph import name_scope
from headrace.op_gen import gen
from headrace.tensor_util import constant, convert_to_tensor

_Tensor = _headrace.Tensor


def _slices_of(x):
    """x when it is an IndexedSlices."""
    return x if type(x).__name__ == "IndexedSlices" else None


# --- one operand --------------------------------------------------------
def abs(x, name=None):
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return gen.ComplexAbs(x, Tout=x.dtype.real_dtype, name=scope) if x.dtype.is_complex else gen.Abs(x, scope)


def _on_slices(op):
    def unary(x, name=None):
        s = _slices_of(x)
        if s is not None:
            from headrace.gradients import IndexedSlices
            return IndexedSlices(getattr(gen, op)(s.values, name), s.indices, s.dense_shape)
        return getattr(gen, op)(x, name)
    return unary


sign, negative, square = _on_slices("Sign"), _on_slices("Neg"), _on_slices("Square")


def sqrt(x, name=None):
    return gen.Sqrt(x, name)


def rsqrt(x, name=None):
    return gen.Rsqrt(x, name)


def exp(x, name=None):
    return gen.Exp(x, name)


def floor(x, name=None):
    return gen.Floor(x, name)


def ceil(x, name=None):
    return gen.Ceil(x, name)


def round(x, name=None):
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else gen.Round(x, name)


def sigmoid(x, name=None):
    with name_scope(name, "Sigmoid", [x]) as scope:
        return gen.Sigmoid(convert_to_tensor(x, name="x"), scope)


def log_sigmoid(x, name=None):
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return gen.Neg(gen.Softplus(gen.Neg(x)), scope)


def real(input, name=None):
    input = convert_to_tensor(input, name="input")
    return gen.Real(input, Tout=input.dtype.real_dtype, name=name or "Real") if input.dtype.is_complex else input


def imag(input, name=None):
    input = convert_to_tensor(input, name="input")
    return gen.Imag(input, Tout=input.dtype.real_dtype, name=name or "Imag") if input.dtype.is_complex else zeros_like(input)


def complex(real, imag, name=None):
    real, imag = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
    return gen.Complex(real, imag, Tout=dtypes.complex128 if real.dtype.base_dtype is dtypes.float64 else dtypes.complex64,
                       name=name or "Complex")


def angle(input, name=None):
    input = convert_to_tensor(input, name="input")
    return gen.Angle(input, Tout=input.dtype.real_dtype, name=name)


def conj(x, name=None):
    x = convert_to_tensor(x, name="x")
    return gen.Conj(x, name) if x.dtype.is_complex else x


def cast(x, dtype, name=None):
    base = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, _Tensor) and x.dtype is base:
        return x
    s = _slices_of(x)
    if s is not None:
        from headrace.gradients import IndexedSlices
        return IndexedSlices(cast(s.values, base, name), s.indices, s.dense_shape)
    with name_scope(name, "Cast", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return x if x.dtype is base else gen.Cast(x, base, name=scope)


def _to(name, dtype):
    def convert(x, name=name):
        return cast(x, dtype, name)
    return convert


to_float, to_double, to_int32, to_int64 = (_to("ToFloat", dtypes.float32), _to("ToDouble", dtypes.float64), _to("ToInt32", dtypes.int32),
                                           _to("ToInt64", dtypes.int64))
to_bfloat16, to_complex64, to_complex128 = (_to("ToBFloat16", dtypes.bfloat16), _to("ToComplex64", dtypes.complex64),
                                            _to("ToComplex128", dtypes.complex128))


def saturate_cast(value, dtype, name=None):
    with name_scope(name, "saturate_cast", [value]) as scope:
        value, dtype = convert_to_tensor(value, name="value"), dtypes.as_dtype(dtype).base_dtype
        low, high = builtins.max(value.dtype.min, dtype.min), builtins.min(value.dtype.max, dtype.max)
        low, high = constant(low, value.dtype), constant(high, value.dtype)
        clamped = gen.ClipByValue(value, low, high, name="clamp") if _headrace.has_op(
            "ClipByValue") else gen.Maximum(gen.Minimum(value, high), low)
        return cast(clamped, dtype, scope)


# --- two operands -------------------------------------------------------
_TRUEDIV = {"uint8": dtypes.float32, "int8": dtypes.float32, "uint16": dtypes.float32, "int16": dtypes.float32, "int32": dtypes.float64,
            "uint32": dtypes.float64, "int64": dtypes.float64, "uint64": dtypes.float64}


def truediv(x, y, name=None):
    with name_scope(name, "truediv", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, _Tensor) else None, name="y")
        if x.dtype.base_dtype is not y.dtype.base_dtype:
            raise TypeError("x and y must have the same dtype, got %r != %r" % (x.dtype.base_dtype, y.dtype.base_dtype))
        wide = _TRUEDIV.get(x.dtype.base_dtype.name)
        if wide is not None:
            x, y = cast(x, wide), cast(y, wide)
        return gen.RealDiv(x, y, scope)


def divide(x, y, name=None):
    if name is not None:
        with name_scope(name) as scope:
            return truediv(x, y, scope)
    if not (isinstance(x, _Tensor) or isinstance(y, _Tensor)):
        x = convert_to_tensor(x)
    return x / y


def div(x, y, name=None):
    """Division as Python 2 does it: floor for integers."""
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        return gen.RealDiv(x, y, scope) if x.dtype.is_floating or x.dtype.is_complex else gen.FloorDiv(x, y, scope)


def div_no_nan(x, y, name=None):
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        return gen.DivNoNan(x, convert_to_tensor(y, x.dtype.base_dtype, name="y"), scope)


def floordiv(x, y, name=None):
    with name_scope(name, "floordiv", [x, y]) as scope:
        return gen.FloorDiv(x, y, scope)


def mod(x, y, name=None):
    return gen.FloorMod(x, y, name)


floormod = mod


def add(x, y, name=None):
    with name_scope(name, "Add", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, _Tensor) else None, name="y")
        return gen.Add(x, y, scope) if x.dtype.base_dtype is dtypes.string else gen.AddV2(x, y, scope)


def multiply(x, y, name=None):
    return gen.Mul(x, y, name)


def subtract(x, y, name=None):
    return gen.Sub(x, y, name)


def pow(x, y, name=None):
    with name_scope(name, "Pow", [x]) as scope:
        return gen.Pow(x, y, scope)


def equal(x, y, name=None):
    return gen.Equal(x, y, name=name)


def not_equal(x, y, name=None):
    return gen.NotEqual(x, y, name=name)


def logical_xor(x, y, name="LogicalXor"):
    return gen.LogicalAnd(gen.LogicalOr(x, y), gen.LogicalNot(gen.LogicalAnd(x, y)), name)


def scalar_mul(scalar, x, name=None):
    scalar = convert_to_tensor(scalar, x.dtype.base_dtype, name="scalar")
    s = _slices_of(x)
    if s is not None:
        from headrace.gradients import IndexedSlices
        return IndexedSlices(gen.Mul(scalar, s.values, name), s.indices, s.dense_shape)
    return gen.Mul(scalar, x, name)


def add_n(inputs, name=None):
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape")
    inputs = [convert_to_tensor(_dense(x)) for x in inputs]
    if len(inputs) == 1:
        return gen.Identity(inputs[0], name) if name else inputs[0]
    return gen.AddN(inputs, name)


def _dense(x):
    return convert_to_tensor(x) if _slices_of(x) is not None else x


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    return add_n(list(inputs), name)


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    with name_scope(name, "Cumsum", [x]) as scope:
        return gen.Cumsum(convert_to_tensor(x, name="x"), axis, exclusive, reverse, scope)


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    with name_scope(name, "Cumprod", [x]) as scope:
        return gen.Cumprod(convert_to_tensor(x, name="x"), axis, exclusive, reverse, scope)


# --- reductions ---------------------------------------------------------
def _axes(x, axis, old):
    """The axes to reduce: all of them when axis is None."""
    if axis is None:
        axis = old
    if axis is not None:
        return axis
    rank = x.shape.rank
    if rank:
        return constant(list(builtins.range(rank)), dtypes.int32)
    from headrace.array import rank as rank_of
    return range(0, rank_of(x))  # for scalars too, as TensorFlow does


def range(start, limit=None, delta=1, dtype=None, name="range"):
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        values = [start, limit, delta]
        labels = ("start", "limit", "delta")
        if dtype is None:
            typed = [convert_to_tensor(v, name=n) for v, n in zip(values, labels)]
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            found = [t.dtype.base_dtype for t in typed]
            dtype = builtins.max(found, key=order.index) if builtins.all(d in order for d in found) else found[0]
            values = [cast(t, dtype) for t in typed]
        else:
            values = [cast(v, dtype) if isinstance(v, _Tensor) else convert_to_tensor(v, dtype, name=n) for v, n in zip(values, labels)]
        return gen.Range(*values, name=scope)


def _reduction(op, doc):
    def reduce(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        keep = keep_dims if keepdims is None else keepdims
        x = _dense(input_tensor)
        if not isinstance(x, _Tensor):
            x = convert_to_tensor(x, dtypes.bool if op in ("All", "Any") else None, name="input")
        out = getattr(gen, op)(x, _axes(x, axis, reduction_indices), builtins.bool(keep), name)
        if axis is None and reduction_indices is None and not keep:
            out.set_shape([])  # also where the rank is not known
        return out
    reduce.__doc__ = doc
    return reduce


reduce_sum, reduce_mean, reduce_prod = _reduction("Sum", "Sums of elements."), _reduction("Mean", "Means."), _reduction("Prod", "Products.")
reduce_max, reduce_min = _reduction("Max", "Largest elements."), _reduction("Min", "Smallest elements.")
reduce_all, reduce_any = _reduction("All", "Whether all are true."), _reduction("Any", "Whether any is true.")
reduce_euclidean_norm = _reduction("EuclideanNorm", "Square roots of sums of squares.")


def reduce_variance(input_tensor, axis=None, keepdims=None, name=None):
    with name_scope(name if name else "reduce_variance") as scope:
        x = convert_to_tensor(input_tensor)
        means = reduce_mean(x, axis, True)
        return reduce_mean(gen.Square(x - means), axis, keepdims)


def reduce_std(input_tensor, axis=None, keepdims=None, name=None):
    with name_scope(name if name else "reduce_std"):
        return gen.Sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    keep = builtins.bool(keep_dims if keepdims is None else keepdims)
    axis = reduction_indices if axis is None else axis
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        x = convert_to_tensor(input_tensor)
        top = reduce_max(x, axis, True)
        finite = gen.IsFinite(top)
        top = gen.StopGradient(gen.SelectV2(finite, top, _zero_of(top)))
        total = gen.Log(reduce_sum(gen.Exp(gen.Sub(x, top)), axis, keep))
        if not keep:
            top = gen.Reshape(top, gen.Shape(total))
        return gen.AddV2(total, top, name=scope)


def _zero_of(t):
    return constant(0, t.dtype.base_dtype, name="SelectV2/e")


def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=dtypes.int64, name=None, reduction_indices=None, keep_dims=None,
                  input=None):
    x = input if input_tensor is None else input_tensor
    with name_scope(name, "count_nonzero", [x]):
        x = convert_to_tensor(x, name="input")
        zero = constant("" if x.dtype is dtypes.string else 0, x.dtype.base_dtype, name="zeros")
        some = cast(gen.NotEqual(x, zero), dtypes.int64)
        return cast(reduce_sum(some, axis, keepdims if keepdims is not None else keep_dims, reduction_indices=reduction_indices), dtype)


def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    return gen.ArgMax(input, 0 if axis is None and dimension is None else dimension if axis is None else axis, output_type, name)


def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    return gen.ArgMin(input, 0 if axis is None and dimension is None else dimension if axis is None else axis, output_type, name)


arg_max, arg_min = argmax, argmin


# --- products -----------------------------------------------------------
def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False, b_is_sparse=False,
           output_type=None, name=None):
    if transpose_a and adjoint_a or transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_a and adjoint_a (transpose_b and adjoint_b) can be True.")
    if not (isinstance(a, _Tensor) and isinstance(b, _Tensor)):
        with name_scope(name, "MatMul", [a, b]) as scope:
            a = convert_to_tensor(a, name="a")
            b = convert_to_tensor(b, a.dtype.base_dtype if not isinstance(b, _Tensor) else None, name="b")
            return _matmul(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, a_is_sparse, b_is_sparse, scope)
    return _matmul(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, a_is_sparse, b_is_sparse, name or "MatMul")


def _matmul(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b, a_is_sparse, b_is_sparse, name):
    ra, rb = a._rank, b._rank
    if (ra < 0 or ra > 2) and (rb < 0 or rb > 2):  # neither is surely a matrix
        if transpose_a:
            a, adjoint_a = conj(a), True
        if transpose_b:
            b, adjoint_b = conj(b), True
        return gen.BatchMatMulV2(a, b, adjoint_a, adjoint_b, name=name)
    if adjoint_a:
        a, transpose_a = conj(a), True
    if adjoint_b:
        b, transpose_b = conj(b), True
    if ra > 2 or rb > 2:
        return gen.BatchMatMulV2(a, b, builtins.bool(transpose_a), builtins.bool(transpose_b), name=name)
    if (a_is_sparse or b_is_sparse) and a.dtype.name in ("float32", "bfloat16") and b.dtype.name in ("float32", "bfloat16"):
        return gen.SparseMatMul(a, b, transpose_a, transpose_b, a_is_sparse, b_is_sparse, name=name)
    return gen.MatMul(a, b, transpose_a, transpose_b, name=name)


batch_matmul = matmul


def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    from headrace.array import expand_dims, squeeze
    with name_scope(name, "MatVec", [a, b]):
        return squeeze(matmul(a, expand_dims(b, -1), transpose_a, False, adjoint_a), axis=-1)


def tensordot(a, b, axes, name=None):
    """Sums of products over the given axes: a transpose and a reshape to matrices on either side of one MatMul."""
    from headrace.array import concat, gather, reshape, transpose
    from headrace.array import shape as shape_of

    def as_matrix(t, axes, flipped):
        rank = t.shape.rank
        if rank is None:
            raise ValueError("tensordot needs the ranks of its operands")
        axes = [i + rank if i < 0 else i for i in axes]
        free = [i for i in builtins.range(rank) if i not in axes]
        perm = axes + free if flipped else free + axes
        dims = t.shape._dims
        if t.shape.is_fully_defined():
            size = 1
            for i in axes:
                size *= dims[i]
            rest = 1
            for i in free:
                rest *= dims[i]
            new = [size, rest] if flipped else [rest, size]
            t = t if perm == list(builtins.range(rank)) else transpose(t, perm)
            t = t if t.shape.as_list() == new else reshape(t, new)
            return t, [dims[i] for i in free], None
        full = shape_of(t)
        free_dims, axes_dims = gather(full, free), gather(full, axes)
        rest, size = reduce_prod(free_dims), reduce_prod(axes_dims)
        from headrace.array import stack
        t = reshape(transpose(t, perm), stack([size, rest] if flipped else [rest, size]))
        return t, [dims[i] for i in free], free_dims

    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype.base_dtype if not isinstance(b, _Tensor) else None, name="b")
        if isinstance(axes, int):
            if axes < 0:
                raise ValueError("`axes` must be at least 0. Received: %d." % axes)
            a_axes, b_axes = list(builtins.range(a.shape.rank - axes, a.shape.rank)), list(builtins.range(axes))
        else:
            if len(axes) != 2:
                raise ValueError("`axes` must be an integer or have length 2. Received %r." % (axes,))
            a_axes, b_axes = ([x] if isinstance(x, int) else list(x) for x in axes)
            if len(a_axes) != len(b_axes):
                raise ValueError("Different number of contraction axes `a` and `b`, %d != %d." % (len(a_axes), len(b_axes)))
        a_mat, a_free, a_dims = as_matrix(a, a_axes, False)
        b_mat, b_free, b_dims = as_matrix(b, b_axes, True)
        product = matmul(a_mat, b_mat)
        if a_dims is None and b_dims is None:
            return product if product.shape.as_list() == a_free + b_free else reshape(product, a_free + b_free, name=scope)
        sides = [convert_to_tensor(f, dtypes.int32) if d is None else d for f, d in ((a_free, a_dims), (b_free, b_dims))]
        out = reshape(product, concat(sides, 0), name=scope)
        out.set_shape(a_free + b_free)
        return out


def einsum(equation, *inputs, **kwargs):
    """Sums of products along axes that letters name; more than two inputs are multiplied from the left."""
    name = kwargs.pop("name", None)
    with name_scope(name, "einsum", inputs):
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
            inputs = inputs[0]
        equation = equation.replace(" ", "")
        if "->" not in equation:
            letters = sorted(set(equation) - {",", "."})
            equation += "->" + ("..." if "..." in equation else "") + "".join(c for c in letters if equation.count(c) == 1)
        terms, _, out = equation.partition("->")
        terms, inputs = terms.split(","), list(inputs)
        if len(terms) != len(inputs):
            raise ValueError("Expected %d inputs for the equation %r, but got %d." % (len(terms), equation, len(inputs)))
        while len(inputs) > 2:
            needed = set(out.replace("...", "")).union(*terms[2:])
            both = ("..." if "..." in terms[0] + terms[1] else "") + "".join(sorted((set(terms[0]) | set(terms[1])) & needed - {"."}))
            inputs[:2] = [gen.Einsum(inputs[:2], "%s,%s->%s" % (terms[0], terms[1], both))]
            terms[:2] = [both]
        return gen.Einsum(inputs, "%s->%s" % (",".join(terms), out))


def trace(x, name=None):
    from headrace.array import matrix_diag_part
    with name_scope(name, "Trace", [x]) as scope:
        return reduce_sum(matrix_diag_part(convert_to_tensor(x, name="x")), [-1], name=scope)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None):
    with name_scope(name, "bincount"):
        arr = convert_to_tensor(arr, dtypes.int32, name="arr")
        size = cast(gen.Greater(reduce_prod(shape(arr)), 0), dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = gen.Maximum(convert_to_tensor(minlength, dtypes.int32), size)
        if maxlength is not None:
            size = gen.Minimum(convert_to_tensor(maxlength, dtypes.int32), size)
        weights = constant([], dtype) if weights is None else convert_to_tensor(weights, name="weights")
        return gen.Bincount(arr, size, weights)


# --- clipping -----------------------------------------------------------
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    s = _slices_of(t)
    values = t if s is None else s.values
    with name_scope(name, "clip_by_value", [values, clip_value_min, clip_value_max]) as scope:
        values = convert_to_tensor(values, name="t")
        low = gen.Minimum(values, clip_value_max)
        out = gen.Maximum(low, clip_value_min, name=scope)
    if s is None:
        return out
    from headrace.gradients import IndexedSlices
    return IndexedSlices(out, s.indices, s.dense_shape)


def clip_by_norm(t, clip_norm, axes=None, name=None):
    s = _slices_of(t)
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = convert_to_tensor(t if s is None else s.values, name="t")
        total = reduce_sum(values * values, axes, True)
        positive = total > 0
        safe = gen.Select(positive, total, ones_like(total))
        norm = gen.Select(positive, gen.Sqrt(safe), total)
        clipped = gen.Identity(values * clip_norm / gen.Maximum(norm, clip_norm), name=scope)
    if s is None:
        return clipped
    from headrace.gradients import IndexedSlices
    return IndexedSlices(clipped, s.indices, s.dense_shape)


def global_norm(t_list, name=None):
    from headrace.array import stack
    with name_scope(name, "global_norm", list(t_list)):
        halves = []
        for v in t_list:
            if v is not None:
                s = _slices_of(v)
                halves.append(gen.L2Loss(convert_to_tensor(v if s is None else s.values)))
        half = reduce_sum(stack(halves))
        return gen.Sqrt(half * constant(2.0, half.dtype), name="global_norm")


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    from headrace.gradients import IndexedSlices
    t_list = list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm", t_list + [clip_norm]) as scope:
        scale = clip_norm * gen.Minimum(1.0 / use_norm, constant(1.0, use_norm.dtype) / clip_norm)
        infinite = use_norm - use_norm
        scale = scale + infinite
        out = []
        for i, v in enumerate(t_list):
            if v is None:
                out.append(None)
                continue
            s = _slices_of(v)
            values = convert_to_tensor(v if s is None else s.values)
            clipped = gen.Identity(values * cast(scale, values.dtype), name="%s_%d" % (scope, i))
            out.append(clipped if s is None else IndexedSlices(clipped, s.indices, s.dense_shape))
    return out, use_norm


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    from headrace.array import squeeze
    keep = builtins.bool(keepdims if keepdims is not None else keep_dims)
    if isinstance(axis, (list, tuple)):
        axis = tuple(axis)
        if len(axis) == 1:
            axis = axis[0]
    if ord not in ("euclidean", "fro", 1, 2, float("inf")) and not (isinstance(ord, (int, float)) and ord > 0):
        raise ValueError("'ord' must be a supported norm, got %s" % ord)
    if isinstance(axis, tuple) and ord not in ("euclidean", "fro", 1, float("inf")):
        raise ValueError("'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got %s" % ord)
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2):
            out = gen.Sqrt(reduce_sum(x * conj(x), axis, True))
        else:
            out = abs(x)
            if ord == 1:
                out = reduce_sum(out, axis[0] if isinstance(axis, tuple) else axis, True)
                out = reduce_max(out, axis[-1], True) if isinstance(axis, tuple) else out
            elif ord == float("inf"):
                out = reduce_max(reduce_sum(out, axis[1], True), axis[0], True) if isinstance(axis, tuple) else reduce_max(out, axis, True)
            else:
                out = pow(reduce_sum(pow(out, ord), axis, True), 1.0 / ord)
        return out if keep else squeeze(out, axis=list(axis) if isinstance(axis, tuple) else axis)


# names that other functions here use, from array.py, which imports this module
def shape(x):
    from headrace.array import shape as shape_of
    return shape_of(x)


def ones_like(x):
    from headrace.array import ones_like as like
    return like(x)


def zeros_like(x):
    from headrace.array import zeros_like as like
    return like(x)


def lbeta(x, name=None):
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        return reduce_sum(gen.Lgamma(x), [-1]) - gen.Lgamma(reduce_sum(x, [-1]))


def top_k(input, k=1, sorted=True, name=None):
    return gen.TopKV2(input, k, sorted, name=name)


def in_top_k(predictions, targets, k, name=None):
    with name_scope(name, "in_top_k"):
        return gen.InTopKV2(predictions, targets, k)
