/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for kernels that may wait: as many as wait at once, kept for a while when idle. A job begins at once, it never queues behind
 * another, since what it waits for may be that one. */
#ifndef HR_EXEC_WORKERS_H
#define HR_EXEC_WORKERS_H
#include "base/status.h"

typedef struct hr_worker_job {
  void (*run)(struct hr_worker_job* self); /* the job's memory is its owner's; not touched after it ran */
} hr_worker_job_t;
HR_MUST_USE hr_status_t hr_workers_start(hr_worker_job_t* job); /* on failure it will not run */
#endif
