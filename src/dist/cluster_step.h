/* SPDX-License-Identifier: Apache-2.0 */
/* One step on a cluster: RunGraph to every part at once, the first error that is not another's consequence ends the others. A task that
 * dies or freezes meanwhile ends the step, and the error names it. */
#ifndef HR_DIST_CLUSTER_STEP_H
#define HR_DIST_CLUSTER_STEP_H
#include "dist/cluster_runner.h"

typedef struct {         /* a caller's order of feeds and fetches */
  int32_t *feed_from, *fetch_of;
  int32_t fetch_count;
  int32_t places[];
} hr_cluster_binding_t;

HR_MUST_USE hr_status_t hr_cluster_step_run(hr_cluster_runner_t* r, const hr_cluster_binding_t* binding, hr_step_t* step,
                                            const hr_tensor_t* feeds, hr_tensor_t* out_fetches);

/* What one RunGraph of a step asks for. For a whole step all feeds and fetches of the program; for a piece of a partial run some. */
typedef struct {
  int64_t step_id;
  const int32_t* feeds;           /* places among the program's; feed_values[i] is the value of feeds[i] */
  const hr_tensor_t* const* feed_values;
  int32_t feed_count;
  const int32_t* fetches;
  int32_t fetch_count;
  bool is_partial, is_last;
  hr_observer_t* observer;        /* is told what workers saw; NULL: nobody wants to know */
  hr_cancel_t* cancel;
} hr_cluster_ask_t;
/* out_fetches: by place in ask->fetches. `end`: afterwards the step is over on the workers too. */
HR_MUST_USE hr_status_t hr_cluster_step_ask(hr_cluster_runner_t* r, const hr_cluster_ask_t* ask, bool end, hr_tensor_t* out_fetches);
#endif
