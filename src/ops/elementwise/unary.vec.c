/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT and INTEGER bodies of unary.def, compiled once per instruction set. */
#include "ops/elementwise/unary.h"
#include "base/simd_f32.h"
#include "ops/elementwise/unary_float.inc"
#include "base/simd_f64.h"
#include "ops/elementwise/unary_float.inc"

#define FLOAT(Name, y)                                                                                                              \
  static void Name##_f16(const void* xs, void* ys, int64_t n) { hr_loop1_narrow(Name##_f32, false, xs, ys, n); }                    \
  static void Name##_bf16(const void* xs, void* ys, int64_t n) { hr_loop1_narrow(Name##_f32, true, xs, ys, n); }
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"

#define INTEGER_LOOP(Name, suffix, T, expr)                                     \
  static void Name##_##suffix(const void* xs, void* ys, int64_t n) {            \
    for (int64_t i = 0; i < n; ++i) {                                           \
      const T x = ((const T*)xs)[i];                                            \
      ((T*)ys)[i] = (T)(expr);                                                  \
    }                                                                           \
  }
#define INTEGER(Name, y)           \
  INTEGER_LOOP(Name, i8, int8_t, y) \
  INTEGER_LOOP(Name, i16, int16_t, y) \
  INTEGER_LOOP(Name, i32, int32_t, y) \
  INTEGER_LOOP(Name, i64, int64_t, y)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"

/* Only wrapping arithmetic is used, so an unsigned type may run its signed twin's loop. */
const hr_unary_table_t HR_ISA_NAME(hr_unary_vec) = {
#define FLOAT(Name, y) \
  [UNARY_##Name][HR_F32] = Name##_f32, [UNARY_##Name][HR_F64] = Name##_f64, [UNARY_##Name][HR_F16] = Name##_f16, [UNARY_##Name][HR_BF16] = Name##_bf16,
#define INTEGER(Name, y)                                                                                                                   \
  [UNARY_##Name][HR_I8] = Name##_i8, [UNARY_##Name][HR_I16] = Name##_i16, [UNARY_##Name][HR_I32] = Name##_i32, [UNARY_##Name][HR_I64] = Name##_i64, \
  [UNARY_##Name][HR_U8] = Name##_i8, [UNARY_##Name][HR_U16] = Name##_i16, [UNARY_##Name][HR_U32] = Name##_i32, [UNARY_##Name][HR_U64] = Name##_i64,
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"
};
