/* SPDX-License-Identifier: Apache-2.0 */
/* Roll: y[(i + shift) mod n] = x[i] along the given axes; shifts of the same axis add up. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Roll;

/* 1. the rule, and the shape */
static hr_status_t same_ranks(int shift, int axis) {
  if (shift < 0 || axis < 0 || shift == axis) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "shift and axis must have the same size: one is a scalar, the other a vector (ranks %d and %d)", shift,
                  axis);
}

static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank_at_most(s, 1, 1));
  HR_TRY(hr_infer_want_rank_at_most(s, 2, 1));
  const int64_t shifts = hr_infer_dim(hr_infer_input(s, 1), 0), axes = hr_infer_dim(hr_infer_input(s, 2), 0);
  HR_TRY(same_ranks(hr_infer_input(s, 1)->rank, hr_infer_input(s, 2)->rank));
  if (shifts >= 0 && axes >= 0 && shifts != axes)
    return HR_ERROR(INVALID_ARGUMENT, "%lld shifts for %lld axes", (long long)shifts, (long long)axes);
  return hr_infer_same(s);
}

/* 2. kernel */
/* The sum of the shifts of each axis, 0 <= shift < size. */
static hr_status_t read_shifts(const hr_kernel_ctx_t* k, const hr_shape_t* x, int64_t* shifts) {
  const hr_tensor_t *shift = hr_input(k, 1), *axes = hr_input(k, 2);
  char text[HR_SHAPE_TEXT];
  for (int i = 1; i < 3; ++i)
    if (hr_input(k, i)->shape.rank > 1)
      return HR_ERROR(INVALID_ARGUMENT, "%s must be a scalar or a 1-D vector. Found: %s", i == 1 ? "shift" : "axis",
                      hr_shape_format(&hr_input(k, i)->shape, text));
  HR_TRY(same_ranks(shift->shape.rank, axes->shape.rank));
  if (shift->count != axes->count)
    return HR_ERROR(INVALID_ARGUMENT, "shift and axis must have the same size, not %lld and %lld", (long long)shift->count,
                    (long long)axes->count);
  for (int d = 0; d < x->rank; ++d) shifts[d] = 0;
  for (int64_t i = 0; i < axes->count; ++i) {
    int64_t wanted, by;
    int axis;
    HR_TRY(hr_tensor_i64_at(axes, i, &wanted));
    HR_TRY(hr_tensor_i64_at(shift, i, &by));
    HR_TRY(hr_shape_axis(wanted, x->rank, &axis));
    const int64_t size = x->dims[axis] > 0 ? x->dims[axis] : 1;
    shifts[axis] = (shifts[axis] + by % size + size) % size;
  }
  return NULL;
}

/* Part `number` of the 2^k boxes: bit d says whether the end of axis d comes round to its begin. */
static hr_status_t roll_box(hr_kernel_ctx_t* k, hr_tensor_t* y, const int64_t* shifts, uint32_t number) {
  const hr_tensor_t* x = hr_input(k, 0);
  int64_t steps[HR_MAX_RANK];
  hr_move_t m = {.rank = 0};
  hr_iterate_strides(&x->shape, steps);
  for (int d = 0; d < x->shape.rank; ++d) {
    const bool wraps = number >> d & 1;
    const int64_t keep = x->shape.dims[d] - shifts[d];
    m.to_start += wraps ? 0 : shifts[d] * steps[d];
    m.from_start += wraps ? keep * steps[d] : 0;
    HR_TRY(hr_move_axis(&m, wraps ? shifts[d] : keep, steps[d], steps[d]));
  }
  return hr_move_run(k, &m, y, x);
}

static hr_status_t roll(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  int64_t shifts[HR_MAX_RANK];
  uint32_t moving = 0;
  hr_tensor_t* y;
  HR_TRY(hr_want_rank_at_least(k, 0, "input must be 1-D or higher, not of shape ", 1));
  HR_TRY(read_shifts(k, &x->shape, shifts));
  for (int d = 0; d < x->shape.rank; ++d) moving |= (uint32_t)(shifts[d] != 0) << d;
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  for (uint32_t part = moving;; part = (part - 1) & moving) { /* all subsets of the moving axes */
    HR_TRY(roll_box(k, y, shifts, part));
    if (part == 0) return NULL;
  }
}

/* 3. gradient: rolled back */
static void grad(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0), back = hr_emit_neg(g, hr_grad_input(g, 1));
  hr_grad_give(g, 0, hr_emit3(g, "Roll", dy, back, hr_grad_input(g, 2)));
}

/* 4. definition */
const hr_op_t hr_op_Roll = {.name = "Roll",
                            .sig = "input: T; shift: Tshift; axis: Taxis -> output: T",
                            .attrs = "T: type; Tshift: type{int32,int64}; Taxis: type{int32,int64}",
                            .shape = infer,
                            .grad = grad,
                            HR_KERNELS({.host_inputs = 6, .compute = roll}),
                            .doc = "elements moved along axes, those that fall off come round",
                            HR_HERE};
