/* SPDX-License-Identifier: Apache-2.0 */
/* Select and SelectV2: output[i] = condition[i] ? t[i] : e[i].
 *
 * Select wants t and e of one shape, and a condition of that shape, a scalar, or a vector that picks whole rows; SelectV2 broadcasts all
 * three. The gradient multiplies nothing: dy goes to the side taken and zero to the other (a NaN of the forward side not taken does not
 * leak here, though it may come from the side's own gradient, as in TensorFlow). */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "tensor/iterate.h"

extern const hr_op_t hr_op_Select, hr_op_SelectV2;

/* 1. shapes */
static hr_status_t infer_select(hr_infer_t* s) {
  const hr_pshape_t *c = hr_infer_input(s, 0), *merged;
  HR_TRY(hr_infer_merge(s, hr_infer_input(s, 1), hr_infer_input(s, 2), &merged));
  if (c->rank == 1 && merged->rank >= 0) {
    int64_t rows;
    if (merged->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "a vector condition needs t and e of rank 1 or more, not scalars");
    HR_TRY(hr_infer_merge_dim(c->dims[0], merged->dims[0], &rows));
  } else if (c->rank > 1) {
    HR_TRY(hr_infer_merge(s, c, merged, &merged));
  }
  hr_infer_set(s, 0, merged);
  return NULL;
}

static hr_status_t infer_select_v2(hr_infer_t* s) {
  const hr_pshape_t* both;
  HR_TRY(hr_infer_broadcast_partial(s, hr_infer_input(s, 1), hr_infer_input(s, 2), &both));
  HR_TRY(hr_infer_broadcast_partial(s, hr_infer_input(s, 0), both, &both));
  hr_infer_set(s, 0, both);
  return NULL;
}

/* 2. kernel: rows of the collapsed nest; elements move by size */
typedef struct {
  const hr_iterate_t* it; /* output, condition, t, e */
  const bool* condition;
  const char *t, *e;
  char* out;
  size_t size;
  const hr_tensor_t *t_tensor, *e_tensor; /* for elements that own memory, else NULL */
  hr_tensor_t* out_tensor;
} select_t;

#define PICK_ROW(T)                                                                              \
  do {                                                                                           \
    const T *t = (const T*)s->t + at[2], *e = (const T*)s->e + at[3];                            \
    T* out = (T*)s->out + at[0];                                                                 \
    for (int64_t i = 0; i < n; ++i) out[i] = c[i * cs] ? t[i * ts] : e[i * es];                  \
  } while (0)
typedef struct { uint64_t half[2]; } element16_t;

static hr_status_t pick_row(const select_t* s, const int64_t at[HR_ITERATE_OPERANDS]) {
  const int last = s->it->rank - 1;
  const int64_t n = s->it->dims[last], cs = s->it->strides[1][last], ts = s->it->strides[2][last], es = s->it->strides[3][last];
  const bool* c = s->condition + at[1];
  if (s->out_tensor) {
    for (int64_t i = 0; i < n; ++i)
      HR_TRY(hr_tensor_copy_elements(s->out_tensor, at[0] + i, c[i * cs] ? s->t_tensor : s->e_tensor,
                                     c[i * cs] ? at[2] + i * ts : at[3] + i * es, 1));
    return NULL;
  }
  switch (s->size) {
    case 1: PICK_ROW(uint8_t); break;
    case 2: PICK_ROW(uint16_t); break;
    case 4: PICK_ROW(uint32_t); break;
    case 8: PICK_ROW(uint64_t); break;
    default: PICK_ROW(element16_t); break;
  }
  return NULL;
}

static hr_status_t select_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const select_t* s = arg;
  int64_t index[HR_MAX_RANK], at[HR_ITERATE_OPERANDS];
  (void)chunk;
  hr_iterate_seek(s->it, begin, index, at);
  for (int64_t row = begin; row < end; ++row) {
    HR_TRY(pick_row(s, at));
    hr_iterate_step(s->it, index, at);
  }
  return NULL;
}

static hr_status_t select_shaped(hr_kernel_ctx_t* k, const hr_shape_t* condition_shape, const hr_shape_t* shape) {
  const hr_tensor_t *c = hr_input(k, 0), *t = hr_input(k, 1), *e = hr_input(k, 2);
  hr_tensor_t* out;
  HR_TRY(hr_output(k, 0, shape, &out));
  if (out->count == 0) return NULL;
  hr_iterate_t it;
  const hr_shape_t* shapes[4] = {shape, condition_shape, &t->shape, &e->shape};
  hr_iterate_broadcast(&it, shape, 4, shapes);
  const bool owning = !hr_dtype_is_plain(t->dtype);
  select_t s = {&it, c->data, t->data, e->data, out->data, hr_dtype_size(t->dtype), t, e, owning ? out : NULL};
  return hr_parallel(k, hr_iterate_rows(&it), 2.0 + (double)it.dims[it.rank - 1], select_chunk, &s);
}

static hr_status_t select_rows(hr_kernel_ctx_t* k) {
  const hr_tensor_t *c = hr_input(k, 0), *t = hr_input(k, 1);
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  HR_TRY(hr_want_same_shape(k, 1, 2));
  hr_shape_t condition;
  hr_shape_copy(&condition, &c->shape);
  if (c->shape.rank == 1 && t->shape.rank > 1) { /* picks rows: a condition of [n, 1, 1...] */
    condition.rank = t->shape.rank;
    for (int i = 1; i < condition.rank; ++i) condition.dims[i] = 1;
    if (c->shape.dims[0] != t->shape.dims[0])
      return HR_ERROR(INVALID_ARGUMENT, "a vector condition of %lld elements cannot pick the rows of shape %s", (long long)c->shape.dims[0],
                      hr_shape_format(&t->shape, a));
  } else if (c->shape.rank != 0 && !hr_shape_equal(&c->shape, &t->shape)) {
    return HR_ERROR(INVALID_ARGUMENT, "Inputs of Select must have the same size and shape: condition that of t, %s, or it is "
                                      "a scalar or a vector over rows, not %s",
                    hr_shape_format(&t->shape, a), hr_shape_format(&c->shape, b));
  }
  return select_shaped(k, &condition, &t->shape);
}

static hr_status_t select_v2(hr_kernel_ctx_t* k) {
  hr_shape_t both, all;
  HR_TRY(hr_shape_broadcast(&hr_input(k, 1)->shape, &hr_input(k, 2)->shape, &both));
  HR_TRY(hr_shape_broadcast(&hr_input(k, 0)->shape, &both, &all));
  return select_shaped(k, &hr_input(k, 0)->shape, &all);
}

/* 3. gradients */
static void grad_select(hr_grad_ctx_t* g) {
  hr_value_t c = hr_grad_input(g, 0), dy = hr_grad_upstream(g, 0), zeros = hr_emit_zeros_like(g, hr_grad_input(g, 1));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, hr_emit3(g, "Select", c, dy, zeros));
  if (hr_grad_wanted(g, 2)) hr_grad_give(g, 2, hr_emit3(g, "Select", c, zeros, dy));
}

static void grad_select_v2(hr_grad_ctx_t* g) {
  hr_value_t c = hr_grad_input(g, 0), dy = hr_grad_upstream(g, 0), zero = hr_emit_const_like(g, dy, 0);
  for (int i = 1; i <= 2; ++i) {
    if (!hr_grad_wanted(g, i)) continue;
    hr_value_t side = hr_emit3(g, "SelectV2", c, i == 1 ? dy : zero, i == 1 ? zero : dy);
    hr_grad_give(g, i, hr_emit_reduce_to(g, side, hr_grad_input(g, i), dy));
  }
}

/* 4. definitions */
const hr_op_t hr_op_Select = {
    .name = "Select", .sig = "condition: bool; t: T; e: T -> output: T", .attrs = "T: type", .shape = infer_select, .grad = grad_select,
    HR_KERNELS(HR_CPU_ANY(select_rows)), .doc = "t where the condition holds, else e", HR_HERE};

const hr_op_t hr_op_SelectV2 = {.name = "SelectV2",
                                .sig = "condition: bool; t: T; e: T -> output: T",
                                .attrs = "T: type",
                                .shape = infer_select_v2,
                                .grad = grad_select_v2,
                                HR_KERNELS(HR_CPU_ANY(select_v2)),
                                .doc = "t where the condition holds, else e, with broadcasting",
                                HR_HERE};
