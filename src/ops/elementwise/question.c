/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about each element of one input: IsNan, IsInf, IsFinite, LogicalNot; and how many bits are set (PopulationCount). Floats are
 * judged by their bits. */
#include "op/infer_fns.h"
#include "ops/elementwise/map_run.h"

extern const hr_op_t hr_op_IsNan, hr_op_IsInf, hr_op_IsFinite, hr_op_LogicalNot, hr_op_PopulationCount;

/* 1. kernels: m is an element without its sign, top is infinity's bits */
#define QUESTION(name, T, sign, infinity, expr)                                   \
  static void name(const void* xs, void* ys, int64_t n) {                         \
    const T top = (T)(infinity), mask = (T)~(sign);                               \
    for (int64_t i = 0; i < n; ++i) {                                             \
      T m;                                                                        \
      memcpy(&m, (const T*)xs + i, sizeof m);                                     \
      m &= mask;                                                                  \
      ((bool*)ys)[i] = (expr);                                                    \
    }                                                                             \
  }                                                                               \
  static const hr_map_t name##_row = {name, 0.5};
#define FLOATS(name, expr)                                                        \
  QUESTION(name##_f16, uint16_t, 0x8000u, 0x7c00u, expr)                          \
  QUESTION(name##_bf16, uint16_t, 0x8000u, 0x7f80u, expr)                         \
  QUESTION(name##_f32, uint32_t, 0x80000000u, 0x7f800000u, expr)                  \
  QUESTION(name##_f64, uint64_t, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52, expr)
FLOATS(is_nan, m > top)
FLOATS(is_inf, m == top)
FLOATS(is_finite, m < top)

static void logical_not(const void* xs, void* ys, int64_t n) {
  for (int64_t i = 0; i < n; ++i) ((bool*)ys)[i] = !((const bool*)xs)[i];
}
static const hr_map_t logical_not_row = {logical_not, 0.2};

#define BITS(name, T)                                                                                                      \
  static void name(const void* xs, void* ys, int64_t n) {                                                                  \
    for (int64_t i = 0; i < n; ++i) ((uint8_t*)ys)[i] = (uint8_t)__builtin_popcountll((uint64_t)((const T*)xs)[i]);        \
  }                                                                                                                        \
  static const hr_map_t name##_row = {name, 1.0};
BITS(bits_8, uint8_t)
BITS(bits_16, uint16_t)
BITS(bits_32, uint32_t)
BITS(bits_64, uint64_t)

/* 2. definitions */
#define ASK(Name, stem, text)                                                                                                        \
  const hr_op_t hr_op_##Name = {                                                                                                     \
      .name = #Name, .sig = "x: T -> y: bool", .attrs = "T: type{bfloat16,half,float,double}", .shape = hr_infer_same,               \
      HR_KERNELS(HR_MAP("T", HR_M(F32), stem##_f32_row), HR_MAP("T", HR_M(F64), stem##_f64_row), HR_MAP("T", HR_M(F16), stem##_f16_row), \
                 HR_MAP("T", HR_M(BF16), stem##_bf16_row)),                                                                          \
      .doc = text, HR_HERE};
ASK(IsNan, is_nan, "whether each element is not a number")
ASK(IsInf, is_inf, "whether each element is an infinity")
ASK(IsFinite, is_finite, "whether each element is neither infinite nor NaN")

const hr_op_t hr_op_LogicalNot = {
    .name = "LogicalNot", .sig = "x: bool -> y: bool", .attrs = "", .shape = hr_infer_same, .grad = hr_grad_none,
    HR_KERNELS({.compute = hr_map_compute, .arg = &logical_not_row}), .doc = "the other truth value of each element", HR_HERE};

const hr_op_t hr_op_PopulationCount = {
    .name = "PopulationCount",
    .sig = "x: T -> y: uint8",
    .attrs = "T: type{int8,int16,int32,int64,uint8,uint16,uint32,uint64}",
    .shape = hr_infer_same,
    .grad = hr_grad_none,
    HR_KERNELS(HR_MAP("T", HR_M(I8) | HR_M(U8), bits_8_row), HR_MAP("T", HR_M(I16) | HR_M(U16), bits_16_row),
               HR_MAP("T", HR_M(I32) | HR_M(U32), bits_32_row), HR_MAP("T", HR_M(I64) | HR_M(U64), bits_64_row)),
    .doc = "how many bits of each integer are set",
    HR_HERE};
