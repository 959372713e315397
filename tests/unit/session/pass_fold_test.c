/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: what follows from constants becomes constants, within the cap; feeding a constant undoes it. */
#include "unit/session/program_maker.h"

static float constant_of(const hr_node_t* n) { return maker_get(hr_attrs_tensor(&n->attrs, "value")); }

HR_TEST(a_region_of_constants_becomes_what_is_read_of_it) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_const(g, "a", 2), b = maker_const(g, "b", 5);
  hr_value_t sum = maker_2(g, "AddV2", "sum", a, b), square = maker_1(g, "Square", "square", sum), neg = maker_1(g, "Neg", "neg", square);
  hr_value_t y = maker_2(g, "Mul", "y", x, square), fetch[] = {y, neg};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, neg.node);
  maker_pass(&p, hr_pass_fold);
  HR_CHECK_EQ_I64(p.live_count, 4); /* the feed, y, and two constants: sum is only in between */
  HR_CHECK_EQ_I64(maker_live_of(&p, "Const"), 2);
  HR_CHECK_EQ_F64(constant_of(p.fetches[1].node), -49);
  HR_CHECK_EQ_F64(constant_of(maker_live(&p, "y")->inputs[1].node), 49);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(a_fed_constant_is_no_constant) {
  hr_graph_t* g = maker_graph();
  hr_value_t a = maker_const(g, "a", 2), b = maker_const(g, "b", 5), sum = maker_2(g, "AddV2", "sum", a, b),
             y = maker_1(g, "Neg", "y", sum);
  hr_program_t p = maker_program(g, 1, &a, 1, &y, NULL);
  maker_pass(&p, hr_pass_fold);
  HR_CHECK(maker_live(&p, "sum") && maker_live(&p, "y"));
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(what_is_too_large_or_ordered_or_fails_is_left) {
  hr_graph_t* g = maker_graph();
  hr_tensor_t dims = {0}, zero = {0};
  int64_t size = 4 << 20;
  HR_REQUIRE_OK(hr_tensor_from_i64_vec(HR_I32, &size, 1, &dims));
  HR_REQUIRE_OK(hr_tensor_from_i32(0, &zero));
  hr_value_t one = maker_const(g, "one", 1), fill = maker_2(g, "Fill", "fill", maker_const_of(g, "dims", &dims), one);
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), first = maker_1(g, "Neg", "first", x), late = maker_const(g, "late", 4);
  maker_wait(g, late, first);
  hr_value_t ordered = maker_1(g, "Square", "ordered", late), nought = maker_const_of(g, "nought", &zero);
  hr_value_t fails = maker_2(g, "Div", "fails", nought, nought), fetch[] = {fill, ordered, fails};
  hr_program_t p = maker_program(g, 1, &x, 3, fetch, NULL);
  maker_pass(&p, hr_pass_fold);
  HR_CHECK(maker_live(&p, "fails") && maker_live(&p, "fill") && maker_live(&p, "ordered") && maker_live(&p, "first"));
  hr_program_deinit(&p);
  hr_tensor_release(&dims);
  hr_tensor_release(&zero);
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
