/* SPDX-License-Identifier: Apache-2.0 */
/* Where the partitions of one step meet: who sends puts a value under a key, who receives takes it. Sending never blocks; receiving calls
 * back, at once or when the value comes. One rendezvous a step and task; refcounted; thread-safe.
 *
 * A second send under one key queues; each receive takes one value. After an abort, and for those that wait then, every call fails with
 * the abort's reason; the first reason stays. */
#ifndef HR_RT_RENDEZVOUS_H
#define HR_RT_RENDEZVOUS_H
#include "rt/rendezvous_key.h"
#include "tensor/tensor.h"

typedef struct hr_rendezvous hr_rendezvous_t;

/* What a receiver waits with; memory of the receiver's until `done` is called, which happens exactly once, on any thread, without a lock
 * held. `take_value` is set only when take_status is NULL; a dead value is empty. */
typedef struct hr_rendezvous_waiter {
  void (*done)(struct hr_rendezvous_waiter* self, hr_status_t take_status, hr_tensor_t* take_value, bool is_dead);
  struct hr_rendezvous_waiter* next; /* of the rendezvous while it waits */
} hr_rendezvous_waiter_t;

/* A worker's way to values that lie in other tasks. `receive` is asked for keys that `is_remote` claims; it must end each waiter, also when
 * the step is aborted (`abort`, called once, and before `destroy`; a `receive` may still come after it, from a thread that was on its way).
 * All are called without a lock held. */
typedef struct hr_rendezvous_remote {
  bool (*is_remote)(struct hr_rendezvous_remote* self, const hr_rendezvous_key_t* key);
  void (*receive)(struct hr_rendezvous_remote* self, const hr_rendezvous_key_t* key, hr_str_t text, hr_rendezvous_waiter_t* waiter);
  void (*abort)(struct hr_rendezvous_remote* self, hr_status_t take_why);
  void (*destroy)(struct hr_rendezvous_remote* self); /* with the rendezvous */
} hr_rendezvous_remote_t;

/* take_remote NULL: all is local. */
HR_MUST_USE hr_status_t hr_rendezvous_create(hr_rendezvous_remote_t* take_remote, hr_rendezvous_t** out);
hr_rendezvous_t* hr_rendezvous_retain(hr_rendezvous_t* r);
void hr_rendezvous_release(hr_rendezvous_t* r); /* accepts NULL; the last one aborts what waits */

/* Shares `value` (NULL or empty when dead). */
HR_MUST_USE hr_status_t hr_rendezvous_send(hr_rendezvous_t* r, hr_str_t key, const hr_tensor_t* value, bool is_dead);
void hr_rendezvous_receive(hr_rendezvous_t* r, hr_str_t key, hr_rendezvous_waiter_t* waiter);
/* For a RecvTensor from another task: never looks further than this task. */
void hr_rendezvous_receive_local(hr_rendezvous_t* r, hr_str_t key, hr_rendezvous_waiter_t* waiter);
/* Takes a waiter of receive_local back (its caller is gone): true when it will not be called, false when it was or is being called. */
bool hr_rendezvous_forget(hr_rendezvous_t* r, hr_str_t key, hr_rendezvous_waiter_t* waiter);
bool hr_rendezvous_is_empty(hr_rendezvous_t* r); /* neither values nor receivers wait */
void hr_rendezvous_abort(hr_rendezvous_t* r, hr_status_t take_why);
#endif
