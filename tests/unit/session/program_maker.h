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

static inline void maker_pass(hr_program_t* p, hr_status_t (*pass)(hr_program_t*, const hr_session_options_t*)) {
  hr_session_options_t o;
  hr_session_options_init(&o);
  maker_must(pass(p, &o), "a pass");
  maker_must(hr_graph_validate(p->graph), "a valid program");
  maker_must(hr_program_finish(p), "an end");
}

static inline hr_node_t* maker_live(const hr_program_t* p, const char* name) {
  for (int64_t i = 0; i < p->live_count; ++i)
    if (hr_str_is(p->live[i]->name, name)) return p->live[i];
  return NULL;
}
static inline int64_t maker_live_of(const hr_program_t* p, const char* op) {
  int64_t count = 0;
  for (int64_t i = 0; i < p->live_count; ++i) count += hr_str_is(p->live[i]->attrs.def->name, op);
  return count;
}
#endif
