/* SPDX-License-Identifier: Apache-2.0 */
/* Sources are removed on the loop's own thread, outside of the events of others, so an event's source is always there.
 *
 * When the loop will next tick is kept as the earliest time that anybody has asked for, and is worked out anew only when that has come: a
 * stream of calls with deadlines wakes it once a deadline, not once a call. */
#include "dist/near_loop.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"

enum { EVENTS_AT_ONCE = 32 };

static hr_once_t once = HR_ONCE_INIT;
static hr_status_t start_failure;
static int polled = -1, kicked = -1;
static _Thread_local bool is_loop;
static hr_mutex_t mu = HR_MUTEX_INIT; /* guards what follows */
static bool is_lost;                  /* in the child of a fork */
static int64_t wake_ns = INT64_MAX;
static hr_near_source_t* sources;
static hr_errand_t *posted, **posted_end = &posted;

bool hr_near_loop_is_thread(void) { return is_loop; }

static void kick(void) {
  const uint64_t one = 1;
  while (write(kicked, &one, sizeof one) < 0 && errno == EINTR) continue; /* a full counter wakes as well */
}

static void run_posted(void) {
  hr_mutex_lock(&mu);
  hr_errand_t* e = posted;
  posted = NULL;
  posted_end = &posted;
  hr_mutex_unlock(&mu);
  while (e) {
    hr_errand_t* next = e->next; /* `run` may free it */
    e->run(e);
    e = next;
  }
}

/* With mu given up meanwhile. */
static void tick_sources(int64_t now) {
  hr_near_source_t* s = sources; /* others join before it */
  wake_ns = INT64_MAX;
  hr_mutex_unlock(&mu);
  int64_t next = INT64_MAX;
  while (s) {
    hr_near_source_t* after = s->next;
    const int64_t again = s->tick ? s->tick(s, now) : INT64_MAX;
    if (again < next) next = again;
    s = after;
  }
  hr_mutex_lock(&mu);
  if (next < wake_ns) wake_ns = next;
}

/* How many milliseconds to sleep; -1: until something comes. */
static int settle_sleep(void) {
  int64_t ms = -1;
  hr_mutex_lock(&mu);
  if (wake_ns != INT64_MAX) {
    const int64_t now = hr_clock_now_ns();
    if (wake_ns <= now) tick_sources(now);
    if (wake_ns != INT64_MAX) ms = (wake_ns - now + 999999) / 1000000;
  }
  if (posted) ms = 0;
  hr_mutex_unlock(&mu);
  return ms > 1000000 ? 1000000 : (int)ms;
}

static void hear_for_ever(void* arg) {
  (void)arg;
  is_loop = true;
  for (;;) {
    struct epoll_event events[EVENTS_AT_ONCE];
    run_posted();
    const int count = epoll_wait(polled, events, EVENTS_AT_ONCE, settle_sleep());
    for (int i = 0; i < count; ++i) {
      hr_near_source_t* s = events[i].data.ptr;
      uint64_t kicks;
      if (s) s->ready(s, events[i].events);
      else while (read(kicked, &kicks, sizeof kicks) < 0 && errno == EINTR) continue;
    }
  }
}

static void lose_loop(void) {
  hr_mutex_init(&mu);
  is_lost = true;
}

static void start_loop(void) {
  hr_thread_t thread;
  polled = epoll_create1(EPOLL_CLOEXEC);
  kicked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct epoll_event e = {.events = EPOLLIN};
  if (polled < 0 || kicked < 0 || epoll_ctl(polled, EPOLL_CTL_ADD, kicked, &e))
    start_failure = HR_ERROR(UNAVAILABLE, "no descriptors to hear tasks of this machine by");
  else start_failure = hr_thread_start(&thread, "hr-near", hear_for_ever, NULL);
  if (start_failure) return;
  pthread_detach(thread.t);
  pthread_atfork(NULL, NULL, lose_loop);
}

hr_status_t hr_near_loop_start(void) {
  hr_once_run(&once, start_loop);
  if (start_failure) return hr_status_retain(start_failure);
  hr_mutex_lock(&mu);
  const bool is_gone = is_lost;
  hr_mutex_unlock(&mu);
  return is_gone ? HR_ERROR(UNAVAILABLE, "this process was forked off one that calls tasks") : NULL;
}

hr_status_t hr_near_loop_add(hr_near_source_t* s, int fd) {
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
  hr_mutex_lock(&mu);
  s->previous = NULL;
  s->next = sources;
  if (sources) sources->previous = s;
  sources = s;
  hr_mutex_unlock(&mu);
  if (!epoll_ctl(polled, EPOLL_CTL_ADD, fd, &e)) return NULL;
  hr_near_loop_remove(s, -1);
  return HR_ERROR(RESOURCE_EXHAUSTED, "the system hears no more descriptors");
}

void hr_near_loop_watch(hr_near_source_t* s, int fd, uint32_t epoll_events) {
  struct epoll_event e = {.events = epoll_events, .data.ptr = s};
  (void)epoll_ctl(polled, EPOLL_CTL_MOD, fd, &e); /* it is there until removed */
}

void hr_near_loop_remove(hr_near_source_t* s, int fd) {
  if (fd >= 0) (void)epoll_ctl(polled, EPOLL_CTL_DEL, fd, NULL);
  hr_mutex_lock(&mu);
  if (s->next) s->next->previous = s->previous;
  if (s->previous) s->previous->next = s->next;
  else sources = s->next;
  hr_mutex_unlock(&mu);
}

void hr_near_loop_post(hr_errand_t* e) {
  e->next = NULL;
  hr_mutex_lock(&mu);
  *posted_end = e;
  posted_end = &e->next;
  hr_mutex_unlock(&mu);
  if (!is_loop) kick();
}

void hr_near_loop_wake_by(int64_t ns) {
  hr_mutex_lock(&mu);
  const bool is_earlier = ns < wake_ns;
  if (is_earlier) wake_ns = ns;
  hr_mutex_unlock(&mu);
  if (is_earlier && !is_loop) kick();
}
