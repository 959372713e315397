/* SPDX-License-Identifier: Apache-2.0 */
/* The backward walk. Nodes between the xs and the ys are visited consumers first, so that all that flows into a node's outputs has
 * arrived when its gradient is called. Each value's gradients are merged when first read. A gradient that leads to no x is never
 * emitted; ops registered as not differentiable end the flow; an op without a gradient on a path is NOT_FOUND. On failure nodes
 * already added stay in the graph, without effect. */
#include "graph/grad.h"
#include <stdio.h>
#include "graph/grad_call.h"
#include "graph/grad_pass.h"
#include "op/node_class.h"

/* --- the scope's name -------------------------------------------------------------------------------------------------------------- */
/* Of "gradients_<k>/..." the number after k (k is 0 without a number); 0 for other names. */
static int64_t scope_after(hr_str_t name) {
  const hr_str_t stem = HR_STR("gradients");
  int64_t slash = hr_str_find(name, '/'), k;
  if (slash < 0 || !hr_str_has_prefix(name, stem)) return 0;
  hr_str_t number = hr_str_slice(name, stem.size, (size_t)slash);
  if (number.size == 0) return 1;
  return number.data[0] == '_' && hr_str_parse_i64(hr_str_slice(number, 1, number.size), &k) ? k + 1 : 0;
}

static hr_status_t choose_prefix(hr_grad_pass_t* p) {
  hr_str_t asked = p->request->prefix;
  p->prefix = asked;
  if (asked.size && hr_graph_find(p->g, asked))
    return HR_ERROR(INVALID_ARGUMENT, "gradients cannot go under '%.*s': a node has that name", HR_STR_ARG(asked));
  if (asked.size) return NULL;
  int64_t next = 0;
  for (int64_t i = 0; i < p->g->nodes.count; ++i) {
    int64_t after = p->g->nodes.data[i] ? scope_after(p->g->nodes.data[i]->name) : 0;
    if (after > next) next = after;
  }
  char text[48];
  snprintf(text, sizeof text, next ? "gradients_%lld" : "gradients", (long long)next);
  return hr_arena_str(&p->arena, hr_str(text), &p->prefix) ? NULL : hr_status_out_of_memory();
}

/* The scope's name where that was made unique; where it was asked for, the graph's size now makes it so. */
static hr_status_t choose_source(hr_grad_pass_t* p) {
  hr_strbuf_t text;
  if (!p->request->prefix.size) return p->source = p->prefix, NULL;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%.*s@%lld", HR_STR_ARG(p->prefix), (long long)p->g->nodes.count);
  bool kept = !text.failed && hr_arena_str(&p->arena, hr_strbuf_view(&text), &p->source);
  hr_strbuf_deinit(&text);
  return kept ? NULL : hr_status_out_of_memory();
}

/* --- what flows into the ys -------------------------------------------------------------------------------------------------------- */
static hr_value_t emit_ones(hr_grad_ctx_t* g, hr_value_t y) {
  hr_value_t one = hr_emit_const_like(g, y, 1);
  return hr_grad_shape(g, y)->rank == 0 ? one : hr_emit2(g, "Fill", hr_emit_shape(g, y), one);
}

static hr_status_t seed_with_ones(hr_grad_pass_t* p, hr_value_t y) {
  hr_dtype_t type = hr_dtype_base(hr_value_type(y));
  if (hr_dtype_in(type, HR_M_COMPLEX))
    return HR_ERROR(INVALID_ARGUMENT, "the gradient of the complex value '%s:%d' must be given (ones are no default)", y.node->name.data,
                    (int)y.index);
  if (!hr_dtype_in(type, HR_M_REAL)) return NULL;
  hr_grad_call_t c;
  hr_grad_emit_begin(&c, p, NULL);
  hr_value_t ones = emit_ones(&c.base, y);
  if (c.base.failure) return c.base.failure;
  return hr_grad_accumulate_dense(p, y, ones);
}

static hr_status_t check_upstream(const hr_grad_pass_t* p, hr_value_t given, int32_t i) {
  if (given.node->graph == p->g && given.index >= 0 && given.index < given.node->output_count) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "upstream gradient %d is output %d of node '%s', which this graph does not have", (int)i,
                  (int)given.index, given.node->name.data);
}

static hr_status_t seed_all(hr_grad_pass_t* p) {
  const hr_grad_request_t* r = p->request;
  for (int32_t i = 0; i < r->y_count; ++i) {
    hr_value_t given = r->upstream ? r->upstream[i] : HR_NO_VALUE;
    if (given.node) HR_TRY(check_upstream(p, given, i));
    if (!hr_grad_paths_lead_to_x(p, r->ys[i])) continue;
    hr_status_t status = given.node ? hr_grad_accumulate_dense(p, r->ys[i], given) : seed_with_ones(p, r->ys[i]);
    if (status) return hr_status_note(status, "y %d: ", (int)i);
  }
  return NULL;
}

/* --- one node ---------------------------------------------------------------------------------------------------------------------- */
/* Merges what flowed into the outputs; false when nothing did. */
static hr_status_t gather_upstream(hr_grad_pass_t* p, hr_node_t* node, bool* out_any) {
  *out_any = false;
  for (int32_t i = 0; i < node->output_count; ++i) {
    hr_value_t v = {node, i};
    hr_grad_sum_t* sum = hr_grad_accumulate_sum(p, v);
    if (!sum || hr_grad_paths_is_stop(p, v)) continue;
    HR_TRY(hr_grad_accumulate_merge(p, sum));
    if (hr_grad_paths_is_trainable(hr_value_type(v))) *out_any = true;
  }
  return NULL;
}

/* Identity hands on what came, slices too. */
static hr_status_t pass_through(hr_grad_pass_t* p, hr_node_t* node) {
  const hr_grad_part_t* part = hr_grad_accumulate_sum(p, (hr_value_t){node, 0})->first;
  if (part->is_slices) return hr_grad_accumulate_slices(p, node->inputs[0], part->indices, part->values, part->dense_shape);
  return hr_grad_accumulate_dense(p, node->inputs[0], part->dense);
}

static hr_status_t call_own_gradient(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node) {
  const hr_op_def_t* def = node->attrs.def;
  if (hr_grad_paths_is_pop(node)) return HR_ERROR(UNIMPLEMENTED, "a second-order gradient through a while loop");
  if (hr_grad_is_class(node, HR_NODE_SWITCH)) return hr_grad_cond_switch(c, node), NULL;
  if (hr_grad_is_class(node, HR_NODE_MERGE)) return hr_grad_cond_merge(c, node), NULL;
  if (def->node_class == HR_NODE_IDENTITY) return pass_through(p, node);
  if (hr_grad_call_is_call(node)) return hr_grad_call(p, c, node);
  hr_grad_fn_t grad = hr_registry_grad(def);
  if (grad == hr_grad_none) return NULL;
  if (!grad)
    return HR_ERROR(NOT_FOUND, "no gradient defined for operation '%.*s' (op type: %.*s)", HR_STR_ARG(node->name), HR_STR_ARG(def->name));
  grad(&c->base);
  return NULL;
}

static hr_status_t call_gradient(hr_grad_pass_t* p, hr_node_t* node) {
  bool handled = false;
  hr_status_t status = NULL;
  hr_grad_call_t c;
  hr_grad_emit_begin(&c, p, node);
  if (p->request->override) status = p->request->override(p->request->override_arg, &c.base, node, &handled);
  if (!status && !handled && !c.base.failure) status = call_own_gradient(p, &c, node);
  hr_status_merge(&status, c.base.failure);
  if (!status || (p->request->call_depth > 0 && hr_grad_call_is_call(node))) return status; /* the outermost call and what is at fault */
  return hr_status_note(status, "gradient of node '%.*s' (%.*s): ", HR_STR_ARG(node->name), HR_STR_ARG(node->attrs.def->name));
}

static hr_status_t visit_node(hr_grad_pass_t* p, hr_node_t* node) {
  bool any = false;
  if (!p->info[node->id].is_wanted) return NULL;
  HR_TRY(gather_upstream(p, node, &any));
  return any ? call_gradient(p, node) : NULL;
}

/* The nodes that are a loop's machinery, not its body. */
static bool is_machinery(const hr_node_t* n) {
  return hr_grad_is_class(n, HR_NODE_ENTER) || hr_grad_is_class(n, HR_NODE_NEXT_ITERATION) || hr_grad_is_class(n, HR_NODE_LOOP_COND) ||
         hr_grad_is_loop_switch(n) || hr_grad_is_loop_merge(n);
}

hr_status_t hr_grad_walk_items(hr_grad_pass_t* p, int32_t frame) {
  const hr_grad_loop_t* l = &p->loops[frame];
  for (int64_t i = l->items.count - 1; i >= 0; --i) {
    hr_node_t* n = l->items.data[i];
    if (hr_grad_is_class(n, HR_NODE_EXIT))
      HR_TRY(hr_grad_while_build(p, p->frames.of_node[n->id]));
    else if (!is_machinery(n))
      HR_TRY(visit_node(p, n));
  }
  return NULL;
}

/* What flowed into the values of the loop in which the ys stand leaves by its constant Enters as it is. */
static hr_status_t leave_base(hr_grad_pass_t* p, int32_t frame) {
  const hr_grad_loop_t* l = &p->loops[frame];
  for (int64_t i = 0; i < l->enters.count; ++i) {
    hr_node_t* n = l->enters.data[i];
    bool any = false;
    if (!hr_attrs_bool(&n->attrs, "is_constant")) continue;
    HR_TRY(gather_upstream(p, n, &any));
    if (any) HR_TRY(pass_through(p, n));
  }
  return NULL;
}

static hr_status_t walk_all(hr_grad_pass_t* p) {
  if (!p->has_loops) {
    for (int64_t i = p->order.count - 1; i >= 0; --i) HR_TRY(visit_node(p, p->order.data[i]));
    return NULL;
  }
  for (int32_t frame = p->base->frame;; frame = p->frames.frames.data[frame].parent) {
    HR_TRY(hr_grad_walk_items(p, frame));
    if (frame == 0) return NULL;
    HR_TRY(leave_base(p, frame));
  }
}

/* --- results ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t bring_result(hr_grad_pass_t* p, hr_value_t v, hr_value_t* out) {
  if (p->has_loops) return hr_grad_place_bring(p, v, p->base, out);
  *out = v;
  return NULL;
}

/* A value within a loop has many gradients, one in each iteration; they cannot be had outside. */
static hr_status_t check_x_place(const hr_grad_pass_t* p, hr_value_t x) {
  if (!p->has_loops) return NULL;
  const hr_grad_place_t *home = hr_grad_place_home(p, x), *around = p->base;
  while (around && around != home) around = around->parent;
  if (around) return NULL;
  return HR_ERROR(UNIMPLEMENTED, "x '%s:%d' stands in a loop that the ys do not stand in", x.node->name.data, (int)x.index);
}

static hr_status_t collect_result(hr_grad_pass_t* p, hr_value_t x, hr_gradient_t* out) {
  *out = (hr_gradient_t){0};
  hr_grad_sum_t* sum = hr_grad_accumulate_sum(p, x);
  if (!sum) return NULL;
  HR_TRY(check_x_place(p, x));
  HR_TRY(hr_grad_accumulate_merge(p, sum));
  hr_grad_part_t* part = sum->first;
  if (part->is_slices && p->request->keep_slices) {
    *out = (hr_gradient_t){.is_slices = true};
    HR_TRY(bring_result(p, part->indices, &out->indices));
    HR_TRY(bring_result(p, part->values, &out->values));
    return bring_result(p, part->dense_shape, &out->dense_shape);
  }
  hr_grad_call_t c;
  hr_grad_emit_begin(&c, p, NULL);
  HR_TRY(hr_grad_accumulate_densify(&c, part));
  return bring_result(p, part->dense, &out->dense);
}

static hr_status_t run_pass(hr_grad_pass_t* p, hr_gradient_t* out) {
  p->info_count = p->g->nodes.count;
  p->info = hr_arena_array(&p->arena, (size_t)p->info_count, sizeof *p->info);
  if (!p->info) return hr_status_out_of_memory();
  HR_TRY(choose_prefix(p));
  HR_TRY(choose_source(p));
  HR_TRY(hr_grad_paths_find(p));
  HR_TRY(seed_all(p));
  HR_TRY(walk_all(p));
  for (int32_t i = 0; i < p->request->x_count; ++i) HR_TRY(collect_result(p, p->request->xs[i], &out[i]));
  return NULL;
}

hr_status_t hr_grad_build(hr_graph_t* g, const hr_grad_request_t* request, hr_gradient_t* out) {
  hr_grad_pass_t pass = {.g = g, .request = request};
  hr_arena_init(&pass.arena);
  hr_status_t status = run_pass(&pass, out);
  hr_vec_deinit(&pass.order);
  hr_grad_place_deinit(&pass);
  hr_arena_deinit(&pass.arena);
  return status;
}
