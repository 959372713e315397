/* SPDX-License-Identifier: Apache-2.0 */
/* Unique: the different elements of a vector in the order of their first occurrence, and for each element which one it is; with counts in
 * the WithCounts forms. The V2 forms take slices along an axis. NaN equals nothing, so each is its own. */
#include "base/alloc.h"
#include "op/infer_fns.h"
#include "ops/array/element_set.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_Unique, hr_op_UniqueV2, hr_op_UniqueWithCounts, hr_op_UniqueWithCountsV2;

/* 1. shapes */
static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_set_vector(s, 0, -1));
  HR_TRY(hr_infer_set_vector(s, 1, hr_infer_dim(hr_infer_input(s, 0), 0)));
  return hr_infer_output_count(s) == 3 ? hr_infer_set_vector(s, 2, -1) : NULL;
}

/* The axis input: a vector of none (then x is a vector) or one axis. */
static hr_status_t read_axis(const hr_tensor_t* t, int rank, int* out) {
  int64_t wanted;
  if (t->shape.rank != 1) return HR_ERROR(INVALID_ARGUMENT, "axis expects a 1D vector, not rank %d", (int)t->shape.rank);
  if (t->count > 1) return HR_ERROR(INVALID_ARGUMENT, "axis does not support input tensors larger than 1 elements, got %lld",
                                    (long long)t->count);
  *out = 0;
  if (t->count == 0) return rank == 1 ? NULL : HR_ERROR(INVALID_ARGUMENT, "without an axis unique expects a 1D vector, not rank %d", rank);
  HR_TRY(hr_tensor_i64_at(t, 0, &wanted));
  return hr_status_note(hr_shape_axis(wanted, rank, out), "axis has to be between [-%d, %d): ", rank, rank);
}

static hr_status_t infer_v2(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* axis_value = hr_infer_const(s, 1);
  int64_t dims[254];
  int axis;
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_set_vector(s, 1, -1));
  if (hr_infer_output_count(s) == 3) HR_TRY(hr_infer_set_vector(s, 2, -1));
  if (x->rank < 0 || x->rank > 254 || !axis_value) return NULL;
  HR_TRY(read_axis(axis_value, x->rank, &axis));
  for (int d = 0; d < x->rank; ++d) dims[d] = d == axis ? -1 : x->dims[d];
  HR_TRY(hr_infer_set_vector(s, 1, x->dims[axis]));
  return hr_infer_set_dims(s, 0, x->rank, dims);
}

/* 2. kernels */
/* idx and first[unique] = item; counts[unique] beside it. */
static hr_status_t number_items(const hr_element_items_t* items, int64_t n, hr_tensor_t* idx, int64_t* first, int64_t* numbers,
                                int64_t* counts, int64_t* out_count) {
  hr_element_set_t set;
  int64_t count = 0;
  HR_TRY(hr_element_set_init(&set, items, n));
  for (int64_t i = 0; i < n; ++i) {
    const int64_t same = hr_element_set_add(&set, i);
    if (same == i) {
      first[count] = i;
      counts[count] = 0;
      numbers[i] = count++;
    }
    ++counts[numbers[same]];
    hr_tensor_set_index(idx, i, numbers[same]);
  }
  hr_element_set_deinit(&set);
  *out_count = count;
  return NULL;
}

static hr_status_t give_unique(hr_kernel_ctx_t* k, int axis, const hr_element_items_t* items, const int64_t* first, const int64_t* counts,
                               int64_t count) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_shape_t shape, list = hr_shape_vector(count);
  hr_tensor_t *y, *c;
  hr_shape_copy(&shape, &x->shape);
  shape.dims[axis] = count;
  HR_TRY(hr_output(k, 0, &shape, &y));
  for (int64_t o = 0; o < items->outer; ++o)
    for (int64_t u = 0; u < count; ++u)
      HR_TRY(hr_tensor_copy_elements(y, (o * count + u) * items->inner, x, o * items->step + first[u] * items->inner, items->inner));
  if (hr_output_count(k) < 3) return NULL;
  HR_TRY(hr_output(k, 2, &list, &c));
  for (int64_t u = 0; u < count; ++u) hr_tensor_set_index(c, u, counts[u]);
  return NULL;
}

static hr_status_t unique_along(hr_kernel_ctx_t* k, int axis) {
  const hr_tensor_t* x = hr_input(k, 0);
  const int64_t n = x->shape.dims[axis], inner = hr_shape_count_range(&x->shape, axis + 1, x->shape.rank);
  const hr_element_items_t items = {x, hr_shape_count_range(&x->shape, 0, axis), inner, n * inner};
  const hr_shape_t all = hr_shape_vector(n);
  hr_tensor_t* idx;
  int64_t count = 0;
  if (hr_output_dtype(k, 1) == HR_I32 && n > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "%lld elements cannot be numbered by int32", (long long)n);
  HR_TRY(hr_output(k, 1, &all, &idx));
  int64_t* first = hr_alloc_array((size_t)n + 1, 3 * sizeof *first);
  if (!first) return hr_status_out_of_memory();
  hr_status_t status = number_items(&items, n, idx, first, first + n, first + 2 * n, &count);
  if (!status) status = give_unique(k, axis, &items, first, first + 2 * n, count);
  hr_free(first);
  return status;
}

static hr_status_t unique(hr_kernel_ctx_t* k) {
  HR_TRY(hr_want_vector(k, 0, "unique expects a 1D vector, not one of shape "));
  return unique_along(k, 0);
}

static hr_status_t unique_v2(hr_kernel_ctx_t* k) {
  int axis;
  HR_TRY(read_axis(hr_input(k, 1), hr_input(k, 0)->shape.rank, &axis));
  return unique_along(k, axis);
}

/* 3. definitions */
#define COMPARABLE        (HR_M_REAL | HR_M(BOOL) | HR_M(STRING))
#define UNIQUE_ATTRS      "T: type; out_idx: type{int32,int64} = int32"
#define UNIQUE_V2_ATTRS   "T: type; Taxis: type{int32,int64} = int64; out_idx: type{int32,int64} = int32"
#define UNIQUE_KERNEL(fn) HR_KERNELS({.where = {{"T", COMPARABLE}}, .compute = fn})
const hr_op_t hr_op_Unique = {.name = "Unique",
                              .sig = "x: T -> y: T; idx: out_idx",
                              .attrs = UNIQUE_ATTRS,
                              .shape = infer,
                              UNIQUE_KERNEL(unique),
                              .doc = "the different elements, and which one each is",
                              HR_HERE};

const hr_op_t hr_op_UniqueV2 = {.name = "UniqueV2",
                                .sig = "x: T; axis: Taxis -> y: T; idx: out_idx",
                                .attrs = UNIQUE_V2_ATTRS,
                                .shape = infer_v2,
                                UNIQUE_KERNEL(unique_v2),
                                .doc = "the different slices along an axis, and which one each is",
                                HR_HERE};

const hr_op_t hr_op_UniqueWithCounts = {.name = "UniqueWithCounts",
                                        .sig = "x: T -> y: T; idx: out_idx; count: out_idx",
                                        .attrs = UNIQUE_ATTRS,
                                        .shape = infer,
                                        UNIQUE_KERNEL(unique),
                                        .doc = "Unique, and how often each occurs",
                                        HR_HERE};

const hr_op_t hr_op_UniqueWithCountsV2 = {.name = "UniqueWithCountsV2",
                                          .sig = "x: T; axis: Taxis -> y: T; idx: out_idx; count: out_idx",
                                          .attrs = UNIQUE_V2_ATTRS,
                                          .shape = infer_v2,
                                          UNIQUE_KERNEL(unique_v2),
                                          .doc = "UniqueV2, and how often each occurs",
                                          HR_HERE};
