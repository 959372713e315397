# SPDX-License-Identifier: Apache-2.0
"""Branches and loops: cond, case, while_loop, on Switch, Merge, Enter, Exit and NextIteration (contexts.py says what each operation inside
waits for). Values may be nested, sparse, slices, or TensorArrays, which travel as their flow."""
from headrace import _headrace, dtypes
from headrace.contexts import CondContext, WhileContext, switch as switch_beside
from headrace.gradients import IndexedSlices, SparseTensor
from headrace.graph import GraphKeys, add_to_collection, control_dependencies, get_collection, get_default_graph, name_scope
from headrace.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from headrace.op_gen import gen
from headrace.tensor_shape import TensorShape
from headrace.tensor_util import convert_to_tensor

_Tensor, _Operation = _headrace.Tensor, _headrace.Operation


# --- values of several tensors ------------------------------------------
def _is_array(value):
    return hasattr(value, "flow") and hasattr(value, "handle")


def to_tensors(value):
    """The tensors that one leaf stands for."""
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, IndexedSlices):
        return [value.values, value.indices] + ([] if value.dense_shape is None else [value.dense_shape])
    return [value.flow if _is_array(value) else value]


def from_tensors(value, tensors):
    """A leaf like `value` of the next tensors."""
    if isinstance(value, SparseTensor):
        return SparseTensor(next(tensors), next(tensors), next(tensors))
    if isinstance(value, IndexedSlices):
        return IndexedSlices(next(tensors), next(tensors), None if value.dense_shape is None else next(tensors))
    return value._with_flow(next(tensors)) if _is_array(value) else next(tensors)


def _convert_leaf(value):
    if isinstance(value, (SparseTensor, IndexedSlices)) or _is_array(value):
        return value
    if type(value).__name__ == "SparseTensorValue":
        return SparseTensor.from_value(value)
    return convert_to_tensor(value)


def pack_like(structure, tensors):
    tensors = iter(tensors)
    return pack_sequence_as(structure, [from_tensors(leaf, tensors) for leaf in flatten(structure)])


def _tensors_of(structure):
    return [t for leaf in flatten(structure) for t in to_tensors(leaf)]


# --- cond ---------------------------------------------------------------
def _without_wrapping(result):
    return result[0] if type(result) in (list, tuple) and len(result) == 1 else result


def _branch_leaf(context, value):
    if isinstance(value, _Operation):
        from headrace.control import with_dependencies
        return with_dependencies([value], context.pivot)
    if value is None:
        raise ValueError("a branch of a conditional gave None inside of a structure")
    value = _convert_leaf(value)
    return from_tensors(value, iter([context.output(t) for t in to_tensors(value)]))


def _build_branch(function, pred, pivot, branch):
    """What the function gives, as it said it and as values of the branch."""
    context = CondContext(pred, pivot, branch=branch)
    with context:
        before = len(get_collection(GraphKeys._SUMMARY_COLLECTION))
        said = function()
        fresh = get_collection(GraphKeys._SUMMARY_COLLECTION)[before:]
        if said is None and fresh:
            said = gen.NoOp()
        if said is None:
            raise ValueError("%s must have a return value." % ("true_fn" if branch else "false_fn"))
        if fresh and not isinstance(said, _Operation):
            with control_dependencies(fresh):
                said = map_structure(gen.Identity, said)
        made = map_structure(lambda leaf: _branch_leaf(context, leaf), said)
        context.ExitResult(_tensors_of(made))
    return context, said, made


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """What true_fn gives where pred holds, else what false_fn gives; only operations made inside the functions depend on it."""
    for old, new, word, old_word in ((fn1, true_fn, "true_fn", "fn1"), (fn2, false_fn, "false_fn", "fn2")):
        if old is not None and new is not None:
            raise TypeError("cond(): '%s' and '%s' may not be set simultaneously." % (word, old_word))
        if old is None and new is None:
            raise TypeError("cond(): '%s' argument required" % word)
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    graph = get_default_graph()
    with name_scope(name, "cond", [pred]):
        off, on = gen.Switch(pred, pred)
        pivots = [gen.Identity(on, name="switch_t"), gen.Identity(off, name="switch_f")]
        pred = gen.Identity(pred, name="pred_id")
        for t in (on, off, pivots[0], pivots[1], pred):
            graph.prevent_fetching(t.op)
        context_t, said_t, made_t = _build_branch(true_fn, pred, pivots[0], 1)
        context_f, said_f, made_f = _build_branch(false_fn, pred, pivots[1], 0)
        if not strict:
            said_t, said_f = _without_wrapping(said_t), _without_wrapping(said_f)
            made_t, made_f = _without_wrapping(made_t), _without_wrapping(made_f)
        merged = _merge_branches(said_t, said_f, made_t, made_f)
        if context_t.outer_context is None:
            add_to_collection(GraphKeys.COND_CONTEXT, context_t)
            add_to_collection(GraphKeys.COND_CONTEXT, context_f)
        return merged


def _merge_branches(said_t, said_f, made_t, made_f):
    try:
        assert_same_structure(said_t, said_f)
    except TypeError as e:
        raise TypeError("Incompatible return types of true_fn and false_fn: %s" % e) from None
    except ValueError as e:
        raise ValueError("Incompatible return values of true_fn and false_fn: %s" % e) from None
    made_t, made_f = _same_index_types(made_t, made_f)
    on, off = _tensors_of(made_t), _tensors_of(made_f)
    if not on:
        raise ValueError("true_fn and false_fn must return at least one result.")
    if len(on) != len(off):
        raise TypeError("Incompatible return types of true_fn and false_fn: a value of one is of several tensors")
    for x, y in zip(on, off):
        if x.dtype.base_dtype is not y.dtype.base_dtype:
            raise ValueError("Outputs of true_fn and false_fn must have the same type(s). Received %s from true_fn and %s from false_fn."
                             % (x.dtype.name, y.dtype.name))
    merges = [merge([y, x])[0] for x, y in zip(on, off)]
    return pack_like(made_t, merges)


def _same_index_types(made_t, made_f):
    """IndexedSlices with int32 indices on one side and int64 on the other: both int64."""
    from headrace.math import cast

    def widened(a, b):
        if isinstance(a, IndexedSlices) and isinstance(b, IndexedSlices) and a.indices.dtype is not b.indices.dtype:
            return IndexedSlices(a.values, cast(a.indices, dtypes.int64), a.dense_shape)
        return a
    return map_structure(widened, made_t, made_f, check_types=False), map_structure(widened, made_f, made_t, check_types=False)


def switch(data, pred, dtype=None, name=None):
    """(data where pred is false, data where it is true): of the two one is there."""
    return tuple(gen.Switch(convert_to_tensor(data, dtype, name="data"), pred, name=name))


def merge(inputs, name=None):
    """(the one of the inputs that is there, its index)"""
    if all(t.dtype._is_ref_dtype for t in inputs):
        return gen.RefMerge(inputs, name=name or "Merge")
    return gen.Merge(inputs, name=name)


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """cond, but a pred that is known while the graph is built picks its function at once."""
    from headrace.tensor_util import constant_value
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("Argument `true_fn` and `false_fn` must be callable.")
    known = constant_value(pred) if isinstance(pred, _Tensor) else None
    if not isinstance(pred, _Tensor) and not hasattr(pred, "_as_graph_element"):
        if pred not in (0, 1):
            raise TypeError("Argument `pred` must be a Tensor, or a Python bool, or 1 or 0. Received: %r" % (pred,))
        known = bool(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


# --- case ---------------------------------------------------------------
def _case_pairs(pairs, exclusive, allow_python):
    if not isinstance(pairs, (list, tuple, dict)):
        raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict. Received: %s" % type(pairs))
    if isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda item: item[0].name)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in 'pred_fn_pairs' must be a 2-tuple. Received %r." % (pair,))
        if not isinstance(pair[0], _Tensor) and not (allow_python and isinstance(pair[0], bool)):
            raise TypeError("pred must be a Tensor, got %r" % (pair[0],))
        if isinstance(pair[0], _Tensor) and pair[0].dtype.base_dtype is not dtypes.bool:
            raise TypeError("pred must be Tensor of type bool: %s" % pair[0].name)
        if not callable(pair[1]):
            raise TypeError("fn for pred %s must be callable." % pair[0].name)
    return [p for p, _ in pairs], [f for _, f in pairs]


def _at_most(predicates, count, message):
    from headrace.array import stack
    from headrace.control import Assert
    from headrace.math import cast, reduce_sum
    from headrace.tensor_util import constant
    preds = stack(predicates, name="preds_c")
    true = reduce_sum(cast(preds, dtypes.int32), name="num_true_conds")
    holds = gen.LessEqual(true, constant(count, name="n_true_conds"))
    names = ", ".join(p.name for p in predicates)
    return Assert(holds, ["%s: more than %d conditions (%s) evaluated as True:" % (message, count, names), preds], summarize=len(predicates))


def _last_as_default(predicates, actions):
    """No default: the last action is taken, after a check that its predicate holds and no other."""
    from headrace.array import stack
    from headrace.control import Assert
    last = len(predicates) - 1

    def default():
        none = ["Input error: None of conditions evaluated as True:", stack(predicates, name="preds_c")]
        others = _at_most(predicates[:last], 0, "Implementation error: selected default action #%d was called, but some of other predicates are "
                          "True: " % last)
        with control_dependencies([others, Assert(predicates[last], none)]):
            return actions[last]()
    return default, predicates[:last], actions[:last]


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """What the first function gives whose predicate holds, else what default gives."""
    predicates, actions = _case_pairs(pred_fn_pairs, exclusive, False)
    with name_scope(name, "case", [predicates]):
        if default is None:
            default, predicates, actions = _last_as_default(predicates, actions)
        if not callable(default):
            raise TypeError("default must be callable.")
        run = default
        for predicate, action in reversed(list(zip(predicates, actions))):
            run = _link(predicate, action, run, strict)
        if not exclusive:
            return run()
        with control_dependencies([_at_most(predicates, 1, "Input error: exclusive=True")]):
            return run()


def _link(predicate, action, otherwise, strict):
    return lambda: cond(predicate, true_fn=action, false_fn=otherwise, strict=strict)


# --- while_loop ---------------------------------------------------------
def _is_narrower(shape, wide):
    """Whether every shape of the one is one of the other."""
    if wide.rank is None:
        return True
    if shape.rank != wide.rank:
        return False
    return all(w is None or s == w for s, w in zip(shape._dims, wide._dims))


def _leaf_shapes(leaf, shape):
    """Shapes of the tensors of a leaf, of which the script said `shape`."""
    if isinstance(leaf, SparseTensor):
        rank = TensorShape(shape).rank
        return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]
    if isinstance(leaf, IndexedSlices):
        shape = TensorShape(shape)
        whole = [] if leaf.dense_shape is None else [TensorShape([shape.rank])]
        return [shape, shape[:1] if shape.rank else TensorShape([None])] + whole
    return [TensorShape([]) if _is_array(leaf) else TensorShape(shape)]


def _invariants(structure, tensors, said):
    if said is None:
        return [s for leaf in flatten(structure) for s in (_leaf_shapes(leaf, leaf.shape) if isinstance(leaf, SparseTensor) else
                                                           [t.shape for t in to_tensors(leaf)])]
    shapes = _flatten_up_to(structure, said)
    return [s for leaf, shape in zip(flatten(structure), shapes) for s in _leaf_shapes(leaf, shape)]


def _flatten_up_to(structure, said):
    if isinstance(structure, dict):
        return [s for key in sorted(structure) for s in _flatten_up_to(structure[key], said[key])]
    if is_nested(structure):
        if not isinstance(said, (list, tuple)) or len(said) != len(structure):
            raise ValueError("'shape_invariants' must have the structure of 'loop_vars': %r" % (said,))
        return [s for a, b in zip(structure, said) for s in _flatten_up_to(a, b)]
    if said is not None and not isinstance(said, (TensorShape, list, tuple, int)) and not hasattr(said, "shape"):
        raise TypeError("'shape_invariants' must be one or more of TensorShape. Received: %r" % (said,))
    return [said.shape if hasattr(said, "shape") and not isinstance(said, TensorShape) else said]


class _Loop(object):
    """The nodes of one loop, made in the order in which they stand in graphs."""

    def __init__(self, context, structure):
        self.context, self.structure, self.graph = context, structure, context._graph

    def enter(self, tensors, invariants):
        context, outer = self.context, self.context.outer_context
        context._values = set(tensors)
        real = [outer.AddValue(t) for t in tensors] if outer is not None else tensors
        enters = [context.enter(t, False) for t in real]
        pivot = None
        while outer is not None and pivot is None:
            pivot, outer = outer.GetControlPivot(), outer.outer_context
        if pivot is not None:
            from headrace.contexts import is_constant_enter
            for e in enters:
                if is_constant_enter(e.op.inputs[0].op):
                    e.op._add_control_input(pivot.op)
        for t, e, shape in zip(real, enters, invariants):
            if not _is_narrower(t.shape, shape):
                raise ValueError("The shape invariant specified for %s is not compatible with the initial shape of the loop variable. It enters the "
                                 "loop with shape %s, but the specified shape invariant is %s." % (e.name, t.shape, shape))
            e.set_shape(shape)
        context.settle_enters(enters)
        context._values = set(enters)
        context._loop_enters = enters
        context._seen = self.graph.node_count()
        self.merges = [merge([e, e])[0] for e in enters]
        context._pivot_for_pred = self.merges[0]

    def decide(self, pred):
        holds = convert_to_tensor(pred(*pack_like(self.structure, self.merges)))
        self.context._pivot = gen.LoopCond(holds, name="LoopCond")
        self.switches = [switch_beside(m, self.context._pivot) for m in self.merges]

    def iterate(self, body):
        values = [gen.RefIdentity(s[1]) if s[1].dtype._is_ref_dtype else gen.Identity(s[1]) for s in self.switches]
        self.context._pivot_for_body = values[0]
        given = pack_like(self.structure, values)
        before = len(get_collection(GraphKeys._SUMMARY_COLLECTION))
        said = body(*given)
        said = said if is_nested(said) else [said]
        fresh = get_collection(GraphKeys._SUMMARY_COLLECTION)[before:]
        if fresh:
            with control_dependencies(fresh):
                said = map_structure(lambda x: x if _is_array(x) else gen.Identity(x), said)
        assert_same_structure(list(given), list(said) if not isinstance(said, dict) else said)
        said = pack_sequence_as(said, [_convert_leaf(leaf) for leaf in flatten(said)])
        results = _tensors_of(said)
        if len(results) != len(self.merges):
            raise ValueError("Number of inputs and outputs of 'body' must match 'loop_vars'. Got %d, %d" % (len(self.merges), len(results)))
        self.next = [self._back_edge(m, v) for m, v in zip(self.merges, results)]
        return said

    def _back_edge(self, merged, value):
        again = gen.RefNextIteration(value) if value.dtype._is_ref_dtype else gen.NextIteration(value)
        if not _is_narrower(again.shape, merged.shape):
            entering = merged.op.inputs[0].op.inputs[0]
            raise ValueError("Input tensor '%s' enters the loop with shape %s, but has shape %s after one iteration. To allow the shape to vary across "
                             "iterations, use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
                             % (entering.name, entering.shape, again.shape))
        if again.dtype.base_dtype is not merged.dtype.base_dtype:
            raise TypeError("Input tensor '%s' enters the loop with type %s, but has type %s after one iteration."
                            % (merged.op.inputs[0].op.inputs[0].name, merged.dtype.name, again.dtype.name))
        merged.op._update_input(1, again)
        return again

    def leave(self):
        exits = [gen.RefExit(s[0]) if s[0].dtype._is_ref_dtype else gen.Exit(s[0]) for s in self.switches]
        self.context._loop_exits = exits
        self.context.ExitResult(exits)
        return exits


def _build_loop(context, pred, body, loop_vars, shape_invariants, return_same_structure):
    leaves = [_convert_leaf(leaf) for leaf in flatten(loop_vars)]
    structure = pack_sequence_as(loop_vars, leaves) if is_nested(loop_vars) else leaves[0]
    tensors = [t for leaf in leaves for t in to_tensors(leaf)]
    invariants = _invariants(structure, tensors, shape_invariants)
    loop = _Loop(context, structure)
    with context:
        loop.enter(tensors, invariants)
        loop.decide(pred)
        said = loop.iterate(body)
        exits = loop.leave()
    packed = pack_like(said, exits)
    if return_same_structure or len(exits) != 1:
        return packed
    return packed[0] if isinstance(packed, (list, tuple)) else packed


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None,
               maximum_iterations=None, return_same_structure=False):
    """Computes body again and again while cond holds, both functions of the loop's variables; gives their last values."""
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    with name_scope(name, "while", flatten(loop_vars) if loop_vars is not None else None):
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        if parallel_iterations < 1:
            raise TypeError("'parallel_iterations' must be a positive integer.")
        if maximum_iterations is not None:
            cond, body, loop_vars, shape_invariants, maximum_iterations = _counted(cond, body, loop_vars, shape_invariants, maximum_iterations,
                                                                                   return_same_structure)
        context = WhileContext(maximum_iterations, parallel_iterations, back_prop, swap_memory)
        if context.outer_context is None:
            add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = _build_loop(context, cond, body, loop_vars, shape_invariants, return_same_structure)
        return result if maximum_iterations is None else result[1]


def _counted(cond, body, loop_vars, shape_invariants, maximum, return_same_structure):
    """A loop of two variables: a counter, and what the script's loop has."""
    from headrace.tensor_util import constant
    maximum = convert_to_tensor(maximum, name="maximum_iterations")
    if maximum.shape.rank != 0:
        raise ValueError("'maximum_iterations' must be a scalar. Received shape: %s" % maximum.shape)
    counter = constant(0, dtype=maximum.dtype, name="iteration_counter")
    single = len(loop_vars) == 1 and not return_same_structure
    if single:
        variables = loop_vars[0] if isinstance(loop_vars, (list, tuple)) else loop_vars
        more, again = (lambda i, v: gen.LogicalAnd(i < maximum, cond(v))), (lambda i, v: (i + 1, _alone(body(v), v)))
    else:
        variables = loop_vars
        more, again = (lambda i, v: gen.LogicalAnd(i < maximum, cond(*v))), (lambda i, v: (i + 1, _like(body(*v), v)))
    if shape_invariants is not None:
        shape_invariants = (TensorShape([]), shape_invariants[0] if single else shape_invariants)
    return more, again, (counter, variables), shape_invariants, maximum


def _alone(result, given):
    """A body of one variable may give it in a list."""
    return result[0] if isinstance(result, (list, tuple)) and len(result) == 1 and not is_nested(given) else result


def _like(result, given):
    """Lists and tuples stand for each other at the outermost level."""
    if type(given) in (list, tuple) and type(result) in (list, tuple):
        return type(given)(result)
    return result
