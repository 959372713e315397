/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions against Conv2D with as many groups as channels, whose filter has the same bytes under another shape: channels
 * around the widths of vectors and blocks, several filters a channel, strides and dilations that differ, both formats, every type. Numbers
 * are small and whole, so that all sums are exact. */
#include <math.h>
#include "ops/run_op.h"

typedef struct {
  int64_t k[2], stride[2], dilation[2];
  const char* padding;
} depth_window_t;
typedef struct {
  int64_t batch, in[2], channels, multiplier;
  bool first;
  const depth_window_t* w;
  char attrs[200];
} depth_case_t;

static TF_Tensor* depth_image(TF_DataType type, const depth_case_t* c, const int64_t size[2], int64_t channels, int salt) {
  TF_Tensor* t = c->first ? RUN_TENSOR(type, c->batch, channels, size[0], size[1]) : RUN_TENSOR(type, c->batch, size[0], size[1], channels);
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) run_put(t, i, (double)((i * 5 + i / 7 + salt) % 5) - 2);
  return t;
}

static TF_Tensor* depth_filter(TF_DataType type, const depth_case_t* c, bool grouped) {
  const int64_t m = c->multiplier;
  const int64_t* k = c->w->k;
  TF_Tensor* t = grouped ? RUN_TENSOR(type, k[0], k[1], 1, c->channels * m) : RUN_TENSOR(type, k[0], k[1], c->channels, m);
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) run_put(t, i, (double)((i * 3 + i / 5) % 4) - 1);
  return t;
}

static TF_Tensor* depth_sizes(const depth_case_t* c, bool filter, bool grouped) {
  const int64_t m = c->multiplier, n = c->channels;
  const int64_t f[] = {c->w->k[0], c->w->k[1], grouped ? 1 : n, grouped ? n * m : m};
  const int64_t x[] = {c->batch, c->first ? n : c->in[0], c->first ? c->in[0] : c->in[1], c->first ? c->in[1] : n};
  return run_ints(TF_INT32, 4, filter ? f : x);
}

/* The op's result is that of the grouped one, which is freed. */
static void depth_same(run_op_t* got, TF_DataType type, run_op_t* want, const char* what) {
  static double numbers[200000];
  const int64_t count = want->count ? TF_TensorElementCount(want->out[0]) : 0;
  HR_CHECK(count > 0 && count <= 200000);
  for (int64_t i = 0; i < count; ++i) numbers[i] = run_number(want->out[0], i);
  run_check(got, 0, type, count, numbers, 0, what);
  run_free(got);
  run_free(want);
}

static void depth_check(depth_case_t* c, TF_DataType type) {
  const depth_window_t* w = c->w;
  const char *format = c->first ? "NCHW" : "NHWC", *lists = c->first ? "[1,1,%d,%d]" : "[1,%d,%d,1]";
  char strides[40], dilations[40];
  snprintf(strides, sizeof strides, lists, (int)w->stride[0], (int)w->stride[1]);
  snprintf(dilations, sizeof dilations, lists, (int)w->dilation[0], (int)w->dilation[1]);
  snprintf(c->attrs, sizeof c->attrs, "strides=%s; dilations=%s; padding='%s'; data_format='%s'", strides, dilations, w->padding, format);
  run_op_t want = RUN_OP("Conv2D", c->attrs, depth_image(TF_DOUBLE, c, c->in, c->channels, 0), depth_filter(TF_DOUBLE, c, true));
  if (!want.count) return;
  const int64_t out[2] = {TF_Dim(want.out[0], 1 + c->first), TF_Dim(want.out[0], 2 + c->first)}, depth = c->channels * c->multiplier;
  run_op_t got = RUN_OP("DepthwiseConv2dNative", c->attrs, depth_image(type, c, c->in, c->channels, 0), depth_filter(type, c, false));
  depth_same(&got, type, &want, c->attrs);
  want = RUN_OP("Conv2DBackpropInput", c->attrs, depth_sizes(c, false, true), depth_filter(TF_DOUBLE, c, true),
                depth_image(TF_DOUBLE, c, out, depth, 1));
  got = RUN_OP("DepthwiseConv2dNativeBackpropInput", c->attrs, depth_sizes(c, false, false), depth_filter(type, c, false),
               depth_image(type, c, out, depth, 1));
  depth_same(&got, type, &want, c->attrs);
  want = RUN_OP("Conv2DBackpropFilter", c->attrs, depth_image(TF_DOUBLE, c, c->in, c->channels, 0), depth_sizes(c, true, true),
                depth_image(TF_DOUBLE, c, out, depth, 1));
  got = RUN_OP("DepthwiseConv2dNativeBackpropFilter", c->attrs, depth_image(type, c, c->in, c->channels, 0), depth_sizes(c, true, false),
               depth_image(type, c, out, depth, 1));
  depth_same(&got, type, &want, c->attrs);
}

static void depth_all(void) {
  static const depth_window_t windows[] = {
      {{3, 3}, {1, 1}, {1, 1}, "SAME"}, {{3, 2}, {2, 2}, {1, 1}, "VALID"}, {{2, 3}, {1, 2}, {2, 1}, "SAME"},
      {{3, 3}, {4, 6}, {2, 3}, "SAME"}, {{1, 1}, {3, 2}, {1, 1}, "SAME"},
      {{2, 2}, {3, 2}, {3, 4}, "VALID"}, {{7, 9}, {2, 1}, {1, 1}, "SAME"}};
  static const int64_t shapes[][2] = {{1, 1}, {3, 1}, {16, 1}, {33, 1}, {65, 1}, {130, 1}, {2, 3}, {5, 2}, {70, 2}, {3, 17}};
  for (size_t w = 0; w < sizeof windows / sizeof *windows; ++w)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
      depth_case_t c = {.batch = 2, .in = {7, 6}, .channels = shapes[s][0], .multiplier = shapes[s][1], .w = &windows[w]};
      depth_check(&c, TF_FLOAT);
      c.first = true;
      depth_check(&c, s % 3 == 0 ? TF_HALF : s % 3 == 1 ? TF_DOUBLE : TF_FLOAT);
    }
}
HR_TEST(depthwise_is_conv2d_in_groups) { each_machine(depth_all); }
HR_TEST_MAIN()
