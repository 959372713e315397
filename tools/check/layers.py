# SPDX-License-Identifier: Apache-2.0
"""Includes go downward only; ops are leaves that nothing but manifest/ names; nothing includes an op; tests stay out of src/."""
import re, sys
from common import files, read

ORDER = [("base",), ("tensor",), ("wire",), ("rt", "io", "dnn"), ("op",), ("ops",), ("graph",), ("exec",), ("session",), ("dist",), ("capi",), ("client",), ("manifest",), ("cli",)]
RANK = {folder: rank for rank, row in enumerate(ORDER) for folder in row}
OPS_MAY = {"base", "tensor", "wire", "io", "rt", "op", "dnn", "ops"}


def main():
    bad = []
    for path in files("src", ".h", ".c", ".inc", ".def"):
        layer = path.split("/")[1]
        if layer not in RANK:
            bad.append("%s: no layer '%s'; the layers are %s" % (path, layer, " ".join(RANK)))
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            target = m.group(1)
            to = target.split("/")[0]
            if target.endswith((".pb-c.h", ".pb-c.c")) or to in ("tensorflow", "headrace"):
                continue
            if "/" not in target:
                bad.append('%s:%d: "%s" is not written from src/' % (path, n, target))
            elif to not in RANK:
                bad.append('%s:%d: "%s" is in no layer' % (path, n, target))
            elif to == "ops" and layer not in ("ops", "manifest"):
                bad.append('%s:%d: "%s": only manifest/ names ops' % (path, n, target))
            elif layer == "ops" and to not in OPS_MAY:
                bad.append('%s:%d: "%s": an op includes op/, rt/, io/, wire/, tensor/, base/, dnn/' % (path, n, target))
            elif RANK[to] > RANK[layer]:
                bad.append('%s:%d: "%s" is above %s/' % (path, n, target, layer))
    print("\n".join(bad) or "layers: every include goes down")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
