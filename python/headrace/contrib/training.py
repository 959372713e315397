# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.training.HParams: hyperparameters with types, set from a text."""
import json
import re

_WORD = re.compile(r"(?P<name>[a-zA-Z][\w.]*)(\[(?P<index>\d+)\])?=(\[(?P<list>[^\]]*)\]|(?P<value>[^,\[]*))(?:,|$)")


def _converted(name, text, kind):
    """The text as a value of the type that the hyperparameter has."""
    text = text.strip() if isinstance(text, str) else text
    if kind is bool:
        if str(text).lower() in ("true", "1"):
            return True
        if str(text).lower() in ("false", "0"):
            return False
        raise ValueError("Could not parse hparam '%s' of type 'bool' with value '%s'" % (name, text))
    try:
        return kind(text)
    except (TypeError, ValueError):
        raise ValueError("Could not parse hparam '%s' of type '%s' with value '%s'" % (name, kind.__name__, text)) from None


class HParams(object):
    """Attributes with values; a value's type is that of the first one."""

    def __init__(self, hparam_def=None, model_structure=None, **kwargs):
        if hparam_def is not None or model_structure is not None:
            raise NotImplementedError("HParams: from a protobuf, or with a model structure")
        self._hparam_types = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name, value):
        if getattr(self, name, None) is not None:
            raise ValueError("Hyperparameter name is reserved: %s" % name)
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError("Multi-valued hyperparameters cannot be empty: %s" % name)
        self._hparam_types[name] = (type(value[0] if is_list else value), is_list)
        setattr(self, name, value)

    def set_hparam(self, name, value):
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list) != is_list and not isinstance(value, tuple):
            raise ValueError("%s a list for the hyperparameter '%s'" % ("Must pass" if is_list else "Must not pass", name))
        cast = (lambda v: v) if kind is type(None) else lambda v: _converted(name, v, kind)
        setattr(self, name, [cast(v) for v in value] if is_list else cast(value))

    def del_hparam(self, name):
        if name in self._hparam_types:
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values):
        """Sets what a text like "a=1,b=0.5,c=[1,2]" says; gives back self."""
        at = 0
        while at < len(values):
            m = _WORD.match(values, at)
            if not m:
                raise ValueError("Malformed hyperparameter value: %s" % values[at:])
            name, at = m.group("name"), m.end()
            if name not in self._hparam_types:
                raise ValueError("Unknown hyperparameter type for %s" % name)
            kind, is_list = self._hparam_types[name]
            if m.group("list") is not None:
                self.set_hparam(name, [v for v in m.group("list").split(",") if v.strip()])
            elif m.group("index"):
                changed = list(getattr(self, name))
                changed[int(m.group("index"))] = _converted(name, m.group("value"), kind)
                self.set_hparam(name, changed)
            else:
                self.set_hparam(name, [m.group("value")] if is_list else m.group("value"))
        return self

    def override_from_dict(self, values_dict):
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def values(self):
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key, default=None):
        return getattr(self, key) if key in self._hparam_types else default

    def to_json(self, indent=None, separators=None, sort_keys=False):
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json):
        return self.override_from_dict(json.loads(values_json))

    def __contains__(self, key):
        return key in self._hparam_types

    def __str__(self):
        return str(sorted(self.values().items()))

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, self)
