/* SPDX-License-Identifier: Apache-2.0 */
/* RecvTensor: a value of this task for another. It may come before the step's RunGraph, and waits. */
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/recv_tensor.h"
#include "dist/worker_state.h"

typedef struct {
  hr_worker_op_t op;
  hr_rendezvous_waiter_t waiter;
  hr_worker_step_t* step;
  char* key;
  int64_t start_ns;
} recv_op_t;
_Static_assert(sizeof(recv_op_t) <= HR_WORKER_OP_BYTES, "an op's memory is of one size");

static void destroy_recv(hr_worker_op_t* op) {
  recv_op_t* r = (recv_op_t*)op;
  hr_worker_step_leave(r->step);
  hr_free(r->key);
}

static void value_came(hr_rendezvous_waiter_t* self, hr_status_t take_status, hr_tensor_t* take_value, bool is_dead) {
  recv_op_t* r = (recv_op_t*)((char*)self - offsetof(recv_op_t, waiter));
  hr_message_t answer = {0};
  if (!take_status) take_status = hr_recv_tensor_answer(take_value, is_dead, hr_clock_wall_ns() / 1000, &answer);
  if (take_value) hr_tensor_release(take_value);
  hr_worker_finish(&r->op, take_status, &answer);
}

static void cancel_recv(hr_worker_op_t* op) {
  recv_op_t* r = (recv_op_t*)op;
  if (hr_rendezvous_forget(r->step->rendezvous, hr_str(r->key), &r->waiter))
    hr_worker_finish(op, HR_ERROR(CANCELLED, HR_DERIVED_MARK "RecvTensor was cancelled by its caller"), NULL);
}

/* The source must be a device of ours in its present life. */
static hr_status_t check_source(hr_worker_t* w, hr_worker_step_t* step, const hr_rendezvous_key_t* key) {
  hr_mutex_lock(&step->mu);
  const hr_device_set_t* devices = step->session ? step->session->devices : w->devices;
  const int32_t at = hr_device_set_find(devices, key->source);
  const uint64_t incarnation = at >= 0 ? devices->devices[at]->incarnation : 0;
  const bool is_claimed = step->session != NULL;
  hr_mutex_unlock(&step->mu);
  if (at < 0) /* a client's own name for this task is known once the step is claimed */
    return is_claimed ? HR_ERROR(INVALID_ARGUMENT, "'%.*s' is no device of this task", HR_STR_ARG(key->source)) : NULL;
  if (incarnation == key->incarnation) return NULL;
  return HR_ERROR(ABORTED, "RecvTensor expects a different device incarnation: %llu, not %llu; this task (%s) was probably restarted",
                  (unsigned long long)key->incarnation, (unsigned long long)incarnation, w->cluster->tasks[w->cluster->self].name.data);
}

static hr_status_t prepare_recv(recv_op_t* r) {
  hr_worker_t* w = r->op.w;
  hr_recv_tensor_request_t q;
  hr_rendezvous_key_t key;
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_status_t status = hr_recv_tensor_read_request(&r->op.call->request, &scratch, &q);
  if (!status) status = hr_request_ids_add(&w->ids, q.request_id);
  if (!status) status = hr_rendezvous_key_parse(q.key, &key);
  if (!status) status = hr_worker_step_get(w, q.step_id, false, &r->step);
  if (!status) status = check_source(w, r->step, &key);
  if (!status && !(r->key = hr_alloc_copy(q.key.data, q.key.size))) status = hr_status_out_of_memory();
  hr_strbuf_deinit(&scratch);
  return status;
}

void hr_worker_recv_tensor(hr_worker_op_t* op) {
  recv_op_t* r = (recv_op_t*)op;
  op->destroy = destroy_recv;
  hr_status_t status = prepare_recv(r);
  if (status) {
    hr_worker_finish(op, status, NULL);
    return;
  }
  r->waiter.done = value_came;
  op->cancel = cancel_recv;
  hr_worker_step_t* step = r->step;
  atomic_fetch_add_explicit(&step->refs, 1, memory_order_relaxed); /* the op may end within */
  hr_rendezvous_receive_local(step->rendezvous, hr_str(r->key), &r->waiter);
  hr_worker_step_leave(step);
}
