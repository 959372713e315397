/* SPDX-License-Identifier: Apache-2.0 */
/* Axes in another order: Transpose, y[i_perm[0], ...] = x[i_0, ...]; ConjugateTranspose; InvertPermutation. A permutation that moves only
 * axes of size 1 touches no element. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Transpose, hr_op_ConjugateTranspose, hr_op_InvertPermutation;

/* 1. the rule: perm as axes 0..rank-1, each once */
static hr_status_t read_perm(const hr_tensor_t* t, int rank, int* perm) {
  uint32_t seen = 0;
  if (t->shape.rank != 1 || t->count != rank) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "transpose expects a vector of size %d as perm, not shape %s", rank, hr_shape_format(&t->shape,
                    text));
  }
  for (int i = 0; i < rank; ++i) {
    int64_t axis;
    HR_TRY(hr_tensor_i64_at(t, i, &axis));
    if (axis < -rank || axis >= rank)
      return HR_ERROR(INVALID_ARGUMENT, "perm[%d] = %lld is out of range [%d, %d)", i, (long long)axis, -rank, rank);
    perm[i] = (int)(axis < 0 ? axis + rank : axis);
    seen |= UINT32_C(1) << perm[i];
  }
  for (int i = 0; i < rank; ++i)
    if (!(seen >> i & 1)) return HR_ERROR(INVALID_ARGUMENT, "%d is missing from perm, which names another axis twice", i);
  return NULL;
}

/* 2. shapes */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *open;
  const hr_tensor_t* perm_value = hr_infer_const(s, 1);
  int perm[HR_MAX_RANK];
  int64_t dims[HR_MAX_RANK], rank = x->rank;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  const int64_t length = hr_infer_dim(hr_infer_input(s, 1), 0);
  if (rank >= 0 && length >= 0 && rank != length)
    return HR_ERROR(INVALID_ARGUMENT, "perm has %lld axes for an input of rank %d", (long long)length, (int)rank);
  rank = rank >= 0 ? rank : length;
  if (rank < 0) return NULL;
  if (rank > HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "transposing rank %lld; at most %d is supported", (long long)rank, HR_MAX_RANK);
  if (perm_value) {
    HR_TRY(read_perm(perm_value, (int)rank, perm));
    for (int i = 0; i < rank; ++i) dims[i] = hr_infer_dim(x, perm[i]);
    return hr_infer_set_dims(s, 0, rank, dims);
  }
  HR_TRY(hr_infer_unknown_of_rank(s, (int)rank, &open));
  hr_infer_set(s, 0, rank <= 1 && x->rank >= 0 ? x : open);
  return NULL;
}

static hr_status_t infer_invert(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  return hr_infer_set_vector(s, 0, hr_infer_dim(hr_infer_input(s, 0), 0));
}

/* 3. kernels */
static hr_status_t transposed(hr_kernel_ctx_t* k, hr_tensor_t** out, bool* out_moved) {
  const hr_tensor_t* x = hr_input(k, 0);
  const int rank = x->shape.rank;
  int perm[HR_MAX_RANK], last = -1;
  int64_t dims[HR_MAX_RANK], from[HR_MAX_RANK], run = x->count;
  bool in_order = true;
  hr_shape_t shape;
  hr_move_t m = {.rank = 0};
  HR_TRY(read_perm(hr_input(k, 1), rank, perm));
  for (int i = 0; i < rank; ++i) {
    dims[i] = x->shape.dims[perm[i]];
    if (dims[i] == 1) continue;
    in_order = in_order && perm[i] > last;
    last = perm[i];
  }
  HR_TRY(hr_shape_make(rank, dims, &shape));
  *out_moved = !in_order && x->count > 0;
  if (!*out_moved) return hr_output_alias(k, 0, 0, &shape);
  hr_iterate_strides(&x->shape, from);
  for (int i = 0; i < rank; ++i) {
    run /= dims[i];
    HR_TRY(hr_move_axis(&m, dims[i], run, from[perm[i]]));
  }
  HR_TRY(hr_output(k, 0, &shape, out));
  return hr_move_run(k, &m, *out, x);
}

static hr_status_t transpose(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  bool moved;
  return transposed(k, &out, &moved);
}

static hr_status_t conjugate(hr_kernel_ctx_t* k) { /* complex types */
  hr_tensor_t* y;
  bool moved;
  HR_TRY(transposed(k, &y, &moved));
  if (!moved) { /* the output is the input's memory, which others may hold */
    const hr_tensor_t shared = hr_output_slot(k, 0)->value;
    hr_tensor_t own;
    if (!hr_output_wanted(k, 0)) return NULL;
    HR_TRY(hr_tensor_clone(&shared, &own));
    hr_output_move(k, 0, &own);
    y = &hr_output_slot(k, 0)->value;
  }
  if (y->dtype == HR_C64)
    for (int64_t i = 0; i < y->count; ++i) ((hr_c64_t*)y->data)[i].im = -((hr_c64_t*)y->data)[i].im;
  else
    for (int64_t i = 0; i < y->count; ++i) ((hr_c128_t*)y->data)[i].im = -((hr_c128_t*)y->data)[i].im;
  return NULL;
}

static hr_status_t invert(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_tensor_t* y;
  HR_TRY(hr_want_vector(k, 0, "invert_permutation expects a 1D vector, not one of shape "));
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  memset(y->data, 0xff, hr_tensor_bytes(y)); /* -1: not met yet */
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t at, there;
    HR_TRY(hr_tensor_i64_at(x, i, &at));
    if (at < 0 || at >= x->count)
      return HR_ERROR(INVALID_ARGUMENT, "x[%lld] = %lld is not between 0 and %lld", (long long)i, (long long)at, (long long)x->count);
    HR_TRY(hr_tensor_i64_at(y, at, &there));
    if (there != -1) return HR_ERROR(INVALID_ARGUMENT, "%lld is duplicated in the input", (long long)at);
    if (y->dtype == HR_I64)
      ((int64_t*)y->data)[at] = i;
    else
      ((int32_t*)y->data)[at] = (int32_t)i;
  }
  return NULL;
}

/* 4. gradients: back into the old order */
static void grad_by(hr_grad_ctx_t* g, const char* op) {
  hr_value_t perm = hr_grad_input(g, 1);
  const hr_tensor_t* t = hr_grad_const(g, perm);
  int axes[HR_MAX_RANK];
  int64_t back[HR_MAX_RANK];
  if (t && t->count <= HR_MAX_RANK) {
    hr_status_t status = read_perm(t, (int)t->count, axes);
    if (status) {
      hr_grad_fail(g, status);
      return;
    }
    for (int i = 0; i < t->count; ++i) back[axes[i]] = i;
    perm = hr_emit_const_i32s(g, back, (int)t->count);
  } else {
    perm = hr_emit1(g, "InvertPermutation", perm);
  }
  hr_grad_give(g, 0, hr_emit2(g, op, hr_grad_upstream(g, 0), perm));
}
static void grad_transpose(hr_grad_ctx_t* g) { grad_by(g, "Transpose"); }
static void grad_conjugate(hr_grad_ctx_t* g) { grad_by(g, "ConjugateTranspose"); }

/* 5. definitions */
#define AXES_ATTRS "T: type; Tperm: type{int32,int64} = int32"
const hr_op_t hr_op_Transpose = {.name = "Transpose",
                                 .sig = "x: T; perm: Tperm -> y: T",
                                 .attrs = AXES_ATTRS,
                                 .shape = infer,
                                 .grad = grad_transpose,
                                 HR_KERNELS({.host_inputs = 2, .compute = transpose}),
                                 .doc = "the axes in the order perm",
                                 HR_HERE};

const hr_op_t hr_op_ConjugateTranspose = {
    .name = "ConjugateTranspose",
    .sig = "x: T; perm: Tperm -> y: T",
    .attrs = AXES_ATTRS,
    .shape = infer,
    .grad = grad_conjugate,
    HR_KERNELS({.where = {{"T", HR_M_COMPLEX}}, .host_inputs = 2, .compute = conjugate}, {.host_inputs = 2, .compute = transpose}),
    .doc = "Transpose with complex elements conjugated",
    HR_HERE};

const hr_op_t hr_op_InvertPermutation = {.name = "InvertPermutation",
                                         .sig = "x: T -> y: T",
                                         .attrs = "T: type{int32,int64} = int32",
                                         .shape = infer_invert,
                                         .grad = hr_grad_none,
                                         HR_KERNELS(HR_CPU_ANY(invert)),
                                         .doc = "y[x[i]] = i",
                                         HR_HERE};
