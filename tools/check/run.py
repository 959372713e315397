# SPDX-License-Identifier: Apache-2.0
"""Runs every style script (make check); fails if one does. Layout is reported, not enforced."""
import os, shutil, subprocess, sys
from common import ROOT, files

SCRIPTS = ["layers", "size", "names", "manifest", "comments", "dup", "matrix", "called"]


def report_format():
    tool = shutil.which("clang-format")
    if not tool:
        return print("format: no clang-format here, not reported")
    paths = files("src", ".c", ".h") + files("tests", ".c", ".h")
    p = subprocess.run([tool, "--dry-run", "--ferror-limit=0"] + paths, cwd=ROOT, capture_output=True, text=True)
    differ = {line.split(":", 1)[0] for line in p.stderr.splitlines() if "clang-format-violations" in line}
    print("format: %d of %d files are laid out otherwise than clang-format would (not an error)" % (len(differ), len(paths)))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    failed = [s for s in SCRIPTS if subprocess.run([sys.executable, os.path.join(here, s + ".py")], stdin=subprocess.DEVNULL).returncode]
    report_format()
    print("check: failed: " + ", ".join(failed) if failed else "check: all %d scripts pass" % len(SCRIPTS))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
