/* SPDX-License-Identifier: Apache-2.0 */
/* The random stream of one stateful node. */
#include "ops/random/generator.h"

void hr_generator_init(hr_generator_t* g, const hr_node_attrs_t* attrs) {
  uint64_t seed = (uint64_t)hr_attrs_int(attrs, "seed"), seed2 = (uint64_t)hr_attrs_int(attrs, "seed2");
  if (seed == 0 && seed2 == 0) {
    seed = hr_rng_system_seed();
    seed2 = hr_rng_system_seed();
  }
  hr_mutex_init(&g->mu);
  hr_rng_init(&g->rng, seed, seed2);
}

void hr_generator_deinit(hr_generator_t* g) { hr_mutex_deinit(&g->mu); }

hr_rng_t hr_generator_take(hr_generator_t* g, uint64_t calls) {
  hr_mutex_lock(&g->mu);
  const hr_rng_t here = g->rng;
  hr_rng_skip(&g->rng, calls);
  hr_mutex_unlock(&g->mu);
  return here;
}

hr_status_t hr_generator_create_state(hr_prepare_ctx_t* p, void* state) {
  hr_generator_init(state, p->attrs);
  return NULL;
}
void hr_generator_destroy_state(void* state) { hr_generator_deinit(state); }

uint64_t hr_words_next64(hr_words_t* w) {
  const uint64_t low = hr_words_next(w);
  return low | (uint64_t)hr_words_next(w) << 32;
}

double hr_words_next_double(hr_words_t* w) {
  const uint64_t high = hr_words_next(w) & 0xfffffu, bits = (uint64_t)1023 << 52 | high << 32 | hr_words_next(w);
  double d;
  memcpy(&d, &bits, 8);
  return d - 1;
}
