/* SPDX-License-Identifier: Apache-2.0 */
/* Our own convolution and both its gradients against a loop over all that meets: formats, groups, strides, dilations, paddings of one side,
 * windows that lie outside, several blocks of pixels, several threads. Numbers are small and whole: every order of summing is right. */
#include "ops/nn/conv2d/conv2d.h"
#include "test.h"

typedef struct {
  int64_t in, filter, out; /* elements */
} sizes_t;

static sizes_t sizes_of(const hr_dnn_conv_t* d) {
  return (sizes_t){d->batch * d->in_h * d->in_w * d->in_c, d->k_h * d->k_w * (d->in_c / d->groups) * d->out_c,
                   d->batch * d->out_h * d->out_w * d->out_c};
}

static int64_t place(bool nchw, int64_t b, int64_t y, int64_t x, int64_t c, int64_t h, int64_t w, int64_t channels) {
  return nchw ? ((b * channels + c) * h + y) * w + x : ((b * h + y) * w + x) * channels + c;
}

/* One output element's filters: adds to whichever of the three the kind computes. */
static void meet(const hr_dnn_conv_t* d, int64_t b, int64_t y, int64_t x, int64_t o, double* in, double* filter, double* out) {
  const int64_t depth = d->in_c / d->groups, first = o / (d->out_c / d->groups) * depth;
  double* result = &out[place(d->nchw, b, y, x, o, d->out_h, d->out_w, d->out_c)];
  for (int64_t i = 0; i < d->k_h; ++i)
    for (int64_t j = 0; j < d->k_w; ++j) {
      const int64_t h = y * d->stride_h - d->pad_top + i * d->dilation_h, w = x * d->stride_w - d->pad_left + j * d->dilation_w;
      if (h < 0 || h >= d->in_h || w < 0 || w >= d->in_w) continue;
      for (int64_t c = 0; c < depth; ++c) {
        double* tap = &in[place(d->nchw, b, h, w, first + c, d->in_h, d->in_w, d->in_c)];
        double* weight = &filter[((i * d->k_w + j) * depth + c) * d->out_c + o];
        if (d->kind == HR_DNN_CONV_FORWARD) *result += *tap * *weight;
        else if (d->kind == HR_DNN_CONV_DATA) *tap += *result * *weight;
        else *weight += *tap * *result;
      }
    }
}

static void convolve(const hr_dnn_conv_t* d, double* in, double* filter, double* out) {
  for (int64_t b = 0; b < d->batch; ++b)
    for (int64_t y = 0; y < d->out_h; ++y)
      for (int64_t x = 0; x < d->out_w; ++x)
        for (int64_t o = 0; o < d->out_c; ++o) meet(d, b, y, x, o, in, filter, out);
}

static double* plain_numbers(int64_t count, int which) { /* -1: zeros */
  double* p = hr_alloc_array((size_t)count + 1, sizeof *p);
  for (int64_t i = 0; i < count; ++i) p[i] = which < 0 ? 0 : (double)((i * 7 + which) % 9 - 4);
  return p;
}

static void* typed(hr_dtype_t t, const double* from, int64_t count) {
  char* p = hr_alloc_array((size_t)count, hr_dtype_size(t)); /* exactly: what is read past its end is seen */
  for (int64_t i = 0; i < count; ++i) {
    if (t == HR_F64) ((double*)p)[i] = from[i];
    else if (t == HR_F32) ((float*)p)[i] = (float)from[i];
    else ((int32_t*)p)[i] = (int32_t)from[i];
  }
  return p;
}
static double number(hr_dtype_t t, const void* p, int64_t i) {
  return t == HR_F64 ? ((const double*)p)[i] : t == HR_F32 ? (double)((const float*)p)[i] : (double)((const int32_t*)p)[i];
}

static void check_conv(const hr_dnn_conv_t* d, hr_dtype_t t, int threads) {
  const sizes_t s = sizes_of(d);
  const bool data = d->kind == HR_DNN_CONV_DATA, filters = d->kind == HR_DNN_CONV_FILTER;
  double *in = plain_numbers(s.in, data ? -1 : 1), *filter = plain_numbers(s.filter, filters ? -1 : 2);
  double* out = plain_numbers(s.out, data || filters ? 3 : -1);
  const int64_t count = data ? s.in : filters ? s.filter : s.out;
  double* want = data ? in : filters ? filter : out;
  void *a = typed(t, data ? out : in, data ? s.out : s.in), *b = typed(t, filters ? out : filter, filters ? s.out : s.filter);
  void* c = typed(t, want, count);
  for (int64_t i = 0; i < count; ++i) /* what was there before does not matter */
    memset((char*)c + (size_t)i * hr_dtype_size(t), 0x3f, hr_dtype_size(t));
  hr_kernel_ctx_t k = {.threads = threads};
  convolve(d, in, filter, out);
  HR_CHECK_OK(hr_conv2d_plain(&k, d, t, a, b, c));
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i) wrong += number(t, c, i) != want[i];
  if (wrong)
    hr_test_fail(__FILE__, __LINE__, "%s, kind %d, nchw %d, groups %d, out [%d,%d], %d threads: %d of %d are wrong", hr_dtype_name((int)t),
                 (int)d->kind, d->nchw, (int)d->groups, (int)d->out_h, (int)d->out_w, threads, (int)wrong, (int)count);
  void* const all[] = {in, filter, out, a, b, c};
  for (int i = 0; i < 6; ++i) hr_free(all[i]);
}

static int64_t outputs(int64_t in, int64_t before, int64_t after, int64_t size, int64_t dilation, int64_t stride) {
  return (in + before + after - ((size - 1) * dilation + 1)) / stride + 1;
}

static void check_kinds(hr_dnn_conv_t d) {
  static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_I32};
  d.out_h = outputs(d.in_h, d.pad_top, d.pad_bottom, d.k_h, d.dilation_h, d.stride_h);
  d.out_w = outputs(d.in_w, d.pad_left, d.pad_right, d.k_w, d.dilation_w, d.stride_w);
  for (int form = 0; form < 6; ++form)
    for (int t = 0; t < 3; ++t) {
      d.kind = (hr_dnn_conv_kind_t)(form / 2);
      d.nchw = form % 2;
      check_conv(&d, types[t], 1 + t);
    }
}

static const hr_dnn_conv_t usual = {.batch = 2,
                                    .in_c = 4,
                                    .in_h = 5,
                                    .in_w = 6,
                                    .out_c = 6,
                                    .k_h = 3,
                                    .k_w = 2,
                                    .groups = 1,
                                    .stride_h = 1,
                                    .stride_w = 1,
                                    .dilation_h = 1,
                                    .dilation_w = 1};
#define CONV(...)             \
  do {                        \
    hr_dnn_conv_t d = usual;  \
    __VA_ARGS__;              \
    check_kinds(d);           \
  } while (0)

HR_TEST(windows_of_every_kind) {
  CONV(d.pad_top = 0);
  CONV(d.pad_top = 1, d.pad_bottom = 1, d.pad_left = 1);
  CONV(d.pad_top = 2, d.pad_right = 3);
  CONV(d.pad_bottom = 2, d.pad_left = 4, d.stride_w = 2);
  CONV(d.stride_h = 2, d.stride_w = 3);
  CONV(d.dilation_h = 2, d.dilation_w = 3, d.pad_left = 1);
  CONV(d.groups = 2, d.pad_top = 1);
  CONV(d.groups = 2, d.stride_h = 2, d.dilation_w = 2, d.pad_left = 2, d.pad_right = 1);
  CONV(d.in_c = 3, d.groups = 3);
  CONV(d.k_h = 1, d.k_w = 1);
  CONV(d.k_h = 1, d.k_w = 1, d.stride_h = 2, d.stride_w = 2, d.in_c = 1, d.out_c = 1);
  CONV(d.in_h = 1, d.in_w = 1, d.k_h = 1, d.k_w = 1, d.batch = 1);
  CONV(d.in_h = 1, d.in_w = 1, d.pad_top = 5, d.pad_bottom = 3, d.pad_left = 4, d.pad_right = 5); /* most windows see nothing */
  CONV(d.in_h = 3, d.in_w = 2);
}

HR_TEST(more_pixels_than_a_block_has) { /* of 256 KiB of patches, at least 16 pixels */
  CONV(d.in_h = 12, d.in_w = 11, d.in_c = 96, d.out_c = 2, d.pad_top = 1);
  CONV(d.in_h = 9, d.in_w = 8, d.in_c = 2048, d.out_c = 1, d.batch = 1);
}

HR_TEST_MAIN()
