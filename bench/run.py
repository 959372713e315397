#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures headrace beside TensorFlow on this machine and writes bench/results.md: capi_bench on both libraries, then compare.py.

Ratios within one run are what counts; run nothing else meanwhile. Without TensorFlow (--tf-python) only our own figures are made."""
import argparse, os, platform, statistics, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def capi(exe, libraries):
    p = subprocess.run([exe] + libraries, capture_output=True, text=True, timeout=600)
    if p.returncode:
        return {}
    return {name: float(value) for name, value in (line.split() for line in p.stdout.splitlines())}


def medians(runs):
    return {name: statistics.median(r[name] for r in runs if name in r) for name in (runs[0] if runs else {})}


def tensorflow_libraries(python):
    code = "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('tensorflow').origin))"
    p = subprocess.run([python, "-c", code], capture_output=True, text=True)
    if p.returncode:
        return None
    folder = p.stdout.strip()
    return [os.path.join(folder, "libtensorflow_framework.so.2"), os.path.join(folder, "libtensorflow_cc.so.2")]


def capi_table(a, ours, theirs):
    exe = os.path.join(a.build, "capi_bench")
    subprocess.check_call(["cc", "-O2", os.path.join(HERE, "capi_bench.c"), "-o", exe, "-ldl"])
    hr, tf = [], []
    for _ in range(a.rounds):
        hr.append(capi(exe, ours))
        if theirs:
            tf.append(capi(exe, theirs))
    hr, tf = medians([r for r in hr if r]), medians([r for r in tf if r])
    lines = ["| C API (ns; rss in KB) | TensorFlow | headrace | ratio |", "|---|---|---|---|"]
    for name in hr:
        lines.append("| %s | %s | %.0f | %s |" % (name, "%.0f" % tf[name] if name in tf else "-", hr[name], "%.1f" % (tf[name] / hr[name]) if name in tf else "-"))
    return lines if hr else ["capi_bench does not run on %s" % ours[-1]]


def machine():
    with open("/proc/cpuinfo") as f:
        model = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), platform.machine())
    return "%s, %d cores" % (model, os.cpu_count())


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True)
    p.add_argument("--python", required=True)
    p.add_argument("--tf-python", default="")
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    theirs = tensorflow_libraries(a.tf_python) if a.tf_python else None
    if not theirs:
        print("no TensorFlow to compare with: make a virtual environment with PyPI's tensorflow-cpu==2.21.* and give TF_PYTHON=its/bin/python")
    lines = ["# Measured", "", "`make bench TF_PYTHON=...` on %s. A ratio above 1: headrace is faster." % machine(), ""]
    lines += capi_table(a, [os.path.join(a.build, "lib/libheadrace.so")], theirs)
    print("\n".join(lines[4:]), flush=True)
    if theirs:
        command = [a.python, os.path.join(HERE, "compare.py"), "--rounds", str(a.rounds), "--tf-python", a.tf_python, "--hr-python", a.python]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as compare:
            table = []
            for line in compare.stdout:
                print(line, end="", flush=True)
                table.append(line.rstrip())
        lines += ["", "```"] + table + ["```"]
    with open(os.path.join(HERE, "results.md"), "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
