/* SPDX-License-Identifier: Apache-2.0 */
/* The six functions of the OpenMP runtime that oneDNN calls, on our own teams: libdnnl finds them here, before libgomp, because this object
 * comes first in the scope it is loaded into. libgomp's threads spin for milliseconds, which ruins every busy machine, and nothing in its
 * interface changes that. In a process where libgomp (or this libdnnl) was loaded for all to see, libgomp serves. */
#include <stdbool.h>
#include "dnn/onednn.h"

#define SHOWN __attribute__((visibility("default")))
SHOWN void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags);
SHOWN void GOMP_barrier(void);
SHOWN int omp_get_max_threads(void);
SHOWN int omp_get_num_threads(void);
SHOWN int omp_get_thread_num(void);
SHOWN int omp_in_parallel(void);

static _Thread_local int most_threads = 1; /* set around each call of oneDNN */

typedef struct {
  void (*fn)(void*);
  void* data;
} region_t;

static void region_member(void* arg, int member) {
  const region_t* r = arg;
  (void)member;
  r->fn(r->data);
}

void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned flags) {
  region_t r = {fn, data};
  (void)flags;
  hr_onednn_host->team_run(threads ? (int)threads : most_threads, false, region_member, &r);
}

void GOMP_barrier(void) { hr_onednn_host->team_barrier(); }
int omp_get_max_threads(void) { return hr_onednn_host->team_is_inside() ? 1 : most_threads; }
int omp_get_num_threads(void) { return hr_onednn_host->team_size(); }
int omp_get_thread_num(void) { return hr_onednn_host->team_member(); }
int omp_in_parallel(void) { return hr_onednn_host->team_is_inside(); }

int hr_onednn_threads_begin(int threads) {
  const int old = most_threads;
  most_threads = threads;
  return old;
}

void hr_onednn_threads_end(int old) { most_threads = old; }
