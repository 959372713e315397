/* SPDX-License-Identifier: Apache-2.0 */
/* A function as a graph of its own: a placeholder for each argument, the body, an Identity for each output; what has effects is a target.
 * It goes through the pipeline like a client's graph. Calls within steps: a copy of the step with the same identity, one deeper. */
#include "session/callee.h"

#include "base/stack.h"
#include "graph/effects.h"
#include "graph/function_body.h"
#include "op/attr_value.h"
#include "rt/device_name.h"
#include "rt/step.h"
#include "session/pipeline.h"

enum { CALLEE_LONGEST_MESSAGE = 1600 };

struct hr_callee {
  hr_str_t key; /* the NameAttrList's bytes */
  hr_arena_t arena;
  hr_graph_t* graph;
  hr_program_t program;
  hr_plan_t* plan;
  hr_value_t* feeds;
  hr_value_t* fetches;
  hr_node_t** targets;
  int32_t feed_count, fetch_count, target_count;
};

struct hr_callee_table {
  hr_caller_t caller; /* first */
  hr_graph_t* library;
  const hr_session_options_t* options;
  hr_state_table_t* states;
  hr_resources_t* resources;
  const hr_device_set_t* devices;
  hr_mutex_t mu;    /* held while a function is compiled */
  hr_map_t callees; /* guarded by mu */
};

/* --- one function ------------------------------------------------------------------------------------------------------------------ */
static void callee_destroy(hr_callee_t* c) {
  if (!c) return;
  hr_plan_destroy(c->plan);
  if (c->program.graph) hr_program_deinit(&c->program);
  hr_graph_destroy(c->graph);
  hr_arena_deinit(&c->arena);
  hr_free(c);
}

static hr_status_t callee_add(hr_callee_t* c, const char* op, const char* name, int32_t number, const hr_value_t* input,
                              const hr_named_attr_t* attrs, int32_t attr_count, hr_value_t* out) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s_%d", name, (int)number);
  hr_node_desc_t d = {.op = hr_str(op),
                      .name = hr_strbuf_view(&text),
                      .inputs = input,
                      .input_count = input ? 1 : 0,
                      .attrs = attrs,
                      .attr_count = attr_count};
  hr_node_t* node = NULL;
  hr_status_t status = text.failed ? hr_status_out_of_memory() : hr_graph_add(c->graph, &d, &node);
  hr_strbuf_deinit(&text);
  if (!status) *out = (hr_value_t){node, 0};
  return status;
}

static hr_status_t callee_add_arguments(hr_callee_t* c, const hr_function_t* f, const hr_func_attr_t* call) {
  int32_t* types = NULL;
  HR_TRY(hr_function_types(f, call->attrs, call->attr_count, false, &c->arena, &types, &c->feed_count));
  c->feeds = hr_arena_array(&c->arena, (size_t)c->feed_count + 1, sizeof *c->feeds);
  if (!c->feeds) return hr_status_out_of_memory();
  for (int32_t i = 0; i < c->feed_count; ++i) {
    hr_named_attr_t attr = hr_at_type("dtype", (int)hr_dtype_base(types[i]));
    HR_TRY(callee_add(c, "Placeholder", "argument", i, NULL, &attr, 1, &c->feeds[i]));
  }
  return NULL;
}

static hr_status_t callee_find_targets(hr_callee_t* c, const hr_function_body_t* body) {
  hr_map_t memo;
  hr_status_t status = NULL;
  c->targets = hr_arena_array(&c->arena, (size_t)body->node_count + (size_t)body->control_count + 1, sizeof *c->targets);
  if (!c->targets) return hr_status_out_of_memory();
  hr_map_init(&memo);
  for (int32_t i = 0; i < body->node_count && !status; ++i) {
    bool effect = false;
    status = hr_effects_of_node(c->graph, &memo, body->nodes[i], &effect);
    if (effect) c->targets[c->target_count++] = body->nodes[i];
  }
  hr_map_deinit(&memo);
  for (int32_t i = 0; i < body->control_count; ++i) c->targets[c->target_count++] = body->controls[i];
  return status;
}

static hr_status_t callee_add_body(hr_callee_t* c, const hr_function_t* f, const hr_func_attr_t* call) {
  hr_function_body_t body;
  hr_function_body_request_t r = {.function = f,
                                  .attrs = call->attrs,
                                  .attr_count = call->attr_count,
                                  .inputs = c->feeds,
                                  .input_count = c->feed_count,
                                  .prefix = f->name};
  HR_TRY(hr_function_body_add(c->graph, &r, &c->arena, &body));
  c->fetch_count = body.output_count;
  c->fetches = hr_arena_array(&c->arena, (size_t)c->fetch_count + 1, sizeof *c->fetches);
  if (!c->fetches) return hr_status_out_of_memory();
  for (int32_t i = 0; i < c->fetch_count; ++i) HR_TRY(callee_add(c, "Identity", "result", i, &body.outputs[i], NULL, 0, &c->fetches[i]));
  return callee_find_targets(c, &body);
}

static hr_status_t callee_plan(hr_callee_t* c, const hr_callee_table_t* t) {
  hr_prune_request_t q = {c->feeds, c->feed_count, c->fetches, c->fetch_count, c->targets, c->target_count, false};
  HR_TRY(hr_pipeline_run(c->graph, &q, t->options, NULL, &c->program)); /* all of it on the CPU */
  const hr_program_t* p = &c->program;
  hr_plan_desc_t d = {.nodes = p->live,
                      .node_count = p->live_count,
                      .feeds = p->feeds,
                      .feed_count = p->feed_count,
                      .fetches = p->fetches,
                      .fetch_count = p->fetch_count,
                      .states = t->states,
                      .resources = t->resources};
  return hr_plan_create(&d, &c->plan);
}

static hr_status_t callee_fill(hr_callee_t* c, const hr_callee_table_t* t, const hr_func_attr_t* call) {
  HR_TRY(hr_graph_create(&c->graph));
  c->graph->library = t->library;
  c->graph->producer = t->library->producer;
  const hr_function_t* f = hr_function_find(c->graph, call->name);
  if (!f) return HR_ERROR(INVALID_ARGUMENT, "the library has no function '%.*s'", HR_STR_ARG(hr_str_slice(call->name, 0, 300)));
  HR_TRY(callee_add_arguments(c, f, call));
  HR_TRY(callee_add_body(c, f, call));
  return callee_plan(c, t);
}

/* --- the table ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t table_find(hr_callee_table_t* t, const hr_func_attr_t* call, hr_str_t key, const hr_callee_t** out) {
  uintptr_t found;
  if (hr_map_find(&t->callees, key, &found)) {
    *out = (const hr_callee_t*)found;
    return NULL;
  }
  hr_callee_t* c = hr_alloc_zero(sizeof *c);
  if (!c) return hr_status_out_of_memory();
  hr_arena_init(&c->arena);
  hr_status_t status = hr_arena_str(&c->arena, key, &c->key) ? callee_fill(c, t, call) : hr_status_out_of_memory();
  if (status)
    status = hr_status_note(status, "function '%.*s': ", HR_STR_ARG(hr_str_slice(call->name, 0, 300)));
  else
    status = hr_map_set(&t->callees, c->key, (uintptr_t)c);
  if (status)
    callee_destroy(c);
  else
    *out = c;
  return status;
}

static hr_status_t caller_find(hr_caller_t* self, const hr_func_attr_t* call, const hr_callee_t** out) {
  hr_callee_table_t* t = (hr_callee_table_t*)(void*)self;
  hr_writer_t key;
  if (!t->library) return HR_ERROR(FAILED_PRECONDITION, "the session has no graph, so there is no function to call");
  hr_strbuf_init(&key);
  hr_status_t status = hr_attr_value_encode_func(call, &key);
  if (!status && key.failed) status = hr_status_out_of_memory();
  if (!status) {
    hr_mutex_lock(&t->mu);
    status = table_find(t, call, hr_strbuf_view(&key), out);
    hr_mutex_unlock(&t->mu);
  }
  hr_strbuf_deinit(&key);
  return status;
}

static hr_status_t check_arguments(const hr_callee_t* c, const char* role, const hr_tensor_t* inputs, int input_count, int output_count) {
  if (input_count != c->feed_count)
    return HR_ERROR(INVALID_ARGUMENT, "%s takes %d arguments, the call has %d", role, (int)c->feed_count, input_count);
  if (output_count != c->fetch_count)
    return HR_ERROR(INVALID_ARGUMENT, "%s returned %d arguments. Expected: %d", role, (int)c->fetch_count, output_count);
  for (int i = 0; i < input_count; ++i)
    if (inputs[i].dtype != hr_dtype_base(hr_value_type(c->feeds[i])))
      return HR_ERROR(INVALID_ARGUMENT, "argument %d of the function is %s, not %s", i, hr_dtype_name(hr_value_type(c->feeds[i])),
                      hr_dtype_name((int)inputs[i].dtype));
  return NULL;
}

/* Each call on the way out adds a note: of a long chain the end is kept, which says what went wrong. */
static hr_status_t shorten(hr_status_t take_status) {
  const char* text = hr_status_message(take_status);
  size_t size = strlen(text);
  if (size <= CALLEE_LONGEST_MESSAGE) return take_status;
  hr_code_t code = hr_status_code(take_status);
  hr_status_t status = hr_status_create(code, __FILE__, __LINE__, "... %s", text + size - CALLEE_LONGEST_MESSAGE / 2);
  hr_status_release(take_status);
  return status;
}

static hr_status_t caller_call(hr_caller_t* self, const hr_callee_t* c, const char* role, hr_step_t* step, const hr_tensor_t* inputs,
                               int input_count, hr_tensor_t* outputs, int output_count) {
  (void)self;
  HR_TRY(check_arguments(c, role, inputs, input_count, output_count));
  if (step->call_depth >= HR_CALLEE_MOST_DEPTH || hr_stack_left() < HR_CALLEE_LEAST_STACK)
    return HR_ERROR(RESOURCE_EXHAUSTED, "functions call each other %d deep, more than there may be (%d, or what the stack holds)",
                    step->call_depth, HR_CALLEE_MOST_DEPTH);
  hr_step_t inner = *step;
  inner.waits = NULL;
  ++inner.call_depth;
  hr_status_t status = hr_plan_run(c->plan, &inner, inputs, outputs);
  return __builtin_expect(status != NULL, 0) ? shorten(status) : NULL;
}

static bool caller_has_cpu(const hr_caller_t* self, hr_str_t name) {
  const hr_device_set_t* devices = ((const hr_callee_table_t*)(const void*)self)->devices;
  hr_device_name_t wanted, device;
  hr_status_t status = hr_device_name_parse(name, &wanted);
  bool found = false;
  for (int32_t i = 0; devices && i < devices->count && !status && !found; ++i) {
    const hr_device_t* d = devices->devices[i];
    if (d->is_remote || d->table) continue;
    status = hr_device_name_parse(hr_str(d->name), &device);
    found = !status && hr_device_name_accepts(&wanted, &device);
  }
  hr_status_release(status);
  return found;
}

hr_status_t hr_callee_table_create(hr_graph_t* library, const hr_session_options_t* options, hr_state_table_t* states,
                                   hr_resources_t* resources, const hr_device_set_t* devices, hr_callee_table_t** out) {
  hr_callee_table_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  *t = (hr_callee_table_t){.caller = {caller_find, caller_call, caller_has_cpu},
                           .devices = devices,
                           .library = library,
                           .options = options,
                           .states = states,
                           .resources = resources};
  hr_mutex_init(&t->mu);
  hr_map_init(&t->callees);
  *out = t;
  return NULL;
}

void hr_callee_table_destroy(hr_callee_table_t* t) {
  const hr_map_entry_t* e;
  if (!t) return;
  for (int64_t i = 0; (e = hr_map_next(&t->callees, &i));) callee_destroy((hr_callee_t*)e->value);
  hr_map_deinit(&t->callees);
  hr_mutex_deinit(&t->mu);
  hr_free(t);
}

hr_caller_t* hr_callee_table_caller(hr_callee_table_t* t) { return t ? &t->caller : NULL; }
