/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE half precision in integer arithmetic: exact in one direction, round to nearest even in the other, NaNs stay NaNs. */
#include "base/half.h"

static float float_of_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

float hr_f16_to_f32(hr_f16_t h) {
  uint32_t sign = (uint32_t)(h.bits & 0x8000u) << 16, exponent = h.bits >> 10 & 31u, mantissa = h.bits & 0x3ffu;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000u | mantissa << 13);
  if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  float tiny = (float)mantissa * 0x1p-24f; /* subnormal halves are normal floats */
  return sign ? -tiny : tiny;
}

hr_f16_t hr_f16_from_f32(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  uint16_t sign = (uint16_t)(u >> 16 & 0x8000u);
  u &= 0x7fffffffu;
  uint32_t half;
  if (u > 0x7f800000u) { /* NaN: made quiet, top bits of the payload kept */
    half = 0x7e00u | (u >> 13 & 0x1ffu);
  } else if (u >= 0x477ff000u) { /* 65520 and up round to infinity */
    half = 0x7c00u;
  } else if (u >= 0x38800000u) { /* normal; a carry out of the mantissa raises the exponent, as it should */
    half = (u - (112u << 23) + 0xfffu + (u >> 13 & 1u)) >> 13;
  } else if (u > 0x33000000u) { /* subnormal: above half of the least one */
    uint32_t shift = 126u - (u >> 23), mantissa = (u & 0x7fffffu) | 0x800000u;
    uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
    half = kept + (lost > middle || (lost == middle && (kept & 1u)));
  } else {
    half = 0;
  }
  return (hr_f16_t){(uint16_t)(sign | half)};
}
