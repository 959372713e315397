/* SPDX-License-Identifier: Apache-2.0 */
/* An incremental run of a plan that keeps its values: feeds arrive a few at a time, and at each turn all that can run does, once. One
 * thread at a time. */
#ifndef HR_EXEC_PARTIAL_H
#define HR_EXEC_PARTIAL_H
#include "exec/plan.h"

typedef struct hr_partial hr_partial_t;
HR_MUST_USE hr_status_t hr_partial_create(hr_plan_t* p, hr_partial_t** out); /* p: made with keep_values; outlives this */
void hr_partial_destroy(hr_partial_t* r);
bool hr_partial_is_fed(const hr_partial_t* r, int32_t feed);
bool hr_partial_can_fetch(const hr_partial_t* r, int32_t fetch); /* all feeds it depends on are there */
/* Keeps the value: a share, or a copy of what is borrowed. A feed that is there already is INVALID_ARGUMENT. */
HR_MUST_USE hr_status_t hr_partial_feed(hr_partial_t* r, int32_t feed, const hr_tensor_t* value);
/* Runs what can run and has not; after a failure nothing more will run. */
HR_MUST_USE hr_status_t hr_partial_run(hr_partial_t* r, hr_step_t* step);
HR_MUST_USE hr_status_t hr_partial_fetch(const hr_partial_t* r, int32_t fetch, hr_tensor_t* out); /* after hr_partial_run; a copy */
#endif
