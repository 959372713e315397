# SPDX-License-Identifier: Apache-2.0
"""A step as one HTML file that needs nothing else: operations over time by device and thread, and the partition graphs."""
import json
from html import escape

from headrace.graph_drawing import draw
from headrace.timeline import devices_of

# class of an op's colour -> (name in the legend, beginnings of the ops' names)
KINDS = (
    ("math", "matrices, convolutions", ("MatMul", "BatchMatMul", "Conv", "Depthwise", "SparseMatMul", "Einsum", "LSTM", "GRU")),
    ("move", "between devices", ("_Send", "_Recv", "_HostSend", "_HostRecv")),
    ("state", "variables", ("Variable", "VarHandle", "Assign", "ReadVariable", "Apply", "ResourceApply", "SparseApply", "ResourceSparseApply", "Scatter",
                            "IsVariable", "VarIs", "Save", "Restore", "ResourceGather")),
    ("flow", "branches and loops", ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge", "RefEnter", "RefExit",
                                    "RefNextIteration", "TensorArray", "Stack", "ControlTrigger", "If", "While", "Case", "PartitionedCall",
                                    "StatefulPartitionedCall", "Queue", "FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue")),
    ("data", "constants, shapes", ("Const", "Placeholder", "Identity", "Shape", "Reshape", "NoOp", "_Arg", "_Retval", "Fill", "Pack", "Unpack", "Slice",
                                   "StridedSlice", "Concat", "Squeeze", "ExpandDims", "Cast", "Size", "Rank", "Range", "Transpose", "Tile",
                                   "BroadcastGradientArgs", "StopGradient", "PreventGradient")),
)


def kind(op):
    for prefix in ("_MklNative", "_Mkl", "_Fused"):  # TensorFlow's own forms of an op
        op = op[len(prefix):] if op.startswith(prefix) else op
    for name, _, starts in KINDS:
        if op.startswith(starts):
            return name
    return "other" if op else "scope"


def _number(x):
    return round(x, 3)


def _data(metadata):
    """The page's data: names once, events as short lists."""
    devices, length = devices_of(metadata.step_stats, metadata.partition_graphs)
    rows = []
    for d in devices:
        first = len(d.rows) - d.transfer_rows
        rows.append({"name": d.name, "rows": [{"label": label, "thin": i >= first, "events": [
            [e.name, e.op, _number(e.start), _number(e.duration), _number(e.waited), kind(e.op), [[o[0], o[1], o[2]] for o in e.outputs], list(e.inputs)]
            for e in row]} for i, (label, row) in enumerate(d.rows)]})
    return {"length": _number(length), "devices": rows}


def _graphs(metadata):
    out = []
    named = [(next((n.device for n in g.node if n.device), "") or "graph %d" % i, g) for i, g in enumerate(metadata.partition_graphs)]
    for device, g in sorted(named, key=lambda pair: (-len(pair[1].node), pair[0])):
        svg, width, height = draw(g, kind)
        out.append("<section class='graph' data-device=\"%s\" data-w='%.0f' data-h='%.0f'><svg><g class='world'>%s</g></svg></section>"
                   % (escape(device, True), width, height, svg))
    return "".join(out)


def page(metadata, title):
    legend = "".join("<span class='key %s'>%s</span>" % (name, escape(text)) for name, text, _ in KINDS) + "<span class='key other'>other operations</span>"
    data = json.dumps(_data(metadata), separators=(",", ":")).replace("</", "<\\/")
    return (_PAGE.replace("@TITLE@", escape(title)).replace("@LEGEND@", legend).replace("@GRAPHS@", _graphs(metadata)).replace("@DATA@", data))


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@ - headrace trace</title>
<style>
:root { --ink: #22303c; --soft: #6a7a88; --line: #e3e8ec; --back: #f6f8f9; --math: #2f6fb3; --move: #e08b2d; --state: #3d9a6a; --flow: #8a5fb8;
  --data: #a9b6c0; --other: #4fa9b8; --scope: #d5dbe0; }
* { box-sizing: border-box; }
body { margin: 0; font: 13px/1.4 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink); background: var(--back); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 6px 18px; padding: 14px 20px 10px; background: #fff; border-bottom: 1px solid var(--line); }
h1 { font-size: 17px; margin: 0; font-weight: 650; }
h2 { font-size: 13px; margin: 18px 20px 8px; font-weight: 650; }
#facts, .hint { color: var(--soft); }
.hint { font-weight: 400; margin-left: 8px; font-size: 12px; }
#find { margin-left: auto; border: 1px solid var(--line); border-radius: 6px; padding: 4px 10px; width: 220px; font: inherit; background: var(--back); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 8px 20px 0; font-size: 12px; color: var(--soft); }
.key::before { content: ""; display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; background: var(--c); }
.math { --c: var(--math); } .move { --c: var(--move); } .state { --c: var(--state); } .flow { --c: var(--flow); } .data { --c: var(--data); }
.other { --c: var(--other); } .scope { --c: var(--scope); }
.card { margin: 0 20px; background: #fff; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; position: relative; }
canvas { display: block; width: 100%; cursor: grab; }
.tabs { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 20px 8px; }
.tabs button { font: inherit; border: 1px solid var(--line); background: #fff; border-radius: 6px; padding: 4px 12px; color: var(--soft); cursor: pointer; }
.tabs button.on { color: #fff; background: var(--ink); border-color: var(--ink); }
.graph { display: none; } .graph.on { display: block; }
.graph svg { display: block; width: 100%; height: 560px; cursor: grab; }
.edges path { fill: none; stroke: #b4c0ca; stroke-width: 1; } .edges .control { stroke-dasharray: 3 3; } .edges .back { stroke: var(--flow); }
.node rect { fill: color-mix(in srgb, var(--c) 22%, #fff); stroke: var(--c); } .node text { font-size: 10.5px; text-anchor: middle; fill: var(--ink); pointer-events: none; }
.node:hover rect, .node.found rect { stroke-width: 2.5; fill: color-mix(in srgb, var(--c) 45%, #fff); }
#tip { position: fixed; display: none; max-width: 460px; background: #1f2a33; color: #f2f5f7; border-radius: 6px; padding: 8px 12px; font-size: 12px;
  pointer-events: none; z-index: 9; box-shadow: 0 4px 18px rgba(20, 30, 40, .25); overflow-wrap: anywhere; }
#tip b { font-weight: 650; } #tip .s { color: #a9bac6; } #tip table { border-spacing: 0; margin-top: 4px; } #tip td { padding: 0 12px 0 0; vertical-align: top; }
footer { height: 24px; }
</style></head><body>
<header><h1>@TITLE@</h1><span id="facts"></span><input id="find" placeholder="find operations" autocomplete="off"></header>
<div class="legend">@LEGEND@</div>
<h2>Timeline <span class="hint">wheel zooms, dragging pans, double click shows all</span></h2>
<div class="card" id="timecard"><canvas id="time"></canvas></div>
<div id="drawings"><h2>Partition graphs <span class="hint">one for each device; dashed edges carry order only</span></h2><div class="tabs"></div><div class="card">@GRAPHS@</div></div>
<footer></footer><div id="tip"></div>
<script id="data" type="application/json">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent), tip = document.getElementById("tip");
const canvas = document.getElementById("time"), pen = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
const color = k => css.getPropertyValue("--" + k).trim(), LABEL = 128, HEAD = 26, ROW = 20, THIN = 8, AXIS = 26, high = r => r.thin ? THIN : ROW;
let from = 0, to = Math.max(data.length, 0.001) * 1.01, wide = 0, tall = 0, boxes = [], found = "", hovered = null;
const timeOf = {}, short = n => n.replace(/^\\/job:/, "").replace("/replica:0", "").replace("/task:", " ").replace("/device:", " \\u00b7 ");
const text = s => String(s).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));
const us = t => t >= 1e6 ? (t / 1e6).toFixed(3) + " s" : t >= 1000 ? (t / 1000).toFixed(3) + " ms" : t.toFixed(t < 10 ? 2 : 1) + " \\u00b5s";
const size = b => b >= 1 << 20 ? (b / (1 << 20)).toFixed(1) + " MiB" : b >= 1024 ? (b / 1024).toFixed(1) + " KiB" : b + " B";
let count = 0;
for (const d of data.devices) for (const r of d.rows) for (const e of r.events) { ++count; (timeOf[e[0]] = timeOf[e[0]] || []).push([e, d.name]); }
document.getElementById("facts").textContent = us(data.length) + ", " + count + " operations on " + data.devices.length + " device" + (data.devices.length == 1 ? "" : "s");

function layout() {
  wide = canvas.parentElement.clientWidth;
  tall = AXIS + data.devices.reduce((h, d) => h + HEAD + d.rows.reduce((s, r) => s + high(r), 0) + 10, 0);
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = tall + "px"; canvas.width = wide * ratio; canvas.height = tall * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
}
const x = t => LABEL + (t - from) / (to - from) * (wide - LABEL - 10), t = px => from + (px - LABEL) / (wide - LABEL - 10) * (to - from);
function axis() {
  const raw = (to - from) / Math.max(2, (wide - LABEL) / 110), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw);
  pen.font = "11px system-ui, DejaVu Sans, sans-serif"; pen.textBaseline = "middle"; pen.textAlign = "center";
  for (let v = Math.ceil(from / step) * step; v <= to; v += step) {
    pen.fillStyle = "#eef1f3"; pen.fillRect(Math.round(x(v)), AXIS - 6, 1, tall);
    pen.fillStyle = color("soft"); pen.fillText(us(v).replace(/\\.0+ /, " "), x(v), AXIS / 2);
  }
  pen.textAlign = "left";
}
function paint() {
  pen.fillStyle = "#fff"; pen.fillRect(0, 0, wide, tall); axis(); boxes = [];
  let y = AXIS;
  for (const d of data.devices) {
    let busy = 0; for (const r of d.rows) if (!r.thin) for (const e of r.events) busy += e[3];
    pen.fillStyle = "#f3f6f8"; pen.fillRect(0, y, wide, HEAD - 4); pen.fillStyle = color("ink");
    pen.font = "600 12px system-ui, DejaVu Sans, sans-serif"; pen.fillText(short(d.name), 12, y + (HEAD - 4) / 2);
    const w = pen.measureText(short(d.name)).width; pen.font = "11px system-ui, DejaVu Sans, sans-serif"; pen.fillStyle = color("soft");
    pen.fillText(us(busy) + " of operations", 24 + w, y + (HEAD - 4) / 2); y += HEAD;
    for (const r of d.rows) {
      pen.fillStyle = color("soft"); pen.fillText(r.label, 12, y + (r.thin ? 7 : ROW / 2), LABEL - 20);
      pen.save(); pen.beginPath(); pen.rect(LABEL, y, wide - LABEL, ROW); pen.clip();
      for (const e of r.events) box(e, d, y, high(r));
      pen.restore(); y += high(r);
    }
    y += 10;
  }
}
function box(e, d, y, h) {
  const a = x(e[2]), b = Math.max(x(e[2] + e[3]), a + 1);
  if (b < LABEL || a > wide) return;
  const match = found && (e[0] + " " + e[1]).toLowerCase().includes(found);
  const edge = h == THIN ? 1 : 2;
  pen.globalAlpha = (found && !match ? .18 : 1) * (h == THIN ? .6 : 1); pen.fillStyle = color(e[5]); pen.fillRect(a, y + edge, Math.max(b - a - .5, 1), h - 2 * edge);
  if (hovered === e || match) { pen.strokeStyle = color("ink"); pen.lineWidth = 1.5; pen.globalAlpha = 1; pen.strokeRect(a + .5, y + edge + .5, Math.max(b - a - 1.5, 1), h - 2 * edge - 1); }
  if (h == ROW && b - a > 34) {
    pen.fillStyle = e[5] == "data" ? color("ink") : "#fff"; pen.font = "11px system-ui, DejaVu Sans, sans-serif";
    let name = e[1] || e[0]; const room = b - Math.max(a, LABEL) - 8;
    while (name.length > 1 && pen.measureText(name).width > room) name = name.slice(0, -2);
    if (name.length > 2) pen.fillText(name, Math.max(a, LABEL) + 4, y + ROW / 2 + .5);
  }
  pen.globalAlpha = 1; boxes.push([a, b, y, e, d.name, h]);
}
function describe(e, device) {
  let rows = "<tr><td class=s>starts</td><td>" + us(e[2]) + "</td></tr><tr><td class=s>takes</td><td>" + us(e[3]) + (e[4] > .01 ? " after waiting " + us(e[4]) : "") + "</td></tr>";
  e[6].forEach((o, i) => rows += "<tr><td class=s>output" + (e[6].length > 1 ? " " + i : "") + "</td><td>" + text(o[0] + " " + o[1]) + (o[2] ? ", " + size(o[2]) : "") + "</td></tr>");
  if (e[7].length) rows += "<tr><td class=s>inputs</td><td>" + e[7].slice(0, 8).map(text).join("<br>") + (e[7].length > 8 ? "<br>..." : "") + "</td></tr>";
  return "<b>" + text(e[0]) + "</b> <span class=s>" + text(e[1]) + "</span><br><span class=s>" + text(short(device)) + "</span><table>" + rows + "</table>";
}
function show(html, ev) {
  tip.innerHTML = html; tip.style.display = "block";
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(ev.clientX + 14, innerWidth - r.width - 8)) + "px";
  tip.style.top = Math.max(4, ev.clientY + 18 + r.height > innerHeight ? ev.clientY - r.height - 12 : ev.clientY + 18) + "px";
}
const hide = () => { tip.style.display = "none"; if (hovered) { hovered = null; paint(); } };
let drag = null;
canvas.addEventListener("wheel", ev => {
  ev.preventDefault();
  const at = t(ev.offsetX), f = Math.exp(ev.deltaY * .0015), w = Math.min((to - from) * f, data.length * 1.2 + .002);
  if (w < .05) return;
  from = at - (at - from) * w / (to - from); to = from + w; paint();
}, {passive: false});
canvas.addEventListener("mousedown", ev => { drag = [ev.clientX, from, to]; });
addEventListener("mouseup", () => { drag = null; });
canvas.addEventListener("dblclick", () => { from = 0; to = data.length * 1.01 + .001; paint(); });
canvas.addEventListener("mouseleave", hide);
canvas.addEventListener("mousemove", ev => {
  if (drag) { const by = (ev.clientX - drag[0]) / (wide - LABEL - 10) * (drag[2] - drag[1]); from = drag[1] - by; to = drag[2] - by; paint(); return; }
  const hit = boxes.find(b => ev.offsetX >= b[0] - 1 && ev.offsetX <= b[1] + 1 && ev.offsetY >= b[2] && ev.offsetY < b[2] + b[5]);
  if (!hit) return hide();
  if (hovered !== hit[3]) { hovered = hit[3]; paint(); }
  show(describe(hit[3], hit[4]), ev);
});
const graphs = [...document.querySelectorAll(".graph")], tabs = document.querySelector(".tabs");
if (!graphs.length) document.getElementById("drawings").remove();
graphs.forEach((g, i) => {
  const button = document.createElement("button"), svg = g.querySelector("svg"), world = g.querySelector(".world");
  let s = 0, ox = 0, oy = 0, from = null;
  const put = () => world.setAttribute("transform", "translate(" + ox + " " + oy + ") scale(" + s + ")");
  const fit = () => {
    const w = svg.clientWidth, h = svg.clientHeight; s = Math.min(1.2, w / g.dataset.w, h / g.dataset.h);
    if (s < .45) { s = Math.min(1, Math.max(.45, w / g.dataset.w)); }
    ox = (w - g.dataset.w * s) / 2; oy = Math.max(8, (h - g.dataset.h * s) / 2); put();
  };
  button.textContent = short(g.dataset.device) + " (" + g.querySelectorAll(".node").length + ")";
  button.onclick = () => { graphs.forEach((o, k) => { o.classList.toggle("on", k == i); tabs.children[k].classList.toggle("on", k == i); }); if (!s) fit(); };
  tabs.append(button);
  svg.addEventListener("wheel", ev => {
    ev.preventDefault(); const f = Math.exp(-ev.deltaY * .0015), r = svg.getBoundingClientRect(), px = ev.clientX - r.left, py = ev.clientY - r.top;
    ox = px - (px - ox) * f; oy = py - (py - oy) * f; s *= f; put();
  }, {passive: false});
  svg.addEventListener("mousedown", ev => { from = [ev.clientX - ox, ev.clientY - oy]; });
  addEventListener("mouseup", () => { from = null; });
  svg.addEventListener("dblclick", fit);
  svg.addEventListener("mouseleave", hide);
  svg.addEventListener("mousemove", ev => {
    if (from) { ox = ev.clientX - from[0]; oy = ev.clientY - from[1]; put(); return; }
    const n = ev.target.closest(".node"); if (!n) return hide();
    const ran = (timeOf[n.dataset.n] || []).find(r => r[1] == g.dataset.device);
    show(ran ? describe(ran[0], ran[1]) : "<b>" + text(n.dataset.n) + "</b> <span class=s>" + text(n.dataset.o || n.dataset.c + " operations") + "</span>", ev);
  });
});
document.getElementById("find").addEventListener("input", ev => {
  found = ev.target.value.trim().toLowerCase(); paint();
  document.querySelectorAll(".node").forEach(n => n.classList.toggle("found", !!found && (n.dataset.n + " " + n.dataset.o).toLowerCase().includes(found)));
});
addEventListener("resize", () => { layout(); paint(); });
layout(); paint(); if (graphs.length) tabs.children[0].click();
</script></body></html>
"""
