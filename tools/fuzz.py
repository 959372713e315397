#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every fuzz program of a build for a while: tools/fuzz.py --build build/fuzz --seconds 30

Seeds are tests/fuzz/seeds/<target>/ and tests/fuzz/corpus/<target>/; what libFuzzer adds goes to the build folder; an input that crashes is kept there and named."""
import argparse, glob, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fuzz(exe, limits, seed, build, seconds):
    name = os.path.basename(exe)[:-len("_fuzz")]
    seeds = [d for d in (os.path.join(ROOT, "tests/fuzz", kind, name) for kind in ("seeds", "corpus")) if os.path.isdir(d)]
    grown = os.path.join(build, "fuzz", "corpus", name)
    crashes = os.path.join(build, "fuzz", "crashes", name, "")
    os.makedirs(grown, exist_ok=True)
    os.makedirs(crashes, exist_ok=True)
    command = [exe, *limits, "-seed=%d" % seed, "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-artifact_prefix=" + crashes, grown]
    p = subprocess.run(command + seeds, capture_output=True, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, timeout=seconds + 900)
    done = re.search(r"number_of_executed_units:\s*(\d+)", p.stderr)
    print("%-24s %9s runs  %s" % (name, done.group(1) if done else "?", "ok" if p.returncode == 0 else "FAILED"), flush=True)
    if p.returncode:
        print(p.stderr[-6000:])
    return p.returncode == 0 and done and int(done.group(1)) > 0


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", required=True)
    a.add_argument("--seconds", type=int, default=30)
    a.add_argument("--runs", type=int, default=0, help="as many inputs instead, whatever the time: the same ones again with the same seed")
    a.add_argument("--seed", type=int, default=0, help="the same seed tries the same inputs again; 0: others each time")
    a = a.parse_args()
    programs = sorted(glob.glob(os.path.join(a.build, "fuzz", "*_fuzz")))
    # What was compared (use_cmp) holds addresses, which differ from run to run.
    limits = ["-runs=%d" % a.runs, "-use_cmp=0"] if a.runs else ["-max_total_time=%d" % a.seconds]
    good = [fuzz(os.path.abspath(p), limits, a.seed, os.path.abspath(a.build), a.seconds) for p in programs]
    print("%d passed, %d failed" % (sum(map(bool, good)), len(good) - sum(map(bool, good))))
    return not good or not all(good)


if __name__ == "__main__":
    sys.exit(main())
