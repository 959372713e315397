/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy-style indexing as StridedSlice's inputs and masks say it, resolved once for shape functions, kernels and gradients alike. */
#ifndef HR_OPS_ARRAY_STRIDED_SLICE_H
#define HR_OPS_ARRAY_STRIDED_SLICE_H
#include "op/attrs_of.h"
#include "tensor/tensor.h"

typedef struct {
  int64_t begin, end, ellipsis, new_axis, shrink_axis;
} hr_strided_masks_t;

typedef struct {
  int rank;                                                           /* of the input */
  int64_t begin[HR_MAX_RANK], stride[HR_MAX_RANK], size[HR_MAX_RANK]; /* per input axis; size -1: unknown, begin then too */
  int out_rank;
  int64_t out_dims[HR_MAX_RANK + 32]; /* with new axes put in and shrunk ones left out; -1: unknown */
} hr_strided_t;

void hr_strided_slice_masks(const hr_node_attrs_t* attrs, hr_strided_masks_t* out);
/* begin, end: NULL when not known yet; strides is known. dims may hold -1. INVALID_ARGUMENT as TensorFlow. */
HR_MUST_USE hr_status_t hr_strided_slice_parse(const hr_strided_masks_t* masks, const hr_tensor_t* begin, const hr_tensor_t* end,
                                               const hr_tensor_t* strides, int rank, const int64_t* dims, hr_strided_t* out);
#endif
