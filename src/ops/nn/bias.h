/* SPDX-License-Identifier: Apache-2.0 */
/* The vector side of BiasAdd: loops over [outer, channels, inner, lanes], where lanes is 2 for complex types (whose parts add alike) and
 * inner is 1 when channels come last. */
#ifndef HR_OPS_NN_BIAS_H
#define HR_OPS_NN_BIAS_H
#include <stdint.h>

typedef struct {
  /* y = x + bias over `rows` rows of width elements, each row the same bias vector. */
  void (*add_rows)(const void* x, const void* bias, int64_t rows, int64_t width, void* y);
  /* y = x + bias over inner groups of `lanes` elements: one channel. */
  void (*add_plane)(const void* x, const void* bias, int64_t inner, int64_t lanes, void* y);
  /* Sums in the computing type (hr_bias_rows_t.wide bytes an element): out[width] += rows; out[lanes] += plane. */
  void (*sum_rows)(const void* x, int64_t rows, int64_t width, void* out);
  void (*sum_plane)(const void* x, int64_t inner, int64_t lanes, void* out);
  void (*add_sums)(const void* from, int64_t count, void* to); /* to += from, both wide */
  void (*finish)(const void* wide, int64_t count, void* out);  /* to the stored type */
  int64_t size, wide;                                          /* bytes of an element: stored, summed */
} hr_bias_rows_t;
typedef struct {
  hr_bias_rows_t f32, f64, f16, bf16, u8, u16, u32, u64;
} hr_bias_vec_t;
#endif
