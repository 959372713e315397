/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between a session and where its steps run: one prepared program. Local today; a cluster's master will be another table. */
#ifndef HR_SESSION_RUNNER_H
#define HR_SESSION_RUNNER_H
#include "exec/plan.h"
#include "session/program.h"

typedef struct hr_runner hr_runner_t;
typedef struct {
  hr_status_t (*bind)(hr_runner_t* r, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count, hr_plan_binding_t* out);
  hr_status_t (*run)(hr_runner_t* r, const hr_plan_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds, hr_tensor_t* out_fetches);
  void (*destroy)(hr_runner_t* r);
} hr_runner_table_t;
struct hr_runner {
  const hr_runner_table_t* table;
  hr_program_t program; /* owned; alive as long as the plans made of it */
};

/* On this process's CPU. Takes the program over, also on failure. */
HR_MUST_USE hr_status_t hr_runner_local_create(hr_program_t* take_program, hr_state_table_t* states, hr_resources_t* resources,
                                               hr_runner_t** out);
#endif
