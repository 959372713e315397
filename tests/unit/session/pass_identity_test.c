/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: nodes that hand their input on go, unless they order something or read a reference. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/exec/flow_maker.h"
#include "unit/session/program_maker.h"

HR_TEST(chains_go_and_fetches_follow) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Identity", "a", x), b = maker_1(g, "StopGradient", "b", a);
  hr_value_t y = maker_1(g, "Neg", "y", b), fetch[] = {y, b};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, NULL);
  maker_pass(&p, hr_pass_identity);
  HR_CHECK_EQ_I64(p.live_count, 2); /* the feed and y */
  HR_CHECK(maker_live(&p, "y")->inputs[0].node == p.feeds[0].node && p.fetches[1].node == p.feeds[0].node);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(what_orders_or_is_asked_for_or_reads_a_reference_stays) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), first = maker_1(g, "Neg", "first", x), waits = maker_1(g, "Identity", "waits", x);
  hr_value_t barrier = maker_1(g, "Identity", "barrier", x), v = maker_variable(g, "v", &hr_pshape_scalar),
             read = maker_1(g, "Identity", "read", v);
  hr_value_t target = maker_1(g, "Identity", "target", x), late = maker_2(g, "AddV2", "late", waits, read);
  maker_wait(g, waits, first);
  maker_wait(g, late, barrier);
  hr_program_t p = maker_program(g, 1, &x, 1, &late, target.node);
  maker_pass(&p, hr_pass_identity);
  HR_CHECK(maker_live(&p, "waits") && maker_live(&p, "barrier") && maker_live(&p, "read") && maker_live(&p, "target"));
  HR_CHECK_EQ_I64(maker_live_of(&p, "Identity"), 4);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(in_a_conditional_a_tuple_lives_and_dies_together) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), p1 = maker_bool(g, "p"), feeds[] = {x, p1};
  hr_value_t s = maker_2(g, "Switch", "s", x, p1), one = maker_1(g, "Identity", "one", s), in[] = {x, one};
  int32_t types[] = {HR_F32, HR_F32};
  hr_named_attr_t at[] = {hr_at_types("T", types, 2)};
  hr_value_t both = maker_node(g, "IdentityN", "both", 2, in, 1, at), y = maker_1(g, "Neg", "y", both);
  hr_program_t p = maker_program(g, 2, feeds, 1, &y, NULL);
  maker_pass(&p, hr_pass_identity);
  HR_CHECK(maker_live(&p, "both") && maker_live(&p, "y")->inputs[0].node == maker_live(&p, "both")); /* y is dead when the switch says so */
  HR_CHECK(!maker_live(&p, "one") && maker_live(&p, "both")->inputs[1].node == maker_live(&p, "s"));
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(each_op_that_hands_on_goes_and_the_like_stays) {
  static const struct { const char* op; int left; } ops[] = {{"Identity", 0},     {"PreventGradient", 0}, {"Snapshot", 0},
                                                             {"StopGradient", 0}, {"Neg", 1},             {"DeepCopy", 1}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, ops[i].op, "a", x), y = maker_1(g, "Exp", "y", a);
    if (!HR_CHECK_EQ_I64(maker_left(g, x, 1, &y, NULL, hr_pass_identity, ops[i].op), ops[i].left)) printf("  %s\n", ops[i].op);
    hr_graph_destroy(g);
  }
}

HR_TEST(without_conditionals_a_tuple_goes) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Exp", "a", x), in[] = {x, a};
  const int32_t types[] = {HR_F32, HR_F32};
  const hr_named_attr_t at = hr_at_types("T", types, 2);
  hr_value_t both = maker_node(g, "IdentityN", "both", 2, in, 1, &at), y = maker_2(g, "Sub", "y", both, hr_emit_nth(both, 1));
  hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
  maker_pass(&p, hr_pass_identity);
  HR_CHECK(!maker_live(&p, "both") && maker_live(&p, "y")->inputs[0].node == p.feeds[0].node);
  HR_CHECK(maker_live(&p, "y")->inputs[1].node == maker_live(&p, "a"));
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(a_copy_on_another_device_stays) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), e = maker_1(g, "Exp", "e", x), a = maker_1(g, "Identity", "a", e),
             y = maker_1(g, "Neg", "y", a);
  for (int apart = 0; apart < 2; ++apart) {
    hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
    for (int64_t i = 0; i < p.device_of.count; ++i) p.device_of.data[i] = 0;
    if (apart) p.device_of.data[maker_live_id(&p, "a")] = 1;
    maker_pass(&p, hr_pass_identity);
    HR_CHECK_EQ_I64(maker_live_of(&p, "Identity"), apart);
    hr_program_deinit(&p);
  }
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
