/* SPDX-License-Identifier: Apache-2.0 */
/* SymbolicGradient(x..., dy...) of f becomes f's body and its gradient; or a call of the gradient function that a GradientDef names. An
 * input that no gradient flows into gets zeros. */
#include "graph/expand.h"
#include "graph/grad.h"

typedef struct {
  hr_expand_t* x;
  hr_node_t* node;
  hr_value_t* xs; /* the function's inputs, each by a node of its own: one value given twice has two gradients */
  int32_t x_count;
} gradient_t;

static hr_status_t add_like_input(gradient_t* g, const char* op, const char* rest, hr_value_t v, hr_value_t* out) {
  hr_node_t* node = NULL;
  hr_node_desc_t d = {
      .op = hr_str(op), .inputs = &v, .input_count = 1, .controls = g->node->controls, .control_count = g->node->control_count};
  HR_TRY(hr_expand_add(g->x, g->node, rest, d, &node));
  *out = (hr_value_t){node, 0};
  return NULL;
}

static hr_status_t take_inputs(gradient_t* g) {
  g->xs = hr_arena_array(&g->x->arena, (size_t)g->x_count, sizeof *g->xs);
  if (!g->xs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < g->x_count; ++i) HR_TRY(add_like_input(g, "Identity", "x", g->node->inputs[i], &g->xs[i]));
  return NULL;
}

/* In a graph with branches or loops what has no inputs belongs where the node is. */
static hr_status_t make_start(gradient_t* g, hr_node_t** out) {
  hr_node_t* first = g->x_count ? g->xs[0].node : NULL;
  *out = NULL;
  if (!g->x->has_flow || !first) return NULL;
  hr_node_desc_t d = {.op = HR_STR("NoOp"), .controls = &first, .control_count = 1};
  return hr_expand_add(g->x, g->node, "start", d, out);
}

static hr_status_t tie_to_start(hr_graph_t* g, hr_node_t* start, int64_t first) {
  for (int64_t i = first; start && i < g->nodes.count; ++i) {
    hr_node_t* n = g->nodes.data[i];
    if (n && n->input_count == 0 && n->control_count == 0) HR_TRY(hr_graph_add_control(g, n, start));
  }
  return NULL;
}

/* Zeros like an input; of a variable's handle: like its value. */
static hr_status_t add_zeros(gradient_t* g, int32_t i, hr_value_t* out) {
  hr_dtype_t type = hr_dtype_base(g->node->output_types[i]);
  hr_shape_t scalar = hr_shape_scalar();
  hr_tensor_t zero;
  hr_value_t parts[2];
  hr_node_t* node = NULL;
  if (hr_dtype_base(hr_value_type(g->xs[i])) != HR_RESOURCE) return add_like_input(g, "ZerosLike", "zeros", g->xs[i], out);
  HR_TRY(add_like_input(g, "VariableShape", "shape", g->xs[i], &parts[0]));
  HR_TRY(hr_tensor_create_zero(type, &scalar, &zero));
  hr_named_attr_t attrs[] = {hr_at_tensor("value", &zero), hr_at_type("dtype", (int)type)};
  hr_node_desc_t d = {.op = HR_STR("Const"), .attrs = attrs, .attr_count = 2, .controls = &g->xs[i].node, .control_count = 1};
  hr_status_t status = hr_expand_add(g->x, g->node, "zero", d, &node);
  hr_tensor_release(&zero);
  if (status) return status;
  parts[1] = (hr_value_t){node, 0};
  HR_TRY(hr_expand_add(g->x, g->node, "zeros", (hr_node_desc_t){.op = HR_STR("Fill"), .inputs = parts, .input_count = 2}, &node));
  *out = (hr_value_t){node, 0};
  return NULL;
}

static hr_status_t give_outputs(gradient_t* g, const hr_gradient_t* grads) {
  for (int32_t i = 0; i < g->x_count; ++i) {
    hr_value_t v = grads[i].dense;
    if (!v.node) HR_TRY(add_zeros(g, i, &v));
    HR_TRY(g->x->edit->replace(g->x, (hr_value_t){g->node, i}, v));
  }
  HR_TRY(g->x->edit->replace_control(g->x, g->node, g->x_count ? g->xs[0].node : NULL));
  return g->x->edit->removed(g->x, g->node);
}

/* The gradients given. One that is known to be shaped unlike its value may still broadcast, as in TensorFlow, so nothing is said of it. */
static hr_status_t take_upstream(gradient_t* g, const hr_value_t* ys, int32_t y_count, hr_value_t** out) {
  hr_value_t* dys = hr_arena_array(&g->x->arena, (size_t)y_count + 1, sizeof *dys);
  if (!dys) return hr_status_out_of_memory();
  for (int32_t i = 0; i < y_count; ++i) {
    const hr_pshape_t* both;
    dys[i] = g->node->inputs[g->x_count + i];
    hr_status_t status = hr_pshape_merge(&g->x->arena, hr_value_shape(ys[i]), hr_value_shape(dys[i]), &both);
    if (!status) continue;
    if (hr_status_code(status) != HR_INVALID_ARGUMENT) return status;
    hr_status_release(status);
    HR_TRY(add_like_input(g, "Identity", "dy", dys[i], &dys[i]));
    dys[i].node->shapes[0] = &hr_pshape_unknown;
  }
  *out = dys;
  return NULL;
}

static hr_status_t differentiate(gradient_t* g, const hr_func_attr_t* call, const hr_function_t* f, int32_t level) {
  hr_expand_t* x = g->x;
  hr_function_body_t body;
  hr_node_t* start = NULL;
  HR_TRY(take_inputs(g));
  HR_TRY(make_start(g, &start));
  hr_function_body_request_t r = {.function = f,
                                  .attrs = call->attrs,
                                  .attr_count = call->attr_count,
                                  .inputs = g->xs,
                                  .input_count = g->x_count,
                                  .device = g->node->device,
                                  .start = start,
                                  .start_constants = start != NULL};
  HR_TRY(hr_expand_name(x, g->node, "f", &r.prefix));
  HR_TRY(hr_function_body_add(x->g, &r, &x->arena, &body));
  HR_TRY(x->edit->added(x, g->node));
  if (body.output_count != g->node->input_count - g->x_count)
    return HR_ERROR(INVALID_ARGUMENT, "%d gradients are given for the function's %d outputs", (int)(g->node->input_count - g->x_count),
                    (int)body.output_count);
  hr_value_t* upstream = NULL;
  HR_TRY(take_upstream(g, body.outputs, body.output_count, &upstream));
  hr_gradient_t* grads = hr_arena_array(&x->arena, (size_t)g->x_count, sizeof *grads);
  if (!grads) return hr_status_out_of_memory();
  hr_grad_request_t q = {.ys = body.outputs,
                         .y_count = body.output_count,
                         .xs = g->xs,
                         .x_count = g->x_count,
                         .upstream = upstream,
                         .ends_at_xs = true};
  int64_t before = x->g->nodes.count;
  HR_TRY(hr_expand_name(x, g->node, "gradients", &q.prefix));
  HR_TRY(hr_grad_build(x->g, &q, grads));
  HR_TRY(tie_to_start(x->g, start, before));
  HR_TRY(x->edit->added(x, g->node));
  x->added += body.node_count + x->g->nodes.count - before;
  int32_t inner;
  HR_TRY(hr_expand_enter(x, f, level, &inner));
  HR_TRY(hr_expand_push(x, body.nodes, body.node_count, inner));
  HR_TRY(hr_expand_push(x, x->g->nodes.data + before, x->g->nodes.count - before, inner));
  return give_outputs(g, grads);
}

/* The same inputs and outputs, another function. */
static hr_status_t call_gradient_function(gradient_t* g, const hr_func_attr_t* of, hr_str_t name, int32_t level) {
  hr_expand_t* x = g->x;
  hr_node_t* n = g->node;
  hr_func_attr_t f = {name, of->attrs, of->attr_count};
  hr_node_desc_t d = {.inputs = n->inputs, .input_count = n->input_count, .controls = n->controls, .control_count = n->control_count};
  hr_node_t* call = NULL;
  const hr_function_t* function = NULL;
  int32_t* types = NULL;
  int count;
  HR_TRY(hr_expand_find(x, name, &function));
  HR_TRY(hr_function_types(function, f.attrs, f.attr_count, true, &x->arena, &types, &count));
  if (count != n->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "SymGrad expects to return %d (the inputs of '%.*s') but get %d from '%.*s' instead",
                    (int)n->output_count, HR_STR_ARG(of->name), count, HR_STR_ARG(name));
  HR_TRY(hr_expand_add_call(x, n, "g", &f, d, n->output_types, n->output_count, &call));
  for (int32_t i = 0; i < n->output_count; ++i) HR_TRY(x->edit->replace(x, (hr_value_t){n, i}, (hr_value_t){call, i}));
  HR_TRY(x->edit->replace_control(x, n, call));
  HR_TRY(x->edit->removed(x, n));
  return hr_expand_push(x, &call, 1, level);
}

hr_status_t hr_expand_gradient(hr_expand_t* x, const hr_expand_item_t* item) {
  const hr_func_attr_t* call = hr_attrs_find(&item->node->attrs, "f")->u.func;
  const hr_function_t* f = NULL;
  gradient_t g = {.x = x, .node = item->node, .x_count = item->node->output_count};
  HR_TRY(hr_expand_find(x, call->name, &f));
  if (g.x_count > item->node->input_count)
    return HR_ERROR(INVALID_ARGUMENT, "%d outputs for %d inputs", (int)g.x_count, (int)item->node->input_count);
  if (f->gradient.size) return call_gradient_function(&g, call, f->gradient, item->level);
  return hr_expand_may_enter(x, f, item->level) ? differentiate(&g, call, f, item->level) : NULL;
}
