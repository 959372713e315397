/* SPDX-License-Identifier: Apache-2.0 */
/* Workers lie on a stack while idle; who needs some pops them, hands each its part through a word of its own, and pushes them back at
 * the end. A worker that has not taken its part yet can be called off by the same word. */
#include "base/team.h"
#include <pthread.h>
#include <stdatomic.h>
#include "base/alloc.h"
#include "base/sync.h"
#include "base/thread.h"
#include "base/wait.h"

enum { IDLE, POSTED, RUNNING };                     /* a worker's word */
enum { MOST_MEMBERS = 256 };
static const unsigned SLEEPS = 1u << 31;            /* in `pending`: the caller sleeps on it */

typedef struct {
  hr_team_fn_t fn;
  void* arg;
  int size;
  bool apart;                  /* a fork: its members are in no team */
  atomic_uint pending;         /* workers that are not done */
  atomic_uint arrived, phase;  /* of the barrier */
} team_t;

typedef struct worker {
  _Alignas(64) atomic_uint word;
  atomic_uint sleeps;
  team_t* team;
  int member;
  struct worker* next;
} worker_t;

static struct {
  hr_mutex_t mutex;
  worker_t* idle;
} pool = {.mutex = HR_MUTEX_INIT};

static _Thread_local struct {
  team_t* team;
  int member;
} me;

/* --- workers ------------------------------------------------------------------------------------------------------------------------- */

static void work_in(team_t* t, int member) {
  if (t->apart) {
    t->fn(t->arg, member);
    return;
  }
  team_t* outer = me.team;
  const int outer_member = me.member;
  me.team = t;
  me.member = member;
  t->fn(t->arg, member);
  me.team = outer;
  me.member = outer_member;
}

static void wait_for_work(worker_t* w) {
  while (atomic_load_explicit(&w->word, memory_order_acquire) == IDLE) {
    if (hr_wait_spin(&w->word, IDLE)) return;
    atomic_store(&w->sleeps, 1);
    if (atomic_load(&w->word) == IDLE) hr_wait_sleep(&w->word, IDLE);
    atomic_store_explicit(&w->sleeps, 0, memory_order_relaxed);
  }
}

static void worker_main(void* arg) {
  worker_t* w = arg;
  for (;;) {
    wait_for_work(w);
    unsigned posted = POSTED;
    if (!atomic_compare_exchange_strong(&w->word, &posted, RUNNING)) continue; /* called off */
    team_t* t = w->team;
    work_in(t, w->member);
    atomic_store_explicit(&w->word, IDLE, memory_order_release);
    if (atomic_fetch_sub(&t->pending, 1) == (SLEEPS | 1)) hr_wait_wake(&t->pending, 1); /* t may be gone: only its address is used */
  }
}

static worker_t* worker_start(void) {
  worker_t* w = hr_alloc_aligned(sizeof *w, _Alignof(worker_t));
  hr_thread_t thread;
  if (!w) return NULL;
  *w = (worker_t){.team = NULL};
  hr_status_t status = hr_thread_start(&thread, "hr-pool", worker_main, w);
  if (status) {
    hr_status_release(status);
    hr_free(w);
    return NULL;
  }
  pthread_detach(thread.t);
  return w;
}

static void fork_prepare(void) { hr_mutex_lock(&pool.mutex); }
static void fork_parent(void) { hr_mutex_unlock(&pool.mutex); }
static void fork_child(void) { /* the workers are gone */
  pool.idle = NULL;
  me.team = NULL;
  hr_mutex_unlock(&pool.mutex);
}
static void watch_forks(void) { pthread_atfork(fork_prepare, fork_parent, fork_child); }

static int take_workers(int wanted, worker_t** out) {
  static hr_once_t once = HR_ONCE_INIT;
  int count = 0;
  hr_once_run(&once, watch_forks);
  hr_mutex_lock(&pool.mutex);
  for (; count < wanted && pool.idle; ++count) {
    out[count] = pool.idle;
    pool.idle = pool.idle->next;
  }
  hr_mutex_unlock(&pool.mutex);
  while (count < wanted && (out[count] = worker_start())) ++count;
  return count;
}

static void give_workers(worker_t** workers, int count) {
  hr_mutex_lock(&pool.mutex);
  while (count > 0) {
    worker_t* w = workers[--count];
    w->next = pool.idle;
    pool.idle = w;
  }
  hr_mutex_unlock(&pool.mutex);
}

/* --- a run --------------------------------------------------------------------------------------------------------------------------- */

static void post_work(worker_t* w, team_t* t, int member) {
  w->team = t;
  w->member = member;
  atomic_store(&w->word, POSTED);
  if (atomic_load(&w->sleeps)) hr_wait_wake(&w->word, 1);
}

static bool call_off(worker_t* w, team_t* t) {
  unsigned posted = POSTED;
  if (!atomic_compare_exchange_strong(&w->word, &posted, IDLE)) return false;
  atomic_fetch_sub(&t->pending, 1);
  return true;
}

static void wait_for_team(team_t* t) {
  for (unsigned left; (left = atomic_load_explicit(&t->pending, memory_order_acquire)) & ~SLEEPS;) {
    if (hr_wait_spin(&t->pending, left)) continue;
    if (!(left & SLEEPS) && !atomic_compare_exchange_strong(&t->pending, &left, left | SLEEPS)) continue;
    hr_wait_sleep(&t->pending, left | SLEEPS);
  }
}

void hr_team_run(int threads, bool optional, hr_team_fn_t fn, void* arg) {
  worker_t* workers[MOST_MEMBERS];
  team_t t = {.fn = fn, .arg = arg, .size = 1};
  int count = threads > MOST_MEMBERS ? MOST_MEMBERS : threads;
  count = count > 1 && !me.team ? take_workers(count - 1, workers) : 0;
  t.size = count + 1;
  atomic_init(&t.pending, (unsigned)count);
  for (int i = 0; i < count; ++i) post_work(workers[i], &t, i + 1);
  work_in(&t, 0);
  for (int i = 0; optional && i < count; ++i) call_off(workers[i], &t);
  if (count) wait_for_team(&t);
  if (count) give_workers(workers, count);
}

bool hr_team_fork(int threads, hr_team_fn_t fn, void* arg) {
  worker_t* workers[MOST_MEMBERS];
  if (me.team || threads < 2 || threads > MOST_MEMBERS) return false;
  team_t t = {.fn = fn, .arg = arg, .size = threads, .apart = true};
  const int count = take_workers(threads - 1, workers);
  const bool all = count == threads - 1;
  if (all) {
    atomic_init(&t.pending, (unsigned)count);
    for (int i = 0; i < count; ++i) post_work(workers[i], &t, i + 1);
    fn(arg, 0);
    for (int i = 0; i < count; ++i)
      if (call_off(workers[i], &t)) fn(arg, i + 1); /* its thread has not come yet */
    wait_for_team(&t);
  }
  give_workers(workers, count);
  return all;
}

int hr_team_size(void) { return me.team ? me.team->size : 1; }
int hr_team_member(void) { return me.member; }
bool hr_team_is_inside(void) { return me.team != NULL && me.team->size > 1; }

void hr_team_barrier(void) {
  team_t* t = me.team;
  if (!t || t->size == 1) return;
  const unsigned phase = atomic_load(&t->phase);
  if (atomic_fetch_add(&t->arrived, 1) + 1 == (unsigned)t->size) {
    atomic_store(&t->arrived, 0);
    atomic_fetch_add(&t->phase, 1);
    hr_wait_wake(&t->phase, t->size);
    return;
  }
  while (atomic_load_explicit(&t->phase, memory_order_acquire) == phase)
    if (!hr_wait_spin(&t->phase, phase)) hr_wait_sleep(&t->phase, phase);
}
