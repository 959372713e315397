/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32 with ten rounds: each multiplies two of the four words by constants and swaps halves, keyed by a Weyl sequence. */
#include "base/rng.h"
#include <sys/random.h>
#include "base/clock.h"
#include "base/hash.h"

enum { ROUNDS = 10 };
static const uint32_t MULTIPLIER0 = 0xd2511f53u, MULTIPLIER1 = 0xcd9e8d57u; /* from the paper */
static const uint32_t WEYL0 = 0x9e3779b9u, WEYL1 = 0xbb67ae85u;             /* golden ratio, sqrt(3) - 1 */

void hr_rng_init(hr_rng_t* rng, uint64_t seed, uint64_t seed2) {
  *rng = (hr_rng_t){{0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)}, {(uint32_t)seed, (uint32_t)(seed >> 32)}};
}

void hr_rng_next(hr_rng_t* rng, uint32_t out[4]) {
  uint32_t c0 = rng->counter[0], c1 = rng->counter[1], c2 = rng->counter[2], c3 = rng->counter[3];
  uint32_t k0 = rng->key[0], k1 = rng->key[1];
  for (int i = 0; i < ROUNDS; ++i) {
    uint64_t p0 = (uint64_t)MULTIPLIER0 * c0, p1 = (uint64_t)MULTIPLIER1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += WEYL0;
    k1 += WEYL1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
  hr_rng_skip(rng, 1);
}

void hr_rng_skip(hr_rng_t* rng, uint64_t calls) {
  uint64_t low = rng->counter[0] | (uint64_t)rng->counter[1] << 32, high = rng->counter[2] | (uint64_t)rng->counter[3] << 32;
  high += __builtin_add_overflow(low, calls, &low);
  rng->counter[0] = (uint32_t)low;
  rng->counter[1] = (uint32_t)(low >> 32);
  rng->counter[2] = (uint32_t)high;
  rng->counter[3] = (uint32_t)(high >> 32);
}

uint64_t hr_rng_system_seed(void) {
  uint64_t seed;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed;
  return hr_hash_mix((uint64_t)hr_clock_now_ns(),
                     (uint64_t)hr_clock_wall_ns() ^ (uint64_t)(uintptr_t)&seed); /* early boot: no entropy yet */
}
