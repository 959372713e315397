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

TEST_MAIN()
