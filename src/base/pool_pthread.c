/* SPDX-License-Identifier: Apache-2.0 */
/* The pool on pthreads, for sanitizer builds: no futexes. Built instead of pool.c.
 *
 * One run at a time has the workers; a run that finds them busy goes through its chunks alone. Workers are started when first
 * needed and stay. Protocol: the caller publishes the grid and raises `generation` under the mutex; workers join while `joinable`
 * lasts, take chunks from `next_chunk`, and the caller leaves once no worker is inside. */
#include <stdatomic.h>
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
