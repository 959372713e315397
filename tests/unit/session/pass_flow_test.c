/* SPDX-License-Identifier: Apache-2.0 */
/* All passes together on graphs with conditionals and loops: nothing leaves its branch or its frame, and what is dead stays dead. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/exec/flow_maker.h"
#include "unit/session/program_maker.h"

/* One step with all passes on or off. */
static hr_status_t run(hr_graph_t* g, bool passes, int feeds, const hr_value_t* feed, const hr_tensor_t* values, hr_value_t fetch,
                       float* out_number) {
  hr_session_options_t o;
  hr_session_t* s = NULL;
  hr_tensor_t out = {0};
  hr_session_options_init(&o);
  if (!passes) o.fusion = o.constant_folding = o.common_subexpressions = false, o.opt_level = -1;
  maker_must(hr_session_create(g, &o, &s), "a session");
  hr_run_t r = {.feeds = feed, .feed_values = values, .feed_count = feeds, .fetches = &fetch, .fetch_count = 1};
  hr_status_t status = hr_session_run(s, NULL, &r, &out, NULL, NULL);
  if (!status) *out_number = out.dtype == HR_F32 ? maker_get(&out) : (float)((const int32_t*)out.data)[0];
  hr_tensor_release(&out);
  hr_session_destroy(s);
  return status;
}

typedef struct {
  hr_value_t p, on, off;
} branches_t; /* the condition and its pivots */
static branches_t add_branches(hr_graph_t* g) {
  branches_t b = {.p = maker_bool(g, "p")};
  hr_value_t s = maker_2(g, "Switch", "pivots", b.p, b.p);
  b.on = maker_1(g, "Identity", "on", hr_emit_nth(s, 1));
  b.off = maker_1(g, "Identity", "off", s);
  return b;
}
static hr_value_t const_in(hr_graph_t* g, const char* name, float v, hr_value_t pivot) {
  hr_value_t c = maker_const(g, name, v);
  maker_wait(g, c, pivot);
  return c;
}

HR_TEST(constants_of_branches_are_neither_merged_nor_folded_away) {
  hr_graph_t* g = maker_graph();
  branches_t b = add_branches(g);
  hr_value_t a = const_in(g, "a", 2, b.on), c = const_in(g, "c", 2, b.off); /* equal but for where they stand */
  hr_value_t x = maker_1(g, "Neg", "x", a), y = maker_2(g, "AddV2", "y", c, c), m = maker_merge(g, "m", x, y);
  for (int passes = 0; passes < 2; ++passes) {
    for (int taken = 0; taken < 2; ++taken) {
      hr_tensor_t value = maker_truth(taken);
      float number = 0;
      HR_CHECK_OK(run(g, passes, 1, &b.p, &value, m, &number));
      HR_CHECK_EQ_F64(number, taken ? -2 : 4);
      HR_CHECK_OK(run(g, passes, 1, &b.p, &value, hr_emit_nth(m, 1), &number));
      HR_CHECK_EQ_F64(number, !taken);
      if (taken)
        HR_CHECK_OK(run(g, passes, 1, &b.p, &value, x, &number));
      else
        HR_CHECK_CODE(run(g, passes, 1, &b.p, &value, x, &number), HR_INVALID_ARGUMENT, "does not have value");
      if (taken)
        HR_CHECK_OK(run(g, passes, 1, &b.p, &value, a, &number));
      else
        HR_CHECK_CODE(run(g, passes, 1, &b.p, &value, a, &number), HR_INVALID_ARGUMENT, "does not have value");
      hr_tensor_release(&value);
    }
  }
  hr_graph_destroy(g);
}

HR_TEST(an_identity_of_a_branch_keeps_its_deadness) {
  hr_graph_t* g = maker_graph();
  hr_value_t p = maker_bool(g, "p"), c = maker_const(g, "c", 5), s = maker_2(g, "Switch", "s", c, p);
  hr_value_t i = maker_1(g, "Identity", "i", hr_emit_nth(s, 1)), j = maker_1(g, "Identity", "j", i);
  hr_value_t side = maker_1(g, "Neg", "side", c); /* alive, but waits for the branch */
  maker_wait(g, side, j);
  hr_tensor_t no = maker_truth(false), yes = maker_truth(true);
  float number = 0;
  for (int passes = 0; passes < 2; ++passes) {
    HR_CHECK_OK(run(g, passes, 1, &p, &yes, side, &number));
    HR_CHECK_EQ_F64(number, -5);
    HR_CHECK_CODE(run(g, passes, 1, &p, &no, side, &number), HR_INVALID_ARGUMENT, "does not have value");
    HR_CHECK_CODE(run(g, passes, 1, &p, &no, j, &number), HR_INVALID_ARGUMENT, "does not have value");
  }
  hr_tensor_release(&no);
  hr_tensor_release(&yes);
  hr_graph_destroy(g);
}

HR_TEST(a_shape_does_not_follow_its_value_into_a_branch) {
  hr_graph_t* g = maker_graph();
  const hr_pshape_t* shape = NULL;
  hr_shape_t square = hr_shape_matrix(2, 2);
  maker_must(hr_pshape_from_shape(&g->arena, &square, &shape), "a shape");
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), p = maker_bool(g, "p"), feeds[] = {x, p};
  hr_tensor_t vector = maker_vec(2, 1), value = {0};
  maker_must(hr_tensor_create(HR_F32, &square, &value), "a matrix");
  for (int i = 0; i < 4; ++i) ((float*)value.data)[i] = 1;
  hr_value_t bias = maker_2(g, "Switch", "bias", maker_const_of(g, "vector", &vector), p);
  hr_value_t product = maker_2(g, "MatMul", "product", x, maker_const_of(g, "w", &value));
  hr_value_t sum = maker_2(g, "BiasAdd", "sum", product, hr_emit_nth(bias, 1)), size = maker_1(g, "Shape", "size", product);
  hr_value_t pair[] = {sum, size};
  int32_t types[] = {HR_F32, HR_I32};
  hr_named_attr_t at[] = {hr_at_types("T", types, 2)};
  hr_value_t both = maker_node(g, "IdentityN", "both", 2, pair, 1, at);
  hr_value_t result = maker_2(g, "AddV2", "result", size, size), fetch = maker_merge(g, "m", result, hr_emit_nth(both, 1));
  for (int passes = 0; passes < 2; ++passes) {
    hr_tensor_t values[] = {value, maker_truth(false)};
    float number = 0;
    HR_CHECK_OK(run(g, passes, 2, feeds, values, fetch, &number));
    HR_CHECK_EQ_F64(number, 4);
    hr_tensor_release(&values[1]);
  }
  hr_tensor_release(&vector);
  hr_tensor_release(&value);
  hr_graph_destroy(g);
}

HR_TEST(what_a_loop_computes_anew_stays_in_it) {
  for (int passes = 0; passes < 2; ++passes) {
    hr_graph_t* g = maker_graph();
    maker_loop_t l = maker_count_loop(g, "loop", maker_i32(g, "zero", 0), maker_const(g, "start", 1), 10, 2, 4);
    maker_loop_t again = maker_count_loop(g, "again", maker_i32(g, "zero_too", 0), l.exit_a, 10, 2, 4); /* the same in another frame */
    float number = 0;
    HR_CHECK_OK(run(g, passes, 0, NULL, NULL, again.exit_a, &number));
    HR_CHECK_EQ_F64(number, 41);
    HR_CHECK_CODE(run(g, passes, 0, NULL, NULL, l.body_a, &number), HR_INVALID_ARGUMENT, "is inside the loop 'loop'");
    hr_graph_destroy(g);
  }
}

HR_TEST(a_product_of_a_loop_takes_its_bias_in) {
  enum { COUNT = 4 };
  for (int passes = 0; passes < 2; ++passes) {
    hr_graph_t* g = maker_graph();
    hr_tensor_t w = {0}, vector = maker_vec(2, 1);
    hr_shape_t square = hr_shape_matrix(2, 2);
    maker_must(hr_tensor_create(HR_F32, &square, &w), "a matrix");
    for (int i = 0; i < 4; ++i) ((float*)w.data)[i] = (float)i;
    hr_value_t i0 = maker_i32(g, "i0", 0), enter_i = maker_enter(g, "ei", i0, "f"), start = maker_const_of(g, "start", &w),
               enter_x = maker_enter(g, "ex", start, "f");
    hr_value_t weights = maker_enter_of(g, "weights", maker_const_of(g, "w", &w), "f", true, 10);
    hr_value_t bias = maker_enter_of(g, "bias", maker_const_of(g, "b", &vector), "f", true, 10);
    hr_value_t one = maker_enter_of(g, "one", maker_i32(g, "c1", 1), "f", true, 10),
               most = maker_enter_of(g, "most", maker_i32(g, "cn", COUNT), "f", true, 10);
    hr_value_t mi = maker_merge(g, "mi", enter_i, enter_i), mx = maker_merge(g, "mx", enter_x, enter_x);
    hr_value_t cond = maker_1(g, "LoopCond", "cond", maker_2(g, "Less", "less", mi, most));
    hr_value_t si = maker_2(g, "Switch", "si", mi, cond), sx = maker_2(g, "Switch", "sx", mx, cond);
    hr_value_t product = maker_2(g, "MatMul", "product", hr_emit_nth(sx, 1), weights);
    hr_value_t next = maker_1(g, "Relu", "relu", maker_2(g, "BiasAdd", "sum", product, bias));
    maker_close(g, mi, maker_1(g, "NextIteration", "ni", maker_2(g, "AddV2", "more", hr_emit_nth(si, 1), one)));
    maker_close(g, mx, maker_1(g, "NextIteration", "nx", next));
    float number = 0, x[4] = {0, 1, 2, 3};
    HR_CHECK_OK(run(g, passes, 0, NULL, NULL, maker_1(g, "Exit", "out", sx), &number));
    for (int n = 0; n < COUNT; ++n) {
      float y[4];
      for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c) y[2 * r + c] = x[2 * r] * (float)c + x[2 * r + 1] * (float)(2 + c) + (float)(1 + c);
      memcpy(x, y, sizeof x);
    }
    HR_CHECK_EQ_F64(number, x[0]);
    hr_tensor_release(&w);
    hr_tensor_release(&vector);
    hr_graph_destroy(g);
  }
}

HR_TEST_MAIN()
