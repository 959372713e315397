/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors side by side along an axis: Concat (axis first), ConcatV2 (axis last), and where each lands (ConcatOffset). All sizes but the
 * axis's agree; scalars have no axis to be joined along. */
#include <stdio.h>
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_Concat, hr_op_ConcatV2, hr_op_ConcatOffset;

/* 1. shapes */
static hr_status_t infer_joined(hr_infer_t* s, int axis_input, int first, int count) {
  const hr_tensor_t* axis_value = hr_infer_const(s, axis_input);
  const hr_pshape_t* merged = &hr_pshape_unknown;
  int64_t wanted = 0, sum = 0, dims[HR_MAX_RANK];
  int axis = 0, rank = -1;
  HR_TRY(hr_infer_want_rank(s, axis_input, 0, NULL));
  if (axis_value) HR_TRY(hr_tensor_scalar_i64(axis_value, "axis", &wanted));
  for (int i = first; i < first + count; ++i) {
    const hr_pshape_t* x = hr_infer_input(s, i);
    if (x->rank >= 0 && rank >= 0 && x->rank != rank)
      return HR_ERROR(INVALID_ARGUMENT, "inputs must have one rank; one has %d, another %d", rank, x->rank);
    if (x->rank >= 0) HR_TRY(hr_infer_want_rank_at_least(s, i, 1, NULL));
    rank = x->rank >= 0 ? x->rank : rank;
  }
  if (rank < 0 || rank > HR_MAX_RANK) return NULL;
  if (!axis_value) {
    HR_TRY(hr_infer_unknown_of_rank(s, rank, &merged));
    hr_infer_set(s, 0, merged);
    return NULL;
  }
  HR_TRY(hr_shape_axis(wanted, rank, &axis));
  for (int d = 0; d < rank; ++d) dims[d] = -1;
  for (int i = first; i < first + count; ++i) {
    const hr_pshape_t* x = hr_infer_input(s, i);
    const int64_t size = hr_infer_dim(x, axis);
    sum = size < 0 || sum < 0 || __builtin_add_overflow(sum, size, &sum) ? -1 : sum;
    for (int d = 0; d < rank; ++d)
      if (d != axis) {
        hr_status_t status = hr_infer_merge_dim(dims[d], hr_infer_dim(x, d), &dims[d]);
        if (status) return hr_status_note(status, "input %d, dimension %d: ", i, d);
      }
  }
  dims[axis] = sum;
  return hr_infer_set_dims(s, 0, rank, dims);
}

static hr_status_t infer_concat(hr_infer_t* s) { return infer_joined(s, 0, 1, hr_infer_input_count(s) - 1); }
static hr_status_t infer_concat_v2(hr_infer_t* s) { return infer_joined(s, hr_infer_input_count(s) - 1, 0, hr_infer_input_count(s) - 1); }

static hr_status_t infer_offset(hr_infer_t* s) {
  const hr_pshape_t* shape = &hr_pshape_unknown;
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  for (int i = 1; i < hr_infer_input_count(s); ++i) {
    HR_TRY(hr_infer_want_rank(s, i, 1, NULL));
    HR_TRY(hr_infer_merge(s, shape, hr_infer_input(s, i), &shape));
  }
  for (int i = 0; i < hr_infer_output_count(s); ++i) {
    if (shape->rank < 0)
      HR_TRY(hr_infer_set_vector(s, i, -1));
    else
      hr_infer_set(s, i, shape);
  }
  return NULL;
}

/* 2. kernels */
/* Adds x to the joined shape along the axis; the other sizes must agree. */
static hr_status_t join_shape(hr_shape_t* joined, const hr_shape_t* x, int axis, int number) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  bool agrees = x->rank == joined->rank;
  for (int d = 0; agrees && d < x->rank; ++d) agrees = d == axis || x->dims[d] == joined->dims[d];
  if (x->rank != joined->rank)
    return HR_ERROR(INVALID_ARGUMENT, "ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. shape[%d] = %s",
                    hr_shape_format(joined, a), number, hr_shape_format(x, b));
  if (!agrees)
    return HR_ERROR(INVALID_ARGUMENT, "ConcatOp : Dimensions of inputs should match, in both shapes they must be equal outside "
                    "axis %d: input %d has shape %s, those before it make %s",
                    axis, number, hr_shape_format(x, a), hr_shape_format(joined, b));
  if (__builtin_add_overflow(joined->dims[axis], x->dims[axis], &joined->dims[axis]))
    return HR_ERROR(INVALID_ARGUMENT, "the joined axis %d is too long", axis);
  return NULL;
}

static hr_status_t joined(hr_kernel_ctx_t* k, int axis_input, int first, int count) {
  int64_t wanted;
  int axis;
  hr_shape_t shape;
  hr_tensor_t* out;
  if (hr_input(k, axis_input)->shape.rank > 1) /* [n] is taken for n where no shape function saw it */
    HR_TRY(hr_want_scalar(k, axis_input, "axis tensor should be a scalar integer, but got shape "));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, axis_input), "axis", &wanted));
  hr_shape_copy(&shape, &hr_input(k, first)->shape);
  HR_TRY(hr_want_rank_at_least(k, first, "values", 1));
  HR_TRY(hr_shape_axis(wanted, shape.rank, &axis));
  for (int i = 1; i < count; ++i) HR_TRY(join_shape(&shape, &hr_input(k, first + i)->shape, axis, i));
  HR_TRY(hr_shape_check(&shape));
  if (count == 1) return hr_output_alias(k, 0, first, &shape);
  HR_TRY(hr_output(k, 0, &shape, &out));
  return hr_move_join(k, out, first, count, hr_shape_count_range(&shape, 0, axis));
}
static hr_status_t concat(hr_kernel_ctx_t* k) { return joined(k, 0, 1, hr_input_count(k) - 1); }
static hr_status_t concat_v2(hr_kernel_ctx_t* k) { return joined(k, hr_input_count(k) - 1, 0, hr_input_count(k) - 1); }

static void sizes_format(const hr_tensor_t* sizes, char* text, size_t room) { /* "2 3 5"; what does not fit is left out */
  size_t at = 0;
  text[0] = 0;
  for (int64_t i = 0; i < sizes->count && at + 24 < room; ++i)
    at += (size_t)snprintf(text + at, room - at, i ? " %lld" : "%lld", (long long)hr_tensor_index_at(sizes, i));
}

static hr_status_t offset_mismatch(int axis, int i, const hr_tensor_t* x, const hr_tensor_t* first, int64_t at) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  sizes_format(x, a, sizeof a);
  sizes_format(first, b, sizeof b);
  return HR_ERROR(INVALID_ARGUMENT,
                  "All dimensions except %d must match. Input %d has shape [%s] and doesn't match input 0 with shape [%s], at axis %lld",
                      axis, i, a, b,
                  (long long)at);
}

static hr_status_t concat_offset(hr_kernel_ctx_t* k) {
  int64_t wanted, offset = 0;
  int axis;
  HR_TRY(hr_want_scalar(k, 0, "concat_dim"));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 0), "concat_dim", &wanted));
  const hr_tensor_t* first = hr_input(k, 1);
  HR_TRY(hr_want_vector(k, 1, "input 0 should be a vector, but got shape "));
  if (first->count > INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "shape 0 has %lld sizes, more than any tensor", (long long)first->count);
  HR_TRY(hr_status_note(hr_shape_axis(wanted, (int)first->count, &axis), "Concat dim is out of range: %lld vs. %d: ", (long long)wanted,
                        (int)first->count));
  for (int i = 0; i < hr_output_count(k); ++i) {
    const hr_tensor_t* x = hr_input(k, 1 + i);
    int64_t next = offset;
    hr_tensor_t* out;
    HR_TRY(hr_want_vector(k, 1 + i, "each input of sizes should be a vector, but got shape "));
    if (x->count != first->count)
      return HR_ERROR(INVALID_ARGUMENT, "input %d should contain %lld elem(ents), but has %lld", i, (long long)first->count,
                      (long long)x->count);
    HR_TRY(hr_output(k, i, &x->shape, &out));
    for (int64_t d = 0; d < x->count; ++d) {
      int64_t size, like;
      HR_TRY(hr_tensor_i64_at(x, d, &size));
      HR_TRY(hr_tensor_i64_at(first, d, &like));
      if (d != axis && size != like)
        return offset_mismatch(axis, i, x, first, d);
      if (d == axis && __builtin_add_overflow(offset, size, &next))
        return HR_ERROR(INVALID_ARGUMENT, "the offset of shape %d cannot be counted", i + 1);
      hr_tensor_set_index(out, d, d == axis ? offset : 0);
    }
    offset = next;
  }
  return NULL;
}

/* 3. gradient: dy split again. The sizes along the axis are constants when the shapes are known. */
static hr_value_t size_along(hr_grad_ctx_t* g, hr_value_t x, hr_value_t axis_vector) { /* shape(x)[axis], a scalar */
  return hr_emit(g, "StridedSlice",
                 HR_VALUES(hr_emit_shape(g, x), axis_vector, axis_vector, hr_emit_const_i32s(g, (const int64_t[]){1}, 1)),
                 HR_ATTRS(hr_at_int("shrink_axis_mask", 1)));
}

static bool static_sizes(hr_grad_ctx_t* g, int axis_input, int first, int count, int64_t* sizes) {
  const hr_tensor_t* axis_value = hr_grad_const(g, hr_grad_input(g, axis_input));
  int64_t axis;
  hr_status_t status = axis_value ? hr_tensor_scalar_i64(axis_value, "axis", &axis) : NULL;
  if (status) {
    hr_grad_fail(g, status);
    return false;
  }
  for (int i = 0; axis_value && i < count; ++i)
    if ((sizes[i] = hr_infer_dim(hr_grad_shape(g, hr_grad_input(g, first + i)), axis)) < 0) return false;
  return axis_value != NULL;
}

static void grad_joined(hr_grad_ctx_t* g, int axis_input, int first, int count) {
  hr_value_t dy = hr_grad_upstream(g, 0), axis = hr_grad_input(g, axis_input);
  int64_t* sizes = hr_alloc_array((size_t)count, sizeof *sizes);
  hr_value_t* parts = hr_alloc_array((size_t)count, sizeof *parts);
  hr_value_t list;
  if (!sizes || !parts) {
    hr_grad_fail(g, hr_status_out_of_memory());
    goto done;
  }
  if (count == 1) {
    hr_grad_give(g, first, hr_emit_reshape_like(g, dy, hr_grad_input(g, first)));
    goto done;
  }
  axis = hr_emit_cast(g, axis, HR_I32);
  if (static_sizes(g, axis_input, first, count, sizes)) {
    list = hr_emit_const_i32s(g, sizes, count);
  } else {
    hr_value_t at = hr_emit_reshape(g, axis, hr_emit_const_i32s(g, (const int64_t[]){1}, 1));
    for (int i = 0; i < count; ++i) parts[i] = size_along(g, hr_grad_input(g, first + i), at);
    list = hr_emit(g, "Pack", count, parts, HR_NO_ATTRS);
  }
  hr_value_t split = hr_emit(g, "SplitV", HR_VALUES(dy, list, axis), HR_ATTRS(hr_at_int("num_split", count)));
  for (int i = 0; i < count; ++i) hr_grad_give(g, first + i, hr_emit_nth(split, i));
done:
  hr_free(sizes);
  hr_free(parts);
}
static void grad_concat(hr_grad_ctx_t* g) { grad_joined(g, 0, 1, hr_grad_input_count(g) - 1); }
static void grad_concat_v2(hr_grad_ctx_t* g) { grad_joined(g, hr_grad_input_count(g) - 1, 0, hr_grad_input_count(g) - 1); }

/* 4. definitions */
const hr_op_t hr_op_Concat = {.name = "Concat",
                              .sig = "concat_dim: int32; values: N*T -> output: T",
                              .attrs = "N: int >= 2; T: type",
                              .shape = infer_concat,
                              .grad = grad_concat,
                              HR_KERNELS({.host_inputs = 1, .compute = concat}),
                              .doc = "the values side by side along an axis",
                              HR_HERE};

const hr_op_t hr_op_ConcatV2 = {.name = "ConcatV2",
                                .sig = "values: N*T; axis: Tidx -> output: T",
                                .attrs = "N: int >= 2; T: type; Tidx: type{int32,int64} = int32",
                                .shape = infer_concat_v2,
                                .grad = grad_concat_v2,
                                HR_KERNELS(HR_CPU_ANY(concat_v2)),
                                .doc = "the values side by side along an axis",
                                HR_HERE};

const hr_op_t hr_op_ConcatOffset = {.name = "ConcatOffset",
                                    .sig = "concat_dim: int32; shape: N*shape_type -> offset: N*shape_type",
                                    .attrs = "N: int >= 2; shape_type: type{int32,int64} = int32",
                                    .shape = infer_offset,
                                    .grad = hr_grad_none,
                                    HR_KERNELS({.host_inputs = ~0u, .host_outputs = ~0u, .compute = concat_offset}),
                                    .doc = "where each of the joined tensors begins",
                                    HR_HERE};
