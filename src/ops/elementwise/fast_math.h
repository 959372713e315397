/* SPDX-License-Identifier: Apache-2.0 */
/* exp and tanh on vectors of float as inlined polynomials, a few units in the last place from the truth, several times as fast as a call that answers within one.
 * double keeps SLEEF's functions. Coefficients are least-squares fits made equiripple by reweighting, of relative error below 3e-8. Infinities, NaN and
 * denormal results come out right. Include after base/simd_f32.h or simd_f64.h; use HR_TYPED(fast_exp)(x). */
#ifndef HR_OPS_ELEMENTWISE_FAST_MATH_H
#define HR_OPS_ELEMENTWISE_FAST_MATH_H
#include "base/simd.h"

static inline hr_vf32 fast_pick(hr_vi32 mask, hr_vf32 a, hr_vf32 b) { return (hr_vf32)((mask & (hr_vi32)a) | (~mask & (hr_vi32)b)); }

/* exp x = 2^n exp r with n = rint(x / log 2) and |r| <= log 2 / 2; 2^n in two factors, so that results below the normal numbers are rounded once. */
static inline hr_vf32 fast_exp_f32(hr_vf32 x) {
  const hr_vf32 zero = {0}, magic = zero + 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
  x = fast_pick(x > 89.0f + zero, zero + 89.0f, x); /* NaN compares false and stays */
  x = fast_pick(x < -104.0f + zero, zero - 104.0f, x);
  const hr_vf32 shifted = x * 1.44269504f + magic, n = shifted - magic;
  const hr_vf32 r = (x - n * 0.693359375f) - n * -2.12194440e-4f; /* log 2 in two parts, the first exact in few bits */
  const hr_vf32 q = (((1.38131424e-3f * r + 8.36941879e-3f) * r + 4.16684560e-2f) * r + 1.66665152e-1f) * r + 4.99999940e-1f;
  const hr_vf32 p = q * (r * r) + r + 1.0f;
  const hr_vi32 whole = (hr_vi32)shifted - (hr_vi32)magic, half = whole >> 1;
  const hr_vf32 a = (hr_vf32)((half + 127) << 23), b = (hr_vf32)((whole - half + 127) << 23);
  return p * a * b;
}

/* tanh x = x P(x^2) / Q(x^2) up to 9, where it is 1 in float. */
static inline hr_vf32 fast_tanh_f32(hr_vf32 x) {
  const hr_vf32 zero = {0}, one = zero + 1.0f;
  x = fast_pick(x > 9.0f + zero, zero + 9.0f, x);
  x = fast_pick(x < -9.0f + zero, zero - 9.0f, x);
  const hr_vf32 u = x * x;
  const hr_vf32 p = (((1.3354567e-8f * u + 2.06090092e-5f) * u + 3.4955835e-3f) * u + 1.33810217e-1f) * u + 1.0f;
  const hr_vf32 q = (((7.77651816e-7f * u + 3.28562737e-4f) * u + 2.58769644e-2f) * u + 4.67143373e-1f) * u + 1.0f;
  hr_vf32 y = x * p / q;
  y = fast_pick(y > one, one, y);
  return fast_pick(y < -one, -one, y);
}

static inline hr_vf64 fast_exp_f64(hr_vf64 x) { return HR_SLEEF_NAME(exp, HR_SLEEF_F64, u10)(x); }
static inline hr_vf64 fast_tanh_f64(hr_vf64 x) { return HR_SLEEF_NAME(tanh, HR_SLEEF_F64, u10)(x); }
#define FAST_EXP(x) HR_TYPED(fast_exp)(x)
#define FAST_TANH(x) HR_TYPED(fast_tanh)(x)
#endif
