/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of the squares of a row of floats, per instruction set, in a fixed order. */
#ifndef HR_OPS_REDUCE_SQUARES_H
#define HR_OPS_REDUCE_SQUARES_H
#include "base/isa.h"
#include "op/kernel_ctx.h"

typedef struct {
  float (*f32)(const float* x, int64_t n);
  double (*f64)(const double* x, int64_t n);
} hr_squares_vec_t;
HR_ISA_TABLES(hr_squares_vec_t, hr_squares_vec);
#endif
