/* SPDX-License-Identifier: Apache-2.0 */
/* Local sessions from one thread: results in the caller's order, errors, life and death, options. */
#define HR_TEST_LEAKS_CHECKED
#include "session/session.h"
#include "base/clock.h"
#include "unit/exec/maker.h"

static hr_session_t* open_session(hr_graph_t* g) {
  hr_session_t* s = NULL;
  maker_must(hr_session_create(g, NULL, &s), "a session");
  return s;
}

static hr_status_t fetch_one(hr_session_t* s, hr_value_t fetch, hr_tensor_t* out) {
  hr_run_t run = {.fetches = &fetch, .fetch_count = 1};
  return hr_session_run(s, NULL, &run, out, NULL, NULL);
}
static hr_status_t feed_one(hr_session_t* s, hr_value_t feed, const hr_tensor_t* value, hr_value_t fetch, hr_tensor_t* out) {
  hr_run_t run = {.feeds = &feed, .feed_values = value, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
  return hr_session_run(s, NULL, &run, out, NULL, NULL);
}
static hr_status_t run_target(hr_session_t* s, hr_value_t target) {
  hr_node_t* n = target.node;
  hr_run_t run = {.targets = &n, .target_count = 1};
  return hr_session_run(s, NULL, &run, NULL, NULL, NULL);
}

HR_TEST(results_come_in_the_callers_order) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_placeholder(g, "y", HR_F32, NULL);
  hr_value_t sub = maker_2(g, "Sub", "sub", x, y), mul = maker_2(g, "Mul", "mul", x, y);
  hr_session_t* s = open_session(g);
  hr_value_t feeds[2][2] = {{x, y}, {y, x}}, fetches[2][3] = {{sub, mul, sub}, {mul, sub, mul}};
  for (int round = 0; round < 8; ++round) {
    int fed = round & 1, fetched = round >> 1 & 1;
    hr_tensor_t values[2] = {maker_f32(fed ? 3 : 5), maker_f32(fed ? 5 : 3)}, out[3]; /* x 5, y 3 */
    hr_run_t run = {.feeds = feeds[fed], .feed_values = values, .feed_count = 2, .fetches = fetches[fetched], .fetch_count = 3};
    HR_REQUIRE_OK(hr_session_run(s, NULL, &run, out, NULL, NULL));
    for (int i = 0; i < 3; ++i) {
      HR_CHECK_EQ_F64(maker_get(&out[i]), fetches[fetched][i].node == sub.node ? 2 : 15);
      HR_CHECK(hr_buffer_is_alone(out[i].buffer));
      hr_tensor_release(&out[i]);
    }
    hr_tensor_release(&values[0]);
    hr_tensor_release(&values[1]);
  }
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(the_graph_may_grow_and_go_first) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Square", "y", x);
  hr_session_t* s = open_session(g);
  hr_tensor_t two = maker_f32(2), out = {0};
  HR_REQUIRE_OK(feed_one(s, x, &two, y, &out));
  hr_tensor_release(&out);
  hr_value_t z = maker_1(g, "Square", "z", y);
  HR_REQUIRE_OK(feed_one(s, x, &two, z, &out));
  HR_CHECK_EQ_F64(maker_get(&out), 16);
  hr_tensor_release(&out);
  hr_graph_destroy(g); /* the session keeps it */
  HR_REQUIRE_OK(feed_one(s, x, &two, z, &out));
  HR_CHECK_EQ_F64(maker_get(&out), 16);
  hr_tensor_release(&out);
  hr_tensor_release(&two);
  hr_session_destroy(s);
}

HR_TEST(feeding_replaces_an_output_not_a_node) {
  hr_graph_t* g = maker_graph();
  hr_value_t a = maker_const(g, "a", 1), b = maker_const(g, "b", 2), sum = maker_2(g, "AddV2", "sum", a, b),
             top = maker_1(g, "Neg", "top", sum);
  hr_session_t* s = open_session(g);
  hr_tensor_t ten = maker_f32(10), out = {0};
  HR_REQUIRE_OK(feed_one(s, sum, &ten, top, &out));
  HR_CHECK_EQ_F64(maker_get(&out), -10);
  hr_tensor_release(&out);
  HR_REQUIRE_OK(feed_one(s, a, &ten, top, &out)); /* a constant may be fed too */
  HR_CHECK_EQ_F64(maker_get(&out), -12);
  hr_tensor_release(&out);
  HR_REQUIRE_OK(fetch_one(s, top, &out));
  HR_CHECK_EQ_F64(maker_get(&out), -3);
  hr_tensor_release(&out);
  hr_tensor_release(&ten);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(bad_requests) {
  hr_graph_t *g = maker_graph(), *other = maker_graph();
  int64_t dims[] = {-1, 3};
  const hr_pshape_t* shape = NULL;
  maker_must(hr_pshape_make(&g->arena, 2, dims, &shape), "a shape");
  hr_value_t x = maker_placeholder(g, "x", HR_F32, shape), y = maker_1(g, "Neg", "y", x), foreign = maker_const(other, "f", 1);
  hr_session_t* s = open_session(g);
  hr_tensor_t one = maker_f32(1), out = {0}, whole = {0};
  HR_REQUIRE_OK(hr_tensor_from_i32(1, &whole));
  hr_run_t nothing = {0};
  HR_CHECK_CODE(hr_session_run(s, NULL, &nothing, NULL, NULL, NULL), HR_INVALID_ARGUMENT, "nothing to run");
  HR_CHECK_CODE(feed_one(s, x, &one, y, &out), HR_INVALID_ARGUMENT,
                "'x:0' has shape [], which is not compatible with the endpoint's shape [?,3]");
  HR_CHECK_CODE(feed_one(s, x, &whole, y, &out), HR_INVALID_ARGUMENT, "'x:0' is of type int32, but the endpoint is of type float");
  HR_CHECK_CODE(feed_one(s, x, &one, x, &out), HR_INVALID_ARGUMENT, "both fed and fetched");
  HR_CHECK_CODE(feed_one(s, hr_emit_nth(x, 1), &one, y, &out), HR_INVALID_ARGUMENT, "x:1");
  HR_CHECK_CODE(fetch_one(s, hr_emit_nth(y, 7), &out), HR_INVALID_ARGUMENT, "y:7");
  HR_CHECK_CODE(fetch_one(s, foreign, &out), HR_INVALID_ARGUMENT, "not an endpoint of the session's graph");
  HR_CHECK_CODE(fetch_one(s, HR_NO_VALUE, &out), HR_INVALID_ARGUMENT, "not an endpoint");
  HR_CHECK_CODE(run_target(s, HR_NO_VALUE), HR_INVALID_ARGUMENT, "target 0");
  HR_CHECK_CODE(fetch_one(s, y, &out), HR_INVALID_ARGUMENT,
                "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,3]");
  hr_value_t twice[] = {x, x};
  hr_tensor_t values[] = {one, one};
  hr_run_t run = {.feeds = twice, .feed_values = values, .feed_count = 2, .fetches = &y, .fetch_count = 1};
  HR_CHECK_CODE(hr_session_run(s, NULL, &run, &out, NULL, NULL), HR_INVALID_ARGUMENT, "more than once");
  hr_tensor_release(&one);
  hr_tensor_release(&whole);
  hr_session_destroy(s);
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(a_session_without_a_graph_and_targets_that_nobody_serves) {
  hr_session_t* s = open_session(NULL);
  hr_tensor_t out;
  hr_run_t run = {0};
  HR_CHECK_CODE(hr_session_run(s, NULL, &run, &out, NULL, NULL), HR_FAILED_PRECONDITION, "without a graph");
  hr_session_destroy(s);
  hr_session_options_t o;
  hr_session_options_init(&o);
  o.target = HR_STR("nowhere");
  HR_CHECK_CODE(hr_session_create(NULL, &o, &s), HR_NOT_FOUND, "nowhere");
}

HR_TEST(a_closed_session_is_cancelled) {
  hr_graph_t* g = maker_graph();
  hr_value_t a = maker_const(g, "a", 1);
  hr_session_t* s = open_session(g);
  hr_callable_t* c = NULL;
  hr_run_t run = {.fetches = &a, .fetch_count = 1};
  hr_tensor_t out = {0};
  HR_REQUIRE_OK(hr_session_make_callable(s, &run, &c));
  HR_REQUIRE_OK(hr_session_close(s));
  HR_REQUIRE_OK(hr_session_close(s));
  HR_CHECK_CODE(fetch_one(s, a, &out), HR_CANCELLED, "closed");
  HR_CHECK_CODE(hr_callable_run(c, NULL, NULL, &out, NULL, NULL), HR_CANCELLED, "closed");
  hr_session_destroy(s);
  HR_CHECK_CODE(hr_callable_run(c, NULL, NULL, &out, NULL, NULL), HR_CANCELLED, "closed"); /* after the session, too */
  hr_callable_destroy(c);
  hr_graph_destroy(g);
}

HR_TEST(variables_live_in_the_session) {
  hr_graph_t* g = maker_graph();
  hr_value_t v = maker_variable(g, "v", &hr_pshape_scalar), one = maker_const(g, "one", 1);
  hr_value_t init = maker_2(g, "Assign", "init", v, one), step = maker_2(g, "AssignAdd", "step", v, one),
             read = maker_1(g, "Identity", "v/read", v);
  hr_session_t *s = open_session(g), *fresh = open_session(g);
  hr_tensor_t out = {0};
  HR_CHECK_CODE(fetch_one(s, read, &out), HR_FAILED_PRECONDITION, "Attempting to use uninitialized value v");
  HR_REQUIRE_OK(run_target(s, init));
  for (int i = 0; i < 3; ++i) HR_REQUIRE_OK(run_target(s, step));
  HR_REQUIRE_OK(fetch_one(s, read, &out));
  HR_CHECK_EQ_F64(maker_get(&out), 4);
  ((float*)out.data)[0] = 100; /* what was fetched is the caller's */
  hr_tensor_release(&out);
  HR_REQUIRE_OK(fetch_one(s, v, &out)); /* a reference itself */
  HR_CHECK_EQ_F64(maker_get(&out), 4);
  hr_tensor_release(&out);
  HR_CHECK_CODE(fetch_one(fresh, read, &out), HR_FAILED_PRECONDITION, "uninitialized value v"); /* another session: another variable */
  hr_tensor_t nine = maker_f32(9);
  HR_REQUIRE_OK(feed_one(s, v, &nine, read, &out)); /* feeding a variable's output leaves the variable alone */
  HR_CHECK_EQ_F64(maker_get(&out), 9);
  hr_tensor_release(&out);
  HR_REQUIRE_OK(fetch_one(s, read, &out));
  HR_CHECK_EQ_F64(maker_get(&out), 4);
  hr_tensor_release(&out);
  hr_tensor_release(&nine);
  hr_session_destroy(fresh);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(sessions_may_share_containers) {
  hr_graph_t* g[2];
  hr_session_t* s[2];
  hr_value_t handle[2], read[2], assign[2];
  for (int i = 0; i < 2; ++i) {
    g[i] = maker_graph();
    handle[i] = maker_handle(g[i], "w", &hr_pshape_scalar);
    hr_value_t seven = maker_const(g[i], "seven", 7);
    assign[i] = maker_2(g[i], "AssignVariableOp", "assign", handle[i], seven);
    read[i] = maker_read(g[i], "read", handle[i]);
    hr_session_options_t o;
    hr_session_options_init(&o);
    if (i == 1) o.resources = hr_session_share_resources(s[0]);
    HR_REQUIRE_OK(hr_session_create(g[i], &o, &s[i]));
    hr_resources_release(o.resources);
  }
  hr_tensor_t out = {0};
  HR_CHECK_CODE(fetch_one(s[1], read[1], &out), HR_FAILED_PRECONDITION, "w");
  HR_REQUIRE_OK(run_target(s[0], assign[0]));
  HR_REQUIRE_OK(fetch_one(s[1], read[1], &out));
  HR_CHECK_EQ_F64(maker_get(&out), 7);
  hr_tensor_release(&out);
  hr_session_destroy(s[0]);
  hr_graph_destroy(g[0]);
  HR_REQUIRE_OK(fetch_one(s[1], read[1], &out)); /* outlives the session that made it */
  HR_CHECK_EQ_F64(maker_get(&out), 7);
  hr_tensor_release(&out);
  hr_session_destroy(s[1]);
  hr_graph_destroy(g[1]);
}

static hr_status_t borrowed_step(hr_session_t* s, hr_value_t x, float* memory, hr_value_t y, hr_tensor_t* out) {
  hr_shape_t shape = hr_shape_vector(4);
  hr_tensor_t feed = {0};
  HR_TRY(hr_tensor_borrow(HR_F32, &shape, memory, 16, true, NULL, NULL, &feed));
  hr_status_t status = feed_one(s, x, &feed, y, out);
  hr_tensor_release(&feed);
  return status;
}

HR_TEST(borrowed_feeds_are_neither_written_nor_kept) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), alias = maker_1(g, "Identity", "alias", x), neg = maker_1(g, "Neg", "neg", alias);
  int64_t dims[] = {4};
  const hr_pshape_t* shape = NULL;
  maker_must(hr_pshape_make(&g->arena, 1, dims, &shape), "a shape");
  hr_value_t v = maker_variable(g, "v", shape), assign = maker_2(g, "Assign", "assign", v, alias);
  hr_session_t* s = open_session(g);
  float memory[4] = {1, 2, 3, 4};
  hr_tensor_t out = {0};
  HR_REQUIRE_OK(borrowed_step(s, x, memory, neg, &out));
  hr_tensor_release(&out);
  HR_REQUIRE_OK(borrowed_step(s, x, memory, alias, &out));
  HR_CHECK(out.data != (void*)memory);
  hr_tensor_release(&out);
  HR_REQUIRE_OK(borrowed_step(s, x, memory, assign, &out));
  hr_tensor_release(&out);
  for (int i = 0; i < 4; ++i) HR_CHECK_EQ_F64(memory[i], i + 1);
  memory[0] = 50; /* the variable has its own copy */
  HR_REQUIRE_OK(fetch_one(s, v, &out));
  HR_CHECK_EQ_F64(maker_get(&out), 1);
  hr_tensor_release(&out);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(the_callers_token_cancels_one_step) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Neg", "y", x);
  hr_session_t* s = open_session(g);
  hr_cancel_t token;
  hr_cancel_init(&token);
  hr_run_options_t o = {.cancel = &token};
  hr_tensor_t one = maker_f32(1), out = {0};
  hr_run_t run = {.feeds = &x, .feed_values = &one, .feed_count = 1, .fetches = &y, .fetch_count = 1};
  HR_REQUIRE_OK(hr_session_run(s, &o, &run, &out, NULL, NULL));
  hr_tensor_release(&out);
  hr_cancel_start(&token, HR_ERROR(ABORTED, "changed my mind"));
  HR_CHECK_CODE(hr_session_run(s, &o, &run, &out, NULL, NULL), HR_ABORTED, "changed my mind");
  HR_REQUIRE_OK(hr_session_run(s, NULL, &run, &out, NULL, NULL));
  hr_tensor_release(&out);
  o = (hr_run_options_t){.timeout_ms = 60000}; /* a deadline that is not reached */
  HR_REQUIRE_OK(hr_session_run(s, &o, &run, &out, NULL, NULL));
  hr_tensor_release(&out);
  hr_cancel_deinit(&token);
  hr_tensor_release(&one);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(metadata_tells_what_ran) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), y = maker_1(g, "Square", "squared", x);
  hr_session_t* s = open_session(g);
  hr_tensor_t three = maker_f32(3), out = {0};
  hr_run_t run = {.feeds = &x, .feed_values = &three, .feed_count = 1, .fetches = &y, .fetch_count = 1};
  hr_run_options_t o = {.trace_level = 3, .output_partition_graphs = true};
  char* data = NULL;
  size_t size = 0;
  HR_REQUIRE_OK(hr_session_run(s, &o, &run, &out, &data, &size));
  HR_CHECK_EQ_F64(maker_get(&out), 9);
  HR_CHECK(size > 0 && memmem(data, size, "squared = Square", 16) && memmem(data, size, "device:CPU:0", 12));
  HR_CHECK(memmem(data, size, "_arg_x_0_0", 10) != NULL); /* the partition graph has the rewritten feed */
  hr_free(data);
  hr_tensor_release(&out);
  hr_run_options_t quiet = {0};
  HR_REQUIRE_OK(hr_session_run(s, &quiet, &run, &out, &data, &size));
  HR_CHECK_EQ_I64(size, 0);
  hr_free(data);
  hr_tensor_release(&out);
  hr_tensor_release(&three);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST(options_from_bytes) {
  hr_session_options_t o;
  hr_session_options_init(&o);
  HR_CHECK(o.constant_folding && o.common_subexpressions && o.fusion);
  /* intra 3, inter 2, soft placement, timeout 1500, graph_options { optimizer_options { opt_level L0, max_folded 7 } } */
  static const unsigned char config[] = {0x10, 3,    0x28, 2,    0x38, 1,    0x58, 0xdc, 0x0b, 0x52, 15, 0x1a, 13,
                                         0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,  0x30, 7};
  HR_REQUIRE_OK(hr_session_options_decode(&o, config, sizeof config));
  HR_CHECK(o.intra_op_threads == 3 && o.inter_op_threads == 2 && o.allow_soft_placement && o.timeout_ms == 1500);
  HR_CHECK(o.opt_level == -1 && !o.constant_folding && !o.common_subexpressions && o.max_folded_bytes == 7);
  HR_CHECK_CODE(hr_session_options_decode(&o, "\x10", 1), HR_INVALID_ARGUMENT, "session config");
  HR_CHECK_EQ_I64(o.intra_op_threads, 3);
  hr_run_options_t r = {0};
  static const unsigned char run[] = {0x08, 3, 0x10, 0x2a, 0x28, 1};
  HR_REQUIRE_OK(hr_run_options_decode(&r, run, sizeof run));
  HR_CHECK(r.trace_level == 3 && r.timeout_ms == 42 && r.output_partition_graphs);
  HR_CHECK_CODE(hr_run_options_decode(&r, "\xff", 1), HR_INVALID_ARGUMENT, "run options");
}

static hr_session_options_t options_of(const char* bytes, size_t size) {
  hr_session_options_t o;
  hr_session_options_init(&o);
  HR_CHECK_OK(hr_session_options_decode(&o, bytes, size));
  return o;
}
#define OPTIONS(text) options_of(text, sizeof(text) - 1)
#define OPTIMIZER(size, size2, text) OPTIONS("\x52" size "\x1a" size2 text) /* graph_options { optimizer_options { text } } */
#define REWRITER(text) OPTIONS("\x52\x06\x52\x04" text)                    /* graph_options { rewrite_options { text, of 4 bytes } } */

static int options_passes(hr_session_options_t o) { return o.constant_folding + 2 * o.common_subexpressions + 4 * o.fusion; }

HR_TEST(options_that_choose_passes) {
  HR_CHECK_EQ_I64(options_passes(OPTIONS("")), 7);
  HR_CHECK_EQ_I64(options_passes(OPTIMIZER("\x04", "\x02", "\x18\x00")), 7); /* L1 */
  HR_CHECK_EQ_I64(options_passes(OPTIMIZER("\x04", "\x02", "\x18\x01")), 7);
  HR_CHECK_EQ_I64(OPTIMIZER("\x04", "\x02", "\x18\x01").opt_level, 0);
  HR_CHECK_EQ_I64(options_passes(OPTIMIZER("\x0d", "\x0b", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), 0); /* L0 */
  HR_CHECK_EQ_I64(options_passes(OPTIMIZER("\x0f", "\x0d", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08\x01")), 2);
  HR_CHECK_EQ_I64(options_passes(OPTIMIZER("\x0f", "\x0d", "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01")), 1);
  HR_CHECK_EQ_I64(OPTIMIZER("\x04", "\x02", "\x30\x00").max_folded_bytes, 10 << 20);
  HR_CHECK_EQ_I64(OPTIMIZER("\x04", "\x02", "\x30\x01").max_folded_bytes, 1);
  HR_CHECK_EQ_I64(options_passes(REWRITER("\x18\x02\x08\x00")), 6); /* constant_folding off */
  HR_CHECK_EQ_I64(options_passes(REWRITER("\x18\x01\x70\x02")), 3); /* on, and remapping off */
  HR_CHECK_EQ_I64(options_passes(REWRITER("\x18\x03\x70\x01")), 7);
  HR_CHECK_EQ_I64(options_passes(OPTIONS("\x52\x05\x52\x03\xc0\x01\x02")), 5); /* common_subgraph_elimination off */
  HR_CHECK_EQ_I64(options_passes(OPTIONS("\x52\x05\x52\x03\x98\x01\x01")), 0); /* disable_meta_optimizer */
  HR_CHECK_EQ_I64(options_passes(OPTIONS("\x52\x05\x52\x03\x98\x01\x00")), 7);
}

HR_TEST(options_of_devices) {
  HR_CHECK_EQ_I64(OPTIONS("\x0a\x07\x0a\x03" "CPU\x10\x02").cpu_devices, 2);
  HR_CHECK_EQ_I64(OPTIONS("\x0a\x07\x0a\x03" "CPU\x10\x00").cpu_devices, 0);
  HR_CHECK_EQ_I64(OPTIONS("\x0a\x07\x0a\x03" "GPU\x10\x02").cpu_devices, 0);
  HR_CHECK(OPTIONS("\x40\x01").log_device_placement && !OPTIONS("\x40\x00").log_device_placement);
  HR_CHECK(OPTIONS("\x38\x01").allow_soft_placement && !OPTIONS("\x38\x00").allow_soft_placement);
  char most[] = "\x0a\x08\x0a\x03" "CPU\x10\x00\x00";
  hr_session_options_t o;
  hr_session_options_init(&o);
  most[8] = (char)((HR_DEVICE_MOST_CPUS & 127) | 128), most[9] = (char)(HR_DEVICE_MOST_CPUS >> 7);
  HR_CHECK_OK(hr_session_options_decode(&o, most, sizeof most - 1));
  HR_CHECK_EQ_I64(o.cpu_devices, HR_DEVICE_MOST_CPUS);
  most[8] = (char)(((HR_DEVICE_MOST_CPUS + 1) & 127) | 128), most[9] = (char)((HR_DEVICE_MOST_CPUS + 1) >> 7);
  HR_CHECK_CODE(hr_session_options_decode(&o, most, sizeof most - 1), HR_INVALID_ARGUMENT, "device_count of CPU is");
}

HR_TEST(first_run_of_a_large_graph) {
  enum { LENGTH = 20000 };
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), v = x, c = maker_const(g, "c", 1);
  for (int i = 0; i < LENGTH; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    v = maker_2(g, i & 1 ? "AddV2" : "Sub", name, v, c);
  }
  hr_session_t* s = open_session(g);
  hr_tensor_t feed = maker_f32(0), out = {0};
  int64_t begin = hr_clock_now_ns();
  HR_REQUIRE_OK(feed_one(s, x, &feed, v, &out));
  int64_t end = hr_clock_now_ns();
  HR_CHECK_EQ_F64(maker_get(&out), 0);
  printf("  first run: %.2f us a node\n", (double)(end - begin) / 1e3 / LENGTH);
  hr_tensor_release(&out);
  hr_tensor_release(&feed);
  hr_session_destroy(s);
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
