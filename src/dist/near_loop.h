/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that hears what comes over links (near_link.h) and at listeners. One for the process, from the first use on, for good. It must
 * not be blocked: what it calls returns soon. */
#ifndef HR_DIST_NEAR_LOOP_H
#define HR_DIST_NEAR_LOOP_H
#include <stdbool.h>
#include <stdint.h>
#include "base/errand.h"

typedef struct hr_near_source { /* something with a descriptor */
  void (*ready)(struct hr_near_source* self, uint32_t epoll_events);
  int64_t (*tick)(struct hr_near_source* self, int64_t now_ns); /* NULL: never. When to tick again; INT64_MAX: see wake_by */
  struct hr_near_source *next, *previous;                        /* the loop's */
} hr_near_source_t;

HR_MUST_USE hr_status_t hr_near_loop_start(void); /* unless it runs; UNAVAILABLE in the child of a fork, whose parent has it */
HR_MUST_USE hr_status_t hr_near_loop_add(hr_near_source_t* s, int fd);
void hr_near_loop_watch(hr_near_source_t* s, int fd, uint32_t epoll_events); /* what `ready` is called for, besides its end */
void hr_near_loop_remove(hr_near_source_t* s, int fd);                  /* on the loop's thread */
void hr_near_loop_post(hr_errand_t* e);                                 /* `run` is called on the loop's thread, between events */
void hr_near_loop_wake_by(int64_t ns);                                  /* sources tick then, if not before */
bool hr_near_loop_is_thread(void);
#endif
