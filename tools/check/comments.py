# SPDX-License-Identifier: Apache-2.0
"""Every source file begins with its licence line and a comment that names its concept; what stands in backticks exists; files that the
documents name exist; a TODO has an issue number."""
import os, re, sys
from common import ROOT, allowed, code, comments, files, read

SOURCE = (".c", ".h", ".inc", ".def")
LICENCE = "SPDX-License-Identifier: Apache-2.0"
OURS = re.compile(r"^(hr_|HR_|TF_|TFE_|headrace_|HEADRACE_)\w+$")


def words():
    found = set()
    for folder, endings in (("src", SOURCE), ("include", (".h",)), ("tests", (".c", ".h", ".py", ".txt")), ("python", (".c", ".h", ".py")),
                            ("cmake", (".cmake",)), ("tools", (".c", ".py", ".sh", ".txt")), ("examples", (".c", ".py")), ("proto", (".proto",)),
                            ("bench", (".c", ".py"))):
        for path in files(folder, *endings):
            text = read(path)
            found.update(re.findall(r"\w+", code(text) if path.endswith(SOURCE) else text))
            found.update(re.findall(r"\w+", " ".join(re.findall(r'"[^"\n]*"', text))))
    for name in ("Makefile", "CMakeLists.txt"):
        found.update(re.findall(r"\w+", read(name)))
    for path in files(".", ""):
        found.update(re.findall(r"\w+", os.path.basename(path)))
    return found


def check_text(path, line, text, known, bad, only_ours):
    for quoted in re.findall(r"`([^`\n]+)`", text):
        plain = quoted[:-2] if quoted.endswith("()") else quoted
        if re.match(r"^(src|include|tests|docs|tools|python|cmake|examples|proto|bench)/[\w./-]+$", plain):
            if not os.path.exists(os.path.join(ROOT, plain)):
                bad.append("%s:%d: there is no `%s`" % (path, line, quoted))
        elif (OURS if only_ours else re.compile(r"^[A-Za-z_]\w+[A-Za-z0-9]$")).match(plain) and plain not in known:
            bad.append("%s:%d: nothing is called `%s`" % (path, line, quoted))


def main():
    allow, bad, known = allowed("comments"), [], words() | set(allowed("comments"))
    for path in files("src", *SOURCE) + files("include", ".h") + files("tests", ".c", ".h") + files("python", ".c", ".h", ".py") + files("tools", ".py", ".c"):
        text = read(path)
        head = text[:400]
        if LICENCE not in head and path not in allow:
            bad.append("%s: no licence line (%s)" % (path, LICENCE))
        if path.endswith(SOURCE):
            if not re.match(r"(/\* SPDX[^\n]*\*/\n)?\s*/\*", text):
                bad.append("%s: does not begin with a comment that says what it is" % path)
            for line, comment in comments(text):
                check_text(path, line, comment, known, bad, False)
                if re.search(r"\b(TODO|FIXME|XXX)\b(?!\s*\(#\d+\))", comment):
                    bad.append("%s:%d: a TODO without an issue number" % (path, line))
    for path in files("docs", ".md") + [p for p in files(".", ".md") if "/" not in p[2:]]:
        for line, text in enumerate(read(path).splitlines(), 1):
            check_text(os.path.normpath(path), line, text, known, bad, True)
    print("\n".join(bad) or "comments: what they name exists")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
