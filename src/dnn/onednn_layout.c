/* SPDX-License-Identifier: Apache-2.0 */
/* How the caller's tensors lie, in oneDNN's terms: logical dims are always N,C,H,W and (G,)O,I,H,W; the layout is in the strides. */
#include <string.h>
#include "dnn/onednn.h"

void hr_onednn_data_layout(const hr_dnn_conv_t* d, bool out, hr_onednn_layout_t* layout) {
  const int64_t c = out ? d->out_c : d->in_c, h = out ? d->out_h : d->in_h, w = out ? d->out_w : d->in_w;
  const dnnl_dims_t dims = {d->batch, c, h, w};
  const dnnl_dims_t nhwc = {h * w * c, 1, w * c, c}, nchw = {h * w * c, h * w, w, 1};
  layout->rank = 4;
  memcpy(layout->dims, dims, sizeof dims);
  memcpy(layout->strides, d->nchw ? nchw : nhwc, sizeof nhwc);
}

void hr_onednn_filter_layout(const hr_dnn_conv_t* d, hr_onednn_layout_t* layout) {
  const int64_t g = d->groups > 1 ? d->groups : 1, i = d->in_c / g, o = d->out_c; /* stored [h, w, i, o] */
  const dnnl_dims_t dims = {o, i, d->k_h, d->k_w}, strides = {1, o, d->k_w * i * o, i * o};
  const dnnl_dims_t grouped_dims = {g, o / g, i, d->k_h, d->k_w}, grouped_strides = {o / g, 1, o, d->k_w * i * o, i * o};
  layout->rank = g > 1 ? 5 : 4;
  memcpy(layout->dims, g > 1 ? grouped_dims : dims, sizeof dims);
  memcpy(layout->strides, g > 1 ? grouped_strides : strides, sizeof dims);
}

static void set_matrix(hr_onednn_layout_t* l, int64_t batch, int64_t stride, int64_t rows, int64_t cols, bool transposed) {
  const int64_t row = transposed ? 1 : cols, col = transposed ? rows : 1;
  const dnnl_dims_t dims = {batch, rows, cols}, strides = {stride, row, col};
  const int skip = batch == 1; /* oneDNN's plain matrix product has less to set up */
  l->rank = 3 - skip;
  memset(l->dims, 0, sizeof l->dims);
  memset(l->strides, 0, sizeof l->strides);
  memcpy(l->dims, dims + skip, (size_t)l->rank * sizeof dims[0]);
  memcpy(l->strides, strides + skip, (size_t)l->rank * sizeof dims[0]);
}

void hr_onednn_matmul_layout(const hr_dnn_matmul_t* d, int role, hr_onednn_layout_t* layout) {
  if (role == HR_ONEDNN_A) {
    set_matrix(layout, d->batch, d->stride_a, d->m, d->k, d->transpose_a);
  } else if (role == HR_ONEDNN_B) {
    set_matrix(layout, d->batch, d->stride_b, d->k, d->n, d->transpose_b);
  } else if (role == HR_ONEDNN_C) {
    set_matrix(layout, d->batch, d->stride_c, d->m, d->n, false);
  } else {
    set_matrix(layout, d->batch, d->n, 1, d->n, false);
    layout->dims[0] = 1; /* one bias for all batches (and rows) */
  }
}

hr_onednn_act_t hr_onednn_activation(hr_dnn_act_t act, float alpha) {
  switch (act) {
    case HR_DNN_RELU: return (hr_onednn_act_t){dnnl_eltwise_relu, 0.0f, 0.0f};
    case HR_DNN_LEAKY_RELU: return (hr_onednn_act_t){dnnl_eltwise_relu, alpha, 0.0f};
    case HR_DNN_RELU6: return (hr_onednn_act_t){dnnl_eltwise_clip, 0.0f, 6.0f};
    case HR_DNN_ELU: return (hr_onednn_act_t){dnnl_eltwise_elu, 1.0f, 0.0f};
    case HR_DNN_TANH: return (hr_onednn_act_t){dnnl_eltwise_tanh, 0.0f, 0.0f};
    case HR_DNN_SIGMOID: return (hr_onednn_act_t){dnnl_eltwise_logistic, 0.0f, 0.0f};
    case HR_DNN_NONE: break;
  }
  return (hr_onednn_act_t){dnnl_alg_kind_undef, 0.0f, 0.0f};
}
