/* SPDX-License-Identifier: Apache-2.0 */
/* The update rules on vectors of float and double, compiled once per instruction set. */
#include "base/simd_f32.h"
#include "ops/train/update.h"

/* The machine's own square root: SLEEF's is a call, which costs more than the rest of a rule. */
#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__AVX512F__)
static inline hr_vf32 root_f32(hr_vf32 x) { return (hr_vf32)_mm512_sqrt_ps((__m512)x); }
static inline hr_vf64 root_f64(hr_vf64 x) { return (hr_vf64)_mm512_sqrt_pd((__m512d)x); }
#elif defined(__AVX2__)
static inline hr_vf32 root_f32(hr_vf32 x) { return (hr_vf32)_mm256_sqrt_ps((__m256)x); }
static inline hr_vf64 root_f64(hr_vf64 x) { return (hr_vf64)_mm256_sqrt_pd((__m256d)x); }
#elif defined(__SSE2__)
static inline hr_vf32 root_f32(hr_vf32 x) { return (hr_vf32)_mm_sqrt_ps((__m128)x); }
static inline hr_vf64 root_f64(hr_vf64 x) { return (hr_vf64)_mm_sqrt_pd((__m128d)x); }
#else
static inline hr_vf32 root_f32(hr_vf32 x) { return SQRT(x); }
#include "base/simd_f64.h"
static inline hr_vf64 root_f64(hr_vf64 x) { return SQRT(x); }
#endif

#define ROOT(x) HR_TYPED(root)(x)
#define SIGN(x) SELECT((x) > K(0), K(1), SELECT((x) < K(0), K(-1), (x)*K(0)))
/* Towards zero by t; as it is when l1, which t was made of, takes nothing away. */
#define SHRINK(x, t, l1) SELECT((l1) > K(0), SIGN(x) * MAX_(ABS(x) - (t), HR_ALL(0)), x)
#define FTRL_POWER(x) (by_root ? ROOT(x) : (HR_V)POW(x, power))
#define CLIPPED(x, low, high) SELECT((x) > (high), high, SELECT((x) < (low), low, x)) /* a NaN stays one */
/* The leader's proximal step; `given` is the gradient that the linear term takes up. */
#define FTRL(given)                                                                                    \
  C next = a + g * g;                                                                                  \
  C grown = FTRL_POWER(next);                                                                          \
  C by = flag ? HR_ALL(1) : lr;                                                                        \
  C scale = flag ? lr : HR_ALL(1);                                                                     \
  b += (given) * scale - (grown - FTRL_POWER(a)) / by * x;                                             \
  C limit = l1 * scale;                                                                                \
  C pull = grown / by + K(2) * l2 * scale;                                                             \
  if (how.in_row) x = (CLIPPED(b, NEG(limit), limit) - b) / pull;                                      \
  else x = SELECT(ABS(b) > limit, (SIGN(b) * limit - b) / pull, K(0));                                 \
  a = next;

#define HR_UPDATE_REAL
#include "base/simd_f32.h"
#include "ops/train/update.inc"
#include "base/simd_f64.h"
#include "ops/train/update.inc"

const hr_update_table_t HR_ISA_NAME(hr_update_vec) = {
#define RULE(Name, ...) [RULE_##Name] = {Name##_f32, Name##_f64},
#define REAL_RULE(Name, ...) RULE(Name, )
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
};
