/* SPDX-License-Identifier: Apache-2.0 */
/* Adding a node, and changing the in-edges of one.
 *
 * A node is one block of the arena: the struct, its arrays, its name. Nothing of the graph changes before everything has been checked; the
 * last steps (edges, name table) undo themselves. Defaults of attrs are shared with the op's definition. */
#include "graph/edges.h"
#include "graph/function.h"
#include "graph/names.h"
#include "op/node_class.h"
#include "graph/resolve.h"
#include "graph/shapes.h"

/* --- the block ------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  size_t inputs, controls, shapes, values, extras, input_types, output_types, name, device, total;
} node_layout_t;

static size_t layout_array(size_t* at, size_t count, size_t size) {
  size_t here = *at;
  *at += count * size;
  return here;
}

static bool device_is_last(const hr_graph_t* g, hr_str_t device) { return hr_str_equal(device, g->last_device); }

/* Widest alignment first, so no gaps. Counts are at most int32, sizes small: no overflow in 64 bits. */
static void layout_make(const hr_graph_t* g, const hr_resolve_t* r, node_layout_t* l) {
  const hr_node_desc_t* d = r->desc;
  size_t at = sizeof(hr_node_t);
  l->inputs = layout_array(&at, (size_t)d->input_count, sizeof(hr_value_t));
  l->controls = layout_array(&at, (size_t)d->control_count, sizeof(hr_node_t*));
  l->shapes = layout_array(&at, (size_t)r->output_count, sizeof(hr_pshape_t*));
  l->values = layout_array(&at, (size_t)r->def->attr_count, sizeof(hr_attr_t));
  l->extras = layout_array(&at, (size_t)r->extra_count, sizeof(hr_named_attr_t));
  l->input_types = layout_array(&at, (size_t)d->input_count, sizeof(int32_t));
  l->output_types = layout_array(&at, (size_t)r->output_count, sizeof(int32_t));
  l->name = layout_array(&at, d->name.size + 1, sizeof(char));
  l->device = at;
  if (!device_is_last(g, d->device)) layout_array(&at, d->device.size + 1, sizeof(char));
  l->total = at;
}

static hr_str_t node_text(char* at, hr_str_t text) {
  if (text.size) memcpy(at, text.data, text.size);
  at[text.size] = 0;
  return (hr_str_t){at, text.size};
}

static hr_node_t* node_lay_out(hr_graph_t* g, const hr_resolve_t* r) {
  node_layout_t l;
  layout_make(g, r, &l);
  char* block = hr_arena_alloc(&g->arena, l.total);
  if (!block) return NULL;
  hr_node_t* n = (hr_node_t*)(void*)block;
  memset(n, 0, sizeof *n);
  n->graph = g;
  n->input_count = r->desc->input_count;
  n->output_count = r->output_count;
  n->inputs = (hr_value_t*)(void*)(block + l.inputs);
  n->controls = (hr_node_t**)(void*)(block + l.controls);
  n->shapes = (const hr_pshape_t**)(void*)(block + l.shapes);
  n->attrs.def = r->def;
  n->attrs.values = (hr_attr_t*)(void*)(block + l.values);
  n->attrs.extras = (hr_named_attr_t*)(void*)(block + l.extras);
  n->input_types = (int32_t*)(void*)(block + l.input_types);
  n->output_types = (int32_t*)(void*)(block + l.output_types);
  hr_resolve_input_types(r, (int32_t*)(void*)(block + l.input_types));
  hr_resolve_output_types(r, (int32_t*)(void*)(block + l.output_types));
  n->name = node_text(block + l.name, r->desc->name);
  n->device = device_is_last(g, r->desc->device) ? g->last_device : node_text(block + l.device, r->desc->device);
  for (int i = 0; i < n->output_count; ++i) n->shapes[i] = &hr_pshape_unknown;
  return n;
}

/* --- inputs ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t input_check_endpoint(const hr_graph_t* g, hr_value_t v, int input) {
  if (v.node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "input %d comes from node '%s' of another graph", input, v.node->name.data);
  if (v.index >= 0 && v.index < v.node->output_count) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "input %d wants output %d of node '%s' (%.*s), which has %d outputs", input, (int)v.index,
                  v.node->name.data, HR_STR_ARG(v.node->attrs.def->name), (int)v.node->output_count);
}

/* A reference serves where a value is wanted; a value does not where a reference is. */
static inline bool input_type_fits(int32_t expected, int32_t actual) {
  return actual == expected || (hr_dtype_is_ref(actual) && hr_dtype_base(actual) == (hr_dtype_t)expected);
}

static hr_status_t input_type_error(hr_str_t name, int input, hr_value_t v, int32_t expected) {
  return HR_ERROR(INVALID_ARGUMENT, "input %d%s%.*s is %s (from '%s:%d') but %s is expected", input, name.size ? " " : "", HR_STR_ARG(name),
                  hr_dtype_name(hr_value_type(v)), v.node->name.data, (int)v.index, hr_dtype_name(expected));
}

static hr_status_t node_take_inputs(const hr_resolve_t* r, hr_node_t* n) {
  for (int i = 0; i < n->input_count; ++i) {
    hr_value_t v = r->desc->inputs[i];
    n->inputs[i] = v;
    if (v.node) {
      if (!input_type_fits(n->input_types[i], hr_value_type(v)))
        return input_type_error(hr_resolve_input_name(r, i), i, v, n->input_types[i]);
    } else if (!r->desc->allow_missing_inputs) {
      return HR_ERROR(INVALID_ARGUMENT, "input %d is missing", i);
    }
  }
  return NULL;
}

/* Endpoints must hold before types are inferred from them. */
static hr_status_t inputs_check(const hr_graph_t* g, const hr_node_desc_t* desc) {
  for (int i = 0; i < desc->input_count; ++i)
    if (desc->inputs[i].node) HR_TRY(input_check_endpoint(g, desc->inputs[i], i));
  return NULL;
}

/* --- control inputs, each once --------------------------------------------------------------------------------------------------- */
static bool control_is_in(hr_node_t* const* controls, int32_t count, const hr_node_t* node) {
  for (int32_t i = 0; i < count; ++i)
    if (controls[i] == node) return true;
  return false;
}

static hr_status_t controls_fold_many(const hr_node_desc_t* desc, hr_node_t* n) {
  hr_status_t status = NULL;
  hr_map_t seen;
  hr_map_init(&seen);
  for (int32_t i = 0; i < desc->control_count; ++i) {
    if (hr_map_find_ptr(&seen, desc->controls[i], NULL)) continue;
    if ((status = hr_map_set_ptr(&seen, desc->controls[i], 1))) goto done;
    n->controls[n->control_count++] = desc->controls[i];
  }
done:
  hr_map_deinit(&seen);
  return status;
}

static hr_status_t node_take_controls(const hr_graph_t* g, const hr_node_desc_t* desc, hr_node_t* n) {
  for (int32_t i = 0; i < desc->control_count; ++i)
    if (!desc->controls[i] || desc->controls[i]->graph != g)
      return HR_ERROR(INVALID_ARGUMENT, "control input %d is %s", (int)i, desc->controls[i] ? "a node of another graph" : "missing");
  if (desc->control_count > 16) return controls_fold_many(desc, n);
  for (int32_t i = 0; i < desc->control_count; ++i)
    if (!control_is_in(n->controls, n->control_count, desc->controls[i])) n->controls[n->control_count++] = desc->controls[i];
  return NULL;
}

/* --- attrs ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t attr_keep(hr_graph_t* g, const hr_attr_t* from, bool kept, hr_attr_t* out) {
  if (!kept) return hr_attr_copy(&g->arena, &g->tensors, from, out);
  *out = *from;
  return NULL;
}

static hr_status_t node_take_extras(hr_graph_t* g, const hr_resolve_t* r, hr_node_t* n) {
  hr_named_attr_t* extras = (hr_named_attr_t*)n->attrs.extras;
  for (int32_t i = 0; i < r->desc->attr_count; ++i) {
    const hr_named_attr_t* given = &r->desc->attrs[i];
    if (hr_sig_find_attr(r->def, given->name) >= 0) continue;
    hr_named_attr_t* to = &extras[n->attrs.extra_count];
    to->name = given->name;
    if (!r->desc->attrs_kept && !hr_arena_str(&g->arena, given->name, &to->name)) return hr_status_out_of_memory();
    HR_TRY(attr_keep(g, &given->value, r->desc->attrs_kept, &to->value));
    ++n->attrs.extra_count;
  }
  return NULL;
}

static hr_status_t node_take_attrs(hr_graph_t* g, const hr_resolve_t* r, hr_node_t* n) {
  hr_attr_t* values = (hr_attr_t*)n->attrs.values;
  for (int i = 0; i < r->def->attr_count; ++i) HR_TRY(attr_keep(g, &r->values[i], r->origins[i] == HR_RESOLVE_KEPT, &values[i]));
  return r->extra_count ? node_take_extras(g, r, n) : NULL;
}

static hr_status_t node_take_constant(hr_node_t* n) {
  if (n->attrs.def->node_class != HR_NODE_CONST || n->output_count != 1) return NULL;
  const hr_tensor_t* value = hr_attrs_tensor(&n->attrs, "value");
  if (value->dtype != hr_dtype_base(n->output_types[0]))
    return HR_ERROR(INVALID_ARGUMENT, "attr 'value' is a %s tensor but attr 'dtype' is %s", hr_dtype_name(value->dtype),
                    hr_dtype_name(n->output_types[0]));
  n->constant = (hr_tensor_t*)value;
  return NULL;
}

/* --- adding ---------------------------------------------------------------------------------------------------------------------- */
static hr_status_t op_check_version(const hr_graph_t* g, const hr_op_def_t* def) {
  if (def->op->deprecated <= 0 || g->producer < def->op->deprecated) return NULL;
  return HR_ERROR(UNIMPLEMENTED, "the op is not available in GraphDef version %d: it was removed in version %d%s%s", (int)g->producer,
                  def->op->deprecated, def->op->deprecated_why ? "; " : "", def->op->deprecated_why ? def->op->deprecated_why : "");
}

static hr_status_t node_build(hr_graph_t* g, const hr_node_desc_t* desc, const hr_op_def_t* def, hr_node_t** out) {
  hr_resolve_t r;
  HR_TRY(inputs_check(g, desc));
  HR_TRY(hr_resolve_run(&r, &g->arena, def, desc));
  hr_node_t* n = node_lay_out(g, &r);
  if (!n) return hr_status_out_of_memory();
  HR_TRY(node_take_inputs(&r, n));
  HR_TRY(node_take_controls(g, desc, n));
  HR_TRY(node_take_attrs(g, &r, n));
  HR_TRY(node_take_constant(n));
  *out = n;
  return NULL;
}

/* The steps that change the graph. */
static hr_status_t node_enter(hr_graph_t* g, hr_node_t* n) {
  bool added = false;
  if (g->nodes.count >= INT32_MAX) return HR_ERROR(RESOURCE_EXHAUSTED, "the graph has %lld nodes already", (long long)g->nodes.count);
  HR_TRY(hr_vec_reserve(&g->nodes, 1));
  HR_TRY(hr_edges_link(g, n));
  hr_status_t status = hr_names_is_original(g, n->name) ? NULL : hr_map_add(&g->by_name, n->name, (uintptr_t)n, &added);
  if (!status && !added) status = HR_ERROR(INVALID_ARGUMENT, "duplicate node name in graph: '%s'", n->name.data);
  if (status) {
    hr_edges_unlink(n);
    return status;
  }
  hr_graph_note_op(g, n->attrs.def->name);
  n->id = (int32_t)g->nodes.count;
  g->nodes.data[g->nodes.count++] = n;
  return NULL;
}

static void keeper_truncate(hr_attr_keeper_t* k, int64_t count) {
  while (k->count > count) hr_tensor_release(k->data[--k->count]);
}

static hr_status_t node_add(hr_graph_t* g, const hr_node_desc_t* desc, const hr_op_def_t* def, hr_node_t** out) {
  hr_node_t* n = NULL;
  hr_arena_block_t* block = g->arena.blocks;
  char* mark = g->arena.next;
  int64_t tensors = g->tensors.count;
  hr_status_t status = node_build(g, desc, def, &n);
  if (status) { /* nothing refers to what was laid out: the arena takes it back */
    keeper_truncate(&g->tensors, tensors);
    if (g->arena.blocks == block) g->arena.next = mark;
    return status;
  }
  if (!desc->skip_shapes) HR_TRY(desc->try_shapes ? hr_shapes_try(g, n) : hr_shapes_infer(g, n));
  HR_TRY(node_enter(g, n));
  g->last_device = n->device;
  *out = n;
  return NULL;
}

hr_status_t hr_graph_add(hr_graph_t* g, const hr_node_desc_t* desc, hr_node_t** out) {
  const hr_op_def_t* def = NULL;
  if (g->names_pending && !g->originals) HR_TRY(hr_names_index(g));
  hr_status_t status = hr_names_check(desc->name, desc->skip_shapes || desc->internal);
  if (!status) status = hr_function_or_op(g, desc->op, &def);
  if (!status) status = op_check_version(g, def);
  if (!status) status = node_add(g, desc, def, out);
  if (__builtin_expect(status == NULL, 1)) return NULL;
  return hr_status_note(status, "node '%.*s' (%.*s): ", HR_STR_ARG(hr_str_slice(desc->name, 0, 500)),
                        HR_STR_ARG(hr_str_slice(desc->op, 0, 200)));
}

/* --- changing -------------------------------------------------------------------------------------------------------------------- */
static hr_status_t input_replace(hr_graph_t* g, hr_node_t* node, int input, hr_value_t from) {
  if (node->graph != g || input < 0 || input >= node->input_count) return HR_ERROR(INVALID_ARGUMENT, "there is no input %d", input);
  if (!from.node) return HR_ERROR(INVALID_ARGUMENT, "input %d is missing", input);
  HR_TRY(input_check_endpoint(g, from, input));
  if (!input_type_fits(node->input_types[input], hr_value_type(from)))
    return input_type_error(HR_STR(""), input, from, node->input_types[input]);
  hr_value_t old = node->inputs[input];
  if (old.node == from.node) {
    hr_edges_move(from, node, input);
  } else {
    HR_TRY(hr_edges_add(g, from, node, input));
    if (old.node) hr_edges_remove(old, node, input);
  }
  node->inputs[input] = from;
  return NULL;
}

hr_status_t hr_graph_set_input(hr_graph_t* g, hr_node_t* node, int input, hr_value_t from) {
  hr_status_t status = input_replace(g, node, input, from);
  return status ? hr_status_note(status, "node '%s' (%.*s): ", node->name.data, HR_STR_ARG(node->attrs.def->name)) : NULL;
}

hr_status_t hr_graph_add_control(hr_graph_t* g, hr_node_t* node, hr_node_t* waits_for) {
  if (node->graph != g || waits_for->graph != g)
    return HR_ERROR(INVALID_ARGUMENT, "node '%s': a control edge cannot join two graphs", node->name.data);
  if (node == waits_for) return HR_ERROR(INVALID_ARGUMENT, "node '%s' cannot wait for itself", node->name.data);
  if (control_is_in(node->controls, node->control_count, waits_for)) return NULL;
  hr_node_t** longer = hr_arena_alloc(&g->arena, ((size_t)node->control_count + 1) * sizeof *longer);
  if (!longer) return hr_status_out_of_memory();
  HR_TRY(hr_edges_add_control(g, waits_for, node));
  if (node->control_count) memcpy(longer, node->controls, (size_t)node->control_count * sizeof *longer);
  longer[node->control_count++] = waits_for;
  node->controls = longer;
  return NULL;
}

void hr_graph_remove_controls(hr_node_t* node) {
  for (int32_t i = 0; i < node->control_count; ++i) hr_edges_remove_control(node->controls[i], node);
  node->control_count = 0;
}
