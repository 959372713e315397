/* SPDX-License-Identifier: Apache-2.0 */
/* ResizeBilinear: each pixel of the result is the mean of the four nearest pixels of the image, weighted by distance, in float whatever the
 * image's type; and ResizeBilinearGrad, which adds each gradient to the four in turn. */
#include <math.h>
#include <string.h>
#include "ops/image/resize.h"
#include "ops/math/matmul/epilogue.h"

extern const hr_op_t hr_op_ResizeBilinear, hr_op_ResizeBilinearGrad;

/* 1. along one axis: the two neighbours of each place, and how far it is from the lower one */
typedef struct {
  int64_t lower, upper;
  float part;
} neighbours_t;

static hr_status_t find_neighbours(hr_kernel_ctx_t* k, const hr_resize_t* r, int64_t in, int64_t out, hr_tensor_t* owner) {
  const hr_shape_t shape = hr_shape_matrix(out, (int64_t)sizeof(neighbours_t));
  const float scale = hr_resize_scale(r, in, out);
  HR_TRY(hr_shape_check(&shape));
  HR_TRY(hr_temp(k, HR_U8, &shape, owner));
  neighbours_t* to = owner->data;
  for (int64_t i = 0; i < out; ++i) {
    const float at = hr_resize_place(r, i, scale, false), floor_at = floorf(at);
    const int64_t lower = (int64_t)floor_at, upper = (int64_t)ceilf(at);
    to[i] = (neighbours_t){lower < 0 ? 0 : lower < in ? lower : in - 1, upper < in ? upper : in - 1, at - floor_at};
  }
  return NULL;
}

/* 2. the rows of each type */
typedef struct {
  const neighbours_t *y, *x;
  int64_t in_h, in_w, out_h, out_w, channels;
  bool same; /* of one size: a conversion */
  const char* in;
  char* out;
} bilinear_t;

#define ROW(name, T, WIDE)                                                                                                     \
  static void name(const bilinear_t* b, int64_t row) {                                                                         \
    const neighbours_t* y = &b->y[row % b->out_h];                                                                             \
    const int64_t n = b->channels, pitch = b->in_w * n;                                                                        \
    const T* image = (const T*)(const void*)b->in + row / b->out_h * b->in_h * pitch;                                          \
    const T *top = image + y->lower * pitch, *bottom = image + y->upper * pitch;                                               \
    float* to = (float*)(void*)b->out + row * b->out_w * n;                                                                    \
    for (int64_t i = 0; b->same && i < pitch; ++i) to[i] = (float)WIDE(top[i]);                                                \
    for (int64_t i = 0; !b->same && i < b->out_w; ++i, to += n) {                                                              \
      const neighbours_t* x = &b->x[i];                                                                                        \
      const T *tl = top + x->lower * n, *tr = top + x->upper * n, *bl = bottom + x->lower * n, *br = bottom + x->upper * n;    \
      for (int64_t c = 0; c < n; ++c) {                                                                                        \
        const float above = (float)WIDE(tl[c]) + ((float)WIDE(tr[c]) - (float)WIDE(tl[c])) * x->part;                          \
        const float below = (float)WIDE(bl[c]) + ((float)WIDE(br[c]) - (float)WIDE(bl[c])) * x->part;                          \
        to[c] = above + (below - above) * y->part;                                                                             \
      }                                                                                                                        \
    }                                                                                                                          \
  }
#define SAME(x) (x)
ROW(row_f32, float, SAME)
ROW(row_f64, double, SAME)
ROW(row_f16, hr_f16_t, hr_f16_to_f32)
ROW(row_bf16, hr_bf16_t, hr_bf16_to_f32)
ROW(row_i8, int8_t, SAME)
ROW(row_u8, uint8_t, SAME)
ROW(row_i16, int16_t, SAME)
ROW(row_u16, uint16_t, SAME)
ROW(row_i32, int32_t, SAME)
ROW(row_i64, int64_t, SAME)

/* Adds a row of gradients to the rows [begin, end) of the image's gradient. Products are floats, sums of type W. */
#define ADD(name, W)                                                                                                  \
  static void name(const bilinear_t* b, int64_t batch, int64_t row, int64_t begin, int64_t end) {                     \
    const neighbours_t* y = &b->y[row];                                                                               \
    const int64_t n = b->channels, pitch = b->in_w * n;                                                               \
    const float* g = (const float*)(const void*)b->in + (batch * b->out_h + row) * b->out_w * n;                      \
    W* image = (W*)(void*)b->out + batch * b->in_h * pitch;                                                           \
    for (int side = 0; side < 2; ++side) {                                                                            \
      const int64_t to = side ? y->upper : y->lower;                                                                  \
      const float part = side ? y->part : 1.0f - y->part;                                                             \
      if (to < begin || to >= end) continue;                                                                          \
      for (int64_t i = 0; i < b->out_w; ++i) {                                                                        \
        const neighbours_t* x = &b->x[i];                                                                             \
        const float left = 1.0f - x->part;                                                                            \
        W *l = image + to * pitch + x->lower * n, *r = image + to * pitch + x->upper * n;                             \
        for (int64_t c = 0; c < n; ++c) l[c] += (W)(g[i * n + c] * part * left);                                      \
        for (int64_t c = 0; c < n; ++c) r[c] += (W)(g[i * n + c] * part * x->part);                                   \
      }                                                                                                               \
    }                                                                                                                 \
  }
ADD(add_f32, float)
ADD(add_f64, double)

typedef void (*row_fn)(const bilinear_t* b, int64_t row);
static row_fn row_of(hr_dtype_t t) {
  switch (t) {
    case HR_F32: return row_f32;
    case HR_F64: return row_f64;
    case HR_F16: return row_f16;
    case HR_BF16: return row_bf16;
    case HR_I8: return row_i8;
    case HR_U8: return row_u8;
    case HR_I16: return row_i16;
    case HR_U16: return row_u16;
    case HR_I32: return row_i32;
    default: return row_i64;
  }
}

/* 3. kernels */
typedef struct {
  bilinear_t b;
  row_fn row;
  void (*add)(const bilinear_t* b, int64_t batch, int64_t row, int64_t begin, int64_t end);
} job_t;

static hr_status_t rows(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const job_t* j = arg;
  for (int64_t i = begin; i < end; ++i) j->row(&j->b, i);
  return NULL;
}

/* Rows of the images' gradients; each takes what is its own of all rows of gradients, in their order. */
static hr_status_t rows_back(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const job_t* j = arg;
  const bilinear_t* b = &j->b;
  for (int64_t batch = begin / b->in_h; batch * b->in_h < end; ++batch) {
    const int64_t first = batch * b->in_h, from = begin > first ? begin - first : 0, to = end - first < b->in_h ? end - first : b->in_h;
    for (int64_t row = 0; row < b->out_h; ++row)
      if (b->y[row].upper >= from && b->y[row].lower < to) j->add(b, batch, row, from, to);
  }
  return NULL;
}

static hr_status_t open_job(hr_kernel_ctx_t* k, const hr_shape_t* image, const hr_shape_t* result, hr_tensor_t owners[2], job_t* j) {
  const hr_resize_t* r = hr_prepared(k);
  j->b = (bilinear_t){.in_h = image->dims[1],
                      .in_w = image->dims[2],
                      .out_h = result->dims[1],
                      .out_w = result->dims[2],
                      .channels = image->dims[3],
                      .same = image->dims[1] == result->dims[1] && image->dims[2] == result->dims[2]};
  HR_TRY(find_neighbours(k, r, j->b.in_h, j->b.out_h, &owners[0]));
  HR_TRY(find_neighbours(k, r, j->b.in_w, j->b.out_w, &owners[1]));
  j->b.y = owners[0].data;
  j->b.x = owners[1].data;
  return NULL;
}

static hr_status_t resize(hr_kernel_ctx_t* k) {
  const hr_tensor_t* image = hr_input(k, 0);
  hr_shape_t shape;
  hr_tensor_t *y, owners[2] = {{0}};
  job_t j = {.row = row_of(image->dtype)};
  HR_TRY(hr_resize_shape(k, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  if (y->count == 0) return NULL;
  hr_status_t status = open_job(k, &image->shape, &shape, owners, &j);
  j.b.in = image->data;
  j.b.out = y->data;
  if (!status) status = hr_parallel(k, shape.dims[0] * shape.dims[1], (double)(shape.dims[2] * shape.dims[3]) * 2.5, rows, &j);
  hr_tensor_release(&owners[0]);
  hr_tensor_release(&owners[1]);
  return status;
}

static hr_status_t check_back(hr_kernel_ctx_t* k) {
  const hr_shape_t *g = &hr_input(k, 0)->shape, *image = &hr_input(k, 1)->shape;
  char text[2][HR_SHAPE_TEXT];
  HR_TRY(hr_want_rank(k, 0, "input_grad must be 4-dimensional: ", 4));
  HR_TRY(hr_want_rank(k, 1, "original_image must be 4-dimensional: ", 4));
  for (int i = 1; i < 3; ++i)
    if (g->dims[i] == 0 || image->dims[i] == 0)
      return HR_ERROR(INVALID_ARGUMENT, "%s dimensions must be positive: %s", g->dims[i] ? "original" : "resized",
                      hr_shape_format(g->dims[i] ? image : g, text[0]));
  if (g->dims[0] != image->dims[0] || g->dims[3] != image->dims[3])
    return HR_ERROR(INVALID_ARGUMENT, "gradients %s and images %s differ in batch or channels", hr_shape_format(g, text[0]),
                    hr_shape_format(image, text[1]));
  return NULL;
}

static hr_status_t resize_back(hr_kernel_ctx_t* k) {
  const hr_tensor_t *g = hr_input(k, 0), *image = hr_input(k, 1);
  hr_tensor_t *dx, owners[2] = {{0}}, wide = {0};
  job_t j = {.add = image->dtype == HR_F64 ? add_f64 : add_f32};
  HR_TRY(check_back(k));
  HR_TRY(hr_output(k, 0, &image->shape, &dx));
  if (dx->count == 0) return NULL;
  const bool narrow = hr_dtype_in(dx->dtype, HR_M(F16) | HR_M(BF16));
  hr_status_t status = open_job(k, &image->shape, &g->shape, owners, &j);
  if (!status && narrow) status = hr_temp(k, HR_F32, &image->shape, &wide);
  const hr_tensor_t* sums = narrow ? &wide : dx;
  j.b.in = g->data;
  j.b.out = sums->data;
  if (!status) memset(sums->data, 0, hr_tensor_bytes(sums));
  const int64_t lines = image->shape.dims[0] * image->shape.dims[1];
  if (!status) status = hr_parallel(k, lines, (double)(g->count / lines + 1) * 5.0, rows_back, &j);
  if (!status && narrow) status = hr_epilogue_narrow(k, wide.data, dx);
  hr_tensor_release(&owners[0]);
  hr_tensor_release(&owners[1]);
  hr_tensor_release(&wide);
  return status;
}

/* 4. gradient */
static void grad_resize(hr_grad_ctx_t* g) {
  hr_value_t image = hr_grad_input(g, 0);
  if (hr_dtype_in(hr_grad_dtype(g, image), HR_M_REAL_FLOAT)) hr_resize_give_grad(g, "ResizeBilinearGrad", image);
}

static hr_status_t infer_back(hr_infer_t* s) { /* like the image */
  hr_infer_set(s, 0, hr_infer_input(s, 1));
  return NULL;
}

/* 5. definitions */
const hr_op_t hr_op_ResizeBilinear = {
    .name = "ResizeBilinear",
    .sig = "images: T; size: int32 -> resized_images: float",
    .attrs = "T: type{int8,uint8,int16,uint16,int32,int64,bfloat16,half,float,double,bfloat16}; align_corners: bool = false; "
             "half_pixel_centers: bool = false",
    .shape = hr_resize_infer,
    .grad = grad_resize,
    HR_KERNELS({.host_inputs = 2, .prepared_bytes = sizeof(hr_resize_t), .prepare = hr_resize_prepare, .compute = resize}),
    .doc = "images of another size, by the means of neighbours",
    HR_HERE};

const hr_op_t hr_op_ResizeBilinearGrad = {
    .name = "ResizeBilinearGrad",
    .sig = "grads: float; original_image: T -> output: T",
    .attrs = "T: type{float,bfloat16,half,double}; align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = infer_back,
    .grad = hr_grad_none,
    HR_KERNELS({.prepared_bytes = sizeof(hr_resize_t), .prepare = hr_resize_prepare, .compute = resize_back}),
    .doc = "gradient of ResizeBilinear with respect to its images",
    HR_HERE};
