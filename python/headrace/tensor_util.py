# SPDX-License-Identifier: Apache-2.0
"""Values into tensors: TensorFlow's rules for which type a Python value has, constants, and conversion functions of other classes."""
import numpy as np

from headrace import _headrace, dtypes
from headrace.tensor_shape import Dimension, TensorShape, as_shape

_Tensor = _headrace.Tensor
_conversions = []  # (priority, order, type, function)


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """conversion_func(value, dtype, name, as_ref) gives a Tensor or NotImplemented."""
    _conversions.append((priority, len(_conversions), base_type, conversion_func))
    _conversions.sort(key=lambda row: row[:2])


# --- Python values as arrays --------------------------------------------
def _first_leaf(value):
    while isinstance(value, (list, tuple)) and len(value):
        value = value[0]
    return value


def _leaves(value):
    if isinstance(value, (list, tuple)):
        for v in value:
            for leaf in _leaves(v):
                yield leaf
    else:
        yield value


def _check_leaf(leaf, dtype):
    """Python values that TensorFlow does not turn into dtype in silence."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return
    if dtype.is_floating:
        fine = isinstance(leaf, (int, float, Dimension)) and not isinstance(leaf, bool)
        what = "float"
    elif dtype.is_integer or dtype.is_quantized:
        fine = isinstance(leaf, (int, Dimension)) and not isinstance(leaf, bool) or hasattr(leaf, "__index__") and not isinstance(leaf, bool)
        what = "int"
    elif dtype.name == "string":
        fine, what = isinstance(leaf, (str, bytes)), "bytes"
    elif dtype.is_bool:
        fine, what = isinstance(leaf, bool), "bool"
    else:
        fine = isinstance(leaf, (int, float, complex)) and not isinstance(leaf, bool)
        what = "complex"
    if leaf is None:
        raise ValueError("None values not supported.")
    if not fine:
        raise TypeError("Expected %s, got %r of type '%s' instead." % (dtype.name if what != "bytes" else "string", leaf, type(leaf).__name__))


def as_array(values, dtype=None):
    """(array, DType): what TensorFlow makes of a Python value. dtype None: int32, float32, bool, string, complex128 by the value."""
    if isinstance(values, (np.ndarray, np.generic)):
        own = dtypes.as_dtype(values.dtype)
        if dtype is None or dtype is own:
            return np.asarray(values), own
        if dtype.name == "string":
            return np.asarray(values, dtype=object), dtype
        return dtype._array_of(values), dtype
    if values is None:
        raise ValueError("None values not supported.")
    if isinstance(values, TensorShape):
        if not values.is_fully_defined():
            raise ValueError("Cannot convert a partially known TensorShape to a Tensor: %s" % values)
        values = values.as_list()
    if hasattr(values, "__array__") and not isinstance(values, (list, tuple)):
        return as_array(np.asarray(values), dtype)
    leaf = _first_leaf(values)
    if dtype is None:
        if isinstance(leaf, (np.ndarray, np.generic)) or (isinstance(values, (list, tuple))
                                                          and any(isinstance(v, (np.ndarray, np.generic)) for v in _leaves(values))):
            return as_array(np.array(values), None)
        dtype = _inferred(values)
    elif isinstance(values, (list, tuple)) and isinstance(leaf, (np.ndarray, np.generic)):
        return as_array(np.array(values), dtype)
    for v in _leaves(values):
        _check_leaf(v, dtype)
    if dtype.name == "string":
        array = _object_array(values)
    else:
        try:
            array = dtype._array_of(_plain(values))
        except OverflowError:
            raise ValueError("Python int too large to convert to %s: %r" % (dtype.name, values)) from None
        except ValueError:
            raise ValueError("Argument must be a dense tensor: %r - got shape %s, but wanted %s." % (values, "ragged", "dense")) from None
    return array, dtype


def _plain(values):
    if isinstance(values, (list, tuple)):
        return [_plain(v) for v in values]
    return values.value if isinstance(values, Dimension) else values


def _shape_of_nested(values):
    shape = []
    while isinstance(values, (list, tuple)):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return shape


def _object_array(values):
    array = np.empty(_shape_of_nested(values), dtype=object)
    leaves = list(_leaves(values))
    if len(leaves) != array.size:
        raise ValueError("Argument must be a dense tensor: %r" % (values,))
    array.ravel()[:] = leaves if array.ndim else leaves[0]
    return array


def _inferred(values):
    kinds = {type(v) for v in _leaves(values)}
    if kinds <= {bool}:
        return dtypes.bool if kinds else dtypes.float32
    if any(issubclass(k, (str, bytes)) for k in kinds):
        return dtypes.string
    if any(issubclass(k, complex) for k in kinds):
        return dtypes.complex128
    if any(issubclass(k, float) for k in kinds):
        return dtypes.float32
    if all(issubclass(k, (int, Dimension)) or hasattr(k, "__index__") for k in kinds):
        for v in _leaves(values):
            if isinstance(v, int) and not -2 ** 31 <= v < 2 ** 31:
                return dtypes.int64
        return dtypes.int32
    leaf = next(v for v in _leaves(values) if not isinstance(v, (int, float)))
    if leaf is None:
        raise ValueError("None values not supported.")
    raise TypeError("Failed to convert object of type %s to Tensor. Contents: %r. Consider casting elements to a supported type." %
                    (type(leaf), leaf))


# --- constants ----------------------------------------------------------
def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A constant tensor. With `shape`, a value of fewer elements is filled up with its last one."""
    if isinstance(value, _Tensor):
        raise TypeError("List of Tensors when single Tensor expected")
    array, dtype = as_array(value, None if dtype is None else dtypes.as_dtype(dtype).base_dtype)
    dims = None
    if shape is not None:
        dims = as_shape(shape).as_list()
        count = 1
        for d in dims:
            count *= d
        if verify_shape and list(array.shape) != dims:
            raise TypeError("Expected Tensor's shape: %s, got %s." % (tuple(dims), array.shape))
        if array.size != count:
            if array.size > count:
                raise ValueError("Too many elements provided. Needed at most %d, but received %d" % (count, array.size))
            if not array.size:
                raise ValueError("Too few elements provided. Needed %d, but received none" % count)
            flat = np.empty(count, array.dtype)
            flat[:array.size] = array.ravel()
            flat[array.size:] = array.ravel()[-1]
            array = flat
    return _headrace.constant(array, dtype.as_datatype_enum, name, dims)


def _pack(values, dtype, name):
    """A list with tensors in it, as Pack makes one of it: the numbers among them take the tensors' type."""
    from headrace.graph import name_scope
    from headrace.op_gen import gen
    if dtype is None:
        dtype = next((t.dtype.base_dtype for t in _leaves(values) if _is_symbolic(t) for t in [convertible(t)]), None)
    with name_scope(name, "packed") as scope:
        elems, must_pack = [], False
        for i, v in enumerate(values):
            if isinstance(v, _Tensor):
                if dtype is not None and v.dtype.base_dtype is not dtype:
                    raise TypeError("Cannot convert a list containing a tensor of dtype %r to %r (Tensor is: %r)" % (v.dtype, dtype, v))
                elems.append(v)
            elif isinstance(v, (list, tuple)) and any(_is_symbolic(x) for x in _leaves(v)):
                elems.append(_pack(v, dtype, str(i)))
            elif _is_symbolic(v):
                elems.append(convert_to_tensor(v, dtype, str(i)))
            else:
                elems.append(constant(v, dtype, name=str(i)))
        return gen.Pack(elems, name=scope)


def convertible(value):
    return value if isinstance(value, _Tensor) else convert_to_tensor(value)


def _is_symbolic(value):
    if isinstance(value, (int, float, str, bytes, np.ndarray, np.generic, complex)) or value is None:
        return False
    return isinstance(value, _Tensor) or any(isinstance(value, row[2]) for row in _conversions)


def convert_to_tensor(value, dtype=None, name=None, as_ref=False, preferred_dtype=None, dtype_hint=None):
    """value as a Tensor. preferred_dtype is tried first but may be missed."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype).base_dtype
    if isinstance(value, _Tensor):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError("Tensor conversion requested dtype %s for Tensor with dtype %s: %r" % (dtype.name, value.dtype.name, value))
        return value
    preferred = preferred_dtype if preferred_dtype is not None else dtype_hint
    for _, _, kind, function in _conversions:
        if isinstance(value, kind):
            out = NotImplemented
            if dtype is None and preferred is not None:
                try:
                    out = function(value, dtypes.as_dtype(preferred), name, as_ref)
                except (TypeError, ValueError):
                    out = NotImplemented
            if out is NotImplemented:
                out = function(value, dtype, name, as_ref)
            if out is NotImplemented:
                continue
            if dtype is not None and out.dtype.base_dtype is not dtype:
                raise RuntimeError("Conversion function for %r gave dtype %s, %s was requested" % (kind, out.dtype.name, dtype.name))
            return out
    if hasattr(value, "__tf_tensor__"):
        return value.__tf_tensor__(dtype, name)
    if isinstance(value, (list, tuple)) and any(_is_symbolic(v) for v in _leaves(value)):
        return _pack(value, dtype, name or "packed")
    if isinstance(value, _headrace.Operation):
        raise TypeError("Can't convert Operation '%s' to Tensor" % value.name)
    if isinstance(value, TensorShape):
        return _shape_constant(value, dtype, name)
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError("Cannot convert an unknown Dimension to a Tensor: %s" % value)
        value = value.value
    if dtype is None and preferred is not None:
        try:
            return constant(value, preferred, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, dtype, name=name or "Const")


def _shape_constant(shape, dtype, name):
    dims = shape.as_list() if shape.is_fully_defined() else None
    if dims is None:
        raise ValueError("Cannot convert a partially known TensorShape to a Tensor: %s" % shape)
    if dtype is None:
        dtype = dtypes.int64 if any(d >= 2 ** 31 for d in dims) else dtypes.int32
    return constant(np.array(dims, dtype.as_numpy_dtype), dtype, name=name or "shape_as_tensor")


def convert_n_to_tensor(values, dtype=None, name=None, as_ref=False, preferred_dtype=None):
    return [convert_to_tensor(v, dtype, None if name is None else "%s_%d" % (name, i), as_ref, preferred_dtype) for i, v in enumerate(values)]


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    from headrace.gradients import IndexedSlices
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name)


convert_to_tensor_or_sparse_tensor = convert_to_tensor_or_indexed_slices


# --- values known while the graph is built ------------------------------
def constant_value(tensor, partial=False):
    """The value of a constant, or of something that follows from shapes alone; else None."""
    if not isinstance(tensor, _Tensor):
        return tensor if isinstance(tensor, (np.ndarray, np.generic)) else None
    found = tensor._constant()
    if found is not None:
        return np.asarray(found, object) if isinstance(found, bytes) else found
    op = tensor.op
    if op.type == "Shape":
        shape = op.inputs[0].shape
        return np.array(shape.as_list(), tensor.dtype.as_numpy_dtype) if shape.is_fully_defined() else None
    if op.type == "Size":
        count = op.inputs[0].shape.num_elements()
        return None if count is None else np.array(count, tensor.dtype.as_numpy_dtype)
    if op.type == "Rank":
        rank = op.inputs[0].shape.rank
        return None if rank is None else np.array(rank, np.int32)
    if op.type == "Cast":
        before = constant_value(op.inputs[0])
        return None if before is None else tensor.dtype._array_of(np.asarray(before))
    if op.type == "Fill":
        dims, value = constant_value(op.inputs[0]), constant_value(op.inputs[1])
        return None if dims is None or value is None else np.full(dims, value)
    if op.type == "Pack":
        values = [constant_value(t) for t in op.inputs]
        return None if not values or any(v is None for v in values) else np.stack(values)
    if op.type in ("ConcatV2",):
        values = [constant_value(t) for t in op.inputs]
        return None if any(v is None for v in values) else np.concatenate(values[:-1], int(values[-1]))
    return None


def constant_value_as_shape(tensor):
    """A TensorShape of what is known of a vector's elements."""
    if isinstance(tensor, (list, tuple, TensorShape)):
        return as_shape([None if d == -1 else d for d in tensor] if not isinstance(tensor, TensorShape) else tensor)
    value = constant_value(tensor)
    if value is not None:
        return TensorShape([None if d < 0 else int(d) for d in np.asarray(value).ravel()])
    op = tensor.op
    if op.type == "Shape":
        return op.inputs[0].shape
    if op.type == "Pack":
        dims = [constant_value(t) for t in op.inputs]
        return TensorShape([None if d is None or d < 0 else int(d) for d in dims])
    return TensorShape([None] * tensor.shape[0].value) if tensor.shape.rank == 1 and tensor.shape[0].value is not None else TensorShape(None)


# --- TensorProto --------------------------------------------------------
def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False):
    from headrace.protos import message
    array, dtype = as_array(values, None if dtype is None else dtypes.as_dtype(dtype))
    if shape is not None:
        dims = [int(d) for d in shape]
        count = int(np.prod(dims, dtype=np.int64))
        if array.size != count:
            if verify_shape or array.size != 1:
                raise ValueError("%d values for a shape of %d elements" % (array.size, count))
            array = np.full(dims, array.ravel()[0], array.dtype)
        array = array.reshape(dims)
    proto = message("TensorProto")(dtype=dtype.as_datatype_enum, tensor_shape=TensorShape(array.shape).as_proto())
    if dtype.name == "string":
        proto.string_val.extend([v if isinstance(v, bytes) else str(v).encode() for v in array.ravel()])
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
    return proto


_FIELDS = {"float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val", "int16": "int_val", "uint16": "int_val",
           "int8": "int_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val", "qint8": "int_val",
           "quint8": "int_val", "qint32": "int_val", "qint16": "int_val", "quint16": "int_val", "int4": "int_val", "uint4": "int_val",
           "int2": "int_val", "uint2": "int_val"}


def make_ndarray(tensor):
    """The array that a TensorProto holds."""
    dims = [d.size for d in tensor.tensor_shape.dim]
    dtype = dtypes.as_dtype(tensor.dtype)
    count = int(np.prod(dims, dtype=np.int64))
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype.as_numpy_dtype).copy().reshape(dims)
    if dtype.name == "string":
        values = np.array(list(tensor.string_val) or [b""], dtype=object)
    elif dtype.name in ("float16", "bfloat16"):
        values = np.array(list(tensor.half_val) or [0], np.uint16).view(dtype.as_numpy_dtype)
    elif dtype.is_floating and dtype.size == 1:
        values = np.frombuffer(tensor.float8_val or b"\0", np.uint8).view(dtype.as_numpy_dtype)
    elif dtype.is_complex:
        flat = list(tensor.scomplex_val if dtype.name == "complex64" else tensor.dcomplex_val) or [0.0, 0.0]
        values = np.array([complex(a, b) for a, b in zip(flat[::2], flat[1::2])], dtype.as_numpy_dtype)
    elif dtype.name in _FIELDS:
        values = dtype._array_of(list(getattr(tensor, _FIELDS[dtype.name])) or [0])
    else:
        raise TypeError("Unsupported tensor type: %s" % dtype.name)
    if values.size < count:  # the last value stands for the rest
        values = np.concatenate([values, np.repeat(values[-1:], count - values.size)])
    return values[:count].reshape(dims)


def is_tensor(x):
    from headrace.gradients import IndexedSlices
    return isinstance(x, (_Tensor, IndexedSlices)) or any(isinstance(x, row[2]) for row in _conversions)


is_tf_type = is_tensor


def shape_tensor(shape):
    """A shape argument as an int32 vector (int64 where a list is of it)."""
    if isinstance(shape, _Tensor):
        return shape
    if isinstance(shape, TensorShape):
        return convert_to_tensor(shape, name="shape")
    if isinstance(shape, (tuple, list)):
        shape = [d.value if isinstance(d, Dimension) else d for d in shape]
        dtype = dtypes.int32 if not shape or not any(_is_symbolic(d) for d in shape) else None
        return convert_to_tensor(shape, dtype, "shape")
    return convert_to_tensor(shape, dtypes.int32, "shape")
