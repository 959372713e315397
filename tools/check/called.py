# SPDX-License-Identifier: Apache-2.0
"""Every function that the public headers declare is called somewhere in tests/capi or tests/bugs."""
import re, sys
from common import code, files, read


def main():
    declared, called = {}, set()
    for path in files("include", ".h"):
        for name in re.findall(r"\bTF_CAPI_EXPORT\b[^;{]*?\b((?:TFE?|HR)_\w+)\s*\(", re.sub(r"^[ \t]*#.*", "", code(read(path)), flags=re.M)):
            declared.setdefault(name, path)
    for path in files("tests/capi", ".c", ".h") + files("tests/bugs", ".c"):
        called |= set(re.findall(r"\b(?:TFE?|HR)_\w+", code(read(path))))
    bad = ["%s: no test in tests/capi calls %s" % (declared[name], name) for name in sorted(declared) if name not in called]
    print("\n".join(bad) or "called: tests call all %d public functions" % len(declared))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
