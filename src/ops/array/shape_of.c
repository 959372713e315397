/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a tensor without its elements: Shape, ShapeN, Size, Rank. Sizes that int32 cannot hold are INVALID_ARGUMENT. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_Shape, hr_op_ShapeN, hr_op_Size, hr_op_Rank;

/* 1. shapes: one vector per input, as long as its rank */
static hr_status_t infer_shapes(hr_infer_t* s) {
  for (int i = 0; i < hr_infer_output_count(s); ++i) HR_TRY(hr_infer_set_vector(s, i, hr_infer_input(s, i)->rank));
  return NULL;
}

/* 2. kernels */
static hr_status_t put(hr_tensor_t* out, int64_t at, int64_t value) {
  if (out->dtype == HR_I64) ((int64_t*)out->data)[at] = value;
  else if (value <= INT32_MAX) ((int32_t*)out->data)[at] = (int32_t)value;
  else return HR_ERROR(INVALID_ARGUMENT, "size %lld does not fit int32; ask for out_type int64", (long long)value);
  return NULL;
}

static hr_status_t shapes(hr_kernel_ctx_t* k) {
  for (int i = 0; i < hr_output_count(k); ++i) {
    hr_shape_t x; /* a copy: the output may take over the input's place */
    hr_tensor_t* out;
    hr_shape_copy(&x, &hr_input(k, i)->shape);
    const hr_shape_t length = hr_shape_vector(x.rank);
    HR_TRY(hr_output(k, i, &length, &out));
    for (int d = 0; d < x.rank; ++d) HR_TRY(put(out, d, x.dims[d]));
  }
  return NULL;
}

static hr_status_t one_number(hr_kernel_ctx_t* k, int64_t value) {
  const hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, &scalar, &out));
  return put(out, 0, value);
}
static hr_status_t size(hr_kernel_ctx_t* k) { return one_number(k, hr_input(k, 0)->count); }
static hr_status_t rank(hr_kernel_ctx_t* k) { return one_number(k, hr_input(k, 0)->shape.rank); }

/* 3. definitions */
#define OUT_TYPE "out_type: type{int32,int64} = int32"
const hr_op_t hr_op_Shape = {
    .name = "Shape", .sig = "input: T -> output: out_type", .attrs = "T: type; " OUT_TYPE, .shape = infer_shapes, .grad = hr_grad_none,
    HR_KERNELS({.host_outputs = 1, .compute = shapes}), .doc = "the sizes of the axes", HR_HERE};

const hr_op_t hr_op_ShapeN = {
    .name = "ShapeN", .sig = "input: N*T -> output: N*out_type", .attrs = "N: int >= 1; T: type; " OUT_TYPE, .shape = infer_shapes,
    .grad = hr_grad_none, HR_KERNELS({.host_outputs = ~0u, .compute = shapes}), .doc = "Shape of each input", HR_HERE};

const hr_op_t hr_op_Size = {
    .name = "Size", .sig = "input: T -> output: out_type", .attrs = "T: type; " OUT_TYPE, .shape = hr_infer_scalars, .grad = hr_grad_none,
    HR_KERNELS({.host_outputs = 1, .compute = size}), .doc = "the number of elements", HR_HERE};

const hr_op_t hr_op_Rank = {
    .name = "Rank", .sig = "input: T -> output: int32", .attrs = "T: type", .shape = hr_infer_scalars, .grad = hr_grad_none,
    HR_KERNELS({.host_outputs = 1, .compute = rank}), .doc = "the number of axes", HR_HERE};
