/* SPDX-License-Identifier: Apache-2.0 */
/* The loops that element-wise families are made of: a function over n contiguous elements, in a table by op and element type, one
 * table per instruction set. half and bfloat16 run their family's float loop on converted blocks. */
#ifndef HR_OPS_ELEMENTWISE_LOOPS_H
#define HR_OPS_ELEMENTWISE_LOOPS_H
#include "op/kernel_ctx.h"
#ifdef __F16C__
#include <immintrin.h>
#endif

typedef void (*hr_loop1_t)(const void* x, void* y, int64_t n);
typedef void (*hr_loop2_t)(const void* x, const void* y, void* z, int64_t n);

enum { HR_LOOP_BLOCK = 512 }; /* elements converted at a time */
#ifdef __F16C__ /* in *.vec.c files: eight at a time; gives how many were done, the rest goes one by one */
static inline int64_t hr_loop_widen_f16(const uint16_t* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(const void*)(from + i))));
  return i;
}
static inline int64_t hr_loop_narrow_f16(const float* from, uint16_t* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i*)(void*)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#else
static inline int64_t hr_loop_widen_f16(const uint16_t* from, float* to, int64_t n) { return (void)from, (void)to, (void)n, 0; }
static inline int64_t hr_loop_narrow_f16(const float* from, uint16_t* to, int64_t n) { return (void)from, (void)to, (void)n, 0; }
#endif
static inline void hr_loop_widen(bool bf16, const uint16_t* from, float* to, int64_t n) {
  if (bf16)
    for (int64_t i = 0; i < n; ++i) to[i] = hr_bf16_to_f32((hr_bf16_t){from[i]});
  else
    for (int64_t i = hr_loop_widen_f16(from, to, n); i < n; ++i) to[i] = hr_f16_to_f32((hr_f16_t){from[i]});
}
static inline void hr_loop_narrow(bool bf16, const float* from, uint16_t* to, int64_t n) {
  if (bf16)
    for (int64_t i = 0; i < n; ++i) to[i] = hr_bf16_from_f32(from[i]).bits;
  else
    for (int64_t i = hr_loop_narrow_f16(from, to, n); i < n; ++i) to[i] = hr_f16_from_f32(from[i]).bits;
}
/* Runs a float loop over 16-bit floats. */
static inline void hr_loop1_narrow(hr_loop1_t loop, bool bf16, const void* x, void* y, int64_t n) {
  float xs[HR_LOOP_BLOCK], ys[HR_LOOP_BLOCK];
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    hr_loop_widen(bf16, (const uint16_t*)x + i, xs, m);
    loop(xs, ys, m);
    hr_loop_narrow(bf16, ys, (uint16_t*)y + i, m);
  }
}
static inline void hr_loop2_narrow(hr_loop2_t loop, bool bf16, const void* x, const void* y, void* z, int64_t n) {
  float xs[HR_LOOP_BLOCK], ys[HR_LOOP_BLOCK], zs[HR_LOOP_BLOCK];
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    hr_loop_widen(bf16, (const uint16_t*)x + i, xs, m);
    hr_loop_widen(bf16, (const uint16_t*)y + i, ys, m);
    loop(xs, ys, zs, m);
    hr_loop_narrow(bf16, zs, (uint16_t*)z + i, m);
  }
}
/* The same where one operand is a single number. */
static inline void hr_loop2_narrow_x_stays(hr_loop2_t loop, bool bf16, const void* x, const void* y, void* z, int64_t n) {
  float x0, ys[HR_LOOP_BLOCK], zs[HR_LOOP_BLOCK];
  hr_loop_widen(bf16, x, &x0, 1);
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    hr_loop_widen(bf16, (const uint16_t*)y + i, ys, m);
    loop(&x0, ys, zs, m);
    hr_loop_narrow(bf16, zs, (uint16_t*)z + i, m);
  }
}
static inline void hr_loop2_narrow_y_stays(hr_loop2_t loop, bool bf16, const void* x, const void* y, void* z, int64_t n) {
  float y0, xs[HR_LOOP_BLOCK], zs[HR_LOOP_BLOCK];
  hr_loop_widen(bf16, y, &y0, 1);
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    hr_loop_widen(bf16, (const uint16_t*)x + i, xs, m);
    loop(xs, &y0, zs, m);
    hr_loop_narrow(bf16, zs, (uint16_t*)z + i, m);
  }
}
#endif
