/* SPDX-License-Identifier: Apache-2.0 */
/* THE frame analysis: which loop frame each node belongs to. The executor numbers values by it, the partitioner sends along it, gradients
 * and control-flow contexts read it. A frame is named by the frame_name of the Enter nodes that open it, within its parent frame.
 *
 * An Enter belongs to its parent frame, an Exit to the frame that it leaves; what an Enter gives is of the child frame, what an Exit gives
 * is of the parent. A node without inputs is of the root frame. */
#ifndef HR_GRAPH_FRAMES_H
#define HR_GRAPH_FRAMES_H
#include "graph/graph.h"

typedef struct {
  hr_str_t name;               /* frame_name; "" for the root */
  int32_t parent;              /* index in frames; -1 for the root */
  int32_t enter_count;         /* Enter nodes that open it */
  int32_t parallel_iterations; /* of its first Enter; 1 for the root */
  int32_t depth;               /* 0 for the root */
  hr_node_t* loop_cond;        /* NULL: none found */
} hr_frame_info_t;

typedef struct {
  HR_VEC(hr_frame_info_t) frames; /* 0 is the root; parents before children */
  int32_t* of_node;               /* by node id: the frame that the node runs in; -1: not among the nodes given */
  int32_t* of_output;             /* by node id: the frame of its outputs and of whoever waits for it; -1 likewise */
  int64_t node_limit;
} hr_frames_t;

/* Of `count` nodes of one graph, in any order; edges from other nodes (fed ones) tell nothing. INVALID_ARGUMENT names the node whose inputs
 * come from different frames (so also one that a loop frame's value reaches without an Exit), an Exit or NextIteration of the root frame,
 * Enters of one frame that stand in different parents, a node of a loop that no Enter leads to. */
HR_MUST_USE hr_status_t hr_frames_find(hr_node_t* const* nodes, int64_t count, int64_t id_limit, hr_frames_t* out);
void hr_frames_deinit(hr_frames_t* f);
/* The frame that the values of node n's outputs are in. */
int32_t hr_frames_of_output(const hr_frames_t* f, const hr_node_t* n);
#endif
