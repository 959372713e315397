/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of elements, each a tuple of tensors: first in first out, shuffling, padding, or by priority. The object behind queue handles.
 *
 * Enqueues and dequeues that cannot finish wait in two lines, first come first served; whatever changes the queue moves both lines on. A
 * waiter whose step is cancelled (deadline, closed session) leaves its line and gives back what it took: the queue stays as usable as
 * before. */
#ifndef HR_OPS_DATA_QUEUE_H
#define HR_OPS_DATA_QUEUE_H
#include "op/kernel_ctx.h"
#include "ops/random/generator.h"
#include "rt/cancel.h"
#include "rt/resource.h"

typedef enum { HR_QUEUE_FIFO, HR_QUEUE_SHUFFLE, HR_QUEUE_PADDING, HR_QUEUE_PRIORITY } hr_queue_kind_t;
typedef hr_tensor_t* hr_element_t; /* an array of the queue's components, each one share; own memory */

typedef struct hr_queue_attempt hr_queue_attempt_t;
typedef struct hr_queue {
  hr_resource_t base;
  /* immutable */
  hr_queue_kind_t kind;
  char* name;
  int64_t capacity, min_after;  /* capacity INT64_MAX: no limit */
  int components;               /* by priority: the first is that, an int64 scalar which the attrs do not list */
  int32_t* types;
  const hr_pshape_t** shapes;   /* NULL: any */
  hr_arena_t arena;             /* of types and shapes */
  /* guarded by mu */
  hr_mutex_t mu;
  hr_cond_t changed;
  hr_element_t* items;          /* a ring of `room` places */
  int64_t room, head, count;
  hr_queue_attempt_t *givers, *takers; /* the lines; head first */
  bool closed;
  hr_words_t words;             /* shuffling */
  int64_t seeds[2];            /* shuffling: as the node that made it asked */
} hr_queue_t;
extern const hr_resource_type_t hr_queue_type;

/* From the attrs of a queue node. INVALID_ARGUMENT for attrs that do not make a queue. */
HR_MUST_USE hr_status_t hr_queue_create(hr_queue_kind_t kind, const hr_node_attrs_t* attrs, hr_str_t name, hr_queue_t** out);
/* INVALID_ARGUMENT unless a node with these attrs may share the queue. */
HR_MUST_USE hr_status_t hr_queue_check_shared(const hr_queue_t* q, hr_queue_kind_t kind, const hr_node_attrs_t* attrs);

hr_element_t hr_element_create(int components); /* zeroed; NULL: out of memory */
void hr_element_destroy(hr_element_t e, int components); /* accepts NULL */

/* Appends all elements, waiting for room; takes them (the array stays the caller's) whatever comes of it. CANCELLED: the queue is closed or
 * the step is cancelled. With `defer` it does not wait: the step will, at its end. */
HR_MUST_USE hr_status_t hr_queue_give(hr_queue_t* q, hr_step_t* step, hr_element_t* take_elements, int64_t count, bool defer);
/* Takes `count` elements, waiting for them; OUT_OF_RANGE when the queue is closed with fewer left, unless `up_to` and there is one: then
 * *out_count tells (a queue by priority does not make do with fewer). */
HR_MUST_USE hr_status_t hr_queue_take(hr_queue_t* q, hr_step_t* step, int64_t count, bool up_to, hr_element_t* out, int64_t* out_count);
/* No more enqueues. CANCELLED when closed before, unless `cancel_givers`, which also ends those that wait. */
HR_MUST_USE hr_status_t hr_queue_close(hr_queue_t* q, bool cancel_givers);
bool hr_queue_is_closed(hr_queue_t* q);
int64_t hr_queue_size(hr_queue_t* q);
#endif
