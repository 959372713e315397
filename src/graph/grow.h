/* SPDX-License-Identifier: Apache-2.0 */
/* The one way in which a node grows: a While, whose variables its maker finds one after another. */
#ifndef HR_GRAPH_GROW_H
#define HR_GRAPH_GROW_H
#include "graph/graph.h"

/* One more input, output and type of a While or StatelessWhile; INTERNAL for another op, INVALID_ARGUMENT for a value of another graph. Its
 * functions are the caller's to change. Not while sessions run the node. */
HR_MUST_USE hr_status_t hr_graph_append_loop_input(hr_graph_t* g, hr_node_t* node, hr_value_t from);
#endif
