/* SPDX-License-Identifier: Apache-2.0 */
/* The local runner's inside: programs of several parts. */
#ifndef HR_SESSION_RUNNER_PARTS_H
#define HR_SESSION_RUNNER_PARTS_H
#include "session/place.h"
#include "session/runner.h"

typedef struct {
  hr_plan_t* plan;
  const char* device;    /* its name */
  int32_t* feeds;        /* the program's indices of the plan's feeds */
  int32_t feed_count;
} hr_runner_part_t;

typedef struct {
  hr_runner_t base;
  hr_plan_t* plan;         /* of the whole program; NULL when there are parts */
  const char* device;      /* where that lies */
  hr_runner_part_t* parts; /* as many as base.partition has */
  int32_t* fetch_part;     /* by fetch of the program: the part that has it, and its number among the plan's fetches */
  int32_t* fetch_place;
} hr_local_runner_t;

struct hr_runner_binding {
  int32_t part_count;
  hr_plan_binding_t parts[]; /* one for each part */
};

static inline int32_t hr_runner_part_count(const hr_runner_t* r) { return r->partition.count ? r->partition.count : 1; }

HR_MUST_USE hr_status_t hr_runner_parts_create(hr_local_runner_t* l, const hr_device_set_t* devices, hr_state_table_t* states,
                                               hr_resources_t* resources);
void hr_runner_parts_destroy(hr_local_runner_t* l);
HR_MUST_USE hr_status_t hr_runner_parts_bind(const hr_local_runner_t* l, const int32_t* feed_from, const int32_t* fetch_of,
                                             int32_t fetch_count, hr_runner_binding_t* out);
/* All parts at once, the first on the caller's thread, the others on errands' threads. The first failure ends the others and is the
 * step's. */
HR_MUST_USE hr_status_t hr_runner_parts_run(hr_local_runner_t* l, const hr_runner_binding_t* b, hr_step_t* step, const hr_tensor_t* feeds,
                                            hr_tensor_t* out_fetches);
#endif
