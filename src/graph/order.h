/* SPDX-License-Identifier: Apache-2.0 */
/* Topological order without recursion: producers before consumers, data and control edges alike. The one kind of legal cycle, a loop's
 * back edge from NextIteration into Merge, is left out of account. */
#ifndef HR_GRAPH_ORDER_H
#define HR_GRAPH_ORDER_H
#include "graph/graph.h"

/* True for the edges that close loops: NextIteration into Merge (reference forms too). */
bool hr_order_is_back_edge(const hr_node_t* producer, const hr_node_t* consumer);
/* Orders `count` nodes of g (no NULLs, no duplicates) in place of their order, looking at edges between them only; among nodes that are
 * free to move, the given order is kept. INVALID_ARGUMENT names a node on a cycle; then the order is unspecified. */
HR_MUST_USE hr_status_t hr_order_nodes(const hr_graph_t* g, hr_node_t** nodes, int64_t count);
#endif
