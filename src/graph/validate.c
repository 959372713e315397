/* SPDX-License-Identifier: Apache-2.0 */
/* The executable specification of a legal graph. Slow on purpose: it trusts nothing and recomputes what it can. */
#include "graph/validate.h"

#include "graph/names.h"
#include "graph/order.h"

#define VALID(n, condition, ...)                                                                             \
  do {                                                                                                       \
    if (!(condition)) return hr_status_note(HR_ERROR(INTERNAL, __VA_ARGS__), "node '%s': ", (n)->name.data); \
  } while (0)

static bool valid_is_in_graph(const hr_graph_t* g, const hr_node_t* n) {
  return n && n->id >= 0 && n->id < g->nodes.count && g->nodes.data[n->id] == n;
}

static hr_status_t valid_identity(const hr_graph_t* g, const hr_node_t* n, int64_t at) {
  VALID(n, n->id == at && n->graph == g, "its id is %d but it stands at %lld", (int)n->id, (long long)at);
  VALID(n, n->name.data && n->name.data[n->name.size] == 0, "its name has no end");
  hr_status_t status = hr_names_check(n->name, true);
  if (status) return status;
  VALID(n, g->names_pending || hr_graph_find(g, n->name) == n, "its name leads to another node");
  VALID(n, n->attrs.def && n->attrs.def->op, "it has no op");
  return NULL;
}

static hr_status_t valid_attrs(const hr_node_t* n) {
  for (int i = 0; i < n->attrs.def->attr_count; ++i) {
    const hr_attr_def_t* want = &n->attrs.def->attrs[i];
    VALID(n, n->attrs.values[i].kind == want->kind && n->attrs.values[i].is_list == want->is_list, "attr '%.*s' is %s instead of %s",
          HR_STR_ARG(want->name), hr_attr_kind_name((hr_attr_kind_t)n->attrs.values[i].kind, n->attrs.values[i].is_list),
          hr_attr_kind_name((hr_attr_kind_t)want->kind, want->is_list));
  }
  return NULL;
}

static hr_status_t valid_types(const hr_node_t* n, bool outputs) {
  hr_arena_t arena;
  int32_t* types = NULL;
  int count = 0;
  hr_arena_init(&arena);
  hr_status_t status = hr_sig_arg_types(&arena, n->attrs.def, n->attrs.values, outputs, &types, &count);
  if (!status && count != (outputs ? n->output_count : n->input_count))
    status = HR_ERROR(INTERNAL, "node '%s': its signature wants %d ends", n->name.data, count);
  const int32_t* have = outputs ? n->output_types : n->input_types;
  for (int i = 0; !status && i < count; ++i)
    if (have[i] != types[i])
      status = HR_ERROR(INTERNAL, "node '%s': end %d is %s, its signature says %s", n->name.data, i, hr_dtype_name(have[i]),
                        hr_dtype_name(types[i]));
  hr_arena_deinit(&arena);
  return status;
}

static hr_status_t valid_inputs(const hr_graph_t* g, const hr_node_t* n) {
  for (int i = 0; i < n->input_count; ++i) {
    hr_value_t v = n->inputs[i];
    VALID(n, valid_is_in_graph(g, v.node) && v.index >= 0 && v.index < v.node->output_count, "input %d is no output of the graph", i);
    int32_t have = hr_value_type(v), want = n->input_types[i];
    VALID(n, have == want || (hr_dtype_is_ref(have) && (int32_t)hr_dtype_base(have) == want), "input %d is %s instead of %s", i,
          hr_dtype_name(have), hr_dtype_name(want));
    int64_t edges = 0;
    for (int64_t k = 0; k < v.node->consumers.count; ++k)
      edges += v.node->consumers.data[k].node == n && v.node->consumers.data[k].input == i && v.node->consumers.data[k].output == v.index;
    VALID(n, edges == 1, "input %d has %lld edges at its producer", i, (long long)edges);
  }
  for (int i = 0; i < n->control_count; ++i) {
    VALID(n, valid_is_in_graph(g, n->controls[i]) && n->controls[i] != n, "control input %d is no other node of the graph", i);
    int64_t edges = 0;
    for (int64_t k = 0; k < n->controls[i]->control_consumers.count; ++k) edges += n->controls[i]->control_consumers.data[k] == n;
    VALID(n, edges == 1, "control input %d has %lld edges at its producer", i, (long long)edges);
  }
  return NULL;
}

static hr_status_t valid_consumers(const hr_graph_t* g, const hr_node_t* n) {
  for (int64_t k = 0; k < n->consumers.count; ++k) {
    const hr_node_t* c = n->consumers.data[k].node;
    int32_t input = n->consumers.data[k].input;
    VALID(n, valid_is_in_graph(g, c) && input >= 0 && input < c->input_count, "consumer %lld is no input of the graph", (long long)k);
    VALID(n, c->inputs[input].node == n && c->inputs[input].index == n->consumers.data[k].output, "consumer '%s' reads something else",
          c->name.data);
  }
  for (int64_t k = 0; k < n->control_consumers.count; ++k) {
    const hr_node_t* c = n->control_consumers.data[k];
    bool waits = false;
    VALID(n, valid_is_in_graph(g, c), "control consumer %lld is not in the graph", (long long)k);
    for (int i = 0; i < c->control_count; ++i) waits |= c->controls[i] == n;
    VALID(n, waits, "control consumer '%s' does not wait for it", c->name.data);
  }
  return NULL;
}

static hr_status_t valid_node(const hr_graph_t* g, const hr_node_t* n, int64_t at) {
  HR_TRY(valid_identity(g, n, at));
  HR_TRY(valid_attrs(n));
  HR_TRY(valid_types(n, false));
  HR_TRY(valid_types(n, true));
  HR_TRY(valid_inputs(g, n));
  HR_TRY(valid_consumers(g, n));
  for (int i = 0; i < n->output_count; ++i) VALID(n, n->shapes[i] && n->shapes[i]->rank >= -1, "output %d has no shape", i);
  VALID(n, !n->constant || (n->output_count > 0 && n->constant->dtype == hr_dtype_base(n->output_types[0])),
        "its constant has another type");
  return NULL;
}

static hr_status_t valid_order(const hr_graph_t* g) {
  int64_t count = 0;
  hr_node_t** nodes = hr_alloc_array((size_t)g->nodes.count + 1, sizeof *nodes);
  if (!nodes) return hr_status_out_of_memory();
  for (int64_t i = 0; i < g->nodes.count; ++i)
    if (g->nodes.data[i]) nodes[count++] = g->nodes.data[i];
  hr_status_t status = hr_order_nodes(g, nodes, count);
  if (hr_status_code(status) == HR_INVALID_ARGUMENT) {
    hr_status_t cycle = HR_ERROR(INTERNAL, "%s", hr_status_message(status));
    hr_status_release(status);
    status = cycle;
  }
  hr_free(nodes);
  return status;
}

hr_status_t hr_graph_validate(const hr_graph_t* g) {
  int64_t count = 0;
  for (int64_t i = 0; i < g->nodes.count; ++i) {
    if (!g->nodes.data[i]) continue;
    ++count;
    HR_TRY(valid_node(g, g->nodes.data[i], i));
  }
  if (!g->names_pending && g->by_name.count != count)
    return HR_ERROR(INTERNAL, "the name table has %lld entries for %lld nodes", (long long)g->by_name.count, (long long)count);
  return valid_order(g);
}
