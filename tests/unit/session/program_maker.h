/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over one small program: what is live before and after, as a set of names. */
#ifndef HR_TESTS_PROGRAM_MAKER_H
#define HR_TESTS_PROGRAM_MAKER_H
#include "graph/validate.h"
#include "session/passes.h"
#include "unit/exec/maker.h"

static inline hr_program_t maker_program(hr_graph_t* g, int feeds, const hr_value_t* feed, int fetches, const hr_value_t* fetch,
                                         hr_node_t* target) {
  hr_program_t p;
  hr_prune_request_t q = {
      .feeds = feed, .feed_count = feeds, .fetches = fetch, .fetch_count = fetches, .targets = &target, .target_count = target ? 1 : 0};
  hr_mutex_lock(&g->mu);
  maker_must(hr_program_create(g, &q, &p), "a program");
  hr_mutex_unlock(&g->mu);
  maker_must(hr_graph_validate(p.graph), "a valid copy");
  return p;
}

static inline void maker_pass_with(hr_program_t* p, hr_status_t (*pass)(hr_program_t*, const hr_session_options_t*),
                                   const hr_session_options_t* o) {
  maker_must(pass(p, o), "a pass");
  maker_must(hr_graph_validate(p->graph), "a valid program");
  maker_must(hr_program_finish(p), "an end");
}
static inline void maker_pass(hr_program_t* p, hr_status_t (*pass)(hr_program_t*, const hr_session_options_t*)) {
  hr_session_options_t o;
  hr_session_options_init(&o);
  maker_pass_with(p, pass, &o);
}

static inline hr_node_t* maker_live(const hr_program_t* p, const char* name) {
  for (int64_t i = 0; i < p->live_count; ++i)
    if (hr_str_is(p->live[i]->name, name)) return p->live[i];
  return NULL;
}
static inline int32_t maker_live_id(const hr_program_t* p, const char* name) { /* also before the pass */
  for (int64_t i = 0; i < p->graph->nodes.count; ++i)
    if (p->graph->nodes.data[i] && hr_str_is(p->graph->nodes.data[i]->name, name)) return (int32_t)i;
  maker_must(HR_ERROR(NOT_FOUND, "it is not there"), name);
  return -1;
}
static inline int64_t maker_live_of(const hr_program_t* p, const char* op) {
  int64_t count = 0;
  for (int64_t i = 0; i < p->live_count; ++i) count += hr_str_is(p->live[i]->attrs.def->name, op);
  return count;
}

/* How many nodes of this op are left after a pass over what these fetches need. */
static inline int64_t maker_left(hr_graph_t* g, hr_value_t feed, int fetches, const hr_value_t* fetch, hr_node_t* target,
                                 hr_status_t (*pass)(hr_program_t*, const hr_session_options_t*), const char* op) {
  hr_program_t p = maker_program(g, 1, &feed, fetches, fetch, target);
  maker_pass(&p, pass);
  const int64_t count = maker_live_of(&p, op);
  hr_program_deinit(&p);
  return count;
}
#endif
