# SPDX-License-Identifier: Apache-2.0
"""Device names: "/job:worker/replica:0/task:1/device:CPU:0", any part of which may be missing."""

_PARTS = ("job", "replica", "task")


def parse(text):
    """{part: text}; the device as ("CPU", "0" or None) under "device"."""
    out = {}
    for part in (text or "").split("/"):
        key, _, value = part.partition(":")
        if not part:
            continue
        if key in _PARTS and value:
            out[key] = value
        elif key == "device" and value:
            kind, _, index = value.partition(":")
            out["device"] = (kind.upper() if kind.lower() in ("cpu", "gpu") else kind, index or None)
        elif key.lower() in ("cpu", "gpu"):
            out["device"] = (key.upper(), value or None)
        else:
            raise ValueError("Unknown attribute: '%s' in '%s'" % (key, text))
    return out


def unparse(parts):
    text = "".join("/%s:%s" % (key, parts[key]) for key in _PARTS if key in parts)
    if "device" in parts:
        kind, index = parts["device"]
        text += "/device:%s:%s" % (kind, "*" if index is None else index)
    return text


def canonical(text):
    return unparse(parse(text))


def merge(outer, inner):
    """What inner says, filled in by outer."""
    parts = parse(outer)
    parts.update(parse(inner))
    return unparse(parts)
