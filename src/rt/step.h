/* What one step carries, apart from its frame: identity, cancellation, the session's services.
 *
 * THE LOCK ORDER (outer first): plan cache (held while a plan is made), graph.mu, session.mu, kernel state table, resources.mu, variable.mu / queue.mu,
 * plan.mu (frames), cancel.mu, timers, buffer pool. */
#ifndef HR_RT_STEP_H
#define HR_RT_STEP_H
#include "rt/cancel.h"
#include "rt/observer.h"
#include "rt/resource.h"

struct hr_step {
  int64_t id;
  hr_cancel_t* cancel;        /* never NULL */
  hr_resources_t* resources;  /* the session's */
  hr_observer_t* observer;    /* NULL: nobody watches */
  int threads;                /* leased from the pool */
};
#endif
