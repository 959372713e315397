/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow by hand, one call a node, for tests of exec, graph and session. */
#ifndef HR_TESTS_FLOW_MAKER_H
#define HR_TESTS_FLOW_MAKER_H
#include "unit/exec/maker.h"

static inline hr_value_t maker_enter_of(hr_graph_t* g, const char* name, hr_value_t v, const char* frame, bool constant, int parallel) {
  hr_named_attr_t at[] = {hr_at_str("frame_name", frame), hr_at_bool("is_constant", constant), hr_at_int("parallel_iterations", parallel)};
  return maker_node(g, "Enter", name, 1, &v, 3, at);
}
static inline hr_value_t maker_enter(hr_graph_t* g, const char* name, hr_value_t v, const char* frame) {
  return maker_enter_of(g, name, v, frame, false, 10);
}
static inline hr_value_t maker_merge(hr_graph_t* g, const char* name, hr_value_t a, hr_value_t b) {
  return maker_2(g, "Merge", name, a, b);
}
static inline void maker_close(hr_graph_t* g, hr_value_t merge, hr_value_t next) { /* the back edge, in the place of input 1 */
  maker_must(hr_graph_set_input(g, merge.node, 1, next), "a back edge");
}
static inline hr_value_t maker_i32(hr_graph_t* g, const char* name, int32_t v) {
  hr_tensor_t t = {0};
  maker_must(hr_tensor_from_i32(v, &t), "a scalar");
  hr_value_t out = maker_const_of(g, name, &t);
  hr_tensor_release(&t);
  return out;
}
static inline hr_value_t maker_bool(hr_graph_t* g, const char* name) { /* a fed condition */
  return maker_placeholder(g, name, HR_BOOL, &hr_pshape_scalar);
}
static inline hr_tensor_t maker_truth(bool v) {
  hr_tensor_t t = {0};
  hr_shape_t s = hr_shape_scalar();
  maker_must(hr_tensor_create(HR_BOOL, &s, &t), "a truth");
  *(bool*)t.data = v;
  return t;
}
static inline const char* maker_name(char text[64], const char* scope, const char* name) {
  snprintf(text, 64, "%s/%s", scope, name);
  return text;
}

/* while (i < limit) { i += 1; a += step } as TensorFlow's Python makes it: a constant inside waits for the loop's pivot. */
typedef struct {
  hr_value_t merge_i, merge_a, cond, body_i, body_a, exit_i, exit_a;
} maker_loop_t;
static inline maker_loop_t maker_count_loop(hr_graph_t* g, const char* scope, hr_value_t i0, hr_value_t a0, int32_t limit, float step,
                                            int parallel) {
  char n[64];
  maker_loop_t l;
  hr_value_t enter_i = maker_enter_of(g, maker_name(n, scope, "enter_i"), i0, scope, false, parallel);
  hr_value_t enter_a = maker_enter_of(g, maker_name(n, scope, "enter_a"), a0, scope, false, parallel);
  l.merge_i = maker_merge(g, maker_name(n, scope, "merge_i"), enter_i, enter_i);
  l.merge_a = maker_merge(g, maker_name(n, scope, "merge_a"), enter_a, enter_a);
  hr_value_t most = maker_i32(g, maker_name(n, scope, "limit"), limit);
  maker_wait(g, most, l.merge_i);
  hr_value_t less = maker_2(g, "Less", maker_name(n, scope, "less"), l.merge_i, most);
  l.cond = maker_1(g, "LoopCond", maker_name(n, scope, "cond"), less);
  hr_value_t switch_i = maker_2(g, "Switch", maker_name(n, scope, "switch_i"), l.merge_i, l.cond);
  hr_value_t switch_a = maker_2(g, "Switch", maker_name(n, scope, "switch_a"), l.merge_a, l.cond);
  l.body_i = maker_1(g, "Identity", maker_name(n, scope, "body_i"), hr_emit_nth(switch_i, 1));
  l.body_a = maker_1(g, "Identity", maker_name(n, scope, "body_a"), hr_emit_nth(switch_a, 1));
  hr_value_t one = maker_i32(g, maker_name(n, scope, "one"), 1), add = maker_const(g, maker_name(n, scope, "step"), step);
  maker_wait(g, one, l.body_i);
  maker_wait(g, add, l.body_i);
  hr_value_t more_i = maker_2(g, "AddV2", maker_name(n, scope, "more_i"), l.body_i, one);
  hr_value_t more_a = maker_2(g, "AddV2", maker_name(n, scope, "more_a"), l.body_a, add);
  maker_close(g, l.merge_i, maker_1(g, "NextIteration", maker_name(n, scope, "next_i"), more_i));
  maker_close(g, l.merge_a, maker_1(g, "NextIteration", maker_name(n, scope, "next_a"), more_a));
  l.exit_i = maker_1(g, "Exit", maker_name(n, scope, "exit_i"), switch_i);
  l.exit_a = maker_1(g, "Exit", maker_name(n, scope, "exit_a"), switch_a);
  return l;
}
#endif
