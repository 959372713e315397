/* SPDX-License-Identifier: Apache-2.0 */
/* What the fusing passes share: which nodes are still needed, and whether a value is read by one node alone. */
#ifndef HR_SESSION_FUSE_H
#define HR_SESSION_FUSE_H
#include "session/place.h"

typedef struct {
  hr_program_t* p;
  uint8_t* live; /* by id, for the nodes there were when the pass began; those it adds are needed */
  int64_t limit;
  bool has_flow; /* conditionals or loops: a Shape of a value in between lives or dies with that value, so it keeps its reader */
} hr_fuse_t;
HR_MUST_USE hr_status_t hr_fuse_init(hr_program_t* p, hr_fuse_t* out);
void hr_fuse_deinit(hr_fuse_t* f);

static inline bool hr_fuse_is_live(const hr_fuse_t* f, const hr_node_t* n) { return n->id >= f->limit || f->live[n->id]; }
/* The node, and its input, that alone reads `v`; NULL: nobody, several, one on another device, or it is fetched, or nodes wait for it.
 * Shape nodes among the readers do not count (unless has_flow), since they can read what replaces `v`; the smallest of their ranks and
 * *io_oldest_shape is left there. */
hr_node_t* hr_fuse_reader(const hr_fuse_t* f, hr_value_t v, int32_t* out_input, int32_t* io_oldest_shape);
/* Live Shape nodes that read `from` read `to`. */
HR_MUST_USE hr_status_t hr_fuse_move_shapes(const hr_fuse_t* f, hr_value_t from, hr_value_t to);
#endif
