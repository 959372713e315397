/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: a new axis of `depth` positions, on_value at the index and off_value elsewhere; an index outside [0, depth) gives a row of
 * off_value. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_OneHot;

/* 1. the rules */
static hr_status_t new_axis(int64_t wanted, int rank, int* out) { /* -1 or 0..rank */
  if (wanted < -1 || wanted > rank)
    return HR_ERROR(INVALID_ARGUMENT, "Expected axis to be -1 or between [0, %d], but got %lld", rank, (long long)wanted);
  *out = wanted < 0 ? rank : (int)wanted;
  return NULL;
}

static hr_status_t read_depth(const hr_tensor_t* t, int64_t* out) {
  HR_TRY(hr_tensor_scalar_i64(t, "depth", out));
  return *out >= 0 ? NULL : HR_ERROR(INVALID_ARGUMENT, "depth must be non-negative, got: %lld", (long long)*out);
}

/* 2. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* indices = hr_infer_input(s, 0);
  const hr_tensor_t* depth_value = hr_infer_const(s, 1);
  int64_t depth = -1, dims[254];
  int axis = 0;
  for (int i = 1; i < 4; ++i) HR_TRY(hr_infer_want_rank(s, i, 0, NULL));
  const int64_t wanted = hr_attrs_int(hr_infer_attrs(s), "axis");
  if (wanted < -1) return HR_ERROR(INVALID_ARGUMENT, "axis must be at least -1, not %lld", (long long)wanted);
  if (depth_value) HR_TRY(read_depth(depth_value, &depth));
  if (indices->rank < 0 || indices->rank >= 254) return NULL;
  HR_TRY(new_axis(wanted, indices->rank, &axis));
  for (int d = 0; d <= indices->rank; ++d) dims[d] = d < axis ? indices->dims[d] : d == axis ? depth : indices->dims[d - 1];
  return hr_infer_set_dims(s, 0, indices->rank + 1, dims);
}

/* 3. kernel */
static hr_status_t axis_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "axis");
  return NULL;
}

static hr_status_t one_hot(hr_kernel_ctx_t* k) {
  const hr_tensor_t *indices = hr_input(k, 0), *on = hr_input(k, 2);
  int64_t depth;
  int axis = 0;
  hr_shape_t shape = hr_shape_scalar();
  hr_tensor_t* y;
  HR_TRY(hr_want_scalar(k, 1, "depth"));
  HR_TRY(hr_want_scalar(k, 2, "on_value"));
  HR_TRY(hr_want_scalar(k, 3, "off_value"));
  HR_TRY(read_depth(hr_input(k, 1), &depth));
  HR_TRY(new_axis(*(int64_t*)hr_prepared(k), indices->shape.rank, &axis));
  for (int d = 0; d <= indices->shape.rank; ++d)
    HR_TRY(hr_shape_append(&shape, d < axis ? indices->shape.dims[d] : d == axis ? depth : indices->shape.dims[d - 1]));
  HR_TRY(hr_output(k, 0, &shape, &y));
  HR_TRY(hr_move_fill(k, y, hr_input(k, 3)));
  const int64_t suffix = hr_shape_count_range(&shape, axis + 1, shape.rank);
  const size_t element = hr_dtype_size(y->dtype);
  const bool plain = hr_dtype_is_plain(y->dtype);
  for (int64_t i = 0; i < indices->count; ++i) {
    int64_t at;
    HR_TRY(hr_tensor_i64_at(indices, i, &at));
    if (at < 0 || at >= depth) continue;
    const int64_t to = (i / suffix * depth + at) * suffix + i % suffix;
    if (plain)
      memcpy((char*)y->data + (size_t)to * element, on->data, element);
    else
      HR_TRY(hr_tensor_copy_elements(y, to, on, 0, 1));
  }
  return NULL;
}

/* 4. definition */
const hr_op_t hr_op_OneHot = {
    .name = "OneHot",
    .sig = "indices: TI; depth: int32; on_value: T; off_value: T -> output: T",
    .attrs = "axis: int = -1; T: type; TI: type{uint8,int8,int32,int64} = int64",
    .shape = infer,
    .grad = hr_grad_none,
    HR_KERNELS({.host_inputs = 14, .prepared_bytes = sizeof(int64_t), .prepare = axis_prepare, .compute = one_hot}),
    .doc = "on_value at the index along a new axis, off_value elsewhere",
    HR_HERE};
