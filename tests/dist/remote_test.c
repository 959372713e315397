/* SPDX-License-Identifier: Apache-2.0 */
/* Our client in the place of TensorFlow's: it does what the recorded client did, gets the answers that were recorded, and must have sent
 * what was sent then, field by field; a request's id and the server's address are the run's own. */
#define HR_TEST_LEAKS_CHECKED
#include <stdatomic.h>
#include "dist/compare.h"
#include "dist/exchange.h"
#include "dist/transport.h"
#include "session/session.h"
#include "wire/tensor_proto.h"

#define MASTER "/tensorflow.MasterService/"

/* A server that answers the n-th call as the record does. */
typedef struct {
  hr_exchanges_t record;
  const hr_transport_t* transport;
  hr_listener_t* listener;
  char target[80];
  int at;           /* the next recorded call to a master */
  hr_str_t got[64]; /* what came, by recorded call; own bytes */
} script_t;

static void serve_script(void* arg, hr_request_t* r) {
  script_t* s = arg;
  while (s->at < s->record.count && !hr_str_has_prefix(s->record.calls[s->at].method, HR_STR(MASTER))) ++s->at;
  const hr_exchange_t* e = s->at < s->record.count ? &s->record.calls[s->at] : NULL;
  hr_message_t answer = {0};
  if (!e || !hr_str_equal(e->method, r->method)) {
    hr_test_fail(__FILE__, __LINE__, "%.*s was called, the record has %.*s", HR_STR_ARG(r->method),
                 HR_STR_ARG(e ? e->method : HR_STR("nothing more")));
    s->transport->reply(r, HR_ERROR(UNIMPLEMENTED, "not recorded"), NULL);
    return;
  }
  char* bytes = NULL;
  size_t size = 0;
  HR_CHECK_OK(hr_message_join(&r->message, &bytes, &size));
  s->got[s->at++] = (hr_str_t){bytes, size};
  HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(e->response.data, e->response.size), e->response.size, &answer));
  s->transport->reply(r, NULL, &answer);
}

static bool open_script(script_t* s, const char* name) {
  char path[600];
  int port = 0;
  memset(s, 0, sizeof *s);
  snprintf(path, sizeof path, "%s/tests/golden/wire/%s.tfrecord", HR_TEST_SOURCE_DIR, name);
  if (!HR_CHECK(hr_exchange_load(path, &s->record)) || !HR_CHECK_OK(hr_transport_find(HR_STR("inproc"), &s->transport))) return false;
  if (!HR_CHECK_OK(s->transport->listen(HR_STR("script"), 0, NULL, NULL, serve_script, s, &s->listener, &port))) return false;
  snprintf(s->target, sizeof s->target, "inproc://script:%d", port);
  return true;
}

static void close_script(script_t* s) {
  if (s->listener) s->transport->stop(s->listener, 1000);
  for (int i = 0; i < 64; ++i) hr_free((void*)(uintptr_t)s->got[i].data);
  hr_exchange_free(&s->record);
}

/* --- doing what the client did ------------------------------------------------------------------------------------------------------- */

enum { MOST = 8 };
typedef struct {
  hr_value_t feeds[MOST], fetches[MOST];
  hr_tensor_t values[MOST];
  hr_node_t* targets[MOST];
  int feed_count, fetch_count, target_count;
  hr_run_options_t options;
} did_t;

static hr_value_t endpoint(hr_graph_t* g, hr_str_t name) {
  const int64_t colon = hr_str_find(name, ':');
  HR_CHECK(colon > 0);
  return (hr_value_t){hr_graph_find(g, hr_str_slice(name, 0, (size_t)colon)), 0};
}

static void read_did(hr_graph_t* g, hr_str_t request, bool is_setup, did_t* d) {
  memset(d, 0, sizeof *d);
  for (hr_cursor_t c = hr_cursor_make(request.data, request.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    HR_REQUIRE_OK(hr_cursor_next(&c, &f));
    const hr_str_t text = hr_cursor_str(f.span);
    if (f.key == HR_KEY_SPAN(2)) {
      d->feeds[d->feed_count] = endpoint(g, is_setup ? text : compare_field(text, HR_KEY_SPAN(1)));
      const hr_str_t value = compare_field(is_setup ? (hr_str_t){"", 0} : text, HR_KEY_SPAN(2));
      if (!is_setup) HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(value.data, value.size), 1 << 20, &d->values[d->feed_count]));
      ++d->feed_count;
    }
    if (f.key == HR_KEY_SPAN(3)) d->fetches[d->fetch_count++] = endpoint(g, text);
    if (f.key == HR_KEY_SPAN(4)) d->targets[d->target_count++] = hr_graph_find(g, text);
    if (f.key == HR_KEY_SPAN(5)) HR_CHECK_OK(hr_run_options_decode(&d->options, text.data, text.size));
  }
}

static hr_run_t run_of(const did_t* d) {
  return (hr_run_t){d->feeds, d->values, d->feed_count, d->fetches, d->fetch_count, d->targets, d->target_count};
}

static void do_step(hr_session_t* s, hr_partial_run_t* partial, const hr_exchange_t* e, did_t* d) {
  hr_tensor_t out[MOST] = {{0}};
  char* metadata = NULL;
  size_t size = 0;
  const hr_run_t run = run_of(d);
  const bool watched = d->options.trace_level > 0;
  hr_status_t status = partial ? hr_partial_run_step(partial, &run, out)
                               : hr_session_run(s, &d->options, &run, out, watched ? &metadata : NULL, watched ? &size : NULL);
  const int64_t code = compare_number(e->response, HR_KEY_VARINT(3));
  if (!HR_CHECK_EQ_I64(hr_status_code(status), code)) printf("%s\n", hr_status_message(status));
  if (status) HR_CHECK_VIEW(compare_field(e->response, HR_KEY_SPAN(4)), hr_status_message(status));
  if (watched) HR_CHECK(hr_str_equal(compare_field(e->response, HR_KEY_SPAN(2)), (hr_str_t){metadata, size}));
  for (int i = 0; !status && i < d->fetch_count; ++i) HR_CHECK(out[i].buffer != NULL);
  for (int i = 0; i < MOST; ++i) {
    hr_tensor_release(&out[i]);
    hr_tensor_release(&d->values[i]);
  }
  hr_free(metadata);
  hr_status_release(status);
}

typedef struct {
  script_t script;
  hr_graph_t* g;
  hr_session_t* s;
  hr_partial_run_t* partial;
} actor_t;

static void extend_graph(hr_graph_t* g, hr_str_t def) {
  const hr_import_options_t o = {.extends = true};
  hr_import_results_t r = {0};
  HR_CHECK_OK(hr_import_graph_def(g, def.data, def.size, &o, &r));
  hr_import_results_deinit(&r);
}

static void act(actor_t* a, const hr_exchange_t* e) {
  did_t d;
  const char* method = e->method.data + sizeof MASTER - 1;
  if (strcmp(method, "CreateSession") == 0) { /* goes with the first step */
    hr_session_options_t o;
    hr_session_options_init(&o);
    o.target = hr_str(a->script.target);
    o.config = compare_field(e->request, HR_KEY_SPAN(2));
    HR_CHECK_OK(hr_graph_create(&a->g));
    extend_graph(a->g, compare_field(e->request, HR_KEY_SPAN(1)));
    HR_CHECK_OK(hr_session_create(a->g, &o, &a->s));
  } else if (strcmp(method, "ExtendSession") == 0) {
    extend_graph(a->g, compare_field(e->request, HR_KEY_SPAN(2)));
  } else if (strcmp(method, "PartialRunSetup") == 0) {
    read_did(a->g, e->request, true, &d);
    const hr_run_t run = run_of(&d);
    HR_CHECK_OK(hr_session_partial_setup(a->s, &run, &a->partial));
  } else if (strcmp(method, "RunStep") == 0) {
    read_did(a->g, e->request, false, &d);
    do_step(a->s, a->partial, e, &d);
  } else if (strcmp(method, "CloseSession") == 0) {
    HR_CHECK_OK(hr_session_close(a->s));
  } else if (strcmp(method, "Reset") == 0) {
    const hr_str_t container = compare_field(e->request, HR_KEY_SPAN(1));
    bool done = false;
    HR_CHECK_OK(hr_session_reset(hr_str(a->script.target), &container, 1, &done));
    HR_CHECK(done);
  } else {
    hr_test_fail(__FILE__, __LINE__, "%s is not acted", method);
  }
}

/* --- what was sent -------------------------------------------------------------------------------------------------------------------- */

/* Field by field in the order of the record's: graphs as graphs, the rest byte for byte. */
static void compare_request(const hr_exchange_t* e, hr_str_t got) {
  const bool creates = hr_str_has_suffix(e->method, HR_STR("/CreateSession"));
  const bool extends = hr_str_has_suffix(e->method, HR_STR("/ExtendSession"));
  const uint32_t graph = creates ? HR_KEY_SPAN(1) : extends ? HR_KEY_SPAN(2) : 0, target = creates ? HR_KEY_SPAN(3) : 0;
  const uint32_t id = hr_str_has_suffix(e->method, HR_STR("/PartialRunSetup")) ? HR_KEY_VARINT(5) : HR_KEY_VARINT(8);
  hr_cursor_t a = hr_cursor_make(e->request.data, e->request.size), b = hr_cursor_make(got.data, got.size);
  hr_field_t f, g;
  while (!hr_cursor_is_done(&a) && !hr_cursor_is_done(&b)) {
    HR_REQUIRE_OK(hr_cursor_next(&a, &f));
    HR_REQUIRE_OK(hr_cursor_next(&b, &g));
    if (!HR_CHECK_EQ_I64(g.key >> 3, f.key >> 3)) return;
    if (f.key == id)
      HR_CHECK(g.value != 0);
    else if (f.key == graph && creates)
      compare_parts(hr_cursor_str(f.span), hr_cursor_str(g.span));
    else if (f.key != target && f.key != graph)
      HR_CHECK(f.value == g.value && hr_str_equal(hr_cursor_str(f.span), hr_cursor_str(g.span)));
  }
  HR_CHECK(hr_cursor_is_done(&a) && hr_cursor_is_done(&b));
}

static void run_scenario(const char* name) {
  actor_t a = {0};
  if (open_script(&a.script, name)) {
    const hr_exchanges_t* record = &a.script.record;
    for (int i = 0; i < record->count; ++i)
      if (hr_str_has_prefix(record->calls[i].method, HR_STR(MASTER))) act(&a, &record->calls[i]);
    for (int i = 0; i < record->count; ++i)
      if (hr_str_has_prefix(record->calls[i].method, HR_STR(MASTER)) && HR_CHECK(a.script.got[i].data != NULL))
        compare_request(&record->calls[i], a.script.got[i]);
  }
  hr_partial_run_destroy(a.partial);
  hr_session_destroy(a.s);
  hr_graph_destroy(a.g);
  close_script(&a.script);
}

HR_TEST(classic) { run_scenario("classic"); }
HR_TEST(errors) { run_scenario("errors"); }
HR_TEST(extend) { run_scenario("extend"); }
HR_TEST(callable) { run_scenario("callable"); }
HR_TEST(partial) { run_scenario("partial"); }
HR_TEST(metadata) { run_scenario("metadata"); }
HR_TEST(timeout) { run_scenario("timeout"); }
HR_TEST(loop_across_devices) { run_scenario("loop_across_devices"); }
HR_TEST(reset) { run_scenario("reset"); }

HR_TEST_MAIN()
