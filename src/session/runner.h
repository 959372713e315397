/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between a session and where its steps run: one prepared program, placed. In this process (runner_local.c), or by a cluster's
 * master (dist/). */
#ifndef HR_SESSION_RUNNER_H
#define HR_SESSION_RUNNER_H
#include "exec/plan.h"
#include "rt/device.h"
#include "session/partition.h"

typedef struct hr_runner hr_runner_t;
typedef struct hr_runner_binding hr_runner_binding_t; /* the runner's own: a caller's order of feeds and fetches */
typedef struct {
  /* The program's feed i is the caller's feed feed_from[i]; the caller's fetch j is the program's fetch fetch_of[j]. Immutable once made;
   * used by many steps at once. */
  hr_status_t (*bind)(hr_runner_t* r, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count, hr_runner_binding_t** out);
  void (*unbind)(hr_runner_t* r, hr_runner_binding_t* binding); /* accepts NULL */
  hr_status_t (*run)(hr_runner_t* r, const hr_runner_binding_t* binding, hr_step_t* step, const hr_tensor_t* feeds,
                     hr_tensor_t* out_fetches);
  void (*destroy)(hr_runner_t* r);
} hr_runner_table_t;
struct hr_runner {
  const hr_runner_table_t* table;
  hr_program_t program;         /* owned; alive as long as the plans made of it */
  hr_partition_t partition;     /* count 0: the program was not partitioned */
};

/* On this process's devices, one part for each that the program uses. Takes the program over, also on failure.
 *
 * Parts meet at the step's rendezvous and share its locals: at step->rendezvous and step->locals where these are set (a worker's step,
 * which others take part in), else at some of the step's own. A binding of NULL is for programs without feeds and fetches. */
HR_MUST_USE hr_status_t hr_runner_local_create(hr_program_t* take_program, hr_device_set_t* devices, hr_state_table_t* states,
                                               hr_resources_t* resources, hr_runner_t** out);
#endif
