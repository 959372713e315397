# SPDX-License-Identifier: Apache-2.0
"""Operations on files and on records within texts."""
from headrace import dtypes
from headrace.op_gen import gen
from headrace.tensor_util import convert_to_tensor


def read_file(filename, name=None):
    return gen.ReadFile(filename, name)


def write_file(filename, contents, name=None):
    return gen.WriteFile(filename, contents, name)


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    return gen.DecodeRaw(bytes if input_bytes is None else input_bytes, dtypes.as_dtype(out_type), little_endian, name)


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, name=None, na_value="", select_cols=None):
    return gen.DecodeCSV(records, [convert_to_tensor(d) for d in record_defaults], field_delim=field_delim,
                         use_quote_delim=use_quote_delim, na_value=na_value, select_cols=select_cols or [], name=name)
