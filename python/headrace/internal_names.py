# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python...: TensorFlow's inner modules, which many scripts import from. Each is a row of headrace modules (and of "tf", the public
names) in which a name is looked up. tensorflow.core...: its protobuf modules."""
import sys
import types

# path below tensorflow.python -> modules, first match wins; "*" for any other file of that folder
_HOMES = {
    "client.timeline": "timeline", "client.session": "session", "client.device_lib": "internal_names",
    "framework.ops": "graph tensor_util tensor gradients tf", "framework.dtypes": "dtypes", "framework.errors": "errors",
    "framework.errors_impl": "errors", "framework.tensor_shape": "tensor_shape", "framework.tensor_util": "tensor_util tf",
    "framework.graph_util": "graph_util", "framework.importer": "importer", "framework.meta_graph": "train.export", "framework.random_seed": "graph",
    "framework.constant_op": "tensor_util", "framework.sparse_tensor": "gradients", "framework.device": "device", "framework.*": "tf",
    "ops.control_flow_ops": "flow control contexts tf", "ops.tensor_array_ops": "tensor_array", "ops.functional_ops": "functional",
    "ops.map_fn": "functional", "ops.rnn": "rnn", "ops.rnn_cell": "rnn_cell", "ops.rnn_cell_impl": "rnn_cell", "ops.variable_scope": "variable_scope tf",
    "ops.variables": "variables tf", "ops.init_ops": "initializers tf", "ops.nn_ops": "nn tf", "ops.nn": "nn", "ops.nn_impl": "nn tf",
    "ops.math_ops": "math tf", "ops.array_ops": "array tf", "ops.random_ops": "random tf", "ops.data_flow_ops": "queues tf", "ops.gradients": "gradients",
    "ops.gradients_impl": "gradients", "ops.embedding_ops": "nn", "ops.losses.losses": "losses", "ops.image_ops": "image", "ops.state_ops": "variables tf",
    "ops.check_ops": "control tf", "ops.*": "tf nn math array",
    "platform.gfile": "gfile", "platform.tf_logging": "logging", "platform.flags": "flags", "platform.app": "app", "platform.test": "test_names",
    "platform.*": "tf",
    "training.moving_averages": "train.moving_averages", "training.saver": "saver train", "training.optimizer": "train.optimizer",
    "training.monitored_session": "train.monitored train", "training.session_run_hook": "train.hooks",
    "training.basic_session_run_hooks": "train.hooks", "training.queue_runner": "train.queue_runners", "training.coordinator": "train.queue_runners",
    "training.server_lib": "train.cluster", "training.device_setter": "train.cluster", "training.supervisor": "train.supervisor",
    "training.session_manager": "train.session_manager", "training.training_util": "train.steps", "training.*": "train",
    "summary.summary": "summary", "summary.*": "summary", "saved_model.*": "saved_model", "layers.base": "layers.base", "layers.*": "layers",
    "tools.freeze_graph": "freeze_graph", "util.nest": "nest", "pywrap_tensorflow": "train", "lib.io.file_io": "gfile",
}


class _Inner(types.ModuleType):
    """An inner module: names of its homes; a folder gives inner modules."""

    def __init__(self, path, homes):
        super(_Inner, self).__init__("tensorflow.python" + (path and "." + path))
        self._path, self._homes, self.__path__ = path, homes, []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from importlib import import_module
        for home in self.__dict__["_homes"]:
            source = sys.modules["headrace"] if home == "tf" else import_module("headrace." + home)
            found = getattr(source, name, None)
            if found is not None:
                return found
        return module((self._path + "." if self._path else "") + name)


def module(path):
    """The inner module tensorflow.python.<path>; AttributeError where there is none."""
    folder, _, _ = path.rpartition(".")
    homes = _HOMES.get(path, _HOMES.get(folder + ".*") if folder else None)
    if homes is None and path and not any(known.startswith(path + ".") for known in _HOMES):
        raise AttributeError("headrace has no tensorflow.python.%s" % path)
    return _Inner(path, (homes or "").split())


class _Core(types.ModuleType):
    """tensorflow.core.<folder>.<file>_pb2: the messages, enums and enum values of proto/<file>.proto."""

    def __init__(self, path):
        super(_Core, self).__init__("tensorflow.core" + "".join("." + p for p in path))
        self._parts, self.__path__ = path, []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        path = self.__dict__["_parts"]
        if not path and name in ("framework", "protobuf", "util", "example"):
            return _Core((name,))
        if len(path) == 1 and name.endswith("_pb2"):
            return _Core(path + (name,))
        from . import protos
        found = protos.in_file(path[1][:-len("_pb2")] + ".proto", name) if len(path) == 2 else None
        if found is None:
            raise AttributeError("headrace has no %s.%s" % (self.__name__, name))
        return found


def core():
    """The module tensorflow.core."""
    return _Core(())


def list_local_devices(session_config=None):
    """Attributes of this process's devices (client.device_lib)."""
    from .graph import Graph
    from .session import Session
    with Session(graph=Graph(), config=session_config) as session:
        found = session.list_devices()
    return [types.SimpleNamespace(name=d.name.replace("/job:localhost/replica:0/task:0", ""), device_type=d.device_type,
                                  memory_limit=d.memory_limit_bytes, incarnation=d.incarnation, physical_device_desc="") for d in found]
