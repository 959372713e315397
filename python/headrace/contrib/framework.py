# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.framework: arg_scope, and variables by collection and name."""
import re

from headrace import graph as G
from headrace import nest  # noqa: F401
from headrace.train import get_global_step, get_or_create_global_step, list_variables, load_checkpoint, load_variable  # noqa: F401
from headrace.variable_scope import get_variable

from .scopes import add_arg_scope, arg_scope, arg_scoped_arguments, current_arg_scope, has_arg_scope  # noqa: F401


def get_variables(scope=None, suffix=None, collection=G.GraphKeys.GLOBAL_VARIABLES):
    """The collection's variables below a scope whose names end in suffix."""
    found = G.get_collection(collection, getattr(scope, "name", scope))
    return [v for v in found if suffix is None or v.op.name.endswith(suffix)]


def get_model_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, G.GraphKeys.MODEL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, G.GraphKeys.TRAINABLE_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, G.GraphKeys.LOCAL_VARIABLES)


def get_variables_by_name(given_name, scope=None):
    """Variables whose names' last part is given_name."""
    return get_variables(scope=scope, suffix="/" + given_name) + [v for v in get_variables(scope=scope) if v.op.name == given_name]


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    find = re.search if reg_search else re.match
    kept = [v for v in var_list if not include_patterns or any(find(p, v.op.name) for p in include_patterns)]
    return [v for v in kept if not any(find(p, v.op.name) for p in exclude_patterns or ())]


def get_variables_to_restore(include=None, exclude=None):
    """Global variables below the scopes in include (None: all), without those below the scopes in exclude."""
    found = [v for scope in (include if include is not None else [None]) for v in get_variables(scope)]
    left_out = {v.op.name for scope in exclude or () for v in get_variables(scope)}
    return [v for v in found if v.op.name not in left_out]


def model_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None, **more):
    """get_variable, in MODEL_VARIABLES too."""
    collections = list(collections or [G.GraphKeys.GLOBAL_VARIABLES]) + [G.GraphKeys.MODEL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, trainable, collections, **more)


def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False, reshape_variables=False):
    """A function of a session that restores var_list: variables, or a dict of them by their keys in the checkpoint."""
    from headrace.train import Saver
    if reshape_variables:
        raise NotImplementedError("assign_from_checkpoint_fn: reshape_variables is not implemented")
    keyed = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        keyed = {key: v for key, v in keyed.items() if reader.has_tensor(key)}
    if not keyed:
        return None
    saver = Saver(keyed)
    return lambda session: saver.restore(session, model_path)
