/* SPDX-License-Identifier: Apache-2.0 */
/* Finds transports (gRPC's object is opened once, at the first question) and makes one call at a time wait for its answer. */
#include "dist/transport.h"
#include "base/alloc.h"
#include "base/errand.h"
#include "base/options.h"
#include "base/part.h"
#include "base/sync.h"
#include "dist/transport_grpc.h"
#include "dist/transport_inproc.h"
#include "dist/transport_near.h"

static hr_once_t grpc_once = HR_ONCE_INIT;
static const hr_transport_t *grpc_table, *near_table;
static hr_status_t grpc_missing; /* why, for ever */

static const hr_transport_grpc_host_t grpc_host = {HR_TRANSPORT_GRPC_ABI, hr_status_create, hr_status_out_of_memory, hr_status_code,
                                                   hr_status_message, hr_status_release, hr_alloc_zero, hr_free, hr_message_deinit, hr_log};

static void open_grpc(void) {
  void* symbol;
  grpc_missing = hr_part_open("libheadrace_grpc.so", hr_options()->grpc, HR_TRANSPORT_GRPC_OPEN, &symbol);
  hr_transport_grpc_open_fn open = NULL;
  memcpy(&open, &symbol, sizeof open);
  if (open) grpc_table = open(&grpc_host);
  if (grpc_table) near_table = hr_transport_near_over(grpc_table);
  if (!grpc_table && !grpc_missing) grpc_missing = HR_ERROR(UNAVAILABLE, "libheadrace_grpc.so is of another version than this library");
}

hr_status_t hr_transport_far(const hr_transport_t** out) {
  hr_once_run(&grpc_once, open_grpc);
  *out = grpc_table;
  return grpc_table ? NULL : HR_ERROR(UNIMPLEMENTED, "no calls over gRPC: %s", hr_status_message(grpc_missing));
}

hr_status_t hr_transport_find(hr_str_t protocol, const hr_transport_t** out) {
  *out = NULL;
  if (hr_str_is(protocol, "inproc")) *out = &hr_transport_inproc;
  else if (hr_str_is(protocol, "grpc")) {
    const hr_transport_t* far;
    HR_TRY(hr_transport_far(&far));
    *out = near_table;
  } else
    return HR_ERROR(UNIMPLEMENTED, "no transport for protocol '%.*s'; there is 'grpc'", HR_STR_ARG(protocol));
  return NULL;
}

static void open_ahead(hr_errand_t* errand) {
  const hr_transport_t* t;
  (void)errand;
  hr_status_release(hr_transport_find(HR_STR("grpc"), &t)); /* who needs it will be told */
}

void hr_transport_prepare(hr_str_t device) {
  static atomic_bool is_started;
  static hr_errand_t errand = {.run = open_ahead};
  if (!hr_str_has_prefix(device, HR_STR("/job:")) || hr_str_has_prefix(device, HR_STR("/job:localhost"))) return;
  if (atomic_load_explicit(&is_started, memory_order_relaxed) || atomic_exchange(&is_started, true)) return;
  hr_status_release(hr_errand_start(&errand)); /* without a thread it is opened when needed */
}

typedef struct {
  hr_call_t base;
  hr_mutex_t mu;
  hr_cond_t ended;
  bool is_done; /* guarded by mu, like the answer */
  hr_status_t status;
  hr_message_t response;
} waiting_call_t;

static void waiting_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  waiting_call_t* w = (waiting_call_t*)self;
  hr_mutex_lock(&w->mu);
  w->status = take_status;
  if (take_response) {
    w->response = *take_response;
    *take_response = (hr_message_t){0};
  }
  w->is_done = true;
  hr_cond_wake_all(&w->ended); /* under the lock: the waiter frees it */
  hr_mutex_unlock(&w->mu);
}

hr_status_t hr_transport_call_sync(const hr_transport_t* t, hr_channel_t* c, const char* method, hr_message_t* take_request,
                                   int64_t deadline_ms, bool wait_for_ready, hr_message_t* out_response) {
  waiting_call_t w = {.base.done = waiting_done};
  hr_mutex_init(&w.mu);
  hr_cond_init(&w.ended);
  t->call(c, method, take_request, deadline_ms, wait_for_ready, &w.base);
  hr_mutex_lock(&w.mu);
  while (!w.is_done) hr_cond_wait(&w.ended, &w.mu);
  hr_mutex_unlock(&w.mu);
  hr_cond_deinit(&w.ended);
  hr_mutex_deinit(&w.mu);
  *out_response = w.response;
  return w.status;
}
