/* SPDX-License-Identifier: Apache-2.0 */
/* Cancelling holds mu while it tells a transport or the worker, so that a call told to end has not ended: what it is kept in is there. A
 * `done` that comes from within (the worker may end a step in the thread that cancels it) finds the lock held by its own thread. */
#include "dist/fanout.h"
#include "base/alloc.h"

static const char* const paths[HR_WORKER_METHOD_COUNT] = {
#define HR_WORKER_METHOD(name) "/tensorflow.WorkerService/" #name,
#include "dist/worker_method.def"
#undef HR_WORKER_METHOD
};

static _Thread_local hr_fanout_t* cancelling; /* whose mu this thread holds while it cancels */

hr_status_t hr_fanout_create(hr_cluster_t* cluster, hr_worker_t* worker, int32_t count, hr_fanout_t** out) {
  hr_fanout_t* f = hr_alloc_zero(sizeof *f + (size_t)count * sizeof f->calls[0]);
  if (!f) return hr_status_out_of_memory();
  f->cluster = hr_cluster_retain(cluster);
  f->worker = worker;
  f->count = count;
  f->left = 1;
  hr_mutex_init(&f->mu);
  hr_cond_init(&f->all_ended);
  for (int32_t i = 0; i < count; ++i) f->calls[i].fanout = f;
  *out = f;
  return NULL;
}

void hr_fanout_destroy(hr_fanout_t* f) {
  if (!f) return;
  for (int32_t i = 0; i < f->count; ++i) {
    hr_status_release(f->calls[i].status);
    hr_message_deinit(&f->calls[i].response);
  }
  hr_cond_deinit(&f->all_ended);
  hr_mutex_deinit(&f->mu);
  hr_cluster_release(f->cluster);
  hr_free(f);
}

static void end_detached(hr_fanout_t* f) {
  void (*ended)(void*) = f->ended;
  void* arg = f->arg;
  hr_fanout_destroy(f);
  if (ended) ended(arg);
}

/* One less; the last one out of a detached fan-out frees it. */
static void count_down(hr_fanout_t* f, hr_fanout_call_t* call) {
  const bool held = cancelling == f;
  if (!held) hr_mutex_lock(&f->mu);
  if (call) call->has_ended = true;
  const bool last = --f->left == 0;
  if (f->left <= 1) hr_cond_wake_all(&f->all_ended);
  if (!held) hr_mutex_unlock(&f->mu);
  if (last) end_detached(f);
}

static void call_ended(hr_fanout_call_t* call, hr_status_t take_status, hr_message_t* take_response) {
  call->status = take_status;
  if (take_response) {
    call->response = *take_response;
    *take_response = (hr_message_t){0};
  }
  if (call->fanout->replied) call->fanout->replied(call->fanout, call);
  count_down(call->fanout, call);
}

#define CONTAINER_OF(pointer, member) ((hr_fanout_call_t*)(void*)((char*)(pointer) - offsetof(hr_fanout_call_t, member)))

static void wire_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  call_ended(CONTAINER_OF(self, wire), take_status, take_response);
}
static void own_done(hr_worker_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  call_ended(CONTAINER_OF(self, own), take_status, take_response);
}

/* mu is held. */
static void cancel_call(hr_fanout_t* f, hr_fanout_call_t* call) {
  if (!call->has_begun || call->has_ended) return;
  hr_fanout_t* outer = cancelling;
  cancelling = f;
  if (call->is_own) hr_worker_cancel(f->worker, &call->own);
  else f->cluster->transport->cancel(&call->wire);
  cancelling = outer;
}

/* From here on it can be cancelled. It may have ended already; one more is held in `left`, so the fan-out is there. */
static void call_begun(hr_fanout_t* f, hr_fanout_call_t* call) {
  hr_mutex_lock(&f->mu);
  call->has_begun = true;
  if (f->is_cancelled) cancel_call(f, call);
  hr_mutex_unlock(&f->mu);
}

static void start_wire(hr_fanout_t* f, hr_fanout_call_t* call, const char* path, hr_message_t* take_request, int64_t deadline_ms,
                       bool wait_for_ready) {
  hr_channel_t* channel = NULL;
  hr_status_t status = hr_cluster_channel(f->cluster, call->task, &channel);
  if (status) {
    hr_message_deinit(take_request);
    call_ended(call, status, NULL);
    return;
  }
  call->wire.done = wire_done;
  f->cluster->transport->call(channel, path, take_request, deadline_ms, wait_for_ready, &call->wire);
}

static void own_begun(hr_worker_call_t* self) {
  hr_fanout_call_t* call = CONTAINER_OF(self, own);
  call_begun(call->fanout, call);
}

void hr_fanout_start(hr_fanout_t* f, int32_t index, int32_t task, hr_worker_method_t method, hr_message_t* take_request,
                     int64_t deadline_ms, bool wait_for_ready) {
  hr_fanout_call_t* call = &f->calls[index];
  call->task = task;
  call->is_own = task == f->cluster->self;
  hr_mutex_lock(&f->mu);
  ++f->left;
  hr_mutex_unlock(&f->mu);
  if (call->is_own) {
    call->own = (hr_worker_call_t){.method = method, .request = *take_request, .done = own_done, .peer = HR_STR("")};
    if (f->may_block) call->own.begun = own_begun;
    *take_request = (hr_message_t){0};
    hr_worker_call(f->worker, &call->own);
  } else {
    start_wire(f, call, paths[method], take_request, deadline_ms, wait_for_ready);
  }
  call_begun(f, call);
}

bool hr_fanout_wait(hr_fanout_t* f, int64_t deadline_ns) {
  bool in_time = true;
  hr_mutex_lock(&f->mu);
  while (f->left > 1 && in_time) in_time = hr_cond_wait_until(&f->all_ended, &f->mu, deadline_ns);
  const bool ended = f->left == 1;
  hr_mutex_unlock(&f->mu);
  return ended;
}

void hr_fanout_cancel(hr_fanout_t* f) {
  const bool held = cancelling == f;
  if (held) return; /* from within a call that is being cancelled: so is the rest */
  hr_mutex_lock(&f->mu);
  f->is_cancelled = true;
  for (int32_t i = 0; i < f->count; ++i) cancel_call(f, &f->calls[i]);
  hr_mutex_unlock(&f->mu);
}

static void cancel_obeying(void* arg) { hr_fanout_cancel(arg); }

void hr_fanout_obey(hr_fanout_t* f, hr_cancel_t* cancel) {
  f->entry = (hr_cancel_entry_t){.callback = cancel_obeying, .arg = f};
  f->obeyed = cancel;
  f->is_linked = hr_cancel_register(cancel, &f->entry);
  if (!f->is_linked) hr_fanout_cancel(f);
}

hr_status_t hr_fanout_finish(hr_fanout_t* f) {
  hr_fanout_wait(f, INT64_MAX);
  hr_cancel_t* cancel = f->obeyed;
  if (f->is_linked) hr_cancel_deregister(cancel, &f->entry);
  f->is_linked = false;
  f->obeyed = NULL;
  for (int32_t i = 0; i < f->count; ++i) {
    if (!f->calls[i].status) continue;
    if (cancel && hr_cancel_is_set(cancel)) return hr_cancel_why(cancel);
    return hr_status_note(hr_status_retain(f->calls[i].status), "From %s", f->cluster->tasks[f->calls[i].task].name.data);
  }
  return NULL;
}

void hr_fanout_detach(hr_fanout_t* f) {
  count_down(f, NULL);
}
