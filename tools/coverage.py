#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage per folder of src/ after the tests ran in a HEADRACE_COVERAGE build: tools/coverage.py BUILD [--fail-under 95]

Folders that must reach the mark: base, graph, exec, session. Names the files furthest from it."""
import argparse, collections, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARKED = ("base", "graph", "exec", "session")


def traced(build):
    info = os.path.join(build, "coverage.info")
    subprocess.check_call(["lcov", "-q", "-c", "-d", build, "-o", info, "--no-external", "-b", ROOT, "--rc", "lcov_branch_coverage=0"],
                          stderr=subprocess.DEVNULL)
    counts, path = {}, None # path -> [lines, hit]; the same file compiled for several instruction sets counts once
    with open(info) as f:
        for line in f:
            if line.startswith("SF:"):
                path = os.path.relpath(line[3:].strip(), ROOT)
            m = re.match(r"DA:(\d+),(\d+)", line)
            if m and path.startswith("src/"):
                lines = counts.setdefault(path, {})
                lines[int(m.group(1))] = max(lines.get(int(m.group(1)), 0), int(m.group(2)))
    return {p: (len(l), sum(n > 0 for n in l.values())) for p, l in counts.items()}


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("build")
    a.add_argument("--fail-under", type=float, default=0)
    a = a.parse_args()
    files, folders, low = traced(os.path.abspath(a.build)), collections.defaultdict(lambda: [0, 0]), []
    for path, (lines, hit) in files.items():
        folder = path.split("/")[1]
        folders[folder][0] += lines
        folders[folder][1] += hit
    for folder, (lines, hit) in sorted(folders.items()):
        share = 100.0 * hit / lines
        print("%-10s %6.1f %%  %6d of %6d lines%s" % (folder, share, hit, lines, "  *" if folder in MARKED else ""))
        if folder in MARKED and share < a.fail_under:
            low.append(folder)
    worst = sorted(files.items(), key=lambda row: row[1][0] - row[1][1], reverse=True)[:15]
    print("most lines never run:")
    for path, (lines, hit) in worst:
        print("  %5d of %5d  %s" % (lines - hit, lines, path))
    if low:
        print("below %g %%: %s" % (a.fail_under, " ".join(low)))
    return bool(low)


if __name__ == "__main__":
    sys.exit(main())
