/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of softmax, per instruction set; also used by the cross-entropy losses. x and y may be the same memory. */
#ifndef HR_OPS_MATH_SOFTMAX_H
#define HR_OPS_MATH_SOFTMAX_H
#include "base/isa.h"
#include "op/kernel_ctx.h"

typedef void (*hr_softmax_rows_t)(const void* x, void* y, int64_t rows, int64_t width, bool logs);
typedef struct { hr_softmax_rows_t f32, f64; } hr_softmax_vec_t;
HR_ISA_TABLES(hr_softmax_vec_t, hr_softmax_vec);
#endif
