/* SPDX-License-Identifier: Apache-2.0 */
/* Import and export of GraphDefs: order, loops, renaming, mapping, versions, refusals that leave the graph as it was. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"
#include "op/attr_value.h"
#include "graph/function.h"
#include "graph/validate.h"
#include "unit/graph/graph_fixture.h"

/* A placeholder, its sum with itself: in the wrong order. */
static void def_small(hr_writer_t* w) {
  hr_strbuf_init(w);
  fixture_def_node(w, "Add", "z", "x x:0 ^n", "T", HR_F32);
  fixture_def_node(w, "NoOp", "n", "", NULL, 0);
  fixture_def_node(w, "Placeholder", "x", "", "dtype", HR_F32);
}

static void def_with_attr(hr_writer_t* w, const hr_named_attr_t* attr) {
  hr_strbuf_init(w);
  hr_writer_mark_t node = hr_writer_begin(w, 1, 64);
  hr_named_attr_t type = hr_at_type("dtype", HR_F32);
  hr_writer_str(w, 1, HR_STR("x"));
  hr_writer_str(w, 2, HR_STR("Placeholder"));
  HR_CHECK_OK(hr_attr_value_encode_entry(5, &type, w));
  HR_CHECK_OK(hr_attr_value_encode_entry(5, attr, w));
  hr_writer_end(w, node, 64);
}

HR_TEST(nodes_may_come_in_any_order) {
  hr_writer_t w;
  hr_import_results_t r;
  hr_graph_t* g = fixture_graph();
  def_small(&w);
  HR_REQUIRE_OK(fixture_import(g, &w, NULL, &r));
  hr_node_t *z = hr_graph_find(g, HR_STR("z")), *x = hr_graph_find(g, HR_STR("x"));
  HR_REQUIRE(z && x);
  HR_CHECK(z->inputs[0].node == x && z->inputs[1].node == x && z->control_count == 1 && x->id < z->id);
  HR_CHECK(r.added.count == 3 && r.added.data[0] == z && r.added.data[2] == x);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_import_results_deinit(&r);
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

typedef struct {
  const char *op, *name, *inputs, *type;
  hr_code_t code;
  const char* text;
} bad_def_t;

HR_TEST(bad_graphs_change_nothing) {
  const bad_def_t bad[] = {
      {"Identity", "x", "x", "T", HR_INVALID_ARGUMENT, "two nodes named 'x'"},
      {"Identity", "y", "nope", "T", HR_INVALID_ARGUMENT, "input 0 is 'nope'"},
      {"Identity", "y", "x:5", "T", HR_INVALID_ARGUMENT, "wants output 5 of node 'x'"},
      {"Identity", "y", "x:99999999999999999999", "T", HR_INVALID_ARGUMENT, "which has 1 outputs"},
      {"Identity", "y", "^n x", "T", HR_INVALID_ARGUMENT, "control inputs must be last"},
      {"Identity", "y", "^nope", "T", HR_INVALID_ARGUMENT, "^nope"},
      {"Identity", "y", "y", "T", HR_INVALID_ARGUMENT, "cycle through node 'y'"},
      {"Add", "y", "x", "T", HR_INVALID_ARGUMENT, "1 inputs given but 2 wanted"},
      {"Nope", "y", "", NULL, HR_NOT_FOUND, "Nope"},
      {"Identity", "y", "x", "foo", HR_INVALID_ARGUMENT, "no attr 'foo'"},
      {"Identity", "_y", "x", "T", HR_INVALID_ARGUMENT, "illegal node name"},
      {"Old", "y", "", NULL, HR_UNIMPLEMENTED, "removed in version 20"},
  };
  hr_graph_t* g = fixture_graph();
  fixture_add(g, "NoOp", "before", 0, NULL, HR_NO_ATTRS);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    hr_writer_t w;
    def_small(&w);
    fixture_def_node(&w, bad[i].op, bad[i].name, bad[i].inputs, bad[i].type, HR_F32);
    fixture_def_versions(&w, 30, 3, 7);
    if (!HR_CHECK_CODE(fixture_import(g, &w, NULL, NULL), bad[i].code, bad[i].text)) printf("in case %d\n", (int)i);
    HR_CHECK(g->nodes.count == 1 && g->by_name.count == 1 && g->producer == HR_GRAPH_VERSION && g->min_consumer == 0 &&
             g->bad_consumers.count == 0);
    hr_strbuf_deinit(&w);
  }
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
}

HR_TEST(long_cycles_are_found) {
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_strbuf_init(&w);
  for (int i = 0; i < 20000; ++i) {
    char name[16], input[16];
    snprintf(name, sizeof name, "n%d", i);
    snprintf(input, sizeof input, "n%d", (i + 1) % 20000);
    fixture_def_node(&w, "Identity", name, input, "T", HR_F32);
  }
  HR_CHECK_CODE(fixture_import(g, &w, NULL, NULL), HR_INVALID_ARGUMENT, "cycle through node 'n0'");
  HR_CHECK_EQ_I64(g->nodes.count, 0);
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(a_long_chain_written_backwards_imports) {
  enum { COUNT = 100000 };
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_strbuf_init(&w);
  for (int i = COUNT - 1; i >= 0; --i) {
    char name[16], input[16];
    snprintf(name, sizeof name, "n%d", i);
    snprintf(input, sizeof input, "n%d", i - 1);
    fixture_def_node(&w, i ? "Identity" : "Placeholder", name, i ? input : "", i ? "T" : "dtype", HR_F32);
  }
  HR_CHECK_OK(fixture_import(g, &w, NULL, NULL));
  HR_CHECK_EQ_I64(g->nodes.count, COUNT);
  HR_CHECK(g->nodes.data[0]->consumers.count == 1 && g->nodes.data[COUNT - 1]->consumers.count == 0);
  HR_CHECK_VIEW(g->nodes.data[COUNT - 1]->name, "n99999");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(colocation_follows_renaming) {
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  const hr_str_t places[] = {HR_STR("loc:@x"), HR_STR("loc:@elsewhere")};
  hr_named_attr_t attr = hr_at("_class", (hr_attr_t){HR_ATTR_STRING, true, 2, {.ss = places}});
  def_with_attr(&w, &attr);
  hr_import_options_t o = {.prefix = HR_STR("scope")};
  HR_CHECK_OK(fixture_import(g, &w, &o, NULL));
  hr_node_t* x = hr_graph_find(g, HR_STR("scope/x"));
  HR_REQUIRE(x && x->attrs.extra_count == 1);
  HR_CHECK_VIEW(x->attrs.extras[0].value.u.ss[0], "loc:@scope/x");
  HR_CHECK_VIEW(x->attrs.extras[0].value.u.ss[1], "loc:@elsewhere");
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(versions_are_respected) {
  const int cases[][3] = {{30, HR_GRAPH_VERSION + 1, 0}, {30, 0, HR_GRAPH_VERSION}, {-1, 0, 0}};
  const char* texts[] = {"min consumer version", "bad_consumers", "producer version -1"};
  for (int i = 0; i < 3; ++i) {
    hr_writer_t w;
    hr_graph_t* g = fixture_graph();
    hr_strbuf_init(&w);
    fixture_def_versions(&w, cases[i][0], cases[i][1], cases[i][2]);
    HR_CHECK_CODE(fixture_import(g, &w, NULL, NULL), HR_INVALID_ARGUMENT, texts[i]);
    hr_graph_destroy(g);
    hr_strbuf_deinit(&w);
  }
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_strbuf_init(&w);
  fixture_def_versions(&w, 10, 5, 7);
  fixture_def_node(&w, "Old", "old", "", NULL, 0); /* its producer is older than the removal */
  HR_CHECK_OK(fixture_import(g, &w, NULL, NULL));
  HR_CHECK(g->producer == 10 && g->min_consumer == 5 && g->bad_consumers.count == 1);
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(the_version_field_of_old_graphs) { /* GraphDef.version, before VersionDef: counts only where there is no other */
  static const struct { int old, producer, want; } rows[] = {{7, 0, 7}, {7, 30, 30}, {0, 12, 12}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_writer_t w;
    hr_graph_t* g = fixture_graph();
    hr_strbuf_init(&w);
    if (rows[i].producer) fixture_def_versions(&w, rows[i].producer, 0, 0);
    if (rows[i].old) hr_writer_i64(&w, 3, rows[i].old);
    fixture_def_node(&w, "NoOp", "n", "", NULL, 0);
    HR_CHECK_OK(fixture_import(g, &w, NULL, NULL));
    HR_CHECK_EQ_I64(g->producer, rows[i].want);
    hr_graph_destroy(g);
    hr_strbuf_deinit(&w);
  }
}

HR_TEST(maps_of_values_and_of_control_edges_are_two) {
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_import_results_t r;
  hr_node_t* mine = fixture_placeholder(g, "mine", HR_F32, -1, NULL);
  hr_strbuf_init(&w);
  fixture_def_node(&w, "Placeholder", "x", "", "dtype", HR_F32);
  fixture_def_node(&w, "Identity", "y", "x ^x", "T", HR_F32);
  __typeof__(*(hr_import_options_t){0}.control_map) controls[] = {{HR_STR("x"), mine}};
  hr_import_options_t o = {.prefix = HR_STR("a"), .control_map = controls, .control_map_count = 1};
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  hr_node_t* y = hr_graph_find(g, HR_STR("a/y"));
  HR_CHECK(y && y->inputs[0].node == hr_graph_find(g, HR_STR("a/x")) && y->control_count == 1 && y->controls[0] == mine);
  hr_import_results_deinit(&r);
  __typeof__(*(hr_import_options_t){0}.input_map) inputs[] = {{{HR_STR("x"), 0}, {mine, 0}}, {{HR_STR("x"), 1}, {mine, 0}}};
  o = (hr_import_options_t){.prefix = HR_STR("b"), .input_map = inputs, .input_map_count = 2};
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  y = hr_graph_find(g, HR_STR("b/y"));
  HR_CHECK(y && y->inputs[0].node == mine && y->control_count == 1 && y->controls[0] == hr_graph_find(g, HR_STR("b/x")));
  HR_CHECK(r.unused_map.count == 1 && r.unused_map.data[0] == 1);
  hr_import_results_deinit(&r);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(loops_import) {
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_strbuf_init(&w);
  fixture_def_node(&w, "Placeholder", "x", "", "dtype", HR_I32);
  fixture_def_node(&w, "Placeholder", "p", "", "dtype", HR_BOOL);
  fixture_def_node(&w, "Enter", "enter", "x", "T", HR_I32);
  fixture_def_node(&w, "Merge", "merge", "enter next", "T", HR_I32);
  fixture_def_node(&w, "LoopCond", "cond", "p", NULL, 0);
  fixture_def_node(&w, "Switch", "switch", "merge cond", "T", HR_I32);
  fixture_def_node(&w, "NextIteration", "next", "switch:1", "T", HR_I32);
  fixture_def_node(&w, "Exit", "exit", "switch", "T", HR_I32);
  HR_REQUIRE_OK(fixture_import(g, &w, NULL, NULL));
  hr_node_t *merge = hr_graph_find(g, HR_STR("merge")), *next = hr_graph_find(g, HR_STR("next"));
  HR_CHECK(merge->inputs[1].node == next && next->consumers.count == 1);
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(prefix_uniquify_and_maps) {
  hr_writer_t w;
  hr_import_results_t r;
  hr_graph_t* g = fixture_graph();
  def_small(&w);
  hr_node_t* mine = fixture_placeholder(g, "mine", HR_F32, -1, NULL);
  hr_endpoint_t want[] = {{HR_STR("z"), 0}, {HR_STR("x"), 0}};
  hr_str_t want_nodes[] = {HR_STR("n")};
  hr_import_options_t o = {.prefix = HR_STR("p"),
                           .default_device = HR_STR("/cpu:0"),
                           .return_outputs = want,
                           .return_output_count = 2,
                           .return_nodes = want_nodes,
                           .return_node_count = 1,
                           .control_dependencies = &mine,
                           .control_dependency_count = 1};
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  HR_CHECK_VIEW(r.outputs.data[0].node->name, "p/z");
  HR_CHECK_VIEW(r.nodes.data[0]->name, "p/n");
  HR_CHECK_VIEW(r.nodes.data[0]->device, "/cpu:0");
  HR_CHECK(r.nodes.data[0]->control_count == 1 && r.nodes.data[0]->controls[0] == mine);
  HR_CHECK_EQ_I64(r.outputs.data[0].node->control_count, 1); /* ^n only: the rest is inherited */
  hr_import_results_deinit(&r);
  HR_CHECK_CODE(fixture_import(g, &w, &o, &r), HR_INVALID_ARGUMENT, "duplicate node name");
  HR_CHECK_EQ_I64(g->nodes.count, 4);
  o.uniquify_prefix = true;
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  HR_CHECK_VIEW(r.outputs.data[0].node->name, "p_1/z");
  hr_import_results_deinit(&r);
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  HR_CHECK_VIEW(r.outputs.data[0].node->name, "p_2/z");
  hr_import_results_deinit(&r);
  o.uniquify_prefix = false;
  o.uniquify_names = true;
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  HR_CHECK_VIEW(r.outputs.data[0].node->name, "p/z_1");
  hr_import_results_deinit(&r);
  __typeof__(*o.input_map) map[] = {{{HR_STR("x"), 0}, {mine, 0}}, {{HR_STR("absent"), 0}, {mine, 0}}, {{HR_STR("z"), 0}, {mine, 0}}};
  __typeof__(*o.control_map) controls[] = {{HR_STR("n"), mine}};
  o = (hr_import_options_t){
      .prefix = HR_STR("m/"), .input_map = map, .input_map_count = 3, .control_map = controls, .control_map_count = 1};
  HR_REQUIRE_OK(fixture_import(g, &w, &o, &r));
  hr_node_t* z = hr_graph_find(g, HR_STR("m/z"));
  HR_CHECK(z && z->inputs[0].node == mine && z->inputs[1].node == mine && z->controls[0] == mine);
  HR_CHECK(r.unused_map.count == 1 && r.unused_map.data[0] == 1);
  hr_import_results_deinit(&r);
  want[1].index = 3;
  o = (hr_import_options_t){.prefix = HR_STR("q"), .return_outputs = want, .return_output_count = 2};
  HR_CHECK_CODE(fixture_import(g, &w, &o, &r), HR_INVALID_ARGUMENT, "output 3 of node 'x'");
  want[1].node = HR_STR("absent");
  HR_CHECK_CODE(fixture_import(g, &w, &o, &r), HR_INVALID_ARGUMENT, "no node 'absent'");
  HR_CHECK(!hr_graph_find(g, HR_STR("q/z")));
  o.prefix = HR_STR("bad prefix");
  HR_CHECK_CODE(fixture_import(g, &w, &o, &r), HR_INVALID_ARGUMENT, "import prefix: illegal");
  HR_CHECK_OK(hr_graph_validate(g));
  hr_graph_destroy(g);
  hr_strbuf_deinit(&w);
}

HR_TEST(attrs_of_newer_producers) {
  hr_writer_t w, ops;
  hr_graph_t* g = fixture_graph();
  hr_named_attr_t attr = hr_at_int("newer", 3);
  def_with_attr(&w, &attr);
  hr_strbuf_init(&ops);
  hr_writer_mark_t op = hr_writer_begin(&ops, 1, 64);
  hr_writer_str(&ops, 1, HR_STR("Placeholder"));
  hr_writer_mark_t def = hr_writer_begin(&ops, 4, 64);
  hr_writer_str(&ops, 1, HR_STR("newer"));
  hr_writer_mark_t value = hr_writer_begin(&ops, 3, 16);
  HR_CHECK_OK(hr_attr_value_encode(&attr.value, &ops));
  hr_writer_end(&ops, value, 16);
  hr_writer_end(&ops, def, 64);
  hr_writer_end(&ops, op, 64);
  hr_import_options_t o = {.producer_ops = hr_strbuf_view(&ops)};
  HR_CHECK_CODE(fixture_import(g, &w, NULL, NULL), HR_INVALID_ARGUMENT, "newer");
  HR_CHECK_OK(fixture_import(g, &w, &o, NULL));
  HR_CHECK_EQ_I64(g->nodes.count, 1);
  hr_strbuf_deinit(&w);
  attr = hr_at_int("newer", 4);
  def_with_attr(&w, &attr);
  o.prefix = HR_STR("other");
  HR_CHECK_CODE(fixture_import(g, &w, &o, NULL), HR_INVALID_ARGUMENT, "newer");
  hr_strbuf_deinit(&w);
  hr_strbuf_deinit(&ops);
  hr_graph_destroy(g);
}

HR_TEST(shapes_attr_is_honoured_when_asked) {
  hr_writer_t w;
  hr_graph_t* g = fixture_graph();
  hr_arena_t arena;
  const hr_pshape_t* shape = NULL;
  hr_arena_init(&arena);
  HR_CHECK_OK(hr_pshape_make(&arena, 1, (const int64_t[]){6}, &shape));
  hr_named_attr_t attr = hr_at("_output_shapes", (hr_attr_t){HR_ATTR_SHAPE, true, 1, {.shapes = &shape}});
  def_with_attr(&w, &attr);
  hr_import_options_t o = {.keep_shapes_attr = true};
  HR_CHECK_OK(fixture_import(g, &w, &o, NULL));
  hr_node_t* x = hr_graph_find(g, HR_STR("x"));
  HR_REQUIRE(x);
  HR_CHECK(x->shapes[0]->rank == 1 && x->shapes[0]->dims[0] == 6 && x->attrs.extra_count == 1);
  hr_arena_deinit(&arena);
  hr_strbuf_deinit(&w);
  hr_graph_destroy(g);
}

HR_TEST(export_imports_to_the_same) {
  hr_graph_t *g = fixture_graph(), *h = fixture_graph();
  char *first = NULL, *second = NULL;
  size_t first_size = 0, second_size = 0;
  hr_node_t* x = fixture_placeholder(g, "x", HR_F32, 2, (const int64_t[]){-1, 3});
  hr_node_t* c = fixture_const_i32(g, "c", 3, (const int64_t[]){3, -1, 1});
  hr_node_t* r = fixture_add2(g, "Reshape", "r", x, c);
  fixture_add(g, "IdentityN", "n", HR_VALUES(fixture_out(r, 0), fixture_out(c, 0)), HR_ATTRS(hr_at_str("_note", "kept")));
  HR_CHECK_OK(hr_graph_add_control(g, r, x));
  HR_CHECK_OK(hr_export_graph_def(g, 0, &first, &first_size));
  HR_CHECK_OK(hr_import_graph_def(h, first, first_size, NULL, NULL));
  HR_CHECK_OK(hr_graph_validate(h));
  HR_CHECK_OK(hr_export_graph_def(h, 0, &second, &second_size));
  HR_CHECK(first_size == second_size && memcmp(first, second, first_size) == 0);
  hr_free(first);
  hr_free(second);
  HR_CHECK_OK(hr_export_graph_def(g, 3, &first, &first_size));
  HR_CHECK(first_size < second_size);
  hr_free(first);
  HR_CHECK_OK(hr_export_node_def(r, &first, &first_size));
  HR_CHECK(first_size > 5 && memcmp(first, "\n\1r\x12\7Reshape", 12) == 0);
  hr_free(first);
  hr_graph_destroy(g);
  hr_graph_destroy(h);
}

static void def_function(hr_writer_t* w, const char* name, int type) {
  hr_strbuf_init(w);
  hr_writer_mark_t signature = hr_writer_begin(w, 1, 64);
  hr_writer_str(w, 1, hr_str(name));
  for (uint32_t field = 2; field <= 3; ++field) {
    hr_writer_mark_t arg = hr_writer_begin(w, field, 16);
    hr_writer_str(w, 1, field == 2 ? HR_STR("in") : HR_STR("out"));
    hr_writer_i64(w, 3, type);
    hr_writer_end(w, arg, 16);
  }
  hr_writer_end(w, signature, 64);
}

/* A function of one node whose attrs stand in the order given. */
static void def_with_attrs(hr_writer_t* w, const char* first, const char* second) {
  hr_strbuf_init(w);
  hr_writer_mark_t node = hr_writer_begin(w, 3, 64);
  hr_writer_str(w, 1, HR_STR("n"));
  for (int i = 0; i < 2; ++i) {
    hr_writer_mark_t attr = hr_writer_begin(w, 5, 16);
    hr_writer_str(w, 1, hr_str(i ? second : first));
    hr_writer_bytes(w, 2, "\x18\x01", 2);
    hr_writer_end(w, attr, 16);
  }
  hr_writer_end(w, node, 64);
}

HR_TEST(functions_are_equal_whatever_the_order_of_their_maps) {
  hr_writer_t ab, ba, ac;
  def_with_attrs(&ab, "a", "b");
  def_with_attrs(&ba, "b", "a");
  def_with_attrs(&ac, "a", "c");
  HR_CHECK(!hr_str_equal(hr_strbuf_view(&ab), hr_strbuf_view(&ba)));
  HR_CHECK(hr_function_same(hr_strbuf_view(&ab), hr_strbuf_view(&ba)));
  HR_CHECK(!hr_function_same(hr_strbuf_view(&ab), hr_strbuf_view(&ac)));
  hr_strbuf_deinit(&ab);
  hr_strbuf_deinit(&ba);
  hr_strbuf_deinit(&ac);
}

HR_TEST(functions_are_kept) {
  hr_writer_t a, b, clash, lib;
  hr_graph_t *g = fixture_graph(), *h = fixture_graph();
  hr_function_t* f = NULL;
  def_function(&a, "f", HR_F32);
  def_function(&b, "f_grad", HR_F32);
  def_function(&clash, "f", HR_I32);
  HR_CHECK_OK(hr_function_add(g, a.data, a.size, &f));
  HR_REQUIRE(f && f->input_count == 1 && f->output_count == 1);
  HR_CHECK_VIEW(f->input_names[0], "in");
  HR_CHECK_EQ_I64(f->output_types[0], HR_F32);
  HR_CHECK_OK(hr_function_add(g, a.data, a.size, NULL));
  HR_CHECK_EQ_I64(g->functions.count, 1);
  HR_CHECK_CODE(hr_function_add(g, clash.data, clash.size, NULL), HR_INVALID_ARGUMENT, "another definition");
  HR_CHECK_CODE(hr_function_set_gradient(g, HR_STR("f"), HR_STR("f_grad")), HR_INVALID_ARGUMENT, "no function 'f_grad'");
  hr_function_t* grad = NULL;
  HR_CHECK_OK(hr_function_add(g, b.data, b.size, &grad));
  HR_CHECK_OK(hr_function_set_gradient(g, HR_STR("f"), HR_STR("f_grad")));
  HR_CHECK_CODE(hr_function_set_gradient(g, HR_STR("f"), HR_STR("f")), HR_INVALID_ARGUMENT, "already");
  HR_CHECK_OK(hr_function_copy(h, f, grad));
  HR_CHECK_VIEW(hr_function_find(h, HR_STR("f"))->gradient, "f_grad");
  HR_CHECK_CODE(hr_function_add(h, "\xff", 1, NULL), HR_INVALID_ARGUMENT, "");
  hr_node_t* n = NULL;
  hr_node_desc_t call = {.op = HR_STR("f"), .name = HR_STR("call")};
  HR_CHECK_CODE(hr_graph_add(h, &call, &n), HR_INVALID_ARGUMENT, "1 wanted by f(");
  char* data = NULL;
  size_t size = 0;
  hr_graph_t* k = fixture_graph();
  HR_CHECK_OK(hr_export_graph_def(h, 0, &data, &size));
  HR_CHECK_OK(hr_import_graph_def(k, data, size, NULL, NULL));
  HR_CHECK(k->functions.count == 2 && hr_function_find(k, HR_STR("f"))->gradient.size == 6);
  hr_free(data);
  hr_strbuf_deinit(&a);
  hr_strbuf_init(&lib); /* the second of the two is refused: the first goes too */
  hr_writer_str(&lib, 1, hr_strbuf_view(&b));
  def_function(&a, "Add", HR_F32);
  hr_writer_str(&lib, 1, hr_strbuf_view(&a));
  hr_graph_t* e = fixture_graph();
  HR_CHECK_CODE(hr_function_add_library(e, lib.data, lib.size), HR_INVALID_ARGUMENT, "name of an op");
  HR_CHECK(e->functions.count == 0 && e->functions_by_name.count == 0);
  hr_strbuf_deinit(&a), hr_strbuf_deinit(&b), hr_strbuf_deinit(&clash), hr_strbuf_deinit(&lib);
  hr_graph_destroy(e), hr_graph_destroy(g), hr_graph_destroy(h), hr_graph_destroy(k);
}

static hr_writer_t fault_def;
static hr_status_t import_and_export(void) {
  hr_graph_t* g = NULL;
  char* data = NULL;
  size_t size = 0;
  hr_import_options_t o = {.prefix = HR_STR("p"), .uniquify_names = true};
  HR_TRY(hr_graph_create(&g));
  hr_status_t status = fixture_import(g, &fault_def, NULL, NULL);
  if (!status) status = fixture_import(g, &fault_def, &o, NULL);
  if (!status) status = hr_export_graph_def(g, 0, &data, &size);
  hr_status_t valid = hr_graph_validate(g);
  hr_status_merge(&status, valid);
  hr_free(data);
  hr_graph_destroy(g);
  return status;
}

HR_TEST(every_allocation_may_fail) {
  def_small(&fault_def);
  HR_TEST_EVERY_ALLOCATION_FAILS(import_and_export);
  hr_strbuf_deinit(&fault_def);
}

HR_TEST_MAIN()
