/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of calls, and bodies in the place of calls. A call node `c` of function f becomes f's nodes, named c/..., between a start and
 * an end:
 *
 *   start (c/input_control):  waits for what c waits for; the body's first nodes wait for it
 *   end (c/output_control):   waits for the outputs and for all that must run; whoever waited for c waits for it
 *
 * Both are there only if needed. Where the body does something beyond its outputs (hr_effects_of_node), readers of an output wait for that
 * too: an output is there when the call is over. Devices: a node of the body that asks for none gets the call's. */
#include "graph/expand.h"

#include "graph/copy.h"
#include "graph/effects.h"
#include "graph/shapes.h"
#include "op/node_class.h"
#include "wire/cursor.h"

/* --- what is a call ---------------------------------------------------------------------------------------------------------------- */
static bool node_has_function_attr(const hr_node_t* n) {
  const hr_str_t op = n->attrs.def->name;
  return hr_str_is(op, "PartitionedCall") || hr_str_is(op, "StatefulPartitionedCall");
}

static bool node_is_gradient(const hr_node_t* n) { return hr_str_is(n->attrs.def->name, "SymbolicGradient"); }

hr_status_t hr_expand_find(const hr_expand_t* x, hr_str_t name, const hr_function_t** out) {
  *out = hr_function_find(x->g, name);
  return *out ? NULL : HR_ERROR(INVALID_ARGUMENT, "the library has no function '%.*s'", HR_STR_ARG(hr_str_slice(name, 0, 300)));
}

/* A message of which nothing is read here. */
static hr_status_t check_message(const hr_node_t* n, const char* attr, const char* message) {
  const hr_attr_t* value = hr_attrs_find(&n->attrs, attr);
  if (!value || value->kind != HR_ATTR_STRING) return NULL;
  hr_cursor_t c = hr_cursor_make(value->u.s.data, value->u.s.size);
  hr_field_t field;
  while (!hr_cursor_is_done(&c))
    HR_TRY(hr_status_note(hr_cursor_next(&c, &field), "Unable to parse %s string as %s: ", attr, message));
  return NULL;
}

static hr_status_t check_settings(const hr_node_t* n) {
  HR_TRY(check_message(n, "config", "a RewriterConfig"));
  HR_TRY(check_message(n, "config_proto", "a ConfigProto"));
  hr_str_t type = hr_attrs_str(&n->attrs, "executor_type");
  if (type.size == 0 || hr_str_is(type, "DEFAULT") || hr_str_is(type, "SINGLE_THREADED_EXECUTOR")) return NULL;
  return HR_ERROR(NOT_FOUND, "no executor is of the type '%.*s' (\"\", DEFAULT and SINGLE_THREADED_EXECUTOR are)", HR_STR_ARG(type));
}

hr_status_t hr_expand_callee(hr_expand_t* x, const hr_node_t* node, const hr_function_t** out, const hr_named_attr_t** out_attrs,
                             int32_t* out_attr_count) {
  *out = NULL;
  if (node_has_function_attr(node)) {
    const hr_func_attr_t* f = hr_attrs_find(&node->attrs, "f")->u.func;
    HR_TRY(check_settings(node));
    HR_TRY(hr_expand_find(x, f->name, out));
    *out_attrs = f->attrs;
    *out_attr_count = f->attr_count;
    return NULL;
  }
  *out = hr_function_of_node(x->g, node);
  if (!*out) return NULL;
  const hr_op_def_t* def = node->attrs.def;
  hr_named_attr_t* attrs = hr_arena_array(&x->arena, (size_t)def->attr_count, sizeof *attrs);
  if (!attrs) return hr_status_out_of_memory();
  for (int i = 0; i < def->attr_count; ++i) attrs[i] = (hr_named_attr_t){def->attrs[i].name, node->attrs.values[i]};
  *out_attrs = attrs;
  *out_attr_count = def->attr_count;
  return NULL;
}

static bool node_may_be_call(const hr_expand_t* x, const hr_node_t* n) {
  if (!(n->attrs.def->op->flags & HR_OP_IMPURE)) return false; /* all that call functions count as impure: nearly every node ends here */
  return node_has_function_attr(n) || node_is_gradient(n) || hr_lower_is_conditional(n) || hr_function_of_node(x->g, n);
}

hr_status_t hr_expand_push(hr_expand_t* x, hr_node_t* const* nodes, int64_t count, int32_t level) {
  for (int64_t i = 0; i < count; ++i) {
    if (!nodes[i]) continue;
    int class = nodes[i]->attrs.def->node_class;
    if (hr_node_class_is_control_flow(class)) x->has_flow = true;
    if (class == HR_NODE_ORDINARY && node_may_be_call(x, nodes[i])) HR_TRY(hr_vec_push(&x->items, ((hr_expand_item_t){nodes[i], level})));
  }
  return NULL;
}

bool hr_expand_may_enter(const hr_expand_t* x, const hr_function_t* f, int32_t level) {
  if (level >= 0 && x->levels.data[level].depth >= HR_EXPAND_MOST_DEPTH) return false;
  if (x->added + f->node_count > HR_EXPAND_MOST_NODES && level >= 0) return false;
  for (; level >= 0; level = x->levels.data[level].parent)
    if (x->levels.data[level].function == f) return false;
  return true;
}

hr_status_t hr_expand_enter(hr_expand_t* x, const hr_function_t* f, int32_t level, int32_t* out_level) {
  *out_level = (int32_t)x->levels.count;
  return hr_vec_push(&x->levels, ((hr_expand_level_t){f, level, level < 0 ? 1 : x->levels.data[level].depth + 1}));
}

/* --- adding nodes ---------------------------------------------------------------------------------------------------------------- */
hr_str_t hr_expand_twin_of(const hr_node_t* n) {
  const hr_attr_t* twin = n->attrs.extra_count ? hr_attrs_find(&n->attrs, HR_EXPAND_TWIN) : NULL;
  return twin && twin->kind == HR_ATTR_STRING && !twin->is_list ? twin->u.s : HR_STR("");
}

hr_status_t hr_expand_name(hr_expand_t* x, const hr_node_t* node, const char* rest, hr_str_t* out) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s/%s", node->name.data, rest);
  bool made = !text.failed && hr_arena_str(&x->arena, hr_strbuf_view(&text), out);
  hr_strbuf_deinit(&text);
  return made ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_expand_add(hr_expand_t* x, const hr_node_t* like, const char* rest, hr_node_desc_t desc, hr_node_t** out) {
  HR_TRY(hr_expand_name(x, like, rest, &desc.name));
  HR_TRY(hr_graph_unique_name(x->g, desc.name, &desc.name));
  desc.device = like->device;
  desc.skip_shapes = true;
  HR_TRY(hr_graph_add(x->g, &desc, out));
  if (!desc.allow_missing_inputs) HR_TRY(hr_shapes_try(x->g, *out));
  ++x->added;
  return x->edit->added(x, like);
}

hr_status_t hr_expand_add_call(hr_expand_t* x, const hr_node_t* like, const char* rest, const hr_func_attr_t* f, hr_node_desc_t desc,
                               const int32_t* output_types, int32_t output_count, hr_node_t** out) {
  hr_named_attr_t attrs[] = {hr_at("f", HR_AT_SCALAR(HR_ATTR_FUNC, func, f)), hr_at_types("Tout", output_types, output_count),
                              hr_at(HR_EXPAND_TWIN, HR_AT_SCALAR(HR_ATTR_STRING, s, HR_STR("")))};
  hr_str_t twin = x->drops_twins ? HR_STR("") : hr_expand_twin_of(like);
  desc.op = HR_STR("StatefulPartitionedCall");
  desc.attrs = attrs;
  desc.attr_count = twin.size ? 3 : 2;
  if (twin.size) { /* what becomes of it is named like->name/rest/...: its twin likewise */
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    hr_strbuf_format(&text, "%.*s/%s", HR_STR_ARG(twin), rest);
    bool made = !text.failed && hr_arena_str(&x->arena, hr_strbuf_view(&text), &attrs[2].value.u.s);
    hr_strbuf_deinit(&text);
    if (!made) return hr_status_out_of_memory();
  }
  return hr_expand_add(x, like, rest, desc, out);
}

bool hr_expand_is_invariant(hr_value_t v) {
  while (v.node->attrs.def->node_class == HR_NODE_IDENTITY && v.node->control_count == 0) v = v.node->inputs[0];
  return hr_node_class_is_enter(v.node->attrs.def->node_class) && hr_attrs_bool(&v.node->attrs, "is_constant");
}

hr_node_t* hr_expand_gate(const hr_node_t* n) {
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!hr_expand_is_invariant(n->inputs[i])) return n->inputs[i].node;
  return NULL;
}

/* --- one call ---------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_expand_t* x;
  hr_node_t* call;
  hr_function_body_t body;
  hr_node_t* start;        /* NULL: none needed */
  HR_VEC(hr_node_t*) ends; /* what must have run when the call is over, beside the outputs */
  uint8_t* in_flow;        /* by place in body.nodes: within a branch or a loop of the body */
} inline_t;

static hr_status_t add_no_op(inline_t* c, const char* name, hr_node_t* const* waits, int32_t count, hr_node_t** out) {
  return hr_expand_add(c->x, c->call, name, (hr_node_desc_t){.op = HR_STR("NoOp"), .controls = waits, .control_count = count}, out);
}

/* In a graph with branches or loops the body's constants belong where the call is, also if only a data input says where. */
static hr_status_t make_start(inline_t* c) {
  hr_node_t* const* waits = c->call->controls;
  int32_t count = c->call->control_count;
  hr_node_t* first = c->x->has_flow ? hr_expand_gate(c->call) : NULL;
  if (!first && c->call->input_count) first = c->call->inputs[0].node;
  if (count == 0 && c->x->has_flow && first) {
    waits = &first;
    count = 1;
  }
  return count ? add_no_op(c, "input_control", waits, count, &c->start) : NULL;
}

static hr_status_t find_flow(inline_t* c) {
  hr_map_t place;
  hr_status_t status = NULL;
  c->in_flow = hr_arena_array(&c->x->arena, (size_t)c->body.node_count, 1);
  if (!c->in_flow) return hr_status_out_of_memory();
  hr_map_init(&place);
  for (int32_t i = 0; i < c->body.node_count && !status; ++i) {
    const hr_node_t* n = c->body.nodes[i];
    uintptr_t from;
    bool inside = hr_node_class_is_control_flow(n->attrs.def->node_class);
    for (int32_t j = 0; j < n->input_count && !inside; ++j)
      inside = n->inputs[j].node && hr_map_find_ptr(&place, n->inputs[j].node, &from) && c->in_flow[from];
    for (int32_t j = 0; j < n->control_count && !inside; ++j) inside = hr_map_find_ptr(&place, n->controls[j], &from) && c->in_flow[from];
    c->in_flow[i] = inside;
    status = hr_map_set_ptr(&place, n, (uintptr_t)i);
  }
  hr_map_deinit(&place);
  return status;
}

/* Effects inside the body's own branches and loops may never come about, so nothing waits for them; they are asked to run. */
static hr_status_t find_ends(inline_t* c) {
  HR_TRY(find_flow(c));
  for (int32_t i = 0; i < c->body.node_count; ++i) {
    bool effect;
    HR_TRY(hr_effects_of_node(c->x->g, &c->x->effects, c->body.nodes[i], &effect));
    if (!effect) continue;
    if (c->in_flow[i])
      HR_TRY(c->x->edit->must_run(c->x, c->body.nodes[i]));
    else
      HR_TRY(hr_vec_push(&c->ends, c->body.nodes[i]));
  }
  return NULL;
}

static bool is_of_body(const inline_t* c, const hr_node_t* n) { return n->id >= c->body.nodes[0]->id; }

/* An output that is there before the call has begun (an argument handed through, a constant) or before it is over. */
static bool output_must_wait(const inline_t* c, hr_value_t v) {
  if (c->ends.count) return true;
  if (!c->start) return false;
  return c->body.node_count == 0 || !is_of_body(c, v.node) || (v.node->input_count == 0 && v.node->control_count == 0);
}

static hr_status_t replace_output(inline_t* c, int32_t i) {
  hr_value_t v = c->body.outputs[i];
  if (output_must_wait(c, v)) {
    hr_node_t* barrier = NULL;
    hr_node_desc_t d = {.op = HR_STR("Identity"),
                        .inputs = &v,
                        .input_count = 1,
                        .controls = c->ends.count ? c->ends.data : &c->start,
                        .control_count = c->ends.count ? (int32_t)c->ends.count : 1};
    HR_TRY(hr_expand_add(c->x, c->call, "output", d, &barrier));
    v = (hr_value_t){barrier, 0};
  }
  return c->x->edit->replace(c->x, (hr_value_t){c->call, i}, v);
}

/* Whoever waited for the call. */
static hr_status_t replace_waiters(inline_t* c) {
  if (c->call->control_consumers.count == 0 && !c->x->edit->is_asked(c->x, c->call)) return NULL;
  hr_node_t* end = NULL;
  for (int32_t i = 0; i < c->body.control_count; ++i) HR_TRY(hr_vec_push(&c->ends, c->body.controls[i]));
  for (int32_t i = 0; i < c->body.output_count; ++i) HR_TRY(hr_vec_push(&c->ends, c->body.outputs[i].node));
  if (c->start) HR_TRY(hr_vec_push(&c->ends, c->start));
  if (c->call->input_count && !c->ends.count) HR_TRY(hr_vec_push(&c->ends, c->call->inputs[0].node));
  if (c->ends.count) HR_TRY(add_no_op(c, "output_control", c->ends.data, (int32_t)c->ends.count, &end));
  return c->x->edit->replace_control(c->x, c->call, end);
}

static hr_status_t inline_body(inline_t* c, const hr_function_t* f, const hr_named_attr_t* attrs, int32_t attr_count, int32_t level) {
  hr_expand_t* x = c->x;
  int32_t inner;
  HR_TRY(make_start(c));
  hr_function_body_request_t r = {.function = f,
                                  .attrs = attrs,
                                  .attr_count = attr_count,
                                  .inputs = c->call->inputs,
                                  .input_count = c->call->input_count,
                                  .prefix = c->call->name,
                                  .device = c->call->device,
                                  .start = c->start,
                                  .start_constants = x->has_flow,
                                  .twin = hr_expand_twin_of(c->call)};
  HR_TRY(hr_function_body_add(x->g, &r, &x->arena, &c->body));
  HR_TRY(x->edit->added(x, c->call));
  if (c->body.output_count != c->call->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "the function has %d outputs, the call %d", (int)c->body.output_count, (int)c->call->output_count);
  x->added += c->body.node_count;
  HR_TRY(hr_expand_enter(x, f, level, &inner));
  HR_TRY(hr_expand_push(x, c->body.nodes, c->body.node_count, inner));
  HR_TRY(find_ends(c));
  for (int32_t i = 0; i < c->body.output_count; ++i) HR_TRY(replace_output(c, i));
  HR_TRY(replace_waiters(c));
  return x->edit->removed(x, c->call);
}

/* A call by name that stays (recursion) becomes one that has a kernel. */
static hr_status_t keep_named_call(hr_expand_t* x, hr_node_t* n, const hr_named_attr_t* attrs, int32_t attr_count) {
  hr_func_attr_t f = {n->attrs.def->name, attrs, attr_count};
  hr_node_desc_t d = {.inputs = n->inputs, .input_count = n->input_count, .controls = n->controls, .control_count = n->control_count};
  hr_node_t* call = NULL;
  HR_TRY(hr_expand_add_call(x, n, "call", &f, d, n->output_types, n->output_count, &call));
  for (int32_t i = 0; i < n->output_count; ++i) HR_TRY(x->edit->replace(x, (hr_value_t){n, i}, (hr_value_t){call, i}));
  HR_TRY(x->edit->replace_control(x, n, call));
  return x->edit->removed(x, n);
}

static hr_status_t expand_call(hr_expand_t* x, const hr_expand_item_t* item) {
  const hr_function_t* f = NULL;
  const hr_named_attr_t* attrs = NULL;
  int32_t attr_count;
  HR_TRY(hr_expand_callee(x, item->node, &f, &attrs, &attr_count));
  if (!f) return NULL;
  if (!hr_expand_may_enter(x, f, item->level))
    return node_has_function_attr(item->node) ? NULL : keep_named_call(x, item->node, attrs, attr_count);
  inline_t c = {.x = x, .call = item->node};
  hr_status_t status = inline_body(&c, f, attrs, attr_count, item->level);
  hr_vec_deinit(&c.ends);
  return status;
}

static hr_status_t expand_item(hr_expand_t* x, const hr_expand_item_t* item) {
  if (node_is_gradient(item->node)) return hr_expand_gradient(x, item);
  if (!hr_lower_is_conditional(item->node)) return expand_call(x, item);
  return x->lowers ? hr_lower_node(x, item) : NULL;
}

hr_status_t hr_expand_run(hr_expand_t* x) {
  for (int64_t i = 0; i < x->items.count; ++i) {
    hr_expand_item_t item = x->items.data[i];
    hr_str_t name = item.node->name, op = item.node->attrs.def->name;
    hr_status_t status = expand_item(x, &item);
    if (status) return hr_status_note(status, "node '%.*s' (%.*s): ", HR_STR_ARG(name), HR_STR_ARG(op));
  }
  return NULL;
}

void hr_expand_init(hr_expand_t* x, hr_graph_t* g, const hr_expand_edit_t* edit, void* owner) {
  *x = (hr_expand_t){.g = g, .edit = edit, .owner = owner};
  hr_arena_init(&x->arena);
  hr_map_init(&x->effects);
}

void hr_expand_deinit(hr_expand_t* x) {
  hr_vec_deinit(&x->items);
  hr_vec_deinit(&x->levels);
  hr_map_deinit(&x->effects);
  hr_arena_deinit(&x->arena);
}
