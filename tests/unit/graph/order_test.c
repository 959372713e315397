/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning, ordering, copies, edits and the validator, one condition at a time: graphs are texts, and so is what becomes of them. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/graph/graph_text.h"

#include "graph/copy.h"
#include "graph/names.h"
#include "graph/order.h"
#include "graph/validate.h"
#include "op/infer_fns.h"

#define FLOAT(n)      NODE(OP(n, "Placeholder") TYPE("dtype", "DT_FLOAT"))
#define ID(n, i)      NODE(OP(n, "Identity") IN(i) F32)
#define ADD(n, a, b)  NODE(OP(n, "Add") IN(a) IN(b) F32)
#define NOOP(n, more) NODE(OP(n, "NoOp") more)
#define PAIR(n, a, b) NODE(OP(n, "IdentityN") IN(a) IN(b) ATTR("T", "list { type: [DT_FLOAT, DT_FLOAT] }"))

static hr_node_t* find(const hr_graph_t* g, const char* name) { return hr_graph_find(g, hr_str(name)); }

/* "x" or "x:1" */
static hr_value_t value(const hr_graph_t* g, hr_str_t text) {
  hr_str_t rest = text, name = text;
  int64_t index = 0;
  hr_str_split(&rest, ':', &name);
  if (rest.size) HR_CHECK(hr_str_parse_i64(rest, &index));
  return (hr_value_t){hr_graph_find(g, name), (int32_t)index};
}

typedef struct {
  hr_value_t feeds[4], fetches[4];
  hr_node_t* targets[4];
  hr_prune_request_t q;
} request_t;

/* "feeds | fetches | targets" */
static void request_make(const hr_graph_t* g, const char* text, request_t* r) {
  hr_str_t rest = hr_str(text), part, word;
  memset(r, 0, sizeof *r);
  r->q = (hr_prune_request_t){.feeds = r->feeds, .fetches = r->fetches, .targets = r->targets};
  for (int k = 0; k < 3 && hr_str_split(&rest, '|', &part); ++k)
    while (part.size && hr_str_split(&part, ' ', &word)) {
      if (!word.size) continue;
      hr_value_t v = value(g, word);
      if (k == 0) r->feeds[r->q.feed_count++] = v;
      if (k == 1) r->fetches[r->q.fetch_count++] = v;
      if (k == 2) r->targets[r->q.target_count++] = v.node;
    }
}

/* --- pruning -------------------------------------------------------------------------------------------------------------------------- */
static const char web[] = FLOAT("x") FLOAT("y") NOOP("n", "") ADD("a", "x", "y") PAIR("p", "a", "x")
    NODE(OP("b", "Add") IN("p") IN("p:1") IN("^n") IN("^y") F32) ID("c", "b") NOOP("m", IN("^c") IN("^x") IN("^n"));

HR_TEST(a_run_needs_what_leads_to_its_ends) {
  static const struct {
    const char *request, *want;
  } rows[] = {
      {"| |", ""},
      {"| x |", "x"},
      {"| x x | x", "x"},
      {"| a |", "x y a"},
      {"| | a", "x y a"},
      {"| y a | n", "y x a n"},
      {"| c |", "x y a p n b c"},
      {"| | m", "x y a p n b c m"},
      {"x | a |", "y a"},
      {"x y | a |", "a"},
      {"a | c |", "x p n y b c"},
      {"p | c |", "x y a p n b c"},           /* the other output of p is still wanted, */
      {"p p:1 | c |", "n y b c"},             /* and now it is not */
      {"p p:1 y | c |", "n b c"},             /* who only waits for a fed placeholder need not */
      {"p p:1 n | c |", "only ends are fed"}, /* a node without outputs cannot be fed */
      {"b | c |", "c"},
      {"b | c | b", "c x y a p n b"},
      {"x | | x", ""},
      {"x | | m", "y a p n b c m"},
      {"a | | a", "x y a"},
      {"c | | m", "x y a p n b c m"}, /* of what is no placeholder a control edge stays */
  };
  hr_graph_t* g = text_graph(web);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    request_t r;
    hr_prune_t p;
    hr_strbuf_t text;
    request_make(g, rows[i].request, &r);
    hr_status_t status = hr_prune_run(g, &r.q, &p);
    if (status) {
      HR_CHECK_STR(rows[i].want, "only ends are fed");
      text_check_error(status, "feed 'n:0' is out of range: node 'n' (NoOp) has 0 outputs", (int)i);
      continue;
    }
    hr_strbuf_init(&text);
    for (int64_t k = 0; k < p.nodes.count; ++k) hr_strbuf_format(&text, "%s%s", k ? " " : "", p.nodes.data[k]->name.data);
    text_check(&text, rows[i].want, (int)i);
    hr_strbuf_deinit(&text);
    hr_prune_deinit(&p);
  }
  hr_graph_destroy(g);
}

HR_TEST(requests_that_cannot_be) {
  static const struct {
    const char *request, *want;
  } rows[] = {
      {"nobody | |", "a feed is not a node of this graph"},
      {"| nobody |", "a fetch is not a node of this graph"},
      {"| | nobody", "a target is not a node of this graph"},
      {"| | x nobody", "a target is not a node of this graph"},
      {"p:2 | |", "feed 'p:2' is out of range: node 'p' (IdentityN) has 2 outputs"},
      {"p:-1 | |", "feed 'p:-1' is out of range: node 'p' (IdentityN) has 2 outputs"},
      {"| p:2 |", "fetch 'p:2' is out of range: node 'p' (IdentityN) has 2 outputs"},
      {"p:1 p:0 p:1 | |", "endpoint 'p:1' is fed more than once"},
      {"p:1 | p:0 p:1 |", "endpoint 'p:1' is both fed and fetched"},
  };
  hr_graph_t *g = text_graph(web), *other = text_graph(web);
  hr_prune_t p;
  request_t r;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    request_make(g, rows[i].request, &r);
    text_check_error(hr_prune_run(g, &r.q, &p), rows[i].want, (int)i);
  }
  const char* parts[] = {"x | |", "| x |", "| | x"};
  const char* what[] = {"feed", "fetch", "target"};
  for (int k = 0; k < 3; ++k) {
    char want[64];
    request_make(other, parts[k], &r);
    snprintf(want, sizeof want, "a %s is not a node of this graph", what[k]);
    text_check_error(hr_prune_run(g, &r.q, &p), want, 100 + k);
  }
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(a_placeholder_of_either_version_is_left_out_when_fed) {
  static const struct {
    const char* op;
    int count;
  } rows[] = {{"Placeholder", 1}, {"PlaceholderV2", 1}, {"VariableV2", 2}};
  for (int i = 0; i < 3; ++i) {
    char text[256];
    request_t r;
    hr_prune_t p;
    snprintf(text, sizeof text,
             "node { name: 'x' op: '%s' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { } } } } "
             "node { name: 'n' op: 'NoOp' input: '^x' }",
             rows[i].op);
    hr_graph_t* g = text_graph(text);
    request_make(g, "x | | n", &r);
    HR_REQUIRE_OK(hr_prune_run(g, &r.q, &p));
    HR_CHECK_EQ_I64(p.nodes.count, rows[i].count);
    hr_prune_deinit(&p);
    hr_graph_destroy(g);
  }
}

/* --- order ---------------------------------------------------------------------------------------------------------------------------- */
/* Orders the named nodes alone; gives their names, or the refusal. */
static void check_order(hr_graph_t* g, const char* names, const char* want, int row) {
  hr_node_t* nodes[16];
  int64_t count = 0;
  hr_str_t rest = hr_str(names), word;
  hr_strbuf_t text;
  while (rest.size && hr_str_split(&rest, ' ', &word)) nodes[count++] = hr_graph_find(g, word);
  hr_strbuf_init(&text);
  hr_status_t status = hr_order_nodes(g, nodes, count);
  if (status) hr_strbuf_format(&text, "%s", hr_status_message(status));
  for (int64_t k = 0; k < count && !status; ++k) hr_strbuf_format(&text, "%s%s", k ? " " : "", nodes[k]->name.data);
  text_check(&text, want, row);
  hr_status_release(status);
  hr_strbuf_deinit(&text);
}

#define LOOP                                                      \
  FLOAT("x")                                                      \
  NODE(OP("e", "Enter") IN("x") F32 ATTR("frame_name", "s: 'f'")) \
  NODE(OP("m", "Merge") IN("e") IN("n") F32 ATTR("N", "i: 2")) ID("i", "m") NODE(OP("n", "NextIteration") IN("i") F32)

HR_TEST(what_is_ready_first_comes_first) {
  static const struct {
    const char *names, *want;
  } rows[] = {
      {"", ""},
      {"x", "x"},
      {"c b a p", "a p b c"}, /* what is not among them is there already; p:1 and p:0 count twice */
      {"m c b p a n y x", "n y x a p b c m"},
      {"b a", "b a"},
      {"m n", "n m"},
      {"m x", "x m"},
  };
  hr_graph_t* g = text_graph(web);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) check_order(g, rows[i].names, rows[i].want, (int)i);
  hr_graph_destroy(g);
  g = text_graph(LOOP);
  check_order(g, "n i m e x", "x e m i n", 100);
  check_order(g, "n m", "n m", 101);
  check_order(g, "n i m", "m i n", 102);
  hr_graph_destroy(g);
}

HR_TEST(cycles_are_named_by_a_node_that_is_on_them) {
  /* t hangs on the cycle, so it is never ready, but it is not on it */
  static const char text[] =
      FLOAT("x") ADD("a", "x", "x") ADD("b", "x", "a") ADD("c", "b", "x") ID("t", "c") NOOP("n", "") NOOP("m", IN("^n"));
  hr_graph_t* g = text_graph(text);
  HR_CHECK_OK(hr_graph_set_input(g, find(g, "a"), 1, (hr_value_t){find(g, "c"), 0}));
  check_order(g, "t x a b c", "the graph has a cycle through node 'b' (Add) that no NextIteration closes", 0);
  check_order(g, "x a b c", "the graph has a cycle through node 'c' (Add) that no NextIteration closes", 1);
  check_order(g, "t x a b", "t x a b", 2);
  HR_CHECK_OK(hr_graph_set_input(g, find(g, "a"), 1, (hr_value_t){find(g, "x"), 0}));
  HR_CHECK_OK(hr_graph_add_control(g, find(g, "n"), find(g, "m")));
  check_order(g, "x n m t", "the graph has a cycle through node 'n' (NoOp) that no NextIteration closes", 3);
  HR_CHECK_OK(hr_graph_add_control(g, find(g, "t"), find(g, "m")));
  check_order(g, "t x n m", "the graph has a cycle through node 'n' (NoOp) that no NextIteration closes", 4);
  hr_graph_destroy(g);
  g = text_graph(LOOP); /* a control edge back is no back edge */
  HR_CHECK_OK(hr_graph_add_control(g, find(g, "m"), find(g, "n")));
  check_order(g, "x e m i n", "the graph has a cycle through node 'i' (Identity) that no NextIteration closes", 5);
  hr_graph_destroy(g);
}

/* --- copies --------------------------------------------------------------------------------------------------------------------------- */
static void check_copy(const hr_graph_t* g, const char* request, const char* want, int row) {
  request_t r;
  hr_graph_copy_t c;
  request_make(g, request, &r);
  if (!HR_CHECK_OK(hr_graph_copy_pruned(g, &r.q, &c))) return;
  text_check_graph(c.graph, want, row);
  HR_CHECK_OK(hr_graph_validate(c.graph));
  HR_CHECK(c.feed_count == r.q.feed_count && c.source_count == g->nodes.count);
  for (int32_t k = 0; k < c.feed_count; ++k) {
    const hr_node_t* arg = c.feeds[k];
    HR_CHECK(arg == c.graph->nodes.data[k] && arg->output_count == 1 && arg->input_count == 0 && hr_attrs_int(&arg->attrs, "index") == k);
    HR_CHECK(hr_attrs_type(&arg->attrs, "T") == hr_dtype_base(hr_value_type(r.feeds[k])) && arg->shapes[0] == hr_value_shape(r.feeds[k]));
    HR_CHECK(arg->output_types[0] == (int32_t)hr_dtype_base(hr_value_type(r.feeds[k])));
    hr_value_t there = hr_graph_copy_value(&c, &r.q, r.feeds[k]);
    HR_CHECK(there.node == arg && there.index == 0);
  }
  for (int64_t k = 0; k < c.graph->nodes.count; ++k) { /* lists of exactly the right length */
    const hr_node_t* n = c.graph->nodes.data[k];
    HR_CHECK(n->consumers.count == n->consumers.capacity && n->control_consumers.count == n->control_consumers.capacity);
  }
  for (int64_t k = 0; k < g->nodes.count; ++k) {
    const hr_node_t *from = g->nodes.data[k], *to = c.of_source[k];
    if (!to) continue;
    HR_CHECK(to->graph == c.graph && to->attrs.values == from->attrs.values && to->name.data == from->name.data);
    for (int i = 0; i < from->output_count; ++i) HR_CHECK(to->shapes[i] == from->shapes[i] && to->shapes != from->shapes);
  }
  hr_graph_copy_deinit(&c);
}

HR_TEST(copies_have_arguments_for_feeds) {
  static const struct {
    const char *request, *want;
  } rows[] = {
      {"| |", ""},
      {"| a |", "x=Placeholder() y=Placeholder() a=Add(x:0,y:0) "},
      {"x | a |", "_arg_x_0_0=_Arg() y=Placeholder() a=Add(_arg_x_0_0:0,y:0) "},
      {"y x | a |", "_arg_y_0_0=_Arg() _arg_x_0_1=_Arg() a=Add(_arg_x_0_1:0,_arg_y_0_0:0) "},
      {"p:1 p | b |", "_arg_p_1_0=_Arg() _arg_p_0_1=_Arg() n=NoOp() y=Placeholder() b=Add(_arg_p_0_1:0,_arg_p_1_0:0,^n,^y) "},
      {"p:1 p y | b |", "_arg_p_1_0=_Arg() _arg_p_0_1=_Arg() _arg_y_0_2=_Arg() n=NoOp() b=Add(_arg_p_0_1:0,_arg_p_1_0:0,^n) "},
      {"p:1 a | b |",
       "_arg_p_1_0=_Arg() _arg_a_0_1=_Arg() x=Placeholder() p=IdentityN(_arg_a_0_1:0,x:0) n=NoOp() y=Placeholder() "
       "b=Add(p:0,_arg_p_1_0:0,^n,^y) "},
      {"c | | m",
       "_arg_c_0_0=_Arg() x=Placeholder() y=Placeholder() a=Add(x:0,y:0) p=IdentityN(a:0,x:0) n=NoOp() b=Add(p:0,p:1,^n,^y) "
       "c=Identity(b:0) "
       "m=NoOp(^c,^x,^n) "},
  };
  hr_graph_t* g = text_graph(web);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) check_copy(g, rows[i].request, rows[i].want, (int)i);
  hr_graph_destroy(g);
  g = text_graph(LOOP);
  check_copy(g, "| i |", "x=Placeholder() e=Enter(x:0) m=Merge(e:0,n:0) i=Identity(m:0) n=NextIteration(i:0) ", 100);
  check_copy(g, "m | i |", "_arg_m_0_0=_Arg() i=Identity(_arg_m_0_0:0) ", 101);
  hr_graph_destroy(g);
  g = text_graph(NODE(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")) ID("i", "v"));
  check_copy(g, "v | i |", "_arg_v_0_0=_Arg() i=Identity(_arg_v_0_0:0) ", 102);
  hr_graph_destroy(g);
}

HR_TEST(values_of_a_copy_are_found) {
  hr_graph_t* g = text_graph(web);
  request_t r;
  hr_graph_copy_t c;
  request_make(g, "a p:1 | b |", &r);
  HR_REQUIRE_OK(hr_graph_copy_pruned(g, &r.q, &c));
  const struct {
    const char* name;
    int index;
    hr_node_t* node;
    int want;
  } rows[] = {{"a", 0, c.feeds[0], 0}, {"p", 1, c.feeds[1], 0}, {"p", 0, c.of_source[find(g, "p")->id], 0},
              {"c", 0, NULL, 0},       {"m", 0, NULL, 0},       {"b", 0, c.of_source[find(g, "b")->id], 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_value_t v = hr_graph_copy_value(&c, &r.q, (hr_value_t){find(g, rows[i].name), rows[i].index});
    HR_CHECK(v.node == rows[i].node && v.index == rows[i].want);
  }
  hr_value_t p1 = {find(g, "p"), 1};
  request_make(g, "| b |", &r);
  hr_graph_copy_deinit(&c);
  HR_REQUIRE_OK(hr_graph_copy_pruned(g, &r.q, &c));
  HR_CHECK(hr_graph_copy_value(&c, &r.q, p1).index == 1);
  HR_CHECK_OK(text_import(g, FLOAT("later"), NULL, NULL)); /* what the source got since then is not in the copy */
  HR_CHECK(hr_graph_copy_value(&c, &r.q, (hr_value_t){find(g, "later"), 0}).node == NULL);
  hr_graph_copy_deinit(&c);
  HR_CHECK(!c.graph && !c.feeds && !c.of_source);
  hr_graph_destroy(g);
}

HR_TEST(a_copy_gives_no_name_of_its_source_twice) {
  hr_graph_t* g = text_graph(web);
  request_t r;
  hr_graph_copy_t c;
  hr_str_t name;
  hr_node_t* made = NULL;
  request_make(g, "x | a |", &r);
  HR_REQUIRE_OK(hr_graph_copy_pruned(g, &r.q, &c));
  const char* names[] = {"a", "c", "new"};
  const char* unique[] = {"a_1", "c_1", "new"};
  for (int k = 0; k < 3; ++k) {
    HR_CHECK_OK(hr_graph_unique_name(c.graph, hr_str(names[k]), &name));
    HR_CHECK_VIEW(name, unique[k]);
    hr_node_desc_t d = {.op = HR_STR("NoOp"), .name = hr_str(names[k]), .skip_shapes = true};
    hr_status_t status = hr_graph_add(c.graph, &d, &made);
    HR_CHECK((status == NULL) == (k == 2));
    hr_status_release(status);
  }
  HR_CHECK(hr_graph_find(c.graph, HR_STR("a")) == c.of_source[find(g, "a")->id] && !hr_graph_find(c.graph, HR_STR("c")));
  HR_CHECK_OK(hr_graph_validate(c.graph));
  HR_CHECK(c.graph->names_pending && c.graph->originals == g);
  HR_CHECK_OK(hr_names_index(c.graph));
  HR_CHECK(!c.graph->names_pending && !c.graph->originals);
  HR_CHECK_OK(hr_names_index(c.graph));
  HR_CHECK(hr_graph_find(c.graph, HR_STR("a")) == c.of_source[find(g, "a")->id] && !hr_graph_find(c.graph, HR_STR("c")) &&
           hr_graph_find(c.graph, HR_STR("new")) == made);
  HR_CHECK_OK(hr_graph_validate(c.graph));
  hr_graph_copy_deinit(&c);
  hr_graph_destroy(g);
}

HR_TEST(a_copy_of_a_copy_knows_its_own_names) {
  hr_graph_t* g = text_graph(web);
  request_t r;
  hr_graph_copy_t first, second;
  hr_str_t name;
  hr_node_t* made = NULL;
  request_make(g, "| c |", &r);
  HR_REQUIRE_OK(hr_graph_copy_pruned(g, &r.q, &first));
  request_make(first.graph, "| a |", &r);
  HR_REQUIRE_OK(hr_graph_copy_pruned(first.graph, &r.q, &second));
  HR_CHECK(second.graph->names_pending && !second.graph->originals && second.graph->library == g && first.graph->library == g);
  text_check_graph(second.graph, "x=Placeholder() y=Placeholder() a=Add(x:0,y:0) ", 0);
  HR_CHECK(hr_graph_find(second.graph, HR_STR("y")) == second.graph->nodes.data[1] && !hr_graph_find(second.graph, HR_STR("c")));
  hr_node_desc_t d = {.op = HR_STR("NoOp"), .name = HR_STR("a"), .skip_shapes = true};
  text_check_error(hr_graph_add(second.graph, &d, &made), "node 'a' (NoOp): duplicate node name in graph: 'a'", 1);
  HR_CHECK(!second.graph->names_pending);
  HR_CHECK_OK(hr_graph_unique_name(second.graph, HR_STR("c"), &name));
  HR_CHECK_VIEW(name, "c");
  HR_CHECK_OK(hr_graph_validate(second.graph));
  hr_graph_copy_deinit(&second);
  hr_graph_copy_deinit(&first);
  hr_graph_destroy(g);
}

/* --- edits ---------------------------------------------------------------------------------------------------------------------------- */
static const char fan[] =
    FLOAT("x") FLOAT("y") PAIR("p", "x", "y") ADD("a", "p", "p:1") ADD("b", "p:1", "x") ADD("c", "p", "p") ADD("q", "p", "a");

HR_TEST(consumers_read_another_value) {
  static const struct {
    const char *from, *to, *want;
  } rows[] = {
      {"p", "x", "x=Placeholder() y=Placeholder() p=IdentityN(x:0,y:0) a=Add(x:0,p:1) b=Add(p:1,x:0) c=Add(x:0,x:0) q=Add(x:0,a:0) "},
      {"p:1", "y", "x=Placeholder() y=Placeholder() p=IdentityN(x:0,y:0) a=Add(p:0,y:0) b=Add(y:0,x:0) c=Add(p:0,p:0) q=Add(p:0,a:0) "},
      {"p", "p:1", "x=Placeholder() y=Placeholder() p=IdentityN(x:0,y:0) a=Add(p:1,p:1) b=Add(p:1,x:0) c=Add(p:1,p:1) q=Add(p:1,a:0) "},
      {"p", "a", "x=Placeholder() y=Placeholder() p=IdentityN(x:0,y:0) a=Add(p:0,p:1) b=Add(p:1,x:0) c=Add(a:0,a:0) q=Add(a:0,a:0) "},
      {"c", "x", "x=Placeholder() y=Placeholder() p=IdentityN(x:0,y:0) a=Add(p:0,p:1) b=Add(p:1,x:0) c=Add(p:0,p:0) q=Add(p:0,a:0) "},
      {"x", "y", "x=Placeholder() y=Placeholder() p=IdentityN(y:0,y:0) a=Add(p:0,p:1) b=Add(p:1,y:0) c=Add(p:0,p:0) q=Add(p:0,a:0) "},
      {"x", "x", "x=Placeholder() y=Placeholder() p=IdentityN(x:0,y:0) a=Add(p:0,p:1) b=Add(p:1,x:0) c=Add(p:0,p:0) q=Add(p:0,a:0) "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph(fan);
    HR_CHECK_OK(hr_graph_replace_value(g, value(g, hr_str(rows[i].from)), value(g, hr_str(rows[i].to))));
    text_check_graph(g, rows[i].want, (int)i);
    HR_CHECK_OK(hr_graph_validate(g));
    hr_graph_destroy(g);
  }
  hr_graph_t* g = text_graph(FLOAT("x") NODE(OP("i", "Placeholder") TYPE("dtype", "DT_INT32")) ID("y", "x")
                                 NODE(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")));
  text_check_error(hr_graph_replace_value(g, value(g, HR_STR("x")), value(g, HR_STR("i"))), "'i:0' (int32) cannot stand for 'x:0' (float)",
                   100);
  HR_CHECK_OK(hr_graph_replace_value(g, value(g, HR_STR("x")), value(g, HR_STR("v")))); /* a reference may */
  HR_CHECK(find(g, "y")->inputs[0].node == find(g, "v"));
  hr_graph_destroy(g);
}

HR_TEST(waiters_wait_for_another_node) {
#define WAITS   \
  NOOP("a", "") \
  NOOP("b", "") NOOP("c", IN("^a")) NOOP("d", IN("^b") IN("^a") IN("^c")) NOOP("e", IN("^c") IN("^a")) NOOP("f", IN("^a") IN("^c"))
  static const struct {
    const char *from, *to, *want;
  } rows[] = {
      {"a", "b", "a=NoOp() b=NoOp() c=NoOp(^b) d=NoOp(^b,^c) e=NoOp(^c,^b) f=NoOp(^b,^c) "},
      {"a", "c", "a=NoOp() b=NoOp() c=NoOp() d=NoOp(^b,^c) e=NoOp(^c) f=NoOp(^c) "},
      {"a", "a", "a=NoOp() b=NoOp() c=NoOp(^a) d=NoOp(^b,^a,^c) e=NoOp(^c,^a) f=NoOp(^a,^c) "},
      {"c", "b", "a=NoOp() b=NoOp() c=NoOp(^a) d=NoOp(^b,^a) e=NoOp(^b,^a) f=NoOp(^a,^b) "},
      {"d", "a", "a=NoOp() b=NoOp() c=NoOp(^a) d=NoOp(^b,^a,^c) e=NoOp(^c,^a) f=NoOp(^a,^c) "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph(WAITS);
    HR_CHECK_OK(hr_graph_replace_control(g, find(g, rows[i].from), find(g, rows[i].to)));
    text_check_graph(g, rows[i].want, (int)i);
    HR_CHECK_OK(hr_graph_validate(g));
    hr_graph_destroy(g);
  }
  hr_graph_t* g = text_graph(WAITS);
  hr_node_t* d = find(g, "d");
  hr_graph_remove_control(g, d, find(g, "e"));
  HR_CHECK_EQ_I64(d->control_count, 3);
  hr_graph_remove_control(g, d, find(g, "a"));
  HR_CHECK(d->control_count == 2 && d->controls[0] == find(g, "b") && d->controls[1] == find(g, "c"));
  hr_graph_remove_control(g, d, find(g, "b"));
  HR_CHECK(d->control_count == 1 && d->controls[0] == find(g, "c"));
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_remove_control(g, d, find(g, "c"));
  HR_CHECK(d->control_count == 0 && find(g, "c")->control_consumers.count == 2);
  text_check_error(hr_graph_remove(g, find(g, "c")), "node 'c' has 2 consumers and cannot be removed", 0);
  HR_CHECK_OK(hr_graph_remove(g, d));
  HR_CHECK(!hr_graph_find(g, HR_STR("d")) && g->nodes.data[3] == NULL);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
  g = text_graph(fan);
  text_check_error(hr_graph_remove(g, find(g, "x")), "node 'x' has 2 consumers and cannot be removed", 0);
  hr_graph_destroy(g);
}

/* Room is made for as many as will come, at once and before anything changes: so none of them can fail. */
HR_TEST(edits_make_room_exactly) {
  hr_graph_t* g = text_graph(FLOAT("x") PAIR("p", "x", "x") ID("t", "p") ID("a", "p") ID("b", "p:1") ID("c", "p") ADD("d", "p", "p") ID(
      "e", "p") ID("f", "p:1") NOOP("n", "") NOOP("m", "") NOOP("o", IN("^n")) NOOP("q", IN("^n")) NOOP("r", IN("^n")));
  hr_node_t *t = find(g, "t"), *m = find(g, "m");
  HR_CHECK_OK(hr_graph_replace_value(g, value(g, HR_STR("p")), (hr_value_t){t, 0}));
  HR_CHECK(t->consumers.count == 5 && t->consumers.capacity == 5 && find(g, "p")->consumers.count == 3);
  HR_CHECK_OK(hr_graph_replace_control(g, find(g, "n"), m));
  HR_CHECK(m->control_consumers.count == 3 && m->control_consumers.capacity == 3 && find(g, "n")->control_consumers.count == 0);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(a_removed_node_frees_its_name_in_a_copy) {
  hr_graph_t* g = text_graph(web);
  request_t r;
  hr_graph_copy_t c;
  request_make(g, "| c |", &r);
  HR_REQUIRE_OK(hr_graph_copy_pruned(g, &r.q, &c));
  HR_CHECK_OK(hr_names_index(c.graph)); /* from here on it has a table of its own */
  HR_CHECK_OK(hr_graph_remove(c.graph, c.of_source[find(g, "c")->id]));
  HR_CHECK(!hr_graph_find(c.graph, HR_STR("c")));
  HR_CHECK_OK(hr_graph_validate(c.graph));
  hr_graph_copy_deinit(&c);
  hr_graph_destroy(g);
}

/* --- the validator: each promise broken alone ----------------------------------------------------------------------------------------- */
static hr_graph_t* broken; /* x, y, n, a, p, b, c, m of `web` */
#define SET(field, wrong, want)                                  \
  do {                                                           \
    __typeof__(field) kept = field;                              \
    field = wrong;                                               \
    text_check_error(hr_graph_validate(broken), want, __LINE__); \
    field = kept;                                                \
  } while (0)

HR_TEST(each_broken_promise_is_told) {
  hr_graph_t* g = broken = text_graph(web);
  hr_node_t *x = find(g, "x"), *y = find(g, "y"), *n = find(g, "n"), *a = find(g, "a"), *p = find(g, "p"), *b = find(g, "b"),
            *c = find(g, "c"), *m = find(g, "m");
  HR_CHECK_OK(hr_graph_validate(g));
  SET(x->id, 4, "node 'x': its id is 4 but it stands at 0");
  SET(a->id, 4, "node 'x': consumer 0 is no input of the graph");
  SET(a->graph, NULL, "node 'a': its id is 3 but it stands at 3");
  SET(x->name, ((hr_str_t){"xy", 1}), "node 'xy': its name has no end");
  SET(a->name, HR_STR("b"), "node 'b': its name leads to another node");
  SET(a->name, HR_STR("-"), "illegal node name '-': names match [A-Za-z0-9.][A-Za-z0-9_.\\-/>]*");
  SET(a->attrs.def, NULL, "node 'a': it has no op");
  hr_attr_t* values = (hr_attr_t*)a->attrs.values;
  SET(values[0].kind, HR_ATTR_INT, "node 'a': attr 'T' is int instead of type");
  SET(values[0].is_list, true, "node 'a': attr 'T' is list(type) instead of type");
  SET(a->output_count, 0, "node 'a': its signature wants 1 ends");
  SET(a->output_count, 2, "node 'a': its signature wants 1 ends");
  SET(((int32_t*)a->output_types)[0], HR_I32, "node 'a': end 0 is int32, its signature says float");
  SET(((int32_t*)p->output_types)[1], HR_I32, "node 'p': end 1 is int32, its signature says float");
  SET(((int32_t*)a->input_types)[1], HR_I32, "node 'a': end 1 is int32, its signature says float");
  SET(a->inputs[1].node, NULL, "node 'y': consumer 'a' reads something else");
  SET(p->inputs[0].index, 1, "node 'a': consumer 'p' reads something else");
  SET(b->inputs[0].index, -1, "node 'p': consumer 'b' reads something else");
  SET(b->inputs[1].index, 0, "node 'p': consumer 'b' reads something else");
  SET(p->consumers.count, 1, "node 'b': input 1 has 0 edges at its producer");
  SET(p->consumers.data[1].input, 0, "node 'p': consumer 'b' reads something else");
  SET(p->consumers.data[1].input, 2, "node 'p': consumer 1 is no input of the graph");
  SET(p->consumers.data[0].input, -1, "node 'p': consumer 0 is no input of the graph");
  SET(p->consumers.data[1].node, c, "node 'p': consumer 1 is no input of the graph");
  SET(p->consumers.data[1].node, NULL, "node 'p': consumer 1 is no input of the graph");
  SET(p->consumers.data[1].output, 0, "node 'p': consumer 'b' reads something else");
  SET(b->controls[0], b, "node 'n': control consumer 'b' does not wait for it");
  SET(m->controls[2], n, "");
  SET(n->control_consumers.count, 1, "node 'm': control input 2 has 0 edges at its producer");
  SET(n->control_consumers.data[1], b, "node 'b': control input 0 has 2 edges at its producer");
  SET(n->control_consumers.data[1], a, "node 'n': control consumer 'a' does not wait for it");
  SET(n->control_consumers.data[0], NULL, "node 'n': control consumer 0 is not in the graph");
  SET(a->shapes[0], NULL, "node 'a': output 0 has no shape");
  SET(p->shapes[1], NULL, "node 'p': output 1 has no shape");
  SET(g->by_name.count, 9, "the name table has 9 entries for 8 nodes");
  SET(y->control_consumers.count, 0, "node 'b': control input 1 has 0 edges at its producer");
  hr_node_t outside = *x;
  outside.id = 8;
  SET(c->consumers.count, 0, "");
  SET(a->inputs[0].node, &outside, "node 'x': consumer 'a' reads something else");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

/* A node's own inputs are looked at before its producer's list when it stands before its producer: a loop's merge does. */
HR_TEST(inputs_and_constants_are_told_too) {
  hr_graph_t* g = broken = text_graph(
      LOOP NODE(OP("k", "Const") TYPE("dtype", "DT_FLOAT") ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 }"))
          NODE(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")) ID("r", "v"));
  hr_node_t *m = find(g, "m"), *back = find(g, "n"), *k = find(g, "k"), *x = find(g, "x"), *r = find(g, "r");
  hr_node_t outside = *back;
  HR_CHECK_OK(hr_graph_validate(g)); /* a reference is read as a value */
  SET(m->inputs[1].node, NULL, "node 'm': input 1 is no output of the graph");
  SET(m->inputs[1].index, 1, "node 'm': input 1 is no output of the graph");
  SET(m->inputs[1].index, -1, "node 'm': input 1 is no output of the graph");
  SET(m->inputs[1].node, &outside, "node 'm': input 1 is no output of the graph");
  outside.id = -1;
  SET(m->inputs[1].node, &outside, "node 'm': input 1 is no output of the graph");
  outside.id = (int32_t)g->nodes.count;
  SET(m->inputs[1].node, &outside, "node 'm': input 1 is no output of the graph");
  SET(((int32_t*)back->output_types)[0], HR_I32, "node 'm': input 1 is int32 instead of float");
  SET(((int32_t*)back->output_types)[0], HR_I32 + HR_DTYPE_REF, "node 'm': input 1 is int32_ref instead of float");
  SET(back->consumers.count, 0, "node 'm': input 1 has 0 edges at its producer");
  SET(back->consumers.data[0].output, 1, "node 'm': input 1 has 0 edges at its producer");
  SET(back->consumers.data[0].input, 0, "node 'm': input 1 has 0 edges at its producer");
  SET(back->consumers.data[0].node, x, "node 'm': input 1 has 0 edges at its producer");
  HR_CHECK_OK(hr_graph_add_control(g, m, k));
  SET(m->controls[0], m, "node 'm': control input 0 is no other node of the graph");
  SET(m->controls[0], NULL, "node 'm': control input 0 is no other node of the graph");
  SET(m->controls[0], &outside, "node 'm': control input 0 is no other node of the graph");
  SET(k->control_consumers.count, 0, "node 'm': control input 0 has 0 edges at its producer");
  SET(((hr_tensor_t*)k->constant)->dtype, HR_I32, "node 'k': its constant has another type");
  SET(x->constant, k->constant, "");
  SET(r->constant, k->constant, "");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
