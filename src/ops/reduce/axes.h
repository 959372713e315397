/* SPDX-License-Identifier: Apache-2.0 */
/* Which axes a reduction removes: read, checked and collapsed in one place, for shape functions, kernels and gradients of all reductions.
 */
#ifndef HR_OPS_REDUCE_AXES_H
#define HR_OPS_REDUCE_AXES_H
#include "op/infer.h"
#include "tensor/tensor.h"

/* Axes (a tensor of any shape) of a tensor of rank `rank` as a bit mask. INVALID_ARGUMENT for axes out of range or named twice. */
HR_MUST_USE hr_status_t hr_reduce_mask(const hr_tensor_t* axes, int rank, uint32_t* out_mask);
/* Shape function of a reduction: input 0 without (or with size 1 for) the axes that input 1 names. */
hr_status_t hr_reduce_infer(hr_infer_t* s);
/* The output's shape. */
void hr_reduce_shape(const hr_shape_t* x, uint32_t mask, bool keep_dims, hr_shape_t* out);

/* The input's axes merged to alternating runs of kept and reduced ones; sizes of 1 vanish. `reduced[i]` says which run is reduced. */
typedef struct {
  int rank;
  int64_t dims[HR_MAX_RANK];
  bool reduced[HR_MAX_RANK];
  int64_t kept_count, reduced_count; /* elements of the output; elements that make each */
} hr_reduce_runs_t;
void hr_reduce_collapse(const hr_shape_t* x, uint32_t mask, hr_reduce_runs_t* out);
#endif
