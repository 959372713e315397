# SPDX-License-Identifier: Apache-2.0
"""The global step: an int64 variable `global_step` in a collection of its own."""
from .. import graph as G
from ..dtypes import int64


def get_global_step(graph=None):
    """The graph's global step, or None."""
    graph = graph or G.get_default_graph()
    found = graph.get_collection(G.GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple items found in collection %s: %s" % (G.GraphKeys.GLOBAL_STEP, found))
    if found:
        step = found[0]
    else:
        step = next((v for v in graph.get_collection(G.GraphKeys.GLOBAL_VARIABLES) if v.name == "global_step:0"), None)
    if step is not None:
        assert_global_step(step)
    return step


def create_global_step(graph=None):
    graph = graph or G.get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    from ..initializers import zeros_initializer
    from ..variable_scope import get_variable
    with graph.as_default(), graph.name_scope(None):
        return get_variable(G.GraphKeys.GLOBAL_STEP, shape=[], dtype=int64, initializer=zeros_initializer(), trainable=False,
                            collections=[G.GraphKeys.GLOBAL_VARIABLES, G.GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph=None):
    graph = graph or G.get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor):
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError('Existing "global_step" does not have integer type: %s' % global_step_tensor.dtype)
    if global_step_tensor.get_shape().ndims not in (0, None):
        raise TypeError('Existing "global_step" is not scalar: %s' % global_step_tensor.get_shape())


def global_step(sess, global_step_tensor):
    """The step's value in a session."""
    return int(sess.run(global_step_tensor))
