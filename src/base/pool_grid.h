/* SPDX-License-Identifier: Apache-2.0 */
/* What both twins of the pool share: the chunk grid, the record of one run, and whether threads may be used here. Internal to
 * pool.c and pool_pthread.c. */
#ifndef HR_BASE_POOL_GRID_H
#define HR_BASE_POOL_GRID_H
#include <stdbool.h>
#include "base/pool.h"

typedef struct {
  int64_t count, step; /* chunk i is [i * step, min((i + 1) * step, count)) */
  int chunks;
  hr_pool_fn_t fn;
  void* arg;
  hr_status_t failures[HR_POOL_MAX_CHUNKS]; /* each written by the thread that runs the chunk */
} hr_pool_grid_t;

void hr_pool_grid_make(hr_pool_grid_t* g, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg);
void hr_pool_grid_run_chunk(hr_pool_grid_t* g, int chunk);
hr_status_t hr_pool_grid_run_alone(hr_pool_grid_t* g);
hr_status_t hr_pool_grid_result(hr_pool_grid_t* g); /* the first failure by chunk number; releases the others */
/* False in a child after fork (where other threads are gone) and in nested calls. */
bool hr_pool_grid_may_use_threads(void);
void hr_pool_grid_enter(void); /* around the chunks a thread runs as part of a team: nested calls run inline */
void hr_pool_grid_leave(void);
#endif
