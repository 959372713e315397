#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes random operators and constants in src/, one at a time, and reports how many make a test fail: tools/mutants.py --count 200

Works on a copy of the tree (build/mutants/tree) with its own build. A mutant is killed if the build, a C test, or a golden case of the
ops in the changed file fails. What survives is printed as a diff line: either a test is missing or the line does nothing."""
import argparse, os, random, re, shutil, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[^\n]*', re.S | re.M)
SWAPS = {"<=": "<", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", " + ": " - ", " - ": " + ", " < ": " <= ", " > ": " >= ",
         " * ": " / ", "++": "--", "true": "false", "false": "true", "+=": "-=", "-=": "+="}
POINT = re.compile(r"<=|>=|==|!=|&&|\|\|| \+ | - | < | > |(?<=\w) \* (?=\w)|\+\+|\+=|-=|\btrue\b|\bfalse\b|(?<![\w.])\d+(?![\w.])")


def points(text):
    """Offsets and replacements in code: not in comments, literals or directives."""
    blank = TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for m in POINT.finditer(blank):
        old = m.group()
        yield m.start(), old, SWAPS.get(old) or str(int(old, 0) + 1 if not old.startswith("0") or old == "0" else 1)


def run(command, cwd, limit):
    try:
        return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit).returncode
    except subprocess.TimeoutExpired:
        return -1


def ops_of(tree, path):
    """The ops whose manifest home is this file or its folder."""
    home = re.sub(r"(\.vec)?\.\w+$", "", path[len("src/ops/"):])
    with open(os.path.join(tree, "src/manifest/ops.def")) as f:
        rows = re.findall(r"^HR_OP\((\w+),\s*([^)]+)\)", f.read(), re.M)
    near = [n for n, h in rows if h == home]
    return near or [n for n, h in rows if os.path.dirname(h) == os.path.dirname(home)]


def is_killed(a, tree, build, path):
    if run(["cmake", "--build", build, "--target", "all", "--target", "tests"], tree, 900):
        return "build"
    folder = path.split("/")[1]
    folders = ["unit/" + folder] if folder in ("base", "tensor", "wire", "io") else []
    command = [sys.executable, "tests/run_tests.py", "--build", build, "--no-build", "--isas", "best"]
    if folders and run(command + ["--only", "programs", "--folders", ",".join(folders)], tree, a.limit):
        return "unit"
    ops = ops_of(tree, path) if path.startswith("src/ops/") else ["Add", "Reshape", "ConcatV2", "Assign", "MatMul", "StridedSlice"]
    if ops and run(command + ["--only", "golden", "--ops", " ".join(ops[:40])], tree, a.limit):
        return "golden"
    return "programs" if run(command + ["--only", "programs"], tree, a.limit) else None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--build", default=os.path.join(ROOT, "build", "mutants"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="", help="files whose path has this in it")
    p.add_argument("--limit", type=int, default=300, help="seconds for one run of the tests")
    p.add_argument("--at-least", type=float, default=0, help="percent killed below which the run fails")
    a = p.parse_args()
    tree, build = os.path.join(os.path.abspath(a.build), "tree"), os.path.join(os.path.abspath(a.build), "build")
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda folder, names: {".git", "build"} & set(names) if folder == ROOT else set())
    if run(["cmake", "-G", "Ninja", "-S", tree, "-B", build, "-DCMAKE_C_FLAGS_RELEASE=-O1"], tree, 120) or is_killed(a, tree, build, "src/base/none.c"):
        print("mutants: the unchanged tree does not pass its tests; run `make test` first")
        return 1
    files = []
    for where, _, names in os.walk(os.path.join(tree, "src")):
        files += [os.path.join(where, n) for n in sorted(names) if n.endswith((".c", ".inc", ".def")) and a.only in os.path.join(where, n)]
    every = []
    for path in sorted(files):
        with open(path) as f:
            every += [(path, *point) for point in points(f.read())]
    chosen = random.Random(a.seed).sample(every, min(a.count, len(every)))
    killed, start = 0, time.monotonic()
    for n, (path, at, old, new) in enumerate(chosen, 1):
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text[:at] + new + text[at + len(old):])
        name = os.path.relpath(path, tree)
        how = is_killed(a, tree, build, name)
        with open(path, "w") as f:
            f.write(text)
        killed += how is not None
        line = text.count("\n", 0, at) + 1
        print("%3d/%d %-8s %s:%d '%s' -> '%s'" % (n, len(chosen), how or "SURVIVES", name, line, old.strip(), new.strip()), flush=True)
        if not how:
            print("        " + text.splitlines()[line - 1].strip())
    share = 100.0 * killed / len(chosen) if chosen else 0
    print("mutants: %d of %d killed (%.0f %%) in %.0f s" % (killed, len(chosen), share, time.monotonic() - start))
    return share < a.at_least


if __name__ == "__main__":
    sys.exit(main())
