/* SPDX-License-Identifier: Apache-2.0 */
/* Pack joins tensors of one shape along a new axis; Unpack takes them apart again. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_Pack, hr_op_Unpack;

/* 1. shapes */
static hr_status_t infer_pack(hr_infer_t* s) {
  const hr_pshape_t* one = &hr_pshape_unknown;
  int axis;
  int64_t dims[254];
  for (int i = 0; i < hr_infer_input_count(s); ++i) {
    hr_status_t status = hr_infer_merge(s, one, hr_infer_input(s, i), &one);
    if (status) return hr_status_note(status, "input %d does not have the shape of those before it: ", i);
  }
  if (one->rank < 0 || one->rank >= 254) return NULL;
  HR_TRY(hr_shape_axis(hr_attrs_int(hr_infer_attrs(s), "axis"), one->rank + 1, &axis));
  for (int d = 0; d <= one->rank; ++d) dims[d] = d < axis ? one->dims[d] : d == axis ? hr_infer_input_count(s) : one->dims[d - 1];
  return hr_infer_set_dims(s, 0, one->rank + 1, dims);
}

static hr_status_t infer_unpack(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *one;
  int axis, rank = 0;
  int64_t dims[254];
  const int parts = hr_infer_output_count(s);
  if (x->rank < 0) return NULL;
  if (x->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "a scalar cannot be unpacked");
  HR_TRY(hr_shape_axis(hr_attrs_int(hr_infer_attrs(s), "axis"), x->rank, &axis));
  if (x->dims[axis] >= 0 && x->dims[axis] != parts)
    return HR_ERROR(INVALID_ARGUMENT, "Input shape axis %d has size %lld, which must equal num = %d", axis, (long long)x->dims[axis],
                    parts);
  for (int d = 0; d < x->rank; ++d)
    if (d != axis) dims[rank++] = x->dims[d];
  HR_TRY(hr_pshape_make(hr_infer_arena(s), rank, dims, &one));
  for (int i = 0; i < parts; ++i) hr_infer_set(s, i, one);
  return NULL;
}

/* 2. kernels */
static hr_status_t own_axis(const hr_kernel_ctx_t* k, int rank, int* out) {
  const int64_t wanted = *(const int64_t*)hr_prepared(k);
  return hr_status_note(hr_shape_axis(wanted, rank, out), "axis = %lld not in [%d, %d): ", (long long)wanted, -rank, rank);
}

static hr_status_t axis_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "axis");
  return NULL;
}

static hr_status_t pack(hr_kernel_ctx_t* k) {
  const hr_shape_t* x = &hr_input(k, 0)->shape;
  const int count = hr_input_count(k);
  int axis;
  hr_shape_t shape = hr_shape_scalar();
  hr_tensor_t* out;
  HR_TRY(own_axis(k, x->rank + 1, &axis));
  for (int i = 1; i < count; ++i) HR_TRY(hr_status_note(hr_want_same_shape(k, 0, i), "Shapes of all inputs must match: "));
  for (int d = 0; d <= x->rank; ++d) HR_TRY(hr_shape_append(&shape, d < axis ? x->dims[d] : d == axis ? count : x->dims[d - 1]));
  if (count == 1) return hr_output_alias(k, 0, 0, &shape);
  HR_TRY(hr_output(k, 0, &shape, &out));
  return hr_move_join(k, out, 0, count, hr_shape_count_range(&shape, 0, axis));
}

static hr_status_t unpack(hr_kernel_ctx_t* k) {
  const hr_tensor_t x = *hr_input(k, 0);
  const int parts = hr_output_count(k);
  int axis;
  hr_shape_t shape = hr_shape_scalar();
  char text[HR_SHAPE_TEXT];
  HR_TRY(own_axis(k, x.shape.rank, &axis));
  if (x.shape.dims[axis] != parts)
    return HR_ERROR(INVALID_ARGUMENT, "Input shape axis %d must equal %d, got shape %s", axis, parts, hr_shape_format(&x.shape, text));
  for (int d = 0; d < x.shape.rank; ++d)
    if (d != axis) HR_TRY(hr_shape_append(&shape, x.shape.dims[d]));
  if (parts == 1) return hr_output_alias(k, 0, 0, &shape);
  const int64_t rows = hr_shape_count_range(&x.shape, 0, axis), width = hr_shape_count_range(&x.shape, axis + 1, x.shape.rank);
  for (int i = 0; i < parts; ++i)
    if (hr_output_wanted(k, i)) HR_TRY(hr_move_part(k, i, &shape, &x, rows, width * parts, width * i, width));
  return NULL;
}

/* 3. gradients: each is the other */
static void grad_pack(hr_grad_ctx_t* g) {
  const int count = hr_grad_input_count(g);
  hr_value_t parts = hr_emit(g, "Unpack", HR_VALUES(hr_grad_upstream(g, 0)),
                             HR_ATTRS(hr_at_int("num", count), hr_at_int("axis", hr_attrs_int(hr_grad_attrs(g), "axis"))));
  for (int i = 0; i < count; ++i) hr_grad_give(g, i, hr_emit_nth(parts, i));
}

static void grad_unpack(hr_grad_ctx_t* g) {
  const int parts = hr_grad_output_count(g);
  hr_value_t* all = hr_alloc_array((size_t)parts, sizeof *all);
  if (!all) {
    hr_grad_fail(g, hr_status_out_of_memory());
    return;
  }
  for (int i = 0; i < parts; ++i) all[i] = hr_grad_upstream(g, i);
  hr_grad_give(g, 0, hr_emit(g, "Pack", parts, all, HR_ATTRS(hr_at_int("axis", hr_attrs_int(hr_grad_attrs(g), "axis")))));
  hr_free(all);
}

/* 4. definitions */
const hr_op_t hr_op_Pack = {.name = "Pack",
                            .sig = "values: N*T -> output: T",
                            .attrs = "N: int >= 1; T: type; axis: int = 0",
                            .shape = infer_pack,
                            .grad = grad_pack,
                            HR_KERNELS({.prepared_bytes = sizeof(int64_t), .prepare = axis_prepare, .compute = pack}),
                            .doc = "tensors of one shape joined along a new axis",
                            HR_HERE};

const hr_op_t hr_op_Unpack = {.name = "Unpack",
                              .sig = "value: T -> output: num*T",
                              .attrs = "num: int >= 0; T: type; axis: int = 0",
                              .shape = infer_unpack,
                              .grad = grad_unpack,
                              HR_KERNELS({.prepared_bytes = sizeof(int64_t), .prepare = axis_prepare, .compute = unpack}),
                              .doc = "the slices along an axis",
                              HR_HERE};
