# SPDX-License-Identifier: Apache-2.0
"""What differs between the two sides' outcomes of a changed case, and which differences are accepted (accepted.tsv says why)."""
import fnmatch, os, re
import numpy as np

# Relative and absolute; absolute ones for results around 1, scaled by the largest.
TOLERANCES = {"float16": (2e-2, 2e-3), "bfloat16": (8e-2, 2e-2), "float32": (2e-4, 1e-5), "float64": (1e-8, 1e-10), "complex64": (2e-4, 1e-5),
              "complex128": (1e-8, 1e-10)}


def value_differs(theirs, ours):
    if theirs is None or ours is None:
        return "" if theirs is ours else "%s, not %s" % (ours and "a value", theirs and "a value")
    (name, t), (our_name, o) = theirs, ours
    if name != our_name or t.shape != o.shape:
        return "%s%s, not %s%s" % (our_name, list(o.shape), name, list(t.shape))
    tolerance = TOLERANCES.get(name)
    if not tolerance:
        bad = t != o
    else:
        wide = complex if t.dtype.kind == "c" else float
        with np.errstate(all="ignore"):
            a, b = t.astype(wide), o.astype(wide)
            largest = np.max(np.abs(a[np.isfinite(a)]), initial=1)
            bad = ~((np.abs(a - b) <= tolerance[1] * largest + tolerance[0] * np.abs(a)) | (a == b) | (np.isnan(a) & np.isnan(b)))
    return "%s, not %s" % (o[bad][:5], t[bad][:5]) if np.any(bad) else ""


def shape_differs(theirs, ours):
    """To know more is no fault."""
    if theirs is None:
        return False
    return ours is None or len(ours) != len(theirs) or any(t is not None and o != t for t, o in zip(theirs, ours))


def grads_differ(theirs, ours):
    failed = [isinstance(g, dict) for g in (theirs, ours)]
    if any(failed):
        return "" if all(failed) or failed[0] else "error %s" % (ours["error"],)
    return next(filter(None, map(value_differs, theirs, ours)), "")


def difference(theirs, ours):
    """(kind, text) or None. Kinds: crash, refused, accepted, code, value, shape, gradient."""
    t, o = theirs.get("error"), ours.get("error")
    if ours.get("crash"):
        return "crash", ours["crash"][-300:]
    if theirs.get("crash"): # nobody's behaviour to follow
        return None
    if t and o:
        return ("code", "%s, not %s" % (o, t)) if t[1] != o[1] else None
    if o:
        return "refused", "%s" % (o,)
    if t: # a kernel that only we have is no fault
        return None if "No OpKernel was registered" in t[2] or "not supported" in t[2] else ("accepted", "%s" % (t,))
    text = next(filter(None, map(value_differs, theirs["values"], ours["values"])), "")
    if text:
        return "value", text
    if any(map(shape_differs, theirs["shapes"], ours["shapes"])):
        return "shape", "%s, not %s" % (ours["shapes"], theirs["shapes"])
    text = grads_differ(theirs["grads"], ours["grads"]) if "grads" in theirs else ""
    return ("gradient", text) if text else None


class Accepted:
    """Rows of accepted.tsv: ops (a pattern), kind, a regular expression for what was changed and the difference's text, the reason."""

    def __init__(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "accepted.tsv")) as f:
            self.rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]

    def __call__(self, case, kind, text):
        what = "%s: %s: %s" % (case["note"], "; ".join(case["what"]), text)
        return any(fnmatch.fnmatchcase(case["op"], op) and k == kind and re.search(pattern, what) for op, k, pattern, _ in self.rows)
