/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE half and bfloat16 to and from float, rounding to nearest even. Bit patterns are uint16_t wrapped in a struct, so that
 * arithmetic on them by accident does not compile. */
#ifndef HR_BASE_HALF_H
#define HR_BASE_HALF_H
#include <stdint.h>
#include <string.h>

typedef struct { uint16_t bits; } hr_f16_t;
typedef struct { uint16_t bits; } hr_bf16_t;

float hr_f16_to_f32(hr_f16_t h);
hr_f16_t hr_f16_from_f32(float f);
static inline float hr_bf16_to_f32(hr_bf16_t h) {
  uint32_t u = (uint32_t)h.bits << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline hr_bf16_t hr_bf16_from_f32(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (hr_bf16_t){(uint16_t)((u >> 16) | 0x40u)}; /* NaN stays NaN */
  return (hr_bf16_t){(uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}
#endif
