# SPDX-License-Identifier: Apache-2.0
"""Numbers of types that NumPy lacks, where no package brings them: their bits, under the type's name, from ordinary numbers. Floats are
rounded to nearest, ties to even; what is too large becomes infinity, or NaN where the type has none, or the largest where it has neither.
Integers wrap. The C library computes with these types itself: this is only for values that are written down in Python."""
import numpy as np

# exponent bits, mantissa bits, exponent bias, what stands above the largest number
_FLOATS = {"float8_e5m2": (5, 2, 15, "inf"), "float8_e4m3fn": (4, 3, 7, "nan"), "float8_e4m3fnuz": (4, 3, 8, "unsigned zero"),
           "float8_e4m3b11fnuz": (4, 3, 11, "unsigned zero"), "float8_e5m2fnuz": (5, 2, 16, "unsigned zero"),
           "float4_e2m1fn": (2, 1, 1, "nothing")}
_INTEGERS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}


def _bfloat16(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7fff + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(np.asarray(values, np.float32)), bits >> 16 & 0x8000 | 0x7fc0, rounded).astype(np.uint16)


def _magnitudes(exponent_bits, mantissa_bits, bias, above):
    """The numbers that codes 0, 1, 2... stand for, up to the first that is too large."""
    steps = 1 << mantissa_bits
    largest = (1 << exponent_bits) * steps - 1 - {"inf": steps, "nan": 1}.get(above, 0)
    codes = np.arange(largest + 2)
    exponents, fractions = codes // steps, codes % steps
    return np.ldexp((np.where(exponents > 0, steps, 0) + fractions) / float(steps), np.maximum(exponents, 1) - bias)


def _small_float(values, exponent_bits, mantissa_bits, bias, above):
    values = np.asarray(values, np.float64)
    sign = 1 << (exponent_bits + mantissa_bits)
    numbers = _magnitudes(exponent_bits, mantissa_bits, bias, above)
    middles = (numbers[:-1] + numbers[1:]) / 2
    size = np.abs(values)
    below, upto = np.searchsorted(middles, size, "left"), np.searchsorted(middles, size, "right")
    codes = np.where(below == upto, below, below + (below & 1))  # in the middle: the even one of two neighbours
    too_large, not_one = codes == len(numbers) - 1, np.isnan(values)
    if above == "nothing":
        codes = np.where(not_one, sign, np.where(too_large, len(numbers) - 2, codes))
    elif above == "unsigned zero":
        return np.where(too_large | not_one, sign, np.where(np.signbit(values) & (codes > 0), codes | sign, codes)).astype(np.uint8)
    else:
        codes = np.where(not_one, len(numbers) - 1 + (1 << mantissa_bits >> 1 if above == "inf" else 0), codes)
    return (codes | np.where(np.signbit(values), sign, 0)).astype(np.uint8)


def _small_integer(values, width, signed):
    values = np.asarray(values).astype(np.int64) & ((1 << width) - 1)
    return (np.where(values >> (width - 1), values - (1 << width), values) if signed else values).astype(np.int8 if signed else np.uint8)


def array(values, dtype):
    """An array of dtype.as_numpy_dtype, which NumPy does not know how to convert to, from numbers."""
    name, kind = dtype.name, np.dtype(dtype.as_numpy_dtype)
    if getattr(values, "dtype", None) == kind:
        return np.asarray(values)
    if np.asarray(values).dtype.kind not in "biuf":
        raise TypeError("Cannot convert values of type %s to %s" % (np.asarray(values).dtype, name))
    if name == "bfloat16":
        bits = _bfloat16(values)
    elif name in _FLOATS:
        bits = _small_float(values, *_FLOATS[name])
    else:
        bits = _small_integer(values, _INTEGERS[name], name[0] == "i")
    return np.ascontiguousarray(bits).view(kind).reshape(np.shape(values))
