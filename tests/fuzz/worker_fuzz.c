/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that answers anything: byte 0 chooses the method, the rest is the request. One worker for all inputs, as a server has, with a
 * session "s" and small limits; every call must answer, if with an error, and what waits is cancelled. */
#include <stdlib.h>
#include <time.h>
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/worker.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/* ServerDef { cluster { job { name: "ps" tasks { 0: "ps:1" } } } job_name: "ps" } */
static const char server_def[] = "\x0a\x10\x0a\x0e\x0a\x02ps\x12\x08\x08\x00\x12\x04ps:1\x12\x02ps";

typedef struct {
  hr_worker_call_t base;
  hr_mutex_t mu;
  hr_cond_t ended;
  int done;
} fuzz_call_t;

static void fuzz_done(hr_worker_call_t* self, hr_status_t take_status, hr_message_t* take_response) {
  fuzz_call_t* c = (fuzz_call_t*)self;
  if (take_response) hr_message_deinit(take_response);
  hr_status_release(take_status);
  hr_mutex_lock(&c->mu);
  if (++c->done > 1) abort();
  hr_cond_wake_all(&c->ended);
  hr_mutex_unlock(&c->mu);
}

static bool wait_done(fuzz_call_t* c, int64_t ms) {
  const int64_t until = hr_clock_now_ns() + ms * 1000000;
  hr_mutex_lock(&c->mu);
  while (!c->done && hr_cond_wait_until(&c->ended, &c->mu, until)) continue;
  const bool done = c->done != 0;
  hr_mutex_unlock(&c->mu);
  return done;
}

static void call_worker(hr_worker_t* w, hr_worker_method_t method, const void* data, size_t size) {
  fuzz_call_t c = {.base = {.method = method, .done = fuzz_done, .peer = HR_STR("fuzz")}};
  hr_mutex_init(&c.mu);
  hr_cond_init(&c.ended);
  if (hr_message_of_bytes(hr_alloc_copy(data, size), size, &c.base.request)) abort();
  hr_worker_call(w, &c.base);
  if (!wait_done(&c, 200)) {
    hr_worker_cancel(w, &c.base);
    if (!wait_done(&c, 20000)) abort(); /* nothing ends it */
  }
  hr_cond_deinit(&c.ended);
  hr_mutex_deinit(&c.mu);
}

static hr_worker_t* make_worker(void) {
  const hr_transport_t* transport;
  hr_cluster_t* cluster;
  hr_worker_t* w;
  if (hr_transport_find(HR_STR("inproc"), &transport)) abort();
  if (hr_cluster_create(server_def, sizeof server_def - 1, transport, NULL, HR_STR(""), &cluster)) abort();
  const hr_worker_options_t o = {.cluster = cluster, .is_confined = true, .root = {"", 0}, .max_graph_nodes = 100000,
                                 .max_peer_bytes = 1 << 26, .max_sessions = 16, .max_steps = 8};
  if (hr_worker_create(&o, &w)) abort();
  call_worker(w, HR_WORKER_CreateWorkerSession, "\x0a\x01s", 3);
  return w;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static hr_worker_t* w;
  if (!w) w = make_worker();
  if (size == 0) return 0;
  call_worker(w, (hr_worker_method_t)(data[0] % HR_WORKER_METHOD_COUNT), data + 1, size - 1);
  return 0;
}
