/* SPDX-License-Identifier: Apache-2.0 */
/* A step's way to values in other tasks: one RecvTensor for each, to the task that owns the source device. Bodies go from task to task; a
 * master sees none of them.
 *
 * A wait is linked before its call starts and unlinked when the call is done. An abort cancels what has started; what is just starting
 * looks for the abort afterwards. All under mu, which is not held while a waiter is called. */
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/random_id.h"
#include "dist/recv_tensor.h"
#include "dist/worker_state.h"

typedef struct remote_wait {
  hr_call_t call;
  _Atomic int refs;              /* of the call, and of who starts it */
  hr_worker_rendezvous_t* owner; /* one reference */
  hr_rendezvous_waiter_t* waiter;
  hr_channel_t* channel;
  int64_t request_id, start_us;
  bool has_started, is_done;     /* guarded by the owner's mu */
  struct remote_wait *next, *previous;
  hr_str_t source;               /* lies in key */
  char key[];
} remote_wait_t;

struct hr_worker_rendezvous {
  hr_rendezvous_remote_t base;
  _Atomic int refs;
  hr_worker_t* w;                /* one reference */
  int64_t step_id;
  hr_mutex_t mu;
  hr_cluster_t* cluster;         /* guarded by mu, like all below; NULL until the step is claimed */
  remote_wait_t* waits;
  hr_status_t aborted;
};

static void rendezvous_unref(hr_worker_rendezvous_t* r) {
  if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
  hr_cluster_release(r->cluster);
  hr_status_release(r->aborted);
  hr_mutex_deinit(&r->mu);
  hr_worker_drop(r->w);
  hr_free(r);
}

static void wait_unref(remote_wait_t* t) {
  if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
  rendezvous_unref(t->owner);
  hr_free(t);
}

/* --- acknowledgements: a stock sender that caches its answers wants them ---------------------------------------------------------- */

static void ack_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  hr_status_release(take_status); /* the sender's cache ends with its step anyhow */
  if (take_response) hr_message_deinit(take_response);
  hr_free(self);
}

static void send_ack(const remote_wait_t* t) {
  hr_writer_t w;
  char* data;
  size_t size;
  hr_message_t m = {0};
  hr_call_t* call = hr_alloc_zero(sizeof *call);
  hr_strbuf_init(&w);
  hr_writer_i64(&w, 1, t->request_id);
  hr_status_t status = hr_strbuf_take(&w, &data, &size);
  if (!status) status = hr_message_of_bytes(data, size, &m);
  if (status || !call) {
    hr_status_release(status);
    hr_message_deinit(&m);
    hr_free(call);
    return;
  }
  call->done = ack_done;
  t->owner->cluster->transport->call(t->channel, "/tensorflow.WorkerService/MarkRecvFinished", &m, 5000, false, call);
}

/* --- one wait --------------------------------------------------------------------------------------------------------------------- */

static hr_status_t name_source(hr_status_t take_status, const remote_wait_t* t) {
  hr_status_t status = hr_status_create(hr_status_code(take_status), __FILE__, __LINE__, "%s\n\t (received from %.*s)",
                                        hr_status_message(take_status), HR_STR_ARG(t->source));
  hr_status_release(take_status);
  return status;
}

/* Unlinked; the reason to give the waiter instead of what the call says, when the step was aborted. */
static hr_status_t end_wait(remote_wait_t* t) {
  hr_worker_rendezvous_t* r = t->owner;
  hr_mutex_lock(&r->mu);
  t->is_done = true;
  if (t->next) t->next->previous = t->previous;
  if (t->previous) t->previous->next = t->next;
  else r->waits = t->next;
  hr_status_t aborted = hr_status_retain(r->aborted);
  hr_mutex_unlock(&r->mu);
  return aborted;
}

static void wait_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  remote_wait_t* t = (remote_wait_t*)self;
  hr_tensor_t value = {0};
  bool is_dead = false, wants_ack = false;
  hr_status_t aborted = end_wait(t);
  hr_status_t status = take_status;
  if (!status) {
    const int64_t bytes = (int64_t)hr_message_size(take_response);
    status = hr_recv_tensor_read_answer(take_response, &value, &is_dead, &wants_ack);
    hr_message_deinit(take_response);
    if (!status) hr_worker_log_add(&t->owner->w->log, t->owner->step_id, t->key, bytes, t->start_us, hr_clock_wall_ns() / 1000);
    if (!status && wants_ack) send_ack(t);
  }
  if (status && aborted) {
    hr_status_release(status);
    status = hr_status_retain(aborted);
  } else if (status)
    status = name_source(status, t);
  hr_status_release(aborted);
  hr_rendezvous_waiter_t* waiter = t->waiter;
  if (is_dead) hr_tensor_release(&value);
  waiter->done(waiter, status, status || is_dead ? NULL : &value, is_dead);
  hr_tensor_release(&value);
  wait_unref(t);
}

static hr_status_t create_wait(hr_worker_rendezvous_t* r, const hr_rendezvous_key_t* key, hr_str_t text, hr_rendezvous_waiter_t* waiter,
                               remote_wait_t** out) {
  remote_wait_t* t = hr_alloc_zero(sizeof *t + text.size + 1);
  if (!t) return hr_status_out_of_memory();
  memcpy(t->key, text.data, text.size);
  t->source = (hr_str_t){t->key, key->source.size}; /* a key begins with its source */
  t->call.done = wait_done;
  atomic_init(&t->refs, 2);
  t->owner = r;
  atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
  t->waiter = waiter;
  t->request_id = hr_random_id_request();
  t->start_us = hr_clock_wall_ns() / 1000;
  *out = t;
  return NULL;
}

static hr_status_t find_channel(hr_worker_rendezvous_t* r, hr_str_t source, hr_channel_t** out) {
  hr_mutex_lock(&r->mu);
  hr_cluster_t* c = r->cluster; /* set once, alive as long as r */
  hr_mutex_unlock(&r->mu);
  if (!c) return HR_ERROR(INTERNAL, "a step that nobody runs asks for a value");
  const int32_t task = hr_cluster_find(c, source);
  if (task < 0) return HR_ERROR(INVALID_ARGUMENT, "'%.*s' is a device of no task of this cluster", HR_STR_ARG(source));
  return hr_cluster_channel(c, task, out);
}

/* Linked, unless the step has been aborted. */
static hr_status_t link_wait(hr_worker_rendezvous_t* r, remote_wait_t* t) {
  hr_mutex_lock(&r->mu);
  hr_status_t status = hr_status_retain(r->aborted);
  if (!status) {
    t->next = r->waits;
    if (t->next) t->next->previous = t;
    r->waits = t;
  }
  hr_mutex_unlock(&r->mu);
  return status;
}

static void start_wait(hr_worker_rendezvous_t* r, remote_wait_t* t, hr_message_t* take_request) {
  const hr_transport_t* transport = r->cluster->transport;
  transport->call(t->channel, "/tensorflow.WorkerService/RecvTensor", take_request, 0, false, &t->call);
  hr_mutex_lock(&r->mu);
  t->has_started = true;
  if (!t->is_done && r->aborted) transport->cancel(&t->call);
  hr_mutex_unlock(&r->mu);
  wait_unref(t);
}

/* --- the table -------------------------------------------------------------------------------------------------------------------- */

/* The destination is a device of ours, whatever its name: a value is elsewhere when its source is of another task. */
static bool is_remote(hr_rendezvous_remote_t* self, const hr_rendezvous_key_t* key) {
  (void)self;
  hr_device_name_t source, destination;
  hr_status_t status = hr_device_name_parse(key->source, &source);
  if (!status) status = hr_device_name_parse(key->destination, &destination);
  if (status) {
    hr_status_release(status);
    return false;
  }
  return !hr_device_name_same_task(&source, &destination);
}

static void receive(hr_rendezvous_remote_t* self, const hr_rendezvous_key_t* key, hr_str_t text, hr_rendezvous_waiter_t* waiter) {
  hr_worker_rendezvous_t* r = (hr_worker_rendezvous_t*)self;
  remote_wait_t* t = NULL;
  hr_message_t request = {0};
  hr_status_t status = create_wait(r, key, text, waiter, &t);
  if (!status) status = find_channel(r, key->source, &t->channel);
  if (!status)
    status = hr_recv_tensor_request(&(hr_recv_tensor_request_t){.key = text, .step_id = r->step_id, .request_id = t->request_id}, &request);
  if (!status) status = link_wait(r, t);
  if (!status) {
    start_wait(r, t, &request);
    return;
  }
  hr_message_deinit(&request);
  if (t) {
    atomic_store(&t->refs, 1);
    wait_unref(t);
  }
  waiter->done(waiter, status, NULL, false);
}

static void abort_waits(hr_rendezvous_remote_t* self, hr_status_t take_why) {
  hr_worker_rendezvous_t* r = (hr_worker_rendezvous_t*)self;
  hr_mutex_lock(&r->mu);
  if (r->aborted) hr_status_release(take_why);
  else r->aborted = take_why;
  for (remote_wait_t* t = r->waits; t; t = t->next)
    if (t->has_started && !t->is_done) r->cluster->transport->cancel(&t->call);
  hr_mutex_unlock(&r->mu);
}

static void destroy(hr_rendezvous_remote_t* self) { rendezvous_unref((hr_worker_rendezvous_t*)self); }

hr_status_t hr_worker_rendezvous_create(hr_worker_t* w, int64_t step_id, hr_worker_rendezvous_t** out_remote, hr_rendezvous_t** out) {
  hr_worker_rendezvous_t* r = hr_alloc_zero(sizeof *r);
  if (!r) return hr_status_out_of_memory();
  r->base = (hr_rendezvous_remote_t){is_remote, receive, abort_waits, destroy};
  atomic_init(&r->refs, 1);
  r->w = w;
  atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
  r->step_id = step_id;
  hr_mutex_init(&r->mu);
  *out_remote = r;
  return hr_rendezvous_create(&r->base, out);
}

void hr_worker_rendezvous_set_cluster(hr_worker_rendezvous_t* r, hr_cluster_t* cluster) {
  hr_mutex_lock(&r->mu);
  if (!r->cluster) r->cluster = hr_cluster_retain(cluster);
  hr_mutex_unlock(&r->mu);
}
