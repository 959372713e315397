/* SPDX-License-Identifier: Apache-2.0 */
/* A frame around a tensor: paddings[d] = {before, after} elements along axis d, of zeros (Pad) or of a given value (PadV2). */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "ops/array/paddings.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Pad, hr_op_PadV2;

/* 1. shape: paddings.h's, and a scalar value */
static hr_status_t infer_v2(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 2, 0, NULL));
  return hr_paddings_infer(s);
}

/* 2. kernels */
static hr_status_t padded(hr_kernel_ctx_t* k, const hr_tensor_t* value) { /* value NULL: zeros (strings: empty) */
  const hr_tensor_t* x = hr_input(k, 0);
  hr_paddings_t p;
  hr_tensor_t* y;
  int64_t steps[HR_MAX_RANK], run = x->count;
  hr_move_t m = {.rank = 0};
  HR_TRY(hr_paddings_read(hr_input(k, 1), &x->shape, &p));
  if (x->count == hr_shape_count(&p.padded)) return hr_output_alias(k, 0, 0, &p.padded);
  HR_TRY(hr_output(k, 0, &p.padded, &y));
  if (value)
    HR_TRY(hr_move_fill(k, y, value));
  else if (hr_dtype_is_plain(y->dtype))
    memset(y->data, 0, hr_tensor_bytes(y));
  if (x->count == 0) return NULL;
  hr_iterate_strides(&p.padded, steps);
  for (int d = 0; d < x->shape.rank; ++d) {
    run /= x->shape.dims[d];
    m.to_start += p.before[d] * steps[d];
    HR_TRY(hr_move_axis(&m, x->shape.dims[d], steps[d], run));
  }
  return hr_move_run(k, &m, y, x);
}
static hr_status_t pad(hr_kernel_ctx_t* k) { return padded(k, NULL); }
static hr_status_t pad_v2(hr_kernel_ctx_t* k) {
  HR_TRY(hr_want_scalar(k, 2, "constant_values"));
  return padded(k, hr_input(k, 2));
}

/* 3. gradient: dy without its frame; none of the value, as in TensorFlow */
static void grad(hr_grad_ctx_t* g) {
  hr_value_t x = hr_grad_input(g, 0), paddings = hr_grad_input(g, 1), size;
  const hr_named_attr_t type = hr_at_type("out_type", (int)hr_grad_dtype(g, paddings));
  hr_value_t column[2] = {hr_emit_const_i32(g, 0), hr_emit_const_i32(g, 1)};
  hr_value_t first = hr_emit3(g, "GatherV2", paddings, column[0], column[1]);
  size = hr_emit(g, "Shape", 1, &x, 1, &type);
  hr_grad_give(g, 0, hr_emit3(g, "Slice", hr_grad_upstream(g, 0), first, size));
}

/* 4. definitions */
#define PAD_ATTRS "T: type; Tpaddings: type{int32,int64} = int32"
const hr_op_t hr_op_Pad = {.name = "Pad",
                           .sig = "input: T; paddings: Tpaddings -> output: T",
                           .attrs = PAD_ATTRS,
                           .shape = hr_paddings_infer,
                           .grad = grad,
                           HR_KERNELS({.host_inputs = 2, .compute = pad}),
                           .doc = "zeros around the input",
                           HR_HERE};

const hr_op_t hr_op_PadV2 = {.name = "PadV2",
                             .sig = "input: T; paddings: Tpaddings; constant_values: T -> output: T",
                             .attrs = PAD_ATTRS,
                             .shape = infer_v2,
                             .grad = grad,
                             HR_KERNELS({.host_inputs = 6, .compute = pad_v2}),
                             .doc = "one value around the input",
                             HR_HERE};
