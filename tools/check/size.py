# SPDX-License-Identifier: Apache-2.0
"""Files of at most 800 lines, functions of at most 60, lines of at most 140 columns, unless allow/size.txt lists them with a reason.
Prints the twenty longest functions, the median and the share under 50 lines."""
import statistics, sys
from common import allowed, code, files, functions, read

MAX_FILE, MAX_FUNCTION, MAX_COLUMNS = 800, 60, 140


def main():
    allow, bad, lengths, lines = allowed("size"), [], [], 0
    for path in files("src", ".h", ".c", ".inc") + files("tests", ".h", ".c") + files("include", ".h") + files("python", ".c", ".h"):
        text = read(path)
        rows = text.splitlines()
        lines += len(rows)
        if len(rows) > MAX_FILE and path not in allow:
            bad.append("%s: %d lines" % (path, len(rows)))
        bad += ["%s:%d: %d columns" % (path, n, len(l)) for n, l in enumerate(rows, 1) if len(l) > MAX_COLUMNS]
        for name, start, length in functions(code(text)):
            lengths.append((length, name, path, start))
            if length > MAX_FUNCTION and "%s:%s" % (path, name) not in allow:
                bad.append("%s:%d: %s has %d lines" % (path, start, name, length))
    bad += ["%s:%d: %d columns" % (path, n, len(l)) for path in files("src", ".def")
            for n, l in enumerate(read(path).splitlines(), 1) if len(l) > MAX_COLUMNS]
    if lengths:
        short = [n for n, *_ in lengths]
        print("size: %d lines, %d functions, median %d lines, %.0f %% under 50" %
              (lines, len(short), statistics.median(short), 100 * sum(n < 50 for n in short) / len(short)))
        print("\n".join("  %3d %s (%s:%d)" % row for row in sorted(lengths, reverse=True)[:20]))
    print("\n".join(bad) or "size: all within bounds")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
