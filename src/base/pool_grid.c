/* SPDX-License-Identifier: Apache-2.0 */
/* The chunk grid and the leases. The number of threads is no input of the grid, so a sum over chunks has the same bits on one
 * core and on many. */
#include "base/pool_grid.h"
#include <pthread.h>
#include <stdatomic.h>
#include "base/options.h"
#include "base/sync.h"
#include "base/thread.h"

static const double CHUNK_NS = 16000; /* a team starts in about a microsecond; chunks much longer than that hide it */
enum { ROUND_FROM = 64, ROUND_TO = 16, MOST_THREADS = 1024 };

static atomic_int threads_set, cores_leased;
static atomic_bool forked;
static _Thread_local int team_depth;

/* Items per chunk; long chunks start at multiples of 16 items, so that neighbours rarely share a cache line. */
static int64_t grid_step(int64_t count, double cost_ns) {
  double wanted = (double)count * (cost_ns > 0 ? cost_ns : 0) / CHUNK_NS;
  int64_t chunks = wanted < 1 ? 1 : wanted > HR_POOL_MAX_CHUNKS ? HR_POOL_MAX_CHUNKS : (int64_t)wanted;
  int64_t step = count / chunks + (count % chunks != 0);
  if (step >= ROUND_FROM && chunks > 1 && step < INT64_MAX - ROUND_TO) step = (step + ROUND_TO - 1) / ROUND_TO * ROUND_TO;
  return step > 0 ? step : 1;
}

int hr_pool_chunks(int64_t count, double cost_ns, int threads) {
  (void)threads; /* results must not depend on it */
  if (count <= 0) return 0;
  int64_t step = grid_step(count, cost_ns);
  return (int)(count / step + (count % step != 0));
}

void hr_pool_grid_make(hr_pool_grid_t* g, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg) {
  g->count = count;
  g->step = count > 0 ? grid_step(count, cost_ns) : 1;
  g->chunks = hr_pool_chunks(count, cost_ns, 1);
  g->fn = fn;
  g->arg = arg;
}

void hr_pool_grid_run_chunk(hr_pool_grid_t* g, int chunk) {
  int64_t begin = chunk * g->step, end = chunk == g->chunks - 1 ? g->count : begin + g->step;
  g->failures[chunk] = g->fn(g->arg, begin, end, chunk);
}

hr_status_t hr_pool_grid_result(hr_pool_grid_t* g) {
  hr_status_t first = NULL;
  for (int i = 0; i < g->chunks; ++i) hr_status_merge(&first, g->failures[i]);
  return first;
}

hr_status_t hr_pool_grid_run_alone(hr_pool_grid_t* g) {
  for (int i = 0; i < g->chunks; ++i) hr_pool_grid_run_chunk(g, i);
  return hr_pool_grid_result(g);
}

static void fork_child(void) { atomic_store(&forked, true); }
static void fork_watch(void) { pthread_atfork(NULL, NULL, fork_child); }

bool hr_pool_grid_may_use_threads(void) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_once_run(&once, fork_watch);
  return team_depth == 0 && !atomic_load_explicit(&forked, memory_order_relaxed);
}

void hr_pool_grid_enter(void) { ++team_depth; }
void hr_pool_grid_leave(void) { --team_depth; }

static int threads_default(void) {
  int64_t wanted = hr_options()->threads;
  if (wanted <= 0) wanted = hr_thread_cores();
  return wanted < MOST_THREADS ? (int)wanted : MOST_THREADS;
}

int hr_pool_threads(void) {
  int threads = atomic_load_explicit(&threads_set, memory_order_relaxed);
  if (threads) return threads;
  threads = threads_default();
  int expected = 0;
  return atomic_compare_exchange_strong(&threads_set, &expected, threads) ? threads : expected;
}

void hr_pool_set_threads(int threads) {
  if (threads <= 0) threads = hr_thread_cores();
  atomic_store(&threads_set, threads < MOST_THREADS ? threads : MOST_THREADS);
}

int hr_pool_lease(int wanted) {
  int total = hr_pool_threads(), leased = atomic_load_explicit(&cores_leased, memory_order_relaxed), given;
  do {
    int idle = total - leased;
    given = wanted < idle ? wanted : idle;
    if (given < 1) given = 1; /* the calling thread itself */
  } while (!atomic_compare_exchange_weak(&cores_leased, &leased, leased + given));
  return given;
}

void hr_pool_return(int leased) { atomic_fetch_sub(&cores_leased, leased); }
