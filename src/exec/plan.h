/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: one partition compiled for one signature, immutable, run by many steps at once.
 *
 * Nodes in topological order as packed sites (op/kernel_ctx.h); values in numbered slots of a frame, slots reused once their value's
 * last use is past, so a long chain touches a handful. The first slots are the feeds. */
#ifndef HR_EXEC_PLAN_H
#define HR_EXEC_PLAN_H
#include "graph/graph.h"
#include "op/kernel_ctx.h"
#include "rt/step.h"

typedef struct hr_plan hr_plan_t;
/* Kernel state that outlives plans: one per session and stateful node name; exec asks for it through this. */
typedef struct hr_state_table hr_state_table_t;
HR_MUST_USE hr_status_t hr_state_table_create(hr_state_table_t** out);
void hr_state_table_destroy(hr_state_table_t* t);

typedef struct {
  hr_node_t* const* nodes;        /* of the partition, pruned, in any order (kept where edges allow); alive as long as the plan */
  int64_t node_count;
  const hr_value_t* feeds;        /* endpoints that arrive from outside (ARG nodes) */
  int32_t feed_count;
  const hr_value_t* fetches;
  int32_t fetch_count;
  hr_state_table_t* states;
  hr_resources_t* resources;
  const struct hr_device* device; /* where the nodes run (rt/device.h); NULL: host */
  int32_t lanes;                  /* most sites that run at once (exec/lanes.h); 0 and 1: one after another */
  int32_t threads;                /* of one kernel, as the steps will have them; read where lanes are planned */
  bool keep_values;               /* for exec/partial.h: no slot is reused, nothing is taken or released before the end */
} hr_plan_desc_t;
HR_MUST_USE hr_status_t hr_plan_create(const hr_plan_desc_t* desc, hr_plan_t** out);
void hr_plan_destroy(hr_plan_t* p);
int64_t hr_plan_site_count(const hr_plan_t* p);
int64_t hr_plan_slot_count(const hr_plan_t* p); /* of temporary values */
int64_t hr_plan_lane_sites(const hr_plan_t* p); /* how many sites are planned for other threads than the step's own */

/* How a caller's order of feeds and fetches maps to the plan's. Immutable; used by many steps at once. */
typedef struct {
  int32_t* feed_from;             /* plan feed i is the caller's feed feed_from[i] */
  struct hr_plan_fetch { int32_t slot, out; bool move; }* fetches; /* those that copy come first */
  int32_t fetch_count;
} hr_plan_binding_t;
/* feed_from: as above; fetch_of: the caller's fetch j is plan fetch fetch_of[j], repeated ones allowed. NULL: the plan's own order. */
HR_MUST_USE hr_status_t hr_plan_bind(const hr_plan_t* p, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count,
                                     hr_plan_binding_t* out);
void hr_plan_binding_deinit(hr_plan_binding_t* b);

/* Runs one step: feeds are borrowed for the call (never written), fetches moved out; a fetched value is the caller's own: what something
 * else holds too (a constant, a variable's value, a feed) is copied. On failure no fetch is set. */
HR_MUST_USE hr_status_t hr_plan_run_bound(hr_plan_t* p, const hr_plan_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                                          hr_tensor_t* out_fetches);
/* The same in the plan's own order. */
HR_MUST_USE hr_status_t hr_plan_run(hr_plan_t* p, hr_step_t* step, const hr_tensor_t* feeds, hr_tensor_t* out_fetches);
#endif
