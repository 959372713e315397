# SPDX-License-Identifier: Apache-2.0
"""init_from_checkpoint: variables whose initializers read a checkpoint; checkpoints_iterator: checkpoints as they come."""
import os
import time

from .. import graph as G
from ..op_gen import gen
from ..variable_scope import _store
from ..variables import ResourceVariable, Variable
from .checkpoints import latest_checkpoint, load_checkpoint


def _read(file, tensor_name, dtype):
    """The tensor as a node of the graph, read when it is run."""
    with G.device("/cpu:0"):
        return gen.RestoreV2(file, [tensor_name], [""], [dtype.base_dtype], name="checkpoint_initializer")[0]


def _set_initializer(variable, file, tensor_name):
    """TensorFlow's nodes: one that reads, one that assigns."""
    with G.init_scope(), G.device(variable.device):
        value = _read(file, tensor_name, variable.dtype)
        value.set_shape(variable.shape)
        variable._initial_value = value
        if isinstance(variable, ResourceVariable):
            variable._initializer = gen.AssignVariableOp(variable.handle, gen.Identity(value))
        else:
            variable._initializer = gen.Assign(variable._ref(), value).op


def _checked(variable, tensor_name, shapes, file):
    if tensor_name not in shapes:
        raise ValueError("Tensor %s is not found in %s checkpoint %s" % (tensor_name, file, sorted(shapes)))
    if not variable.shape.is_compatible_with(shapes[tensor_name]):
        raise ValueError("Shape of variable %s (%s) doesn't match with shape of tensor %s (%s) from checkpoint reader."
                         % (variable.name, variable.shape, tensor_name, shapes[tensor_name]))


def _pairs(source, target, shapes, file):
    """[(variable, name in the checkpoint)] of one entry of the map."""
    known = _store().variables
    if isinstance(target, (list, tuple)):
        raise NotImplementedError("init_from_checkpoint: partitioned variables")
    if isinstance(target, Variable) or target in known:
        return [(target if isinstance(target, Variable) else known[target], source)]
    if not target.endswith("/") and target != "":
        raise ValueError("Assignment map with scope only name %s should map to scope only %s. Should be 'scope/': 'other_scope/'." % (target, source))
    scope, inside = ("" if t == "/" else t for t in (source, target))
    if scope and not scope.endswith("/"):
        raise ValueError("Assignment map with scope only name %s should map to scope only %s. Should be 'scope/': 'other_scope/'." % (target, source))
    found = [(known[n], scope + n[len(inside):]) for n in sorted(known) if n.startswith(inside)]
    for variable, name in found:
        if name not in shapes:
            raise ValueError("Tensor %s (%s in %s) is not found in %s checkpoint" % (name, variable.op.name, target, file))
    return found


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Variables are initialized from a checkpoint: by {name or "scope/" there: variable, name or "scope/" here}."""
    path = os.fspath(ckpt_dir_or_file)
    file = latest_checkpoint(path) if os.path.isdir(path) else path
    if file is None:
        raise ValueError("Couldn't find 'checkpoint' file or checkpoints in given directory %s" % path)
    shapes = load_checkpoint(file).get_variable_to_shape_map()
    entries = assignment_map.items() if isinstance(assignment_map, dict) else assignment_map
    for source, target in sorted(entries, key=lambda entry: entry[0]):
        for variable, name in _pairs(source, target, shapes, file):
            _checked(variable, name, shapes, file)
            _set_initializer(variable, file, name)


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """The newest checkpoint of a folder, and each newer one; waits for it no longer than timeout unless timeout_fn says otherwise."""
    last = None
    while True:
        end = None if timeout is None else time.time() + timeout
        newest = latest_checkpoint(checkpoint_dir)
        while newest is None or newest == last:
            if end is not None and time.time() + 1 > end:
                newest = None
                break
            time.sleep(1)
            newest = latest_checkpoint(checkpoint_dir)
        if newest is None:
            if not timeout_fn or timeout_fn():
                return
            continue
        began, last = time.time(), newest
        yield newest
        time.sleep(max(0, began + min_interval_secs - time.time()))
