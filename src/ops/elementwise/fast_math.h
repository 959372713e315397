/* SPDX-License-Identifier: Apache-2.0 */
/* exp and tanh on vectors of float as inlined polynomials (and a maximum that skips NaN), a few units in the last place from the truth,
 * several times as fast as a call that answers within one. double keeps SLEEF's functions. Coefficients are least-squares fits made
 * equiripple by reweighting, of relative error below 3e-8. Infinities, NaN and denormal results come out right. Include after
 * base/simd_f32.h or simd_f64.h; use HR_TYPED(fast_exp)(x). */
#ifndef HR_OPS_ELEMENTWISE_FAST_MATH_H
#define HR_OPS_ELEMENTWISE_FAST_MATH_H
#include "base/simd.h"

#include <immintrin.h>

/* x when either is NaN: instructions give their second operand then. a * b + c is rounded once where there is an instruction for it. */
#if defined(__AVX512F__)
static inline hr_vf32 fast_min_f32(hr_vf32 a, hr_vf32 x) { return (hr_vf32)_mm512_min_ps((__m512)a, (__m512)x); }
static inline hr_vf32 fast_max_f32(hr_vf32 a, hr_vf32 x) { return (hr_vf32)_mm512_max_ps((__m512)a, (__m512)x); }
static inline hr_vf64 fast_max_f64(hr_vf64 a, hr_vf64 x) { return (hr_vf64)_mm512_max_pd((__m512d)a, (__m512d)x); }
static inline hr_vf32 fast_fma(hr_vf32 a, hr_vf32 b, hr_vf32 c) { return (hr_vf32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(__AVX2__)
static inline hr_vf32 fast_min_f32(hr_vf32 a, hr_vf32 x) { return (hr_vf32)_mm256_min_ps((__m256)a, (__m256)x); }
static inline hr_vf32 fast_max_f32(hr_vf32 a, hr_vf32 x) { return (hr_vf32)_mm256_max_ps((__m256)a, (__m256)x); }
static inline hr_vf64 fast_max_f64(hr_vf64 a, hr_vf64 x) { return (hr_vf64)_mm256_max_pd((__m256d)a, (__m256d)x); }
static inline hr_vf32 fast_fma(hr_vf32 a, hr_vf32 b, hr_vf32 c) { return (hr_vf32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#else
static inline hr_vf32 fast_min_f32(hr_vf32 a, hr_vf32 x) { return (hr_vf32)_mm_min_ps((__m128)a, (__m128)x); }
static inline hr_vf32 fast_max_f32(hr_vf32 a, hr_vf32 x) { return (hr_vf32)_mm_max_ps((__m128)a, (__m128)x); }
static inline hr_vf64 fast_max_f64(hr_vf64 a, hr_vf64 x) { return (hr_vf64)_mm_max_pd((__m128d)a, (__m128d)x); }
static inline hr_vf32 fast_fma(hr_vf32 a, hr_vf32 b, hr_vf32 c) { return a * b + c; }
#endif
static inline hr_vf32 fast_all(float x) { return x - (hr_vf32){0}; }

/* exp x = 2^n exp r with n = rint(x / log 2) and |r| <= log 2 / 2; 2^n in two factors, so that results below the normal numbers are rounded
 * once. */
static inline hr_vf32 fast_exp_f32(hr_vf32 x) {
  const hr_vf32 magic = fast_all(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
  x = fast_max_f32(fast_all(-104.0f), fast_min_f32(fast_all(89.0f), x));
  const hr_vf32 shifted = fast_fma(x, fast_all(1.44269504f), magic), n = shifted - magic;
  /* log 2 in two parts, the first exact in few bits */
  const hr_vf32 r = fast_fma(n, fast_all(2.12194440e-4f), fast_fma(n, fast_all(-0.693359375f), x));
  hr_vf32 q = fast_fma(fast_all(1.38131424e-3f), r, fast_all(8.36941879e-3f));
  q = fast_fma(q, r, fast_all(4.16684560e-2f));
  q = fast_fma(q, r, fast_all(1.66665152e-1f));
  q = fast_fma(q, r, fast_all(4.99999940e-1f));
  const hr_vf32 p = fast_fma(q, r * r, r) + 1.0f;
  const hr_vi32 whole = (hr_vi32)shifted - (hr_vi32)magic, half = whole >> 1;
  const hr_vf32 a = (hr_vf32)((half + 127) << 23), b = (hr_vf32)((whole - half + 127) << 23);
  return p * a * b;
}

/* tanh x = x P(x^2) / Q(x^2) up to 9, where it is 1 in float. */
static inline hr_vf32 fast_tanh_f32(hr_vf32 x) {
  x = fast_max_f32(fast_all(-9.0f), fast_min_f32(fast_all(9.0f), x));
  const hr_vf32 u = x * x;
  hr_vf32 p = fast_fma(fast_all(1.3354567e-8f), u, fast_all(2.06090092e-5f)),
          q = fast_fma(fast_all(7.77651816e-7f), u, fast_all(3.28562737e-4f));
  p = fast_fma(p, u, fast_all(3.4955835e-3f));
  q = fast_fma(q, u, fast_all(2.58769644e-2f));
  p = fast_fma(p, u, fast_all(1.33810217e-1f));
  q = fast_fma(q, u, fast_all(4.67143373e-1f));
  p = fast_fma(p, u, fast_all(1.0f));
  q = fast_fma(q, u, fast_all(1.0f));
  return fast_max_f32(fast_all(-1.0f), fast_min_f32(fast_all(1.0f), x * p / q));
}

static inline hr_vf64 fast_exp_f64(hr_vf64 x) { return HR_SLEEF_NAME(exp, HR_SLEEF_F64, u10)(x); }
static inline hr_vf64 fast_tanh_f64(hr_vf64 x) { return HR_SLEEF_NAME(tanh, HR_SLEEF_F64, u10)(x); }
#define FAST_EXP(x) HR_TYPED(fast_exp)(x)
#define FAST_TANH(x) HR_TYPED(fast_tanh)(x)
#endif
