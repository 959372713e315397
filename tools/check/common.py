# SPDX-License-Identifier: Apache-2.0
"""What the style scripts share: the sources as text without comments and strings, and how a complaint is printed."""
import os, re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = {".git", "build", "golden_tmp", "__pycache__"}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(folder, *endings):
    """Paths below folder (both relative to the root) with one of the endings, sorted."""
    found = []
    for where, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("build"))
        found += [os.path.relpath(os.path.join(where, n), ROOT) for n in sorted(names) if n.endswith(endings)]
    return found


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def code(text):
    """The text with comments and literals blanked, lines kept."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group()) if m.group()[0] == "/" else m.group()[0] + " " * (len(m.group()) - 2) + m.group()[0]
    return TOKEN.sub(blank, text)


def comments(text):
    """(line number, text) of each comment."""
    return [(text.count("\n", 0, m.start()) + 1, m.group()) for m in TOKEN.finditer(text) if m.group()[0] == "/"]


def blank_rows(text):
    """The text without macros called at file level (rows): what stands between their name and the parenthesis that closes it."""
    at = 0
    for m in re.finditer(r"^[A-Z][A-Z0-9_]*\(", text, re.M):
        if m.start() < at:
            continue
        depth, end = 1, m.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if not re.match(r"\s*\{", text[end:]):
            text = text[:m.start()] + re.sub(r"[^\n]", " ", text[m.start():end]) + text[end:]
            at = end
    return text


def functions(text):
    """(name, first line, lines) of each function with a body; `text` without comments and literals."""
    text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.M)
    text = blank_rows(text)
    found, at = [], 0
    for m in re.finditer(r"^[A-Za-z_][^;{}=]*?\b(\w+)\s*\([^;{}]*\)[^;{}=]*\{", text, re.M):
        if m.start() < at:
            continue
        depth, end = 1, m.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        at = end
        start = text.count("\n", 0, m.start()) + 1
        found.append((m.group(1), start, text.count("\n", 0, end) + 1 - start + 1))
    return found


def allowed(name):
    """The first words of the lines of tools/check/allow/<name>.txt; each line goes on with a reason."""
    path = "tools/check/allow/%s.txt" % name
    if not os.path.exists(os.path.join(ROOT, path)):
        return {}
    rows = [l.split(None, 1) for l in read(path).splitlines() if l.strip() and not l.startswith("#")]
    return {r[0]: r[1] if len(r) > 1 else "" for r in rows}
