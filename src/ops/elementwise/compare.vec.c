/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of compare.def, compiled once per instruction set; the compiler makes vectors of these loops by itself. */
#include <complex.h>
#include "base/simd.h"
#include "ops/elementwise/compare.h"

#define COMPARE(Name, sig, attrs, types, flags, expr, complex_expr)                                          \
  HR_LOOP2(Name, f32, float, bool, expr) HR_LOOP2(Name, f64, double, bool, expr)                             \
  HR_LOOP2(Name, i8, int8_t, bool, expr) HR_LOOP2(Name, i16, int16_t, bool, expr)                            \
  HR_LOOP2(Name, i32, int32_t, bool, expr) HR_LOOP2(Name, i64, int64_t, bool, expr)                          \
  HR_LOOP2(Name, u8, uint8_t, bool, expr) HR_LOOP2(Name, u16, uint16_t, bool, expr)                          \
  HR_LOOP2(Name, u32, uint32_t, bool, expr) HR_LOOP2(Name, u64, uint64_t, bool, expr)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/compare.def"

/* 16-bit floats compare as floats. */
#define NARROW_FORM(Name, suffix, type, widen, form, xi, yi, expr)                            \
  static void Name##_##suffix##form(const void* xs, const void* ys, void* zs, int64_t n) {    \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      const float x = widen(((const type*)xs)[xi]), y = widen(((const type*)ys)[yi]);         \
      ((bool*)zs)[i] = expr;                                                                  \
    }                                                                                         \
  }
#define NARROW(Name, suffix, type, widen, expr)                \
  NARROW_FORM(Name, suffix, type, widen, , i, i, expr)         \
  NARROW_FORM(Name, suffix, type, widen, _x_stays, 0, i, expr) \
  NARROW_FORM(Name, suffix, type, widen, _y_stays, i, 0, expr)
#define COMPARE(Name, sig, attrs, types, flags, expr, complex_expr) \
  NARROW(Name, f16, hr_f16_t, hr_f16_to_f32, expr) NARROW(Name, bf16, hr_bf16_t, hr_bf16_to_f32, expr)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/compare.def"

#define USED(x, y) ((void)(x), (void)(y))
#define COMPARE(Name, sig, attrs, types, flags, expr, complex_expr)                        \
  HR_LOOP2(Name, c64, float complex, bool, (USED(x, y), complex_expr))                     \
  HR_LOOP2(Name, c128, double complex, bool, (USED(x, y), complex_expr))
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/compare.def"

#define ENTRY(Name, ID, suffix) [COMPARE_##Name][HR_##ID] = HR_LOOP2_FORMS(Name, suffix),
const hr_compare_table_t HR_ISA_NAME(hr_compare_vec) = {
#define COMPARE(Name, sig, attrs, types, flags, expr, complex_expr)                                                           \
  ENTRY(Name, F32, f32) ENTRY(Name, F64, f64) ENTRY(Name, F16, f16) ENTRY(Name, BF16, bf16) ENTRY(Name, C64, c64)             \
  ENTRY(Name, C128, c128) ENTRY(Name, I8, i8) ENTRY(Name, I16, i16) ENTRY(Name, I32, i32) ENTRY(Name, I64, i64)               \
  ENTRY(Name, U8, u8) ENTRY(Name, U16, u16) ENTRY(Name, U32, u32) ENTRY(Name, U64, u64) ENTRY(Name, BOOL, u8)                 \
  ENTRY(Name, QI8, i8) ENTRY(Name, QU8, u8) ENTRY(Name, QI32, i32) ENTRY(Name, QI16, i16) ENTRY(Name, QU16, u16)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/compare.def"
};
