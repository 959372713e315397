# SPDX-License-Identifier: Apache-2.0
"""tf.summary: operations that make Summary messages, and FileWriter, which writes event files for TensorBoard."""
import struct
import time

from . import _headrace
from . import graph as G
from .op_gen import gen


# --- operations --------------------------------------------------------------------------------------------------------------------------------
def _clean(name):
    cleaned = "".join(c if c.isalnum() and c.isascii() or c in "._\\-/" else "_" for c in name).lstrip("/")
    return cleaned


def _summary(op, default, name, tensor, collections, family, **attrs):
    name, family = _clean(name), family and _clean(family)
    with G.name_scope(family + "/" + name if family else name, default, [tensor]) as scope:
        tag = scope.rstrip("/")
        tag = family + "/" + tag if family else tag
        result = op(tag, tensor, name=scope, **attrs)
    G.add_to_collections([G.GraphKeys.SUMMARIES] if collections is None else list(collections), result)
    return result


def scalar(name, tensor, collections=None, family=None):
    return _summary(gen.ScalarSummary, None, name, tensor, collections, family)


def histogram(name, values, collections=None, family=None):
    return _summary(gen.HistogramSummary, "HistogramSummary", name, values, collections, family)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    return _summary(gen.ImageSummary, None, name, tensor, collections, family, max_images=max_outputs)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    name = _clean(name)
    with G.name_scope(family + "/" + name if family else name, None, [tensor]) as scope:
        result = gen.AudioSummaryV2(scope.rstrip("/"), tensor, sample_rate, max_outputs=max_outputs, name=scope)
    G.add_to_collections([G.GraphKeys.SUMMARIES] if collections is None else list(collections), result)
    return result


def merge(inputs, collections=None, name=None):
    with G.name_scope(name, "Merge", inputs):
        result = gen.MergeSummary(inputs, name=name)
    G.add_to_collections(list(collections or []), result)
    return result


def merge_all(key=G.GraphKeys.SUMMARIES, scope=None, name=None):
    """All summaries of the collection in one, or None when there are none."""
    summaries = G.get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


# --- event files: Event messages, encoded here so that protobuf need not load -----------------------------------------------------------------------
_GRAPH_DEF, _SUMMARY, _SESSION_LOG, _RUN_METADATA, _META_GRAPH = 4, 5, 7, 8, 9


def _varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, payload):
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _event(step, field, payload):
    return struct.pack("<Bd", 1 << 3 | 1, time.time()) + (b"" if step is None else b"\x10" + _varint(int(step))) + _field(field, payload)


def _bytes(message):
    return bytes(message) if isinstance(message, (bytes, bytearray, memoryview)) else message.SerializeToString()


class FileWriter:
    """Appends to a new event file in a folder; what was added is on disk after flush or close."""

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None, session=None):
        self._logdir, self._suffix, self._file = str(logdir), filename_suffix or "", None
        self._max_queue, self._flush_seconds, self._waiting, self._flushed = max_queue, flush_secs, 0, time.time()
        self.reopen()
        if session is not None and graph is None:
            graph = session.graph
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def get_logdir(self):
        return self._logdir

    def reopen(self):
        if self._file is None:
            self._file = _headrace.open_events(self._logdir, self._suffix)

    def _add(self, event):
        if self._file is None:
            self.reopen()
        _headrace.events_add(self._file, event)
        self._waiting += 1
        if self._waiting > self._max_queue or time.time() - self._flushed > self._flush_seconds:
            self.flush()

    def add_summary(self, summary, global_step=None):
        """A serialized Summary, as a step gives it, or a message."""
        if hasattr(summary, "item") and not isinstance(summary, (bytes, bytearray)):
            summary = summary.item()
        self._add(_event(global_step, _SUMMARY, _bytes(summary)))

    def add_event(self, event):
        self._add(_bytes(event))

    def add_graph(self, graph, global_step=None, graph_def=None):
        if graph is not None and not isinstance(graph, G.Graph):
            graph, graph_def = None, graph
        self._add(_event(global_step, _GRAPH_DEF, graph._export(0) if graph is not None else _bytes(graph_def)))

    def add_meta_graph(self, meta_graph_def, global_step=None):
        self._add(_event(global_step, _META_GRAPH, _bytes(meta_graph_def)))

    def add_session_log(self, session_log, global_step=None):
        self._add(_event(global_step, _SESSION_LOG, _bytes(session_log)))

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        self._add(_event(global_step, _RUN_METADATA, _field(1, tag.encode()) + _field(2, _bytes(run_metadata))))

    def flush(self):
        if self._file is not None:
            _headrace.events_flush(self._file)
        self._waiting, self._flushed = 0, time.time()

    def close(self):
        if self._file is not None:
            file, self._file = self._file, None
            _headrace.events_close(file)


class FileWriterCache:
    """One writer a folder."""
    _writers = {}

    @staticmethod
    def get(logdir):
        if logdir not in FileWriterCache._writers:
            FileWriterCache._writers[logdir] = FileWriter(logdir, graph=G.get_default_graph())
        return FileWriterCache._writers[logdir]

    @staticmethod
    def clear():
        for w in FileWriterCache._writers.values():
            w.close()
        FileWriterCache._writers.clear()


def __getattr__(name):
    if name in ("Summary", "Event", "SessionLog", "SummaryDescription", "TaggedRunMetadata"):
        from .protos import message
        return message(name)
    raise AttributeError("module 'tensorflow.summary' has no attribute %r in headrace" % name)


def summary_iterator(path):
    """The Event messages of a file."""
    from .protos import message
    from .python_io import tf_record_iterator
    event = message("Event")
    for record in tf_record_iterator(path):
        yield event.FromString(record)
