# SPDX-License-Identifier: Apache-2.0
"""Functions that other files see are hr_<file stem>_..., the stem being the file's, that of the header that declares them, or their
first word; op definitions are hr_op_<Name>; the C API's are TF_/TFE_, its extensions HR_. No file is named after nothing in particular."""
import fnmatch, os, re, sys
from common import allowed, code, files, functions, read

BANNED = re.compile(r"^(util|utils|misc|helper|helpers|common|stuff|manager|impl|internal|new|temp|tmp)(_|\.|$)")


def declared(folder_files):
    """function name -> stems of the headers that declare it."""
    where = {}
    for path in folder_files:
        stem = os.path.basename(path)[:-2]
        for name in re.findall(r"\b(hr_\w+)\s*\(", code(read(path))):
            where.setdefault(name, set()).add(stem)
    return where


def stems_of(path):
    stem = os.path.basename(path).split(".")[0]
    words = stem.split("_")
    folder = path.split("/")[-2]
    return {"_".join(words[:n]) for n in range(1, len(words) + 1)} | {folder, folder.rstrip("s")}


def main():
    allow, bad, heads = allowed("names"), [], declared(files("src", ".h"))
    for path in files("src", ".c", ".h", ".def", ".inc"):
        if BANNED.match(os.path.basename(path)):
            bad.append("%s: the name says nothing" % path)
    for path in files("src", ".c"):
        text = code(read(path))
        for name, line, _ in functions(text):
            if name == "main":
                continue
            head = text.splitlines()[line - 1]
            if re.match(r"\s*(__attribute__\(\(constructor\)\)\s*)?static\b", head) or "static " in head or not name.startswith("hr_"):
                if name != "main" and not name.startswith(("hr_", "HR_", "TF_", "TFE_", "GOMP_", "omp_")) and "static" not in head and not re.match(r"^[A-Z_0-9]+$", name):
                    bad.append("%s:%d: %s is seen by other files: call it hr_..., or make it static" % (path, line, name))
                continue
            stems = stems_of(path) | {s for h in heads.get(name, ()) for s in stems_of("/%s.h" % h)} | heads.get(name, set())
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in allow) and not any(name.startswith("hr_%s" % s) for s in stems if s):
                bad.append("%s:%d: %s does not say where it lives (hr_%s_...)" % (path, line, name, os.path.basename(path).split(".")[0]))
    print("\n".join(bad) or "names: every visible function says where it lives")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
