/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of an image as rows of a matrix, and back: what turns a convolution into a matrix product. Gathering moves bytes and knows no
 * type; adding back has one function per type. Cells in the padding are zeros and are left out on the way back. */
#include <string.h>
#include "ops/nn/conv2d/conv2d.h"

/* One tap of one pixel: the first element of its channels in the image, or NULL in the padding. */
typedef struct {
  const hr_dnn_conv_t* d;
  int64_t channels;     /* of a group */
  int64_t channel_step; /* elements between channels */
  int64_t first;        /* first channel's offset */
} tap_walk_t;

static tap_walk_t walk_of(const hr_dnn_conv_t* d, int64_t group) {
  const int64_t channels = d->in_c / d->groups, step = d->nchw ? d->in_h * d->in_w : 1;
  return (tap_walk_t){d, channels, step, group * channels * step};
}

/* Offset in the image of pixel (oh, ow)'s tap (i, j); -1 in the padding. */
static int64_t tap_offset(const tap_walk_t* t, int64_t pixel, int64_t i, int64_t j) {
  const hr_dnn_conv_t* d = t->d;
  const int64_t h = pixel / d->out_w * d->stride_h - d->pad_top + i * d->dilation_h,
                w = pixel % d->out_w * d->stride_w - d->pad_left + j * d->dilation_w;
  if (h < 0 || h >= d->in_h || w < 0 || w >= d->in_w) return -1;
  return t->first + (h * d->in_w + w) * (d->nchw ? 1 : d->in_c);
}

static void gather_strided(size_t size, const char* from, int64_t step, int64_t count, char* to) {
  if (size == 4) {
    for (int64_t c = 0; c < count; ++c) memcpy(to + 4 * c, from + 4 * c * step, 4);
  } else {
    for (int64_t c = 0; c < count; ++c) memcpy(to + 8 * c, from + 8 * c * step, 8);
  }
}

void hr_conv2d_gather(const hr_dnn_conv_t* d, size_t size, const char* image, int64_t group, int64_t begin, int64_t end, char* patches) {
  const tap_walk_t t = walk_of(d, group);
  const size_t bytes = (size_t)t.channels * size;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    for (int64_t i = 0; i < d->k_h; ++i) {
      for (int64_t j = 0; j < d->k_w; ++j, patches += bytes) {
        const int64_t at = tap_offset(&t, pixel, i, j);
        if (at < 0)
          memset(patches, 0, bytes);
        else if (t.channel_step == 1)
          memcpy(patches, image + (size_t)at * size, bytes);
        else
          gather_strided(size, image + (size_t)at * size, t.channel_step, t.channels, patches);
      }
    }
  }
}

#define DEFINE_ADD(name, T)                                                        \
  static void name(void* to, int64_t step, const void* from, int64_t count) {      \
    for (int64_t c = 0; c < count; ++c) ((T*)to)[c * step] += ((const T*)from)[c]; \
  }
DEFINE_ADD(add_f32, float)
DEFINE_ADD(add_f64, double)
DEFINE_ADD(add_u32, uint32_t)

void hr_conv2d_scatter(const hr_dnn_conv_t* d, hr_dtype_t dtype, const char* patches, int64_t group, int64_t begin, int64_t end,
                       char* image) {
  void (*add)(void*, int64_t, const void*, int64_t) = dtype == HR_F64 ? add_f64 : dtype == HR_F32 ? add_f32 : add_u32;
  const tap_walk_t t = walk_of(d, group);
  const size_t size = hr_dtype_size(dtype), bytes = (size_t)t.channels * size;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    for (int64_t i = 0; i < d->k_h; ++i) {
      for (int64_t j = 0; j < d->k_w; ++j, patches += bytes) {
        const int64_t at = tap_offset(&t, pixel, i, j);
        if (at >= 0) add(image + (size_t)at * size, t.channel_step, patches, t.channels);
      }
    }
  }
}
