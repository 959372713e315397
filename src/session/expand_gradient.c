/* SPDX-License-Identifier: Apache-2.0 */
/* SymbolicGradient(x..., dy...) of f becomes f's body and its gradient; or a call of the gradient function that a GradientDef names. An
 * input that no gradient flows into gets zeros. */
#include "graph/grad.h"
#include "session/expand.h"

typedef struct {
  hr_expand_t* x;
  hr_node_t* node;
  hr_str_t scope;
  hr_value_t* xs; /* the function's inputs, each by a node of its own: one value given twice has two gradients */
  int32_t x_count;
} gradient_t;

static hr_status_t scope_make(gradient_t* g, const char* rest, hr_str_t* out) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s/%s", g->node->name.data, rest);
  bool made = !text.failed && hr_arena_str(&g->x->arena, hr_strbuf_view(&text), out);
  hr_strbuf_deinit(&text);
  return made ? NULL : hr_status_out_of_memory();
}

static hr_status_t add_like_input(gradient_t* g, const char* op, hr_value_t v, hr_value_t* out) {
  hr_node_t* node = NULL;
  hr_node_desc_t d = {.op = hr_str(op), .device = g->node->device, .inputs = &v, .input_count = 1, .controls = g->node->controls,
                      .control_count = g->node->control_count};
  HR_TRY(scope_make(g, hr_str_is(hr_str(op), "Identity") ? "x" : "zeros", &d.name));
  HR_TRY(hr_program_add(g->x->p, &d, g->node, &node));
  node->shapes[0] = hr_value_shape(v);
  *out = (hr_value_t){node, 0};
  return NULL;
}

static hr_status_t take_inputs(gradient_t* g) {
  g->xs = hr_arena_array(&g->x->arena, (size_t)g->x_count + 1, sizeof *g->xs);
  if (!g->xs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < g->x_count; ++i) HR_TRY(add_like_input(g, "Identity", g->node->inputs[i], &g->xs[i]));
  return NULL;
}

static hr_status_t give_outputs(gradient_t* g, const hr_gradient_t* grads) {
  for (int32_t i = 0; i < g->x_count; ++i) {
    hr_value_t v = grads[i].dense;
    if (!v.node) HR_TRY(add_like_input(g, "ZerosLike", g->xs[i], &v));
    HR_TRY(hr_program_replace(g->x->p, (hr_value_t){g->node, i}, v));
  }
  HR_TRY(hr_program_replace_control(g->x->p, g->node, NULL));
  return hr_graph_remove(g->x->p->graph, g->node);
}

static hr_status_t differentiate(gradient_t* g, const hr_func_attr_t* call, const hr_function_t* f, int32_t level) {
  hr_program_t* p = g->x->p;
  hr_function_body_t body;
  hr_function_body_request_t r = {.function = f, .attrs = call->attrs, .attr_count = call->attr_count, .inputs = g->xs,
                                  .input_count = g->x_count, .device = g->node->device};
  HR_TRY(take_inputs(g));
  HR_TRY(scope_make(g, "f", &r.prefix));
  HR_TRY(hr_function_body_add(p->graph, &r, &g->x->arena, &body));
  HR_TRY(hr_program_adopt(p, g->node));
  if (body.output_count != g->node->input_count - g->x_count)
    return HR_ERROR(INVALID_ARGUMENT, "%d gradients are given for the function's %d outputs", (int)(g->node->input_count - g->x_count),
                    (int)body.output_count);
  hr_gradient_t* grads = hr_arena_array(&g->x->arena, (size_t)g->x_count + 1, sizeof *grads);
  if (!grads) return hr_status_out_of_memory();
  hr_grad_request_t q = {.ys = body.outputs, .y_count = body.output_count, .xs = g->xs, .x_count = g->x_count,
                         .upstream = g->node->inputs + g->x_count};
  int64_t before = p->graph->nodes.count;
  HR_TRY(scope_make(g, "gradients", &q.prefix));
  HR_TRY(hr_grad_build(p->graph, &q, grads));
  HR_TRY(hr_program_adopt(p, g->node));
  g->x->added += body.node_count + p->graph->nodes.count - before;
  int32_t inner = 0;
  HR_TRY(hr_expand_enter(g->x, f, level, &inner));
  HR_TRY(hr_expand_push_calls(g->x, body.nodes, body.node_count, inner));
  HR_TRY(hr_expand_push_calls(g->x, p->graph->nodes.data + before, (int32_t)(p->graph->nodes.count - before), inner));
  return give_outputs(g, grads);
}

/* The same inputs and outputs, another function. */
static hr_status_t call_gradient_function(gradient_t* g, const hr_func_attr_t* of, hr_str_t name, int32_t level) {
  hr_node_t* n = g->node;
  hr_func_attr_t f = {name, of->attrs, of->attr_count};
  hr_named_attr_t attrs[] = {hr_at("f", HR_AT_SCALAR(HR_ATTR_FUNC, func, &f)), hr_at_types("Tin", n->input_types, n->input_count),
                             hr_at_types("Tout", n->output_types, n->output_count)};
  hr_node_desc_t d = {.op = HR_STR("PartitionedCall"), .device = n->device, .inputs = n->inputs, .input_count = n->input_count,
                      .controls = n->controls, .control_count = n->control_count, .attrs = attrs, .attr_count = 3};
  hr_node_t* call = NULL;
  HR_TRY(scope_make(g, "g", &d.name));
  HR_TRY(hr_program_add(g->x->p, &d, n, &call));
  for (int32_t i = 0; i < n->output_count; ++i) HR_TRY(hr_program_replace(g->x->p, (hr_value_t){n, i}, (hr_value_t){call, i}));
  HR_TRY(hr_program_replace_control(g->x->p, n, call));
  HR_TRY(hr_graph_remove(g->x->p->graph, n));
  return hr_expand_push_calls(g->x, &call, 1, level);
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
