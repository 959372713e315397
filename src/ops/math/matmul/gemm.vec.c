/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product's inner code for one instruction set: a family per element type that sums, made from gemm_real.inc (four) and
 * gemm_complex.inc (two). Fused multiply-add is asked for by name, since the build forbids the compiler to contract. */
#include "ops/math/matmul/gemm.h"
#include <string.h>
#include "base/simd.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef uint32_t gemm_vu32 __attribute__((vector_size(HR_SIMD_BYTES)));
typedef uint64_t gemm_vu64 __attribute__((vector_size(HR_SIMD_BYTES)));

#if defined(__AVX512F__)
static inline hr_vf32 fma_f32(float a, hr_vf32 b, hr_vf32 c) { return (hr_vf32)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c); }
static inline hr_vf64 fma_f64(double a, hr_vf64 b, hr_vf64 c) {
  return (hr_vf64)_mm512_fmadd_pd(_mm512_set1_pd(a), (__m512d)b, (__m512d)c);
}
#elif defined(__AVX2__)
static inline hr_vf32 fma_f32(float a, hr_vf32 b, hr_vf32 c) { return (hr_vf32)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c); }
static inline hr_vf64 fma_f64(double a, hr_vf64 b, hr_vf64 c) {
  return (hr_vf64)_mm256_fmadd_pd(_mm256_set1_pd(a), (__m256d)b, (__m256d)c);
}
#else
static inline hr_vf32 fma_f32(float a, hr_vf32 b, hr_vf32 c) { return a * b + c; }
static inline hr_vf64 fma_f64(double a, hr_vf64 b, hr_vf64 c) { return a * b + c; }
#endif
static inline gemm_vu32 fma_u32(uint32_t a, gemm_vu32 b, gemm_vu32 c) { return a * b + c; }
static inline gemm_vu64 fma_u64(uint64_t a, gemm_vu64 b, gemm_vu64 c) { return a * b + c; }

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/* How many of `all` columns or rows of `line_bytes` bytes each fit in `budget`, in whole panels. */
static int64_t block_of(int64_t all, int64_t line_bytes, int64_t budget, int64_t panel) {
  const int64_t fit = budget / line_bytes / panel * panel, most = round_up(all, panel);
  return fit < panel ? panel : fit < most ? fit : most;
}

/* Copies `count` elements to and from the element type that sums; S is the stored type, expression in x. */
#define GATHER(S, expression)                                           \
  for (int64_t i = 0; i < count; ++i) {                                 \
    const S x = ((const S*)from)[i * from_step];                        \
    to[i * to_step] = expression;                                       \
  }                                                                     \
  break
#define SCATTER(S, zero, expression)                                    \
  for (int64_t i = 0; i < count; ++i) {                                 \
    const S old = add ? ((S*)to)[i] : zero;                             \
    ((S*)to)[i] = expression;                                           \
  }                                                                     \
  break

#define HR_T float
#define HR_V hr_vf32
#define HR_FMA fma_f32
#define HR_OWN HR_F32
#define HR_NAME(x) HR_CAT(x, _f32)
#define HR_GATHERS                                       \
  case HR_F16: GATHER(hr_f16_t, hr_f16_to_f32(x));       \
  case HR_BF16: GATHER(hr_bf16_t, hr_bf16_to_f32(x));    \
  default: GATHER(float, x);
#define HR_SCATTERS                                                                                          \
  case HR_F16: SCATTER(hr_f16_t, (hr_f16_t){0}, hr_f16_from_f32(add ? hr_f16_to_f32(old) + from[i] : from[i])); \
  case HR_BF16: SCATTER(hr_bf16_t, (hr_bf16_t){0}, hr_bf16_from_f32(add ? hr_bf16_to_f32(old) + from[i] : from[i])); \
  default: SCATTER(float, 0.0f, add ? old + from[i] : from[i]);
#include "ops/math/matmul/gemm_real.inc"

#define HR_T double
#define HR_V hr_vf64
#define HR_FMA fma_f64
#define HR_OWN HR_F64
#define HR_NAME(x) HR_CAT(x, _f64)
#define HR_GATHERS default: GATHER(double, x);
#define HR_SCATTERS default: SCATTER(double, 0.0, add ? old + from[i] : from[i]);
#include "ops/math/matmul/gemm_real.inc"

#define HR_T uint32_t
#define HR_V gemm_vu32
#define HR_FMA fma_u32
#define HR_OWN HR_U32
#define HR_NAME(x) HR_CAT(x, _u32)
#define HR_GATHERS                                  \
  case HR_I8: GATHER(int8_t, (uint32_t)x);          \
  case HR_U8: GATHER(uint8_t, (uint32_t)x);         \
  case HR_I16: GATHER(int16_t, (uint32_t)x);        \
  case HR_U16: GATHER(uint16_t, (uint32_t)x);       \
  default: GATHER(uint32_t, x);
#define HR_SCATTERS                                                                                   \
  case HR_I8: case HR_U8: SCATTER(uint8_t, 0, (uint8_t)((uint32_t)old + from[i]));                    \
  case HR_I16: case HR_U16: SCATTER(uint16_t, 0, (uint16_t)((uint32_t)old + from[i]));                \
  default: SCATTER(uint32_t, 0, old + from[i]);
#include "ops/math/matmul/gemm_real.inc"

#define HR_T uint64_t
#define HR_V gemm_vu64
#define HR_FMA fma_u64
#define HR_OWN HR_U64
#define HR_NAME(x) HR_CAT(x, _u64)
#define HR_GATHERS default: GATHER(uint64_t, x);
#define HR_SCATTERS default: SCATTER(uint64_t, 0, old + from[i]);
#include "ops/math/matmul/gemm_real.inc"

#define HR_T float
#define HR_C hr_c64_t
#define HR_V hr_vf32
#define HR_FMA fma_f32
#define HR_NAME(x) HR_CAT(x, _c64)
#include "ops/math/matmul/gemm_complex.inc"

#define HR_T double
#define HR_C hr_c128_t
#define HR_V hr_vf64
#define HR_FMA fma_f64
#define HR_NAME(x) HR_CAT(x, _c128)
#include "ops/math/matmul/gemm_complex.inc"

extern const hr_gemm_vec_t HR_ISA_NAME(hr_gemm_vec);
const hr_gemm_vec_t HR_ISA_NAME(hr_gemm_vec) = {
    .scratch_bytes = {scratch_bytes_f32, scratch_bytes_f64, scratch_bytes_u32, scratch_bytes_u64, scratch_bytes_c64, scratch_bytes_c128},
    .serial = {serial_f32, serial_f64, serial_u32, serial_u64, serial_c64, serial_c128}};
