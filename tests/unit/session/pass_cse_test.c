/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: equal nodes become one; what differs in op, attrs, inputs, control edges or state does not. */
#define HR_TEST_LEAKS_CHECKED
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

static hr_tensor_t bytes_tensor(int dtype, int64_t bytes, const hr_shape_t* shape) {
  hr_tensor_t t = {0};
  const hr_shape_t vector = hr_shape_vector(bytes / (int64_t)hr_dtype_size((hr_dtype_t)dtype));
  maker_must(hr_tensor_create((hr_dtype_t)dtype, shape ? shape : &vector, &t), "a tensor");
  memset(t.data, 0, hr_tensor_bytes(&t));
  return t;
}

static int64_t constants_left(hr_graph_t* g, hr_value_t a, hr_value_t b) {
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), fetch[] = {a, b};
  const int64_t left = maker_left(g, x, 2, fetch, NULL, hr_pass_cse, "Const");
  hr_graph_destroy(g);
  return left;
}

/* The bytes of large constants are not compared: two are one only where both are the same tensor. */
HR_TEST(large_constants_are_one_where_they_share_their_memory) {
  for (int64_t bytes = 1024; bytes <= 1028; bytes += 4) {
    hr_graph_t* g = maker_graph();
    hr_tensor_t t = bytes_tensor(HR_F32, bytes, NULL), u = bytes_tensor(HR_F32, bytes, NULL);
    hr_value_t a = maker_const_of(g, "a", &t), b = maker_const_of(g, "b", &u);
    HR_CHECK_EQ_I64(constants_left(g, a, b), bytes <= 1024 ? 1 : 2);
    g = maker_graph();
    a = maker_const_of(g, "a", &t), b = maker_const_of(g, "b", &t);
    HR_CHECK_EQ_I64(constants_left(g, a, b), 1);
    hr_tensor_release(&t);
    hr_tensor_release(&u);
  }
}

HR_TEST(memory_that_is_shared_in_another_shape_or_type_or_in_part_is_another_constant) {
  const hr_shape_t matrix = hr_shape_matrix(100, 8), turned = hr_shape_matrix(8, 100), part = hr_shape_vector(700);
  const struct { hr_dtype_t dtype; hr_shape_t shape; } others[] = {{HR_F32, turned}, {HR_I32, matrix}, {HR_F32, part}};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    hr_graph_t* g = maker_graph();
    hr_tensor_t t = bytes_tensor(HR_F32, 0, &matrix), u = t;
    u.dtype = others[i].dtype, u.shape = others[i].shape, u.count = hr_shape_count(&others[i].shape);
    hr_value_t a = maker_const_of(g, "a", &t), b = maker_const_of(g, "b", &u);
    if (!HR_CHECK_EQ_I64(constants_left(g, a, b), 2)) printf("  row %d\n", (int)i);
    hr_tensor_release(&t);
  }
}

HR_TEST(other_outputs_and_other_devices_are_other_values) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), in[] = {x, x};
  const int32_t types[] = {HR_F32, HR_F32};
  const hr_named_attr_t at = hr_at_types("T", types, 2);
  hr_value_t both = maker_node(g, "IdentityN", "both", 2, in, 1, &at);
  hr_value_t a = maker_1(g, "Exp", "a", both), b = maker_1(g, "Exp", "b", hr_emit_nth(both, 1)), c = maker_1(g, "Exp", "c", both),
             fetch[] = {a, b, c};
  HR_CHECK_EQ_I64(maker_left(g, x, 3, fetch, NULL, hr_pass_cse, "Exp"), 2);
  c.node->device = HR_STR("/job:ps");
  HR_CHECK_EQ_I64(maker_left(g, x, 3, fetch, NULL, hr_pass_cse, "Exp"), 3);
  hr_graph_destroy(g);
}

HR_TEST(all_outputs_and_waits_go_to_the_one_that_stays) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), in[] = {x, x};
  const int32_t types[] = {HR_F32, HR_F32};
  const hr_named_attr_t at = hr_at_types("T", types, 2);
  hr_value_t a = maker_node(g, "IdentityN", "a", 2, in, 1, &at), b = maker_node(g, "IdentityN", "b", 2, in, 1, &at);
  hr_value_t y = maker_2(g, "Sub", "y", hr_emit_nth(a, 1), hr_emit_nth(b, 1)), fetch[] = {y, b};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, b.node);
  maker_pass(&p, hr_pass_cse);
  const hr_node_t* one = maker_live(&p, "a");
  HR_CHECK(!maker_live(&p, "b") && p.fetches[1].node == one && p.targets[0] == one);
  HR_CHECK(maker_live(&p, "y")->inputs[1].node == one && maker_live(&p, "y")->inputs[1].index == 1);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(many_equal_nodes_among_many_others) { /* the table has more entries than it began with */
  enum { KINDS = 40, COPIES = 5 };
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), all[KINDS * COPIES];
  for (int i = 0; i < KINDS * COPIES; ++i) {
    char name[16];
    snprintf(name, sizeof name, "c%d", i);
    all[i] = maker_const(g, name, (float)(i % KINDS));
  }
  HR_CHECK_EQ_I64(maker_left(g, x, KINDS * COPIES, all, NULL, hr_pass_cse, "Const"), KINDS);
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
