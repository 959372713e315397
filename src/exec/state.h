/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel state that outlives plans: one per session and node name. Thread-safe. */
#ifndef HR_EXEC_STATE_H
#define HR_EXEC_STATE_H
#include "exec/plan.h"

/* The state of ctx's node, made by ctx->kernel at the first call. FAILED_PRECONDITION when another kernel made it. Borrowed from the table.
 */
HR_MUST_USE hr_status_t hr_state_get(hr_state_table_t* t, hr_prepare_ctx_t* ctx, void** out);
#endif
