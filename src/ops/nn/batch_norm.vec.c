/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm's loops for one instruction set, in plain C that the compiler makes vector code of: sums are kept side by side in small
 * arrays. */
#include "ops/nn/batch_norm.h"
#include "base/simd.h"

enum { ROWS_AT_ONCE = 32, LANES = 16, BLOCK = 64 };

static inline __attribute__((always_inline)) void stats_block(const float* x, const float* pivot, int64_t rows, int64_t step, int64_t n,
                                                              double* s1, double* s2) {
  float a[BLOCK] = {0}, b[BLOCK] = {0}, p[BLOCK];
  for (int64_t j = 0; j < n; ++j) p[j] = pivot[j];
  for (int64_t r = 0; r < rows; ++r, x += step) {
    for (int64_t j = 0; j < n; ++j) {
      const float d = x[j] - p[j];
      a[j] += d;
      b[j] += d * d;
    }
  }
  for (int64_t j = 0; j < n; ++j) s1[j] += (double)a[j], s2[j] += (double)b[j];
}

static void stats_wide(const float* x, const float* pivot, int64_t rows, int64_t n, double* s1, double* s2) {
  for (int64_t r = 0; r < rows; r += ROWS_AT_ONCE) {
    const int64_t here = rows - r < ROWS_AT_ONCE ? rows - r : ROWS_AT_ONCE;
    int64_t j = 0;
    for (; j + BLOCK <= n; j += BLOCK) stats_block(x + r * n + j, pivot + j, here, n, BLOCK, s1 + j, s2 + j);
    for (; j + LANES <= n; j += LANES) stats_block(x + r * n + j, pivot + j, here, n, LANES, s1 + j, s2 + j);
    if (j < n) stats_block(x + r * n + j, pivot + j, here, n, n - j, s1 + j, s2 + j);
  }
}

static inline __attribute__((always_inline)) void grad_stats_block(const float* dy, const float* x, const float* mean, int64_t rows,
                                                                   int64_t step, int64_t n, double* s1, double* s2) {
  float a[BLOCK] = {0}, b[BLOCK] = {0}, m[BLOCK];
  for (int64_t j = 0; j < n; ++j) m[j] = mean[j];
  for (int64_t r = 0; r < rows; ++r, x += step, dy += step) {
    for (int64_t j = 0; j < n; ++j) {
      a[j] += dy[j];
      b[j] += dy[j] * (x[j] - m[j]);
    }
  }
  for (int64_t j = 0; j < n; ++j) s1[j] += (double)a[j], s2[j] += (double)b[j];
}

static void grad_stats_wide(const float* dy, const float* x, const float* mean, int64_t rows, int64_t n, double* s1, double* s2) {
  for (int64_t r = 0; r < rows; r += ROWS_AT_ONCE) {
    const int64_t here = rows - r < ROWS_AT_ONCE ? rows - r : ROWS_AT_ONCE;
    int64_t j = 0;
    for (; j + BLOCK <= n; j += BLOCK) grad_stats_block(dy + r * n + j, x + r * n + j, mean + j, here, n, BLOCK, s1 + j, s2 + j);
    for (; j + LANES <= n; j += LANES) grad_stats_block(dy + r * n + j, x + r * n + j, mean + j, here, n, LANES, s1 + j, s2 + j);
    if (j < n) grad_stats_block(dy + r * n + j, x + r * n + j, mean + j, here, n, n - j, s1 + j, s2 + j);
  }
}

/* Few channels: several rows are taken as one of BLOCK elements, so that sums that wait for each other are far enough apart. */
static int64_t widen_rows(int64_t n, const float* pivot, float wide[BLOCK]) {
  const int64_t times = n < BLOCK && BLOCK % n == 0 ? BLOCK / n : 1;
  for (int64_t j = 0; times > 1 && j < BLOCK; ++j) wide[j] = pivot[j % n];
  return times;
}

static void narrow_sums(const double a[BLOCK], const double b[BLOCK], int64_t n, double* s1, double* s2) {
  for (int64_t j = 0; j < BLOCK; ++j) s1[j % n] += a[j], s2[j % n] += b[j];
}

static void stats_rows(const float* x, const float* pivot, int64_t rows, int64_t n, double* s1, double* s2) {
  float wide[BLOCK];
  const int64_t times = widen_rows(n, pivot, wide), whole = rows / times * times;
  if (times > 1 && whole) {
    double a[BLOCK] = {0}, b[BLOCK] = {0};
    stats_wide(x, wide, whole / times, BLOCK, a, b);
    narrow_sums(a, b, n, s1, s2);
    x += whole * n;
    rows -= whole;
  }
  if (rows) stats_wide(x, pivot, rows, n, s1, s2);
}

static void grad_stats_rows(const float* dy, const float* x, const float* mean, int64_t rows, int64_t n, double* s1, double* s2) {
  float wide[BLOCK];
  const int64_t times = widen_rows(n, mean, wide), whole = rows / times * times;
  if (times > 1 && whole) {
    double a[BLOCK] = {0}, b[BLOCK] = {0};
    grad_stats_wide(dy, x, wide, whole / times, BLOCK, a, b);
    narrow_sums(a, b, n, s1, s2);
    x += whole * n;
    dy += whole * n;
    rows -= whole;
  }
  if (rows) grad_stats_wide(dy, x, mean, rows, n, s1, s2);
}

/* A plane is summed as rows of LANES elements, all with the same pivot; the lanes' sums are added at the end. */
static void fold_lanes(const double a[LANES], const double b[LANES], double* s1, double* s2) {
  for (int j = 0; j < LANES; ++j) *s1 += a[j], *s2 += b[j];
}

static void stats_plane(const float* x, float pivot, int64_t n, double* s1, double* s2) {
  float p[LANES];
  double a[LANES] = {0}, b[LANES] = {0};
  for (int j = 0; j < LANES; ++j) p[j] = pivot;
  stats_rows(x, p, n / LANES, LANES, a, b);
  stats_block(x + n / LANES * LANES, p, 1, 0, n % LANES, a, b);
  fold_lanes(a, b, s1, s2);
}

static void grad_stats_plane(const float* dy, const float* x, float mean, int64_t n, double* s1, double* s2) {
  float p[LANES];
  double a[LANES] = {0}, b[LANES] = {0};
  const int64_t whole = n / LANES * LANES;
  for (int j = 0; j < LANES; ++j) p[j] = mean;
  grad_stats_rows(dy, x, p, n / LANES, LANES, a, b);
  grad_stats_block(dy + whole, x + whole, p, 1, 0, n % LANES, a, b);
  fold_lanes(a, b, s1, s2);
}

static void apply_rows(const float* x, const float* mean, const float* scale, const float* offset, int64_t rows, int64_t n, float* y) {
  const float* restrict m = mean;
  const float* restrict s = scale;
  const float* restrict o = offset;
  for (int64_t r = 0; r < rows; ++r, x += n, y += n)
    for (int64_t j = 0; j < n; ++j) y[j] = (x[j] - m[j]) * s[j] + o[j];
}

static void apply_plane(const float* x, float mean, float scale, float offset, int64_t n, float* y) {
  for (int64_t j = 0; j < n; ++j) y[j] = (x[j] - mean) * scale + offset;
}

static void grad_apply_rows(const float* dy, const float* x, const float* mean, const float* a, const float* b, const float* c,
                            int64_t rows, int64_t n, float* dx) {
  for (int64_t r = 0; r < rows; ++r, x += n, dy += n, dx += n) {
    float* restrict to = dx;
    for (int64_t j = 0; j < n; ++j) to[j] = a[j] * (dy[j] - b[j] - (x[j] - mean[j]) * c[j]);
  }
}

static void grad_apply_plane(const float* dy, const float* x, float mean, float a, float b, float c, int64_t n, float* dx) {
  for (int64_t j = 0; j < n; ++j) dx[j] = a * (dy[j] - b - (x[j] - mean) * c);
}

extern const hr_batch_norm_vec_t HR_ISA_NAME(hr_batch_norm_vec);
const hr_batch_norm_vec_t HR_ISA_NAME(hr_batch_norm_vec) = {stats_rows, stats_plane, grad_stats_rows, grad_stats_plane,
                                                            apply_rows, apply_plane, grad_apply_rows, grad_apply_plane};
