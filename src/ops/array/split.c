/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor cut along an axis: Split into equal parts, SplitV into parts of given sizes (one of which may be -1: the rest). Along the first
 * axis large parts share the input's memory. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_Split, hr_op_SplitV;

/* 1. the rules, for shape functions and kernels alike */
static hr_status_t even_part(int64_t length, int parts, int64_t* out) {
  if (length % parts)
    return HR_ERROR(INVALID_ARGUMENT, "Number of ways to split should evenly divide the split dimension, but %d does not divide %lld",
                    parts, (long long)length);
  *out = length / parts;
  return NULL;
}

/* sizes[0..parts) from the size_splits tensor; length -1: unknown, then a -1 stays. */
static hr_status_t listed_parts(const hr_tensor_t* list, int64_t length, int parts, int64_t* sizes) {
  int64_t sum = 0;
  int rest = -1;
  if (list->shape.rank != 1 || list->count != parts) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "size_splits must be a vector of %d sizes, not of shape %s", parts,
                    hr_shape_format(&list->shape, text));
  }
  for (int i = 0; i < parts; ++i) {
    HR_TRY(hr_tensor_i64_at(list, i, &sizes[i]));
    if (sizes[i] == -1 && rest >= 0)
      return HR_ERROR(INVALID_ARGUMENT, "There can only be one -1 in the input size_splits, not both %d and %d", rest, i);
    if (sizes[i] < -1) return HR_ERROR(INVALID_ARGUMENT, "size %d of size_splits is %lld, should be -1 or more", i, (long long)sizes[i]);
    if (sizes[i] == -1)
      rest = i;
    else if (__builtin_add_overflow(sum, sizes[i], &sum))
      return HR_ERROR(INVALID_ARGUMENT, "size_splits sum to more than can be counted");
  }
  if (length < 0) return NULL;
  if (rest >= 0 ? sum > length : sum != length)
    return HR_ERROR(INVALID_ARGUMENT,
                    "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
                    "the size of the input along split_dim if not fully specified.  Got: %lld for %lld",
                    (long long)sum, (long long)length);
  if (rest >= 0) sizes[rest] = length - sum;
  return NULL;
}

/* 2. shapes */
static hr_status_t set_parts(hr_infer_t* s, const hr_pshape_t* x, int axis, const int64_t* sizes) { /* sizes NULL: unknown */
  int64_t dims[254];
  for (int d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  for (int i = 0; i < hr_infer_output_count(s); ++i) {
    dims[axis] = sizes ? sizes[i] : -1;
    HR_TRY(hr_infer_set_dims(s, i, x->rank, dims));
  }
  return NULL;
}

/* The axis as far as known; false: outputs of unknown sizes were set. */
static hr_status_t infer_axis(hr_infer_t* s, int input, int axis_input, bool* out_known, int* out_axis) {
  const hr_pshape_t *x = hr_infer_input(s, input), *open;
  const hr_tensor_t* axis_value = hr_infer_const(s, axis_input);
  int64_t wanted;
  *out_known = false;
  HR_TRY(hr_infer_want_rank(s, axis_input, 0, NULL));
  if (x->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "a scalar cannot be split");
  if (x->rank < 0) return NULL;
  if (!axis_value) {
    HR_TRY(hr_infer_unknown_of_rank(s, x->rank, &open));
    for (int i = 0; i < hr_infer_output_count(s); ++i) hr_infer_set(s, i, open);
    return NULL;
  }
  HR_TRY(hr_tensor_scalar_i64(axis_value, "split_dim", &wanted));
  HR_TRY(hr_shape_axis(wanted, x->rank, out_axis));
  *out_known = true;
  return NULL;
}

static hr_status_t infer_split(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 1);
  bool known;
  int axis;
  int64_t part = -1;
  HR_TRY(infer_axis(s, 1, 0, &known, &axis));
  if (!known) return NULL;
  if (x->dims[axis] >= 0) HR_TRY(even_part(x->dims[axis], hr_infer_output_count(s), &part));
  int64_t dims[254];
  for (int d = 0; d < x->rank; ++d) dims[d] = d == axis ? part : x->dims[d];
  const hr_pshape_t* shape;
  HR_TRY(hr_pshape_make(hr_infer_arena(s), x->rank, dims, &shape));
  for (int i = 0; i < hr_infer_output_count(s); ++i) hr_infer_set(s, i, shape);
  return NULL;
}

static hr_status_t infer_split_v(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* list = hr_infer_const(s, 1);
  const int parts = hr_infer_output_count(s);
  bool known;
  int axis;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  if (hr_infer_dim(hr_infer_input(s, 1), 0) >= 0 && hr_infer_dim(hr_infer_input(s, 1), 0) != parts)
    return HR_ERROR(INVALID_ARGUMENT, "size_splits has %lld sizes for %d outputs", (long long)hr_infer_dim(hr_infer_input(s, 1), 0), parts);
  HR_TRY(infer_axis(s, 0, 2, &known, &axis));
  if (!known) return NULL;
  if (!list) return set_parts(s, x, axis, parts == 1 ? &x->dims[axis] : NULL);
  int64_t* sizes = hr_alloc_array((size_t)parts, sizeof *sizes);
  if (!sizes) return hr_status_out_of_memory();
  hr_status_t status = listed_parts(list, x->dims[axis], parts, sizes);
  if (!status) status = set_parts(s, x, axis, sizes);
  hr_free(sizes);
  return status;
}

/* 3. kernels */
static hr_status_t split_axis(hr_kernel_ctx_t* k, const hr_tensor_t* x, int axis_input, int* out) {
  int64_t wanted;
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, axis_input), "split_dim", &wanted));
  if (x->shape.rank == 0) return HR_ERROR(INVALID_ARGUMENT, "a scalar cannot be split");
  return hr_shape_axis(wanted, x->shape.rank, out);
}

static hr_status_t give_parts(hr_kernel_ctx_t* k, int input, int axis, const int64_t* sizes, int64_t even) {
  hr_tensor_t x = *hr_input(k, input); /* borrowed: its slot may be taken over by an alias */
  const int64_t rows = hr_shape_count_range(&x.shape, 0, axis), inner = hr_shape_count_range(&x.shape, axis + 1, x.shape.rank);
  int64_t start = 0;
  hr_shape_t shape;
  hr_shape_copy(&shape, &x.shape);
  if (hr_output_count(k) == 1) return hr_output_alias(k, 0, input, &shape);
  for (int i = 0; i < hr_output_count(k); ++i) {
    const int64_t size = sizes ? sizes[i] : even;
    shape.dims[axis] = size;
    if (hr_output_wanted(k, i)) HR_TRY(hr_move_part(k, i, &shape, &x, rows, x.shape.dims[axis] * inner, start * inner, size * inner));
    start += size;
  }
  return NULL;
}

static hr_status_t split(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 1);
  int axis;
  int64_t part = 0;
  HR_TRY(hr_want_scalar(k, 0, "split_dim"));
  HR_TRY(split_axis(k, x, 0, &axis));
  HR_TRY(even_part(x->shape.dims[axis], hr_output_count(k), &part));
  return give_parts(k, 1, axis, NULL, part);
}

static hr_status_t split_v(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const int parts = hr_output_count(k);
  int64_t few[64], *sizes = parts <= 64 ? few : hr_alloc_array((size_t)parts, sizeof *sizes);
  int axis;
  hr_status_t status = sizes ? split_axis(k, x, 2, &axis) : hr_status_out_of_memory();
  if (!status) status = listed_parts(hr_input(k, 1), x->shape.dims[axis], parts, sizes);
  if (!status) status = give_parts(k, 0, axis, sizes, 0);
  if (sizes != few) hr_free(sizes);
  return status;
}

/* 4. gradient: the parts' gradients side by side */
static void grad_parts(hr_grad_ctx_t* g, int input, int axis_input) {
  const int parts = hr_grad_output_count(g);
  hr_value_t* all = hr_alloc_array((size_t)parts + 1, sizeof *all);
  if (!all) {
    hr_grad_fail(g, hr_status_out_of_memory());
    return;
  }
  for (int i = 0; i < parts; ++i) all[i] = hr_grad_upstream(g, i);
  all[parts] = hr_grad_input(g, axis_input);
  hr_grad_give(g, input, parts == 1 ? all[0] : hr_emit(g, "ConcatV2", parts + 1, all, HR_NO_ATTRS));
  hr_free(all);
}
static void grad_split(hr_grad_ctx_t* g) { grad_parts(g, 1, 0); }
static void grad_split_v(hr_grad_ctx_t* g) { grad_parts(g, 0, 2); }

/* 5. definitions */
const hr_op_t hr_op_Split = {.name = "Split",
                             .sig = "split_dim: int32; value: T -> output: num_split*T",
                             .attrs = "num_split: int >= 1; T: type",
                             .shape = infer_split,
                             .grad = grad_split,
                             HR_KERNELS({.host_inputs = 1, .compute = split}),
                             .doc = "equal parts along an axis",
                             HR_HERE};

const hr_op_t hr_op_SplitV = {.name = "SplitV",
                              .sig = "value: T; size_splits: Tlen; split_dim: int32 -> output: num_split*T",
                              .attrs = "num_split: int >= 1; T: type; Tlen: type{int8,int32,int64} = int64",
                              .shape = infer_split_v,
                              .grad = grad_split_v,
                              HR_KERNELS({.host_inputs = 6, .compute = split_v}),
                              .doc = "parts of given sizes along an axis",
                              HR_HERE};
