/* SPDX-License-Identifier: Apache-2.0 */
/* Idle threads in a list, the one that worked last first, so that the others grow old and leave. */
#include "exec/workers.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"

#define IDLE_NS INT64_C(5000000000)

typedef struct worker {
  struct worker* next; /* among the idle ones */
  hr_cond_t wake;
  hr_worker_job_t* job; /* guarded by mu */
} worker_t;

static hr_mutex_t mu = HR_MUTEX_INIT;
static worker_t* idle; /* guarded by mu */

/* A child of fork has none of its parent's threads, and the lock as it was. */
static void forget_workers(void) {
  hr_mutex_init(&mu);
  idle = NULL;
}
static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_workers); }

/* The next job; NULL after a long time without one. The lock is held. */
static hr_worker_job_t* wait_for_job(worker_t* w) {
  const int64_t deadline = hr_clock_now_ns() + IDLE_NS;
  w->job = NULL;
  w->next = idle;
  idle = w;
  while (!w->job && hr_cond_wait_until(&w->wake, &mu, deadline)) continue;
  for (worker_t** p = &idle; !w->job && *p; p = &(*p)->next) {
    if (*p != w) continue;
    *p = w->next;
    break;
  }
  return w->job;
}

static void worker_main(void* arg) {
  worker_t* w = arg;
  for (hr_worker_job_t* job = w->job; job;) {
    job->run(job);
    hr_mutex_lock(&mu);
    job = wait_for_job(w);
    hr_mutex_unlock(&mu);
  }
  hr_cond_deinit(&w->wake);
  hr_free(w);
}

static hr_status_t start_worker(hr_worker_job_t* job) {
  hr_thread_t thread;
  worker_t* w = hr_alloc_zero(sizeof *w);
  if (!w) return hr_status_out_of_memory();
  hr_cond_init(&w->wake);
  w->job = job;
  hr_status_t status = hr_thread_start(&thread, "hr-wait", worker_main, w);
  if (!status) {
    pthread_detach(thread.t);
    return NULL;
  }
  hr_cond_deinit(&w->wake);
  hr_free(w);
  return status;
}

hr_status_t hr_workers_start(hr_worker_job_t* job) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_once_run(&once, watch_forks);
  hr_mutex_lock(&mu);
  worker_t* w = idle;
  if (w) {
    idle = w->next;
    w->job = job;
    hr_cond_wake_one(&w->wake);
  }
  hr_mutex_unlock(&mu);
  return w ? NULL : start_worker(job);
}
