/* SPDX-License-Identifier: Apache-2.0 */
/* A worker under attack: every method is sent changed copies of what TensorFlow sends, and requests made to hurt (deep, huge, lying,
 * cyclic, of handles that are not there). Each must be answered within seconds; afterwards the worker still works. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/exchange.h"
#include <time.h>
#include "base/clock.h"
#include "dist/worker_state.h"
#include "test.h"
#include "wire/cursor.h"
#include "wire/writer.h"

static const hr_worker_options_t small = {.is_confined = true, .root = {"", 0}, .max_graph_nodes = 2000, .max_peer_bytes = 1 << 20,
                                          .max_sessions = 8, .max_steps = 4};
static hr_cluster_t* cluster;
static hr_worker_t* worker;

static bool start(void) { return HR_CHECK(hr_exchange_worker("ps", &small, &cluster, &worker)); }
static void stop(void) {
  const int64_t begin = hr_clock_now_ns();
  hr_worker_stop(worker, 1000);
  HR_CHECK(hr_clock_now_ns() - begin < 1000000000); /* whatever waits */
  hr_worker_release(worker);
  hr_cluster_release(cluster);
}

/* Sends; what does not end by itself (a wait for a value) is cancelled. The code. */
static hr_code_t send(hr_worker_method_t method, hr_str_t request) {
  hr_exchange_call_t c;
  hr_exchange_start(worker, &c, method, request);
  if (!hr_exchange_wait(&c, 300)) {
    hr_worker_cancel(worker, &c.call);
    if (!HR_CHECK(hr_exchange_wait(&c, 10000))) exit(1); /* its memory is still in use */
  }
  HR_CHECK_EQ_I64(c.done, 1);
  hr_code_t code = hr_status_code(c.status);
  hr_exchange_end(&c);
  return code;
}

static hr_code_t send_written(hr_worker_method_t method, hr_writer_t* w) {
  hr_code_t code = send(method, hr_strbuf_view(w));
  hr_strbuf_deinit(w);
  return code;
}

static void open_session(const char* handle) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_str(&w, 1, hr_str(handle));
  HR_CHECK_EQ_I64(send_written(HR_WORKER_CreateWorkerSession, &w), HR_OK);
}

/* --- changed copies --------------------------------------------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;
static uint64_t next_random(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static void change(char* p, size_t* size) {
  for (uint64_t n = 1 + next_random() % 4; n && *size; --n) {
    const size_t at = next_random() % *size;
    switch (next_random() % 4) {
      case 0: p[at] = (char)(p[at] ^ (1 << next_random() % 8)); break;
      case 1: p[at] = (char)next_random(); break;
      case 2: *size = at; break;
      default: memmove(p + at, p + at + 1, *size - at - 1), --*size;
    }
  }
}

HR_TEST(changed_requests) {
  static const char* const names[] = {"classic", "errors", "loop_across_devices", "reset"};
  HR_REQUIRE(start());
  for (int n = 0; n < 4; ++n) {
    char path[512];
    hr_exchanges_t record;
    snprintf(path, sizeof path, "%s/tests/golden/wire/%s.tfrecord", HR_TEST_SOURCE_DIR, names[n]);
    HR_REQUIRE(hr_exchange_load(path, &record));
    for (int i = 0; i < record.count; ++i) {
      const hr_exchange_t* e = &record.calls[i];
      const int method = hr_exchange_method(e->method);
      const bool waits = method == HR_WORKER_RecvTensor || method == HR_WORKER_RunGraph;
      if (method < 0) continue;
      send((hr_worker_method_t)method, e->request); /* sessions and graphs that the changed ones may hit */
      for (int k = 0; k < (waits ? 3 : 40); ++k) {
        char* copy = hr_alloc_copy(e->request.data, e->request.size);
        size_t size = e->request.size;
        change(copy, &size);
        send((hr_worker_method_t)method, (hr_str_t){copy, size});
        hr_free(copy);
      }
    }
    hr_exchange_free(&record);
  }
  stop();
}

HR_TEST(noise_to_every_method) {
  HR_REQUIRE(start());
  for (int method = 0; method < HR_WORKER_METHOD_COUNT; ++method)
    for (int k = 0; k < 60; ++k) {
      char noise[64];
      const size_t size = next_random() % sizeof noise;
      for (size_t i = 0; i < size; ++i) noise[i] = (char)next_random();
      send((hr_worker_method_t)method, (hr_str_t){noise, size});
    }
  stop();
}

/* --- made to hurt ----------------------------------------------------------------------------------------------------------------- */

static void write_node(hr_writer_t* w, const char* name, const char* op, const char* input) {
  hr_writer_mark_t node = hr_writer_begin(w, 1, 64);
  hr_writer_str(w, 1, hr_str(name));
  hr_writer_str(w, 2, hr_str(op));
  if (input) hr_writer_str(w, 3, hr_str(input));
  hr_writer_end(w, node, 64);
}

static hr_code_t register_graph(const char* session, hr_writer_t* take_graph) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_str(&w, 1, hr_str(session));
  hr_writer_str(&w, 2, hr_strbuf_view(take_graph));
  hr_writer_bool(&w, 6, true);
  hr_strbuf_deinit(take_graph);
  return send_written(HR_WORKER_RegisterGraph, &w);
}

HR_TEST(hostile_graphs) {
  HR_REQUIRE(start());
  open_session("s");
  hr_writer_t g;
  hr_strbuf_init(&g); /* a cycle without a loop */
  write_node(&g, "a", "Identity", "b");
  write_node(&g, "b", "Identity", "a");
  HR_CHECK_EQ_I64(register_graph("s", &g), HR_INVALID_ARGUMENT);
  hr_strbuf_init(&g); /* an input of nobody's */
  write_node(&g, "a", "Identity", "nobody:3");
  HR_CHECK_EQ_I64(register_graph("s", &g), HR_INVALID_ARGUMENT);
  hr_strbuf_init(&g); /* too many nodes */
  for (int i = 0; i < 3000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    write_node(&g, name, "NoOp", NULL);
  }
  HR_CHECK_EQ_I64(register_graph("s", &g), HR_RESOURCE_EXHAUSTED);
  hr_strbuf_init(&g); /* an op of nobody's */
  write_node(&g, "a", "LoadEverything", NULL);
  HR_CHECK(register_graph("s", &g) != HR_OK);
  hr_strbuf_init(&g);
  write_node(&g, "a", "NoOp", NULL);
  HR_CHECK_EQ_I64(register_graph("no such session", &g), HR_ABORTED);
  hr_strbuf_init(&g); /* and a good one still goes */
  write_node(&g, "a", "NoOp", NULL);
  HR_CHECK_EQ_I64(register_graph("s", &g), HR_OK);
  stop();
}

HR_TEST(deep_and_lying_messages) {
  HR_REQUIRE(start());
  for (int method = 0; method < HR_WORKER_METHOD_COUNT; ++method) {
    hr_writer_t w;
    hr_strbuf_init(&w); /* spans in spans in spans */
    for (int i = 0; i < 20000; ++i) hr_writer_tag(&w, 1 + (uint32_t)(i % 3), HR_WIRE_GROUP);
    send_written((hr_worker_method_t)method, &w);
    for (uint32_t field = 1; field < 12; ++field) { /* a length that is not there, and the largest one */
      hr_strbuf_init(&w);
      hr_writer_tag(&w, field, HR_WIRE_SPAN);
      hr_writer_varint(&w, field % 2 ? UINT64_MAX : 1000000);
      send_written((hr_worker_method_t)method, &w);
    }
  }
  stop();
}

/* A feed that says it is a million gigabytes. */
HR_TEST(allocation_bombs) {
  HR_REQUIRE(start());
  open_session("s");
  hr_writer_t w, shape, tensor;
  hr_strbuf_init(&shape);
  for (int i = 0; i < 4; ++i) {
    hr_writer_mark_t dim = hr_writer_begin(&shape, 2, 8);
    hr_writer_i64(&shape, 1, 30000);
    hr_writer_end(&shape, dim, 8);
  }
  hr_strbuf_init(&tensor);
  hr_writer_i64(&tensor, 1, HR_F64);
  hr_writer_str(&tensor, 2, hr_strbuf_view(&shape));
  hr_strbuf_init(&w);
  hr_writer_str(&w, 8, HR_STR("s"));
  hr_writer_bool(&w, 10, true);
  hr_writer_mark_t send_field = hr_writer_begin(&w, 3, 100);
  hr_writer_str(&w, 1, HR_STR("key"));
  hr_writer_str(&w, 2, hr_strbuf_view(&tensor));
  hr_writer_end(&w, send_field, 100);
  HR_CHECK(send_written(HR_WORKER_RunGraph, &w) != HR_OK);
  hr_strbuf_deinit(&tensor);
  hr_strbuf_deinit(&shape);
  stop();
}

/* A constant of a few bytes that claims 1.2 GB. */
HR_TEST(a_constant_that_claims_too_much) {
  HR_REQUIRE(start());
  open_session("s");
  hr_writer_t g;
  hr_strbuf_init(&g);
  hr_writer_mark_t node = hr_writer_begin(&g, 1, 100);
  hr_writer_str(&g, 1, HR_STR("c"));
  hr_writer_str(&g, 2, HR_STR("Const"));
  hr_writer_mark_t dtype = hr_writer_begin(&g, 5, 20);
  hr_writer_str(&g, 1, HR_STR("dtype"));
  hr_writer_bytes(&g, 2, "\x30\x01", 2);
  hr_writer_end(&g, dtype, 20);
  hr_writer_mark_t value = hr_writer_begin(&g, 5, 40);
  hr_writer_str(&g, 1, HR_STR("value")); /* AttrValue { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 314572800 } } } } */
  hr_writer_bytes(&g, 2, "\x42\x0c\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x96\x01", 14);
  hr_writer_end(&g, value, 40);
  hr_writer_end(&g, node, 100);
  HR_CHECK_EQ_I64(register_graph("s", &g), HR_RESOURCE_EXHAUSTED);
  stop();
}

HR_TEST(limits_per_peer_and_session) {
  HR_REQUIRE(start());
  char* large = hr_alloc_zero(2 << 20);
  HR_CHECK_EQ_I64(send(HR_WORKER_RegisterGraph, (hr_str_t){large, 2 << 20}), HR_RESOURCE_EXHAUSTED);
  hr_free(large);
  for (int i = 0; i < 8; ++i) {
    char handle[16];
    snprintf(handle, sizeof handle, "s%d", i);
    open_session(handle);
  }
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_str(&w, 1, HR_STR("one more"));
  HR_CHECK_EQ_I64(send_written(HR_WORKER_CreateWorkerSession, &w), HR_RESOURCE_EXHAUSTED);
  hr_strbuf_init(&w);
  hr_writer_str(&w, 1, HR_STR("s0"));
  HR_CHECK_EQ_I64(send_written(HR_WORKER_DeleteWorkerSession, &w), HR_OK);
  open_session("one more");
  stop();
}

/* --- steps ------------------------------------------------------------------------------------------------------------------------ */

static void write_recv(hr_writer_t* w, int64_t step, int64_t request_id, uint64_t incarnation) {
  char key[200];
  snprintf(key, sizeof key, "/job:ps/replica:0/task:0/device:CPU:0;%016llx;/job:worker/replica:0/task:0/device:CPU:0;edge_1_x;0:0",
           (unsigned long long)incarnation);
  hr_strbuf_init(w);
  hr_writer_i64(w, 1, step);
  hr_writer_str(w, 2, hr_str(key));
  hr_writer_i64(w, 7, request_id);
}

/* Who asks for what nobody has leaves nothing behind, and keeps no step from running. */
HR_TEST(steps_that_nobody_runs_go_with_who_asked) {
  HR_REQUIRE(start());
  const uint64_t incarnation = hr_worker_devices(worker)->devices[0]->incarnation;
  hr_writer_t w;
  for (int i = 0; i < 20; ++i) {
    write_recv(&w, 1000 + i, 500 + i, incarnation + (i % 2 == 0));
    HR_CHECK_EQ_I64(send_written(HR_WORKER_RecvTensor, &w), i % 2 ? HR_CANCELLED : HR_ABORTED);
    HR_CHECK_EQ_I64(worker->steps.count, 0);
  }
  hr_exchange_call_t two[2];
  for (int i = 0; i < 2; ++i) {
    write_recv(&w, 2000, 600 + i, incarnation);
    hr_exchange_start(worker, &two[i], HR_WORKER_RecvTensor, hr_strbuf_view(&w));
    hr_strbuf_deinit(&w);
  }
  for (int i = 0; i < 2; ++i) { /* with the last of them */
    HR_CHECK_EQ_I64(worker->steps.count, 1);
    hr_worker_cancel(worker, &two[i].call);
    HR_CHECK(hr_exchange_wait(&two[i], 1000));
    hr_exchange_end(&two[i]);
  }
  for (int i = 0; i < 500 && worker->ops; ++i) nanosleep(&(struct timespec){0, 1000000}, NULL);
  HR_CHECK_EQ_I64(worker->steps.count, 0);
  stop();
}

HR_TEST(what_waits_can_be_ended) {
  HR_REQUIRE(start());
  const uint64_t incarnation = hr_worker_devices(worker)->devices[0]->incarnation;
  hr_writer_t w;
  write_recv(&w, 7, 100, incarnation + 1); /* of a former life */
  HR_CHECK_EQ_I64(send_written(HR_WORKER_RecvTensor, &w), HR_ABORTED);
  write_recv(&w, 7, 1, incarnation);
  HR_CHECK_EQ_I64(send_written(HR_WORKER_RecvTensor, &w), HR_CANCELLED); /* waits until cancelled */
  write_recv(&w, 7, 1, incarnation);
  HR_CHECK_EQ_I64(send_written(HR_WORKER_RecvTensor, &w), HR_ABORTED); /* the same call twice */
  hr_exchange_call_t c;
  write_recv(&w, 7, 2, incarnation);
  hr_exchange_start(worker, &c, HR_WORKER_RecvTensor, hr_strbuf_view(&w));
  HR_CHECK(!hr_exchange_wait(&c, 50));
  hr_strbuf_deinit(&w);
  hr_strbuf_init(&w);
  hr_writer_i64(&w, 1, 7);
  HR_CHECK_EQ_I64(send_written(HR_WORKER_CleanupGraph, &w), HR_OK);
  HR_CHECK(hr_exchange_wait(&c, 1000));
  HR_CHECK_EQ_I64(hr_status_code(c.status), HR_ABORTED);
  hr_exchange_end(&c);
  write_recv(&w, 8, 3, incarnation);
  hr_exchange_start(worker, &c, HR_WORKER_RecvTensor, hr_strbuf_view(&w));
  hr_strbuf_deinit(&w);
  stop(); /* ends it too */
  HR_CHECK(hr_exchange_wait(&c, 0));
  HR_CHECK_EQ_I64(hr_status_code(c.status), HR_UNAVAILABLE);
  hr_exchange_end(&c);
}

/* A master that comes back under another incarnation is a new one: its old sessions are gone. */
HR_TEST(a_restarted_master) {
  HR_REQUIRE(start());
  for (int life = 1; life <= 2; ++life) {
    hr_writer_t w, g;
    hr_strbuf_init(&w);
    hr_writer_str(&w, 1, life == 1 ? HR_STR("old") : HR_STR("new"));
    hr_writer_str(&w, 5, HR_STR("/job:worker/replica:0/task:0"));
    hr_writer_i64(&w, 6, life);
    HR_CHECK_EQ_I64(send_written(HR_WORKER_CreateWorkerSession, &w), HR_OK);
    hr_strbuf_init(&g);
    write_node(&g, "a", "NoOp", NULL);
    HR_CHECK_EQ_I64(register_graph("old", &g), life == 1 ? HR_OK : HR_ABORTED);
  }
  stop();
}
HR_TEST_MAIN()
