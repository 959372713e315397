# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as files: which there are (the state file `checkpoint`), what is in them."""
import os

from .. import _headrace, errors
from ..dtypes import as_dtype

_STATE = "checkpoint"


# --- the state file ----------------------------------------------------------------------------------------------------------------------
def _state_path(checkpoint_dir, latest_filename):
    return os.path.join(checkpoint_dir, latest_filename or _STATE)


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """The CheckpointState message of a folder with absolute paths, or None."""
    from google.protobuf import text_format
    from ..protos import message
    path = _state_path(checkpoint_dir, latest_filename)
    try:
        with open(path) as f:
            state = text_format.Merge(f.read(), message("CheckpointState")())
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        return None
    if not state.model_checkpoint_path:
        return None
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    for i, p in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[i] = os.path.join(checkpoint_dir, p)
    return state


def _state_paths(path):
    """(latest, all) from a state file without the help of protobuf; (None, []) when there is none."""
    latest, every = None, []
    try:
        with open(path) as f:
            for line in f:
                key, _, value = line.partition(":")
                value = value.strip()
                if value[:1] in "\"'" and len(value) > 1:
                    value = value[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace") \
                        if "\\" in value else value[1:-1]
                    if key.strip() == "model_checkpoint_path":
                        latest = value
                    elif key.strip() == "all_model_checkpoint_paths":
                        every.append(value)
    except (OSError, UnicodeDecodeError):
        return None, []
    return latest, every


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of a folder's newest checkpoint, or None."""
    latest, _ = _state_paths(_state_path(checkpoint_dir, latest_filename))
    if not latest:
        return None
    prefix = os.path.join(checkpoint_dir, latest)
    return prefix if checkpoint_exists(prefix) else None


def checkpoint_exists(checkpoint_prefix):
    return os.path.exists(checkpoint_prefix + ".index") or os.path.exists(checkpoint_prefix)


def get_checkpoint_mtimes(checkpoint_prefixes):
    return [os.path.getmtime(p + ".index") for p in checkpoint_prefixes if os.path.exists(p + ".index")]


def generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, all_model_checkpoint_timestamps=None,
                                    last_preserved_timestamp=None):
    from ..protos import message
    every = list(all_model_checkpoint_paths or [])
    if not every or every[-1] != model_checkpoint_path:
        every.append(model_checkpoint_path)
    if not os.path.isabs(save_dir):
        every = [p if os.path.isabs(p) else os.path.relpath(p, save_dir) for p in every]
        model_checkpoint_path = every[-1]
    state = message("CheckpointState")(model_checkpoint_path=model_checkpoint_path, all_model_checkpoint_paths=every)
    if all_model_checkpoint_timestamps:
        state.all_model_checkpoint_timestamps.extend(all_model_checkpoint_timestamps)
    if last_preserved_timestamp:
        state.last_preserved_timestamp = last_preserved_timestamp
    return state


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None, all_model_checkpoint_timestamps=None,
                            last_preserved_timestamp=None):
    """Writes the state file, whole or not at all."""
    every = list(all_model_checkpoint_paths or [])
    if not every or every[-1] != model_checkpoint_path:
        every.append(model_checkpoint_path)
    if not os.path.isabs(save_dir):
        every = [p if os.path.isabs(p) else os.path.relpath(p, save_dir or ".") for p in every]
        model_checkpoint_path = every[-1]
    path = _state_path(save_dir, latest_filename)
    lines = [_line("model_checkpoint_path", model_checkpoint_path)] + [_line("all_model_checkpoint_paths", p) for p in every]
    temporary = "%s.tmp%d" % (path, os.getpid())
    try:
        with open(temporary, "w") as f:
            f.writelines(lines)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _line(key, value):
    return '%s: "%s"\n' % (key, "".join(chr(b) if 32 <= b < 127 and chr(b) not in "\"\\'" else "\\%03o" % b for b in value.encode()))


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    import glob
    escaped = glob.escape(checkpoint_prefix)
    for path in glob.glob(escaped + ".data-?????-of-?????") + [checkpoint_prefix + ".index", checkpoint_prefix + "." + meta_graph_suffix]:
        if os.path.exists(path):
            os.remove(path)


# --- what is in one ---------------------------------------------------------------------------------------------------------------------------
class CheckpointReader:
    """Looks into a checkpoint without a graph."""

    def __init__(self, filename):
        self._bundle = _headrace.open_checkpoint(filename)
        self._entries = {name: (as_dtype(dtype), dims) for name, dtype, dims in _headrace.checkpoint_entries(self._bundle) if name}

    def get_variable_to_shape_map(self):
        return {name: list(dims) for name, (_, dims) in self._entries.items()}

    def get_variable_to_dtype_map(self):
        return {name: dtype for name, (dtype, _) in self._entries.items()}

    def has_tensor(self, tensor_str):
        return tensor_str in self._entries

    def get_tensor(self, tensor_str):
        if tensor_str not in self._entries:
            raise errors.NotFoundError(None, None, "Key %s not found in checkpoint" % tensor_str)
        return _headrace.checkpoint_read(self._bundle, tensor_str)

    def debug_string(self):
        return "".join("%s (%s) %s\n" % (n, d.name, dims) for n, (d, dims) in sorted(self._entries.items())).encode()


def NewCheckpointReader(filepattern):
    return CheckpointReader(filepattern)


def _prefix(path):
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if not found:
        raise ValueError("Couldn't find 'checkpoint' file or checkpoints in given directory %s" % path)
    return found


def load_checkpoint(ckpt_dir_or_file):
    return CheckpointReader(_prefix(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file, name):
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name[:-2] if name.endswith(":0") else name)


def list_variables(ckpt_dir_or_file):
    """[(name, shape)...], sorted."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
