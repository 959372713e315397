/* SPDX-License-Identifier: Apache-2.0 */
/* Vector code written once: the compilers' vector types at the width of the instruction set that this file is being compiled for,
 * with exp, log, tanh... mapped to SLEEF's function of that set. Included only by *.vec.c files (and the .inc they include), which
 * the build compiles once per instruction set with HR_ISA_SUFFIX defined.
 *
 * A body is an expression on HR_V (a vector of HR_T); constants are written K(0.5) so that they have the element type. Pick the
 * element type by including "base/simd_f32.h" or "base/simd_f64.h", which define HR_T, HR_V, HR_LANES and the functions. */
#ifndef HR_BASE_SIMD_H
#define HR_BASE_SIMD_H
#include <stdint.h>
#include <string.h>
#include <sleef.h>

#define HR_CAT_(a, b) a##b
#define HR_CAT(a, b) HR_CAT_(a, b)
#define HR_ISA_NAME(stem) HR_CAT(stem##_, HR_ISA_SUFFIX) /* hr_unary_vec -> hr_unary_vec_avx2 */

#if defined(__AVX512F__)
#define HR_SIMD_BYTES 64
#define HR_SLEEF_ISA avx512f
#define HR_SLEEF_F32 f16_
#define HR_SLEEF_F64 d8_
#elif defined(__AVX2__)
#define HR_SIMD_BYTES 32
#define HR_SLEEF_ISA avx2
#define HR_SLEEF_F32 f8_
#define HR_SLEEF_F64 d4_
#else
#define HR_SIMD_BYTES 16
#define HR_SLEEF_ISA sse2
#define HR_SLEEF_F32 f4_
#define HR_SLEEF_F64 d2_
#endif

typedef float hr_vf32 __attribute__((vector_size(HR_SIMD_BYTES)));
typedef int32_t hr_vi32 __attribute__((vector_size(HR_SIMD_BYTES)));
typedef double hr_vf64 __attribute__((vector_size(HR_SIMD_BYTES)));
typedef int64_t hr_vi64 __attribute__((vector_size(HR_SIMD_BYTES)));

#define HR_SLEEF_NAME(fn, width, ulp) HR_CAT(HR_CAT(HR_CAT(Sleef_##fn, width), ulp), HR_SLEEF_ISA)

/* Loads and stores at any alignment; the part forms read and write the first `n` lanes, the others are `fill`. */
#define HR_SIMD_MEMORY(V, T)                                                                         \
  static inline V HR_CAT(V, _load)(const T* p) { V v; memcpy(&v, p, sizeof v); return v; }           \
  static inline void HR_CAT(V, _store)(T* p, V v) { memcpy(p, &v, sizeof v); }                       \
  static inline V HR_CAT(V, _load_part)(const T* p, int64_t n, T fill) {                             \
    V v = fill - (V){0};                                                                             \
    memcpy(&v, p, (size_t)n * sizeof(T));                                                            \
    return v;                                                                                        \
  }                                                                                                  \
  static inline void HR_CAT(V, _store_part)(T* p, V v, int64_t n) { memcpy(p, &v, (size_t)n * sizeof(T)); } \
  static inline V HR_CAT(V, _all)(T x) { return x - (V){0}; }
HR_SIMD_MEMORY(hr_vf32, float)
HR_SIMD_MEMORY(hr_vf64, double)
#undef HR_SIMD_MEMORY
#endif
