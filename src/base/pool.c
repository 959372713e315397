/* SPDX-License-Identifier: Apache-2.0 */
/* The pool on OpenMP, the only file that knows it. The team has always the size the caller leased, even for fewer chunks, since
 * the runtime ends and starts threads whenever the size changes. Built unless pool_pthread.c is. */
#include <omp.h>
#include "base/pool_grid.h"

hr_status_t hr_pool_run(int threads, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg) {
  hr_pool_grid_t g;
  hr_pool_grid_make(&g, count, cost_ns, fn, arg);
  if (g.chunks <= 1 || threads <= 1 || omp_in_parallel() || !hr_pool_grid_may_use_threads()) return hr_pool_grid_run_alone(&g);
#pragma omp parallel num_threads(threads)
  {
    hr_pool_grid_enter();
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < g.chunks; ++i) hr_pool_grid_run_chunk(&g, i);
    hr_pool_grid_leave();
  }
  return hr_pool_grid_result(&g);
}
