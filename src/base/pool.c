/* SPDX-License-Identifier: Apache-2.0 */
/* The pool on our own teams (team.h). Members take chunks as they come, so one that is late, or never comes, holds nobody up.
 * Built unless pool_pthread.c is. */
#include <stdatomic.h>
#include "base/pool_grid.h"
#include "base/team.h"

typedef struct {
  hr_pool_grid_t grid;
  atomic_int next;
} pool_run_t;

static void take_chunks(void* arg, int member) {
  pool_run_t* r = arg;
  (void)member;
  hr_pool_grid_enter();
  for (int i; (i = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) < r->grid.chunks;) hr_pool_grid_run_chunk(&r->grid, i);
  hr_pool_grid_leave();
}

hr_status_t hr_pool_run(int threads, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg) {
  pool_run_t r;
  hr_pool_grid_make(&r.grid, count, cost_ns, fn, arg);
  if (r.grid.chunks <= 1 || threads <= 1 || hr_team_is_inside() || !hr_pool_grid_may_use_threads()) return hr_pool_grid_run_alone(&r.grid);
  atomic_init(&r.next, 0);
  hr_team_run(threads < r.grid.chunks ? threads : r.grid.chunks, true, take_chunks, &r);
  return hr_pool_grid_result(&r.grid);
}

bool hr_pool_fork(int lanes, void (*fn)(void* arg, int lane), void* arg) {
  return hr_pool_grid_may_use_threads() && hr_team_fork(lanes, fn, arg);
}
