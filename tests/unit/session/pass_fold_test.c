/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: what follows from constants becomes constants, within the cap; feeding a constant undoes it. */
#define HR_TEST_LEAKS_CHECKED
#include "graph/const_eval.h"
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

/* Whether y, of constants, is folded when results may have so many bytes. */
static bool folds(hr_graph_t* g, hr_value_t y, int64_t most_bytes) {
  hr_session_options_t o;
  hr_session_options_init(&o);
  o.max_folded_bytes = most_bytes;
  hr_program_t p = maker_program(g, 0, NULL, 1, &y, NULL);
  maker_pass_with(&p, hr_pass_fold, &o);
  const bool folded = hr_str_is(p.fetches[0].node->attrs.def->name, "Const");
  hr_program_deinit(&p);
  return folded;
}

static hr_value_t ints(hr_graph_t* g, const char* name, int rank, int64_t count, const int64_t* values) {
  hr_tensor_t t = {0};
  if (rank) maker_must(hr_tensor_from_i64_vec(HR_I32, values, count, &t), "numbers");
  else maker_must(hr_tensor_from_i32((int32_t)values[0], &t), "a number");
  hr_value_t v = maker_const_of(g, name, &t);
  hr_tensor_release(&t);
  return v;
}

HR_TEST(results_of_exactly_the_cap_are_folded) {
  hr_graph_t* g = maker_graph();
  hr_tensor_t t = maker_vec(6, 1);
  hr_value_t c = maker_const_of(g, "c", &t), neg = maker_1(g, "Neg", "neg", c);
  hr_value_t cut[] = {ints(g, "axis", 0, 1, (int64_t[]){0}), c};
  const hr_named_attr_t parts = hr_at_int("num_split", 3);
  hr_value_t split = maker_node(g, "Split", "split", 2, cut, 1, &parts); /* three outputs of 8 bytes count together */
  hr_value_t list[] = {ints(g, "x", 1, 4, (int64_t[]){4, 5, 6, 7}), ints(g, "y", 1, 1, (int64_t[]){5})};
  hr_value_t diff = maker_node(g, "ListDiff", "diff", 2, list, 0, NULL); /* measured afterwards: two outputs of 12 bytes */
  const hr_value_t ys[] = {neg, split, hr_emit_nth(split, 2), diff};
  for (size_t i = 0; i < sizeof ys / sizeof *ys; ++i) {
    HR_CHECK(folds(g, ys[i], 24) && folds(g, ys[i], 25));
    if (!HR_CHECK(!folds(g, ys[i], 23))) printf("  %s\n", ys[i].node->name.data);
  }
  hr_tensor_release(&t);
  hr_graph_destroy(g);
}

HR_TEST(only_the_outputs_that_are_read_become_constants) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL);
  hr_tensor_t t = maker_vec(6, 1);
  hr_value_t cut[] = {ints(g, "axis", 0, 1, (int64_t[]){0}), maker_const_of(g, "c", &t)};
  const hr_named_attr_t parts = hr_at_int("num_split", 3);
  hr_value_t split = maker_node(g, "Split", "split", 2, cut, 1, &parts), y = maker_2(g, "Mul", "y", x, hr_emit_nth(split, 1)),
             neg = maker_1(g, "Neg", "neg", hr_emit_nth(split, 2)), fetch[] = {y, hr_emit_nth(split, 0), neg};
  hr_program_t p = maker_program(g, 1, &x, 3, fetch, NULL);
  maker_pass(&p, hr_pass_fold);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Const"), 3);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Split"), 0);
  HR_CHECK_EQ_F64(constant_of(maker_live(&p, "y")->inputs[1].node), 3);
  HR_CHECK_EQ_F64(constant_of(p.fetches[1].node), 1);
  HR_CHECK_EQ_F64(constant_of(p.fetches[2].node), -5);
  hr_program_deinit(&p);
  hr_tensor_release(&t);
  hr_graph_destroy(g);
}

HR_TEST(handles_and_variants_are_not_folded) {
  hr_graph_t* g = maker_graph();
  hr_value_t in[] = {ints(g, "shape", 1, 1, (int64_t[]){2}), ints(g, "most", 0, 1, (int64_t[]){3})};
  const hr_named_attr_t at[] = {hr_at_type("element_dtype", HR_F32), hr_at_type("shape_type", HR_I32)};
  hr_value_t list = maker_node(g, "EmptyTensorList", "list", 2, in, 2, at), length = maker_1(g, "TensorListLength", "length", list);
  HR_CHECK(!folds(g, length, 1000) && !folds(g, list, 1000));
  hr_graph_destroy(g);
}

/* A static shape says what Shape gives; that holds while only placeholders are fed. */
HR_TEST(known_shapes_hold_unless_something_else_is_fed) {
  for (int fed_inside = 0; fed_inside < 2; ++fed_inside) {
    hr_graph_t* g = maker_graph();
    const int64_t dims[] = {3, 2};
    const hr_pshape_t* shape = NULL;
    maker_must(hr_pshape_make(&g->arena, 2, dims, &shape), "a shape");
    hr_value_t x = maker_placeholder(g, "x", HR_F32, shape), neg = maker_1(g, "Neg", "neg", x), y = maker_1(g, "Shape", "y", neg);
    const hr_tensor_t* known = NULL;
    hr_program_t p = maker_program(g, 1, fed_inside ? &neg : &x, 1, &y, NULL);
    HR_CHECK_OK(hr_const_eval(p.graph, p.fetches[0], &known));
    HR_CHECK(known != NULL);
    maker_pass(&p, hr_pass_fold);
    HR_CHECK_EQ_I64(maker_live_of(&p, "Shape"), fed_inside);
    hr_program_deinit(&p);
    hr_graph_destroy(g);
  }
}

HR_TEST_MAIN()
