/* SPDX-License-Identifier: Apache-2.0 */
/* Our master in the place of TensorFlow's: it is sent what TensorFlow's client sent, must answer the same, and must call the workers as
 * TensorFlow's did: the same methods as often, the same partitions, the same keys. */
#include "dist/task_cluster.h"
#include "graph/import.h"
#include "tensor/tensor.h"
#include "test.h"
#include "wire/tensor_proto.h"

enum { HANDLE_SIZE = 16 };

static hr_str_t field_of(hr_str_t message, uint32_t key) { /* the last such span; "" */
  hr_str_t found = {"", 0};
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) break;
    if (f.key == key) found = hr_cursor_str(f.span);
  }
  return found;
}
static int64_t number_of(hr_str_t message, uint32_t key) {
  int64_t found = 0;
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) break;
    if (f.key == key) found = (int64_t)f.value;
  }
  return found;
}

/* --- partitions ----------------------------------------------------------------------------------------------------------------------- */

static hr_graph_t* import_part(hr_str_t def) {
  hr_graph_t* g = NULL;
  const hr_import_options_t o = {.internal = true};
  hr_import_results_t r = {0};
  HR_CHECK_OK(hr_graph_create(&g));
  HR_CHECK_OK(hr_import_graph_def(g, def.data, def.size, &o, &r));
  hr_import_results_deinit(&r);
  return g;
}

/* "edge_16_step" without its number, of which all that matters is that both ends agree. */
static hr_str_t plain_edge(hr_str_t s) {
  if (!hr_str_has_prefix(s, HR_STR("edge_"))) return s;
  const hr_str_t rest = hr_str_slice(s, 5, s.size);
  return hr_str_slice(rest, (size_t)hr_str_find(rest, '_') + 1, rest.size);
}

static bool attrs_agree(hr_str_t name, const hr_attr_t* a, const hr_attr_t* b) {
  if (hr_str_is(name, "send_device_incarnation")) return true;
  if (hr_str_is(name, "tensor_name")) return hr_str_equal(plain_edge(a->u.s), plain_edge(b->u.s));
  return hr_attr_equal(a, b);
}

static void check_attrs(const hr_node_t* want, const hr_node_t* got) {
  for (int i = 0; i < want->attrs.def->attr_count; ++i) {
    hr_str_t name = want->attrs.def->attrs[i].name;
    if (attrs_agree(name, &want->attrs.values[i], &got->attrs.values[i])) continue;
    hr_test_fail(__FILE__, __LINE__, "node '%s': attr '%.*s' differs", want->name.data, HR_STR_ARG(name));
  }
}

static bool waits_for(const hr_node_t* n, hr_str_t name) {
  for (int i = 0; i < n->control_count; ++i)
    if (hr_str_equal(n->controls[i]->name, name)) return true;
  return false;
}

static void check_node(const hr_node_t* want, const hr_node_t* got) {
  HR_REQUIRE(hr_str_equal(want->attrs.def->name, got->attrs.def->name));
  HR_CHECK_VIEW(got->device, want->device.data);
  HR_CHECK_EQ_I64(got->control_count, want->control_count);
  for (int i = 0; i < want->control_count; ++i) HR_CHECK(waits_for(got, want->controls[i]->name));
  if (!HR_CHECK_EQ_I64(got->input_count, want->input_count)) return;
  const bool swapped = want->input_count == 2 && hr_str_has_prefix(want->attrs.def->name, HR_STR("Add")) &&
                       hr_str_equal(got->inputs[0].node->name, want->inputs[1].node->name); /* TensorFlow puts constants first */
  for (int i = 0; i < want->input_count && !swapped; ++i) {
    HR_CHECK_VIEW(got->inputs[i].node->name, want->inputs[i].node->name.data);
    HR_CHECK_EQ_I64(got->inputs[i].index, want->inputs[i].index);
  }
  check_attrs(want, got);
}

static void check_part(hr_str_t want_def, hr_str_t got_def) {
  hr_graph_t *want = import_part(want_def), *got = import_part(got_def);
  for (int64_t i = 0; i < want->nodes.count; ++i) {
    const hr_node_t* w = want->nodes.data[i];
    const hr_node_t* g = hr_graph_find(got, w->name);
    if (g) check_node(w, g);
    else hr_test_fail(__FILE__, __LINE__, "the part lacks node '%s' (%s)", w->name.data, w->attrs.def->name.data);
  }
  for (int64_t i = 0; i < got->nodes.count; ++i)
    if (!hr_graph_find(want, got->nodes.data[i]->name))
      hr_test_fail(__FILE__, __LINE__, "the part has a node '%s' (%s) too many", got->nodes.data[i]->name.data,
                   got->nodes.data[i]->attrs.def->name.data);
  hr_graph_destroy(want);
  hr_graph_destroy(got);
}

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
    check_part(field_of(want->request, HR_KEY_SPAN(2)), field_of(got->request, HR_KEY_SPAN(2)));
    HR_CHECK_EQ_I64(field_of(got->request, HR_KEY_SPAN(8)).size, field_of(want->request, HR_KEY_SPAN(8)).size); /* maps have no order */
    HR_CHECK(number_of(got->request, HR_KEY_VARINT(6)) == 1);
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
    plain_key(field_of(calls[i].request, HR_KEY_SPAN(2)), key, sizeof key);
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
    plain_key(field_of(e->request, HR_KEY_SPAN(2)), key, sizeof key);
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

static void check_counts(task_cluster_t* c, const hr_exchanges_t* record, bool races) {
  for (int i = 0; i < HR_WORKER_METHOD_COUNT; ++i) {
    const char* method = hr_worker_method_names[i];
    char suffix[64];
    snprintf(suffix, sizeof suffix, "Service/%s", method);
    if (races && i == HR_WORKER_RecvTensor) continue;
    for (int callee = 0; callee < 2; ++callee) {
      const char* name = callee ? "worker" : "ps";
      const int want = count_calls(record, name, suffix), got = task_cluster_count(c, name, suffix);
      if (want != got) hr_test_fail(__FILE__, __LINE__, "%s was called %d times on %s, should be %d", method, got, name, want);
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
    HR_CHECK(hr_str_equal(field_of(named_a, HR_KEY_SPAN(1)), field_of(named_b, HR_KEY_SPAN(1))));
    const hr_str_t body_a = field_of(named_a, HR_KEY_SPAN(2)), body_b = field_of(named_b, HR_KEY_SPAN(2));
    HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(body_a.data, body_a.size), 1 << 20, &x));
    HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(body_b.data, body_b.size), 1 << 20, &y));
    HR_CHECK(hr_tensor_equal(&x, &y) || (x.dtype == HR_F32 && fabsf(*(float*)x.data - *(float*)y.data) < 1e-5f));
    hr_tensor_release(&x);
    hr_tensor_release(&y);
  }
}

static void check_answer(const hr_exchange_t* e, hr_str_t got) {
  if (hr_str_has_suffix(e->method, HR_STR("/RunStep"))) {
    const int64_t want_code = number_of(e->response, HR_KEY_VARINT(3)), code = number_of(got, HR_KEY_VARINT(3));
    if (want_code == HR_CANCELLED) HR_CHECK_EQ_I64(code, HR_DEADLINE_EXCEEDED); /* of the step; TensorFlow's client says so too */
    else if (!HR_CHECK_EQ_I64(code, want_code)) printf("%.*s\n", HR_STR_ARG(field_of(got, HR_KEY_SPAN(4))));
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
      snprintf(handle, sizeof handle, "%.*s", HR_STR_ARG(field_of(hr_strbuf_view(&response), HR_KEY_SPAN(1))));
      snprintf(recorded, sizeof recorded, "%.*s", HR_STR_ARG(field_of(e->response, HR_KEY_SPAN(1))));
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
