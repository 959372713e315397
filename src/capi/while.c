/* SPDX-License-Identifier: Apache-2.0 */
/* Loops made of two graphs: TF_NewWhile hands out an empty graph for the condition and one for the body, TF_FinishWhile copies what the
 * client put into them between Enter, Merge, Switch, NextIteration and Exit nodes of the graph itself.
 *
 * A node of either graph that waits for nothing waits for a value of the loop, so that it runs in each iteration. Frames of loops within
 * are named after this one too. What is wrong with the params is found before anything is added. */
#include <stdio.h>
#include "base/alloc.h"
#include "capi/handles.h"
#include "graph/grow.h"
#include "op/node_class.h"

/* What params leads back to: it lies in front of cond_inputs. */
typedef struct while_block {
  struct while_block* next;
  hr_graph_t* parent; /* one ownership */
  hr_value_t* inputs;
  hr_value_t* body_inputs;
  hr_value_t* body_outputs;
  hr_value_t cond_inputs[];
} while_block_t;

/* Loops that were begun and neither finished nor given up: params cannot say so themselves, for their copies would not know. */
static struct {
  hr_mutex_t mu;
  while_block_t* first;
} while_begun = {HR_MUTEX_INIT, NULL};

static void while_begin(while_block_t* b) {
  hr_mutex_lock(&while_begun.mu);
  b->next = while_begun.first;
  while_begun.first = b;
  hr_mutex_unlock(&while_begun.mu);
}

/* The caller's from now on; NULL: TF_NewWhile did not begin it, or it is over. */
static while_block_t* while_take(const TF_WhileParams* params) {
  if (!params || !params->cond_inputs) return NULL;
  hr_mutex_lock(&while_begun.mu);
  while_block_t** at = &while_begun.first;
  while (*at && (const void*)(*at)->cond_inputs != (const void*)params->cond_inputs) at = &(*at)->next;
  while_block_t* b = *at;
  if (b) *at = b->next;
  hr_mutex_unlock(&while_begun.mu);
  return b;
}

static void while_free(const TF_WhileParams* params, while_block_t* b) {
  if (!b) return;
  TF_DeleteGraph(params->cond_graph);
  TF_DeleteGraph(params->body_graph);
  hr_graph_release(b->parent);
  hr_free(b);
}

/* --- starting ------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t while_check_inputs(const hr_graph_t* g, const TF_Output* inputs, int count) {
  if (!g) return hr_capi_null("the graph");
  HR_TRY(hr_capi_check_count(count, inputs, "inputs"));
  if (count == 0) return HR_ERROR(INVALID_ARGUMENT, "a loop has at least one input");
  for (int i = 0; i < count; ++i) HR_TRY(hr_capi_check_value(g, hr_capi_value(inputs[i])));
  return NULL;
}

static hr_status_t while_placeholders(hr_graph_t* into, const hr_value_t* inputs, int count, const char* stem, hr_value_t* out) {
  for (int i = 0; i < count; ++i) {
    char name[32];
    const hr_named_attr_t type = hr_at_type("dtype", (int)hr_dtype_base(hr_value_type(inputs[i])));
    snprintf(name, sizeof name, "%s%d", stem, i);
    hr_node_desc_t d = {.op = HR_STR("Placeholder"), .name = hr_str(name), .device = HR_STR(""), .attrs = &type, .attr_count = 1};
    hr_node_t* node;
    HR_TRY(hr_graph_add(into, &d, &node));
    out[i] = (hr_value_t){node, 0};
  }
  return NULL;
}

static hr_status_t while_make_block(hr_graph_t* g, const TF_Output* inputs, int count, while_block_t** out) {
  size_t n = (size_t)count;
  while_block_t* b = hr_alloc_zero(sizeof *b + 4 * n * sizeof(hr_value_t));
  if (!b) return hr_status_out_of_memory();
  b->inputs = b->cond_inputs + n;
  b->body_inputs = b->inputs + n;
  b->body_outputs = b->body_inputs + n;
  for (size_t i = 0; i < n; ++i) b->inputs[i] = hr_capi_value(inputs[i]);
  for (size_t i = 0; i < n; ++i) b->body_outputs[i] = (hr_value_t){NULL, -1};
  b->parent = hr_graph_retain(g);
  *out = b;
  return NULL;
}

static hr_status_t while_start(hr_graph_t* g, const TF_Output* inputs, int count, while_block_t** block, hr_graph_t** cond,
                               hr_graph_t** body) {
  HR_TRY(while_check_inputs(g, inputs, count));
  HR_TRY(while_make_block(g, inputs, count, block));
  HR_TRY(hr_graph_create(cond));
  HR_TRY(hr_graph_create(body));
  HR_TRY(while_placeholders(*cond, (*block)->inputs, count, "cond_input", (*block)->cond_inputs));
  return while_placeholders(*body, (*block)->inputs, count, "body_input", (*block)->body_inputs);
}

TF_WhileParams TF_NewWhile(TF_Graph* g, TF_Output* inputs, int ninputs, TF_Status* status) {
  while_block_t* b = NULL;
  hr_graph_t *graph = hr_capi_graph(g), *cond = NULL, *body = NULL;
  if (graph) hr_mutex_lock(&graph->mu);
  hr_status_t outcome = while_start(graph, inputs, ninputs, &b, &cond, &body);
  if (graph) hr_mutex_unlock(&graph->mu);
  if (outcome) {
    hr_graph_release(cond);
    hr_graph_release(body);
    if (b) hr_graph_release(b->parent);
    hr_free(b);
    hr_capi_report(status, outcome);
    return (TF_WhileParams){0};
  }
  while_begin(b);
  hr_capi_report(status, NULL);
  return (TF_WhileParams){.ninputs = ninputs,
                          .cond_graph = hr_capi_to_graph(cond),
                          .cond_inputs = (const TF_Output*)(const void*)b->cond_inputs,
                          .cond_output = {NULL, -1},
                          .body_graph = hr_capi_to_graph(body),
                          .body_inputs = (const TF_Output*)(const void*)b->body_inputs,
                          .body_outputs = (TF_Output*)(void*)b->body_outputs,
                          .name = NULL};
}

/* --- checking ------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t while_check_output(const hr_graph_t* g, hr_value_t v, int wanted, const char* what, int i) {
  if (!v.node) return HR_ERROR(INVALID_ARGUMENT, "%s[%d] of the loop is not set", what, i);
  hr_status_t status = hr_capi_check_value(g, v);
  if (status) return hr_status_note(status, "%s[%d] of the loop: ", what, i);
  int type = (int)hr_dtype_base(hr_value_type(v));
  if (type == wanted) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%s[%d] of the loop is %s, but must be %s", what, i, hr_dtype_name(type), hr_dtype_name(wanted));
}

static hr_status_t while_check(const TF_WhileParams* p, const while_block_t* b, const TF_Output* outputs) {
  if (!b || !p->cond_graph || !p->body_graph)
    return HR_ERROR(INVALID_ARGUMENT, "these are not the params of a loop that TF_NewWhile began");
  if (!outputs) return hr_capi_null("the array of outputs");
  if (!p->name || !*p->name) return HR_ERROR(INVALID_ARGUMENT, "the loop has no name: params.name must be set");
  if (!hr_graph_name_is_legal(hr_str(p->name))) return HR_ERROR(INVALID_ARGUMENT, "'%s' is no legal name of a loop", p->name);
  HR_TRY(while_check_output(hr_capi_graph(p->cond_graph), hr_capi_value(p->cond_output), HR_BOOL, "cond_output", 0));
  for (int i = 0; i < p->ninputs; ++i)
    HR_TRY(while_check_output(hr_capi_graph(p->body_graph), b->body_outputs[i], (int)hr_dtype_base(hr_value_type(b->inputs[i])),
                              "body_outputs", i));
  return NULL;
}

/* --- copying a graph into the loop ---------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_graph_t *from, *into;
  hr_str_t prefix;          /* "<loop>/cond" */
  const hr_value_t* inputs; /* the placeholders... */
  const hr_value_t* values; /* ...and what stands for them */
  int count;
  hr_node_t* start;   /* alive in each iteration: what waits for nothing waits for it */
  hr_node_t** copies; /* by id */
  hr_arena_t arena;
} loop_copy_t;

static bool loop_copy_value(const loop_copy_t* c, hr_value_t v, hr_value_t* out) { /* false: not copied yet */
  for (int i = 0; i < c->count; ++i)
    if (c->inputs[i].node == v.node) return *out = c->values[i], true;
  *out = (hr_value_t){v.node ? c->copies[v.node->id] : NULL, v.index};
  return out->node != NULL;
}

static hr_status_t loop_copy_attrs(loop_copy_t* c, const hr_node_t* n, hr_node_desc_t* d) {
  int32_t own = n->attrs.def->attr_count;
  hr_named_attr_t* attrs = hr_arena_array(&c->arena, (size_t)own + (size_t)n->attrs.extra_count + 1, sizeof *attrs);
  if (!attrs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < own; ++i) attrs[i] = (hr_named_attr_t){n->attrs.def->attrs[i].name, n->attrs.values[i]};
  for (int32_t i = 0; i < n->attrs.extra_count; ++i) attrs[own + i] = n->attrs.extras[i];
  d->attrs = attrs;
  d->attr_count = own + n->attrs.extra_count;
  if (!hr_node_class_is_enter(n->attrs.def->node_class)) return NULL;
  for (int32_t i = 0; i < own; ++i) {
    if (!hr_str_equal(attrs[i].name, HR_STR("frame_name"))) continue;
    hr_strbuf_t text;
    hr_strbuf_init(&text);
    hr_strbuf_format(&text, "%.*s/%.*s", HR_STR_ARG(c->prefix), HR_STR_ARG(attrs[i].value.u.s));
    bool kept = !text.failed && hr_arena_str(&c->arena, hr_strbuf_view(&text), &attrs[i].value.u.s);
    hr_strbuf_deinit(&text);
    if (!kept) return hr_status_out_of_memory();
  }
  return NULL;
}

static hr_status_t loop_copy_edges(loop_copy_t* c, const hr_node_t* n, hr_node_desc_t* d) {
  hr_value_t* inputs = hr_arena_array(&c->arena, (size_t)n->input_count + 1, sizeof *inputs);
  hr_node_t** controls = hr_arena_array(&c->arena, (size_t)n->control_count + 1, sizeof(hr_node_t*));
  if (!inputs || !controls) return hr_status_out_of_memory();
  for (int32_t i = 0; i < n->input_count; ++i)
    if (!loop_copy_value(c, n->inputs[i], &inputs[i])) inputs[i] = HR_NO_VALUE; /* the way back of a loop within; set later */
  for (int32_t i = 0; i < n->control_count; ++i) {
    hr_value_t v;
    if (loop_copy_value(c, (hr_value_t){n->controls[i], 0}, &v)) controls[d->control_count++] = v.node;
  }
  if (n->input_count == 0 && d->control_count == 0) controls[d->control_count++] = c->start;
  d->inputs = inputs;
  d->input_count = n->input_count;
  d->controls = controls;
  return NULL;
}

static hr_status_t loop_copy_node(loop_copy_t* c, const hr_node_t* n) {
  hr_strbuf_t name;
  hr_node_desc_t d = {.op = n->attrs.def->name, .device = n->device, .allow_missing_inputs = true};
  for (int i = 0; i < c->count; ++i)
    if (c->inputs[i].node == n) return NULL;
  HR_TRY(loop_copy_attrs(c, n, &d));
  HR_TRY(loop_copy_edges(c, n, &d));
  hr_strbuf_init(&name);
  hr_strbuf_format(&name, "%.*s/%.*s", HR_STR_ARG(c->prefix), HR_STR_ARG(n->name));
  d.name = hr_strbuf_view(&name);
  hr_status_t status = name.failed ? hr_status_out_of_memory() : hr_graph_add(c->into, &d, &c->copies[n->id]);
  hr_strbuf_deinit(&name);
  return status;
}

static hr_status_t loop_copy_back_edges(loop_copy_t* c) {
  for (int64_t i = 0; i < c->from->nodes.count; ++i) {
    const hr_node_t* n = c->from->nodes.data[i];
    hr_node_t* copy = c->copies[i];
    for (int32_t j = 0; copy && j < n->input_count; ++j) {
      hr_value_t v;
      if (copy->inputs[j].node) continue;
      if (!loop_copy_value(c, n->inputs[j], &v)) return HR_ERROR(INVALID_ARGUMENT, "input %d of '%s' is missing", (int)j, n->name.data);
      HR_TRY(hr_graph_set_input(c->into, copy, j, v));
    }
  }
  return NULL;
}

/* What `results` of the graph are in the loop. */
static hr_status_t loop_copy_all(loop_copy_t* c, const hr_value_t* results, int result_count, hr_value_t* out) {
  hr_status_t status = NULL;
  hr_arena_init(&c->arena);
  c->copies = hr_arena_array(&c->arena, (size_t)c->from->nodes.count + 1, sizeof(hr_node_t*));
  if (!c->copies) status = hr_status_out_of_memory();
  for (int64_t i = 0; !status && i < c->from->nodes.count; ++i) status = loop_copy_node(c, c->from->nodes.data[i]);
  if (!status) status = loop_copy_back_edges(c);
  for (int i = 0; !status && i < result_count; ++i)
    if (!loop_copy_value(c, results[i], &out[i])) status = HR_ERROR(INTERNAL, "a result of the loop was not copied");
  hr_arena_deinit(&c->arena);
  return status;
}

/* --- the loop ------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  const TF_WhileParams* params;
  const while_block_t* block;
  hr_graph_t* g;
  int count;
  hr_value_t *merges, *switches, *nexts; /* nexts: the values of the next iteration */
  hr_value_t* live;                      /* the values in an iteration */
} loop_t;

static hr_status_t loop_add(const loop_t* l, const char* op, const char* stem, int i, int input_count, const hr_value_t* inputs,
                            int attr_count, const hr_named_attr_t* attrs, hr_value_t* out) {
  hr_strbuf_t name;
  hr_node_t* node;
  hr_strbuf_init(&name);
  if (i < 0)
    hr_strbuf_format(&name, "%s/%s", l->params->name, stem);
  else
    hr_strbuf_format(&name, "%s/%s%d", l->params->name, stem, i);
  hr_node_desc_t d = {.op = hr_str(op),
                      .name = hr_strbuf_view(&name),
                      .device = HR_STR(""),
                      .inputs = inputs,
                      .input_count = input_count,
                      .attrs = attrs,
                      .attr_count = attr_count,
                      .allow_missing_inputs = true};
  hr_status_t status = name.failed ? hr_status_out_of_memory() : hr_graph_add(l->g, &d, &node);
  hr_strbuf_deinit(&name);
  if (!status) *out = (hr_value_t){node, 0};
  return status;
}

static hr_status_t loop_open(const loop_t* l) {
  const hr_named_attr_t frame[] = {hr_at_str("frame_name", l->params->name)};
  for (int i = 0; i < l->count; ++i) {
    hr_value_t both[2] = {HR_NO_VALUE, HR_NO_VALUE};
    const hr_named_attr_t merge[] = {hr_at_type("T", (int)hr_dtype_base(hr_value_type(l->block->inputs[i]))), hr_at_int("N", 2)};
    HR_TRY(loop_add(l, "Enter", "enter", i, 1, &l->block->inputs[i], 1, frame, &both[0]));
    HR_TRY(loop_add(l, "Merge", "merge", i, 2, both, 2, merge, &l->merges[i]));
  }
  return NULL;
}

static hr_status_t loop_condition(const loop_t* l, hr_value_t* out) {
  loop_copy_t c = {.from = hr_capi_graph(l->params->cond_graph),
                   .into = l->g,
                   .inputs = l->block->cond_inputs,
                   .values = l->merges,
                   .count = l->count,
                   .start = l->merges[0].node};
  hr_value_t cond = hr_capi_value(l->params->cond_output);
  hr_strbuf_t prefix;
  hr_strbuf_init(&prefix);
  hr_strbuf_format(&prefix, "%s/cond", l->params->name);
  c.prefix = hr_strbuf_view(&prefix);
  hr_status_t status = prefix.failed ? hr_status_out_of_memory() : loop_copy_all(&c, &cond, 1, &cond);
  hr_strbuf_deinit(&prefix);
  return status ? status : loop_add(l, "LoopCond", "LoopCond", -1, 1, &cond, 0, NULL, out);
}

static hr_status_t loop_body(const loop_t* l) {
  hr_value_t pivot;
  hr_strbuf_t prefix;
  HR_TRY(loop_add(l, "Identity", "pivot", -1, 1, &l->live[0], 0, NULL, &pivot));
  loop_copy_t c = {.from = hr_capi_graph(l->params->body_graph),
                   .into = l->g,
                   .inputs = l->block->body_inputs,
                   .values = l->live,
                   .count = l->count,
                   .start = pivot.node};
  hr_strbuf_init(&prefix);
  hr_strbuf_format(&prefix, "%s/body", l->params->name);
  c.prefix = hr_strbuf_view(&prefix);
  hr_status_t status = prefix.failed ? hr_status_out_of_memory() : loop_copy_all(&c, l->block->body_outputs, l->count, l->nexts);
  hr_strbuf_deinit(&prefix);
  return status;
}

static hr_status_t loop_build(const loop_t* l, hr_value_t* exits) {
  hr_value_t cond;
  HR_TRY(loop_open(l));
  HR_TRY(loop_condition(l, &cond));
  for (int i = 0; i < l->count; ++i) {
    hr_value_t inputs[2] = {l->merges[i], cond};
    HR_TRY(loop_add(l, "Switch", "switch", i, 2, inputs, 0, NULL, &l->switches[i]));
    l->live[i] = (hr_value_t){l->switches[i].node, 1};
  }
  HR_TRY(loop_body(l));
  for (int i = 0; i < l->count; ++i) {
    hr_value_t back;
    HR_TRY(loop_add(l, "NextIteration", "next", i, 1, &l->nexts[i], 0, NULL, &back));
    HR_TRY(hr_graph_set_input(l->g, l->merges[i].node, 1, back));
    HR_TRY(loop_add(l, "Exit", "exit", i, 1, &l->switches[i], 0, NULL, &exits[i]));
  }
  return NULL;
}

static hr_status_t while_finish(const TF_WhileParams* params, const while_block_t* b, TF_Output* outputs) {
  size_t n = b && params->ninputs > 0 ? (size_t)params->ninputs : 0;
  HR_TRY(while_check(params, b, outputs));
  hr_value_t* room = hr_alloc_array(5 * n, sizeof *room);
  if (!room) return hr_status_out_of_memory();
  loop_t l = {.params = params,
              .block = b,
              .g = b->parent,
              .count = params->ninputs,
              .merges = room,
              .switches = room + n,
              .nexts = room + 2 * n,
              .live = room + 3 * n};
  hr_mutex_lock(&l.g->mu);
  hr_status_t status = loop_build(&l, room + 4 * n);
  hr_mutex_unlock(&l.g->mu);
  for (size_t i = 0; !status && i < n; ++i) outputs[i] = hr_capi_to_output(room[4 * n + i]);
  hr_free(room);
  return status;
}

void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status, TF_Output* outputs) {
  while_block_t* b = while_take(params);
  hr_status_t outcome = while_finish(params, b, outputs);
  while_free(params, b);
  hr_capi_report(status, outcome);
}

void TF_AbortWhile(const TF_WhileParams* params) { while_free(params, while_take(params)); }

/* --- a While node gets one more variable ---------------------------------------------------------------------------------------------- */
static hr_status_t while_append(TF_Graph* graph, TF_Output new_src, TF_Operation* dst) {
  hr_graph_t* g = hr_capi_graph(graph);
  if (!g) return hr_capi_null("the graph");
  if (!dst) return hr_capi_null("the operation");
  HR_TRY(hr_capi_check_value(g, hr_capi_value(new_src)));
  return hr_graph_append_loop_input(g, hr_capi_node(dst), hr_capi_value(new_src));
}

void TF_AddWhileInputHack(TF_Graph* graph, TF_Output new_src, TF_Operation* dst, TF_Status* status) {
  hr_graph_t* g = hr_capi_graph(graph);
  if (g) hr_mutex_lock(&g->mu);
  hr_status_t outcome = while_append(graph, new_src, dst);
  if (g) hr_mutex_unlock(&g->mu);
  hr_capi_report(status, outcome);
}
