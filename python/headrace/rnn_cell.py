# SPDX-License-Identifier: Apache-2.0
"""tf.nn.rnn_cell: one step of a recurrent network, `output, new_state = cell(inputs, state)`, with TensorFlow 1's variables."""
import collections
import hashlib

from headrace import graph as G
from headrace.dtypes import as_dtype, float32
from headrace.layers.base import Layer
from headrace.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from headrace.op_gen import gen
from headrace.tensor_shape import TensorShape, as_shape
from headrace.tensor_util import constant, convert_to_tensor
from headrace.variable_scope import get_variable_scope, variable_scope


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """State of an LSTM: what the cell holds, what it gave."""
    __slots__ = ()

    @property
    def dtype(self):
        if self.c.dtype != self.h.dtype:
            raise TypeError("Inconsistent dtypes for internal state: %s vs %s" % (self.c.dtype, self.h.dtype))
        return self.c.dtype


def assert_like_rnncell(cell_name, cell):
    missing = [what for what, has in (("'output_size' property is missing", hasattr(cell, "output_size")),
                                      ("'state_size' property is missing", hasattr(cell, "state_size")),
                                      ("either 'zero_state' or 'get_initial_state' method is required",
                                       hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")),
                                      ("is not callable", callable(cell))) if not has]
    if missing:
        raise TypeError("The argument %r (%s) is not an RNNCell: %s." % (cell_name, cell, ", ".join(missing)))


# --- shapes -------------------------------------------------------------
def _dims(value):
    """Dims of a size: a number, a TensorShape, a tensor's static value."""
    if isinstance(value, TensorShape):
        return list(value._dims) if value.rank is not None else None
    return [value]


def joined_static(prefix, suffix):
    """The shape prefix + suffix as far as it is known; a tensor as prefix stands for one unknown dim."""
    from headrace.tensor_util import constant_value
    if hasattr(prefix, "op"):
        known = constant_value(prefix)
        prefix = None if known is None else int(known)
    first, last = prefix if isinstance(prefix, list) else _dims(prefix), _dims(suffix)
    return TensorShape(None) if last is None else TensorShape(first + last)


def joined(prefix, suffix):
    """The same as a vector computed in the graph."""
    from headrace.array import concat, expand_dims
    from headrace.dtypes import int32

    def vector(value):
        if hasattr(value, "op"):
            return expand_dims(value, 0) if value.shape.rank == 0 else value
        dims = _dims(value)
        if dims is None or None in dims:
            raise ValueError("a size must be known: %s" % (value,))
        return constant(dims, dtype=int32)
    return concat([vector(prefix), vector(suffix)], 0)


def zero_states(state_size, batch_size, dtype):
    def zeros_of(size):
        from headrace.array import zeros
        made = zeros(joined(batch_size, size), dtype=dtype)
        made.set_shape(joined_static(batch_size, size))
        return made
    return map_structure(zeros_of, state_size)


# --- what cells share ---------------------------------------------------
class RNNCell(Layer):
    """A derived class has state_size, output_size and call(inputs, state)."""

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs):
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)

    def __call__(self, inputs, state, scope=None):
        if scope is not None:
            with variable_scope(scope) as opened:
                return super().__call__(inputs, state, scope=opened)
        with variable_scope(get_variable_scope()):
            return super().__call__(inputs, state)

    @property
    def state_size(self):
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        raise NotImplementedError("Abstract method")

    def build(self, _):
        pass

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            from headrace.array import shape
            inputs = convert_to_tensor(inputs, name="inputs")
            batch_size = inputs.shape._dims[0] if inputs.shape.rank and inputs.shape._dims[0] is not None else shape(inputs)[0]
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype cannot be None while constructing initial state: batch_size=%s, dtype=%s" % (batch_size, dtype))
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size, dtype):
        with G.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return zero_states(self.state_size, batch_size, as_dtype(dtype))


class LayerRNNCell(RNNCell):
    """Cells whose variables lie in a scope of the cell's own name."""

    def __call__(self, inputs, state, scope=None, *args, **kwargs):
        return Layer.__call__(self, inputs, state, scope=scope, *args, **kwargs)


def _activation(given, default):
    if given is None:
        return default
    if callable(given):
        return given
    from headrace import nn
    return getattr(nn, given)


def _depth(shape, cell):
    depth = shape[0]._dims[-1] if isinstance(shape, list) else shape._dims[-1]
    if depth is None:
        raise ValueError("Expected inputs.shape[-1] to be known, saw shape: %s" % shape)
    return depth


def _linear(x, kernel, bias):
    from headrace.nn import bias_add
    return bias_add(gen.MatMul(x, kernel, name="MatMul"), bias)


def _zeros_initializer():
    from headrace.initializers import zeros_initializer
    return zeros_initializer()


# --- cells --------------------------------------------------------------
class BasicRNNCell(LayerRNNCell):
    """output = new state = activation(W x + U state + b)"""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, _activation(activation, gen.Tanh)

    state_size = output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape):
        self._kernel = self.add_variable("kernel", shape=[_depth(inputs_shape, self) + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", shape=[self._num_units], initializer=_zeros_initializer())
        self.built = True

    def call(self, inputs, state):
        from headrace.array import concat
        output = self._activation(_linear(concat([inputs, state], 1), self._kernel, self._bias))
        return output, output


class GRUCell(LayerRNNCell):
    """Gated recurrent unit (Cho and others, 2014)."""

    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, _activation(activation, gen.Tanh)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    state_size = output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape):
        from headrace.initializers import constant_initializer
        rows, units = _depth(inputs_shape, self) + self._num_units, self._num_units
        bias = self._bias_initializer
        self._gate_kernel = self.add_variable("gates/kernel", shape=[rows, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", shape=[2 * units], initializer=bias if bias is not None else constant_initializer(1.0, dtype=self.dtype))
        self._candidate_kernel = self.add_variable("candidate/kernel", shape=[rows, units], initializer=self._kernel_initializer)
        self._candidate_bias = self.add_variable("candidate/bias", shape=[units], initializer=bias if bias is not None else _zeros_initializer())
        self.built = True

    def call(self, inputs, state):
        from headrace.array import concat, split
        reset, update = split(gen.Sigmoid(_linear(concat([inputs, state], 1), self._gate_kernel, self._gate_bias)), num_or_size_splits=2, axis=1)
        candidate = self._activation(_linear(concat([inputs, reset * state], 1), self._candidate_kernel, self._candidate_bias))
        new = update * state + (1 - update) * candidate
        return new, new


class BasicLSTMCell(LayerRNNCell):
    """LSTM without peepholes, clipping or projection (Zaremba and others, 2014)."""

    def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = _activation(activation, gen.Tanh)

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape):
        self._kernel = self.add_variable("kernel", shape=[_depth(inputs_shape, self) + self._num_units, 4 * self._num_units])
        self._bias = self.add_variable("bias", shape=[4 * self._num_units], initializer=_zeros_initializer())
        self.built = True

    def call(self, inputs, state):
        from headrace.array import concat, split
        one = constant(1, dtype="int32")
        c, h = state if self._state_is_tuple else split(value=state, num_or_size_splits=2, axis=one)
        gates = _linear(concat([inputs, h], 1), self._kernel, self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=one)
        forget = constant(self._forget_bias, dtype=f.dtype)
        new_c = gen.AddV2(gen.Mul(c, gen.Sigmoid(gen.AddV2(f, forget, name="Add"))), gen.Mul(gen.Sigmoid(i), self._activation(j)), name="Add")
        new_h = gen.Mul(self._activation(new_c), gen.Sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


class LSTMCell(LayerRNNCell):
    """LSTM with peepholes, clipping and projection as asked for (Sak and others, 2014)."""

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None, num_unit_shards=None,
                 num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        if num_unit_shards is not None or num_proj_shards is not None:
            raise NotImplementedError("LSTMCell: num_unit_shards and num_proj_shards are not implemented")
        self._num_units, self._use_peepholes, self._cell_clip, self._initializer = num_units, use_peepholes, cell_clip, initializer
        self._num_proj, self._proj_clip, self._forget_bias, self._state_is_tuple = num_proj, proj_clip, forget_bias, state_is_tuple
        self._activation = _activation(activation, gen.Tanh)
        self._output_size = num_proj or num_units

    output_size = property(lambda self: self._output_size)

    @property
    def state_size(self):
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._output_size)
        return self._num_units + self._output_size

    def build(self, inputs_shape):
        units = self._num_units
        self._kernel = self.add_variable("kernel", shape=[_depth(inputs_shape, self) + self._output_size, 4 * units], initializer=self._initializer)
        self._bias = self.add_variable("bias", shape=[4 * units], initializer=_zeros_initializer())
        if self._use_peepholes:
            self._w_f, self._w_i, self._w_o = (self.add_variable("w_%s_diag" % gate, shape=[units], initializer=self._initializer) for gate in "fio")
        if self._num_proj is not None:
            self._projection = self.add_variable("projection/kernel", shape=[units, self._num_proj], initializer=self._initializer)
        self.built = True

    def call(self, inputs, state):
        from headrace.array import concat, slice, split
        from headrace.math import clip_by_value
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = slice(state, [0, 0], [-1, self._num_units]), slice(state, [0, self._num_units], [-1, self._output_size])
        i, j, f, o = split(value=_linear(concat([inputs, h], 1), self._kernel, self._bias), num_or_size_splits=4, axis=1)
        peep = self._use_peepholes
        kept = gen.Sigmoid(f + self._forget_bias + self._w_f * c if peep else f + self._forget_bias) * c
        new_c = kept + gen.Sigmoid(i + self._w_i * c if peep else i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        new_h = gen.Sigmoid(o + self._w_o * new_c if peep else o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = gen.MatMul(new_h, self._projection, name="MatMul")
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


class MultiRNNCell(RNNCell):
    """Cells one upon the other."""

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not is_nested(cells):
            raise TypeError("cells must be a list or tuple, but saw: %s." % cells)
        self._cells, self._state_is_tuple = cells, state_is_tuple
        if not state_is_tuple and any(is_nested(c.state_size) for c in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: %s"
                             % ([c.state_size for c in cells],))

    state_size = property(lambda self: tuple(c.state_size for c in self._cells) if self._state_is_tuple else sum(c.state_size for c in self._cells))
    output_size = property(lambda self: self._cells[-1].output_size)
    trainable_weights = property(lambda self: [w for c in self._cells for w in c.trainable_weights])
    trainable_variables = trainable_weights
    weights = variables = property(lambda self: [w for c in self._cells for w in c.weights])

    def zero_state(self, batch_size, dtype):
        with G.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._state_is_tuple:
                return tuple(c.zero_state(batch_size, dtype) for c in self._cells)
            return super().zero_state(batch_size, dtype)

    def call(self, inputs, state):
        from headrace.array import concat, slice
        at, value, states = 0, inputs, []
        for i, cell in enumerate(self._cells):
            with variable_scope("cell_%d" % i):
                if self._state_is_tuple:
                    if not is_nested(state):
                        raise ValueError("Expected state to be a tuple of length %d, but received: %s" % (len(self.state_size), state))
                    own = state[i]
                else:
                    own = slice(state, [0, at], [-1, cell.state_size])
                    at += cell.state_size
                value, new = cell(value, own)
                states.append(new)
        return value, tuple(states) if self._state_is_tuple else concat(states, 1)


# --- wrappers -----------------------------------------------------------
class _Wrapper(RNNCell):
    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        assert_like_rnncell("cell", cell)
        self._cell = cell

    wrapped_cell = property(lambda self: self._cell)
    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)
    trainable_weights = trainable_variables = property(lambda self: self._cell.trainable_weights)
    weights = variables = property(lambda self: self._cell.weights)

    def zero_state(self, batch_size, dtype):
        with G.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


def _drops_state(substate):
    """Which parts of a state are dropped: not the cell of an LSTM."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not hasattr(substate, "flow")


class DropoutWrapper(_Wrapper):
    """Drops parts of a cell's inputs, state and outputs: anew each step, or the same parts at all steps (variational_recurrent)."""

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False, input_size=None, dtype=None,
                 seed=None, dropout_state_filter_visitor=None, **kwargs):
        super().__init__(cell, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter, self._seed, self._variational = dropout_state_filter_visitor or _drops_state, seed, variational_recurrent
        with G.name_scope("DropoutWrapperInit"):
            self._input_keep, self._state_keep, self._output_keep = (self._checked(p, n) for p, n in (
                (input_keep_prob, "input_keep_prob"), (state_keep_prob, "state_keep_prob"), (output_keep_prob, "output_keep_prob")))
            if variational_recurrent:
                self._make_noise(input_size, dtype)

    @staticmethod
    def _checked(prob, name):
        if hasattr(prob, "op"):
            return prob
        if not 0.0 <= float(prob) <= 1.0:
            raise ValueError("Parameter %s must be between 0 and 1: %s" % (name, prob))
        return float(prob)

    def _make_noise(self, input_size, dtype):
        from headrace.random import random_uniform
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(part, index, size):
            return random_uniform(joined(1, size), seed=self._seed_of(part, index), dtype=as_dtype(dtype))

        def noises(part, sizes):
            return pack_sequence_as(sizes, [noise(part, i, s) for i, s in enumerate(flatten(sizes))])
        if self._active(self._input_keep):
            if input_size is None:
                raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be provided")
            self._input_noise = noises("input", input_size)
        self._state_noise, self._output_noise = noises("state", self._cell.state_size), noises("output", self._cell.output_size)

    def _seed_of(self, part, index):
        if self._seed is None:
            return None
        return int(hashlib.md5(("%s%s_%d" % (self._seed, part, index)).encode()).hexdigest()[:8], 16) & 0x7FFFFFFF

    @staticmethod
    def _active(keep):
        return not isinstance(keep, float) or keep < 1

    def _drop(self, values, part, noise, keep, where):
        """The values, dropped where `where` (their structure, or a part of it, of bools) says so."""
        from headrace.math import divide
        from headrace.nn import dropout

        def drop(index, value, own_noise):
            if not self._variational:
                return dropout(value, keep_prob=keep, seed=self._seed_of(part, index))
            kept = divide(value, keep) * gen.Floor(keep + own_noise)
            kept.set_shape(value.shape)
            return kept
        flags = [where] * len(flatten(values)) if isinstance(where, bool) else _spread(where, values)
        own = flatten(noise) if self._variational else [None] * len(flags)
        return pack_sequence_as(values, [drop(i, v, n) if f else v for i, (v, n, f) in enumerate(zip(flatten(values), own, flags))])

    def call(self, inputs, state):
        if self._active(self._input_keep):
            inputs = self._drop(inputs, "input", getattr(self, "_input_noise", None), self._input_keep, True)
        output, new = self._cell(inputs, state)
        if self._active(self._state_keep):
            new = self._drop(new, "state", getattr(self, "_state_noise", None), self._state_keep, self._state_filter(new))
        if self._active(self._output_keep):
            output = self._drop(output, "output", getattr(self, "_output_noise", None), self._output_keep, True)
        return output, new

    def _state_filter(self, state):
        answer = self._filter(state)
        if isinstance(answer, bool) and type(state) in (list, tuple):
            return [self._state_filter(s) for s in state]
        return answer

    def __call__(self, inputs, state, scope=None):
        return self._through(inputs, state, scope)

    def _through(self, inputs, state, scope):
        if scope is None:
            return self.call(inputs, state)
        with variable_scope(scope):
            return self.call(inputs, state)


def _spread(where, values):
    """One flag for each leaf of values, from a structure that may end sooner."""
    if isinstance(where, bool):
        return [where] * len(flatten(values))
    return [f for w, v in zip(where, values) for f in _spread(w, v)]


class ResidualWrapper(_Wrapper):
    """Adds the cell's inputs to its outputs, or what residual_fn makes of both."""

    def __init__(self, cell, residual_fn=None, **kwargs):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def __call__(self, inputs, state, scope=None):
        outputs, new = self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), new

        def add(i, o):
            i.shape.assert_is_compatible_with(o.shape)
            return i + o
        assert_same_structure(inputs, outputs)
        return map_structure(add, inputs, outputs), new


class DeviceWrapper(_Wrapper):
    """Runs the cell on a device."""

    def __init__(self, cell, device, **kwargs):
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size, dtype):
        with G.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]), G.device(self._device):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        with G.device(self._device):
            return self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)
