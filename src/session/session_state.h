/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a session, shared by the files of session/.
 *
 * `gate` counts the calls that are inside (twice) and says by its lowest bit that the session is closed. Closing sets the bit, cancels,
 * and waits until the last call inside has said so under `mu`: after that nobody touches the session but who holds a reference. */
#ifndef HR_SESSION_SESSION_STATE_H
#define HR_SESSION_SESSION_STATE_H
#include "rt/step.h"
#include "session/callee.h"
#include "session/plan_cache.h"

struct hr_session {
  atomic_int refs;            /* the creator, callables, partial runs */
  _Alignas(64) atomic_int_fast64_t gate;
  _Alignas(64) hr_mutex_t mu;
  bool drained;               /* guarded by mu: the last call inside has left */
  hr_cond_t left;
  hr_cancel_t cancel;         /* of every step that has none of its own; parent of those */
  int process;                /* that made it: steps that a fork left behind in its parent never come out of the gate */
  hr_graph_t* graph;          /* one reference; NULL: a session without a graph */
  hr_session_options_t options;
  hr_resources_t* resources;
  hr_state_table_t* states;
  hr_device_set_t* devices;   /* one reference */
  hr_place_memory_t* placed;
  hr_remote_session_t* remote; /* NULL: the session's master is here */
  hr_plan_cache_t cache;
  hr_callee_table_t* callees; /* functions that run by themselves */
};

/* direct.c */
HR_MUST_USE hr_status_t hr_session_enter(hr_session_t* s); /* CANCELLED when closed */
void hr_session_leave(hr_session_t* s);                    /* s may be gone afterwards */
hr_session_t* hr_session_retain(hr_session_t* s);
void hr_session_release(hr_session_t* s);
static inline hr_plan_source_t hr_session_source(const hr_session_t* s) {
  return (hr_plan_source_t){s->graph, &s->options, s->states, s->resources,
                            {s->devices, s->placed, s->options.allow_soft_placement, s->options.log_device_placement}, s->options.backend};
}

/* run.c */
HR_MUST_USE hr_status_t hr_session_run_prepared(hr_session_t* s, const hr_prepared_t* e, const hr_run_options_t* o,
                                                const hr_tensor_t* feeds, hr_tensor_t* out_fetches, char** out_metadata,
                                                size_t* out_metadata_size);
HR_MUST_USE hr_status_t hr_session_check_feed(const hr_feed_check_t* c, const hr_tensor_t* value);
int64_t hr_session_next_step_id(void);
static inline int hr_session_threads(const hr_session_t* s) {
  return s->options.intra_op_threads > 0 ? s->options.intra_op_threads : hr_pool_threads();
}
static inline int hr_session_cores(const hr_session_t* s) { /* what a step leases: for its kernels, or its lanes */
  const int threads = hr_session_threads(s);
  return s->options.inter_op_threads > threads ? s->options.inter_op_threads : threads;
}
#endif
