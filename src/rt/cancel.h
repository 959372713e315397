/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation: one hr_cancel_t per step (and one per session, which cascades). Whatever blocks registers a callback; the callbacks run
 * once, in the cancelling thread, without the lock held. */
#ifndef HR_RT_CANCEL_H
#define HR_RT_CANCEL_H
#include <stdatomic.h>
#include "base/status.h"
#include "base/sync.h"

typedef struct hr_cancel_entry {
  void (*callback)(void* arg);
  void* arg;
  struct hr_cancel_entry *next, *previous; /* guarded by the hr_cancel_t's mu */
} hr_cancel_entry_t;                       /* memory of the waiter; registered while it blocks */

typedef struct hr_cancel {
  atomic_bool cancelled;
  hr_mutex_t mu;
  hr_status_t why;                         /* one reference; guarded by mu */
  hr_cancel_entry_t* entries;              /* guarded by mu */
  int running;                             /* callbacks being called now; deregistration waits for them */
  hr_cond_t idle;
} hr_cancel_t;

void hr_cancel_init(hr_cancel_t* c);
void hr_cancel_deinit(hr_cancel_t* c);
void hr_cancel_start(hr_cancel_t* c, hr_status_t take_why); /* first reason wins; runs the callbacks */
static inline bool hr_cancel_is_set(const hr_cancel_t* c) { return atomic_load_explicit(&c->cancelled, memory_order_relaxed); }
hr_status_t hr_cancel_why(hr_cancel_t* c);                  /* a reference to the reason; CANCELLED when none was given */
/* False when already cancelled (the callback is then not registered and will not run). */
bool hr_cancel_register(hr_cancel_t* c, hr_cancel_entry_t* entry);
void hr_cancel_deregister(hr_cancel_t* c, hr_cancel_entry_t* entry); /* after it returns the callback neither runs nor will */

/* A token that another one starts too, with its reason: a step's follows its caller's, its session's, its server's. */
typedef struct {
  hr_cancel_t *parent, *own;
  hr_cancel_entry_t entry;
  bool registered;
} hr_cancel_link_t;
void hr_cancel_link(hr_cancel_link_t* l, hr_cancel_t* parent, hr_cancel_t* own); /* parent may be NULL */
void hr_cancel_unlink(hr_cancel_link_t* l);                                      /* before either goes */
#endif
