# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: a cell (rnn_cell.py) run over time, in a loop (dynamic_rnn, raw_rnn) or step by step in the graph (static_rnn)."""
from headrace import dtypes
from headrace import graph as G
from headrace.flow import cond, while_loop
from headrace.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from headrace.op_gen import gen
from headrace.rnn_cell import assert_like_rnncell, joined, joined_static
from headrace.tensor_array import TensorArray
from headrace.tensor_shape import TensorShape, as_shape
from headrace.tensor_util import constant, convert_to_tensor
from headrace.variable_scope import variable_scope


def _swap_batch_and_time(x):
    """[batch, time, ...] as [time, batch, ...] and back."""
    from headrace.array import concat, rank, transpose
    from headrace.math import range
    known = x.shape
    if known.rank is not None and known.rank < 2:
        raise ValueError("Expected input tensor %s to have rank at least 2, but saw shape: %s" % (x.name, known))
    swapped = transpose(x, concat(([1, 0], range(2, rank(x))), axis=0))
    if known.rank is not None:
        swapped.set_shape(TensorShape([known._dims[1], known._dims[0]] + list(known._dims[2:])))
    return swapped


def _batch_size(inputs):
    """Of time-major inputs: a number where it is known."""
    from headrace.array import shape
    for x in inputs:
        if x.shape.rank is not None and x.shape.rank < 2:
            raise ValueError("Expected input tensor %s to have rank at least 2, but saw shape: %s" % (x.name, x.shape))
        if x.shape.rank is not None and x.shape._dims[1] is not None:
            return x.shape._dims[1]
    return shape(inputs[0])[1]


def _state_type(explicit, state):
    if explicit is not None:
        return dtypes.as_dtype(explicit)
    kinds = [s.dtype.base_dtype for s in flatten(state)]
    if not kinds:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(k is not kinds[0] for k in kinds):
        raise ValueError("State has tensors of different inferred_dtypes. Unable to infer a single representative dtype.")
    return kinds[0]


def _start(cell, initial_state, batch_size, dtype):
    if initial_state is not None:
        return initial_state
    if not dtype:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _zeros(batch_size, size, dtype):
    from headrace.array import stack, zeros
    return zeros(stack(joined(batch_size, size)), dtype)


def _lengths(sequence_length, batch_size):
    """sequence_length as int32, checked to be one for each entry of the batch."""
    from headrace.array import identity, shape, stack
    from headrace.control import Assert
    from headrace.math import cast, reduce_all
    lengths = cast(sequence_length, dtypes.int32)
    if lengths.shape.rank not in (None, 1):
        raise ValueError("sequence_length must be a vector of length batch_size, but saw shape: %s" % lengths.shape)
    lengths = identity(lengths, name="sequence_length")
    have, want = shape(lengths), stack([batch_size])
    check = Assert(reduce_all(gen.Equal(have, want)), ["Expected shape for Tensor %s is " % lengths.name, want, " but saw shape: ", have])
    with G.control_dependencies([check]):
        return identity(lengths, name="CheckSeqLen")


def _through(finished, old, new):
    """The new value, or the old one for entries that are finished. What has no batch is new."""
    if hasattr(old, "flow") or old.shape.rank == 0:
        return new
    with G.colocate_with(new):
        return gen.Select(finished, old, new)


def _call_with_lengths(time, lengths, shortest, longest, zero_output, state, call, skip_conditionals):
    """One step of which finished entries keep their state and give zeros."""
    flat_state, flat_zero = flatten(state), flatten(zero_output)
    finished = gen.GreaterEqual(convert_to_tensor(time), lengths)
    structure = []

    def step():
        output, new = call()
        assert_same_structure(state, new)
        structure.append(output)
        return flatten(output), flatten(new)

    def copied(outputs, states):
        return [_through(finished, z, o) for z, o in zip(flat_zero, outputs)] + [_through(finished, s, n) for s, n in zip(flat_state, states)]

    if skip_conditionals:
        results = copied(*step())
    else:
        def some():
            outputs, states = step()
            return cond(gen.Less(convert_to_tensor(time), shortest), lambda: outputs + states, lambda: copied(outputs, states))
        results = cond(gen.GreaterEqual(convert_to_tensor(time), longest), lambda: flat_zero + flat_state, some)
    outputs, states = results[:len(flat_zero)], results[len(flat_zero):]
    for made, like in zip(outputs + states, flat_zero + flat_state):
        if not hasattr(made, "flow"):
            made.set_shape(like.shape)
    return pack_sequence_as(zero_output, outputs), pack_sequence_as(state, states)


# --- in a loop ----------------------------------------------------------
def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None, swap_memory=False, time_major=False,
                scope=None):
    """(outputs of all steps, last state); inputs are [batch, time, depth], or [time, batch, depth] when time_major."""
    assert_like_rnncell("cell", cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in flatten(inputs)]
        if not time_major:
            flat = [_swap_batch_and_time(x) for x in flat]
        batch = _batch_size(flat)
        state = _start(cell, initial_state, batch, dtype)
        lengths = None if sequence_length is None else _lengths(sequence_length, batch)
        outputs, last = _loop(cell, pack_sequence_as(inputs, flat), map_structure(_as_tensor, state), parallel_iterations or 32, swap_memory, lengths,
                              dtype)
        return (outputs if time_major else map_structure(_swap_batch_and_time, outputs)), last


def _as_tensor(value):
    return value if hasattr(value, "flow") else convert_to_tensor(value)


def _loop(cell, inputs, state, parallel_iterations, swap_memory, lengths, dtype):
    from headrace.array import shape
    from headrace.math import reduce_max, reduce_min
    flat = flatten(inputs)
    sizes = flatten(cell.output_size)
    steps = shape(flat[0])[0]
    batch = _batch_size(flat)
    for x in flat:
        if x.shape.rank is None or None in x.shape._dims[2:]:
            raise ValueError("Input size (depth of inputs) must be accessible via shape inference, but saw value None.")
    known_steps, known_batch = flat[0].shape._dims[:2]
    kind = _state_type(dtype, state)
    zero = pack_sequence_as(cell.output_size, [_zeros(batch, s, kind) for s in sizes])
    shortest = longest = None
    if lengths is not None:
        shortest, longest = reduce_min(lengths), reduce_max(lengths)
    time = constant(0, dtype=dtypes.int32, name="time")
    with G.name_scope("dynamic_rnn") as base:
        pass

    def array(name, element, dtype):
        return TensorArray(dtype, size=steps, element_shape=element, tensor_array_name=base + name)
    outs = tuple(array("output_%d" % i, joined_static(known_batch, s), kind) for i, s in enumerate(sizes))
    ins = tuple(array("input_%d" % i, x.shape[1:], x.dtype) for i, x in enumerate(flat))
    ins = tuple(a.unstack(x) for a, x in zip(ins, flat))

    def body(time, outs, state):
        values = [a.read(time) for a in ins]
        for v, x in zip(values, flat):
            v.set_shape(x.shape[1:])
        call = lambda: cell(pack_sequence_as(inputs, values), state)
        if lengths is None:
            output, new = call()
        else:
            output, new = _call_with_lengths(time, lengths, shortest, longest, zero, state, call, True)
        outs = tuple(a.write(time, o) for a, o in zip(outs, flatten(output)))
        return time + 1, outs, new
    bound = gen.Minimum(steps, gen.Maximum(1, steps if longest is None else longest))
    _, outs, last = while_loop(lambda time, *_: time < bound, body, (time, outs, state), parallel_iterations=parallel_iterations,
                               maximum_iterations=steps, swap_memory=swap_memory)
    finals = [a.stack() for a in outs]
    for made, size in zip(finals, sizes):
        made.set_shape(joined_static([known_steps, known_batch], size))
    return pack_sequence_as(cell.output_size, finals), last


def raw_rnn(cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None):
    """A loop whose inputs, states and outputs loop_fn(time, output, state, loop_state) decides: (TensorArrays of outputs, state, loop_state)."""
    from headrace.array import shape, zeros
    from headrace.math import reduce_all
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtype=dtypes.int32)
        finished, first, start, emitted, loop_state = loop_fn(time, None, None, None)
        flat = flatten(first)
        carried = loop_state if loop_state is not None else constant(0, dtype=dtypes.int32)
        known_batch = flat[0].shape._dims[0] if flat[0].shape.rank else None
        batch = known_batch if known_batch is not None else shape(flat[0])[0]
        assert_same_structure(start, cell.state_size)
        state = map_structure(_as_tensor, start)
        if emitted is not None:
            sizes = [e.shape if e.shape.is_fully_defined() else shape(e) for e in flatten(emitted)]
            kinds = [e.dtype for e in flatten(emitted)]
            known = [e.shape for e in flatten(emitted)]
        else:
            emitted = cell.output_size
            sizes = known = flatten(emitted)
            kinds = [flatten(state)[0].dtype] * len(sizes)
        arrays = pack_sequence_as(emitted, [TensorArray(k, dynamic_size=True, element_shape=joined_static(known_batch, s), size=0,
                                                        name="rnn_output_%d" % i) for i, (k, s) in enumerate(zip(kinds, known))])
        zero = pack_sequence_as(emitted, [zeros(joined(batch, s), k) for s, k in zip(sizes, kinds)])

        def body(time, finished, current, arrays, state, carried):
            output, new = cell(current, state)
            assert_same_structure(state, new)
            next_time = time + 1
            next_finished, following, next_state, emit, next_carried = loop_fn(next_time, output, new, carried)
            assert_same_structure(state, next_state)
            assert_same_structure(current, following)
            carried = carried if next_carried is None else next_carried
            copy = lambda old, fresh: map_structure(lambda a, b: _through(finished, a, b), old, fresh)
            emit = copy(zero, emit)
            next_state = copy(state, next_state)
            arrays = map_structure(lambda a, e: a.write(time, e), arrays, emit)
            return next_time, gen.LogicalOr(finished, next_finished), following, arrays, next_state, carried
        result = while_loop(lambda time, finished, *_: gen.LogicalNot(reduce_all(finished)), body, [time, finished, first, arrays, state, carried],
                            parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
        return result[3], result[4], None if loop_state is None else result[5]


def _reversed(x, lengths, time_axis, batch_axis):
    from headrace.array import reverse, reverse_sequence
    if lengths is None:
        return reverse(x, axis=[time_axis])
    return reverse_sequence(input=x, seq_lengths=lengths, seq_axis=time_axis, batch_axis=batch_axis)


def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None, dtype=None,
                              parallel_iterations=None, swap_memory=False, time_major=False, scope=None):
    """Two networks, the second over the reversed inputs: ((outputs, outputs in the same order of time), (state, state))."""
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)
    turn = lambda x: _reversed(x, sequence_length, time_axis, batch_axis)
    more = dict(sequence_length=sequence_length, dtype=dtype, parallel_iterations=parallel_iterations, swap_memory=swap_memory, time_major=time_major)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, last_fw = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope=fw, **more)
        with variable_scope("bw") as bw:
            backward, last_bw = dynamic_rnn(cell_bw, map_structure(turn, inputs), initial_state=initial_state_bw, scope=bw, **more)
    return (forward, map_structure(turn, backward)), (last_fw, last_bw)


# --- step by step -------------------------------------------------------
def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """(list of outputs, last state) of a list of inputs [batch, depth]."""
    from headrace.array import shape
    from headrace.math import cast, reduce_max, reduce_min
    assert_like_rnncell("cell", cell)
    if not is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope(scope or "rnn") as opened:
        first = flatten(inputs)[0]
        known = first.shape._dims[0] if first.shape.rank else None
        batch = known if known else shape(first)[0]
        state = _start(cell, initial_state, batch, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if lengths.shape.rank not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")

            def zero_of(size):
                made = _zeros(batch, size, _state_type(dtype, state))
                made.set_shape(joined_static(known, size))
                return made
            zero = map_structure(zero_of, cell.output_size)
            lengths = cast(lengths, dtypes.int32)
            shortest, longest = reduce_min(lengths), reduce_max(lengths)
        for time, x in enumerate(inputs):
            if time:
                opened.reuse_variables()
            call = lambda: cell(x, state)
            if lengths is None:
                output, state = call()
            else:
                output, state = _call_with_lengths(time, lengths, shortest, longest, zero, state, call, False)
            outputs.append(output)
    return outputs, state


def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None, sequence_length=None, scope=None):
    """(outputs of both side by side, state forward, state backward)."""
    from headrace.array import concat, stack, unstack

    def turned(values):
        if sequence_length is None:
            return list(reversed(values))
        return unstack(_reversed(stack(values), sequence_length, 0, 1), len(values))
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    if not is_nested(inputs) or not inputs:
        raise TypeError("inputs must be a sequence")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward, last_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw)
        with variable_scope("bw") as bw:
            backward, last_bw = static_rnn(cell_bw, turned(list(inputs)), initial_state_bw, dtype, sequence_length, scope=bw)
    return [concat([f, b], 1) for f, b in zip(forward, turned(backward))], last_fw, last_bw
