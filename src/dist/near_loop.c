/* SPDX-License-Identifier: Apache-2.0 */
/* One epoll instance, on which all the threads wait; one event at a time, edge-triggered, so that an event wakes one thread. What a
 * thread does about it, it does with the turn, one thread after the other: sources see no two threads at once, and are removed by who has
 * the turn. An errand that is started meanwhile (a step to be run) is run by the same thread after its turn, as long as another one is
 * free to wait: no thread has to be woken for it.
 *
 * When sources tick next is kept as the earliest time that anybody has asked for, and is worked out anew only when that has come: a stream
 * of calls with deadlines wakes a thread once a deadline, not once a call. */
#include "dist/near_loop.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/map.h"
#include "base/sync.h"
#include "base/thread.h"

enum { THREADS_MOST = 3 };

static hr_once_t once = HR_ONCE_INIT;
static hr_status_t start_failure;
static int polled = -1, kicked = -1;
static atomic_bool is_lost;             /* in the child of a fork */
static _Thread_local bool has_turn;
static hr_mutex_t turn = HR_MUTEX_INIT; /* outside of mu */
static hr_mutex_t mu = HR_MUTEX_INIT;   /* guards what follows */
static int threads, free_threads;       /* free: they wait, or have a turn and will wait again */
static int64_t wake_ns = INT64_MAX;
static hr_near_source_t* sources;
static hr_map_t by_id;                  /* the same; an event names its source by a number that is never used again */
static uint64_t last_id;
static hr_errand_t *posted, **posted_end = &posted;

bool hr_near_loop_has_turn(void) { return has_turn; }
bool hr_near_loop_is_lost(void) { return atomic_load_explicit(&is_lost, memory_order_relaxed); }

static void kick(void) { /* edge-triggered: nobody needs to read it */
  const uint64_t one = 1;
  while (write(kicked, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/* --- a turn --------------------------------------------------------------------------------------------------------------------------- */

static void run_posted(void) {
  for (;;) {
    hr_mutex_lock(&mu);
    hr_errand_t* e = posted;
    if (e && !(posted = e->next)) posted_end = &posted;
    hr_mutex_unlock(&mu);
    if (!e) return;
    e->run(e);
  }
}

static void tick_sources(void) {
  hr_mutex_lock(&mu);
  const int64_t now = wake_ns == INT64_MAX ? 0 : hr_clock_now_ns();
  const bool is_due = wake_ns <= now;
  if (is_due) wake_ns = INT64_MAX;
  hr_near_source_t* s = is_due ? sources : NULL; /* others join before it */
  hr_mutex_unlock(&mu);
  int64_t next = INT64_MAX;
  while (s) {
    hr_near_source_t* after = s->next;
    const int64_t again = s->tick ? s->tick(s, now) : INT64_MAX;
    if (again < next) next = again;
    s = after;
  }
  if (next != INT64_MAX) hr_near_loop_wake_by(next);
}

/* NULL: it was removed while this thread waited for its turn. */
static hr_near_source_t* find_source(uint64_t id) {
  uintptr_t found = 0;
  hr_mutex_lock(&mu);
  (void)hr_map_find_ptr(&by_id, (const void*)(uintptr_t)id, &found);
  hr_mutex_unlock(&mu);
  return (hr_near_source_t*)found;
}

static void take_turn(const struct epoll_event* event) {
  hr_mutex_lock(&turn);
  has_turn = true;
  hr_near_source_t* s = event && event->data.u64 ? find_source(event->data.u64) : NULL;
  if (s) s->ready(s, event->events);
  tick_sources();
  run_posted();
  has_turn = false;
  hr_mutex_unlock(&turn);
}

/* --- threads -------------------------------------------------------------------------------------------------------------------------- */

/* Whether this thread may run an errand, since another one waits. */
static bool leave_waiting(void) {
  hr_mutex_lock(&mu);
  const bool may = free_threads > 1;
  if (may) --free_threads;
  hr_mutex_unlock(&mu);
  return may;
}

/* How many milliseconds to sleep; -1: until something comes. */
static int go_waiting(bool was_away) {
  hr_mutex_lock(&mu);
  if (was_away) ++free_threads;
  const int64_t until = wake_ns;
  hr_mutex_unlock(&mu);
  if (until == INT64_MAX) return -1;
  const int64_t ms = (until - hr_clock_now_ns() + 999999) / 1000000;
  return ms < 0 ? 0 : ms > 1000000 ? 1000000 : (int)ms;
}

static void hear_for_ever(void* arg) {
  (void)arg;
  for (bool was_away = false;;) {
    struct epoll_event event;
    hr_errand_t* errand = NULL;
    const int count = epoll_wait(polled, &event, 1, go_waiting(was_away));
    was_away = leave_waiting();
    if (was_away) hr_errand_catch(&errand);
    take_turn(count > 0 ? &event : NULL);
    if (was_away) hr_errand_catch(NULL);
    if (errand) errand->run(errand);
  }
}

static hr_status_t start_thread(void) {
  hr_thread_t thread;
  hr_mutex_lock(&mu);
  hr_status_t status = threads < THREADS_MOST ? hr_thread_start(&thread, "hr-near", hear_for_ever, NULL) : NULL;
  if (!status && threads < THREADS_MOST) {
    pthread_detach(thread.t);
    ++threads;
    ++free_threads;
  }
  hr_mutex_unlock(&mu);
  return status;
}

static void lose_loop(void) {
  hr_mutex_init(&mu);
  atomic_store(&is_lost, true);
}

static void start_loop(void) {
  polled = epoll_create1(EPOLL_CLOEXEC);
  kicked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct epoll_event e = {.events = EPOLLIN | EPOLLET};
  if (polled < 0 || kicked < 0 || epoll_ctl(polled, EPOLL_CTL_ADD, kicked, &e))
    start_failure = HR_ERROR(UNAVAILABLE, "no descriptors to hear tasks of this machine by");
  else start_failure = start_thread();
  if (!start_failure) pthread_atfork(NULL, NULL, lose_loop);
}

hr_status_t hr_near_loop_start(bool serves) {
  hr_once_run(&once, start_loop);
  if (start_failure) return hr_status_retain(start_failure);
  if (hr_near_loop_is_lost()) return HR_ERROR(UNAVAILABLE, "this process was forked off one that calls tasks");
  for (int i = 1; serves && i < THREADS_MOST; ++i) hr_status_release(start_thread()); /* one does all, more do it sooner */
  return NULL;
}

/* --- sources -------------------------------------------------------------------------------------------------------------------------- */

hr_status_t hr_near_loop_add(hr_near_source_t* s, int fd) {
  hr_mutex_lock(&mu);
  s->id = ++last_id;
  struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.u64 = s->id};
  hr_status_t status = hr_map_set_ptr(&by_id, (const void*)(uintptr_t)s->id, (uintptr_t)s);
  if (!status && epoll_ctl(polled, EPOLL_CTL_ADD, fd, &e)) { /* before it is linked: what is linked leaves on turns only */
    (void)hr_map_remove_ptr(&by_id, (const void*)(uintptr_t)s->id);
    status = HR_ERROR(RESOURCE_EXHAUSTED, "the system hears no more descriptors");
  }
  if (!status) {
    s->previous = NULL;
    s->next = sources;
    if (sources) sources->previous = s;
    sources = s;
  }
  hr_mutex_unlock(&mu);
  return status;
}

void hr_near_loop_watch(hr_near_source_t* s, int fd, uint32_t epoll_events) {
  struct epoll_event e = {.events = epoll_events | EPOLLRDHUP | EPOLLET, .data.u64 = s->id};
  (void)epoll_ctl(polled, EPOLL_CTL_MOD, fd, &e); /* it is there until removed */
}

void hr_near_loop_remove(hr_near_source_t* s, int fd) {
  if (fd >= 0) (void)epoll_ctl(polled, EPOLL_CTL_DEL, fd, NULL);
  hr_mutex_lock(&mu);
  if (s->next) s->next->previous = s->previous;
  if (s->previous) s->previous->next = s->next;
  else sources = s->next;
  (void)hr_map_remove_ptr(&by_id, (const void*)(uintptr_t)s->id);
  hr_mutex_unlock(&mu);
}

void hr_near_loop_post(hr_errand_t* e) {
  e->next = NULL;
  hr_mutex_lock(&mu);
  *posted_end = e;
  posted_end = &e->next;
  hr_mutex_unlock(&mu);
  if (!has_turn) kick();
}

void hr_near_loop_wake_by(int64_t ns) {
  hr_mutex_lock(&mu);
  const bool is_earlier = ns < wake_ns;
  if (is_earlier) wake_ns = ns;
  hr_mutex_unlock(&mu);
  if (is_earlier) kick(); /* also on a turn: this thread may have an errand to run before it waits again */
}
