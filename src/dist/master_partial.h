/* SPDX-License-Identifier: Apache-2.0 */
/* A partial run on a cluster: one step on the workers, which RunGraph calls feed and ask bit by bit. Each feed and fetch comes once; what
 * is asked for may not depend on a feed that has not come. */
#ifndef HR_DIST_MASTER_PARTIAL_H
#define HR_DIST_MASTER_PARTIAL_H
#include "dist/master_state.h"

/* INVALID_ARGUMENT: no such run, or what it refuses. Fetched values are the caller's; *out_is_last: the run is over. */
HR_MUST_USE hr_status_t hr_master_partial_step(hr_master_session_t* s, hr_str_t handle, const hr_run_t* part, hr_cancel_t* cancel,
                                               hr_tensor_t* out_fetches, bool* out_is_last);
#endif
