/* SPDX-License-Identifier: Apache-2.0 */
/* The general path: loops, conditionals, what is dead, what is malformed, what a steady loop costs. */
#define HR_TEST_LEAKS_CHECKED
#include <time.h>
#include "base/clock.h"
#include "base/thread.h"
#include "unit/exec/flow_maker.h"
#include "unit/exec/rig.h"

static hr_value_t exit_float(const maker_loop_t* l) { return l->exit_a; }

HR_TEST(a_loop_counts) {
  rig_t r;
  rig_init(&r);
  hr_value_t a = maker_placeholder(r.g, "a", HR_F32, NULL);
  maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), a, 1000, 0.5f, 10);
  hr_value_t fetch[] = {l.exit_i, exit_float(&l)};
  HR_REQUIRE_OK(rig_plan(&r, 1, &a, 2, fetch));
  hr_tensor_t feed = maker_f32(3), out[2];
  for (int i = 0; i < 3; ++i) {
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, &feed, out));
    HR_CHECK_EQ_I64(*(int32_t*)out[0].data, 1000);
    HR_CHECK_EQ_F64(maker_get(&out[1]), 503);
    hr_tensor_release(&out[0]);
    hr_tensor_release(&out[1]);
  }
  hr_tensor_release(&feed);
  rig_deinit(&r);
}

HR_TEST(any_number_of_parallel_iterations_gives_the_same) {
  static const int parallel[] = {-5, 0, 1, 2, 3, 10, 64, 1000000};
  for (size_t i = 0; i < sizeof parallel / sizeof *parallel; ++i) {
    rig_t r;
    rig_init(&r);
    maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), maker_const(r.g, "a", 1), 50, 2, parallel[i]);
    hr_value_t fetch = exit_float(&l);
    HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &fetch));
    HR_CHECK_EQ_F64(rig_number(&r, NULL), 101);
    rig_deinit(&r);
  }
}

HR_TEST(loops_nest) {
  rig_t r;
  rig_init(&r);
  char n[64];
  hr_value_t zero = maker_i32(r.g, "zero", 0), a = maker_const(r.g, "a", 0);
  /* outer body: a = inner(a); the inner loop begins at its own zero */
  hr_value_t enter_i = maker_enter(r.g, "ei", zero, "outer"), enter_a = maker_enter(r.g, "ea", a, "outer");
  hr_value_t mi = maker_merge(r.g, "mi", enter_i, enter_i), ma = maker_merge(r.g, "ma", enter_a, enter_a);
  hr_value_t most = maker_enter_of(r.g, "most", maker_i32(r.g, "seven", 7), "outer", true, 10);
  hr_value_t cond = maker_1(r.g, "LoopCond", "cond", maker_2(r.g, "Less", "less", mi, most));
  hr_value_t si = maker_2(r.g, "Switch", "si", mi, cond), sa = maker_2(r.g, "Switch", "sa", ma, cond);
  hr_value_t body = maker_1(r.g, "Identity", "body", hr_emit_nth(si, 1)), inner_zero = maker_i32(r.g, maker_name(n, "inner", "zero"), 0),
             one = maker_i32(r.g, "one", 1);
  maker_wait(r.g, inner_zero, body);
  maker_wait(r.g, one, body);
  maker_loop_t inner = maker_count_loop(r.g, "inner", inner_zero, hr_emit_nth(sa, 1), 5, 1, 3);
  maker_close(r.g, mi, maker_1(r.g, "NextIteration", "ni", maker_2(r.g, "AddV2", "more", body, one)));
  maker_close(r.g, ma, maker_1(r.g, "NextIteration", "na", inner.exit_a));
  hr_value_t fetch = maker_1(r.g, "Exit", "xa", sa);
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &fetch));
  HR_CHECK_EQ_F64(rig_number(&r, NULL), 35);
  HR_CHECK_EQ_F64(rig_number(&r, NULL), 35);
  rig_deinit(&r);
}

HR_TEST(many_loops_in_one_plan_and_deeply_nested_ones) {
  enum { LOOPS = 2000, DEPTH = 1500 };
  rig_t r;
  rig_init(&r);
  char n[32];
  hr_value_t v = maker_const(r.g, "v", 0), zero = maker_i32(r.g, "zero", 0);
  for (int i = 0; i < LOOPS; ++i) {
    snprintf(n, sizeof n, "loop%d", i);
    v = maker_count_loop(r.g, n, zero, v, 2, 1, 2).exit_a;
  }
  for (int i = 0; i < DEPTH; ++i) { /* in, and out again */
    snprintf(n, sizeof n, "in%d", i);
    v = maker_enter(r.g, n, v, n);
  }
  for (int i = 0; i < DEPTH; ++i) {
    snprintf(n, sizeof n, "out%d", i);
    v = maker_1(r.g, "Exit", n, v);
  }
  int64_t start = hr_clock_now_ns();
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &v));
  for (int i = 0; i < 2; ++i) HR_CHECK_EQ_F64(rig_number(&r, NULL), 2 * LOOPS);
  printf("  %.0f ms\n", (double)(hr_clock_now_ns() - start) / 1e6);
  rig_deinit(&r);
}

HR_TEST(a_wide_node) {
  enum { WIDTH = 20000 };
  rig_t r;
  rig_init(&r);
  static hr_value_t in[WIDTH];
  hr_value_t p = maker_bool(r.g, "p"), s = maker_2(r.g, "Switch", "s", maker_const(r.g, "one", 1), p);
  for (int i = 0; i < WIDTH; ++i) in[i] = hr_emit_nth(s, 1);
  hr_value_t sum = maker_node(r.g, "AddN", "sum", WIDTH, in, 0, NULL), all = maker_node(r.g, "Merge", "all", WIDTH, in, 0, NULL);
  hr_value_t y = maker_2(r.g, "AddV2", "y", sum, all);
  hr_tensor_t yes = maker_truth(true);
  HR_REQUIRE_OK(rig_plan(&r, 1, &p, 1, &y));
  HR_CHECK_EQ_F64(rig_number(&r, &yes), WIDTH + 1);
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

HR_TEST(the_branch_not_taken_is_dead) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), x = maker_placeholder(r.g, "x", HR_F32, NULL), feeds[] = {p, x};
  hr_value_t s = maker_2(r.g, "Switch", "s", x, p);
  hr_value_t no = maker_1(r.g, "Neg", "no", s), yes = maker_1(r.g, "Square", "yes", hr_emit_nth(s, 1)), m = maker_merge(r.g, "m", no, yes);
  hr_value_t fetch[] = {m, hr_emit_nth(m, 1), yes};
  for (int taken = 0; taken < 2; ++taken) {
    hr_tensor_t values[] = {maker_truth(taken), maker_f32(3)}, out[3];
    HR_REQUIRE_OK(rig_plan(&r, 2, feeds, 2, fetch));
    HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, values, out));
    HR_CHECK_EQ_F64(maker_get(&out[0]), taken ? 9 : -3);
    HR_CHECK_EQ_I64(*(int32_t*)out[1].data, taken);
    hr_tensor_release(&out[0]);
    hr_tensor_release(&out[1]);
    hr_plan_destroy(r.plan);
    HR_REQUIRE_OK(rig_plan(&r, 2, feeds, 3, fetch));
    if (taken) {
      HR_CHECK_OK(hr_plan_run(r.plan, &r.step, values, out));
      for (int i = 0; i < 3; ++i) hr_tensor_release(&out[i]);
    } else {
      HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, values, out), HR_INVALID_ARGUMENT, "Retval[2] does not have value");
    }
    hr_plan_destroy(r.plan);
    r.plan = NULL;
    hr_tensor_release(&values[0]);
    hr_tensor_release(&values[1]);
  }
  rig_deinit(&r);
}

/* --- the rules, one by one ---------------------------------------------------------------------------------------------------------- */

/* One step of a plan of the graph; its fetched numbers (NAN for other types' slots are read as int32). */
static hr_status_t run_graph(rig_t* r, int feeds, const hr_value_t* feed, const hr_tensor_t* values, int fetches, const hr_value_t* fetch,
                             float* out) {
  hr_tensor_t got[8];
  hr_plan_destroy(r->plan);
  r->plan = NULL;
  HR_TRY(rig_plan(r, feeds, feed, fetches, fetch));
  HR_TRY(hr_plan_run(r->plan, &r->step, values, got));
  for (int i = 0; i < fetches; ++i) {
    out[i] = got[i].dtype == HR_F32 ? maker_get(&got[i]) : got[i].dtype == HR_I32 ? (float)*(int32_t*)got[i].data : NAN;
    hr_tensor_release(&got[i]);
  }
  return NULL;
}

HR_TEST(deadness_travels_along_control_edges_and_stops_at_triggers) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), c = maker_const(r.g, "c", 2), s = maker_2(r.g, "Switch", "s", c, p);
  hr_value_t branch = maker_1(r.g, "Neg", "branch", hr_emit_nth(s, 1));
  hr_value_t after = maker_1(r.g, "Square", "after", c), trigger = maker_node(r.g, "ControlTrigger", "trigger", 0, NULL, 0, NULL),
             late = maker_1(r.g, "Exp", "late", maker_const(r.g, "zero", 0));
  maker_wait(r.g, after, branch);
  maker_wait(r.g, trigger, branch);
  maker_wait(r.g, late, trigger);
  float got[2];
  hr_tensor_t no = maker_truth(false), yes = maker_truth(true);
  HR_CHECK_CODE(run_graph(&r, 1, &p, &no, 1, &after, got), HR_INVALID_ARGUMENT, "Retval[0] does not have value");
  HR_CHECK_OK(run_graph(&r, 1, &p, &no, 1, &late, got));
  HR_CHECK_EQ_F64(got[0], 1);
  hr_value_t both[] = {after, late};
  HR_CHECK_OK(run_graph(&r, 1, &p, &yes, 2, both, got));
  HR_CHECK(got[0] == 4 && got[1] == 1);
  hr_tensor_release(&no);
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

HR_TEST(a_merge_waits_for_its_control_edges_but_does_not_die_of_them) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), c = maker_const(r.g, "c", 2), s = maker_2(r.g, "Switch", "s", c, p);
  hr_value_t dead = maker_1(r.g, "Neg", "dead", s), alive = maker_1(r.g, "Square", "alive", hr_emit_nth(s, 1));
  hr_value_t m = maker_merge(r.g, "m", dead, alive);
  maker_wait(r.g, m, dead);
  maker_wait(r.g, m, maker_1(r.g, "Exp", "slow", c));
  hr_value_t all_dead = maker_merge(r.g, "all_dead", dead, maker_1(r.g, "Abs", "dead_too", dead)),
             fetch[] = {m, hr_emit_nth(m, 1), all_dead};
  maker_wait(r.g, all_dead, alive);
  float got[3];
  hr_tensor_t yes = maker_truth(true);
  HR_CHECK_OK(run_graph(&r, 1, &p, &yes, 2, fetch, got));
  HR_CHECK(got[0] == 4 && got[1] == 1);
  HR_CHECK_CODE(run_graph(&r, 1, &p, &yes, 3, fetch, got), HR_INVALID_ARGUMENT, "Retval[2] does not have value");
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

HR_TEST(a_merge_takes_feeds_and_constants_as_well) {
  rig_t r;
  rig_init(&r);
  hr_value_t x = maker_placeholder(r.g, "x", HR_F32, NULL), p = maker_bool(r.g, "p"), feeds[] = {x, p};
  hr_value_t s = maker_2(r.g, "Switch", "s", x, p), dead = maker_1(r.g, "Neg", "dead", s);
  hr_value_t a = maker_merge(r.g, "a", dead, x), b = maker_merge(r.g, "b", dead, maker_const(r.g, "c", 7)),
             sum = maker_2(r.g, "AddV2", "sum", a, b);
  hr_value_t fetch[] = {sum, hr_emit_nth(a, 1), a};
  hr_tensor_t values[] = {maker_f32(3), maker_truth(true)};
  float got[3];
  HR_CHECK_OK(run_graph(&r, 2, feeds, values, 3, fetch, got));
  HR_CHECK(got[0] == 10 && got[1] == 1 && got[2] == 3);
  HR_CHECK_EQ_F64(maker_get(&values[0]), 3);
  hr_tensor_release(&values[0]);
  hr_tensor_release(&values[1]);
  rig_deinit(&r);
}

HR_TEST(a_switch_of_many_and_its_range) {
  rig_t r;
  rig_init(&r);
  hr_value_t index = maker_placeholder(r.g, "index", HR_I32, &hr_pshape_scalar), in[] = {maker_const(r.g, "c", 5), index};
  hr_named_attr_t at[] = {hr_at_int("num_outs", 3)};
  hr_value_t s = maker_node(r.g, "_SwitchN", "s", 2, in, 1, at);
  hr_value_t m01 = maker_merge(r.g, "m01", s, hr_emit_nth(s, 1)), m = maker_merge(r.g, "m", m01, hr_emit_nth(s, 2));
  hr_value_t fetch[] = {m, hr_emit_nth(m, 1)};
  static const int32_t tries[] = {0, 1, 2, 3, -1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof tries / sizeof *tries; ++i) {
    hr_tensor_t t = {0};
    float got[2];
    HR_REQUIRE_OK(hr_tensor_from_i32(tries[i], &t));
    HR_CHECK_OK(run_graph(&r, 1, &index, &t, 2, fetch, got));
    HR_CHECK(got[0] == 5 && got[1] == !(tries[i] == 0 || tries[i] == 1)); /* out of range: the last */
    hr_tensor_release(&t);
  }
  rig_deinit(&r);
}

HR_TEST(a_condition_that_is_not_a_scalar) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_placeholder(r.g, "p", HR_BOOL, NULL), s = maker_2(r.g, "Switch", "s", maker_const(r.g, "c", 2), p);
  hr_value_t m = maker_merge(r.g, "m", s, hr_emit_nth(s, 1));
  hr_tensor_t two = {0};
  hr_shape_t shape = hr_shape_vector(2);
  float got;
  HR_REQUIRE_OK(hr_tensor_create_zero(HR_BOOL, &shape, &two));
  HR_CHECK_CODE(run_graph(&r, 1, &p, &two, 1, &m, &got), HR_INVALID_ARGUMENT,
                "node 's' (Switch): input 1 must be a scalar, but has shape [2]");
  hr_tensor_release(&two);
  rig_deinit(&r);
}

HR_TEST(a_loop_in_a_dead_branch_ends_at_once) {
  for (int taken = 0; taken < 2; ++taken) {
    rig_t r;
    rig_init(&r);
    hr_value_t p = maker_bool(r.g, "p"), s = maker_2(r.g, "Switch", "s", maker_const(r.g, "c", 1), p);
    hr_value_t zero = maker_i32(r.g, "zero", 0);
    maker_wait(r.g, zero, maker_1(r.g, "Identity", "pivot", hr_emit_nth(s, 1)));
    maker_loop_t l = maker_count_loop(r.g, "loop", zero, hr_emit_nth(s, 1), 5, 1, 3);
    hr_value_t other = maker_1(r.g, "Neg", "other", s), m = maker_merge(r.g, "m", other, l.exit_a);
    hr_tensor_t value = maker_truth(taken);
    float got;
    HR_CHECK_OK(run_graph(&r, 1, &p, &value, 1, &m, &got));
    HR_CHECK_EQ_F64(got, taken ? 6 : -1);
    hr_tensor_release(&value);
    rig_deinit(&r);
  }
}

HR_TEST(a_loop_one_of_whose_enters_is_dead) { /* the other variables still end; what comes out of the dead one is dead */
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), s = maker_2(r.g, "Switch", "s", maker_const(r.g, "c", 1), p);
  maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), hr_emit_nth(s, 1), 5, 1, 3);
  hr_value_t other = maker_const(r.g, "other", 9), m = maker_merge(r.g, "m", l.exit_a, other);
  hr_value_t fetch[] = {l.exit_i, m};
  maker_wait(r.g, m, l.exit_i);
  hr_tensor_t no = maker_truth(false);
  float got[2];
  HR_CHECK_OK(run_graph(&r, 1, &p, &no, 2, fetch, got));
  HR_CHECK(got[0] == 5 && got[1] == 9);
  HR_CHECK_CODE(run_graph(&r, 1, &p, &no, 1, &l.exit_a, got), HR_INVALID_ARGUMENT, "does not have value");
  hr_tensor_release(&no);
  rig_deinit(&r);
}

HR_TEST(a_conditional_inside_a_loop) { /* sum over i of (i even ? 1 : 100) */
  rig_t r;
  rig_init(&r);
  hr_value_t i0 = maker_enter(r.g, "ei", maker_i32(r.g, "zero", 0), "f"), a0 = maker_enter(r.g, "ea", maker_const(r.g, "a", 0), "f");
  hr_value_t mi = maker_merge(r.g, "mi", i0, i0), ma = maker_merge(r.g, "ma", a0, a0);
  hr_value_t most = maker_enter_of(r.g, "most", maker_i32(r.g, "n", 9), "f", true, 10);
  hr_value_t one = maker_enter_of(r.g, "one", maker_i32(r.g, "c1", 1), "f", true, 10), two = maker_i32(r.g, "two", 2);
  hr_value_t cond = maker_1(r.g, "LoopCond", "cond", maker_2(r.g, "Less", "less", mi, most));
  hr_value_t si = maker_2(r.g, "Switch", "si", mi, cond), sa = maker_2(r.g, "Switch", "sa", ma, cond);
  hr_value_t body = maker_1(r.g, "Identity", "body", hr_emit_nth(si, 1)), zero = maker_i32(r.g, "zero_in", 0);
  maker_wait(r.g, two, body);
  maker_wait(r.g, zero, body);
  hr_value_t even = maker_2(r.g, "Equal", "even", maker_2(r.g, "FloorMod", "mod", body, two), zero);
  hr_value_t choice = maker_2(r.g, "Switch", "choice", hr_emit_nth(sa, 1), even);
  hr_value_t little = maker_const(r.g, "little", 1), much = maker_const(r.g, "much", 100);
  maker_wait(r.g, little, maker_1(r.g, "Identity", "yes", hr_emit_nth(choice, 1)));
  maker_wait(r.g, much, maker_1(r.g, "Identity", "no", choice));
  hr_value_t sum = maker_merge(r.g, "sum", maker_2(r.g, "AddV2", "add_little", hr_emit_nth(choice, 1), little),
                               maker_2(r.g, "AddV2", "add_much", choice, much));
  maker_close(r.g, mi, maker_1(r.g, "NextIteration", "ni", maker_2(r.g, "AddV2", "more", body, one)));
  maker_close(r.g, ma, maker_1(r.g, "NextIteration", "na", sum));
  hr_value_t out = maker_1(r.g, "Exit", "out", sa);
  float got;
  HR_CHECK_OK(run_graph(&r, 0, NULL, NULL, 1, &out, &got));
  HR_CHECK_EQ_F64(got, 405);
  rig_deinit(&r);
}

HR_TEST(references_go_through_control_flow) {
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), v = maker_variable(r.g, "v", &hr_pshape_scalar), w = maker_variable(r.g, "w", &hr_pshape_scalar);
  hr_value_t set_v = maker_2(r.g, "Assign", "set_v", v, maker_const(r.g, "c1", 1)),
             set_w = maker_2(r.g, "Assign", "set_w", w, maker_const(r.g, "c2", 2));
  hr_value_t sv = maker_2(r.g, "RefSwitch", "sv", set_v, p), sw = maker_2(r.g, "RefSwitch", "sw", set_w, p);
  hr_value_t m = maker_2(r.g, "RefMerge", "m", sv, hr_emit_nth(sw, 1)); /* v if not p, else w */
  hr_value_t add = maker_2(r.g, "AssignAdd", "add", m, maker_const(r.g, "ten", 10));
  hr_value_t index = maker_i32(r.g, "index", 1), refs[] = {index, set_v, set_w},
             chosen = maker_node(r.g, "RefSelect", "chosen", 3, refs, 0, NULL);
  hr_value_t same = maker_1(r.g, "RefIdentity", "same", chosen), read = maker_1(r.g, "Neg", "read", same);
  maker_wait(r.g, read, add);
  hr_value_t fetch[] = {read, hr_emit_nth(m, 1), add, m};
  float got[4];
  for (int taken = 0; taken < 2; ++taken) {
    hr_tensor_t value = maker_truth(taken);
    HR_CHECK_OK(run_graph(&r, 1, &p, &value, 3, fetch, got));
    HR_CHECK(got[0] == (taken ? -12 : -2) && got[1] == (float)taken && got[2] == (taken ? 12 : 11));
    HR_CHECK_OK(run_graph(&r, 1, &p, &value, 1, &m, got));
    HR_CHECK_EQ_F64(got[0], taken ? 2 : 1);
    hr_tensor_release(&value);
  }
  rig_deinit(&r);
}

HR_TEST(a_reference_stays_one_in_a_loop) { /* three times v += 1 */
  rig_t r;
  rig_init(&r);
  hr_value_t v = maker_variable(r.g, "v", &hr_pshape_scalar), set = maker_2(r.g, "Assign", "set", v, maker_const(r.g, "c", 5));
  hr_named_attr_t at[] = {hr_at_str("frame_name", "f"), hr_at_bool("is_constant", true)};
  hr_value_t ref = maker_node(r.g, "RefEnter", "ref", 1, &set, 2, at);
  hr_value_t one = maker_enter_of(r.g, "one", maker_const(r.g, "c1", 1), "f", true, 10);
  hr_value_t ei = maker_enter(r.g, "ei", maker_const(r.g, "zero", 0), "f"), mi = maker_merge(r.g, "mi", ei, ei);
  hr_value_t most = maker_enter_of(r.g, "most", maker_const(r.g, "three", 3), "f", true, 10);
  hr_value_t cond = maker_1(r.g, "LoopCond", "cond", maker_2(r.g, "Less", "less", mi, most)), si = maker_2(r.g, "Switch", "si", mi, cond);
  hr_value_t body = maker_1(r.g, "Identity", "body", hr_emit_nth(si, 1)), add = maker_2(r.g, "AssignAdd", "add", ref, one);
  maker_wait(r.g, add, body);
  hr_value_t more = maker_2(r.g, "AddV2", "more", body, one);
  maker_wait(r.g, more, add);
  maker_close(r.g, mi, maker_1(r.g, "NextIteration", "ni", more));
  hr_value_t out = maker_1(r.g, "Exit", "out", si), read = maker_1(r.g, "Neg", "read", v);
  maker_wait(r.g, read, out);
  float got;
  HR_CHECK_OK(run_graph(&r, 0, NULL, NULL, 1, &read, &got));
  HR_CHECK_EQ_F64(got, -8);
  rig_deinit(&r);
}

HR_TEST(a_reference_goes_around_and_out_of_a_loop) { /* while (v < 20) v += v */
  rig_t r;
  rig_init(&r);
  hr_value_t v = maker_variable(r.g, "v", &hr_pshape_scalar), set = maker_2(r.g, "Assign", "set", v, maker_const(r.g, "c", 3));
  hr_named_attr_t at[] = {hr_at_str("frame_name", "f"), hr_at_bool("is_constant", false)};
  hr_value_t ref = maker_node(r.g, "RefEnter", "ref", 1, &set, 2, at), m = maker_2(r.g, "RefMerge", "m", ref, ref);
  hr_value_t most = maker_enter_of(r.g, "most", maker_const(r.g, "twenty", 20), "f", true, 10);
  hr_value_t cond = maker_1(r.g, "LoopCond", "cond", maker_2(r.g, "Less", "less", m, most)), s = maker_2(r.g, "RefSwitch", "s", m, cond);
  hr_value_t body = hr_emit_nth(s, 1), add = maker_2(r.g, "AssignAdd", "add", body, maker_1(r.g, "Identity", "now", body));
  maker_close(r.g, m, maker_1(r.g, "RefNextIteration", "next", add));
  hr_value_t out = maker_1(r.g, "RefExit", "out", s), twice = maker_2(r.g, "AssignAdd", "last", out, maker_const(r.g, "one", 1));
  float got;
  HR_CHECK_OK(run_graph(&r, 0, NULL, NULL, 1, &twice, &got));
  HR_CHECK_EQ_F64(got, 25);
  HR_CHECK_OK(run_graph(&r, 0, NULL, NULL, 1, &out, &got));
  HR_CHECK(got == 24 || got == 25); /* the fetch and the last addition race */
  rig_deinit(&r);
}

HR_TEST(an_abort_fails_the_step) {
  rig_t r;
  rig_init(&r);
  hr_named_attr_t at[] = {hr_at_str("error_msg", "no further")};
  hr_value_t a = maker_node(r.g, "Abort", "a", 0, NULL, 1, at), c = maker_1(r.g, "Neg", "y", maker_const(r.g, "c", 1));
  maker_wait(r.g, c, a);
  float got;
  HR_CHECK_CODE(run_graph(&r, 0, NULL, NULL, 1, &c, &got), HR_ABORTED, "node 'a' (Abort): no further");
  rig_deinit(&r);
}

static void cancel_soon(void* arg) {
  struct timespec t = {0, 20000000};
  nanosleep(&t, NULL);
  hr_cancel_start(arg, HR_ERROR(DEADLINE_EXCEEDED, "enough"));
}

/* --- graphs that are wrong ---------------------------------------------------------------------------------------------------------- */

HR_TEST(a_loop_without_its_back_edge_ends_with_an_error) {
  rig_t r;
  rig_init(&r);
  hr_value_t c = maker_const(r.g, "c", 1), in = maker_enter(r.g, "in", c, "loop"), never = maker_enter(r.g, "never", c, "loop");
  hr_value_t p = maker_enter(r.g, "p", maker_bool(r.g, "truth"), "loop"), m = maker_merge(r.g, "m", in, in);
  hr_value_t s = maker_2(r.g, "Switch", "s", m, p), next = maker_1(r.g, "NextIteration", "next", hr_emit_nth(s, 1));
  hr_value_t wait = maker_2(r.g, "AddV2", "wait", next, never); /* in iteration 1: there never comes only once */
  hr_value_t out = maker_1(r.g, "Exit", "out", wait), feed = p.node->inputs[0];
  hr_tensor_t yes = maker_truth(true);
  float got;
  hr_status_t status = run_graph(&r, 1, &feed, &yes, 1, &out, &got);
  HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "");
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

HR_TEST(a_failure_in_a_loop_names_its_node_and_leaves_nothing_behind) {
  rig_t r;
  rig_init(&r);
  maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), maker_const(r.g, "a", 0), 100, 1, 4);
  hr_value_t bound = maker_i32(r.g, "bound", 50);
  maker_wait(r.g, bound, l.body_i);
  hr_value_t part = maker_2(r.g, "FloorDiv", "part", bound, maker_2(r.g, "Sub", "left", bound, l.body_i)); /* fails at 50 */
  (void)part;
  float got;
  for (int i = 0; i < 2; ++i) {
    hr_status_t status = run_graph(&r, 0, NULL, NULL, 1, &l.exit_a, &got); /* the plan has all of the graph's nodes */
    HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "node 'part' (FloorDiv)");
  }
  rig_deinit(&r);
}

HR_TEST(an_endless_loop_ends_when_it_is_cancelled) {
  rig_t r;
  rig_init(&r);
  hr_value_t c = maker_const(r.g, "c", 0), in = maker_enter(r.g, "in", c, "f"), m = maker_merge(r.g, "m", in, in);
  hr_value_t p = maker_enter_of(r.g, "p", maker_bool(r.g, "truth"), "f", true, 10), s = maker_2(r.g, "Switch", "s", m, p);
  hr_value_t feed = p.node->inputs[0], out = maker_1(r.g, "Exit", "out", s);
  maker_close(r.g, m, maker_1(r.g, "NextIteration", "n", hr_emit_nth(s, 1)));
  HR_REQUIRE_OK(rig_plan(&r, 1, &feed, 1, &out));
  hr_tensor_t yes = maker_truth(true), got = {0};
  hr_thread_t thread;
  HR_REQUIRE_OK(hr_thread_start(&thread, "canceller", cancel_soon, &r.cancel));
  HR_CHECK_CODE(hr_plan_run(r.plan, &r.step, &yes, &got), HR_DEADLINE_EXCEEDED, "enough");
  hr_thread_join(&thread);
  hr_tensor_release(&yes);
  rig_deinit(&r);
}

HR_TEST(a_steady_loop_allocates_nothing) {
  enum { COUNT = 200000 };
  rig_t r;
  rig_init(&r);
  hr_value_t zero = maker_i32(r.g, "zero", 0), a = maker_const(r.g, "a", 0);
  maker_loop_t l = maker_count_loop(r.g, "loop", zero, a, COUNT, 1, 10);
  hr_value_t fetch = exit_float(&l);
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &fetch));
  HR_CHECK_EQ_F64(rig_number(&r, NULL), COUNT);
  int64_t before = hr_alloc_count(), start = hr_clock_now_ns();
  HR_CHECK_EQ_F64(rig_number(&r, NULL), COUNT);
  int64_t end = hr_clock_now_ns();
  if (hr_buffer_is_pooled()) HR_CHECK_EQ_I64(hr_alloc_count() - before, 0);
  printf("  %.1f ns an iteration\n", (double)(end - start) / COUNT);
  rig_deinit(&r);
}

typedef struct {
  hr_observer_t observer;
  const void *first, *second; /* where the nodes of these names put their values */
} places_t;
/* A chain behind a conditional, so that the plan is one of the general path. */
static hr_value_t conditional(hr_graph_t* g, hr_value_t p, hr_value_t x) {
  hr_value_t s = maker_2(g, "Switch", "s", x, p);
  return maker_merge(g, "m", maker_1(g, "Neg", "no", s), maker_1(g, "Square", "yes", hr_emit_nth(s, 1)));
}

HR_TEST(a_chain_has_a_handful_of_slots) { /* each node reads the two before it */
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), x = maker_placeholder(r.g, "x", HR_F32, NULL), feeds[] = {p, x};
  hr_value_t before = conditional(r.g, p, x), last = maker_1(r.g, "Neg", "first", before);
  for (int i = 0; i < 200; ++i) {
    char name[32];
    snprintf(name, sizeof name, "n%d", i);
    hr_value_t next = maker_2(r.g, "Sub", name, last, before);
    before = last;
    last = next;
  }
  float want[2] = {9, -9};
  for (int i = 0; i < 200; ++i) want[i % 2] = want[(i + 1) % 2] - want[i % 2];
  HR_REQUIRE_OK(rig_plan(&r, 2, feeds, 1, &last));
  HR_CHECK(hr_plan_slot_count(r.plan) < 16);
  for (int i = 0; i < 2; ++i) {
    hr_tensor_t values[] = {maker_truth(true), maker_f32(3)};
    HR_CHECK_EQ_F64(rig_number(&r, values), want[1]);
    hr_tensor_release(&values[0]);
    hr_tensor_release(&values[1]);
  }
  rig_deinit(&r);
}

/* Graphs at random: each node reads what a generator says, near or far; every tenth is fetched. */
static uint32_t next_random(uint32_t* state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static hr_value_t random_node(hr_graph_t* g, uint32_t kind, const char* name, hr_value_t a, hr_value_t b) {
  const hr_value_t three[] = {a, b, a};
  if (kind == 0) return maker_1(g, "Neg", name, a);
  if (kind == 1) return maker_2(g, "Minimum", name, a, b);
  return kind == 2 ? maker_2(g, "Sub", name, a, b) : maker_node(g, "AddN", name, 3, three, 0, NULL);
}
static float random_result(uint32_t kind, float a, float b) {
  return kind == 0 ? -a : kind == 1 ? (a < b ? a : b) : kind == 2 ? a - b : a + b + a;
}

static void check_random_graph(uint32_t seed) {
  enum { NODES = 80, FETCHED = 8 };
  rig_t r;
  rig_init(&r);
  hr_value_t p = maker_bool(r.g, "p"), x = maker_placeholder(r.g, "x", HR_F32, NULL), feeds[] = {p, x}, v[NODES], fetch[FETCHED];
  hr_tensor_t values[] = {maker_truth(false), maker_f32(3)};
  float want[NODES] = {-3, 3}, got[FETCHED];
  v[0] = conditional(r.g, p, x);
  v[1] = maker_1(r.g, "Neg", "first", v[0]);
  for (uint32_t i = 2; i < NODES; ++i) {
    char name[32];
    const uint32_t back = next_random(&seed) % 4 == 0 ? i : i < 5 ? i : 5;
    const uint32_t a = i - 1 - next_random(&seed) % back, b = i - 1 - next_random(&seed) % back;
    const bool large = want[a] * want[a] + want[b] * want[b] > 1e6f; /* sums of those might lose digits */
    const uint32_t kind = next_random(&seed) % (large ? 2 : 4);
    snprintf(name, sizeof name, "n%u", i);
    v[i] = random_node(r.g, kind, name, v[a], v[b]);
    want[i] = random_result(kind, want[a], want[b]);
  }
  for (int i = 0; i < FETCHED; ++i) fetch[i] = v[10 * i + 9];
  HR_CHECK_OK(run_graph(&r, 2, feeds, values, FETCHED, fetch, got));
  for (int i = 0; i < FETCHED; ++i) HR_CHECK_EQ_F64(got[i], want[10 * i + 9]);
  hr_tensor_release(&values[0]);
  hr_tensor_release(&values[1]);
  rig_deinit(&r);
}

HR_TEST(a_slot_is_not_used_again_too_early) {
  for (uint32_t seed = 1; seed <= 300; ++seed) check_random_graph(seed);
}

static void run_another_step(void* arg) {
  hr_tensor_t out = {0};
  rig_t* r = arg;
  HR_CHECK_OK(hr_plan_run(r->plan, &r->step, NULL, &out));
  hr_tensor_release(&out);
}
HR_TEST(a_thread_takes_the_frame_that_another_left) {
  rig_t r;
  rig_init(&r);
  maker_loop_t l = maker_count_loop(r.g, "loop", maker_i32(r.g, "zero", 0), maker_const(r.g, "a", 0), 5, 1, 10);
  hr_value_t fetch = l.exit_a;
  HR_REQUIRE_OK(rig_plan(&r, 0, NULL, 1, &fetch));
  run_another_step(&r);
  const int64_t before = hr_test_live_blocks();
  for (int i = 0; i < 4; ++i) {
    hr_thread_t other;
    HR_REQUIRE_OK(hr_thread_start(&other, "another", run_another_step, &r));
    hr_thread_join(&other);
  }
  HR_CHECK_EQ_I64(hr_test_live_blocks(), before);
  rig_deinit(&r);
}

static void note_place(hr_observer_t* self, const hr_site_t* site, const hr_slot_t* slots, int64_t start_ns, int64_t end_ns,
                       hr_status_t status) {
  places_t* p = (places_t*)self;
  (void)start_ns, (void)end_ns, (void)status;
  if (strcmp(site->node_name, "first") == 0) p->first = slots[site->out[0]].value.data;
  if (strcmp(site->node_name, "second") == 0) p->second = slots[site->out[0]].value.data;
}

HR_TEST(the_last_reader_of_a_value_works_in_place) { /* the sum reads the branch's value before Neg does: one buffer all the way */
  enum { LENGTH = 4096 };
  rig_t r;
  rig_init(&r);
  places_t places = {.observer.node_done = note_place};
  hr_value_t p = maker_bool(r.g, "p"), x = maker_placeholder(r.g, "x", HR_F32, NULL), feeds[] = {p, x};
  hr_value_t first = maker_1(r.g, "Neg", "first", x), s = maker_2(r.g, "Switch", "s", first, p);
  hr_value_t yes = hr_emit_nth(s, 1), in[] = {yes, maker_i32(r.g, "axis", 0)}, sum = maker_node(r.g, "Sum", "sum", 2, in, 0, NULL);
  hr_value_t second = maker_1(r.g, "Neg", "second", yes);
  maker_wait(r.g, second, sum);
  hr_value_t fetch[] = {maker_merge(r.g, "m", s, second), sum};
  HR_REQUIRE_OK(rig_plan(&r, 2, feeds, 2, fetch));
  r.step.observer = &places.observer;
  hr_tensor_t values[] = {maker_truth(true), maker_vec(LENGTH, 1)}, out[2];
  HR_REQUIRE_OK(hr_plan_run(r.plan, &r.step, values, out));
  HR_CHECK_EQ_F64(maker_get(&out[0]), 1);
  HR_CHECK_EQ_F64(maker_get(&out[1]), -(double)LENGTH * (LENGTH + 1) / 2);
  HR_CHECK(places.first && places.first == places.second && places.first == out[0].data);
  HR_CHECK_EQ_F64(maker_get(&values[1]), 1);
  for (int i = 0; i < 2; ++i) {
    hr_tensor_release(&out[i]);
    hr_tensor_release(&values[i]);
  }
  rig_deinit(&r);
}

/* --- memory ------------------------------------------------------------------------------------------------------------------------- */

static hr_graph_t* kept;
static hr_value_t kept_fetch[2];
static hr_status_t plan_and_run(void) {
  rig_t r = {.g = kept, .resources = hr_resources_create()};
  hr_tensor_t out[2] = {0};
  hr_cancel_init(&r.cancel);
  hr_status_t status = r.resources ? hr_state_table_create(&r.states) : hr_status_out_of_memory();
  r.step = (hr_step_t){.id = 1, .cancel = &r.cancel, .resources = r.resources, .threads = 1};
  hr_plan_desc_t d = {.nodes = kept->nodes.data,
                      .node_count = kept->nodes.count,
                      .fetches = kept_fetch,
                      .fetch_count = 2,
                      .states = r.states,
                      .resources = r.resources};
  if (!status) status = hr_plan_create(&d, &r.plan);
  if (!status) status = hr_plan_run(r.plan, &r.step, NULL, out);
  hr_tensor_release(&out[0]);
  hr_tensor_release(&out[1]);
  hr_plan_destroy(r.plan);
  hr_state_table_destroy(r.states);
  hr_resources_release(r.resources);
  hr_cancel_deinit(&r.cancel);
  return status;
}
/* From the n-th allocation on none succeeds (a kernel's output is tried for twice, so one that fails alone may go unnoticed). */
static void check_allocations(void) {
  hr_code_t code = HR_RESOURCE_EXHAUSTED;
  HR_CHECK_OK(plan_and_run());
  for (int64_t n = 1; code == HR_RESOURCE_EXHAUSTED && n < 100000; ++n) {
    const int64_t before = hr_test_live_blocks();
    hr_alloc_fail_at(n, true);
    hr_status_t status = plan_and_run();
    const bool reached = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    code = hr_status_code(status);
    if (code != (reached ? HR_RESOURCE_EXHAUSTED : 0)) hr_test_fail(__FILE__, __LINE__, "allocation %d failing gave %d", (int)n, (int)code);
    hr_status_release(status);
    HR_CHECK_EQ_I64(hr_test_live_blocks(), before);
  }
  HR_CHECK_EQ_I64(code, 0);
}
HR_TEST(every_allocation_may_fail) {
  kept = maker_graph();
  hr_value_t zero = maker_i32(kept, "zero", 0), a = maker_const(kept, "a", 0);
  maker_loop_t outer = maker_count_loop(kept, "outer", zero, a, 3, 1, 2);
  hr_value_t inner_zero = maker_i32(kept, "inner_zero", 0), start = maker_const(kept, "start", 1);
  maker_wait(kept, inner_zero, outer.body_i);
  maker_wait(kept, start, outer.body_i);
  maker_loop_t inner = maker_count_loop(kept, "inner", inner_zero, start, 3, 1, 2);
  maker_1(kept, "Neg", "inner_out", inner.exit_a);
  kept_fetch[0] = outer.exit_a;
  kept_fetch[1] = outer.exit_i;
  check_allocations();
  hr_graph_destroy(kept);
}

HR_TEST_MAIN()
