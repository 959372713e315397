/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of requests to a worker one by one, with graphs made here: runs and what they answer, sessions, graphs, steps, limits. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/compare.h"
#include "dist/exchange.h"
#include "dist/worker_state.h"
#include "wire/tensor_proto.h"
#include "wire/writer.h"

#define DEVICE "/job:ps/replica:0/task:0/device:CPU:0"
#define MASTER "/job:worker/replica:0/task:0"

typedef struct {
  hr_cluster_t* cluster;
  hr_worker_t* w;
  hr_strbuf_t out; /* the last answer */
} fields_t;

static bool open_fields(fields_t* f) {
  memset(f, 0, sizeof *f);
  hr_strbuf_init(&f->out);
  return HR_CHECK(hr_exchange_worker("ps", NULL, &f->cluster, &f->w));
}
static void close_fields(fields_t* f) {
  hr_strbuf_deinit(&f->out);
  hr_worker_release(f->w);
  hr_cluster_release(f->cluster);
}

static hr_status_t ask(fields_t* f, hr_worker_method_t method, hr_writer_t* take_request) {
  hr_strbuf_deinit(&f->out);
  hr_strbuf_init(&f->out);
  hr_status_t status = hr_exchange_run(f->w, method, hr_strbuf_view(take_request), &f->out);
  hr_strbuf_deinit(take_request);
  return status;
}

static hr_writer_t text_request(uint32_t number, const char* text) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_str(&w, number, hr_str(text));
  return w;
}

/* --- requests ------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t open_session(fields_t* f, const char* handle, int64_t incarnation, bool isolated) {
  hr_writer_t w = text_request(1, handle);
  hr_writer_bool(&w, 3, isolated);
  if (incarnation) hr_writer_str(&w, 5, HR_STR(MASTER));
  if (incarnation) hr_writer_i64(&w, 6, incarnation);
  return ask(f, HR_WORKER_CreateWorkerSession, &w);
}

static hr_status_t close_session(fields_t* f, const char* handle) {
  hr_writer_t w = text_request(1, handle);
  return ask(f, HR_WORKER_DeleteWorkerSession, &w);
}

static hr_node_t* end_of(hr_graph_t* g, const fields_t* f, const char* op, const char* tensor, const hr_value_t* in) {
  const hr_named_attr_t at[] = {hr_at_type(in ? "T" : "tensor_type", HR_F32),
                                hr_at_str("tensor_name", tensor),
                                hr_at_str("send_device", DEVICE),
                                hr_at_str("recv_device", DEVICE),
                                hr_at_int("send_device_incarnation", (int64_t)hr_worker_devices(f->w)->devices[0]->incarnation),
                                hr_at_bool("client_terminated", true)};
  const hr_node_desc_t d = {.op = hr_str(op), .name = hr_str(in ? "send" : "recv"), .device = HR_STR(DEVICE), .inputs = in,
                            .input_count = in ? 1 : 0, .attrs = at, .attr_count = 6};
  hr_node_t* n = NULL;
  HR_CHECK_OK(hr_graph_add(g, &d, &n));
  return n;
}

static hr_value_t node(hr_graph_t* g, const char* op, const char* name, int inputs, const hr_value_t* in, int attrs,
                       const hr_named_attr_t* at) {
  const hr_node_desc_t d = {.op = hr_str(op), .name = hr_str(name), .device = HR_STR(DEVICE), .inputs = in, .input_count = inputs,
                            .attrs = at, .attr_count = attrs};
  hr_node_t* n = NULL;
  HR_CHECK_OK(hr_graph_add(g, &d, &n));
  return (hr_value_t){n, 0};
}

typedef enum { NEGATES, COUNTS, DEAD } kind_t; /* y: -x; a variable's value after adding x; what a Switch does not let through */

static hr_status_t register_graph(fields_t* f, const char* session, kind_t kind) {
  hr_graph_t* g = NULL;
  char* def = NULL;
  size_t size = 0;
  HR_CHECK_OK(hr_graph_create(&g));
  hr_value_t x = {end_of(g, f, "_Recv", "x:0", NULL), 0}, y = x;
  if (kind == NEGATES) y = node(g, "Neg", "y", 1, &x, 0, NULL);
  if (kind == COUNTS) {
    const hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32), hr_at_shape("shape", &hr_pshape_scalar)};
    const hr_value_t v = node(g, "VarHandleOp", "v", 0, NULL, 2, at), both[] = {v, x};
    const hr_value_t add = node(g, "AssignVariableOp", "set", 2, both, 0, NULL);
    y = node(g, "ReadVariableOp", "read", 1, &v, 1, at);
    (void)add;
  }
  if (kind == DEAD) {
    const hr_value_t zero = node(g, "ZerosLike", "zero", 1, &x, 0, NULL), pair[] = {x, zero},
                     more = node(g, "Greater", "more", 2, pair, 0, NULL), in[] = {x, more};
    y = node(g, "Switch", "y", 2, in, 0, NULL);
  }
  end_of(g, f, "_Send", "y:0", &y);
  HR_CHECK_OK(hr_export_graph_def(g, 0, &def, &size));
  hr_graph_destroy(g);
  hr_writer_t w = text_request(1, session);
  hr_writer_bytes(&w, 2, def, size);
  hr_writer_bool(&w, 6, *session != 0);
  hr_free(def);
  return ask(f, HR_WORKER_RegisterGraph, &w);
}

static const char* key_of(const fields_t* f, const char* tensor) {
  static char text[200];
  snprintf(text, sizeof text, DEVICE ";%016llx;" DEVICE ";%s;0:0",
           (unsigned long long)hr_worker_devices(f->w)->devices[0]->incarnation, tensor);
  return text;
}

typedef struct {
  const char *session, *graph;
  int64_t step, id;
  float x;
  bool fetches, stores, settles;
  hr_str_t options;
} run_t;

static hr_writer_t run_request(const fields_t* f, const run_t* r) {
  hr_tensor_t t;
  hr_writer_t w = text_request(1, r->graph);
  hr_writer_i64(&w, 2, r->step);
  HR_CHECK_OK(hr_tensor_from_f32(r->x, &t));
  hr_writer_mark_t send = hr_writer_begin(&w, 3, 250);
  hr_writer_str(&w, 1, hr_str(key_of(f, "x:0")));
  hr_writer_mark_t tensor = hr_writer_begin(&w, 2, 32);
  HR_CHECK_OK(hr_tensor_proto_encode(&t, &w));
  hr_writer_end(&w, tensor, 32);
  hr_writer_end(&w, send, 250);
  if (r->fetches) hr_writer_str(&w, 4, hr_str(key_of(f, "y:0")));
  if (r->options.size) hr_writer_str(&w, 5, r->options);
  hr_writer_str(&w, 8, hr_str(r->session));
  hr_writer_bool(&w, 9, r->stores);
  hr_writer_bool(&w, 10, *r->session != 0);
  if (r->settles) hr_writer_bool(&w, HR_WORKER_SETTLED, true);
  hr_writer_i64(&w, 11, r->id);
  hr_tensor_release(&t);
  return w;
}

static hr_status_t run(fields_t* f, run_t r) {
  hr_writer_t w = run_request(f, &r);
  return ask(f, HR_WORKER_RunGraph, &w);
}

static float received(hr_str_t tensor) {
  hr_tensor_t t = {0};
  float value = NAN;
  if (HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(tensor.data, tensor.size), 1000, &t))) value = *(float*)t.data;
  hr_tensor_release(&t);
  return value;
}
static float fetched(const fields_t* f) {
  return received(compare_field(compare_field(hr_strbuf_view(&f->out), HR_KEY_SPAN(1)), HR_KEY_SPAN(2)));
}

static bool has_field(const fields_t* f, uint32_t key) {
  for (hr_cursor_t c = hr_cursor_make(f->out.data, f->out.size); !hr_cursor_is_done(&c);) {
    hr_field_t field;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &field))) break;
    if (field.key == key) return true;
  }
  return false;
}

#define FIRST "0000000000000001"
#define SECOND "0000000000000002"

/* --- runs ----------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(a_run_answers_what_was_asked_for) {
  static const struct { hr_str_t options; bool stats, graphs; } rows[] = {
      {{"", 0}, false, false},        {{"\x18\x01", 2}, true, false}, {{"\x20\x01", 2}, false, true}, {{"\x18\x01\x20\x01", 4}, true, true},
      {{"\x18\x00\x20\x00", 4}, false, false}, {{"\x08\x01", 2}, false, false}};
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", NEGATES))) {
    HR_CHECK_VIEW(compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(1)), FIRST);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      if (!HR_CHECK_OK(run(&f, (run_t){"", FIRST, (int64_t)i + 1, 0, 5, true, false, false, rows[i].options}))) continue;
      HR_CHECK_VIEW(compare_field(compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(1)), HR_KEY_SPAN(1)), key_of(&f, "y:0"));
      HR_CHECK_EQ_F64(fetched(&f), -5);
      const hr_str_t out = hr_strbuf_view(&f.out), stats = compare_field(out, HR_KEY_SPAN(2)), graph = compare_field(out, HR_KEY_SPAN(4));
      bool good = HR_CHECK_EQ_I64(has_field(&f, HR_KEY_SPAN(2)), rows[i].stats);
      good = HR_CHECK_EQ_I64(has_field(&f, HR_KEY_SPAN(4)), rows[i].graphs) && good;
      if (rows[i].stats) good = HR_CHECK(memmem(stats.data, stats.size, "y = Neg", 7) != NULL) && good;
      if (rows[i].graphs) good = HR_CHECK(memmem(graph.data, graph.size, "Neg", 3) != NULL) && good;
      HR_CHECK(has_field(&f, HR_KEY_SPAN(3)) && !has_field(&f, HR_KEY_VARINT(5)) && !has_field(&f, HR_KEY_VARINT(HR_WORKER_SETTLED)));
      HR_CHECK_EQ_U64(compare_field(out, HR_KEY_SPAN(3)).size, 0);
      if (!good) printf("  row %d\n", (int)i);
    }
  }
  close_fields(&f);
}

HR_TEST(failures_in_the_answer_or_as_the_call_s_status) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", DEAD))) {
    run_t r = {"", FIRST, 1, 0, 1, true, false, false, {"", 0}};
    HR_CHECK_CODE(run(&f, r), HR_INVALID_ARGUMENT, "was not valid"); /* the branch not taken */
    r.step = 2, r.stores = true;
    HR_CHECK_OK(run(&f, r));
    const hr_str_t message = compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(6));
    HR_CHECK_EQ_I64(compare_number(hr_strbuf_view(&f.out), HR_KEY_VARINT(5)), HR_INVALID_ARGUMENT);
    HR_CHECK(memmem(message.data, message.size, "was not valid", 13) && !has_field(&f, HR_KEY_SPAN(1)) && has_field(&f, HR_KEY_SPAN(3)));
    r.step = 3, r.x = -1;
    HR_CHECK_OK(run(&f, r));
    HR_CHECK_EQ_F64(fetched(&f), -1);
  }
  close_fields(&f);
}

HR_TEST(a_key_under_which_nothing_is_sent) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", NEGATES))) {
    const run_t r = {"", FIRST, 1, 0, 1, false, false, false, {"", 0}};
    hr_writer_t w = run_request(&f, &r);
    hr_writer_str(&w, 4, hr_str(key_of(&f, "z:0")));
    HR_CHECK_CODE(ask(&f, HR_WORKER_RunGraph, &w), HR_INVALID_ARGUMENT, "the graph sends nothing under the key '" DEVICE);
  }
  close_fields(&f);
}

HR_TEST(a_step_is_settled_when_nothing_of_it_is_left) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", NEGATES))) {
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 1, 0, 1, true, false, true, {"", 0}}));
    HR_CHECK_EQ_I64(compare_number(hr_strbuf_view(&f.out), HR_KEY_VARINT(HR_WORKER_SETTLED)), 1);
    HR_CHECK_EQ_I64(f.w->steps.count, 0);
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 2, 0, 1, false, false, true, {"", 0}})); /* y is still there */
    HR_CHECK(!has_field(&f, HR_KEY_VARINT(HR_WORKER_SETTLED)));
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 3, 0, 1, true, false, false, {"", 0}})); /* the master did not ask */
    HR_CHECK(!has_field(&f, HR_KEY_VARINT(HR_WORKER_SETTLED)));
    HR_CHECK_EQ_I64(f.w->steps.count, 2);
    for (int64_t id = 2; id <= 3; ++id) {
      hr_writer_t w;
      hr_strbuf_init(&w);
      hr_writer_i64(&w, 1, id);
      HR_CHECK_OK(ask(&f, HR_WORKER_CleanupGraph, &w));
      HR_CHECK_EQ_I64(f.w->steps.count, 3 - id);
    }
  }
  close_fields(&f);
}

HR_TEST(calls_come_once_and_name_what_is_there) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(open_session(&f, "s", 0, false)) && HR_CHECK_OK(register_graph(&f, "s", NEGATES))) {
    run_t r = {"s", FIRST, 1, 9, 1, true, false, false, {"", 0}};
    HR_CHECK_OK(run(&f, r));
    r.step = 2;
    HR_CHECK_CODE(run(&f, r), HR_ABORTED, "");
    r.id = 0;
    HR_CHECK_OK(run(&f, r));
    r.session = "t", r.step = 3;
    HR_CHECK_CODE(run(&f, r), HR_ABORTED, "session handle is not found: t");
    r.session = ""; /* the one of masters that create none */
    HR_CHECK_CODE(run(&f, r), HR_ABORTED, "graph handle is not found: " FIRST);
    r.session = "s", r.graph = SECOND;
    HR_CHECK_CODE(run(&f, r), HR_ABORTED, "graph handle is not found: " SECOND);
    HR_CHECK_CODE(open_session(&f, "", 0, false), HR_INVALID_ARGUMENT, "needs a handle");
    HR_CHECK_OK(close_session(&f, "s"));
    r.graph = FIRST;
    HR_CHECK_CODE(run(&f, r), HR_ABORTED, "session handle is not found: s");
  }
  close_fields(&f);
}

/* --- sessions and graphs -------------------------------------------------------------------------------------------------------------- */

HR_TEST(a_master_that_was_restarted_has_lost_its_sessions) {
  fields_t f;
  if (open_fields(&f)) {
    HR_CHECK_OK(open_session(&f, "a", 7, false));
    HR_CHECK_OK(open_session(&f, "b", 7, false));
    HR_CHECK_OK(open_session(&f, "other", 0, false));
    HR_CHECK_EQ_I64(f.w->sessions.count, 3);
    HR_CHECK_OK(open_session(&f, "c", 8, false));
    HR_CHECK_EQ_I64(f.w->sessions.count, 2);
    HR_CHECK_OK(register_graph(&f, "c", NEGATES));
    HR_CHECK_OK(register_graph(&f, "other", NEGATES));
    HR_CHECK_CODE(register_graph(&f, "a", NEGATES), HR_ABORTED, "session handle is not found: a");
    HR_CHECK_OK(open_session(&f, "c", 8, false)); /* once more: as good */
    HR_CHECK_EQ_I64(f.w->sessions.count, 2);
  }
  close_fields(&f);
}

HR_TEST(sessions_have_a_limit) {
  fields_t f;
  if (open_fields(&f)) {
    f.w->options.max_sessions = 2;
    HR_CHECK_OK(open_session(&f, "a", 0, false));
    HR_CHECK_OK(open_session(&f, "b", 0, false));
    HR_CHECK_CODE(open_session(&f, "c", 0, false), HR_RESOURCE_EXHAUSTED, "too many sessions, the limit is 2");
    HR_CHECK_OK(open_session(&f, "b", 0, false)); /* is there already */
    HR_CHECK_OK(close_session(&f, "a"));
    HR_CHECK_OK(open_session(&f, "c", 0, false));
  }
  close_fields(&f);
}

HR_TEST(graphs_of_a_session_have_a_limit_of_nodes) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(open_session(&f, "a", 0, false)) && HR_CHECK_OK(open_session(&f, "b", 0, false))) {
    f.w->options.max_graph_nodes = 6; /* each has three */
    HR_CHECK_OK(register_graph(&f, "a", NEGATES));
    HR_CHECK_OK(register_graph(&f, "a", NEGATES));
    HR_CHECK_VIEW(compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(1)), SECOND);
    HR_CHECK_CODE(register_graph(&f, "a", NEGATES), HR_RESOURCE_EXHAUSTED, "graphs of 9 nodes in one session, the limit is 6");
    HR_CHECK_OK(register_graph(&f, "b", NEGATES));
    hr_writer_t w = text_request(1, FIRST);
    hr_writer_str(&w, 2, HR_STR("a"));
    hr_writer_bool(&w, 3, true);
    HR_CHECK_OK(ask(&f, HR_WORKER_DeregisterGraph, &w));
    HR_CHECK_OK(register_graph(&f, "a", NEGATES));
    HR_CHECK_VIEW(compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(1)), "0000000000000003");
    w = text_request(1, FIRST);
    hr_writer_str(&w, 2, HR_STR("a"));
    hr_writer_bool(&w, 3, true);
    HR_CHECK_CODE(ask(&f, HR_WORKER_DeregisterGraph, &w), HR_ABORTED, "graph handle is not found");
  }
  close_fields(&f);
}

static bool nothing_runs(fields_t* f) { /* a run is counted until after its answer */
  bool idle = false;
  for (int ms = 0; ms < 20000 && !idle; ++ms) {
    hr_mutex_lock(&f->w->mu);
    idle = f->w->running == 0;
    hr_mutex_unlock(&f->w->mu);
    if (!idle) nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
  }
  return idle;
}

static void set_running(fields_t* f, int64_t count) {
  hr_mutex_lock(&f->w->mu);
  f->w->running = count;
  hr_mutex_unlock(&f->w->mu);
}

HR_TEST(steps_that_run_have_a_limit) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", NEGATES))) {
    f.w->options.max_steps = 2;
    for (int64_t i = 1; i <= 3; ++i) {
      HR_CHECK_OK(run(&f, (run_t){"", FIRST, i, 0, 1, true, false, true, {"", 0}}));
      HR_CHECK(nothing_runs(&f));
    }
    set_running(&f, 2);
    HR_CHECK_CODE(run(&f, (run_t){"", FIRST, 5, 0, 1, true, false, true, {"", 0}}), HR_RESOURCE_EXHAUSTED, "the limit is 2");
    set_running(&f, 0);
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 6, 0, 1, true, false, true, {"", 0}}));
    HR_CHECK(nothing_runs(&f));
  }
  close_fields(&f);
}

HR_TEST(sessions_share_variables_unless_they_are_isolated) {
  fields_t f;
  if (open_fields(&f)) {
    static const struct { const char* handle; bool isolated; } sessions[] = {{"a", false}, {"b", false}, {"c", true}};
    for (int i = 0; i < 3; ++i) {
      HR_CHECK_OK(open_session(&f, sessions[i].handle, 0, sessions[i].isolated));
      HR_CHECK_OK(register_graph(&f, sessions[i].handle, COUNTS));
    }
    hr_resources_t* shared = f.w->resources;
    uintptr_t found[3];
    for (int i = 0; i < 3; ++i) {
      HR_CHECK(hr_map_find(&f.w->sessions, hr_str(sessions[i].handle), &found[i]));
      HR_CHECK_EQ_I64(((hr_worker_session_t*)found[i])->resources == shared, !sessions[i].isolated);
    }
  }
  close_fields(&f);
}

/* --- values for other tasks ----------------------------------------------------------------------------------------------------------- */

static hr_writer_t recv_request(int64_t step, const char* key, int64_t id) {
  hr_writer_t w;
  hr_strbuf_init(&w);
  hr_writer_i64(&w, 1, step);
  hr_writer_str(&w, 2, hr_str(key));
  if (id) hr_writer_i64(&w, 7, id);
  return w;
}

HR_TEST(a_value_may_be_asked_for_before_and_after_its_step_has_run) {
  fields_t f;
  hr_exchange_call_t early;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", NEGATES))) {
    hr_writer_t w = recv_request(1, key_of(&f, "y:0"), 0);
    hr_exchange_start(f.w, &early, HR_WORKER_RecvTensor, hr_strbuf_view(&w));
    hr_strbuf_deinit(&w);
    HR_CHECK_EQ_I64(f.w->steps.count, 1);
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 1, 0, 3, false, false, false, {"", 0}}));
    if (HR_CHECK(hr_exchange_wait(&early, 20000)) && HR_CHECK(!early.status)) {
      char* bytes = NULL;
      size_t size = 0;
      HR_CHECK_OK(hr_message_join(&early.response, &bytes, &size));
      HR_CHECK_EQ_F64(received(compare_field((hr_str_t){bytes, size}, HR_KEY_SPAN(1))), -3);
      hr_free(bytes);
    }
    hr_exchange_end(&early);
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 2, 0, 4, false, false, false, {"", 0}}));
    w = recv_request(2, key_of(&f, "y:0"), 5);
    HR_CHECK_OK(ask(&f, HR_WORKER_RecvTensor, &w));
    HR_CHECK_EQ_F64(received(compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(1))), -4);
    HR_CHECK(compare_number(hr_strbuf_view(&f.out), HR_KEY_VARINT(2)) == 0 && compare_number(hr_strbuf_view(&f.out), HR_KEY_VARINT(3)) > 0);
    w = recv_request(2, key_of(&f, "y:0"), 5);
    HR_CHECK_CODE(ask(&f, HR_WORKER_RecvTensor, &w), HR_ABORTED, "");
  }
  close_fields(&f);
}

HR_TEST(a_value_must_come_from_a_device_in_its_present_life) {
  fields_t f;
  if (open_fields(&f) && HR_CHECK_OK(register_graph(&f, "", NEGATES))) {
    HR_CHECK_OK(run(&f, (run_t){"", FIRST, 1, 0, 4, false, false, false, {"", 0}}));
    hr_writer_t w = recv_request(1, DEVICE ";0000000000000001;" DEVICE ";y:0;0:0", 0);
    HR_CHECK_CODE(ask(&f, HR_WORKER_RecvTensor, &w), HR_ABORTED, "different device incarnation: 1");
    w = recv_request(1, MASTER "/device:CPU:0;0000000000000001;" DEVICE ";y:0;0:0", 0);
    HR_CHECK_CODE(ask(&f, HR_WORKER_RecvTensor, &w), HR_INVALID_ARGUMENT, "is no device of this task");
    w = recv_request(1, "y", 0);
    HR_CHECK_CODE(ask(&f, HR_WORKER_RecvTensor, &w), HR_INVALID_ARGUMENT, "malformed rendezvous key");
    HR_CHECK_EQ_I64(f.w->steps.count, 1);
    w = recv_request(2, DEVICE ";0000000000000001;" DEVICE ";y:0;0:0", 0); /* a step that is not known is not kept for it */
    HR_CHECK_CODE(ask(&f, HR_WORKER_RecvTensor, &w), HR_ABORTED, "different device incarnation");
    HR_CHECK_EQ_I64(f.w->steps.count, 1);
  }
  close_fields(&f);
}

HR_TEST(a_step_that_is_cleaned_up_ends_those_who_wait) {
  fields_t f;
  hr_exchange_call_t waits;
  if (open_fields(&f)) {
    hr_writer_t w = recv_request(5, key_of(&f, "y:0"), 0);
    hr_exchange_start(f.w, &waits, HR_WORKER_RecvTensor, hr_strbuf_view(&w));
    hr_strbuf_deinit(&w);
    hr_strbuf_init(&w);
    hr_writer_i64(&w, 1, 6);
    HR_CHECK_OK(ask(&f, HR_WORKER_CleanupGraph, &w)); /* another step */
    HR_CHECK_EQ_I64(f.w->steps.count, 1);
    hr_strbuf_init(&w);
    hr_writer_i64(&w, 1, 5);
    HR_CHECK_OK(ask(&f, HR_WORKER_CleanupGraph, &w));
    if (HR_CHECK(hr_exchange_wait(&waits, 20000))) HR_CHECK_CODE(hr_status_retain(waits.status), HR_ABORTED, "Cleanup 5");
    hr_exchange_end(&waits);
    HR_CHECK_EQ_I64(f.w->steps.count, 0);
  }
  close_fields(&f);
}

HR_TEST(devices_are_described) {
  fields_t f;
  if (open_fields(&f)) {
    hr_writer_t w;
    hr_strbuf_init(&w);
    HR_CHECK_OK(ask(&f, HR_WORKER_GetStatus, &w));
    const hr_str_t d = compare_field(hr_strbuf_view(&f.out), HR_KEY_SPAN(1));
    HR_CHECK_VIEW(compare_field(d, HR_KEY_SPAN(1)), DEVICE);
    HR_CHECK_VIEW(compare_field(d, HR_KEY_SPAN(2)), "CPU");
    HR_CHECK_EQ_I64(compare_number(d, HR_KEY_VARINT(4)), INT64_C(256) << 20);
    HR_CHECK_EQ_U64(compare_number(d, HR_KEY_FIXED64(6)), hr_worker_devices(f.w)->devices[0]->incarnation);
    HR_CHECK_EQ_I64(compare_number(d, HR_KEY_VARINT(8)), -1);
  }
  close_fields(&f);
}
/* --- limits of peers, tables of steps, names ------------------------------------------------------------------------------------------ */

static void start_as(fields_t* f, hr_exchange_call_t* c, const char* peer, int64_t step) {
  hr_writer_t w = recv_request(step, key_of(f, "y:0"), 0);
  memset(c, 0, sizeof *c);
  hr_exchange_call_t model;
  hr_exchange_start(f->w, &model, HR_WORKER_GetStatus, HR_STR("")); /* for its `done` */
  HR_CHECK(hr_exchange_wait(&model, 20000));
  hr_mutex_init(&c->mu);
  hr_cond_init(&c->ended);
  c->call = (hr_worker_call_t){.method = HR_WORKER_RecvTensor, .done = model.call.done, .peer = hr_str(peer)};
  hr_exchange_end(&model);
  HR_CHECK_OK(hr_message_of_bytes(hr_alloc_copy(w.data, w.size), w.size, &c->call.request));
  hr_strbuf_deinit(&w);
  hr_worker_call(f->w, &c->call);
}

HR_TEST(requests_of_one_peer_have_a_limit_of_bytes) {
  fields_t f;
  hr_exchange_call_t calls[3], refused, others[2];
  if (open_fields(&f)) {
    hr_writer_t w = recv_request(1, key_of(&f, "y:0"), 0);
    const int64_t each = (int64_t)w.size;
    char says[120];
    hr_strbuf_deinit(&w);
    f.w->options.max_peer_bytes = 3 * each;
    for (int round = 0; round < 2; ++round) { /* what has ended counts no more */
      for (int i = 0; i < 3; ++i) start_as(&f, &calls[i], "one", 1);
      start_as(&f, &others[0], "two", 1);
      start_as(&f, &others[1], "", 1); /* this task's own master */
      start_as(&f, &refused, "one", 1);
      snprintf(says, sizeof says, "requests of %lld bytes at a time from one peer, the limit is %lld", (long long)(4 * each),
               (long long)(3 * each));
      if (HR_CHECK(hr_exchange_wait(&refused, 20000))) HR_CHECK_CODE(hr_status_retain(refused.status), HR_RESOURCE_EXHAUSTED, says);
      hr_exchange_end(&refused);
      HR_CHECK(!calls[0].done && !calls[1].done && !calls[2].done && !others[0].done && !others[1].done);
      hr_strbuf_init(&w);
      hr_writer_i64(&w, 1, 1);
      HR_CHECK_OK(ask(&f, HR_WORKER_CleanupGraph, &w));
      for (int i = 0; i < 3; ++i) {
        HR_CHECK(hr_exchange_wait(&calls[i], 20000));
        hr_exchange_end(&calls[i]);
      }
      for (int i = 0; i < 2; ++i) {
        HR_CHECK(hr_exchange_wait(&others[i], 20000));
        hr_exchange_end(&others[i]);
      }
    }
  }
  close_fields(&f);
}

HR_TEST(steps_that_are_only_asked_about_fill_half_of_the_table) {
  enum { MOST = 65536 };
  fields_t f;
  hr_worker_step_t* step = NULL;
  if (open_fields(&f)) {
    for (int64_t id = 1; id <= MOST; ++id) {
      const bool is_half = id == MOST / 2 + 1;
      if (is_half) HR_CHECK_CODE(hr_worker_step_get(f.w, id, false, &step), HR_RESOURCE_EXHAUSTED, "32768 steps are known here");
      if (!HR_CHECK_OK(hr_worker_step_get(f.w, id, id > MOST / 2, &step))) break;
      hr_worker_step_release(step); /* the table's reference is left */
    }
    HR_CHECK_CODE(hr_worker_step_get(f.w, MOST + 1, true, &step), HR_RESOURCE_EXHAUSTED, "65536 steps are known here");
    HR_CHECK_OK(hr_worker_step_get(f.w, 7, false, &step)); /* is there */
    HR_CHECK(step->id == 7 && f.w->steps.count == MOST);
    hr_worker_step_release(step);
    hr_worker_step_remove_of(f.w, NULL, NULL);
    HR_CHECK_EQ_I64(f.w->steps.count, 0);
  }
  close_fields(&f);
}

HR_TEST(steps_that_nobody_claims_go) {
  fields_t f;
  hr_worker_step_t *a = NULL, *b = NULL, *again = NULL;
  if (open_fields(&f) && HR_CHECK_OK(open_session(&f, "s", 0, false))) {
    uintptr_t session;
    HR_REQUIRE(hr_map_find(&f.w->sessions, HR_STR("s"), &session));
    HR_CHECK_OK(hr_worker_step_get(f.w, 1, false, &a));
    HR_CHECK_OK(hr_worker_step_get(f.w, 1, false, &again));
    HR_CHECK(a == again);
    hr_worker_step_leave(again); /* another one is still there */
    HR_CHECK_EQ_I64(f.w->steps.count, 1);
    hr_worker_step_leave(a);
    HR_CHECK_EQ_I64(f.w->steps.count, 0);
    hr_worker_step_leave(NULL);
    HR_CHECK_OK(hr_worker_step_get(f.w, 1, true, &a));
    HR_CHECK_OK(hr_worker_step_get(f.w, 2, true, &b));
    hr_worker_step_claim(a, (hr_worker_session_t*)session);
    HR_CHECK(a->session == (hr_worker_session_t*)session && !b->session);
    HR_CHECK(hr_worker_step_settle(f.w, b) && !hr_worker_step_settle(f.w, b)); /* nothing is left of it */
    HR_CHECK_EQ_I64(f.w->steps.count, 1);
    hr_worker_step_release(b);
    hr_worker_step_leave(a);
    HR_CHECK_EQ_I64(f.w->steps.count, 1); /* whoever claimed it ends it */
    static const int64_t ages_s[] = {0, 58, 61, 1000};
    for (int64_t i = 0; i < 4; ++i) {
      HR_CHECK_OK(hr_worker_step_get(f.w, 10 + i, true, &b));
      b->since_ns -= ages_s[i] * INT64_C(1000000000);
      hr_worker_step_release(b);
    }
    a->since_ns -= INT64_C(100000000000);
    hr_worker_step_remove_unclaimed(f.w); /* after a minute */
    HR_CHECK_EQ_I64(f.w->steps.count, 3);
    uintptr_t found;
    for (int64_t i = 0; i < 4; ++i)
      HR_CHECK_EQ_I64(hr_map_find_ptr(&f.w->steps, (const void*)(uintptr_t)(10 + i), &found), ages_s[i] < 60);
    hr_worker_step_remove_of(f.w, (hr_worker_session_t*)session, NULL);
    HR_CHECK_EQ_I64(f.w->steps.count, 2);
  }
  close_fields(&f);
}

/* A client's own cluster calls this task store 1: devices of the session go by that name, with the same incarnation and memory. */
HR_TEST(sessions_with_a_cluster_of_their_own) {
  fields_t f;
  if (open_fields(&f)) {
    hr_writer_t w = text_request(1, "own");
    hr_writer_mark_t def = hr_writer_begin(&w, 2, 100);
    hr_writer_mark_t cluster = hr_writer_begin(&w, 1, 80), job = hr_writer_begin(&w, 1, 60);
    hr_writer_str(&w, 1, HR_STR("store"));
    for (int64_t i = 0; i < 2; ++i) {
      hr_writer_mark_t task = hr_writer_begin(&w, 2, 20);
      hr_writer_i64(&w, 1, i);
      hr_writer_str(&w, 2, i ? HR_STR("here:1") : HR_STR("there:1"));
      hr_writer_end(&w, task, 20);
    }
    hr_writer_end(&w, job, 60);
    hr_writer_end(&w, cluster, 80);
    hr_writer_str(&w, 2, HR_STR("store"));
    hr_writer_i64(&w, 3, 1);
    hr_writer_end(&w, def, 100);
    uintptr_t found = 0;
    if (HR_CHECK_OK(ask(&f, HR_WORKER_CreateWorkerSession, &w)) && HR_CHECK(hr_map_find(&f.w->sessions, HR_STR("own"), &found))) {
      const hr_worker_session_t* s = (const hr_worker_session_t*)found;
      const hr_device_t *own = s->devices->devices[0], *real = hr_worker_devices(f.w)->devices[0];
      HR_CHECK_EQ_I64(s->devices->count, hr_worker_devices(f.w)->count);
      HR_CHECK_STR(own->name, "/job:store/replica:0/task:1/device:CPU:0");
      HR_CHECK(own->incarnation == real->incarnation && own->memory_limit == real->memory_limit && !own->is_remote);
      HR_CHECK(s->cluster != f.w->cluster && s->cluster->self == 1 && s->master < 0);
    }
    HR_CHECK_OK(close_session(&f, "own"));
    HR_CHECK_EQ_I64(f.w->sessions.count, 0);
  }
  close_fields(&f);
}

HR_TEST(isolated_sessions_are_confined_as_the_worker_is) {
  for (int isolated = 0; isolated < 2; ++isolated) {
    fields_t f;
    memset(&f, 0, sizeof f);
    hr_strbuf_init(&f.out);
    const hr_worker_options_t o = {.is_confined = true, .root = HR_STR("")};
    if (HR_CHECK(hr_exchange_worker("ps", &o, &f.cluster, &f.w)) && HR_CHECK_OK(open_session(&f, "s", 0, isolated))) {
      uintptr_t found = 0;
      HR_REQUIRE(hr_map_find(&f.w->sessions, HR_STR("s"), &found));
      hr_resources_t* r = ((hr_worker_session_t*)found)->resources;
      HR_CHECK_CODE(hr_resources_check_path(r, "/etc/passwd"), HR_PERMISSION_DENIED, "has no root folder");
    }
    close_fields(&f);
  }
}

HR_TEST_MAIN()
