/* SPDX-License-Identifier: Apache-2.0 */
/* Before and after: who reads a variable behind a write of it reads at its own turn, through whatever handed the value on; others keep
 * their snapshot; what is fetched of a written variable is read after the writes. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/exec/flow_maker.h"
#include "unit/session/program_maker.h"

static hr_value_t assign_add(hr_graph_t* g, const char* name, hr_value_t v, hr_value_t by) { return maker_2(g, "AssignAdd", name, v, by); }

HR_TEST(readers_behind_a_write_read_again) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), v = maker_variable(g, "v", &hr_pshape_scalar),
             w = maker_variable(g, "w", &hr_pshape_scalar);
  hr_value_t read = maker_1(g, "Identity", "read", v), again = maker_1(g, "Identity", "again", read);
  hr_value_t other = maker_1(g, "Identity", "other", w);
  hr_value_t add = assign_add(g, "add", v, x), y = maker_2(g, "Mul", "y", again, other);
  maker_wait(g, y, add);
  hr_program_t p = maker_program(g, 1, &x, 1, &y, NULL);
  maker_pass(&p, hr_pass_reread);
  const hr_node_t* mul = maker_live(&p, "y");
  HR_CHECK(hr_dtype_is_ref(hr_value_type(mul->inputs[0])) && hr_str_is(mul->inputs[0].node->attrs.def->name, "RefIdentity"));
  HR_CHECK(mul->inputs[1].node == maker_live(&p, "other")); /* nobody writes w */
  HR_CHECK_EQ_I64(maker_live_of(&p, "RefIdentity"), 2);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(readers_before_and_beside_a_write_do_not) {
  hr_graph_t* g = maker_graph();
  hr_value_t v = maker_variable(g, "v", &hr_pshape_scalar), read = maker_1(g, "Identity", "read", v);
  hr_value_t square = maker_2(g, "Mul", "square", read, read), add = assign_add(g, "add", v, square);
  hr_value_t beside = maker_1(g, "Neg", "beside", read);
  hr_value_t fetch[] = {beside, square};
  hr_program_t p = maker_program(g, 0, NULL, 2, fetch, add.node);
  const int64_t before = p.graph->nodes.count;
  maker_pass(&p, hr_pass_reread);
  HR_CHECK_EQ_I64(p.graph->nodes.count, before);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(another_variable_s_write_is_none) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), v = maker_variable(g, "v", &hr_pshape_scalar),
             w = maker_variable(g, "w", &hr_pshape_scalar), read = maker_1(g, "Identity", "read", v);
  hr_value_t add = assign_add(g, "add", w, x), y = maker_1(g, "Neg", "y", read), late = assign_add(g, "late", v, y);
  maker_wait(g, y, add);
  hr_program_t p = maker_program(g, 1, &x, 1, &y, late.node);
  const int64_t before = p.graph->nodes.count;
  maker_pass(&p, hr_pass_reread);
  HR_CHECK_EQ_I64(p.graph->nodes.count, before);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(fetches_are_read_after_the_writes) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), v = maker_variable(g, "v", &hr_pshape_scalar),
             read = maker_1(g, "Identity", "read", v), add = assign_add(g, "add", v, x), fetch[] = {v, read, add};
  hr_program_t p = maker_program(g, 1, &x, 3, fetch, NULL);
  maker_pass(&p, hr_pass_reread);
  for (int i = 0; i < 2; ++i) {
    const hr_node_t* late = p.fetches[i].node;
    HR_REQUIRE(hr_str_is(late->attrs.def->name, "Identity") && late->inputs[0].node == maker_live(&p, "v"));
    HR_CHECK(hr_str_is(late->controls[0]->attrs.def->name, "NoOp") && late->controls[0]->controls[0] == maker_live(&p, "add"));
  }
  HR_CHECK(p.fetches[2].node == maker_live(&p, "add")); /* the only write itself */
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(switches_hand_references_on) {
  hr_graph_t* g = maker_graph();
  hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), c = maker_bool(g, "c"), feeds[] = {x, c};
  hr_value_t v = maker_variable(g, "v", &hr_pshape_scalar), read = maker_1(g, "Identity", "read", v), add = assign_add(g, "add", v, x);
  hr_value_t s = maker_2(g, "Switch", "s", read, c), y = maker_1(g, "Neg", "y", s);
  maker_wait(g, y, add);
  hr_program_t p = maker_program(g, 2, feeds, 1, &y, NULL);
  maker_pass(&p, hr_pass_reread);
  HR_CHECK_EQ_I64(maker_live_of(&p, "RefSwitch"), 1);
  HR_CHECK_EQ_I64(maker_live_of(&p, "Switch"), 0);
  HR_CHECK_EQ_I64(maker_live_of(&p, "RefIdentity"), 1);
  hr_program_deinit(&p);
  hr_graph_destroy(g);
}

/* Each read asks anew what is behind its own variable's write. Beyond so many visits to nodes it is no longer asked: what is behind any
 * write counts. */
HR_TEST(reads_of_many_variables) {
  enum { VARIABLES = 80, LONG = 400, FEW = 20 };
  for (int count = FEW; count <= VARIABLES; count += VARIABLES - FEW) {
    char name[16];
    hr_graph_t* g = maker_graph();
    hr_value_t x = maker_placeholder(g, "x", HR_F32, &hr_pshape_scalar), v[VARIABLES], add[VARIABLES], fetch[VARIABLES + 1];
    for (int i = 0; i < count; ++i) {
      snprintf(name, sizeof name, "v%d", i);
      v[i] = maker_variable(g, name, &hr_pshape_scalar);
      snprintf(name, sizeof name, "add%d", i);
      add[i] = assign_add(g, name, v[i], x);
    }
    hr_value_t last = maker_1(g, "Exp", "first", x);
    for (int i = 0; i < count; ++i) maker_wait(g, last, add[i]);
    for (int i = 1; i < LONG; ++i) {
      snprintf(name, sizeof name, "l%d", i);
      last = maker_1(g, "Exp", name, last);
    }
    for (int i = 0; i < count; ++i) { /* behind another variable's write */
      snprintf(name, sizeof name, "read%d", i);
      hr_value_t read = maker_1(g, "Identity", name, v[i]);
      snprintf(name, sizeof name, "y%d", i);
      fetch[i] = maker_1(g, "Neg", name, read);
      maker_wait(g, fetch[i], add[(i + 1) % count]);
    }
    fetch[count] = last;
    hr_program_t p = maker_program(g, 1, &x, count + 1, fetch, NULL);
    const int64_t nodes = 1 + LONG + 4 * count, first_walk = LONG + count, each = LONG + 1;
    HR_CHECK_EQ_I64(p.graph->nodes.count, nodes);
    maker_pass(&p, hr_pass_reread);
    const int64_t asked = (32 * nodes - first_walk + each - 1) / each; /* before these the visits were fewer */
    HR_CHECK_EQ_I64(maker_live_of(&p, "RefIdentity"), count == FEW ? 0 : count - asked);
    HR_CHECK(count == FEW || (maker_live(&p, "read51") && !maker_live(&p, "read79")));
    hr_program_deinit(&p);
    hr_graph_destroy(g);
  }
}

HR_TEST_MAIN()
