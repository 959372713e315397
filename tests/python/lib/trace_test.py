# SPDX-License-Identifier: Apache-2.0
"""A step's metadata as Chrome trace JSON and as a page; the layered drawing of graphs."""
import json
import os
import re
import subprocess
import sys

import pytest

import headrace as tf
from headrace import graph_drawing, timeline, trace_page


@pytest.fixture(scope="module")
def metadata():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        x = tf.placeholder(tf.float32, [4, 8], name="x")
        with tf.device("/cpu:1"):
            y = tf.matmul(x, tf.ones([8, 2]), name="y")
        z = tf.nn.relu(y, name="<z>".strip("<>"))
        found = tf.RunMetadata()
        session.run(z, {x: [[1.0] * 8] * 4}, options=tf.RunOptions(trace_level=3, output_partition_graphs=True), run_metadata=found)
    return found


def test_rows_do_not_overlap(metadata):
    devices, length = timeline.devices_of(metadata.step_stats, metadata.partition_graphs)
    assert [d.name[-5:] for d in devices] == ["CPU:0", "CPU:1"] and length > 0
    for device in devices:
        for _, row in device.rows:
            for a, b in zip(row, row[1:]):
                assert a.start + a.duration <= b.start + 1e-6
    product = next(e for e in devices[1].events if e.name == "y")
    assert product.op == "MatMul" and product.outputs[0][:2] == ("float32", "[4, 2]")


def test_chrome_trace(metadata):
    assert json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())["traceEvents"]
    trace = timeline.chrome_trace(metadata.step_stats, metadata.partition_graphs, show_memory=True)["traceEvents"]
    processes = [e["args"]["name"] for e in trace if e["name"] == "process_name"]
    assert len(processes) == 2 and all(p.endswith(" Compute") for p in processes)
    spans = [e for e in trace if e["ph"] == "X"]
    assert {"MatMul", "Relu"} <= {e["name"] for e in spans} and all(e["dur"] >= 0 and e["ts"] > 1e15 for e in spans)
    starts, ends = ([e["id"] for e in trace if e["ph"] == ph] for ph in "st")
    assert starts and starts == ends
    assert any(e["ph"] == "C" for e in trace)


def test_page(metadata, tmp_path):
    source, page, trace = (str(tmp_path / n) for n in ("step.pb", "step.html", "step.json"))
    with open(source, "wb") as f:
        f.write(metadata.SerializeToString())
    done = subprocess.run([sys.executable, "-m", "headrace", "trace", source, "--out", page, "--json", trace], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == [page, trace], done.stderr
    with open(page, encoding="utf-8") as f:
        text = f.read()
    assert not re.search(r"(src|href)\s*=", text) and "http" not in text.replace("http://www.w3.org", "")
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1))
    assert [d["name"][-5:] for d in data["devices"]] == ["CPU:0", "CPU:1"]
    assert text.count("<section class='graph'") == 2 and "data-n=\"y\" data-o=\"MatMul\"" in text
    with open(trace) as f:
        assert json.load(f)["traceEvents"]


def test_what_cannot_be_read_is_said(tmp_path):
    path = str(tmp_path / "bad.pb")
    for content, word in ((b"\xff\xff\xff", "no serialized RunMetadata"), (b"", "neither")):
        with open(path, "wb") as f:
            f.write(content)
        done = subprocess.run([sys.executable, "-m", "headrace", "trace", path], capture_output=True, text=True)
        assert done.returncode == 1 and word in done.stderr
    done = subprocess.run([sys.executable, "-m", "headrace", "trace", str(tmp_path / "none")], capture_output=True, text=True)
    assert done.returncode == 1 and "No such file" in done.stderr and not os.path.exists(str(tmp_path / "none.html"))


def _drawn(build):
    with tf.Graph().as_default() as graph:
        build()
    svg, width, height = graph_drawing.draw(graph.as_graph_def(), trace_page.kind)
    boxes = [(n, float(x), float(y), float(w)) for n, x, y, w in re.findall(
        r"data-n=\"([^\"]*)\"[^>]*translate\(([-0-9.]+) ([-0-9.]+)\)'><rect width='([0-9.]+)'", svg)]
    assert len(boxes) == len({b[0] for b in boxes}) and all(x >= 0 and x + w <= width and 0 <= y < height for _, x, y, w in boxes)
    for i, (_, x, y, w) in enumerate(boxes):
        for _, x2, y2, w2 in boxes[i + 1:]:
            assert y != y2 or x + w <= x2 or x2 + w2 <= x
    return dict((n, y) for n, _, y, _ in boxes)


def test_drawing():
    def diamond():
        a = tf.constant(1.0, name="a")
        tf.add(tf.negative(a, name="b"), tf.square(tf.sqrt(a, name="c"), name="d"), name="e")
    at = _drawn(diamond)
    assert at["a"] < at["b"] < at["e"] and at["a"] < at["c"] < at["d"] < at["e"]
    at = _drawn(lambda: tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0]))
    assert at["while/Enter"] < at["while/Merge"] < at["while/Switch"] < at["while/Exit"]


def test_a_large_graph_is_drawn_as_its_scopes():
    def many():
        x = tf.constant(1.0, name="x")
        for i in range(20):
            with tf.name_scope("part%d" % i):
                for _ in range(100):
                    x = tf.identity(x)
    at = _drawn(many)
    assert len(at) == 21 and at["part0"] < at["part19"]
