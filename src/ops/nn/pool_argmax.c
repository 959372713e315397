/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling that tells where each maximum was, and the gradients that use that. The index is (y width + x) channels + c, within the image
 * or, with include_batch_in_index, within the batch. Indices that point outside end in INVALID_ARGUMENT. */
#include <string.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/nn/pool.h"

extern const hr_op_t hr_op_MaxPoolWithArgmax, hr_op_MaxPoolGradWithArgmax, hr_op_MaxPoolGradGradWithArgmax;

/* 1. shapes */
static hr_status_t infer_grad_grad(hr_infer_t* s) { return hr_pool_infer_grad_grad(s, 4, 1, 2, 0); }

/* 2. kernels */
typedef struct {
  hr_pool_prepared_t pool;
  bool batch_too;
} argmax_prepared_t;

static hr_status_t prepare_argmax(hr_prepare_ctx_t* p, void* prepared) {
  argmax_prepared_t* m = prepared;
  m->batch_too = hr_attrs_bool(p->attrs, "include_batch_in_index");
  return hr_pool_prepare_2d(p, &m->pool);
}

static void write_indices(hr_tensor_t* t, int64_t at, const int64_t* from, int64_t count, int64_t add) {
  for (int64_t i = 0; i < count; ++i) {
    if (t->dtype == HR_I64)
      ((int64_t*)t->data)[at + i] = from[i] + add;
    else
      ((int32_t*)t->data)[at + i] = (int32_t)(from[i] + add);
  }
}

static hr_status_t argmax_cells(const hr_pool_t* p, const hr_tensor_t* x, bool batch_too, hr_tensor_t* y, hr_tensor_t* index,
                                int64_t* line) {
  const hr_pool_max_rows_t* rows = hr_pool_max_rows(x->dtype);
  const size_t size = hr_dtype_size(x->dtype);
  hr_pool_walk_t w;
  HR_TRY(hr_pool_walk_init(&w, p));
  for (int64_t image = 0; image < p->images; ++image) {
    const int64_t from = image * p->in_image;
    for (int64_t cell = 0; cell < p->out_cells; ++cell) {
      const int64_t at = (image * p->out_cells + cell) * p->lanes;
      hr_pool_walk_seek(&w, cell);
      rows->max_index((const char*)x->data + (size_t)from * size, w.taps, w.count, p->lanes, (char*)y->data + (size_t)at * size, line);
      write_indices(index, at, line, p->lanes, batch_too ? from : 0);
    }
  }
  hr_pool_walk_deinit(&w);
  return NULL;
}

static hr_status_t max_pool_argmax(hr_kernel_ctx_t* k) {
  const argmax_prepared_t* m = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  hr_pool_t p;
  hr_shape_t shape;
  hr_tensor_t *y, *index;
  hr_tensor_t line = {0};
  HR_TRY(hr_pool_geometry(&m->pool.window, &x->shape, &p, &shape));
  if (x->count == 0) return HR_ERROR(INVALID_ARGUMENT, "the input is empty; a maximum has no place in it");
  if (hr_output_dtype(k, 1) == HR_I32 && x->count > INT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "the input is too large for indices of int32");
  HR_TRY(hr_output(k, 0, &shape, &y));
  HR_TRY(hr_output(k, 1, &shape, &index));
  const hr_shape_t lanes = hr_shape_vector(p.lanes);
  HR_TRY(hr_temp(k, HR_I64, &lanes, &line));
  hr_status_t status = argmax_cells(&p, x, m->batch_too, y, index, line.data);
  hr_tensor_release(&line);
  return status;
}

/* The element of a tensor of `count` elements that index i of `per_image` indices an image points to. */
static hr_status_t resolve_index(const hr_tensor_t* index, int64_t i, int64_t per_image, int64_t image_elements, int64_t count,
                                 bool batch_too, int64_t* out) {
  const int64_t given = hr_tensor_index_at(index, i), image = i / per_image, limit = batch_too ? count : image_elements;
  if (given < 0 || given >= limit)
    return HR_ERROR(INVALID_ARGUMENT, "argmax has %lld in place %lld; it lies in [0, %lld)", (long long)given, (long long)i,
                    (long long)limit);
  *out = batch_too ? given : image * image_elements + given;
  return NULL;
}

#define DEFINE_ADD_AT(suffix, T, sum)                                              \
  static void add_at_##suffix(void* to, int64_t at, const void* from, int64_t i) { \
    T* y = (T*)to + at;                                                            \
    const T x = ((const T*)from)[i];                                               \
    *y = sum;                                                                      \
  }
DEFINE_ADD_AT(f32, float, *y + x)
DEFINE_ADD_AT(f64, double, *y + x)
DEFINE_ADD_AT(f16, hr_f16_t, hr_f16_from_f32(hr_f16_to_f32(*y) + hr_f16_to_f32(x)))
DEFINE_ADD_AT(bf16, hr_bf16_t, hr_bf16_from_f32(hr_bf16_to_f32(*y) + hr_bf16_to_f32(x)))
DEFINE_ADD_AT(u8, uint8_t, (uint8_t)(*y + x))
DEFINE_ADD_AT(u16, uint16_t, (uint16_t)(*y + x))
DEFINE_ADD_AT(u32, uint32_t, *y + x)
DEFINE_ADD_AT(u64, uint64_t, *y + x)

typedef void (*add_at_fn)(void* to, int64_t at, const void* from, int64_t i);
static add_at_fn add_at_of(hr_dtype_t t) {
  if (t == HR_F32) return add_at_f32;
  if (t == HR_F64) return add_at_f64;
  if (t == HR_F16) return add_at_f16;
  if (t == HR_BF16) return add_at_bf16;
  const size_t size = hr_dtype_size(t);
  return size == 1 ? add_at_u8 : size == 2 ? add_at_u16 : size == 4 ? add_at_u32 : add_at_u64;
}

/* Checks the operands of both gradients; `cells`: the operand that has an element for each window. */
static hr_status_t read_gradient(hr_kernel_ctx_t* k, const hr_tensor_t* cells, hr_shape_t* out_shape) {
  const argmax_prepared_t* m = hr_prepared(k);
  hr_pool_t p;
  HR_TRY(hr_pool_geometry(&m->pool.window, &hr_input(k, 0)->shape, &p, out_shape));
  HR_TRY(hr_pool_check(out_shape, &hr_input(k, 2)->shape, "argmax"));
  return hr_pool_check(out_shape, &cells->shape, "grad");
}

static hr_status_t max_pool_grad_argmax(hr_kernel_ctx_t* k) { /* input; grad; argmax */
  const argmax_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *x = hr_input(k, 0), *dy = hr_input(k, 1), *index = hr_input(k, 2);
  hr_shape_t shape;
  hr_tensor_t* dx;
  HR_TRY(read_gradient(k, dy, &shape));
  HR_TRY(hr_output(k, 0, &x->shape, &dx));
  memset(dx->data, 0, hr_tensor_bytes(dx));
  const add_at_fn add = add_at_of(x->dtype);
  const int64_t batch = x->shape.dims[0];
  for (int64_t i = 0; i < dy->count; ++i) {
    int64_t at;
    HR_TRY(resolve_index(index, i, dy->count / batch, x->count / batch, x->count, m->batch_too, &at));
    add(dx->data, at, dy->data, i);
  }
  return NULL;
}

static hr_status_t max_pool_grad_grad_argmax(hr_kernel_ctx_t* k) { /* input; grad of the input's shape; argmax */
  const argmax_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *x = hr_input(k, 0), *g = hr_input(k, 1), *index = hr_input(k, 2);
  hr_shape_t shape;
  hr_tensor_t* y;
  HR_TRY(read_gradient(k, index, &shape));
  HR_TRY(hr_pool_check(&x->shape, &g->shape, "grad"));
  HR_TRY(hr_output(k, 0, &shape, &y));
  const size_t size = hr_dtype_size(x->dtype);
  const int64_t batch = x->shape.dims[0];
  for (int64_t i = 0; i < index->count; ++i) {
    int64_t at;
    HR_TRY(resolve_index(index, i, index->count / batch, x->count / batch, x->count, m->batch_too, &at));
    memcpy((char*)y->data + (size_t)i * size, (const char*)g->data + (size_t)at * size, size);
  }
  return NULL;
}

/* 3. gradients */
enum { LIKE_ATTRS = 4 };
static hr_value_t emit_like(hr_grad_ctx_t* g, const char* op, hr_value_t x, hr_value_t grad, hr_value_t index) {
  static const char* const names[LIKE_ATTRS] = {"ksize", "strides", "padding", "include_batch_in_index"};
  hr_named_attr_t attrs[LIKE_ATTRS];
  for (int i = 0; i < LIKE_ATTRS; ++i) attrs[i] = hr_at(names[i], *hr_attrs_find(hr_grad_attrs(g), names[i]));
  return hr_emit(g, op, HR_VALUES(x, grad, index), LIKE_ATTRS, attrs);
}

static void argmax_grad(hr_grad_ctx_t* g) { /* no gradient through the index */
  hr_grad_give(g, 0, emit_like(g, "MaxPoolGradWithArgmax", hr_grad_input(g, 0), hr_grad_upstream(g, 0), hr_grad_output(g, 1)));
}

static void argmax_grad_grad(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit_zeros_like(g, hr_grad_input(g, 0)));
  if (hr_grad_wanted(g, 1))
    hr_grad_give(g, 1, emit_like(g, "MaxPoolGradGradWithArgmax", hr_grad_input(g, 0), hr_grad_upstream(g, 0), hr_grad_input(g, 2)));
}

static void argmax_grad_grad_grad(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_emit_zeros_like(g, hr_grad_input(g, 0)));
  if (hr_grad_wanted(g, 1))
    hr_grad_give(g, 1, emit_like(g, "MaxPoolGradWithArgmax", hr_grad_input(g, 0), hr_grad_upstream(g, 0), hr_grad_input(g, 2)));
}

/* 4. definitions */
#define ARGMAX_WINDOW "ksize: list(int) >= 4; strides: list(int) >= 4; "
#define ARGMAX_PADS   "padding: string{'SAME','VALID'}; include_batch_in_index: bool = false; "
#define ARGMAX_TYPES  "T: type{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64}"
#define ARGMAX_ROW(fn)                                              \
  HR_KERNELS({.where = {{"T", HR_M_REAL}, {"Targmax", HR_M_INDEX}}, \
              .prepared_bytes = sizeof(argmax_prepared_t),          \
              .prepare = prepare_argmax,                            \
              .compute = fn})

const hr_op_t hr_op_MaxPoolWithArgmax = {.name = "MaxPoolWithArgmax",
                                         .sig = "input: T -> output: T; argmax: Targmax",
                                         .attrs = ARGMAX_WINDOW "Targmax: type{int32,int64} = int64; " ARGMAX_PADS ARGMAX_TYPES,
                                         .shape = hr_pool_infer_2d,
                                         .grad = argmax_grad,
                                         ARGMAX_ROW(max_pool_argmax),
                                         .doc = "maximum of each window and where it was",
                                         HR_HERE};
const hr_op_t hr_op_MaxPoolGradWithArgmax = {.name = "MaxPoolGradWithArgmax",
                                             .sig = "input: T; grad: T; argmax: Targmax -> output: T",
                                             .attrs = ARGMAX_WINDOW ARGMAX_PADS "Targmax: type{int32,int64}; " ARGMAX_TYPES,
                                             .shape = hr_pool_infer_grad_2d,
                                             .grad = argmax_grad_grad,
                                             ARGMAX_ROW(max_pool_grad_argmax),
                                             .doc = "gradient of MaxPoolWithArgmax",
                                             HR_HERE};
const hr_op_t hr_op_MaxPoolGradGradWithArgmax = {.name = "MaxPoolGradGradWithArgmax",
                                                 .sig = "input: T; grad: T; argmax: Targmax -> output: T",
                                                 .attrs = ARGMAX_WINDOW ARGMAX_PADS "Targmax: type{int32,int64}; " ARGMAX_TYPES,
                                                 .shape = infer_grad_grad,
                                                 .grad = argmax_grad_grad_grad,
                                                 ARGMAX_ROW(max_pool_grad_grad_argmax),
                                                 .doc = "gradient of MaxPoolGradWithArgmax",
                                                 HR_HERE};
