# SPDX-License-Identifier: Apache-2.0
"""Blocks of twelve lines that stand in two places, numbers and literals aside: one piece of code may serve both. allow/dup.txt lists
pairs that are alike for a reason (path, path)."""
import re, sys
from common import allowed, code, files, read

BLOCK = 12


def shapes(path):
    """(line number, shape) of each line that says something; identifiers stay, numbers and literals go."""
    rows = []
    for n, line in enumerate(code(read(path)).splitlines(), 1):
        line = re.sub(r"\s+", " ", re.sub(r"\b\d\w*", "0", line)).strip()
        if len(line) > 3 and not line.startswith("#"):
            rows.append((n, line))
    return rows


def main():
    allow = {tuple(sorted(k.split(","))) for k in allowed("dup")}
    seen, bad, until = {}, [], {}
    for path in files("src", ".c", ".h", ".inc") + files("python", ".c"):
        rows = shapes(path)
        for i in range(len(rows) - BLOCK + 1):
            key = "\n".join(r[1] for r in rows[i:i + BLOCK])
            if key not in seen:
                seen[key] = (path, rows[i][0])
                continue
            other, line = seen[key]
            pair = tuple(sorted((path, other)))
            if rows[i][0] >= until.get(pair, 0) and pair not in allow:
                bad.append("%s:%d ~ %s:%d: %d lines alike" % (path, rows[i][0], other, line, BLOCK))
            until[pair] = rows[i + BLOCK - 1][0]
    print("\n".join(bad) or "dup: no block of %d lines stands twice" % BLOCK)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
