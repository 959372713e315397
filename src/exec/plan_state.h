/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan, shared by the files of exec/.
 *
 *   frame's slots   [ feeds | constants | temporaries | spares ]
 *
 * Feeds are copies of the caller's structs without a reference of their own; constants hold one reference for the frame's life; temporaries
 * are empty between steps. A spare, one a lane, takes outputs that nobody wants. So entering a step costs a copy per feed and leaving it
 * nothing. */
#ifndef HR_EXEC_PLAN_STATE_H
#define HR_EXEC_PLAN_STATE_H
#include "exec/plan.h"
#include "op/node_class.h"
#include "rt/variable.h"

typedef struct {
  hr_site_t site;
  const int32_t* drops;  /* slots to release after the call: last uses, and the spare when an output goes there */
  int32_t drop_count;
  int32_t node;          /* index in the plan's order; of a dereference: its consumer's */
} hr_plan_site_t;

typedef struct hr_frame {
  struct hr_frame* next; /* in the plan's list */
  hr_slot_t* slots;
} hr_frame_t;

enum { HR_PLAN_QUICK = 16, HR_PLAN_CHECK_EVERY = 8 /* sites between two looks at the cancellation token */ };

struct hr_plan {
  hr_arena_t arena;
  hr_plan_site_t* sites;
  int64_t site_count;
  int64_t* segments;     /* ends of stretches of sites run without looking at the token */
  int64_t segment_count;
  const hr_tensor_t** constants;
  int32_t feed_count, constant_count, slot_count, spare, fetch_count;
  int32_t* fetch_slots;
  hr_plan_binding_t own; /* identity */
  int32_t need_words;    /* plans that keep values: which feeds a site, and a fetch, depends on; bits, so many words each */
  uint64_t* site_needs;
  uint64_t* fetch_needs;
  struct hr_lanes* lanes; /* where sites run side by side (exec/lanes.h); NULL: nowhere */
  struct hr_flow* flow;  /* of the general path (exec/flow.h); NULL: a straight list */
  hr_mutex_t mu;         /* guards frames */
  hr_frame_t* frames;
  struct { _Alignas(64) _Atomic(hr_frame_t*) frame; } quick[HR_PLAN_QUICK]; /* one a thread, mostly */
};

static inline int32_t hr_plan_first_temporary(const hr_plan_t* p) { return p->feed_count + p->constant_count; }

/* Whether a node is a constant of the plan: costs no site. */
bool hr_plan_is_constant(const hr_node_t* node);
const hr_tensor_t* hr_plan_constant(const hr_node_t* node);

/* plan_order.c: what can run late runs late. Rearranges `nodes`; INVALID_ARGUMENT names a node on a cycle. */
HR_MUST_USE hr_status_t hr_plan_order(hr_arena_t* scratch, hr_node_t** nodes, int64_t count, int64_t id_limit);

/* plan_slots.c: sites with their slots and flags; kernels are not chosen yet. */
HR_MUST_USE hr_status_t hr_plan_assign_slots(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order,
                                             int64_t id_limit);

/* plan_kernels.c: kernel, state and prepared memory of every site. */
HR_MUST_USE hr_status_t hr_plan_choose_kernels(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order);
void hr_plan_unprepare(hr_plan_t* p);
hr_status_t hr_plan_deref(hr_kernel_ctx_t* k); /* compute of the sites that read a variable for an ordinary consumer */

/* plan_needs.c: for plans that keep values. */
HR_MUST_USE hr_status_t hr_plan_find_needs(hr_plan_t* p, hr_arena_t* scratch, const hr_plan_desc_t* desc, hr_node_t* const* order,
                                           int64_t id_limit);

/* frame.c */
hr_frame_t* hr_plan_lease_frame(hr_plan_t* p); /* NULL: out of memory */
void hr_plan_return_frame(hr_plan_t* p, hr_frame_t* f); /* temporaries and spare must be empty */
void hr_plan_destroy_frames(hr_plan_t* p);
void hr_frame_sweep(const hr_plan_t* p, hr_frame_t* f); /* releases temporaries and spare */

/* step_run.c: a failure with its node's name, or the reason of the cancellation. Consumes take_status. */
HR_MUST_USE hr_status_t hr_step_failure(hr_step_t* step, const hr_site_t* site, hr_status_t take_status);
#endif
