/* SPDX-License-Identifier: Apache-2.0 */
/* The pool on pthreads, for sanitizer builds: no futexes. Built instead of pool.c.
 *
 * One run at a time has the workers; a run that finds them busy goes through its chunks alone. Workers are started when first
 * needed and stay. Protocol: the caller publishes the grid and raises `generation` under the mutex; workers join while `joinable`
 * lasts, take chunks from `next_chunk`, and the caller leaves once no worker is inside. */
#include <stdatomic.h>
#include "base/errand.h"
#include "base/pool_grid.h"
#include "base/sync.h"
#include "base/thread.h"

static struct {
  hr_mutex_t mutex;
  hr_cond_t work, done; /* work: a new generation; done: `inside` fell to 0 */
  hr_pool_grid_t* grid; /* of the current run; NULL: none */
  uint64_t generation;
  int workers, joinable, inside;
  atomic_int next_chunk;
} team = {.mutex = HR_MUTEX_INIT};

static atomic_flag team_busy = ATOMIC_FLAG_INIT;

static void team_set_up(void) {
  hr_cond_init(&team.work);
  hr_cond_init(&team.done);
}

static void chunks_take(hr_pool_grid_t* g) {
  hr_pool_grid_enter();
  for (int i; (i = atomic_fetch_add(&team.next_chunk, 1)) < g->chunks;) hr_pool_grid_run_chunk(g, i);
  hr_pool_grid_leave();
}

static void worker_main(void* arg) {
  (void)arg;
  uint64_t seen = 0;
  hr_mutex_lock(&team.mutex);
  for (;;) {
    while (!team.grid || team.generation == seen || team.joinable == 0) hr_cond_wait(&team.work, &team.mutex);
    seen = team.generation;
    hr_pool_grid_t* g = team.grid;
    --team.joinable;
    ++team.inside;
    hr_mutex_unlock(&team.mutex);
    chunks_take(g);
    hr_mutex_lock(&team.mutex);
    if (--team.inside == 0) hr_cond_wake_all(&team.done);
  }
}

/* A worker that cannot be started is no failure: the run has fewer hands. */
static void workers_ensure(int wanted) {
  while (team.workers < wanted) {
    hr_thread_t thread;
    hr_status_t status = hr_thread_start(&thread, "hr-pool", worker_main, NULL);
    if (status) {
      hr_status_release(status);
      return;
    }
    pthread_detach(thread.t);
    ++team.workers;
  }
}

static void team_run(hr_pool_grid_t* g, int threads) {
  hr_mutex_lock(&team.mutex);
  workers_ensure(threads - 1);
  atomic_store(&team.next_chunk, 0);
  team.grid = g;
  team.joinable = threads - 1;
  ++team.generation;
  hr_cond_wake_all(&team.work);
  hr_mutex_unlock(&team.mutex);
  chunks_take(g);
  hr_mutex_lock(&team.mutex);
  team.grid = NULL; /* nobody joins any more */
  while (team.inside) hr_cond_wait(&team.done, &team.mutex);
  hr_mutex_unlock(&team.mutex);
}

hr_status_t hr_pool_run(int threads, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_pool_grid_t g;
  hr_pool_grid_make(&g, count, cost_ns, fn, arg);
  bool alone = g.chunks <= 1 || threads <= 1 || !hr_pool_grid_may_use_threads();
  if (alone || atomic_flag_test_and_set_explicit(&team_busy, memory_order_acquire)) return hr_pool_grid_run_alone(&g);
  hr_once_run(&once, team_set_up);
  team_run(&g, threads < g.chunks ? threads : g.chunks);
  atomic_flag_clear_explicit(&team_busy, memory_order_release);
  return hr_pool_grid_result(&g);
}

/* --- lanes: errands, which wait until it is known whether all of them can be had ------------------------------------------------------ */

enum { MOST_LANES = 64 };
typedef struct {
  hr_mutex_t mutex;
  hr_cond_t changed;
  void (*fn)(void* arg, int lane);
  void* arg;
  int started, decided; /* decided: 1 go, -1 do not */
} fork_t;

typedef struct {
  hr_errand_t errand;
  fork_t* fork;
  int lane;
} lane_errand_t;

static void lane_run(hr_errand_t* errand) {
  const lane_errand_t* e = (lane_errand_t*)(void*)errand;
  fork_t* f = e->fork;
  hr_mutex_lock(&f->mutex);
  while (!f->decided) hr_cond_wait(&f->changed, &f->mutex);
  const bool go = f->decided > 0;
  hr_mutex_unlock(&f->mutex);
  if (go) f->fn(f->arg, e->lane);
  hr_mutex_lock(&f->mutex);
  --f->started;
  hr_cond_wake_all(&f->changed);
  hr_mutex_unlock(&f->mutex);
}

static void fork_decide(fork_t* f, int decision) {
  hr_mutex_lock(&f->mutex);
  f->decided = decision;
  hr_cond_wake_all(&f->changed);
  hr_mutex_unlock(&f->mutex);
}

bool hr_pool_fork(int lanes, void (*fn)(void* arg, int lane), void* arg) {
  lane_errand_t errands[MOST_LANES];
  if (lanes < 2 || lanes > MOST_LANES || !hr_pool_grid_may_use_threads()) return false;
  fork_t f = {.fn = fn, .arg = arg};
  hr_mutex_init(&f.mutex);
  hr_cond_init(&f.changed);
  for (int i = 1; i < lanes; ++i) {
    errands[i] = (lane_errand_t){.errand = {.run = lane_run}, .fork = &f, .lane = i};
    hr_mutex_lock(&f.mutex);
    ++f.started;
    hr_mutex_unlock(&f.mutex);
    hr_status_t status = hr_errand_start(&errands[i].errand);
    if (!status) continue;
    hr_status_release(status);
    hr_mutex_lock(&f.mutex);
    --f.started;
    hr_mutex_unlock(&f.mutex);
    fork_decide(&f, -1);
    break;
  }
  const bool go = f.decided == 0;
  if (go) {
    fork_decide(&f, 1);
    fn(arg, 0);
  }
  hr_mutex_lock(&f.mutex);
  while (f.started) hr_cond_wait(&f.changed, &f.mutex);
  hr_mutex_unlock(&f.mutex);
  hr_cond_deinit(&f.changed);
  hr_mutex_deinit(&f.mutex);
  return go;
}
