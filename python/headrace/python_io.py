# SPDX-License-Identifier: Apache-2.0
"""tf.python_io: TFRecord files, written and read without a graph."""
import os

from . import _headrace


class TFRecordCompressionType(object):
    """How a whole file is compressed."""
    NONE, ZLIB, GZIP = 0, 1, 2


_NAMES = {TFRecordCompressionType.NONE: "", TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP"}


def _name(options):
    """"", "ZLIB" or "GZIP", of whatever says so: TFRecordOptions, a TFRecordCompressionType, a name, None."""
    if isinstance(options, TFRecordOptions):
        options = options.compression_type
    name = _NAMES.get(options, options) or ""
    if name not in _NAMES.values():
        raise ValueError("Not a valid compression_type: %r; None, '', 'ZLIB' and 'GZIP' are" % (options,))
    return name


class TFRecordOptions(object):
    """Options of a record file. Only compression_type is heeded; the settings of zlib are zlib's own."""
    compression_type_map = _NAMES

    def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None, window_bits=None,
                 compression_level=None, compression_method=None, mem_level=None, compression_strategy=None):
        _name(compression_type)
        self.compression_type = compression_type

    @classmethod
    def get_compression_type_string(cls, options):
        return _name(options)


class TFRecordWriter(object):
    """A new TFRecord file; with `with` it closes at the end."""

    def __init__(self, path, options=None):
        self._writer = _headrace.open_record_writer(os.fspath(path), _name(options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _open(self):
        if self._writer is None:
            raise ValueError("Writer is closed.")
        return self._writer

    def write(self, record):
        """Appends `record`, bytes: mostly a message's SerializeToString()."""
        _headrace.record_add(self._open(), record)

    def flush(self):
        """Brings what was written to the file."""
        _headrace.record_flush(self._open())

    def close(self):
        """Ends the file. Closing again does nothing."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            _headrace.record_close(writer)


def tf_record_iterator(path, options=None):
    """The records of a file, as bytes. DataLossError where a record is damaged or cut."""
    reader = _headrace.open_record_reader(os.fspath(path), _name(options))
    return iter(lambda: _headrace.record_next(reader), None)
