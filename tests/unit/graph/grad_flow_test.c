/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of conditionals and loops: their values against differences and formulas, and what the graph is made of: what stays the same is
 * not pushed, what is not wanted is not made. */
#include "graph/grad.h"
#include "op/node_class.h"
#include "session/session.h"
#include "unit/exec/flow_maker.h"

/* --- asking --------------------------------------------------------------------------------------------------------------------------- */
static hr_status_t derive(hr_graph_t* g, hr_value_t y, hr_value_t x, hr_value_t* out) {
  hr_gradient_t d = {0};
  hr_grad_request_t r = {.ys = &y, .y_count = 1, .xs = &x, .x_count = 1};
  HR_TRY(hr_grad_build(g, &r, &d));
  *out = d.dense;
  return NULL;
}

static double run_at(hr_session_t* s, const hr_value_t* feeds, const hr_tensor_t* values, int count, hr_value_t v) {
  hr_tensor_t out = {0};
  hr_run_t run = {.feeds = feeds, .feed_values = values, .feed_count = count, .fetches = &v, .fetch_count = 1};
  double result = HR_CHECK_OK(hr_session_run(s, NULL, &run, &out, NULL, NULL)) ? maker_get(&out) : NAN;
  hr_tensor_release(&out);
  return result;
}

static double run_x(hr_graph_t* g, hr_value_t x, float at, hr_value_t v) {
  hr_session_t* s = NULL;
  hr_tensor_t value = maker_f32(at);
  maker_must(hr_session_create(g, NULL, &s), "a session");
  double result = run_at(s, &x, &value, 1, v);
  hr_tensor_release(&value);
  hr_session_destroy(s);
  return result;
}

static int count_ops(const hr_graph_t* g, const char* op) {
  int count = 0;
  for (int64_t i = 0; i < g->nodes.count; ++i)
    if (hr_str_equal(g->nodes.data[i]->attrs.def->name, hr_str(op))) ++count;
  return count;
}

/* The gradient by x of y at some points, against central differences. */
static void check_by_differences(hr_graph_t* g, hr_value_t y, hr_value_t x) {
  static const float points[] = {0.7f, 1.3f, -0.4f};
  hr_value_t d;
  HR_REQUIRE_OK(derive(g, y, x, &d));
  HR_REQUIRE(d.node != NULL);
  for (int i = 0; i < 3; ++i) {
    const float h = 1e-2f;
    double by_difference = (run_x(g, x, points[i] + h, y) - run_x(g, x, points[i] - h, y)) / (2 * h), got = run_x(g, x, points[i], d);
    HR_CHECK_NEAR(got, by_difference, 2e-3 * (1 + fabs(by_difference)));
  }
}

/* --- conditionals --------------------------------------------------------------------------------------------------------------------- */
/* pred ? f(x) : g(x), as TensorFlow's Python makes it. */
static hr_value_t make_cond(hr_graph_t* g, const char* scope, hr_value_t x, hr_value_t pred, const char* if_true, const char* if_false) {
  char n[64];
  hr_value_t in = maker_2(g, "Switch", maker_name(n, scope, "in"), x, pred);
  hr_value_t a = maker_1(g, if_false, maker_name(n, scope, "a"), in),
             b = maker_1(g, if_true, maker_name(n, scope, "b"), hr_emit_nth(in, 1));
  return maker_merge(g, maker_name(n, scope, "out"), a, b);
}

static hr_value_t truth(hr_graph_t* g, const char* name, bool v) {
  hr_tensor_t t = maker_truth(v);
  hr_value_t out = maker_const_of(g, name, &t);
  hr_tensor_release(&t);
  return out;
}

HR_TEST(the_branch_taken_has_the_gradient) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar);
  hr_value_t yes = make_cond(g, "yes", x, truth(g, "t", true), "Square", "Exp"),
             no = make_cond(g, "no", x, truth(g, "f", false), "Square", "Exp");
  check_by_differences(g, yes, x);
  check_by_differences(g, no, x);
  check_by_differences(g, maker_2(g, "Mul", "both", maker_2(g, "Mul", "yx", yes, x), no), x);
  hr_graph_destroy(g);
}

HR_TEST(conditionals_within_conditionals) {
  for (int taken = 0; taken < 4; ++taken) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), p = truth(g, "p", taken & 1), q = truth(g, "q", taken & 2);
    hr_value_t in = maker_2(g, "Switch", "in", x, p), in_q = maker_2(g, "Switch", "in_q", q, p);
    hr_value_t inner = make_cond(g, "inner", hr_emit_nth(in, 1), hr_emit_nth(in_q, 1), "Square", "Sin");
    hr_value_t used = maker_2(g, "Mul", "used", inner, hr_emit_nth(in, 1)), other = maker_1(g, "Exp", "other", in);
    check_by_differences(g, maker_merge(g, "out", other, used), x);
    hr_graph_destroy(g);
  }
}

HR_TEST(a_conditional_twice_over) { /* d2/dx2 of x^2 and of exp x */
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), first, second;
  HR_REQUIRE_OK(derive(g, make_cond(g, "c", x, truth(g, "t", true), "Square", "Exp"), x, &first));
  HR_REQUIRE_OK(derive(g, first, x, &second));
  HR_CHECK_NEAR(run_x(g, x, 3, second), 2, 1e-6);
  HR_REQUIRE_OK(derive(g, make_cond(g, "d", x, truth(g, "f", false), "Square", "Exp"), x, &first));
  HR_REQUIRE_OK(derive(g, first, x, &second));
  HR_CHECK_NEAR(run_x(g, x, 1, second), exp(1), 1e-5);
  hr_graph_destroy(g);
}

/* No predicate to be read off: by the Merge's own index. */
HR_TEST(a_merge_of_three_branches) {
  for (int taken = 0; taken < 3; ++taken) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), p = truth(g, "p", taken == 0), q = truth(g, "q", taken == 1);
    hr_value_t a = maker_2(g, "Switch", "a", x, p), rest_q = maker_2(g, "Switch", "rest_q", q, p), b = maker_2(g, "Switch", "b", a, rest_q);
    hr_value_t in[] = {maker_1(g, "Square", "s", hr_emit_nth(a, 1)), maker_1(g, "Exp", "e", hr_emit_nth(b, 1)), maker_1(g, "Sin", "n", b)};
    check_by_differences(g, maker_node(g, "Merge", "out", 3, in, 0, NULL), x);
    hr_graph_destroy(g);
  }
}

/* --- loops ---------------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_value_t body_i, body_a, live, exit; /* in an iteration: the counter, the variable, the constant that entered */
  hr_value_t merge_a, switch_a, merge_i, cond;
} power_t;

/* for (i = 0; i < times; ++i) a = ?; the body is the caller's: power_close(next). */
static power_t power_open(hr_graph_t* g, const char* scope, hr_value_t a0, hr_value_t constant, hr_value_t times, int parallel) {
  char n[64];
  power_t l;
  hr_value_t zero = maker_i32(g, maker_name(n, scope, "zero"), 0);
  if (hr_str_find(hr_str(scope), '/') >= 0) maker_wait(g, zero, a0);
  hr_value_t enter_i = maker_enter_of(g, maker_name(n, scope, "enter_i"), zero, scope, false, parallel);
  hr_value_t enter_a = maker_enter_of(g, maker_name(n, scope, "enter_a"), a0, scope, false, parallel);
  hr_value_t most = maker_enter_of(g, maker_name(n, scope, "most"), times, scope, true, parallel);
  l.live = maker_enter_of(g, maker_name(n, scope, "constant"), constant, scope, true, parallel);
  l.merge_i = maker_merge(g, maker_name(n, scope, "merge_i"), enter_i, enter_i);
  l.merge_a = maker_merge(g, maker_name(n, scope, "merge_a"), enter_a, enter_a);
  maker_must(hr_graph_refine_shape(g, l.merge_a, &hr_pshape_scalar), "a shape");
  hr_value_t less = maker_2(g, "Less", maker_name(n, scope, "less"), l.merge_i, most);
  l.cond = maker_1(g, "LoopCond", maker_name(n, scope, "cond"), less);
  hr_value_t switch_i = maker_2(g, "Switch", maker_name(n, scope, "switch_i"), l.merge_i, l.cond);
  l.switch_a = maker_2(g, "Switch", maker_name(n, scope, "switch_a"), l.merge_a, l.cond);
  l.body_i = maker_1(g, "Identity", maker_name(n, scope, "body_i"), hr_emit_nth(switch_i, 1));
  l.body_a = maker_1(g, "Identity", maker_name(n, scope, "body_a"), hr_emit_nth(l.switch_a, 1));
  hr_value_t one = maker_i32(g, maker_name(n, scope, "one"), 1);
  maker_wait(g, one, l.body_i);
  hr_value_t more = maker_2(g, "AddV2", maker_name(n, scope, "more"), l.body_i, one);
  maker_close(g, l.merge_i, maker_1(g, "NextIteration", maker_name(n, scope, "next_i"), more));
  return l;
}
static hr_value_t power_close(hr_graph_t* g, const char* scope, power_t* l, hr_value_t next) {
  char n[64];
  maker_close(g, l->merge_a, maker_1(g, "NextIteration", maker_name(n, scope, "next_a"), next));
  return maker_1(g, "Exit", maker_name(n, scope, "exit"), l->switch_a);
}

HR_TEST(a_power_by_a_loop) {
  for (int parallel = 1; parallel <= 10; parallel += 9)
    for (int times = 0; times < 4; ++times) {
      hr_graph_t* g = maker_graph();
      hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), one = maker_const(g, "one", 1), d;
      power_t l = power_open(g, "loop", one, x, maker_i32(g, "times", times), parallel);
      hr_value_t y = power_close(g, "loop", &l, maker_2(g, "Mul", "mul", l.body_a, l.live));
      HR_REQUIRE_OK(derive(g, y, x, &d));
      HR_CHECK_NEAR(run_x(g, x, 1.5f, d), times ? times * pow(1.5, times - 1) : 0, 1e-5);
      HR_CHECK_EQ_I64(count_ops(g, "StackPushV2"), 1); /* the product before; x is the same each time */
      hr_graph_destroy(g);
    }
}

HR_TEST(what_is_not_wanted_is_not_made) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), c = maker_const(g, "c", 0.5f);
  power_t l = power_open(g, "loop", x, c, maker_i32(g, "times", 3), 10);
  hr_value_t y = power_close(g, "loop", &l, maker_2(g, "Mul", "mul", l.body_a, l.live)), d;
  HR_REQUIRE_OK(derive(g, y, x, &d));
  HR_CHECK_EQ_I64(count_ops(g, "StackPushV2"), 0); /* c is a constant, and nobody asks for its gradient */
  HR_CHECK_NEAR(run_x(g, x, 2, d), 0.125, 1e-6);
  hr_graph_destroy(g);
}

/* for i: for j < i + 1: a = sin(a) * x + a */
HR_TEST(a_loop_within_a_loop) {
  for (int parallel = 1; parallel <= 10; parallel += 9) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), one = maker_i32(g, "one", 1);
    power_t l = power_open(g, "outer", x, x, maker_i32(g, "times", 3), parallel);
    maker_wait(g, one, l.body_i);
    hr_value_t times = maker_2(g, "AddV2", "times_in", l.body_i, one);
    power_t m = power_open(g, "outer/inner", l.body_a, l.live, times, parallel);
    hr_value_t s = maker_1(g, "Sin", "sin", m.body_a), t = maker_2(g, "Mul", "mul", s, m.live);
    hr_value_t inner = power_close(g, "outer/inner", &m, maker_2(g, "AddV2", "add", t, m.body_a));
    check_by_differences(g, power_close(g, "outer", &l, inner), x);
    hr_graph_destroy(g);
  }
}

/* for i: a = i < 2 ? sin(a * x) : a * a + x */
HR_TEST(a_conditional_within_a_loop) {
  for (int parallel = 1; parallel <= 10; parallel += 9) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), two = maker_i32(g, "two", 2);
    power_t l = power_open(g, "loop", x, x, maker_i32(g, "times", 4), parallel);
    maker_wait(g, two, l.body_i);
    hr_value_t p = maker_2(g, "Less", "p", l.body_i, two), a = maker_2(g, "Switch", "a", l.body_a, p),
               c = maker_2(g, "Switch", "c", l.live, p);
    hr_value_t yes = maker_1(g, "Sin", "sin", maker_2(g, "Mul", "ax", hr_emit_nth(a, 1), hr_emit_nth(c, 1)));
    hr_value_t no = maker_2(g, "AddV2", "plus", maker_2(g, "Mul", "aa", a, a), c);
    check_by_differences(g, power_close(g, "loop", &l, maker_merge(g, "out", no, yes)), x);
    hr_graph_destroy(g);
  }
}

/* p ? (for i: a = sin(a) * x) : exp(x) */
HR_TEST(a_loop_within_a_conditional) {
  for (int taken = 0; taken < 2; ++taken) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), p = truth(g, "p", taken), in = maker_2(g, "Switch", "in", x, p);
    hr_value_t live = hr_emit_nth(in, 1), times = maker_i32(g, "times", 3);
    maker_wait(g, times, maker_1(g, "Identity", "pivot", live));
    power_t l = power_open(g, "loop", live, live, times, 10);
    hr_value_t y = power_close(g, "loop", &l, maker_2(g, "Mul", "mul", maker_1(g, "Sin", "sin", l.body_a), l.live));
    check_by_differences(g, maker_merge(g, "out", maker_1(g, "Exp", "exp", in), y), x);
    hr_graph_destroy(g);
  }
}

/* for i: a = x: what an iteration had before has no say in the next, so its gradient is zero each time, and the loop ends all the same. */
HR_TEST(a_loop_that_forgets) {
  for (int times = 0; times < 3; ++times) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar);
    power_t l = power_open(g, "loop", maker_1(g, "Square", "start", x), x, maker_i32(g, "times", times), 10);
    hr_value_t next = maker_1(g, "Sin", "sin", l.live);
    maker_wait(g, next, l.body_i);
    check_by_differences(g, power_close(g, "loop", &l, next), x);
    hr_graph_destroy(g);
  }
}

/* Within an iteration: a = a - d(a^2 x)/da, so a = a (1 - 2 x). */
HR_TEST(a_gradient_within_an_iteration) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), one = maker_const(g, "one", 1), d;
  power_t l = power_open(g, "loop", one, x, maker_i32(g, "times", 3), 10);
  hr_value_t y = maker_2(g, "Mul", "y", maker_1(g, "Square", "square", l.body_a), l.live);
  HR_REQUIRE_OK(derive(g, y, l.body_a, &d));
  hr_value_t out = power_close(g, "loop", &l, maker_2(g, "Sub", "sub", l.body_a, d));
  HR_CHECK_NEAR(run_x(g, x, 0.25f, out), 0.125, 1e-6);
  hr_graph_destroy(g);
}

/* --- what there is not ---------------------------------------------------------------------------------------------------------------- */
HR_TEST(gradients_that_there_are_not) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), one = maker_const(g, "one", 1), d, dd;
  power_t l = power_open(g, "loop", one, x, maker_i32(g, "times", 3), 10);
  hr_value_t y = power_close(g, "loop", &l, maker_2(g, "Mul", "mul", l.body_a, l.live));
  HR_CHECK_CODE(derive(g, y, l.body_a, &d), HR_UNIMPLEMENTED, "stands in a loop");
  HR_REQUIRE_OK(derive(g, y, x, &d));
  HR_CHECK_CODE(derive(g, d, x, &dd), HR_UNIMPLEMENTED, "second-order");
  hr_value_t ys[] = {y, l.body_a};
  hr_gradient_t out = {0};
  hr_grad_request_t r = {.ys = ys, .y_count = 2, .xs = &x, .x_count = 1};
  HR_CHECK_CODE(hr_grad_build(g, &r, &out), HR_INVALID_ARGUMENT, "different loops");
  hr_graph_destroy(g);
}

static hr_status_t build_all(void) {
  hr_graph_t* g = NULL;
  hr_value_t d;
  HR_TRY(hr_graph_create(&g));
  hr_alloc_fail_at(0, false); /* the forward graph is made without faults... */
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), one = maker_const(g, "one", 1);
  power_t l = power_open(g, "loop", one, x, maker_i32(g, "times", 3), 10);
  hr_value_t y = power_close(g, "loop", &l, maker_2(g, "Mul", "mul", l.body_a, l.live));
  static int64_t fault;
  hr_alloc_fail_at(++fault, false); /* ...and its gradient with one at each place */
  hr_status_t status = derive(g, y, x, &d);
  bool reached = hr_alloc_has_failed();
  hr_alloc_fail_at(0, false);
  hr_graph_destroy(g);
  if (!reached) return status ? status : HR_ERROR(OUT_OF_RANGE, "there are no more places");
  if (hr_status_code(status) != HR_RESOURCE_EXHAUSTED) return hr_status_note(status ? status : HR_ERROR(INTERNAL, "swallowed"), "fault: ");
  hr_status_release(status);
  return NULL;
}

HR_TEST(out_of_memory_is_a_status) {
  hr_status_t status = NULL;
  for (int i = 0; !status && i < 100000; ++i) status = build_all();
  HR_CHECK_CODE(status, HR_OUT_OF_RANGE, "no more places");
}
HR_TEST_MAIN()
