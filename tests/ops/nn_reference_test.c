/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, batch norm and biases against plain loops: windows at every border, channels around the widths of vectors and blocks, every
 * format, one thread and two, every instruction set. */
#include <math.h>
#include "base/isa.h"
#include "base/pool.h"
#include "ops/run_op.h"

enum { MOST = 60000, AXES = 3 };
static double numbers[4][MOST], wanted[4][MOST];

typedef struct { /* an image of up to three axes; the rest is 1 */
  int64_t batch, channels, in[AXES];
} image_t;
typedef struct {
  int64_t size[AXES], stride[AXES];
  bool same;
} pooling_t;

static int64_t before_of(const image_t* im, const pooling_t* p, int a, int64_t* outputs) {
  if (!p->same) return *outputs = (im->in[a] - p->size[a]) / p->stride[a] + 1, 0;
  *outputs = (im->in[a] + p->stride[a] - 1) / p->stride[a];
  const int64_t missing = (*outputs - 1) * p->stride[a] + p->size[a] - im->in[a];
  return missing > 0 ? missing / 2 : 0;
}

static int64_t place(bool first, const image_t* im, const int64_t* size, int64_t b, int64_t c, const int64_t at[AXES]) {
  const int64_t cell = (at[0] * size[1] + at[1]) * size[2] + at[2], cells = size[0] * size[1] * size[2];
  return first ? (b * im->channels + c) * cells + cell : (b * cells + cell) * im->channels + c;
}

typedef struct {
  const image_t* im;
  int64_t out[AXES], before[AXES];
  bool first; /* channels */
} walk_t;

/* The taps of one window inside the image, in order. */
static int64_t taps_of(const walk_t* w, const pooling_t* p, int64_t b, int64_t c, const int64_t at[AXES], int64_t* taps) {
  int64_t n = 0, t[AXES], start[AXES];
  for (int a = 0; a < AXES; ++a) start[a] = at[a] * p->stride[a] - w->before[a];
  for (t[0] = start[0]; t[0] < start[0] + p->size[0]; ++t[0])
    for (t[1] = start[1]; t[1] < start[1] + p->size[1]; ++t[1])
      for (t[2] = start[2]; t[2] < start[2] + p->size[2]; ++t[2]) {
        bool inside = true;
        for (int a = 0; a < AXES; ++a) inside = inside && t[a] >= 0 && t[a] < w->im->in[a];
        if (inside) taps[n++] = place(w->first, w->im, w->im->in, b, c, t);
      }
  return n;
}

/* numbers: [0] the image, [1] a gradient of the outputs, [2] one of the image. wanted: [0] maxima, [1] their gradient, [2] what of [2]
 * stands at the maxima, [3] where they are; `mean`: [0] means, [1] their gradient. The first of equal maxima has the gradient, of volumes
 * (`every`) each has all of it. */
static void pool_plainly(const walk_t* w, const pooling_t* p, bool mean, bool every) {
  int64_t at[AXES], taps[200];
  memset(wanted[1], 0, sizeof wanted[1]);
  for (int64_t b = 0; b < w->im->batch; ++b)
    for (int64_t c = 0; c < w->im->channels; ++c)
      for (at[0] = 0; at[0] < w->out[0]; ++at[0])
        for (at[1] = 0; at[1] < w->out[1]; ++at[1])
          for (at[2] = 0; at[2] < w->out[2]; ++at[2]) {
            const int64_t n = taps_of(w, p, b, c, at, taps), out = place(w->first, w->im, w->out, b, c, at);
            int64_t best = taps[0];
            double sum = 0;
            for (int64_t i = 0; i < n; ++i) {
              sum += numbers[0][taps[i]];
              if (numbers[0][taps[i]] > numbers[0][best]) best = taps[i];
              if (mean) wanted[1][taps[i]] += numbers[1][out] / (double)n;
            }
            wanted[0][out] = mean ? sum / (double)n : numbers[0][best];
            if (mean) continue;
            for (int64_t i = 0; i < n; ++i)
              if (every ? numbers[0][taps[i]] == numbers[0][best] : taps[i] == best) wanted[1][taps[i]] += numbers[1][out];
            wanted[2][out] = numbers[2][best];
            wanted[3][out] = (double)(best - b * w->im->in[0] * w->im->in[1] * w->im->in[2] * w->im->channels);
          }
}

static TF_Tensor* image_tensor(TF_DataType type, bool first, const image_t* im, const int64_t size[AXES], bool flat, const double* from) {
  int64_t dims[7] = {im->batch}, count = im->batch * im->channels;
  int n = 1;
  if (first) dims[n++] = im->channels;
  for (int a = flat; a < AXES; ++a) dims[n++] = size[a];
  if (!first) dims[n++] = im->channels;
  dims[n] = -1;
  for (int a = 0; a < AXES; ++a) count *= size[a];
  TF_Tensor* t = run_tensor(type, dims);
  for (int64_t i = 0; i < count; ++i) run_put(t, i, from[i]);
  return t;
}

static int64_t cells_of(const image_t* im, const int64_t size[AXES]) { return im->batch * im->channels * size[0] * size[1] * size[2]; }

typedef struct {
  walk_t w;
  char attrs[200];
  bool flat; /* two axes */
} pool_case_t;

static pool_case_t pool_case(const image_t* im, const pooling_t* p, bool first, bool flat) {
  pool_case_t c = {.w = {.im = im, .first = first}, .flat = flat};
  char lists[2][60] = {"", ""};
  for (int a = 0; a < AXES; ++a) c.w.before[a] = before_of(im, p, a, &c.w.out[a]);
  for (int list = 0; list < 2; ++list) {
    const int64_t* v = list ? p->stride : p->size;
    int used = snprintf(lists[list], 60, "[1%s", first ? ",1" : "");
    for (int a = flat; a < AXES; ++a) used += snprintf(lists[list] + used, (size_t)(60 - used), ",%d", (int)v[a]);
    snprintf(lists[list] + used, (size_t)(60 - used), "%s]", first ? "" : ",1");
  }
  snprintf(c.attrs, sizeof c.attrs, "ksize=%s; strides=%s; padding='%s'; data_format='%s'", lists[0], lists[1], p->same ? "SAME" : "VALID",
           flat ? (first ? "NCHW" : "NHWC") : first ? "NCDHW" : "NDHWC");
  return c;
}

/* To a part of the largest number, as sums cancel. */
static void near_check(const run_op_t* r, int o, int64_t count, const double* want, double tolerance, const char* what) {
  double most = 1, worst = 0;
  for (int64_t i = 0; i < count && o < r->count; ++i) {
    most = fmax(most, fabs(want[i]));
    worst = fmax(worst, fabs(run_number(r->out[o], i) - want[i]));
  }
  if (o < r->count && !(TF_TensorElementCount(r->out[o]) == count && worst <= tolerance * most))
    hr_test_fail(__FILE__, __LINE__, "%s: output %d differs by %g of %g", what, o, worst, most);
}

#define IMAGE(type, size, which) image_tensor(type, first, im, size, flat, numbers[which])
static void check_pool(const image_t* im, const pooling_t* p, bool first, bool flat, TF_DataType type) {
  const pool_case_t c = pool_case(im, p, first, flat);
  const int64_t in = cells_of(im, im->in), out = cells_of(im, c.w.out);
  const double close = type == TF_HALF ? 2e-3 : 3e-7;
  pool_plainly(&c.w, p, false, !flat);
  run_op_t got = RUN_OP(flat ? "MaxPool" : "MaxPool3D", c.attrs, IMAGE(type, im->in, 0));
  run_check(&got, 0, type, out, wanted[0], 0, c.attrs);
  run_free(&got);
  memcpy(numbers[3], wanted[0], sizeof wanted[0]);
  got = RUN_OP(flat ? "MaxPoolGrad" : "MaxPool3DGrad", c.attrs, IMAGE(type, im->in, 0), IMAGE(type, c.w.out, 3), IMAGE(type, c.w.out, 1));
  run_check(&got, 0, type, in, wanted[1], 0, c.attrs);
  run_free(&got);
  got = RUN_OP(flat ? "MaxPoolGradGrad" : "MaxPool3DGradGrad", c.attrs, IMAGE(type, im->in, 0), IMAGE(type, c.w.out, 3),
               IMAGE(type, im->in, 2));
  run_check(&got, 0, type, out, wanted[2], 0, c.attrs);
  run_free(&got);
  if (type == TF_INT32) return;
  pool_plainly(&c.w, p, true, false);
  got = RUN_OP(flat ? "AvgPool" : "AvgPool3D", c.attrs, IMAGE(type, im->in, 0));
  near_check(&got, 0, out, wanted[0], close, c.attrs);
  run_free(&got);
  const int64_t d = im->channels, *s = im->in;
  const int64_t sizes[2][5] = {{im->batch, first ? d : s[1], first ? s[1] : s[2], first ? s[2] : d},
                               {im->batch, first ? d : s[0], first ? s[0] : s[1], first ? s[1] : s[2], first ? s[2] : d}};
  got = RUN_OP(flat ? "AvgPoolGrad" : "AvgPool3DGrad", c.attrs, run_ints(TF_INT32, flat ? 4 : 5, sizes[!flat]), IMAGE(type, c.w.out, 1));
  near_check(&got, 0, in, wanted[1], 4 * close, c.attrs);
  run_free(&got);
}

static void check_argmax(const image_t* im, const pooling_t* p, TF_DataType type) {
  const bool first = false, flat = true;
  pool_case_t c = pool_case(im, p, first, flat);
  const int64_t in = cells_of(im, im->in), out = cells_of(im, c.w.out);
  *strstr(c.attrs, "; data_format") = 0;
  pool_plainly(&c.w, p, false, false);
  run_op_t got = RUN_OP("MaxPoolWithArgmax", c.attrs, IMAGE(type, im->in, 0));
  run_check(&got, 0, type, out, wanted[0], 0, c.attrs);
  run_check(&got, 1, TF_INT64, out, wanted[3], 0, c.attrs);
  run_free(&got);
  TF_Tensor* places = image_tensor(TF_INT64, first, im, c.w.out, flat, wanted[3]);
  got = RUN_OP("MaxPoolGradWithArgmax", c.attrs, IMAGE(type, im->in, 0), IMAGE(type, c.w.out, 1), places);
  run_check(&got, 0, type, in, wanted[1], 0, c.attrs);
  run_free(&got);
  places = image_tensor(TF_INT32, first, im, c.w.out, flat, wanted[3]);
  got = RUN_OP("MaxPoolGradGradWithArgmax", c.attrs, IMAGE(type, im->in, 0), IMAGE(type, im->in, 2), places);
  run_check(&got, 0, type, out, wanted[2], 0, c.attrs);
  run_free(&got);
}

static void fill_numbers(void) {
  for (int64_t i = 0; i < MOST; ++i)
    for (int w = 0; w < 3; ++w) numbers[w][i] = (double)((i * (w ? 5 + w : 7) + i / 13) % 23) - (w ? 6 : 4); /* equal ones too */
}

static void check_pools(void) {
  static const int channels[] = {1, 3, 8, 15, 16, 17, 33, 64, 65, 81};
  static const pooling_t windows[] = {{{1, 2, 2}, {1, 2, 2}, false}, {{1, 3, 2}, {1, 2, 1}, true},  {{1, 2, 3}, {1, 1, 3}, false},
                                      {{1, 5, 5}, {1, 3, 2}, true},  {{1, 1, 1}, {1, 2, 2}, false}, {{1, 1, 2}, {1, 3, 3}, true}};
  fill_numbers();
  for (size_t c = 0; c < sizeof channels / sizeof *channels; ++c)
    for (size_t w = 0; w < sizeof windows / sizeof *windows; ++w) {
      const image_t im = {2, channels[c], {1, 6, 5 + (int)(w % 2)}};
      check_pool(&im, &windows[w], w == 3 && c < 4, true, TF_FLOAT);
      check_pool(&im, &windows[w], false, true, c % 2 ? TF_HALF : TF_DOUBLE);
      check_pool(&im, &windows[w], false, true, TF_INT32);
      check_argmax(&im, &windows[w], c % 2 ? TF_FLOAT : TF_DOUBLE);
    }
}
HR_TEST(pooling_of_images) { each_machine(check_pools); }

HR_TEST(pooling_of_volumes) {
  static const pooling_t windows[] = {
      {{2, 2, 2}, {2, 2, 2}, false}, {{2, 3, 2}, {1, 2, 1}, true}, {{3, 1, 5}, {2, 1, 3}, true}, {{5, 5, 5}, {1, 1, 1}, true}};
  fill_numbers();
  for (size_t w = 0; w < sizeof windows / sizeof *windows; ++w)
    for (int first = 0; first < 2; ++first) {
      const image_t im = {2, 3, {4, 6, 5}};
      check_pool(&im, &windows[w], first, false, TF_FLOAT);
    }
}

/* --- batch norm ---------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  double mean, variance, scale, offset, d_scale, d_offset;
} channel_t;

/* Where number i of a channel stands. */
static int64_t norm_place(const image_t* im, bool first, int64_t c, int64_t i) {
  const int64_t cells = im->in[0] * im->in[1] * im->in[2];
  return first ? (i / cells * im->channels + c) * cells + i % cells : i * im->channels + c;
}

/* numbers: [0] x, [1] dy; wanted: [0] y, [1] dx. Means and variances are of the batch, or given. */
static void norm_plainly(const image_t* im, bool first, bool training, double epsilon, channel_t* channels) {
  const int64_t n = im->batch * im->in[0] * im->in[1] * im->in[2];
  for (int64_t c = 0; c < im->channels; ++c) {
    channel_t* ch = &channels[c];
    double sum = 0, square = 0, dy_sum = 0, dy_z = 0;
    for (int64_t i = 0; i < n; ++i) sum += numbers[0][norm_place(im, first, c, i)];
    for (int64_t i = 0; i < n; ++i) {
      const double z = numbers[0][norm_place(im, first, c, i)] - sum / (double)n;
      square += z * z;
    }
    if (training) ch->mean = sum / (double)n, ch->variance = square / (double)n;
    const double r = 1 / sqrt(ch->variance + epsilon);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = norm_place(im, first, c, i);
      dy_sum += numbers[1][at];
      dy_z += numbers[1][at] * (numbers[0][at] - ch->mean);
      wanted[0][at] = (numbers[0][at] - ch->mean) * r * ch->scale + ch->offset;
    }
    ch->d_scale = dy_z * r;
    ch->d_offset = dy_sum;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = norm_place(im, first, c, i);
      const double mean_dy = training ? dy_sum / (double)n : 0, mean_dy_z = training ? dy_z / (double)n : 0;
      wanted[1][at] = ch->scale * r * (numbers[1][at] - mean_dy - (numbers[0][at] - ch->mean) * r * r * mean_dy_z);
    }
  }
}

enum { NORM_MOST = 200, MEAN, VARIANCE, SCALE, OFFSET, D_SCALE, D_OFFSET };
static double field_of(const channel_t* c, int field) {
  return field == MEAN ? c->mean : field == VARIANCE ? c->variance : field == SCALE ? c->scale : field == OFFSET ? c->offset :
         field == D_SCALE ? c->d_scale : c->d_offset;
}
static TF_Tensor* channel_tensor(const channel_t* c, int64_t count, int field) {
  TF_Tensor* t = RUN_TENSOR(TF_FLOAT, count);
  for (int64_t i = 0; i < count; ++i) run_put(t, i, field_of(&c[i], field));
  return t;
}

static void near_fields(const run_op_t* r, int o, const channel_t* c, int64_t count, int field, double times, const char* what) {
  double want[NORM_MOST];
  for (int64_t i = 0; i < count; ++i) want[i] = field_of(&c[i], field) * times;
  near_check(r, o, count, want, 1e-5, what);
}

static void check_norm(const image_t* im, bool first, bool flat, bool training) {
  channel_t c[NORM_MOST], given[NORM_MOST];
  char attrs[120];
  const int64_t n = im->channels, count = cells_of(im, im->in), each = count / n;
  for (int64_t i = 0; i < n; ++i)
    c[i] = given[i] = (channel_t){.mean = 1 + (double)(i % 3),
                                  .variance = 2 + (double)(i % 5),
                                  .scale = 1 + (double)(i % 4) / 4,
                                  .offset = (double)(i % 7) - 3};
  snprintf(attrs, sizeof attrs, "epsilon=0.25; is_training=%s; data_format='%s'", training ? "true" : "false",
           flat ? (first ? "NCHW" : "NHWC") : first ? "NCDHW" : "NDHWC");
  norm_plainly(im, first, training, 0.25, c);
  run_op_t got = RUN_OP("FusedBatchNormV3", attrs, IMAGE(TF_FLOAT, im->in, 0), channel_tensor(c, n, SCALE), channel_tensor(c, n, OFFSET),
                        channel_tensor(given, n, MEAN), channel_tensor(given, n, VARIANCE));
  near_check(&got, 0, count, wanted[0], 3e-6, attrs);
  near_fields(&got, 1, c, n, MEAN, 1, attrs);
  near_fields(&got, 2, c, n, VARIANCE, training && each > 1 ? (double)each / (double)(each - 1) : 1, attrs);
  if (training) near_fields(&got, 3, c, n, MEAN, 1, attrs), near_fields(&got, 4, c, n, VARIANCE, 1, attrs);
  run_free(&got);
  got = RUN_OP("FusedBatchNormGradV3", attrs, IMAGE(TF_FLOAT, im->in, 1), IMAGE(TF_FLOAT, im->in, 0), channel_tensor(c, n, SCALE),
               channel_tensor(c, n, MEAN), channel_tensor(c, n, VARIANCE), channel_tensor(c, n, MEAN));
  near_check(&got, 0, count, wanted[1], 3e-6, attrs);
  near_fields(&got, 1, c, n, D_SCALE, 1, attrs);
  near_fields(&got, 2, c, n, D_OFFSET, 1, attrs);
  run_free(&got);
}

static void check_norms(void) {
  static const int channels[] = {1, 2, 3, 4, 5, 15, 16, 17, 32, 48, 63, 64, 65, 80, 128, 145};
  fill_numbers();
  for (size_t c = 0; c < sizeof channels / sizeof *channels; ++c)
    for (int form = 0; form < 6; ++form) {
      const image_t images[] = {{2, channels[c], {1, 3, 3}}, {1, channels[c], {1, 1, 1}}, {3, channels[c], {1, 9, 5}},
                                {2, channels[c], {2, 3, 4}}, {33, channels[c], {1, 2, 1}}, {65, channels[c], {1, 1, 2}}};
      const bool flat = form != 3;
      for (int first = 0; first < 2; ++first) check_norm(&images[form], first, flat, true), check_norm(&images[form], first, flat, false);
    }
}
HR_TEST(batch_norm_and_its_gradient) { each_machine(check_norms); }

/* --- biases -------------------------------------------------------------------------------------------------------------------------- */

static void check_bias(const image_t* im, bool first, bool flat, TF_DataType type) {
  const int64_t count = cells_of(im, im->in), cells = im->in[0] * im->in[1] * im->in[2];
  const int parts = type == TF_COMPLEX64 ? 2 : 1;
  TF_Tensor* bias = RUN_TENSOR(type, im->channels);
  const char* attrs = first ? "data_format='NCHW'" : "data_format='NHWC'";
  memset(wanted[1], 0, sizeof wanted[1]);
  for (int64_t i = 0; i < im->channels * parts; ++i) run_put(bias, i, (double)(i % 5));
  for (int64_t i = 0; i < count; ++i)
    for (int part = 0; part < parts; ++part) {
      const int64_t c = (first ? i / cells % im->channels : i % im->channels) * parts + part;
      numbers[3][i * parts + part] = (double)((i * 3 + part) % 4);
      wanted[0][i * parts + part] = numbers[3][i * parts + part] + (double)(c % 5);
      wanted[1][c] += numbers[3][i * parts + part];
    }
  for (int64_t c = 0; c < im->channels && type == TF_UINT8; ++c) wanted[1][c] = fmod(wanted[1][c], 256);
  TF_Tensor* x[2];
  for (int k = 0; k < 2; ++k) {
    x[k] = image_tensor(type, first, im, im->in, flat, numbers[3]);
    for (int64_t i = 0; i < count * parts; ++i) run_put(x[k], i, numbers[3][i]);
  }
  run_op_t got = RUN_OP("BiasAdd", attrs, x[0], bias);
  run_check(&got, 0, type, count * parts, wanted[0], 0, "BiasAdd");
  run_free(&got);
  got = RUN_OP("BiasAddGrad", attrs, x[1]);
  run_check(&got, 0, type, im->channels * parts, wanted[1], type == TF_BFLOAT16 ? 4e-3 : 0, "BiasAddGrad");
  run_free(&got);
}

static void check_biases(void) {
  static const TF_DataType types[] = {TF_FLOAT, TF_DOUBLE, TF_HALF, TF_BFLOAT16, TF_UINT8, TF_INT16, TF_INT32, TF_INT64, TF_COMPLEX64};
  for (int t = 0; t < 9; ++t)
    for (int form = 0; form < 8; ++form) {
      const image_t images[] = {{1, 1, {1, 1, 1}},  {2, 3, {1, 3, 7}},   {70, 5, {1, 1, 1}}, {13, 32, {1, 1, 5}},
                                {13, 33, {1, 1, 5}}, {3, 2, {1, 4, 17}}, {63, 1, {1, 1, 1}}, {129, 3, {1, 1, 16}}};
      for (int first = 0; first < 2; ++first) check_bias(&images[form], first, true, types[t]);
    }
}
HR_TEST(biases_and_their_gradients) { each_machine(check_biases); }

static TF_Tensor* float_tensor(int64_t width, double first) { /* first, 1, 2, ... */
  TF_Tensor* t = width ? RUN_TENSOR(TF_FLOAT, 1, 1, width, 1) : RUN_TENSOR(TF_FLOAT, 1);
  for (int64_t i = 0; i < (width ? width : 1); ++i) run_put(t, i, i ? (double)i : first);
  return t;
}

/* The sums begin at the first value; they must not when it is infinite. */
HR_TEST(the_mean_of_an_infinite_value) {
  for (int sign = -1; sign <= 1; sign += 2) {
    run_op_t got = RUN_OP("FusedBatchNormV3", "", float_tensor(3, sign * INFINITY), float_tensor(0, 1), float_tensor(0, 0),
                          RUN_TENSOR(TF_FLOAT, 0), RUN_TENSOR(TF_FLOAT, 0));
    run_check(&got, 1, TF_FLOAT, 1, (const double[]){sign * INFINITY}, 0, "mean");
    run_free(&got);
  }
}

HR_TEST_MAIN()
