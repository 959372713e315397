/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker notes of tensors that it received, per step, while a master has the log on. Bounded: beyond it, more is not noted. */
#ifndef HR_DIST_WORKER_LOG_H
#define HR_DIST_WORKER_LOG_H
#include "base/map.h"
#include "base/sync.h"

typedef struct {
  atomic_bool is_on;
  hr_mutex_t mu;
  hr_map_t steps;  /* id to log_step_t; guarded by mu */
  size_t bytes;    /* of all notes; guarded by mu */
} hr_worker_log_t;

void hr_worker_log_init(hr_worker_log_t* log);
void hr_worker_log_deinit(hr_worker_log_t* log);
/* key: a rendezvous key. */
void hr_worker_log_add(hr_worker_log_t* log, int64_t step_id, const char* key, int64_t bytes, int64_t start_us, int64_t end_us);
#endif
