# SPDX-License-Identifier: Apache-2.0
"""Writes library_values.json and library_nodes.json: run with an interpreter that has tensorflow. --check compares instead."""
import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def recorded(tf):
    import library_nodes as nodes
    import library_values as values
    found = {"library_values.json": {n: [{"shape": list(v.shape), "values": [float(x) for x in v.ravel()]} for v in values.results(tf, p)]
                             for n, p in values.PROGRAMS.items()},
             "library_nodes.json": {n: nodes.listed(tf, p) for n, p in nodes.PROGRAMS.items()}}
    return found


def main():
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    bad = 0
    for name, content in recorded(tf).items():
        path = os.path.join(HERE, name)
        if "--check" not in sys.argv:
            with open(path, "w") as f:
                json.dump(content, f, separators=(",", ":"), sort_keys=True)
                f.write("\n")
            continue
        with open(path) as f:
            old = json.load(f)
        for key, new in content.items():
            same = old.get(key) == json.loads(json.dumps(new)) if name == "library_nodes.json" else all(
                np.allclose(a["values"], b["values"], 1e-5, 1e-6) for a, b in zip(old.get(key, []), new)) and len(old.get(key, [])) == len(new)
            bad += not same
            if not same:
                print("%s: %s is not what TensorFlow gives" % (name, key))
    print("recorded" if "--check" not in sys.argv else "%d differences" % bad)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
