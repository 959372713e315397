/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of requests to a master one by one: callables, steps and pieces of partial runs, configurations and what workers are told of them;
 * a server's limits. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/master_calls.h"
#include "dist/master_state.h"

/* --- callables ------------------------------------------------------------------------------------------------------------------------ */

/* MakeCallable with one text field of CallableOptions besides feed and fetch. */
static hr_status_t make_with(calls_t* k, uint32_t number, hr_str_t text, bool fetches, int64_t id) {
  hr_writer_t w = request_of(k->handle);
  hr_writer_mark_t m = hr_writer_begin(&w, 2, 16);
  add_field(&w, 1, "x:0");
  if (fetches) add_field(&w, 2, "y:0");
  if (number) hr_writer_str(&w, number, text);
  hr_writer_end(&w, m, 16);
  hr_writer_i64(&w, 3, id);
  return call(k, HR_MASTER_MakeCallable, &w);
}

static hr_status_t run_callable(calls_t* k, int64_t handle, float value, int64_t id) {
  hr_writer_t w = request_of(k->handle);
  hr_writer_i64(&w, 2, handle);
  write_scalar(&w, 3, value);
  hr_writer_i64(&w, 4, id);
  return call(k, HR_MASTER_RunCallable, &w);
}

static int64_t answered_handle(const calls_t* k) { return compare_number(hr_strbuf_view(&k->out), HR_KEY_VARINT(1)); }

HR_TEST(options_of_callables) {
  static const struct { uint32_t number; const char* says; } refused[] = {{5, "tensor connections"}, {6, "feed or fetch devices"},
                                                                          {7, "feed or fetch devices"}};
  calls_t k;
  if (open_calls(&k)) {
    for (int i = 0; i < 3; ++i)
      HR_CHECK_CODE(make_with(&k, refused[i].number, HR_STR("\x0a\x01x"), true, 0), HR_UNIMPLEMENTED, refused[i].says);
    HR_CHECK_OK(make_with(&k, 8, HR_STR("field of another release"), true, 0));
    HR_CHECK_OK(make_with(&k, 3, HR_STR("y"), false, 0)); /* a target, nothing fetched */
    if (HR_CHECK_OK(run_callable(&k, answered_handle(&k), 1, 0)))
      HR_CHECK_EQ_U64(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1)).size, 0);
    HR_CHECK_CODE(make_with(&k, 3, HR_STR("z"), false, 0), HR_NOT_FOUND, "target 'z'");
    HR_CHECK_OK(make_with(&k, 4, HR_STR("\x08\x03"), true, 0)); /* run_options { trace_level: FULL_TRACE } */
    if (HR_CHECK_OK(run_callable(&k, answered_handle(&k), 4, 0))) {
      HR_CHECK_EQ_F64(scalar_of(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1))), 8);
      const hr_str_t metadata = compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(2));
      HR_CHECK(compare_field(metadata, HR_KEY_SPAN(1)).size > 0 && compare_field(metadata, HR_KEY_SPAN(3)).size == 0);
    }
    HR_CHECK_OK(make_with(&k, 4, HR_STR("\x28\x01"), true, 0)); /* output_partition_graphs */
    if (HR_CHECK_OK(run_callable(&k, answered_handle(&k), 4, 0)))
      HR_CHECK(compare_field(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(2)), HR_KEY_SPAN(3)).size > 0);
    HR_CHECK_OK(make_with(&k, 0, HR_STR(""), true, 0));
    if (HR_CHECK_OK(run_callable(&k, answered_handle(&k), 4, 0)))
      HR_CHECK_EQ_U64(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(2)).size, 0);
  }
  close_calls(&k);
}

HR_TEST(callables_are_told_apart_and_calls_come_once) {
  calls_t k;
  if (open_calls(&k)) {
    int64_t handles[3];
    for (int i = 0; i < 3; ++i) {
      HR_CHECK_OK(i == 1 ? make_with(&k, 3, HR_STR("y"), false, 0) : make_with(&k, 0, HR_STR(""), true, 0));
      handles[i] = answered_handle(&k);
    }
    HR_CHECK(handles[0] > 0 && handles[1] > handles[0] && handles[2] > handles[1]);
    HR_CHECK_OK(make_with(&k, 0, HR_STR(""), true, 55));
    HR_CHECK_CODE(make_with(&k, 0, HR_STR(""), true, 55), HR_ABORTED, "");
    HR_CHECK_OK(run_callable(&k, handles[0], 1, 56));
    HR_CHECK_CODE(run_callable(&k, handles[0], 1, 56), HR_ABORTED, "");
    hr_writer_t w = request_of(k.handle);
    hr_writer_i64(&w, 2, handles[1]);
    HR_CHECK_OK(call(&k, HR_MASTER_ReleaseCallable, &w));
    HR_CHECK_CODE(run_callable(&k, handles[1], 1, 0), HR_INVALID_ARGUMENT, "no callable with handle");
    HR_CHECK_OK(run_callable(&k, handles[2], 3, 0));
    HR_CHECK_EQ_F64(scalar_of(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1))), 6);
    HR_CHECK_OK(run_callable(&k, handles[0], 2, 0));
    HR_CHECK_EQ_F64(scalar_of(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1))), 4);
    w = request_of(k.handle);
    hr_writer_i64(&w, 2, handles[0]);
    write_scalar(&w, 3, 1);
    write_scalar(&w, 3, 1);
    HR_CHECK_CODE(call(&k, HR_MASTER_RunCallable, &w), HR_INVALID_ARGUMENT, "takes 1 values, 2 were given");
  }
  close_calls(&k);
}

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(endpoints_by_name) {
  static const struct { const char* name; hr_code_t code; const char* says; } rows[] = {
      {"y", HR_OK, ""}, {"y:0", HR_OK, ""}, {"y:1", HR_INVALID_ARGUMENT, "1 outputs"},
      {"y:-1", HR_INVALID_ARGUMENT, "is not an output's name"},
      {"y:", HR_INVALID_ARGUMENT, "is not an output's name"}, {"y:x", HR_INVALID_ARGUMENT, "is not an output's name"},
      {"y:2147483648", HR_INVALID_ARGUMENT, "is not an output's name"}, {"y:2147483647", HR_INVALID_ARGUMENT, "1 outputs"},
      {":0", HR_NOT_FOUND, "has no node ''"}, {"", HR_NOT_FOUND, "has no node ''"}, {"y:0:0", HR_NOT_FOUND, "has no node 'y:0'"}};
  calls_t k;
  if (open_calls(&k)) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      hr_writer_t w = request_of(k.handle);
      write_feed(&w, "x", 2);
      hr_writer_bytes(&w, 3, rows[i].name, strlen(rows[i].name));
      hr_status_t status = call(&k, HR_MASTER_RunStep, &w);
      if (rows[i].code) HR_CHECK_CODE(status, rows[i].code, rows[i].says);
      else HR_CHECK_OK(status);
    }
  }
  close_calls(&k);
}

HR_TEST(failures_in_the_answer_or_as_the_call_s_status) {
  calls_t k;
  if (open_calls(&k)) {
    for (int in_body = 0; in_body < 2; ++in_body) {
      hr_writer_t w = request_of(k.handle);
      add_field(&w, 3, "z:0");
      hr_writer_i64(&w, 7, in_body);
      hr_status_t status = call(&k, HR_MASTER_RunStep, &w);
      if (!in_body) {
        HR_CHECK_CODE(status, HR_NOT_FOUND, "z:0");
        continue;
      }
      HR_CHECK_OK(status);
      const hr_str_t out = hr_strbuf_view(&k.out), message = compare_field(out, HR_KEY_SPAN(4));
      HR_CHECK_EQ_I64(compare_number(out, HR_KEY_VARINT(3)), HR_NOT_FOUND);
      HR_CHECK(hr_str_find(message, 'z') >= 0 && compare_field(out, HR_KEY_SPAN(1)).size == 0);
    }
  }
  close_calls(&k);
}

/* --- partial runs --------------------------------------------------------------------------------------------------------------------- */

/* Names separated by blanks, each a field. */
static void add_fields(hr_writer_t* w, uint32_t number, const char* names) {
  char text[128];
  snprintf(text, sizeof text, "%s", names);
  for (char* at = strtok(text, " "); at; at = strtok(NULL, " ")) add_field(w, number, at);
}

static hr_status_t set_up(calls_t* k, const char* feeds, const char* fetches, const char* targets, int64_t id) {
  hr_writer_t w = request_of(k->handle);
  add_fields(&w, 2, feeds);
  add_fields(&w, 3, fetches);
  add_fields(&w, 4, targets);
  if (id) hr_writer_i64(&w, 5, id);
  return call(k, HR_MASTER_PartialRunSetup, &w);
}

/* Each feed has the value 3. */
static hr_status_t give(calls_t* k, const char* handle, const char* feeds, const char* fetches, const char* targets) {
  hr_writer_t w = request_of(k->handle);
  char text[128];
  snprintf(text, sizeof text, "%s", feeds);
  for (char* at = strtok(text, " "); at; at = strtok(NULL, " ")) write_feed(&w, at, 3);
  add_fields(&w, 3, fetches);
  add_fields(&w, 4, targets);
  add_field(&w, 6, handle);
  return call(k, HR_MASTER_RunStep, &w);
}

static bool open_two(calls_t* k) { /* x, y and, later, xb, yb */
  if (!open_calls(k)) return false;
  hr_writer_t w = request_of(k->handle);
  write_graph(&w, 2, "b");
  return HR_CHECK_OK(call(k, HR_MASTER_ExtendSession, &w));
}

static float fetched(const calls_t* k) {
  return scalar_of(compare_field(compare_field(hr_strbuf_view(&k->out), HR_KEY_SPAN(1)), HR_KEY_SPAN(2)));
}

HR_TEST(set_ups_name_all_once) {
  calls_t k;
  if (open_two(&k)) {
    HR_CHECK_CODE(set_up(&k, "x:0", "", "", 0), HR_INVALID_ARGUMENT, "nothing to run");
    HR_CHECK_CODE(set_up(&k, "x:0 xb:0 x:0", "y:0", "", 0), HR_INVALID_ARGUMENT, "'x:0' is fed more than once");
    HR_CHECK_CODE(set_up(&k, "x:0", "y:0 yb:0 y", "", 0), HR_INVALID_ARGUMENT, "'y:0' is fetched more than once");
    HR_CHECK_CODE(set_up(&k, "x:0", "z:0", "", 0), HR_NOT_FOUND, "z:0");
    HR_CHECK_CODE(set_up(&k, "x:0", "", "z", 0), HR_NOT_FOUND, "target 'z'");
    HR_CHECK_OK(set_up(&k, "x:0 xb:0", "y:0", "yb", 7));
    HR_CHECK_VIEW(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1)), "0");
    HR_CHECK_CODE(set_up(&k, "x:0", "y:0", "", 7), HR_ABORTED, "");
    HR_CHECK_OK(set_up(&k, "", "", "y", 8)); /* set up, though it cannot run */
    HR_CHECK_VIEW(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(1)), "1");
    HR_CHECK_CODE(give(&k, "2", "x:0", "y:0", ""), HR_INVALID_ARGUMENT, "no partial run with handle '2'");
    HR_CHECK_OK(give(&k, "0", "x:0", "y:0", ""));
    HR_CHECK_EQ_F64(fetched(&k), 6);
    HR_CHECK_OK(give(&k, "0", "xb:0", "", ""));
  }
  close_calls(&k);
}

HR_TEST(pieces_give_and_take_each_name_once) {
  calls_t k;
  if (open_two(&k)) {
    HR_CHECK_OK(set_up(&k, "xb:0 x:0", "yb:0 y:0", "", 0));
    static const struct { const char *feeds, *fetches, *targets, *says; } refused[] = {
        {"x:0", "", "y", "has targets"},
        {"y:0", "", "", "the feed 'y' was not specified in partial_run_setup"},
        {"x:0", "x:0", "", "the fetch 'x' was not specified in partial_run_setup"},
        {"x:0 x:0", "", "", "'x:0' is fed more than once"},
        {"x:0", "y:0 y:0", "", "'y:0' is fetched more than once"},
        {"", "y:0", "", "'y:0' cannot be fetched yet: it depends on 'x:0'"},
        {"x:0", "y:0 yb:0", "", "'yb:0' cannot be fetched yet: it depends on 'xb:0'"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) /* and nothing of it counts */
      HR_CHECK_CODE(give(&k, "0", refused[i].feeds, refused[i].fetches, refused[i].targets), HR_INVALID_ARGUMENT, refused[i].says);
    HR_CHECK_OK(give(&k, "0", "x:0", "y:0", ""));
    HR_CHECK_EQ_F64(fetched(&k), 6);
    HR_CHECK_EQ_U64(compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(2)).size, 0);
    HR_CHECK_CODE(give(&k, "0", "x:0", "", ""), HR_INVALID_ARGUMENT, "'x' has already been fed.");
    HR_CHECK_CODE(give(&k, "0", "xb:0", "y:0", ""), HR_INVALID_ARGUMENT, "'y' has already been fetched.");
    HR_CHECK_OK(give(&k, "0", "xb:0", "yb:0", ""));
    HR_CHECK_EQ_F64(fetched(&k), 6);
    HR_CHECK_CODE(give(&k, "0", "", "yb:0", ""), HR_INVALID_ARGUMENT, "the partial run is complete");
  }
  close_calls(&k);
}

HR_TEST(feeds_may_come_before_what_they_are_for) {
  calls_t k;
  if (open_two(&k)) {
    HR_CHECK_OK(set_up(&k, "x:0 xb:0", "y:0 yb:0", "", 0));
    HR_CHECK_OK(give(&k, "0", "xb:0 x:0", "", ""));
    HR_CHECK_OK(give(&k, "0", "", "yb:0", ""));
    HR_CHECK_EQ_F64(fetched(&k), 6);
    HR_CHECK_OK(give(&k, "0", "", "y:0", ""));
    HR_CHECK_EQ_F64(fetched(&k), 6);
  }
  close_calls(&k);
}

/* --- configurations ------------------------------------------------------------------------------------------------------------------- */

/* Opens a session with this ConfigProto and copies what task ps was asked to create; "" : it was not. */
static hr_status_t create_with(calls_t* k, hr_str_t config, hr_str_t target, hr_strbuf_t* out_asked) {
  task_cluster_forget(&k->c);
  hr_writer_t w = request_of(NULL);
  write_graph(&w, 1, "");
  hr_writer_str(&w, 2, config);
  if (target.size) hr_writer_str(&w, 3, target);
  hr_status_t status = call(k, HR_MASTER_CreateSession, &w);
  out_asked->size = 0;
  hr_mutex_lock(&k->c.mu);
  for (int64_t i = 0; i < k->c.calls.count; ++i)
    if (hr_str_is(k->c.calls.data[i].callee, "ps") && hr_str_has_suffix(k->c.calls.data[i].method, HR_STR("/CreateWorkerSession")))
      hr_strbuf_add_str(out_asked, k->c.calls.data[i].request);
  hr_mutex_unlock(&k->c.mu);
  return status;
}

static int count_fields(hr_str_t message, uint32_t key) {
  int n = 0;
  for (hr_cursor_t c = hr_cursor_make(message.data, message.size); !hr_cursor_is_done(&c);) {
    hr_field_t f;
    if (!HR_CHECK_OK(hr_cursor_next(&c, &f))) break;
    n += f.key == key;
  }
  return n;
}

#define BYTES(text) ((hr_str_t){text, sizeof(text) - 1})

HR_TEST(workers_are_told_what_the_configuration_says) {
  static const struct { hr_str_t config; bool asked, isolate; int devices; } rows[] = {
      {{"", 0}, true, false, 0},
      {{"\x78\x00", 2}, true, false, 0},
      {{"\x78\x01", 2}, true, true, 0},              /* isolate_session_state */
      {{"\x88\x01\x01", 3}, true, false, 2},         /* share_cluster_devices_in_session */
      {{"\x88\x01\x00", 3}, true, false, 0},
      {{"\x82\x01\x02\x50\x01", 5}, true, false, 2}, /* the same among the experimental fields */
      {{"\x82\x01\x02\x40\x01", 5}, true, false, 0}, /* state shared with a cluster of one's own: there is none */
      {{"\x22\x0b/job:worker", 13}, false, false, 0}, /* device_filters */
      {{"\x22\x07/job:ps", 9}, true, false, 0},
  };
  calls_t k;
  hr_strbuf_t asked;
  hr_strbuf_init(&asked);
  if (open_calls(&k)) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      if (!HR_CHECK_OK(create_with(&k, rows[i].config, HR_STR(""), &asked))) continue;
      const hr_str_t request = hr_strbuf_view(&asked), def = compare_field(request, HR_KEY_SPAN(2));
      bool good = HR_CHECK_EQ_I64(request.size > 0, rows[i].asked);
      good = HR_CHECK_EQ_I64(count_fields(request, HR_KEY_SPAN(4)), rows[i].devices) && good;
      good = HR_CHECK_EQ_I64(compare_number(request, HR_KEY_VARINT(3)), rows[i].isolate) && good;
      if (!good) printf("  row %d\n", (int)i);
      if (!rows[i].asked) continue;
      HR_CHECK_EQ_U64(compare_field(request, HR_KEY_SPAN(1)).size, 16);
      HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(5)), "/job:worker/replica:0/task:0");
      HR_CHECK_EQ_U64(compare_number(request, HR_KEY_VARINT(6)), hr_worker_devices(k.c.tasks[0].worker)->devices[0]->incarnation);
      HR_CHECK_VIEW(compare_field(def, HR_KEY_SPAN(2)), "ps");
      HR_CHECK_VIEW(compare_field(def, HR_KEY_SPAN(5)), "inproc");
      HR_CHECK(count_fields(def, HR_KEY_SPAN(1)) == 0 && count_fields(def, HR_KEY_VARINT(3)) == 0);
    }
    HR_CHECK_CODE(create_with(&k, BYTES("\x22\x03" "bad"), HR_STR(""), &asked), HR_INVALID_ARGUMENT, "device filter 'bad'");
  }
  hr_strbuf_deinit(&asked);
  close_calls(&k);
}

/* A ClusterDef that calls the tasks trainer 2 and store 1, behind the tag of ConfigProto.cluster_def. */
static void write_own_cluster(hr_writer_t* w, const calls_t* k) {
  static const char* const names[] = {"trainer", "store"};
  hr_writer_mark_t cluster = hr_writer_begin(w, 14, 100);
  for (int i = 0; i < 2; ++i) {
    hr_writer_mark_t job = hr_writer_begin(w, 1, 50);
    hr_writer_str(w, 1, hr_str(names[i]));
    hr_writer_mark_t task = hr_writer_begin(w, 2, 30);
    hr_writer_i64(w, 1, 2 - i);
    hr_writer_str(w, 2, hr_str(k->c.tasks[i].address));
    hr_writer_end(w, task, 30);
    hr_writer_end(w, job, 50);
  }
  hr_writer_end(w, cluster, 100);
}

HR_TEST(a_cluster_of_the_client_s_own) {
  calls_t k;
  hr_strbuf_t asked, config;
  char target[100];
  hr_strbuf_init(&asked);
  if (open_calls(&k)) {
    snprintf(target, sizeof target, "grpc://%s", k.c.tasks[0].address);
    for (int shares = 0; shares < 2; ++shares) {
      hr_strbuf_init(&config);
      write_own_cluster(&config, &k);
      if (shares) hr_strbuf_add_str(&config, BYTES("\x82\x01\x02\x40\x01"));
      if (HR_CHECK_OK(create_with(&k, hr_strbuf_view(&config), hr_str(target), &asked))) {
        const hr_str_t request = hr_strbuf_view(&asked), def = compare_field(request, HR_KEY_SPAN(2));
        HR_CHECK_EQ_I64(compare_number(request, HR_KEY_VARINT(3)), !shares); /* else its variables would meet other clusters' */
        HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(5)), "/job:trainer/replica:0/task:2");
        HR_CHECK_VIEW(compare_field(def, HR_KEY_SPAN(2)), "store");
        HR_CHECK_EQ_I64(compare_number(def, HR_KEY_VARINT(3)), 1);
        HR_CHECK_EQ_I64(count_fields(compare_field(def, HR_KEY_SPAN(1)), HR_KEY_SPAN(1)), 2);
      }
      hr_strbuf_deinit(&config);
    }
    hr_strbuf_init(&config);
    write_own_cluster(&config, &k);
    HR_CHECK_CODE(create_with(&k, hr_strbuf_view(&config), HR_STR("grpc://elsewhere:1"), &asked), HR_INVALID_ARGUMENT,
                  "has no task at 'elsewhere:1'");
    hr_strbuf_deinit(&config);
  }
  hr_strbuf_deinit(&asked);
  close_calls(&k);
}

HR_TEST(devices_are_described) {
  calls_t k;
  if (open_calls(&k)) {
    hr_writer_t w = request_of(NULL);
    HR_CHECK_OK(call(&k, HR_MASTER_ListDevices, &w));
    for (uint32_t local = 1; local <= 2; ++local) { /* of this task, and of the other */
      const hr_str_t d = compare_field(hr_strbuf_view(&k.out), HR_KEY_SPAN(local));
      HR_CHECK_VIEW(compare_field(d, HR_KEY_SPAN(2)), "CPU");
      HR_CHECK_EQ_I64(compare_number(d, HR_KEY_VARINT(4)), INT64_C(256) << 20);
      HR_CHECK_EQ_I64(count_fields(d, HR_KEY_SPAN(5)), 1);
      HR_CHECK_EQ_I64(count_fields(d, HR_KEY_FIXED64(6)), 1);
      HR_CHECK_EQ_I64(compare_number(d, HR_KEY_VARINT(8)), -1);
    }
  }
  close_calls(&k);
}

/* --- limits --------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t open_another(calls_t* k, char handle[17]) {
  hr_writer_t w = request_of(NULL);
  write_graph(&w, 1, "");
  hr_status_t status = call(k, HR_MASTER_CreateSession, &w);
  if (!status) snprintf(handle, 17, "%.*s", HR_STR_ARG(compare_field(hr_strbuf_view(&k->out), HR_KEY_SPAN(1))));
  return status;
}

HR_TEST(sessions_and_nodes_have_limits) {
  calls_t k;
  char handle[17], none[17];
  if (open_calls(&k)) { /* which is one */
    hr_master_options_t* o = &k.c.tasks[0].master->options;
    o->max_sessions = 2;
    for (int round = 0; round < 3; ++round) {
      HR_CHECK_OK(open_another(&k, handle));
      HR_CHECK_CODE(open_another(&k, none), HR_RESOURCE_EXHAUSTED, "2 sessions are open on this server");
      hr_writer_t w = request_of(handle);
      HR_CHECK_OK(call(&k, HR_MASTER_CloseSession, &w));
    }
    o->max_sessions = 0;
    o->max_graph_nodes = 1;
    HR_CHECK_CODE(open_another(&k, none), HR_RESOURCE_EXHAUSTED, "the graph has 2 nodes, the limit of this server is 1");
    o->max_graph_nodes = 2;
    HR_CHECK_OK(open_another(&k, handle));
    hr_writer_t w = request_of(handle);
    write_graph(&w, 2, "b");
    HR_CHECK_CODE(call(&k, HR_MASTER_ExtendSession, &w), HR_RESOURCE_EXHAUSTED, "the graph has 4 nodes");
  }
  close_calls(&k);
}

HR_TEST(steps_have_a_limit) {
  calls_t k;
  if (open_calls(&k)) {
    hr_master_t* m = k.c.tasks[0].master;
    m->options.max_steps = 2;
    for (int round = 0; round < 3; ++round) {
      check_step(&k, "x:0", "y:0", 3, 6); /* each ends */
      HR_CHECK_OK(hr_master_session_begin_step(m));
      check_step(&k, "x:0", "y:0", 3, 6);
      HR_CHECK_OK(hr_master_session_begin_step(m));
      hr_writer_t w = request_of(k.handle);
      write_feed(&w, "x:0", 1);
      add_field(&w, 3, "y:0");
      HR_CHECK_CODE(call(&k, HR_MASTER_RunStep, &w), HR_RESOURCE_EXHAUSTED, "2 steps run on this server");
      hr_master_session_end_step(m);
      hr_master_session_end_step(m);
    }
  }
  close_calls(&k);
}

/* --- producers ------------------------------------------------------------------------------------------------------------------------ */

HR_TEST(an_extension_is_of_the_graph_s_producer) {
  static const struct { hr_str_t def; hr_code_t code; const char* says; } rows[] = {
      {{"", 0}, HR_OK, ""},
      {{"\x22\x00", 2}, HR_OK, ""},                                   /* versions that say nothing */
      {{"\x22\x02\x10\x05", 4}, HR_OK, ""},                           /* min_consumer */
      {{"\x22\x02\x08\x63", 4}, HR_INVALID_ARGUMENT, "its extension by one of version 99"},
      {{"\x2a\x02\x08\x63", 4}, HR_OK, ""},                           /* another field */
      {{"\x22\x03\x08\x63", 4}, HR_INVALID_ARGUMENT, ""},             /* damaged */
  };
  calls_t k;
  if (open_calls(&k)) {
    int64_t version = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      hr_writer_t w = request_of(k.handle);
      hr_writer_bytes(&w, 2, rows[i].def.data, rows[i].def.size);
      hr_writer_i64(&w, 3, version);
      hr_status_t status = call(&k, HR_MASTER_ExtendSession, &w);
      if (hr_status_code(status) != rows[i].code) printf("  row %d\n", (int)i);
      if (rows[i].code) HR_CHECK_CODE(status, rows[i].code, rows[i].says);
      else if (HR_CHECK_OK(status)) HR_CHECK_EQ_I64(compare_number(hr_strbuf_view(&k.out), HR_KEY_VARINT(4)), ++version);
    }
  }
  close_calls(&k);
}
HR_TEST_MAIN()
