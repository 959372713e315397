/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program on a cluster: each part is registered with its task once, when the first step comes; a step is one RunGraph to each, all
 * at once. Values between tasks go from worker to worker; only feeds and fetches pass here. */
#ifndef HR_DIST_CLUSTER_RUNNER_H
#define HR_DIST_CLUSTER_RUNNER_H
#include "dist/cluster_backend.h"
#include "dist/cluster_graph.h"

typedef struct {
  hr_runner_t base;
  hr_cluster_backend_t* backend; /* outlives the runner */
  hr_cluster_graph_t graph;
  int32_t* tasks;                /* by part */
  char** graph_handles;          /* by part, once registered */
  hr_mutex_t mu;
  hr_cond_t settled;
  bool is_registered, is_registering; /* guarded by mu */
} hr_cluster_runner_t;

/* Takes the program over, also on failure. */
HR_MUST_USE hr_status_t hr_cluster_runner_create(hr_cluster_backend_t* b, hr_program_t* take_program, hr_runner_t** out);
/* Registers the parts unless they are. A failure leaves nothing registered that will be run, and is tried again at the next step. */
HR_MUST_USE hr_status_t hr_cluster_runner_register(hr_cluster_runner_t* r, hr_cancel_t* cancel);
/* The workers may forget the parts; nobody waits. For a runner that runs no more steps while its session goes on. */
void hr_cluster_runner_deregister(hr_cluster_runner_t* r);
#endif
