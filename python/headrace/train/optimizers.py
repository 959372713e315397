# SPDX-License-Identifier: Apache-2.0
"""The optimizers: names of their hyperparameters; the update rules, slots and nodes are the C client's."""
from .. import _headrace
from .. import graph as G
from ..gradients import IndexedSlices
from ..tensor import Tensor
from ..tensor_util import convert_to_tensor
from ..variable_scope import get_variable_scope
from ..variables import ResourceVariable, Variable
from .optimizer import Optimizer, _trained


def _parts(v):
    return v._handle, v._snapshot, v._initial_value, v._initializer, isinstance(v, ResourceVariable)


def _gradient_parts(g):
    if not isinstance(g, IndexedSlices):
        return g
    return convert_to_tensor(g.indices), convert_to_tensor(g.values), g.dense_shape


class _ClientOptimizer(Optimizer):
    """One that the C client knows as `_rule`; `_hyper` holds its hyperparameters by the client's names."""

    def __init__(self, name, use_locking, **hyper):
        super().__init__(use_locking, name)
        self._hyper, self._made = hyper, {}  # graph -> (C optimizer, how many of its slots are known here)

    def _client(self, graph):
        if graph not in self._made:
            client = _headrace.new_optimizer(graph, self._rule, self._name)
            for name, value in self._hyper.items():
                value = value() if callable(value) and not isinstance(value, (Tensor, Variable)) else value
                if isinstance(value, (Tensor, Variable)):
                    value = convert_to_tensor(value, name=name)
                _headrace.optimizer_set(client, name, value)
            self._made[graph] = client, 0
        return self._made[graph]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = self._checked(grads_and_vars)
        graph = pairs[0][1].graph
        graph._check_not_finalized()
        client, known = self._client(graph)
        slots, here = get_variable_scope().name, graph.get_name_scope()
        _headrace.optimizer_scope(client, slots + "/" if slots else "", here + "/" if here else "")
        present = [(g, v) for g, v in pairs if g is not None]
        first = graph.node_count()
        op = _headrace.optimizer_apply(client, [_gradient_parts(g) for g, _ in present], [_parts(v) for _, v in present],
                                       None if global_step is None else _parts(_as_variable(global_step)), name)
        graph._settle_made(first)
        self._take_slots(graph, client, known, {v._handle: v for _, v in present})
        op = self._constrained(op, [v for _, v in present if v.constraint is not None])
        return _trained(op)

    def _take_slots(self, graph, client, known, variables):
        made = _headrace.optimizer_slots(client)
        for slot_name, of, parts in made[known:]:
            slot = Variable._from_parts(*parts)
            graph.add_to_collection(G.GraphKeys.GLOBAL_VARIABLES, slot)
            if of is None:
                self._non_slots[slot.op.name.split("/")[-1], graph] = slot
            else:
                self._slot_dict(slot_name)[of.op] = slot
        self._made[graph] = client, len(made)

    def _constrained(self, op, variables):
        if not variables:
            return op
        from ..control import group
        with G.control_dependencies([op]):
            return group(*[v.assign(v.constraint(v)) for v in variables])


def _as_variable(step):
    """The global step as a variable; a bare reference tensor serves too."""
    if isinstance(step, Variable):
        return step
    for v in G.get_default_graph().get_collection(G.GraphKeys.GLOBAL_VARIABLES):
        if v._handle is step:
            return v
    raise TypeError("global_step must be a variable, got %r" % (step,))


class GradientDescentOptimizer(_ClientOptimizer):
    """variable -= learning_rate * gradient"""
    _rule = "GradientDescent"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(name, use_locking, learning_rate=learning_rate)


class MomentumOptimizer(_ClientOptimizer):
    """accumulation = momentum * accumulation + gradient; variable -= learning_rate * accumulation"""
    _rule = "Momentum"

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(name, use_locking, learning_rate=learning_rate, momentum=momentum, use_nesterov=float(use_nesterov))


class AdagradOptimizer(_ClientOptimizer):
    """accumulation += gradient^2; variable -= learning_rate * gradient / sqrt(accumulation)"""
    _rule = "Adagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError("initial_accumulator_value must be positive: %s" % initial_accumulator_value)
        super().__init__(name, use_locking, learning_rate=learning_rate, initial_accumulator_value=initial_accumulator_value)


class RMSPropOptimizer(_ClientOptimizer):
    """Divides by a running root of mean squares (less the mean's square when centered)."""
    _rule = "RMSProp"

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, name="RMSProp"):
        super().__init__(name, use_locking, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon, centered=float(centered))


class AdamOptimizer(_ClientOptimizer):
    """Running means of gradients and of their squares, freed of their bias towards zero."""
    _rule = "Adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__(name, use_locking, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)

    def _get_beta_accumulators(self):
        graph = G.get_default_graph()
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)


class AdadeltaOptimizer(_ClientOptimizer):
    """Steps as long as recent steps were, divided by the size of recent gradients."""
    _rule = "Adadelta"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(name, use_locking, learning_rate=learning_rate, rho=rho, epsilon=epsilon)


def _not_negative(**numbers):
    for name, value in numbers.items():
        if value < 0.0:
            raise ValueError("%s %f needs to be positive or zero" % (name, value))


class ProximalGradientDescentOptimizer(_ClientOptimizer):
    """A gradient step, then towards zero by what l1 and l2 regularization ask."""
    _rule = "ProximalGradientDescent"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="ProximalGradientDescent"):
        super().__init__(name, use_locking, learning_rate=learning_rate, l1_regularization_strength=l1_regularization_strength,
                         l2_regularization_strength=l2_regularization_strength)


class ProximalAdagradOptimizer(_ClientOptimizer):
    """Adagrad's step, then towards zero by what l1 and l2 regularization ask."""
    _rule = "ProximalAdagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalAdagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError("initial_accumulator_value must be positive: %s" % initial_accumulator_value)
        super().__init__(name, use_locking, learning_rate=learning_rate, l1_regularization_strength=l1_regularization_strength,
                         l2_regularization_strength=l2_regularization_strength, initial_accumulator_value=initial_accumulator_value)


class FtrlOptimizer(_ClientOptimizer):
    """Follow the regularized leader (McMahan et al., 2013); l2 shrinkage pulls the gradient, not the sum."""
    _rule = "Ftrl"

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="Ftrl", accum_name=None, linear_name=None,
                 l2_shrinkage_regularization_strength=0.0):
        if learning_rate_power > 0.0:
            raise ValueError("learning_rate_power %f needs to be negative or zero" % learning_rate_power)
        if accum_name is not None or linear_name is not None:
            raise NotImplementedError("FtrlOptimizer's slots are named after the optimizer; accum_name and linear_name cannot be given")
        strengths = dict(l1_regularization_strength=l1_regularization_strength, l2_regularization_strength=l2_regularization_strength,
                         l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength)
        _not_negative(initial_accumulator_value=initial_accumulator_value, **strengths)
        super().__init__(name, use_locking, learning_rate=learning_rate, learning_rate_power=learning_rate_power,
                         initial_accumulator_value=initial_accumulator_value, **strengths)
