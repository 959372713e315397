/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling in two and three dimensions, its gradient and that one's. A NaN in a window is its maximum.
 *
 * Of equal maxima of an image the first in row-major order receives the gradient; the gradient finds it again from the input: that reads
 * less than a stored index would. Of a volume, each element that equals orig_output receives all of the gradient, as in TensorFlow. The
 * gradients' gradients take the first element that equals orig_output, and 0 where none does (NaN equals nothing). */
#include <string.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/nn/pool.h"

extern const hr_op_t hr_op_MaxPool, hr_op_MaxPoolV2, hr_op_MaxPoolGrad, hr_op_MaxPoolGradV2, hr_op_MaxPoolGradGrad, hr_op_MaxPoolGradGradV2,
    hr_op_MaxPool3D, hr_op_MaxPool3DGrad, hr_op_MaxPool3DGradGrad;

/* 1. shape: gradients have the input's shape, their gradients the output's */
static hr_status_t infer_grad_grad_2d(hr_infer_t* s) { return hr_pool_infer_grad_grad(s, 4, 2, 1, 0); }
static hr_status_t infer_grad_grad_3d(hr_infer_t* s) { return hr_pool_infer_grad_grad(s, 5, 2, 1, 0); }
static hr_status_t infer_grad_grad_v2(hr_infer_t* s) { return hr_pool_infer_grad_grad(s, 4, 2, 1, 3); }

/* 2. kernels. Row kernels' arg: whether ksize and strides are inputs. */
static const char v2_mark;

static hr_status_t read_window(hr_kernel_ctx_t* k, int ksize_input, hr_window_t* out) {
  const hr_pool_prepared_t* m = hr_prepared(k);
  *out = m->window;
  return hr_kernel_arg(k) == &v2_mark ? hr_pool_read_inputs(k, ksize_input, out) : NULL;
}

static hr_status_t max_cells(const hr_pool_job_t* j, int64_t image, int64_t begin, int64_t end) {
  const hr_pool_max_rows_t* rows = j->rows;
  const hr_pool_t* p = j->p;
  hr_pool_walk_t w;
  HR_TRY(hr_pool_walk_init(&w, p));
  const char* x = j->x + (size_t)(image * p->in_image) * j->size;
  char* y = j->y + (size_t)((image * p->out_cells + begin) * p->lanes) * j->size;
  for (int64_t cell = begin; cell < end; ++cell, y += (size_t)p->lanes * j->size) {
    hr_pool_walk_seek(&w, cell);
    rows->max(x, w.taps, w.count, p->lanes, y);
  }
  hr_pool_walk_deinit(&w);
  return NULL;
}

static hr_status_t max_pool(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  hr_window_t window;
  hr_pool_t p;
  hr_shape_t shape;
  hr_tensor_t* y;
  HR_TRY(read_window(k, 1, &window));
  HR_TRY(hr_window_check_sizes(&window));
  HR_TRY(hr_pool_geometry(&window, &x->shape, &p, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  const hr_pool_job_t job = {
      .p = &p, .fn = max_cells, .rows = hr_pool_max_rows(x->dtype), .x = x->data, .y = y->data, .size = hr_dtype_size(x->dtype)};
  return hr_pool_run_cells(k, &job, false);
}

static hr_status_t max_grad_cells(const hr_pool_job_t* j, int64_t image, int64_t begin, int64_t end) {
  const hr_pool_max_rows_t* rows = j->rows;
  const hr_pool_t* p = j->p;
  hr_pool_walk_t w;
  HR_TRY(hr_pool_walk_init(&w, p));
  const size_t line = (size_t)p->lanes * j->size, first = (size_t)(image * p->out_cells + begin) * line;
  const char *x = j->x + (size_t)(image * p->in_image) * j->size, *dy = j->g + first, *o = j->o ? j->o + first : NULL;
  char* dx = j->y + (size_t)(image * p->in_image) * j->size;
  if (!p->tiles) memset(dx, 0, (size_t)p->in_image * j->size); /* then one call has the whole image */
  for (int64_t cell = begin; cell < end; ++cell, dy += line) {
    hr_pool_walk_seek(&w, cell);
    if (!o) rows->max_grad(x, w.taps, w.count, p->lanes, dy, dx, p->tiles);
    else rows->equal_grad(x, o + (size_t)(cell - begin) * line, w.taps, w.count, p->lanes, dy, dx, p->tiles);
  }
  hr_pool_walk_deinit(&w);
  return NULL;
}

static hr_status_t max_pool_grad(hr_kernel_ctx_t* k) { /* orig_input; orig_output; grad */
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1), *dy = hr_input(k, 2);
  hr_window_t window;
  hr_pool_t p;
  hr_shape_t shape;
  hr_tensor_t* dx;
  HR_TRY(read_window(k, 3, &window));
  HR_TRY(hr_pool_geometry(&window, &x->shape, &p, &shape));
  HR_TRY(hr_pool_check(&shape, &y->shape, "orig_output"));
  HR_TRY(hr_pool_check(&shape, &dy->shape, "grad"));
  HR_TRY(hr_output(k, 0, &x->shape, &dx));
  if (p.out_cells == 0) memset(dx->data, 0, hr_tensor_bytes(dx)); /* no window reaches anything */
  const hr_pool_job_t job = {.p = &p,
                             .fn = max_grad_cells,
                             .rows = hr_pool_max_rows(x->dtype),
                             .x = x->data,
                             .o = window.rank == 5 ? y->data : NULL,
                             .g = dy->data,
                             .y = dx->data,
                             .size = hr_dtype_size(x->dtype)};
  return hr_pool_run_cells(k, &job, !p.tiles);
}

static hr_status_t pick_cells(const hr_pool_job_t* j, int64_t image, int64_t begin, int64_t end) {
  const hr_pool_max_rows_t* rows = j->rows;
  const hr_pool_t* p = j->p;
  hr_pool_walk_t w;
  HR_TRY(hr_pool_walk_init(&w, p));
  const size_t line = (size_t)p->lanes * j->size, from = (size_t)(image * p->in_image) * j->size;
  for (int64_t cell = begin; cell < end; ++cell) {
    const size_t at = (size_t)(image * p->out_cells + cell) * line;
    hr_pool_walk_seek(&w, cell);
    rows->equal_pick(j->x + from, j->o + at, j->g + from, w.taps, w.count, p->lanes, j->y + at);
  }
  hr_pool_walk_deinit(&w);
  return NULL;
}

static hr_status_t max_pool_grad_grad(hr_kernel_ctx_t* k) { /* orig_input; orig_output; grad of the input's shape */
  const hr_tensor_t *x = hr_input(k, 0), *y = hr_input(k, 1), *g = hr_input(k, 2);
  hr_window_t window;
  hr_pool_t p;
  hr_shape_t shape;
  hr_tensor_t* out;
  HR_TRY(read_window(k, 3, &window));
  HR_TRY(hr_pool_geometry(&window, &x->shape, &p, &shape));
  HR_TRY(hr_pool_check(&shape, &y->shape, "orig_output"));
  HR_TRY(hr_pool_check(&x->shape, &g->shape, "grad"));
  HR_TRY(hr_output(k, 0, &shape, &out));
  const hr_pool_job_t job = {.p = &p,
                             .fn = pick_cells,
                             .rows = hr_pool_max_rows(x->dtype),
                             .x = x->data,
                             .o = y->data,
                             .g = g->data,
                             .y = out->data,
                             .size = hr_dtype_size(x->dtype)};
  return hr_pool_run_cells(k, &job, false);
}

/* 3. gradients */
enum { LIKE_MOST = 5 };
static int like_attrs(hr_grad_ctx_t* g, hr_named_attr_t out[LIKE_MOST], bool explicit_too) {
  static const char* const names[] = {"ksize", "strides", "padding", "data_format", "explicit_paddings"};
  int count = 0;
  for (int i = 0; i < LIKE_MOST - !explicit_too; ++i) {
    const hr_attr_t* a = hr_attrs_find(hr_grad_attrs(g), names[i]);
    if (a) out[count++] = hr_at(names[i], *a);
  }
  return count;
}

static void grad_of_max(hr_grad_ctx_t* g, const char* op, bool explicit_too) { /* V2's ksize and strides follow */
  hr_named_attr_t attrs[LIKE_MOST];
  const int attr_count = like_attrs(g, attrs, explicit_too), more = hr_grad_input_count(g) - 1;
  hr_value_t in[5] = {hr_grad_input(g, 0), hr_grad_output(g, 0), hr_grad_upstream(g, 0)};
  for (int i = 0; i < more; ++i) in[3 + i] = hr_grad_input(g, 1 + i);
  hr_grad_give(g, 0, hr_emit(g, op, 3 + more, in, attr_count, attrs));
}
static void max_pool_grad_fn(hr_grad_ctx_t* g) { grad_of_max(g, "MaxPoolGrad", true); }
static void max_pool_v2_grad_fn(hr_grad_ctx_t* g) { grad_of_max(g, "MaxPoolGradV2", false); }
static void max_pool_3d_grad_fn(hr_grad_ctx_t* g) { grad_of_max(g, "MaxPool3DGrad", false); }

/* The choice of the maximum does not move with the inputs: only grad (input 2) matters. */
static void grad_of_grad(hr_grad_ctx_t* g, const char* op) {
  hr_named_attr_t attrs[LIKE_MOST];
  const hr_attr_t* padding = hr_attrs_find(hr_grad_attrs(g), "padding");
  if (padding && hr_str_is(padding->u.s, "EXPLICIT")) {
    hr_grad_fail(g, HR_ERROR(UNIMPLEMENTED, "the second gradient of max pooling with explicit paddings"));
    return;
  }
  const int attr_count = like_attrs(g, attrs, false), count = hr_grad_input_count(g);
  hr_value_t in[5] = {hr_grad_input(g, 0), hr_grad_input(g, 1), hr_grad_upstream(g, 0)};
  for (int i = 3; i < count; ++i) in[i] = hr_grad_input(g, i);
  for (int i = 0; i < 2; ++i)
    if (hr_grad_wanted(g, i)) hr_grad_give(g, i, hr_emit_zeros_like(g, hr_grad_input(g, i)));
  if (hr_grad_wanted(g, 2)) hr_grad_give(g, 2, hr_emit(g, op, count, in, attr_count, attrs));
}
static void max_grad_grad_fn(hr_grad_ctx_t* g) { grad_of_grad(g, "MaxPoolGradGrad"); }
static void max_grad_grad_v2_fn(hr_grad_ctx_t* g) { grad_of_grad(g, "MaxPoolGradGradV2"); }
static void max_grad_grad_3d_fn(hr_grad_ctx_t* g) { grad_of_grad(g, "MaxPool3DGradGrad"); }
static void max_grad_grad_grad_fn(hr_grad_ctx_t* g) { grad_of_grad(g, "MaxPoolGrad"); }
static void max_grad_grad_grad_v2_fn(hr_grad_ctx_t* g) { grad_of_grad(g, "MaxPoolGradV2"); }
static void max_grad_grad_grad_3d_fn(hr_grad_ctx_t* g) { grad_of_grad(g, "MaxPool3DGrad"); }

/* 4. definitions */
#define POOL_ROW(prep, fn, mark) \
  HR_KERNELS({.where = {{"T", HR_M_REAL}}, .prepared_bytes = sizeof(hr_pool_prepared_t), .prepare = prep, .compute = fn, .arg = mark})
#define TYPES_FORWARD "T: type{half,bfloat16,float,double,int32,int64,uint8,int16,int8,uint16,qint8} = float"
#define TYPES_BACK    "T: type{float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64}"
#define WINDOW_2D     "ksize: list(int) >= 4; strides: list(int) >= 4; "
#define PADS_2D       "padding: string{'SAME','VALID'}; data_format: string{'NHWC','NCHW'} = 'NHWC'; "
#define ATTRS_3D \
  "ksize: list(int) >= 5; strides: list(int) >= 5; padding: string{'SAME','VALID'}; data_format: string{'NDHWC','NCDHW'} = 'NDHWC'; "

const hr_op_t hr_op_MaxPool = {.name = "MaxPool",
                               .sig = "input: T -> output: T",
                               .attrs = TYPES_FORWARD "; " WINDOW_2D
                                                      "padding: string{'SAME','VALID','EXPLICIT'}; explicit_paddings: list(int) = []; "
                                                      "data_format: string{'NHWC','NCHW','NCHW_VECT_C'} = 'NHWC'",
                               .shape = hr_pool_infer_2d,
                               .grad = max_pool_grad_fn,
                               POOL_ROW(hr_pool_prepare_2d, max_pool, NULL),
                               .doc = "maximum of each window",
                               HR_HERE};

const hr_op_t hr_op_MaxPoolV2 = {
    .name = "MaxPoolV2",
    .sig = "input: T; ksize: int32; strides: int32 -> output: T",
    .attrs = TYPES_FORWARD "; padding: string{'SAME','VALID'}; data_format: string{'NHWC','NCHW','NCHW_VECT_C'} = 'NHWC'",
    .shape = hr_pool_infer_v2,
    .grad = max_pool_v2_grad_fn,
    POOL_ROW(hr_pool_prepare_2d, max_pool, &v2_mark),
    .doc = "maximum of each window; the window is an input",
    HR_HERE};

const hr_op_t hr_op_MaxPoolGrad = {.name = "MaxPoolGrad",
                                   .sig = "orig_input: T; orig_output: T; grad: T -> output: T",
                                   .attrs = WINDOW_2D
                                   "padding: string{'SAME','VALID','EXPLICIT'}; explicit_paddings: list(int) = []; data_format: "
                                   "string{'NHWC','NCHW'} = 'NHWC'; " TYPES_BACK " = float",
                                   .shape = hr_pool_infer_grad_2d,
                                   .grad = max_grad_grad_fn,
                                   POOL_ROW(hr_pool_prepare_2d, max_pool_grad, NULL),
                                   .doc = "gradient of MaxPool",
                                   HR_HERE};

const hr_op_t hr_op_MaxPoolGradV2 = {.name = "MaxPoolGradV2",
                                     .sig = "orig_input: T; orig_output: T; grad: T; ksize: int32; strides: int32 -> output: T",
                                     .attrs = PADS_2D TYPES_BACK " = float",
                                     .shape = hr_pool_infer_grad_2d,
                                     .grad = max_grad_grad_v2_fn,
                                     POOL_ROW(hr_pool_prepare_2d, max_pool_grad, &v2_mark),
                                     .doc = "gradient of MaxPoolV2",
                                     HR_HERE};

const hr_op_t hr_op_MaxPoolGradGrad = {.name = "MaxPoolGradGrad",
                                       .sig = "orig_input: T; orig_output: T; grad: T -> output: T",
                                       .attrs = WINDOW_2D PADS_2D TYPES_BACK,
                                       .shape = infer_grad_grad_2d,
                                       .grad = max_grad_grad_grad_fn,
                                       POOL_ROW(hr_pool_prepare_2d, max_pool_grad_grad, NULL),
                                       .doc = "gradient of MaxPoolGrad",
                                       HR_HERE};

const hr_op_t hr_op_MaxPoolGradGradV2 = {.name = "MaxPoolGradGradV2",
                                         .sig = "orig_input: T; orig_output: T; grad: T; ksize: int32; strides: int32 -> output: T",
                                         .attrs = PADS_2D TYPES_BACK,
                                         .shape = infer_grad_grad_v2,
                                         .grad = max_grad_grad_grad_v2_fn,
                                         POOL_ROW(hr_pool_prepare_2d, max_pool_grad_grad, &v2_mark),
                                         .doc = "gradient of MaxPoolGradV2",
                                         HR_HERE};

const hr_op_t hr_op_MaxPool3D = {.name = "MaxPool3D",
                                 .sig = "input: T -> output: T",
                                 .attrs = ATTRS_3D "T: type{half,bfloat16,float}",
                                 .shape = hr_pool_infer_3d,
                                 .grad = max_pool_3d_grad_fn,
                                 POOL_ROW(hr_pool_prepare_3d, max_pool, NULL),
                                 .doc = "MaxPool of volumes",
                                 HR_HERE};

const hr_op_t hr_op_MaxPool3DGrad = {.name = "MaxPool3DGrad",
                                     .sig = "orig_input: TInput; orig_output: TInput; grad: T -> output: T",
                                     .attrs = ATTRS_3D "T: type{half,bfloat16,float} = float; TInput: type{half,bfloat16,float} = float",
                                     .shape = hr_pool_infer_grad_3d,
                                     .grad = max_grad_grad_3d_fn,
                                     HR_KERNELS({.where = {{"T", HR_M(F32)}, {"TInput", HR_M(F32)}},
                                                 .prepared_bytes = sizeof(hr_pool_prepared_t),
                                                 .prepare = hr_pool_prepare_3d,
                                                 .compute = max_pool_grad},
                                                {.where = {{"T", HR_M(F16)}, {"TInput", HR_M(F16)}},
                                                 .prepared_bytes = sizeof(hr_pool_prepared_t),
                                                 .prepare = hr_pool_prepare_3d,
                                                 .compute = max_pool_grad},
                                                {.where = {{"T", HR_M(BF16)}, {"TInput", HR_M(BF16)}},
                                                 .prepared_bytes = sizeof(hr_pool_prepared_t),
                                                 .prepare = hr_pool_prepare_3d,
                                                 .compute = max_pool_grad}),
                                     .doc = "gradient of MaxPool3D",
                                     HR_HERE};

const hr_op_t hr_op_MaxPool3DGradGrad = {.name = "MaxPool3DGradGrad",
                                         .sig = "orig_input: T; orig_output: T; grad: T -> output: T",
                                         .attrs = ATTRS_3D TYPES_BACK,
                                         .shape = infer_grad_grad_3d,
                                         .grad = max_grad_grad_grad_3d_fn,
                                         POOL_ROW(hr_pool_prepare_3d, max_pool_grad_grad, NULL),
                                         .doc = "gradient of MaxPool3DGrad",
                                         HR_HERE};
