/* SPDX-License-Identifier: Apache-2.0 */
/* A counter seen through a mixing function that the process's seed chooses; the child of a fork mixes in another process id. */
#include "dist/random_id.h"
#include <stdatomic.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/rng.h"
#include "base/sync.h"

static uint64_t seed;
static hr_once_t once = HR_ONCE_INIT;
static atomic_uint_fast64_t counter;

static void choose_seed(void) { seed = hr_rng_system_seed(); }

int64_t hr_random_id_request(void) {
  hr_once_run(&once, choose_seed);
  for (;;) {
    uint64_t id = hr_hash_mix(seed ^ (uint64_t)getpid() << 40, atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed));
    if (id >> 7) return (int64_t)id;
  }
}

int64_t hr_random_id_step(void) { return (int64_t)((uint64_t)hr_random_id_request() >> 7); }
