/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that hear what comes over links (near_link.h) and at listeners: a process has them from the first use on, for good. They take
 * turns: no two call sources at a time. What is called on a turn must not block. */
#ifndef HR_DIST_NEAR_LOOP_H
#define HR_DIST_NEAR_LOOP_H
#include <stdbool.h>
#include <stdint.h>
#include "base/errand.h"

typedef struct hr_near_source { /* something with a descriptor */
  void (*ready)(struct hr_near_source* self, uint32_t epoll_events);
  int64_t (*tick)(struct hr_near_source* self, int64_t now_ns); /* NULL: never. When to tick again; INT64_MAX: see wake_by */
  uint64_t id;                                                   /* the loop's, like below */
  struct hr_near_source *next, *previous;
} hr_near_source_t;

/* Unless it runs. `serves`: steps will be run here. UNAVAILABLE in the child of a fork, whose parent has it. */
HR_MUST_USE hr_status_t hr_near_loop_start(bool serves);
HR_MUST_USE hr_status_t hr_near_loop_add(hr_near_source_t* s, int fd);
/* What `ready` is called for, besides its end: when that begins, so it reads or writes until there is no more. Called again: anew. */
void hr_near_loop_watch(hr_near_source_t* s, int fd, uint32_t epoll_events);
void hr_near_loop_remove(hr_near_source_t* s, int fd);                  /* on a turn */
void hr_near_loop_post(hr_errand_t* e);                                 /* `run` is called on a turn, between events */
void hr_near_loop_wake_by(int64_t ns);                                  /* sources tick then, if not before */
bool hr_near_loop_has_turn(void); /* the thread that asks */
/* This is the child of a fork: its links are its parent's, and nothing is to be done to them. */
bool hr_near_loop_is_lost(void);
#endif
