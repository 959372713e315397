# SPDX-License-Identifier: Apache-2.0
"""tf.python_io: TFRecord files without a graph."""
import gzip
import os
import zlib

import pytest

import headrace as tf

RECORDS = [b"", b"one", bytes(range(256)) * 300]
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "golden", "files")


@pytest.mark.parametrize("options, unpack", [
    (None, bytes), ("", bytes), (tf.python_io.TFRecordOptions(), bytes), (tf.python_io.TFRecordCompressionType.NONE, bytes),
    ("GZIP", gzip.decompress), (tf.io.TFRecordOptions(tf.io.TFRecordCompressionType.GZIP), gzip.decompress),
    (tf.io.TFRecordOptions("ZLIB"), zlib.decompress)])
def test_what_is_written_is_read(tmp_path, options, unpack):
    path, plain = tmp_path / "a", tmp_path / "plain"
    for name, with_options in ((path, options), (plain, None)):
        with tf.python_io.TFRecordWriter(str(name), with_options) as writer:
            for record in RECORDS:
                writer.write(record)
    assert unpack(path.read_bytes()) == plain.read_bytes()
    assert list(tf.python_io.tf_record_iterator(str(path), options)) == RECORDS
    assert list(tf.io.tf_record_iterator(path, options)) == RECORDS


def test_flushed_records_are_there_before_the_end(tmp_path):
    path = str(tmp_path / "a")
    writer = tf.io.TFRecordWriter(path)
    writer.write(b"x")
    writer.flush()
    assert list(tf.python_io.tf_record_iterator(path)) == [b"x"]
    writer.close()
    writer.close()
    for late in (writer.flush, lambda: writer.write(b"y")):
        with pytest.raises(ValueError, match="Writer is closed"):
            late()


def test_files_of_tensorflow():
    plain = list(tf.python_io.tf_record_iterator(os.path.join(FILES, "records.tfrecord")))
    assert plain
    for name, coding in (("records_gzip.tfrecord", "GZIP"), ("records_zlib.tfrecord", "ZLIB")):
        assert list(tf.python_io.tf_record_iterator(os.path.join(FILES, name), coding)) == plain


def test_damage_is_told(tmp_path):
    path = str(tmp_path / "a")
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"whole")
        writer.write(b"second")
    with open(path, "rb") as f:
        data = f.read()
    for damaged, count in ((data[:-1], 1), (data[:30] + b"?" + data[31:], 1), (data[:3], 0)):
        with open(path, "wb") as f:
            f.write(damaged)
        records = tf.python_io.tf_record_iterator(path)
        assert [next(records) for _ in range(count)] == [b"whole"] * count
        with pytest.raises(tf.errors.DataLossError):
            next(records)


def test_what_cannot_be(tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.tf_record_iterator(str(tmp_path / "none"))
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "no" / "folder"))
    for bad in ("LZ4", 3):
        with pytest.raises(ValueError, match="Not a valid compression_type"):
            tf.python_io.TFRecordOptions(bad)
        with pytest.raises(ValueError, match="Not a valid compression_type"):
            tf.python_io.TFRecordWriter(str(tmp_path / "a"), bad)
    with tf.python_io.TFRecordWriter(str(tmp_path / "a")) as writer:
        with pytest.raises(TypeError):
            writer.write(u"text")
    assert tf.python_io.TFRecordOptions.get_compression_type_string(tf.python_io.TFRecordOptions("GZIP")) == "GZIP"
