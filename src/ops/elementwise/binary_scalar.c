/* SPDX-License-Identifier: Apache-2.0 */
/* SCALAR, NEXT and COMPLEX bodies of binary.def: one element at a time. */
#include <complex.h>
#include <math.h>
#include "ops/elementwise/binary.h"
#include "ops/elementwise/special.h"

#define SCALAR_FORM(Name, suffix, T, form, xi, yi, expr)                                     \
  static void Name##_##suffix##form(const void* xs, const void* ys, void* zs, int64_t n) {   \
    for (int64_t i = 0; i < n; ++i) {                                                        \
      const double x = (double)((const T*)xs)[xi], y = (double)((const T*)ys)[yi];           \
      ((T*)zs)[i] = (T)(expr);                                                               \
    }                                                                                        \
  }
#define SCALAR_LOOPS(Name, suffix, T, expr)           \
  SCALAR_FORM(Name, suffix, T, , i, i, expr)          \
  SCALAR_FORM(Name, suffix, T, _x_stays, 0, i, expr)  \
  SCALAR_FORM(Name, suffix, T, _y_stays, i, 0, expr)

#define SCALAR(Name, z)                                                                                  \
  SCALAR_LOOPS(Name, f32, float, z) SCALAR_LOOPS(Name, f64, double, z)                                   \
  HR_LOOP2_NARROW(Name, f16, false) HR_LOOP2_NARROW(Name, bf16, true)
#define NEXT(Name) HR_LOOP2(Name, f32, float, float, nextafterf(x, y)) HR_LOOP2(Name, f64, double, double, nextafter(x, y))
#define COMPLEX(Name, z) HR_LOOP2(Name, c64, float complex, float complex, z) HR_LOOP2(Name, c128, double complex, double complex, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"

#define ENTRY(Name, ID, suffix) [BINARY_##Name][HR_##ID] = HR_LOOP2_FORMS(Name, suffix),
const hr_binary_table_t hr_binary_scalar = {
#define SCALAR(Name, z) ENTRY(Name, F32, f32) ENTRY(Name, F64, f64) ENTRY(Name, F16, f16) ENTRY(Name, BF16, bf16)
#define NEXT(Name) ENTRY(Name, F32, f32) ENTRY(Name, F64, f64)
#define COMPLEX(Name, z) ENTRY(Name, C64, c64) ENTRY(Name, C128, c128)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
};
