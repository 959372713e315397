/* SPDX-License-Identifier: Apache-2.0 */
/* What an import makes of names, endpoints, maps, versions and orders: texts in, the graph's text or the refusal out. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/graph/graph_text.h"

#include "graph/function.h"
#include "graph/validate.h"

#define X        NODE(OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT"))
#define ID(n, i) NODE(OP(n, "Identity") IN(i) F32)
#define NOOP(n)  NODE(OP(n, "NoOp"))
#define TWO      NODE(OP("two", "IdentityN") IN("x") IN("x") ATTR("T", "list { type: [DT_FLOAT, DT_FLOAT] }"))
#define FULL     "(Placeholder)"

/* The graph's nodes in the order in which they were added; with the edges back checked. */
static void import_row(hr_graph_t* g, const char* text, const hr_import_options_t* o, const char* want, int row) {
  const int64_t before = g->nodes.count;
  hr_status_t status = text_import(g, text, o, NULL);
  if (status) {
    text_check_error(status, want, row);
    HR_CHECK_EQ_I64(g->nodes.count, before);
  } else {
    text_check_nodes(before ? g->nodes.data + before : g->nodes.data, g->nodes.count - before, want, row);
  }
  HR_CHECK_OK(hr_graph_validate(g));
}

typedef struct {
  const char *text, *want;
} row_t;
static void check_rows(const row_t* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    hr_graph_t* g = text_graph("");
    import_row(g, rows[i].text, NULL, rows[i].want, (int)i);
    hr_graph_destroy(g);
  }
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

HR_TEST(endpoints_in_all_their_forms) {
  const row_t rows[] = {
      {X TWO ID("y", "x"), "x=Placeholder() two=IdentityN(x:0,x:0) y=Identity(x:0) "},
      {X TWO ID("y", "two:0"), "x=Placeholder() two=IdentityN(x:0,x:0) y=Identity(two:0) "},
      {X TWO ID("y", "two:1"), "x=Placeholder() two=IdentityN(x:0,x:0) y=Identity(two:1) "},
      {X TWO ID("y", "two:2"), "node 'y' (Identity): input 0 wants output 2 of node 'two' (IdentityN), which has 2 outputs"},
      {X ID("y", "x:9"), "node 'y' (Identity): input 0 wants output 9 of node 'x' (Placeholder), which has 1 outputs"},
      {X ID("y", "x:10"), "node 'y' (Identity): input 0 wants output 10 of node 'x' (Placeholder), which has 1 outputs"},
      {X ID("y", "x:2147483647"), "node 'y' (Identity): input 0 wants output 2147483647 of node 'x' (Placeholder), which has 1 outputs"},
      {X ID("y", "x:2147483648"), "node 'y' (Identity): input 0 wants output 2147483647 of node 'x' (Placeholder), which has 1 outputs"},
      {X ID("y", "x:99999999999999999999"),
       "node 'y' (Identity): input 0 wants output 2147483647 of node 'x' (Placeholder), which has 1 outputs"},
      {X ID("y", "x:-1"), "node 'y' (Identity): input 0 is 'x:-1', a node that the GraphDef does not have"},
      {X ID("y", "x:"), "node 'y' (Identity): input 0 is 'x:', a node that the GraphDef does not have"},
      {X ID("y", "x:1a"), "node 'y' (Identity): input 0 is 'x:1a', a node that the GraphDef does not have"},
      {X ID("y", "x1"), "node 'y' (Identity): input 0 is 'x1', a node that the GraphDef does not have"},
      {X ID("y", ":1"), "node 'y' (Identity): input 0 is ':1', a node that the GraphDef does not have"},
      {X ID("y", "1"), "node 'y' (Identity): input 0 is '1', a node that the GraphDef does not have"},
      {X ID("y", ""), "node 'y' (Identity): input 0 is '', a node that the GraphDef does not have"},
      {NODE(OP("7", "Placeholder") TYPE("dtype", "DT_FLOAT")) ID("y", "7"), "7=Placeholder() y=Identity(7:0) "},
      {X NODE(OP("y", "NoOp") IN("^x")), "x=Placeholder() y=NoOp(^x) "},
      {X NODE(OP("y", "NoOp") IN("^x:0")), "node 'y' (NoOp): input 0 is '^x:0', a node that the GraphDef does not have"},
      {X NODE(OP("y", "NoOp") IN("^")), "node 'y' (NoOp): input 0 is '^', a node that the GraphDef does not have"},
      {X NODE(OP("y", "NoOp") IN("^x") IN("^q")), "node 'y' (NoOp): input 1 is '^q', a node that the GraphDef does not have"},
      {X NODE(OP("y", "Identity") IN("^x") IN("x") F32), "node 'y': input 'x' comes after a control input; control inputs must be last"},
      {X NODE(OP("y", "Identity") IN("x") IN("^x") F32), "x=Placeholder() y=Identity(x:0,^x) "},
      {X NODE(OP("y", "AddN") IN("x") IN("x:0") IN("x") ATTR("N", "i: 3") F32), "x=Placeholder() y=AddN(x:0,x:0,x:0) "},
  };
  CHECK_ROWS(rows);
}

#define LOOP(merge_inputs, next)                                                                                              \
  X NODE(OP("e", "Enter") IN("x") F32 ATTR("frame_name", "s: 'f'")) NODE(OP("m", "Merge") merge_inputs F32 ATTR("N", "i: 2")) \
      NODE(OP("n", next) IN("m") F32)

HR_TEST(the_order_is_the_files_as_far_as_can_be) {
  const row_t rows[] = {
      {"", ""},
      {NOOP("c") NOOP("a") NOOP("b"), "c=NoOp() a=NoOp() b=NoOp() "},
      {ID("z", "y") NOOP("n") ID("y", "x") X NOOP("o"), "x=Placeholder() y=Identity(x:0) z=Identity(y:0) n=NoOp() o=NoOp() "},
      {NODE(OP("s", "Add") IN("b") IN("a") IN("^n") F32) NOOP("n") ID("a", "x") ID("b", "x") X,
       "x=Placeholder() b=Identity(x:0) a=Identity(x:0) n=NoOp() s=Add(b:0,a:0,^n) "},
      {LOOP(IN("e") IN("n"), "NextIteration"), "x=Placeholder() e=Enter(x:0) m=Merge(e:0,n:0) n=NextIteration(m:0) "},
      {LOOP(IN("n") IN("e"), "NextIteration"), "x=Placeholder() e=Enter(x:0) m=Merge(n:0,e:0) n=NextIteration(m:0) "},
      {LOOP(IN("n") IN("n"), "NextIteration"), "x=Placeholder() e=Enter(x:0) m=Merge(n:0,n:0) n=NextIteration(m:0) "},
      {LOOP(IN("e") IN("e") IN("^n"), "NextIteration"), "the GraphDef has a cycle through node 'm' (Merge) that no NextIteration closes"},
      {LOOP(IN("e") IN("n"), "Identity"), "the GraphDef has a cycle through node 'm' (Merge) that no NextIteration closes"},
      {LOOP(IN("e") IN("n:1"), "NextIteration"),
       "node 'm' (Merge): input 1 wants output 1 of node 'n' (NextIteration), which has 1 outputs"},
      {X NODE(OP("m", "AddN") IN("x") IN("n") F32 ATTR("N", "i: 2")) NODE(OP("n", "NextIteration") IN("m") F32),
       "the GraphDef has a cycle through node 'm' (AddN) that no NextIteration closes"},
      {NODE(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}"))
           NODE(OP("e", "RefEnter") IN("v") F32 ATTR("frame_name", "s: 'f'"))
               NODE(OP("m", "RefMerge") IN("e") IN("n") F32 ATTR("N", "i: 2")) NODE(OP("n", "RefNextIteration") IN("m") F32),
       "v=VariableV2() e=RefEnter(v:0) m=RefMerge(e:0,n:0) n=RefNextIteration(m:0) "},
      {X NOOP("x"), "the GraphDef has two nodes named 'x'"},
      {NOOP("a") X NOOP("_x"), "illegal node name '_x': names match [A-Za-z0-9.][A-Za-z0-9_.\\-/>]*"},
      {X NODE(OP("y", "Identity") IN("x") ATTR("T", "tensor { dtype: DT_INT32 tensor_shape { dim { size: -5 } } }")),
       "node 'y' (Identity): attr 'T': dimension 0 of the shape is -5, must be >= 0"},
  };
  CHECK_ROWS(rows);
}

/* --- names ---------------------------------------------------------------------------------------------------------------------------- */
HR_TEST(prefixes_are_made_unique) {
  static const struct {
    const char *there, *prefix, *want;
  } rows[] = {
      {"", "p", "p/x=Placeholder() "},
      {"", "p/", "p/x=Placeholder() "},
      {"", "/", "x=Placeholder() "},
      {"", "", "x=Placeholder() "},
      {NOOP("q"), "p", "p/x=Placeholder() "},
      {NOOP("p"), "p", "p_1/x=Placeholder() "},
      {NOOP("p/a"), "p", "p_1/x=Placeholder() "},
      {NOOP("pq") NOOP("pq/a") NOOP("a/p") NOOP("q_p"), "p", "p/x=Placeholder() "},
      {NOOP("p_1/a"), "p", "p/x=Placeholder() "},
      {NOOP("p") NOOP("p_1/a"), "p", "p_2/x=Placeholder() "},
      {NOOP("p_2") NOOP("p/a/b") NOOP("p_1/a/c"), "p", "p_3/x=Placeholder() "},
      {NOOP("p") NOOP("p_10"), "p", "p_1/x=Placeholder() "},
      {NOOP("p/a"), "p/a", "p/a_1/x=Placeholder() "},
      {NOOP("p/a/b"), "p/a/", "p/a_1/x=Placeholder() "},
      {"", "bad name", "import prefix: illegal node name 'bad name': names match [A-Za-z0-9.][A-Za-z0-9_.\\-/>]*"},
      {"", "_p", "import prefix: illegal node name '_p': names match [A-Za-z0-9.][A-Za-z0-9_.\\-/>]*"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph(rows[i].there);
    hr_import_options_t o = {.prefix = hr_str(rows[i].prefix), .uniquify_prefix = true};
    import_row(g, X, &o, rows[i].want, (int)i);
    hr_graph_destroy(g);
  }
  hr_graph_t* g = text_graph(NOOP("p/a"));
  hr_import_options_t o = {.prefix = HR_STR("p")};
  import_row(g, X, &o, "p/x=Placeholder() ", 100);
  import_row(g, X, &o, "node 'p/x' (Placeholder): duplicate node name in graph: 'p/x'", 101);
  o.internal = true;
  o.prefix = HR_STR("");
  import_row(g, NOOP("_x"), &o, "_x=NoOp() ", 102);
  hr_graph_destroy(g);
}

HR_TEST(names_are_made_unique) {
  static const struct {
    const char *there, *text, *want;
  } rows[] = {
      {NOOP("a"), X, "x=Placeholder() "},
      {NOOP("x"), X, "x_1=Placeholder() "},
      {NOOP("x") NOOP("x_1"), X, "x_2=Placeholder() "},
      {NOOP("x"), X NOOP("x_1") ID("y", "x"), "x_2=Placeholder() x_1=NoOp() y=Identity(x_2:0) "}, /* the file's own names come first */
      {NOOP("x"), NOOP("x_1") X, "x_1=NoOp() x_2=Placeholder() "},
      {NOOP("x") NOOP("x_1"), NOOP("x_1") X, "x_1_1=NoOp() x_2=Placeholder() "},
      {NOOP("x_2") NOOP("x"), X NOOP("x_2"), "x_1=Placeholder() x_2_1=NoOp() "},
      {NOOP("a") NOOP("b"), NOOP("a") NOOP("b") NOOP("c"), "a_1=NoOp() b_1=NoOp() c=NoOp() "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph(rows[i].there);
    hr_import_options_t o = {.uniquify_names = true};
    import_row(g, rows[i].text, &o, rows[i].want, (int)i);
    hr_graph_destroy(g);
  }
}

HR_TEST(places_follow_new_names) {
  static const char class_of_x[] =
      X NODE(OP("y", "NoOp") ATTR("_class", "list { s: ['loc:@y', 'loc:@q', 'y', 'loc:@x'] }") ATTR("_c", "list { s: 'loc:@x' }"))
          NODE(OP("z", "NoOp") ATTR("_class", "s: 'loc:@x'")) NODE(OP("w", "NoOp") ATTR("_class", "list { i: 5 }"));
  static const struct {
    const char *there, *prefix;
    const char* want[4];
  } rows[] = {
      {"", "", {"loc:@y", "loc:@q", "y", "loc:@x"}},
      {"", "p", {"loc:@p/y", "loc:@q", "y", "loc:@p/x"}},
      {NOOP("x"), "", {"loc:@y", "loc:@q", "y", "loc:@x_1"}},
      {NOOP("y"), "", {"loc:@y_1", "loc:@q", "y", "loc:@x"}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph(rows[i].there);
    hr_import_options_t o = {.prefix = hr_str(rows[i].prefix), .uniquify_names = true};
    hr_import_results_t r = {0};
    int count = 0;
    HR_REQUIRE_OK(text_import(g, class_of_x, &o, &r));
    const hr_str_t* places = hr_attrs_strs(&r.added.data[1]->attrs, "_class", &count);
    HR_REQUIRE(count == 4);
    for (int k = 0; k < 4; ++k) HR_CHECK(hr_str_is(places[k], rows[i].want[k]) && places[k].data[places[k].size] == 0);
    HR_CHECK_VIEW(hr_attrs_strs(&r.added.data[1]->attrs, "_c", &count)[0], "loc:@x");
    HR_CHECK_VIEW(hr_attrs_str(&r.added.data[2]->attrs, "_class"), "loc:@x");
    HR_CHECK_EQ_I64(hr_attrs_ints(&r.added.data[3]->attrs, "_class", &count)[0], 5);
    hr_import_results_deinit(&r);
    hr_graph_destroy(g);
  }
}

/* --- maps, dependencies, results ------------------------------------------------------------------------------------------------------ */
typedef __typeof__(*(hr_import_options_t){0}.input_map) input_map_t;
typedef __typeof__(*(hr_import_options_t){0}.control_map) control_map_t;
#define MINE                                             \
  NODE(OP("a", "Placeholder") TYPE("dtype", "DT_FLOAT")) \
  NODE(OP("b", "IdentityN") IN("a") IN("a") ATTR("T", "list { type: [DT_FLOAT, DT_FLOAT] }"))
#define FILE_OF_MAPS X NODE(OP("y", "Add") IN("x") IN("two:1") IN("^x") F32) TWO NODE(OP("n", "NoOp") IN("^two"))

HR_TEST(inputs_and_control_inputs_are_mapped) {
  hr_graph_t* g = text_graph(MINE);
  hr_node_t *a = hr_graph_find(g, HR_STR("a")), *b = hr_graph_find(g, HR_STR("b"));
  input_map_t several[] = {{{HR_STR("x"), 1}, {a, 0}},      {{HR_STR("two"), 1}, {b, 1}}, {{HR_STR("x"), 0}, {b, 0}},
                           {{HR_STR("x"), 0}, {a, 0}},      {{HR_STR("two"), 0}, {a, 0}}, {{HR_STR("two"), 2}, {a, 0}},
                           {{HR_STR("nobody"), 0}, {a, 0}}, {{HR_STR("x"), -1}, {b, 0}}};
  control_map_t controls[] = {{HR_STR("two"), b}, {HR_STR("two"), a}, {HR_STR("x"), a}};
  hr_import_results_t r;
  hr_import_options_t o = {.prefix = HR_STR("p"), .input_map = several, .input_map_count = 8};
  HR_REQUIRE_OK(text_import(g, FILE_OF_MAPS, &o, &r));
  text_check_nodes(r.added.data, r.added.count, "p/x=Placeholder() p/y=Add(b:0,b:1,^b) p/two=IdentityN(b:0,b:0) p/n=NoOp(^p/two) ", 0);
  /* unused: those that name an output which the file has not */
  HR_CHECK(r.unused_map.count == 3 && r.unused_map.data[0] == 0 && r.unused_map.data[1] == 5 && r.unused_map.data[2] == 6);
  hr_import_results_deinit(&r);
  o = (hr_import_options_t){
      .prefix = HR_STR("q"), .input_map = several, .input_map_count = 2, .control_map = controls, .control_map_count = 3};
  HR_REQUIRE_OK(text_import(g, FILE_OF_MAPS, &o, &r));
  text_check_nodes(r.added.data, r.added.count, "q/x=Placeholder() q/y=Add(q/x:0,b:1,^a) q/two=IdentityN(q/x:0,q/x:0) q/n=NoOp(^b) ", 1);
  hr_import_results_deinit(&r);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(maps_and_dependencies_must_lead_into_the_graph) {
  hr_graph_t *g = text_graph(MINE), *other = text_graph(MINE);
  hr_node_t *a = hr_graph_find(g, HR_STR("a")), *b = hr_graph_find(g, HR_STR("b")), *far = hr_graph_find(other, HR_STR("a"));
  const struct {
    input_map_t map;
    const char* want;
  } rows[] = {
      {{{HR_STR("x"), 0}, {b, 0}}, ""},
      {{{HR_STR("x"), 0}, {b, 1}}, ""},
      {{{HR_STR("x"), -1}, {b, 7}}, ""}, /* of a control edge only the node counts */
      {{{HR_STR("x"), 0}, {b, 2}}, "input map entry 1 ('x:0') leads to no output of this graph"},
      {{{HR_STR("x"), 3}, {b, -1}}, "input map entry 1 ('x:3') leads to no output of this graph"},
      {{{HR_STR("x"), 0}, {far, 0}}, "input map entry 1 ('x:0') leads to no output of this graph"},
      {{{HR_STR("x"), -1}, {far, 0}}, "input map entry 1 ('x:-1') leads to no output of this graph"},
      {{{HR_STR("x"), 0}, {NULL, 0}}, "input map entry 1 ('x:0') leads to no output of this graph"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    input_map_t maps[] = {{{HR_STR("q"), 0}, {a, 0}}, rows[i].map};
    hr_import_options_t o = {.input_map = maps, .input_map_count = 2};
    text_check_error(text_import(g, "", &o, NULL), rows[i].want, (int)i);
  }
  hr_node_t* nodes[] = {a, far, NULL};
  for (int bad = 0; bad < 3; ++bad) {
    control_map_t controls[] = {{HR_STR("c"), a}, {HR_STR("d"), nodes[bad]}};
    hr_node_t* waits[] = {a, nodes[bad]};
    hr_import_options_t o = {.control_map = controls, .control_map_count = 2};
    text_check_error(text_import(g, "", &o, NULL), bad ? "control map entry 'd' leads to no node of this graph" : "", bad);
    o = (hr_import_options_t){.control_dependencies = waits, .control_dependency_count = 2};
    text_check_error(text_import(g, "", &o, NULL), bad ? "control dependency 1 is no node of this graph" : "", bad);
  }
  hr_graph_destroy(g);
  hr_graph_destroy(other);
}

HR_TEST(dependencies_go_to_those_that_do_not_inherit_them) {
  hr_graph_t* g = text_graph(MINE NOOP("c"));
  hr_node_t *a = hr_graph_find(g, HR_STR("a")), *waits[] = {hr_graph_find(g, HR_STR("c")), a};
  input_map_t map[] = {{{HR_STR("x"), 0}, {a, 0}}};
  hr_import_options_t o = {.input_map = map,
                           .input_map_count = 1,
                           .control_dependencies = waits,
                           .control_dependency_count = 2,
                           .default_device = HR_STR("/cpu:0")};
  import_row(
      g, X ID("y", "x") ID("z", "y") NOOP("n") NODE(OP("m", "NoOp") IN("^n") "device: '/gpu:0' ") NODE(OP("s", "Add") IN("x") IN("z") F32),
      &o,
      "x=Placeholder(^c,^a)@/cpu:0 y=Identity(a:0,^c,^a)@/cpu:0 z=Identity(y:0)@/cpu:0 n=NoOp(^c,^a)@/cpu:0 m=NoOp(^n)@/gpu:0 "
      "s=Add(a:0,z:0)@/cpu:0 ",
      0);
  hr_graph_destroy(g);
}

HR_TEST(results_are_what_was_asked_for) {
  static const struct {
    const char* node;
    int index;
    const char* want;
  } rows[] = {
      {"two", 0, "p/two:0"},
      {"two", 1, "p/two:1"},
      {"two", 2, "output 2 of node 'two' is to be returned, but it has 2 outputs"},
      {"two", -1, "output -1 of node 'two' is to be returned, but it has 2 outputs"},
      {"x", 0, "b:1"}, /* mapped */
      {"nobody", 3, "the GraphDef has no node 'nobody', of which output 3 is to be returned"},
      {"b", 0, "the GraphDef has no node 'b', of which output 0 is to be returned"}, /* the graph's own are not the file's */
  };
  hr_graph_t* g = text_graph(MINE);
  input_map_t map[] = {{{HR_STR("x"), 0}, {hr_graph_find(g, HR_STR("b")), 1}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_endpoint_t want[] = {{HR_STR("two"), 1}, {hr_str(rows[i].node), rows[i].index}};
    hr_str_t nodes[] = {HR_STR("two"), HR_STR("x")};
    hr_import_options_t o = {.prefix = HR_STR("p"),
                             .uniquify_prefix = false,
                             .input_map = map,
                             .input_map_count = 1,
                             .return_outputs = want,
                             .return_output_count = 2,
                             .return_nodes = nodes,
                             .return_node_count = 2};
    hr_import_results_t r;
    hr_graph_t* into = g;
    const int64_t before = g->nodes.count;
    hr_status_t status = text_import(into, X TWO, &o, &r);
    if (status) {
      text_check_error(status, rows[i].want, (int)i);
      HR_CHECK_EQ_I64(g->nodes.count, before);
      continue;
    }
    char text[64];
    snprintf(text, sizeof text, "%s:%d", r.outputs.data[1].node->name.data, (int)r.outputs.data[1].index);
    HR_CHECK_STR(text, rows[i].want);
    HR_CHECK(r.outputs.count == 2 && r.nodes.count == 2 && r.nodes.data[0] == r.added.data[1] && r.nodes.data[1] == r.added.data[0]);
    HR_CHECK(r.outputs.data[0].node == r.added.data[1] && r.outputs.data[0].index == 1);
    hr_import_results_deinit(&r);
    hr_graph_destroy(g);
    g = text_graph(MINE);
    map[0].to.node = hr_graph_find(g, HR_STR("b"));
  }
  hr_str_t nobody = HR_STR("nobody");
  hr_import_options_t o = {.return_nodes = &nobody, .return_node_count = 1};
  import_row(g, X, &o, "the GraphDef has no node 'nobody', which is to be returned", 100);
  hr_graph_destroy(g);
}

HR_TEST(a_graph_is_extended) {
  static char text[1200], want[1200];
  hr_graph_t* g = text_graph(MINE);
  hr_import_options_t o = {.extends = true};
  import_row(g, NODE(OP("y", "Add") IN("a") IN("b:1") IN("^a") IN("^b") F32) ID("z", "y"), &o, "y=Add(a:0,b:1,^a,^b) z=Identity(y:0) ", 0);
  import_row(g, ID("w", "b:2"), &o,
             "node 'w' (Identity): Connecting to invalid output 2 of source node b which has 2 outputs. Try using "
             "tf.compat.v1.experimental.output_all_intermediates(True).",
             1);
  import_row(g, ID("w", "q"), &o, "node 'w' (Identity): input 0 is 'q', a node that the GraphDef does not have", 2);
  o.extends = false;
  import_row(g, ID("w", "a"), &o, "node 'w' (Identity): input 0 is 'a', a node that the GraphDef does not have", 3);
  char name[601]; /* only the beginning of a very long name is told */
  memset(name, 'q', sizeof name - 1);
  name[600] = 0;
  snprintf(text, sizeof text, "node { name: 'w' op: 'Identity' input: '%s' attr { key: 'T' value { type: DT_FLOAT } } }", name);
  snprintf(want, sizeof want, "node 'w' (Identity): input 0 is '%.500s', a node that the GraphDef does not have", name);
  import_row(g, text, &o, want, 4);
  hr_graph_destroy(g);
}

/* --- versions ------------------------------------------------------------------------------------------------------------------------- */
/* The message without its end, of bytes that text form cannot give: bad consumers packed. */
HR_TEST(versions_are_merged_and_checked) {
  char newer[128], refused[128], least[128], most[128];
  snprintf(newer, sizeof newer, "versions { min_consumer: %d }", HR_GRAPH_VERSION + 1);
  snprintf(most, sizeof most, "versions { min_consumer: %d }", HR_GRAPH_VERSION);
  snprintf(refused, sizeof refused, "versions { producer: 9 bad_consumers: 3 bad_consumers: %d bad_consumers: 4 }", HR_GRAPH_VERSION);
  snprintf(least, sizeof least, "versions { producer: 9 bad_consumers: %d bad_consumers: %d }", HR_GRAPH_VERSION + 1, HR_GRAPH_VERSION - 1);
  const struct {
    const char* text;
    const char* want;
    int producer, min_consumer;
    int64_t bad;
  } rows[] = {
      {"versions { producer: 0 }", "", 0, 0, 0},
      {"versions { producer: 9 min_consumer: 3 }", "", 9, 3, 0},
      {"versions { producer: 99999 }", "", HR_GRAPH_VERSION, 0, 0},
      {"versions { producer: -1 }", "GraphDef producer version -1 is below the least one, 0", HR_GRAPH_VERSION, 0, 0},
      {most, "", 0, HR_GRAPH_VERSION, 0},
      {newer, "GraphDef min consumer version 2475 is above this library's version 2474: a newer library is needed", HR_GRAPH_VERSION, 0, 0},
      {refused, "GraphDef refuses consumers of version 2474, which this library is (bad_consumers)", HR_GRAPH_VERSION, 0, 0},
      {least, "", 9, 0, 2},
      {"versions { producer: 9 bad_consumers: [5, 6, 5, 7] }", "", 9, 0, 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph("versions { producer: 2474 }");
    text_check_error(text_import(g, rows[i].text, NULL, NULL), rows[i].want, (int)i);
    HR_CHECK(g->producer == rows[i].producer && g->min_consumer == rows[i].min_consumer && g->bad_consumers.count == rows[i].bad);
    if (rows[i].bad == 3) HR_CHECK(g->bad_consumers.data[0] == 5 && g->bad_consumers.data[1] == 6 && g->bad_consumers.data[2] == 7);
    hr_graph_destroy(g);
  }
  hr_graph_t* g = text_graph("versions { producer: 9 min_consumer: 3 bad_consumers: [5, 6] }");
  text_check_error(text_import(g, "versions { producer: 12 min_consumer: 2 bad_consumers: [6, 8] }", NULL, NULL), "", 100);
  HR_CHECK(g->producer == 9 && g->min_consumer == 3 && g->bad_consumers.count == 3 && g->bad_consumers.data[2] == 8);
  static const char packed[] = "\x22\x07\x08\x09\x1a\x03\x05\xac\x02"; /* versions: producer 9, bad consumers 5 and 300 */
  HR_CHECK_OK(hr_import_graph_def(g, packed, sizeof packed - 1, NULL, NULL));
  HR_CHECK(g->bad_consumers.count == 4 && g->bad_consumers.data[3] == 300);
  HR_CHECK_CODE(hr_import_graph_def(g, packed, sizeof packed - 2, NULL, NULL), HR_INVALID_ARGUMENT, "");
  hr_graph_destroy(g);
}

/* --- taking back, shapes, attrs of newer producers ------------------------------------------------------------------------------------ */
#define FN(name) "library { function { signature { name: '" name "' } } } "

HR_TEST(what_fails_is_taken_back_whole) {
  hr_graph_t* g = text_graph(MINE FN("f"));
  hr_import_options_t o = {.extends = true};
  const int64_t consumers = hr_graph_find(g, HR_STR("a"))->consumers.count;
  import_row(g,
             FN("g") FN("h") "versions { producer: 9 min_consumer: 3 bad_consumers: 7 }" NODE(
                 OP("c", "Const") TYPE("dtype", "DT_FLOAT") ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 }"))
                 ID("y", "a") ID("z", "y") NODE(OP("w", "Nope")),
             &o, "node 'w' (Nope): op type not registered 'Nope'", 0);
  HR_CHECK(g->functions.count == 1 && g->producer == 0 && g->min_consumer == 0 && g->bad_consumers.count == 0);
  HR_CHECK(hr_graph_find(g, HR_STR("a"))->consumers.count == consumers && !hr_graph_find(g, HR_STR("y")) &&
           !hr_function_find(g, HR_STR("g")));
  import_row(g, ID("y", "a"), &o, "y=Identity(a:0) ", 1); /* the name is free */
  hr_graph_destroy(g);
}

HR_TEST(stated_shapes_count_when_asked) {
#define STATED(shapes) X NODE(OP("y", "Identity") IN("x") F32 ATTR("_note", "i: 1") ATTR("_output_shapes", shapes))
  static const struct {
    const char* shapes;
    bool keep;
    const char* error;
    int rank;
  } rows[] = {
      {"list { shape { dim { size: 6 } } }", false, "", -1},
      {"list { shape { dim { size: 6 } } }", true, "", 1},
      {"list { }", true, "", -1},
      {"list { shape { dim { size: 6 } } shape {} }", true, "node 'y': attr '_output_shapes' must be a list of 1 shapes", 0},
      {"shape { dim { size: 6 } }", true, "node 'y': attr '_output_shapes' must be a list of 1 shapes", 0},
      {"list { i: 6 }", true, "node 'y': attr '_output_shapes' must be a list of 1 shapes", 0},
  };
  const char* texts[] = {
      STATED("list { shape { dim { size: 6 } } }"),          STATED("list { shape { dim { size: 6 } } }"), STATED("list { }"),
      STATED("list { shape { dim { size: 6 } } shape {} }"), STATED("shape { dim { size: 6 } }"),          STATED("list { i: 6 }")};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph("");
    hr_import_options_t o = {.keep_shapes_attr = rows[i].keep};
    text_check_error(text_import(g, texts[i], &o, NULL), rows[i].error, (int)i);
    hr_node_t* y = hr_graph_find(g, HR_STR("y"));
    HR_CHECK((y == NULL) == (rows[i].error[0] != 0));
    if (y) HR_CHECK_EQ_I64(y->shapes[0]->rank, rows[i].rank);
    hr_graph_destroy(g);
  }
}

HR_TEST(attrs_that_we_lack_may_have_their_producers_default) {
#define PRODUCER(attrs)                                                                                  \
  "op { name: 'Other' " attrs "} op { name: 'NoOp' attr { name: 'first' default_value { i: 7 } } " attrs \
  "attr { name: 'last' } } op { name: 'After' }"
#define HAS(name, value) "attr { name: '" name "' type: 'int' " value "} "
  static const struct {
    const char *ops, *attr, *error;
  } rows[] = {
      {PRODUCER(HAS("newer", "default_value { i: 3 } ")), "newer", ""},
      {PRODUCER(HAS("newer", "default_value { i: 4 } ")), "newer", "node 'n' (NoOp): the op has no attr 'newer'"},
      {PRODUCER(HAS("newer", "default_value { s: '3' } ")), "newer", "node 'n' (NoOp): the op has no attr 'newer'"},
      {PRODUCER(HAS("newer", "")), "newer", "node 'n' (NoOp): the op has no attr 'newer'"},
      {PRODUCER(HAS("others", "default_value { i: 3 } ")), "newer", "node 'n' (NoOp): the op has no attr 'newer'"},
      {PRODUCER(HAS("newer", "default_value { i: 3 } ")), "last", "node 'n' (NoOp): the op has no attr 'last'"},
      {PRODUCER(HAS("newer", "default_value { i: 3 } ")), "first", "node 'n' (NoOp): the op has no attr 'first'"},
      {"op { name: 'Other' " HAS("newer", "default_value { i: 3 } ") "}", "newer", "node 'n' (NoOp): the op has no attr 'newer'"},
      {"", "newer", "node 'n' (NoOp): the op has no attr 'newer'"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[256];
    hr_graph_t* g = text_graph("");
    hr_writer_t ops = text_bytes("OpList", rows[i].ops);
    hr_import_options_t o = {.producer_ops = hr_strbuf_view(&ops)};
    snprintf(text, sizeof text, "node { name: 'n' op: 'NoOp' attr { key: '%s' value { i: 3 } } attr { key: '_own' value { i: 5 } } }",
             rows[i].attr);
    text_check_error(text_import(g, text, &o, NULL), rows[i].error, (int)i);
    hr_node_t* n = hr_graph_find(g, HR_STR("n"));
    HR_CHECK((n == NULL) == (rows[i].error[0] != 0));
    if (n) HR_CHECK(n->attrs.extra_count == 1 && hr_attrs_int(&n->attrs, "_own") == 5);
    hr_strbuf_deinit(&ops);
    hr_graph_destroy(g);
  }
}

HR_TEST_MAIN()
