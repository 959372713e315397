/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by themselves: values, slots, in-place forwarding, references, errors. The nodes come straight from a graph. */
#define HR_TEST_LEAKS_CHECKED
#include "exec/plan.h"
#include "base/clock.h"
#include "unit/exec/rig.h"

HR_TEST(feeds_constants_and_fetches) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), c = maker_const(r.g, "c", 3);
  hr_value_t y = maker_2(r.g, "Mul", "y", x, c), z = maker_2(r.g, "AddV2", "z", y, x);
  hr_value_t fetch[] = {z, y, c, z};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 4, fetch));
  HR_CHECK_EQ_I64(hr_plan_site_count(r.plan), 2);
  hr_tensor_t feed = maker_f32(2), out[4];
  for (int i = 0; i < 3; ++i) {
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
    HR_CHECK_EQ_F64(maker_get(&out[0]), 8);
    HR_CHECK_EQ_F64(maker_get(&out[1]), 6);
    HR_CHECK_EQ_F64(maker_get(&out[2]), 3);
    HR_CHECK_EQ_F64(maker_get(&out[3]), 8);
    HR_CHECK(out[0].buffer != out[3].buffer && hr_buffer_is_alone(out[2].buffer)); /* all the caller's own */
    ((float*)out[2].data)[0] = 99;                                                 /* the constant stays what it is */
    for (int j = 0; j < 4; ++j) hr_tensor_release(&out[j]);
  }
  HR_CHECK_EQ_F64(maker_get(&feed), 2);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(a_long_chain_works_in_place_in_a_handful_of_slots) {
  enum { LENGTH = 20000 };
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), v = x, c = maker_const(r.g, "c", 1);
  for (int i = 0; i < LENGTH; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    v = maker_2(r.g, "AddV2", name, v, c);
  }
  int64_t begin = hr_clock_now_ns();
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 1, &v));
  int64_t planned = hr_clock_now_ns();
  HR_CHECK(hr_plan_slot_count(r.plan) <= 4);
  hr_tensor_t feed = maker_f32(0), out = {0};
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, &out));
  HR_CHECK_EQ_F64(maker_get(&out), LENGTH);
  hr_tensor_release(&out);
  int64_t allocations = hr_alloc_count();
  int64_t start = hr_clock_now_ns();
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, &out));
  int64_t end = hr_clock_now_ns();
  if (hr_buffer_is_pooled()) HR_CHECK_EQ_I64(hr_alloc_count() - allocations, 0);
  printf("  plan: %.2f us a node; step: %.1f ns an op\n", (double)(planned - begin) / 1e3 / LENGTH, (double)(end - start) / LENGTH);
  hr_tensor_release(&out);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(a_value_read_twice_by_one_node_is_not_written_in_place) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), y = maker_1(r.g, "Neg", "y", x), z = maker_2(r.g, "Mul", "z", y, y);
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 1, &z));
  hr_tensor_t feed = maker_vec(100, 1), out = {0};
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, &out));
  for (int i = 0; i < 100; ++i) HR_CHECK_EQ_F64(((float*)out.data)[i], (i + 1) * (i + 1));
  for (int i = 0; i < 100; ++i) HR_CHECK_EQ_F64(((float*)feed.data)[i], i + 1); /* the caller's feed is not scratch */
  hr_tensor_release(&out);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(a_fetched_alias_of_a_feed_is_a_copy) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), y = maker_1(r.g, "Identity", "y", x), z = maker_1(r.g, "Identity", "z", y);
  hr_value_t fetch[] = {y, z};
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 2, fetch));
  hr_tensor_t feed = maker_vec(4, 0), out[2];
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
  HR_CHECK(out[0].buffer != feed.buffer && out[1].buffer != feed.buffer && out[0].buffer != out[1].buffer);
  HR_CHECK(hr_buffer_is_alone(feed.buffer));
  hr_tensor_release(&out[0]);
  hr_tensor_release(&out[1]);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(references_are_read_at_each_consumers_turn) {
  rig_t r;
  rig_init(&r);
  hr_value_t v = maker_variable(r.g, "v", &hr_pshape_scalar), one = maker_const(r.g, "one", 1), ten = maker_const(r.g, "ten", 10);
  hr_value_t assign = maker_2(r.g, "Assign", "assign", v, one);
  hr_value_t before = maker_2(r.g, "Mul", "before", v, ten);
  maker_wait(r.g, before, assign);
  hr_value_t add = maker_2(r.g, "AssignAdd", "add", v, one);
  maker_wait(r.g, add, before);
  hr_value_t after = maker_2(r.g, "Mul", "after", v, v);
  maker_wait(r.g, after, add);
  hr_value_t fetch[] = {before, after, assign};
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 3, fetch));
  hr_tensor_t out[3];
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, NULL, out));
  HR_CHECK_EQ_F64(maker_get(&out[0]), 10);
  HR_CHECK_EQ_F64(maker_get(&out[1]), 4);
  HR_CHECK_EQ_F64(maker_get(&out[2]), 1);
  for (int i = 0; i < 3; ++i) hr_tensor_release(&out[i]);
  hr_plan_destroy(r.plan);
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &v)); /* a fetched reference is read at once, before what changes it later */
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, NULL, out));
  HR_CHECK_EQ_F64(maker_get(&out[0]), 2);
  hr_tensor_release(&out[0]);
  rig_deinit(&r);
}

HR_TEST(an_uninitialised_variable_names_itself_and_its_reader) {
  rig_t r;
  rig_init(&r);
  hr_value_t v = maker_variable(r.g, "weights", &hr_pshape_scalar), read = maker_1(r.g, "Identity", "weights/read", v);
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &read));
  hr_tensor_t out = {0};
  hr_status_t status = hr_plan_run(r.plan, &r.step, NULL, &out);
  HR_CHECK(strstr(hr_status_message(status), "node 'weights/read' (Identity)") != NULL);
  HR_CHECK_CODE(status, HR_FAILED_PRECONDITION, "Attempting to use uninitialized value weights");
  rig_deinit(&r);
}

HR_TEST(a_placeholder_that_is_not_fed) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), y = maker_1(r.g, "Neg", "y", x);
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &y));
  hr_tensor_t out = {0};
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, NULL, &out), HR_INVALID_ARGUMENT, "You must feed a value for placeholder tensor 'x'");
  rig_deinit(&r);
}

HR_TEST(a_reference_that_is_fed_cannot_be_assigned) {
  rig_t r;
  rig_init(&r);
  hr_value_t v = maker_variable(r.g, "v", &hr_pshape_scalar), one = maker_const(r.g, "one", 1),
             assign = maker_2(r.g, "Assign", "assign", v, one);
  hr_value_t twice = maker_2(r.g, "AddV2", "twice", v, v);
  HR_CHECK_CODE(rig_plan(&r, 1, &v, 1, &assign), HR_INVALID_ARGUMENT, "must be a reference to a variable");
  (void)twice;
  rig_deinit(&r);
}

HR_TEST(a_cancelled_step_says_why) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), y = maker_1(r.g, "Neg", "y", x);
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 1, &y));
  hr_cancel_start(&r.cancel, HR_ERROR(DEADLINE_EXCEEDED, "too late"));
  hr_tensor_t feed = maker_f32(1), out = {0};
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &feed, &out), HR_DEADLINE_EXCEEDED, "too late");
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(control_edges_order_and_unwanted_outputs_are_dropped) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL);
  hr_value_t in[] = {x, x};
  int32_t types[] = {HR_F32, HR_F32};
  hr_named_attr_t at[] = {hr_at_types("T", types, 2)};
  hr_value_t both = maker_node(r.g, "IdentityN", "both", 2, in, 1, at);
  hr_value_t unused = maker_1(r.g, "Neg", "unused", x), y = maker_1(r.g, "Neg", "y", hr_emit_nth(both, 1));
  maker_wait(r.g, y, unused);
  HR_REQUIRE_OK(rig_plan(&r, 1, &x, 1, &y));
  hr_tensor_t feed = maker_f32(5), out = {0};
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, &out));
  HR_CHECK_EQ_F64(maker_get(&out), -5);
  HR_CHECK(hr_buffer_is_alone(feed.buffer));
  hr_tensor_release(&out);
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

static hr_status_t make_a_plan(void) {
  rig_t r;
  hr_graph_t* g = NULL;
  hr_value_t in[2];
  hr_node_t* n = NULL;
  hr_status_t status = NULL;
  r = (rig_t){.resources = hr_resources_create()};
  hr_cancel_init(&r.cancel);
  if (!r.resources || (status = hr_graph_create(&g))) {
    if (!status) status = hr_status_out_of_memory();
    goto done;
  }
  r.g = g;
  hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32)};
  hr_node_desc_t d = {.op = HR_STR("Placeholder"), .name = HR_STR("x"), .attrs = at, .attr_count = 1};
  if ((status = hr_graph_add(g, &d, &n))) goto done;
  in[0] = in[1] = (hr_value_t){n, 0};
  hr_node_desc_t e = {.op = HR_STR("Mul"), .name = HR_STR("y"), .inputs = in, .input_count = 2};
  if ((status = hr_graph_add(g, &e, &n))) goto done;
  hr_value_t y = {n, 0};
  if ((status = hr_state_table_create(&r.states))) goto done;
  hr_plan_desc_t p = {.nodes = &n,
                      .node_count = 1,
                      .feeds = in,
                      .feed_count = 1,
                      .fetches = &y,
                      .fetch_count = 1,
                      .states = r.states,
                      .resources = r.resources};
  status = hr_plan_create(&p, &r.plan);
done:
  hr_plan_destroy(r.plan);
  hr_state_table_destroy(r.states);
  hr_resources_release(r.resources);
  hr_cancel_deinit(&r.cancel);
  hr_graph_destroy(g);
  return status;
}

HR_TEST(every_allocation_may_fail) { HR_TEST_EVERY_ALLOCATION_FAILS(make_a_plan); }

HR_TEST_MAIN()
