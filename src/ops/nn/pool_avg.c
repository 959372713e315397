/* SPDX-License-Identifier: Apache-2.0 */
/* Average pooling in two and three dimensions and its gradient: the mean of a window's cells inside the image; padding does not count. */
#include <string.h>
#include "op/grad_ctx.h"
#include "ops/nn/pool.h"

extern const hr_op_t hr_op_AvgPool, hr_op_AvgPoolGrad, hr_op_AvgPool3D, hr_op_AvgPool3DGrad;

/* 1. shape of the gradient: input 0 says it */
static hr_status_t infer_from_sizes(hr_infer_t* s, int rank, hr_window_reach_t reach) {
  const hr_pshape_t *sizes, *known;
  hr_window_t w;
  HR_TRY(hr_window_read(hr_infer_attrs(s), rank, reach, &w));
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  HR_TRY(hr_infer_want_rank(s, 1, rank, NULL));
  HR_TRY(hr_infer_const_as_shape(s, 0, &sizes));
  HR_TRY(hr_infer_unknown_of_rank(s, rank, &known));
  HR_TRY(hr_status_note(hr_infer_merge(s, sizes, known, &known), "orig_input_shape: "));
  hr_infer_set(s, 0, known);
  return NULL;
}
static hr_status_t infer_grad_2d(hr_infer_t* s) { return infer_from_sizes(s, 4, HR_WINDOW_LAYER); }
static hr_status_t infer_grad_3d(hr_infer_t* s) { return infer_from_sizes(s, 5, HR_WINDOW_SPACE); }

/* 2. kernels */
static hr_status_t mean_cells(const hr_pool_job_t* j, int64_t image, int64_t begin, int64_t end) {
  const hr_pool_avg_rows_t* rows = j->rows;
  const hr_pool_t* p = j->p;
  hr_pool_walk_t w;
  HR_TRY(hr_pool_walk_init(&w, p));
  const char* x = j->x + (size_t)(image * p->in_image) * j->size;
  char* y = j->y + (size_t)((image * p->out_cells + begin) * p->lanes) * j->size;
  for (int64_t cell = begin; cell < end; ++cell, y += (size_t)p->lanes * j->size) {
    hr_pool_walk_seek(&w, cell);
    rows->mean(x, w.taps, w.count, p->lanes, y);
  }
  hr_pool_walk_deinit(&w);
  return NULL;
}

static hr_status_t avg_pool(hr_kernel_ctx_t* k) {
  const hr_pool_prepared_t* m = hr_prepared(k);
  const hr_tensor_t* x = hr_input(k, 0);
  hr_pool_t p;
  hr_shape_t shape;
  hr_tensor_t* y;
  HR_TRY(hr_pool_geometry(&m->window, &x->shape, &p, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  const hr_pool_job_t job = {
      .p = &p, .fn = mean_cells, .rows = hr_pool_avg_rows(x->dtype), .x = x->data, .y = y->data, .size = hr_dtype_size(x->dtype)};
  return hr_pool_run_cells(k, &job, false);
}

static hr_status_t mean_grad_cells(const hr_pool_job_t* j, int64_t image, int64_t begin, int64_t end) {
  const hr_pool_avg_rows_t* rows = j->rows;
  const hr_pool_t* p = j->p;
  hr_pool_walk_t w;
  HR_TRY(hr_pool_walk_init(&w, p));
  const char* dy = j->g + (size_t)((image * p->out_cells + begin) * p->lanes) * j->size;
  char* dx = j->y + (size_t)(image * p->in_image) * j->size;
  if (!p->tiles) memset(dx, 0, (size_t)p->in_image * j->size); /* then one call has the whole image */
  for (int64_t cell = begin; cell < end; ++cell, dy += (size_t)p->lanes * j->size) {
    hr_pool_walk_seek(&w, cell);
    rows->mean_grad(w.taps, w.count, p->lanes, dy, dx, p->tiles);
  }
  hr_pool_walk_deinit(&w);
  return NULL;
}

static hr_status_t avg_pool_grad(hr_kernel_ctx_t* k) { /* orig_input_shape; grad */
  const hr_pool_prepared_t* m = hr_prepared(k);
  const hr_tensor_t* dy = hr_input(k, 1);
  hr_pool_t p;
  hr_shape_t in, shape;
  hr_tensor_t* dx;
  HR_TRY(hr_want_vector(k, 0, "orig_input_shape"));
  HR_TRY(hr_tensor_to_shape(hr_input(k, 0), &in));
  HR_TRY(hr_pool_geometry(&m->window, &in, &p, &shape));
  HR_TRY(hr_pool_check(&shape, &dy->shape, "grad"));
  HR_TRY(hr_output(k, 0, &in, &dx));
  if (p.out_cells == 0) memset(dx->data, 0, hr_tensor_bytes(dx));
  const hr_pool_job_t job = {
      .p = &p, .fn = mean_grad_cells, .rows = hr_pool_avg_rows(dy->dtype), .g = dy->data, .y = dx->data, .size = hr_dtype_size(dy->dtype)};
  return hr_pool_run_cells(k, &job, !p.tiles);
}

/* 3. gradients: each is the other's */
static hr_value_t emit_like(hr_grad_ctx_t* g, const char* op, int count, const hr_value_t* in) {
  static const char* const names[] = {"ksize", "strides", "padding", "data_format"};
  hr_named_attr_t attrs[4];
  for (int i = 0; i < 4; ++i) attrs[i] = hr_at(names[i], *hr_attrs_find(hr_grad_attrs(g), names[i]));
  return hr_emit(g, op, count, in, 4, attrs);
}
static void grad_of_avg(hr_grad_ctx_t* g, const char* op) {
  hr_grad_give(g, 0, emit_like(g, op, HR_VALUES(hr_emit_shape(g, hr_grad_input(g, 0)), hr_grad_upstream(g, 0))));
}
static void avg_grad(hr_grad_ctx_t* g) { grad_of_avg(g, "AvgPoolGrad"); }
static void avg_grad_3d(hr_grad_ctx_t* g) { grad_of_avg(g, "AvgPool3DGrad"); }
static void grad_of_avg_grad(hr_grad_ctx_t* g, const char* op) {
  hr_value_t up = hr_grad_upstream(g, 0);
  hr_grad_give(g, 1, emit_like(g, op, 1, &up));
}
static void avg_grad_grad(hr_grad_ctx_t* g) { grad_of_avg_grad(g, "AvgPool"); }
static void avg_grad_grad_3d(hr_grad_ctx_t* g) { grad_of_avg_grad(g, "AvgPool3D"); }

/* 4. definitions */
#define AVG_ROW(prep, fn) \
  HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .prepared_bytes = sizeof(hr_pool_prepared_t), .prepare = prep, .compute = fn})
#define AVG_2D \
  "ksize: list(int) >= 4; strides: list(int) >= 4; padding: string{'SAME','VALID'}; data_format: string{'NHWC','NCHW'} = 'NHWC'; "
#define AVG_3D \
  "ksize: list(int) >= 5; strides: list(int) >= 5; padding: string{'SAME','VALID'}; data_format: string{'NDHWC','NCDHW'} = 'NDHWC'; "
#define AVG_TYPES "T: type{half,bfloat16,float,double}"

const hr_op_t hr_op_AvgPool = {.name = "AvgPool",
                               .sig = "value: T -> output: T",
                               .attrs = AVG_2D AVG_TYPES,
                               .shape = hr_pool_infer_avg_2d,
                               .grad = avg_grad,
                               AVG_ROW(hr_pool_prepare_avg_2d, avg_pool),
                               .doc = "mean of each window",
                               HR_HERE};
const hr_op_t hr_op_AvgPoolGrad = {.name = "AvgPoolGrad",
                                   .sig = "orig_input_shape: int32; grad: T -> output: T",
                                   .attrs = AVG_2D AVG_TYPES,
                                   .shape = infer_grad_2d,
                                   .grad = avg_grad_grad,
                                   AVG_ROW(hr_pool_prepare_avg_2d, avg_pool_grad),
                                   .doc = "gradient of AvgPool",
                                   HR_HERE};
const hr_op_t hr_op_AvgPool3D = {.name = "AvgPool3D",
                                 .sig = "input: T -> output: T",
                                 .attrs = AVG_3D AVG_TYPES,
                                 .shape = hr_pool_infer_3d,
                                 .grad = avg_grad_3d,
                                 AVG_ROW(hr_pool_prepare_3d, avg_pool),
                                 .doc = "AvgPool of volumes",
                                 HR_HERE};
const hr_op_t hr_op_AvgPool3DGrad = {.name = "AvgPool3DGrad",
                                     .sig = "orig_input_shape: int32; grad: T -> output: T",
                                     .attrs = AVG_3D AVG_TYPES,
                                     .shape = infer_grad_3d,
                                     .grad = avg_grad_grad_3d,
                                     AVG_ROW(hr_pool_prepare_3d, avg_pool_grad),
                                     .doc = "gradient of AvgPool3D",
                                     HR_HERE};
