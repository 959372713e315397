/* SPDX-License-Identifier: Apache-2.0 */
/* What one step carries, apart from its frame: identity, cancellation, the session's services.
 *
 * THE LOCK ORDER (outer first): plan cache (held while a plan is made), graph.mu, session.mu, kernel state table, resources.mu, variable.mu
 * / queue.mu, plan.mu (frames), rendezvous, ended calls of a step (exec/flow_calls.c), cancel.mu, timers, buffer pool. */
#ifndef HR_RT_STEP_H
#define HR_RT_STEP_H
#include "rt/cancel.h"
#include "rt/observer.h"
#include "rt/resource.h"

/* What a node left to be done before the step may end (an enqueue on a full queue, which a dequeue of the same step makes room for). */
typedef struct hr_step_wait {
  struct hr_step_wait* next;
  hr_status_t (*finish)(struct hr_step_wait* take_self, bool give_up); /* waits, or takes the work back; frees itself */
} hr_step_wait_t;

struct hr_rendezvous; /* rt/rendezvous.h */
struct hr_caller;     /* op/caller.h */

struct hr_step {
  int64_t id;
  hr_cancel_t* cancel;        /* never NULL */
  struct hr_rendezvous* rendezvous; /* where partitions meet; NULL: there is one partition and nobody outside it */
  struct hr_step_locals* locals;    /* what lives as long as the step, for all its partitions (rt/step_locals.h) */
  hr_resources_t* resources;  /* the session's */
  hr_observer_t* observer;    /* NULL: nobody watches */
  int threads;                /* of a kernel */
  int cores;                  /* leased from the pool: at least `threads`, or 0: as many; what lanes share (exec/lanes.h) */
  struct hr_caller* caller;   /* runs functions of the library; NULL: none can be called */
  int call_depth;             /* of a function's step: how many calls it stands in */
  hr_step_wait_t* waits;      /* newest first; the step's own thread */
};

/* At the step's end: finishes what was left; the first failure wins. */
static inline hr_status_t hr_step_finish(struct hr_step* step, hr_status_t take_status) {
  while (__builtin_expect(step->waits != NULL, 0)) {
    hr_step_wait_t* w = step->waits;
    step->waits = w->next;
    hr_status_merge(&take_status, w->finish(w, take_status != NULL));
  }
  return take_status;
}
#endif
