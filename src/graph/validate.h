/* SPDX-License-Identifier: Apache-2.0 */
/* What a legal graph is, as a program: any stage may ask, tests ask after each one. */
#ifndef HR_GRAPH_VALIDATE_H
#define HR_GRAPH_VALIDATE_H
#include "graph/graph.h"

/* Every promise of graph.h: ids, unique legal names and the map of them, attrs of the right kinds, inputs that exist and fit their
 * types, both directions of every edge, shapes present, no cycle but through NextIteration. INTERNAL names node and promise. */
HR_MUST_USE hr_status_t hr_graph_validate(const hr_graph_t* g);
#endif
