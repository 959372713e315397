/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions of pooling for one instruction set: loops over the lanes of a window's taps, from pool_rows.inc, once per type. The blocks
 * of BLOCK lanes have a fixed length so that the compiler makes vector code of them; the rest is the same text with a shorter length. */
#include "ops/nn/pool.h"
#include "base/simd.h"

enum { BLOCK = 64 };

/* float and double with the compilers' vector types, since these loops are on the path of training. */
#define HR_T       float
#define HR_V       hr_vf32
#define HR_I       hr_vi32
#define HR_NAME(x) HR_CAT(x, _f32)
#include "ops/nn/pool_vectors.inc"
#define HR_T       double
#define HR_V       hr_vf64
#define HR_I       hr_vi64
#define HR_NAME(x) HR_CAT(x, _f64)
#include "ops/nn/pool_vectors.inc"

#define HR_FLOATING
#define HR_SAME(x)      (x)
#define HR_MAX_VECTORS  max_vectors_f32
#define HR_GRAD_VECTORS grad_vectors_f32
#define HR_T            float
#define HR_W            float
#define HR_WIDE         HR_SAME
#define HR_NARROW       HR_SAME
#define HR_NAME(x)      HR_CAT(x, _f32)
#include "ops/nn/pool_rows.inc"
#undef HR_MAX_VECTORS
#undef HR_GRAD_VECTORS
#define HR_MAX_VECTORS  max_vectors_f64
#define HR_GRAD_VECTORS grad_vectors_f64
#define HR_T            double
#define HR_W            double
#define HR_WIDE         HR_SAME
#define HR_NARROW       HR_SAME
#define HR_NAME(x)      HR_CAT(x, _f64)
#include "ops/nn/pool_rows.inc"
#undef HR_MAX_VECTORS
#undef HR_GRAD_VECTORS
#define HR_MAX_VECTORS(...)  0
#define HR_GRAD_VECTORS(...) 0
#define HR_T                 hr_f16_t
#define HR_W                 float
#define HR_WIDE              hr_f16_to_f32
#define HR_NARROW            hr_f16_from_f32
#define HR_NAME(x)           HR_CAT(x, _f16)
#include "ops/nn/pool_rows.inc"
#define HR_T       hr_bf16_t
#define HR_W       float
#define HR_WIDE    hr_bf16_to_f32
#define HR_NARROW  hr_bf16_from_f32
#define HR_NAME(x) HR_CAT(x, _bf16)
#include "ops/nn/pool_rows.inc"
#undef HR_FLOATING

#define HR_T       int8_t
#define HR_W       int8_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _i8)
#include "ops/nn/pool_rows.inc"
#define HR_T       uint8_t
#define HR_W       uint8_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u8)
#include "ops/nn/pool_rows.inc"
#define HR_T       int16_t
#define HR_W       int16_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _i16)
#include "ops/nn/pool_rows.inc"
#define HR_T       uint16_t
#define HR_W       uint16_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u16)
#include "ops/nn/pool_rows.inc"
#define HR_T       int32_t
#define HR_W       int32_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _i32)
#include "ops/nn/pool_rows.inc"
#define HR_T       uint32_t
#define HR_W       uint32_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u32)
#include "ops/nn/pool_rows.inc"
#define HR_T       int64_t
#define HR_W       int64_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _i64)
#include "ops/nn/pool_rows.inc"
#define HR_T       uint64_t
#define HR_W       uint64_t
#define HR_WIDE    HR_SAME
#define HR_NARROW  HR_SAME
#define HR_NAME(x) HR_CAT(x, _u64)
#include "ops/nn/pool_rows.inc"

#define MAX_ROWS(suffix) .max_##suffix = {max_##suffix, max_grad_##suffix, equal_grad_##suffix, equal_pick_##suffix, max_index_##suffix}
#define AVG_ROWS(suffix) .avg_##suffix = {mean_##suffix, mean_grad_##suffix}
extern const hr_pool_vec_t HR_ISA_NAME(hr_pool_vec);
const hr_pool_vec_t HR_ISA_NAME(hr_pool_vec) = {MAX_ROWS(f32), MAX_ROWS(f64), MAX_ROWS(f16), MAX_ROWS(bf16), MAX_ROWS(i8),  MAX_ROWS(u8),
                                                MAX_ROWS(i16), MAX_ROWS(u16), MAX_ROWS(i32), MAX_ROWS(u32),  MAX_ROWS(i64), MAX_ROWS(u64),
                                                AVG_ROWS(f32), AVG_ROWS(f64), AVG_ROWS(f16), AVG_ROWS(bf16)};
