/* SPDX-License-Identifier: Apache-2.0 */
/* The frame analysis: nested loops, and graphs that are not loops though they try to be. */
#include "graph/frames.h"
#include "unit/exec/flow_maker.h"

static hr_status_t find(hr_graph_t* g, hr_frames_t* out) { return hr_frames_find(g->nodes.data, g->nodes.count, g->nodes.count, out); }

static const hr_frame_info_t* frame_of(const hr_frames_t* f, hr_value_t v) { return &f->frames.data[f->of_node[v.node->id]]; }

HR_TEST(a_loop_inside_a_loop) {
  hr_graph_t* g = maker_graph();
  hr_frames_t f;
  hr_value_t zero = maker_i32(g, "zero", 0), a = maker_const(g, "a", 0);
  maker_loop_t outer = maker_count_loop(g, "outer", zero, a, 3, 1, 7);
  maker_loop_t inner = maker_count_loop(g, "inner", outer.body_i, outer.body_a, 5, 1, 0);
  hr_value_t after = maker_1(g, "Neg", "after", inner.exit_a);
  HR_REQUIRE_OK(find(g, &f));
  HR_CHECK_EQ_I64(f.frames.count, 3);
  HR_CHECK(frame_of(&f, zero)->depth == 0 && frame_of(&f, zero)->parent == -1);
  HR_CHECK_VIEW(frame_of(&f, outer.merge_i)->name, "outer");
  HR_CHECK_VIEW(frame_of(&f, inner.merge_i)->name, "inner");
  HR_CHECK_VIEW(frame_of(&f, inner.exit_a)->name, "inner"); /* an Exit is of the frame that it leaves */
  HR_CHECK_VIEW(frame_of(&f, after)->name, "outer");
  HR_CHECK_EQ_I64(hr_frames_of_output(&f, inner.exit_a.node), f.of_node[after.node->id]);
  HR_CHECK_EQ_I64(hr_frames_of_output(&f, outer.exit_a.node), 0);
  HR_CHECK_EQ_I64(hr_frames_of_output(&f, inner.merge_i.node->inputs[0].node), f.of_node[inner.merge_i.node->id]);
  const hr_frame_info_t *o = frame_of(&f, outer.merge_i), *i = frame_of(&f, inner.merge_i);
  HR_CHECK(o->enter_count == 2 && o->parallel_iterations == 7 && o->loop_cond == outer.cond.node && o->depth == 1);
  HR_CHECK(i->enter_count == 2 && i->parallel_iterations == 1 && i->loop_cond == inner.cond.node && i->depth == 2);
  HR_CHECK(&f.frames.data[i->parent] == o);
  hr_frames_deinit(&f);
  hr_graph_destroy(g);
}

HR_TEST(nodes_that_are_not_given_tell_nothing) {
  hr_graph_t* g = maker_graph();
  hr_frames_t f;
  hr_value_t zero = maker_i32(g, "zero", 0), a = maker_const(g, "a", 0);
  maker_loop_t l = maker_count_loop(g, "loop", zero, a, 3, 1, 7);
  hr_value_t after = maker_1(g, "Neg", "after", l.exit_a);
  HR_REQUIRE_OK(hr_frames_find(&after.node, 1, g->nodes.count, &f)); /* its input is fed */
  HR_CHECK(f.frames.count == 1 && f.of_node[after.node->id] == 0 && f.of_node[l.exit_a.node->id] == -1);
  HR_CHECK_EQ_I64(hr_frames_of_output(&f, l.exit_a.node), -1);
  hr_frames_deinit(&f);
  hr_graph_destroy(g);
}

HR_TEST(malformed_loops_are_refused) {
  hr_frames_t f;
  hr_graph_t* g = maker_graph();
  hr_value_t c = maker_const(g, "c", 1), in = maker_enter(g, "in", c, "loop");
  maker_2(g, "AddV2", "mixed", in, c);
  HR_CHECK_CODE(find(g, &f), HR_INVALID_ARGUMENT, "node 'mixed' (AddV2) has inputs from different frames");
  hr_graph_destroy(g);

  g = maker_graph();
  c = maker_const(g, "c", 1), in = maker_enter(g, "in", c, "loop");
  hr_value_t plain = maker_1(g, "Neg", "plain", c);
  maker_wait(g, plain, in); /* a control edge out of the loop */
  HR_CHECK_CODE(find(g, &f), HR_INVALID_ARGUMENT, "node 'plain' (Neg) has inputs from different frames");
  hr_graph_destroy(g);

  g = maker_graph();
  maker_1(g, "Exit", "out", maker_const(g, "c", 1));
  HR_CHECK_CODE(find(g, &f), HR_INVALID_ARGUMENT, "node 'out' (Exit) stands outside any loop");
  hr_graph_destroy(g);

  g = maker_graph();
  maker_1(g, "NextIteration", "next", maker_const(g, "c", 1));
  HR_CHECK_CODE(find(g, &f), HR_INVALID_ARGUMENT, "node 'next' (NextIteration) stands outside any loop");
  hr_graph_destroy(g);

  g = maker_graph();
  c = maker_const(g, "c", 1), in = maker_enter(g, "in", c, "loop");
  maker_enter(g, "again", in, "loop");
  HR_CHECK_CODE(find(g, &f), HR_INVALID_ARGUMENT, "'again' (Enter) enters frame 'loop' from loop, but another Enter does from the root");
  hr_graph_destroy(g);

  g = maker_graph();
  c = maker_const(g, "c", 1);
  hr_value_t merge = maker_merge(g, "merge", c, c), next = maker_1(g, "NextIteration", "next", merge);
  maker_must(hr_graph_set_input(g, merge.node, 0, next), "an edge");
  maker_close(g, merge, next);
  HR_CHECK_CODE(find(g, &f), HR_INVALID_ARGUMENT, "in a loop that no Enter leads to");
  hr_graph_destroy(g);
}

static hr_graph_t* fixed;
static hr_status_t analyse(void) {
  hr_frames_t f;
  HR_TRY(find(fixed, &f));
  hr_frames_deinit(&f);
  return NULL;
}
HR_TEST(every_allocation_may_fail) {
  fixed = maker_graph();
  maker_loop_t outer = maker_count_loop(fixed, "outer", maker_i32(fixed, "zero", 0), maker_const(fixed, "a", 0), 3, 1, 7);
  maker_count_loop(fixed, "inner", outer.body_i, outer.body_a, 5, 1, 0);
  HR_TEST_EVERY_ALLOCATION_FAILS(analyse);
  hr_graph_destroy(fixed);
}

HR_TEST_MAIN()
