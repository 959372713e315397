/* SPDX-License-Identifier: Apache-2.0 */
/* Functions run at run time: what is behind op/caller.h in a session. Each function, with its attrs, is compiled at its first call by the
 * session's own pipeline into a plan that all its calls share, so kernels with state keep it from call to call. */
#ifndef HR_SESSION_CALLEE_H
#define HR_SESSION_CALLEE_H
#include "exec/plan.h"
#include "op/caller.h"
#include "rt/device.h"
#include "session/session.h"

/* Calls within calls are refused beyond a number, or when the thread's stack is nearly used up. */
enum { HR_CALLEE_MOST_DEPTH = 1000, HR_CALLEE_LEAST_STACK = 128 * 1024 };

typedef struct hr_callee_table hr_callee_table_t;
/* Everything is borrowed and outlives the table. `library` may be NULL: then there is nothing to call. */
HR_MUST_USE hr_status_t hr_callee_table_create(hr_graph_t* library, const hr_session_options_t* options, hr_state_table_t* states,
                                               hr_resources_t* resources, const hr_device_set_t* devices, hr_callee_table_t** out);
void hr_callee_table_destroy(hr_callee_table_t* t); /* accepts NULL; no step may be running */
hr_caller_t* hr_callee_table_caller(hr_callee_table_t* t);
#endif
