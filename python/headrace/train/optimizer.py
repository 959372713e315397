# SPDX-License-Identifier: Apache-2.0
"""The base of optimizers: gradients of a loss, their application, slots.

The optimizers of optimizers.py apply through the C client. One that a script derives from this class overrides TensorFlow's hooks
(_apply_dense, _apply_sparse, _prepare, _create_slots, _finish and the _resource_ ones) and is applied by the code here."""
from .. import graph as G
from ..control import group
from ..gradients import IndexedSlices, gradients
from ..op_gen import gen
from ..tensor import Tensor
from ..tensor_util import convert_to_tensor
from ..variables import ResourceVariable, Variable, assign_add, trainable_variables


class Optimizer:
    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots = {}       # slot name -> {variable's key -> slot variable}
        self._non_slots = {}   # (name, graph) -> variable

    def get_name(self):
        return self._name

    # --- gradients ------------------------------------------------------------------------------------------------------------------------
    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP, aggregation_method=None, colocate_gradients_with_ops=False,
                 name=None, grad_loss=None):
        """One operation that moves the variables against the gradients of the loss (and counts global_step up)."""
        pairs = self.compute_gradients(loss, var_list=var_list, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
                                       colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss)
        if not any(g is not None for g, _ in pairs):
            raise ValueError("No gradients provided for any variable, check your graph for ops that do not support gradients, between variables %s and loss %s."
                             % ([str(v) for _, v in pairs], loss))
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None, colocate_gradients_with_ops=False, grad_loss=None):
        """[(gradient or None, variable)...]."""
        if callable(loss) and not isinstance(loss, Tensor):
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a tensor: functions are for eager execution.")
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  Not %s" % gate_gradients)
        loss = convert_to_tensor(loss)
        if not loss.dtype.base_dtype.is_floating:
            raise ValueError("Invalid type %r for %s, expected: floating point." % (loss.dtype.base_dtype, loss.name))
        var_list = trainable_variables() + G.get_collection(G.GraphKeys.TRAINABLE_RESOURCE_VARIABLES) if var_list is None else _flat(var_list)
        if not var_list:
            raise ValueError("No variables to optimize.")
        targets = [v.handle if isinstance(v, ResourceVariable) else v._ref() if isinstance(v, Variable) else v for v in var_list]
        grads = gradients(loss, targets, grad_ys=grad_loss, gate_gradients=gate_gradients == self.GATE_OP, aggregation_method=aggregation_method,
                          colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gate_gradients == self.GATE_GRAPH:
            grads = _gated(grads)
        return list(zip(grads, var_list))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = self._checked(grads_and_vars)
        with G.init_scope():
            self._create_slots([v for g, v in pairs if g is not None])
        with G.name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for grad, var in pairs:
                if grad is None:
                    continue
                with G.name_scope("update_" + var.op.name), G.colocate_with(var.op):
                    updates.append(self._update(grad, var))
            if global_step is None:
                result = self._finish(updates, scope)
            else:
                with G.control_dependencies([self._finish(updates, "update")]), G.colocate_with(global_step.op):
                    result = assign_add(global_step, convert_to_tensor(1, dtype=global_step.dtype.base_dtype, name="value"), name=scope)
            result = result.op if isinstance(result, Tensor) else result
            return _trained(result)

    def _checked(self, grads_and_vars):
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        checked = []
        for g, v in pairs:
            if not isinstance(v, Variable):
                raise TypeError("Variable must be a tf.Variable: %s" % (v,))
            if g is not None and not isinstance(g, IndexedSlices):
                try:
                    g = convert_to_tensor(g)
                except (TypeError, ValueError):
                    raise TypeError("Gradient must be convertible to a Tensor or IndexedSlices, or None: %s" % (g,)) from None
            checked.append((g, v))
        if all(g is None for g, _ in checked):
            raise ValueError("No gradients provided for any variable: %s." % ([str(v) for _, v in checked],))
        return checked

    def _update(self, grad, var):
        resource = isinstance(var, ResourceVariable)
        if isinstance(grad, IndexedSlices):
            op = (self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices) if resource
                  else self._apply_sparse_duplicate_indices(grad, var))
        else:
            op = self._resource_apply_dense(grad, var) if resource else self._apply_dense(grad, var)
        if var.constraint is None:
            return op
        with G.control_dependencies([op]):
            return var.assign(var.constraint(var)).op

    # --- what a derived class says ---------------------------------------------------------------------------------------------------------
    def _create_slots(self, var_list):
        pass

    def _prepare(self):
        pass

    def _finish(self, update_ops, name_scope):
        return group(*update_ops, name=name_scope)

    def _apply_dense(self, grad, var):
        raise NotImplementedError("%s has no _apply_dense" % type(self).__name__)

    def _resource_apply_dense(self, grad, var):
        raise NotImplementedError("%s has no _resource_apply_dense" % type(self).__name__)

    def _apply_sparse(self, grad, var):
        raise NotImplementedError("%s has no _apply_sparse" % type(self).__name__)

    def _resource_apply_sparse(self, grad, var, indices):
        raise NotImplementedError("%s has no _resource_apply_sparse" % type(self).__name__)

    def _apply_sparse_duplicate_indices(self, grad, var):
        values, indices = _summed(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad, var, indices):
        values, indices = _summed(grad, indices)
        return self._resource_apply_sparse(values, var, indices)

    def _call_if_callable(self, value):
        return value() if callable(value) else value

    def _assert_valid_dtypes(self, tensors):
        for t in tensors:
            if not t.dtype.base_dtype.is_floating:
                raise ValueError("Invalid type %r for %s, expected: floating point." % (t.dtype.base_dtype, t.name))

    # --- slots -----------------------------------------------------------------------------------------------------------------------------------
    def _key(self, var):
        return var.op

    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var, value, slot_name, op_name):
        return self._make_slot(var, lambda: value, slot_name, op_name)

    def _zeros_slot(self, var, slot_name, op_name):
        from ..array import zeros
        return self._make_slot(var, lambda: zeros(var.shape, var.dtype.base_dtype), slot_name, op_name)

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        return self._make_slot(var, lambda: initializer(shape.as_list(), dtype=dtype), slot_name, op_name)

    def _make_slot(self, var, value, slot_name, op_name):
        from ..variable_scope import get_variable_scope, variable_scope
        named = self._slot_dict(slot_name)
        if self._key(var) not in named:
            with variable_scope(None, var.op.name + "/" + op_name), G.colocate_with(var.op):
                with G.name_scope(None):
                    slot = Variable(value, trainable=False, name=get_variable_scope().name + "/", use_resource=isinstance(var, ResourceVariable))
            named[self._key(var)] = slot
        return named[self._key(var)]

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        key = name, colocate_with.graph
        if key not in self._non_slots:
            with G.colocate_with(colocate_with.op):
                self._non_slots[key] = Variable(initial_value, name=name, trainable=False, use_resource=isinstance(colocate_with, ResourceVariable))
        return self._non_slots[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slots.get((name, graph))

    def _non_slot_variables(self):
        return list(self._non_slots.values())

    def get_slot(self, var, name):
        return self._slots.get(name, {}).get(self._key(var))

    def get_slot_names(self):
        return sorted(self._slots)

    def variables(self):
        """All that the optimizer keeps in the default graph: slots and what belongs to no variable."""
        graph = G.get_default_graph()
        found = [v for v in self._non_slot_variables() if v.graph is graph]
        for _, slots in sorted(self._slots.items()):
            found += [v for v in slots.values() if v.graph is graph]
        return sorted(found, key=lambda v: v.name)


def _flat(var_list):
    if isinstance(var_list, Variable):
        return [var_list]
    flat = []
    for v in (var_list.values() if isinstance(var_list, dict) else var_list):
        flat += _flat(v) if isinstance(v, (list, tuple, dict)) else [v]
    return flat


def _summed(values, indices):
    """Slices whose indices differ: those of equal indices added up."""
    from .. import array as A
    unique, places = gen.Unique(indices)[:2]
    return gen.UnsortedSegmentSum(values, places, A.shape(unique)[0]), unique


def _gated(grads):
    """Gradients that are there only when all are."""
    from ..control import tuple as together
    present = [g for g in grads if g is not None]
    gated = iter(together(present))
    return [None if g is None else next(gated) for g in grads]


def _trained(op):
    """Adds the training operation to its collection and gives it."""
    collection = G.get_collection_ref(G.GraphKeys.TRAIN_OP)
    if op not in collection:
        collection.append(op)
    return op
