# SPDX-License-Identifier: Apache-2.0
"""A step's RunMetadata as rows of operations over time, and as Chrome's trace JSON (chrome://tracing, ui.perfetto.dev).
trace_page.py makes a page of the same rows."""
import json
import os

from headrace import dtypes

_TRANSFERS = ("_Recv", "_HostRecv", "_Send", "_HostSend")
_PRODUCERS = 2000  # arrows between operations in a Chrome trace, at most


class Event(object):
    """One operation's run; times in microseconds since the step's first."""
    __slots__ = ("name", "op", "inputs", "start", "duration", "waited", "outputs", "thread")

    def __init__(self, name, op, inputs, start, duration, waited, outputs, thread):
        self.name, self.op, self.inputs, self.start, self.duration = name, op, inputs, start, duration
        self.waited, self.outputs, self.thread = waited, outputs, thread

    bytes = property(lambda self: sum(o[2] for o in self.outputs))


class Device(object):
    """A device's operations: `rows` of those that do not overlap, (label, [Event]); the last `transfer_rows` are of sends and receives."""

    def __init__(self, name, rows, transfer_rows):
        self.name, self.rows, self.transfer_rows = name, rows, transfer_rows

    events = property(lambda self: [e for _, row in self.rows for e in row])


def _start_ns(stats):
    return stats.all_start_nanos or stats.all_start_micros * 1000


def _end_ns(stats):
    return stats.all_end_rel_nanos or stats.all_end_rel_micros * 1000


def _label_parts(stats, ops):
    """(op, inputs) from "name = Op(input, input)", else from the partition graphs."""
    head, _, rest = stats.timeline_label.partition(" = ")
    op, paren, inputs = rest.partition("(")
    if not paren:
        return ops.get(stats.node_name, ("", ()))
    inputs = tuple(i.strip() for i in inputs.rstrip(")").split(",") if i.strip())
    return op, inputs or ops.get(stats.node_name, ("", ()))[1]


def _output(output):
    d = output.tensor_description
    size = d.allocation_description.requested_bytes or d.allocation_description.allocated_bytes
    shape = "?" if d.shape.unknown_rank else "[%s]" % ", ".join(str(dim.size) for dim in d.shape.dim)
    return dtypes.as_dtype(d.dtype).name if d.dtype else "", shape, int(size)


def _packed(events):
    """Rows in which nothing overlaps, the first that has room."""
    rows = []
    for e in sorted(events, key=lambda e: (e.start, -e.duration)):
        for row in rows:
            if row[-1].start + row[-1].duration <= e.start + 1e-6:
                row.append(e)
                break
        else:
            rows.append([e])
    return rows


def devices_of(step_stats, partition_graphs=()):
    """[Device], sorted by name, and the microseconds from the first start to the last end."""
    ops = dict((n.name, (n.op, tuple(n.input))) for g in partition_graphs for n in g.node)
    starts = [_start_ns(n) for d in step_stats.dev_stats for n in d.node_stats]
    zero, devices, last = min(starts) if starts else 0, [], 0.0
    for d in sorted(step_stats.dev_stats, key=lambda d: d.device):
        threads, transfers = {}, []
        for n in d.node_stats:
            op, inputs = _label_parts(n, ops)
            begin, end = (_start_ns(n) - zero) / 1000.0, _end_ns(n) / 1000.0
            scheduled = n.scheduled_nanos or n.scheduled_micros * 1000
            waited = max(0.0, (_start_ns(n) - scheduled) / 1000.0) if scheduled else 0.0
            e = Event(n.node_name, op, inputs, begin, end, waited, [_output(o) for o in n.output], n.thread_id)
            last = max(last, begin + end)
            (transfers if op in _TRANSFERS else threads.setdefault(n.thread_id, [])).append(e)
        rows = []
        for number, thread in enumerate(sorted(threads, key=lambda t: min(e.start for e in threads[t])), 1):
            label = (d.thread_names[thread] if thread in d.thread_names else "") or ("thread %d" % number if len(threads) > 1 else "operations")
            rows += [(label if i == 0 else "", row) for i, row in enumerate(_packed(threads[thread]))]
        moved = [("transfers" if i == 0 else "", row) for i, row in enumerate(_packed(transfers))]
        devices.append(Device(d.device, rows + moved, len(moved)))
    return devices, last


# --- Chrome's format ----------------------------------------------------
class Timeline(object):
    """`Timeline(run_metadata.step_stats).generate_chrome_trace_format()`, as TensorFlow's timeline module has it."""

    def __init__(self, step_stats, graph=None):
        self._step_stats, self._graph = step_stats, graph

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False, op_time="schedule"):
        """A JSON text."""
        return json.dumps(chrome_trace(self._step_stats, show_dataflow=show_dataflow, show_memory=show_memory), indent=4, separators=(",", ": "))


def chrome_trace(step_stats, partition_graphs=(), show_dataflow=True, show_memory=False):
    """{"traceEvents": [...]}: a process for each device, a thread for each row, arrows from producers to consumers."""
    devices, _ = devices_of(step_stats, partition_graphs)
    zero = min([_start_ns(n) for d in step_stats.dev_stats for n in d.node_stats] or [0]) / 1000.0
    out, made = [], {}
    for pid, device in enumerate(devices):
        out.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": device.name + " Compute"}})
        for tid, (label, row) in enumerate(device.rows):
            out.append({"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": label or "..."}})
            for e in row:
                args = {"name": e.name, "op": e.op, "bytes": e.bytes}
                args.update(("input%d" % i, name) for i, name in enumerate(e.inputs))
                args.update(("output%d" % i, "%s %s" % o[:2]) for i, o in enumerate(e.outputs))
                out.append({"ph": "X", "cat": "Op", "name": e.op or e.name, "pid": pid, "tid": tid, "ts": zero + e.start, "dur": e.duration, "args": args})
                made[e.name] = pid, tid, zero + e.start + e.duration
    if show_dataflow:
        out += _arrows(devices, made, zero)
    if show_memory:
        out += _memory(devices, zero)
    return {"traceEvents": out, "displayTimeUnit": "ns"}


def _arrows(devices, made, zero):
    out, number = [], 0
    for pid, device in enumerate(devices):
        for tid, (_, row) in enumerate(device.rows):
            for e in row:
                for name in e.inputs:
                    source = made.get(name.lstrip("^").split(":")[0])
                    if source is None or number >= _PRODUCERS:
                        continue
                    number += 1
                    row_of = {"cat": "DataFlow", "name": name.lstrip("^"), "id": number}
                    out.append(dict(row_of, ph="s", pid=source[0], tid=source[1], ts=source[2]))
                    out.append(dict(row_of, ph="t", pid=pid, tid=tid, ts=max(source[2], zero + e.start)))
    return out


def _memory(devices, zero):
    """A counter for each device: bytes of outputs made so far."""
    out = []
    for pid, device in enumerate(devices):
        total = 0
        for e in sorted(device.events, key=lambda e: e.start + e.duration):
            total += e.bytes
            out.append({"ph": "C", "cat": "Memory", "name": "outputs", "pid": pid, "ts": zero + e.start + e.duration, "args": {"bytes": total}})
    return out


# --- files --------------------------------------------------------------
def read_metadata(path):
    """RunMetadata, or StepStats alone, from a file; ValueError says what is wrong with it."""
    from headrace.protos import message
    with open(path, "rb") as f:
        data = f.read()
    try:
        metadata = message("RunMetadata").FromString(data)
    except Exception:
        raise ValueError("%s is no serialized RunMetadata" % path) from None
    if not metadata.step_stats.dev_stats and not metadata.partition_graphs:
        raise ValueError("%s has neither step statistics nor partition graphs: run the step with RunOptions(trace_level=FULL_TRACE)" % path)
    return metadata


def write_trace(run_metadata, out=None, json_out=None, title="step"):
    """The step as a page (out), as Chrome trace JSON (json_out), or both."""
    if json_out:
        _put(json_out, json.dumps(chrome_trace(run_metadata.step_stats, run_metadata.partition_graphs)))
    if out:
        from headrace.trace_page import page
        _put(out, page(run_metadata, title))


def _put(path, text):
    part = "%s.part%d" % (path, os.getpid())
    with open(part, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(part, path)


def main(arguments):
    """`python -m headrace trace`"""
    import argparse
    p = argparse.ArgumentParser(prog="python -m headrace trace", description="A step's RunMetadata as a page that opens offline, and as Chrome trace JSON.")
    p.add_argument("metadata", help="a serialized RunMetadata")
    p.add_argument("--out", metavar="FILE", help="the page (the input's name with .html, unless --json is given alone)")
    p.add_argument("--json", metavar="FILE", help="Chrome trace JSON")
    a = p.parse_args(arguments)
    out = a.out or (None if a.json else os.path.splitext(a.metadata)[0] + ".html")
    try:
        write_trace(read_metadata(a.metadata), out, a.json, os.path.basename(a.metadata))
    except (OSError, ValueError) as e:
        p.exit(1, "%s: %s\n" % (p.prog, e))
    print("\n".join(f for f in (out, a.json) if f))
