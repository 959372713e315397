/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for errands. An idle thread is one that waits on `wake`; an errand either finds one (`idle` counts those that no queued
 * errand has been promised) or starts a thread. Threads of a process that ends are simply left: they touch nothing but this file's. */
#include "base/errand.h"
#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"

enum { IDLE_NS_LOG2 = 34 }; /* 17 s */

static hr_mutex_t mu = HR_MUTEX_INIT;
static hr_cond_t wake;
static hr_once_t once = HR_ONCE_INIT;
static int idle;              /* guarded by mu, like what follows */
static _Thread_local hr_errand_t** caught;
static hr_errand_t *queue, **queue_end = &queue;

static void forget_threads(void) { /* in the child of a fork there are none */
  pthread_mutex_init(&mu.m, NULL);
  hr_cond_init(&wake);
  idle = 0;
  queue = NULL;
  queue_end = &queue;
}

static void prepare_wake(void) {
  hr_cond_init(&wake);
  pthread_atfork(NULL, NULL, forget_threads);
}

static hr_errand_t* take_errand(void) {
  hr_errand_t* e = queue;
  queue = e->next;
  if (!queue) queue_end = &queue;
  return e;
}

/* With mu held. False: nothing came for a while, and this thread is not promised to anything. */
static bool wait_errand(void) {
  const int64_t deadline = hr_clock_now_ns() + ((int64_t)1 << IDLE_NS_LOG2);
  ++idle;
  while (!queue)
    if (!hr_cond_wait_until(&wake, &mu, deadline) && !queue) {
      --idle;
      return false;
    }
  return true; /* whoever queued it has taken one from `idle` */
}

static void serve_errands(void* first) {
  hr_errand_t* e = first;
  for (;;) {
    e->run(e);
    hr_mutex_lock(&mu);
    if (!wait_errand()) break;
    e = take_errand();
    hr_mutex_unlock(&mu);
  }
  hr_mutex_unlock(&mu);
}

void hr_errand_catch(hr_errand_t** slot) { caught = slot; }

hr_status_t hr_errand_start(hr_errand_t* e) {
  if (caught && !*caught) {
    *caught = e;
    return NULL;
  }
  hr_once_run(&once, prepare_wake);
  e->next = NULL;
  hr_mutex_lock(&mu);
  bool found = idle > 0;
  if (found) {
    --idle;
    *queue_end = e;
    queue_end = &e->next;
    hr_cond_wake_one(&wake);
  }
  hr_mutex_unlock(&mu);
  if (found) return NULL;
  hr_thread_t thread;
  HR_TRY(hr_thread_start(&thread, "hr-errand", serve_errands, e));
  pthread_detach(thread.t);
  return NULL;
}
