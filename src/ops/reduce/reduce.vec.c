/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of reduce.def, compiled once per instruction set. A row of floats runs in four vectors of partial results, joined in a fixed
 * order. */
#include "ops/reduce/reduce.h"
#include <complex.h>
#include <math.h>
#include "base/simd_f32.h"
#include "ops/reduce/reduce_float.inc"
#include "base/simd_f64.h"
#include "ops/reduce/reduce_float.inc"

typedef uint64_t W;
#define HR_LOWEST(T) ((T)-1 < (T)1 ? (T)((uint64_t)1 << (sizeof(T) * 8 - 1)) : (T)0)
#define HR_HIGHEST(T) ((T)-1 < (T)1 ? (T)(((uint64_t)1 << (sizeof(T) * 8 - 1)) - 1) : (T)-1)

#define LOOPS(Name, suffix, type, begin, join)                                                \
  static void Name##_##suffix##_start(void* to, int64_t n) {                                  \
    typedef type T;                                                                           \
    for (int64_t i = 0; i < n; ++i) ((T*)to)[i] = (T)(begin);                                 \
  }                                                                                           \
  static void Name##_##suffix##_column(const void* xs, int64_t n, void* to) {                 \
    typedef type T;                                                                           \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      const T a = ((T*)to)[i], b = ((const T*)xs)[i];                                         \
      ((T*)to)[i] = (T)(join);                                                                \
    }                                                                                         \
  }
#define ROW(Name, suffix, type, join)                                                         \
  static void Name##_##suffix##_row(const void* xs, int64_t n, void* to) {                    \
    typedef type T;                                                                           \
    T a = *(T*)to;                                                                            \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      const T b = ((const T*)xs)[i];                                                          \
      a = (T)(join);                                                                          \
    }                                                                                         \
    *(T*)to = a;                                                                              \
  }
#define BOTH(Name, suffix, type, begin, join) LOOPS(Name, suffix, type, begin, join) ROW(Name, suffix, type, join)
#define STEP(Name, integer, real, join, whole)                                                                              \
  LOOPS(Name, f32, float, real, join) LOOPS(Name, f64, double, real, join)                                           \
  BOTH(Name, i8, int8_t, integer, whole) BOTH(Name, i16, int16_t, integer, whole)                                      \
  BOTH(Name, i32, int32_t, integer, whole) BOTH(Name, i64, int64_t, integer, whole)                                    \
  BOTH(Name, u8, uint8_t, integer, whole) BOTH(Name, u16, uint16_t, integer, whole)                                    \
  BOTH(Name, u32, uint32_t, integer, whole) BOTH(Name, u64, uint64_t, integer, whole)
#define COMPLEX(Name, begin, join) BOTH(Name, c64, float complex, begin, join) BOTH(Name, c128, double complex, begin, join)
#include "ops/reduce/no_rows.h"
#include "ops/reduce/reduce.def"
BOTH(All, b8, uint8_t, 1, a & b)
BOTH(Any, b8, uint8_t, 0, a | b)

#define ENTRY(Name, ID, suffix) [STEP_##Name][HR_##ID] = {Name##_##suffix##_start, Name##_##suffix##_row, Name##_##suffix##_column},
const hr_reduce_table_t HR_ISA_NAME(hr_reduce_vec) = {
#define STEP(Name, ...)                                                                              \
  ENTRY(Name, F32, f32) ENTRY(Name, F64, f64) ENTRY(Name, I8, i8) ENTRY(Name, I16, i16) ENTRY(Name, I32, i32)        \
  ENTRY(Name, I64, i64) ENTRY(Name, U8, u8) ENTRY(Name, U16, u16) ENTRY(Name, U32, u32) ENTRY(Name, U64, u64)
#define COMPLEX(Name, begin, join) ENTRY(Name, C64, c64) ENTRY(Name, C128, c128)
#include "ops/reduce/no_rows.h"
#include "ops/reduce/reduce.def"
    ENTRY(All, BOOL, b8) ENTRY(Any, BOOL, b8)};
