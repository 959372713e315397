# SPDX-License-Identifier: Apache-2.0
"""Runs changed cases on one side: python one_side.py headrace|tensorflow CASES OUT START

Appends to OUT, pickled, (number, "begin") before each case and (number, result) after it, so that whoever started this knows which case
ended the process. A result: {"error": (stage, code, text)} or {"shapes", "values", "grads"}; a value is (name of the dtype, array)."""
import os, pickle, sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
import numpy as np

LIMIT_MS = 5000
# What the clients raise before the runtime is asked.
CLIENT_CODES = {"ValueError": 3, "TypeError": 3, "KeyError": 5}


def load(side):
    if side == "headrace":
        import headrace as tf
        return tf, None
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return tf, config


def error(stage, e):
    code = getattr(e, "error_code", None)
    return {"error": (stage, CLIENT_CODES.get(type(e).__name__, type(e).__name__) if code is None else code, str(e)[:600])}


def plain(a):
    """bfloat16 as float32, the types of eight bits and less as bytes: NumPy has none of them, and the sides have different ones."""
    if a is None:
        return None
    a = np.asarray(a)
    name = a.dtype.names[0] if a.dtype.names else str(a.dtype)
    if name == "bfloat16":
        return name, (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if a.dtype.names or type(a.dtype.type(0)).__module__ == "ml_dtypes":
        return name, a.view(np.uint8)
    return name, a


def gradients(tf, session, case, endpoint, feeds, options):
    ys = [y for y in map(endpoint, case["fetch"]) if y.dtype.is_floating or y.dtype.is_complex]
    grads = [None if g is None else tf.convert_to_tensor(g) for g in tf.gradients(ys, [endpoint(x) for x in case["grad"]])]
    values = iter(session.run([g for g in grads if g is not None], feeds, options=options))
    return [None if g is None else plain(next(values)) for g in grads]


def outcome(tf, config, case):
    graph, result, stage = tf.Graph(), {}, "build"
    options = tf.RunOptions(timeout_in_ms=LIMIT_MS)
    try:
        with graph.as_default(), tf.Session(graph=graph, config=config) as session:
            tf.import_graph_def(tf.GraphDef.FromString(case["graph"]), name="")
            endpoint = lambda name: graph.get_tensor_by_name(name if ":" in name else name + ":0")
            feeds = {name: tf.make_ndarray(tf.NodeDef.FromString(node).attr["value"].tensor) for name, node in case["feeds"].items()}
            stage = "run"
            for name in case["init"]:
                session.run(name if ":" in name else graph.get_operation_by_name(name), feeds, options=options)
            fetch = [endpoint(x) if graph.get_operation_by_name(x.split(":")[0]).outputs else graph.get_operation_by_name(x) for x in case["fetch"]]
            result["shapes"] = [x.shape.as_list() if hasattr(x, "shape") and x.shape.ndims is not None else None for x in fetch]
            result["values"] = [plain(v) for v in session.run(fetch, feeds, options=options)]
            stage = "gradient"
            if case["grad"]:
                result["grads"] = gradients(tf, session, case, endpoint, feeds, options)
    except Exception as e: # whatever the client raises is the outcome
        if stage != "gradient":
            return error(stage, e)
        result["grads"] = error(stage, e)
    return result


def main():
    side, cases, out, start = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    tf, config = load(side)
    with open(cases, "rb") as f:
        cases = pickle.load(f)
    with open(out, "ab") as f:
        for number in range(start, len(cases)):
            pickle.dump((number, "begin"), f)
            f.flush()
            pickle.dump((number, outcome(tf, config, cases[number])), f)
            f.flush()


if __name__ == "__main__":
    main()
