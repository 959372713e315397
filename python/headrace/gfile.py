# SPDX-License-Identifier: Apache-2.0
"""tf.gfile and tf.io.gfile: files by TensorFlow's names, over Python's own."""
import glob as _glob
import os
import shutil

from headrace import errors


def _path(name):
    name = os.fspath(name)
    name = name.decode() if isinstance(name, bytes) else name
    return name[7:] if name.startswith("file://") else name


def _failure(e):
    kinds = {
        FileNotFoundError: errors.NotFoundError,
        FileExistsError: errors.AlreadyExistsError,
        PermissionError: errors.PermissionDeniedError,
        NotADirectoryError: errors.FailedPreconditionError,
        IsADirectoryError: errors.FailedPreconditionError
    }
    return kinds.get(type(e), errors.UnknownError)(None, None, "%s; %s" % (e.filename, e.strerror))


def _checked(function):
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except OSError as e:
            raise _failure(e) from None
    wrapped.__name__ = function.__name__
    return wrapped


class GFile(object):
    """A file, opened when first read or written. Text by default, as Python's open; "b" in the mode for bytes."""

    def __init__(self, name, mode="r"):
        self._name, self._mode, self._file = _path(name), mode, None

    name, mode = property(lambda self: self._name), property(lambda self: self._mode)

    def _open(self):
        if self._file is None:
            try:
                self._file = open(self._name, self._mode)
            except OSError as e:
                raise _failure(e) from None
        return self._file

    def read(self, n=-1):
        return self._open().read(-1 if n is None else n)

    def readline(self):
        return self._open().readline()

    def readlines(self):
        return self._open().readlines()

    def write(self, file_content):
        self._open().write(file_content)

    def seek(self, offset=None, whence=0, position=None):
        self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._open().tell()

    def seekable(self):
        return True

    def size(self):
        return os.path.getsize(self._name)

    def flush(self):
        if self._file is not None:
            self._file.flush()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self):
        return iter(self._open())

    def __next__(self):
        return next(self._open())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if "w" in self._mode or "a" in self._mode:
            self._open()
        self.close()


Open = FastGFile = GFile


def exists(path):
    return os.path.exists(_path(path))


def isdir(path):
    return os.path.isdir(_path(path))


@_checked
def listdir(path):
    return sorted(os.listdir(_path(path)))


@_checked
def makedirs(path):
    os.makedirs(_path(path), exist_ok=True)


@_checked
def mkdir(path):
    os.mkdir(_path(path))


@_checked
def remove(path):
    os.remove(_path(path))


@_checked
def rmtree(path):
    shutil.rmtree(_path(path))


@_checked
def rename(src, dst, overwrite=False):
    src, dst = _path(src), _path(dst)
    if not overwrite and os.path.exists(dst):
        raise errors.AlreadyExistsError(None, None, "%s already exists" % dst)
    os.replace(src, dst)


@_checked
def copy(src, dst, overwrite=False):
    src, dst = _path(src), _path(dst)
    if not overwrite and os.path.exists(dst):
        raise errors.AlreadyExistsError(None, None, "%s already exists" % dst)
    shutil.copyfile(src, dst)


def glob(pattern):
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for p in patterns for name in sorted(_glob.glob(_path(p)))]


class _Stat(object):
    def __init__(self, s):
        self.length, self.mtime_nsec, self.mode = s.st_size, s.st_mtime_ns, s.st_mode


@_checked
def stat(path):
    return _Stat(os.stat(_path(path)))


def walk(top, topdown=True, onerror=None):
    return os.walk(_path(top), topdown, onerror)


def join(path, *paths):
    return os.path.join(path, *paths)


Exists, IsDirectory, ListDirectory, MakeDirs, MkDir, Remove, DeleteRecursively, Rename, Copy, Glob, Stat, Walk = (
    exists, isdir, listdir, makedirs, mkdir, remove, rmtree, rename, copy, glob, stat, walk)
