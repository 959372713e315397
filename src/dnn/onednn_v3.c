/* SPDX-License-Identifier: Apache-2.0 */
/* Making primitives with oneDNN 3.x, where memory descriptions are owned objects and each operation has its own primitive description. */
#include "dnn/onednn.h"
#if DNNL_VERSION_MAJOR >= 3

dnnl_status_t hr_onednn_memory(dnnl_memory_t* out, const hr_onednn_md_t* md) {
  return dnnl_memory_create(out, *md, hr_onednn_engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t init_md(hr_onednn_md_t* md, const hr_onednn_layout_t* l) {
  return dnnl_memory_desc_create_with_strides(md, l->rank, l->dims, dnnl_f32, l->strides);
}

static dnnl_status_t make_attr(bool sum, hr_dnn_act_t act, float alpha, dnnl_primitive_attr_t* out) {
  dnnl_post_ops_t ops = NULL;
  HR_ONEDNN_TRY(dnnl_primitive_attr_create(out));
  dnnl_status_t s = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
  if (s == dnnl_success && (sum || act != HR_DNN_NONE)) s = dnnl_post_ops_create(&ops);
  if (s == dnnl_success && sum) s = dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_f32);
  const hr_onednn_act_t a = hr_onednn_activation(act, alpha);
  if (s == dnnl_success && act != HR_DNN_NONE) s = dnnl_post_ops_append_eltwise(ops, a.kind, a.alpha, a.beta);
  if (s == dnnl_success && ops) s = dnnl_primitive_attr_set_post_ops(*out, ops);
  if (ops) dnnl_post_ops_destroy(ops);
  return s;
}

static dnnl_status_t make_reorder(hr_onednn_mdp_t from, hr_onednn_mdp_t to, dnnl_primitive_t* out) {
  dnnl_primitive_desc_t pd = NULL;
  HR_ONEDNN_TRY(dnnl_reorder_primitive_desc_create(&pd, from, hr_onednn_engine, to, hr_onednn_engine, NULL));
  const dnnl_status_t s = dnnl_primitive_create(out, pd);
  dnnl_primitive_desc_destroy(pd);
  return s;
}

/* Builds the primitive and destroys its description; `moved` says which role oneDNN may lay out as it likes, through `query`. */
static dnnl_status_t finish_prim(hr_dnn_prim_t* p, dnnl_primitive_desc_t pd, int moved, dnnl_query_t query) {
  dnnl_status_t s = dnnl_primitive_create(&p->primitive, pd);
  if (s == dnnl_success) s = dnnl_memory_desc_clone(&p->scratch, dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
  if (s == dnnl_success && moved >= 0) s = dnnl_memory_desc_clone(&p->wanted, dnnl_primitive_desc_query_md(pd, query, 0));
  dnnl_primitive_desc_destroy(pd);
  if (s != dnnl_success) return s;
  p->scratch_bytes = dnnl_memory_desc_get_size(p->scratch);
  if (moved < 0 || dnnl_memory_desc_equal(p->wanted, p->user[moved])) return s;
  p->wanted_bytes = dnnl_memory_desc_get_size(p->wanted);
  p->reorder_out = moved == HR_ONEDNN_C;
  return p->reorder_out ? make_reorder(p->wanted, p->user[moved], &p->reorder) : make_reorder(p->user[moved], p->wanted, &p->reorder);
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
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t s = make_attr(d->sum, d->activation, d->alpha, &attr);
  if (s == dnnl_success)
    s = dnnl_matmul_primitive_desc_create(&pd, hr_onednn_engine, p->user[HR_ONEDNN_A], p->user[HR_ONEDNN_B],
                                          d->bias ? p->user[HR_ONEDNN_BIAS] : NULL, p->user[HR_ONEDNN_C], attr);
  if (attr) dnnl_primitive_attr_destroy(attr);
  return s == dnnl_success ? finish_prim(p, pd, -1, dnnl_query_undef) : s;
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
  return dnnl_memory_desc_create_with_tag(any, layout.rank, layout.dims, dnnl_f32, dnnl_format_tag_any);
}

typedef struct {
  hr_onednn_mdp_t data, filter, bias, out;
} conv_mds_t;

static dnnl_status_t describe_conv(const hr_dnn_conv_t* d, const conv_mds_t* m, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t* out) {
  const dnnl_dims_t stride = {d->stride_h, d->stride_w}, dilation = {d->dilation_h - 1, d->dilation_w - 1};
  const dnnl_dims_t before = {d->pad_top, d->pad_left}, after = {d->pad_bottom, d->pad_right};
  if (d->kind == HR_DNN_CONV_FORWARD)
    return dnnl_convolution_forward_primitive_desc_create(out, hr_onednn_engine, dnnl_forward_inference, dnnl_convolution_direct, m->data,
                                                          m->filter, m->bias, m->out, stride, dilation, before, after, attr);
  dnnl_primitive_desc_t hint = NULL; /* version 3 wants the forward description that a gradient belongs to */
  HR_ONEDNN_TRY(dnnl_convolution_forward_primitive_desc_create(&hint, hr_onednn_engine, dnnl_forward_training, dnnl_convolution_direct,
                                                               m->data, m->filter, NULL, m->out, stride, dilation, before, after, NULL));
  dnnl_status_t s;
  if (d->kind == HR_DNN_CONV_DATA)
    s = dnnl_convolution_backward_data_primitive_desc_create(out, hr_onednn_engine, dnnl_convolution_direct, m->data, m->filter, m->out,
                                                             stride, dilation, before, after, hint, attr);
  else
    s = dnnl_convolution_backward_weights_primitive_desc_create(out, hr_onednn_engine, dnnl_convolution_direct, m->data, m->filter, NULL,
                                                                m->out, stride, dilation, before, after, hint, attr);
  dnnl_primitive_desc_destroy(hint);
  return s;
}

dnnl_status_t hr_onednn_make_conv(const hr_dnn_conv_t* d, hr_dnn_prim_t* p) {
  const bool data = d->kind == HR_DNN_CONV_DATA, forward = d->kind == HR_DNN_CONV_FORWARD;
  const int in = data ? HR_ONEDNN_C : HR_ONEDNN_A, filter = forward || data ? HR_ONEDNN_B : HR_ONEDNN_C;
  const int out = forward ? HR_ONEDNN_C : data ? HR_ONEDNN_A : HR_ONEDNN_B;
  hr_onednn_md_t any = NULL;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t s = init_conv_mds(d, &p->user[in], &p->user[filter], &p->user[out], &any);
  p->args[in] = data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC;
  p->args[filter] = forward || data ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS;
  p->args[out] = forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
  p->args[HR_ONEDNN_BIAS] = forward && d->bias ? DNNL_ARG_BIAS : 0;
  if (s == dnnl_success && p->args[HR_ONEDNN_BIAS])
    s = dnnl_memory_desc_create_with_tag(&p->user[HR_ONEDNN_BIAS], 1, (const dnnl_dims_t){d->out_c}, dnnl_f32, dnnl_a);
  if (s == dnnl_success) s = make_attr(forward && d->sum, forward ? d->activation : HR_DNN_NONE, d->alpha, &attr);
  if (s == dnnl_success) s = describe_conv(d, &(conv_mds_t){p->user[in], any, p->user[HR_ONEDNN_BIAS], p->user[out]}, attr, &pd);
  if (s == dnnl_success) s = finish_prim(p, pd, filter, forward || data ? dnnl_query_weights_md : dnnl_query_diff_weights_md);
  if (attr) dnnl_primitive_attr_destroy(attr);
  if (any) dnnl_memory_desc_destroy(any);
  return s;
}

void hr_onednn_clear(hr_dnn_prim_t* p) {
  if (p->reorder) dnnl_primitive_destroy(p->reorder);
  if (p->primitive) dnnl_primitive_destroy(p->primitive);
  for (int role = 0; role < HR_ONEDNN_ROLES; ++role)
    if (p->user[role]) dnnl_memory_desc_destroy(p->user[role]);
  if (p->wanted) dnnl_memory_desc_destroy(p->wanted);
  if (p->scratch) dnnl_memory_desc_destroy(p->scratch);
  p->reorder = p->primitive = NULL;
}
#else
typedef int hr_onednn_v3_unused_t; /* ISO C wants a declaration */
#endif
