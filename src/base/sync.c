/* SPDX-License-Identifier: Apache-2.0 */
/* Mutex and condition over pthreads. Conditions count on the monotonic clock, so a change of the wall clock moves no deadline. */
#include "base/sync.h"
#include <errno.h>
#include <time.h>

void hr_mutex_init(hr_mutex_t* m) { pthread_mutex_init(&m->m, NULL); }
void hr_mutex_deinit(hr_mutex_t* m) { pthread_mutex_destroy(&m->m); }

void hr_cond_init(hr_cond_t* c) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&c->c, &attributes);
  pthread_condattr_destroy(&attributes);
}

void hr_cond_deinit(hr_cond_t* c) { pthread_cond_destroy(&c->c); }
void hr_cond_wait(hr_cond_t* c, hr_mutex_t* m) { pthread_cond_wait(&c->c, &m->m); }

bool hr_cond_wait_until(hr_cond_t* c, hr_mutex_t* m, int64_t deadline_ns) {
  if (deadline_ns == INT64_MAX) {
    hr_cond_wait(c, m);
    return true;
  }
  if (deadline_ns < 0) deadline_ns = 0;
  struct timespec t = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
  return pthread_cond_timedwait(&c->c, &m->m, &t) != ETIMEDOUT;
}

void hr_cond_wake_one(hr_cond_t* c) { pthread_cond_signal(&c->c); }
void hr_cond_wake_all(hr_cond_t* c) { pthread_cond_broadcast(&c->c); }
