# SPDX-License-Identifier: Apache-2.0
"""docs/ops.md says what the registry says: built from build/release if that is configured. --write makes the page anew."""
import os, re, subprocess, sys
from common import ROOT, read


def main():
    build = os.environ.get("HEADRACE_BUILD_DIR", os.path.join(ROOT, "build", "release"))
    if not os.path.exists(os.path.join(build, "build.ninja")):
        print("matrix: no build in %s, not compared" % build)
        return False
    made = subprocess.run(["cmake", "--build", build, "--target", "ops_matrix"], capture_output=True, text=True)
    if made.returncode:
        print("matrix: ops_matrix does not build\n" + made.stdout[-3000:])
        return True
    page = subprocess.run([os.path.join(build, "ops_matrix")], capture_output=True, text=True, check=True).stdout
    page = re.sub(r"(\.\./)+src/", "src/", page)  # a compiler cache makes the paths in the objects relative to the build
    path = os.path.join(ROOT, "docs", "ops.md")
    if "--write" in sys.argv:
        with open(path, "w") as f:
            f.write(page)
    if not os.path.exists(path) or read("docs/ops.md") != page:
        print("matrix: docs/ops.md is not what the registry says: run tools/check/matrix.py --write and commit the change")
        return True
    print("matrix: docs/ops.md is what the registry says, " + page.strip().splitlines()[-1])
    return False


if __name__ == "__main__":
    sys.exit(main())
