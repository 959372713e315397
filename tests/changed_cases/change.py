# SPDX-License-Identifier: Apache-2.0
"""Changed golden cases: python change.py ARCHIVE OUT --seed N --per-case N [--ops "A B"]   (a Python with TensorFlow)

Each case of the archive (tests/golden/ops.tar.xz) is changed in one or two places: the shape or some values of an input, an attr, or a type
attr with the inputs that have it. Half of them keep their inputs as constants, which shape functions see, half are fed through placeholders
of unknown shape. OUT: a pickled list of dicts (op, case, note, what, graph, init, fetch, grad, feeds)."""
import argparse, pickle, random, struct, tarfile
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_registry

# Types that NumPy can cast to and both sides can print.
TYPES = [tf.as_dtype(name) for name in ("float32", "float64", "int32", "uint8", "int16", "int8", "complex64", "int64", "bool", "bfloat16", "uint16",
                                        "complex128", "float16", "uint32", "uint64")]
# What writes files, ends the process or draws from no seed is the same only by chance.
LEFT_OUT = {"ReadFile", "WriteFile", "MatchingFiles", "SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "Restore", "SaveSlices", "RestoreSlice",
            "Abort", "Print", "PrintV2", "PyFunc", "Timestamp", "Empty"}
LARGEST = 200000 # elements of a changed input
DIMS, INTS, FLOATS = (0, 1, 1, 2, 3, 5), (-1, 0, 1, 2, 3, -5, 7), (0., -0., 1., -1., .5, 2.5, 1e-3, 100., float("inf"), float("nan"))
STRINGS = (b"", b"a", b"-1", b"3.5", b"xyz" * 9, b"\xc3\xa9 x")


def records(data):
    """The records of a TFRecord file: length (8 bytes), its CRC (4), the record, its CRC (4)."""
    at = 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        yield data[at + 12:at + 12 + size]
        at += size + 16


def value(node):
    return np.array(tf.make_ndarray(node.attr["value"].tensor))


def set_value(node, a, dtype=None):
    dtype = dtype or tf.as_dtype(node.attr["dtype"].type)
    node.attr["dtype"].type = dtype.as_datatype_enum
    proto = tf.make_tensor_proto(a.tolist() if a.dtype == object else a, dtype=dtype, shape=a.shape)
    node.attr["value"].tensor.CopyFrom(proto)


def changed_shape(r, shape):
    s, kind = list(shape), r.random()
    if kind < .15 and len(s) < 6:
        s.insert(r.randrange(len(s) + 1), r.choice((1, 1, 2, 3)))
    elif kind < .3 and s:
        s.pop(r.randrange(len(s)))
    elif kind < .9 and s:
        i = r.randrange(len(s))
        s[i] = max(0, r.choice(DIMS + (s[i] + 1, s[i] - 1, 2 * s[i])))
    else:
        r.shuffle(s)
    return s if np.prod([max(1, d) for d in s], dtype=float) <= LARGEST else [min(d, 3) for d in s]


def change_shape(r, node):
    a = value(node)
    shape = changed_shape(r, a.shape)
    n, flat = int(np.prod(shape)), a.reshape(-1)
    if flat.size == 0:
        flat = np.array([b""], object) if a.dtype == object else np.zeros(1, a.dtype)
    set_value(node, flat[np.arange(n) % flat.size].reshape(shape))
    return "%s %s for %s" % (node.name, shape, list(a.shape))


def other_element(r, old, dtype):
    if dtype.is_bool:
        return not old
    if dtype == tf.string:
        return r.choice(STRINGS + (old + b"x", old[:-1]))
    if dtype.is_integer:
        v = r.choice(INTS + (int(old) + 1, int(old) - 1, -int(old), dtype.max, dtype.min))
        return v if dtype.min <= v <= dtype.max else 0
    if dtype.is_complex:
        return complex(r.choice(FLOATS[:6]), r.choice(FLOATS[:6]))
    return r.choice(FLOATS + (2 * float(old), -float(old)))


def change_values(r, node):
    a, dtype = value(node), tf.as_dtype(node.attr["dtype"].type)
    if a.size == 0 or dtype not in TYPES + [tf.string]:
        return None
    flat = a.reshape(-1).copy()
    for _ in range(r.choice((1, 1, 2, 4))):
        i = r.randrange(flat.size)
        flat[i] = other_element(r, flat[i], dtype)
    set_value(node, flat.reshape(a.shape))
    return "values of " + node.name


def changed_list(r, old):
    new = list(old)
    if new and r.random() < .8:
        new[r.randrange(len(new))] = r.choice(INTS[:5])
    elif new and r.random() < .5:
        new.pop()
    else:
        new.append(r.choice((0, 1, 2)))
    return new


def change_shape_attr(r, shape):
    if shape.dim and r.random() < .7:
        shape.dim[r.randrange(len(shape.dim))].size = r.choice((-1, 0, 1, 2, 3))
    elif r.random() < .5:
        del shape.dim[:]
        shape.unknown_rank = True
    else:
        shape.dim.add().size = r.choice((1, 2))


def change_attr(r, node):
    kinds = ("int", "bool", "float", "string", "list(int)", "shape")
    defs = [a for a in op_def_registry.get(node.op).attr if a.name in node.attr and a.type in kinds]
    if not defs:
        return None
    d = r.choice(defs)
    v = node.attr[d.name]
    if d.type == "int":
        v.i = r.randrange(1, 9) if d.name.startswith("seed") else r.choice(INTS[:5] + (v.i + 1, v.i - 1, -v.i))
    elif d.type == "bool":
        v.b = not v.b
    elif d.type == "float":
        v.f = r.choice((0, 1, -1, .5, 1e-3, 2 * v.f, -v.f))
    elif d.type == "string":
        v.s = r.choice(list(d.allowed_values.list.s) + [b""]) if d.allowed_values.list.s else r.choice((b"", b"x", v.s + b"y"))
    elif d.type == "list(int)":
        new = changed_list(r, v.list.i)
        v.list.SetInParent()
        v.list.i[:] = new
    else:
        change_shape_attr(r, v.shape)
    return "%s.%s is %s" % (node.name, d.name, " ".join(str(v).split()))


def change_type(r, nodes, node):
    """Another type for the op and, cast, for the constants that feed what has that type."""
    op = op_def_registry.get(node.op)
    defs = [a for a in op.attr if a.type == "type" and a.name in node.attr]
    if not defs:
        return None
    d = r.choice(defs)
    allowed = [t for t in TYPES if not d.allowed_values.list.type or t.as_datatype_enum in d.allowed_values.list.type]
    allowed = [t for t in allowed if t.as_datatype_enum != node.attr[d.name].type]
    if not allowed or any(a.type_list_attr for a in op.input_arg):
        return None
    new, fed = r.choice(allowed), []
    inputs = iter(x for x in node.input if not x.startswith("^"))
    for arg in op.input_arg:
        names = [next(inputs) for _ in range(node.attr[arg.number_attr].i if arg.number_attr else 1)]
        fed += names if arg.type_attr == d.name else []
    sources = [nodes.get(name.split(":")[0]) for name in fed]
    if any(s is None or s.op != "Const" or value(s).dtype == object for s in sources):
        return None
    node.attr[d.name].type = new.as_datatype_enum
    for s in sources:
        with np.errstate(all="ignore"):
            set_value(s, value(s).astype(new.as_numpy_dtype), new)
    return "%s.%s is %s" % (node.name, d.name, new.name)


def change(r, graph, op):
    nodes = {n.name: n for n in graph.node}
    inputs = [n for n in graph.node if n.name.startswith("in_") and n.op == "Const"]
    outs = [n for n in graph.node if n.op == op]
    what = []
    for _ in range(r.choice((1, 1, 1, 2))):
        kind = r.random()
        if kind < .6 and inputs:
            what.append((change_shape if kind < .35 else change_values)(r, r.choice(inputs)))
        elif outs:
            what.append(change_attr(r, r.choice(outs)) if kind < .85 else change_type(r, nodes, r.choice(outs)))
    return [w for w in what if w]


def feed_inputs(graph):
    """The graph with placeholders of unknown shape for in_0, in_1...; returns the constants they were, to feed."""
    feeds = {}
    for node in graph.node:
        if node.name.startswith("in_") and node.op == "Const":
            feeds[node.name + ":0"] = node.SerializeToString()
            del node.attr["value"]
            node.op = "Placeholder"
            node.attr["shape"].shape.unknown_rank = True
    return feeds


def changed_cases(op, number, record, r, per_case):
    whole = tf.GraphDef.FromString(record)
    attrs = next(n for n in whole.node if n.name == "case").attr
    kept = [n for n in whole.node if n.name != "case" and not n.name.startswith(("want_", "seed_"))]
    if any(n.op in LEFT_OUT for n in kept):
        return
    texts = lambda name: [s.decode() for s in attrs[name].list.s]
    for _ in range(per_case):
        graph = tf.GraphDef()
        graph.CopyFrom(whole)
        del graph.node[:]
        graph.node.extend(kept)
        what = change(r, graph, op)
        feeds = feed_inputs(graph) if r.random() < .5 else {}
        if what:
            yield {"op": op, "case": number, "note": attrs["_note"].s.decode(), "what": what, "graph": graph.SerializeToString(), "feeds": feeds,
                   "init": texts("_init"), "fetch": texts("_fetch"), "grad": texts("_grad")}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("archive")
    p.add_argument("out")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--per-case", type=int, default=1)
    p.add_argument("--ops", default="")
    a = p.parse_args()
    cases, r = [], random.Random(a.seed)
    with tarfile.open(a.archive) as archive:
        members = {m.name.split("/")[-1][:-len(".tfrecord")]: m for m in archive if m.name.endswith(".tfrecord")}
        for op in a.ops.split() or sorted(members):
            for number, record in enumerate(records(archive.extractfile(members[op]).read())):
                cases += changed_cases(op, number, record, r, a.per_case)
    with open(a.out, "wb") as f:
        pickle.dump(cases, f)


if __name__ == "__main__":
    main()
