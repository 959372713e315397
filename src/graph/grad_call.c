/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of y = f(x), of a branch or of a loop: f's body on the same x once more, under the gradient's scope, differentiated there.
 * The session joins what both compute (equal nodes become one; nodes that would not give the same twice are marked as twins,
 * pass_inline.c), so the body runs once where the call itself runs too. A function with a gradient of its own (GradientDef) has that called
 * with x and dy. */
#include "graph/grad_call.h"

#include "graph/copy.h"
#include "graph/effects.h"
#include "graph/expand.h"
#include "graph/shapes.h"
#include "op/node_class.h"

enum { CALL_MOST_DEPTH = 8 };

bool hr_grad_call_is_call(const hr_node_t* node) {
  const hr_op_def_t* def = node->attrs.def;
  return hr_str_is(def->name, "PartitionedCall") || hr_str_is(def->name, "StatefulPartitionedCall") || hr_lower_is_conditional(node) ||
         hr_function_of_node(node->graph, node);
}

/* --- editing the client's graph: only what was added for this gradient refers to what is replaced ------------------------------------- */
typedef struct {
  hr_value_t* ys; /* the outputs of the copy, as they are replaced */
  int32_t y_count;
} copy_t;

static hr_status_t edit_replace(hr_expand_t* x, hr_value_t from, hr_value_t to) {
  copy_t* c = x->owner;
  for (int32_t i = 0; i < c->y_count; ++i)
    if (c->ys[i].node == from.node && c->ys[i].index == from.index) c->ys[i] = to;
  return hr_graph_replace_value(x->g, from, to);
}

static hr_status_t edit_replace_control(hr_expand_t* x, hr_node_t* from, hr_node_t* to) {
  if (to) return hr_graph_replace_control(x->g, from, to);
  while (from->control_consumers.count > 0)
    hr_graph_remove_control(x->g, from->control_consumers.data[from->control_consumers.count - 1], from);
  return NULL;
}

static hr_status_t edit_must_run(hr_expand_t* x, hr_node_t* node) {
  (void)x, (void)node;
  return NULL;
}
static hr_status_t edit_added(hr_expand_t* x, const hr_node_t* like) {
  (void)x, (void)like;
  return NULL;
}
static hr_status_t edit_removed(hr_expand_t* x, hr_node_t* node) { /* stays, without readers */
  (void)x, (void)node;
  return NULL;
}
static bool edit_is_asked(const hr_expand_t* x, const hr_node_t* node) {
  (void)x, (void)node;
  return false;
}
static const hr_expand_edit_t graph_edit = {edit_replace, edit_replace_control, edit_must_run, edit_added, edit_removed, edit_is_asked};

/* --- the copy ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t add_named(hr_grad_pass_t* p, const hr_node_t* node, const char* rest, hr_node_desc_t d, hr_node_t** out) {
  HR_TRY(hr_grad_place_name(p, node, rest, &d.name));
  d.device = node->device;
  return hr_graph_add(p->g, &d, out);
}

/* The inputs, each by a node of its own: a value given twice has two gradients, and the walk within ends here. */
static hr_status_t take_inputs(hr_grad_pass_t* p, const hr_node_t* node, hr_value_t** out) {
  *out = hr_arena_array(&p->arena, (size_t)node->input_count, sizeof **out);
  if (!*out) return hr_status_out_of_memory();
  for (int32_t i = 0; i < node->input_count; ++i) {
    hr_node_t* x = NULL;
    hr_node_desc_t d = {.op = HR_STR("Identity"), .inputs = &node->inputs[i], .input_count = 1};
    HR_TRY(add_named(p, node, "x", d, &x));
    (*out)[i] = (hr_value_t){x, 0};
  }
  return NULL;
}

/* The same node on the copied inputs, marked as the twin of the one it is a copy of. */
static hr_status_t copy_node(hr_grad_pass_t* p, const hr_node_t* node, const hr_value_t* inputs, hr_node_t** out) {
  const hr_op_def_t* def = node->attrs.def;
  hr_named_attr_t* attrs = hr_arena_array(&p->arena, (size_t)def->attr_count + 1, sizeof *attrs);
  if (!attrs) return hr_status_out_of_memory();
  for (int i = 0; i < def->attr_count; ++i) attrs[i] = (hr_named_attr_t){def->attrs[i].name, node->attrs.values[i]};
  hr_str_t twin = hr_expand_twin_of(node);
  if (!twin.size) twin = node->name;
  attrs[def->attr_count] = hr_at(HR_EXPAND_TWIN, HR_AT_SCALAR(HR_ATTR_STRING, s, twin));
  hr_node_desc_t d = {.op = def->name,
                      .inputs = inputs,
                      .input_count = node->input_count,
                      .controls = node->controls,
                      .control_count = node->control_count,
                      .attrs = attrs,
                      .attr_count = def->attr_count + 1};
  return add_named(p, node, "f", d, out);
}

/* What a loop's body does or draws would happen once more here, and differ: there is no twin to join it with. Queue and table handles,
 * variables that are read: those are the same. */
static hr_status_t check_repeatable(hr_expand_t* x, int64_t first) {
  for (int64_t i = first; i < x->g->nodes.count; ++i) {
    const hr_node_t* n = x->g->nodes.data[i];
    bool effect;
    if (!n || hr_expand_twin_of(n).size || !(n->attrs.def->op->flags & HR_OP_IMPURE)) continue;
    if (!n->consumers.count && !n->control_consumers.count && n->output_count) continue; /* a call that was taken apart */
    HR_TRY(hr_effects_of_node(x->g, &x->effects, n, &effect));
    if (effect || hr_effects_is_random(n))
      return HR_ERROR(UNIMPLEMENTED, "the gradient of a loop whose body changes something or draws random numbers ('%s', %.*s)",
                      n->name.data, HR_STR_ARG(n->attrs.def->name));
  }
  return NULL;
}

static hr_status_t expand_copy(hr_grad_pass_t* p, hr_node_t* copy, copy_t* c) {
  hr_expand_t x;
  hr_expand_init(&x, p->g, &graph_edit, c);
  x.lowers = true;
  hr_status_t status = hr_expand_push(&x, &copy, 1, -1);
  int64_t first = p->g->nodes.count;
  if (!status) status = hr_expand_run(&x);
  if (!status) status = check_repeatable(&x, first);
  hr_expand_deinit(&x);
  return status;
}

/* --- giving ------------------------------------------------------------------------------------------------------------------------ */
static hr_status_t make_request(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node, copy_t* copy, const hr_value_t* xs,
                                hr_grad_request_t* q) {
  hr_value_t* upstream = hr_arena_array(&p->arena, (size_t)node->output_count, sizeof *upstream);
  if (!upstream) return hr_status_out_of_memory();
  *q = (hr_grad_request_t){.xs = xs,
                           .x_count = node->input_count,
                           .keep_slices = true,
                           .ends_at_xs = true,
                           .override = p->request->override,
                           .override_arg = p->request->override_arg,
                           .call_depth = p->request->call_depth + 1};
  int32_t kept = 0;
  for (int32_t i = 0; i < node->output_count; ++i) {
    if (!hr_grad_has_upstream(&c->base, i)) continue;
    upstream[kept] = hr_grad_upstream(&c->base, i);
    copy->ys[kept++] = copy->ys[i];
  }
  q->ys = copy->ys;
  q->y_count = kept;
  q->upstream = upstream;
  return hr_grad_place_name(p, node, "b", &q->prefix);
}

static void give_all(hr_grad_call_t* c, const hr_node_t* node, const hr_gradient_t* grads) {
  for (int32_t i = 0; i < node->input_count; ++i) {
    if (!hr_grad_wanted(&c->base, i)) continue;
    if (grads[i].is_slices)
      hr_grad_give_slices(&c->base, i, grads[i].indices, grads[i].values, grads[i].dense_shape);
    else if (grads[i].dense.node)
      hr_grad_give(&c->base, i, grads[i].dense);
  }
}

static hr_status_t differentiate(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node) {
  hr_value_t* xs = NULL;
  hr_node_t* copy = NULL;
  hr_grad_request_t q;
  copy_t outputs = {.y_count = node->output_count, .ys = hr_arena_array(&p->arena, (size_t)node->output_count, sizeof(hr_value_t))};
  hr_gradient_t* grads = hr_arena_array(&p->arena, (size_t)node->input_count, sizeof *grads);
  if (!grads || !outputs.ys) return hr_status_out_of_memory();
  if (p->request->call_depth >= CALL_MOST_DEPTH)
    return HR_ERROR(UNIMPLEMENTED, "the gradient of a function that calls itself, or of calls that stand %d deep", CALL_MOST_DEPTH);
  HR_TRY(take_inputs(p, node, &xs));
  HR_TRY(copy_node(p, node, xs, &copy));
  for (int32_t i = 0; i < node->output_count; ++i) outputs.ys[i] = (hr_value_t){copy, i};
  HR_TRY(expand_copy(p, copy, &outputs));
  HR_TRY(make_request(p, c, node, &outputs, xs, &q));
  for (int32_t i = 0; i < q.y_count; ++i)
    if (q.ys[i].node == copy)
      return HR_ERROR(UNIMPLEMENTED, "the gradient of a function that cannot be put in the call's place (recursion)");
  HR_TRY(hr_grad_build(p->g, &q, grads));
  give_all(c, node, grads);
  return NULL;
}

/* --- GradientDef ------------------------------------------------------------------------------------------------------------------- */
static hr_status_t call_own(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node, const hr_function_t* f, const hr_named_attr_t* attrs,
                            int32_t attr_count) {
  hr_func_attr_t name = {f->gradient, attrs, attr_count};
  int32_t count = node->input_count + node->output_count;
  hr_value_t* inputs = hr_arena_array(&p->arena, (size_t)count, sizeof *inputs);
  int32_t* types = hr_arena_array(&p->arena, (size_t)node->input_count, sizeof *types);
  hr_node_t* call = NULL;
  if (!inputs || !types) return hr_status_out_of_memory();
  for (int32_t i = 0; i < node->input_count; ++i) {
    inputs[i] = node->inputs[i];
    types[i] = (int32_t)hr_dtype_base(node->input_types[i]);
  }
  for (int32_t i = 0; i < node->output_count; ++i) inputs[node->input_count + i] = hr_grad_upstream(&c->base, i);
  if (c->base.failure) return NULL;
  hr_named_attr_t call_attrs[] = {hr_at("f", HR_AT_SCALAR(HR_ATTR_FUNC, func, &name)), hr_at_types("Tout", types, node->input_count)};
  hr_node_desc_t d = {
      .op = HR_STR("StatefulPartitionedCall"), .inputs = inputs, .input_count = count, .attrs = call_attrs, .attr_count = 2};
  HR_TRY(add_named(p, node, "g", d, &call));
  for (int32_t i = 0; i < node->input_count; ++i)
    if (hr_grad_wanted(&c->base, i)) hr_grad_give(&c->base, i, (hr_value_t){call, i});
  return NULL;
}

/* --- in a loop ------------------------------------------------------------------------------------------------------------------------ */
/* The backward loop has values of the forward one only where an emitted node reads them; so the gradient is one node there, which sessions
 * take apart. */
static hr_status_t emit_symbolic(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node, const hr_function_t* f,
                                 const hr_named_attr_t* attrs, int32_t attr_count) {
  hr_func_attr_t name = {f ? f->name : HR_STR(""), attrs, attr_count};
  int32_t count = node->input_count + node->output_count;
  hr_value_t* inputs = hr_arena_array(&p->arena, (size_t)count, sizeof *inputs);
  int32_t* types = hr_arena_array(&p->arena, (size_t)node->input_count, sizeof *types);
  if (!inputs || !types) return hr_status_out_of_memory();
  if (!f) return HR_ERROR(UNIMPLEMENTED, "the gradient of a branch or loop of functions within a loop of nodes");
  for (int32_t i = 0; i < node->input_count; ++i) {
    inputs[i] = hr_grad_input(&c->base, i);
    types[i] = (int32_t)hr_dtype_base(node->input_types[i]);
    if (types[i] != HR_RESOURCE) continue;
    const hr_handle_info_t* held = inputs[i].node->handles ? &inputs[i].node->handles[inputs[i].index] : NULL;
    if (held) types[i] = (int32_t)held->dtype;
    if (hr_grad_wanted(&c->base, i) && (!held || held->dtype == HR_DTYPE_INVALID))
      return HR_ERROR(UNIMPLEMENTED, "the gradient of a handle of which nothing is known, which a function reads within a loop");
  }
  for (int32_t i = 0; i < node->output_count; ++i) inputs[node->input_count + i] = hr_grad_upstream(&c->base, i);
  hr_named_attr_t call_attrs[] = {hr_at("f", HR_AT_SCALAR(HR_ATTR_FUNC, func, &name)), hr_at_types("Tout", types, node->input_count)};
  hr_value_t out = hr_emit(&c->base, "SymbolicGradient", count, inputs, 2, call_attrs);
  for (int32_t i = 0; i < node->input_count && out.node; ++i)
    if (hr_grad_wanted(&c->base, i)) hr_grad_give(&c->base, i, hr_emit_nth(out, i));
  return NULL;
}

static bool stands_in_loop(const hr_grad_pass_t* p, const hr_node_t* node) {
  return p->has_loops && node->id < p->info_count && p->frames.of_node[node->id] > 0;
}

hr_status_t hr_grad_call(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node) {
  hr_expand_t x;
  const hr_function_t* f = NULL;
  const hr_named_attr_t* attrs = NULL;
  int32_t attr_count;
  hr_expand_init(&x, p->g, &graph_edit, NULL);
  hr_status_t status = hr_expand_callee(&x, node, &f, &attrs, &attr_count);
  if (!status && stands_in_loop(p, node))
    status = emit_symbolic(p, c, node, f, attrs, attr_count);
  else if (!status && f && f->gradient.size)
    status = call_own(p, c, node, f, attrs, attr_count);
  else if (!status)
    status = differentiate(p, c, node);
  hr_expand_deinit(&x);
  return status;
}
