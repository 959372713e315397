/* SPDX-License-Identifier: Apache-2.0 */
/* A call is looked into in a sketch: a graph that has the caller's functions, one node for each argument, and the body. Calls of the body
 * make sketches of their own as its shape functions run. */
#include "graph/call_shapes.h"

#include <stdio.h>
#include "base/alloc.h"
#include "graph/const_eval.h"
#include "graph/function_body.h"

enum { CALL_MOST_DEPTH = 16, CALL_MOST_NODES = 4096, CALL_MOST_NODES_OF_GRAPH = 1 << 17, CALL_MOST_VALUES = 64 };

/* One output of a call that was looked into. */
typedef struct {
  const hr_pshape_t *shape, *handle_shape;
  hr_dtype_t handle_type;
} call_output_t;

typedef struct hr_call_memory hr_call_memory_t;
struct hr_call_memory { /* of the graph that is being built; sketches share it */
  hr_map_t known;       /* key as of call_key to call_output_t[]; both in `arena` */
  hr_arena_t arena;
  int64_t spent; /* nodes added to sketches */
  int64_t left;  /* of CALL_MOST_NODES, while a call is looked into */
};

typedef struct {
  hr_graph_t* g;
  const hr_call_shapes_request_t* r;
  hr_call_memory_t* memory;
  hr_graph_t* sketch;
  const hr_tensor_t** values; /* of the arguments; NULL: not known */
  int32_t argument_count, output_count;
} call_t;

/* --- what is known of the arguments --------------------------------------------------------------------------------------------------- */
static hr_value_t call_argument(const call_t* c, int32_t i) { return c->r->node->inputs[c->r->first + i]; }

static const hr_pshape_t* call_argument_shape(const call_t* c, int32_t i) {
  if (c->r->shapes) return c->r->shapes[i];
  hr_value_t v = call_argument(c, i);
  return v.node ? hr_value_shape(v) : &hr_pshape_unknown;
}

static const hr_handle_info_t* call_argument_handle(const call_t* c, int32_t i) {
  hr_value_t v = call_argument(c, i);
  return v.node && v.node->handles ? &v.node->handles[v.index] : NULL;
}

/* Shapes depend on values of small integer tensors: sizes, axes, permutations. */
static bool call_may_matter(const call_t* c, int32_t i) {
  const hr_dtype_t type = hr_dtype_base(c->r->node->input_types[c->r->first + i]);
  return (type == HR_I32 || type == HR_I64) && call_argument_shape(c, i)->rank <= 1;
}

static hr_status_t call_find_values(call_t* c, hr_arena_t* arena) {
  c->values = hr_arena_array(arena, (size_t)c->argument_count + 1, sizeof *c->values);
  if (!c->values) return hr_status_out_of_memory();
  for (int32_t i = 0; i < c->argument_count && !c->r->shapes; ++i) {
    hr_value_t v = call_argument(c, i);
    if (!v.node || !call_may_matter(c, i)) continue;
    HR_TRY(hr_const_eval(c->g, v, &c->values[i]));
    if (c->values[i] && (c->values[i]->count > CALL_MOST_VALUES || c->values[i]->shape.rank > 1)) c->values[i] = NULL;
  }
  return NULL;
}

/* --- remembering ---------------------------------------------------------------------------------------------------------------------- */
static void key_add_shape(hr_strbuf_t* key, const hr_pshape_t* s) {
  hr_strbuf_add(key, &s->rank, sizeof s->rank);
  if (s->rank > 0) hr_strbuf_add(key, s->dims, (size_t)s->rank * sizeof *s->dims);
}

/* Everything that the outputs depend on. */
static void call_key(const call_t* c, hr_strbuf_t* key) {
  hr_strbuf_add_str(key, c->r->function->name);
  hr_strbuf_add(key, "", 1);
  for (int32_t i = 0; i < c->argument_count; ++i) {
    const hr_handle_info_t* handle = call_argument_handle(c, i);
    const hr_tensor_t* value = c->values[i];
    const char parts = (char)((handle ? 1 : 0) | (handle && handle->shape ? 2 : 0) | (value ? 4 << value->shape.rank : 0));
    const int32_t type = c->r->node->input_types[c->r->first + i];
    hr_strbuf_add(key, &type, sizeof type);
    hr_strbuf_add(key, &parts, 1);
    key_add_shape(key, call_argument_shape(c, i));
    if (handle) hr_strbuf_add(key, &handle->dtype, sizeof handle->dtype);
    if (handle && handle->shape) key_add_shape(key, handle->shape);
    if (!value) continue;
    hr_strbuf_add(key, &value->count, sizeof value->count);
    hr_strbuf_add(key, value->data, hr_tensor_bytes(value));
  }
}

static hr_status_t memory_of(hr_graph_t* g, hr_call_memory_t** out) {
  if (!g->call_memory) {
    hr_call_memory_t* m = hr_alloc_zero(sizeof *m);
    if (!m) return hr_status_out_of_memory();
    hr_map_init(&m->known);
    hr_arena_init(&m->arena);
    g->call_memory = m;
  }
  *out = g->call_memory;
  return NULL;
}

void hr_call_shapes_forget(hr_graph_t* g) {
  if (!g->call_memory || g->sketch_depth) return;
  hr_map_deinit(&g->call_memory->known);
  hr_arena_deinit(&g->call_memory->arena);
  hr_free(g->call_memory);
  g->call_memory = NULL;
}

static hr_status_t memory_add(hr_call_memory_t* m, hr_str_t key, const call_output_t* outputs, int32_t count) {
  hr_str_t kept;
  call_output_t* to = hr_arena_array(&m->arena, (size_t)count + 1, sizeof *to);
  if (!to || !hr_arena_str(&m->arena, key, &kept)) return hr_status_out_of_memory();
  for (int32_t i = 0; i < count; ++i) {
    const call_output_t* from = &outputs[i];
    to[i].handle_type = from->handle_type;
    HR_TRY(hr_pshape_make(&m->arena, from->shape->rank, from->shape->dims, &to[i].shape));
    if (from->handle_shape) HR_TRY(hr_pshape_make(&m->arena, from->handle_shape->rank, from->handle_shape->dims, &to[i].handle_shape));
  }
  return hr_map_set(&m->known, kept, (uintptr_t)to);
}

/* --- the sketch ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t sketch_argument(call_t* c, int32_t i, hr_value_t* out) {
  const hr_dtype_t type = hr_dtype_base(c->r->node->input_types[c->r->first + i]);
  const hr_tensor_t* value = c->values[i];
  const hr_handle_info_t* handle = call_argument_handle(c, i);
  char name[32];
  snprintf(name, sizeof name, "argument_%d", (int)i);
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", (int)type), hr_at_tensor("value", value)};
  hr_node_desc_t d = {.op = value ? HR_STR("Const") : HR_STR("Placeholder"),
                      .name = hr_str(name),
                      .attrs = attrs,
                      .attr_count = value ? 2 : 1,
                      .skip_shapes = true};
  HR_TRY(hr_graph_add(c->sketch, &d, &out->node));
  out->index = 0;
  out->node->shapes[0] = call_argument_shape(c, i);
  if (!handle) return NULL;
  out->node->handles = hr_arena_array(&c->sketch->arena, 1, sizeof *out->node->handles);
  if (!out->node->handles) return hr_status_out_of_memory();
  out->node->handles[0] = *handle;
  return NULL;
}

static hr_status_t sketch_body(call_t* c, hr_function_body_t* out) {
  hr_value_t* arguments = hr_arena_array(&c->sketch->arena, (size_t)c->argument_count + 1, sizeof *arguments);
  if (!arguments) return hr_status_out_of_memory();
  for (int32_t i = 0; i < c->argument_count; ++i) HR_TRY(sketch_argument(c, i, &arguments[i]));
  const hr_function_body_request_t r = {.function = c->r->function,
                                        .attrs = c->r->attrs,
                                        .attr_count = c->r->attr_count,
                                        .inputs = arguments,
                                        .input_count = c->argument_count,
                                        .prefix = HR_STR("body"),
                                        .device = HR_STR(""),
                                        .twin = HR_STR("")};
  return hr_function_body_add(c->sketch, &r, &c->sketch->arena, out);
}

static bool sketch_fits(const call_t* c, const hr_function_body_t* body) {
  bool fits = body->output_count == c->output_count;
  for (int32_t i = 0; fits && i < c->output_count; ++i)
    fits = hr_dtype_base(hr_value_type(body->outputs[i])) == hr_dtype_base(c->r->node->output_types[i]);
  return fits;
}

static hr_status_t sketch_run(call_t* c, call_output_t* outputs) {
  hr_function_body_t body;
  HR_TRY(hr_graph_create(&c->sketch));
  c->sketch->library = c->g;
  c->sketch->sketch_depth = c->g->sketch_depth + 1;
  c->sketch->call_memory = c->memory;
  c->sketch->producer = c->g->producer;
  hr_status_t status = sketch_body(c, &body);
  for (int32_t i = 0; !status && sketch_fits(c, &body) && i < c->output_count; ++i) {
    hr_value_t v = body.outputs[i];
    const hr_handle_info_t* handle = v.node->handles ? &v.node->handles[v.index] : NULL;
    const hr_pshape_t *shape = hr_value_shape(v), *held = handle ? handle->shape : NULL;
    status = hr_pshape_make(&c->g->arena, shape->rank, shape->dims, &outputs[i].shape);
    outputs[i].handle_type = handle ? handle->dtype : HR_DTYPE_INVALID;
    if (!status && held) status = hr_pshape_make(&c->g->arena, held->rank, held->dims, &outputs[i].handle_shape);
  }
  return status;
}

/* A body that does not hold together says so when it is run. */
static hr_status_t call_look(call_t* c, call_output_t* outputs) {
  c->memory->left -= c->r->function->node_count + c->argument_count;
  c->memory->spent += c->r->function->node_count + c->argument_count;
  hr_status_t status = sketch_run(c, outputs);
  hr_graph_destroy(c->sketch);
  if (!status || hr_status_code(status) == HR_RESOURCE_EXHAUSTED) return status;
  hr_status_release(status);
  for (int32_t i = 0; i < c->output_count; ++i) outputs[i] = (call_output_t){&hr_pshape_unknown, NULL, HR_DTYPE_INVALID};
  return NULL;
}

/* --- the whole ------------------------------------------------------------------------------------------------------------------------ */
static bool call_may_look(const call_t* c) {
  const int64_t needed = (int64_t)c->r->function->node_count + c->argument_count;
  return c->g->sketch_depth < CALL_MOST_DEPTH && needed <= c->memory->left && c->memory->spent + needed <= CALL_MOST_NODES_OF_GRAPH;
}

static hr_status_t call_find(call_t* c, hr_str_t key, const call_output_t** out) {
  uintptr_t found;
  if (key.size && hr_map_find(&c->memory->known, key, &found)) {
    *out = (const call_output_t*)found;
    return NULL;
  }
  if (!call_may_look(c)) return NULL;
  call_output_t* outputs = hr_arena_array(&c->g->arena, (size_t)c->output_count + 1, sizeof *outputs);
  if (!outputs) return hr_status_out_of_memory();
  for (int32_t i = 0; i < c->output_count; ++i) outputs[i] = (call_output_t){&hr_pshape_unknown, NULL, HR_DTYPE_INVALID};
  *out = outputs;
  HR_TRY(call_look(c, outputs));
  /* what was found with little budget left may be less than could be known */
  return key.size && c->memory->left > 0 ? memory_add(c->memory, key, outputs, c->output_count) : NULL;
}

static hr_status_t call_give(hr_graph_t* g, const call_output_t* found, int32_t count, const hr_pshape_t** shapes, hr_dtype_t* types,
                             const hr_pshape_t** handle_shapes) {
  for (int32_t i = 0; found && i < count; ++i) { /* copied: what is remembered may be forgotten before the graph ends */
    HR_TRY(hr_pshape_make(&g->arena, found[i].shape->rank, found[i].shape->dims, &shapes[i]));
    if (types) types[i] = found[i].handle_type;
    if (handle_shapes && found[i].handle_shape)
      HR_TRY(hr_pshape_make(&g->arena, found[i].handle_shape->rank, found[i].handle_shape->dims, &handle_shapes[i]));
  }
  return NULL;
}

hr_status_t hr_call_shapes(hr_graph_t* g, const hr_call_shapes_request_t* request, const hr_pshape_t** shapes, hr_dtype_t* types,
                           const hr_pshape_t** handle_shapes) {
  call_t c = {.g = g, .r = request};
  const call_output_t* found = NULL;
  hr_strbuf_t key;
  c.argument_count = request->node->input_count - request->first;
  c.output_count = request->node->output_count;
  for (int32_t i = 0; i < c.output_count; ++i) shapes[i] = &hr_pshape_unknown;
  if (g->library && !g->sketch_depth) return NULL;
  HR_TRY(memory_of(g, &c.memory));
  if (!g->sketch_depth) c.memory->left = CALL_MOST_NODES;
  HR_TRY(call_find_values(&c, &g->arena));
  hr_strbuf_init(&key);
  if (request->attr_count == 0) call_key(&c, &key);
  hr_status_t status = key.failed ? hr_status_out_of_memory() : call_find(&c, hr_strbuf_view(&key), &found);
  hr_strbuf_deinit(&key);
  return status ? status : call_give(g, found, c.output_count, shapes, types, handle_shapes);
}
