/* SPDX-License-Identifier: Apache-2.0 */
/* Threads between nodes: stretches of a plan (regions) whose sites run on several threads (lanes), where that is worth it.
 *
 * Everything is decided when the plan is made, from estimated costs (exec/cost.h): which stretch, which lane runs which site, who waits for
 * whom. A lane runs its sites in the plan's order and waits only where it needs what another lane makes. What a step computes does not
 * depend on it, nor which failure it reports: the first in the plan's order, as if one thread had run them all.
 *
 * A region holds no node with side effects, so none is done that a failure before it would have prevented; what reads a variable, and
 * what else must keep its order, runs in lane 0, which is the caller's. A step that has not leased enough threads, or whose batch is
 * too small, runs the region's sites one after another. */
#ifndef HR_EXEC_LANES_H
#define HR_EXEC_LANES_H
#include "exec/plan_state.h"

enum { HR_LANES_MOST = 8 };

typedef struct { int32_t lane, count; } hr_lane_wait_t; /* until that lane has run so many of its sites */
typedef struct { int32_t from, to; } hr_lane_share_t;   /* slots: the value in `from` gets a second holder in `to` */

typedef struct {
  int32_t lane;
  int16_t wait_count, share_count;
  const hr_lane_wait_t* waits;
  const hr_lane_share_t* shares; /* after the call: a value that several lanes read has a slot for each of them */
  bool awaited;                  /* some lane waits for this site */
} hr_lane_site_t;

typedef struct {
  int64_t begin, end;            /* of the plan's sites */
  hr_lane_site_t* sites;         /* of those */
  int32_t* lists[HR_LANES_MOST]; /* each lane's, as indexes into `sites`, in order */
  int32_t counts[HR_LANES_MOST];
  hr_lane_share_t* entry;        /* shares of values made before the region */
  int32_t entry_count;
  int64_t least_batch;           /* the smallest batch for which it pays; 0: any */
} hr_region_t;

struct hr_lanes {
  int32_t lanes, threads;        /* threads: of each lane */
  int32_t batch_feed;            /* the feed whose first dimension is the batch; -1: none */
  hr_region_t* regions;          /* in order */
  int64_t region_count;
};

/* lanes_plan.c: p->lanes, when there is a region that pays; else it stays NULL. Sites still hold values, not slots. */
typedef struct {
  hr_plan_t* plan;
  hr_arena_t* scratch;
  const hr_plan_desc_t* desc;
  hr_node_t* const* order;
  int64_t id_limit;
  int32_t value_count;
} hr_lanes_request_t;
HR_MUST_USE hr_status_t hr_lanes_plan(const hr_lanes_request_t* r);

/* lanes_run.c: one region of a step; k is the straight loop's context. */
HR_MUST_USE hr_status_t hr_lanes_run(const hr_plan_t* p, const hr_region_t* region, hr_kernel_ctx_t* k);
#endif
