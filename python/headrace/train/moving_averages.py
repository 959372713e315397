# SPDX-License-Identifier: Apache-2.0
"""Running averages of variables and tensors, in shadow variables `<name>/ExponentialMovingAverage`."""
from .. import graph as G
from ..control import group
from ..op_gen import gen
from ..tensor_util import convert_to_tensor
from ..variable_scope import get_variable_scope, variable_scope
from ..variables import ResourceVariable, Variable, assign_sub


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """variable -= (variable - value) * (1 - decay). With zero_debias, an average that starts at zero without being drawn to it."""
    with G.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        decay = convert_to_tensor(1.0 - decay, name="sub")
        if decay.dtype != variable.dtype.base_dtype:
            decay = gen.Cast(decay, variable.dtype.base_dtype)
        if zero_debias:
            return _zero_debias(variable, value, decay)
        with G.colocate_with(variable.op):
            return assign_sub(variable, (variable - value) * decay, name=scope)


def _zero_debias(unbiased, value, decay):
    """Keeps the biased average and the step beside the variable, which gets the average divided by 1 - (1 - decay)^step."""
    from ..initializers import zeros_initializer
    from ..variable_scope import get_variable
    with variable_scope(unbiased.op.name, values=[unbiased, value, decay]), G.colocate_with(unbiased.op), G.init_scope():
        biased = get_variable("biased", initializer=zeros_initializer(), shape=unbiased.shape, dtype=unbiased.dtype.base_dtype, trainable=False)
        step = get_variable("local_step", shape=[], dtype=unbiased.dtype.base_dtype, initializer=zeros_initializer(), trainable=False)
    new_biased = biased.assign_sub((biased - value) * decay, name="AssignSub")
    new_step = step.assign_add(1, name="AssignAdd")
    factor = 1 - gen.Pow(1.0 - decay, new_step)
    return unbiased.assign_sub(unbiased - new_biased / factor, name="AssignSub_1")


class ExponentialMovingAverage:
    """apply(variables) makes the operation that updates their averages; average(variable) is the shadow variable."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages = {}

    @property
    def name(self):
        return self._name

    def apply(self, var_list=None):
        from ..variables import trainable_variables
        var_list = trainable_variables() if var_list is None else list(var_list)
        for v in var_list:
            if v.dtype.base_dtype.name not in ("float16", "bfloat16", "float32", "float64"):
                raise TypeError("The variables must be half, float, or double: %s" % v.name)
            if v not in self._averages:
                self._averages[v] = self._shadow(v)
                G.add_to_collection(G.GraphKeys.MOVING_AVERAGE_VARIABLES, v if isinstance(v, Variable) else self._averages[v])
        with G.name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                n = gen.Cast(self._num_updates, decay.dtype, name="num_updates")
                decay = gen.Minimum(decay, (1.0 + n) / (10.0 + n))
            updates = [assign_moving_average(self._averages[v], v.value() if isinstance(v, ResourceVariable) else v, decay, v in self._debiased)
                       for v in var_list]
            return group(*updates, name=scope)

    @property
    def _debiased(self):
        return [v for v in self._averages if self._zero_debias and not isinstance(v, Variable)]

    def _shadow(self, v):
        """The variable's shadow, starting at its initial value; a tensor's, starting at zero."""
        from ..array import zeros
        with G.init_scope(), variable_scope(None, v.op.name + "/" + self._name), G.colocate_with(v.op), G.name_scope(None):
            name = get_variable_scope().name
            value = v.initialized_value() if isinstance(v, Variable) else lambda: zeros(v.shape, v.dtype.base_dtype)
            return Variable(value, name=name + "/", trainable=False, use_resource=isinstance(v, ResourceVariable))

    def average(self, var):
        return self._averages.get(var)

    def average_name(self, var):
        """The name that the shadow variable has or would have: its key in checkpoints."""
        if var in self._averages:
            return self._averages[var].op.name
        return G.get_default_graph().unique_name(var.op.name + "/" + self._name, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables=None):
        """{key: variable} that loads averages into the variables themselves."""
        from ..variables import global_variables, moving_average_variables, trainable_variables
        averaged = list(dict.fromkeys(trainable_variables() + moving_average_variables() if moving_avg_variables is None else moving_avg_variables))
        names = {self.average_name(v): v for v in averaged}
        taken = {v.op.name for v in averaged}
        for v in dict.fromkeys(global_variables()):
            if v.op.name not in taken and v.op.name not in names:
                names[v.op.name] = v
        return names

