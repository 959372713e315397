/* SPDX-License-Identifier: Apache-2.0 */
/* As in fanout.c, `mu` is held while a call is cancelled, so that the call is there. */
#include "dist/remote_call.h"
#include <math.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/sync.h"

enum { RETRIES = 10, LOG_EVERY_MS = 10000 };

static const char* const paths[HR_MASTER_METHOD_COUNT] = {
#define HR_MASTER_METHOD(name) "/tensorflow.MasterService/" #name,
#include "dist/master_method.def"
#undef HR_MASTER_METHOD
};

typedef struct {
  hr_call_t call;
  const hr_transport_t* transport;
  hr_mutex_t mu;
  hr_cond_t changed;
  bool has_begun, has_ended, is_cancelled; /* guarded by mu, like below */
  hr_status_t status;
  hr_message_t response;
} attempt_t;

static void attempt_done(hr_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  attempt_t* a = (attempt_t*)self;
  hr_mutex_lock(&a->mu);
  a->status = take_status;
  if (take_response) {
    a->response = *take_response;
    *take_response = (hr_message_t){0};
  }
  a->has_ended = true;
  hr_cond_wake_all(&a->changed);
  hr_mutex_unlock(&a->mu);
}

static void cancel_attempt(void* arg) {
  attempt_t* a = arg;
  hr_mutex_lock(&a->mu);
  a->is_cancelled = true;
  if (a->has_begun && !a->has_ended) a->transport->cancel(&a->call);
  hr_cond_wake_all(&a->changed);
  hr_mutex_unlock(&a->mu);
}

/* Where a session waits for a server, for as long as it takes, it says so now and then: a wrong address or certificate looks the same. */
static void wait_attempt(attempt_t* a, hr_str_t waits_for) {
  hr_mutex_lock(&a->mu);
  a->has_begun = true;
  if (a->is_cancelled && !a->has_ended) a->transport->cancel(&a->call);
  while (!a->has_ended) {
    if (!waits_for.size) hr_cond_wait(&a->changed, &a->mu);
    else if (!hr_cond_wait_until(&a->changed, &a->mu, hr_clock_now_ns() + LOG_EVERY_MS * INT64_C(1000000)))
      hr_log(HR_LOG_WARNING, "a session still waits for grpc://%.*s", HR_STR_ARG(waits_for));
  }
  hr_mutex_unlock(&a->mu);
}

static void init_attempt(attempt_t* a, const hr_transport_t* transport) {
  *a = (attempt_t){.call = {.done = attempt_done}, .transport = transport};
  hr_mutex_init(&a->mu);
  hr_cond_init(&a->changed);
}

static void deinit_attempt(attempt_t* a) {
  hr_cond_deinit(&a->changed);
  hr_mutex_deinit(&a->mu);
}

/* Why a call that was cancelled ended: the canceller says. */
static hr_status_t final_status(hr_status_t take_status, hr_cancel_t* cancel) {
  if (!take_status || !cancel || !hr_cancel_is_set(cancel)) return take_status;
  hr_status_release(take_status);
  return hr_cancel_why(cancel);
}

static bool waits_for_server(hr_master_method_t m) { return m == HR_MASTER_CreateSession || m == HR_MASTER_Reset; }

static hr_status_t try_once(const hr_remote_peer_t* peer, const hr_remote_call_t* c, int64_t deadline_ms, hr_message_t* out_response) {
  hr_message_t request;
  HR_TRY(c->make(c->arg, &request));
  bool found = false;
  if (peer->shortcut) {
    hr_status_t status = hr_master_run_local(peer->address, c->method, &request, c->cancel, out_response, &found);
    if (found) return status;
  }
  attempt_t a;
  init_attempt(&a, peer->transport);
  hr_cancel_entry_t entry = {.callback = cancel_attempt, .arg = &a};
  const bool registered = c->cancel && hr_cancel_register(c->cancel, &entry);
  if (c->cancel && !registered) a.is_cancelled = true;
  const bool waits = waits_for_server(c->method);
  peer->transport->call(peer->channel, paths[c->method], &request, deadline_ms, waits, &a.call);
  wait_attempt(&a, waits ? peer->address : HR_STR(""));
  if (registered) hr_cancel_deregister(c->cancel, &entry);
  deinit_attempt(&a);
  if (a.status) hr_message_deinit(&a.response);
  else *out_response = a.response;
  return a.status;
}

/* 1 ms growing by 1.3, at most 10 s, less up to 40 % at random. False: cancelled. */
static bool pause_between(int tried, hr_cancel_t* cancel) {
  double ms = fmin(pow(1.3, tried), 10000);
  ms *= 1 - 0.4 * (double)(hr_rng_system_seed() % 1000) / 1000;
  attempt_t sleeper; /* nothing but its lock: a cancellation wakes it */
  init_attempt(&sleeper, NULL);
  hr_cancel_entry_t entry = {.callback = cancel_attempt, .arg = &sleeper};
  const bool registered = cancel && hr_cancel_register(cancel, &entry);
  const int64_t until = hr_clock_now_ns() + (int64_t)(ms * 1e6);
  hr_mutex_lock(&sleeper.mu);
  if (cancel && !registered) sleeper.is_cancelled = true;
  while (!sleeper.is_cancelled && hr_cond_wait_until(&sleeper.changed, &sleeper.mu, until)) continue;
  const bool cancelled = sleeper.is_cancelled;
  hr_mutex_unlock(&sleeper.mu);
  if (registered) hr_cancel_deregister(cancel, &entry);
  deinit_attempt(&sleeper);
  return !cancelled;
}

hr_status_t hr_remote_call_run(const hr_remote_peer_t* peer, const hr_remote_call_t* c, hr_message_t* out_response) {
  const int64_t end = c->deadline_ms > 0 ? hr_clock_now_ns() + c->deadline_ms * 1000000 : INT64_MAX;
  hr_status_t status = NULL;
  for (int tried = 0;; ++tried) {
    const int64_t left_ms = end == INT64_MAX ? 0 : (end - hr_clock_now_ns()) / 1000000;
    if (end != INT64_MAX && left_ms <= 0 && tried > 0) break; /* the last failure stands */
    hr_status_release(status);
    status = try_once(peer, c, end == INT64_MAX ? 0 : left_ms < 1 ? 1 : left_ms, out_response);
    if (hr_status_code(status) != HR_UNAVAILABLE || c->once || tried == RETRIES) break;
    if (!pause_between(tried, c->cancel)) break;
  }
  if (hr_status_code(status) == HR_DEADLINE_EXCEEDED && waits_for_server(c->method))
    status = hr_status_note(status, "no answer from grpc://%.*s, or not from all of its cluster, in %lld ms: ", HR_STR_ARG(peer->address),
                            (long long)c->deadline_ms);
  return final_status(status, c->cancel);
}
