/* SPDX-License-Identifier: Apache-2.0 */
/* The update rules on complex numbers, one at a time; and the way of 16-bit floats through the float loops. */
#include <complex.h>
#include "ops/elementwise/loops.h"
#include "ops/train/update.h"

#define HR_CAT_(a, b) a##b
#define HR_CAT(a, b) HR_CAT_(a, b)
#define HR_TYPED(stem) HR_CAT(stem##_, SUFFIX)
#define HR_V HR_T
#define HR_LANES 1
#define HR_ALL(x) (x)
#define HR_LOAD(p) (*(p))
#define HR_STORE(p, v) (*(p) = (v))
#define HR_LOAD_PART(p, n, fill) (*(p)) /* a lane is an element: no part is ever left */
#define HR_STORE_PART(p, v, n) (*(p) = (v))
#define K(x) (x)

#define HR_T float complex
#define SUFFIX c64
#define ROOT(x) csqrtf(x)
#include "ops/train/update.inc"
#undef HR_T
#undef SUFFIX
#undef ROOT
#define HR_T double complex
#define SUFFIX c128
#define ROOT(x) csqrt(x)
#include "ops/train/update.inc"

const hr_update_table_t hr_update_complex = {
#define RULE(Name, ...) [RULE_##Name] = {Name##_c64, Name##_c128},
#include "ops/train/no_rows.h"
#include "ops/train/train.def"
};

void hr_update_narrow(hr_update_t loop, bool bf16, int count, void* const* at, const void* grad, const void* hyper, hr_update_how_t how,
                      int64_t n) {
  float wide[HR_UPDATE_VARIABLES][HR_LOOP_BLOCK], g[HR_LOOP_BLOCK];
  void* wide_at[HR_UPDATE_VARIABLES];
  for (int v = 0; v < count; ++v) wide_at[v] = wide[v];
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    const int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    for (int v = 0; v < count; ++v) hr_loop_widen(bf16, (const uint16_t*)at[v] + i, wide[v], m);
    hr_loop_widen(bf16, (const uint16_t*)grad + i, g, m);
    loop(wide_at, g, hyper, how, m);
    for (int v = 0; v < count; ++v) hr_loop_narrow(bf16, wide[v], (uint16_t*)at[v] + i, m);
  }
}
