/* SPDX-License-Identifier: Apache-2.0 */
/* Functions made of graphs, copied into others and called there: as ops, as attrs, with control outputs, with gradients. */
#include "help.h"

typedef struct {
  TF_Status* s;
  TF_Graph* g;
  TF_Session* session;
} place_t;

static place_t place_open(void) {
  place_t p = {TF_NewStatus(), TF_NewGraph(), NULL};
  TF_SessionOptions* o = TF_NewSessionOptions();
  p.session = TF_NewSession(p.g, o, p.s);
  CHECK_TF_OK(p.s);
  TF_DeleteSessionOptions(o);
  return p;
}
static void place_close(place_t* p) {
  TF_DeleteSession(p->session, p->s);
  TF_DeleteGraph(p->g);
  TF_DeleteStatus(p->s);
}

/* y = x * x + x */
static TF_Function* make_polynomial(const char* name, TF_Status* s) {
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), square = help_binary(g, "Mul", "square", x, x, s),
            y = help_binary(g, "AddV2", "y", square, x, s);
  const char* names[] = {"value"};
  TF_Function* f = TF_GraphToFunction(g, name, 0, -1, NULL, 1, &x, 1, &y, names, NULL, NULL, s);
  CHECK_TF_OK(s);
  TF_DeleteGraph(g);
  return f;
}

static void copy_and_delete(place_t* p, TF_Function* take, TF_Function* take_grad) {
  TF_GraphCopyFunction(p->g, take, take_grad, p->s);
  CHECK_TF_OK(p->s);
  TF_DeleteFunction(take);
  TF_DeleteFunction(take_grad);
}

static TF_Output call(place_t* p, const char* op, const char* name, TF_Output x, const char* f) {
  TF_OperationDescription* d = TF_NewOperation(p->g, op, name);
  if (f) {
    const TF_DataType type = TF_FLOAT;
    TF_AddInputList(d, &x, 1);
    TF_SetAttrTypeList(d, "Tout", &type, 1);
    TF_SetAttrFuncName(d, "f", f, strlen(f));
  } else {
    TF_AddInput(d, x);
  }
  TF_Operation* made = TF_FinishOperation(d, p->s);
  CHECK_TF_OK(p->s);
  return (TF_Output){made, 0};
}

TEST(a_function_is_an_op_and_an_attr) {
  place_t p = place_open();
  copy_and_delete(&p, make_polynomial("Polynomial", p.s), NULL);
  TF_Output x = help_placeholder(p.g, "x", TF_FLOAT, p.s), a = call(&p, "Polynomial", "a", x, NULL),
            b = call(&p, "PartitionedCall", "b", a, "Polynomial"), c = call(&p, "StatefulPartitionedCall", "c", x, "Polynomial");
  CHECK_NEAR(help_run(p.session, x, help_float(2), a, p.s), 6, 0);
  CHECK_NEAR(help_run(p.session, x, help_float(2), b, p.s), 42, 0);
  CHECK_NEAR(help_run(p.session, x, help_float(3), c, p.s), 12, 0);
  CHECK_TF_OK(p.s);
  place_close(&p);
}

/* The name that an output gets from its node's. */
static void names_output(const char* node, const char* want) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "p0", TF_FLOAT, s), y = help_unary(g, "Neg", node, x, s);
  TF_Function* f = TF_GraphToFunction(g, "F", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  TF_Buffer* def = TF_NewBuffer();
  char part[64];
  if (CHECK_TF_OK(s)) TF_FunctionToFunctionDef(f, def, s);
  CHECK_TF_OK(s);
  const int size = (int)strlen(want), n = snprintf(part, sizeof part, "\x1a%c\x0a%c%s\x18\x01", size + 4, size, want); /* an output_arg */
  if (!CHECK(def->length > (size_t)n && memmem(def->data, def->length, part, (size_t)n))) printf("  node %s, wanted %s\n", node, want);
  TF_DeleteBuffer(def);
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(outputs_are_named_after_their_nodes) {
  names_output("azAZ09", "azaz09");
  names_output("0a", "a");
  names_output("9Z", "z");
  names_output("a/b.c-d", "a_b_c_d");
  names_output("A", "a");
  names_output("Z_", "z_");
  names_output("0", "unknown");
}

TEST(a_function_calls_another) {
  place_t p = place_open(), body = place_open();
  TF_Function* inner = make_polynomial("Inner", p.s);
  TF_GraphCopyFunction(body.g, inner, NULL, p.s);
  TF_Output x = help_placeholder(body.g, "x", TF_FLOAT, p.s), once = call(&body, "Inner", "once", x, NULL),
            again = call(&body, "Inner", "again", once, NULL);
  TF_Function* outer = TF_GraphToFunction(body.g, "Outer", 0, -1, NULL, 1, &x, 1, &again, NULL, NULL, NULL, p.s);
  CHECK_TF_OK(p.s);
  copy_and_delete(&p, inner, NULL);
  copy_and_delete(&p, outer, NULL);
  CHECK_INT(TF_GraphNumFunctions(p.g), 2);
  TF_Output in = help_placeholder(p.g, "in", TF_FLOAT, p.s), y = call(&p, "Outer", "y", in, NULL);
  CHECK_NEAR(help_run(p.session, in, help_float(2), y, p.s), 42, 0);
  CHECK_TF_OK(p.s);
  place_close(&body);
  place_close(&p);
}

static float gradient_at(place_t* p, TF_Output y, TF_Output x, float value) {
  TF_Output dx = {NULL, 0};
  TF_AddGradients(p->g, &y, 1, &x, 1, NULL, p->s, &dx);
  if (!CHECK_TF_OK(p->s)) return NAN;
  return help_run(p->session, x, help_float(value), dx, p->s);
}

TEST(gradients_go_through_calls) {
  place_t p = place_open();
  TF_Graph* g = TF_NewGraph(); /* the gradient that Own says it has: 5 dy */
  TF_Output gx = help_placeholder(g, "x", TF_FLOAT, p.s), gdy = help_placeholder(g, "dy", TF_FLOAT, p.s),
            five = help_const(g, "five", help_float(5), p.s), dx = help_binary(g, "Mul", "dx", gdy, five, p.s), ins[] = {gx, gdy};
  TF_Function* own_grad = TF_GraphToFunction(g, "OwnGrad", 0, -1, NULL, 2, ins, 1, &dx, NULL, NULL, NULL, p.s);
  CHECK_TF_OK(p.s);
  TF_DeleteGraph(g);
  copy_and_delete(&p, make_polynomial("Polynomial", p.s), NULL);
  copy_and_delete(&p, make_polynomial("Own", p.s), own_grad);
  TF_Output x = help_placeholder(p.g, "x", TF_FLOAT, p.s), a = call(&p, "Polynomial", "a", x, NULL),
            b = call(&p, "StatefulPartitionedCall", "b", a, "Polynomial"), own = call(&p, "Own", "own", x, NULL);
  CHECK_NEAR(gradient_at(&p, a, x, 3), 7, 0);
  CHECK_NEAR(gradient_at(&p, b, x, 1), (2 * 2 + 1) * 3, 0);
  CHECK_NEAR(gradient_at(&p, own, x, 3), 5, 0);
  place_close(&p);
}

/* A function without outputs whose control output assigns. */
TEST(control_outputs_act_when_the_call_is_waited_for) {
  place_t p = place_open();
  TF_Graph* g = TF_NewGraph();
  TF_Output handle = help_placeholder(g, "handle", TF_RESOURCE, p.s), value = help_placeholder(g, "value", TF_FLOAT, p.s),
            ins[] = {handle, value};
  TF_OperationDescription* d = TF_NewOperation(g, "AssignAddVariableOp", "add");
  TF_AddInput(d, handle);
  TF_AddInput(d, value);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  const TF_Operation* add = TF_FinishOperation(d, p.s);
  CHECK_TF_OK(p.s);
  const char* names[] = {"added"};
  TF_Function* f = TF_GraphToFunctionWithControlOutputs(g, "Add", 1, -1, NULL, 2, ins, 0, NULL, NULL, 1, &add, names, NULL, NULL, p.s);
  CHECK_TF_OK(p.s);
  TF_DeleteGraph(g);
  REQUIRE(f != NULL);
  char name[64];
  snprintf(name, sizeof name, "%s", TF_FunctionName(f)); /* with a hash: "Add" alone is an op */
  copy_and_delete(&p, f, NULL);
  d = TF_NewOperation(p.g, "VarHandleOp", "v");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Output v = {TF_FinishOperation(d, p.s), 0}, x = help_placeholder(p.g, "x", TF_FLOAT, p.s);
  TF_Output start = help_const(p.g, "start", help_float(10), p.s);
  d = TF_NewOperation(p.g, "AssignVariableOp", "assign");
  TF_AddInput(d, v);
  TF_AddInput(d, start);
  const TF_Operation* assign = TF_FinishOperation(d, p.s);
  d = TF_NewOperation(p.g, name, "call");
  TF_AddInput(d, v);
  TF_AddInput(d, x);
  TF_Operation* called = TF_FinishOperation(d, p.s);
  CHECK_TF_OK(p.s);
  d = TF_NewOperation(p.g, "ReadVariableOp", "read");
  TF_AddInput(d, v);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_AddControlInput(d, called);
  TF_Output read = {TF_FinishOperation(d, p.s), 0};
  TF_SessionRun(p.session, NULL, NULL, NULL, 0, NULL, NULL, 0, &assign, 1, NULL, p.s);
  CHECK_TF_OK(p.s);
  CHECK_NEAR(help_run(p.session, x, help_float(2), read, p.s), 12, 0);
  CHECK_NEAR(help_run(p.session, x, help_float(3), read, p.s), 15, 0);
  CHECK_TF_OK(p.s);
  place_close(&p);
}

/* A graph with a library goes through a GraphDef. */
TEST(libraries_travel) {
  place_t p = place_open(), q = place_open();
  TF_Buffer* bytes = TF_NewBuffer();
  copy_and_delete(&p, make_polynomial("Polynomial", p.s), NULL);
  TF_Output x = help_placeholder(p.g, "x", TF_FLOAT, p.s);
  call(&p, "Polynomial", "y", x, NULL);
  TF_GraphToGraphDef(p.g, bytes, p.s);
  CHECK_TF_OK(p.s);
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(q.g, bytes, o, q.s);
  CHECK_TF_OK(q.s);
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteBuffer(bytes);
  TF_Output in = {TF_GraphOperationByName(q.g, "x"), 0}, out = {TF_GraphOperationByName(q.g, "y"), 0};
  REQUIRE(in.oper && out.oper);
  CHECK_NEAR(help_run(q.session, in, help_float(2), out, q.s), 6, 0);
  CHECK_TF_OK(q.s);
  place_close(&q);
  place_close(&p);
}

static bool has_bytes(const TF_Buffer* b, const char* bytes, size_t count) { return memmem(b->data, b->length, bytes, count) != NULL; }
#define HAS(b, text) CHECK(has_bytes(b, text, sizeof(text) - 1))
#define HAS_NOT(b, text) CHECK(!has_bytes(b, text, sizeof(text) - 1))

/* The FunctionDef of a graph with these inputs and outputs; NULL, and why in s: refused. */
static TF_Buffer* define(place_t* p, int inputs, const TF_Output* in, int outputs, const TF_Output* out, const char* const* names) {
  TF_Function* f = TF_GraphToFunction(p->g, "F", 0, -1, NULL, inputs, in, outputs, out, names, NULL, "said of it", p->s);
  TF_Buffer* def = f ? TF_NewBuffer() : NULL;
  if (f) TF_FunctionToFunctionDef(f, def, p->s);
  CHECK((f != NULL) == (TF_GetCode(p->s) == TF_OK));
  TF_DeleteFunction(f);
  return def;
}

TEST(names_that_are_taken_get_a_number) {
  place_t p = place_open();
  TF_Output in[3] = {help_placeholder(p.g, "X", TF_FLOAT, p.s), help_placeholder(p.g, "0x", TF_FLOAT, p.s),
                     help_placeholder(p.g, "x_1", TF_FLOAT, p.s)};
  TF_Output a = help_binary(p.g, "Sub", "x", in[0], in[1], p.s), out[2] = {a, help_binary(p.g, "Sub", "X_", a, in[2], p.s)};
  TF_Buffer* def = define(&p, 3, in, 2, out, NULL);
  REQUIRE(def != NULL); /* the body has x: the arguments are x_1, x_2 and x_1_1 */
  HAS(def, "\x12\x07\x0a\x03x_1\x18\x01\x12\x07\x0a\x03x_2\x18\x01\x12\x09\x0a\x05x_1_1\x18\x01");
  HAS(def, "\x1a\x05\x0a\x01x\x18\x01\x1a\x06\x0a\x02x_\x18\x01"); /* outputs have names of their own */
  HAS(def, "\x1a\x03x_1\x1a\x03x_2");
  HAS(def, "\x1a\x05x:z:0\x1a\x05x_1_1");
  HAS(def, "\x32\x0asaid of it");
  HAS_NOT(def, "\x88\x01\x01"); /* not stateful */
  TF_DeleteBuffer(def);
  TF_Output twice[2] = {a, a};
  def = define(&p, 3, in, 2, twice, NULL);
  if (CHECK(def != NULL)) HAS(def, "\x1a\x05\x0a\x01x\x18\x01\x1a\x07\x0a\x03x_1\x18\x01");
  TF_DeleteBuffer(def);
  CHECK(define(&p, 3, in, 2, out, (const char* const[]){"y", "y"}) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "two outputs are named 'y'"));
  def = define(&p, 3, in, 2, out, (const char* const[]){"y", "Y"});
  CHECK(def != NULL);
  TF_DeleteBuffer(def);
  TF_Output again[3] = {in[0], in[1], in[0]};
  CHECK(define(&p, 3, again, 1, out, NULL) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "input 2: 'X:0' is an input already"));
  place_close(&p);
}

/* An output that is a list, and one behind other outputs, are named by argument and index. */
TEST(edges_name_the_argument_and_the_index_in_it) {
  place_t p = place_open();
  TF_Output x = help_placeholder(p.g, "x", TF_FLOAT, p.s), zero;
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  *(int32_t*)TF_TensorData(t) = 0;
  zero = help_const(p.g, "zero", t, p.s);
  TF_OperationDescription* d = TF_NewOperation(p.g, "Split", "cut");
  TF_AddInput(d, zero);
  TF_AddInput(d, x);
  TF_SetAttrInt(d, "num_split", 3);
  TF_Operation* cut = TF_FinishOperation(d, p.s);
  CHECK_TF_OK(p.s);
  TF_Output unique = help_unary(p.g, "Unique", "unique", (TF_Output){cut, 2}, p.s);
  TF_Output outputs[3] = {{cut, 0}, {unique.oper, 0}, {unique.oper, 1}};
  TF_Buffer* def = define(&p, 1, &x, 3, outputs, (const char* const[]){"a", "b", "c"});
  REQUIRE(CHECK_TF_OK(p.s) && def);
  HAS(def, "\x1a\x0c" "cut:output:2");
  HAS(def, "\x0a\x01" "a\x12\x0c" "cut:output:0");
  HAS(def, "\x0a\x01" "b\x12\x0aunique:y:0");
  HAS(def, "\x0a\x01" "c\x12\x0cunique:idx:0");
  TF_DeleteBuffer(def);
  TF_Output in_cut[2] = {{cut, 0}, {cut, 1}}, sum = help_binary(p.g, "Sub", "sum", in_cut[0], in_cut[1], p.s);
  CHECK(define(&p, 2, in_cut, 1, &sum, NULL) == NULL); /* which of Split's outputs are the body's cannot be told */
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "'cut' feeds an input and has 3 outputs"));
  const TF_Operation* body[] = {sum.oper};
  TF_Function* f = TF_GraphToFunction(p.g, "G", 0, 1, body, 2, in_cut, 1, &sum, NULL, NULL, NULL, p.s);
  CHECK_TF_OK(p.s);
  TF_DeleteFunction(f);
  CHECK(TF_GraphToFunction(p.g, "G", 0, 1, body, 1, in_cut, 1, &sum, NULL, NULL, NULL, p.s) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "'cut:1', read by 'sum'"));
  CHECK(TF_GraphToFunction(p.g, "G", 0, 0, NULL, 2, in_cut, 1, &sum, NULL, NULL, NULL, p.s) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "'sum:0', read by 'an output'"));
  place_close(&p);
}

TEST(the_body_keeps_what_its_nodes_say) {
  place_t p = place_open();
  TF_Output x = help_placeholder(p.g, "x", TF_FLOAT, p.s), a = help_unary(p.g, "Neg", "a", x, p.s);
  TF_OperationDescription* d = TF_NewOperation(p.g, "Neg", "b");
  TF_AddInput(d, x);
  TF_AddControlInput(d, a.oper);
  TF_SetDevice(d, "/cpu:7");
  TF_SetAttrInt(d, "_mine", 5);
  TF_Output b = {TF_FinishOperation(d, p.s), 0};
  const TF_Operation *alone[] = {b.oper}, *both[] = {a.oper, b.oper};
  CHECK(TF_GraphToFunction(p.g, "G", 0, 1, alone, 1, &x, 1, &b, NULL, NULL, NULL, p.s) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "'b' waits for 'a'"));
  TF_Function* f = TF_GraphToFunctionWithControlOutputs(p.g, "G", 0, 2, both, 1, &x, 1, &b, NULL, 1, both, NULL, NULL, NULL, p.s);
  TF_Buffer* def = TF_NewBuffer();
  REQUIRE(CHECK_TF_OK(p.s));
  TF_FunctionToFunctionDef(f, def, p.s);
  CHECK_STR(TF_FunctionName(f), "G");
  HAS(def, "\x1a\x01x\x1a\x02^a\x22\x06/cpu:7");
  HAS(def, "\x0a\x05_mine\x12\x02\x18\x05");
  HAS(def, "\xa2\x01\x01" "a");             /* OpDef.control_output: the node's own name */
  HAS(def, "\x32\x06\x0a\x01" "a\x12\x01" "a"); /* FunctionDef.control_ret */
  TF_DeleteFunction(f);
  TF_DeleteBuffer(def);
  f = TF_GraphToFunction(p.g, "G", 1, -1, NULL, 1, &x, 1, &b, NULL, NULL, NULL, p.s);
  if (CHECK_TF_OK(p.s)) {
    const char* name = TF_FunctionName(f);
    CHECK(strlen(name) == 18 && !strncmp(name, "G_", 2) && strspn(name + 2, "0123456789abcdef") == 16);
  }
  TF_DeleteFunction(f);
  place_close(&p);
}

TEST(references_are_neither_arguments_nor_results) {
  place_t p = place_open();
  TF_OperationDescription* d = TF_NewOperation(p.g, "VariableV2", "v");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Output v = {TF_FinishOperation(d, p.s), 0}, read = help_unary(p.g, "Identity", "read", v, p.s);
  CHECK_TF_OK(p.s);
  CHECK(define(&p, 1, &v, 1, &read, NULL) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "input 0: 'v:0' is a reference"));
  CHECK(define(&p, 0, NULL, 1, &v, NULL) == NULL);
  CHECK(CHECK_TF_CODE(p.s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(p.s), "output 0: 'v:0' is a reference"));
  TF_Buffer* def = define(&p, 0, NULL, 1, &read, NULL);
  if (CHECK_TF_OK(p.s)) HAS(def, "\x88\x01\x01"); /* OpDef.is_stateful */
  TF_DeleteBuffer(def);
  place_close(&p);
}
TEST_MAIN()
