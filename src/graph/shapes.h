/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference of one node in its graph: runs the op's shape function on what is known of the inputs. */
#ifndef HR_GRAPH_SHAPES_H
#define HR_GRAPH_SHAPES_H
#include "graph/graph.h"

/* Sets node->shapes (preset to unknown by the caller) and node->handles; inputs with node NULL are unknown. */
HR_MUST_USE hr_status_t hr_shapes_infer(hr_graph_t* g, hr_node_t* node);
/* The same where a refusal is nobody's error yet: shapes stay unknown, and the kernel says it, if it ever runs. Fails only for want of
 * memory. */
HR_MUST_USE hr_status_t hr_shapes_try(hr_graph_t* g, hr_node_t* node);
/* Narrows the outputs by attr "_output_shapes" if the node has it; entries that contradict are INVALID_ARGUMENT. */
HR_MUST_USE hr_status_t hr_shapes_apply_attr(hr_graph_t* g, hr_node_t* node);
#endif
