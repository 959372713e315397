/* SPDX-License-Identifier: Apache-2.0 */
/* ARITH, FLOAT and INTEGER bodies of pair.def, compiled once per instruction set. */
#include "ops/elementwise/pair.h"
#include "base/simd_f32.h"
#include "ops/elementwise/pair_float.inc"
#include "base/simd_f64.h"
#include "ops/elementwise/pair_float.inc"

#define FLOAT(Name, z)                                                                                                               \
  static void Name##_f16(const void* xs, const void* ys, void* zs, int64_t n) { hr_loop2_narrow(Name##_f32, false, xs, ys, zs, n); } \
  static void Name##_bf16(const void* xs, const void* ys, void* zs, int64_t n) { hr_loop2_narrow(Name##_f32, true, xs, ys, zs, n); }
#define ARITH(Name, z) FLOAT(Name, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"

#define INTEGER_LOOP(Name, suffix, T, expr)                                               \
  static void Name##_##suffix(const void* xs, const void* ys, void* zs, int64_t n) {      \
    for (int64_t i = 0; i < n; ++i) {                                                     \
      const T x = ((const T*)xs)[i], y = ((const T*)ys)[i];                               \
      ((T*)zs)[i] = (T)(expr);                                                            \
    }                                                                                     \
  }
#define INTEGER(Name, z)                                                        \
  INTEGER_LOOP(Name, i8, int8_t, z) INTEGER_LOOP(Name, u8, uint8_t, z)          \
  INTEGER_LOOP(Name, i16, int16_t, z) INTEGER_LOOP(Name, u16, uint16_t, z)      \
  INTEGER_LOOP(Name, i32, int32_t, z) INTEGER_LOOP(Name, u32, uint32_t, z)      \
  INTEGER_LOOP(Name, i64, int64_t, z) INTEGER_LOOP(Name, u64, uint64_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"

#define ENTRY(Name, ID, suffix) [PAIR_##Name][HR_##ID] = Name##_##suffix,
const hr_pair_table_t HR_ISA_NAME(hr_pair_vec) = {
#define FLOAT(Name, z) ENTRY(Name, F32, f32) ENTRY(Name, F64, f64) ENTRY(Name, F16, f16) ENTRY(Name, BF16, bf16)
#define ARITH(Name, z) FLOAT(Name, z)
#define INTEGER(Name, z)                                                                   \
  ENTRY(Name, I8, i8) ENTRY(Name, I16, i16) ENTRY(Name, I32, i32) ENTRY(Name, I64, i64)    \
  ENTRY(Name, U8, u8) ENTRY(Name, U16, u16) ENTRY(Name, U32, u32) ENTRY(Name, U64, u64)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/pair.def"
};
