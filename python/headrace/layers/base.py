# SPDX-License-Identifier: Apache-2.0
"""What every layer does: its variables in a variable scope of its own, made at the first call and shared by later ones."""
from .. import graph as G
from ..dtypes import as_dtype, float32
from ..tensor_util import convert_to_tensor
from ..variable_scope import get_variable, variable_scope


def default_name(cls_name):
    """MaxPooling2D -> max_pooling2d, LSTMCell -> lstm_cell: a word begins at a capital before small letters, or after one."""
    out = ""
    for k, c in enumerate(cls_name):
        before, after = cls_name[k - 1] if k else "", cls_name[k + 1:k + 2]
        starts = c.isupper() and k and (after.islower() or after.isdigit() or before.islower())
        out += ("_" if starts else "") + c.lower()
    return out


class InputSpec:
    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None):
        self.dtype, self.shape, self.ndim, self.max_ndim, self.min_ndim, self.axes = dtype, shape, ndim, max_ndim, min_ndim, axes or {}


class Layer:
    """A derived class has build(input_shape), which makes variables by add_weight, and call(inputs)."""

    def __init__(self, trainable=True, name=None, dtype=None, _scope=None, _reuse=None, activity_regularizer=None):
        self.trainable, self.built, self.input_spec = trainable, False, None
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._trainable_weights, self._non_trainable_weights, self._updates, self._losses = [], [], [], []
        self._activity_regularizer, self._reuse, self._scope = activity_regularizer, _reuse, None
        self._base_name = name or default_name(type(self).__name__)
        self._given_name, self._graph = name, None
        if _scope is not None:
            with variable_scope(_scope) as self._scope:
                pass

    @property
    def dtype(self):
        return self._dtype or float32

    @property
    def name(self):
        return self._scope.name.split("/")[-1] if self._scope is not None and self._given_name is None else self._base_name

    @property
    def scope_name(self):
        if self._scope is None:
            raise ValueError("No name available for layer scope because the layer %r has not been used yet." % self._base_name)
        return self._scope.name

    graph = property(lambda self: self._graph)
    trainable_weights = trainable_variables = property(lambda self: self._trainable_weights if self.trainable else [])
    non_trainable_weights = non_trainable_variables = property(
        lambda self: self._non_trainable_weights if self.trainable else self._trainable_weights + self._non_trainable_weights)
    weights = variables = property(lambda self: self.trainable_weights + self.non_trainable_weights)
    updates = property(lambda self: list(self._updates))
    losses = property(lambda self: list(self._losses))

    def build(self, input_shape):
        self.built = True

    def call(self, inputs):
        return inputs

    def add_update(self, updates, inputs=None):
        updates = updates if isinstance(updates, (list, tuple)) else [updates]
        self._updates += updates
        for u in updates:
            if u not in G.get_collection(G.GraphKeys.UPDATE_OPS):
                G.add_to_collection(G.GraphKeys.UPDATE_OPS, u)

    def add_loss(self, losses, inputs=None):
        losses = losses if isinstance(losses, (list, tuple)) else [losses]
        self._losses += losses
        for loss in losses:
            G.add_to_collection(G.GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_weight(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=True, constraint=None, use_resource=None, **unused):
        before = len(G.get_collection(G.GraphKeys.REGULARIZATION_LOSSES))
        v = get_variable(name, shape=shape, dtype=self.dtype if dtype is None else dtype, initializer=initializer, regularizer=regularizer,
                         trainable=trainable and self.trainable, constraint=constraint, use_resource=use_resource)
        self._losses += G.get_collection(G.GraphKeys.REGULARIZATION_LOSSES)[before:]
        (self._trainable_weights if trainable else self._non_trainable_weights).append(v)
        return v

    add_variable = add_weight

    def _open_scope(self, scope):
        """The layer's variable scope: made unique at the first use; where `reuse` is asked for, the scope of that very name."""
        if scope is not None and self._scope is None:
            with variable_scope(scope) as self._scope:
                pass
        if self._scope is None:
            if self._reuse:
                target = variable_scope(self._given_name or self._base_name)
            else:
                target = variable_scope(None if self._given_name is None else self._given_name, default_name=self._base_name)
            with target as self._scope:
                pass

    def __call__(self, inputs, *args, **kwargs):
        scope = kwargs.pop("scope", None)
        self._open_scope(scope)
        first = (inputs[0] if isinstance(inputs, (list, tuple)) else inputs)
        first = convert_to_tensor(first)
        inputs = inputs if isinstance(inputs, (list, tuple)) else first
        self._graph = first.graph
        if self._dtype is None and first.dtype.base_dtype.is_floating:
            self._dtype = first.dtype.base_dtype
        with variable_scope(self._scope, reuse=True if self.built and self._scope.reuse is not True else self._reuse or self._scope.reuse,
                            auxiliary_name_scope=False) as opened:
            with G.name_scope(self._scope_of_names(opened)):
                if not self.built:
                    shapes = [convert_to_tensor(i).shape for i in inputs] if isinstance(inputs, (list, tuple)) else first.shape
                    self._check(first)
                    self.build(shapes)
                    self.built = True
                outputs = self.call(inputs, *args, **kwargs)
                if self._activity_regularizer is not None:
                    self.add_loss(self._activity_regularizer(outputs))
        return outputs

    apply = __call__

    def _scope_of_names(self, opened):
        return opened.original_name_scope

    def _check(self, first):
        spec, rank = self.input_spec, first.shape.ndims
        if spec is None or rank is None:
            return
        if spec.ndim is not None and rank != spec.ndim:
            raise ValueError("Input 0 of layer %s is incompatible with the layer: expected ndim=%d, found ndim=%d. Full shape received: %s"
                             % (self.name, spec.ndim, rank, first.shape.as_list()))
        if spec.min_ndim is not None and rank < spec.min_ndim:
            raise ValueError("Input 0 of layer %s is incompatible with the layer: expected min_ndim=%d, found ndim=%d. Full shape received: %s"
                             % (self.name, spec.min_ndim, rank, first.shape.as_list()))

    def count_params(self):
        total = 0
        for v in self.weights:
            n = 1
            for d in v.shape.as_list():
                n *= d
            total += n
        return total


def known(shape, axis, layer):
    """The size of an axis, which must be known for variables to be made."""
    n = shape.as_list()[axis] if shape.ndims is not None else None
    if n is None:
        raise ValueError("The last dimension of the inputs to `%s` should be defined. Found `None`." % type(layer).__name__)
    return n
