/* SPDX-License-Identifier: Apache-2.0 */
/* A remote session and a master whose answers are written here: what it is asked field by field, what is asked again and how often, and
 * what becomes of answers that are right, incomplete, refusals, or nonsense. */
#define HR_TEST_LEAKS_CHECKED
#include "dist/master.h"
#include "dist/stage.h"
#include "session/session.h"

typedef struct {
  stage_t stage;
  hr_graph_t* g;
  hr_node_t *x, *y, *n;
  hr_session_t* s;
  char target[100];
} play_t;

#define VALUE(name, bytes) "\x0a\x0f\x0a\x03" name "\x12\x08\x08\x01\x22\x04" bytes /* a float scalar */
#define ONE "\x00\x00\x80\x3f"
#define TWO "\x00\x00\x00\x40"

static const stage_line_t good_lines[HR_MASTER_METHOD_COUNT] = {
    [HR_MASTER_CreateSession] = {.answer = BYTES("\x0a\x02S1\x10\x07")},
    [HR_MASTER_ExtendSession] = {.answer = BYTES("\x20\x09")},
    [HR_MASTER_RunStep] = {.answer = BYTES(VALUE("y:0", TWO))},
    [HR_MASTER_PartialRunSetup] = {.answer = BYTES("\x0a\x02P5\x12\x01x")},
};

static hr_node_t* add_node(hr_graph_t* g, const char* op, const char* name, int inputs, hr_node_t* x) {
  const hr_value_t in[] = {{x, 0}, {x, 0}};
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32)};
  const hr_node_desc_t d = {.op = hr_str(op), .name = hr_str(name), .inputs = in, .input_count = inputs, .attrs = attrs,
                            .attr_count = strcmp(op, "Placeholder") == 0};
  hr_node_t* made = NULL;
  HR_CHECK_OK(hr_graph_add(g, &d, &made));
  return made;
}

static bool open_with(play_t* p, hr_str_t config, int64_t timeout_ms) {
  memset(p, 0, sizeof *p);
  if (!stage_open(&p->stage, hr_master_method_names, HR_MASTER_METHOD_COUNT, good_lines)) return false;
  snprintf(p->target, sizeof p->target, "inproc://%s", p->stage.address);
  HR_CHECK_OK(hr_graph_create(&p->g));
  p->x = add_node(p->g, "Placeholder", "x", 0, NULL);
  p->y = add_node(p->g, "Add", "y", 2, p->x);
  p->n = add_node(p->g, "NoOp", "n", 0, NULL);
  hr_session_options_t o;
  hr_session_options_init(&o);
  o.target = hr_str(p->target);
  o.config = config;
  o.timeout_ms = timeout_ms;
  return HR_CHECK_OK(hr_session_create(p->g, &o, &p->s));
}
static bool open_play(play_t* p) { return open_with(p, HR_STR(""), 0); }

static void close_play(play_t* p) {
  hr_session_destroy(p->s);
  hr_graph_destroy(p->g);
  stage_close(&p->stage);
}

/* Feeds x with 1, fetches y as often as asked, then x:0 `more` times. */
static hr_status_t run(play_t* p, const hr_run_options_t* options, int ys, int xs, bool has_target, hr_tensor_t* out, hr_str_t* metadata) {
  const hr_value_t feeds[] = {{p->x, 0}};
  hr_value_t fetches[6];
  hr_tensor_t value;
  char* bytes = (char*)1;
  size_t size = 99;
  HR_CHECK_OK(hr_tensor_from_f32(1, &value));
  for (int i = 0; i < ys + xs; ++i) fetches[i] = (hr_value_t){i < ys ? p->y : p->x, 0};
  const hr_run_t r = {feeds, &value, 1, fetches, ys + xs, &p->n, has_target};
  hr_status_t status = hr_session_run(p->s, options, &r, out, metadata ? &bytes : NULL, metadata ? &size : NULL);
  if (metadata) *metadata = (hr_str_t){bytes, size};
  hr_tensor_release(&value);
  return status;
}
static hr_status_t run_once(play_t* p) {
  hr_tensor_t out = {0};
  hr_status_t status = run(p, NULL, 1, 0, false, &out, NULL);
  if (!status) HR_CHECK_EQ_F64(*(float*)out.data, 2);
  hr_tensor_release(&out);
  return status;
}

/* --- what a master is asked ----------------------------------------------------------------------------------------------------------- */

HR_TEST(the_graph_goes_with_the_first_step_and_news_with_the_next) {
  static const hr_str_t config = BYTES("\x78\x01");
  play_t p;
  if (open_with(&p, config, 0)) {
    HR_CHECK_EQ_I64(p.stage.count, 0);
    HR_REQUIRE_OK(run_once(&p));
    const hr_str_t create = stage_request(&p.stage, HR_MASTER_CreateSession);
    stage_fields(create, "1 2 3");
    HR_CHECK(hr_str_equal(compare_field(create, HR_KEY_SPAN(2)), config));
    HR_CHECK_VIEW(compare_field(create, HR_KEY_SPAN(3)), p.target);
    const hr_str_t def = compare_field(create, HR_KEY_SPAN(1));
    stage_fields(def, "1 1 1 4 2"); /* three nodes, versions, an empty library */
    HR_REQUIRE_OK(run_once(&p));
    HR_CHECK_EQ_I64(p.stage.count, 3);
    static const struct { const char *fields, *answer; size_t size; int64_t version; } rows[] = {
        {"1 2 3", "\x20\x09", 2, 7}, {"1 2 3", "\x20\x00", 2, 9}, {"1 2", "\x10\x05\x20\x0b", 4, 0}, {"1 2 3", "", 0, 11},
        {"1 2", "", 0, 0}};
    for (int i = 0; i < 5; ++i) {
      char name[10];
      snprintf(name, sizeof name, "more%d", i);
      (void)add_node(p.g, "NoOp", name, 0, NULL);
      stage_says(&p.stage, HR_MASTER_ExtendSession, (stage_line_t){.answer = (hr_str_t){rows[i].answer, rows[i].size}});
      stage_forget(&p.stage);
      HR_REQUIRE_OK(run_once(&p));
      HR_CHECK_EQ_I64(p.stage.count, 2);
      const hr_str_t extend = stage_request(&p.stage, HR_MASTER_ExtendSession);
      stage_fields(extend, rows[i].fields);
      HR_CHECK_VIEW(compare_field(extend, HR_KEY_SPAN(1)), "S1");
      HR_CHECK_EQ_I64(compare_number(extend, HR_KEY_VARINT(3)), rows[i].version);
      const hr_str_t news = compare_field(extend, HR_KEY_SPAN(2));
      HR_CHECK(memmem(news.data, news.size, name, strlen(name)) && !memmem(news.data, news.size, "Placeholder", 11));
    }
    (void)add_node(p.g, "NoOp", "last", 0, NULL); /* news that are refused go again */
    for (int i = 0; i < 2; ++i) {
      stage_says(&p.stage, HR_MASTER_ExtendSession, (stage_line_t){.code = i ? HR_OK : HR_INTERNAL, .says = "not now"});
      stage_forget(&p.stage);
      if (i) HR_CHECK_OK(run_once(&p));
      else HR_CHECK_CODE(run_once(&p), HR_INTERNAL, "not now");
      const hr_str_t news = compare_field(stage_request(&p.stage, HR_MASTER_ExtendSession), HR_KEY_SPAN(2));
      HR_CHECK(memmem(news.data, news.size, "last", 4) != NULL);
      HR_CHECK_EQ_I64(stage_count(&p.stage, HR_MASTER_RunStep), i);
    }
  }
  close_play(&p);
}

HR_TEST(steps_are_asked_for_by_name) {
  play_t p;
  hr_tensor_t out[5] = {{0}};
  if (open_play(&p)) {
    stage_says(&p.stage, HR_MASTER_RunStep, (stage_line_t){.answer = BYTES(VALUE("x:0", ONE) VALUE("y:0", TWO))});
    HR_REQUIRE_OK(run(&p, NULL, 2, 3, true, out, NULL));
    for (int i = 0; i < 5; ++i) {
      HR_CHECK_EQ_F64(*(float*)out[i].data, i < 2 ? 2 : 1);
      for (int j = 0; j < i; ++j) HR_CHECK(out[i].data != out[j].data); /* the caller's own */
    }
    const hr_str_t request = stage_request(&p.stage, HR_MASTER_RunStep);
    stage_fields(request, "1 2 3 3 4 5 7 8");
    HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(1)), "S1");
    HR_CHECK_VIEW(compare_field(compare_field(request, HR_KEY_SPAN(2)), HR_KEY_SPAN(1)), "x:0");
    HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(3)), "x:0");
    HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(4)), "n");
    HR_CHECK_EQ_U64(compare_field(request, HR_KEY_SPAN(5)).size, 0);
    HR_CHECK(compare_number(request, HR_KEY_VARINT(7)) == 1 && compare_number(request, HR_KEY_VARINT(8)) != 0);
    for (int i = 0; i < 5; ++i) hr_tensor_release(&out[i]);
    stage_says(&p.stage, HR_MASTER_RunStep, (stage_line_t){.answer = HR_STR("")});
    HR_CHECK_OK(run(&p, NULL, 0, 0, true, out, NULL));
    stage_fields(stage_request(&p.stage, HR_MASTER_RunStep), "1 2 4 5 7 8");
    HR_CHECK_CODE(run(&p, NULL, 0, 0, false, out, NULL), HR_INVALID_ARGUMENT, "nothing to run");
  }
  close_play(&p);
}

HR_TEST(options_of_steps) {
  static const struct { hr_run_options_t options; int64_t session_ms; hr_str_t sent; } rows[] = {
      {{0}, 0, BYTES("")},
      {{.trace_level = 3}, 0, BYTES("\x08\x03")},
      {{.timeout_ms = 50000}, 0, BYTES("\x10\xd0\x86\x03")},
      {{.timeout_ms = -1}, 60000, BYTES("\x10\xe0\xd4\x03")},
      {{.timeout_ms = -1}, 0, BYTES("")},
      {{.output_partition_graphs = true}, 0, BYTES("\x28\x01")},
      {{0}, 60000, BYTES("\x10\xe0\xd4\x03")},
      {{.timeout_ms = 1000, .trace_level = 1, .output_partition_graphs = true}, 60000, BYTES("\x08\x01\x10\xe8\x07\x28\x01")}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    play_t p;
    hr_tensor_t out = {0};
    if (open_with(&p, HR_STR(""), rows[i].session_ms)) {
      HR_CHECK_OK(run(&p, &rows[i].options, 1, 0, false, &out, NULL));
      const hr_str_t sent = compare_field(stage_request(&p.stage, HR_MASTER_RunStep), HR_KEY_SPAN(5));
      if (!HR_CHECK(hr_str_equal(sent, rows[i].sent))) printf("  row %d\n", (int)i);
      hr_tensor_release(&out);
    }
    close_play(&p);
  }
}

HR_TEST(partial_runs) {
  play_t p;
  hr_tensor_t out[2] = {{0}}, value;
  if (open_play(&p)) {
    const hr_value_t feeds[] = {{p.x, 0}}, fetches[] = {{p.y, 0}, {p.x, 0}};
    HR_CHECK_OK(hr_tensor_from_f32(1, &value));
    const hr_run_t all = {feeds, NULL, 1, fetches, 2, &p.n, 1}, first = {feeds, &value, 1, fetches, 1, NULL, 0};
    const hr_run_t none = {feeds, &value, 1, NULL, 0, NULL, 0};
    hr_partial_run_t* partial = NULL;
    HR_REQUIRE_OK(hr_session_partial_setup(p.s, &all, &partial));
    const hr_str_t setup = stage_request(&p.stage, HR_MASTER_PartialRunSetup);
    stage_fields(setup, "1 2 3 3 4 5");
    HR_CHECK_VIEW(compare_field(setup, HR_KEY_SPAN(1)), "S1");
    HR_CHECK_VIEW(compare_field(setup, HR_KEY_SPAN(2)), "x:0");
    HR_CHECK_VIEW(compare_field(setup, HR_KEY_SPAN(3)), "x:0");
    HR_CHECK_VIEW(compare_field(setup, HR_KEY_SPAN(4)), "n");
    HR_CHECK(compare_number(setup, HR_KEY_VARINT(5)) != 0);
    (void)add_node(p.g, "NoOp", "later", 0, NULL); /* a piece brings no news */
    HR_REQUIRE_OK(hr_partial_run_step(partial, &first, out));
    HR_CHECK_EQ_F64(*(float*)out[0].data, 2);
    stage_fields(stage_request(&p.stage, HR_MASTER_RunStep), "1 2 3 5 6 7 8");
    HR_CHECK_VIEW(compare_field(stage_request(&p.stage, HR_MASTER_RunStep), HR_KEY_SPAN(6)), "P5");
    stage_says(&p.stage, HR_MASTER_RunStep, (stage_line_t){.answer = HR_STR("")});
    HR_CHECK_OK(hr_partial_run_step(partial, &none, out + 1)); /* a piece may give only */
    HR_CHECK_EQ_I64(stage_count(&p.stage, HR_MASTER_ExtendSession), 0);
    hr_partial_run_destroy(partial);
    stage_says(&p.stage, HR_MASTER_PartialRunSetup, (stage_line_t){.answer = BYTES("\x0a\x05" "P")});
    HR_CHECK_CODE(hr_session_partial_setup(p.s, &all, &partial), HR_INVALID_ARGUMENT, "");
    hr_tensor_release(&out[0]);
    hr_tensor_release(&value);
  }
  close_play(&p);
}

/* --- what a master answers ------------------------------------------------------------------------------------------------------------ */

HR_TEST(values_that_are_answered) {
  static const struct { hr_str_t answer; int xs; hr_code_t code; const char* says; } rows[] = {
      {BYTES(VALUE("y:0", TWO)), 0, HR_OK, ""},
      {BYTES(VALUE("y:0", TWO) VALUE("x:0", ONE)), 1, HR_OK, ""},
      {BYTES(VALUE("x:0", ONE) VALUE("y:0", TWO)), 2, HR_OK, ""},
      {BYTES(VALUE("y:0", TWO)), 1, HR_INTERNAL, "the server did not answer with a value for 'x:0'"},
      {BYTES(VALUE("x:0", ONE)), 1, HR_INTERNAL, "the server did not answer with a value for 'y:0'"},
      {BYTES(""), 0, HR_INTERNAL, "the server did not answer with a value for 'y:0'"},
      {BYTES(VALUE("y:0", TWO) VALUE("x:0", ONE)), 0, HR_INTERNAL, "a value for 'x:0', which was not asked for"},
      {BYTES(VALUE("y:0", TWO) VALUE("y:0", TWO)), 0, HR_INTERNAL, "a value for 'y:0', which was not asked for"},
      {BYTES("\x0a\x05\x0a\x03y:0"), 0, HR_INVALID_ARGUMENT, "'y:0' comes without a value"},
      {BYTES(VALUE("y:0", TWO) "\x0a"), 0, HR_INVALID_ARGUMENT, "message ends within a field"},
      {BYTES("\x18\x05\x22\x04nope"), 0, HR_NOT_FOUND, "nope"},
      {BYTES(VALUE("y:0", TWO) "\x22\x04nope\x18\x05"), 0, HR_NOT_FOUND, "nope"},
      {BYTES("\x18\x10"), 0, HR_UNAUTHENTICATED, ""},
      {BYTES("\x18\x11\x22\x04nope"), 0, HR_UNKNOWN, "nope"},
      {BYTES("\x18\xff\xff\xff\xff\x0f"), 0, HR_UNKNOWN, ""},
      {BYTES("\x18\x00\x22\x04nope" VALUE("y:0", TWO) "\x28\x01"), 0, HR_OK, ""},
  };
  play_t p;
  if (open_play(&p)) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      hr_tensor_t out[3] = {{0}};
      hr_str_t metadata;
      stage_says(&p.stage, HR_MASTER_RunStep, (stage_line_t){.answer = rows[i].answer});
      stage_forget(&p.stage);
      hr_status_t status = run(&p, NULL, 1, rows[i].xs, false, out, &metadata);
      if (rows[i].code) {
        HR_CHECK_CODE(status, rows[i].code, rows[i].says);
        HR_CHECK(metadata.data == NULL);
      } else if (HR_CHECK_OK(status)) {
        for (int j = 0; j <= rows[i].xs; ++j) HR_CHECK_EQ_F64(*(float*)out[j].data, j ? 1 : 2);
        HR_CHECK(metadata.data && metadata.size == 0); /* none was told */
      }
      for (int j = 0; j < 3; ++j) HR_CHECK((out[j].buffer != NULL) == (!rows[i].code && j <= rows[i].xs));
      for (int j = 0; j < 3; ++j) hr_tensor_release(&out[j]);
      hr_free((void*)(uintptr_t)metadata.data);
    }
    hr_tensor_t out = {0};
    hr_str_t metadata;
    stage_says(&p.stage, HR_MASTER_RunStep,
               (stage_line_t){.answer = BYTES("\x12\x02\x0a\x00" VALUE("y:0", TWO) "\x12\x04\x0a\x00\x0a\x00")});
    HR_CHECK_OK(run(&p, NULL, 1, 0, false, &out, &metadata)); /* the first one told */
    HR_CHECK(hr_str_equal(metadata, (hr_str_t)BYTES("\x0a\x00")));
    hr_free((void*)(uintptr_t)metadata.data);
    hr_tensor_release(&out);
    HR_CHECK_OK(run(&p, NULL, 1, 0, false, &out, NULL)); /* nobody wants to know */
    hr_tensor_release(&out);
  }
  close_play(&p);
}

HR_TEST(servers_that_are_away_are_asked_again) {
  static const struct { hr_code_t code; int calls; } rows[] = {
      {HR_UNAVAILABLE, 11}, {HR_INTERNAL, 1}, {HR_DEADLINE_EXCEEDED, 1}, {HR_ABORTED, 1}};
  play_t p;
  if (open_play(&p) && HR_CHECK_OK(run_once(&p))) {
    for (int i = 0; i < 4; ++i) {
      stage_says(&p.stage, HR_MASTER_RunStep, (stage_line_t){.code = rows[i].code, .says = "away"});
      stage_forget(&p.stage);
      hr_status_t status = run_once(&p);
      HR_CHECK(!strstr(hr_status_message(status), "no answer")); /* it is there, and has been */
      HR_CHECK_CODE(status, rows[i].code, "away");
      HR_CHECK_EQ_I64(stage_count(&p.stage, HR_MASTER_RunStep), rows[i].calls);
      const int64_t id = compare_number(p.stage.heard[0].request, HR_KEY_VARINT(8));
      for (int j = 1; j < rows[i].calls; ++j) HR_CHECK_EQ_I64(compare_number(p.stage.heard[j].request, HR_KEY_VARINT(8)), id);
    }
  }
  close_play(&p);
}

HR_TEST(answers_about_sessions) {
  static const stage_line_t bad[] = {{.code = HR_INTERNAL, .says = "no"}, {.answer = BYTES("\x0a\x05" "S")}, {.answer = BYTES("\x10")}};
  play_t p;
  if (open_play(&p)) {
    for (int i = 0; i < 3; ++i) {
      stage_says(&p.stage, HR_MASTER_CreateSession, bad[i]);
      HR_CHECK_CODE(run_once(&p), i ? HR_INVALID_ARGUMENT : HR_INTERNAL, "");
      HR_CHECK(stage_count(&p.stage, HR_MASTER_CreateSession) == i + 1 && stage_count(&p.stage, HR_MASTER_RunStep) == 0);
    }
    for (int i = 0; i < 3; ++i) { /* who waits for a server is told for which */
      char says[150];
      const stage_line_t line = {.code = i == 1 ? HR_INTERNAL : HR_DEADLINE_EXCEEDED, .says = "late"};
      bool done = false;
      snprintf(says, sizeof says, "no answer from grpc://%s, or not from all of its cluster, in %d ms: late", p.stage.address,
               i ? 10000 : 0);
      stage_says(&p.stage, HR_MASTER_CreateSession, line);
      stage_says(&p.stage, HR_MASTER_Reset, line);
      hr_status_t status = i ? hr_session_reset(hr_str(p.target), NULL, 0, &done) : run_once(&p);
      HR_CHECK_EQ_I64(hr_status_code(status), line.code);
      HR_CHECK_EQ_I64(strstr(hr_status_message(status), says) != NULL, i != 1);
      HR_CHECK(i != 1 || !strstr(hr_status_message(status), "no answer"));
      hr_status_release(status);
    }
    HR_CHECK_OK(hr_session_close(p.s)); /* nothing to close there */
    HR_CHECK_EQ_I64(stage_count(&p.stage, HR_MASTER_CloseSession), 0);
  }
  close_play(&p);
}

HR_TEST(closing) {
  static const struct { hr_code_t code, closes; } rows[] = {{HR_OK, HR_OK}, {HR_UNAVAILABLE, HR_OK}, {HR_DEADLINE_EXCEEDED, HR_OK},
                                                           {HR_INTERNAL, HR_INTERNAL}, {HR_ABORTED, HR_ABORTED}};
  for (int i = 0; i < 5; ++i) {
    play_t p;
    if (open_play(&p) && HR_CHECK_OK(run_once(&p))) {
      stage_says(&p.stage, HR_MASTER_CloseSession, (stage_line_t){.code = rows[i].code, .says = "well"});
      hr_status_t status = hr_session_close(p.s);
      HR_CHECK_EQ_I64(hr_status_code(status), rows[i].closes);
      hr_status_release(status);
      HR_CHECK_EQ_I64(stage_count(&p.stage, HR_MASTER_CloseSession), 1); /* asked once */
      const hr_str_t request = stage_request(&p.stage, HR_MASTER_CloseSession);
      stage_fields(request, "1");
      HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(1)), "S1");
    }
    close_play(&p);
  }
}

HR_TEST(devices) {
  play_t p;
  if (open_play(&p)) {
#define DEVICE(job) "\x0a\x25" "/job:" job "/replica:0/task:0/device:CPU:0" "\x12\x03" "CPU"
    stage_says(&p.stage, HR_MASTER_ListDevices,
               (stage_line_t){.answer = BYTES("\x12\x37" DEVICE("ab") "\x20\x05\x31\x09\x00\x00\x00\x00\x00\x00\x01"
                                              "\x0a\x2e" DEVICE("cd") "\x18\x01")});
    hr_device_set_t* set = NULL;
    for (int i = 0; i < 2; ++i) {
      HR_REQUIRE_OK(hr_session_list_devices(p.s, &set));
      if (HR_CHECK_EQ_I64(set->count, 2)) {
        const hr_device_t *a = set->devices[0], *b = set->devices[1];
        HR_CHECK_STR(a->name, "/job:ab/replica:0/task:0/device:CPU:0");
        HR_CHECK_STR(b->name, "/job:cd/replica:0/task:0/device:CPU:0");
        HR_CHECK(a->is_remote && !b->is_remote && a->memory_limit == 5 && b->memory_limit == 0);
        HR_CHECK(a->incarnation == (UINT64_C(1) << 56 | 9) && b->incarnation == 0);
      }
      hr_device_set_release(set);
    }
    const hr_str_t request = stage_request(&p.stage, HR_MASTER_ListDevices);
    stage_fields(request, "1");
    HR_CHECK_VIEW(compare_field(request, HR_KEY_SPAN(1)), "S1");
    HR_CHECK(stage_count(&p.stage, HR_MASTER_CreateSession) == 1 && stage_count(&p.stage, HR_MASTER_ExtendSession) == 0);
    static const hr_str_t bad[] = {BYTES("\x0a"), BYTES("\x0a\x02\x0a\x05"), BYTES("\x12\x03\x0a\x01/")};
    for (int i = 0; i < 3; ++i) {
      stage_says(&p.stage, HR_MASTER_ListDevices, (stage_line_t){.answer = bad[i]});
      HR_CHECK_CODE(hr_session_list_devices(p.s, &set), HR_INVALID_ARGUMENT, "");
    }
  }
  close_play(&p);
}

HR_TEST(resets_and_targets) {
  static const hr_str_t containers[] = {BYTES("a"), BYTES("bc")};
  play_t p;
  if (open_play(&p)) {
    for (int count = 0; count <= 2; ++count) {
      bool done = false;
      HR_CHECK_OK(hr_session_reset(hr_str(p.target), containers, count, &done));
      static const char* const sent[] = {"", "\x0a\x01" "a", "\x0a\x01" "a\x0a\x02" "bc"};
      HR_CHECK(done && hr_str_equal(stage_request(&p.stage, HR_MASTER_Reset), hr_str(sent[count])));
    }
    bool done = false;
    stage_says(&p.stage, HR_MASTER_Reset, (stage_line_t){.code = HR_INTERNAL, .says = "stuck"});
    HR_CHECK_CODE(hr_session_reset(hr_str(p.target), containers, 1, &done), HR_INTERNAL, "stuck");
    HR_CHECK_CODE(hr_session_reset(HR_STR("inproc://"), containers, 1, &done), HR_INVALID_ARGUMENT, "'inproc://' names no host and port");
    hr_session_options_t o;
    hr_session_options_init(&o);
    o.target = HR_STR("inproc://");
    hr_session_t* s = NULL;
    HR_CHECK_CODE(hr_session_create(p.g, &o, &s), HR_INVALID_ARGUMENT, "session target 'inproc://' names no host and port");
    o.target = hr_str(p.target);
    o.config = (hr_str_t)BYTES("\x6a\x01\x08"); /* rpc_options, damaged */
    HR_CHECK_CODE(hr_session_create(p.g, &o, &s), HR_INVALID_ARGUMENT, "");
  }
  close_play(&p);
}
HR_TEST_MAIN()
