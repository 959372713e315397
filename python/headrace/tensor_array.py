# SPDX-License-Identifier: Apache-2.0
"""TensorArray: an array of tensors within one step, written and read by index, in loops above all. Its `flow` is a scalar that carries the
order of reads and writes; every write gives a new TensorArray with a new flow."""
import contextlib

from headrace import dtypes
from headrace.graph import colocate_with, control_dependencies, device, name_scope
from headrace.op_gen import gen
from headrace.tensor_shape import TensorShape
from headrace.tensor_util import constant_value, convert_to_tensor


class TensorArray(object):
    """tf.TensorArray."""

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None, flow=None, infer_shape=True,
                 element_shape=None, colocate_with_first_write_call=True, name=None):
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot provide both `handle` and `tensor_array_name` arguments at the same time.")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a `handle` and `size` arguments at the same time.")
        if handle is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        if handle is not None and clear_after_read is not None:
            raise ValueError("Cannot provide both a `handle` and `clear_after_read` arguments at the same time.")
        if handle is not None and dynamic_size is not None:
            raise ValueError("Cannot provide both a `handle` and `dynamic_size` arguments at the same time.")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size, self._infer_shape = dynamic_size or False, infer_shape
        self._colocate = colocate_with_first_write_call
        self._first_write = []  # the value that the array is placed with; shared by all arrays of one handle
        self._element_shape = [TensorShape(element_shape)]  # shared likewise: the first write says it
        self._size = size
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                self._handle = handle
                self._flow = flow if flow is not None else gen.Const(0.0, dtypes.float32)
                return
            with device(None) if self._colocate else contextlib.nullcontext():
                made = gen.TensorArrayV3(size, self._dtype, element_shape=self._element_shape[0], identical_element_shapes=bool(infer_shape),
                                         dynamic_size=self._dynamic_size, clear_after_read=True if clear_after_read is None else clear_after_read,
                                         tensor_array_name=tensor_array_name or "", name=scope)
            self._handle, self._flow = made

    flow = property(lambda self: self._flow)
    dtype = property(lambda self: self._dtype)
    handle = property(lambda self: self._handle)
    dynamic_size = property(lambda self: self._dynamic_size)
    element_shape = property(lambda self: self._element_shape[0])
    graph = property(lambda self: self._handle.graph)

    def _with_flow(self, flow):
        """The same array after what `flow` stands for."""
        self._handle.graph.unique_name("TensorArray")  # TensorFlow makes a TensorArray, whose scope it never uses
        other = TensorArray.__new__(TensorArray)
        other.__dict__.update(self.__dict__)
        other._flow = flow
        return other

    def _placed_with(self, value):
        if not self._colocate:
            return contextlib.nullcontext()
        if not self._first_write:
            self._first_write.append(value)
        return colocate_with(self._first_write[0])

    def _see_element(self, shape):
        known = self._element_shape[0]
        if not shape.is_compatible_with(known):
            raise ValueError("Inconsistent shapes: saw %s but expected %s " % (shape, known))
        if self._infer_shape:
            self._element_shape[0] = known.merge_with(shape)

    def _value(self, value):
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base_dtype is not self._dtype:
            raise ValueError("TensorArray dtype is %s but Op is trying to write dtype %s" % (self._dtype.name, value.dtype.name))
        return value

    def identity(self):
        """The array, to be had after the control dependencies around."""
        return self._with_flow(gen.Identity(self._flow))

    def grad(self, source, flow=None, name=None):
        """The array that gradients of this one's elements add up in."""
        flow = self._flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]), colocate_with(self._handle):
            handle, _ = gen.TensorArrayGradV3(self._handle, flow, source, name=name)
            with control_dependencies([handle]):
                flow = gen.Identity(flow, name="gradient_flow")
            made = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._infer_shape, colocate_with_first_write_call=False)
            made._element_shape = self._element_shape
            return made

    def read(self, index, name=None):
        value = gen.TensorArrayReadV3(self._handle, index, self._flow, self._dtype, name=name)
        if self._element_shape[0].rank is not None:
            value.set_shape(self._element_shape[0])
        return value

    def write(self, index, value, name=None):
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = self._value(value)
            self._see_element(value.shape)
            with self._placed_with(value):
                return self._with_flow(gen.TensorArrayWriteV3(self._handle, index, value, self._flow, name=name))

    def stack(self, name=None):
        from headrace.math import range
        with colocate_with(self._handle), name_scope(name, "TensorArrayStack", [self._handle]):
            value = self.gather(range(0, self.size()), name=name)
            if self._element_shape[0].rank is not None and not self._dynamic_size and self._size is not None:
                count = constant_value(self._size) if hasattr(self._size, "op") else int(self._size)
                value.set_shape([None if count is None else int(count)] + list(self._element_shape[0]._dims))
            return value

    def gather(self, indices, name=None):
        value = gen.TensorArrayGatherV3(self._handle, indices, self._flow, self._dtype, element_shape=self._element_shape[0], name=name)
        if self._element_shape[0].rank is not None:
            value.set_shape([None] + list(self._element_shape[0]._dims))
        return value

    def concat(self, name=None):
        shape = self._element_shape[0]
        value, _ = gen.TensorArrayConcatV3(self._handle, self._flow, self._dtype,
                                           element_shape_except0=shape[1:] if shape.rank else TensorShape(None), name=name)
        if shape.rank:
            count = self._known_size() if self._infer_shape and shape._dims[0] is not None else None
            value.set_shape([None if count is None else count * shape._dims[0]] + list(shape._dims[1:]))
        return value

    def _known_size(self):
        count = constant_value(self.size())
        return None if count is None else int(count)

    def unstack(self, value, name=None):
        from headrace.array import shape
        from headrace.math import range
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            return self.scatter(indices=range(0, shape(value)[0]), value=value, name=name)

    def scatter(self, indices, value, name=None):
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = self._value(value)
            self._see_element(value.shape[1:])
            with self._placed_with(value):
                return self._with_flow(gen.TensorArrayScatterV3(self._handle, indices, value, self._flow, name=name))

    def split(self, value, lengths, name=None):
        from headrace.math import cast
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = self._value(value)
            with self._placed_with(value):
                lengths = cast(lengths, dtypes.int64)
                self._see_split(value, lengths)
                return self._with_flow(gen.TensorArraySplitV3(self._handle, value, lengths, self._flow, name=name))

    def _see_split(self, value, lengths):
        if not self._infer_shape:
            return
        known = constant_value(lengths)
        if value.shape.rank is None:
            return
        if known is not None and known.max() == known.min():
            self._see_element(TensorShape([int(known.flat[0])] + list(value.shape._dims[1:])))
        else:
            self._see_element(TensorShape([None] + list(value.shape._dims[1:])))

    def size(self, name=None):
        if not self._dynamic_size and self._size is not None:
            return convert_to_tensor(self._size, dtype=dtypes.int32)
        return gen.TensorArraySizeV3(self._handle, self._flow, name=name)

    def close(self, name=None):
        return gen.TensorArrayCloseV3(self._handle, name=name)
