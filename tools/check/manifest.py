# SPDX-License-Identifier: Apache-2.0
"""src/manifest/*.def is sorted bytewise without repeats, names files that exist, and has exactly the ops that src/ops defines
(taken from the objects of build/release where there are some)."""
import glob, os, re, subprocess, sys
from common import ROOT, files, read


def rows(path):
    return re.findall(r"^HR_OP\((\w+),\s*([^)]+)\)", read(path), re.M)


def defined():
    build = os.environ.get("HEADRACE_BUILD_DIR", os.path.join(ROOT, "build", "release"))
    objects = glob.glob(os.path.join(build, "CMakeFiles/headrace_objects.dir/src/ops/**/*.o"), recursive=True)
    if not objects:
        return None
    names = subprocess.run(["nm", "--defined-only", "-P"] + objects, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^hr_op_(\w+) [DRdrB] ", names, re.M)) - {"def", "count"}


def main():
    bad, listed = [], set()
    for path in files("src/manifest", ".def"):
        names = [n for n, _ in rows(path)]
        listed.update(names)
        bad += ["%s: %s stands after %s" % (path, b, a) for a, b in zip(names, names[1:]) if not a.encode() < b.encode()]
        for name, home in rows(path):
            home = "src/ops/" + home.strip()
            if not any(os.path.exists(os.path.join(ROOT, home + e)) for e in (".c", ".def", "")):
                bad.append("%s: %s: no %s.c" % (path, name, home))
    have = defined()
    if have is not None and listed:
        bad += ["src/ops defines hr_op_%s, which the manifest lacks" % n for n in sorted(have - listed)]
        bad += ["the manifest has %s, which src/ops does not define" % n for n in sorted(listed - have)]
    print("\n".join(bad) or "manifest: %d ops, sorted%s" % (len(listed), "" if have is None else ", complete"))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
