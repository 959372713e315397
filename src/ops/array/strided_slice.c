/* SPDX-License-Identifier: Apache-2.0 */
/* StridedSlice: x[begin:end:stride, ...] with ellipsis, new axes and single indices (strided_slice.h resolves them); its gradient
 * StridedSliceGrad lays dy out in zeros of x's shape. A slice that is one block of memory shares the input's. */
#include "ops/array/strided_slice.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_StridedSlice, hr_op_StridedSliceGrad;

/* 1. shapes */
static hr_status_t check_list_shapes(hr_infer_t* s, int first) { /* begin, end, strides: vectors of one length */
  const hr_pshape_t* list = hr_infer_input(s, first);
  for (int i = first; i < first + 3; ++i) {
    HR_TRY(hr_infer_want_rank(s, i, 1, NULL));
    HR_TRY(hr_infer_merge(s, list, hr_infer_input(s, i), &list));
  }
  return NULL;
}

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t *begin = hr_infer_const(s, 1), *end = hr_infer_const(s, 2), *strides = hr_infer_const(s, 3);
  hr_strided_masks_t masks;
  hr_strided_t slice;
  HR_TRY(check_list_shapes(s, 1));
  if (x->rank < 0 || !strides) return NULL;
  hr_strided_slice_masks(hr_infer_attrs(s), &masks);
  HR_TRY(hr_strided_slice_parse(&masks, begin, end, strides, x->rank, x->dims, &slice));
  HR_TRY(hr_infer_set_dims(s, 0, slice.out_rank, slice.out_dims));
  hr_dtype_t held;
  const hr_pshape_t* held_shape;
  hr_infer_handle(s, 0, &held, &held_shape);
  if (held != HR_DTYPE_INVALID || held_shape) hr_infer_set_handle(s, 0, held, held_shape);
  return NULL;
}

static hr_status_t infer_grad(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(check_list_shapes(s, 1));
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_const_as_shape(s, 0, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

/* 2. kernels */
static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  hr_strided_slice_masks(p->attrs, prepared);
  return NULL;
}

static hr_status_t strided_slice(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_strided_t slice;
  hr_shape_t shape;
  HR_TRY(hr_strided_slice_parse(hr_prepared(k), hr_input(k, 1), hr_input(k, 2), hr_input(k, 3), x->shape.rank, x->shape.dims, &slice));
  HR_TRY(hr_shape_make(slice.out_rank, slice.out_dims, &shape));
  return hr_move_box(k, &shape, slice.begin, slice.stride, slice.size);
}

static hr_status_t strided_slice_grad(hr_kernel_ctx_t* k) {
  const hr_tensor_t* dy = hr_input(k, 4);
  hr_strided_t slice;
  hr_shape_t shape, wanted;
  hr_tensor_t* dx;
  int64_t steps[HR_MAX_RANK], run = dy->count;
  char got[HR_SHAPE_TEXT], right[HR_SHAPE_TEXT];
  HR_TRY(hr_want_vector(k, 0, "shape"));
  HR_TRY(hr_tensor_to_shape(hr_input(k, 0), &shape));
  HR_TRY(hr_strided_slice_parse(hr_prepared(k), hr_input(k, 1), hr_input(k, 2), hr_input(k, 3), shape.rank, shape.dims, &slice));
  HR_TRY(hr_shape_make(slice.out_rank, slice.out_dims, &wanted));
  if (!hr_shape_equal(&wanted, &dy->shape))
    return HR_ERROR(INVALID_ARGUMENT, "shape of dy was %s instead of %s", hr_shape_format(&dy->shape, got),
                    hr_shape_format(&wanted, right));
  if (dy->count == hr_shape_count(&shape)) { /* all of x: the same elements, perhaps backwards */
    bool forward = true;
    for (int i = 0; i < slice.rank; ++i) forward = forward && (slice.size[i] == 1 || slice.stride[i] == 1);
    if (forward) return hr_output_alias(k, 0, 4, &shape);
  }
  HR_TRY(hr_output(k, 0, &shape, &dx));
  if (hr_dtype_is_plain(dx->dtype)) memset(dx->data, 0, hr_tensor_bytes(dx));
  if (dy->count == 0) return NULL;
  hr_move_t m = {.rank = 0};
  hr_iterate_strides(&shape, steps);
  for (int i = 0; i < slice.rank; ++i) {
    run /= slice.size[i];
    m.to_start += slice.begin[i] * steps[i];
    HR_TRY(hr_move_axis(&m, slice.size[i], slice.size[i] == 1 ? 0 : slice.stride[i] * steps[i], run));
  }
  return hr_move_run(k, &m, dx, dy);
}

/* 3. gradients */
static hr_value_t emit_masked(hr_grad_ctx_t* g, const char* op, int count, const hr_value_t* inputs) {
  hr_strided_masks_t m;
  hr_strided_slice_masks(hr_grad_attrs(g), &m);
  return hr_emit(g, op, count, inputs,
                 HR_ATTRS(hr_at_int("begin_mask", m.begin), hr_at_int("end_mask", m.end), hr_at_int("ellipsis_mask", m.ellipsis),
                          hr_at_int("new_axis_mask", m.new_axis), hr_at_int("shrink_axis_mask", m.shrink_axis)));
}

static void grad(hr_grad_ctx_t* g) {
  hr_value_t inputs[5] = {HR_NO_VALUE, hr_grad_input(g, 1), hr_grad_input(g, 2), hr_grad_input(g, 3), hr_grad_upstream(g, 0)};
  hr_value_t shape = hr_emit_shape(g, hr_grad_input(g, 0));
  const hr_dtype_t type = hr_grad_dtype(g, inputs[1]) == HR_I64 ? HR_I64 : HR_I32; /* StridedSliceGrad has no int16 */
  inputs[0] = hr_emit_cast(g, shape, type);
  for (int i = 1; i < 4; ++i) inputs[i] = hr_emit_cast(g, inputs[i], type);
  hr_grad_give(g, 0, emit_masked(g, "StridedSliceGrad", 5, inputs));
}

static void grad_of_grad(hr_grad_ctx_t* g) {
  const hr_value_t inputs[4] = {hr_grad_upstream(g, 0), hr_grad_input(g, 1), hr_grad_input(g, 2), hr_grad_input(g, 3)};
  hr_grad_give(g, 4, emit_masked(g, "StridedSlice", 4, inputs));
}

/* 4. definitions */
#define MASKS "; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0"
#define KERNEL(hosts, fn) \
  HR_KERNELS({.host_inputs = hosts, .prepared_bytes = sizeof(hr_strided_masks_t), .prepare = prepare, .compute = fn})
const hr_op_t hr_op_StridedSlice = {.name = "StridedSlice",
                                    .sig = "input: T; begin: Index; end: Index; strides: Index -> output: T",
                                    .attrs = "T: type; Index: type{int16,int32,int64}" MASKS,
                                    .shape = infer,
                                    .grad = grad,
                                    KERNEL(14, strided_slice),
                                    .doc = "x[begin:end:strides] with ellipsis, new axes and single indices by masks",
                                    HR_HERE};

const hr_op_t hr_op_StridedSliceGrad = {.name = "StridedSliceGrad",
                                        .sig = "shape: Index; begin: Index; end: Index; strides: Index; dy: T -> output: T",
                                        .attrs = "T: type; Index: type{int32,int64}" MASKS,
                                        .shape = infer_grad,
                                        .grad = grad_of_grad,
                                        KERNEL(15, strided_slice_grad),
                                        .doc = "dy where the slice lies, zeros elsewhere",
                                        HR_HERE};
