/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of epilogue.c for one instruction set. The loops are plain C that the compiler turns into vector code: each activation has its
 * own loop, so that no choice is left inside. */
#include "ops/math/matmul/epilogue.h"
#include <math.h>
#include "base/simd.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define HR_T        float
#define HR_NAME(x)  HR_CAT(x, _f32)
#define HR_EXP(x)   expf(x)
#define HR_EXPM1(x) expm1f(x)
#define HR_TANH(x)  tanhf(x)
#include "ops/math/matmul/epilogue.inc"
#define HR_T        double
#define HR_NAME(x)  HR_CAT(x, _f64)
#define HR_EXP(x)   exp(x)
#define HR_EXPM1(x) expm1(x)
#define HR_TANH(x)  tanh(x)
#include "ops/math/matmul/epilogue.inc"

static void widen(hr_dtype_t type, const void* from, float* to, int64_t count) {
  int64_t i = 0;
  if (type == HR_BF16) {
    for (; i < count; ++i) to[i] = hr_bf16_to_f32(((const hr_bf16_t*)from)[i]);
    return;
  }
#if defined(__AVX2__)
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)((const uint16_t*)from + i))));
#endif
  for (; i < count; ++i) to[i] = hr_f16_to_f32(((const hr_f16_t*)from)[i]);
}

static void narrow(hr_dtype_t type, const float* from, void* to, int64_t count) {
  int64_t i = 0;
  if (type == HR_BF16) {
    for (; i < count; ++i) ((hr_bf16_t*)to)[i] = hr_bf16_from_f32(from[i]);
    return;
  }
#if defined(__AVX2__)
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128((__m128i*)((uint16_t*)to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  for (; i < count; ++i) ((hr_f16_t*)to)[i] = hr_f16_from_f32(from[i]);
}

extern const hr_epilogue_vec_t HR_ISA_NAME(hr_epilogue_vec);
const hr_epilogue_vec_t HR_ISA_NAME(hr_epilogue_vec) = {rows_f32, rows_f64, widen, narrow};
