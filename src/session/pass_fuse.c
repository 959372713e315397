/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses what follows a convolution or a matrix product of floats into it: a bias (BiasAdd, or Add of a vector as long as the last axis),
 * batch norm with constant parameters after a constant filter (folded into filter and bias: last bits differ), a residual of the same
 * static shape, and an activation. Only while each value in between has one reader, so nothing is computed twice and gradients keep what
 * they read; Shape nodes of a value in between, which gradients leave behind, read the fused node instead, since all have one shape. */
#include <math.h>
#include "session/fuse.h"
#include "session/passes.h"

enum { CHAIN_MOST = 4 }; /* bias, norm, residual, activation */

typedef struct {
  hr_node_t *root, *last;        /* the fused node replaces `last` */
  hr_value_t between[CHAIN_MOST]; /* values that vanish */
  int32_t count;
  hr_value_t bias, residual;     /* node NULL: none */
  hr_node_t* norm;
  const char* activation;
  float alpha;
  int32_t oldest_shape; /* smallest rank of a Shape node that reads a value in between */
  bool conv;
} chain_t;

typedef struct { /* the reader of the chain's end, under test */
  hr_node_t* node;
  int32_t input, oldest_shape;
} next_t;

static bool op_is(const hr_node_t* n, const char* op) { return hr_str_is(n->attrs.def->name, op); }
static bool op_adds(const hr_node_t* n) { return op_is(n, "AddV2") || op_is(n, "Add"); }
static hr_str_t format_of(const hr_node_t* n) { return hr_attrs_str(&n->attrs, "data_format"); }
static bool node_may_fuse(const hr_node_t* n) { return n->control_count == 0 && n->output_types[0] == HR_F32 && !hr_program_is_fixed(n); }
static hr_value_t chain_end(const chain_t* c) { return (hr_value_t){c->last, 0}; }

static bool find_next(const hr_fuse_t* f, const chain_t* c, next_t* out) {
  out->oldest_shape = c->oldest_shape;
  out->node = hr_fuse_reader(f, chain_end(c), &out->input, &out->oldest_shape);
  return out->node && node_may_fuse(out->node);
}

static void accept_next(chain_t* c, const next_t* next) {
  c->between[c->count++] = chain_end(c);
  c->oldest_shape = next->oldest_shape;
  c->last = next->node;
}

/* The operand is made before every Shape node that will read the fused node: no cycle can arise. */
static bool operand_is_early(const hr_fuse_t* f, const next_t* next, hr_value_t v) {
  return f->p->ranks.data[v.node->id] < next->oldest_shape;
}

/* --- what may follow ---------------------------------------------------------------------------------------------------------------- */

static bool vector_fits(const chain_t* c, hr_value_t v) {
  const hr_pshape_t *s = hr_value_shape(v), *y = c->root->shapes[0];
  return s->rank == 1 && s->dims[0] > 0 && y->rank > 0 && s->dims[0] == y->dims[y->rank - 1];
}

static bool is_bias(const chain_t* c, const next_t* next, hr_value_t* out) {
  *out = next->node->inputs[1 - next->input];
  const bool nhwc = !c->conv || hr_str_is(format_of(c->root), "NHWC");
  if (op_is(next->node, "BiasAdd"))
    return next->input == 0 &&
           (c->conv ? hr_str_equal(format_of(next->node), format_of(c->root)) : hr_str_is(format_of(next->node), "NHWC"));
  return op_adds(next->node) && nhwc && vector_fits(c, *out);
}

static void take_bias(const hr_fuse_t* f, chain_t* c) {
  next_t next;
  hr_value_t bias;
  if (!find_next(f, c, &next) || next.node->input_count != 2 || !is_bias(c, &next, &bias) || !operand_is_early(f, &next, bias)) return;
  c->bias = bias;
  accept_next(c, &next);
}

static bool is_float_vector(const hr_tensor_t* t, int64_t n) { return t && t->dtype == HR_F32 && t->shape.rank == 1 && t->count == n; }

static void take_norm(const hr_fuse_t* f, chain_t* c) {
  next_t next;
  const hr_tensor_t* filter = hr_program_constant(c->root->inputs[1]);
  if (!c->conv || !filter || filter->shape.rank != 4 || !find_next(f, c, &next) || next.input != 0) return;
  if (!op_is(next.node, "FusedBatchNorm") && !op_is(next.node, "FusedBatchNormV2") && !op_is(next.node, "FusedBatchNormV3")) return;
  if (hr_attrs_bool(&next.node->attrs, "is_training") || !hr_str_equal(format_of(next.node), format_of(c->root))) return;
  const int64_t n = filter->shape.dims[3];
  if (c->bias.node && !is_float_vector(hr_program_constant(c->bias), n)) return;
  for (int i = 1; i < 5; ++i)
    if (!is_float_vector(hr_program_constant(next.node->inputs[i]), n)) return;
  for (int64_t i = 0; i < next.node->consumers.count; ++i)
    if (next.node->consumers.data[i].output != 0 && hr_fuse_is_live(f, next.node->consumers.data[i].node)) return;
  c->norm = next.node;
  accept_next(c, &next);
}

static bool same_static_shape(const hr_pshape_t* a, const hr_pshape_t* b) {
  hr_shape_t x, y;
  return hr_pshape_to_shape(a, &x) && hr_pshape_to_shape(b, &y) && hr_shape_equal(&x, &y);
}

static void take_residual(const hr_fuse_t* f, chain_t* c) {
  next_t next;
  if (!c->conv || !find_next(f, c, &next) || !op_adds(next.node)) return;
  const hr_value_t other = next.node->inputs[1 - next.input];
  if (!same_static_shape(hr_value_shape(other), c->root->shapes[0]) || !operand_is_early(f, &next, other)) return;
  c->residual = other;
  accept_next(c, &next);
}

static void take_activation(const hr_fuse_t* f, chain_t* c) {
  static const char* const names[] = {"Relu", "Relu6", "LeakyRelu"};
  next_t next;
  if (!find_next(f, c, &next)) return;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (!op_is(next.node, names[i])) continue;
    c->activation = names[i];
    if (op_is(next.node, "LeakyRelu")) c->alpha = hr_attrs_float(&next.node->attrs, "alpha");
    accept_next(c, &next);
    return;
  }
}

/* --- batch norm into filter and bias ------------------------------------------------------------------------------------------------ */

static hr_status_t fold_norm(hr_program_t* p, chain_t* c, hr_value_t* filter) {
  const hr_tensor_t *w = hr_program_constant(*filter), *old = c->bias.node ? hr_program_constant(c->bias) : NULL;
  const float* v[4];
  for (int i = 0; i < 4; ++i) v[i] = hr_program_constant(c->norm->inputs[i + 1])->data; /* scale, offset, mean, variance */
  const int64_t n = w->shape.dims[3];
  const double epsilon = (double)hr_attrs_float(&c->norm->attrs, "epsilon");
  const hr_shape_t vector = hr_shape_vector(n);
  hr_tensor_t scaled = {0}, bias = {0}, scales = {0};
  hr_node_t *filter_node, *bias_node;
  hr_status_t status;
  if ((status = hr_tensor_create(HR_F32, &w->shape, &scaled))) goto done;
  if ((status = hr_tensor_create(HR_F32, &vector, &bias))) goto done;
  if ((status = hr_tensor_create(HR_F64, &vector, &scales))) goto done;
  double* scale = scales.data;
  for (int64_t j = 0; j < n; ++j) {
    const double shift = old ? (double)((const float*)old->data)[j] : 0;
    scale[j] = (double)v[0][j] / sqrt((double)v[3][j] + epsilon);
    ((float*)bias.data)[j] = (float)((double)v[1][j] + (shift - (double)v[2][j]) * scale[j]);
  }
  for (int64_t i = 0; i < w->count; i += n)
    for (int64_t j = 0; j < n; ++j) ((float*)scaled.data)[i + j] = (float)((double)((const float*)w->data)[i + j] * scale[j]);
  if ((status = hr_program_add_const(p, &scaled, c->norm, &filter_node))) goto done;
  if ((status = hr_program_add_const(p, &bias, c->norm, &bias_node))) goto done;
  *filter = (hr_value_t){filter_node, 0};
  c->bias = (hr_value_t){bias_node, 0};
done:
  hr_tensor_release(&scaled);
  hr_tensor_release(&bias);
  hr_tensor_release(&scales);
  return status;
}

/* --- the fused node ----------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_str_t names[CHAIN_MOST];
  int32_t types[CHAIN_MOST], count, args;
  hr_named_attr_t attrs[16];
  int32_t attr_count;
} wanted_t;

static void copy_attrs(wanted_t* w, const hr_node_t* root, const char* const* names) {
  for (; *names; ++names) w->attrs[w->attr_count++] = hr_at(*names, *hr_attrs_find(&root->attrs, *names));
}

static void describe_fused(const chain_t* c, wanted_t* w) {
  static const char *const of_conv[] = {"T", "strides", "padding", "explicit_paddings", "data_format", "dilations", NULL},
                          *const of_product[] = {"T", "transpose_a", "transpose_b", NULL};
  if (c->bias.node) w->names[w->count++] = HR_STR("BiasAdd");
  if (c->residual.node) w->names[w->count++] = HR_STR("Add");
  w->args = w->count;
  if (c->activation) w->names[w->count++] = hr_str(c->activation);
  copy_attrs(w, c->root, c->conv ? of_conv : of_product);
  for (int32_t i = 0; i < w->args; ++i) w->types[i] = HR_F32;
  if (c->conv) w->attrs[w->attr_count++] = hr_at_types("TArgs", w->types, w->args);
  if (c->conv) w->attrs[w->attr_count++] = hr_at_int("num_host_args", 0);
  w->attrs[w->attr_count++] = hr_at_int("num_args", w->args);
  w->attrs[w->attr_count++] = hr_at("fused_ops", HR_AT_LIST(HR_ATTR_STRING, ss, w->names, w->count));
  w->attrs[w->attr_count++] = hr_at_float("leakyrelu_alpha", c->alpha);
}

static hr_status_t add_fused(hr_program_t* p, chain_t* c, hr_node_t** out) {
  hr_value_t inputs[4] = {c->root->inputs[0], c->root->inputs[1]};
  wanted_t w = {0};
  if (c->norm) HR_TRY(fold_norm(p, c, &inputs[1]));
  describe_fused(c, &w);
  int32_t count = 2;
  if (c->bias.node) inputs[count++] = c->bias;
  if (c->residual.node) inputs[count++] = c->residual;
  const int32_t lists[] = {1, 1, w.args, 0};
  const hr_node_desc_t d = {.op = c->conv ? HR_STR("_FusedConv2D") : HR_STR("_FusedMatMul"),
                            .name = c->last->name,
                            .device = c->root->device,
                            .inputs = inputs,
                            .input_count = count,
                            .input_lists = lists,
                            .attrs = w.attrs,
                            .attr_count = w.attr_count};
  HR_TRY(hr_program_add(p, &d, c->last, out));
  (*out)->shapes[0] = c->last->shapes[0];
  return NULL;
}

static hr_status_t replace_chain(hr_fuse_t* f, chain_t* c) {
  hr_node_t* fused;
  HR_TRY(add_fused(f->p, c, &fused));
  const hr_value_t to = {fused, 0};
  for (int32_t i = 0; i < c->count; ++i) HR_TRY(hr_fuse_move_shapes(f, c->between[i], to));
  HR_TRY(hr_program_replace(f->p, chain_end(c), to));
  return hr_program_replace_control(f->p, c->last, fused);
}

static hr_status_t fuse_after(hr_fuse_t* f, hr_node_t* root) {
  chain_t c = {.root = root, .last = root, .conv = op_is(root, "Conv2D"), .oldest_shape = INT32_MAX, .alpha = 0.2f};
  take_bias(f, &c);
  take_norm(f, &c);
  take_residual(f, &c);
  take_activation(f, &c);
  if (c.conv && !c.bias.node && !c.norm && !c.residual.node) return NULL; /* the fused convolution wants an operand */
  return c.count ? replace_chain(f, &c) : NULL;
}

hr_status_t hr_pass_fuse(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  hr_fuse_t f;
  if (!hr_graph_may_have(p->graph, "Conv2D") && !hr_graph_may_have(p->graph, "MatMul")) return NULL;
  HR_TRY(hr_fuse_init(p, &f));
  hr_status_t status = NULL;
  for (int64_t i = 0; i < f.limit && !status; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    if (f.live[i] && (op_is(n, "Conv2D") || op_is(n, "MatMul")) && node_may_fuse(n)) status = fuse_after(&f, n);
  }
  hr_fuse_deinit(&f);
  return status;
}
