/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as matrix products of patches, a block of pixels at a time so that a block stays in cache:
 *   forward          out[pixels, o]  = patches[pixels, hwi] filter[hwi, o]
 *   data gradient    patches         = d_out[pixels, o] filter^T, added back to the image
 *   filter gradient  d_filter[hwi, o] += patches^T d_out
 * Forward splits pixels of all images over the pool, the data gradient images, the filter gradient the product. */
#include <string.h>
#include "ops/math/matmul/gemm.h"
#include "ops/nn/conv2d/conv2d.h"
#include "tensor/buffer.h"

enum { PATCH_BYTES = 256 << 10 };

typedef struct {
  const hr_dnn_conv_t* d;
  hr_dtype_t dtype;
  size_t size;
  const char *a, *b;
  char* c;
  int64_t pixels, taps, block, blocks; /* of an image; taps: h w i of a group */
  int64_t in_image, out_image;         /* elements */
  int64_t out_group;                   /* filters of a group */
} plain_job_t;

static plain_job_t plain_job(const hr_dnn_conv_t* d, hr_dtype_t dtype, const void* a, const void* b, void* c) {
  plain_job_t j = {.d = d,
                   .dtype = dtype,
                   .size = hr_dtype_size(dtype),
                   .a = a,
                   .b = b,
                   .c = c,
                   .pixels = d->out_h * d->out_w,
                   .taps = d->k_h * d->k_w * (d->in_c / d->groups),
                   .in_image = d->in_h * d->in_w * d->in_c,
                   .out_group = d->out_c / d->groups};
  j.out_image = j.pixels * d->out_c;
  j.block = PATCH_BYTES / ((j.taps ? j.taps : 1) * (int64_t)j.size);
  if (j.block < 16) j.block = 16;
  if (j.block > j.pixels) j.block = j.pixels;
  j.blocks = j.block ? (j.pixels + j.block - 1) / j.block : 0;
  return j;
}

/* The output (or its gradient) of a block of pixels and a group: where it starts and its strides, pixels by filters. */
typedef struct {
  int64_t at, pixel_step, filter_step;
} out_view_t;

static out_view_t out_view(const plain_job_t* j, int64_t image, int64_t group, int64_t pixel) {
  const bool first = j->d->nchw;
  return (out_view_t){
      image * j->out_image + (first ? group * j->out_group * j->pixels + pixel : pixel * j->d->out_c + group * j->out_group),
      first ? 1 : j->d->out_c, first ? j->pixels : 1};
}

static hr_status_t forward_block(const plain_job_t* j, int64_t image, int64_t begin, int64_t end, char* patches) {
  for (int64_t group = 0; group < j->d->groups; ++group) {
    hr_conv2d_gather(j->d, j->size, j->a + (size_t)(image * j->in_image) * j->size, group, begin, end, patches);
    const out_view_t o = out_view(j, image, group, begin);
    const char* filter = j->b + (size_t)(group * j->out_group) * j->size;
    hr_gemm_t g = {.m = end - begin,
                   .n = j->out_group,
                   .k = j->taps,
                   .a = patches,
                   .b = filter,
                   .c = j->c + (size_t)o.at * j->size,
                   .a_row = j->taps,
                   .a_col = 1,
                   .b_row = j->d->out_c,
                   .b_col = 1,
                   .c_row = o.pixel_step,
                   .a_type = j->dtype,
                   .b_type = j->dtype,
                   .c_type = j->dtype};
    if (j->d->nchw) /* the transposed product, since a result's columns are adjacent */
      g = (hr_gemm_t){.m = j->out_group,
                      .n = end - begin,
                      .k = j->taps,
                      .a = filter,
                      .b = patches,
                      .c = g.c,
                      .a_row = 1,
                      .a_col = j->d->out_c,
                      .b_row = 1,
                      .b_col = j->taps,
                      .c_row = o.filter_step,
                      .a_type = j->dtype,
                      .b_type = j->dtype,
                      .c_type = j->dtype};
    HR_TRY(hr_gemm_run(&g, 1));
  }
  return NULL;
}

static hr_buffer_t* create_patches(const plain_job_t* j) { return hr_buffer_create((size_t)(j->block * j->taps) * j->size + 1, HR_F32); }

static hr_status_t forward_blocks(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const plain_job_t* j = arg;
  hr_buffer_t* patches = create_patches(j);
  if (!patches) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  for (int64_t i = begin; i < end && !status; ++i) {
    const int64_t first = i % j->blocks * j->block, last = first + j->block < j->pixels ? first + j->block : j->pixels;
    status = forward_block(j, i / j->blocks, first, last, patches->data);
  }
  hr_buffer_release(patches);
  return status;
}

static hr_status_t data_block(const plain_job_t* j, int64_t image, int64_t begin, int64_t end, char* patches) {
  for (int64_t group = 0; group < j->d->groups; ++group) {
    const out_view_t o = out_view(j, image, group, begin);
    const hr_gemm_t g = {.m = end - begin,
                         .n = j->taps,
                         .k = j->out_group,
                         .a = j->a + (size_t)o.at * j->size,
                         .b = j->b + (size_t)(group * j->out_group) * j->size,
                         .c = patches,
                         .a_row = o.pixel_step,
                         .a_col = o.filter_step,
                         .b_row = 1,
                         .b_col = j->d->out_c,
                         .c_row = j->taps,
                         .a_type = j->dtype,
                         .b_type = j->dtype,
                         .c_type = j->dtype};
    HR_TRY(hr_gemm_run(&g, 1));
    hr_conv2d_scatter(j->d, j->dtype, patches, group, begin, end, j->c + (size_t)(image * j->in_image) * j->size);
  }
  return NULL;
}

static hr_status_t data_images(void* arg, int64_t begin, int64_t end, int chunk) {
  (void)chunk;
  const plain_job_t* j = arg;
  hr_buffer_t* patches = create_patches(j);
  if (!patches) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  for (int64_t image = begin; image < end && !status; ++image) {
    memset(j->c + (size_t)(image * j->in_image) * j->size, 0, (size_t)j->in_image * j->size);
    for (int64_t at = 0; at < j->pixels && !status; at += j->block)
      status = data_block(j, image, at, at + j->block < j->pixels ? at + j->block : j->pixels, patches->data);
  }
  hr_buffer_release(patches);
  return status;
}

static hr_status_t filter_block(const plain_job_t* j, int64_t image, int64_t begin, int64_t end, char* patches, int threads) {
  for (int64_t group = 0; group < j->d->groups; ++group) {
    hr_conv2d_gather(j->d, j->size, j->a + (size_t)(image * j->in_image) * j->size, group, begin, end, patches);
    const out_view_t o = out_view(j, image, group, begin);
    const hr_gemm_t g = {.m = j->taps,
                         .n = j->out_group,
                         .k = end - begin,
                         .a = patches,
                         .b = j->b + (size_t)o.at * j->size,
                         .c = j->c + (size_t)(group * j->out_group) * j->size,
                         .a_row = 1,
                         .a_col = j->taps,
                         .b_row = o.pixel_step,
                         .b_col = o.filter_step,
                         .c_row = j->d->out_c,
                         .a_type = j->dtype,
                         .b_type = j->dtype,
                         .c_type = j->dtype,
                         .accumulate = true};
    HR_TRY(hr_gemm_run(&g, threads));
  }
  return NULL;
}

static hr_status_t filter_gradient(hr_kernel_ctx_t* k, const plain_job_t* j) {
  memset(j->c, 0, (size_t)(j->taps * j->d->out_c) * j->size);
  hr_buffer_t* patches = create_patches(j);
  if (!patches) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  for (int64_t i = 0; i < j->d->batch * j->blocks && !status; ++i) {
    const int64_t first = i % j->blocks * j->block, last = first + j->block < j->pixels ? first + j->block : j->pixels;
    status = filter_block(j, i / j->blocks, first, last, patches->data, k->threads);
  }
  hr_buffer_release(patches);
  return status;
}

hr_status_t hr_conv2d_plain(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, hr_dtype_t dtype, const void* a, const void* b, void* c) {
  plain_job_t j = plain_job(d, dtype, a, b, c);
  const double image_ns = (double)j.out_image * (double)j.taps / 20.0 + 100.0;
  if (d->kind == HR_DNN_CONV_FILTER) return filter_gradient(k, &j);
  if (d->kind == HR_DNN_CONV_DATA) return hr_parallel(k, d->batch, image_ns, data_images, &j);
  return hr_parallel(k, d->batch * j.blocks, image_ns / (double)(j.blocks ? j.blocks : 1), forward_blocks, &j);
}
