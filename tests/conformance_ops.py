#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changed golden cases on TensorFlow and here: tests/conformance_ops.py --build BUILD --tf-python PYTHON [--ops "A B"] [--seed N] [--per-case N]

Golden cases hold what is right where they stand; this looks between them. Every case is changed at random (tests/changed_cases/change.py), run
on both sides (one_side.py) and compared: codes, types, shapes, values, static shapes, gradients (judge.py). What differs and is not accepted
(accepted.tsv) is printed with what was changed. About 30 ms a case; all ops once are some 9,000 cases."""
import argparse, os, pickle, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "changed_cases")
sys.path.insert(0, TOOLS)
import judge


def load(path):
    """The results in the file, and the number of a case that has begun and not ended."""
    results, begun = {}, None
    if os.path.exists(path):
        with open(path, "rb") as f:
            while True:
                try:
                    number, result = pickle.load(f)
                except (EOFError, pickle.UnpicklingError): # the last one may be cut
                    break
                if result == "begin":
                    begun = number
                else:
                    results[number], begun = result, None
    return results, begun


class Side(threading.Thread):
    """Runs all cases in processes of one side, a new one after each that a case has ended."""

    def __init__(self, name, python, cases, count, folder, env):
        super().__init__()
        self.command = [os.path.abspath(python), os.path.join(TOOLS, "one_side.py"), name, cases]
        self.name, self.count, self.env, self.folder = name, count, env, folder
        self.out = os.path.join(folder, name + ".results")
        self.results, self.broken = {}, ""

    def run(self):
        start = 0
        while start < self.count:
            p = subprocess.run(self.command + [self.out, str(start)], env=self.env, cwd=self.folder, capture_output=True, text=True)
            results, begun = load(self.out)
            self.results.update(results)
            if begun is not None:
                self.results[begun] = {"crash": "exit status %d: %s" % (p.returncode, p.stderr[-500:])}
                start = begun + 1
            elif p.returncode or len(self.results) < self.count:
                self.broken = p.stderr[-3000:]
                break
            else:
                break
            os.remove(self.out)


def show_progress(sides, count):
    """A line that tells how far both sides are, where somebody looks at it."""
    while any(s.is_alive() for s in sides):
        time.sleep(1)
        if sys.stderr.isatty():
            done = ["%s %d" % (s.name, len(s.results) + len(load(s.out)[0])) for s in sides]
            print("\r%s of %d" % (", ".join(done), count), end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)


def run_sides(a, cases_path, count, folder):
    ours = dict(os.environ, PYTHONPATH=os.path.join(os.path.abspath(a.build), "python"))
    sides = [Side("tensorflow", a.tf_python, cases_path, count, folder, dict(os.environ)), Side("headrace", a.python, cases_path, count, folder, ours)]
    for s in sides:
        s.start()
    show_progress(sides, count)
    for s in sides:
        s.join()
        if s.broken:
            raise SystemExit("%s does not run:\n%s" % (s.name, s.broken))
    return [s.results for s in sides]


def report(cases, theirs, ours):
    accepted, differ, left = judge.Accepted(), 0, 0
    for number, case in enumerate(cases):
        d = judge.difference(theirs[number], ours[number])
        if d and accepted(case, *d):
            left += 1
        elif d:
            differ += 1
            print("%s, case %d (%s): %s%s\n    %s: %s" % (case["op"], case["case"], case["note"], "; ".join(case["what"]),
                                                       "; fed" if case["feeds"] else "", d[0], d[1]))
    crashed = sum("crash" in t for t in theirs.values())
    print("%d cases: %d the same, %d differences accepted, TensorFlow ended its process in %d" % (len(cases), len(cases) - left - differ, left, crashed))
    print("%d passed, %d failed" % (len(cases) - differ, differ))
    return differ > 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build/release", help="build folder whose python/ is imported")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--tf-python", required=True, help="a Python with tensorflow 2.21")
    p.add_argument("--ops", default="", help="only these")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--per-case", type=int, default=1, help="changes of each golden case")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases")
        p = subprocess.run([a.tf_python, os.path.join(TOOLS, "change.py"), os.path.join(HERE, "golden", "ops.tar.xz"), path, "--seed", str(a.seed),
                            "--per-case", str(a.per_case), "--ops", a.ops], capture_output=True, text=True)
        if p.returncode:
            raise SystemExit("the cases cannot be made:\n" + p.stderr[-3000:])
        with open(path, "rb") as f:
            cases = pickle.load(f)
        return report(cases, *run_sides(a, path, len(cases), folder))


if __name__ == "__main__":
    sys.exit(main())
