/* SPDX-License-Identifier: Apache-2.0 */
/* ListDiff: the elements of x that are not in y, in their order and as often as they occur, and where in x they stand. */
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/array/element_set.h"

extern const hr_op_t hr_op_ListDiff;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, 1, NULL));
  HR_TRY(hr_infer_set_vector(s, 0, -1));
  return hr_infer_set_vector(s, 1, -1);
}

/* 2. kernel */
static hr_status_t give_missing(hr_kernel_ctx_t* k, const hr_element_set_t* set) {
  const hr_tensor_t* x = hr_input(k, 0);
  const hr_element_items_t items = {x, 1, 1, x->count};
  int64_t count = 0, at = 0;
  hr_tensor_t *out, *idx;
  for (int64_t i = 0; i < x->count; ++i) count += hr_element_set_find(set, &items, i) < 0;
  const hr_shape_t shape = hr_shape_vector(count);
  HR_TRY(hr_output(k, 0, &shape, &out));
  HR_TRY(hr_output(k, 1, &shape, &idx));
  for (int64_t i = 0; i < x->count; ++i) {
    if (hr_element_set_find(set, &items, i) >= 0) continue;
    HR_TRY(hr_tensor_copy_elements(out, at, x, i, 1));
    if (idx->dtype == HR_I64)
      ((int64_t*)idx->data)[at++] = i;
    else
      ((int32_t*)idx->data)[at++] = (int32_t)i;
  }
  return NULL;
}

static hr_status_t list_diff(hr_kernel_ctx_t* k) {
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1);
  const hr_element_items_t items = {y, 1, 1, y->count};
  hr_element_set_t set;
  HR_TRY(hr_want_vector(k, 0, "x should be a 1D vector, not of shape "));
  HR_TRY(hr_want_vector(k, 1, "y should be a 1D vector, not of shape "));
  if (hr_output_dtype(k, 1) == HR_I32 && x->count > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "%lld elements cannot be numbered by int32", (long long)x->count);
  HR_TRY(hr_element_set_init(&set, &items, y->count));
  for (int64_t i = 0; i < y->count; ++i) (void)hr_element_set_add(&set, i);
  hr_status_t status = give_missing(k, &set);
  hr_element_set_deinit(&set);
  return status;
}

/* 3. definition */
const hr_op_t hr_op_ListDiff = {.name = "ListDiff",
                                .sig = "x: T; y: T -> out: T; idx: out_idx",
                                .attrs = "T: type; out_idx: type{int32,int64} = int32",
                                .shape = infer,
                                HR_KERNELS({.where = {{"T", HR_M_REAL | HR_M(BOOL) | HR_M(STRING)}}, .compute = list_diff}),
                                .doc = "the elements of x that are not in y",
                                HR_HERE};
