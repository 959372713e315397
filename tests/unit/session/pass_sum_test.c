/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: a sum of products becomes a chain of products that add to each other, with the same values; what is read elsewhere, or
 * is no product, keeps its sum. A loop variable that products are added to takes them in. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/exec/flow_maker.h"
#include "unit/session/program_maker.h"

static hr_tensor_t ramp(int64_t rows, int64_t columns, int start) {
  const hr_shape_t s = hr_shape_matrix(rows, columns);
  hr_tensor_t t = {0};
  maker_must(hr_tensor_create(HR_F32, &s, &t), "a matrix");
  for (int64_t i = 0; i < t.count; ++i) ((float*)t.data)[i] = (float)((i + start) % 11) - 4.0f; /* sums of such products are exact */
  return t;
}

enum { TERMS = 3 };
typedef struct {
  hr_graph_t* g;
  hr_value_t x, terms[TERMS], sum;
  hr_tensor_t value; /* fed for x */
} sum_t;

static hr_value_t matrix(hr_graph_t* g, const char* name, hr_tensor_t take) {
  hr_value_t v = maker_const_of(g, name, &take);
  hr_tensor_release(&take);
  return v;
}

static hr_value_t product(hr_graph_t* g, const char* name, hr_value_t a, hr_value_t b) { /* a transposed, as gradients have it */
  hr_value_t in[] = {a, b};
  hr_named_attr_t at[] = {hr_at_bool("transpose_a", true)};
  return maker_node(g, "MatMul", name, 2, in, 1, at);
}

static hr_value_t add_all(hr_graph_t* g, const char* name, int count, const hr_value_t* terms) {
  hr_named_attr_t at[] = {hr_at_int("N", count)};
  return maker_node(g, "AddN", name, count, terms, 1, at);
}

/* x' w0 + x' w1 + w0' w1, summed from the last to the first; x is [k, m], the others too when m equals n */
static sum_t make_sum(int64_t k, int64_t m) {
  static const char* const names[] = {"p0", "p1", "p2"};
  sum_t s = {.g = maker_graph(), .value = ramp(k, m, 0)};
  const hr_pshape_t* known = NULL;
  maker_must(hr_pshape_from_shape(&s.g->arena, &s.value.shape, &known), "a shape");
  s.x = maker_placeholder(s.g, "x", HR_F32, known);
  hr_value_t w0 = matrix(s.g, "w0", ramp(k, m, 3)), w1 = matrix(s.g, "w1", ramp(k, m, 5));
  hr_value_t left[] = {s.x, s.x, w0}, right[] = {w0, w1, s.x}, turned[TERMS];
  for (int i = 0; i < TERMS; ++i) turned[TERMS - 1 - i] = s.terms[i] = product(s.g, names[i], left[i], right[i]);
  s.sum = add_all(s.g, "sum", TERMS, turned);
  return s;
}

static void drop_sum(sum_t* s) {
  hr_tensor_release(&s->value);
  hr_graph_destroy(s->g);
}

static int64_t links_after(const sum_t* s, int fetches, const hr_value_t* fetch) {
  hr_program_t p = maker_program(s->g, 1, &s->x, fetches, fetch, NULL);
  maker_pass(&p, hr_pass_sum);
  const int64_t links = maker_live_of(&p, "_FusedMatMul");
  HR_CHECK_EQ_I64(maker_live_of(&p, "AddN"), links ? 0 : 1);
  HR_CHECK_EQ_I64(maker_live_of(&p, "MatMul"), TERMS - links);
  hr_program_deinit(&p);
  return links;
}

static hr_tensor_t value_of(const sum_t* s, bool fusion, hr_value_t fetch) {
  hr_session_options_t o;
  hr_session_t* session = NULL;
  hr_tensor_t out = {0};
  hr_session_options_init(&o);
  o.fusion = fusion;
  maker_must(hr_session_create(s->g, &o, &session), "a session");
  hr_run_t run = {.feeds = &s->x, .feed_values = &s->value, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
  maker_must(hr_session_run(session, NULL, &run, &out, NULL, NULL), "a run");
  hr_session_destroy(session);
  return out;
}

static void check_sum(int64_t k, int64_t m) {
  sum_t s = make_sum(k, m);
  HR_CHECK_EQ_I64(links_after(&s, 1, &s.sum), TERMS - 1);
  hr_tensor_t a = value_of(&s, false, s.sum), b = value_of(&s, true, s.sum);
  HR_REQUIRE(a.count == m * m && b.count == a.count);
  for (int64_t i = 0; i < a.count; ++i) HR_CHECK(((float*)a.data)[i] == ((float*)b.data)[i]);
  hr_tensor_release(&a);
  hr_tensor_release(&b);
  drop_sum(&s);
}

HR_TEST(small_products_add_up_in_our_own_code) { check_sum(7, 5); }
HR_TEST(large_products_add_up_in_the_dense_library) { check_sum(40, 70); }

HR_TEST(a_term_that_is_fetched_or_measured_or_added_twice_keeps_the_sum) {
  sum_t s = make_sum(7, 5);
  hr_value_t fetched[] = {s.sum, s.terms[1]}, measured[] = {s.sum, maker_1(s.g, "Shape", "shape", s.terms[2])},
             twice[] = {s.terms[0], s.terms[0]}, doubled = add_all(s.g, "doubled", 2, twice);
  HR_CHECK_EQ_I64(links_after(&s, 2, fetched), 0);
  HR_CHECK_EQ_I64(links_after(&s, 2, measured), 0);
  hr_program_t p = maker_program(s.g, 1, &s.x, 1, &doubled, NULL);
  maker_pass(&p, hr_pass_sum);
  HR_CHECK_EQ_I64(maker_live_of(&p, "AddN"), 1);
  hr_program_deinit(&p);
  drop_sum(&s);
}

HR_TEST(a_term_that_is_no_product_keeps_the_sum) {
  sum_t s = make_sum(5, 5);
  hr_value_t mixed[] = {s.terms[0], s.terms[1], s.x}, sum = add_all(s.g, "mixed", 3, mixed);
  hr_program_t p = maker_program(s.g, 1, &s.x, 1, &sum, NULL);
  maker_pass(&p, hr_pass_sum);
  HR_CHECK_EQ_I64(maker_live_of(&p, "AddN"), 1);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 0);
  hr_program_deinit(&p);
  drop_sum(&s);
}

/* v += x' x three times over, from `start` on: both ways to write the sum. */
static hr_value_t make_running_sum(sum_t* s, bool product_first, int64_t start_rows) {
  hr_graph_t* g = s->g;
  hr_value_t start = matrix(g, "start", ramp(start_rows, 5, 1)), x = maker_enter_of(g, "ex", s->x, "f", true, 10);
  hr_value_t ei = maker_enter(g, "ei", maker_i32(g, "i0", 0), "f"), ev = maker_enter(g, "ev", start, "f");
  hr_value_t one = maker_enter_of(g, "one", maker_i32(g, "c1", 1), "f", true, 10),
             most = maker_enter_of(g, "most", maker_i32(g, "c3", 3), "f", true, 10);
  hr_value_t mi = maker_merge(g, "mi", ei, ei), mv = maker_merge(g, "mv", ev, ev);
  hr_value_t cond = maker_1(g, "LoopCond", "cond", maker_2(g, "Less", "less", mi, most));
  if (start_rows == 5) maker_must(hr_graph_refine_shape(g, mv, hr_value_shape(start)), "a shape");
  hr_value_t si = maker_2(g, "Switch", "si", mi, cond), sv = maker_2(g, "Switch", "sv", mv, cond);
  hr_value_t xx = product(g, "xx", x, x), v = hr_emit_nth(sv, 1);
  hr_value_t sum = product_first ? maker_2(g, "AddV2", "sum_v", xx, v) : maker_2(g, "AddV2", "sum_v", v, xx);
  maker_close(g, mi, maker_1(g, "NextIteration", "ni", maker_2(g, "AddV2", "more", hr_emit_nth(si, 1), one)));
  maker_close(g, mv, maker_1(g, "NextIteration", "nv", sum));
  return maker_1(g, "Exit", "out", sv);
}

HR_TEST(a_loop_variable_takes_products_in) {
  for (int product_first = 0; product_first < 2; ++product_first) {
    sum_t s = make_sum(7, 5);
    hr_value_t exit = make_running_sum(&s, product_first != 0, 5);
    hr_program_t p = maker_program(s.g, 1, &s.x, 1, &exit, NULL);
    maker_pass(&p, hr_pass_sum);
    HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 1);
    HR_CHECK_EQ_I64(maker_live_of(&p, "MatMul"), 0);
    HR_CHECK(maker_live(&p, "more") != NULL && maker_live(&p, "sum_v") == NULL);
    hr_program_deinit(&p);
    hr_tensor_t a = value_of(&s, false, exit), b = value_of(&s, true, exit);
    HR_REQUIRE(a.count == 25 && b.count == a.count);
    for (int64_t i = 0; i < a.count; ++i) HR_CHECK(((float*)a.data)[i] == ((float*)b.data)[i]);
    hr_tensor_release(&a);
    hr_tensor_release(&b);
    drop_sum(&s);
  }
}

HR_TEST(a_loop_variable_of_another_shape_keeps_its_sum) {
  sum_t s = make_sum(7, 5);
  hr_value_t exit = make_running_sum(&s, false, 1); /* a row, then a matrix: the variable's shape is not known */
  hr_program_t p = maker_program(s.g, 1, &s.x, 1, &exit, NULL);
  maker_pass(&p, hr_pass_sum);
  HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 0);
  hr_program_deinit(&p);
  drop_sum(&s);
}

HR_TEST(the_addend_may_be_a_factor_too_and_must_have_the_products_shape) {
  sum_t s = make_sum(5, 5);
  const hr_str_t add = HR_STR("Add");
  hr_named_attr_t at[] = {hr_at_int("num_args", 1), hr_at("fused_ops", HR_AT_LIST(HR_ATTR_STRING, ss, &add, 1))};
  hr_value_t factor = maker_1(s.g, "Neg", "factor", s.x), in[] = {factor, s.x, factor},
             y = maker_node(s.g, "_FusedMatMul", "fused", 3, in, 2, at), pair[] = {maker_2(s.g, "MatMul", "plain", factor, s.x), factor},
             want = add_all(s.g, "want", 2, pair);
  hr_tensor_t a = value_of(&s, false, want), b = value_of(&s, true, y);
  for (int64_t i = 0; i < a.count; ++i) HR_CHECK(((float*)a.data)[i] == ((float*)b.data)[i]);
  hr_tensor_release(&a);
  hr_tensor_release(&b);
  in[2] = matrix(s.g, "row", ramp(1, 5, 0));
  y = maker_node(s.g, "_FusedMatMul", "unequal", 3, in, 2, at);
  hr_session_options_t o;
  hr_session_t* session = NULL;
  hr_tensor_t out = {0};
  hr_session_options_init(&o);
  maker_must(hr_session_create(s.g, &o, &session), "a session");
  hr_run_t run = {.feeds = &s.x, .feed_values = &s.value, .feed_count = 1, .fetches = &y, .fetch_count = 1};
  hr_status_t status = hr_session_run(session, NULL, &run, &out, NULL, NULL);
  HR_CHECK(hr_status_code(status) == HR_INVALID_ARGUMENT);
  hr_status_release(status);
  hr_session_destroy(session);
  drop_sum(&s);
}

/* What the chain adds up, from the first product to the last, where AddN reads them in the order `reads`. */
static void check_chain(sum_t* s, const int32_t ranks[TERMS], const int reads[TERMS], const char* wanted) {
  static const char* const names[TERMS] = {"p0", "p1", "p2"};
  hr_program_t p = maker_program(s->g, 1, &s->x, 1, &s->sum, NULL);
  char text[16] = {0};
  hr_node_t* terms[TERMS];
  for (int32_t id = 0, at = 0; id < p.graph->nodes.count; ++id) /* by their numbers */
    if (hr_str_is(p.graph->nodes.data[id]->attrs.def->name, "MatMul")) terms[at++] = p.graph->nodes.data[id];
  for (int i = 0; i < TERMS; ++i) {
    p.ranks.data[terms[i]->id] = ranks[i];
    maker_must(hr_graph_set_input(p.graph, p.fetches[0].node, i, (hr_value_t){terms[reads[i]], 0}), "an input");
    HR_CHECK(hr_str_is(terms[i]->name, names[TERMS - 1 - i])); /* the sum lists the last first */
  }
  maker_pass(&p, hr_pass_sum);
  const hr_node_t* n = p.fetches[0].node;
  for (int at = TERMS - 1; at > 0 && HR_CHECK(hr_str_is(n->attrs.def->name, "_FusedMatMul")); --at, n = n->inputs[2].node)
    text[at] = (char)('0' + TERMS - 1 - (n->name.data[1] - '0')); /* a link is named after its product, with a number */
  text[0] = (char)('0' + TERMS - 1 - (n->name.data[1] - '0'));
  HR_CHECK_STR(text, wanted);
  hr_program_deinit(&p);
}

HR_TEST(products_are_added_as_they_run_and_by_their_number_where_that_is_the_same) {
  sum_t s = make_sum(7, 5);
  static const int as_made[] = {0, 1, 2}, turned[] = {2, 1, 0}, mixed[] = {1, 2, 0};
  const int* const reads[] = {as_made, turned, mixed};
  for (int i = 0; i < 3; ++i) {
    check_chain(&s, (int32_t[]){1, 2, 3}, reads[i], "012");
    check_chain(&s, (int32_t[]){3, 2, 1}, reads[i], "210");
    check_chain(&s, (int32_t[]){2, 3, 1}, reads[i], "201");
    check_chain(&s, (int32_t[]){1, 1, 1}, reads[i], "012"); /* of one function's body */
    check_chain(&s, (int32_t[]){2, 1, 1}, reads[i], "120");
  }
  drop_sum(&s);
}

/* Each graph has one thing that a chain must not change. */
HR_TEST(what_waits_or_is_of_another_type_or_alone_keeps_its_sum) {
  sum_t s = make_sum(5, 5);
  hr_graph_t* g = s.g;
  hr_value_t w = matrix(g, "w", ramp(5, 5, 2)), other = maker_1(g, "Neg", "other", s.x), late = product(g, "late", s.x, w);
  maker_wait(g, late, other);
  hr_value_t with_late[] = {s.terms[0], late}, wide = maker_placeholder(g, "wide", HR_F64, hr_value_shape(s.x));
  hr_value_t doubles[] = {product(g, "d0", wide, wide), maker_2(g, "MatMul", "d1", wide, wide)};
  hr_value_t v = maker_variable(g, "v", hr_value_shape(s.x)), of_variable[] = {product(g, "pv", s.x, v), s.terms[1]};
  hr_value_t open = maker_placeholder(g, "open", HR_F32, NULL), unknown[] = {product(g, "u0", s.x, open), product(g, "u1", open, s.x)};
  hr_value_t waiting = add_all(g, "waiting", 2, s.terms);
  maker_wait(g, waiting, other);
  const hr_value_t sums[] = {waiting, add_all(g, "of_late", 2, with_late), add_all(g, "of_doubles", 2, doubles),
                             add_all(g, "of_variable", 2, of_variable), add_all(g, "of_unknown", 2, unknown),
                             add_all(g, "alone", 1, s.terms)};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; ++i) {
    hr_value_t feeds[] = {s.x, wide, open};
    hr_program_t p = maker_program(g, 3, feeds, 1, &sums[i], NULL);
    maker_pass(&p, hr_pass_sum);
    if (!HR_CHECK_EQ_I64(maker_live_of(&p, "AddN"), 1)) printf("  %s\n", sums[i].node->name.data);
    HR_CHECK_EQ_I64(maker_live_of(&p, "_FusedMatMul"), 0);
    hr_program_deinit(&p);
  }
  hr_value_t pair = add_all(g, "pair", 2, s.terms);
  HR_CHECK_EQ_I64(maker_left(g, s.x, 1, &pair, NULL, hr_pass_sum, "_FusedMatMul"), 1); /* two are enough */
  drop_sum(&s);
}

/* What a Switch lets in takes a product in when both have one shape, wherever it stands. */
HR_TEST(a_product_that_is_spread_over_the_variable_is_added) {
  static const struct { int64_t rows, columns, links; } kinds[] = {{5, 5, 1}, {5, 1, 0}, {1, 5, 0}, {1, 1, 0}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    sum_t s = make_sum(5, 5);
    hr_graph_t* g = s.g;
    hr_value_t c = maker_bool(g, "c"), inside = hr_emit_nth(maker_2(g, "Switch", "in", matrix(g, "m", ramp(5, 5, 1)), c), 1);
    hr_value_t a = matrix(g, "a", ramp(3, kinds[i].rows, 1)), b = matrix(g, "b", ramp(3, kinds[i].columns, 2)),
               sum = maker_2(g, "AddV2", "added", inside, product(g, "ab", a, b));
    HR_CHECK_EQ_I64(maker_left(g, c, 1, &sum, NULL, hr_pass_sum, "_FusedMatMul"), kinds[i].links);
    hr_value_t waits = maker_2(g, "AddV2", "waits", inside, product(g, "again", a, b));
    maker_wait(g, waits, inside);
    HR_CHECK_EQ_I64(maker_left(g, c, 1, &waits, NULL, hr_pass_sum, "_FusedMatMul"), 0);
    drop_sum(&s);
  }
}

HR_TEST_MAIN()
