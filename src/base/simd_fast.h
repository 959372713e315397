/* SPDX-License-Identifier: Apache-2.0 */
/* exp and tanh of float vectors, inlined: the two functions that networks spend their time in. Polynomials fitted by weighted least
 * squares; within 2 and 4 units in the last place. NaN, infinities, signed zeros and denormal results are as the functions define them.
 * Other functions, and double, are SLEEF's (simd_math.h). */
#ifndef HR_BASE_SIMD_FAST_H
#define HR_BASE_SIMD_FAST_H
#include "base/simd.h"

static inline hr_vf32 hr_vf32_select(hr_vi32 mask, hr_vf32 a, hr_vf32 b) { return (hr_vf32)((mask & (hr_vi32)a) | (~mask & (hr_vi32)b)); }

/* x = n ln 2 + r: 2^n is made in two factors, so that it can be beyond the range of normal numbers. */
static inline __attribute__((unused)) hr_vf32 hr_vf32_exp(hr_vf32 x) {
  const hr_vf32 zero = {0}, low = zero - 104.0f, high = zero + 89.0f, magic = zero + 12582912.0f; /* 1.5 * 2^23: adding it rounds */
  x = hr_vf32_select(x < low, low, x);
  x = hr_vf32_select(x > high, high, x);
  const hr_vf32 t = x * 1.44269504f + magic, n = t - magic;
  const hr_vf32 r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  hr_vf32 p = r * 0.0013814319390803576f + 0.008368851616978645f;
  p = p * r + 0.041668400168418884f;
  p = p * r + 0.1666651964187622f;
  p = p * r + 0.4999999403953552f;
  p = (p * (r * r) + r) + 1.0f;
  const hr_vi32 e = (hr_vi32)t - (hr_vi32)magic, half = e >> 1;
  return (p * (hr_vf32)((half + 127) << 23)) * (hr_vf32)((e - half + 127) << 23);
}

/* x P(x^2) / Q(x^2) on [-9, 9], where float's tanh reaches 1. */
static inline __attribute__((unused)) hr_vf32 hr_vf32_tanh(hr_vf32 x) {
  const hr_vf32 zero = {0}, edge = zero + 9.0f, one = zero + 1.0f;
  x = hr_vf32_select(x < -edge, -edge, x);
  x = hr_vf32_select(x > edge, edge, x);
  const hr_vf32 z = x * x;
  hr_vf32 p = z * 1.333688700860497e-08f + 2.059635195645766e-05f, q = z * 7.769313251420814e-07f + 3.2843732017452085e-04f;
  p = p * z + 3.494818236858211e-03f;
  q = q * z + 2.587405684837491e-02f;
  p = p * z + 1.3380378548967318e-01f;
  q = q * z + 4.671369400581399e-01f;
  p = p * z + 9.999999792927595e-01f;
  q = q * z + 1.0f;
  const hr_vf32 y = x * p / q;
  return hr_vf32_select(y > one, one, hr_vf32_select(y < -one, -one, y));
}
#endif
