# SPDX-License-Identifier: Apache-2.0
"""Where operations are made: inside a branch of a conditional (CondContext) or inside a loop (WhileContext).

A context sees every operation made while it is current (Graph._created calls `add_op`). Tensors from outside are brought in through a
Switch or a constant Enter, once each; an operation that waits for nothing of the inside waits for the context's pivot, so that it runs only
when the branch is taken or for each iteration. Nodes that C code adds by itself (gradients, optimizers) are taken in when the next
operation is made or the context ends."""
from headrace import _headrace
from headrace.graph import get_default_graph
from headrace.op_gen import gen

_Tensor = _headrace.Tensor
_EXITS, _ENTERS = ("Exit", "RefExit"), ("Enter", "RefEnter")


def switch(data, pred, name="Switch"):
    """(value where pred is false, value where it is true), placed with data."""
    with get_default_graph().colocate_with(data, ignore_existing=True):
        return (gen.RefSwitch if data.dtype._is_ref_dtype else gen.Switch)(data, pred, name=name)


def is_constant_enter(op):
    return op.type in _ENTERS and op.get_attr("is_constant")


def output_context(op):
    """The context that an operation's outputs belong to: what leaves a loop belongs to what is around it."""
    context = op._context
    return context.outer_context if context is not None and op.type in _EXITS else context


def while_context_of(context):
    return None if context is None else context.GetWhileContext()


def _contains(outer, inner):
    while inner is not outer and inner is not None:
        inner = while_context_of(inner.outer_context)
    return inner is outer


def check_input(op, input_op):
    """A value of a loop may be read in that loop and in loops inside it, no elsewhere."""
    source = output_context(input_op)
    if source is None or source is op._context:
        return
    here, there = while_context_of(op._context), while_context_of(source)
    if there is None or _contains(there, here) or (here is None and op.type in _ENTERS + ("Switch", "RefSwitch")):
        return
    if here is None:
        raise ValueError("Cannot use '%s' as input to '%s' because '%s' is in a while loop." % (input_op.name, op.name, input_op.name))
    raise ValueError("Cannot use '%s' as input to '%s' because they are in different while loops." % (input_op.name, op.name))


class ControlFlowContext(object):
    """What both kinds share."""

    def __init__(self, values_def=None, import_scope=None):
        self._graph = get_default_graph()
        self._outer_context = self._graph._context
        self._values, self._external_values = set(), {}
        self._stack, self._seen, self._nested = [], 0, []
        if self._outer_context is not None:
            self._outer_context._nested.append(self)

    name = property(lambda self: self._name)
    outer_context = property(lambda self: self._outer_context)
    back_prop = property(lambda self: False)
    grad_state = property(lambda self: None)

    def Enter(self):
        graph = self._graph
        self._stack.append(graph._context)
        graph._set_control_flow_context(self)

    def Exit(self):
        self._adopt_new()
        self._graph._set_control_flow_context(self._stack.pop())

    def __enter__(self):
        self.Enter()

    def __exit__(self, *unused):
        self.Exit()
        return False

    def ExitResult(self, result):
        """What the context gives is known outside of it."""
        context = self._outer_context
        while context is not None:
            context._values.update(result)
            context = context._outer_context

    def GetWhileContext(self):
        return while_context_of(self._outer_context)

    def IsWhileContext(self):
        return False

    def IsCondContext(self):
        return False

    def _adopt_new(self):
        """Nodes that C made since the last operation made here."""
        graph = self._graph
        count = graph.node_count()
        if self._seen < count:
            first, self._seen = self._seen, count
            for op in graph._operations()[first:count]:
                if op._context is None and op.type not in ("VariableV2", "VarHandleOp"):
                    self._take(op)
            self._seen = graph.node_count()

    def take_placed(self, first):
        """Nodes that C made and, within a loop, put into the loop's frame itself."""
        if self._graph.node_count() == first or self.GetWhileContext() is None:
            return
        for op in self._graph._operations()[first:]:
            op._context = self
            self._remember(op.outputs)
            self._graph.prevent_fetching(op)
        self._seen = self._graph.node_count()

    def created(self, op):
        """Called for each operation made while the context is current."""
        if op._id > self._seen:
            first, self._seen = self._seen, op._id
            for missed in self._graph._operations()[first:op._id]:
                if missed._context is None:
                    self._take(missed)
        self._take(op)
        self._seen = self._graph.node_count()

    def _take(self, op):
        graph = self._graph
        op._context = self
        scope = graph._name_stack
        if op.type != "Const":  # what any other operation needs is made in the scope of its name
            graph._name_stack = op.name
        try:
            self.AddOp(op)
        finally:
            graph._name_stack = scope
        if self._outer_context is not None or op.type not in _EXITS:
            graph.prevent_fetching(op)

    def _take_inputs(self, op):
        for index, x in enumerate(op.inputs):
            check_input(op, x.op)
            if op.type in ("Merge", "RefMerge") and x.op.type in ("NextIteration", "RefNextIteration"):
                continue
            real = self.AddValue(x)
            if real is not x:
                op._update_input(index, real)

    def _drop_outer_controls(self, op):
        """Control inputs from outside the enclosing loop go; gives those that stay and those that went."""
        controls, loop = op.control_inputs, self.GetWhileContext()
        if loop is None or not controls:
            return controls, []
        inside = [c for c in controls if while_context_of(output_context(c)) is loop]
        if len(inside) == len(controls):
            return inside, []
        op._remove_all_control_inputs()
        op._add_control_inputs(inside)
        return inside, [c for c in controls if c not in inside]

    def _remember(self, outputs):
        context = self
        while context is not None:
            context._values.update(outputs)
            context = context._outer_context

    # --- messages
    def _values_def(self, d, scope):
        d.values.extend(sorted(_outside(t.name, scope) for t in self._values))
        for outer, inner in self._external_values.items():
            d.external_values[_outside(outer.name, scope)] = _outside(inner.name, scope)

    def _take_values(self, d, scope):
        found = lambda name: self._graph.as_graph_element(_inside(name, scope))
        self._values = set(found(n) for n in d.values)
        self._external_values = dict((found(k), found(v)) for k, v in d.external_values.items())
        for t in self._values:
            if t not in self._external_values:
                t.op._context = self
                self._graph.prevent_fetching(t.op)

    def to_control_flow_context_def(self, context_def, export_scope=None):
        raise NotImplementedError

    def _nested_defs(self, target, scope):
        for nested in self._nested:
            nested.to_control_flow_context_def(target.add(), scope)

    def _take_nested(self, defs, scope):
        for d in defs:
            self.Enter()
            try:
                from_control_flow_context_def(d, scope)
            finally:
                self._graph._set_control_flow_context(self._stack.pop())


def _outside(name, scope):
    return name[len(scope) + 1:] if scope and name.startswith(scope + "/") else name


def _inside(name, scope):
    return scope + "/" + name if scope else name


def from_control_flow_context_def(context_def, import_scope=None):
    if context_def.HasField("cond_ctxt"):
        return CondContext.from_proto(context_def.cond_ctxt, import_scope)
    return WhileContext.from_proto(context_def.while_ctxt, import_scope)


class CondContext(ControlFlowContext):
    """One branch of a conditional; `pivot` carries the branch's being taken."""

    def __init__(self, pred=None, pivot=None, branch=None, name="cond_text", context_def=None, import_scope=None):
        super(CondContext, self).__init__()
        if context_def is not None:
            self._from_def(context_def, import_scope)
            return
        self._name = self._graph.unique_name(name)
        self._pred, self._pivot, self._branch = pred, pivot, branch
        self._values.update((pred, pivot))
        self._external_values[pred] = pred
        pivot.op._context = self

    pred = property(lambda self: self._pred)
    pivot = property(lambda self: self._pivot)
    branch = property(lambda self: self._branch)
    back_prop = property(lambda self: self.GetWhileContext().back_prop if self.GetWhileContext() else False)

    def GetControlPivot(self):
        return self._pivot

    def IsCondContext(self):
        return True

    def AddValue(self, val):
        if val in self._values:
            return self._external_values.get(val, val)
        self._values.add(val)
        result = val
        if self._outer_context is not None:
            result = self._outer_context.AddValue(val)
            self._values.add(result)
            self._external_values[result] = result
        with self._graph.control_dependencies(None):
            result = switch(result, self._pred)[self._branch]
        self._graph.prevent_fetching(result.op)
        result.op._context = self
        self._remember([result])
        self._external_values[val] = result
        return result

    def AddOp(self, op):
        if op.inputs:
            self._take_inputs(op)
            self._drop_outer_controls(op)
        else:
            self._drop_outer_controls(op)
            if not any(output_context(c) is self for c in op.control_inputs):
                op._add_control_input(self._pivot.op)
        self._remember(op.outputs)

    def output(self, val):
        """A value that the branch gives: switched when it is one from outside."""
        if val in self._values:
            return self._external_values.get(val, val)
        self._values.add(val)
        real = val
        if self._outer_context is not None:
            real = self._outer_context.AddValue(val)
            self._values.add(real)
            self._external_values[real] = real
        real = switch(real, self._pred)[self._branch]
        self._external_values[val] = real
        return real

    def to_proto(self, export_scope=None):
        from headrace.protos import message
        d = message("CondContextDef")(context_name=_outside(self._name, export_scope), pred_name=_outside(self._pred.name, export_scope),
                                      pivot_name=_outside(self._pivot.name, export_scope), branch=self._branch)
        self._values_def(d.values_def, export_scope)
        self._nested_defs(d.nested_contexts, export_scope)
        return d

    def to_control_flow_context_def(self, context_def, export_scope=None):
        context_def.cond_ctxt.CopyFrom(self.to_proto(export_scope))

    def _from_def(self, d, scope):
        found = lambda name: self._graph.as_graph_element(_inside(name, scope))
        self._name, self._branch = _inside(d.context_name, scope), d.branch
        self._pred, self._pivot = found(d.pred_name), found(d.pivot_name)
        self._take_values(d.values_def, scope)
        self._pivot.op._context = self
        self._take_nested(d.nested_contexts, scope)

    @staticmethod
    def from_proto(context_def, import_scope=None):
        return CondContext(context_def=context_def, import_scope=import_scope)


class WhileContext(ControlFlowContext):
    """A loop: its frame is called like the context."""

    def __init__(self, maximum_iterations=None, parallel_iterations=10, back_prop=True, swap_memory=False, name="while_context", grad_state=None,
                 context_def=None, import_scope=None):
        super(WhileContext, self).__init__()
        self._pivot_for_pred = self._pivot_for_body = self._pivot = None
        self._loop_exits, self._loop_enters = [], []
        if context_def is not None:
            self._from_def(context_def, import_scope)
            return
        self._name = self._graph.unique_name(name)
        self._maximum_iterations, self._parallel_iterations = maximum_iterations, parallel_iterations
        self._back_prop, self._swap_memory = back_prop, swap_memory

    pivot = property(lambda self: self._pivot)
    maximum_iterations = property(lambda self: self._maximum_iterations)
    parallel_iterations = property(lambda self: self._parallel_iterations)
    back_prop = property(lambda self: self._back_prop)
    swap_memory = property(lambda self: self._swap_memory)
    loop_enters = property(lambda self: self._loop_enters)
    loop_exits = property(lambda self: self._loop_exits)

    def GetWhileContext(self):
        return self

    def IsWhileContext(self):
        return True

    def GetControlPivot(self):
        return self._pivot_for_pred if self._pivot_for_body is None else self._pivot_for_body

    def enter(self, data, is_constant):
        """An Enter of a value from around the loop, made outside of it."""
        with self._graph.control_dependencies(None):
            made = (gen.RefEnter if data.dtype._is_ref_dtype else gen.Enter)(data, self._name, is_constant, self._parallel_iterations)
            made.graph.prevent_feeding(made)
        return made

    def AddValue(self, val):
        if val in self._values or val.op._context is self:
            return self._external_values.get(val, val)
        self._values.add(val)
        result = val if self._outer_context is None else self._outer_context.AddValue(val)
        made = self.enter(result, True)
        made.set_shape(result.get_shape())
        self.settle_enters([made])
        self._values.add(made)
        self._external_values[val] = made
        return made

    def settle_enters(self, enters):
        """Enters belong to the loop and wait for what the scopes around it say."""
        for e in enters:
            for c in self._graph._controls_for([e.op.inputs[0].op]):
                if self._is_around(output_context(c)):
                    e.op._add_control_input(c)
            e.op._context = self
            self._graph._note_made(e.op)

    def _is_around(self, context):
        """Whether a control input of that context may stay at an Enter: it lies around this loop, within the next loop out."""
        outer, loop = self._outer_context, while_context_of(self._outer_context)
        while outer is not context:
            if outer is None or outer is loop:
                return False
            outer = outer.outer_context
        return True

    def AddOp(self, op):
        if op.inputs:
            self._take_inputs(op)
            outside = self._drop_outer_controls(op)[1]
            if not op.control_inputs and all(is_constant_enter(x.op) for x in op.inputs):
                op._add_control_input(self.GetControlPivot().op)
        else:
            inside, outside = self._drop_outer_controls(op)
            if not inside:
                op._add_control_input(self.GetControlPivot().op)
        self._values.update(op.outputs)
        if outside:
            self._wait_through_data(op, outside)
        if self._outer_context is not None or op.type not in _EXITS:
            for x in op.outputs:
                self._graph.prevent_feeding(x)

    def _wait_through_data(self, op, outside):
        """What lies outside is waited for by way of one of its values."""
        seen = self._seen
        with self._graph.control_dependencies(None):
            self._graph._set_control_flow_context(self)
            proxies = [gen.Identity(c.outputs[0]).op for c in outside if c.outputs]
        self._seen = max(seen, self._seen)
        op._add_control_inputs(proxies)

    def to_proto(self, export_scope=None):
        from headrace.protos import message
        out = lambda t: _outside(t.name, export_scope)
        d = message("WhileContextDef")(context_name=_outside(self._name, export_scope), parallel_iterations=self._parallel_iterations,
                                       back_prop=self._back_prop, swap_memory=self._swap_memory, pivot_name=out(self._pivot),
                                       pivot_for_pred_name=out(self._pivot_for_pred), pivot_for_body_name=out(self._pivot_for_body))
        d.loop_exit_names.extend(out(x) for x in self._loop_exits)
        d.loop_enter_names.extend(out(x) for x in self._loop_enters)
        if self._maximum_iterations is not None:
            d.maximum_iterations_name = out(self._maximum_iterations)
        self._values_def(d.values_def, export_scope)
        self._nested_defs(d.nested_contexts, export_scope)
        return d

    def to_control_flow_context_def(self, context_def, export_scope=None):
        context_def.while_ctxt.CopyFrom(self.to_proto(export_scope))

    def _from_def(self, d, scope):
        found = lambda name: self._graph.as_graph_element(_inside(name, scope))
        self._name, self._parallel_iterations = _inside(d.context_name, scope), d.parallel_iterations
        self._back_prop, self._swap_memory = d.back_prop, d.swap_memory
        self._maximum_iterations = found(d.maximum_iterations_name) if d.maximum_iterations_name else None
        self._pivot, self._pivot_for_pred, self._pivot_for_body = (found(d.pivot_name), found(d.pivot_for_pred_name),
                                                                   found(d.pivot_for_body_name))
        self._loop_exits, self._loop_enters = [found(n) for n in d.loop_exit_names], [found(n) for n in d.loop_enter_names]
        self._take_values(d.values_def, scope)
        for e in self._loop_exits + self._loop_enters:
            e.op._context = self
        self._take_nested(d.nested_contexts, scope)

    @staticmethod
    def from_proto(context_def, import_scope=None):
        return WhileContext(context_def=context_def, import_scope=import_scope)
