# SPDX-License-Identifier: Apache-2.0
"""Where src/ can be changed, and how: operators and constants of code, not of comments, literals or directives."""
import os, re

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[^\n]*', re.S | re.M)
SWAPS = {"<=": "<", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", " + ": " - ", " - ": " + ", " < ": " <= ", " > ": " >= ",
         " * ": " / ", "++": "--", "true": "false", "false": "true", "+=": "-=", "-=": "+="}
POINT = re.compile(r"<=|>=|==|!=|&&|\|\|| \+ | - | < | > |(?<=\w) \* (?=\w)|\+\+|\+=|-=|\btrue\b|\bfalse\b|(?<![\w.])\d+(?![\w.])")
STARTS = re.compile(r"[A-Za-z_#]")


class Point:
    """One change: `old` at offset `at` of a file (its path in the tree, its text) becomes `new`."""

    def __init__(self, path, text, at, old, new):
        self.path, self.text, self.at, self.old, self.new = path, text, at, old, new
        self.line = text.count("\n", 0, at) + 1

    def changed(self):
        return self.text[:self.at] + self.new + self.text[self.at + len(self.old):]

    def source(self):
        return self.text.split("\n")[self.line - 1].strip()

    def marked(self):
        """The line with what changes between « and »."""
        start, end = self.text.rfind("\n", 0, self.at) + 1, self.at + len(self.old)
        return (self.text[start:self.at] + "«" + self.old.strip() + "»" + self.text[end:]).split("\n")[0].strip()

    def __str__(self):
        return "%s:%d '%s' -> '%s'" % (self.path, self.line, self.old.strip(), self.new.strip())


def of_text(path, text):
    blank = TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for m in POINT.finditer(blank):
        old = m.group()
        yield Point(path, text, m.start(), old, SWAPS.get(old) or str(int(old, 0) + 1 if not old.startswith("0") or old == "0" else 1))


def of_tree(tree, wanted):
    """Those of every file below src/ that wanted(path) takes, in the order of paths."""
    paths = [os.path.relpath(os.path.join(where, n), tree) for where, _, names in os.walk(os.path.join(tree, "src")) for n in names]
    for path in sorted(p for p in paths if p.endswith((".c", ".inc", ".def")) and wanted(p)):
        with open(os.path.join(tree, path)) as f:
            yield from of_text(path, f.read())


class Skips:
    """Rows of a file: a pattern of paths, one of lines where « and » enclose what changes, why; separated by two or more spaces."""

    def __init__(self, path):
        self.rows = []
        with open(path) as f:
            for line in f:
                if line.strip() and not line.startswith("#"):
                    place, text, why = re.split(r"\s{2,}", line.strip(), maxsplit=2)
                    self.rows.append((re.compile(place), re.compile(text), why))

    def why(self, point):
        line = point.marked()
        return next((why for place, text, why in self.rows if place.fullmatch(point.path) and text.search(line)), None)


def definition(lines, number):
    """The numbers of the lines of the top-level definition that line `number` (from 1) is part of, and whether it is code: a function's
    body. A definition begins in the first column."""
    first = number
    while first > 1 and not (STARTS.match(lines[first - 1]) and not lines[first - 2].endswith("\\")):
        first -= 1
    last = number
    while last < len(lines) and not STARTS.match(lines[last]) and lines[last - 1] not in ("}", "};"):
        last += 1
    head = ""
    for line in lines[first - 1:last]:
        head += line + " "
        if "{" in line or ";" in line:
            break
    is_code = not head.startswith("#") and "(" in head and "=" not in head.split("{")[0] and "{" in head
    return first, last, is_code
