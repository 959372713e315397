/* SPDX-License-Identifier: Apache-2.0 */
/* The timer thread. Few deadlines are set at once (one a step that has one), so the list is not sorted.
 *
 * Firing and removing race: the thread unlinks a timer, remembers it in `firing` and cancels without the lock; removal of a timer that is
 * not linked waits while it is the one being fired. The thread is joined when the library is unloaded; a forked child starts its own. */
#include "session/timer.h"
#include <unistd.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

static struct {
  hr_mutex_t mu;
  hr_cond_t changed;        /* wakes the thread */
  hr_cond_t fired;          /* wakes removers */
  hr_timer_t* timers;
  const hr_timer_t* firing;
  hr_thread_t thread;
  pid_t owner;              /* the process that the thread runs in; 0: no thread */
  bool stopping;
} timers;
static hr_once_t timers_once = HR_ONCE_INIT;

static void timers_init(void) {
  hr_mutex_init(&timers.mu);
  hr_cond_init(&timers.changed);
  hr_cond_init(&timers.fired);
}

static void timer_unlink(hr_timer_t* t) {
  if (t->previous) t->previous->next = t->next;
  else timers.timers = t->next;
  if (t->next) t->next->previous = t->previous;
  t->next = t->previous = NULL;
}

static hr_timer_t* earliest_timer(void) {
  hr_timer_t* first = timers.timers;
  for (hr_timer_t* t = first; t; t = t->next)
    if (t->deadline_ns < first->deadline_ns) first = t;
  return first;
}

static void fire_timer(hr_timer_t* t) {
  timer_unlink(t);
  timers.firing = t;
  hr_mutex_unlock(&timers.mu);
  hr_cancel_start(t->cancel, HR_ERROR(DEADLINE_EXCEEDED, "the step did not finish within its %lld ms", (long long)t->timeout_ms));
  hr_mutex_lock(&timers.mu);
  timers.firing = NULL;
  hr_cond_wake_all(&timers.fired);
}

static void timer_thread(void* arg) {
  (void)arg;
  hr_mutex_lock(&timers.mu);
  while (!timers.stopping) {
    hr_timer_t* t = earliest_timer();
    if (t && t->deadline_ns <= hr_clock_now_ns()) fire_timer(t);
    else hr_cond_wait_until(&timers.changed, &timers.mu, t ? t->deadline_ns : INT64_MAX);
  }
  hr_mutex_unlock(&timers.mu);
}

/* After a fork the parent's thread and its waiters are not here. */
static hr_status_t start_thread(void) {
  if (timers.owner == getpid()) return NULL;
  if (timers.owner != 0) {
    hr_cond_init(&timers.changed);
    hr_cond_init(&timers.fired);
    timers.timers = NULL;
    timers.firing = NULL;
  }
  HR_TRY(hr_thread_start(&timers.thread, "hr-timer", timer_thread, NULL));
  timers.owner = getpid();
  return NULL;
}

hr_status_t hr_timer_add(hr_timer_t* t, int64_t timeout_ms, hr_cancel_t* cancel) {
  hr_once_run(&timers_once, timers_init);
  int64_t span;
  if (!hr_i64_mul(timeout_ms, 1000000, &span)) span = INT64_MAX / 2;
  int64_t now = hr_clock_now_ns();
  *t = (hr_timer_t){.deadline_ns = span > INT64_MAX - now ? INT64_MAX : now + span, .timeout_ms = timeout_ms, .cancel = cancel};
  hr_mutex_lock(&timers.mu);
  hr_status_t status = start_thread();
  if (!status) {
    t->next = timers.timers;
    if (t->next) t->next->previous = t;
    timers.timers = t;
    hr_cond_wake_one(&timers.changed);
  }
  hr_mutex_unlock(&timers.mu);
  return status;
}

void hr_timer_remove(hr_timer_t* t) {
  hr_mutex_lock(&timers.mu);
  if (timers.timers == t || t->previous) timer_unlink(t);
  else while (timers.firing == t) hr_cond_wait(&timers.fired, &timers.mu);
  hr_mutex_unlock(&timers.mu);
}

__attribute__((destructor)) static void timers_stop(void) {
  hr_once_run(&timers_once, timers_init);
  hr_mutex_lock(&timers.mu);
  bool running = timers.owner != 0 && timers.owner == getpid();
  timers.stopping = true;
  hr_cond_wake_all(&timers.changed);
  hr_mutex_unlock(&timers.mu);
  if (running) hr_thread_join(&timers.thread);
}
