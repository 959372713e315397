/* SPDX-License-Identifier: Apache-2.0 */
/* ARITH, FLOAT and INTEGER bodies of binary.def, compiled once per instruction set. */
#include "ops/elementwise/binary.h"
#include "ops/elementwise/special.h"
#include "base/simd_f32.h"
#include "ops/elementwise/binary_float.inc"
#include "base/simd_f64.h"
#include "ops/elementwise/binary_float.inc"

#define ARITH(Name, z) HR_LOOP2_NARROW(Name, f16, false) HR_LOOP2_NARROW(Name, bf16, true)
#define FLOAT(Name, z) ARITH(Name, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"

#define T int8_t
#define U uint8_t
#define INTEGER(Name, z) HR_LOOP2(Name, i8, int8_t, int8_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#define T uint8_t
#define INTEGER(Name, z) HR_LOOP2(Name, u8, uint8_t, uint8_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#undef U
#define T int16_t
#define U uint16_t
#define INTEGER(Name, z) HR_LOOP2(Name, i16, int16_t, int16_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#define T uint16_t
#define INTEGER(Name, z) HR_LOOP2(Name, u16, uint16_t, uint16_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#undef U
#define T int32_t
#define U uint32_t
#define INTEGER(Name, z) HR_LOOP2(Name, i32, int32_t, int32_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#define T uint32_t
#define INTEGER(Name, z) HR_LOOP2(Name, u32, uint32_t, uint32_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#undef U
#define T int64_t
#define U uint64_t
#define INTEGER(Name, z) HR_LOOP2(Name, i64, int64_t, int64_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#define T uint64_t
#define INTEGER(Name, z) HR_LOOP2(Name, u64, uint64_t, uint64_t, z)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
#undef T
#undef U

#define ENTRY(Name, ID, suffix) [BINARY_##Name][HR_##ID] = HR_LOOP2_FORMS(Name, suffix),
const hr_binary_table_t HR_ISA_NAME(hr_binary_vec) = {
#define ARITH(Name, z) ENTRY(Name, F32, f32) ENTRY(Name, F64, f64) ENTRY(Name, F16, f16) ENTRY(Name, BF16, bf16)
#define FLOAT(Name, z) ARITH(Name, z)
#define INTEGER(Name, z)                                                                              \
  ENTRY(Name, I8, i8) ENTRY(Name, I16, i16) ENTRY(Name, I32, i32) ENTRY(Name, I64, i64)               \
  ENTRY(Name, U8, u8) ENTRY(Name, U16, u16) ENTRY(Name, U32, u32) ENTRY(Name, U64, u64)
#include "ops/elementwise/no_rows.h"
#include "ops/elementwise/binary.def"
};
