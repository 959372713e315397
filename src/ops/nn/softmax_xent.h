/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the cross-entropy losses, per instruction set. Both give the row's loss and write d loss / d x to `back`, which may be x. */
#ifndef HR_OPS_NN_SOFTMAX_XENT_H
#define HR_OPS_NN_SOFTMAX_XENT_H
#include "base/isa.h"
#include "op/kernel_ctx.h"

typedef struct {
  float (*dense_f32)(const float* x, const float* labels, float* back, int64_t n);
  double (*dense_f64)(const double* x, const double* labels, double* back, int64_t n);
  float (*sparse_f32)(const float* x, int64_t label, float* back, int64_t n);
  double (*sparse_f64)(const double* x, int64_t label, double* back, int64_t n);
} hr_xent_vec_t;
HR_ISA_TABLES(hr_xent_vec_t, hr_xent_vec);
#endif
