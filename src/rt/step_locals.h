/* SPDX-License-Identifier: Apache-2.0 */
/* What lives as long as a step (TensorArrays, stacks): resources of the step's own, made when first asked for. Whoever starts the step
 * gives one hr_step_locals_t to all its partitions in this process and deinits it when the last of them has ended. */
#ifndef HR_RT_STEP_LOCALS_H
#define HR_RT_STEP_LOCALS_H
#include <stdatomic.h>
#include "rt/resource.h"

typedef struct hr_step_locals {
  _Atomic(hr_resources_t*) resources;
} hr_step_locals_t;

static inline void hr_step_locals_init(hr_step_locals_t* l) { atomic_init(&l->resources, NULL); }
static inline void hr_step_locals_deinit(hr_step_locals_t* l) { hr_resources_release(atomic_exchange(&l->resources, NULL)); }
/* Borrowed; NULL: out of memory. Threads may race for the first call. */
static inline hr_resources_t* hr_step_locals_get(hr_step_locals_t* l) {
  hr_resources_t* have = atomic_load_explicit(&l->resources, memory_order_acquire);
  if (have) return have;
  hr_resources_t* made = hr_resources_create();
  if (atomic_compare_exchange_strong(&l->resources, &have, made)) return made;
  hr_resources_release(made);
  return have;
}
#endif
