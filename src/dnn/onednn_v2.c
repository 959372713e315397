/* SPDX-License-Identifier: Apache-2.0 */
/* Making primitives with oneDNN 2.x, where memory descriptions are structs and an operation is described before its primitive. */
#include "dnn/onednn.h"
#if DNNL_VERSION_MAJOR < 3

dnnl_status_t hr_onednn_memory(dnnl_memory_t* out, const hr_onednn_md_t* md) {
  return dnnl_memory_create(out, md, hr_onednn_engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t init_md(hr_onednn_md_t* md, const hr_onednn_layout_t* l) {
  return dnnl_memory_desc_init_by_strides(md, l->rank, l->dims, dnnl_f32, l->strides);
}

static dnnl_status_t make_attr(bool sum, hr_dnn_act_t act, float alpha, dnnl_primitive_attr_t* out) {
  dnnl_post_ops_t ops = NULL;
  HR_ONEDNN_TRY(dnnl_primitive_attr_create(out));
  dnnl_status_t s = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
  if (s == dnnl_success && (sum || act != HR_DNN_NONE)) s = dnnl_post_ops_create(&ops);
  if (s == dnnl_success && sum) s = dnnl_post_ops_append_sum(ops, 1.0f);
  const hr_onednn_act_t a = hr_onednn_activation(act, alpha);
  if (s == dnnl_success && act != HR_DNN_NONE) s = dnnl_post_ops_append_eltwise(ops, 1.0f, a.kind, a.alpha, a.beta);
  if (s == dnnl_success && ops) s = dnnl_primitive_attr_set_post_ops(*out, ops);
  if (ops) dnnl_post_ops_destroy(ops);
  return s;
}

static dnnl_status_t make_reorder(const hr_onednn_md_t* from, const hr_onednn_md_t* to, dnnl_primitive_t* out) {
  dnnl_primitive_desc_t pd = NULL;
  HR_ONEDNN_TRY(dnnl_reorder_primitive_desc_create(&pd, from, hr_onednn_engine, to, hr_onednn_engine, NULL));
  const dnnl_status_t s = dnnl_primitive_create(out, pd);
  dnnl_primitive_desc_destroy(pd);
  return s;
}

/* Builds the primitive of an op description; `moved` says which role oneDNN may lay out as it likes, through `query`. */
static dnnl_status_t finish_prim(hr_dnn_prim_t* p, const_dnnl_op_desc_t op, dnnl_primitive_attr_t attr, int moved, dnnl_query_t query) {
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t s = dnnl_primitive_desc_create(&pd, op, attr, hr_onednn_engine, NULL);
  if (s != dnnl_success) return s;
  s = dnnl_primitive_create(&p->primitive, pd);
  p->scratch = *dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  p->scratch_bytes = dnnl_memory_desc_get_size(&p->scratch);
  if (moved >= 0) p->wanted = *dnnl_primitive_desc_query_md(pd, query, 0);
  dnnl_primitive_desc_destroy(pd);
  if (s != dnnl_success || moved < 0 || dnnl_memory_desc_equal(&p->wanted, &p->user[moved])) return s;
  p->wanted_bytes = dnnl_memory_desc_get_size(&p->wanted);
  p->reorder_out = moved == HR_ONEDNN_C;
  return p->reorder_out ? make_reorder(&p->wanted, &p->user[moved], &p->reorder) : make_reorder(&p->user[moved], &p->wanted, &p->reorder);
}

dnnl_status_t hr_onednn_make_matmul(const hr_dnn_matmul_t* d, hr_dnn_prim_t* p) {
  static const int args[HR_ONEDNN_ROLES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
  for (int role = 0; role < HR_ONEDNN_ROLES; ++role) {
    if (role == HR_ONEDNN_BIAS && !d->bias) continue;
    hr_onednn_layout_t layout;
    hr_onednn_matmul_layout(d, role, &layout);
    HR_ONEDNN_TRY(init_md(&p->user[role], &layout));
    p->args[role] = args[role];
  }
  dnnl_matmul_desc_t op;
  HR_ONEDNN_TRY(dnnl_matmul_desc_init(&op, &p->user[HR_ONEDNN_A], &p->user[HR_ONEDNN_B], d->bias ? &p->user[HR_ONEDNN_BIAS] : NULL,
                                      &p->user[HR_ONEDNN_C]));
  dnnl_primitive_attr_t attr = NULL;
  dnnl_status_t s = make_attr(d->sum, d->activation, d->alpha, &attr);
  if (s == dnnl_success) s = finish_prim(p, &op, attr, -1, dnnl_query_undef);
  if (attr) dnnl_primitive_attr_destroy(attr);
  return s;
}

typedef struct {
  dnnl_dims_t stride, dilation, before, after;
} conv_window_t;

static conv_window_t conv_window(const hr_dnn_conv_t* d) {
  return (conv_window_t){
      {d->stride_h, d->stride_w}, {d->dilation_h - 1, d->dilation_w - 1}, {d->pad_top, d->pad_left}, {d->pad_bottom, d->pad_right}};
}

/* The shapes of data, filter and output; the filter's layout is left to oneDNN in `any`. */
static dnnl_status_t init_conv_mds(const hr_dnn_conv_t* d, hr_onednn_md_t* data, hr_onednn_md_t* filter, hr_onednn_md_t* out,
                                   hr_onednn_md_t* any) {
  hr_onednn_layout_t layout;
  hr_onednn_data_layout(d, false, &layout);
  HR_ONEDNN_TRY(init_md(data, &layout));
  hr_onednn_data_layout(d, true, &layout);
  HR_ONEDNN_TRY(init_md(out, &layout));
  hr_onednn_filter_layout(d, &layout);
  HR_ONEDNN_TRY(init_md(filter, &layout));
  return dnnl_memory_desc_init_by_tag(any, layout.rank, layout.dims, dnnl_f32, dnnl_format_tag_any);
}

static dnnl_status_t make_conv_forward(const hr_dnn_conv_t* d, hr_dnn_prim_t* p) {
  static const int args[HR_ONEDNN_ROLES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
  hr_onednn_md_t any;
  HR_ONEDNN_TRY(init_conv_mds(d, &p->user[HR_ONEDNN_A], &p->user[HR_ONEDNN_B], &p->user[HR_ONEDNN_C], &any));
  for (int role = 0; role < HR_ONEDNN_ROLES; ++role) p->args[role] = role != HR_ONEDNN_BIAS || d->bias ? args[role] : 0;
  if (d->bias) HR_ONEDNN_TRY(dnnl_memory_desc_init_by_tag(&p->user[HR_ONEDNN_BIAS], 1, (const dnnl_dims_t){d->out_c}, dnnl_f32, dnnl_a));
  const conv_window_t w = conv_window(d);
  dnnl_convolution_desc_t op;
  HR_ONEDNN_TRY(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_direct, &p->user[HR_ONEDNN_A],
                                                           &any, d->bias ? &p->user[HR_ONEDNN_BIAS] : NULL, &p->user[HR_ONEDNN_C], w.stride,
                                                           w.dilation, w.before, w.after));
  dnnl_primitive_attr_t attr = NULL;
  dnnl_status_t s = make_attr(d->sum, d->activation, d->alpha, &attr);
  if (s == dnnl_success) s = finish_prim(p, &op, attr, HR_ONEDNN_B, dnnl_query_weights_md);
  if (attr) dnnl_primitive_attr_destroy(attr);
  return s;
}

static dnnl_status_t make_conv_gradient(const hr_dnn_conv_t* d, hr_dnn_prim_t* p) {
  const bool data = d->kind == HR_DNN_CONV_DATA;
  const int in = data ? HR_ONEDNN_C : HR_ONEDNN_A, filter = data ? HR_ONEDNN_B : HR_ONEDNN_C, out = data ? HR_ONEDNN_A : HR_ONEDNN_B;
  hr_onednn_md_t any;
  HR_ONEDNN_TRY(init_conv_mds(d, &p->user[in], &p->user[filter], &p->user[out], &any));
  p->args[in] = data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
  p->args[filter] = data ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS;
  p->args[out] = DNNL_ARG_DIFF_DST;
  const conv_window_t w = conv_window(d);
  dnnl_convolution_desc_t op;
  if (data) {
    HR_ONEDNN_TRY(dnnl_dilated_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, &p->user[in], &any, &p->user[out],
                                                                   w.stride, w.dilation, w.before, w.after));
  } else {
    HR_ONEDNN_TRY(dnnl_dilated_convolution_backward_weights_desc_init(&op, dnnl_convolution_direct, &p->user[in], &any, NULL, &p->user[out],
                                                                      w.stride, w.dilation, w.before, w.after));
  }
  /* the gradient's implementation may look at a forward hint; ours is made of the same descriptions and oneDNN needs none on CPUs */
  dnnl_primitive_attr_t attr = NULL;
  dnnl_status_t s = make_attr(false, HR_DNN_NONE, 0.0f, &attr);
  if (s == dnnl_success) s = finish_prim(p, &op, attr, filter, data ? dnnl_query_weights_md : dnnl_query_diff_weights_md);
  if (attr) dnnl_primitive_attr_destroy(attr);
  return s;
}

dnnl_status_t hr_onednn_make_conv(const hr_dnn_conv_t* d, hr_dnn_prim_t* p) {
  return d->kind == HR_DNN_CONV_FORWARD ? make_conv_forward(d, p) : make_conv_gradient(d, p);
}

void hr_onednn_clear(hr_dnn_prim_t* p) {
  if (p->reorder) dnnl_primitive_destroy(p->reorder);
  if (p->primitive) dnnl_primitive_destroy(p->primitive);
  p->reorder = p->primitive = NULL;
}
#else
typedef int hr_onednn_v2_unused_t; /* ISO C wants a declaration */
#endif
