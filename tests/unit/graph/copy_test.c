/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning, ordering, working copies and the edits that passes make on them. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "graph/copy.h"
#include "graph/order.h"
#include "graph/validate.h"
#include "unit/graph/graph_fixture.h"

static hr_status_t copy(const hr_graph_t* g, const hr_prune_request_t* q, hr_graph_copy_t* c) { return hr_graph_copy_pruned(g, q, c); }

HR_TEST(prune_takes_what_is_needed_in_order) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *y = fixture_placeholder(g, "y", HR_F32, -1, NULL);
  hr_node_t *a = fixture_add2(g, "Add", "a", x, x), *b = fixture_add2(g, "Add", "b", a, y),
            *n = fixture_add(g, "NoOp", "n", 0, NULL, HR_NO_ATTRS);
  fixture_add2(g, "Add", "unused", a, b);
  HR_CHECK_OK(hr_graph_add_control(g, b, n));
  hr_value_t fetch = fixture_out(b, 0), feed = fixture_out(a, 0);
  hr_prune_request_t q = {.fetches = &fetch, .fetch_count = 1};
  hr_prune_t p;
  HR_REQUIRE_OK(hr_prune_run(g, &q, &p));
  HR_CHECK_EQ_I64(p.nodes.count, 5);
  HR_CHECK(p.nodes.data[0] == x && p.nodes.data[1] == a && p.nodes.data[4] == b);
  hr_prune_deinit(&p);
  q.feeds = &feed;
  q.feed_count = 1;
  HR_REQUIRE_OK(hr_prune_run(g, &q, &p));
  HR_CHECK(p.nodes.count == 3 && p.nodes.data[2] == b);
  hr_prune_deinit(&p);
  q.targets = &a; /* the node itself still runs when asked for, though its output is fed */
  q.target_count = 1;
  HR_REQUIRE_OK(hr_prune_run(g, &q, &p));
  HR_CHECK_EQ_I64(p.nodes.count, 5);
  hr_prune_deinit(&p);
  hr_graph_destroy(g);
}

HR_TEST(prune_refuses_bad_requests) {
  hr_graph_t* g = fixture_graph();
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, -1, NULL);
  hr_value_t feeds[] = {fixture_out(x, 0), fixture_out(x, 0)}, fetch = fixture_out(x, 0);
  hr_prune_t p;
  hr_prune_request_t q = {.feeds = feeds, .feed_count = 2};
  HR_CHECK_CODE(hr_prune_run(g, &q, &p), HR_INVALID_ARGUMENT, "'x:0' is fed more than once");
  q = (hr_prune_request_t){.feeds = feeds, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
  HR_CHECK_CODE(hr_prune_run(g, &q, &p), HR_INVALID_ARGUMENT, "both fed and fetched");
  fetch.index = 1;
  HR_CHECK_CODE(hr_prune_run(g, &q, &p), HR_INVALID_ARGUMENT, "fetch 'x:1' is out of range");
  hr_graph_destroy(g);
}

HR_TEST(copy_rewires_feeds) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, 1, (const int64_t[]){3}), *w = fixture_const_i32(g, "w", 2, (const int64_t[]){1, 2});
  hr_node_t* id = fixture_add(g, "IdentityN", "id", HR_VALUES(fixture_out(x, 0), fixture_out(w, 0)), HR_NO_ATTRS);
  hr_node_t *s = fixture_add2(g, "Add", "s", x, x),
            *out = fixture_add(g, "IdentityN", "out", HR_VALUES(fixture_out(id, 0), fixture_out(id, 1), fixture_out(s, 0)), HR_NO_ATTRS);
  HR_CHECK_OK(hr_graph_add_control(g, out, x));
  hr_value_t feeds[] = {fixture_out(id, 0), fixture_out(x, 0)}, fetch = fixture_out(out, 2);
  hr_prune_request_t q = {.feeds = feeds, .feed_count = 2, .fetches = &fetch, .fetch_count = 1};
  hr_graph_copy_t c;
  HR_REQUIRE_OK(copy(g, &q, &c));
  HR_CHECK_OK(hr_graph_validate(c.graph));
  hr_node_t* o = hr_graph_copy_value(&c, &q, fetch).node;
  HR_REQUIRE(o && o != out);
  HR_CHECK(o->inputs[0].node == c.feeds[0] && o->inputs[1].node == c.of_source[id->id] && o->inputs[1].index == 1);
  HR_CHECK(c.of_source[id->id]->inputs[0].node == c.feeds[1] && c.of_source[x->id] == NULL && o->control_count == 0);
  HR_CHECK(o->name.data == out->name.data && o->attrs.values == out->attrs.values);
  HR_CHECK_VIEW(c.feeds[0]->name, "_arg_id_0_0");
  HR_CHECK(c.feeds[1]->shapes[0]->dims[0] == 3);
  HR_CHECK(c.of_source[w->id]->constant == w->constant);
  HR_CHECK(hr_graph_copy_value(&c, &q, fixture_out(x, 0)).node == c.feeds[1]);
  hr_graph_copy_deinit(&c);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(loops_are_copied_in_order) {
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_strbuf_init(&w);
  fixture_def_node(&w, "Placeholder", "x", "", "dtype", HR_I32);
  fixture_def_node(&w, "Placeholder", "p", "", "dtype", HR_BOOL);
  fixture_def_node(&w, "Enter", "enter", "x", "T", HR_I32);
  fixture_def_node(&w, "Merge", "merge", "enter next", "T", HR_I32);
  fixture_def_node(&w, "LoopCond", "cond", "p", NULL, 0);
  fixture_def_node(&w, "Switch", "switch", "merge cond", "T", HR_I32);
  fixture_def_node(&w, "Add", "body", "switch:1 switch:1", "T", HR_I32);
  fixture_def_node(&w, "NextIteration", "next", "body", "T", HR_I32);
  fixture_def_node(&w, "Exit", "exit", "switch", "T", HR_I32);
  HR_REQUIRE_OK(fixture_import(g, &w, NULL, NULL));
  hr_node_t* asked[] = {hr_graph_find(g, HR_STR("exit")), hr_graph_find(g, HR_STR("body"))};
  for (int i = 0; i < 2; ++i) { /* from outside the loop and from inside */
    hr_prune_request_t q = {.targets = &asked[i], .target_count = 1};
    hr_graph_copy_t c;
    HR_REQUIRE_OK(copy(g, &q, &c));
    HR_CHECK_EQ_I64(c.graph->nodes.count, i ? 8 : 9);
    HR_CHECK_OK(hr_graph_validate(c.graph));
    for (int64_t k = 0; k < c.graph->nodes.count; ++k) {
      const hr_node_t* n = c.graph->nodes.data[k];
      for (int in = 0; in < n->input_count; ++in) HR_CHECK(n->inputs[in].node->id < n->id || hr_order_is_back_edge(n->inputs[in].node, n));
    }
    hr_graph_copy_deinit(&c);
  }
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(copies_are_edited) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *i = fixture_const_i32(g, "i", -1, (const int64_t[]){1});
  hr_node_t *a = fixture_add1(g, "Identity", "a", x), *b = fixture_add2(g, "Add", "b", a, a),
            *n = fixture_add(g, "NoOp", "n", 0, NULL, HR_NO_ATTRS);
  hr_node_t* all[] = {b, n, i};
  HR_CHECK_OK(hr_graph_add_control(g, b, n));
  HR_CHECK_OK(hr_graph_add_control(g, n, a));
  hr_prune_request_t q = {.targets = all, .target_count = 3};
  hr_graph_copy_t c;
  HR_REQUIRE_OK(copy(g, &q, &c));
  hr_node_t *cx = c.of_source[x->id], *ca = c.of_source[a->id], *cb = c.of_source[b->id], *cn = c.of_source[n->id], *made = NULL;
  HR_CHECK_CODE(hr_graph_replace_value(c.graph, fixture_out(ca, 0), fixture_out(c.of_source[i->id], 0)), HR_INVALID_ARGUMENT,
                "(int32) cannot stand for 'a:0' (float)");
  HR_CHECK_CODE(hr_graph_remove(c.graph, ca), HR_FAILED_PRECONDITION, "has 3 consumers");
  HR_CHECK_OK(hr_graph_replace_value(c.graph, fixture_out(ca, 0), fixture_out(cx, 0)));
  HR_CHECK(cb->inputs[0].node == cx && cb->inputs[1].node == cx);
  HR_CHECK_OK(hr_graph_replace_control(c.graph, ca, cx));
  HR_CHECK(cn->controls[0] == cx);
  HR_CHECK_OK(hr_graph_remove(c.graph, ca));
  HR_CHECK_OK(hr_graph_validate(c.graph));
  hr_graph_remove_control(c.graph, cb, cn);
  HR_CHECK_EQ_I64(cb->control_count, 0);
  hr_value_t in = fixture_out(cb, 0);
  hr_node_desc_t desc = {.op = HR_STR("Identity"), .name = HR_STR("_made"), .inputs = &in, .input_count = 1, .skip_shapes = true};
  HR_CHECK_OK(hr_graph_add(c.graph, &desc, &made));
  desc.name = HR_STR("b");
  HR_CHECK_CODE(hr_graph_add(c.graph, &desc, &made), HR_INVALID_ARGUMENT, "duplicate");
  HR_CHECK_OK(hr_graph_replace_control(c.graph, cx, cb)); /* n waits for b now */
  HR_CHECK_OK(hr_graph_validate(c.graph));
  HR_CHECK(hr_graph_find(c.graph, HR_STR("_made")) == made && !hr_graph_find(g, HR_STR("_made")) && !hr_graph_find(c.graph, HR_STR("a")));
  hr_graph_copy_deinit(&c);
  HR_CHECK_OK(hr_graph_validate(g));
  HR_CHECK(b->inputs[0].node == a);
  hr_graph_destroy(g);
}

HR_TEST(order_is_topological_and_finds_cycles) {
  hr_graph_t* g = fixture_graph();
  enum { COUNT = 1000 };
  hr_node_t* nodes[COUNT];
  nodes[0] = fixture_placeholder(g, "n0", HR_F32, -1, NULL);
  for (int i = 1; i < COUNT; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    nodes[i] = fixture_add2(g, "Add", name, nodes[i - 1], nodes[i / 2]);
  }
  for (int i = 0; i < COUNT / 2; ++i) { /* backwards */
    hr_node_t* t = nodes[i];
    nodes[i] = nodes[COUNT - 1 - i];
    nodes[COUNT - 1 - i] = t;
  }
  HR_CHECK_OK(hr_order_nodes(g, nodes, COUNT));
  for (int i = 0; i < COUNT; ++i) HR_CHECK_EQ_I64(nodes[i]->id, i);
  HR_CHECK_OK(hr_graph_set_input(g, nodes[10], 0, fixture_out(nodes[20], 0)));
  HR_CHECK_CODE(hr_order_nodes(g, nodes, COUNT), HR_INVALID_ARGUMENT, "cycle through node 'n");
  HR_CHECK_CODE(hr_graph_validate(g), HR_INTERNAL, "cycle");
  hr_graph_destroy(g);
}

HR_TEST(validate_sees_broken_promises) {
  hr_graph_t* g = fixture_graph();
  hr_node_t *x = fixture_placeholder(g, "x", HR_F32, -1, NULL), *a = fixture_add1(g, "Identity", "a", x);
  HR_CHECK_OK(hr_graph_validate(g));
  x->consumers.count = 0;
  HR_CHECK_CODE(hr_graph_validate(g), HR_INTERNAL, "node 'a': input 0 has 0 edges");
  x->consumers.count = 1;
  a->inputs[0].index = 1;
  HR_CHECK_CODE(hr_graph_validate(g), HR_INTERNAL, "node 'x': consumer 'a' reads something else");
  a->inputs[0].index = 0;
  const hr_pshape_t* shape = a->shapes[0];
  a->shapes[0] = NULL;
  HR_CHECK_CODE(hr_graph_validate(g), HR_INTERNAL, "output 0 has no shape");
  a->shapes[0] = shape;
  x->id = 7;
  HR_CHECK_CODE(hr_graph_validate(g), HR_INTERNAL, "its id is 7");
  x->id = 0;
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

static hr_graph_t* fault_graph;
static hr_status_t copy_and_edit(void) {
  hr_graph_copy_t c;
  hr_node_t* made = NULL;
  hr_node_t* z = hr_graph_find(fault_graph, HR_STR("z"));
  hr_value_t feed = z->inputs[0], fetch = {z, 0};
  hr_prune_request_t q = {.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
  HR_TRY(copy(fault_graph, &q, &c));
  hr_value_t in = {c.of_source[z->id], 0};
  hr_node_desc_t desc = {.op = HR_STR("Identity"), .name = HR_STR("_made"), .inputs = &in, .input_count = 1, .skip_shapes = true};
  hr_status_t status = hr_graph_add(c.graph, &desc, &made);
  if (!status) status = hr_graph_replace_value(c.graph, fixture_out(c.feeds[0], 0), fixture_out(made, 0));
  hr_graph_copy_deinit(&c);
  return status;
}

HR_TEST(every_allocation_may_fail) {
  fault_graph = fixture_graph();
  hr_node_t* x = fixture_placeholder(fault_graph, "x", HR_F32, -1, NULL);
  fixture_add2(fault_graph, "Add", "z", x, x);
  HR_TEST_EVERY_ALLOCATION_FAILS(copy_and_edit);
  hr_graph_destroy(fault_graph);
}

HR_TEST_MAIN()
