/* SPDX-License-Identifier: Apache-2.0 */
/* Our worker in the place of TensorFlow's: it is sent what TensorFlow's master and workers sent, and must answer the same. The other task's
 * answers come from the record too. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/exchange.h"
#include "dist/recv_tensor.h"
#include "rt/rendezvous_key.h"
#include "test.h"
#include "wire/cursor.h"

/* --- the other task: answers RecvTensor from the record --------------------------------------------------------------------------- */

typedef struct {
  const hr_exchanges_t* record;
  const hr_transport_t* transport;
  atomic_int unknown;
} other_task_t;

static bool read_recv(hr_str_t bytes, hr_recv_tensor_request_t* out) {
  hr_message_t m = {.slices = &(hr_slice_t){.data = bytes.data, .size = bytes.size}, .count = 1};
  hr_strbuf_t scratch; /* one slice: nothing is gathered */
  hr_strbuf_init(&scratch);
  return HR_CHECK_OK(hr_recv_tensor_read_request(&m, &scratch, out));
}

static const hr_exchange_t* find_recv(const other_task_t* o, const hr_recv_tensor_request_t* q) {
  for (int i = 0; i < o->record->count; ++i) {
    const hr_exchange_t* e = &o->record->calls[i];
    hr_recv_tensor_request_t have;
    if (!hr_str_is(e->callee, "worker") || !hr_str_is(e->method, "/tensorflow.WorkerService/RecvTensor")) continue;
    if (read_recv(e->request, &have) && have.step_id == q->step_id && hr_str_equal(have.key, q->key)) return e;
  }
  return NULL;
}

static void serve_other(void* arg, hr_request_t* r) {
  other_task_t* o = arg;
  hr_message_t answer = {0};
  hr_recv_tensor_request_t q;
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  const hr_exchange_t* e = NULL;
  if (hr_str_is(r->method, "/tensorflow.WorkerService/RecvTensor") && HR_CHECK_OK(hr_recv_tensor_read_request(&r->message, &scratch, &q)))
    e = find_recv(o, &q);
  if (e) HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(e->response.data, e->response.size), e->response.size, &answer));
  else {
    printf("nobody recorded %.*s\n", HR_STR_ARG(q.key));
    atomic_fetch_add(&o->unknown, 1);
  }
  o->transport->reply(r, e ? NULL : HR_ERROR(NOT_FOUND, "not recorded"), e ? &answer : NULL);
  hr_strbuf_deinit(&scratch);
}

/* --- comparing -------------------------------------------------------------------------------------------------------------------- */

static void check_tensor_answer(hr_str_t want_bytes, const hr_message_t* got) {
  hr_message_t want = {.slices = &(hr_slice_t){.data = want_bytes.data, .size = want_bytes.size}, .count = 1};
  hr_tensor_t a = {0}, b = {0};
  bool a_dead, b_dead, ack;
  HR_REQUIRE_OK(hr_recv_tensor_read_answer(&want, &a, &a_dead, &ack));
  HR_REQUIRE_OK(hr_recv_tensor_read_answer(got, &b, &b_dead, &ack));
  HR_CHECK(!ack);
  HR_CHECK_EQ_I64(a_dead, b_dead);
  HR_CHECK(hr_tensor_equal(&a, &b));
  hr_tensor_release(&a);
  hr_tensor_release(&b);
}

/* RunGraphResponse = 5 status_code, 6 status_error_message. Messages are each runtime's own words; the rest is not. */
static bool same_failure(hr_str_t want, hr_str_t got) {
  uint64_t codes[2] = {0};
  for (int i = 0; i < 2; ++i) {
    hr_cursor_t c = i ? hr_cursor_make(got.data, got.size) : hr_cursor_make(want.data, want.size);
    bool has_message = false;
    while (!hr_cursor_is_done(&c)) {
      hr_field_t f;
      if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) return false;
      if (f.key == HR_KEY_VARINT(5)) codes[i] = f.value;
      has_message |= f.key == HR_KEY_SPAN(6) && !hr_cursor_is_done(&f.span);
    }
    if (!codes[i] || !has_message) return false;
  }
  return codes[0] == codes[1];
}

static void check_answer(const hr_exchange_t* e, hr_exchange_call_t* c) {
  const bool want_ok = hr_str_is(e->status, "OK");
  if (!want_ok) { /* the code's name begins the recorded status */
    const char* code = hr_status_code_name(hr_status_code(c->status));
    if (!hr_str_has_prefix(e->status, hr_str(code)))
      hr_test_fail(__FILE__, __LINE__, "%.*s: %s \"%s\" in place of %.*s", HR_STR_ARG(e->method), code, hr_status_message(c->status),
                   HR_STR_ARG(e->status));
    return;
  }
  if (c->status) {
    hr_test_fail(__FILE__, __LINE__, "%.*s failed: %s", HR_STR_ARG(e->method), hr_status_message(c->status));
    return;
  }
  if (hr_str_is(e->method, "/tensorflow.WorkerService/RecvTensor")) {
    check_tensor_answer(e->response, &c->response);
    return;
  }
  char* bytes = NULL;
  size_t size = 0;
  HR_REQUIRE_OK(hr_message_join(&c->response, &bytes, &size));
  const hr_str_t got = {bytes, size};
  const bool is_run = hr_str_is(e->method, "/tensorflow.WorkerService/RunGraph");
  if (!hr_str_equal(e->response, got) && !(is_run && same_failure(e->response, got))) {
    hr_test_fail(__FILE__, __LINE__, "%.*s answers %zu bytes, not the %zu recorded", HR_STR_ARG(e->method), size, e->response.size);
    for (size_t i = 0; i < size; ++i) printf("%c", bytes[i] >= 32 ? bytes[i] : '.');
    printf("\n");
  }
  hr_free(bytes);
}

/* --- replaying -------------------------------------------------------------------------------------------------------------------- */

/* The incarnation that the recorded keys give to the task's device. */
static uint64_t recorded_incarnation(const hr_exchanges_t* record) {
  for (int i = 0; i < record->count; ++i) {
    const hr_exchange_t* e = &record->calls[i];
    if (!hr_str_is(e->method, "/tensorflow.WorkerService/GetStatus")) continue;
    for (size_t at = 0; at + 9 <= e->response.size; ++at) /* DeviceAttributes.incarnation: fixed64, field 6 */
      if (e->response.data[at] == 0x31) {
        uint64_t v;
        memcpy(&v, e->response.data + at + 1, 8);
        if (v) return v;
      }
  }
  return 0;
}

enum { CALLS_MOST = 64 };
typedef struct {
  hr_exchange_call_t calls[CALLS_MOST];
  const hr_exchange_t* recorded[CALLS_MOST];
  int count;
} in_flight_t;

static void settle(in_flight_t* f) {
  for (int i = 0; i < f->count; ++i) {
    if (hr_exchange_wait(&f->calls[i], 20000)) check_answer(f->recorded[i], &f->calls[i]);
    else hr_test_fail(__FILE__, __LINE__, "%.*s does not answer", HR_STR_ARG(f->recorded[i]->method));
    hr_exchange_end(&f->calls[i]);
  }
  f->count = 0;
}

/* What lasts goes out at once; everything else waits for what went before. */
static void replay_calls(hr_worker_t* w, const hr_exchanges_t* record) {
  static in_flight_t f;
  f.count = 0;
  bool lasted = false;
  for (int i = 0; i < record->count; ++i) {
    const hr_exchange_t* e = &record->calls[i];
    const int method = hr_exchange_method(e->method);
    if (!hr_str_is(e->callee, "ps") || method < 0) continue;
    const bool lasts = method == HR_WORKER_RunGraph || method == HR_WORKER_RecvTensor;
    if (!lasts || !lasted || f.count == CALLS_MOST) settle(&f);
    lasted = lasts;
    f.recorded[f.count] = e;
    hr_exchange_start(w, &f.calls[f.count++], (hr_worker_method_t)method, e->request);
  }
  settle(&f);
}

static void replay(const char* name) {
  char path[512];
  hr_exchanges_t record;
  other_task_t other = {.record = &record};
  hr_cluster_t* cluster = NULL;
  hr_worker_t* w = NULL;
  hr_listener_t* listener;
  int port;
  snprintf(path, sizeof path, "%s/tests/golden/wire/%s.tfrecord", HR_TEST_SOURCE_DIR, name);
  HR_REQUIRE(hr_exchange_load(path, &record));
  HR_REQUIRE(hr_exchange_worker("ps", NULL, &cluster, &w));
  other.transport = cluster->transport;
  HR_REQUIRE_OK(cluster->transport->listen(HR_STR("worker"), 1, NULL, NULL, serve_other, &other, &listener, &port));
  hr_worker_devices(w)->devices[0]->incarnation = recorded_incarnation(&record);
  replay_calls(w, &record);
  HR_CHECK_EQ_I64(atomic_load(&other.unknown), 0);
  cluster->transport->stop(listener, 100);
  hr_worker_release(w);
  hr_cluster_release(cluster);
  hr_exchange_free(&record);
}

HR_TEST(classic) { replay("classic"); }
HR_TEST(errors) { replay("errors"); }
HR_TEST(extend) { replay("extend"); }
HR_TEST(callable) { replay("callable"); }
HR_TEST(partial) { replay("partial"); }
HR_TEST(metadata) { replay("metadata"); }
HR_TEST(timeout) { replay("timeout"); }
HR_TEST(loop_across_devices) { replay("loop_across_devices"); }
HR_TEST(reset) { replay("reset"); }
HR_TEST_MAIN()
