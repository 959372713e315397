#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes random operators and constants in src/, one at a time, and reports how many make a test fail: tools/mutants.py --count 200

The tree is copied and built once; every test runs once on it and leaves the lines of src/ that it runs. A change then costs the compilation
of its file and one link; of the tests only those run that run the changed line, until one fails. What none fails on goes through the programs
among them once more in a sanitizer's build, as `make asan` runs them: an index past an array's end shows there alone. What survives is printed
with its line: a test is missing, or the line does nothing. Not counted, and replaced by another change: one that does not compile, one of which an
optimizing compiler makes the same code, and one on a line that tools/mutation/skip.txt declares to choose speed alone."""
import argparse, collections, concurrent.futures, os, queue, random, shutil, sys, time
from mutation import build as building, points, tests

SANITIZED_SLOWER = 4 # times, about, that a test takes in a sanitizer's build
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def copied(folder):
    """A copy of the tree, with the times of its files: what has not changed is not built again."""
    tree = os.path.join(folder, "tree")
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda where, names: {".git", "build"} & set(names) if where == ROOT else set())
    return tree


class Trial:
    """Runs changes, several at a time, each in workers of its own: one beside each build."""

    def __init__(self, a, build, sanitized, tree_map):
        self.a, self.map = a, tree_map
        self.unfit = set() # tests that fail in the sanitizer's build without a change
        self.workers = queue.Queue()
        for k in range(a.jobs):
            self.workers.put([building.Worker(b, k) for b in (build, sanitized)])

    def judge(self, point):
        workers = self.workers.get()
        try:
            return self.judge_in(workers, point)
        finally:
            for worker in workers:
                worker.restore()
            self.workers.put(workers)

    def judge_in(self, workers, point):
        """What becomes of a change: (kind, note); kinds are killed, survives, build and same."""
        plain, sanitized = workers
        bits = self.map.of_point(point)
        inside = self.map.in_order(bits, point.path)
        if not plain.apply(point):
            return "build", ""
        killer, ran = self.first_failing(plain, inside, 1)
        if killer:
            return "killed", killer.name
        if plain.is_same_code(point):
            return "same", ""
        if sanitized.build.measured(point.path) and sanitized.apply(point):
            killer, _ = self.first_failing(sanitized, [t for t in inside if t.is_program()], SANITIZED_SLOWER)
            if killer:
                return "killed", killer.name + " (sanitized)"
        return "survives", "no test runs the line" if not bits else "after %d of %d tests" % (ran, len(inside))

    def first_failing(self, worker, inside, slower):
        """The first test that fails on the worker's change and, where nothing is known of it, not without; how many ran."""
        spent, ran = 0.0, 0
        for test in inside:
            seconds = slower * test.seconds
            if (spent and spent + seconds > self.a.budget) or (slower > 1 and test.name in self.unfit):
                continue
            spent, ran = spent + seconds, ran + 1
            if self.fails(test, worker, worker.lib, seconds):
                if slower == 1 or not self.fails(test, worker, worker.build.lib, seconds):
                    return test, ran
                self.unfit.add(test.name)
                print("fails in the sanitizer's build without a change: %s" % test.name, flush=True)
        return None, ran

    def fails(self, test, worker, library, seconds):
        return test.run(worker.build, library, os.path.join(worker.folder, "work"), tests.LIMIT * (seconds + 1))[0]


def drawn(a, build, skips, counts):
    """Changes in a random order; those that are not tried are counted."""
    every = [p for p in points.of_tree(build.tree, lambda path: True) if a.only in "%s:%d:" % (p.path, p.line)]
    random.Random(a.seed).shuffle(every)
    for point in every:
        if not build.measured(point.path):
            counts["of files that this build does not compile"] += 1
        elif skips.why(point):
            counts["declared to choose speed alone (tools/mutation/skip.txt)"] += 1
        else:
            yield point


def try_all(a, trial, changes, counts):
    """Tries changes until a.count are judged; returns those that survive."""
    judged, survivors, running = 0, [], {}
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        while True:
            while len(running) < min(a.jobs, a.count - judged):
                point = next(changes, None)
                if not point:
                    break
                running[pool.submit(trial.judge, point)] = point
            if not running:
                return judged, survivors
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                point, (kind, note) = running.pop(future), future.result()
                if kind in ("build", "same"):
                    counts["that do not compile" if kind == "build" else "of which the compiler makes the same code"] += 1
                    continue
                judged += 1
                print("%3d/%d %-8s %s   %s" % (judged, a.count, kind, point, note), flush=True)
                if kind == "survives":
                    survivors.append(point)
                    print("        " + point.source(), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--build", default=os.path.join(ROOT, "build", "mutants"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="", help="changes whose PATH:LINE: has this in it")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--budget", type=float, default=100, help="seconds of tests after which a change survives, in each build")
    p.add_argument("--at-least", type=float, default=0, help="percent killed below which the run fails")
    a = p.parse_args()
    start, folder = time.monotonic(), os.path.abspath(a.build)
    build = building.Build(copied(folder), os.path.join(folder, "build"), sys.executable)
    sanitized = building.Build(build.tree, os.path.join(folder, "sanitized"), sys.executable, building.SANITIZED, building.SANITIZED_ENV)
    fault = build.make() or sanitized.make()
    if fault:
        print("mutants: the unchanged tree does not build\n" + fault)
        return 1
    tree_map = tests.Map(build, a.jobs)
    tree_map.measure(print)
    if len(tree_map.bad) > len(tree_map.tests) / 10:
        print("mutants: the unchanged tree does not pass its tests; run `make test` first")
        return 1
    print("mutants: %d tests, built and measured in %.0f s" % (len(tree_map.tests), time.monotonic() - start), flush=True)
    counts, start = collections.Counter(), time.monotonic()
    skips = points.Skips(os.path.join(build.tree, "tools/mutation/skip.txt"))
    judged, survivors = try_all(a, Trial(a, build, sanitized, tree_map), drawn(a, build, skips, counts), counts)
    for why, count in sorted(counts.items()):
        print("mutants: %d more drawn %s" % (count, why))
    share = 100.0 * (judged - len(survivors)) / judged if judged else 0
    print("mutants: %d of %d killed (%.1f %%) in %.0f s" % (judged - len(survivors), judged, share, time.monotonic() - start))
    return share < a.at_least


if __name__ == "__main__":
    sys.exit(main())
