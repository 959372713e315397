/* SPDX-License-Identifier: Apache-2.0 */
/* Function libraries: what is read of a definition, which two are equal, what a call does to the world; and graphs as they go out. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/graph/graph_text.h"

#include "graph/effects.h"
#include "graph/function.h"
#include "graph/grow.h"
#include "graph/validate.h"

#define FLOAT(n) NODE(OP(n, "Placeholder") TYPE("dtype", "DT_FLOAT"))

static hr_status_t add_text(hr_graph_t* g, const char* text, hr_function_t** out) {
  hr_writer_t bytes = text_bytes("FunctionDef", text);
  hr_status_t status = hr_function_add(g, bytes.data, bytes.size, out);
  hr_strbuf_deinit(&bytes);
  return status;
}

static hr_status_t add_library(hr_graph_t* g, const char* text) {
  hr_writer_t bytes = text_bytes("FunctionDefLibrary", text);
  hr_status_t status = hr_function_add_library(g, bytes.data, bytes.size);
  hr_strbuf_deinit(&bytes);
  return status;
}

/* --- reading -------------------------------------------------------------------------------------------------------------------------- */
#define SIGNATURE(name, more) "signature { name: '" name "' " more "} "
#define IN_ARG(name, type)    "input_arg { name: '" name "' " type " } "
#define OUT_ARG(name, type)   "output_arg { name: '" name "' " type " } "

HR_TEST(what_callers_need_is_read) {
  hr_graph_t* g = text_graph("");
  hr_function_t* f = NULL;
  HR_REQUIRE_OK(add_text(
      g,
      SIGNATURE("f", OUT_ARG("p", "type: DT_BOOL") IN_ARG("a", "type: DT_FLOAT") IN_ARG("b", "type_attr: 'T'")
                         OUT_ARG("q", "type: DT_INT32") OUT_ARG("r", "type: DT_FLOAT") "attr { name: 'T' type: 'type' } is_stateful: true ")
          INNER(OP("n", "NoOp")) INNER(OP("m", "NoOp")),
      &f));
  HR_CHECK_VIEW(f->name, "f");
  HR_CHECK(f->input_count == 2 && f->output_count == 3 && f->node_count == 2 && f->is_stateful && f->gradient.size == 0);
  HR_CHECK(hr_str_is(f->input_names[0], "a") && hr_str_is(f->input_names[1], "b") && hr_str_is(f->output_names[0], "p") &&
           hr_str_is(f->output_names[1], "q") && hr_str_is(f->output_names[2], "r"));
  HR_CHECK(f->input_types[0] == HR_F32 && f->input_types[1] == HR_DTYPE_INVALID && f->output_types[0] == HR_BOOL &&
           f->output_types[1] == HR_I32 && f->output_types[2] == HR_F32);
  HR_CHECK((f->def->op->flags & HR_OP_SIDE_EFFECT) && f->def->input_count == 2);
  HR_REQUIRE_OK(add_text(g, SIGNATURE("g", "is_stateful: false "), &f));
  HR_CHECK(f->input_count == 0 && f->output_count == 0 && f->node_count == 0 && !f->is_stateful);
  hr_function_t* again = NULL;
  HR_REQUIRE_OK(add_text(g, SIGNATURE("g", "is_stateful: false "), &again));
  HR_CHECK(again == f && g->functions.count == 2);
  text_check_error(add_text(g, SIGNATURE("g", "is_stateful: true "), NULL),
                   "cannot add function 'g': another definition of that name is in the library", 0);
  text_check_error(add_text(g, SIGNATURE("Add", ""), NULL), "function 'Add' has the name of an op", 1);
  text_check_error(add_text(g, "signature { }", NULL), "function definition: the function's signature has no name", 2);
  text_check_error(add_text(g, "", NULL), "function definition: the function's signature has no name", 3);
  text_check_error(add_text(g, SIGNATURE("h", IN_ARG("a", "type: 99")), NULL), "function definition: argument 'a' has the unknown type 99",
                   4);
  HR_CHECK_EQ_I64(g->functions.count, 2);
  hr_graph_destroy(g);
}

HR_TEST(arguments_that_are_handed_through) {
  hr_graph_t* g = text_graph("");
  hr_function_t* f = NULL;
  HR_REQUIRE_OK(add_text(g,
                         SIGNATURE("f", IN_ARG("a", "type: DT_FLOAT") IN_ARG("b", "type: DT_FLOAT") OUT_ARG("p", "type: DT_FLOAT")
                                            OUT_ARG("q", "type: DT_FLOAT") OUT_ARG("r", "type: DT_FLOAT") OUT_ARG(
                                                "s", "type: DT_FLOAT")) "ret { key: 'q' value: 'a' } ret { key: 'p' value: 'b' } ret { "
                                                                        "key: 'r' value: 'n:z:0' } ret { key: 'x' value: 'a' }",
                         &f));
  static const bool want[5][3] = {{false, true, false}, {true, false, false}};
  for (int output = 0; output < 5; ++output)
    for (int argument = 0; argument < 3; ++argument) HR_CHECK(hr_function_hands_through(f, output, argument) == want[output][argument]);
  hr_graph_destroy(g);
}

HR_TEST(functions_are_found_in_the_library_behind) {
  hr_graph_t *g = text_graph(""), *copy = text_graph("");
  const hr_op_def_t* def = NULL;
  hr_node_t* n = NULL;
  hr_function_t *f = NULL, *own = NULL;
  HR_CHECK_OK(add_text(g, SIGNATURE("f", ""), &f));
  HR_CHECK_OK(add_text(copy, SIGNATURE("own", ""), &own));
  HR_CHECK(hr_function_find(copy, HR_STR("f")) == NULL);
  copy->library = g;
  HR_CHECK(hr_function_find(copy, HR_STR("f")) == f && hr_function_find(copy, HR_STR("own")) == own);
  HR_CHECK(hr_function_find(copy, HR_STR("no")) == NULL && hr_function_find(g, HR_STR("own")) == NULL);
  HR_CHECK_OK(hr_function_or_op(copy, HR_STR("f"), &def));
  HR_CHECK(def == f->def);
  HR_CHECK_OK(hr_function_or_op(copy, HR_STR("Add"), &def));
  HR_CHECK(hr_str_is(def->name, "Add"));
  text_check_error(hr_function_or_op(g, HR_STR("own"), &def), "op type not registered 'own'", 0);
  HR_CHECK_OK(text_import(g, NODE(OP("call", "f")) NODE(OP("n", "NoOp")), NULL, NULL));
  n = hr_graph_find(g, HR_STR("call"));
  HR_CHECK(hr_function_of_node(g, n) == f && hr_function_of_node(g, hr_graph_find(g, HR_STR("n"))) == NULL);
  hr_graph_destroy(copy);
  hr_graph_destroy(g);
}

#define FN(name)    "function { signature { name: '" name "' } } "
#define GRAD(f, of) "gradient { function_name: '" f "' gradient_func: '" of "' } "

HR_TEST(gradients_are_named_once) {
  static const struct {
    const char *library, *error;
  } rows[] = {
      {GRAD("f", "h") FN("h"), ""}, /* in any order */
      {GRAD("f", "g") FN("h"), ""},
      {GRAD("f", "no") FN("h"), "gradient 'no' of function 'f': the library has no function 'no'"},
      {GRAD("no", "g") FN("h"), "gradient 'g' of function 'no': the library has no function 'no'"},
      {GRAD("no", "nor") FN("h"), "gradient 'nor' of function 'no': the library has no function 'no'"},
      {FN("h") GRAD("f", "g") GRAD("f", "g"), ""},
      {FN("h") GRAD("f", "g") GRAD("f", "h"), "function 'f' has the gradient 'g' already and cannot have 'h'"},
      {FN("h") FN("i") FN("Add"), "function 'Add' has the name of an op"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_graph_t* g = text_graph("library { " FN("f") FN("g") "}");
    text_check_error(add_library(g, rows[i].library), rows[i].error, (int)i);
    HR_CHECK_EQ_I64(g->functions.count, rows[i].error[0] ? 2 : 3);
    HR_CHECK((hr_function_find(g, HR_STR("h")) != NULL) == !rows[i].error[0] && hr_function_find(g, HR_STR("g")));
    hr_graph_destroy(g);
  }
}

HR_TEST(functions_are_copied_with_their_gradient_or_not_at_all) {
  hr_graph_t *g = text_graph("library { " FN("f") FN("g") "}"), *to = text_graph("");
  hr_function_t *f = hr_function_find(g, HR_STR("f")), *grad = hr_function_find(g, HR_STR("g"));
  HR_CHECK_OK(hr_function_copy(to, f, NULL));
  HR_CHECK(to->functions.count == 1 && hr_function_find(to, HR_STR("f"))->gradient.size == 0);
  HR_CHECK_OK(hr_function_copy(to, f, grad));
  HR_CHECK(to->functions.count == 2 && hr_str_is(hr_function_find(to, HR_STR("f"))->gradient, "g"));
  text_check_error(hr_function_copy(to, f, f), "function 'f' has the gradient 'g' already and cannot have 'f'", 0);
  HR_CHECK_EQ_I64(to->functions.count, 2);
  hr_graph_destroy(to);
  to = text_graph("library { function { signature { name: 'g' is_stateful: true } } }");
  text_check_error(hr_function_copy(to, f, grad), "cannot add function 'g': another definition of that name is in the library", 1);
  HR_CHECK(to->functions.count == 1 && !hr_function_find(to, HR_STR("f")));
  hr_graph_destroy(to);
  hr_graph_destroy(g);
}

/* --- which definitions are equal ------------------------------------------------------------------------------------------------------ */
static bool same(const char* a, const char* b) {
  hr_writer_t left = text_bytes("FunctionDef", a), right = text_bytes("FunctionDef", b);
  HR_CHECK(left.size == right.size || !strcmp(a, "")); /* else it is no question */
  bool is = hr_function_same(hr_strbuf_view(&left), hr_strbuf_view(&right));
  HR_CHECK(hr_function_same(hr_strbuf_view(&right), hr_strbuf_view(&left)) == is);
  hr_strbuf_deinit(&left);
  hr_strbuf_deinit(&right);
  return is;
}

#define ONE         "value { i: 1 } "
#define TWO         "value { i: 2 } "
#define AT(key, v)  "attr { key: '" key "' " v "} "
#define IN_VALUE(v) INNER("attr { key: 'f' value { " v " } } ")

HR_TEST(maps_have_no_order_and_lists_have) {
  static const struct {
    const char *a, *b;
    bool want;
  } rows[] = {
      {INNER("name: 'a'") INNER("name: 'b'"), INNER("name: 'b'") INNER("name: 'a'"), false},
      {INNER("input: 'a' input: 'b'"), INNER("input: 'b' input: 'a'"), false},
      {INNER("name: 'a' op: 'b'"), INNER("name: 'b' op: 'a'"), false},
      {"ret { key: 'a' value: 'x' } ret { key: 'b' value: 'y' }", "ret { key: 'b' value: 'y' } ret { key: 'a' value: 'x' }", true},
      {"ret { key: 'a' value: 'x' } ret { key: 'b' value: 'y' }", "ret { key: 'b' value: 'x' } ret { key: 'a' value: 'y' }", false},
      {"control_ret { key: 'a' value: 'x' } control_ret { key: 'b' value: 'y' }",
       "control_ret { key: 'b' value: 'y' } control_ret { key: 'a' value: 'x' }", true},
      {"control_ret { key: 'a' value: 'x' }", "ret { key: 'a' value: 'x' }", false},
      {AT("a", ONE) AT("b", TWO), AT("b", TWO) AT("a", ONE), true},
      {AT("a", ONE) AT("b", TWO), AT("b", ONE) AT("a", TWO), false},
      {AT("a", ONE), AT("a", TWO), false},
      {"arg_attr { key: 0 value { " AT("a", ONE) "} } arg_attr { key: 1 value { } }",
       "arg_attr { key: 1 value { } } arg_attr { key: 0 value { " AT("a", ONE) "} }", true},
      {"arg_attr { key: 1 value { " AT("a", ONE) AT("b", TWO) "} }", "arg_attr { key: 1 value { " AT("b", TWO) AT("a", ONE) "} }", true},
      {"arg_attr { key: 1 value { " AT("a", ONE) AT("b", TWO) "} }", "arg_attr { key: 1 value { " AT("b", ONE) AT("a", TWO) "} }", false},
      {"resource_arg_unique_id { key: 1 value: 5 } resource_arg_unique_id { key: 2 value: 6 }",
       "resource_arg_unique_id { key: 2 value: 6 } resource_arg_unique_id { key: 1 value: 5 }", true},
      {INNER(AT("a", ONE) AT("b", TWO)), INNER(AT("b", TWO) AT("a", ONE)), true},
      {INNER(AT("a", ONE) AT("b", TWO)), INNER(AT("b", ONE) AT("a", TWO)), false},
      {IN_VALUE("func { name: 'g' " AT("a", ONE) AT("b", TWO) "}"), IN_VALUE("func { name: 'g' " AT("b", TWO) AT("a", ONE) "}"), true},
      {IN_VALUE("func { name: 'g' " AT("a", ONE) AT("b", TWO) "}"), IN_VALUE("func { name: 'g' " AT("b", ONE) AT("a", TWO) "}"), false},
      {IN_VALUE("list { func { name: 'g' " AT("a", ONE) AT("b", TWO) "} }"),
       IN_VALUE("list { func { name: 'g' " AT("b", TWO) AT("a", ONE) "} }"), true},
      {IN_VALUE("list { func { name: 'g' } func { name: 'h' } }"), IN_VALUE("list { func { name: 'h' } func { name: 'g' } }"), false},
      {IN_VALUE("list { i: [1, 2] }"), IN_VALUE("list { i: [2, 1] }"), false},
      {"signature { name: 'a' }", "signature { name: 'b' }", false},
      {"", "signature { name: 'b' }", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (!HR_CHECK(same(rows[i].a, rows[i].b) == rows[i].want)) printf("in row %d\n", (int)i);
}

/* A field of two spans, below the fields that lead to it: the spans in one order or the other. */
static void twice(hr_writer_t* w, const uint32_t* path, bool turned) {
  if (path[1]) {
    hr_writer_mark_t mark = hr_writer_begin(w, path[0], 64);
    twice(w, path + 1, turned);
    hr_writer_end(w, mark, 64);
  } else {
    hr_writer_bytes(w, path[0], turned ? "\x10\x02" : "\x10\x01", 2);
    hr_writer_bytes(w, path[0], turned ? "\x10\x01" : "\x10\x02", 2);
  }
}

HR_TEST(which_fields_are_maps) {
  static const struct {
    uint32_t path[6];
    bool is_map;
  } rows[] = {{{1}, false},
              {{2}, false},
              {{3}, false},
              {{4}, true},
              {{5}, true},
              {{6}, true},
              {{7}, true},
              {{8}, true},
              {{9}, false},
              {{1, 3}, false},
              {{3, 3}, false},
              {{3, 5}, true},
              {{4, 2}, false},
              {{5, 1}, false},
              {{5, 2}, false},
              {{5, 2, 1}, false},
              {{5, 2, 10}, false},
              {{5, 2, 2}, false},
              {{5, 2, 1, 9}, false},
              {{5, 2, 1, 2}, false},
              {{5, 2, 10, 1}, false},
              {{5, 2, 10, 2}, true},
              {{5, 2, 1, 9, 2}, true},
              {{7, 2}, false},
              {{7, 2, 1}, true},
              {{7, 2, 2}, false},
              {{3, 5, 2, 10, 2}, true},
              {{7, 1}, false},
              {{8, 2}, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_writer_t a, b;
    hr_strbuf_init(&a);
    hr_strbuf_init(&b);
    twice(&a, rows[i].path, false);
    twice(&b, rows[i].path, true);
    if (!HR_CHECK(hr_function_same(hr_strbuf_view(&a), hr_strbuf_view(&b)) == rows[i].is_map)) printf("in row %d\n", (int)i);
    hr_strbuf_deinit(&a);
    hr_strbuf_deinit(&b);
  }
}

/* A function given to a function given to ...: `depth` of them, the first `lists` in lists; the innermost has two attrs in either order. */
static void nested(char* text, size_t size, int depth, int lists, bool turned) {
  size_t at = (size_t)snprintf(text, size, "node_def { attr { key: 'f' value { ");
  for (int k = 0; k <= depth; ++k) {
    at += (size_t)snprintf(text + at, size - at, k < lists ? "list { func { name: 'g' " : "func { name: 'g' ");
    if (k < depth) at += (size_t)snprintf(text + at, size - at, "attr { key: 'f' value { ");
  }
  at += (size_t)snprintf(text + at, size - at, "%s", turned ? AT("b", TWO) AT("a", ONE) : AT("a", ONE) AT("b", TWO));
  for (int k = depth; k >= 0; --k) at += (size_t)snprintf(text + at, size - at, k < lists ? "} } } } " : "} } } ");
  snprintf(text + at, size - at, "} ");
}

/* Messages are looked into 64 deep, the function's own being the first: the attrs of a function given as an attr lie three deeper each
 * time. */
HR_TEST(deep_down_only_bytes_are_compared) {
  static char a[8192], b[8192];
  static const struct {
    int depth, lists;
    bool want;
  } rows[] = {{0, 0, true}, {18, 0, true}, {19, 0, true}, {20, 0, false}, {19, 1, true}, {19, 2, true}, {19, 3, false}, {21, 0, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    nested(a, sizeof a, rows[i].depth, rows[i].lists, false);
    nested(b, sizeof b, rows[i].depth, rows[i].lists, true);
    if (!HR_CHECK(same(a, b) == rows[i].want)) printf("in row %d\n", (int)i);
  }
}

/* --- effects -------------------------------------------------------------------------------------------------------------------------- */
#define BODY(name, body)    "function { signature { name: '" name "' } " body "} "
#define QUIET               BODY("quiet", INNER(OP("a", "Add") IN("x") IN("y")))
#define LOUD                BODY("loud", INNER(OP("n", "NoOp")) INNER(OP("a", "AssignVariableOp") IN("x") IN("y")) INNER(OP("m", "NoOp")))
#define FUNC_AT(key, f)     "attr { key: '" key "' value { func { name: '" f "' } } } "
#define FUNCS_AT(key, a, b) "attr { key: '" key "' value { list { func { name: '" a "' } func { name: '" b "' } } } } "

HR_TEST(a_function_has_an_effect_when_something_in_it_has) {
  static const struct {
    const char* body;
    bool want;
  } rows[] = {
      {"", false},
      {INNER(OP("a", "Add") IN("x") IN("y")), false},
      {INNER(OP("a", "AssignVariableOp") IN("x") IN("y")), true},
      {INNER(OP("n", "NoOp")) INNER(OP("a", "AssignVariableOp") IN("x")) INNER(OP("m", "NoOp")), true},
      {INNER(OP("a", "AssignVariableOp") IN("^x")), false}, /* nothing comes in */
      {INNER(OP("a", "AssignVariableOp") IN("^x") IN("")), true},
      {INNER(OP("a", "AssignVariableOp") IN("y") IN("^x")), true},
      {INNER(OP("a", "AssignVariableOp")), false},
      {INNER(OP("v", "VarHandleOp")), false},
      {INNER(OP("r", "ReadVariableOp") IN("v")), false},
      {INNER(OP("r", "ResourceGather") IN("v") IN("i")), false},
      {INNER(OP("r", "VariableShape") IN("v")), false},
      {INNER(OP("r", "RandomUniform") IN("s")), false},
      {INNER(OP("r", "RandomStandardNormal") IN("s")), false},
      {INNER(OP("r", "Multinomial") IN("s") IN("n")), false},
      {INNER(OP("r", "TruncatedNormal") IN("s")), false},
      {INNER(OP("c", "quiet")), false},
      {INNER(OP("c", "loud")), true},
      {INNER(OP("c", "nobody")), true}, /* an error when it is called */
      {INNER(OP("c", "PartitionedCall") FUNC_AT("f", "quiet")), false},
      {INNER(OP("c", "PartitionedCall") FUNC_AT("f", "loud")), true},
      {INNER(OP("c", "PartitionedCall") FUNC_AT("f", "nobody")), true},
      {INNER(OP("c", "PartitionedCall")), false},
      {INNER(OP("c", "StatefulPartitionedCall") IN("x") FUNC_AT("f", "quiet")), false},
      {INNER(OP("c", "If") IN("x") FUNC_AT("then_branch", "quiet") FUNC_AT("else_branch", "loud")), true},
      {INNER(OP("c", "If") IN("x") FUNC_AT("then_branch", "loud") FUNC_AT("else_branch", "quiet")), true},
      {INNER(OP("c", "If") IN("x") FUNC_AT("then_branch", "quiet") FUNC_AT("else_branch", "quiet")), false},
      {INNER(OP("c", "Case") IN("x") FUNCS_AT("branches", "quiet", "loud")), true},
      {INNER(OP("c", "Case") IN("x") FUNCS_AT("branches", "loud", "quiet")), true},
      {INNER(OP("c", "Case") IN("x") FUNCS_AT("branches", "quiet", "quiet")), false},
      {INNER(OP("c", "f")), false}, /* recursion adds nothing */
      {INNER(OP("c", "f")) INNER(OP("a", "AssignVariableOp") IN("x")), true},
      {INNER(OP("c", "round")), false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char text[1024];
    hr_map_t memo;
    hr_map_init(&memo);
    snprintf(text, sizeof text, "function { signature { name: 'f' } %s } " QUIET LOUD BODY("round", INNER(OP("c", "f"))), rows[i].body);
    hr_graph_t* g = text_graph("");
    HR_CHECK_OK(add_library(g, text));
    HR_CHECK_OK(text_import(g, NODE(OP("call", "f")), NULL, NULL));
    for (int again = 0; again < 2; ++again) {
      bool has = !rows[i].want;
      HR_CHECK_OK(hr_effects_of_node(g, &memo, hr_graph_find(g, HR_STR("call")), &has));
      if (!HR_CHECK(has == rows[i].want)) printf("in row %d\n", (int)i);
    }
    hr_map_deinit(&memo);
    hr_graph_destroy(g);
  }
}

HR_TEST(a_chain_of_calls_is_followed_sixty_four_deep) {
  for (int length = 63; length <= 66; ++length) {
    hr_graph_t* g = text_graph("");
    hr_map_t memo;
    bool has = false;
    hr_map_init(&memo);
    for (int k = 0; k < length; ++k) {
      char text[128];
      snprintf(text, sizeof text,
               k + 1 < length ? "signature { name: 'f%d' } node_def { name: 'c' op: 'f%d' }" : "signature { name: 'f%d' }", k, k + 1);
      HR_CHECK_OK(add_text(g, text, NULL));
    }
    HR_CHECK_OK(text_import(g, NODE(OP("call", "f0")), NULL, NULL));
    HR_CHECK_OK(hr_effects_of_node(g, &memo, hr_graph_find(g, HR_STR("call")), &has));
    HR_CHECK(has == (length > 64));
    hr_map_deinit(&memo);
    hr_graph_destroy(g);
  }
}

HR_TEST(nodes_of_graphs_have_effects_by_the_same_rules) {
  static const struct {
    const char* name;
    bool want, random;
  } rows[] = {{"x", false, false},       {"sum", false, false},     {"v", false, false},     {"set", true, false},   {"get", false, false},
              {"chance", false, true},   {"quietly", false, false}, {"loudly", true, false}, {"one", true, false},   {"other", true, false},
              {"neither", false, false}, {"cases", true, false},    {"calm", false, false},  {"drawn", false, false}};
#define VOID_CALL "attr { key: 'Tin' value { list { } } } attr { key: 'Tout' value { list { } } } "
  hr_graph_t* g = text_graph(
      "library { " QUIET LOUD "} " FLOAT("x") NODE(OP("sum", "Add") IN("x") IN("x") F32)
          NODE(OP("b", "Placeholder") TYPE("dtype", "DT_BOOL")) NODE(OP("i", "Placeholder") TYPE("dtype", "DT_INT32"))
              NODE(OP("v", "VarHandleOp") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")) NODE(OP("set", "AssignVariableOp") IN(
                  "v") IN("x") TYPE("dtype", "DT_FLOAT")) NODE(OP("get", "ReadVariableOp") IN("v") TYPE("dtype", "DT_FLOAT"))
                  NODE(OP("chance", "RandomUniform") IN("i") TYPE("T", "DT_INT32") TYPE("dtype", "DT_FLOAT"))
                      NODE(OP("drawn", "StatelessRandomUniform") IN("i") IN("i") TYPE("T", "DT_INT32") TYPE("dtype", "DT_FLOAT"))
                          NODE(OP("quietly", "PartitionedCall") FUNC_AT("f", "quiet") VOID_CALL)
                              NODE(OP("loudly", "PartitionedCall") FUNC_AT("f", "loud") VOID_CALL) NODE(OP("one", "If") IN("b") FUNC_AT(
                                  "then_branch", "loud") FUNC_AT("else_branch", "quiet") VOID_CALL TYPE("Tcond", "DT_BOOL"))
                                  NODE(OP("other", "If") IN("b") FUNC_AT("then_branch", "quiet") FUNC_AT("else_branch", "loud")
                                           VOID_CALL TYPE("Tcond", "DT_BOOL"))
                                      NODE(OP("neither", "If") IN("b") FUNC_AT("then_branch", "quiet") FUNC_AT("else_branch", "quiet")
                                               VOID_CALL TYPE("Tcond", "DT_BOOL"))
                                          NODE(OP("cases", "Case") IN("i") FUNCS_AT("branches", "quiet", "loud") VOID_CALL)
                                              NODE(OP("calm", "Case") IN("i") FUNCS_AT("branches", "quiet", "quiet") VOID_CALL));
  hr_map_t memo;
  hr_map_init(&memo);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_node_t* n = hr_graph_find(g, hr_str(rows[i].name));
    bool has = !rows[i].want;
    if (!HR_CHECK(n)) continue;
    HR_CHECK_OK(hr_effects_of_node(g, &memo, n, &has));
    if (!HR_CHECK(has == rows[i].want && hr_effects_is_random(n) == rows[i].random)) printf("%s\n", rows[i].name);
  }
  hr_map_deinit(&memo);
  hr_graph_destroy(g);
}

/* --- going out ------------------------------------------------------------------------------------------------------------------------ */
/* The text of a GraphDef or NodeDef on one line with single blanks. */
static void check_exported(const char* type, char* take_data, size_t size, const char* want, int row) {
  hr_strbuf_t text, line;
  hr_strbuf_init(&text);
  hr_strbuf_init(&line);
  HR_CHECK_OK(hr_text_format(hr_messages_find(hr_str(type)), take_data, size, &text));
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i] == '\n' ? ' ' : text.data[i];
    if (c != ' ' || (line.size && line.data[line.size - 1] != ' ')) hr_strbuf_add(&line, &c, 1);
  }
  text_check(&line, want, row);
  hr_strbuf_deinit(&line);
  hr_strbuf_deinit(&text);
  hr_free(take_data);
}

#define T_OUT "attr { key: \"T\" value { type: DT_FLOAT } } "
#define N0    "node { name: \"n\" op: \"NoOp\" device: \"/cpu:0\" } "
#define N1                                                                                                                              \
  "node { name: \"v\" op: \"VariableV2\" attr { key: \"shape\" value { shape { } } } attr { key: \"dtype\" value { type: DT_FLOAT } } " \
  "attr { key: \"container\" value { s: \"\" } } attr { key: \"shared_name\" value { s: \"\" } } } "
#define N2                                                                                                                        \
  "node { name: \"p\" op: \"IdentityN\" input: \"v\" input: \"v\" input: \"^n\" attr { key: \"T\" value { list { type: DT_FLOAT " \
  "type: DT_FLOAT } } } attr { key: \"_a\" value { i: 1 } } attr { key: \"_b\" value { i: 2 } } } "
#define N3 "node { name: \"a\" op: \"Add\" input: \"p\" input: \"p:1\" input: \"^v\" input: \"^n\" " T_OUT "} "
#define LIB                                                                                                                  \
  "library { function { signature { name: \"f\" } } function { signature { name: \"g\" } } gradient { function_name: \"f\" " \
  "gradient_func: \"g\" } } "
#define VERSIONS_OUT "versions { producer: 9 min_consumer: 3 bad_consumers: 5 bad_consumers: 6 } "

HR_TEST(graphs_go_out_whole_and_in_parts) {
  static const struct {
    int first;
    const char* want;
  } rows[] = {{-1, N0 N1 N2 N3 LIB VERSIONS_OUT},
              {0, N0 N1 N2 N3 LIB VERSIONS_OUT},
              {1, N1 N2 N3 LIB VERSIONS_OUT},
              {3, N3 LIB VERSIONS_OUT},
              {4, LIB VERSIONS_OUT},
              {5, LIB VERSIONS_OUT}};
  hr_graph_t* g =
      text_graph("library { " FN("f") FN("g") GRAD("f", "g") "} versions { producer: 9 min_consumer: 3 bad_consumers: [5, 6] }" NODE(
          OP("n", "NoOp") "device: '/cpu:0' ") NODE(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}"))
                     NODE(OP("p", "IdentityN") IN("v") IN("v") IN("^n") ATTR("T", "list { type: [DT_FLOAT, DT_FLOAT] }") ATTR("_a", "i: 1")
                              ATTR("_b", "i: 2")) NODE(OP("a", "Add") IN("p") IN("p:1") IN("^v") IN("^n") F32));
  char* data = NULL;
  size_t size = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    HR_CHECK_OK(hr_export_graph_def(g, rows[i].first, &data, &size));
    check_exported("GraphDef", data, size, rows[i].want, (int)i);
  }
  HR_CHECK_OK(hr_export_node_def(g->nodes.data[3], &data, &size));
  check_exported("NodeDef", data, size, "name: \"a\" op: \"Add\" input: \"p\" input: \"p:1\" input: \"^v\" input: \"^n\" " T_OUT, 100);
  /* a part leaves out what is as the op has it */
  hr_node_t* part[] = {g->nodes.data[0], NULL, g->nodes.data[1]};
  HR_CHECK_OK(hr_export_part(part, 3, g, &data, &size));
  check_exported("GraphDef", data, size,
                 N0
                 "node { name: \"v\" op: \"VariableV2\" attr { key: \"shape\" value { shape { } } } attr { key: \"dtype\" value { type: "
                 "DT_FLOAT } } } " LIB VERSIONS_OUT,
                 101);
  hr_graph_destroy(g);
  g = text_graph("versions { producer: 0 }" NODE(OP("n", "NoOp")));
  HR_CHECK_OK(hr_export_graph_def(g, 0, &data, &size));
  check_exported("GraphDef", data, size, "node { name: \"n\" op: \"NoOp\" } versions { } ", 102);
  hr_node_t* m = NULL;
  hr_value_t nothing[] = {HR_NO_VALUE, HR_NO_VALUE};
  const hr_named_attr_t type[] = {hr_at_type("T", HR_F32)};
  hr_node_desc_t d = {.op = HR_STR("Merge"),
                      .name = HR_STR("m"),
                      .inputs = nothing,
                      .input_count = 2,
                      .attrs = type,
                      .attr_count = 1,
                      .allow_missing_inputs = true};
  HR_REQUIRE_OK(hr_graph_add(g, &d, &m));
  text_check_error(hr_export_graph_def(g, 0, &data, &size), "node 'm': input 0 is not connected yet", 103);
  hr_graph_destroy(g);
}

/* --- a loop that grows ---------------------------------------------------------------------------------------------------------------- */
HR_TEST(a_while_gets_one_more_variable) {
#define WHILE(name, op) \
  NODE(OP(name, op) IN("x") IN("v") FUNC_AT("cond", "f") FUNC_AT("body", "g") ATTR("T", "list { type: [DT_FLOAT, DT_RESOURCE] }"))
  hr_graph_t* g = text_graph(
      "library { " FN("f") FN("g") "} " FLOAT("x") NODE(OP("i", "Placeholder") TYPE("dtype", "DT_INT32") ATTR("shape", "shape {}"))
          NODE(OP("v", "VarHandleOp") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")) WHILE("w", "While") WHILE("s", "StatelessWhile")
              NODE(OP("e", "While") FUNC_AT("cond", "f") FUNC_AT("body", "g") ATTR("T", "list { }")));
  hr_graph_t* other = text_graph(FLOAT("x"));
  hr_node_t *x = hr_graph_find(g, HR_STR("x")), *i = hr_graph_find(g, HR_STR("i"));
  static const char* const names[] = {"w", "s", "e"};
  for (int k = 0; k < 3; ++k) {
    hr_node_t* n = hr_graph_find(g, hr_str(names[k]));
    const int before = n->input_count;
    int count = 0;
    const bool handles = n->handles != NULL;
    HR_CHECK_OK(hr_graph_append_loop_input(g, n, (hr_value_t){i, 0}));
    HR_CHECK(n->input_count == before + 1 && n->output_count == before + 1 && n->inputs[before].node == i &&
             n->input_types[before] == HR_I32);
    HR_CHECK(n->output_types[before] == HR_I32 && n->shapes[before] == &hr_pshape_unknown && (n->handles != NULL) == handles);
    const int32_t* types = hr_attrs_types(&n->attrs, "T", &count);
    HR_CHECK(count == before + 1 && types[before] == HR_I32);
    if (before) HR_CHECK(types[0] == HR_F32 && types[1] == HR_RESOURCE && n->inputs[0].node == x && n->output_types[1] == HR_RESOURCE);
    if (handles) HR_CHECK(n->handles[before].dtype == HR_DTYPE_INVALID && n->handles[before].shape == NULL);
    HR_CHECK_OK(hr_graph_validate(g));
    HR_CHECK_OK(hr_graph_append_loop_input(g, n, (hr_value_t){x, 0}));
    HR_CHECK(n->input_count == before + 2 && n->inputs[before].node == i && n->inputs[before + 1].node == x);
    HR_CHECK_OK(hr_graph_validate(g));
  }
  hr_node_t* far = hr_graph_find(other, HR_STR("x"));
  text_check_error(hr_graph_append_loop_input(g, hr_graph_find(g, HR_STR("w")), (hr_value_t){far, 0}), "node 'w' is of another graph", 0);
  text_check_error(hr_graph_append_loop_input(g, far, (hr_value_t){x, 0}), "node 'x' is of another graph", 1);
  text_check_error(hr_graph_append_loop_input(g, x, (hr_value_t){i, 0}),
                   "node 'x' is a Placeholder, not a While, so it has no variables to add", 2);
  hr_graph_destroy(other);
  hr_graph_destroy(g);
}

HR_TEST_MAIN()
