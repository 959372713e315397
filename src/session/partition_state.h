/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a partitioning, shared by its files: partition.c labels nodes and walks edges, partition_edges.c makes the pairs of _Send
 * and _Recv, partition_number.c says what number an edge has, partition_loops.c makes control loops. */
#ifndef HR_SESSION_PARTITION_STATE_H
#define HR_SESSION_PARTITION_STATE_H
#include "graph/frames.h"
#include "session/partition.h"

enum { HR_EDGE_CONTROL = -1 };

typedef struct {
  int32_t output, part; /* of the source; HR_EDGE_CONTROL */
  int32_t next;         /* of the same source; -1 */
  hr_node_t* end;       /* what readers in that part have instead */
} hr_transfer_t;

typedef struct {
  int32_t frame, part;
  int32_t edge;         /* number of its first edge */
  hr_node_t *merge, *turn; /* turn: its Switch */
} hr_control_loop_t;

typedef struct {
  hr_program_t* p;
  const hr_device_set_t* devices;
  const char* suffix;
  int32_t* part_of_device;         /* by device; -1: no node there */
  int32_t part_count;
  HR_VEC(int32_t) part_of;         /* by id; -1: not live */
  HR_VEC(hr_node_t*) sequence;     /* all nodes of all parts, each after those it was made for */
  HR_VEC(hr_node_t*) extra;        /* nodes of control loops, whose edges are walked last */
  HR_VEC(hr_transfer_t) transfers;
  HR_VEC(int32_t) first_transfer;  /* by id */
  HR_VEC(hr_control_loop_t) loops;
  hr_map_t loop_of;                /* (frame, part) to index in loops */
  hr_frames_t frames;
  bool has_frames;
  int64_t next_name;
  int32_t* edge_base;              /* by id: number of the first in-edge of a live node */
  int32_t* feed_edges;             /* by id of a feed: number of its next out-edge */
  int32_t next_edge;               /* for control loops */
} hr_partition_state_t;

/* A node of the kind `desc`, named after `base`, on the device and of the rank of `like`; its part is known afterwards. */
HR_MUST_USE hr_status_t hr_partition_add(hr_partition_state_t* s, const hr_node_desc_t* desc, hr_str_t base, int64_t number,
                                         const hr_node_t* like, hr_node_t** out);

/* partition_number.c */
HR_MUST_USE hr_status_t hr_partition_number(hr_partition_state_t* s);
/* Of the edge that is in-edge `at` of dst (data first, then control), from src. To be asked for every edge of a live node, in order;
 * io_before: 0 at its first. */
int32_t hr_partition_edge(hr_partition_state_t* s, const hr_node_t* src, const hr_node_t* dst, int32_t at, int32_t* io_before);

/* partition_edges.c */
/* What stands for output `output` of src (HR_EDGE_CONTROL: for its end) in dst's part. */
HR_MUST_USE hr_status_t hr_partition_bring(hr_partition_state_t* s, hr_node_t* src, int32_t output, hr_node_t* dst, int32_t edge,
                                           hr_node_t** out);

/* partition_loops.c */
void hr_partition_move_flow(hr_partition_state_t* s); /* Switch, Exit, Enter, NextIteration go beside their data neighbour */
HR_MUST_USE hr_status_t hr_partition_find_loops(hr_partition_state_t* s);
/* The loop whose Merge starts receives of values in the frame that src gives to; NULL: the root frame. */
const hr_control_loop_t* hr_partition_loop_of(const hr_partition_state_t* s, const hr_node_t* src, const hr_node_t* dst);
#endif
