/* SPDX-License-Identifier: Apache-2.0 */
/* Ftrl on half and bfloat16, rounded after each operation as TensorFlow does. The rule takes the difference of two powers that are nearly
 * equal: computed in float it would be more exact, and visibly another result. */
#include <math.h>
#include "base/half.h"
#include "ops/train/update.h"

static float rounded(bool bf16, double x) {
  return bf16 ? hr_bf16_to_f32(hr_bf16_from_f32((float)x)) : hr_f16_to_f32(hr_f16_from_f32((float)x));
}
static float read_at(bool bf16, const void* from, int64_t i) {
  const uint16_t bits = ((const uint16_t*)from)[i];
  return bf16 ? hr_bf16_to_f32((hr_bf16_t){bits}) : hr_f16_to_f32((hr_f16_t){bits});
}
static void write_at(bool bf16, void* to, int64_t i, float x) {
  ((uint16_t*)to)[i] = bf16 ? hr_bf16_from_f32(x).bits : hr_f16_from_f32(x).bits;
}

#define R(x) rounded(bf16, x)
typedef struct { float lr, l1, l2, shrinkage, power; bool by_lr, in_row; } ftrl_t;

static float raised(bool bf16, float x, float power) { return R(power == 0.5f ? sqrtf(x) : powf(x, power)); }

/* The linear term's way back to its limit; within that there is none. */
static float weight(const ftrl_t* f, bool bf16, float b, float limit, float pull) {
  if (f->in_row) return R(R((b > limit ? limit : b < -limit ? -limit : b) - b) / pull);
  return fabsf(b) > limit ? R(R((b > 0 ? limit : b < 0 ? -limit : 0) - b) / pull) : 0;
}

static void step(const ftrl_t* f, bool bf16, void* const* at, int64_t i, float g) {
  const float x = read_at(bf16, at[0], i), a = read_at(bf16, at[1], i), next = R(a + R(g * g));
  const float given = f->shrinkage != 0 ? R(g + R(R(2 * f->shrinkage) * x)) : g;
  const float grown = raised(bf16, next, f->power), change = R(grown - raised(bf16, a, f->power));
  float b = read_at(bf16, at[2], i), pull, limit;
  if (f->by_lr) {
    b = R(b + R(R(given * f->lr) - R(change * x)));
    limit = R(f->l1 * f->lr);
    pull = R(grown + R(R(2 * f->l2) * f->lr));
  } else {
    b = R(b + R(given - R(R(change / f->lr) * x)));
    limit = f->l1;
    pull = R(R(grown / f->lr) + R(2 * f->l2));
  }
  write_at(bf16, at[0], i, weight(f, bf16, b, limit, pull));
  write_at(bf16, at[1], i, next);
  write_at(bf16, at[2], i, b);
}

void hr_update_ftrl_narrow(bool bf16, bool has_shrinkage, void* const* at, const void* grad, const void* hyper, hr_update_how_t how,
                           int64_t n) {
  const float* h = hyper;
  const ftrl_t f = {h[0], h[1], h[2], has_shrinkage ? h[3] : 0, -h[has_shrinkage ? 4 : 3], how.flag, how.in_row};
  for (int64_t i = 0; i < n; ++i) step(&f, bf16, at, i, read_at(bf16, grad, i));
}
