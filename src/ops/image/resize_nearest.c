/* SPDX-License-Identifier: Apache-2.0 */
/* ResizeNearestNeighbor: each pixel of the result is the pixel of the image whose area it lies in, or with align_corners the nearest one;
 * and ResizeNearestNeighborGrad, which adds each gradient to its pixel. half and bfloat16 are added in float. */
#include <math.h>
#include <string.h>
#include "ops/image/resize.h"
#include "ops/math/matmul/epilogue.h"

extern const hr_op_t hr_op_ResizeNearestNeighbor, hr_op_ResizeNearestNeighborGrad;

/* 1. along one axis: the place of the image for each of the result */
static hr_status_t find_nearest(hr_kernel_ctx_t* k, const hr_resize_t* r, int64_t in, int64_t out, hr_tensor_t* places) {
  const hr_shape_t shape = hr_shape_vector(out);
  const float scale = hr_resize_scale(r, in, out);
  HR_TRY(hr_temp(k, HR_I64, &shape, places));
  for (int64_t i = 0; i < out; ++i) {
    const float at = hr_resize_place(r, i, scale, true);
    const int64_t place = (int64_t)(r->align_corners ? roundf(at) : floorf(at));
    ((int64_t*)places->data)[i] = place < in ? place : in - 1;
  }
  return NULL;
}

typedef struct {
  const int64_t *y, *x;
  int64_t in_h, in_w, out_h, out_w, channels;
  size_t size; /* of a pixel */
  const char* from;
  char* to;
  void (*add)(const void* g, int64_t n, void* sum);
  size_t g_size, sum_size;
} nearest_t;

static hr_status_t open_job(hr_kernel_ctx_t* k, const hr_shape_t* image, const hr_shape_t* result, hr_tensor_t owners[2], nearest_t* j) {
  const hr_resize_t* r = hr_prepared(k);
  j->in_h = image->dims[1];
  j->in_w = image->dims[2];
  j->out_h = result->dims[1];
  j->out_w = result->dims[2];
  j->channels = image->dims[3];
  HR_TRY(find_nearest(k, r, j->in_h, j->out_h, &owners[0]));
  HR_TRY(find_nearest(k, r, j->in_w, j->out_w, &owners[1]));
  j->y = owners[0].data;
  j->x = owners[1].data;
  return NULL;
}

/* 2. kernels */
static hr_status_t rows(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const nearest_t* j = arg;
  const size_t pitch = (size_t)j->in_w * j->size;
  for (int64_t i = begin; i < end; ++i) {
    const char* row = j->from + (size_t)(i / j->out_h * j->in_h + j->y[i % j->out_h]) * pitch;
    char* to = j->to + (size_t)(i * j->out_w) * j->size;
    for (int64_t x = 0; x < j->out_w; ++x, to += j->size) memcpy(to, row + (size_t)j->x[x] * j->size, j->size);
  }
  return NULL;
}

static hr_status_t resize(hr_kernel_ctx_t* k) {
  const hr_tensor_t* image = hr_input(k, 0);
  hr_shape_t shape;
  hr_tensor_t *y, owners[2] = {{0}};
  HR_TRY(hr_resize_shape(k, &shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  if (y->count == 0) return NULL;
  nearest_t j = {.size = (size_t)shape.dims[3] * hr_dtype_size(image->dtype), .from = image->data, .to = y->data};
  hr_status_t status = open_job(k, &image->shape, &shape, owners, &j);
  const double cost = (double)shape.dims[2] * (3.0 + 0.1 * (double)j.size);
  if (!status) status = hr_parallel(k, shape.dims[0] * shape.dims[1], cost, rows, &j);
  hr_tensor_release(&owners[0]);
  hr_tensor_release(&owners[1]);
  return status;
}

/* Sums of type W; integers wrap. */
#define ADD(name, T, W, WIDE)                                       \
  static void name(const void* g_, int64_t n, void* sum_) {         \
    const T* g = g_;                                                \
    W* sum = sum_;                                                  \
    for (int64_t i = 0; i < n; ++i) sum[i] = (W)(sum[i] + WIDE(g[i])); \
  }
#define SAME(x) (x)
ADD(add_f32, float, float, SAME)
ADD(add_f64, double, double, SAME)
ADD(add_f16, hr_f16_t, float, hr_f16_to_f32)
ADD(add_bf16, hr_bf16_t, float, hr_bf16_to_f32)
ADD(add_8, uint8_t, uint8_t, SAME)
ADD(add_32, uint32_t, uint32_t, SAME)

static void choose_add(hr_dtype_t t, nearest_t* j) {
  j->add = t == HR_F32 ? add_f32 : t == HR_F64 ? add_f64 : t == HR_F16 ? add_f16 : t == HR_BF16 ? add_bf16 : t == HR_I32 ? add_32 : add_8;
  j->g_size = hr_dtype_size(t);
  j->sum_size = t == HR_F16 || t == HR_BF16 ? sizeof(float) : j->g_size;
}

/* Rows of the images' gradients; each takes what is its own of all rows of gradients, in their order. */
static hr_status_t rows_back(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const nearest_t* j = arg;
  const int64_t n = j->channels;
  for (int64_t i = begin; i < end; ++i)
    for (int64_t row = 0; row < j->out_h; ++row) {
      if (j->y[row] != i % j->in_h) continue;
      const char* g = j->from + (size_t)((i / j->in_h * j->out_h + row) * j->out_w * n) * j->g_size;
      for (int64_t x = 0; x < j->out_w; ++x)
        j->add(g + (size_t)(x * n) * j->g_size, n, j->to + (size_t)((i * j->in_w + j->x[x]) * n) * j->sum_size);
    }
  return NULL;
}

static hr_status_t resize_back(hr_kernel_ctx_t* k) {
  const hr_tensor_t* g = hr_input(k, 0);
  int64_t size[2];
  hr_shape_t shape;
  hr_tensor_t *dx, owners[2] = {{0}}, wide = {0};
  nearest_t j = {.from = g->data};
  HR_TRY(hr_want_rank(k, 0, "input must be 4-dimensional: ", 4));
  HR_TRY(hr_resize_read_size(k, "size's elements", size));
  hr_shape_copy(&shape, &g->shape);
  shape.dims[1] = size[0];
  shape.dims[2] = size[1];
  HR_TRY(hr_shape_check(&shape));
  HR_TRY(hr_output(k, 0, &shape, &dx));
  if (dx->count == 0) return NULL;
  choose_add(g->dtype, &j);
  const bool narrow = j.sum_size != j.g_size;
  hr_status_t status = open_job(k, &shape, &g->shape, owners, &j);
  if (!status && narrow) status = hr_temp(k, HR_F32, &shape, &wide);
  const hr_tensor_t* sums = narrow ? &wide : dx;
  j.to = sums->data;
  if (!status) memset(sums->data, 0, hr_tensor_bytes(sums));
  const int64_t lines = shape.dims[0] * shape.dims[1];
  if (!status) status = hr_parallel(k, lines, 10.0 + (double)(g->count / lines) * 1.5, rows_back, &j);
  if (!status && narrow) status = hr_epilogue_narrow(k, wide.data, dx);
  hr_tensor_release(&owners[0]);
  hr_tensor_release(&owners[1]);
  hr_tensor_release(&wide);
  return status;
}

/* 3. gradient */
static void grad_resize(hr_grad_ctx_t* g) {
  hr_value_t shape = hr_emit_shape(g, hr_grad_input(g, 0));
  hr_value_t first = hr_emit_const_i32s(g, (const int64_t[]){1}, 1), count = hr_emit_const_i32s(g, (const int64_t[]){2}, 1);
  hr_resize_give_grad(g, "ResizeNearestNeighborGrad", hr_emit3(g, "Slice", shape, first, count));
}

/* 4. definitions */
const hr_op_t hr_op_ResizeNearestNeighbor = {
    .name = "ResizeNearestNeighbor",
    .sig = "images: T; size: int32 -> resized_images: T",
    .attrs = "T: type{int8,uint8,int16,uint16,int32,int64,half,float,double,bfloat16}; align_corners: bool = false; "
             "half_pixel_centers: bool = false",
    .shape = hr_resize_infer,
    .grad = grad_resize,
    HR_KERNELS({.host_inputs = 2, .prepared_bytes = sizeof(hr_resize_t), .prepare = hr_resize_prepare, .compute = resize}),
    .doc = "images of another size, by their nearest pixels",
    HR_HERE};

const hr_op_t hr_op_ResizeNearestNeighborGrad = {
    .name = "ResizeNearestNeighborGrad",
    .sig = "grads: T; size: int32 -> output: T",
    .attrs = "T: type{uint8,int8,int32,half,float,double,bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false",
    .shape = hr_resize_infer,
    HR_KERNELS({.host_inputs = 2, .prepared_bytes = sizeof(hr_resize_t), .prepare = hr_resize_prepare_any, .compute = resize_back}),
    .doc = "gradient of ResizeNearestNeighbor with respect to its images",
    HR_HERE};
