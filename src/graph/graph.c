/* SPDX-License-Identifier: Apache-2.0 */
/* A graph's life. Nodes, names, edges and attrs lie in its arena and go with it; only tensors and tables are freed one by one. */
#include "graph/graph.h"

#include "graph/call_shapes.h"
#include "graph/function.h"

hr_status_t hr_graph_create(hr_graph_t** out) {
  hr_graph_t* g = hr_alloc_zero(sizeof *g);
  if (!g) return hr_status_out_of_memory();
  hr_arena_init(&g->arena);
  hr_map_init(&g->by_name);
  hr_map_init(&g->functions_by_name);
  hr_map_init(&g->next_suffix);
  hr_mutex_init(&g->mu);
  g->last_device = HR_STR("");
  g->producer = HR_GRAPH_VERSION;
  g->min_consumer = HR_GRAPH_MIN_CONSUMER;
  *out = g;
  return NULL;
}

void hr_graph_destroy(hr_graph_t* g) {
  if (!g || atomic_fetch_sub_explicit(&g->sharers, 1, memory_order_acq_rel) > 0) return;
  hr_attr_keeper_deinit(&g->tensors);
  hr_call_shapes_forget(g);
  hr_functions_deinit(g);
  hr_vec_deinit(&g->nodes);
  hr_vec_deinit(&g->bad_consumers);
  hr_map_deinit(&g->by_name);
  hr_map_deinit(&g->functions_by_name);
  hr_map_deinit(&g->next_suffix);
  hr_mutex_deinit(&g->mu);
  hr_arena_deinit(&g->arena);
  hr_free(g);
}
