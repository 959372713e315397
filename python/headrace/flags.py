# SPDX-License-Identifier: Apache-2.0
"""tf.flags: command-line flags of a script, `--name=value` or `--name value`, booleans also `--name` and `--noname`."""
import sys


class Error(Exception):
    pass


class IllegalFlagValueError(Error):
    pass


class _Flag(object):
    def __init__(self, name, default, help, parse, kind):
        self.name, self.default, self.help, self.parse, self.kind = name, default, help, parse, kind
        self.value, self.present, self.required, self.validators = default, 0, False, []


class FlagValues(object):
    """The flags' values as attributes; the command line is read at the first look."""

    def __init__(self):
        self.__dict__.update(_flags={}, _parsed=False, _rest=[])

    def __call__(self, argv=None, known_only=False):
        """Reads argv (argv[0] is the program); gives what is no flag."""
        argv = list(sys.argv if argv is None else argv)
        rest, i = argv[:1], 1
        self.__dict__["_parsed"] = True
        while i < len(argv):
            arg = argv[i]
            i += 1
            if arg == "--":
                rest.extend(argv[i:])
                break
            if not arg.startswith("-") or arg == "-":
                rest.append(arg)
                continue
            name, equals, text = arg.lstrip("-").partition("=")
            name = name.replace("-", "_") if name not in self._flags else name
            flag = self._flags.get(name)
            if flag is None and name.startswith("no") and name[2:] in self._flags and self._flags[name[2:]].kind == "bool":
                flag, equals, text = self._flags[name[2:]], "=", "false"
            if flag is None:
                if name in ("help", "h", "helpshort", "helpfull"):
                    print(self.get_help())
                    sys.exit(1)
                if known_only:
                    rest.append(arg)
                    continue
                raise Error("Unknown command line flag '%s'" % name)
            if not equals and flag.kind == "bool":
                text = "true"
            elif not equals:
                if i >= len(argv):
                    raise Error("Missing value for flag --%s" % name)
                text, i = argv[i], i + 1
            flag.value, flag.present = self._read(flag, text), flag.present + 1
        for flag in self._flags.values():
            if flag.required and flag.value is None:
                raise IllegalFlagValueError("Flag --%s must have a value other than None." % flag.name)
            self._validate(flag)
        self.__dict__["_rest"] = rest
        return rest

    @staticmethod
    def _read(flag, text):
        try:
            return flag.parse(text)
        except ValueError as e:
            raise IllegalFlagValueError("flag --%s=%s: %s" % (flag.name, text, e)) from None

    @staticmethod
    def _validate(flag):
        for check, message in flag.validators:
            if not check(flag.value):
                raise IllegalFlagValueError("flag --%s=%s: %s" % (flag.name, flag.value, message))

    def get_help(self):
        lines = ["flags:"]
        for flag in self._flags.values():
            lines.append("  --%s%s: %s (default: %r)" % ("[no]" if flag.kind == "bool" else "", flag.name, flag.help, flag.default))
        return "\n".join(lines)

    def _parse_flags(self, args=None):
        return self(args)

    def mark_as_parsed(self):
        self.__dict__["_parsed"] = True

    def is_parsed(self):
        return self._parsed

    def __getattr__(self, name):
        flag = self.__dict__["_flags"].get(name)
        if flag is None:
            raise AttributeError("Unknown command line flag '%s'" % name)
        if not self._parsed:
            self(sys.argv, known_only=True)
        return flag.value

    def __setattr__(self, name, value):
        if name not in self._flags:
            _define(name, value, "", lambda text: text, "string")
        self._flags[name].value = value

    def __getitem__(self, name):
        return self._flags[name]

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def __dir__(self):
        return sorted(self._flags)

    def __delattr__(self, name):
        self._flags.pop(name, None)

    def flag_values_dict(self):
        return dict((n, getattr(self, n)) for n in self._flags)


FLAGS = FlagValues()


def _define(name, default, help, parse, kind):
    FLAGS._flags[name] = _Flag(name, default if default is None or not isinstance(default, str) else parse(default), help, parse, kind)


def _bool(text):
    if text.lower() in ("true", "t", "1", "yes"):
        return True
    if text.lower() in ("false", "f", "0", "no"):
        return False
    raise ValueError("Non-boolean argument to boolean flag: %r" % text)


def DEFINE_string(name, default, help="", **unused):
    _define(name, default, help, str, "string")


def DEFINE_integer(name, default, help="", lower_bound=None, upper_bound=None, **unused):
    _define(name, default, help, lambda text: int(text, 0), "int")
    if lower_bound is not None or upper_bound is not None:
        register_validator(name, lambda v: v is None or (lower_bound is None or v >= lower_bound) and (upper_bound is None or v <= upper_bound),
                           "out of [%s, %s]" % (lower_bound, upper_bound))


def DEFINE_float(name, default, help="", lower_bound=None, upper_bound=None, **unused):
    _define(name, float(default) if default is not None else None, help, float, "float")


def DEFINE_boolean(name, default, help="", **unused):
    _define(name, default, help, _bool, "bool")


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(name, default, enum_values, help="", case_sensitive=True, **unused):
    def parse(text):
        if text not in enum_values:
            raise ValueError("value should be one of <%s>" % "|".join(enum_values))
        return text
    _define(name, default, help, parse, "enum")


def DEFINE_list(name, default, help="", **unused):
    _define(name, default, help, lambda text: [t.strip() for t in text.split(",")] if text else [], "list")


def DEFINE_multi_integer(name, default, help="", **unused):
    _define(name, default, help, lambda text: FLAGS._flags[name].value + [int(text)] if FLAGS._flags[name].present else [int(text)], "multi")


def DEFINE_multi_string(name, default, help="", **unused):
    _define(name, default, help, lambda text: FLAGS._flags[name].value + [text] if FLAGS._flags[name].present else [text], "multi")


def DEFINE_alias(name, original_name, **unused):
    FLAGS._flags[name] = FLAGS._flags[original_name]


def mark_flag_as_required(name, flag_values=None):
    FLAGS._flags[name].required = True


def mark_flags_as_required(names, flag_values=None):
    for name in names:
        mark_flag_as_required(name)


def register_validator(flag_name, checker, message="Flag validation failed", flag_values=None):
    FLAGS._flags[flag_name].validators.append((checker, message))


def validator(flag_name, message="Flag validation failed", flag_values=None):
    def decorate(f):
        register_validator(flag_name, f, message)
        return f
    return decorate
