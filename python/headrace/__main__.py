# SPDX-License-Identifier: Apache-2.0
"""`python -m headrace script.py args...`: runs a script with `import tensorflow` answered by headrace.
`python -m headrace server [options]`: serves a task of a cluster, as the command `headrace server` does; --help says how.
`python -m headrace trace metadata.pb --out trace.html`: a page of a step's RunMetadata."""
import os
import runpy
import sys
import types


INTERFACE_VERSION = "1.15.5"  # what scripts that ask for TensorFlow's version are told


class _Alias(types.ModuleType):
    """A module name of TensorFlow's, standing for an object of headrace."""

    def __init__(self, name, target):
        super(_Alias, self).__init__(name)
        self._target = target
        self.__path__ = []

    def __getattr__(self, name):
        if name == "__version__":
            return INTERFACE_VERSION
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_target"], name)


class _Finder(object):
    """Answers `import tensorflow`, `import tensorflow.compat.v1 as tf`, `from tensorflow.compat import v1`, `import tensorflow.nn`..."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "tensorflow" and not name.startswith("tensorflow."):
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, _Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        import headrace
        target = headrace
        for part in spec.name.split(".")[1:]:
            if part in ("compat", "v1"):
                target = headrace if part == "v1" else target
                continue
            target = getattr(target, part, None)
            if target is None:
                raise ImportError("headrace has no %s" % spec.name, name=spec.name)
        if spec.name == "tensorflow.compat":
            target = headrace.compat
        return _Alias(spec.name, target)

    @staticmethod
    def exec_module(module):
        pass


def install():
    """Makes headrace answer for TensorFlow in this process."""
    if "tensorflow" in sys.modules:
        raise RuntimeError("tensorflow is imported already")
    sys.meta_path.insert(0, _Finder)


def report(kind, error, trace):
    """What Python prints of an exception, without the frames between Python and the script."""
    while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>", runpy.__file__):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def run_command(args):
    """Becomes the command that is installed beside this file."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headrace")
    if not os.access(path, os.X_OK):
        sys.stderr.write("python -m headrace: the command was not built (%s)\n" % path)
        sys.exit(2)
    os.execv(path, ["headrace"] + args)


def main():
    if sys.argv[1:2] == ["server"]:
        run_command(sys.argv[1:])
    if sys.argv[1:2] == ["trace"]:
        from headrace import timeline
        sys.exit(timeline.main(sys.argv[2:]))
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.stdout.write("usage: python -m headrace script.py [arguments]\n\n" + __doc__ + "\n")
        sys.exit(0 if len(sys.argv) > 1 else 2)
    sys.argv = sys.argv[1:]
    if not os.path.exists(sys.argv[0]):
        sys.stderr.write("python -m headrace: no file %s\n" % sys.argv[0])
        sys.exit(2)
    install()
    sys.excepthook = report
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
