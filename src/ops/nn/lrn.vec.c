/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of lrn.c, compiled once per instruction set. Windows are sums of shifted rows, which vectorise, where a running sum would also
 * lose digits. */
#include "ops/nn/lrn.h"
#include "base/simd_f32.h"

static void window_sums(const hr_lrn_t* l, const float* framed, float* sums) {
  memset(sums, 0, (size_t)l->depth * sizeof *sums);
  for (int64_t d = 0; d <= 2 * l->radius; ++d)
    for (int64_t j = 0; j < l->depth; ++j) sums[j] += framed[j + d];
}

/* norm = bias + alpha (sum of squares in the window); `framed` keeps its margins. */
static void norms(const hr_lrn_t* l, const float* x, float* framed, float* norm) {
  for (int64_t j = 0; j < l->depth; ++j) framed[l->radius + j] = x[j] * x[j];
  window_sums(l, framed, norm);
  for (int64_t j = 0; j < l->depth; ++j) norm[j] = l->alpha * norm[j] + l->bias;
}

/* norm ^ -beta */
static HR_V factor(HR_V norm, float beta) {
  if (beta == 1.0f) return 1.0f / norm;
  if (beta == 0.5f) return 1.0f / SQRT(norm);
  return EXP(-beta * LOG(norm));
}

static void factors(const hr_lrn_t* l, float* norm) {
  int64_t j = 0;
  for (; j + HR_LANES <= l->depth; j += HR_LANES) HR_STORE(norm + j, factor(HR_LOAD(norm + j), l->beta));
  if (j < l->depth) HR_STORE_PART(norm + j, factor(HR_LOAD_PART(norm + j, l->depth - j, 1.0f), l->beta), l->depth - j);
}

static void forward(const hr_lrn_t* l, const float* x, int64_t rows, float* scratch, float* y) {
  float* norm = scratch + l->depth + 2 * l->radius;
  for (; rows > 0; --rows, x += l->depth, y += l->depth) {
    norms(l, x, scratch, norm);
    factors(l, norm);
    for (int64_t j = 0; j < l->depth; ++j) y[j] = x[j] * norm[j];
  }
}

static void backward(const hr_lrn_t* l, const float* dy, const float* x, const float* y, int64_t rows, float* scratch, float* dx) {
  const int64_t n = l->depth;
  const float scale = -2.0f * l->alpha * l->beta;
  float *shares = scratch + n + 2 * l->radius, *norm = shares + n + 2 * l->radius;
  for (; rows > 0; --rows, dy += n, x += n, y += n, dx += n) {
    norms(l, x, scratch, norm);
    for (int64_t j = 0; j < n; ++j) shares[l->radius + j] = dy[j] * y[j] / norm[j];
    window_sums(l, shares, dx);
    factors(l, norm);
    for (int64_t j = 0; j < n; ++j) dx[j] = dy[j] * norm[j] + scale * x[j] * dx[j];
  }
}

const hr_lrn_vec_t HR_ISA_NAME(hr_lrn_vec) = {forward, backward};
