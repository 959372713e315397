/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between the C number types, compiled once per instruction set.
 *
 * A float that an integer type cannot hold is undefined in C. As TensorFlow on x86: it goes through int32 (int64 for wider types), where
 * what does not fit becomes the lowest number, and the low bits are kept. */
#include "ops/elementwise/cast.h"
#include "base/simd.h"

static inline int32_t i32_of(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN; }
static inline int64_t i64_of(double x) { return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN; }
static inline uint64_t u64_of(double x) {
  return x >= 9223372036854775808.0 && x < 18446744073709551616.0 ? (uint64_t)(x - 9223372036854775808.0) + (UINT64_C(1) << 63)
                                                                  : (uint64_t)i64_of(x);
}

/* TO_x(v): v of a C number type, to x. FROM an integer or bool every conversion is C's own. */
#define LOOP(from, From, to, To, expr)                                             \
  static void from##_to_##to(const void* xs, void* ys, int64_t n) {                \
    for (int64_t i = 0; i < n; ++i) {                                              \
      const From x = ((const From*)xs)[i];                                         \
      ((To*)ys)[i] = (To)(expr);                                                   \
    }                                                                              \
  }
#define FROM_INTEGER(from, From)                                                                                                       \
  LOOP(from, From, f32, float, x)                                                                                                      \
  LOOP(from, From, f64, double, x) LOOP(from, From, i8, int8_t, x) LOOP(from, From, i16, int16_t, x) LOOP(from, From, i32, int32_t, x) \
      LOOP(from, From, i64, int64_t, x) LOOP(from, From, u8, uint8_t, x) LOOP(from, From, u16, uint16_t, x)                            \
          LOOP(from, From, u32, uint32_t, x) LOOP(from, From, u64, uint64_t, x) LOOP(from, From, b8, bool, x != 0)
#define FROM_FLOAT(from, From)                                                                                                             \
  LOOP(from, From, f32, float, x)                                                                                                          \
  LOOP(from, From, f64, double, x) LOOP(from, From, i8, int8_t, i32_of(x)) LOOP(from, From, i16, int16_t, i32_of(x))                       \
      LOOP(from, From, i32, int32_t, i32_of(x)) LOOP(from, From, i64, int64_t, i64_of(x)) LOOP(from, From, u8, uint8_t, i32_of(x))         \
          LOOP(from, From, u16, uint16_t, i32_of(x)) LOOP(from, From, u32, uint32_t, i64_of(x)) LOOP(from, From, u64, uint64_t, u64_of(x)) \
              LOOP(from, From, b8, bool, x != 0)
FROM_FLOAT(f32, float)
FROM_FLOAT(f64, double)
FROM_INTEGER(i8, int8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(u16, uint16_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(u64, uint64_t)
FROM_INTEGER(b8, uint8_t)

#define ROW(FROM, from)                                                                                                 \
  [HR_##FROM] = {[HR_F32] = from##_to_f32, [HR_F64] = from##_to_f64, [HR_I8] = from##_to_i8,  [HR_I16] = from##_to_i16, \
                 [HR_I32] = from##_to_i32, [HR_I64] = from##_to_i64, [HR_U8] = from##_to_u8,  [HR_U16] = from##_to_u16, \
                 [HR_U32] = from##_to_u32, [HR_U64] = from##_to_u64, [HR_BOOL] = from##_to_b8}
const hr_cast_table_t HR_ISA_NAME(hr_cast_vec) = {
    ROW(F32, f32), ROW(F64, f64), ROW(I8, i8),   ROW(I16, i16), ROW(I32, i32), ROW(I64, i64),  ROW(U8, u8),    ROW(U16, u16),
    ROW(U32, u32), ROW(U64, u64), ROW(BOOL, b8), ROW(QI8, i8),  ROW(QU8, u8),  ROW(QI16, i16), ROW(QU16, u16), ROW(QI32, i32)};
