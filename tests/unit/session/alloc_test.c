/* SPDX-License-Identifier: Apache-2.0 */
/* A steady-state step allocates nothing, and what a small step costs. */
#define HR_TEST_LEAKS_CHECKED
#include "base/clock.h"
#include "session/session.h"
#include "unit/exec/maker.h"

enum { WARM = 3, STEPS = 2000 };

typedef struct {
  hr_graph_t* g;
  hr_session_t* s;
} rig_t;

static rig_t open_rig(void) {
  rig_t r = {.g = maker_graph()};
  maker_must(hr_session_create(r.g, NULL, &r.s), "a session");
  return r;
}
static void close_rig(rig_t* r) {
  hr_session_destroy(r->s);
  hr_graph_destroy(r->g);
}

/* Runs the step many times; how many allocations the steady ones made. */
static int64_t count_allocations(rig_t* r, const hr_run_t* run, double* out_ns) {
  hr_tensor_t out[4];
  int64_t before = 0, start = 0;
  for (int i = 0; i < WARM + STEPS; ++i) {
    if (i == WARM) {
      before = hr_alloc_count();
      start = hr_clock_now_ns();
    }
    maker_must(hr_session_run(r->s, NULL, run, out, NULL, NULL), "a step");
    for (int j = 0; j < run->fetch_count; ++j) hr_tensor_release(&out[j]);
  }
  *out_ns = (double)(hr_clock_now_ns() - start) / STEPS;
  return hr_buffer_is_pooled() ? hr_alloc_count() - before : 0; /* sanitizer builds do without the pool */
}

HR_TEST(feed_two_fetch_one) {
  rig_t r = open_rig();
  hr_value_t in[] = {maker_placeholder(r.g, "x", HR_F32, NULL), maker_placeholder(r.g, "y", HR_F32, NULL)};
  hr_value_t sum = maker_2(r.g, "AddV2", "sum", in[0], in[1]);
  hr_tensor_t feeds[] = {maker_f32(1), maker_f32(2)};
  hr_run_t run = {.feeds = in, .feed_values = feeds, .feed_count = 2, .fetches = &sum, .fetch_count = 1};
  double ns;
  HR_CHECK_EQ_I64(count_allocations(&r, &run, &ns), 0);
  printf("  %.0f ns a step\n", ns);
  hr_tensor_release(&feeds[0]);
  hr_tensor_release(&feeds[1]);
  close_rig(&r);
}

HR_TEST(variables_constants_and_repeated_fetches) {
  rig_t r = open_rig();
  hr_value_t v = maker_variable(r.g, "v", &hr_pshape_scalar), one = maker_const(r.g, "one", 1),
             init = maker_2(r.g, "Assign", "init", v, one);
  hr_value_t step = maker_2(r.g, "AssignAdd", "step", v, one), read = maker_1(r.g, "Identity", "read", v),
             y = maker_2(r.g, "Mul", "y", read, one);
  hr_node_t *init_node = init.node, *step_node = step.node;
  hr_run_t initialise = {.targets = &init_node, .target_count = 1};
  HR_REQUIRE_OK(hr_session_run(r.s, NULL, &initialise, NULL, NULL, NULL));
  hr_value_t fetches[] = {y, one, y};
  hr_run_t run = {.fetches = fetches, .fetch_count = 3, .targets = &step_node, .target_count = 1};
  double ns;
  HR_CHECK_EQ_I64(count_allocations(&r, &run, &ns), 0);
  printf("  %.0f ns a step\n", ns);
  close_rig(&r);
}

HR_TEST(a_wide_step_with_large_values) {
  rig_t r = open_rig();
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), all = x;
  for (int i = 0; i < 50; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    hr_value_t a = maker_1(r.g, "Neg", name, x);
    snprintf(name, sizeof name, "m%d", i);
    all = maker_2(r.g, "AddV2", name, all, a);
  }
  hr_tensor_t feed = maker_vec(10000, 0);
  hr_run_t run = {.feeds = &x, .feed_values = &feed, .feed_count = 1, .fetches = &all, .fetch_count = 1};
  double ns;
  HR_CHECK_EQ_I64(count_allocations(&r, &run, &ns), 0);
  hr_tensor_release(&feed);
  close_rig(&r);
}

/* Two nodes that do not split, on threads of their own where there are two cores. */
HR_TEST(a_step_with_lanes) {
  rig_t r = open_rig();
  const struct { int32_t rank; int64_t dims[1]; } shape = {1, {3000}};
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, (const hr_pshape_t*)(const void*)&shape);
  const hr_named_attr_t at = hr_at_type("T", HR_F32);
  hr_value_t fetches[] = {maker_node(r.g, "Where", "a", 1, &x, 1, &at), {NULL, 0}};
  hr_value_t y = maker_1(r.g, "Neg", "minus", x), wide = maker_2(r.g, "AddV2", "wide", x, y);
  for (int i = 0; i < 12; ++i) { /* sums of what several lanes read */
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    hr_value_t at_i = maker_node(r.g, "Where", name, 1, i % 2 ? &x : &y, 1, &at);
    snprintf(name, sizeof name, "s%d", i);
    hr_value_t size = maker_1(r.g, "Size", name, at_i), number;
    const hr_named_attr_t cast[] = {hr_at_type("SrcT", HR_I32), hr_at_type("DstT", HR_F32)};
    snprintf(name, sizeof name, "c%d", i);
    number = maker_node(r.g, "Cast", name, 1, &size, 2, cast);
    snprintf(name, sizeof name, "t%d", i);
    wide = maker_2(r.g, "AddV2", name, wide, number);
  }
  fetches[1] = wide;
  hr_tensor_t feed = maker_vec(3000, 1);
  hr_run_t run = {.feeds = &x, .feed_values = &feed, .feed_count = 1, .fetches = fetches, .fetch_count = 2};
  double ns;
  count_allocations(&r, &run, &ns); /* blocks find their threads */
  HR_CHECK_EQ_I64(count_allocations(&r, &run, &ns), 0);
  printf("  %.0f ns a step\n", ns);
  hr_tensor_release(&feed);
  close_rig(&r);
}

HR_TEST_MAIN()
