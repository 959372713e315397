/* SPDX-License-Identifier: Apache-2.0 */
/* Diag lays a tensor of shape s out on the diagonal of one of shape s + s; DiagPart takes it back. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_Diag, hr_op_DiagPart;

/* 1. shapes */
static hr_status_t infer_diag(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  int64_t dims[254];
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, NULL));
  if (x->rank < 1 || x->rank > 127) return NULL;
  for (int d = 0; d < 2 * x->rank; ++d) dims[d] = x->dims[d % x->rank];
  return hr_infer_set_dims(s, 0, 2 * x->rank, dims);
}

static hr_status_t infer_part(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  int64_t dims[254];
  if (x->rank < 0 || x->rank > 254) return NULL;
  if (x->rank % 2 || x->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "input must have even and non-zero rank, but its rank is %d", x->rank);
  for (int d = 0; d < x->rank / 2; ++d) HR_TRY(hr_infer_merge_dim(x->dims[d], x->dims[d + x->rank / 2], &dims[d]));
  return hr_infer_set_dims(s, 0, x->rank / 2, dims);
}

/* 2. kernels */
static hr_status_t diag(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_shape_t shape;
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0};
  HR_TRY(hr_want_rank_at_least(k, 0, "Input must be at least rank 1, got shape ", 1));
  hr_shape_copy(&shape, &x->shape);
  for (int d = 0; d < x->shape.rank; ++d) HR_TRY(hr_shape_append(&shape, x->shape.dims[d]));
  HR_TRY(hr_output(k, 0, &shape, &y));
  memset(y->data, 0, hr_tensor_bytes(y));
  HR_TRY(hr_move_axis(&m, x->count, x->count + 1, 1));
  return hr_move_run(k, &m, y, x);
}

static hr_status_t diag_part(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const int rank = x->shape.rank / 2;
  hr_shape_t shape;
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0};
  bool square = x->shape.rank % 2 == 0; /* a scalar is its own diagonal where no shape function saw it */
  for (int d = 0; square && d < rank; ++d) square = x->shape.dims[d] == x->shape.dims[d + rank];
  if (!square) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "The rank of the tensor should be even and positive, and its halves do not match "
                                      "otherwise: Invalid shape %s",
                    hr_shape_format(&x->shape, text));
  }
  HR_TRY(hr_shape_make(rank, x->shape.dims, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  HR_TRY(hr_move_axis(&m, y->count, 1, y->count + 1));
  return hr_move_run(k, &m, y, x);
}

/* 3. gradients: each is the other */
static void grad_diag(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit1(g, "DiagPart", hr_grad_upstream(g, 0))); }
static void grad_part(hr_grad_ctx_t* g) { hr_grad_give(g, 0, hr_emit1(g, "Diag", hr_grad_upstream(g, 0))); }

/* 4. definitions */
#define DIAG_ATTRS "T: type{bfloat16,half,float,double,int32,int64,complex64,complex128}"
const hr_op_t hr_op_Diag = {.name = "Diag",
                            .sig = "diagonal: T -> output: T",
                            .attrs = DIAG_ATTRS,
                            .shape = infer_diag,
                            .grad = grad_diag,
                            HR_KERNELS(HR_CPU_ANY(diag)),
                            .doc = "the input on a diagonal, zeros elsewhere",
                            HR_HERE};

const hr_op_t hr_op_DiagPart = {.name = "DiagPart",
                                .sig = "input: T -> diagonal: T",
                                .attrs = DIAG_ATTRS,
                                .shape = infer_part,
                                .grad = grad_part,
                                HR_KERNELS(HR_CPU_ANY(diag_part)),
                                .doc = "the diagonal of the input",
                                HR_HERE};
