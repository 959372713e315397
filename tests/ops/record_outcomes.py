#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ops/outcomes.txt from one or more builds: tests/ops/record_outcomes.py build/release [build/asan...]

Each build's outcomes_test runs on every instruction set, several times; a field on which they do not agree becomes "-" and is not
compared, nor are the others of a case that draws numbers: where a third of the fields differ, the rest agree by chance."""
import os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def outcomes(program, isa):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "outcomes.txt")
        subprocess.run([os.path.abspath(program)], check=True, cwd=work, env={**os.environ, "HEADRACE_ISA": isa, "HEADRACE_OUTCOMES": path})
        with open(path) as f:
            return [line.split() for line in f]


def main():
    runs = [outcomes(os.path.join(build, "tests/ops/outcomes_test"), isa) for build in sys.argv[1:] for isa in ("sse2", "avx2", "", "", "", "")]
    if not runs or any([row[:2] for row in run] != [row[:2] for row in runs[0]] for run in runs):
        sys.exit("no builds, or builds that do not have the same ops")
    with open(os.path.join(HERE, "outcomes.txt"), "w") as f:
        for rows in zip(*runs):
            fields = [v[0] if len(set(v)) == 1 else "-" for v in zip(*(row[2:] for row in rows))]
            if 3 * fields.count("-") >= len(fields):
                fields = ["-" if v[0] not in "sg" else v for v in fields]
            f.write(" ".join(rows[0][:2] + fields) + "\n")


if __name__ == "__main__":
    main()
