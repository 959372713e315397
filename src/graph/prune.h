/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needs of a graph: backwards from fetches and targets, stopping at feeds. Feeding replaces an output, not a node: a
 * node of which one output is fed still runs when another of its outputs, or the node itself, is asked for. */
#ifndef HR_GRAPH_PRUNE_H
#define HR_GRAPH_PRUNE_H
#include "graph/graph.h"

typedef struct {
  const hr_value_t* feeds;
  int32_t feed_count;
  const hr_value_t* fetches;
  int32_t fetch_count;
  hr_node_t* const* targets;
  int32_t target_count;
  bool in_parts; /* feeds and fetches come and go one by one (partial runs) */
} hr_prune_request_t;

typedef struct {
  HR_VEC(hr_node_t*) nodes; /* needed, producers before consumers (back edges of loops excepted) */
} hr_prune_t;

/* INVALID_ARGUMENT: an endpoint that its node does not have, fed twice, or both fed and fetched. The caller holds g->mu. Control edges
 * from a placeholder that is fed are dropped: the feed is there before the step starts. */
HR_MUST_USE hr_status_t hr_prune_run(const hr_graph_t* g, const hr_prune_request_t* request, hr_prune_t* out);
void hr_prune_deinit(hr_prune_t* p);
#endif
