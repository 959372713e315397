# SPDX-License-Identifier: Apache-2.0
"""Operations on texts: thin over the string ops of the registry."""
from headrace import dtypes
from headrace.op_gen import gen
from headrace.tensor_util import convert_to_tensor


def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    return gen.AsString(input, precision, scientific, shortest, width, fill, name)


def string_join(inputs, separator="", name=None):
    return gen.StringJoin([convert_to_tensor(i) for i in inputs], separator=separator, name=name)


def string_split(source=None, sep=None, skip_empty=True, delimiter=None, result_type="SparseTensor", input=None, name=None):
    from headrace.gradients import SparseTensor
    delimiter = sep if delimiter is None else delimiter
    source = input if source is None else source
    out = gen.StringSplit(source, " " if delimiter is None else delimiter, skip_empty, name)
    return SparseTensor(*out)


def string_split_v2(input=None, sep=None, maxsplit=-1, name=None, source=None):
    from headrace.gradients import SparseTensor
    return SparseTensor(*gen.StringSplitV2(input if source is None else source, sep or "", maxsplit, name))


def string_to_number(string_tensor=None, out_type=dtypes.float32, name=None, input=None):
    return gen.StringToNumber(input if string_tensor is None else string_tensor, dtypes.as_dtype(out_type), name)


def substr(input, pos, len, name=None, unit="BYTE"):
    return gen.Substr(input, pos, len, unit, name)


def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    return gen.StringToHashBucket(input if string_tensor is None else string_tensor, num_buckets, name)


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    make = gen.StaticRegexReplace if isinstance(pattern, str) else gen.RegexReplace
    return make(input, pattern, rewrite, replace_global, name)


def string_length(input, name=None, unit="BYTE"):
    return gen.StringLength(input, unit, name)


def string_lower(input, encoding="", name=None):
    return gen.StringLower(input, encoding, name)


def string_upper(input, encoding="", name=None):
    return gen.StringUpper(input, encoding, name)


def string_format(template, inputs, placeholder="{}", summarize=3, name=None):
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError("The template expects %d tensors, %d were given" % (template.count(placeholder), len(inputs)))
    return gen.StringFormat([convert_to_tensor(i) for i in inputs], template, placeholder, summarize, name)


def reduce_join(inputs, axis=None, keep_dims=False, separator="", name=None, reduction_indices=None, keepdims=None):
    axis = reduction_indices if axis is None else axis
    inputs = convert_to_tensor(inputs)
    if axis is None:
        axis = list(range(inputs.shape.rank - 1, -1, -1)) if inputs.shape.rank else []
    return gen.ReduceJoin(inputs, axis, bool(keep_dims or keepdims), separator, name)
