/* SPDX-License-Identifier: Apache-2.0 */
/* Inside batch norm: the vector side (batch_norm.vec.c) in float. Rows: channels last; planes: one channel of one image. Sums go to
 * doubles, a few rows at a time in float. */
#ifndef HR_OPS_NN_BATCH_NORM_H
#define HR_OPS_NN_BATCH_NORM_H
#include <stdint.h>

typedef struct {
  /* s1 += sum(x - pivot), s2 += sum((x - pivot)^2) */
  void (*stats_rows)(const float* x, const float* pivot, int64_t rows, int64_t n, double* s1, double* s2);
  void (*stats_plane)(const float* x, float pivot, int64_t n, double* s1, double* s2);
  /* s1 += sum(dy), s2 += sum(dy (x - mean)) */
  void (*grad_stats_rows)(const float* dy, const float* x, const float* mean, int64_t rows, int64_t n, double* s1, double* s2);
  void (*grad_stats_plane)(const float* dy, const float* x, float mean, int64_t n, double* s1, double* s2);
  /* y = (x - mean) scale + offset */
  void (*apply_rows)(const float* x, const float* mean, const float* scale, const float* offset, int64_t rows, int64_t n, float* y);
  void (*apply_plane)(const float* x, float mean, float scale, float offset, int64_t n, float* y);
  /* dx = a (dy - b - (x - mean) c) */
  void (*grad_apply_rows)(const float* dy, const float* x, const float* mean, const float* a, const float* b, const float* c, int64_t rows,
                          int64_t n, float* dx);
  void (*grad_apply_plane)(const float* dy, const float* x, float mean, float a, float b, float c, int64_t n, float* dx);
} hr_batch_norm_vec_t;
#endif
