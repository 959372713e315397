/* SPDX-License-Identifier: Apache-2.0 */
/* A While gets one more variable: its arrays are copied one longer in the arena, and only then put in their place. */
#include "graph/grow.h"
#include "graph/edges.h"

static void* longer_by_one(hr_graph_t* g, const void* old, int64_t count, size_t size) { /* NULL: out of memory */
  void* made = hr_arena_array(&g->arena, (size_t)count + 1, size);
  if (made && count) memcpy(made, old, (size_t)count * size);
  return made;
}

typedef struct {
  hr_value_t* inputs;
  int32_t *input_types, *output_types, *listed;
  const hr_pshape_t** shapes;
  hr_attr_t* values;
  struct hr_handle_info* handles;
} longer_t;

static bool make_longer(hr_graph_t* g, const hr_node_t* n, const hr_attr_t* types, longer_t* out) {
  out->inputs = longer_by_one(g, n->inputs, n->input_count, sizeof *n->inputs);
  out->input_types = longer_by_one(g, n->input_types, n->input_count, sizeof *n->input_types);
  out->output_types = longer_by_one(g, n->output_types, n->output_count, sizeof *n->output_types);
  out->shapes = longer_by_one(g, n->shapes, n->output_count, sizeof *n->shapes);
  out->listed = longer_by_one(g, types->u.types, types->count, sizeof *types->u.types);
  out->values = longer_by_one(g, n->attrs.values, n->attrs.def->attr_count, sizeof *n->attrs.values);
  out->handles = n->handles ? longer_by_one(g, n->handles, n->output_count, sizeof *n->handles) : NULL;
  return out->inputs && out->input_types && out->output_types && out->shapes && out->listed && out->values && (out->handles || !n->handles);
}

hr_status_t hr_graph_append_loop_input(hr_graph_t* g, hr_node_t* node, hr_value_t from) {
  const hr_op_def_t* def = node->attrs.def;
  longer_t l;
  if (node->graph != g || from.node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "node '%s' is of another graph", node->name.data);
  if (!hr_str_equal(def->name, HR_STR("While")) && !hr_str_equal(def->name, HR_STR("StatelessWhile")))
    return HR_ERROR(INTERNAL, "node '%s' is a %.*s, not a While, so it has no variables to add", node->name.data, HR_STR_ARG(def->name));
  const hr_attr_t* types = hr_attrs_find(&node->attrs, "T");
  int32_t type = (int32_t)hr_dtype_base(hr_value_type(from)), at = node->input_count;
  if (!make_longer(g, node, types, &l)) return hr_status_out_of_memory();
  HR_TRY(hr_edges_add(g, from, node, at));
  l.inputs[at] = from;
  l.input_types[at] = l.output_types[node->output_count] = l.listed[types->count] = type;
  l.shapes[node->output_count] = &hr_pshape_unknown;
  hr_attr_t* list = &l.values[types - node->attrs.values];
  list->u.types = l.listed;
  list->count = types->count + 1;
  list->kind = HR_ATTR_TYPE;
  node->inputs = l.inputs;
  node->input_types = l.input_types;
  node->output_types = l.output_types;
  node->shapes = l.shapes;
  node->attrs.values = l.values;
  if (l.handles) node->handles = l.handles;
  ++node->input_count;
  ++node->output_count;
  return NULL;
}
