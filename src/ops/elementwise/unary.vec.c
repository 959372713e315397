/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT and INTEGER bodies of unary.def, compiled once per instruction set. */
#include "ops/elementwise/unary.h"
#include "ops/elementwise/fast_math.h"
#include "base/simd_f32.h"
#include "ops/elementwise/unary_float.inc"
#include "base/simd_f64.h"
#include "ops/elementwise/unary_float.inc"

#define FLOAT(Name, y)                                                                                                              \
  static void Name##_f16(const void* xs, void* ys, int64_t n) { hr_loop1_narrow(Name##_f32, false, xs, ys, n); }                    \
  static void Name##_bf16(const void* xs, void* ys, int64_t n) { hr_loop1_narrow(Name##_f32, true, xs, ys, n); }
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"

#define INTEGER_LOOP(Name, suffix, type, expr)                                  \
  static void Name##_##suffix(const void* xs, void* ys, int64_t n) {            \
    typedef type T __attribute__((unused));                                                            \
    for (int64_t i = 0; i < n; ++i) {                                           \
      const T x = ((const T*)xs)[i];                                            \
      ((T*)ys)[i] = (T)(expr);                                                  \
    }                                                                           \
  }
#define INTEGER(Name, y)                                                        \
  INTEGER_LOOP(Name, i8, int8_t, y) INTEGER_LOOP(Name, u8, uint8_t, y)          \
  INTEGER_LOOP(Name, i16, int16_t, y) INTEGER_LOOP(Name, u16, uint16_t, y)      \
  INTEGER_LOOP(Name, i32, int32_t, y) INTEGER_LOOP(Name, u32, uint32_t, y)      \
  INTEGER_LOOP(Name, i64, int64_t, y) INTEGER_LOOP(Name, u64, uint64_t, y)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"

#define ENTRY(Name, ID, suffix) [UNARY_##Name][HR_##ID] = Name##_##suffix,
const hr_unary_table_t HR_ISA_NAME(hr_unary_vec) = {
#define FLOAT(Name, y) ENTRY(Name, F32, f32) ENTRY(Name, F64, f64) ENTRY(Name, F16, f16) ENTRY(Name, BF16, bf16)
#define INTEGER(Name, y)                                                                   \
  ENTRY(Name, I8, i8) ENTRY(Name, I16, i16) ENTRY(Name, I32, i32) ENTRY(Name, I64, i64)    \
  ENTRY(Name, U8, u8) ENTRY(Name, U16, u16) ENTRY(Name, U32, u32) ENTRY(Name, U64, u64)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/unary.def"
};
