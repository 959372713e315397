/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a function's body must run whenever the function is called, although nobody reads them: those that change something
 * outside (assignments, queues, files, assertions). Reading and making numbers is no effect. */
#ifndef HR_GRAPH_EFFECTS_H
#define HR_GRAPH_EFFECTS_H
#include "graph/function.h"

/* `memo`: function (pointer) to what was found; lives as long as the caller likes. */
HR_MUST_USE hr_status_t hr_effects_of_node(const hr_graph_t* g, hr_map_t* memo, const hr_node_t* node, bool* out);
/* Whether the node gives another value each time, although it changes nothing: random numbers. */
bool hr_effects_is_random(const hr_node_t* node);
#endif
