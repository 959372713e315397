# SPDX-License-Identifier: Apache-2.0
"""Saver: checkpoints of variables (version 2, which TensorFlow reads and writes), kept, numbered and deleted as TensorFlow's Saver does.

The operations that save and restore are built by the C client; here is which variables, under which keys, into which files."""
import os
import time

from . import _headrace, errors
from . import graph as G
from .train import checkpoints as files
from .variables import ResourceVariable, Variable, _saveable_variables


def _parts(v):
    return v._handle, v._snapshot, v._initial_value, v._initializer, isinstance(v, ResourceVariable)


def _keyed(var_list):
    """[(key in the checkpoint, variable)...], sorted by key, from a list or a dict of variables."""
    if isinstance(var_list, dict):
        pairs = list(var_list.items())
    else:
        pairs = [(v.op.name if isinstance(v, Variable) else None, v) for v in var_list]
    keys = {}
    for key, v in pairs:
        if isinstance(v, (list, tuple)):
            raise NotImplementedError("Saver: partitioned variables are not implemented (key %r)" % key)
        if not isinstance(v, Variable):
            v = _variable_of(v)
            key = v.op.name if key is None else key
        if keys.get(key, v) is not v:
            raise ValueError("At least two variables have the same name: %s" % key)
        keys[key] = v
    return sorted(keys.items())


def _variable_of(ref):
    """The variable that a bare reference tensor is the handle of."""
    for v in G.get_default_graph().get_collection(G.GraphKeys.GLOBAL_VARIABLES) + G.get_default_graph().get_collection(G.GraphKeys.LOCAL_VARIABLES):
        if ref is v._handle:
            return v
    raise TypeError("names_to_saveables must be a dict mapping string names to variables. Not a variable: %s" % (ref,))


class _Nodes:
    """Names of the operations, as in SaverDef."""

    def __init__(self, filename, save, restore, sharded):
        self.filename, self.save, self.restore, self.sharded = filename, save, restore, sharded


class Saver:
    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0, name=None,
                 restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False, write_version=2, pad_step_number=False,
                 save_relative_paths=False, filename=None):
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or var_list=None.")
        if write_version != 2 or reshape:
            raise NotImplementedError("Saver: only checkpoints of version 2, without reshaping")
        self._var_list, self._name, self._sharded = var_list, name, sharded
        self._max_to_keep, self._keep_hours, self._pad = max_to_keep or 0, keep_checkpoint_every_n_hours, pad_step_number
        self._allow_empty, self._relative = allow_empty, save_relative_paths
        self._nodes, self._is_empty = None, False
        self._last_checkpoints, self._meta_graphs = [], []  # [(prefix, time)...], oldest first
        self._next_kept = time.time() + keep_checkpoint_every_n_hours * 3600
        if saver_def is not None:
            self._take_def(saver_def)
        elif not defer_build:
            self.build()

    # --- the operations -------------------------------------------------------------------------------------------------------------------
    def build(self):
        if self._nodes or self._is_empty:
            return
        variables = _keyed(_saveable_variables() if self._var_list is None else self._var_list)
        if not variables:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        graph = variables[0][1].graph
        graph._check_not_finalized()
        scope = graph.unique_name(self._name or "save", False)
        filename, save, restore = _headrace.build_saver(graph, scope, [_parts(v) for _, v in variables], [k for k, _ in variables], self._sharded)
        self._nodes = _Nodes(filename.name, save.name, restore.name, self._sharded)

    def _take_def(self, d):
        if d.version not in (0, 2):
            raise NotImplementedError("Saver: a SaverDef of version %d" % d.version)
        self._nodes = _Nodes(d.filename_tensor_name, d.save_tensor_name, d.restore_op_name, d.sharded)
        self._max_to_keep, self._keep_hours = d.max_to_keep, d.keep_checkpoint_every_n_hours or 10000.0
        self._next_kept = time.time() + self._keep_hours * 3600

    def _check_built(self):
        if self._nodes is None and not self._is_empty:
            raise RuntimeError("`build()` should be called before save if defer_build==True")

    @property
    def saver_def(self):
        from .protos import message
        self._check_built()
        if self._nodes is None:
            return None
        n = self._nodes
        return message("SaverDef")(filename_tensor_name=n.filename, save_tensor_name=n.save, restore_op_name=n.restore, max_to_keep=self._max_to_keep,
                                   sharded=n.sharded, keep_checkpoint_every_n_hours=self._keep_hours, version=2)

    def as_saver_def(self):
        return self.saver_def

    to_proto = lambda self, export_scope=None: self.saver_def

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        saver = Saver(saver_def=saver_def, name=import_scope)
        if import_scope:
            n, scope = saver._nodes, import_scope.rstrip("/") + "/"
            n.filename, n.save, n.restore = scope + n.filename, scope + n.save, scope + n.restore
        return saver

    # --- which checkpoints there are -------------------------------------------------------------------------------------------------------------
    @property
    def last_checkpoints(self):
        return [p for p, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints):
        self._last_checkpoints = [(p, float("inf")) for p in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths):
        self._last_checkpoints = [(p, os.path.getmtime(p + ".index")) for p in checkpoint_paths if files.checkpoint_exists(p)]

    def _remember(self, prefix, suffix):
        """Adds the newest and deletes what is beyond max_to_keep, but for one every few hours."""
        if not self._max_to_keep:
            return
        self._last_checkpoints = [c for c in self._last_checkpoints if c[0] != prefix] + [(prefix, time.time())]
        while len(self._last_checkpoints) > self._max_to_keep:
            path, made = self._last_checkpoints.pop(0)
            if made > self._next_kept:
                self._next_kept += self._keep_hours * 3600
            else:
                files.remove_checkpoint(path, meta_graph_suffix=suffix)

    # --- saving and restoring ---------------------------------------------------------------------------------------------------------------------
    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta", write_meta_graph=True, write_state=True,
             strip_default_attrs=False, save_debug_info=False):
        """Writes a checkpoint and gives its prefix: save_path, or save_path-<step>. What was there before stays whole if it fails."""
        self._check_built()
        if latest_filename is not None and os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fspath(save_path)
        prefix = save_path if global_step is None else "%s-%s" % (save_path, self._step(sess, global_step))
        if not os.path.basename(prefix):
            raise ValueError("save_path %r names a folder: give a file's prefix" % save_path)
        if not self._is_empty:
            self._write(sess, prefix, save_path)
            if write_state:
                self._remember(prefix, meta_graph_suffix)
                self._write_state(prefix, latest_filename)
        if write_meta_graph:
            self.export_meta_graph(prefix + "." + meta_graph_suffix, strip_default_attrs=strip_default_attrs, graph=sess.graph)
        return None if self._is_empty else prefix

    def _step(self, sess, global_step):
        step = global_step if isinstance(global_step, int) else int(sess.run(global_step)) if hasattr(global_step, "graph") else int(global_step)
        return "%08d" % step if self._pad else "%d" % step

    def _write(self, sess, prefix, save_path):
        try:
            sess.run(self._nodes.save, {self._nodes.filename: prefix})
        except (errors.FailedPreconditionError, errors.NotFoundError) as e:
            parent = os.path.dirname(save_path)
            if parent and not os.path.isdir(parent):
                raise ValueError("Parent directory of %s doesn't exist, can't save." % save_path) from e
            raise

    def _write_state(self, prefix, latest_filename):
        folder, every = os.path.dirname(prefix), self.last_checkpoints
        if self._relative and os.path.isabs(folder):
            prefix, every = os.path.relpath(prefix, folder), [os.path.relpath(p, folder) for p in every]
        files.update_checkpoint_state(folder, prefix, every, latest_filename)

    def restore(self, sess, save_path):
        self._check_built()
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = os.fspath(save_path)
        if not files.checkpoint_exists(save_path):
            raise ValueError("The passed save_path is not a valid checkpoint: " + save_path)
        try:
            sess.run(self._nodes.restore, {self._nodes.filename: save_path})
        except errors.NotFoundError as e:
            raise errors.NotFoundError(e._node_def, e.op, "Restoring from checkpoint failed. This is most likely due to a Variable name or other graph key that "
                                       "is missing from the checkpoint. Please ensure that you have not altered the graph expected based on the checkpoint. "
                                       "Original error:\n\n" + e.message) from e
        except errors.InvalidArgumentError as e:
            raise errors.InvalidArgumentError(e._node_def, e.op, "Restoring from checkpoint failed. This is most likely due to a mismatch between the current "
                                              "graph and the graph from the checkpoint. Please ensure that you have not altered the graph expected based on the "
                                              "checkpoint. Original error:\n\n" + e.message) from e

    def export_meta_graph(self, filename=None, collection_list=None, as_text=False, export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                          strip_default_attrs=False, save_debug_info=False, graph=None):
        from .train.export import export_meta_graph
        return export_meta_graph(filename=filename, graph=graph, saver_def=self.saver_def, collection_list=collection_list, as_text=as_text,
                                 export_scope=export_scope, clear_devices=clear_devices)
