/* SPDX-License-Identifier: Apache-2.0 */
/* The general path: loops, conditionals, what is dead, what is malformed, what a steady loop costs. */
#include "base/clock.h"
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

HR_TEST_MAIN()
