/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10, TensorFlow's counter-based random stream (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"). */
#ifndef HR_BASE_RNG_H
#define HR_BASE_RNG_H
#include <stdint.h>

typedef struct {
  uint32_t counter[4]; /* word 0 is the lowest */
  uint32_t key[2];
} hr_rng_t;

void hr_rng_init(hr_rng_t* rng, uint64_t seed, uint64_t seed2); /* key = seed, counter = (0, 0, seed2) */
void hr_rng_next(hr_rng_t* rng, uint32_t out[4]);              /* four words; counter + 1 */
void hr_rng_skip(hr_rng_t* rng, uint64_t calls);               /* counter + calls, 128-bit */
uint64_t hr_rng_system_seed(void);                             /* from the system's entropy */
#endif
