/* SPDX-License-Identifier: Apache-2.0 */
/* DepthwiseConv2dNative: each channel of images [batch, h, w, in] has m filters of its own, [k_h, k_w, in, m]:
 *
 *   out[b, y, x, c m + i] = sum over j, l of in[b, y stride_h + j dilation_h - pad, x stride_w + l dilation_w - pad, c] filter[j, l, c, i]
 *
 * and its two gradients. In memory this is Conv2D with a filter [k_h, k_w, 1, in m] in `in` groups, whose geometry serves here too. Unlike
 * TensorFlow's, the kernels know NCHW (through a copy in the other order), dilations and strides that differ, in the gradients too. */
#include <string.h>
#include "base/alloc.h"
#include "ops/array/move.h"
#include "ops/math/matmul/epilogue.h"
#include "ops/nn/conv2d/conv2d.h"
#include "ops/nn/conv2d/depthwise.h"
#include "ops/nn/conv2d/gradients.h"

extern const hr_op_t hr_op_DepthwiseConv2dNative, hr_op_DepthwiseConv2dNativeBackpropInput, hr_op_DepthwiseConv2dNativeBackpropFilter;

/* 1. shapes */
static hr_status_t read_window(const hr_node_attrs_t* attrs, hr_window_t* w) {
  HR_TRY(hr_window_read(attrs, 4, HR_WINDOW_FILTER, w));
  HR_TRY(hr_window_refuse_surplus(attrs));
  return hr_window_check_reach(w);
}

static hr_status_t check_depths(int64_t in, int64_t filter_in) {
  if (in < 0 || filter_in < 0 || in == filter_in) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "input and filter must have the same depth: %lld vs %lld", (long long)in, (long long)filter_in);
}

static hr_status_t out_depth(int64_t in, int64_t multiplier, int64_t* out) {
  *out = -1;
  if (in < 0 || multiplier < 0 || hr_i64_mul(in, multiplier, out)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "a depth of %lld times %lld is more than can be counted", (long long)in, (long long)multiplier);
}

static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *data, *filter;
  hr_window_t w;
  int64_t before, after, out[4];
  HR_TRY(read_window(hr_infer_attrs(s), &w));
  HR_TRY(hr_infer_want_rank(s, 0, 4, &data));
  HR_TRY(hr_infer_want_rank(s, 1, 4, &filter));
  const int c = hr_window_axis(&w, 3);
  const int64_t data_depth = hr_infer_dim(data, c), depth = data_depth < 0 ? hr_infer_dim(filter, 2) : data_depth;
  HR_TRY(check_depths(data_depth, hr_infer_dim(filter, 2)));
  HR_TRY(out_depth(depth, hr_infer_dim(filter, 3), &out[c]));
  out[0] = hr_infer_dim(data, 0);
  for (int i = 1; i <= 2; ++i) {
    const int axis = hr_window_axis(&w, i);
    w.size[i] = hr_infer_dim(filter, i - 1);
    HR_TRY(hr_window_fit(&w, i, hr_infer_dim(data, axis), true, &before, &after, &out[axis]));
  }
  return hr_infer_set_dims(s, 0, 4, out);
}

/* Of a gradient: as the value of the input `sizes` says. */
static hr_status_t infer_sizes(hr_infer_t* s, int sizes) {
  const hr_pshape_t* shape;
  hr_window_t w;
  HR_TRY(read_window(hr_infer_attrs(s), &w));
  HR_TRY(hr_infer_want_rank(s, sizes, 1, NULL));
  HR_TRY(hr_infer_const_as_shape(s, sizes, &shape));
  if (shape->rank < 0) return hr_infer_set_dims(s, 0, 4, (const int64_t[]){-1, -1, -1, -1});
  if (shape->rank != 4) return HR_ERROR(INVALID_ARGUMENT, "the sizes have %d elements; 4 are wanted", (int)shape->rank);
  hr_infer_set(s, 0, shape);
  return NULL;
}
static hr_status_t infer_input(hr_infer_t* s) { return infer_sizes(s, 0); }
static hr_status_t infer_filter(hr_infer_t* s) { return infer_sizes(s, 1); }

/* 2. geometry */
typedef struct {
  hr_window_t window;
} depthwise_t;

static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) { return read_window(p->attrs, &((depthwise_t*)prepared)->window); }

static hr_status_t geometry(const hr_window_t* w, const hr_shape_t* data, const hr_shape_t* filter, hr_dnn_conv_t* out) {
  hr_shape_t grouped = *filter;
  if (data->rank == 4 && filter->rank == 4) {
    HR_TRY(check_depths(data->dims[hr_window_axis(w, 3)], filter->dims[2]));
    HR_TRY(out_depth(filter->dims[2], filter->dims[3], &grouped.dims[3]));
    grouped.dims[2] = 1;
  }
  return hr_conv2d_geometry(w, data, &grouped, out);
}

/* Along one axis, the pairs of places that meet at a place of the third tensor: where they begin in both, the steps, how many. */
typedef struct {
  int64_t in, out, size, stride, dilation, pad;
  int64_t tap_step, out_step; /* between taps that meet one input place where the stride jumps over others, and between their outputs */
} axis_t;
typedef struct {
  int64_t a, a_step, b, b_step, count; /* count may be negative: none */
} span_t;
typedef span_t (*walk_fn)(const axis_t* x, int64_t place);

static int64_t least(int64_t behind, int64_t step) { /* steps until 0 is reached */
  return behind >= 0 ? 0 : step == 1 ? -behind : (step - 1 - behind) / step;
}
static int64_t most(int64_t ahead, int64_t step) { /* steps until `ahead` is passed */
  return ahead < 0 ? 0 : step == 1 ? ahead + 1 : ahead / step + 1;
}
static int64_t between(int64_t first, int64_t end, int64_t limit) { return (end < limit ? end : limit) - first; }

static span_t walk_out(const axis_t* x, int64_t out) { /* input, filter */
  const int64_t base = out * x->stride - x->pad, first = least(base, x->dilation);
  return (span_t){base + first * x->dilation, x->dilation, first, 1, between(first, most(x->in - 1 - base, x->dilation), x->size)};
}

static span_t walk_filter(const axis_t* x, int64_t tap) { /* input, output */
  const int64_t base = tap * x->dilation - x->pad, first = least(base, x->stride);
  return (span_t){base + first * x->stride, x->stride, first, 1, between(first, most(x->in - 1 - base, x->stride), x->out)};
}

static span_t walk_in(const axis_t* x, int64_t in) { /* output, filter */
  const int64_t place = in + x->pad;
  int64_t tap = least((x->out - 1) * x->stride - place, x->dilation), left = place - tap * x->dilation;
  for (int64_t i = 1; i < x->tap_step && tap < x->size && left % x->stride != 0; ++i, left -= x->dilation) ++tap;
  if (tap >= x->size || left < 0 || left % x->stride != 0) return (span_t){.count = 0};
  const int64_t out = left / x->stride;
  return (span_t){out, -x->out_step, tap, x->tap_step, between(0, most(out, x->out_step), most(x->size - 1 - tap, x->tap_step))};
}

static axis_t axis_of(const hr_dnn_conv_t* d, bool y) {
  axis_t x = y ? (axis_t){d->in_h, d->out_h, d->k_h, d->stride_h, d->dilation_h, d->pad_top, 1, 1}
               : (axis_t){d->in_w, d->out_w, d->k_w, d->stride_w, d->dilation_w, d->pad_left, 1, 1};
  int64_t a = x.stride, b = x.dilation;
  while (b) { /* Euclid */
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  x.tap_step = x.stride / a;
  x.out_step = x.dilation / a;
  return x;
}

/* 3. sums: operands in the computing type, channels last */
typedef struct {
  int64_t image, row, place; /* elements; a filter has no images */
} steps_t;
typedef struct {
  const hr_depthwise_rows_t* rows;
  walk_fn walk;
  axis_t y, x;
  int64_t batch, channels, multiplier, size;
  const char *a, *b;
  char *to, *part; /* part: a filter's scratch, of its size */
  steps_t a_steps, b_steps;
  int64_t to_rows, to_columns, to_place, parts;
} job_t;

static hr_depthwise_taps_t taps_of(const job_t* j, int64_t image, const span_t* y, const span_t* x) {
  const steps_t *a = &j->a_steps, *b = &j->b_steps;
  if (y->count <= 0 || x->count <= 0) return (hr_depthwise_taps_t){.rows = 0};
  return (hr_depthwise_taps_t){.a = j->a + (image * a->image + y->a * a->row + x->a * a->place) * j->size,
                               .b = j->b + (image * b->image + y->b * b->row + x->b * b->place) * j->size,
                               .rows = y->count,
                               .a_row = y->a_step * a->row,
                               .b_row = y->b_step * b->row,
                               .columns = x->count,
                               .a_column = x->a_step * a->place,
                               .b_column = x->b_step * b->place};
}

static hr_status_t image_rows(void* arg, int64_t begin, int64_t end, int chunk) { /* rows of all images that are written */
  (void)chunk;
  const job_t* j = arg;
  const bool back = j->walk == walk_in;
  for (int64_t i = begin; i < end; ++i) {
    const span_t y = j->walk(&j->y, i % j->to_rows);
    for (int64_t column = 0; column < j->to_columns; ++column) {
      const span_t x = j->walk(&j->x, column);
      const hr_depthwise_taps_t t = taps_of(j, i / j->to_rows, &y, &x);
      (back ? j->rows->fold : j->rows->spread)(&t, j->to_place, j->multiplier,
                                               j->to + (i * j->to_columns + column) * j->to_place * j->size);
    }
  }
  return NULL;
}

enum { FILTER_CHANNELS = 64 }; /* of the input, that one item of work takes */

/* Rows of images are summed apart and then together: many thousands of terms one by one would lose digits. */
static void filter_part(const job_t* j, int64_t tap, int64_t channel) {
  const int64_t channels = between(channel, channel + FILTER_CHANNELS, j->channels), n = channels * j->multiplier;
  const int64_t first = channel * j->multiplier, at = (tap * j->to_place + first) * j->size;
  const span_t x = j->walk(&j->x, tap % j->to_columns), rows = j->walk(&j->y, tap / j->to_columns);
  memset(j->to + at, 0, (size_t)(n * j->size));
  for (int64_t image = 0; image < j->batch; ++image)
    for (int64_t row = 0; row < rows.count; ++row) {
      const span_t y = {rows.a + row * rows.a_step, 0, rows.b + row, 0, 1};
      hr_depthwise_taps_t t = taps_of(j, image, &y, &x);
      if (!t.rows) return;
      t.a = (const char*)t.a + channel * j->size;
      t.b = (const char*)t.b + first * j->size;
      j->rows->spread(&t, n, j->multiplier, j->part + at);
      j->rows->add(j->part + at, n, j->to + at);
    }
}

static hr_status_t filter_parts(void* arg, int64_t begin, int64_t end, int chunk) { /* taps times parts of the channels */
  (void)chunk;
  const job_t* j = arg;
  for (int64_t i = begin; i < end; ++i) filter_part(j, i / j->parts, i % j->parts * FILTER_CHANNELS);
  return NULL;
}

static steps_t steps_of(int64_t rows, int64_t columns, int64_t place) {
  return (steps_t){rows * columns * place, columns * place, place};
}

/* What d's kind says, from a and b to c: as hr_dnn_t.run takes them, but channels last. */
static hr_status_t run(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, hr_dtype_t type, const void* a, const void* b, void* c) {
  const hr_depthwise_vec_t* vec = HR_ISA_PICK(hr_depthwise_vec);
  const steps_t in = steps_of(d->in_h, d->in_w, d->in_c), out = steps_of(d->out_h, d->out_w, d->out_c);
  const steps_t filter = {0, d->k_w * d->out_c, d->out_c};
  const double flop = type == HR_F64 ? 0.25 : 0.12, taps = (double)d->k_h * (double)d->k_w;
  const double pixels = (double)d->batch * (double)d->out_h * (double)d->out_w;
  job_t j = {.rows = type == HR_F64 ? &vec->f64 : &vec->f32,
             .y = axis_of(d, true), .x = axis_of(d, false),
             .batch = d->batch, .channels = d->in_c, .multiplier = d->in_c ? d->out_c / d->in_c : 1,
             .size = (int64_t)hr_dtype_size(type), .a = a, .b = b, .to = c};
  if (d->kind != HR_DNN_CONV_FILTER) {
    const bool back = d->kind == HR_DNN_CONV_DATA;
    j.walk = back ? walk_in : walk_out;
    j.a_steps = back ? out : in;
    j.b_steps = filter;
    j.to_rows = back ? d->in_h : d->out_h;
    j.to_columns = back ? d->in_w : d->out_w;
    j.to_place = back ? d->in_c : d->out_c;
    return hr_parallel(k, d->batch * j.to_rows, (double)j.to_columns * (20 + taps * (double)d->out_c * flop), image_rows, &j);
  }
  hr_tensor_t part;
  const hr_shape_t shape = hr_shape_matrix(d->k_h * d->k_w, d->out_c);
  j.walk = walk_filter;
  j.a_steps = in;
  j.b_steps = out;
  j.to_columns = d->k_w;
  j.to_place = d->out_c;
  j.parts = (d->in_c + FILTER_CHANNELS - 1) / FILTER_CHANNELS;
  HR_TRY(hr_temp(k, type, &shape, &part));
  j.part = part.data;
  hr_status_t status = hr_parallel(k, d->k_h * d->k_w * j.parts, 50 + pixels * (double)d->out_c / (double)j.parts * flop, filter_parts, &j);
  hr_tensor_release(&part);
  return status;
}

/* 4. kernels */
/* Images from channels first to last, or back. */
static hr_status_t reorder(hr_kernel_ctx_t* k, const hr_tensor_t* from, hr_tensor_t* to, bool to_last) {
  const int64_t* dims = from->shape.dims;
  const int64_t channels = to_last ? dims[1] : dims[3], places = to_last ? dims[2] * dims[3] : dims[1] * dims[2];
  hr_move_t m = {.rank = 0};
  HR_TRY(hr_move_axis(&m, dims[0], channels * places, channels * places));
  HR_TRY(hr_move_axis(&m, to_last ? places : channels, to_last ? channels : places, 1));
  HR_TRY(hr_move_axis(&m, to_last ? channels : places, 1, to_last ? places : channels));
  return hr_move_run(k, &m, to, from);
}

static hr_shape_t last_shape(const hr_shape_t* s, bool first) {
  hr_shape_t out = *s;
  if (!first) return out;
  for (int i = 1; i < 4; ++i) out.dims[i] = s->dims[i % 3 + 1];
  return out;
}

/* An operand as the sums want it; `first`: it has channels first. */
static hr_status_t open_operand(hr_kernel_ctx_t* k, const hr_tensor_t* t, bool first, hr_tensor_t* out) {
  hr_tensor_t wide = {0};
  const hr_shape_t shape = last_shape(&t->shape, first);
  hr_status_t status = NULL;
  *out = (hr_tensor_t){0};
  if (hr_dtype_in(t->dtype, HR_M(F16) | HR_M(BF16))) status = hr_epilogue_widen(k, t, &wide);
  else hr_tensor_share(t, &wide);
  if (!status && !first) {
    *out = wide;
    return NULL;
  }
  if (!status) status = hr_temp(k, wide.dtype, &shape, out);
  if (!status) status = reorder(k, &wide, out, true);
  hr_tensor_release(&wide);
  return status;
}

/* The result as it was asked for. */
static hr_status_t close_result(hr_kernel_ctx_t* k, const hr_tensor_t* from, bool first, hr_tensor_t* to) {
  hr_tensor_t narrow = {0};
  hr_status_t status;
  if (from->dtype == to->dtype) return reorder(k, from, to, false);
  if (!first) return hr_epilogue_narrow(k, from->data, to);
  status = hr_temp(k, to->dtype, &from->shape, &narrow);
  if (!status) status = hr_epilogue_narrow(k, from->data, &narrow);
  if (!status) status = reorder(k, &narrow, to, false);
  hr_tensor_release(&narrow);
  return status;
}

static hr_status_t compute(hr_kernel_ctx_t* k, const hr_dnn_conv_t* d, const hr_tensor_t* a, const hr_tensor_t* b, hr_tensor_t* c) {
  const bool b_first = d->nchw && d->kind == HR_DNN_CONV_FILTER, c_first = d->nchw && d->kind != HR_DNN_CONV_FILTER;
  const hr_dtype_t type = c->dtype == HR_F64 ? HR_F64 : HR_F32;
  const hr_shape_t shape = last_shape(&c->shape, c_first);
  hr_tensor_t wide_a = {0}, wide_b = {0}, result = {0};
  hr_status_t status = NULL;
  if (c->count == 0) return NULL;
  const bool direct = c->dtype == type && !c_first;
  if ((status = open_operand(k, a, d->nchw, &wide_a))) goto done;
  if ((status = open_operand(k, b, b_first, &wide_b))) goto done;
  if (!direct && (status = hr_temp(k, type, &shape, &result))) goto done;
  status = run(k, d, type, wide_a.data, wide_b.data, direct ? c->data : result.data);
  if (!status && !direct) status = close_result(k, &result, c_first, c);
done:
  hr_tensor_release(&wide_a);
  hr_tensor_release(&wide_b);
  hr_tensor_release(&result);
  return status;
}

static hr_status_t forward(hr_kernel_ctx_t* k) {
  const hr_tensor_t *data = hr_input(k, 0), *filter = hr_input(k, 1);
  hr_dnn_conv_t d;
  hr_tensor_t* y;
  HR_TRY(geometry(&((depthwise_t*)hr_prepared(k))->window, &data->shape, &filter->shape, &d));
  const hr_shape_t shape = hr_conv2d_shape(&d, true);
  HR_TRY(hr_shape_check(&shape));
  HR_TRY(hr_output(k, 0, &shape, &y));
  return compute(k, &d, data, filter, y);
}

/* The shape that input `sizes` says, four numbers. */
static hr_status_t read_sizes(hr_kernel_ctx_t* k, int sizes, const char* what, hr_shape_t* out) {
  HR_TRY(hr_want_vector(k, sizes, what));
  const hr_tensor_t* t = hr_input(k, sizes);
  if (t->count != 4) return HR_ERROR(INVALID_ARGUMENT, "%s has %lld values; 4 are wanted", what, (long long)t->count);
  return hr_tensor_to_shape(t, out);
}

static hr_status_t input_gradient(hr_kernel_ctx_t* k) {
  const hr_tensor_t *filter = hr_input(k, 1), *dy = hr_input(k, 2);
  hr_shape_t shape;
  hr_dnn_conv_t d;
  hr_tensor_t* dx;
  HR_TRY(read_sizes(k, 0, "input_sizes", &shape));
  HR_TRY(geometry(&((depthwise_t*)hr_prepared(k))->window, &shape, &filter->shape, &d));
  HR_TRY(hr_conv2d_check_out(&d, &dy->shape));
  d.kind = HR_DNN_CONV_DATA;
  HR_TRY(hr_output(k, 0, &shape, &dx));
  return compute(k, &d, dy, filter, dx);
}

static hr_status_t filter_gradient(hr_kernel_ctx_t* k) {
  const hr_tensor_t *data = hr_input(k, 0), *dy = hr_input(k, 2);
  hr_shape_t shape;
  hr_dnn_conv_t d;
  hr_tensor_t* df;
  HR_TRY(read_sizes(k, 1, "filter_sizes", &shape));
  HR_TRY(geometry(&((depthwise_t*)hr_prepared(k))->window, &data->shape, &shape, &d));
  HR_TRY(hr_conv2d_check_out(&d, &dy->shape));
  d.kind = HR_DNN_CONV_FILTER;
  HR_TRY(hr_output(k, 0, &shape, &df));
  return compute(k, &d, data, dy, df);
}

/* 5. gradients */
static const hr_conv2d_names_t names = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                        "DepthwiseConv2dNativeBackpropFilter"};
static void forward_grad(hr_grad_ctx_t* g) { hr_conv2d_grad(g, &names); }
static void input_gradient_grad(hr_grad_ctx_t* g) { hr_conv2d_input_grad(g, &names); }
static void filter_gradient_grad(hr_grad_ctx_t* g) { hr_conv2d_filter_grad(g, &names); }

/* 6. definitions */
#define DEPTHWISE_ATTRS                                                                                                              \
  "T: type{half,bfloat16,float,double}; strides: list(int); padding: string{'SAME','VALID','EXPLICIT'}; explicit_paddings: "         \
  "list(int) = []; data_format: string{'NHWC','NCHW'} = 'NHWC'; dilations: list(int) = [1,1,1,1]"
#define DEPTHWISE_ROW(fn)                                                                                                           \
  HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .prepared_bytes = sizeof(depthwise_t), .prepare = prepare, .compute = fn})

const hr_op_t hr_op_DepthwiseConv2dNative = {.name = "DepthwiseConv2dNative",
                                             .sig = "input: T; filter: T -> output: T",
                                             .attrs = DEPTHWISE_ATTRS,
                                             .shape = infer,
                                             .grad = forward_grad,
                                             DEPTHWISE_ROW(forward),
                                             .doc = "cross-correlation of each channel with filters of its own",
                                             HR_HERE};

const hr_op_t hr_op_DepthwiseConv2dNativeBackpropInput = {.name = "DepthwiseConv2dNativeBackpropInput",
                                                          .sig = "input_sizes: int32; filter: T; out_backprop: T -> output: T",
                                                          .attrs = DEPTHWISE_ATTRS,
                                                          .shape = infer_input,
                                                          .grad = input_gradient_grad,
                                                          DEPTHWISE_ROW(input_gradient),
                                                          .doc = "gradient of DepthwiseConv2dNative with respect to its input",
                                                          HR_HERE};

const hr_op_t hr_op_DepthwiseConv2dNativeBackpropFilter = {.name = "DepthwiseConv2dNativeBackpropFilter",
                                                           .sig = "input: T; filter_sizes: int32; out_backprop: T -> output: T",
                                                           .attrs = DEPTHWISE_ATTRS,
                                                           .shape = infer_filter,
                                                           .grad = filter_gradient_grad,
                                                           DEPTHWISE_ROW(filter_gradient),
                                                           .doc = "gradient of DepthwiseConv2dNative with respect to its filter",
                                                           HR_HERE};
