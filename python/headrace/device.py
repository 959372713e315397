# SPDX-License-Identifier: Apache-2.0
"""Device names: "/job:worker/replica:0/task:1/device:CPU:0", any part of which may be missing, as text and as DeviceSpec."""

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


class DeviceSpec(object):
    """A device name, whole or in part, by its parts."""
    __slots__ = ("job", "_replica", "_task", "device_type", "_device_index")

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job, self.replica, self.task = None if job is None else str(job), replica, task
        self.device_type, self.device_index = None if device_type is None else str(device_type).upper(), device_index

    def _number(name):
        def put(self, value):
            setattr(self, name, None if value is None else int(value))
        return property(lambda self: getattr(self, name), put)
    replica, task, device_index = _number("_replica"), _number("_task"), _number("_device_index")
    del _number

    def _parts(self):
        return self.job, self.replica, self.task, self.device_type, self.device_index

    def parse_from_string(self, spec):
        parts = parse(spec)
        kind, index = parts.get("device", (None, None))
        whole = lambda text: None if text in (None, "*") else int(text)
        self.job, self.replica, self.task = parts.get("job"), whole(parts.get("replica")), whole(parts.get("task"))
        self.device_type, self.device_index = kind, whole(index)
        return self

    @staticmethod
    def from_string(spec):
        return DeviceSpec().parse_from_string(spec)

    def to_string(self):
        text = "".join("/%s:%s" % (key, value) for key, value in zip(_PARTS, self._parts()) if value is not None)
        if self.device_type is not None:
            text += "/device:%s:%s" % (self.device_type, "*" if self.device_index is None else self.device_index)
        return text

    def merge_from(self, dev):
        """Takes over what dev says."""
        merged = self.make_merged_spec(dev)
        self.job, self.replica, self.task, self.device_type, self.device_index = merged._parts()

    def make_merged_spec(self, dev):
        """What dev says, filled in by this."""
        return DeviceSpec(*[own if other is None else other for own, other in zip(self._parts(), dev._parts())])

    def replace(self, **parts):
        said = dict(zip(("job", "replica", "task", "device_type", "device_index"), self._parts()), **parts)
        return DeviceSpec(**said)

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self._parts() == other._parts()

    def __hash__(self):
        return hash(self._parts())

    def __repr__(self):
        return "DeviceSpec(%s)" % self.to_string()


def merge_device(spec):
    """A device function that fills in what an operation's device does not say; None clears it."""
    def function(op):
        return merge(spec.to_string() if hasattr(spec, "to_string") else spec or "", op.device or "")
    return function
