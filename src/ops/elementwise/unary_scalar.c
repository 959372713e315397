/* SPDX-License-Identifier: Apache-2.0 */
/* SCALAR and COMPLEX bodies of unary.def: one element at a time. C's complex types have the layout of hr_c64_t and hr_c128_t. */
#include <complex.h>
#include "ops/elementwise/special.h"
#include "ops/elementwise/unary.h"

_Static_assert(sizeof(float complex) == sizeof(hr_c64_t) && sizeof(double complex) == sizeof(hr_c128_t), "complex layout");

#define SCALAR_LOOP(Name, suffix, T, expr)                                      \
  static void Name##_##suffix(const void* xs, void* ys, int64_t n) {            \
    for (int64_t i = 0; i < n; ++i) {                                           \
      const double x = (double)((const T*)xs)[i];                               \
      ((T*)ys)[i] = (T)(expr);                                                  \
    }                                                                           \
  }
/* complex64 is computed in double precision: the cost is the function's, and the result is the better for it. */
#define COMPLEX_LOOP(Name, suffix, T, expr)                                     \
  static void Name##_##suffix(const void* xs, void* ys, int64_t n) {            \
    for (int64_t i = 0; i < n; ++i) {                                           \
      const double complex x = ((const T*)xs)[i];                               \
      ((T*)ys)[i] = (T)(expr);                                                  \
    }                                                                           \
  }
#define SCALAR(Name, y)                                                                                          \
  SCALAR_LOOP(Name, f32, float, y)                                                                               \
  SCALAR_LOOP(Name, f64, double, y)                                                                              \
  static void Name##_f16(const void* xs, void* ys, int64_t n) { hr_loop1_narrow(Name##_f32, false, xs, ys, n); } \
  static void Name##_bf16(const void* xs, void* ys, int64_t n) { hr_loop1_narrow(Name##_f32, true, xs, ys, n); }
#define COMPLEX(Name, y)                  \
  COMPLEX_LOOP(Name, c64, float complex, y) \
  COMPLEX_LOOP(Name, c128, double complex, y)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"

const hr_unary_table_t hr_unary_scalar = {
#define SCALAR(Name, y)                                                                                          \
  [UNARY_##Name][HR_F32] = Name##_f32, [UNARY_##Name][HR_F64] = Name##_f64, [UNARY_##Name][HR_F16] = Name##_f16, \
  [UNARY_##Name][HR_BF16] = Name##_bf16,
#define COMPLEX(Name, y) [UNARY_##Name][HR_C64] = Name##_c64, [UNARY_##Name][HR_C128] = Name##_c128,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"
};
