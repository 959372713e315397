/* SPDX-License-Identifier: Apache-2.0 */
/* Functions becoming nodes: each way to name a value, attrs that follow the call, where control edges go, loops, and what is refused. */
#define HR_TEST_LEAKS_CHECKED
#include "unit/graph/graph_text.h"

#include "graph/function_body.h"
#include "graph/validate.h"
#include "op/attr_value.h"
#include "op/infer_fns.h"

#define ARG(name, type)       "input_arg { name: '" name "' " type " } "
#define OUT(name, type)       "output_arg { name: '" name "' " type " } "
#define FLOAT                 "type: DT_FLOAT"
#define RET(key, value)       "ret { key: '" key "' value: '" value "' } "
#define DONE(key, value)      "control_ret { key: '" key "' value: '" value "' } "
#define FUNC(signature, body) "signature { name: 'f' " signature "} " body
#define ID(name, from)        INNER(OP(name, "Identity") IN(from) F32)
#define X_TO_Y                ARG("x", FLOAT) OUT("y", FLOAT)
#define CONST_F32(name, more) \
  OP(name, "Const") TYPE("dtype", "DT_FLOAT") ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 }") more

/* A list of outputs that is followed by another output, and one of no values. */
static const hr_op_t op_lists = {.name = "TestLists",
                                 .sig = "-> one: float; many: N * float; none: M * float; last: int32",
                                 .attrs = "N: int >= 0 = 2; M: int >= 0 = 0",
                                 .doc = "",
                                 HR_HERE,
                                 .shape = hr_infer_any};

/* Where the bodies go: values of several types and a node to wait for. */
static hr_graph_t* surroundings(void) {
  static bool registered;
  if (!registered) HR_CHECK_OK(hr_registry_add(&op_lists));
  registered = true;
  return text_graph(NODE(OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT")) NODE(OP("y", "Placeholder") TYPE("dtype", "DT_FLOAT"))
                        NODE(OP("i", "Placeholder") TYPE("dtype", "DT_INT32")) NODE(OP("b", "Placeholder") TYPE("dtype", "DT_BOOL"))
                            NODE(OP("start", "NoOp")) NODE(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")));
}

typedef struct {
  hr_graph_t* g;
  hr_arena_t arena;
  hr_function_body_t body;
  hr_value_t inputs[8];
  hr_function_body_request_t r;
} world_t;

static void world_open(world_t* w, const char* function, const char* inputs) {
  hr_function_t* f = NULL;
  hr_str_t rest = hr_str(inputs), name;
  memset(w, 0, sizeof *w);
  w->g = surroundings();
  hr_arena_init(&w->arena);
  hr_writer_t bytes = text_bytes("FunctionDef", function);
  HR_CHECK_OK(hr_function_add(w->g, bytes.data, bytes.size, &f));
  hr_strbuf_deinit(&bytes);
  w->r = (hr_function_body_request_t){.function = f, .inputs = w->inputs, .prefix = HR_STR("p")};
  while (rest.size && hr_str_split(&rest, ' ', &name)) w->inputs[w->r.input_count++].node = hr_graph_find(w->g, name);
}

static void world_close(world_t* w) {
  hr_arena_deinit(&w->arena);
  hr_graph_destroy(w->g);
}

/* "nodes | outputs | controls" */
static void body_text(const hr_function_body_t* body, hr_strbuf_t* out) {
  text_of_nodes(body->nodes, body->node_count, out);
  hr_strbuf_format(out, "|");
  for (int32_t i = 0; i < body->output_count; ++i)
    hr_strbuf_format(out, " %s:%d", body->outputs[i].node->name.data, (int)body->outputs[i].index);
  hr_strbuf_format(out, " |");
  for (int32_t i = 0; i < body->control_count; ++i) hr_strbuf_format(out, " %s", body->controls[i]->name.data);
}

static void world_expand(world_t* w, const char* want, int row) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t status = hr_function_body_add(w->g, &w->r, &w->arena, &w->body);
  if (status)
    hr_strbuf_format(&text, "%s", hr_status_message(status));
  else
    body_text(&w->body, &text);
  text_check(&text, want, row);
  hr_strbuf_deinit(&text);
  if (!status) HR_CHECK_OK(hr_graph_validate(w->g));
  hr_status_release(status);
}

typedef struct {
  const char *function, *inputs, *want;
} row_t;

static void check_rows(const row_t* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    world_t w;
    world_open(&w, rows[i].function, rows[i].inputs);
    world_expand(&w, rows[i].want, (int)i);
    world_close(&w);
  }
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

HR_TEST(bodies_become_nodes_producers_first) {
  const row_t rows[] = {
      {FUNC("", ""), "", "| |"},
      {FUNC(X_TO_Y, RET("y", "x")), "x", "| x:0 |"},
      {FUNC(X_TO_Y, RET("y", "x:0")), "x", "| x:0 |"},
      {FUNC(X_TO_Y, ID("a", "x") RET("y", "a:output:0")), "y", "p/a=Identity(y:0) | p/a:0 |"},
      /* written backwards */
      {FUNC(X_TO_Y, ID("c", "b:output:0") ID("b", "a:output") ID("a", "x") RET("y", "c:output") DONE("z", "a") DONE("k", "c")), "x",
       "p/a=Identity(x:0) p/b=Identity(p/a:0) p/c=Identity(p/b:0) | p/c:0 | p/a p/c"},
      /* two that need one, control edges among them; an argument is nothing to wait for */
      {FUNC(X_TO_Y, INNER(OP("s", "Add") IN("a:output:0") IN("b:output:0") IN("^n") IN("^x") F32) ID("a", "x") ID("b", "x")
                        INNER(OP("n", "NoOp") IN("^b") IN("^a")) RET("y", "s:z:0") DONE("n", "n")),
       "x", "p/a=Identity(x:0) p/b=Identity(x:0) p/n=NoOp(^p/b,^p/a) p/s=Add(p/a:0,p/b:0,^p/n) | p/s:0 | p/n"},
      /* outputs in the signature's order; of two of one key the last */
      {FUNC(ARG("x", FLOAT) ARG("i", "type: DT_INT32") OUT("a", "type: DT_INT32") OUT("b", FLOAT),
            RET("b", "i") RET("b", "x") RET("a", "i")),
       "x i", "| i:0 x:0 |"},
      /* a reference serves as a value */
      {FUNC(X_TO_Y, ID("a", "x") RET("y", "a:output:0")), "v", "p/a=Identity(v:0) | p/a:0 |"},
  };
  CHECK_ROWS(rows);
}

#define LISTS      INNER(OP("l", "TestLists"))
#define SUM(names) INNER(OP("s", "AddN") names F32 ATTR("N", "i: " SUM_N))
#define USE(from)  FUNC(OUT("y", FLOAT), LISTS ID("u", from) RET("y", "u:output:0"))
#define L_TEXT     "p/l=TestLists() "

HR_TEST(values_of_a_node_have_names_and_numbers) {
  const row_t rows[] = {
      {USE("l:one:0"), "", L_TEXT "p/u=Identity(p/l:0) | p/u:0 |"},
      {USE("l"), "", L_TEXT "p/u=Identity(p/l:0) | p/u:0 |"},
      {USE("l:one"), "", L_TEXT "p/u=Identity(p/l:0) | p/u:0 |"},
      {USE("l:many:0"), "", L_TEXT "p/u=Identity(p/l:1) | p/u:0 |"},
      {USE("l:many:1"), "", L_TEXT "p/u=Identity(p/l:2) | p/u:0 |"},
      {USE("l:0"), "", L_TEXT "p/u=Identity(p/l:0) | p/u:0 |"},
      {USE("l:2"), "", L_TEXT "p/u=Identity(p/l:2) | p/u:0 |"},
      {USE("l:one:1"), "", "function 'f': 'l:one:1' is no output of that node or argument"},
      {USE("l:one:-1"), "", "function 'f': 'l:one:-1' is no output of that node or argument"},
      {USE("l:one:x"), "", "function 'f': 'l:one:x' is no output of that node or argument"},
      {USE("l:many:2"), "", "function 'f': 'l:many:2' is no output of that node or argument"},
      {USE("l:none:0"), "", "function 'f': 'l:none:0' is no output of that node or argument"},
      {USE("l:4"), "", "function 'f': 'l:4' is no output of that node or argument"},
      {USE("l:-1"), "", "function 'f': 'l:-1' is no output of that node or argument"},
      {USE("l:two"), "", "function 'f': 'l:two' is no output of that node or argument"},
      {USE("l:two:0"), "", "function 'f': 'l:two:0' is no output of that node or argument"},
      {USE("l:1:0"), "", "function 'f': 'l:1:0' is no output of that node or argument"},
      {FUNC(OUT("y", FLOAT), INNER(OP("n", "NoOp")) RET("y", "n")), "", "function 'f': 'n:' is no output of that node or argument"},
      /* a list without a number is all of it; behind it the numbers go on */
      {FUNC(OUT("y", "type_list_attr: 'Ts'") "attr { name: 'Ts' type: 'list(type)' default_value { list { type: [DT_FLOAT, DT_FLOAT] } } }",
            LISTS RET("y", "l:many")),
       "", L_TEXT "| p/l:1 p/l:2 |"},
      {FUNC(OUT("y", "type: DT_INT32"), LISTS RET("y", "l:last:0")), "", L_TEXT "| p/l:3 |"},
      {FUNC(OUT("y", "type: DT_INT32"), LISTS RET("y", "l:3")), "", L_TEXT "| p/l:3 |"},
      {FUNC(OUT("y", FLOAT), LISTS INNER(OP("s", "AddN") IN("l:many") IN("l:one") IN("l:none") F32 ATTR("N", "i: 3")) RET("y", "s:sum:0")),
       "", L_TEXT "p/s=AddN(p/l:1,p/l:2,p/l:0) | p/s:0 |"},
  };
  CHECK_ROWS(rows);
}

#define LIST_ARG \
  ARG("a", FLOAT) ARG("xs", "type: DT_FLOAT number_attr: 'N'") ARG("z", FLOAT) "attr { name: 'N' type: 'int' default_value { i: 2 } } "
#define OF_LIST(value) FUNC(LIST_ARG OUT("y", FLOAT), RET("y", value))

HR_TEST(arguments_may_be_lists) {
  const row_t rows[] = {
      {OF_LIST("a"), "x y v x", "| x:0 |"},
      {OF_LIST("xs:0"), "x y v x", "| y:0 |"},
      {OF_LIST("xs:1"), "x y v x", "| v:0 |"},
      {OF_LIST("z"), "x x x v", "| v:0 |"},
      {OF_LIST("z:0"), "x x x v", "| v:0 |"},
      {OF_LIST("a:1"), "x y v x", "function 'f': 'a:1' is no output of that node or argument"},
      {OF_LIST("xs:2"), "x y v x", "function 'f': 'xs:2' is no output of that node or argument"},
      {OF_LIST("xs:-1"), "x y v x", "function 'f': 'xs:-1' is no output of that node or argument"},
      {OF_LIST("xs:q"), "x y v x", "function 'f': 'xs:q' is no output of that node or argument"},
      {OF_LIST("xs"), "x y v x", "function 'f': ret gives 2 values but the signature has 1 outputs"},
      {OF_LIST("a"), "x y v", "function 'f': 3 inputs are given but the function has at least 4 arguments"},
      {OF_LIST("a"), "x y v x x", "function 'f': 5 inputs are given but the function has 4 arguments"},
      {OF_LIST("a"), "x x", "function 'f': 2 inputs are given but the function has at least 3 arguments"},
      {OF_LIST("a"), "", "function 'f': 0 inputs are given but the function has at least 1 arguments"},
      {OF_LIST("a"), "i y v x", "function 'f': input 0 is int32 but the function's argument is float"},
      {OF_LIST("a"), "x y i x", "function 'f': input 2 is int32 but the function's argument is float"},
      {OF_LIST("a"), "x y x b", "function 'f': input 3 is bool but the function's argument is float"},
      {FUNC(LIST_ARG OUT("y", FLOAT), INNER(OP("s", "AddN") IN("xs") IN("z") F32 ATTR("N", "i: 3")) RET("y", "s:sum")), "x y v x",
       "p/s=AddN(y:0,v:0,x:0) | p/s:0 |"},
  };
  CHECK_ROWS(rows);
}

HR_TEST(bodies_that_do_not_hold_together_are_refused) {
  const row_t rows[] = {
      {FUNC(X_TO_Y, ID("a", "q") RET("y", "a:output:0")), "x", "function 'f': input 'q' is neither a node nor an argument of the function"},
      {FUNC(X_TO_Y, ID("a", "") RET("y", "a:output:0")), "x", "function 'f': input '' is neither a node nor an argument of the function"},
      {FUNC(X_TO_Y, ID("a", "^") RET("y", "a:output:0")), "x", "function 'f': input '' is neither a node nor an argument of the function"},
      {FUNC(X_TO_Y, ID("a", ":0") RET("y", "a:output:0")), "x", "function 'f': input '' is neither a node nor an argument of the function"},
      {FUNC(X_TO_Y, ID("a", "x") ID("a", "x")), "x", "function 'f': two nodes are named 'a'"},
      {FUNC(X_TO_Y, ID("a", "a:output:0") RET("y", "x")), "x", "function 'f': node 'a' is on a cycle that no NextIteration closes"},
      {FUNC(X_TO_Y, ID("a", "b:output:0") ID("b", "a:output:0") RET("y", "x")), "x",
       "function 'f': node 'a' is on a cycle that no NextIteration closes"},
      {FUNC(X_TO_Y, ID("a", "x")), "x", "function 'f': output 'y' is not in the function's ret"},
      {FUNC(X_TO_Y, RET("y", "q:0")), "x", "function 'f': output 'y' is 'q:0', which the function does not have"},
      {FUNC(ARG("x", FLOAT) OUT("y", "type: DT_INT32"), RET("y", "x")), "x",
       "function 'f': output 0 is float but the signature says int32"},
      {FUNC(ARG("x", FLOAT) OUT("y", FLOAT) OUT("z", "type: DT_BOOL"), RET("y", "x") RET("z", "x")), "x",
       "function 'f': output 1 is float but the signature says bool"},
      {FUNC(X_TO_Y, RET("y", "x") DONE("k", "q")), "x", "function 'f': control output 'k' is 'q', which the function does not have"},
      {FUNC(X_TO_Y, INNER(OP("a", "Nope")) RET("y", "x")), "x", "function 'f': node 'p/a' (Nope): op type not registered 'Nope'"},
      {FUNC(X_TO_Y "attr { name: 'T' type: 'type' } ", RET("y", "x")), "x", "function 'f': attr 'T' of the function is not given"},
      {FUNC(X_TO_Y, INNER(OP("a", "Identity") IN("x") TYPE("T", "DT_INT32")) RET("y", "x")), "x",
       "function 'f': node 'p/a' (Identity): input 0 input is float (from 'x:0') but int32 is expected"},
      {FUNC(X_TO_Y, INNER(OP("a", "Identity") IN("x") ATTR("T", "placeholder: 'U'")) RET("y", "x")), "x",
       "function 'f': the function's attr 'U' has no value"},
  };
  CHECK_ROWS(rows);
}

#define LOOP(merge, next, inputs)                                                                                                 \
  FUNC(X_TO_Y, INNER(OP("m", merge) inputs F32 ATTR("N", "i: 2")) INNER(OP("n", next) IN("a:output:0") F32) ID("a", "m:output:0") \
                   RET("y", "a:output:0"))

HR_TEST(loops_are_closed_at_their_merge) {
  const row_t rows[] = {
      {LOOP("Merge", "NextIteration", IN("x") IN("n:output:0")), "x",
       "p/m=Merge(x:0,p/n:0) p/a=Identity(p/m:0) p/n=NextIteration(p/a:0) | p/a:0 |"},
      {LOOP("Merge", "NextIteration", IN("n:output:0") IN("x")), "x",
       "p/m=Merge(p/n:0,x:0) p/a=Identity(p/m:0) p/n=NextIteration(p/a:0) | p/a:0 |"},
      {LOOP("Merge", "NextIteration", IN("n") IN("n:output")), "x",
       "p/m=Merge(p/n:0,p/n:0) p/a=Identity(p/m:0) p/n=NextIteration(p/a:0) | p/a:0 |"},
      /* a control edge is no back edge, nor is any other node's output */
      {LOOP("Merge", "NextIteration", IN("x") IN("x") IN("^n")), "x", "function 'f': node 'm' is on a cycle that no NextIteration closes"},
      {LOOP("Merge", "Identity", IN("x") IN("n:output:0")), "x", "function 'f': node 'm' is on a cycle that no NextIteration closes"},
      {LOOP("AddN", "NextIteration", IN("x") IN("n:output:0")), "x", "function 'f': node 'm' is on a cycle that no NextIteration closes"},
      {LOOP("Merge", "NextIteration", IN("x") IN("n:output:1")), "x", "function 'f': 'n:output:1' is no output of that node or argument"},
      /* a list before the back edge takes as many places as it has values */
      {FUNC(X_TO_Y, INNER(OP("m", "Merge") IN("l:many") IN("^k") IN("n:output:0") F32 ATTR("N", "i: 3")) LISTS INNER(OP("k", "NoOp"))
                        INNER(OP("n", "NextIteration") IN("m:output:0") F32) RET("y", "m:output:0")),
       "x", "p/l=TestLists() p/k=NoOp() p/m=Merge(p/l:1,p/l:2,p/n:0,^p/k) p/n=NextIteration(p/m:0) | p/m:0 |"},
      /* a merge of a branch has no back edge */
      {FUNC(X_TO_Y, INNER(OP("m", "Merge") IN("x") IN("a:output:0") F32 ATTR("N", "i: 2")) ID("a", "x") RET("y", "m:output:0")), "x",
       "p/a=Identity(x:0) p/m=Merge(x:0,p/a:0) | p/m:0 |"},
  };
  CHECK_ROWS(rows);
}

#define REF_FRAME(enter, merge, next, exit)                                                                                              \
  FUNC(ARG("x", "type: DT_FLOAT") OUT("y", FLOAT), INNER(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}"))      \
                                                       INNER(OP("e", enter) IN("v:ref:0") F32 ATTR("frame_name", "s: 'frame'"))          \
                                                           INNER(OP("m", merge) IN("e:output:0") IN("n:output:0") F32 ATTR("N", "i: 2")) \
                                                               INNER(OP("n", next) IN("m:output:0") F32) RET("y", "m:output:0"))

HR_TEST(loops_of_references_close_too_and_frames_get_new_names) {
  const row_t rows[] = {
      {REF_FRAME("RefEnter", "RefMerge", "RefNextIteration", ""), "x",
       "p/v=VariableV2() p/e=RefEnter(p/v:0) p/m=RefMerge(p/e:0,p/n:0) p/n=RefNextIteration(p/m:0) | p/m:0 |"},
      {REF_FRAME("Enter", "Merge", "NextIteration", ""), "x",
       "p/v=VariableV2() p/e=Enter(p/v:0) p/m=Merge(p/e:0,p/n:0) p/n=NextIteration(p/m:0) | p/m:0 |"},
  };
  for (int i = 0; i < 2; ++i) {
    world_t w;
    world_open(&w, rows[i].function, rows[i].inputs);
    world_expand(&w, rows[i].want, i);
    if (w.body.node_count == 4) HR_CHECK_VIEW(hr_attrs_str(&w.body.nodes[1]->attrs, "frame_name"), "p/frame");
    world_close(&w);
  }
}

/* --- attrs --------------------------------------------------------------------------------------------------------------------------- */
#define GENERIC                                                                                 \
  FUNC(                                                                                         \
      "input_arg { name: 'x' type_attr: 'T' } output_arg { name: 'y' type_attr: 'T' } "         \
      "attr { name: 'T' type: 'type' } attr { name: 'k' type: 'int' default_value { i: 4 } } ", \
      INNER(OP("a", "Identity") IN("x") ATTR("T", "placeholder: 'T'") ATTR("_k", "placeholder: 'k'")) RET("y", "a:output:0"))

HR_TEST(attrs_of_the_call_go_into_the_body) {
  static const hr_dtype_t types[] = {HR_I32, HR_F32, HR_I32};
  const hr_named_attr_t given[] = {hr_at_type("T", HR_I32), hr_at_int("k", 9), hr_at_int("unknown", 1)};
  for (int count = 0; count <= 3; ++count) {
    world_t w;
    int32_t* list = NULL;
    int list_count = 0;
    world_open(&w, GENERIC, "i");
    w.r.attrs = given;
    w.r.attr_count = count;
    if (!count) {
      world_expand(&w, "function 'f': attr 'T' of the function is not given", count);
      HR_CHECK_CODE(hr_function_types(w.r.function, given, count, true, &w.arena, &list, &list_count), HR_INVALID_ARGUMENT,
                    "attr 'T' of the function is not given");
    } else {
      world_expand(&w, "p/a=Identity(i:0) | p/a:0 |", count);
      HR_REQUIRE(w.body.node_count == 1);
      HR_CHECK_EQ_I64(hr_attrs_int(&w.body.nodes[0]->attrs, "_k"), count == 1 ? 4 : 9);
      HR_CHECK_OK(hr_function_types(w.r.function, given, count, count & 1, &w.arena, &list, &list_count));
      HR_CHECK(list_count == 1 && list[0] == (int32_t)types[0]);
    }
    world_close(&w);
  }
  world_t w;
  const hr_named_attr_t wrong[] = {hr_at_type("T", HR_I32), hr_at_str("k", "text")};
  world_open(&w, GENERIC, "i");
  w.r.attrs = wrong;
  w.r.attr_count = 2;
  hr_status_t status = hr_function_body_add(w.g, &w.r, &w.arena, &w.body);
  HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "attr 'k'");
  world_close(&w);
}

HR_TEST(types_of_arguments_and_outputs) {
  world_t w;
  int32_t* types = NULL;
  int count = 0;
  world_open(&w, FUNC(LIST_ARG OUT("y", "type: DT_INT32") OUT("z", "type: DT_BOOL"), ""), "");
  HR_CHECK_OK(hr_function_types(w.r.function, NULL, 0, false, &w.arena, &types, &count));
  HR_CHECK(count == 4 && types[0] == HR_F32 && types[3] == HR_F32);
  HR_CHECK_OK(hr_function_types(w.r.function, NULL, 0, true, &w.arena, &types, &count));
  HR_CHECK(count == 2 && types[0] == HR_I32 && types[1] == HR_BOOL);
  world_close(&w);
}

#define HOLDER(attr)                                                                                                                       \
  FUNC(X_TO_Y                                                                                                                              \
       "attr { name: 'k' type: 'int' default_value { i: 4 } } attr { name: 'g' type: 'func' default_value { func { name: 'from_call' } } " \
       "} ",                                                                                                                               \
       INNER(OP("a", "Identity") IN("x") F32 attr) RET("y", "a:output:0"))

/* The printed value of attr "_h" of a body's only node. */
static void check_held(const char* attr_text, const char* want, int row) {
  world_t w;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  world_open(&w, attr_text, "x");
  world_expand(&w, "p/a=Identity(x:0) | p/a:0 |", row);
  const hr_attr_t* held = w.body.node_count ? hr_attrs_find(&w.body.nodes[0]->attrs, "_h") : NULL;
  if (HR_CHECK(held)) {
    hr_writer_t bytes;
    hr_strbuf_init(&bytes);
    HR_CHECK_OK(hr_attr_value_encode(held, &bytes));
    HR_CHECK_OK(hr_text_format(hr_messages_find(HR_STR("AttrValue")), bytes.data, bytes.size, &text));
    hr_strbuf_deinit(&bytes);
    for (size_t i = 0; i < text.size; ++i) /* one line */
      if (text.data[i] == '\n') text.data[i] = ' ';
    text_check(&text, want, row);
  }
  hr_strbuf_deinit(&text);
  world_close(&w);
}

HR_TEST(functions_given_as_attrs_take_the_values_too) {
#define K_OF(holder)   "attr { key: 'k' value { " holder " } } "
#define BOUND(name, k) "func {   name: \"" name "\"   attr {     key: \"k\"     value {       i: " k "     }   } } "
  static const struct {
    const char *function, *want;
  } rows[] = {
      {HOLDER(ATTR("_h", "func { name: 'h' }")), "func {   name: \"h\" } "},
      {HOLDER(ATTR("_h", "func { name: 'h' " K_OF("i: 7") " }")), BOUND("h", "7")},
      {HOLDER(ATTR("_h", "func { name: 'h' " K_OF("placeholder: 'k'") " }")), BOUND("h", "4")},
      {HOLDER(ATTR("_h", "placeholder: 'g'")), "func {   name: \"from_call\" } "},
      {HOLDER(ATTR("_h", "list { func { name: 'a' } func { name: 'b' } }")),
       "list {   func {     name: \"a\"   }   func {     name: \"b\"   } } "},
      {HOLDER(ATTR("_h", "list { func { name: 'a' } func { name: 'b' " K_OF("placeholder: 'k'") " } func { name: 'c' } }")),
       "list {   func {     name: \"a\"   }   func {     name: \"b\"     attr {       key: \"k\"       value {         i: 4       }     }  "
       " }   func {     name: \"c\"   } } "},
      {HOLDER(ATTR("_h", "func { name: 'h' " K_OF(
                             "func { name: 'deep' " K_OF("placeholder: 'k'") " }") " attr { key: 'z' value { placeholder: 'k' } } }")),
       "func {   name: \"h\"   attr {     key: \"k\"     value {       func {         name: \"deep\"         attr {           key: \"k\"   "
       "        value {             i: 4           }         }       }     }   }   attr {     key: \"z\"     value {       i: 4     }   } "
       "} "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) check_held(rows[i].function, rows[i].want, (int)i);
}

HR_TEST(places_follow_the_nodes_to_their_new_names) {
  static const char* const want[] = {"loc:@p/c", "loc:@p/later", "loc:@elsewhere", "c", "loc:@p/c"};
  world_t w;
  world_open(&w,
             FUNC(X_TO_Y,
                  INNER(CONST_F32("c", "")) INNER(OP("a", "Identity") IN("x") IN("^c") F32 ATTR(
                      "_class", "list { s: ['loc:@c', 'loc:@later', 'loc:@elsewhere', 'c', 'loc:@c'] }") ATTR("_c", "list { s: 'loc:@c' }"))
                      ID("later", "a:output:0") INNER(OP("o", "NoOp") ATTR("_class", "s: 'loc:@c'")) RET("y", "later:output:0")),
             "x");
  world_expand(&w, "p/c=Const() p/a=Identity(x:0,^p/c) p/later=Identity(p/a:0) p/o=NoOp() | p/later:0 |", 0);
  HR_REQUIRE(w.body.node_count == 4);
  int count = 0;
  const hr_str_t* places = hr_attrs_strs(&w.body.nodes[1]->attrs, "_class", &count);
  HR_REQUIRE(count == 5);
  for (int i = 0; i < 5; ++i) {
    HR_CHECK_VIEW(places[i], want[i]);
    HR_CHECK_EQ_I64(places[i].data[places[i].size], 0);
  }
  HR_CHECK_VIEW(hr_attrs_strs(&w.body.nodes[1]->attrs, "_c", &count)[0], "loc:@c"); /* another attr means something else */
  HR_CHECK_VIEW(hr_attrs_str(&w.body.nodes[3]->attrs, "_class"), "loc:@c");         /* nor is it a list */
  world_close(&w);
}

/* --- names, devices, control edges ---------------------------------------------------------------------------------------------------- */
#define FOUR                                                                                                                     \
  FUNC(X_TO_Y, INNER(CONST_F32("c", "")) INNER(CONST_F32("k", IN("^n"))) INNER(OP("n", "NoOp") "device: '/gpu:0' ") ID("a", "x") \
                   INNER(OP("s", "Add") IN("c:output:0") IN("x") F32) ID("t", "a:output:0") RET("y", "t:output:0"))

HR_TEST(who_waits_for_the_start_and_which_device_is_asked_for) {
  for (int mode = 0; mode < 3; ++mode) {
    static const char* const want[] = {
        /* no start */
        "p/c=Const()@/cpu:0 p/n=NoOp()@/gpu:0 p/k=Const(^p/n)@/cpu:0 p/a=Identity(x:0)@/cpu:0 p/s=Add(p/c:0,x:0)@/cpu:0 "
        "p/t=Identity(p/a:0)@/cpu:0 | p/t:0 |",
        /* constants do not wait, so what reads nothing else waits itself */
        "p/c=Const() p/n=NoOp(^start)@/gpu:0 p/k=Const(^p/n) p/a=Identity(x:0,^start) p/s=Add(p/c:0,x:0,^start) p/t=Identity(p/a:0) | "
        "p/t:0 |",
        /* constants wait */
        "p/c=Const(^start) p/n=NoOp(^start)@/gpu:0 p/k=Const(^p/n) p/a=Identity(x:0,^start) p/s=Add(p/c:0,x:0) p/t=Identity(p/a:0) | p/t:0 "
        "|"};
    world_t w;
    world_open(&w, FOUR, "x");
    if (mode == 0) w.r.device = HR_STR("/cpu:0");
    if (mode > 0) w.r.start = hr_graph_find(w.g, HR_STR("start"));
    w.r.start_constants = mode == 2;
    world_expand(&w, want[mode], mode);
    world_close(&w);
  }
}

HR_TEST(names_become_unique_and_may_have_no_prefix) {
  world_t w;
  world_open(&w, FUNC(X_TO_Y, ID("a", "x") ID("x", "a:output:0") RET("y", "a:output:0")), "x");
  world_expand(&w, "p/a=Identity(x:0) p/x=Identity(p/a:0) | p/a:0 |", 0);
  world_expand(&w, "p/a_1=Identity(x:0) p/x_1=Identity(p/a_1:0) | p/a_1:0 |", 1);
  w.r.prefix = HR_STR("");
  world_expand(&w, "a=Identity(x:0) x_1=Identity(a:0) | a:0 |", 2);
  world_close(&w);
}

HR_TEST(what_may_differ_from_run_to_run_knows_its_twin) {
  for (int twin = 0; twin < 2; ++twin) {
    world_t w;
    world_open(&w,
               FUNC(OUT("y", FLOAT), INNER(OP("v", "VariableV2") TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape {}")) ID("a", "v:ref:0")
                                         RET("y", "a:output:0")),
               "");
    if (twin) w.r.twin = HR_STR("call");
    world_expand(&w, "p/v=VariableV2() p/a=Identity(p/v:0) | p/a:0 |", twin);
    HR_REQUIRE(w.body.node_count == 2);
    HR_CHECK(!hr_attrs_find(&w.body.nodes[1]->attrs, "_forward_twin"));
    HR_CHECK((hr_attrs_find(&w.body.nodes[0]->attrs, "_forward_twin") != NULL) == (twin == 1));
    if (twin) HR_CHECK_VIEW(hr_attrs_str(&w.body.nodes[0]->attrs, "_forward_twin"), "call/v");
    world_close(&w);
  }
  world_t w;
  world_open(&w, FUNC("", INNER(OP("a", "Nope"))), "");
  w.r.twin = HR_STR("call");
  world_expand(&w, "function 'f': node 'p/a' (Nope): op type not registered 'Nope'", 2);
  world_close(&w);
}

static hr_writer_t fault_graph, fault_function;
static hr_status_t expand_once(void) {
  hr_graph_t* g = NULL;
  hr_function_t* f = NULL;
  hr_arena_t arena;
  hr_function_body_t body;
  hr_arena_init(&arena);
  HR_TRY(hr_graph_create(&g));
  hr_status_t status = hr_import_graph_def(g, fault_graph.data, fault_graph.size, NULL, NULL);
  if (!status) status = hr_function_add(g, fault_function.data, fault_function.size, &f);
  if (!status) {
    hr_value_t x = {hr_graph_find(g, HR_STR("x")), 0};
    hr_function_body_request_t r = {.function = f, .inputs = &x, .input_count = 1, .prefix = HR_STR("p"), .twin = HR_STR("t")};
    r.start = hr_graph_find(g, HR_STR("start"));
    status = hr_function_body_add(g, &r, &arena, &body);
  }
  hr_arena_deinit(&arena);
  hr_graph_destroy(g);
  return status;
}

HR_TEST(every_allocation_may_fail) {
  fault_graph = text_bytes("GraphDef", NODE(OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT")) NODE(OP("start", "NoOp")));
  fault_function = text_bytes("FunctionDef", FOUR);
  HR_TEST_EVERY_ALLOCATION_FAILS(expand_once);
  hr_strbuf_deinit(&fault_graph);
  hr_strbuf_deinit(&fault_function);
}

HR_TEST_MAIN()
