/* SPDX-License-Identifier: Apache-2.0 */
/* Conv2D: cross-correlation of images [batch, h, w, in] with a filter [k_h, k_w, in / groups, out],
 *
 *   out[b, y, x, o] = sum over i, j, c of in[b, y stride_h + i dilation_h - pad, x stride_w + j dilation_w - pad, c] filter[i, j, c, o]
 *
 * and its two gradients, Conv2DBackpropInput and Conv2DBackpropFilter, which are each other's gradients too. All data formats, paddings,
 * dilations and groups run (TensorFlow's plain kernels have NHWC and no dilated gradients). */
#include "ops/nn/conv2d/conv2d.h"
#include "ops/nn/conv2d/gradients.h"

extern const hr_op_t hr_op_Conv2D, hr_op_Conv2DBackpropInput, hr_op_Conv2DBackpropFilter;

/* 1. kernels; shapes are in geometry.c */
static hr_status_t compute_conv2d(hr_kernel_ctx_t* k) {
  hr_conv2d_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *data = hr_input(k, 0), *filter = hr_input(k, 1);
  hr_dnn_conv_t d;
  HR_TRY(hr_conv2d_geometry(&m->window, &data->shape, &filter->shape, &d));
  const hr_shape_t shape = hr_conv2d_shape(&d, true);
  HR_TRY(hr_shape_check(&shape));
  hr_tensor_t* y;
  HR_TRY(hr_output(k, 0, &shape, &y));
  return hr_conv2d_run(k, &d, &(hr_conv2d_operands_t){data, filter, NULL, y}, m);
}

/* input_sizes: four dims, or height and width (then batch and depth follow from the other operands). */
static hr_status_t read_input_sizes(const hr_tensor_t* sizes, const hr_window_t* w, const hr_tensor_t* filter, const hr_tensor_t* dy,
                                    hr_shape_t* out) {
  if (sizes->count != 2 && sizes->count != 4)
    return HR_ERROR(INVALID_ARGUMENT, "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: %lld",
                    (long long)sizes->count);
  if (sizes->count != 2) return hr_tensor_to_shape(sizes, out);
  if (filter->shape.rank != 4 || dy->shape.rank != 4) return HR_ERROR(INVALID_ARGUMENT, "filter and out_backprop have 4 axes");
  out->rank = 4;
  out->dims[0] = dy->shape.dims[0];
  out->dims[hr_window_axis(w, 3)] = filter->shape.dims[2];
  for (int i = 0; i < 2; ++i) HR_TRY(hr_tensor_i64_at(sizes, i, &out->dims[hr_window_axis(w, i + 1)]));
  return hr_shape_check(out);
}

static hr_status_t compute_input_gradient(hr_kernel_ctx_t* k) {
  hr_conv2d_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *sizes = hr_input(k, 0), *filter = hr_input(k, 1), *dy = hr_input(k, 2);
  hr_shape_t shape;
  hr_dnn_conv_t d;
  HR_TRY(hr_want_vector(k, 0, "input_sizes"));
  HR_TRY(read_input_sizes(sizes, &m->window, filter, dy, &shape));
  HR_TRY(hr_conv2d_geometry(&m->window, &shape, &filter->shape, &d));
  HR_TRY(hr_conv2d_check_out(&d, &dy->shape));
  d.kind = HR_DNN_CONV_DATA;
  hr_tensor_t* dx;
  HR_TRY(hr_output(k, 0, &shape, &dx));
  return hr_conv2d_run(k, &d, &(hr_conv2d_operands_t){dy, filter, NULL, dx}, m);
}

static hr_status_t compute_filter_gradient(hr_kernel_ctx_t* k) {
  hr_conv2d_prepared_t* m = hr_prepared(k);
  const hr_tensor_t *data = hr_input(k, 0), *dy = hr_input(k, 2);
  hr_shape_t shape;
  hr_dnn_conv_t d;
  HR_TRY(hr_want_vector(k, 1, "filter_sizes"));
  HR_TRY(hr_tensor_to_shape(hr_input(k, 1), &shape));
  HR_TRY(hr_conv2d_geometry(&m->window, &data->shape, &shape, &d));
  HR_TRY(hr_conv2d_check_out(&d, &dy->shape));
  d.kind = HR_DNN_CONV_FILTER;
  hr_tensor_t* df;
  HR_TRY(hr_output(k, 0, &shape, &df));
  return hr_conv2d_run(k, &d, &(hr_conv2d_operands_t){data, dy, NULL, df}, m);
}

/* 2. gradients */
static const hr_conv2d_names_t names = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
static void conv2d_grad(hr_grad_ctx_t* g) { hr_conv2d_grad(g, &names); }
static void input_gradient_grad(hr_grad_ctx_t* g) { hr_conv2d_input_grad(g, &names); }
static void filter_gradient_grad(hr_grad_ctx_t* g) { hr_conv2d_filter_grad(g, &names); }

/* 3. definitions */
#define CONV_ATTRS                                                                                                                     \
  "strides: list(int); use_cudnn_on_gpu: bool = true; padding: string{'SAME','VALID','EXPLICIT'}; explicit_paddings: list(int) = []; " \
  "data_format: string{'NHWC','NCHW'} = 'NHWC'; dilations: list(int) = [1,1,1,1]"
#define CONV_ROW(fn)                                          \
  HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT | HR_M(I32)}},  \
              .prepared_bytes = sizeof(hr_conv2d_prepared_t), \
              .prepare = hr_conv2d_prepare,                   \
              .unprepare = hr_conv2d_unprepare,               \
              .compute = fn})

const hr_op_t hr_op_Conv2D = {.name = "Conv2D",
                              .sig = "input: T; filter: T -> output: T",
                              .attrs = "T: type{half,bfloat16,float,double,int32}; " CONV_ATTRS,
                              .shape = hr_conv2d_infer,
                              .grad = conv2d_grad,
                              CONV_ROW(compute_conv2d),
                              .doc = "cross-correlation of images with a filter",
                              HR_HERE};

const hr_op_t hr_op_Conv2DBackpropInput = {.name = "Conv2DBackpropInput",
                                           .sig = "input_sizes: int32; filter: T; out_backprop: T -> output: T",
                                           .attrs = "T: type{half,bfloat16,float,double,int32}; " CONV_ATTRS,
                                           .shape = hr_conv2d_infer_input,
                                           .grad = input_gradient_grad,
                                           CONV_ROW(compute_input_gradient),
                                           .doc = "gradient of Conv2D with respect to its input",
                                           HR_HERE};

const hr_op_t hr_op_Conv2DBackpropFilter = {.name = "Conv2DBackpropFilter",
                                            .sig = "input: T; filter_sizes: int32; out_backprop: T -> output: T",
                                            .attrs = "T: type{half,bfloat16,float,double}; " CONV_ATTRS,
                                            .shape = hr_conv2d_infer_filter,
                                            .grad = filter_gradient_grad,
                                            CONV_ROW(compute_filter_gradient),
                                            .doc = "gradient of Conv2D with respect to its filter",
                                            HR_HERE};
