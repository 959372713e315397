/* SPDX-License-Identifier: Apache-2.0 */
/* The out-edges of nodes: consumer lists in the graph's arena, which double when full. In-edges are the nodes' own arrays. */
#ifndef HR_GRAPH_EDGES_H
#define HR_GRAPH_EDGES_H
#include "graph/graph.h"

HR_MUST_USE hr_status_t hr_edges_add(hr_graph_t* g, hr_value_t from, hr_node_t* consumer, int input);
/* Room for `extra` more consumers, so that as many adds cannot fail. */
HR_MUST_USE hr_status_t hr_edges_reserve(hr_graph_t* g, hr_node_t* from, int64_t extra, int64_t extra_controls);
HR_MUST_USE hr_status_t hr_edges_add_control(hr_graph_t* g, hr_node_t* from, hr_node_t* consumer);
void hr_edges_move(hr_value_t to, const hr_node_t* consumer, int input); /* the edge stays at its node and reads output to.index */
void hr_edges_remove(hr_value_t from, const hr_node_t* consumer, int input);
void hr_edges_remove_control(hr_node_t* from, const hr_node_t* consumer);
/* All in-edges of a new node, or none on failure. */
HR_MUST_USE hr_status_t hr_edges_link(hr_graph_t* g, hr_node_t* node);
/* Undoes hr_edges_link; cheap while the node is the newest. */
void hr_edges_unlink(hr_node_t* node);
#endif
