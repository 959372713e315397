/* SPDX-License-Identifier: Apache-2.0 */
/* A frame that mirrors the inside: MirrorPad. REFLECT mirrors at the outermost element, SYMMETRIC beside it. MirrorPadGrad folds the frame
 * back in: each element of the frame is added to the one that it mirrors. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"
#include "ops/array/paddings.h"
#include "ops/elementwise/binary.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_MirrorPad, hr_op_MirrorPadGrad;

/* 1. the rule: a frame is at most as wide as there are elements to mirror */
static hr_status_t check_frame(int axis, int64_t dim, int64_t before, int64_t after, int64_t offset) {
  if (before <= dim - offset && after <= dim - offset) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "paddings must be %s the dimension size: %lld, %lld %s %lld, the size of axis %d",
                  offset ? "less than" : "no greater than", (long long)before, (long long)after, offset ? "not less than" : "greater than",
                  (long long)dim, axis);
}
static int64_t offset_of(const hr_node_attrs_t* attrs) { return hr_str_is(hr_attrs_str(attrs, "mode"), "REFLECT") ? 1 : 0; }

/* 2. shapes */
static hr_status_t check_known(hr_infer_t* s, bool framed) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* paddings = hr_infer_const(s, 1);
  for (int d = 0; paddings && d < x->rank; ++d) {
    int64_t before, after;
    HR_TRY(hr_tensor_i64_at(paddings, 2 * d, &before));
    HR_TRY(hr_tensor_i64_at(paddings, 2 * d + 1, &after));
    if (x->dims[d] >= 0)
      HR_TRY(check_frame(d, framed ? x->dims[d] - before - after : x->dims[d], before, after, offset_of(hr_infer_attrs(s))));
  }
  return NULL;
}
static hr_status_t infer(hr_infer_t* s) {
  HR_TRY(hr_paddings_infer(s));
  return check_known(s, false);
}
static hr_status_t infer_grad(hr_infer_t* s) {
  HR_TRY(hr_paddings_infer_without(s));
  return check_known(s, true);
}

/* 3. kernels */
typedef struct {
  int64_t offset;
  hr_loop2_t add;
} mirror_t;
static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  ((mirror_t*)prepared)->offset = offset_of(p->attrs);
  return NULL;
}

/* The slab of `count` positions from `to` on along an axis is the one that ends before `from` (or begins there, counted backwards): the
 * move whose element (..., to + i, ...) mirrors (..., from - i, ...). Axes before `axis` are inside the frame, those after it whole. */
static hr_status_t mirror_slab(hr_move_t* m, const hr_shape_t* full, const hr_paddings_t* p, int axis, int64_t to, int64_t from,
                               int64_t count) {
  int64_t steps[HR_MAX_RANK];
  *m = (hr_move_t){.rank = 0};
  hr_iterate_strides(full, steps);
  for (int d = 0; d < full->rank; ++d) {
    const int64_t start = d < axis ? p->before[d] * steps[d] : 0, inside = full->dims[d] - p->before[d] - p->after[d];
    m->to_start += d == axis ? to * steps[d] : start;
    m->from_start += d == axis ? from * steps[d] : start;
    HR_TRY(hr_move_axis(m, d == axis ? count : d < axis ? inside : full->dims[d], steps[d], d == axis ? -steps[d] : steps[d]));
  }
  return NULL;
}

/* The two slabs of an axis, as moves. */
static hr_status_t axis_slabs(hr_move_t slabs[2], const hr_shape_t* full, const hr_paddings_t* p, int axis, int64_t offset) {
  const int64_t before = p->before[axis], after = p->after[axis], end = full->dims[axis] - after;
  HR_TRY(mirror_slab(&slabs[0], full, p, axis, 0, 2 * before - 1 + offset, before));
  return mirror_slab(&slabs[1], full, p, axis, end, end - 1 - offset, after);
}

static hr_status_t mirror_pad(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const int64_t offset = ((const mirror_t*)hr_prepared(k))->offset;
  hr_paddings_t p;
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0}, slabs[2];
  int64_t steps[HR_MAX_RANK], run = x->count;
  HR_TRY(hr_paddings_read(hr_input(k, 1), &x->shape, &p));
  for (int d = 0; d < x->shape.rank; ++d) HR_TRY(check_frame(d, x->shape.dims[d], p.before[d], p.after[d], offset));
  HR_TRY(hr_output(k, 0, &p.padded, &y));
  if (y->count == 0) return NULL;
  hr_iterate_strides(&p.padded, steps);
  for (int d = 0; d < x->shape.rank; ++d) {
    run /= x->shape.dims[d];
    m.to_start += p.before[d] * steps[d];
    HR_TRY(hr_move_axis(&m, x->shape.dims[d], steps[d], run));
  }
  HR_TRY(hr_move_run(k, &m, y, x));
  for (int d = x->shape.rank - 1; d >= 0; --d) { /* outer slabs contain the inner ones */
    HR_TRY(axis_slabs(slabs, &p.padded, &p, d, offset));
    for (int side = 0; side < 2; ++side)
      if (side ? p.after[d] : p.before[d]) HR_TRY(hr_move_run(k, &slabs[side], y, y));
  }
  return NULL;
}

static hr_status_t fold_prepare(hr_prepare_ctx_t* p, void* prepared) {
  mirror_t* m = prepared;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[0];
  HR_TRY(prepare(p, prepared));
  m->add = (*HR_ISA_PICK(hr_binary_vec))[BINARY_AddV2][type][LOOP_BOTH];
  if (!m->add) m->add = hr_binary_scalar[BINARY_AddV2][type][LOOP_BOTH];
  return m->add ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

/* t[from] += t[to] over a slab: the mirrored move, summed. */
static void fold_slab(hr_tensor_t* t, const hr_move_t* m, hr_loop2_t add) {
  const int64_t* strides[2] = {m->to, m->from};
  const int64_t element = (int64_t)hr_dtype_size(t->dtype);
  hr_iterate_t it;
  int64_t index[HR_MAX_RANK], at[HR_ITERATE_OPERANDS];
  hr_iterate_strided(&it, m->rank, m->dims, 2, strides);
  const int last = it.rank - 1;
  const int64_t rows = hr_iterate_rows(&it), n = it.dims[last];
  const bool dense = n > 1 && it.strides[0][last] == 1 && it.strides[1][last] == 1;
  hr_iterate_seek(&it, 0, index, at);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < (dense ? 1 : n); ++i) {
      const char* edge = (const char*)t->data + (m->to_start + at[0] + i * it.strides[0][last]) * element;
      char* inside = (char*)t->data + (m->from_start + at[1] + i * it.strides[1][last]) * element;
      add(inside, edge, inside, dense ? n : 1);
    }
    hr_iterate_step(&it, index, at);
  }
}

static hr_status_t cut_frame(hr_kernel_ctx_t* k, const hr_shape_t* inside, const hr_paddings_t* p, const hr_tensor_t* full) {
  hr_tensor_t* y;
  hr_move_t m = {.rank = 0};
  int64_t steps[HR_MAX_RANK], run = hr_shape_count(inside);
  HR_TRY(hr_output(k, 0, inside, &y));
  hr_iterate_strides(&full->shape, steps);
  if (run == 0) return NULL;
  for (int d = 0; d < inside->rank; ++d) {
    run /= inside->dims[d];
    m.from_start += p->before[d] * steps[d];
    HR_TRY(hr_move_axis(&m, inside->dims[d], run, steps[d]));
  }
  return hr_move_run(k, &m, y, full);
}

static hr_status_t mirror_pad_grad(hr_kernel_ctx_t* k) {
  const hr_tensor_t* dy = hr_input(k, 0);
  const mirror_t* mirror = hr_prepared(k);
  hr_paddings_t p;
  hr_shape_t inside;
  hr_tensor_t folded;
  hr_move_t slabs[2];
  HR_TRY(hr_paddings_read(hr_input(k, 1), &dy->shape, &p));
  hr_shape_copy(&inside, &dy->shape);
  for (int d = 0; d < inside.rank; ++d) {
    inside.dims[d] -= p.before[d] + p.after[d];
    if (inside.dims[d] <= 0)
      return HR_ERROR(INVALID_ARGUMENT, "Total paddings must be less than the input dimension size: %lld of %lld in dimension %d",
                      (long long)(p.before[d] + p.after[d]), (long long)dy->shape.dims[d], d);
    HR_TRY(check_frame(d, inside.dims[d], p.before[d], p.after[d], mirror->offset));
  }
  HR_TRY(hr_shape_check(&inside));
  HR_TRY(hr_tensor_clone(dy, &folded));
  hr_status_t status = NULL;
  for (int d = 0; d < inside.rank && !status; ++d) {
    status = axis_slabs(slabs, &dy->shape, &p, d, mirror->offset);
    for (int side = 0; side < 2 && !status; ++side)
      if (side ? p.after[d] : p.before[d]) fold_slab(&folded, &slabs[side], mirror->add);
  }
  if (!status) status = cut_frame(k, &inside, &p, &folded);
  hr_tensor_release(&folded);
  return status;
}

/* 4. gradients: each is the other */
static hr_value_t emit_mirror(hr_grad_ctx_t* g, const char* op) {
  hr_str_t mode = hr_attrs_str(hr_grad_attrs(g), "mode");
  return hr_emit(g, op, HR_VALUES(hr_grad_upstream(g, 0), hr_grad_input(g, 1)),
                 HR_ATTRS(hr_at_str("mode", hr_str_is(mode, "REFLECT") ? "REFLECT" : "SYMMETRIC")));
}
static void grad(hr_grad_ctx_t* g) { hr_grad_give(g, 0, emit_mirror(g, "MirrorPadGrad")); }
static void grad_of_grad(hr_grad_ctx_t* g) { hr_grad_give(g, 0, emit_mirror(g, "MirrorPad")); }

/* 5. definitions */
#define MIRROR_ATTRS "T: type; Tpaddings: type{int32,int64} = int32; mode: string{'REFLECT','SYMMETRIC'}"
const hr_op_t hr_op_MirrorPad = {
    .name = "MirrorPad",
    .sig = "input: T; paddings: Tpaddings -> output: T",
    .attrs = MIRROR_ATTRS,
    .shape = infer,
    .grad = grad,
    HR_KERNELS({.host_inputs = 2, .prepared_bytes = sizeof(mirror_t), .prepare = prepare, .compute = mirror_pad}),
    .doc = "a frame that mirrors the inside",
    HR_HERE};

const hr_op_t hr_op_MirrorPadGrad = {.name = "MirrorPadGrad",
                                     .sig = "input: T; paddings: Tpaddings -> output: T",
                                     .attrs = MIRROR_ATTRS,
                                     .shape = infer_grad,
                                     .grad = grad_of_grad,
                                     HR_KERNELS({.where = {{"T", HR_M_NUMBER}},
                                                 .host_inputs = 2,
                                                 .prepared_bytes = sizeof(mirror_t),
                                                 .prepare = fold_prepare,
                                                 .compute = mirror_pad_grad}),
                                     .doc = "the frame of MirrorPad summed into the inside",
                                     HR_HERE};
