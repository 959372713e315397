/* SPDX-License-Identifier: Apache-2.0 */
/* The edits that passes make: who reads, waits for, fetches and asks for what, before and after. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/exec/flow_maker.h"
#include "unit/session/program_maker.h"

static hr_node_t* there(const hr_program_t* p, const char* name) { return p->graph->nodes.data[maker_live_id(p, name)]; }

/* Live nodes' names in their order, each followed by a blank. */
static void check_live(hr_program_t* p, const char* wanted) {
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  maker_must(hr_program_finish(p), "an end");
  for (int64_t i = 0; i < p->live_count; ++i) hr_strbuf_format(&b, "%s ", p->live[i]->name.data);
  HR_CHECK_VIEW(hr_strbuf_view(&b), wanted);
  hr_strbuf_deinit(&b);
}

HR_TEST(what_runs_goes_by_rank_and_is_only_what_is_needed) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Neg", "a", x), b = maker_1(g, "Exp", "b", x),
             c = maker_2(g, "Sub", "c", b, a), d = maker_1(g, "Abs", "d", x), fetch[] = {c, a};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, d.node);
  check_live(&p, "_arg_x_0_0 a b c d ");
  HR_CHECK_OK(hr_program_replace(&p, p.fetches[0], (hr_value_t){there(&p, "b"), 0}));
  check_live(&p, "_arg_x_0_0 a b d ");
  p.ranks.data[there(&p, "a")->id] = p.ranks.data[there(&p, "d")->id]; /* equal ranks: by id */
  check_live(&p, "_arg_x_0_0 b a d ");
  HR_CHECK_OK(hr_program_replace_control(&p, there(&p, "d"), NULL));
  check_live(&p, "_arg_x_0_0 b a ");
  HR_CHECK_EQ_I64(p.target_count, 0);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(fetches_and_readers_follow_a_value_not_its_node) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), u = maker_1(g, "Unique", "u", x), u1 = hr_emit_nth(u, 1),
             y = maker_1(g, "Neg", "y", u), z = maker_1(g, "Neg", "z", u1), fetch[] = {u, u1, u, y, z};
  hr_program_t p = maker_program(g, 1, &x, 5, fetch, NULL);
  hr_node_t* feed = p.feeds[0].node;
  HR_CHECK_OK(hr_program_replace(&p, (hr_value_t){there(&p, "u"), 0}, (hr_value_t){feed, 0}));
  HR_CHECK(p.fetches[0].node == feed && p.fetches[2].node == feed && p.fetches[1].node == there(&p, "u") && p.fetches[1].index == 1);
  HR_CHECK(there(&p, "y")->inputs[0].node == feed && there(&p, "z")->inputs[0].node == there(&p, "u"));
  HR_CHECK(hr_program_is_fetched(&p, feed) && !hr_program_is_target(&p, feed));
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(targets_come_go_and_are_replaced) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Neg", "a", x), b = maker_1(g, "Exp", "b", x),
             c = maker_1(g, "Abs", "c", x), all[] = {a, b, c};
  maker_wait(g, c, a);
  hr_program_t p = maker_program(g, 1, &x, 3, all, a.node);
  hr_node_t *pa = there(&p, "a"), *pb = there(&p, "b"), *pc = there(&p, "c");
  HR_CHECK(p.target_count == 1 && hr_program_is_target(&p, pa) && !hr_program_is_target(&p, pb));
  HR_CHECK_OK(hr_program_add_target(&p, pa)); /* it is one */
  HR_CHECK_EQ_I64(p.target_count, 1);
  HR_CHECK_OK(hr_program_add_target(&p, pb));
  HR_CHECK_OK(hr_program_add_target(&p, pc));
  HR_CHECK(p.target_count == 3 && p.targets[0] == pa && p.targets[1] == pb && p.targets[2] == pc);
  HR_CHECK(hr_program_is_target(&p, pb) && hr_program_is_target(&p, pc));
  HR_CHECK_OK(hr_program_replace_control(&p, pb, NULL)); /* out of the middle */
  HR_CHECK(p.target_count == 2 && p.targets[0] == pa && p.targets[1] == pc && !hr_program_is_target(&p, pb));
  HR_CHECK_OK(hr_program_replace_control(&p, pa, pb)); /* c waits for b now */
  HR_CHECK(p.target_count == 2 && p.targets[0] == pb && p.targets[1] == pc);
  HR_CHECK(hr_program_is_target(&p, pb) && !hr_program_is_target(&p, pa));
  HR_CHECK(pc->control_count == 1 && pc->controls[0] == pb && pa->control_consumers.count == 0);
  HR_CHECK_OK(hr_program_replace_control(&p, pb, NULL));
  HR_CHECK(pc->control_count == 0 && p.target_count == 1 && p.targets[0] == pc);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(a_target_that_is_fed_runs_all_the_same_but_a_placeholder_has_nothing_to_do) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Neg", "a", x), y = maker_1(g, "Exp", "y", a);
  hr_program_t p = maker_program(g, 1, &x, 1, &y, x.node);
  HR_CHECK_EQ_I64(p.target_count, 0);
  check_live(&p, "_arg_x_0_0 a y ");
  hr_program_deinit(&p);
  p = maker_program(g, 1, &a, 1, &y, a.node);
  HR_CHECK_EQ_I64(p.target_count, 1);
  check_live(&p, "_arg_a_0_0 x a y ");
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(what_is_added_is_like_its_model) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Neg", "a", x), b = maker_1(g, "Exp", "b", a);
  a.node->device = HR_STR("/job:ps");
  hr_program_t p = maker_program(g, 1, &x, 1, &b, NULL);
  hr_node_t *pa = there(&p, "a"), *added = NULL;
  p.device_of.data[pa->id] = 5;
  hr_tensor_t t = maker_vec(3, 1);
  HR_REQUIRE_OK(hr_program_add_const(&p, &t, pa, &added));
  HR_CHECK(hr_str_is(added->attrs.def->name, "Const"));
  HR_CHECK(!hr_str_equal(added->name, pa->name) && hr_str_has_prefix(added->name, HR_STR("a")));
  HR_CHECK(p.ranks.data[added->id] == p.ranks.data[pa->id] && p.device_of.data[added->id] == 5 && p.asked.data[added->id] == 0);
  HR_CHECK(hr_str_is(added->device, "/job:ps") && added->shapes[0]->rank == 1 && added->shapes[0]->dims[0] == 3);
  const hr_tensor_t* known = hr_program_constant((hr_value_t){added, 0});
  HR_CHECK(known && hr_tensor_equal(known, &t));
  hr_node_t* direct = NULL; /* added to the graph itself, then adopted */
  const hr_value_t in = {pa, 0};
  const hr_node_desc_t d = {.op = HR_STR("Abs"), .name = HR_STR("direct"), .inputs = &in, .input_count = 1};
  HR_REQUIRE_OK(hr_graph_add(p.graph, &d, &direct));
  HR_CHECK_OK(hr_program_adopt(&p, pa));
  HR_CHECK_EQ_I64(p.ranks.count, p.graph->nodes.count);
  HR_CHECK(p.asked.count == p.ranks.count && p.device_of.count == p.ranks.count);
  HR_CHECK(p.ranks.data[direct->id] == p.ranks.data[pa->id] && p.device_of.data[direct->id] == 5 && p.asked.data[direct->id] == 0);
  hr_tensor_release(&t);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(a_constant_that_waits_is_no_constant) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), c = maker_const(g, "c", 1), late = maker_const(g, "late", 1);
  maker_wait(g, late, x);
  HR_CHECK(hr_program_constant(c) != NULL && hr_program_constant(late) == NULL && hr_program_constant(x) == NULL);
  hr_graph_destroy(g);
}

HR_TEST(some_nodes_are_fixed) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), v = maker_variable(g, "v", &hr_pshape_scalar), cond = maker_bool(g, "cond"),
             shape = maker_i32(g, "shape", 2);
  const struct { hr_value_t v; bool fixed; } rows[] = {
      {maker_1(g, "Neg", "n", x), false},       {maker_const(g, "c", 1), false},         {maker_1(g, "Identity", "i", x), false},
      {maker_node(g, "NoOp", "o", 0, NULL, 0, NULL), false},                             {x, true},
      {v, true},                                {maker_1(g, "Identity", "r", v), true},  {maker_2(g, "Assign", "s", v, x), true},
      {maker_2(g, "Switch", "w", x, cond), true}, {maker_handle(g, "h", &hr_pshape_scalar), true},
      {maker_2(g, "Merge", "m", x, x), true},   {maker_1(g, "RefIdentity", "f", v), true}, {maker_2(g, "Mod", "l", shape, shape), false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (!HR_CHECK_EQ_I64(hr_program_is_fixed(rows[i].v.node), rows[i].fixed)) printf("  %s\n", rows[i].v.node->name.data);
  hr_graph_destroy(g);
}

HR_TEST(conditionals_and_loops_are_flow) {
  for (int flow = 0; flow < 2; ++flow) {
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), cond = maker_bool(g, "cond"), feeds[] = {x, cond};
    hr_value_t y = flow ? maker_2(g, "Switch", "y", x, cond) : maker_1(g, "Neg", "y", x), z = maker_1(g, "Exp", "z", y);
    hr_program_t p = maker_program(g, 2, feeds, 1, &z, NULL);
    HR_CHECK_EQ_I64(hr_program_has_flow(&p), flow);
    hr_program_deinit(&p);
    hr_graph_destroy(g);
  }
}

HR_TEST(only_placeholders_may_be_fed_where_constants_are_believed) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), c = maker_const(g, "c", 1), y = maker_2(g, "AddV2", "y", x, c);
  const hr_named_attr_t at[] = {hr_at_type("dtype", HR_F32), hr_at_shape("shape", &hr_pshape_scalar)};
  hr_value_t d = maker_node(g, "PlaceholderWithDefault", "d", 1, &c, 2, at), z = maker_2(g, "Sub", "z", y, d);
  const hr_value_t feeds[][2] = {{x, d}, {x, c}, {c, x}};
  for (int i = 0; i < 3; ++i) {
    hr_program_t p = maker_program(g, 2, feeds[i], 1, &z, NULL);
    HR_CHECK_EQ_I64(p.feeds_placeholders_only, i == 0);
    hr_program_deinit(&p);
  }
  hr_graph_destroy(g);
}

HR_TEST(renumbering_closes_gaps_and_keeps_what_is_known_of_nodes) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, NULL), a = maker_1(g, "Neg", "a", x), b = maker_1(g, "Exp", "b", a), fetch[] = {b, a};
  hr_program_t p = maker_program(g, 1, &x, 2, fetch, NULL);
  hr_node_t *pa = there(&p, "a"), *pb = there(&p, "b"), *first = NULL;
  const hr_value_t in = {p.feeds[0].node, 0};
  const hr_node_desc_t d = {.op = HR_STR("Abs"), .name = HR_STR("first"), .inputs = &in, .input_count = 1};
  HR_REQUIRE_OK(hr_program_add(&p, &d, pa, &first)); /* the last in number, read by a */
  HR_REQUIRE_OK(hr_graph_set_input(p.graph, pa, 0, (hr_value_t){first, 0}));
  for (int64_t i = 0; i < p.graph->nodes.count; ++i) p.device_of.data[i] = 100 + (int32_t)i;
  const int32_t da = p.device_of.data[pa->id], df = p.device_of.data[first->id], ra = p.ranks.data[pa->id], rb = p.ranks.data[pb->id];
  HR_CHECK(first->id > pa->id);
  HR_CHECK_OK(hr_program_renumber(&p));
  HR_CHECK(first->id < pa->id && pa->id < pb->id && p.graph->nodes.count == 4);
  for (int64_t i = 0; i < p.graph->nodes.count; ++i) HR_CHECK_EQ_I64(p.graph->nodes.data[i]->id, i);
  HR_CHECK(p.ranks.count == 4 && p.asked.count == 4 && p.device_of.count == 4);
  HR_CHECK(p.device_of.data[pa->id] == da && p.device_of.data[first->id] == df && p.ranks.data[pa->id] == ra && p.ranks.data[pb->id] == rb);
  HR_CHECK(hr_program_is_fetched(&p, pa) && hr_program_is_fetched(&p, pb) && !hr_program_is_fetched(&p, first));
  HR_CHECK_OK(hr_graph_validate(p.graph));
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}
HR_TEST_MAIN()
