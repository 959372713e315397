/* SPDX-License-Identifier: Apache-2.0 */
/* A graph, a plan of it, and what a step needs, for tests of exec. */
#ifndef HR_TESTS_RIG_H
#define HR_TESTS_RIG_H
#include "exec/plan.h"
#include "unit/exec/maker.h"

typedef struct {
  hr_graph_t* g;
  hr_resources_t* resources;
  hr_state_table_t* states;
  hr_plan_t* plan;
  hr_cancel_t cancel;
  hr_step_t step;
  int32_t lanes, threads; /* of the plan (exec/lanes.h) */
} rig_t;

static inline void rig_init(rig_t* r) {
  *r = (rig_t){.g = maker_graph(), .resources = hr_resources_create()};
  maker_must(hr_state_table_create(&r->states), "states");
  hr_cancel_init(&r->cancel);
  r->step = (hr_step_t){.id = 1, .cancel = &r->cancel, .resources = r->resources, .threads = 1};
}

static inline void rig_deinit(rig_t* r) {
  hr_plan_destroy(r->plan);
  hr_state_table_destroy(r->states);
  hr_resources_release(r->resources);
  hr_cancel_deinit(&r->cancel);
  hr_graph_destroy(r->g);
}

/* All of the graph but what is fed. */
static inline hr_status_t rig_plan(rig_t* r, int feeds, const hr_value_t* feed, int fetches, const hr_value_t* fetch) {
  hr_node_t** nodes = hr_alloc_array((size_t)r->g->nodes.count + 1, sizeof *nodes);
  int64_t count = 0;
  for (int64_t i = 0; i < r->g->nodes.count; ++i) {
    bool fed = false;
    for (int f = 0; f < feeds; ++f) fed |= feed[f].node == r->g->nodes.data[i];
    if (!fed) nodes[count++] = r->g->nodes.data[i];
  }
  hr_plan_desc_t d = {.nodes = nodes,
                      .node_count = count,
                      .feeds = feed,
                      .feed_count = feeds,
                      .fetches = fetch,
                      .fetch_count = fetches,
                      .states = r->states,
                      .resources = r->resources,
                      .lanes = r->lanes,
                      .threads = r->threads};
  hr_status_t status = hr_plan_create(&d, &r->plan);
  hr_free(nodes);
  return status;
}

/* One step of the plan; a single fetched number. */
static inline float rig_number(rig_t* r, const hr_tensor_t* feeds) {
  hr_tensor_t out = {0};
  if (!HR_CHECK_OK(hr_plan_run(r->plan, &r->step, feeds, &out))) return NAN;
  float v = maker_get(&out);
  hr_tensor_release(&out);
  return v;
}
#endif
