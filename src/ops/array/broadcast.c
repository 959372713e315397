/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasting as ops: BroadcastTo repeats axes of size 1; BroadcastArgs gives the shape that two shapes broadcast to;
 * BroadcastGradientArgs the axes to sum a gradient over, per operand. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_BroadcastTo, hr_op_BroadcastArgs, hr_op_BroadcastGradientArgs;

/* 1. shapes */
static hr_status_t cannot_broadcast(const char* from, const char* to) {
  return HR_ERROR(INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s: the input cannot be broadcast to that", from, to);
}

static hr_status_t infer_to(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *to;
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  HR_TRY(hr_infer_want_rank_at_most(s, 1, 1));
  HR_TRY(hr_infer_const_as_shape(s, 1, &to));
  hr_infer_set(s, 0, to);
  if (x->rank < 0 || to->rank < 0) return NULL;
  if (x->rank > to->rank) return cannot_broadcast(hr_pshape_format(x, a), hr_pshape_format(to, b));
  int64_t dims[254];
  for (int d = 0; d < to->rank; ++d) dims[d] = to->dims[d];
  for (int d = 1; d <= x->rank; ++d) {
    const int64_t have = hr_infer_dim(x, -d), want = hr_infer_dim(to, -d);
    if (have >= 0 && want >= 0 && have != 1 && have != want) return cannot_broadcast(hr_pshape_format(x, a), hr_pshape_format(to, b));
    if (want < 0 && have > 1) dims[to->rank - d] = have; /* only a size of 1 can become another */
  }
  return hr_infer_set_dims(s, 0, to->rank, dims);
}

static hr_status_t infer_args(hr_infer_t* s) {
  const hr_pshape_t *a, *b;
  HR_TRY(hr_infer_want_rank(s, 0, 1, &a));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &b));
  const int64_t n = hr_infer_dim(a, 0), m = hr_infer_dim(b, 0);
  return hr_infer_set_vector(s, 0, n < 0 || m < 0 ? -1 : n > m ? n : m);
}

static hr_status_t infer_gradient_args(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_set_vector(s, 0, -1));
  return hr_infer_set_vector(s, 1, -1);
}

/* 2. kernels */
static hr_status_t broadcast_to(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *wanted = hr_input(k, 1);
  hr_shape_t shape;
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0};
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  int64_t to[HR_MAX_RANK], from[HR_MAX_RANK];
  HR_TRY(hr_want_vector(k, 1, "shape"));
  HR_TRY(hr_tensor_to_shape(wanted, &shape));
  const int lead = shape.rank - x->shape.rank;
  if (lead < 0)
    return hr_status_note(cannot_broadcast(hr_shape_format(&x->shape, a), hr_shape_format(&shape, b)),
                          "Rank of input (%d) must be no greater than rank of output shape (%d): ", (int)x->shape.rank, (int)shape.rank);
  for (int d = 0; d < x->shape.rank; ++d)
    if (x->shape.dims[d] != 1 && x->shape.dims[d] != shape.dims[lead + d])
      return cannot_broadcast(hr_shape_format(&x->shape, a), hr_shape_format(&shape, b));
  if (x->count == hr_shape_count(&shape)) return hr_output_alias(k, 0, 0, &shape);
  HR_TRY(hr_output(k, 0, &shape, &y));
  hr_iterate_strides(&shape, to);
  hr_iterate_strides(&x->shape, from);
  for (int d = 0; d < shape.rank; ++d)
    HR_TRY(hr_move_axis(&m, shape.dims[d], to[d], d < lead || x->shape.dims[d - lead] == 1 ? 0 : from[d - lead]));
  return hr_move_run(k, &m, y, x);
}

/* Element i of a shape vector aligned at its end among `rank` axes; 1 before its begin. */
static hr_status_t aligned_size(const hr_tensor_t* t, int64_t i, int64_t rank, int64_t* out) {
  *out = 1;
  return i < rank - t->count ? NULL : hr_tensor_i64_at(t, i - (rank - t->count), out);
}

static hr_status_t sizes_at(const hr_tensor_t* a, const hr_tensor_t* b, int64_t i, int64_t rank, int64_t* m, int64_t* n) {
  HR_TRY(aligned_size(a, i, rank, m));
  HR_TRY(aligned_size(b, i, rank, n));
  if (*m != *n && *m != 1 && *n != 1)
    return HR_ERROR(INVALID_ARGUMENT, "Incompatible shapes for broadcasting: sizes %lld and %lld at axis %lld", (long long)*m,
                    (long long)*n, (long long)i);
  return NULL;
}

static hr_status_t broadcast_args(hr_kernel_ctx_t* k) {
  const hr_tensor_t *a = hr_input(k, 0), *b = hr_input(k, 1);
  int64_t m, n;
  hr_tensor_t* out;
  HR_TRY(hr_want_vector(k, 0, "s0"));
  HR_TRY(hr_want_vector(k, 1, "s1"));
  const int64_t rank = a->count > b->count ? a->count : b->count;
  const hr_shape_t shape = hr_shape_vector(rank);
  HR_TRY(hr_output(k, 0, &shape, &out));
  for (int64_t i = 0; i < rank; ++i) {
    HR_TRY(sizes_at(a, b, i, rank, &m, &n));
    hr_tensor_set_index(out, i, m == 1 ? n : m);
  }
  return NULL;
}

/* The axes along which operand `which` is repeated; all axes of size 1 in both belong to both, unless the shapes are the same. */
static hr_status_t summed_axes(const hr_tensor_t* a, const hr_tensor_t* b, int which, hr_tensor_t* out, int64_t* out_count) {
  const int64_t rank = a->count > b->count ? a->count : b->count;
  int64_t size[2], count = 0;
  const bool same = a->count == b->count && memcmp(a->data, b->data, hr_tensor_bytes(a)) == 0;
  for (int64_t i = 0; i < rank; ++i) {
    HR_TRY(sizes_at(a, b, i, rank, &size[0], &size[1]));
    if (same || size[which] != 1) continue;
    if (out) hr_tensor_set_index(out, count, i);
    ++count;
  }
  *out_count = count;
  return NULL;
}

static hr_status_t gradient_args(hr_kernel_ctx_t* k) {
  const hr_tensor_t *a = hr_input(k, 0), *b = hr_input(k, 1);
  HR_TRY(hr_want_vector(k, 0, "In[0] must be a vector, not of shape "));
  HR_TRY(hr_want_vector(k, 1, "In[1] must be a vector, not of shape "));
  for (int i = 0; i < 2; ++i) {
    int64_t count;
    hr_tensor_t* out;
    HR_TRY(summed_axes(a, b, i, NULL, &count));
    const hr_shape_t shape = hr_shape_vector(count);
    HR_TRY(hr_output(k, i, &shape, &out));
    HR_TRY(summed_axes(a, b, i, out, &count));
  }
  return NULL;
}

/* 3. gradient */
static void grad_to(hr_grad_ctx_t* g) {
  hr_grad_give(g, 0, hr_emit_reduce_to(g, hr_grad_upstream(g, 0), hr_grad_input(g, 0), hr_grad_output(g, 0)));
}

/* 4. definitions */
const hr_op_t hr_op_BroadcastTo = {.name = "BroadcastTo",
                                   .sig = "input: T; shape: Tidx -> output: T",
                                   .attrs = "T: type; Tidx: type{int32,int64} = int32",
                                   .shape = infer_to,
                                   .grad = grad_to,
                                   HR_KERNELS({.host_inputs = 2, .compute = broadcast_to}),
                                   .doc = "the input with axes of size 1 repeated up to a shape",
                                   HR_HERE};

const hr_op_t hr_op_BroadcastArgs = {.name = "BroadcastArgs",
                                     .sig = "s0: T; s1: T -> r0: T",
                                     .attrs = "T: type{int32,int64} = int32",
                                     .shape = infer_args,
                                     HR_KERNELS({.host_inputs = 3, .host_outputs = 1, .compute = broadcast_args}),
                                     .doc = "the shape that two shapes broadcast to",
                                     HR_HERE};

const hr_op_t hr_op_BroadcastGradientArgs = {.name = "BroadcastGradientArgs",
                                             .sig = "s0: T; s1: T -> r0: T; r1: T",
                                             .attrs = "T: type{int32,int64} = int32",
                                             .shape = infer_gradient_args,
                                             .grad = hr_grad_none,
                                             HR_KERNELS({.host_inputs = 3, .host_outputs = 3, .compute = gradient_args}),
                                             .doc = "the axes along which each operand of a broadcast is repeated",
                                             HR_HERE};
