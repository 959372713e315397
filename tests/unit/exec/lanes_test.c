/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: which plans have them, that nodes do run at once, and that values, failures, cancellation, traces and memory are as without. */
#define HR_TEST_LEAKS_CHECKED
#include <pthread.h>
#include <time.h>
#include "base/clock.h"
#include "base/pool.h"
#include "base/thread.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "unit/exec/rig.h"

enum { SIDE = 160 };
static const int64_t MOST_WAIT_NS = (int64_t)20 * 1000 * 1000 * 1000;

/* --- kernels that notice each other; their static shapes make them expensive ---------------------------------------------------------- */

static atomic_int arrived, meeting; /* how many have come, how many must */
static atomic_bool swap_delays;

static hr_status_t meet(hr_kernel_ctx_t* k) {
  const int64_t deadline = hr_clock_now_ns() + MOST_WAIT_NS;
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < atomic_load(&meeting)) {
    if (hr_clock_now_ns() > deadline) return HR_ERROR(DEADLINE_EXCEEDED, "nobody came");
    sched_yield();
  }
  hr_output_share(k, 0, hr_input(k, 0));
  return NULL;
}

static hr_status_t hold(hr_kernel_ctx_t* k) { /* until the step is cancelled */
  const int64_t deadline = hr_clock_now_ns() + MOST_WAIT_NS;
  atomic_fetch_add(&arrived, 1);
  while (!hr_is_cancelled(k)) {
    if (hr_clock_now_ns() > deadline) return HR_ERROR(DEADLINE_EXCEEDED, "nobody cancelled");
    sched_yield();
  }
  return hr_status_cancelled();
}

static hr_status_t fail_after(hr_kernel_ctx_t* k) { /* attr "late": later than the others */
  const struct timespec pause = {0, 2 * 1000 * 1000};
  const bool late = *(const bool*)hr_prepared(k);
  if (late != atomic_load(&swap_delays)) nanosleep(&pause, NULL);
  return HR_ERROR(DATA_LOSS, "it failed");
}
static hr_status_t prepare_fail(hr_prepare_ctx_t* c, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(c->attrs, "late");
  return NULL;
}

static const hr_op_t op_meet = {.name = "TestMeet", .sig = "x: float -> y: float", .attrs = "", .shape = hr_infer_same,
                                HR_KERNELS(HR_CPU_ANY(meet)), .doc = "waits for the others", HR_HERE};
static const hr_op_t op_hold = {.name = "TestHold", .sig = "x: float -> y: float", .attrs = "", .shape = hr_infer_same,
                                HR_KERNELS(HR_CPU_ANY(hold)), .doc = "waits until it is cancelled", HR_HERE};
static const hr_op_t op_fail = {.name = "TestFailAfter", .sig = "x: float -> y: float", .attrs = "late: bool = false",
                                .shape = hr_infer_same,
                                HR_KERNELS({.prepared_bytes = sizeof(bool), .prepare = prepare_fail, .compute = fail_after}),
                                .doc = "fails", HR_HERE};

static void register_ops(void) {
  static bool done;
  if (done) return;
  maker_must(hr_registry_add(&op_meet), "TestMeet");
  maker_must(hr_registry_add(&op_hold), "TestHold");
  maker_must(hr_registry_add(&op_fail), "TestFailAfter");
  done = true;
}

/* --- a rig with lanes ----------------------------------------------------------------------------------------------------------------- */

typedef struct { int32_t rank; int64_t dims[2]; } square_t;
static const square_t big = {2, {4096, 4096}}, middle = {2, {SIDE, SIDE}};
static const hr_pshape_t* shape_of(const square_t* s) { return (const hr_pshape_t*)(const void*)s; }

static void lanes_init(rig_t* r) {
  register_ops();
  rig_init(r);
  r->lanes = 2;
  r->threads = 1;
  r->step.cores = 2;
  atomic_store(&arrived, 0);
  atomic_store(&swap_delays, false);
}

static hr_tensor_t small_square(int64_t rows) { /* values of a few magnitudes, no two alike */
  hr_tensor_t t = {0};
  const hr_shape_t s = hr_shape_matrix(rows, SIDE);
  maker_must(hr_tensor_create(HR_F32, &s, &t), "a matrix");
  for (int64_t i = 0; i < t.count; ++i) ((float*)t.data)[i] = (float)((i * 7919) % 1000) / 500 - 1;
  return t;
}

/* --- which plans ---------------------------------------------------------------------------------------------------------------------- */

HR_TEST(two_expensive_nodes_have_lanes_and_meet) {
  rig_t r;
  lanes_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&big));
  hr_value_t fetch[] = {maker_1(r.g, "TestMeet", "a", x), maker_1(r.g, "TestMeet", "b", x)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  HR_CHECK_EQ_I64(hr_plan_lane_sites(r.plan), 1);
  hr_tensor_t feed = maker_f32(3), out[2];
  for (int i = 0; i < 20; ++i) {
    atomic_store(&arrived, 0);
    atomic_store(&meeting, 2);
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
    HR_CHECK(maker_get(&out[0]) == 3 && maker_get(&out[1]) == 3);
    hr_tensor_release(&out[0]);
    hr_tensor_release(&out[1]);
  }
  atomic_store(&meeting, 0); /* a step that leased one core runs them one after another */
  r.step.cores = 1;
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
  hr_tensor_release(&out[0]);
  hr_tensor_release(&out[1]);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(four_nodes_on_four_lanes) {
  rig_t r;
  lanes_init(&r);
  r.lanes = r.step.cores = 4;
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&big)), fetch[4];
  for (int i = 0; i < 4; ++i) fetch[i] = maker_1(r.g, "TestMeet", (const char*[]){"a", "b", "c", "d"}[i], x);
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 4, fetch));
  HR_CHECK_EQ_I64(hr_plan_lane_sites(r.plan), 3);
  hr_tensor_t feed = maker_f32(3), out[4];
  atomic_store(&meeting, 4);
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
  for (int i = 0; i < 4; ++i) hr_tensor_release(&out[i]);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

static int64_t lane_sites(int lanes, int threads, const char* op, const square_t* shape, bool chain) {
  rig_t r;
  lanes_init(&r);
  r.lanes = lanes;
  r.threads = threads;
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(shape));
  hr_value_t a = maker_1(r.g, op, "a", x), b = maker_1(r.g, op, "b", chain ? a : x),
             fetch[] = {a, b};
  int64_t count = -1;
  if (HR_CHECK_OK(rig_plan(&r, 1, &x, 2, fetch))) count = hr_plan_lane_sites(r.plan);
  rig_deinit(&r);
  return count;
}

HR_TEST(lanes_only_where_they_pay) {
  HR_CHECK_EQ_I64(lane_sites(2, 1, "Erf", &middle, false), 1);
  HR_CHECK_EQ_I64(lane_sites(1, 1, "Erf", &middle, false), 0); /* switched off */
  HR_CHECK_EQ_I64(lane_sites(0, 1, "Erf", &middle, false), 0);
  HR_CHECK_EQ_I64(lane_sites(-1, 1, "Erf", &middle, false), 0);
  HR_CHECK_EQ_I64(lane_sites(2, 1, "Erf", &middle, true), 0);  /* one waits for the other */
  HR_CHECK_EQ_I64(lane_sites(2, 1, "Neg", &middle, false), 0); /* cheap */
  HR_CHECK_EQ_I64(lane_sites(2, 2, "Erf", &big, false), 0);    /* each of them uses both cores as well */
}

HR_TEST(a_batch_that_is_too_small_runs_in_turn) {
  rig_t r;
  lanes_init(&r);
  const square_t wide = {2, {-1, 65536}};
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&wide));
  hr_value_t fetch[] = {maker_1(r.g, "TestMeet", "a", x), maker_1(r.g, "TestMeet", "b", x)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  HR_CHECK_EQ_I64(hr_plan_lane_sites(r.plan), 1);
  hr_tensor_t out[2];
  for (int large = 0; large < 2; ++large) { /* the small one would wait for ever */
    hr_tensor_t feed = small_square(large ? 1000 : 1);
    atomic_store(&arrived, 0);
    atomic_store(&meeting, large ? 2 : 0);
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
    HR_CHECK_EQ_I64(atomic_load(&arrived), 2);
    hr_tensor_release(&out[0]);
    hr_tensor_release(&out[1]);
    hr_tensor_release(&feed);
  }
  rig_deinit(&r);
}

/* A write between two reads splits what could run at once; the reads see what they should. */
HR_TEST(writes_keep_their_place) {
  rig_t r;
  lanes_init(&r);
  hr_value_t v = maker_variable(r.g, "v", shape_of(&middle)), x = maker_placeholder(r.g, "x", HR_F32, shape_of(&middle));
  hr_value_t set = maker_2(r.g, "Assign", "set", v, x), before = maker_1(r.g, "Identity", "before", v);
  maker_wait(r.g, before, set);
  hr_value_t a = maker_1(r.g, "Erf", "a", before), b = maker_1(r.g, "Erfc", "b", before), add = maker_2(r.g, "AssignAdd", "add", v, x);
  maker_wait(r.g, add, a);
  maker_wait(r.g, add, b);
  hr_value_t after = maker_1(r.g, "Identity", "after", v);
  maker_wait(r.g, after, add);
  hr_value_t c = maker_1(r.g, "Erf", "c", after), d = maker_1(r.g, "Erfc", "d", after), fetch[] = {a, b, c, d};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 4, fetch));
  HR_CHECK_EQ_I64(hr_plan_lane_sites(r.plan), 2);
  hr_tensor_t feed = small_square(SIDE), out[4];
  for (int round = 0; round < 50; ++round) {
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
    for (int64_t i = 0; i < feed.count; i += 97) {
      const float f = ((float*)feed.data)[i];
      HR_CHECK_NEAR(((float*)out[0].data)[i], erff(f), 1e-5);
      HR_CHECK_NEAR(((float*)out[1].data)[i], erfcf(f), 1e-5);
      HR_CHECK_NEAR(((float*)out[2].data)[i], erff(2 * f), 1e-5);
      HR_CHECK_NEAR(((float*)out[3].data)[i], erfcf(2 * f), 1e-5);
    }
    for (int i = 0; i < 4; ++i) hr_tensor_release(&out[i]);
  }
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

/* --- failures ------------------------------------------------------------------------------------------------------------------------- */

static hr_value_t failing(rig_t* r, const char* name, hr_value_t x, bool late) {
  const hr_named_attr_t at = hr_at_bool("late", late);
  return maker_node(r->g, "TestFailAfter", name, 1, &x, 1, &at);
}

HR_TEST(the_first_failure_in_order_whoever_fails_first) {
  rig_t r;
  lanes_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&big));
  hr_value_t fetch[] = {failing(&r, "first", x, true), failing(&r, "second", x, false)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  HR_CHECK_EQ_I64(hr_plan_lane_sites(r.plan), 1);
  hr_tensor_t feed = maker_f32(3), out[2];
  for (int i = 0; i < 10; ++i) {
    atomic_store(&swap_delays, i % 2 == 1);
    HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &feed, out), HR_DATA_LOSS, "node 'first'");
  }
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

/* One lane fails at once while the other waits for what will not come, or has long to go before its own failure. */
HR_TEST(a_failure_ends_the_other_lane) {
  rig_t r;
  lanes_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&big));
  hr_value_t bad = failing(&r, "bad", x, false), other = maker_1(r.g, "Erf", "other", x);
  hr_value_t fetch[] = {maker_2(r.g, "AddV2", "sum", bad, other), maker_1(r.g, "Erfc", "more", x)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  HR_CHECK(hr_plan_lane_sites(r.plan) > 0);
  hr_tensor_t feed = small_square(SIDE), out[2];
  for (int i = 0; i < 50; ++i)
    HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &feed, out), HR_DATA_LOSS, "node 'bad' (TestFailAfter): it failed");
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

static void cancel_when_both_hold(void* arg) {
  while (atomic_load(&arrived) < 2) sched_yield();
  hr_cancel_start(arg, HR_ERROR(CANCELLED, "that was enough"));
}

HR_TEST(cancellation_reaches_both_lanes) {
  rig_t r;
  lanes_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&big));
  hr_value_t fetch[] = {maker_1(r.g, "TestHold", "a", x), maker_1(r.g, "TestHold", "b", x)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  HR_CHECK_EQ_I64(hr_plan_lane_sites(r.plan), 1);
  hr_tensor_t feed = maker_f32(3), out[2];
  hr_thread_t t;
  HR_REQUIRE_OK(hr_thread_start(&t, "canceller", cancel_when_both_hold, &r.cancel));
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &feed, out), HR_CANCELLED, "that was enough");
  hr_thread_join(&t);
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &feed, out), HR_CANCELLED, "that was enough"); /* before anything runs */
  HR_CHECK_EQ_I64(atomic_load(&arrived), 2);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

/* --- who watches ---------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_observer_t base;
  atomic_int seen;
  _Atomic(pthread_t) threads[2];
} watch_t;

static void watch_node(hr_observer_t* self, const hr_site_t* site, const hr_slot_t* slots, int64_t start, int64_t end, hr_status_t status) {
  watch_t* w = (watch_t*)(void*)self;
  (void)slots;
  HR_CHECK(start <= end && !status);
  atomic_fetch_add(&w->seen, 1);
  atomic_store(&w->threads[site->node_name[0] == 'b'], pthread_self());
}

HR_TEST(an_observer_sees_the_nodes_of_all_lanes) {
  rig_t r;
  lanes_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&big));
  hr_value_t fetch[] = {maker_1(r.g, "TestMeet", "a", x), maker_1(r.g, "TestMeet", "b", x)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  watch_t w = {.base = {.node_done = watch_node}};
  hr_tensor_t feed = maker_f32(3), out[2];
  atomic_store(&meeting, 2);
  r.step.observer = &w.base;
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
  HR_CHECK_EQ_I64(atomic_load(&w.seen), 2);
  HR_CHECK(pthread_equal(atomic_load(&w.threads[0]), pthread_self()));
  HR_CHECK(!pthread_equal(atomic_load(&w.threads[1]), pthread_self()));
  hr_tensor_release(&out[0]);
  hr_tensor_release(&out[1]);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

/* --- values: random graphs with and without lanes ------------------------------------------------------------------------------------- */

static uint64_t state;
static int below(int n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int)((state >> 16) % (uint64_t)n);
}

enum { NODES = 60, FETCHES = 4 };

static void random_graph(rig_t* r, hr_value_t* x, hr_value_t* fetch) {
  static const char* const ones[] = {"Erf", "Tanh", "Neg", "Erf", "Identity", "Sigmoid"};
  static const char* const twos[] = {"AddV2", "Mul", "Maximum"};
  hr_value_t all[NODES + 1];
  *x = all[0] = maker_placeholder(r->g, "x", HR_F32, shape_of(&middle));
  for (int i = 1; i <= NODES; ++i) {
    char name[16];
    const int window = below(3) ? 6 : 30, from = i > window ? i - window : 0;
    hr_value_t a = all[from + below(i - from)], b = all[from + below(i - from)];
    snprintf(name, sizeof name, "n%d", i);
    all[i] = below(3) ? maker_1(r->g, ones[below(6)], name, a) : maker_2(r->g, twos[below(3)], name, a, b);
    if (below(10) == 0 && i > 2) maker_wait(r->g, all[i], all[1 + below(i - 2)]);
  }
  for (int i = 0; i < FETCHES; ++i) fetch[i] = all[1 + below(NODES)];
}

static int64_t run_random(uint64_t seed, int lanes, const hr_tensor_t* feed, hr_tensor_t* out) {
  rig_t r;
  hr_value_t x, fetch[FETCHES];
  state = seed;
  lanes_init(&r);
  r.lanes = lanes;
  r.step.cores = lanes ? lanes : 1;
  random_graph(&r, &x, fetch);
  maker_must(rig_plan(&r, 1, &x, FETCHES, fetch), "a plan");
  const int64_t count = hr_plan_lane_sites(r.plan);
  for (int round = 0; round < 5; ++round) { /* the last one's values are compared; one of them with a core too few */
    r.step.cores = round == 2 ? 1 : lanes ? lanes : 1;
    for (int i = 0; round > 0 && i < FETCHES; ++i) hr_tensor_release(&out[i]);
    maker_must(hr_plan_run(r.plan, &r.step, feed, out), "a step");
  }
  rig_deinit(&r);
  return count;
}

HR_TEST(random_graphs_have_the_same_values) {
  enum { GRAPHS = 60 };
  hr_tensor_t feed = small_square(SIDE);
  int with_lanes = 0;
  for (uint64_t seed = 1; seed <= GRAPHS; ++seed) {
    hr_tensor_t want[FETCHES], got[FETCHES];
    run_random(seed * 0x9E3779B97F4A7C15u, 0, &feed, want);
    with_lanes += run_random(seed * 0x9E3779B97F4A7C15u, 2 + 2 * (int)(seed % 2), &feed, got) > 0;
    for (int i = 0; i < FETCHES; ++i) {
      if (!HR_CHECK(memcmp(want[i].data, got[i].data, hr_tensor_bytes(&want[i])) == 0)) printf("  seed %d, fetch %d\n", (int)seed, i);
      hr_tensor_release(&want[i]);
      hr_tensor_release(&got[i]);
    }
  }
  HR_CHECK(with_lanes > GRAPHS / 3);
  printf("  %d of %d with lanes\n", with_lanes, GRAPHS);
  hr_tensor_release(&feed);
}

/* --- memory --------------------------------------------------------------------------------------------------------------------------- */

HR_TEST(a_steady_step_allocates_nothing) {
  enum { WARM = 100, STEPS = 100 };
  rig_t r;
  lanes_init(&r);
  hr_value_t x, fetch[FETCHES];
  state = 77;
  random_graph(&r, &x, fetch);
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, FETCHES, fetch));
  HR_CHECK(hr_plan_lane_sites(r.plan) > 0);
  hr_tensor_t feed = small_square(SIDE), out[FETCHES];
  int64_t before = 0;
  for (int i = 0; i < WARM + STEPS; ++i) {
    if (i == WARM) before = hr_alloc_count();
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
    for (int j = 0; j < FETCHES; ++j) hr_tensor_release(&out[j]);
  }
  if (hr_buffer_is_pooled()) HR_CHECK_EQ_I64(hr_alloc_count() - before, 0); /* sanitizer builds do without the pool */
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

static hr_status_t plan_and_run(void) {
  hr_resources_t* resources = hr_resources_create();
  hr_state_table_t* states = NULL;
  hr_graph_t* g = NULL;
  hr_plan_t* plan = NULL;
  hr_cancel_t cancel;
  hr_tensor_t feed = {0}, out[2] = {{0}};
  hr_node_t* nodes[3];
  hr_status_t status = resources ? hr_graph_create(&g) : hr_status_out_of_memory();
  hr_cancel_init(&cancel);
  if (status) goto done;
  hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32), hr_at_shape("shape", shape_of(&middle))};
  const hr_node_desc_t d = {.op = HR_STR("Placeholder"), .name = HR_STR("x"), .attrs = at, .attr_count = 2};
  if ((status = hr_graph_add(g, &d, &nodes[2]))) goto done;
  const hr_value_t x = {nodes[2], 0};
  for (int i = 0; i < 2; ++i) {
    const hr_node_desc_t e = {.op = HR_STR("Erf"), .name = i ? HR_STR("b") : HR_STR("a"), .inputs = &x, .input_count = 1};
    if ((status = hr_graph_add(g, &e, &nodes[i]))) goto done;
  }
  if ((status = hr_state_table_create(&states))) goto done;
  const hr_value_t fetch[] = {{nodes[0], 0}, {nodes[1], 0}};
  const hr_plan_desc_t p = {.nodes = nodes, .node_count = 2, .feeds = &x, .feed_count = 1, .fetches = fetch, .fetch_count = 2,
                            .states = states, .resources = resources, .lanes = 2, .threads = 1};
  if ((status = hr_plan_create(&p, &plan))) goto done;
  HR_CHECK_EQ_I64(hr_plan_lane_sites(plan), 1);
  const hr_shape_t s = hr_shape_matrix(SIDE, SIDE);
  if ((status = hr_tensor_create(HR_F32, &s, &feed))) goto done;
  memset(feed.data, 0, hr_tensor_bytes(&feed));
  hr_step_t step = {.id = 1, .cancel = &cancel, .resources = resources, .threads = 1, .cores = hr_buffer_is_pooled() ? 2 : 1};
  status = hr_plan_run(plan, &step, &feed, out);
done:
  for (int i = 0; i < 2; ++i) hr_tensor_release(&out[i]);
  hr_tensor_release(&feed);
  hr_plan_destroy(plan);
  hr_state_table_destroy(states);
  hr_resources_release(resources);
  hr_cancel_deinit(&cancel);
  hr_graph_destroy(g);
  return status;
}

/* From the n-th on all fail: an output that is refused is asked for once more. */
HR_TEST(every_allocation_may_fail) {
  bool failed = true;
  HR_REQUIRE_OK(plan_and_run());
  for (int64_t n = 1; failed && n < 10000; ++n) {
    const int64_t before = hr_test_live_blocks();
    hr_alloc_fail_at(n, true);
    hr_status_t status = plan_and_run();
    failed = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    HR_CHECK_EQ_I64(hr_status_code(status), failed ? HR_RESOURCE_EXHAUSTED : HR_OK);
    hr_status_release(status);
    HR_CHECK_EQ_I64(hr_test_live_blocks() - before, 0);
  }
  HR_CHECK(!failed);
}

/* Two nodes that do not split, on two cores: about half the time. Printed, not judged: the machine may be busy. */
HR_TEST(how_much_is_won) {
  double ms[2];
  hr_tensor_t feed = small_square(SIDE * 8);
  for (int lanes = 1; lanes <= 2; ++lanes) {
    rig_t r;
    lanes_init(&r);
    r.lanes = lanes;
    const square_t rows = {2, {SIDE * 8, SIDE}};
    hr_value_t x = maker_placeholder(r.g, "x", HR_F32, shape_of(&rows));
    hr_value_t fetch[] = {maker_1(r.g, "Erf", "a", x), maker_1(r.g, "Erf", "b", x)};
    HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
      hr_tensor_t out[2];
      const int64_t start = hr_clock_now_ns();
      HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
      const int64_t took = hr_clock_now_ns() - start;
      if (took < best) best = took;
      hr_tensor_release(&out[0]);
      hr_tensor_release(&out[1]);
    }
    ms[lanes - 1] = (double)best / 1e6;
    rig_deinit(&r);
  }
  printf("  %.3f ms on one thread, %.3f on two\n", ms[0], ms[1]);
  hr_tensor_release(&feed);
}

HR_TEST_MAIN()
