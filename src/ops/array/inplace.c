/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors meant to be written to: Empty (zeros if `init`, and here also if not: no one sees old memory), DeepCopy (memory of its own), and
 * InplaceUpdate, InplaceAdd, InplaceSub: y = x with row i replaced by, plus or minus v. Rows are written in x's memory when nobody else
 * holds it, else in a copy. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/elementwise/binary.h"

extern const hr_op_t hr_op_Empty, hr_op_DeepCopy, hr_op_InplaceUpdate, hr_op_InplaceAdd, hr_op_InplaceSub;

/* 1. shapes */
static hr_status_t infer_empty(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_const_as_shape(s, 0, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

/* 2. kernels */
static hr_status_t empty(hr_kernel_ctx_t* k) {
  hr_shape_t shape;
  hr_tensor_t* y;
  HR_TRY(hr_want_vector(k, 0, "shape must be a vector, got shape "));
  HR_TRY(hr_tensor_to_shape(hr_input(k, 0), &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  if (hr_dtype_is_plain(y->dtype)) memset(y->data, 0, hr_tensor_bytes(y));
  return NULL;
}

static hr_status_t deep_copy(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  return hr_tensor_copy_elements(y, 0, x, 0, x->count);
}

typedef struct {
  hr_loop2_t loop;
} inplace_t; /* NULL: replace */
static hr_status_t inplace_prepare(hr_prepare_ctx_t* p, void* prepared) {
  inplace_t* u = prepared;
  const int op = (int)(intptr_t)p->kernel->arg;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  if (op < 0) return NULL;
  u->loop = (*HR_ISA_PICK(hr_binary_vec))[op][type][LOOP_BOTH];
  if (!u->loop) u->loop = hr_binary_scalar[op][type][LOOP_BOTH];
  return u->loop ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

static hr_status_t check_rows(const hr_tensor_t* x, const hr_tensor_t* rows, const hr_tensor_t* v) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  bool fits = x->shape.rank == v->shape.rank && x->shape.rank > 0 && rows->shape.rank == 1 && v->shape.dims[0] == rows->count;
  for (int d = 1; fits && d < x->shape.rank; ++d) fits = x->shape.dims[d] == v->shape.dims[d];
  if (fits) return NULL;
  return HR_ERROR(INVALID_ARGUMENT,
                  "i must be a vector, and v must have a row of x's shape for each: x has shape %s, v %s, i has %lld elements",
                  hr_shape_format(&x->shape, a), hr_shape_format(&v->shape, b), (long long)rows->count);
}

static hr_status_t inplace(hr_kernel_ctx_t* k) {
  const hr_tensor_t x = *hr_input(k, 0), *rows = hr_input(k, 1), *v = hr_input(k, 2);
  const inplace_t* u = hr_prepared(k);
  hr_tensor_t* y;
  HR_TRY(check_rows(&x, rows, v));
  HR_TRY(hr_output_take(k, 0, 0, &x.shape, &y));
  if (y->data != x.data) HR_TRY(hr_tensor_copy_elements(y, 0, &x, 0, x.count));
  const int64_t n = hr_shape_count_range(&x.shape, 1, x.shape.rank), height = x.shape.dims[0];
  const size_t bytes = (size_t)n * hr_dtype_size(x.dtype);
  for (int64_t i = 0; i < rows->count; ++i) {
    int64_t at;
    HR_TRY(hr_tensor_i64_at(rows, i, &at));
    if (height == 0) return HR_ERROR(INVALID_ARGUMENT, "x has no rows to write to");
    at = (at % height + height) % height; /* TensorFlow wraps indices around */
    if (u->loop)
      u->loop((char*)y->data + (size_t)at * bytes, (const char*)v->data + (size_t)i * bytes, (char*)y->data + (size_t)at * bytes, n);
    else
      HR_TRY(hr_tensor_copy_elements(y, at * n, v, i * n, n));
  }
  return NULL;
}

/* 3. definitions */
const hr_op_t hr_op_Empty = {.name = "Empty",
                             .sig = "shape: int32 -> output: dtype",
                             .attrs = "dtype: type; init: bool = false",
                             .flags = HR_OP_STATEFUL,
                             .shape = infer_empty,
                             HR_KERNELS({.host_inputs = 1, .compute = empty}),
                             .doc = "a tensor of the given shape to be written to",
                             HR_HERE};

const hr_op_t hr_op_DeepCopy = {.name = "DeepCopy",
                                .sig = "x: T -> y: T",
                                .attrs = "T: type",
                                .flags = HR_OP_STATEFUL,
                                .shape = hr_infer_same,
                                HR_KERNELS(HR_CPU_ANY(deep_copy)),
                                .doc = "the input in memory of its own",
                                HR_HERE};

#define INPLACE(op) \
  HR_KERNELS({.prepared_bytes = sizeof(inplace_t), .prepare = inplace_prepare, .compute = inplace, .arg = (const void*)(intptr_t)(op)})
#define ROW_SIG "x: T; i: int32; v: T -> y: T"
const hr_op_t hr_op_InplaceUpdate = {.name = "InplaceUpdate",
                                     .sig = ROW_SIG,
                                     .attrs = "T: type",
                                     .shape = hr_infer_same,
                                     INPLACE(-1),
                                     .doc = "x with rows i replaced by v",
                                     HR_HERE};
const hr_op_t hr_op_InplaceAdd = {.name = "InplaceAdd",
                                  .sig = ROW_SIG,
                                  .attrs = "T: type",
                                  .shape = hr_infer_same,
                                  INPLACE(BINARY_AddV2),
                                  .doc = "x with v added to rows i",
                                  HR_HERE};
const hr_op_t hr_op_InplaceSub = {.name = "InplaceSub",
                                  .sig = ROW_SIG,
                                  .attrs = "T: type",
                                  .shape = hr_infer_same,
                                  INPLACE(BINARY_Sub),
                                  .doc = "x with v taken from rows i",
                                  HR_HERE};
