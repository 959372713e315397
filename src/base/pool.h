/* SPDX-License-Identifier: Apache-2.0 */
/* The one intra-op pool: splits a range over this step's share of the cores.
 *
 * The chunk grid depends on count and cost alone, never on load or on how many threads are free, so results do not depend
 * on them either. Concurrent steps lease whole cores: when none is free the caller runs its chunks alone. The usual twin stands on
 * base/team.h, which oneDNN's regions run on too; pool_pthread.c is for sanitizer builds. After fork the child runs single-threaded. */
#ifndef HR_BASE_POOL_H
#define HR_BASE_POOL_H
#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"

/* One chunk [begin, end) of the range; `chunk` counts from 0. A failure is kept (the first by chunk number); other chunks still run. */
typedef hr_status_t (*hr_pool_fn_t)(void* arg, int64_t begin, int64_t end, int chunk);

enum { HR_POOL_MAX_CHUNKS = 64 };
/* How many chunks hr_pool_run will make of `count` items that cost `cost_ns` nanoseconds each: for scratch per chunk. */
int hr_pool_chunks(int64_t count, double cost_ns, int threads);
HR_MUST_USE hr_status_t hr_pool_run(int threads, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg);
/* Likewise, for results that no chunk grid shows in: in one call on this thread where dividing the work would not pay. */
static inline HR_MUST_USE hr_status_t hr_pool_share(int threads, int64_t count, double cost_ns, hr_pool_fn_t fn, void* arg) {
  if (count <= 0) return NULL;
  if (threads == 1 || (double)count * cost_ns < 20000.0) return fn(arg, 0, count, 0);
  return hr_pool_run(threads, count, cost_ns, fn, arg);
}

/* Lanes: fn is called once for each, lane 0 by the caller, the others at the same time by other threads, or by the caller afterwards when
 * they are late. fn may use hr_pool_run, and may wait for other lanes. Returns when all have ended.
 * False, and nothing was called: in a nested call, after fork, or when not so many threads can be had. */
bool hr_pool_fork(int lanes, void (*fn)(void* arg, int lane), void* arg);

int hr_pool_threads(void);            /* the process's thread count: HEADRACE_NUM_THREADS, else the cores */
void hr_pool_set_threads(int threads); /* 0: the cores again */
/* A step's lease: returns how many threads (>= 1) its kernels may use now, at most `wanted`; give the number back at its end. */
int hr_pool_lease(int wanted);
void hr_pool_return(int leased);
#endif
