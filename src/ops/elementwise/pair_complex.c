/* SPDX-License-Identifier: Apache-2.0 */
/* COMPLEX bodies of pair.def. */
#include <complex.h>
#include "ops/elementwise/pair.h"

#define LOOP(Name, suffix, T, expr)                                                       \
  static void Name##_##suffix(const void* xs, const void* ys, void* zs, int64_t n) {      \
    for (int64_t i = 0; i < n; ++i) {                                                     \
      const double complex x = ((const T*)xs)[i], y = ((const T*)ys)[i];                  \
      ((T*)zs)[i] = (T)(expr);                                                            \
    }                                                                                     \
  }
#define COMPLEX(Name, z) LOOP(Name, c64, float complex, z) LOOP(Name, c128, double complex, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"

const hr_pair_table_t hr_pair_complex = {
#define COMPLEX(Name, z) [PAIR_##Name][HR_C64] = Name##_c64, [PAIR_##Name][HR_C128] = Name##_c128,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"
};
