/* SPDX-License-Identifier: Apache-2.0 */
/* A master and a worker whose answers are written here: what it is asked field by field, and what becomes of answers that are right, of
 * another release, refusals, or nonsense. The master's own task is a real one. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/master.h"
#include "dist/stage.h"

#define OWN "/job:worker/replica:0/task:0"
#define PS "/job:ps/replica:0/task:0"

typedef struct {
  stage_t stage;
  char handle[17];
  hr_cluster_t* cluster;
  hr_worker_t* worker;
  hr_master_t* master;
  hr_strbuf_t out;   /* the master's last answer */
} play_t;

/* --- life ----------------------------------------------------------------------------------------------------------------------------- */

#define STATUS_OF_PS "\x0a\x32\x0a\x25" PS "/device:CPU:0" "\x20\x63\x31\x05\x00\x00\x00\x00\x00\x00\x00"

static const stage_line_t good_lines[HR_WORKER_METHOD_COUNT] = {
    [HR_WORKER_GetStatus] = {.answer = BYTES(STATUS_OF_PS)},
    [HR_WORKER_RegisterGraph] = {.answer = BYTES("\x0a\x02H1")},
    [HR_WORKER_RunGraph] = {.answer = BYTES("\xc0\x3e\x01")}, /* settled */
    [HR_WORKER_RecvTensor] = {.answer = BYTES("\x0a\x08\x08\x01\x22\x04\x00\x00\x28\x42")}, /* 42 */
};

static bool open_play(play_t* p) {
  memset(p, 0, sizeof *p);
  hr_strbuf_init(&p->out);
  if (!stage_open(&p->stage, hr_worker_method_names, HR_WORKER_METHOD_COUNT, good_lines)) return false;
  hr_writer_t def;
  hr_strbuf_init(&def);
  hr_writer_mark_t cluster = hr_writer_begin(&def, 1, 200);
  stage_write_job(&def, "worker", "nowhere:1");
  stage_write_job(&def, "ps", p->stage.address);
  hr_writer_end(&def, cluster, 200);
  hr_writer_str(&def, 2, HR_STR("worker"));
  hr_writer_str(&def, 5, HR_STR("inproc"));
  hr_status_t status = hr_cluster_create(def.data, def.size, p->stage.transport, NULL, HR_STR(""), &p->cluster);
  hr_strbuf_deinit(&def);
  if (!HR_CHECK_OK(status)) return false;
  const hr_worker_options_t w = {.cluster = p->cluster};
  const hr_master_options_t m = {.cluster = p->cluster, .control_deadline_ms = 5000, .heartbeat_ms = 60000};
  if (!HR_CHECK_OK(hr_worker_create(&w, &p->worker))) return false;
  hr_master_options_t with = m;
  with.worker = p->worker;
  return HR_CHECK_OK(hr_master_create(&with, &p->master));
}

static void close_play(play_t* p) {
  if (p->master) hr_master_stop(p->master);
  hr_master_destroy(p->master);
  hr_worker_release(p->worker);
  hr_cluster_release(p->cluster);
  stage_close(&p->stage);
  hr_strbuf_deinit(&p->out);
}

static hr_status_t ask(play_t* p, hr_master_method_t method, hr_writer_t* take_request) {
  hr_message_t m = {0}, response = {0};
  hr_status_t status = hr_message_of_bytes(hr_alloc_copy(take_request->data, take_request->size), take_request->size, &m);
  hr_strbuf_deinit(take_request);
  if (!status) status = hr_master_run(p->master, method, &m, NULL, &response);
  p->out.size = 0;
  char* bytes = NULL;
  size_t size = 0;
  if (!status && HR_CHECK_OK(hr_message_join(&response, &bytes, &size))) hr_strbuf_add(&p->out, bytes, size);
  hr_free(bytes);
  hr_message_deinit(&response);
  return status;
}

/* x: a placeholder; y = x + x, z = x - x and n, which does nothing, on the other task. */
static void write_graph(hr_writer_t* w, uint32_t number) {
  hr_graph_t* g = NULL;
  hr_node_t *x = NULL, *made = NULL;
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32)};
  const hr_node_desc_t xd = {.op = HR_STR("Placeholder"), .name = HR_STR("x"), .attrs = attrs, .attr_count = 1};
  HR_CHECK_OK(hr_graph_create(&g));
  HR_CHECK_OK(hr_graph_add(g, &xd, &x));
  const hr_value_t in[] = {{x, 0}, {x, 0}};
  static const char* const rows[][2] = {{"Add", "y"}, {"Sub", "z"}, {"NoOp", "n"}};
  for (int i = 0; i < 3; ++i) {
    const hr_node_desc_t d = {.op = hr_str(rows[i][0]), .name = hr_str(rows[i][1]), .device = HR_STR("/job:ps/task:0"), .inputs = in,
                              .input_count = i < 2 ? 2 : 0};
    HR_CHECK_OK(hr_graph_add(g, &d, &made));
  }
  char* def = NULL;
  size_t size = 0;
  HR_CHECK_OK(hr_export_graph_def(g, 0, &def, &size));
  hr_writer_bytes(w, number, def, size);
  hr_free(def);
  hr_graph_destroy(g);
}

static hr_status_t open_session(play_t* p, hr_str_t config) {
  hr_writer_t w = stage_writer();
  write_graph(&w, 1);
  if (config.size) hr_writer_str(&w, 2, config);
  hr_status_t status = ask(p, HR_MASTER_CreateSession, &w);
  if (!status) snprintf(p->handle, sizeof p->handle, "%.*s", HR_STR_ARG(compare_field(hr_strbuf_view(&p->out), HR_KEY_SPAN(1))));
  return status;
}

static void write_scalar(hr_writer_t* w, uint32_t number, float value) {
  hr_tensor_t t;
  HR_CHECK_OK(hr_tensor_from_f32(value, &t));
  hr_writer_mark_t m = hr_writer_begin(w, number, 32);
  HR_CHECK_OK(hr_tensor_proto_encode(&t, w));
  hr_writer_end(w, m, 32);
  hr_tensor_release(&t);
}
static void write_feed(hr_writer_t* w, const char* name) { /* of 3 */
  hr_writer_mark_t m = hr_writer_begin(w, 2, 64);
  hr_writer_str(w, 1, hr_str(name));
  write_scalar(w, 2, 3);
  hr_writer_end(w, m, 64);
}

static hr_status_t run(play_t* p, const char* feed, const char* fetch, const char* target, hr_str_t options) {
  hr_writer_t w = stage_writer();
  hr_writer_str(&w, 1, hr_str(p->handle));
  if (*feed) write_feed(&w, feed);
  if (*fetch) hr_writer_str(&w, 3, hr_str(fetch));
  if (*target) hr_writer_str(&w, 4, hr_str(target));
  if (options.size) hr_writer_str(&w, 5, options);
  return ask(p, HR_MASTER_RunStep, &w);
}
static hr_status_t step(play_t* p) { return run(p, "x:0", "y:0", "", HR_STR("")); }
static void check_fetched(const play_t* p, float wanted) {
  const hr_str_t bytes = compare_field(compare_field(hr_strbuf_view(&p->out), HR_KEY_SPAN(1)), HR_KEY_SPAN(2));
  hr_tensor_t t = {0};
  if (HR_CHECK_OK(hr_tensor_proto_decode(hr_cursor_make(bytes.data, bytes.size), 1000, &t))) HR_CHECK_EQ_F64(*(float*)t.data, wanted);
  hr_tensor_release(&t);
}

/* --- what a worker is asked ----------------------------------------------------------------------------------------------------------- */

HR_TEST(what_a_step_asks_a_worker) {
  static const hr_str_t config = BYTES("\x52\x02\x18\x01"); /* graph_options { optimizer of old } */
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, config))) {
    HR_CHECK_EQ_U64(stage_request(&p.stage, HR_WORKER_GetStatus).size, 0);
    const hr_str_t session = stage_request(&p.stage, HR_WORKER_CreateWorkerSession);
    stage_fields(session, "1 2 5 6");
    HR_CHECK_VIEW(compare_field(session, HR_KEY_SPAN(1)), p.handle);
    HR_REQUIRE_OK(step(&p));
    check_fetched(&p, 42);
    const hr_str_t graph = stage_request(&p.stage, HR_WORKER_RegisterGraph);
    stage_fields(graph, "1 2 4 5 6 8");
    HR_CHECK_VIEW(compare_field(graph, HR_KEY_SPAN(1)), p.handle);
    HR_CHECK_VIEW(compare_field(graph, HR_KEY_SPAN(4)), "\x18\x01");
    HR_CHECK_EQ_U64(compare_field(graph, HR_KEY_SPAN(5)).size, 0);
    HR_CHECK_EQ_I64(compare_number(graph, HR_KEY_VARINT(6)), 1);
    HR_CHECK(hr_str_equal(compare_field(graph, HR_KEY_SPAN(8)), config));
    const hr_str_t first = stage_request(&p.stage, HR_WORKER_RunGraph);
    stage_fields(first, "1 2 5 8 9 10 11 1000");
    HR_CHECK_VIEW(compare_field(first, HR_KEY_SPAN(1)), "H1");
    HR_CHECK_EQ_U64(compare_field(first, HR_KEY_SPAN(5)).size, 0);
    HR_CHECK_VIEW(compare_field(first, HR_KEY_SPAN(8)), p.handle);
    HR_CHECK(compare_number(first, HR_KEY_VARINT(9)) == 1 && compare_number(first, HR_KEY_VARINT(10)) == 1);
    HR_CHECK(compare_number(first, HR_KEY_VARINT(11)) != 0 && compare_number(first, HR_KEY_VARINT(1000)) == 1);
    const int64_t id = compare_number(first, HR_KEY_VARINT(2));
    const hr_str_t value = stage_request(&p.stage, HR_WORKER_RecvTensor);
    HR_CHECK(id > 0 && compare_number(value, HR_KEY_VARINT(1)) == id && compare_number(value, HR_KEY_VARINT(7)) != 0);
    HR_CHECK(hr_str_has_prefix(compare_field(value, HR_KEY_SPAN(2)), HR_STR(PS "/device:CPU:0;0000000000000005;" OWN "/device:CPU:0;")));
    HR_REQUIRE_OK(step(&p));
    const hr_str_t second = stage_request(&p.stage, HR_WORKER_RunGraph);
    HR_CHECK(compare_number(second, HR_KEY_VARINT(2)) != id);
    HR_CHECK(compare_number(second, HR_KEY_VARINT(11)) != compare_number(first, HR_KEY_VARINT(11)));
    HR_CHECK(stage_count(&p.stage, HR_WORKER_RegisterGraph) == 1 && stage_count(&p.stage, HR_WORKER_RunGraph) == 2);
    HR_CHECK_EQ_I64(stage_count(&p.stage, HR_WORKER_CleanupGraph), 0);
    hr_writer_t w = stage_writer();
    hr_writer_str(&w, 1, hr_str(p.handle));
    HR_CHECK_OK(ask(&p, HR_MASTER_CloseSession, &w));
    const hr_str_t close = stage_request(&p.stage, HR_WORKER_DeleteWorkerSession);
    stage_fields(close, "1");
    HR_CHECK_VIEW(compare_field(close, HR_KEY_SPAN(1)), p.handle);
  }
  close_play(&p);
}

HR_TEST(a_worker_of_another_kind_is_told_to_clean_up) {
  static const struct { hr_str_t answer; bool cleans; } rows[] = {
      {BYTES(""), true}, {BYTES("\xc0\x3e\x00"), true}, {BYTES("\xc0\x3e\x01"), false}, {BYTES("\xc0\x3e\x02"), false}};
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, HR_STR("")))) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      stage_says(&p.stage, HR_WORKER_RunGraph, (stage_line_t){.answer = rows[i].answer});
      stage_forget(&p.stage);
      if (!HR_CHECK_OK(step(&p))) continue;
      const int64_t id = compare_number(stage_request(&p.stage, HR_WORKER_RunGraph), HR_KEY_VARINT(2));
      if (rows[i].cleans) {
        const hr_str_t request = stage_request(&p.stage, HR_WORKER_CleanupGraph);
        stage_fields(request, "1");
        HR_CHECK_EQ_I64(compare_number(request, HR_KEY_VARINT(1)), id);
      } else HR_CHECK_EQ_I64(stage_count(&p.stage, HR_WORKER_CleanupGraph), 0);
    }
  }
  close_play(&p);
}

HR_TEST(a_part_of_another_task_alone) {
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, HR_STR("")))) {
    HR_CHECK_OK(run(&p, "", "", "n", HR_STR("")));
    stage_fields(stage_request(&p.stage, HR_WORKER_RunGraph), "1 2 5 8 9 10 11 1000");
    stage_forget(&p.stage);
    HR_CHECK_OK(run(&p, "x:0", "", "n", HR_STR(""))); /* what is fed is for nothing there */
    stage_fields(stage_request(&p.stage, HR_WORKER_RunGraph), "1 2 5 8 9 10 11 1000");
    stage_says(&p.stage, HR_WORKER_RunGraph, (stage_line_t){.code = HR_DATA_LOSS, .says = "lost"});
    HR_CHECK_CODE(run(&p, "", "", "n", HR_STR("")), HR_DATA_LOSS, "lost");
  }
  close_play(&p);
}

HR_TEST(steps_that_are_watched) {
  static const struct { hr_str_t options; bool watches; } rows[] = {
      {BYTES("\x08\x03"), true}, {BYTES("\x08\x01"), true}, {BYTES(""), false}};
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, HR_STR("")))) {
    stage_says(&p.stage, HR_WORKER_RunGraph, (stage_line_t){.answer = BYTES("\x12\x0e\x0a\x0c\x0a\x0a" "some place" "\xc0\x3e\x01")});
    for (int i = 0; i < 3; ++i) {
      stage_forget(&p.stage);
      if (!HR_CHECK_OK(run(&p, "x:0", "y:0", "", rows[i].options))) continue;
      const hr_str_t opts = compare_field(stage_request(&p.stage, HR_WORKER_RunGraph), HR_KEY_SPAN(5));
      HR_CHECK(hr_str_equal(opts, rows[i].watches ? HR_STR("\x18\x01") : HR_STR("")));
      HR_CHECK_EQ_I64(memmem(p.out.data, p.out.size, "some place", 10) != NULL, rows[i].watches);
    }
  }
  close_play(&p);
}

static hr_status_t piece(play_t* p, hr_str_t handle, const char* feed, const char* fetch) {
  hr_writer_t w = stage_writer();
  hr_writer_str(&w, 1, hr_str(p->handle));
  if (*feed) write_feed(&w, feed);
  if (*fetch) hr_writer_str(&w, 3, hr_str(fetch));
  hr_writer_str(&w, 6, handle);
  return ask(p, HR_MASTER_RunStep, &w);
}

HR_TEST(pieces_of_a_partial_run) {
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, HR_STR("")))) {
    stage_says(&p.stage, HR_WORKER_RunGraph, (stage_line_t){.answer = HR_STR("")});
    hr_writer_t w = stage_writer();
    static const struct { uint32_t number; const char* name; } fields[] = {{2, "x:0"}, {3, "y:0"}, {3, "z:0"}};
    hr_writer_str(&w, 1, hr_str(p.handle));
    for (int i = 0; i < 3; ++i) hr_writer_str(&w, fields[i].number, hr_str(fields[i].name));
    HR_REQUIRE_OK(ask(&p, HR_MASTER_PartialRunSetup, &w));
    char handle[20];
    snprintf(handle, sizeof handle, "%.*s", HR_STR_ARG(compare_field(hr_strbuf_view(&p.out), HR_KEY_SPAN(1))));
    HR_REQUIRE_OK(piece(&p, hr_str(handle), "x:0", "y:0"));
    check_fetched(&p, 42);
    hr_str_t request = stage_request(&p.stage, HR_WORKER_RunGraph);
    stage_fields(request, "1 2 5 6 8 9 10 11");
    const int64_t id = compare_number(request, HR_KEY_VARINT(2));
    HR_CHECK_EQ_I64(compare_number(request, HR_KEY_VARINT(6)), 1);
    HR_CHECK_EQ_I64(stage_count(&p.stage, HR_WORKER_CleanupGraph), 0);
    HR_REQUIRE_OK(piece(&p, hr_str(handle), "", "z:0"));
    request = stage_request(&p.stage, HR_WORKER_RunGraph);
    stage_fields(request, "1 2 5 6 7 8 9 10 11");
    HR_CHECK(compare_number(request, HR_KEY_VARINT(7)) == 1 && compare_number(request, HR_KEY_VARINT(2)) == id);
    HR_CHECK_EQ_I64(compare_number(stage_request(&p.stage, HR_WORKER_CleanupGraph), HR_KEY_VARINT(1)), id);
    request = stage_request(&p.stage, HR_WORKER_DeregisterGraph);
    stage_fields(request, "1 2 3");
    HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(1)), "H1");
    HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(2)), p.handle);
    HR_CHECK_EQ_I64(compare_number(request, HR_KEY_VARINT(3)), 1);
  }
  close_play(&p);
}

HR_TEST(resets) {
  static const struct { hr_str_t request; bool is_asked; hr_str_t asked; } rows[] = {
      {BYTES(""), true, BYTES("")},
      {BYTES("\x0a\x01" "a"), true, BYTES("\x0a\x01" "a")},
      {BYTES("\x0a\x01" "a\x12\x07/job:ps\x0a\x02" "bc"), true, BYTES("\x0a\x01" "a\x0a\x02" "bc")},
      {BYTES("\x0a\x01" "a\x12\x0b/job:worker"), false, BYTES("")},
      {BYTES("\x12\x0b/job:worker\x12\x07/job:ps"), true, BYTES("")}};
  play_t p;
  if (open_play(&p)) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      hr_writer_t w = stage_writer();
      hr_strbuf_add_str(&w, rows[i].request);
      stage_forget(&p.stage);
      HR_CHECK_OK(ask(&p, HR_MASTER_Reset, &w));
      HR_CHECK_EQ_I64(stage_count(&p.stage, HR_WORKER_CleanupAll), rows[i].is_asked);
      if (rows[i].is_asked) HR_CHECK(hr_str_equal(stage_request(&p.stage, HR_WORKER_CleanupAll), rows[i].asked));
    }
    stage_says(&p.stage, HR_WORKER_CleanupAll, (stage_line_t){.code = HR_INTERNAL, .says = "stuck"});
    hr_writer_t w = stage_writer();
    HR_CHECK_CODE(ask(&p, HR_MASTER_Reset, &w), HR_INTERNAL, "stuck");
    hr_strbuf_add(&w, "\x0a", 1);
    HR_CHECK_CODE(ask(&p, HR_MASTER_Reset, &w), HR_INVALID_ARGUMENT, "");
  }
  close_play(&p);
}

/* --- what a worker answers ------------------------------------------------------------------------------------------------------------ */

HR_TEST(devices_that_a_worker_says_it_has) {
  static const struct { hr_str_t answer; int devices; hr_code_t code; const char* says; } rows[] = {
      {BYTES(STATUS_OF_PS), 1, HR_OK, ""},
      {BYTES("\x12\x00" STATUS_OF_PS "\x18\x01"), 1, HR_OK, ""},
      {BYTES(STATUS_OF_PS "\x0a\x27\x0a\x25" PS "/device:CPU:1"), 2, HR_OK, ""},
      {BYTES(""), 0, HR_OK, ""},
      {BYTES(STATUS_OF_PS "\x0a\x28\x0a\x26" "/job:ps/replica:0/task:01/device:CPU:0"), 0, HR_INVALID_ARGUMENT,
       "status of task " PS " at stage:"},
      {BYTES("\x0a\x2b\x0a\x29" OWN "/device:CPU:0"), 0, HR_INVALID_ARGUMENT,
       "it says that it has the device '" OWN "/device:CPU:0', which is"},
      {BYTES("\x0a\x00"), 0, HR_INVALID_ARGUMENT, "the device '', which is another task's: the address in the cluster is wrong"},
      {BYTES("\x0a\x02\x0a\x05"), 0, HR_INVALID_ARGUMENT, "status of task " PS},
      {BYTES("\x0a"), 0, HR_INVALID_ARGUMENT, "status of task " PS}};
  play_t p;
  if (open_play(&p)) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      stage_says(&p.stage, HR_WORKER_GetStatus, (stage_line_t){.answer = rows[i].answer});
      hr_writer_t w = stage_writer();
      hr_status_t status = ask(&p, HR_MASTER_ListDevices, &w);
      if (rows[i].code) {
        HR_CHECK_CODE(status, rows[i].code, rows[i].says);
        continue;
      }
      if (!HR_CHECK_OK(status)) continue;
      int remote = 0;
      for (hr_cursor_t c = hr_cursor_make(p.out.data, p.out.size); !hr_cursor_is_done(&c);) {
        hr_field_t f;
        HR_REQUIRE_OK(hr_cursor_next(&c, &f));
        if (f.key != HR_KEY_SPAN(2)) continue;
        const hr_str_t d = hr_cursor_str(f.span);
        stage_fields(d, remote ? "1 2 5 6 8" : "1 2 4 5 6 8"); /* no memory is told when none is known */
        HR_CHECK_VIEW(compare_field(d, HR_KEY_SPAN(1)), remote ? PS "/device:CPU:1" : PS "/device:CPU:0");
        HR_CHECK_EQ_I64(compare_number(d, HR_KEY_VARINT(4)), remote ? 0 : 99);
        HR_CHECK_EQ_I64(compare_number(d, HR_KEY_FIXED64(6)), remote ? 0 : 5);
        ++remote;
      }
      HR_CHECK_EQ_I64(remote, rows[i].devices);
    }
    stage_says(&p.stage, HR_WORKER_GetStatus, (stage_line_t){.code = HR_PERMISSION_DENIED, .says = "go away"});
    hr_writer_t w = stage_writer();
    HR_CHECK_CODE(ask(&p, HR_MASTER_ListDevices, &w), HR_PERMISSION_DENIED, "go away");
    HR_CHECK_CODE(open_session(&p, HR_STR("")), HR_PERMISSION_DENIED, "From " PS);
    HR_CHECK_EQ_I64(stage_count(&p.stage, HR_WORKER_CreateWorkerSession), 0);
  }
  close_play(&p);
}

HR_TEST(workers_that_refuse_a_session) {
  play_t p;
  if (open_play(&p)) {
    stage_says(&p.stage, HR_WORKER_CreateWorkerSession, (stage_line_t){.code = HR_RESOURCE_EXHAUSTED, .says = "full"});
    HR_CHECK_CODE(open_session(&p, HR_STR("")), HR_RESOURCE_EXHAUSTED, "From " PS);
    const hr_str_t made = stage_request(&p.stage, HR_WORKER_CreateWorkerSession);
    const hr_str_t gone = stage_request(&p.stage, HR_WORKER_DeleteWorkerSession);
    HR_CHECK(hr_str_equal(compare_field(made, HR_KEY_SPAN(1)), compare_field(gone, HR_KEY_SPAN(1))));
    stage_says(&p.stage, HR_WORKER_CreateWorkerSession, (stage_line_t){.code = HR_OK});
    HR_CHECK_OK(open_session(&p, HR_STR("")));
    HR_CHECK_OK(step(&p));
  }
  close_play(&p);
}

HR_TEST(graphs_that_are_refused_are_registered_by_the_next_step) {
  static const stage_line_t bad[] = {
      {.code = HR_UNAVAILABLE, .says = "not yet"}, {.answer = BYTES("\x0a")}, {.answer = BYTES("\x0a\x05" "H")}};
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, HR_STR("")))) {
    for (int i = 0; i < 3; ++i) {
      stage_says(&p.stage, HR_WORKER_RegisterGraph, bad[i]);
      HR_CHECK_CODE(step(&p), bad[i].code ? bad[i].code : HR_INVALID_ARGUMENT, bad[i].code ? "not yet" : "");
      HR_CHECK(stage_count(&p.stage, HR_WORKER_RegisterGraph) == i + 1 && stage_count(&p.stage, HR_WORKER_RunGraph) == 0);
    }
    stage_says(&p.stage, HR_WORKER_RegisterGraph, (stage_line_t){.answer = BYTES("\x0a\x02" "H2\x12\x01" "x\x0a\x02" "H3\x12\x01" "x")});
    HR_CHECK_OK(step(&p));
    HR_CHECK_OK(step(&p));
    HR_CHECK_VIEW(compare_field(stage_request(&p.stage, HR_WORKER_RunGraph), HR_KEY_SPAN(1)), "H3");
    HR_CHECK_EQ_I64(stage_count(&p.stage, HR_WORKER_RegisterGraph), 4);
    stage_says(&p.stage, HR_WORKER_RegisterGraph, (stage_line_t){.answer = HR_STR("")});
    HR_CHECK_OK(run(&p, "x:0", "z:0", "", HR_STR(""))); /* another graph; a worker whose handles are empty */
    HR_CHECK_EQ_U64(compare_field(stage_request(&p.stage, HR_WORKER_RunGraph), HR_KEY_SPAN(1)).size, 0);
  }
  close_play(&p);
}

HR_TEST(what_a_run_may_answer) {
  static const struct { stage_line_t line; hr_code_t code; const char* says; } rows[] = {
      {{.answer = BYTES("\x28\x00\x32\x04nope")}, HR_OK, ""},
      {{.answer = BYTES("\x28\x05\x32\x04nope")}, HR_NOT_FOUND, "From " PS},
      {{.answer = BYTES("\x32\x04nope\x28\x05\xc0\x3e\x01")}, HR_NOT_FOUND, "nope"},
      {{.answer = BYTES("\x28\x10")}, HR_UNAUTHENTICATED, "From " PS},
      {{.answer = BYTES("\x28\x11\x32\x04nope")}, HR_UNKNOWN, "nope"},
      {{.answer = BYTES("\x28\xff\xff\xff\xff\x0f")}, HR_UNKNOWN, "From " PS},
      {{.code = HR_FAILED_PRECONDITION, .says = "boom"}, HR_FAILED_PRECONDITION, "boom"},
      {{.answer = BYTES("\x28")}, HR_INVALID_ARGUMENT, "message ends within a field"},
      {{.answer = BYTES("\x0a\x11\x0a\x05" "other\x12\x08\x08\x01\x22\x04\x00\x00\x28\x42")}, HR_INTERNAL,
       "a worker answered with a value for 'other', which was not asked for"},
      {{.answer = BYTES("\x0a\x05\x0a\x03key")}, HR_INVALID_ARGUMENT, "'key' comes without a value"},
      {{.answer = BYTES("\x12\x02\x08\x01\x18\x05\x22\x00")}, HR_OK, ""}, /* statistics that nobody asked for */
  };
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(open_session(&p, HR_STR("")))) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      stage_says(&p.stage, HR_WORKER_RunGraph, rows[i].line);
      stage_forget(&p.stage);
      hr_status_t status = step(&p);
      if (rows[i].code) HR_CHECK_CODE(status, rows[i].code, rows[i].says);
      else if (HR_CHECK_OK(status)) check_fetched(&p, 42);
    }
    stage_says(&p.stage, HR_WORKER_RunGraph, good_lines[HR_WORKER_RunGraph]);
    stage_says(&p.stage, HR_WORKER_RecvTensor, (stage_line_t){.code = HR_OUT_OF_RANGE, .says = "no value"});
    HR_CHECK_CODE(step(&p), HR_OUT_OF_RANGE, "no value");
  }
  close_play(&p);
}
HR_TEST_MAIN()
