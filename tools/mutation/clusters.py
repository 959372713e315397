#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cluster suite of tests/run_tests.py but for its chaos, as one test, in the current folder: tools/mutation/clusters.py BUILD LIB"""
import itertools, os, sys, types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))
import run_tests


def main():
    build, library = sys.argv[1:]
    for name, target in [(n, os.path.join(build, n)) for n in ("bin", "tests", "golden")] + [("lib", library)]:
        if os.path.islink(name):
            os.remove(name)
        os.symlink(target, name)
    for name, passed, failed, output in itertools.islice(run_tests.cluster(types.SimpleNamespace(build=os.getcwd())), 4):
        if failed or not passed:
            print(name, output[-2000:])
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
