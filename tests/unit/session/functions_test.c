/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in sessions: calls in all forms, what runs and when, recursion, branches and loops with and without their dataflow form, bodies
 * that do not hold together. Graphs are GraphDefs in text form. */
#define HR_TEST_LEAKS_CHECKED
#include "base/thread.h"
#include "graph/function.h"
#include "graph/grad.h"
#include "graph/import.h"
#include "graph/validate.h"
#include "rt/variable.h"
#include "session/pipeline.h"
#include "session/session.h"
#include "unit/exec/maker.h"
#include "wire/text.h"

/* --- texts --------------------------------------------------------------------------------------------------------------------------- */
#define OP(name, op)     "name: '" name "' op: '" op "' "
#define IN(x)            "input: '" x "' "
#define TYPE(key, t)     "attr { key: '" key "' value { type: " t " } } "
#define TYPES(key, list) "attr { key: '" key "' value { list { " list " } } } "
#define F32              "type: DT_FLOAT "
#define T                TYPE("T", "DT_FLOAT")
#define FUNC(key, f)     "attr { key: '" key "' value { func { name: '" f "' } } } "
#define CALL(f, in, out) FUNC("f", f) TYPES("Tin", in) TYPES("Tout", out)
#define IF(then_f, else_f, cond, in, out) \
  FUNC("then_branch", then_f) FUNC("else_branch", else_f) TYPE("Tcond", cond) TYPES("Tin", in) TYPES("Tout", out)
#define CONST(v) \
  TYPE("dtype", "DT_FLOAT") "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: " v " } } } "
#define INNER(text)                "node_def { " text "} "
#define NODE(text)                 "node { " text "} "
#define ARG(name)                  "input_arg { name: '" name "' type: DT_FLOAT } "
#define ARG_R(name)                "input_arg { name: '" name "' type: DT_RESOURCE } "
#define OUT(name)                  "output_arg { name: '" name "' type: DT_FLOAT } "
#define RET(name, v)               "ret { key: '" name "' value: '" v "' } "
#define FUNCTION(name, args, body) "function { signature { name: '" name "' " args "} " body "} "
#define LIBRARY(functions)         "library { " functions "} versions { producer: 1395 } "
#define X                          NODE(OP("x", "Placeholder") TYPE("dtype", "DT_FLOAT"))
#define VARIABLE                                                                                                          \
  NODE(OP("v", "VarHandleOp") TYPE("dtype", "DT_FLOAT") "attr { key: 'shape' value { shape {} } } "                     \
                                                        "attr { key: 'shared_name' value { s: 'v' } } ") \
  NODE(OP("zero", "Const") CONST("0"))                                                                                    \
  NODE(OP("init", "AssignVariableOp") IN("v") IN("zero") TYPE("dtype", "DT_FLOAT"))                                       \
  NODE(OP("read", "ReadVariableOp") IN("v") TYPE("dtype", "DT_FLOAT"))

/* --- one graph and its session ---------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_graph_t* g;
  hr_session_t* s;
} world_t;

static hr_status_t world_import(world_t* w, const char* text) {
  hr_writer_t bytes;
  hr_strbuf_init(&bytes);
  hr_status_t status = hr_text_parse(hr_messages_find(HR_STR("GraphDef")), hr_str(text), &bytes);
  if (!status) status = hr_import_graph_def(w->g, bytes.data, bytes.size, NULL, NULL);
  hr_strbuf_deinit(&bytes);
  return status;
}

static world_t world_open(const char* text) {
  world_t w = {.g = maker_graph()};
  maker_must(world_import(&w, text), "a graph of text");
  maker_must(hr_session_create(w.g, NULL, &w.s), "a session");
  return w;
}
static void world_close(world_t* w) {
  if (w->s) hr_session_destroy(w->s);
  hr_graph_destroy(w->g);
}

static hr_value_t world_value(const world_t* w, const char* name) { return (hr_value_t){hr_graph_find(w->g, hr_str(name)), 0}; }

/* Feeds x when there is one. */
static hr_status_t world_run(world_t* w, const char* fetch, int index, float x, float* out) {
  hr_value_t feed = world_value(w, "x"), want = world_value(w, fetch);
  hr_tensor_t value = maker_f32(x), got = {0};
  want.index = index;
  hr_run_t run = {.feeds = &feed, .feed_values = &value, .feed_count = feed.node ? 1 : 0, .fetches = &want, .fetch_count = 1};
  hr_run_options_t options = {.timeout_ms = 2000};
  hr_status_t status = hr_session_run(w->s, &options, &run, &got, NULL, NULL);
  if (!status) *out = maker_get(&got);
  hr_tensor_release(&got);
  hr_tensor_release(&value);
  return status;
}
static float world_get(world_t* w, const char* fetch, int index, float x) {
  float out = NAN;
  HR_CHECK_OK(world_run(w, fetch, index, x, &out));
  return out;
}
static void world_target(world_t* w, const char* name, float x) {
  hr_value_t feed = world_value(w, "x");
  hr_node_t* n = world_value(w, name).node;
  hr_tensor_t value = maker_f32(x);
  hr_run_t run = {.feeds = &feed, .feed_values = &value, .feed_count = feed.node ? 1 : 0, .targets = &n, .target_count = 1};
  HR_CHECK_OK(hr_session_run(w->s, NULL, &run, NULL, NULL, NULL));
  hr_tensor_release(&value);
}

/* --- calls --------------------------------------------------------------------------------------------------------------------------- */
#define TWICE FUNCTION("Twice", ARG("a") OUT("y"), INNER(OP("add", "AddV2") IN("a") IN("a") T) RET("y", "add:z:0"))
#define SWAP  FUNCTION("Swap", ARG("a") ARG("b") OUT("p") OUT("q"), RET("p", "b") RET("q", "a"))
#define FOUR                                                                                                                       \
  FUNCTION("Four", ARG("a") OUT("y"),                                                                                              \
           INNER(OP("once", "Twice") IN("a")) INNER(OP("again", "StatefulPartitionedCall") IN("once:y:0") CALL("Twice", F32, F32)) \
               RET("y", "again:output:0"))

HR_TEST(calls_by_op_and_by_name_nested_and_twice) {
  world_t w = world_open(X NODE(OP("one", "Const") CONST("1")) NODE(OP("four", "Four") IN("x")) NODE(OP(
      "eight", "PartitionedCall") IN("four") CALL("Twice", F32, F32)) NODE(OP("swap", "Swap") IN("x") IN("one")) LIBRARY(TWICE SWAP FOUR));
  HR_CHECK_EQ_F64(world_get(&w, "eight", 0, 3), 24);
  HR_CHECK_EQ_F64(world_get(&w, "four", 0, 3), 12);
  HR_CHECK_EQ_F64(world_get(&w, "swap", 0, 3), 1);
  HR_CHECK_EQ_F64(world_get(&w, "swap", 1, 3), 3);
  world_close(&w);
}

#define GENERAL                                                                                                                          \
  FUNCTION("General",                                                                                                                    \
           "input_arg { name: 'a' type_attr: 'T' number_attr: 'N' } output_arg { name: 'y' type_attr: 'T' } "                            \
           "attr { name: 'T' type: 'type' } attr { name: 'N' type: 'int' has_minimum: true minimum: 1 } ",                               \
           INNER(OP("sum", "AddN") IN("a") "attr { key: 'T' value { placeholder: 'T' } } attr { key: 'N' value { placeholder: 'N' } } ") \
               RET("y", "sum:sum:0"))

HR_TEST(attrs_of_the_function_take_the_calls_values) {
  world_t w = world_open(X NODE(OP("one", "Const") CONST("1")) NODE(OP("sum", "General") IN("x") IN("one") IN("x")) LIBRARY(GENERAL));
  HR_CHECK_EQ_F64(world_get(&w, "sum", 0, 3), 7);
  world_close(&w);
}

/* --- effects ------------------------------------------------------------------------------------------------------------------------- */
#define ADD_TO                                    \
  FUNCTION("AddTo", ARG_R("r") ARG("a") OUT("y"), \
           INNER(OP("add", "AssignAddVariableOp") IN("r") IN("a") TYPE("dtype", "DT_FLOAT")) RET("y", "a"))
#define ADD_ONLY FUNCTION("AddOnly", ARG_R("r") ARG("a"), INNER(OP("add", "AssignAddVariableOp") IN("r") IN("a") TYPE("dtype", "DT_FLOAT")))
#define R_F32    "type: DT_RESOURCE type: DT_FLOAT "

HR_TEST(effects_come_with_the_call_once_and_in_order) {
  world_t w =
      world_open(X VARIABLE NODE(OP("call", "StatefulPartitionedCall") IN("v") IN("x") CALL("AddTo", R_F32, F32))
                     NODE(OP("after", "ReadVariableOp") IN("v") IN("^call") TYPE("dtype", "DT_FLOAT"))
                         NODE(OP("only", "StatefulPartitionedCall") IN("v") IN("x") CALL("AddOnly", R_F32, ""))
                             NODE(OP("then", "StatefulPartitionedCall") IN("v") IN("x") IN("^only") CALL("AddTo", R_F32, F32))
                                 NODE(OP("last", "ReadVariableOp") IN("v") IN("^then") TYPE("dtype", "DT_FLOAT")) LIBRARY(ADD_TO ADD_ONLY));
  world_target(&w, "init", 0);
  HR_CHECK_EQ_F64(world_get(&w, "call", 0, 5), 5); /* its output alone is asked for */
  HR_CHECK_EQ_F64(world_get(&w, "read", 0, 0), 5);
  HR_CHECK_EQ_F64(world_get(&w, "after", 0, 2), 7);
  world_target(&w, "only", 1);
  HR_CHECK_EQ_F64(world_get(&w, "last", 0, 10), 28); /* 8, then 10 and 10 */
  world_close(&w);
}

#define BRANCH_ADD                                                                           \
  FUNCTION("BranchAdd", ARG_R("r") ARG("a") OUT("y"),                                        \
           INNER(OP("add", "AssignAddVariableOp") IN("r") IN("a") TYPE("dtype", "DT_FLOAT")) \
               INNER(OP("y", "Identity") IN("a") IN("^add") T) RET("y", "y:output:0"))
#define BRANCH_PASS FUNCTION("Pass", ARG_R("r") ARG("a") OUT("y"), INNER(OP("y", "Neg") IN("a") T) RET("y", "y:y:0"))
#define COND        NODE(OP("zero_", "Const") CONST("0")) NODE(OP("positive", "Greater") IN("x") IN("zero_") T)

static void check_branches(const char* op) {
  char text[4096];
  snprintf(text, sizeof text,
           X VARIABLE COND "node { " OP("if", "%s") IN("positive") IN("v") IN("x") IF("BranchAdd", "Pass", "DT_BOOL", R_F32, F32) "} " NODE(
               OP("after", "ReadVariableOp") IN("v") IN("^if") TYPE("dtype", "DT_FLOAT")) LIBRARY(BRANCH_ADD BRANCH_PASS),
           op);
  world_t w = world_open(text);
  world_target(&w, "init", 0);
  HR_CHECK_EQ_F64(world_get(&w, "if", 0, 4), 4);
  HR_CHECK_EQ_F64(world_get(&w, "if", 0, -4), 4);
  HR_CHECK_EQ_F64(world_get(&w, "read", 0, 0), 4);
  HR_CHECK_EQ_F64(world_get(&w, "after", 0, 3), 7);
  HR_CHECK_EQ_F64(world_get(&w, "after", 0, -3), 7);
  world_target(&w, "if", 1);
  HR_CHECK_EQ_F64(world_get(&w, "read", 0, 0), 8);
  world_close(&w);
}
HR_TEST(only_the_branch_taken_acts) {
  check_branches("If");
  check_branches("StatelessIf");
  check_branches("_If");
}

/* --- loops --------------------------------------------------------------------------------------------------------------------------- */
#define LOOP_COND FUNCTION("Cond", ARG("i") ARG("a") OUT("c"), INNER(OP("c", "Identity") IN("i") T) RET("c", "c:output:0"))
#define LOOP_BODY                                                                                  \
  FUNCTION("Body", ARG("i") ARG("a") OUT("p") OUT("q"),                                            \
           INNER(OP("one", "Const") CONST("1")) INNER(OP("p", "Sub") IN("i") IN("one:output:0") T) \
               INNER(OP("q", "AddV2") IN("a") IN("a") T) RET("p", "p:z:0") RET("q", "q:z:0"))
#define WHILE(f) FUNC("cond", "Cond") FUNC("body", f) TYPES("T", F32 F32)

static void check_loop(const char* op) {
  char text[4096];
  snprintf(text, sizeof text,
           X NODE(OP("one", "Const") CONST("1")) "node { " OP("while", "%s") IN("x") IN("one")
               WHILE("Body") "} " LIBRARY(LOOP_COND LOOP_BODY),
           op);
  world_t w = world_open(text);
  HR_CHECK_EQ_F64(world_get(&w, "while", 1, 5), 32);
  HR_CHECK_EQ_F64(world_get(&w, "while", 1, 0), 1);
  HR_CHECK_EQ_F64(world_get(&w, "while", 0, 3), 0);
  world_close(&w);
}
HR_TEST(loops_by_any_name) {
  check_loop("While");
  check_loop("StatelessWhile");
  check_loop("_While");
}

/* A branch decided by what stays the same in a loop, taken to a constant: the branch is not part of the round in which the loop ends. */
#define STAYS_FUNCTIONS                                                                                                              \
  FUNCTION("Cond", ARG("i") ARG("a") ARG("p") OUT("c"), INNER(OP("c", "Identity") IN("i") T) RET("c", "c:output:0"))                  \
  FUNCTION("None", ARG("a") OUT("y"), INNER(OP("y", "Const") CONST("7")) RET("y", "y:output:0"))                                      \
  FUNCTION("Same", ARG("a") OUT("y"), RET("y", "a"))
#define STAYS_BODY(inner)                                                                                                            \
  FUNCTION("Body", ARG("i") ARG("a") ARG("p") OUT("i1") OUT("a1") OUT("p1"),                                                         \
           INNER(OP("one", "Const") CONST("1")) INNER(OP("j", "Sub") IN("i") IN("one:output:0") T) INNER(OP("b", "Neg") IN("a") T)     \
               INNER(inner) RET("i1", "j:z:0") RET("a1", "if:output:0") RET("p1", "p"))
static void check_stays(const char* body, float with, float without) {
  char text[8192];
  snprintf(text, sizeof text,
           X NODE(OP("start", "Const") CONST("3")) NODE(OP("one", "Const") CONST("1"))
               NODE(OP("while", "While") IN("start") IN("one") IN("x") FUNC("cond", "Cond") FUNC("body", "Body")
                        TYPES("T", F32 F32 F32)) "library { %s } ",
           body);
  world_t w = world_open(text);
  HR_CHECK_EQ_F64(world_get(&w, "while", 1, 1), with);
  HR_CHECK_EQ_F64(world_get(&w, "while", 1, 0), without);
  world_close(&w);
}
HR_TEST(what_stays_in_a_loop_decides_within_its_rounds) {
  check_stays(STAYS_FUNCTIONS STAYS_BODY(OP("if", "StatelessIf") IN("p") IN("b:y:0") IF("Same", "None", "DT_FLOAT", F32, F32)), -1, 7);
  check_stays(STAYS_FUNCTIONS STAYS_BODY(OP("if", "StatelessIf") IN("p") IN("p") IF("Same", "None", "DT_FLOAT", F32, F32)), 1, 7);
  check_stays(STAYS_FUNCTIONS FUNCTION("Second", ARG("a") ARG("b") OUT("y"), INNER(OP("y", "Const") CONST("7")) RET("y", "y:output:0"))
                  STAYS_BODY(OP("if", "StatefulPartitionedCall") IN("p") IN("b:y:0") CALL("Second", F32 F32, F32)), 7, 7);
}

#define INT(name, v)                                                                                                                  \
  NODE(OP(name, "Const") TYPE("dtype", "DT_INT32") "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: " v \
                                                   " } } } ")
#define FOR_BODY                                                                             \
  FUNCTION("Body", "input_arg { name: 'i' type: DT_INT32 } " ARG("a") OUT("y"),              \
           INNER(OP("i_", "Cast") IN("i") TYPE("SrcT", "DT_INT32") TYPE("DstT", "DT_FLOAT")) \
               INNER(OP("y", "AddV2") IN("a") IN("i_:y:0") T) RET("y", "y:z:0"))

HR_TEST(for_counts) {
  world_t w = world_open(X INT("start", "10") INT("limit", "0") INT("delta", "-3") INT("no", "0")
                             NODE(OP("for", "For") IN("start") IN("limit") IN("delta") IN("x") FUNC("body", "Body") TYPES("T", F32))
                                 NODE(OP("never", "For") IN("start") IN("limit") IN("no") IN("x") FUNC("body", "Body") TYPES("T", F32))
                                     LIBRARY(FOR_BODY));
  float out = 0;
  HR_CHECK_EQ_F64(world_get(&w, "for", 0, 0.5f), 22.5); /* 10 + 7 + 4 + 1 */
  HR_CHECK_CODE(world_run(&w, "never", 0, 0, &out), HR_INVALID_ARGUMENT, "never ends");
  world_close(&w);
}

HR_TEST(small_ops_of_branches) {
  world_t w = world_open(
      X NODE(OP("bool", "ToBool") IN("x") T) NODE(OP("truth", "Cast") IN("bool") TYPE("SrcT", "DT_BOOL") TYPE("DstT", "DT_FLOAT")) NODE(
          OP("fake", "FakeParam") TYPE("dtype", "DT_FLOAT") "attr { key: 'shape' value { shape { dim { size: 2 } dim { size: -1 } } } } ")
          NODE(OP("size", "Size") IN("fake") T TYPE("out_type", "DT_INT32"))
              NODE(OP("count", "Cast") IN("size") TYPE("SrcT", "DT_INT32") TYPE("DstT", "DT_FLOAT"))
                  NODE(OP("where", "DeviceIndex") "attr { key: 'device_names' value { list { s: 'GPU' s: 'CPU' } } } ")
                      NODE(OP("index", "Cast") IN("where") TYPE("SrcT", "DT_INT32") TYPE("DstT", "DT_FLOAT")));
  HR_CHECK_EQ_F64(world_get(&w, "truth", 0, 0.25f), 1);
  HR_CHECK_EQ_F64(world_get(&w, "truth", 0, 0), 0);
  HR_CHECK_EQ_F64(world_get(&w, "count", 0, 0), 0);
  HR_CHECK_EQ_F64(world_get(&w, "index", 0, 0), 1);
  world_close(&w);
}

HR_TEST(optional_values_have_zeros_and_sums) {
#define VARIANTS "attr { key: 'T' value { type: DT_VARIANT } } "
#define VALUE(name, of)                                                 \
  NODE(OP(name, "OptionalGetValue") IN(of) TYPES("output_types", F32) \
       "attr { key: 'output_shapes' value { list { shape {} } } } ")
  world_t w = world_open(
      X NODE(OP("none", "OptionalNone")) NODE(OP("some", "OptionalFromValue") IN("x") TYPES("Toutput_types", F32))
      NODE(OP("zero", "ZerosLike") IN("some") VARIANTS) NODE(OP("nil", "ZerosLike") IN("none") VARIANTS)
      NODE(OP("sum", "AddN") IN("some") IN("some") IN("some") VARIANTS "attr { key: 'N' value { i: 3 } } ")
      NODE(OP("nils", "AddN") IN("none") IN("nil") VARIANTS "attr { key: 'N' value { i: 2 } } ")
      NODE(OP("mixed", "AddN") IN("none") IN("some") VARIANTS "attr { key: 'N' value { i: 2 } } ")
      VALUE("zero_value", "zero") VALUE("sum_value", "sum") VALUE("nils_value", "nils") VALUE("mixed_value", "mixed"));
  float out = 0;
  HR_CHECK_EQ_F64(world_get(&w, "zero_value", 0, 7), 0);
  HR_CHECK_EQ_F64(world_get(&w, "sum_value", 0, 7), 21);
  HR_CHECK_CODE(world_run(&w, "nils_value", 0, 0, &out), HR_INVALID_ARGUMENT, "holds 0 tensors");
  HR_CHECK_CODE(world_run(&w, "mixed_value", 0, 0, &out), HR_INVALID_ARGUMENT, "one has a value and the other doesn't");
  world_close(&w);
}

HR_TEST(values_that_may_be_missing) {
  world_t w = world_open(X NODE(OP("none", "OptionalNone")) NODE(OP("some", "OptionalFromValue") IN("x") TYPES("Toutput_types", F32))
                             NODE(OP("missing", "OptionalHasValue") IN("none")) NODE(OP("there", "OptionalHasValue") IN("some"))
                                 NODE(OP("no", "Cast") IN("missing") TYPE("SrcT", "DT_BOOL") TYPE("DstT", "DT_FLOAT"))
                                     NODE(OP("yes", "Cast") IN("there") TYPE("SrcT", "DT_BOOL") TYPE("DstT", "DT_FLOAT"))
                                         NODE(OP("value", "OptionalGetValue") IN("some")
                                                  TYPES("output_types", F32) "attr { key: 'output_shapes' value { list { shape {} } } } ")
                                             NODE(OP("nothing", "OptionalGetValue") IN("none") TYPES(
                                                 "output_types", F32) "attr { key: 'output_shapes' value { list { shape {} } } } "));
  float out = 0;
  HR_CHECK_EQ_F64(world_get(&w, "no", 0, 0), 0);
  HR_CHECK_EQ_F64(world_get(&w, "yes", 0, 0), 1);
  HR_CHECK_EQ_F64(world_get(&w, "value", 0, 7), 7);
  HR_CHECK_CODE(world_run(&w, "nothing", 0, 0, &out), HR_INVALID_ARGUMENT, "holds 0 tensors");
  world_close(&w);
}

/* --- recursion ----------------------------------------------------------------------------------------------------------------------- */
#define FACT                                                                                                      \
  FUNCTION("Factorial", ARG("n") OUT("y"),                                                                        \
           INNER(OP("if", "If") IN("n") IN("n") IF("More", "One", "DT_FLOAT", F32, F32)) RET("y", "if:output:0")) \
  FUNCTION("One", ARG("n") OUT("y"), INNER(OP("one", "Const") CONST("1")) RET("y", "one:output:0"))               \
  FUNCTION("More", ARG("n") OUT("y"),                                                                             \
           INNER(OP("one", "Const") CONST("1")) INNER(OP("m", "Sub") IN("n") IN("one:output:0") T)                \
               INNER(OP("rest", "Factorial") IN("m:z:0")) INNER(OP("y", "Mul") IN("n") IN("rest:y:0") T) RET("y", "y:z:0"))
#define FOREVER FUNCTION("Forever", ARG("n") OUT("y"), INNER(OP("again", "Forever") IN("n")) RET("y", "again:y:0"))

HR_TEST(recursion_ends_with_its_value_or_an_error) {
  world_t w = world_open(X NODE(OP("fact", "Factorial") IN("x")) NODE(OP("forever", "Forever") IN("x")) LIBRARY(FACT FOREVER));
  float out = 0;
  HR_CHECK_EQ_F64(world_get(&w, "fact", 0, 10), 3628800);
  HR_CHECK_EQ_F64(world_get(&w, "fact", 0, 0), 1);
  HR_CHECK_CODE(world_run(&w, "fact", 0, 0.5f, &out), HR_RESOURCE_EXHAUSTED, "deep");
  HR_CHECK_CODE(world_run(&w, "forever", 0, 1, &out), HR_RESOURCE_EXHAUSTED, "deep");
  HR_CHECK_EQ_F64(world_get(&w, "fact", 0, 5), 120); /* the session goes on */
  world_close(&w);
}

typedef struct {
  world_t* w;
  atomic_int* bad;
} caller_t;

static void call_many_times(void* arg) {
  const caller_t* c = arg;
  for (int i = 0; i < 50; ++i) {
    float out = 0;
    hr_status_t status = world_run(c->w, "fact", 0, 6, &out);
    if (status || out != 720) atomic_fetch_add(c->bad, 1);
    hr_status_release(status);
    status = world_run(c->w, "forever", 0, 1, &out);
    if (hr_status_code(status) != HR_RESOURCE_EXHAUSTED) atomic_fetch_add(c->bad, 1);
    hr_status_release(status);
  }
}

HR_TEST(threads_call_the_same_functions) {
  world_t w = world_open(X NODE(OP("fact", "Factorial") IN("x")) NODE(OP("forever", "Forever") IN("x")) LIBRARY(FACT FOREVER));
  hr_thread_t threads[4];
  atomic_int bad = 0;
  caller_t c = {&w, &bad};
  for (int i = 0; i < 4; ++i) maker_must(hr_thread_start(&threads[i], "caller", call_many_times, &c), "a thread");
  for (int i = 0; i < 4; ++i) hr_thread_join(&threads[i]);
  HR_CHECK_EQ_I64(atomic_load(&bad), 0);
  world_close(&w);
}

/* Each calls the next one twice: 2^30 calls, which nobody waits for. */
HR_TEST(a_graph_of_functions_does_not_explode) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_format(&text, "%s", X NODE(OP("y", "F0") IN("x")) "library { ");
  for (int i = 0; i < 30; ++i)
    hr_strbuf_format(&text,
                     FUNCTION("F%d", ARG("a") OUT("y"), INNER(OP("p", "F%d") IN("a")) INNER(OP("q", "F%d") IN("p:y:0")) RET("y", "q:y:0")),
                     i, i + 1, i + 1);
  hr_strbuf_format(&text, "%s",
                   FUNCTION("F30", ARG("a") OUT("y"), INNER(OP("y", "Neg") IN("a") T) RET("y", "y:y:0")) "} versions { producer: 1395 } ");
  world_t w = world_open(text.data);
  hr_value_t feed = world_value(&w, "x"), want = world_value(&w, "y");
  hr_tensor_t value = maker_f32(1), got = {0};
  hr_run_t run = {.feeds = &feed, .feed_values = &value, .feed_count = 1, .fetches = &want, .fetch_count = 1};
  hr_run_options_t options = {.timeout_ms = 300};
  HR_CHECK_CODE(hr_session_run(w.s, &options, &run, &got, NULL, NULL), HR_DEADLINE_EXCEEDED, "");
  hr_tensor_release(&value);
  world_close(&w);
  hr_strbuf_deinit(&text);
}

/* --- gradients ----------------------------------------------------------------------------------------------------------------------- */
#define CUBE \
  FUNCTION("Cube", ARG("a") OUT("y"), INNER(OP("s", "Mul") IN("a") IN("a") T) INNER(OP("y", "Mul") IN("s:z:0") IN("a") T) RET("y", "y:z:0"))
#define OWN FUNCTION("Own", ARG("a") OUT("y"), INNER(OP("y", "Exp") IN("a") T) RET("y", "y:y:0"))
#define OWN_GRAD                                                                                                            \
  FUNCTION("OwnGrad", ARG("a") ARG("dy") OUT("da"),                                                                         \
           INNER(OP("seven", "Const") CONST("7")) INNER(OP("m", "Mul") IN("dy") IN("seven:output:0") T) RET("da", "m:z:0")) \
  "gradient { function_name: 'Own' gradient_func: 'OwnGrad' } "

static hr_value_t gradient_of(world_t* w, const char* y) {
  hr_value_t ys = world_value(w, y), xs = world_value(w, "x");
  hr_gradient_t out = {0};
  hr_grad_request_t q = {.ys = &ys, .y_count = 1, .xs = &xs, .x_count = 1};
  hr_mutex_lock(&w->g->mu);
  HR_CHECK_OK(hr_grad_build(w->g, &q, &out));
  HR_CHECK_OK(hr_graph_validate(w->g));
  hr_mutex_unlock(&w->g->mu);
  return out.dense;
}
static float gradient_get(world_t* w, const char* y, float x) {
  hr_value_t v = gradient_of(w, y);
  float out = NAN;
  if (HR_CHECK(v.node != NULL)) HR_CHECK_OK(world_run(w, v.node->name.data, v.index, x, &out));
  return out;
}

HR_TEST(gradients_of_calls) {
  world_t w = world_open(X NODE(OP("cube", "Cube") IN("x")) NODE(OP("both", "Mul") IN("cube") IN("x") T) NODE(
      OP("call", "PartitionedCall") IN("x") CALL("Cube", F32, F32)) NODE(OP("own", "Own") IN("x")) LIBRARY(CUBE OWN OWN_GRAD));
  HR_CHECK_EQ_F64(gradient_get(&w, "cube", 2), 12);
  HR_CHECK_EQ_F64(gradient_get(&w, "both", 2), 32);
  HR_CHECK_EQ_F64(gradient_get(&w, "call", 3), 27);
  HR_CHECK_EQ_F64(gradient_get(&w, "own", 3), 7);
  world_close(&w);
}

#define NOISY                                                                                                           \
  FUNCTION("Noisy", ARG("a") OUT("y"),                                                                                  \
           INNER(OP("shape", "Shape") IN("a") T TYPE("out_type", "DT_INT32"))                                           \
               INNER(OP("noise", "RandomUniform") IN("shape:output:0") TYPE("dtype", "DT_FLOAT") TYPE("T", "DT_INT32")) \
                   INNER(OP("y", "Mul") IN("a") IN("noise:output:0") T) RET("y", "y:z:0"))

HR_TEST(a_number_drawn_in_a_call_is_the_gradients_too) {
  world_t w = world_open(X NODE(OP("noisy", "StatefulPartitionedCall") IN("x") CALL("Noisy", F32, F32)) LIBRARY(NOISY));
  hr_value_t x = world_value(&w, "x"), fetch[] = {world_value(&w, "noisy"), gradient_of(&w, "noisy")};
  for (int i = 0; i < 5; ++i) {
    hr_tensor_t two = maker_f32(2), out[2] = {{0}, {0}};
    hr_run_t run = {.feeds = &x, .feed_values = &two, .feed_count = 1, .fetches = fetch, .fetch_count = 2};
    HR_REQUIRE_OK(hr_session_run(w.s, NULL, &run, out, NULL, NULL));
    HR_CHECK_EQ_F64(maker_get(&out[0]), 2 * maker_get(&out[1]));
    for (int k = 0; k < 2; ++k) hr_tensor_release(&out[k]);
    hr_tensor_release(&two);
  }
  world_close(&w);
}

/* The noise of a branch is its gradient's; a loop's would be drawn twice, which is refused. */
#define NOISY_BODY                                                                                                                 \
  FUNCTION("NoisyBody", ARG("i") ARG("a") OUT("p") OUT("q"),                                                                       \
           INNER(OP("one", "Const") CONST("1")) INNER(OP("p", "Sub") IN("i") IN("one:output:0") T) INNER(OP("q", "Noisy") IN("a")) \
               RET("p", "p:z:0") RET("q", "q:y:0"))

HR_TEST(numbers_drawn_in_branches_and_loops) {
  world_t w = world_open(X COND NODE(OP("if", "If") IN("positive") IN("x") IF("Noisy", "Twice", "DT_BOOL", F32, F32))
                             NODE(OP("three", "Const") CONST("3")) NODE(OP("while", "While") IN("three") IN("x") FUNC("cond", "Cond") FUNC(
                                 "body", "NoisyBody") TYPES("T", F32 F32)) LIBRARY(NOISY TWICE LOOP_COND NOISY_BODY));
  hr_value_t x = world_value(&w, "x"), fetch[] = {world_value(&w, "if"), gradient_of(&w, "if")}, y = {world_value(&w, "while").node, 1};
  hr_tensor_t two = maker_f32(2), out[2] = {{0}, {0}};
  hr_run_t run = {.feeds = &x, .feed_values = &two, .feed_count = 1, .fetches = fetch, .fetch_count = 2};
  HR_REQUIRE_OK(hr_session_run(w.s, NULL, &run, out, NULL, NULL));
  HR_CHECK_EQ_F64(maker_get(&out[0]), 2 * maker_get(&out[1]));
  for (int k = 0; k < 2; ++k) hr_tensor_release(&out[k]);
  hr_tensor_release(&two);
  hr_gradient_t none = {0};
  hr_grad_request_t q = {.ys = &y, .y_count = 1, .xs = &x, .x_count = 1};
  hr_mutex_lock(&w.g->mu);
  HR_CHECK_CODE(hr_grad_build(w.g, &q, &none), HR_UNIMPLEMENTED, "random numbers");
  hr_mutex_unlock(&w.g->mu);
  world_close(&w);
}

/* --- bodies that do not hold together ------------------------------------------------------------------------------------------------- */
static void check_bad(const char* function, const char* says) {
  char text[4096];
  float out = 0;
  snprintf(text, sizeof text, X NODE(OP("y", "PartitionedCall") IN("x") CALL("Bad", F32, F32)) "library { %s } versions { producer: 1395 }",
           function);
  world_t w = world_open(text);
  HR_CHECK_CODE(world_run(&w, "y", 0, 1, &out), HR_INVALID_ARGUMENT, says);
  world_close(&w);
}

HR_TEST(bad_bodies_are_refused_when_called) {
  check_bad("", "no function 'Bad'");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("n", "Neg") IN("nobody:y:0") T) RET("y", "n:y:0")),
            "neither a node nor an argument");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("n", "Neg") IN("a") T) RET("y", "n:wrong:0")), "no output");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("n", "Neg") IN("a") T) RET("y", "n:y:1")), "no output");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("n", "Neg") IN("a") T)), "not in the function's ret");
  check_bad(FUNCTION("Bad", ARG("a") ARG("b") OUT("y"), RET("y", "a")), "arguments");
  check_bad(FUNCTION("Bad", ARG("a"), ""), "outputs");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("p", "Neg") IN("q:y:0") T) INNER(OP("q", "Neg") IN("p:y:0") T) RET("y", "q:y:0")),
            "cycle");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("n", "Neg") IN("a") T) INNER(OP("n", "Exp") IN("a") T) RET("y", "n:y:0")),
            "two nodes");
  check_bad(FUNCTION("Bad", ARG("a") OUT("y"),
                     INNER(OP("n", "Cast") IN("a") TYPE("SrcT", "DT_FLOAT") TYPE("DstT", "DT_INT32")) RET("y", "n:y:0")),
            "signature says");
  check_bad(
      FUNCTION("Bad", ARG("a") OUT("y"), INNER(OP("n", "Neg") IN("a") "attr { key: 'T' value { placeholder: 'U' } } ") RET("y", "n:y:0")),
      "has no value");
}

/* Runs what is there; any status will do, if it comes. */
static void run_changed(const char* bytes, size_t size) {
  static const char* const names[] = {"if", "while", "fact"};
  world_t w = {.g = maker_graph()};
  hr_status_t status = hr_import_graph_def(w.g, bytes, size, NULL, NULL);
  if (!status) maker_must(hr_session_create(w.g, NULL, &w.s), "a session");
  for (int k = 0; k < 3 && !status; ++k) {
    float out = 0;
    hr_node_t* n = world_value(&w, names[k]).node;
    if (n && n->output_count) hr_status_release(world_run(&w, names[k], 0, 2, &out));
  }
  hr_status_release(status);
  world_close(&w);
}

static void check_changed(const char* text, int rounds) {
  hr_writer_t bytes;
  uint32_t random = 7;
  hr_strbuf_init(&bytes);
  HR_REQUIRE_OK(hr_text_parse(hr_messages_find(HR_STR("GraphDef")), hr_str(text), &bytes));
  for (int round = 0; round < rounds; ++round) {
    char* copy = hr_alloc_copy(bytes.data, bytes.size);
    for (int k = 0; k < 1 + round % 3; ++k) {
      random = random * 1103515245u + 12345u;
      size_t at = (random >> 8) % bytes.size;
      random = random * 1103515245u + 12345u;
      copy[at] = (char)(random >> 16);
    }
    run_changed(copy, bytes.size);
    hr_free(copy);
  }
  hr_strbuf_deinit(&bytes);
}

HR_TEST(changed_bytes_never_crash) {
  check_changed(X VARIABLE COND NODE(OP("if", "If") IN("positive") IN("v") IN("x") IF("BranchAdd", "Pass", "DT_BOOL", R_F32, F32))
                    LIBRARY(BRANCH_ADD BRANCH_PASS),
                200);
  check_changed(
      X NODE(OP("one", "Const") CONST("1")) NODE(OP("while", "While") IN("x") IN("one") WHILE("Body")) LIBRARY(LOOP_COND LOOP_BODY), 200);
  check_changed(X NODE(OP("fact", "Factorial") IN("x")) LIBRARY(FACT), 200);
}

/* --- allocations that fail ------------------------------------------------------------------------------------------------------------ */
static hr_writer_t fault_bytes;

/* Through the passes. */
static hr_status_t fault_prepare(hr_graph_t* g, const char* fetch) {
  hr_value_t feed = {hr_graph_find(g, HR_STR("x")), 0}, want = {hr_graph_find(g, hr_str(fetch)), 0};
  hr_prune_request_t q = {.feeds = &feed, .feed_count = 1, .fetches = &want, .fetch_count = 1};
  hr_session_options_t options;
  hr_program_t program = {0};
  hr_session_options_init(&options);
  HR_TRY(hr_pipeline_run(g, &q, &options, NULL, &program));
  hr_program_deinit(&program);
  return NULL;
}

static hr_status_t fault_gradient(hr_graph_t* g) {
  hr_value_t y = {hr_graph_find(g, HR_STR("cube")), 0}, x = {hr_graph_find(g, HR_STR("x")), 0};
  hr_gradient_t out = {0};
  hr_grad_request_t q = {.ys = &y, .y_count = 1, .xs = &x, .x_count = 1};
  hr_mutex_lock(&g->mu);
  hr_status_t status = hr_grad_build(g, &q, &out);
  hr_mutex_unlock(&g->mu);
  return status ? status : fault_prepare(g, out.dense.node->name.data);
}

static hr_status_t import_and_prepare(void) {
  static const char* const fetches[] = {"if", "while", "factorial"};
  hr_graph_t* g = NULL;
  HR_TRY(hr_graph_create(&g));
  hr_status_t status = hr_import_graph_def(g, fault_bytes.data, fault_bytes.size, NULL, NULL);
  for (int i = 0; i < 3 && !status; ++i) status = fault_prepare(g, fetches[i]);
  if (!status) status = fault_gradient(g);
  hr_graph_destroy(g);
  return status;
}

#define NEGATE FUNCTION("Negate", ARG("a") OUT("y"), INNER(OP("y", "Neg") IN("a") T) RET("y", "y:y:0"))

HR_TEST(every_allocation_may_fail) {
  const char* nodes =
      X COND NODE(OP("one", "Const") CONST("1")) NODE(OP("if", "If") IN("positive") IN("x") IF("Twice", "Negate", "DT_BOOL", F32, F32))
          NODE(OP("while", "While") IN("x") IN("one") WHILE("Body")) NODE(OP("factorial", "Factorial") IN("x"));
  const char* library = NODE(OP("cube", "Cube") IN("x")) LIBRARY(TWICE NEGATE CUBE LOOP_COND LOOP_BODY);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_init(&fault_bytes);
  hr_strbuf_format(&text, "%s%slibrary { %s } ", nodes, library, FACT);
  HR_REQUIRE_OK(hr_text_parse(hr_messages_find(HR_STR("GraphDef")), hr_strbuf_view(&text), &fault_bytes));
  HR_REQUIRE_OK(import_and_prepare());
  HR_TEST_EVERY_ALLOCATION_FAILS(import_and_prepare);
  hr_strbuf_deinit(&fault_bytes);
  hr_strbuf_deinit(&text);
}

HR_TEST_MAIN()
