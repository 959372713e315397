#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares with TensorFlow: make conformance TF_PYTHON=/path/to/a/python/with/tensorflow

The demo (examples/fashion_mnist.py) runs here and, with only its import changed, on TensorFlow: initial values must be equal bit for bit, the first
50 losses agree to 1e-3, and each side must restore the other's checkpoint and predict as the other does. Then TensorFlow says again what nodes and
values the library's tests have recorded."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(os.path.dirname(HERE), "examples", "fashion_mnist.py")
LIMIT, STEPS = 5000, 50

# What either side runs: `python driver.py FOLDER CHECKPOINT|-`, with fashion_mnist.py beside it.
DRIVER = '''
import os, sys
import numpy as np
import fashion_mnist as demo
tf, folder, checkpoint, data, limit, steps = demo.tf, sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
if checkpoint == "-":
    demo.main(["--out", folder, "--data", data, "--limit", str(limit), "--steps", steps, "--no-picture"])
    checkpoint = tf.train.latest_checkpoint(os.path.join(folder, "checkpoints"))
images, labels = demo.load(data, "t10k", 500)
with tf.Graph().as_default(), tf.Session() as session:
    net = demo.Network(images.shape[1], images.shape[2], 10, 1.5e-3, limit // 64, 1)
    session.run(tf.global_variables_initializer())
    initial = {v.op.name: session.run(v) for v in tf.global_variables()}
    names = sorted(initial)
    tf.train.Saver().restore(session, checkpoint)
    probabilities, predictions, step = session.run([net.probabilities, net.predictions, net.step], {net.images: images})
np.savez(os.path.join(folder, "result.npz"), probabilities=probabilities, predictions=predictions, step=step, names=names,
         **{"initial_" + n.replace("/", "."): v for n, v in initial.items()})
'''


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, what, fine, detail=""):
        self.passed, self.failed = self.passed + bool(fine), self.failed + (not fine)
        print("%-4s %s%s" % ("ok" if fine else "FAIL", what, ": " + detail if detail else ""), flush=True)


def run(python, side, arguments, path):
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", **({"PYTHONPATH": path} if path else {}))
    p = subprocess.run([python, os.path.join(side, "driver.py")] + arguments, capture_output=True, text=True, env=env, timeout=900)
    if p.returncode:
        raise SystemExit("%s failed:\n%s" % (python, p.stderr[-3000:]))


def prepare(folder, name, text):
    side = os.path.join(folder, name)
    os.makedirs(side)
    for file, content in (("fashion_mnist.py", text), ("driver.py", DRIVER)):
        with open(os.path.join(side, file), "w") as f:
            f.write(content)
    return side


def losses(side):
    with open(os.path.join(side, "checkpoints", "losses.txt")) as f:
        return np.array([float(line) for line in f])


def compare_demo(a, report, folder):
    with open(EXAMPLE) as f:
        text = f.read()
    theirs, count = re.subn(r"^import headrace as tf$", "import tensorflow.compat.v1 as tf", text, flags=re.M)
    if count != 1:
        raise SystemExit("%s does not import headrace in one line of its own" % EXAMPLE)
    sides = {"headrace": (a.python, prepare(folder, "headrace", text), a.path), "tensorflow": (a.tf_python, prepare(folder, "tensorflow", theirs), "")}
    more = [a.data, str(LIMIT), str(STEPS)]
    for python, side, path in sides.values():
        run(python, side, [side, "-"] + more, path)
    h, t = sides["headrace"][1], sides["tensorflow"][1]
    mine, other = dict(np.load(os.path.join(h, "result.npz"))), dict(np.load(os.path.join(t, "result.npz")))
    report("the same variables", list(mine["names"]) == list(other["names"]), "%d" % len(mine["names"]))
    unequal = [k for k in mine if k.startswith("initial_") and (k not in other or not np.array_equal(mine[k], other[k]))]
    report("initial values bit for bit", not unequal, ", ".join(unequal))
    difference = np.abs(losses(h) - losses(t)).max() if len(losses(h)) == len(losses(t)) == STEPS else float("inf")
    report("the first %d losses to 1e-3" % STEPS, difference <= 1e-3, "at most %.2g apart" % difference)
    for reader, writer in (("tensorflow", "headrace"), ("headrace", "tensorflow")):
        python, side, path = sides[reader]
        out = os.path.join(folder, "%s-reads-%s" % (reader, writer))
        os.makedirs(out)
        run(python, side, [out, os.path.join(sides[writer][1], "checkpoints", "fashion_mnist-%d" % STEPS)] + more, path)
        read, written = np.load(os.path.join(out, "result.npz")), mine if writer == "headrace" else other
        apart = np.abs(read["probabilities"] - written["probabilities"]).max()
        report("%s restores what %s saved and predicts the same" % (reader, writer),
               int(read["step"]) == STEPS and apart < 1e-4 and (read["predictions"] == written["predictions"]).mean() > 0.99,
               "probabilities at most %.2g apart" % apart)


def check_records(a, report):
    p = subprocess.run([a.tf_python, os.path.join(HERE, "python", "lib", "record.py"), "--check"], capture_output=True, text=True, timeout=900)
    report("TensorFlow gives the recorded nodes and values", p.returncode == 0, " ".join((p.stdout + ("" if p.stdout else p.stderr))[-600:].split()))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", help="build folder whose python/ is imported (else what the interpreter has installed)")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--tf-python", default="")
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    a = p.parse_args()
    if not a.tf_python:
        raise SystemExit("make conformance TF_PYTHON=python: name a Python with tensorflow (and numpy, tqdm)")
    packages = os.path.join(os.path.abspath(a.build), "python") if a.build else ""
    a.path = packages if os.path.isdir(packages) else ""
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        compare_demo(a, report, folder)
    check_records(a, report)
    print("%d passed, %d failed" % (report.passed, report.failed))
    return report.failed > 0


if __name__ == "__main__":
    sys.exit(main())
