/* SPDX-License-Identifier: Apache-2.0 */
/* The session's working copy of the pruned part of a graph, for passes to edit.
 *
 * Names, attrs, types, shapes and constants are shared with the source by pointer, so the source must outlive the copy; nodes, edges and
 * what passes add are the copy's own, in its arena. The source is only read, under its mu; afterwards the copy needs no lock.
 * Each feed becomes a node of class ARG without inputs (named "_arg_<node>_<output>_<i>", output 0 the fed value, without reference,
 * shape as inferred in the source: whoever feeds checks values against it). Fed placeholders do not appear otherwise. */
#ifndef HR_GRAPH_COPY_H
#define HR_GRAPH_COPY_H
#include "graph/prune.h"

typedef struct {
  hr_graph_t* graph;     /* owned by this struct; nodes in topological order, the feeds first */
  hr_node_t** of_source; /* by source node id: its copy, or NULL */
  int64_t source_count;
  hr_node_t** feeds; /* by feed index: its ARG node */
  int32_t feed_count;
} hr_graph_copy_t;

HR_MUST_USE hr_status_t hr_graph_copy_pruned(const hr_graph_t* source, const hr_prune_request_t* request, hr_graph_copy_t* out);
void hr_graph_copy_deinit(hr_graph_copy_t* c);
/* The copy of a source endpoint: the feed's node if it is fed, else the copied node's output; node NULL when it was pruned away. */
hr_value_t hr_graph_copy_value(const hr_graph_copy_t* c, const hr_prune_request_t* request, hr_value_t source_value);

/* --- edits (graphs made here only; new nodes come from hr_graph_add with skip_shapes, inputs from hr_graph_set_input) ------------ */
/* Every consumer of `from`, but to.node itself, reads `to` from now on. Types must be equal up to reference (INVALID_ARGUMENT). */
HR_MUST_USE hr_status_t hr_graph_replace_value(hr_graph_t* g, hr_value_t from, hr_value_t to);
/* Whoever waits for `from` waits for `to` from now on. */
HR_MUST_USE hr_status_t hr_graph_replace_control(hr_graph_t* g, hr_node_t* from, hr_node_t* to);
void hr_graph_remove_control(hr_graph_t* g, hr_node_t* node, hr_node_t* waits_for);
/* Takes the node out, with its in-edges: nodes[id] becomes NULL. FAILED_PRECONDITION while anything consumes it. */
HR_MUST_USE hr_status_t hr_graph_remove(hr_graph_t* g, hr_node_t* node);
#endif
