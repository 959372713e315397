/* SPDX-License-Identifier: Apache-2.0 */
/* BiasAdd's loops for one instruction set, once per type (integers by width: addition does not see the sign). */
#include "ops/nn/bias.h"
#include <stdbool.h>
#include "base/half.h"
#include "base/simd.h"

#define HR_SAME(x) (x)
#define HR_T       float
#define HR_W       float
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _f32)
#include "ops/nn/bias_rows.inc"
#define HR_T       double
#define HR_W       double
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _f64)
#include "ops/nn/bias_rows.inc"
#define HR_T       hr_f16_t
#define HR_W       float
#define HR_WIDE    hr_f16_to_f32
#define HR_NARROW  hr_f16_from_f32
#define HR_NAME(x) HR_CAT(x, _f16)
#include "ops/nn/bias_rows.inc"
#define HR_T       hr_bf16_t
#define HR_W       float
#define HR_WIDE    hr_bf16_to_f32
#define HR_NARROW  hr_bf16_from_f32
#define HR_NAME(x) HR_CAT(x, _bf16)
#include "ops/nn/bias_rows.inc"
#define HR_T       uint8_t
#define HR_W       uint8_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u8)
#include "ops/nn/bias_rows.inc"
#define HR_T       uint16_t
#define HR_W       uint16_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u16)
#include "ops/nn/bias_rows.inc"
#define HR_T       uint32_t
#define HR_W       uint32_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u32)
#include "ops/nn/bias_rows.inc"
#define HR_T       uint64_t
#define HR_W       uint64_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u64)
#include "ops/nn/bias_rows.inc"

#define BIAS_ROWS(suffix, T, W)                                                            \
  .suffix = {add_rows_##suffix, add_plane_##suffix, sum_rows_##suffix, sum_plane_##suffix, \
             add_sums_##suffix, finish_##suffix,    sizeof(T),         sizeof(W)}
extern const hr_bias_vec_t HR_ISA_NAME(hr_bias_vec);
const hr_bias_vec_t HR_ISA_NAME(hr_bias_vec) = {BIAS_ROWS(f32, float, float),       BIAS_ROWS(f64, double, double),
                                                BIAS_ROWS(f16, hr_f16_t, float),    BIAS_ROWS(bf16, hr_bf16_t, float),
                                                BIAS_ROWS(u8, uint8_t, uint8_t),    BIAS_ROWS(u16, uint16_t, uint16_t),
                                                BIAS_ROWS(u32, uint32_t, uint32_t), BIAS_ROWS(u64, uint64_t, uint64_t)};
