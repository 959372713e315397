/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: equal nodes become one; what differs in op, attrs, inputs, control edges or state does not. */
#include "unit/session/program_maker.h"

HR_TEST(equal_nodes_become_one_and_so_do_their_consumers) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), c1 = maker_const(g, "c1", 2), c2 = maker_const(g, "c2", 2),
             c3 = maker_const(g, "c3", 3);
  hr_value_t a = maker_2(g, "Mul", "a", x, c1), b = maker_2(g, "Mul", "b", c2, x), c = maker_2(g, "Mul", "c", x, c3);
  hr_value_t left = maker_2(g, "Sub", "left", a, c), right = maker_2(g, "Sub", "right", b, c), other = maker_2(g, "Sub", "other", c, b);
  hr_value_t fetch[] = {left, right, other};
  hr_program_t p = maker_program(g, 1, &x, 3, fetch, NULL);
  maker_pass(&p, hr_pass_cse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Const"), 2);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Mul"), 2); /* Mul commutes, Sub does not */
  HR_CHECK_EQ_I64(maker_live_of(&p, "Sub"), 2);
  HR_CHECK(p.fetches[0].node == p.fetches[1].node && p.fetches[0].node != p.fetches[2].node);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(control_edges_and_attrs_tell_nodes_apart) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), first = maker_1(g, "Neg", "first", x);
  hr_value_t a = maker_1(g, "Exp", "a", x), b = maker_1(g, "Exp", "b", x), c = maker_1(g, "Exp", "c", x);
  maker_wait(g, b, first);
  maker_wait(g, c, first);
  hr_value_t d = maker_1(g, "Tanh", "d", x);
  maker_wait(g, d, c);
  hr_value_t fetch[] = {a, b, c, d};
  hr_program_t p = maker_program(g, 1, &x, 4, fetch, NULL);
  maker_pass(&p, hr_pass_cse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Exp"), 2); /* b and c wait for the same, a waits for nothing */
  HR_CHECK(maker_live(&p, "d")->controls[0] == p.fetches[1].node);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(state_is_never_merged) {
  hr_graph_t* g = maker_graph();
  hr_value_t v = maker_variable(g, "v", &hr_pshape_scalar), one = maker_const(g, "one", 1);
  hr_value_t a = maker_2(g, "AssignAdd", "a", v, one), b = maker_2(g, "AssignAdd", "b", v, one), r = maker_1(g, "Identity", "r", v),
             s = maker_1(g, "Identity", "s", v);
  hr_value_t h = maker_handle(g, "h", &hr_pshape_scalar), q = maker_read(g, "q", h), t = maker_read(g, "t", h),
             fetch[] = {a, b, r, s, q, t};
  hr_program_t p = maker_program(g, 0, NULL, 6, fetch, NULL);
  maker_pass(&p, hr_pass_cse);
  HR_CHECK_EQ_I64(maker_live_of(&p, "AssignAdd"), 2);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Identity"), 2);
  HR_CHECK_EQ_I64(maker_live_of(&p, "ReadVariableOp"), 2);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
