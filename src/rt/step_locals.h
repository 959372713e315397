/* SPDX-License-Identifier: Apache-2.0 */
/* What lives as long as a step (TensorArrays, stacks, temporary variables). Whoever starts the step gives one hr_step_locals_t to all its
 * partitions in this process and deinits it when the last of them has ended. Objects are found through handles that hold them, or, the
 * older ways, by name in a table that is made when first asked for. At the end each object is cleared before it is let go, so that a
 * handle which outlives the step keeps no values, and objects that hold each other's handles do not keep each other. */
#ifndef HR_RT_STEP_LOCALS_H
#define HR_RT_STEP_LOCALS_H
#include <stdatomic.h>
#include "rt/resource.h"

typedef struct hr_step_object { /* first member of every object of a step */
  hr_resource_t base;
  struct hr_step_object* next;
  void (*clear)(struct hr_step_object* o); /* gives up its values; later uses are refused */
} hr_step_object_t;

typedef struct hr_step_locals {
  _Atomic(hr_resources_t*) resources;
  _Atomic(hr_step_object_t*) objects;
} hr_step_locals_t;

static inline void hr_step_locals_init(hr_step_locals_t* l) {
  atomic_init(&l->resources, NULL);
  atomic_init(&l->objects, NULL);
}
static inline void hr_step_locals_deinit(hr_step_locals_t* l) {
  hr_step_object_t* o = atomic_load_explicit(&l->objects, memory_order_acquire); /* everybody else has ended */
  while (o) {
    hr_step_object_t* next = o->next;
    o->clear(o);
    hr_resource_release(&o->base);
    o = next;
  }
  hr_resources_t* rs = atomic_load_explicit(&l->resources, memory_order_acquire);
  if (rs) hr_resources_release(rs);
}
/* The step takes a reference; an object is added once. */
static inline void hr_step_locals_add(hr_step_locals_t* l, hr_step_object_t* o) {
  hr_resource_retain(&o->base);
  o->next = atomic_load_explicit(&l->objects, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&l->objects, &o->next, o)) continue;
}
/* The table of names. Borrowed; NULL: out of memory. Threads may race for the first call. */
static inline hr_resources_t* hr_step_locals_get(hr_step_locals_t* l) {
  hr_resources_t* have = atomic_load_explicit(&l->resources, memory_order_acquire);
  if (have) return have;
  hr_resources_t* made = hr_resources_create();
  if (atomic_compare_exchange_strong(&l->resources, &have, made)) return made;
  hr_resources_release(made);
  return have;
}
#endif
