/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with a queue: enqueue, dequeue, close, size. Every op has two forms, for references (V1) and handles (V2), and one kernel.
 *
 * An enqueue on a full queue and a dequeue on an empty one wait, until the other side moves, the queue closes, or the step is cancelled. An
 * enqueue whose step dequeues later lets the step go on and is waited for at its end. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/data/queue_batch.h"
#include "ops/data/queue_input.h"
#include "rt/step.h"

/* 1. shapes */
static hr_status_t want_handle(hr_infer_t* s) {
  const hr_pshape_t* shape;
  int64_t dim;
  if (hr_infer_input_dtype(s, 0) == HR_RESOURCE) return hr_infer_want_rank(s, 0, 0, NULL);
  HR_TRY(hr_infer_want_rank(s, 0, 1, &shape));
  return hr_infer_merge_dim(hr_infer_dim(shape, 0), 2, &dim);
}

static hr_status_t infer_scalar_of(hr_infer_t* s) {
  HR_TRY(want_handle(s));
  return hr_infer_scalars(s);
}

static void element_shape(const hr_infer_t* s, const hr_pshape_t** out) { /* NULL: not known */
  hr_dtype_t held;
  *out = NULL;
  if (hr_infer_output_count(s) == 1) hr_infer_handle(s, 0, &held, out);
}

static hr_status_t infer_dequeue(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(want_handle(s));
  element_shape(s, &shape);
  if (shape) hr_infer_set(s, 0, shape);
  return NULL;
}

static hr_status_t infer_batch(hr_infer_t* s, bool up_to) {
  const hr_pshape_t* shape;
  int64_t dims[HR_MAX_RANK + 1], n = -1;
  HR_TRY(want_handle(s));
  const hr_tensor_t* known = hr_infer_const(s, 1);
  const bool is_known = known && known->count;
  if (is_known) n = *(const int32_t*)known->data; /* of more than one number the first counts, as in TensorFlow */
  if (is_known && n < 0) return HR_ERROR(INVALID_ARGUMENT, "a batch of %lld elements", (long long)n);
  element_shape(s, &shape);
  if (!shape || shape->rank < 0 || shape->rank > HR_MAX_RANK) return NULL;
  dims[0] = up_to ? -1 : n;
  for (int i = 0; i < shape->rank; ++i) dims[i + 1] = shape->dims[i];
  return hr_infer_set_dims(s, 0, shape->rank + 1, dims);
}
static hr_status_t infer_dequeue_many(hr_infer_t* s) { return infer_batch(s, false); }
static hr_status_t infer_dequeue_up_to(hr_infer_t* s) { return infer_batch(s, true); }

/* 2. kernels */
static hr_status_t no_timeout(hr_prepare_ctx_t* p, void* prepared) {
  const int64_t ms = hr_attrs_int(p->attrs, "timeout_ms");
  (void)prepared;
  return ms == -1 ? NULL : HR_ERROR(INVALID_ARGUMENT, "timeout_ms is %lld; only -1 is supported: set the run's timeout", (long long)ms);
}

static hr_status_t check_count(const hr_queue_t* q, int given) {
  return given == q->components ? NULL : HR_ERROR(INVALID_ARGUMENT, "%d components for queue '%s' of %d", given, q->name, q->components);
}

static hr_status_t check_type(const hr_queue_t* q, int c, hr_dtype_t type) {
  if ((int)type == q->types[c]) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "component %d is %s; queue '%s' holds %s", c, hr_dtype_name((int)type), q->name,
                  hr_dtype_name(q->types[c]));
}

static hr_status_t shape_error(const hr_queue_t* q, int c, const hr_tensor_t* t, bool rows, int64_t row_count) {
  char text[HR_SHAPE_TEXT], wanted[HR_SHAPE_TEXT], whole[HR_SHAPE_TEXT + 24], count[24] = "?";
  if (row_count >= 0) snprintf(count, sizeof count, "%lld", (long long)row_count);
  snprintf(wanted, sizeof wanted, "[...]");
  if (q->shapes) hr_pshape_format(q->shapes[c], wanted);
  if (rows) snprintf(whole, sizeof whole, "[%s%s%s", count, strlen(wanted) > 2 ? "," : "", wanted + 1); /* [ROWS,2,3] */
  else snprintf(whole, sizeof whole, "%s", wanted);
  return HR_ERROR(INVALID_ARGUMENT, "Shape mismatch in tuple component %d. Expected %s, got %s (queue '%s')", c, whole,
                  hr_shape_format(&t->shape, text), q->name);
}

/* With `rows`, a component is as many elements as component 0 has rows; -1: that is none. */
static hr_status_t check_part(const hr_queue_t* q, int c, const hr_tensor_t* t, bool rows, int64_t row_count) {
  hr_shape_t part;
  HR_TRY(check_type(q, c, t->dtype));
  if (rows && t->shape.rank < 1) return shape_error(q, c, t, rows, row_count);
  HR_TRY(hr_shape_make(t->shape.rank - rows, t->shape.dims + rows, &part));
  if (q->shapes && (!hr_pshape_accepts(q->shapes[c], &part) || (rows && t->shape.dims[0] != row_count)))
    return shape_error(q, c, t, rows, row_count);
  if (rows && t->shape.dims[0] != row_count)
    return HR_ERROR(INVALID_ARGUMENT, "all input tensors must have the same size in the 0th dimension: component %d has %lld, and should "
                    "have %lld", c, (long long)t->shape.dims[0], (long long)row_count);
  return NULL;
}

static hr_status_t check_parts(const hr_kernel_ctx_t* k, const hr_queue_t* q, bool rows) {
  HR_TRY(check_count(q, hr_input_count(k) - 1));
  const hr_tensor_t* first = hr_input(k, 1);
  for (int c = 0; c < q->components; ++c)
    HR_TRY(check_part(q, c, hr_input(k, 1 + c), rows, first->shape.rank ? first->shape.dims[0] : -1));
  return NULL;
}

static hr_status_t keep_whole(const hr_tensor_t* t, hr_tensor_t* out) { /* borrowed memory may change after the run */
  if (t->buffer->read_only) return hr_tensor_clone(t, out);
  hr_tensor_share(t, out);
  return NULL;
}

static hr_status_t make_elements(const hr_kernel_ctx_t* k, const hr_queue_t* q, bool rows, hr_element_t* elements, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!(elements[i] = hr_element_create(q->components))) return hr_status_out_of_memory();
    for (int c = 0; c < q->components; ++c) {
      const hr_tensor_t* t = hr_input(k, 1 + c);
      HR_TRY(rows ? hr_queue_row(t, i, &elements[i][c]) : keep_whole(t, &elements[i][c]));
    }
  }
  return NULL;
}

static hr_status_t enqueue_elements(hr_kernel_ctx_t* k, hr_queue_t* q, bool rows) {
  HR_TRY(check_parts(k, q, rows));
  const int64_t count = rows ? hr_input(k, 1)->shape.dims[0] : 1;
  hr_element_t one = NULL, *elements = count == 1 ? &one : hr_alloc_array((size_t)count, sizeof *elements);
  if (count == 0) {
    hr_free(elements);
    return NULL;
  }
  if (!elements) return hr_status_out_of_memory();
  hr_status_t status = make_elements(k, q, rows, elements, count);
  if (!status) status = hr_queue_give(q, k->step, elements, count, k->site->may_defer);
  else
    for (int64_t i = 0; i < count; ++i) hr_element_destroy(elements[i], q->components);
  if (elements != &one) hr_free(elements);
  return status;
}

static hr_status_t enqueue(hr_kernel_ctx_t* k) { /* arg: rows */
  hr_queue_t* q;
  HR_TRY(hr_queue_input(k, &q));
  hr_status_t status = enqueue_elements(k, q, hr_kernel_arg(k) != NULL);
  hr_resource_release(&q->base);
  return status;
}

static hr_status_t check_outputs(const hr_kernel_ctx_t* k, const hr_queue_t* q) {
  HR_TRY(check_count(q, hr_output_count(k)));
  for (int c = 0; c < q->components; ++c) HR_TRY(check_type(q, c, hr_output_dtype(k, c)));
  return NULL;
}

static hr_status_t dequeue_one(hr_kernel_ctx_t* k, hr_queue_t* q) {
  hr_element_t e = NULL;
  int64_t n;
  HR_TRY(check_outputs(k, q));
  HR_TRY(hr_queue_take(q, k->step, 1, false, &e, &n));
  for (int c = 0; c < q->components; ++c) hr_output_move(k, c, &e[c]);
  hr_element_destroy(e, q->components);
  return NULL;
}

static hr_status_t dequeue(hr_kernel_ctx_t* k) {
  hr_queue_t* q;
  HR_TRY(hr_queue_input(k, &q));
  hr_status_t status = dequeue_one(k, q);
  hr_resource_release(&q->base);
  return status;
}

static hr_status_t batch_size(const hr_kernel_ctx_t* k, const hr_queue_t* q, int64_t* n) {
  if (hr_input(k, 1)->count != 1) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "n must be one number, not of shape %s (input 1)", hr_shape_format(&hr_input(k, 1)->shape, text));
  }
  HR_TRY(check_outputs(k, q));
  *n = *(const int32_t*)hr_input(k, 1)->data;
  if (*n < 0) return HR_ERROR(INVALID_ARGUMENT, "a batch of requested %lld < 0 elements", (long long)*n);
  if (!q->shapes) return HR_ERROR(INVALID_ARGUMENT, "queue '%s' must have components with specified shapes for its "
                  "elements to make a batch", q->name);
  return NULL;
}

static hr_status_t dequeue_batch(hr_kernel_ctx_t* k, hr_queue_t* q, bool up_to) {
  int64_t n = 0, got = 0;
  HR_TRY(batch_size(k, q, &n));
  hr_element_t* elements = hr_alloc_array((size_t)n + 1, sizeof *elements);
  if (!elements) return hr_status_out_of_memory();
  hr_status_t status = n ? hr_queue_take(q, k->step, n, up_to, elements, &got) : NULL;
  for (int c = 0; !status && c < q->components; ++c) status = hr_queue_batch(k, q, elements, got, c);
  for (int64_t i = 0; i < got; ++i) hr_element_destroy(elements[i], q->components);
  hr_free(elements);
  return status;
}

static hr_status_t dequeue_many(hr_kernel_ctx_t* k) { /* arg: up to */
  hr_queue_t* q;
  HR_TRY(hr_queue_input(k, &q));
  hr_status_t status = dequeue_batch(k, q, hr_kernel_arg(k) != NULL);
  hr_resource_release(&q->base);
  return status;
}

static hr_status_t close_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(p->attrs, "cancel_pending_enqueues");
  return NULL;
}
static hr_status_t close_queue(hr_kernel_ctx_t* k) {
  hr_queue_t* q;
  HR_TRY(hr_queue_input(k, &q));
  hr_status_t status = hr_queue_close(q, *(bool*)hr_prepared(k));
  hr_resource_release(&q->base);
  return status;
}

static hr_status_t ask(hr_kernel_ctx_t* k) { /* arg: is it closed; else its size */
  const hr_shape_t scalar = hr_shape_scalar();
  hr_queue_t* q;
  hr_tensor_t* out;
  HR_TRY(hr_queue_input(k, &q));
  hr_status_t status = hr_output(k, 0, &scalar, &out);
  if (!status && hr_kernel_arg(k)) *(bool*)out->data = hr_queue_is_closed(q);
  else if (!status) *(int32_t*)out->data = (int32_t)hr_queue_size(q);
  hr_resource_release(&q->base);
  return status;
}

/* 3. definitions: the V1 form is stateless by its signature */
#define YES ((const void*)1)
#define NO NULL
#define FORMS(Name, none, inputs, outputs, attrs_text, more_flags, infer_fn, text, ...) \
  extern const hr_op_t hr_op_##Name, hr_op_##Name##V2;                                  \
  const hr_op_t hr_op_##Name = {.name = #Name,                                          \
                                .sig = "handle: Ref(string)" inputs "->" outputs,       \
                                .attrs = attrs_text,                                    \
                                .flags = HR_OP_SIDE_EFFECT | more_flags,                \
                                .shape = infer_fn,                                      \
                                .grad = none,                                           \
                                HR_KERNELS(__VA_ARGS__),                                \
                                .doc = text,                                            \
                                HR_HERE};                                               \
  const hr_op_t hr_op_##Name##V2 = {.name = #Name "V2",                                 \
                                    .sig = "handle: resource" inputs "->" outputs,      \
                                    .attrs = attrs_text,                                \
                                    .flags = HR_OP_STATEFUL | more_flags,               \
                                    .shape = infer_fn,                                  \
                                    HR_KERNELS(__VA_ARGS__),                            \
                                    .doc = text,                                        \
                                    HR_HERE}
#define GIVE "Tcomponents: list(type) >= 1; timeout_ms: int = -1"
#define TAKE "component_types: list(type) >= 1; timeout_ms: int = -1"
FORMS(QueueEnqueue, hr_grad_none, "; components: Tcomponents ", "", GIVE, HR_OP_BLOCKING, want_handle, "puts one element into a queue",
      {.host_inputs = 1, .prepare = no_timeout, .compute = enqueue, .arg = NO});
FORMS(QueueEnqueueMany, hr_grad_none, "; components: Tcomponents ", "", GIVE, HR_OP_BLOCKING, want_handle,
      "puts rows as elements into a queue", {.host_inputs = 1, .prepare = no_timeout, .compute = enqueue, .arg = YES});
FORMS(QueueDequeue, hr_grad_none, "", " components: component_types", TAKE, HR_OP_BLOCKING, infer_dequeue,
      "takes one element out of a queue", {.host_inputs = 1, .prepare = no_timeout, .compute = dequeue});
FORMS(QueueDequeueMany, hr_grad_none, "; n: int32 ", " components: component_types", TAKE, HR_OP_BLOCKING, infer_dequeue_many,
      "takes n elements as rows", {.host_inputs = 3, .prepare = no_timeout, .compute = dequeue_many, .arg = NO});
FORMS(QueueDequeueUpTo, hr_grad_none, "; n: int32 ", " components: component_types", TAKE, HR_OP_BLOCKING, infer_dequeue_up_to,
      "takes n elements as rows, or what a closed queue still has",
      {.host_inputs = 3, .prepare = no_timeout, .compute = dequeue_many, .arg = YES});
FORMS(QueueClose, hr_grad_none, "", "", "cancel_pending_enqueues: bool = false", 0, want_handle, "no more enqueues",
      {.host_inputs = 1, .prepared_bytes = sizeof(bool), .prepare = close_prepare, .compute = close_queue});
FORMS(QueueIsClosed, NULL, "", " is_closed: bool", "", 0, infer_scalar_of, "whether the queue is closed",
      {.host_inputs = 1, .host_outputs = 1, .compute = ask, .arg = YES});
FORMS(QueueSize, hr_grad_none, "", " size: int32", "", 0, infer_scalar_of, "how many elements the queue has",
      {.host_inputs = 1, .host_outputs = 1, .compute = ask, .arg = NO});
