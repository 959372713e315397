/* SPDX-License-Identifier: Apache-2.0 */
/* The random stream of one stateful node: it lives in the session and goes on from run to run. A run takes a piece of it under a lock and
 * works on its own copy, so concurrent runs get different numbers. */
#ifndef HR_OPS_RANDOM_GENERATOR_H
#define HR_OPS_RANDOM_GENERATOR_H
#include "base/rng.h"
#include "base/sync.h"
#include "op/kernel_ctx.h"

typedef struct {
  hr_mutex_t mu;
  hr_rng_t rng; /* guarded by mu */
} hr_generator_t;

/* From attrs seed and seed2; both 0: a seed of the system's. */
void hr_generator_init(hr_generator_t* g, const hr_node_attrs_t* attrs);
void hr_generator_deinit(hr_generator_t* g);
hr_rng_t hr_generator_take(hr_generator_t* g, uint64_t calls); /* the stream from here; the next take is `calls` further */

/* Kernels whose state is a generator alone: fields of hr_kernel_t. */
hr_status_t hr_generator_create_state(hr_prepare_ctx_t* p, void* state);
void hr_generator_destroy_state(void* state);
#define HR_GENERATOR_STATE \
  .state_bytes = sizeof(hr_generator_t), .create_state = hr_generator_create_state, .destroy_state = hr_generator_destroy_state
#define HR_SEED_ATTRS "seed: int = 0; seed2: int = 0"

/* Words one by one. */
typedef struct {
  hr_rng_t rng;
  uint32_t words[4];
  int used; /* 4: none left */
} hr_words_t;
static inline hr_words_t hr_words_of(hr_rng_t rng) { return (hr_words_t){.rng = rng, .used = 4}; }
static inline uint32_t hr_words_next(hr_words_t* w) {
  if (w->used == 4) {
    hr_rng_next(&w->rng, w->words);
    w->used = 0;
  }
  return w->words[w->used++];
}
uint64_t hr_words_next64(hr_words_t* w);   /* two words, the first is the low one */
double hr_words_next_double(hr_words_t* w); /* in [0, 1), of two words */
#endif
