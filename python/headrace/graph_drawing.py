# SPDX-License-Identifier: Apache-2.0
"""Graphs as layered drawings: every node below what it reads, in an order with few crossings; as SVG."""
from html import escape

BOX, GAP, LAYER, LETTER = 20, 14, 46, 6.1   # height of a box, space beside it, from layer to layer, width of a letter
MOST = 1500                                 # nodes; a larger graph is drawn as its name scopes


class _Node(object):
    __slots__ = ("name", "label", "op", "sources", "sinks", "rank", "x", "width", "count")

    def __init__(self, name, label, op, count=1):
        self.name, self.label, self.op, self.count = name, label, op, count
        self.sources, self.sinks, self.rank, self.x = [], [], 0, 0.0
        self.width = max(34.0, LETTER * len(label) + 14)


def _scoped(graph_def):
    """{node: what stands for it}: itself, or for a large graph its scope at the deepest level that leaves few enough."""
    names = [n.name for n in graph_def.node]
    if len(names) <= MOST:
        return dict((n, n) for n in names)
    for depth in range(6, 0, -1):
        groups = dict((n, "/".join(n.split("/")[:depth])) for n in names)
        if len(set(groups.values())) <= MOST:
            return groups
    return dict((n, n.split("/")[0][:1]) for n in names)


def _read(graph_def):
    """([_Node], {(source, sink): is a control edge}), loops' back edges left out of the sources."""
    stands_for = _scoped(graph_def)
    nodes, edges = {}, {}
    for n in graph_def.node:
        group = stands_for[n.name]
        if group not in nodes:
            alone = group == n.name
            label = group.split("/")[-1]
            nodes[group] = _Node(group, label if len(label) < 29 else label[:13] + "\u2026" + label[-13:], n.op if alone else "", 0)
        nodes[group].count += 1
    for n in graph_def.node:
        sink = nodes[stands_for[n.name]]
        for name in n.input:
            source = nodes.get(stands_for.get(name.lstrip("^").split(":")[0]))
            if source is None or source is sink:
                continue
            edges[source.name, sink.name] = edges.get((source.name, sink.name), True) and name.startswith("^")
    for a, b in edges:
        nodes[a].sinks.append(nodes[b])
        nodes[b].sources.append(nodes[a])
    return list(nodes.values()), edges


def _above(node):
    """What a node lies below: all it reads, but for the edge that closes a loop."""
    return [s for s in node.sources if not (s.op.endswith("NextIteration") and node.op.endswith("Merge"))]


def _rank(nodes):
    """Longest way from the top; edges that would close a cycle do not count. Sources move down to what reads them."""
    state, order = {}, []
    for root in nodes:
        stack = [(root, iter(_above(root)))]
        if root in state:
            continue
        state[root] = 1
        while stack:
            node, rest = stack[-1]
            for source in rest:
                if source not in state:
                    state[source] = 1
                    stack.append((source, iter(_above(source))))
                    break
            else:
                stack.pop()
                state[node] = 2
                order.append(node)
    at = dict((n, i) for i, n in enumerate(order))
    for n in order:
        n.rank = max([s.rank + 1 for s in n.sources if at[s] < at[n]] or [0])
    for n in reversed(order):
        below = [s.rank for s in n.sinks if at[s] > at[n]]
        if below and not n.sources:
            n.rank = max(n.rank, min(below) - 1)
    return at


def _layers(nodes, at):
    """Layers from the top, with a stand-in in every layer that an edge passes."""
    layers = [[] for _ in range(max(n.rank for n in nodes) + 1)]
    ways = {}
    for n in nodes:
        layers[n.rank].append(n)
    room = 6000
    for n in list(nodes):
        for s in list(n.sinks):
            span = s.rank - n.rank
            if span < 2 or at[s] < at[n] or room < span:
                continue
            room -= span
            before, way = n, []
            for rank in range(n.rank + 1, s.rank):
                stand = _Node("", "", "", 0)
                stand.rank, stand.width = rank, 2.0
                stand.sources.append(before)
                before.sinks.append(stand) if before is not n else None
                layers[rank].append(stand)
                way.append(stand)
                before = stand
            before.sinks.append(s)
            ways[n.name, s.name] = way
    return layers, ways


def _order(layers, ways):
    """Each layer by the mean place of what is beside it, down and up a few times."""
    ups, downs = {}, {}
    for layer in layers:
        for n in layer:
            ups[n], downs[n] = [], []
    joined = set(ways)
    for layer in layers:
        for n in layer:
            if not n.name:
                continue
            for s in n.sinks:
                if not s.name or (n.name, s.name) in joined or s.rank <= n.rank:
                    continue
                ups[s].append(n)
                downs[n].append(s)
    for way_of, way in ways.items():
        chain = way
        for a, b in zip(chain, chain[1:]):
            downs[a].append(b)
            ups[b].append(a)
    by_name = dict((n.name, n) for layer in layers for n in layer if n.name)
    for (a, b), way in ways.items():
        downs[by_name[a]].append(way[0])
        ups[way[0]].append(by_name[a])
        ups[by_name[b]].append(way[-1])
        downs[way[-1]].append(by_name[b])
    place = {}
    for layer in layers:
        for i, n in enumerate(layer):
            place[n] = i
    for sweep in range(8):
        beside = ups if sweep % 2 == 0 else downs
        for layer in (layers if sweep % 2 == 0 else reversed(layers)):
            mean = dict((n, sum(place[m] for m in beside[n]) / len(beside[n]) if beside[n] else place[n]) for n in layer)
            layer.sort(key=lambda n: mean[n])
            for i, n in enumerate(layer):
                place[n] = i
    return ups, downs


def _place(layers, ups, downs):
    """x of each box's middle: near the mean of what is beside it, without overlap."""
    for layer in layers:
        x = 0.0
        for n in layer:
            n.x = x + n.width / 2
            x += n.width + GAP
    for sweep in range(10):
        beside = ups if sweep % 2 == 0 else downs
        for layer in (layers if sweep % 2 == 0 else reversed(layers)):
            wanted = [sum(m.x for m in beside[n]) / len(beside[n]) if beside[n] else n.x for n in layer]
            _without_overlap(layer, wanted)
    left = min(n.x - n.width / 2 for layer in layers for n in layer)
    for layer in layers:
        for n in layer:
            n.x += GAP - left


def _without_overlap(layer, wanted):
    """Boxes that push each other move together: blocks at the mean of what their boxes want."""
    blocks = []  # [sum of (wanted - offset), count, boxes, width so far]
    for n, want in zip(layer, wanted):
        block = [want, 1, [(n, 0.0)], n.width / 2]
        while blocks:
            last = blocks[-1]
            start, own = last[0] / last[1], block[0] / block[1]
            first = block[2][0][0]
            reach = last[3] + GAP + first.width / 2
            if start + reach <= own:
                break
            blocks.pop()
            shifted = [(m, o + reach) for m, o in block[2]]
            block = [last[0] + block[0] - reach * block[1], last[1] + block[1], last[2] + shifted, reach + block[3]]
        blocks.append(block)
    for total, count, boxes, _ in blocks:
        for n, offset in boxes:
            n.x = total / count + offset


def _y(n):
    return GAP + n.rank * LAYER + BOX / 2


def _curve(points):
    text = "M%.0f %.0f" % points[0]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        middle = (y0 + y1) / 2
        text += "C%.0f %.0f %.0f %.0f %.0f %.0f" % (x0, middle, x1, middle, x1, y1)
    return text


def draw(graph_def, color):
    """(SVG text, width, height). color(op) gives a box's class."""
    nodes, edges = _read(graph_def)
    if not nodes:
        return "", 0, 0
    layers, ways = _layers(nodes, _rank(nodes))
    ups, downs = _order(layers, ways)
    _place(layers, ups, downs)
    by_name = dict((n.name, n) for n in nodes)
    width = max(n.x + n.width / 2 for n in nodes) + GAP + (60 if any(by_name[b].rank <= by_name[a].rank for a, b in edges) else 0)
    height = 2 * GAP + BOX + LAYER * (len(layers) - 1)
    out = ["<g class='edges'>"]
    for (a, b), control in edges.items():
        source, sink = by_name[a], by_name[b]
        if sink.rank <= source.rank:  # a loop's way back: beside the boxes
            x0, x1 = source.x + source.width / 2, sink.x + sink.width / 2
            out.append("<path class='back' d='M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f'/>" % (
                x0, _y(source), max(x0, x1) + 70, _y(source), max(x0, x1) + 70, _y(sink), x1, _y(sink)))
            continue
        points = [(source.x, _y(source) + BOX / 2)] + [(s.x, _y(s)) for s in ways.get((a, b), ())] + [(sink.x, _y(sink) - BOX / 2)]
        out.append("<path d='%s'%s/>" % (_curve(points), " class='control'" if control else ""))
    out.append("</g>")
    for n in nodes:
        out.append("<g class='node %s' data-n=\"%s\" data-o=\"%s\" data-c='%d' transform='translate(%.1f %.1f)'><rect width='%.1f' height='%d' rx='4'/>"
                   "<text x='%.1f' y='14'>%s</text></g>" % (color(n.op), escape(n.name, True), escape(n.op, True), n.count, n.x - n.width / 2,
                                                           _y(n) - BOX / 2, n.width, BOX, n.width / 2, escape(n.label)))
    return "".join(out), width, height
