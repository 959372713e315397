/* SPDX-License-Identifier: Apache-2.0 */
/* GraphDef into a graph, all or nothing: whatever fails, the nodes and functions added so far are taken back. */
#include "graph/import.h"

#include "graph/edges.h"
#include "graph/function.h"
#include "graph/import_state.h"
#include "op/node_class.h"

void hr_import_results_deinit(hr_import_results_t* r) {
  hr_vec_deinit(&r->outputs);
  hr_vec_deinit(&r->nodes);
  hr_vec_deinit(&r->unused_map);
  hr_vec_deinit(&r->added);
}

/* --- what the graph was before --------------------------------------------------------------------------------------------------- */
typedef struct {
  int64_t nodes, functions, bad_consumers;
  int32_t producer, min_consumer;
} import_mark_t;

static import_mark_t import_mark(const hr_graph_t* g) {
  return (import_mark_t){g->nodes.count, g->functions.count, g->bad_consumers.count, g->producer, g->min_consumer};
}

/* A removed constant's memory goes now; the keeper's (emptied) entry stays, since later entries may belong to nodes that stay. */
static void import_drop_node(hr_graph_t* g, hr_node_t* n) {
  hr_edges_unlink(n);
  hr_map_remove(&g->by_name, n->name);
  if (n->attrs.def->node_class == HR_NODE_CONST && n->constant) hr_tensor_release(n->constant);
}

static void import_take_back(hr_graph_t* g, const import_mark_t* mark) {
  while (g->nodes.count > mark->nodes) import_drop_node(g, g->nodes.data[--g->nodes.count]);
  hr_functions_truncate(g, mark->functions);
  g->bad_consumers.count = mark->bad_consumers;
  g->producer = mark->producer;
  g->min_consumer = mark->min_consumer;
}

/* --- options and results --------------------------------------------------------------------------------------------------------- */
static hr_status_t import_check_options(const hr_graph_t* g, const hr_import_options_t* o) {
  for (int32_t i = 0; i < o->input_map_count; ++i) {
    hr_value_t to = o->input_map[i].to;
    bool control = o->input_map[i].from.index < 0;
    if (!to.node || to.node->graph != g || (!control && (to.index < 0 || to.index >= to.node->output_count)))
      return HR_ERROR(INVALID_ARGUMENT, "input map entry %d ('%.*s:%d') leads to no output of this graph", (int)i,
                      HR_STR_ARG(o->input_map[i].from.node), (int)o->input_map[i].from.index);
  }
  for (int32_t i = 0; i < o->control_map_count; ++i)
    if (!o->control_map[i].to || o->control_map[i].to->graph != g)
      return HR_ERROR(INVALID_ARGUMENT, "control map entry '%.*s' leads to no node of this graph", HR_STR_ARG(o->control_map[i].from));
  for (int32_t i = 0; i < o->control_dependency_count; ++i)
    if (!o->control_dependencies[i] || o->control_dependencies[i]->graph != g)
      return HR_ERROR(INVALID_ARGUMENT, "control dependency %d is no node of this graph", (int)i);
  return NULL;
}

static hr_node_t* import_find_node(const hr_import_t* im, hr_str_t name) {
  uintptr_t at;
  return hr_map_find(&im->by_name, name, &at) ? im->nodes.data[at].node : NULL;
}

static hr_status_t import_return_output(const hr_import_t* im, hr_endpoint_t e, hr_import_results_t* out) {
  int32_t mapped = hr_import_find_mapped(im, e.node, e.index);
  hr_value_t v = mapped >= 0 ? im->options->input_map[mapped].to : (hr_value_t){import_find_node(im, e.node), e.index};
  if (!v.node)
    return HR_ERROR(INVALID_ARGUMENT, "the GraphDef has no node '%.*s', of which output %d is to be returned", HR_STR_ARG(e.node),
                    (int)e.index);
  if (v.index < 0 || v.index >= v.node->output_count)
    return HR_ERROR(INVALID_ARGUMENT, "output %d of node '%.*s' is to be returned, but it has %d outputs", (int)e.index, HR_STR_ARG(e.node),
                    (int)v.node->output_count);
  return hr_vec_push(&out->outputs, v);
}

static hr_status_t import_unused_map(const hr_import_t* im, hr_import_results_t* out) {
  for (int32_t i = 0; i < im->options->input_map_count; ++i) {
    hr_endpoint_t from = im->options->input_map[i].from;
    const hr_node_t* n = import_find_node(im, from.node);
    if (!im->map_used[i] && (!n || from.index >= n->output_count)) HR_TRY(hr_vec_push(&out->unused_map, i));
  }
  return NULL;
}

static hr_status_t import_fill_results(const hr_import_t* im, hr_import_results_t* out) {
  for (int32_t i = 0; i < im->options->return_output_count; ++i) HR_TRY(import_return_output(im, im->options->return_outputs[i], out));
  for (int32_t i = 0; i < im->options->return_node_count; ++i) {
    hr_node_t* n = import_find_node(im, im->options->return_nodes[i]);
    if (!n)
      return HR_ERROR(INVALID_ARGUMENT, "the GraphDef has no node '%.*s', which is to be returned",
                      HR_STR_ARG(im->options->return_nodes[i]));
    HR_TRY(hr_vec_push(&out->nodes, n));
  }
  return import_unused_map(im, out);
}

/* --- the import ------------------------------------------------------------------------------------------------------------------ */
/* The merged graph is as old as its oldest part and as demanding as its most demanding one. */
static hr_status_t import_merge_versions(hr_import_t* im) {
  hr_graph_t* g = im->g;
  if (im->producer < g->producer) g->producer = im->producer;
  if (im->min_consumer > g->min_consumer) g->min_consumer = im->min_consumer;
  for (int64_t i = 0; i < im->bad_consumers.count; ++i) {
    bool known = false;
    for (int64_t k = 0; k < g->bad_consumers.count; ++k) known |= g->bad_consumers.data[k] == im->bad_consumers.data[i];
    if (!known) HR_TRY(hr_vec_push(&g->bad_consumers, im->bad_consumers.data[i]));
  }
  return NULL;
}

static hr_status_t import_run(hr_import_t* im, const void* data, size_t size, hr_import_results_t* out) {
  HR_TRY(hr_import_index_maps(im));
  HR_TRY(import_check_options(im->g, im->options));
  HR_TRY(hr_import_scan(im, data, size));
  HR_TRY(hr_import_link(im));
  HR_TRY(import_merge_versions(im));
  for (int64_t i = 0; i < im->libraries.count; ++i)
    HR_TRY(hr_function_add_library(im->g, im->libraries.data[i].at, hr_cursor_left(&im->libraries.data[i])));
  HR_TRY(hr_import_add_nodes(im, out));
  return import_fill_results(im, out);
}

static void import_deinit(hr_import_t* im) {
  hr_vec_deinit(&im->nodes);
  hr_vec_deinit(&im->inputs);
  hr_vec_deinit(&im->attrs);
  hr_vec_deinit(&im->libraries);
  hr_vec_deinit(&im->order);
  hr_vec_deinit(&im->bad_consumers);
  hr_map_deinit(&im->by_name);
  hr_arena_deinit(&im->arena);
  hr_map_deinit(&im->mapped);
  hr_map_deinit(&im->controls_mapped);
  hr_free(im->map_next);
  hr_free(im->map_used);
}

hr_status_t hr_import_graph_def(hr_graph_t* g, const void* data, size_t size, const hr_import_options_t* options,
                                hr_import_results_t* out) {
  static const hr_import_options_t none;
  hr_import_t im = {.g = g, .options = options ? options : &none};
  hr_import_results_t results = {0};
  import_mark_t mark = import_mark(g);
  if (im.options->most_inflated) g->tensors.most_inflated = im.options->most_inflated;
  hr_arena_init(&im.arena);
  hr_map_init(&im.by_name);
  hr_map_init(&im.mapped);
  hr_map_init(&im.controls_mapped);
  hr_status_t status = import_run(&im, data, size, &results);
  if (status) import_take_back(g, &mark);
  import_deinit(&im);
  if (!status && out)
    *out = results;
  else
    hr_import_results_deinit(&results);
  return status;
}
