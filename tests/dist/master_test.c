/* SPDX-License-Identifier: Apache-2.0 */
/* Our master in the place of TensorFlow's: it is sent what TensorFlow's client sent, must answer the same, and must call the workers as
 * TensorFlow's did: the same methods as often, the same partitions, the same keys. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/compare.h"
#include "dist/task_cluster.h"
#include "wire/tensor_proto.h"

enum { HANDLE_SIZE = 16 };

static const hr_exchange_t* nth_call(const hr_exchange_t* calls, int64_t count, const char* callee, const char* method, int n) {
  for (int64_t i = 0; i < count; ++i)
    if (hr_str_is(calls[i].callee, callee) && hr_str_has_suffix(calls[i].method, hr_str(method)) && n-- == 0) return &calls[i];
  return NULL;
}

static void check_parts(task_cluster_t* c, const hr_exchanges_t* record, int most) {
  for (int n = 0; n < most; ++n) {
    const hr_exchange_t* want = nth_call(record->calls, record->count, "ps", "/RegisterGraph", n);
    const hr_exchange_t* got = nth_call(c->calls.data, c->calls.count, "ps", "/RegisterGraph", n);
    if (!want || !HR_CHECK(got != NULL)) return;
    compare_parts(compare_field(want->request, HR_KEY_SPAN(2)), compare_field(got->request, HR_KEY_SPAN(2)));
    HR_CHECK_EQ_I64(compare_field(got->request, HR_KEY_SPAN(8)).size,
                    compare_field(want->request, HR_KEY_SPAN(8)).size); /* a map has no order */
    HR_CHECK(compare_number(got->request, HR_KEY_VARINT(6)) == 1);
  }
}

/* --- calls ---------------------------------------------------------------------------------------------------------------------------- */

/* A key without the incarnation, which is the run's own. */
static void plain_key(hr_str_t key, char* out, size_t size) {
  hr_str_t parts[5] = {{"", 0}};
  for (int i = 0; i < 5; ++i)
    if (!hr_str_split(&key, ';', &parts[i])) break;
  snprintf(out, size, "%.*s;%.*s;%.*s;%.*s", HR_STR_ARG(parts[0]), HR_STR_ARG(parts[2]), HR_STR_ARG(parts[3]), HR_STR_ARG(parts[4]));
}

static int count_key(const hr_exchange_t* calls, int64_t count, const char* callee, const char* wanted) {
  int n = 0;
  for (int64_t i = 0; i < count; ++i) {
    char key[600];
    if (!hr_str_is(calls[i].callee, callee) || !hr_str_has_suffix(calls[i].method, HR_STR("/RecvTensor"))) continue;
    plain_key(compare_field(calls[i].request, HR_KEY_SPAN(2)), key, sizeof key);
    n += strcmp(key, wanted) == 0;
  }
  return n;
}

static void check_keys(task_cluster_t* c, const hr_exchanges_t* record) {
  for (int i = 0; i < record->count; ++i) {
    const hr_exchange_t* e = &record->calls[i];
    if (!hr_str_has_suffix(e->method, HR_STR("/RecvTensor"))) continue;
    char callee[16], key[600];
    snprintf(callee, sizeof callee, "%.*s", HR_STR_ARG(e->callee));
    plain_key(compare_field(e->request, HR_KEY_SPAN(2)), key, sizeof key);
    const int want = count_key(record->calls, record->count, callee, key), got = count_key(c->calls.data, c->calls.count, callee, key);
    if (want != got) hr_test_fail(__FILE__, __LINE__, "%s: asked for %d times, should be %d: %s", callee, got, want, key);
  }
}

static int count_calls(const hr_exchanges_t* record, const char* callee, const char* method) {
  int n = 0;
  for (int i = 0; i < record->count; ++i)
    n += hr_str_is(record->calls[i].callee, callee) && hr_str_has_suffix(record->calls[i].method, hr_str(method));
  return n;
}

/* RunGraphs whose answer says that no CleanupGraph is needed. */
static int count_settled(task_cluster_t* c, const char* callee) {
  int n = 0;
  for (int64_t i = 0; i < c->calls.count; ++i)
    n += hr_str_is(c->calls.data[i].callee, callee) && hr_str_has_suffix(c->calls.data[i].method, HR_STR("/RunGraph")) &&
         compare_number(c->calls.data[i].response, HR_KEY_VARINT(HR_WORKER_SETTLED)) == 1;
  return n;
}

static void check_counts(task_cluster_t* c, const hr_exchanges_t* record, bool races) {
  for (int i = 0; i < HR_WORKER_METHOD_COUNT; ++i) {
    const char* method = hr_worker_method_names[i];
    char suffix[64];
    snprintf(suffix, sizeof suffix, "Service/%s", method);
    if (races && i == HR_WORKER_RecvTensor) continue;
    const bool may_lack = races && i == HR_WORKER_RunGraph; /* one part's failure may cancel the other's call before it arrives */
    for (int callee = 0; callee < 2; ++callee) {
      const char* name = callee ? "worker" : "ps";
      const int want = count_calls(record, name, suffix);
      const int got = task_cluster_count(c, name, suffix) + (i == HR_WORKER_CleanupGraph ? count_settled(c, name) : 0);
      if (want == got || (may_lack && got < want)) continue;
      hr_test_fail(__FILE__, __LINE__, "%s was called %d times on %s, should be %d", method, got, name, want);
    }
  }
}

/* --- answers -------------------------------------------------------------------------------------------------------------------------- */

static void check_tensors(hr_str_t want, hr_str_t got) {
  hr_cursor_t a = hr_cursor_make(want.data, want.size), b = hr_cursor_make(got.data, got.size);
  hr_field_t f, g;
  while (!hr_cursor_is_done(&a)) {
    HR_REQUIRE_OK(hr_cursor_next(&a, &f));
    if (f.key != HR_KEY_SPAN(1)) continue;
    do {
      if (!HR_CHECK(!hr_cursor_is_done(&b))) return;
      HR_REQUIRE_OK(hr_cursor_next(&b, &g));
    } while (g.key != HR_KEY_SPAN(1));
    hr_tensor_t x = {0}, y = {0};
    const hr_str_t named_a = hr_cursor_str(f.span), named_b = hr_cursor_str(g.span);
    HR_CHECK(hr_str_equal(compare_field(named_a, HR_KEY_SPAN(1)), compare_field(named_b, HR_KEY_SPAN(1))));
    const hr_str_t body_a = compare_field(named_a, HR_KEY_SPAN(2)), body_b = compare_field(named_b, HR_KEY_SPAN(2));
    HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(body_a.data, body_a.size), 1 << 20, &x));
    HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(body_b.data, body_b.size), 1 << 20, &y));
    HR_CHECK(hr_tensor_equal(&x, &y) || (x.dtype == HR_F32 && fabsf(*(float*)x.data - *(float*)y.data) < 1e-5f));
    hr_tensor_release(&x);
    hr_tensor_release(&y);
  }
}

static void check_answer(const hr_exchange_t* e, hr_str_t got) {
  if (hr_str_has_suffix(e->method, HR_STR("/RunStep"))) {
    const int64_t want_code = compare_number(e->response, HR_KEY_VARINT(3)), code = compare_number(got, HR_KEY_VARINT(3));
    if (want_code == HR_CANCELLED)
      HR_CHECK_EQ_I64(code, HR_DEADLINE_EXCEEDED); /* of the step; TensorFlow's client says so too */
    else if (!HR_CHECK_EQ_I64(code, want_code))
      printf("%.*s\n", HR_STR_ARG(compare_field(got, HR_KEY_SPAN(4))));
    check_tensors(e->response, got);
  } else if (!hr_str_has_suffix(e->method, HR_STR("/CreateSession"))) {
    HR_CHECK(hr_str_equal(e->response, got));
  }
}

/* Sends what the client sent, in order, with our session's handle in place of the recorded one. */
static void replay(task_cluster_t* c, const hr_exchanges_t* record) {
  char handle[HANDLE_SIZE + 1] = "", recorded[HANDLE_SIZE + 1] = "";
  for (int i = 0; i < record->count; ++i) {
    const hr_exchange_t* e = &record->calls[i];
    const char* slash = strrchr(e->method.data, '/');
    if (!strstr(e->method.data, "MasterService")) continue;
    int method = 0;
    while (method < HR_MASTER_METHOD_COUNT && strcmp(hr_master_method_names[method], slash + 1) != 0) ++method;
    HR_REQUIRE(method < HR_MASTER_METHOD_COUNT);
    char* request = hr_alloc_copy(e->request.data, e->request.size);
    char* at = recorded[0] && e->request.size ? memmem(request, e->request.size, recorded, HANDLE_SIZE) : NULL;
    if (at) memcpy(at, handle, HANDLE_SIZE);
    hr_strbuf_t response;
    hr_strbuf_init(&response);
    if (HR_CHECK_OK(task_cluster_call(c, (hr_master_method_t)method, (hr_str_t){request, e->request.size}, &response)))
      check_answer(e, hr_strbuf_view(&response));
    if (method == HR_MASTER_CreateSession) {
      snprintf(handle, sizeof handle, "%.*s", HR_STR_ARG(compare_field(hr_strbuf_view(&response), HR_KEY_SPAN(1))));
      snprintf(recorded, sizeof recorded, "%.*s", HR_STR_ARG(compare_field(e->response, HR_KEY_SPAN(1))));
    }
    hr_strbuf_deinit(&response);
    hr_free(request);
  }
}

static void run_scenario(const char* name, int same_parts, bool races) {
  static const char* const jobs[] = {"worker", "ps"};
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/wire/%s.tfrecord", HR_TEST_SOURCE_DIR, name);
  hr_exchanges_t record;
  HR_REQUIRE(hr_exchange_load(path, &record));
  task_cluster_t c;
  if (HR_CHECK(task_cluster_start(&c, jobs, 2, 10000))) {
    replay(&c, &record);
    check_counts(&c, &record, races);
    if (!races) check_keys(&c, &record);
    check_parts(&c, &record, same_parts);
  }
  task_cluster_stop(&c);
  hr_exchange_free(&record);
}

enum { ALL = 100 };
HR_TEST(classic) { run_scenario("classic", ALL, false); }
/* The second partition's new nodes are numbered on from the first in TensorFlow, from 0 again here. */
HR_TEST(errors) { run_scenario("errors", 1, true); }
HR_TEST(extend) { run_scenario("extend", ALL, false); }
HR_TEST(callable) { run_scenario("callable", ALL, false); }
HR_TEST(partial) { run_scenario("partial", ALL, false); }
HR_TEST(metadata) { run_scenario("metadata", ALL, false); }
HR_TEST(reset) { run_scenario("reset", ALL, false); }
HR_TEST(timeout) { run_scenario("timeout", ALL, false); }
HR_TEST(loop_across_devices) { run_scenario("loop_across_devices", ALL, false); }

HR_TEST_MAIN()
