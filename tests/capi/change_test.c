/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs changed after the fact: attrs, control inputs, devices, what is known behind handles; the rarer import options; functions with
 * operations that every call runs. */
#include "headrace/client.h"
#include "headrace/session.h"
#include "help.h"

static const char change_text[] = "\x12\x02hi"; /* AttrValue: s = "hi" */

TEST(attrs_that_no_op_reads_come_and_go) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph(), *other = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s);
  TF_Buffer *value = TF_NewBufferFromString(change_text, 4), *bad = TF_NewBufferFromString("\x12\x09h", 3);
  char text[3] = {0};
  for (int i = 0; i < 2; ++i) { /* a second time replaces */
    TF_SetAttr(g, x.oper, "_note", value, s);
    CHECK_TF_OK(s);
  }
  TF_OperationGetAttrString(x.oper, "_note", text, 2, s);
  CHECK(CHECK_TF_OK(s) && !strcmp(text, "hi"));
  CHECK_INT(TF_OperationGetNumAttrs(x.oper), 3);
  TF_SetAttr(g, x.oper, "_note", bad, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetAttr(g, x.oper, "_note", NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetAttr(g, x.oper, "dtype", value, s);
  CHECK_TF_CODE(s, TF_UNIMPLEMENTED);
  TF_SetAttr(other, x.oper, "_note", value, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_ClearAttr(g, NULL, "_note", s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrString(x.oper, "_note", text, 2, s);
  CHECK_TF_OK(s);
  TF_ClearAttr(g, x.oper, "_note", s);
  CHECK_TF_OK(s);
  TF_OperationGetAttrString(x.oper, "_note", text, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(value);
  TF_DeleteBuffer(bad);
  TF_DeleteGraph(g);
  TF_DeleteGraph(other);
  TF_DeleteStatus(s);
}

TEST(control_inputs_and_devices_change) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), u = help_placeholder(g, "u", TF_FLOAT, s);
  TF_Output y = help_unary(g, "Neg", "y", x, s);
  TF_AddOperationControlInput(g, y.oper, u.oper);
  CHECK(TF_OperationNumControlInputs(y.oper) == 1 && TF_OperationNumControlOutputs(u.oper) == 1);
  TF_RemoveAllControlInputs(NULL, y.oper);
  CHECK_INT(TF_OperationNumControlInputs(y.oper), 1);
  TF_RemoveAllControlInputs(g, y.oper);
  CHECK(TF_OperationNumControlInputs(y.oper) == 0 && TF_OperationNumControlOutputs(u.oper) == 0);
  TF_SetRequestedDevice(g, y.oper, "/device:CPU:0");
  CHECK_STR(TF_OperationDevice(y.oper), "/device:CPU:0");
  TF_SetFullType(g, y.oper, NULL);
  TF_SetRequireShapeInferenceFns(g, true);
  TF_Session* session = TF_NewSession(g, NULL, s);
  CHECK_NEAR(help_run(session, x, help_float(3), y, s), -3, 0); /* u is not asked for any more */
  CHECK_TF_OK(s);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(what_lies_behind_a_handle) {
  static const char data[] = "\x08\x01\x12\x0a\x0a\x04\x12\x02\x08\x03\x10\x01\x18\x00"; /* set; shape [3], float, unknown field */
  static const char two[] = "\x08\x01\x12\x02\x10\x01\x12\x02\x10\x01";
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OperationDescription* d = TF_NewOperation(g, "VarHandleOp", "v");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", (int64_t[]){2, 2}, 2);
  TF_Output v = {TF_FinishOperation(d, s), 0}, r = help_placeholder(g, "r", TF_RESOURCE, s);
  REQUIRE(CHECK_TF_OK(s));
  TF_Buffer *known = TF_GetHandleShapeAndType(g, v), *unknown = TF_GetHandleShapeAndType(g, r);
  CHECK(known && known->length > 8 && unknown && unknown->length == 0);
  TF_SetHandleShapeAndType(g, r, known->data, known->length, s);
  CHECK_TF_OK(s);
  TF_Buffer* again = TF_GetHandleShapeAndType(g, r);
  CHECK(again && again->length == known->length && !memcmp(again->data, known->data, known->length));
  TF_SetHandleShapeAndType(g, r, data, sizeof data - 1, s);
  CHECK_TF_OK(s);
  TF_DeleteBuffer(again);
  again = TF_GetHandleShapeAndType(g, r);
  CHECK(again && again->length > 0 && (again->length != known->length || memcmp(again->data, known->data, known->length)));
  TF_SetHandleShapeAndType(g, r, two, sizeof two - 1, s);
  CHECK_TF_CODE(s, TF_UNIMPLEMENTED);
  TF_SetHandleShapeAndType(g, r, "\x12\x02\x10\x63", 4, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetHandleShapeAndType(g, (TF_Output){r.oper, 4}, data, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_GetHandleShapeAndType(g, (TF_Output){r.oper, 4}) == NULL && TF_GetHandleShapeAndType(NULL, r) == NULL);
  TF_DeleteBuffer(known);
  TF_DeleteBuffer(unknown);
  TF_DeleteBuffer(again);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* first; x; y = -x after first. */
static TF_Buffer* change_definition(TF_Status* s) {
  TF_Graph* g = TF_NewGraph();
  TF_Buffer* def = TF_NewBuffer();
  TF_Operation* first = TF_FinishOperation(TF_NewOperation(g, "NoOp", "first"), s);
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s);
  TF_OperationDescription* d = TF_NewOperation(g, "Neg", "y");
  TF_AddInput(d, x);
  TF_AddControlInput(d, first);
  TF_FinishOperation(d, s);
  TF_GraphToGraphDef(g, def, s);
  CHECK_TF_OK(s);
  TF_DeleteGraph(g);
  return def;
}

TEST(import_options_of_the_rarer_kind) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Buffer* def = change_definition(s);
  TF_Operation *mine = TF_FinishOperation(TF_NewOperation(g, "NoOp", "mine"), s), *got = NULL;
  TF_Operation* before = TF_FinishOperation(TF_NewOperation(g, "NoOp", "before"), s);
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "in");
  TF_ImportGraphDefOptionsSetDefaultDevice(o, "/device:CPU:0");
  TF_ImportGraphDefOptionsRemapControlDependency(o, "first", mine);
  TF_ImportGraphDefOptionsAddControlDependency(o, before);
  TF_DeleteImportGraphDefResults(TF_GraphImportGraphDefWithResultsNoSerialization(g, def, o, s));
  REQUIRE(CHECK_TF_OK(s));
  TF_Operation *x = TF_GraphOperationByName(g, "in/x"), *y = TF_GraphOperationByName(g, "in/y");
  REQUIRE(CHECK(x && y));
  CHECK_STR(TF_OperationDevice(y), "/device:CPU:0");
  CHECK(TF_OperationGetControlInputs(y, &got, 1) == 1 && got == mine);
  CHECK(TF_OperationGetControlInputs(x, &got, 1) == 1 && got == before);
  TF_GraphImportGraphDef(g, def, o, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT); /* "in" is taken */
  TF_ImportGraphDefOptionsSetUniquifyPrefix(o, 1);
  TF_GraphImportGraphDef(g, def, o, s);
  CHECK(CHECK_TF_OK(s) && TF_GraphOperationByName(g, "in_1/y"));
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteBuffer(def);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(a_function_with_control_outputs) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph(), *h = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = help_unary(g, "Neg", "y", x, s);
  const TF_Operation *always = TF_FinishOperation(TF_NewOperation(g, "NoOp", "always"), s), *none = NULL;
  const char *result = "answer", *control = "must";
  TF_Function* f = TF_GraphToFunctionWithControlOutputs(g, "F", 1, -1, NULL, 1, &x, 1, &y, &result, 1, &always, &control, NULL,
                                                        "negates", s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK(!strncmp(TF_FunctionName(f), "F_", 2) && strlen(TF_FunctionName(f)) > 4); /* with a hash */
  TF_Buffer* def = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, def, s);
  bool has_names = false;
  for (size_t i = 0; CHECK_TF_OK(s) && i + 14 <= def->length; ++i)
    has_names |= !memcmp((const char*)def->data + i, "\x0a\x04must\x12\x06" "always", 14); /* an entry of control_ret */
  CHECK(has_names);
  TF_GraphCopyFunction(h, f, NULL, s);
  CHECK(CHECK_TF_OK(s) && TF_GraphNumFunctions(h) == 1);
  CHECK(TF_GraphToFunctionWithControlOutputs(g, "G", 0, -1, NULL, 1, &x, 1, &y, NULL, 1, &none, NULL, NULL, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(def);
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);
  TF_DeleteGraph(h);
  TF_DeleteStatus(s);
}

TEST(an_optimizer_puts_its_nodes_into_scopes) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  HR_Variable w;
  HR_NewVariable(g, "w", HR_ConstFloat(g, "one", 1, s), 0, &w, s);
  HR_Optimizer* optimizer = HR_NewOptimizer(g, "Momentum", "Momentum", s);
  HR_OptimizerSetFloat(optimizer, "learning_rate", 0.5, s);
  HR_OptimizerSetFloat(optimizer, "momentum", 0.9, s);
  HR_OptimizerSetScope(optimizer, "model/", "train", s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT); /* a scope ends in '/' */
  HR_OptimizerSetScope(optimizer, "model/", "train/", s);
  CHECK_TF_OK(s);
  TF_Operation* step = HR_OptimizerMinimize(optimizer, help_unary(g, "Square", "loss", w.read, s), &w, 1, NULL, s);
  REQUIRE(CHECK_TF_OK(s) && step);
  CHECK(TF_GraphOperationByName(g, "model/w/Momentum") != NULL);
  CHECK(!strncmp(TF_OperationName(step), "train/", 6));
  HR_DeleteOptimizer(optimizer);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST(an_edge_moves) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), u = help_placeholder(g, "u", TF_FLOAT, s), n = help_placeholder(g, "n", TF_INT32, s);
  TF_Output y = help_unary(g, "Neg", "y", x, s);
  TF_UpdateEdge(g, u, (TF_Input){y.oper, 0}, s);
  CHECK(CHECK_TF_OK(s) && TF_OperationInput((TF_Input){y.oper, 0}).oper == u.oper);
  CHECK(TF_OperationOutputNumConsumers(x) == 0 && TF_OperationOutputNumConsumers(u) == 1);
  TF_UpdateEdge(g, n, (TF_Input){y.oper, 0}, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_UpdateEdge(g, u, (TF_Input){y.oper, 1}, s);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  TF_UpdateEdge(g, u, (TF_Input){NULL, 0}, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_Session* session = TF_NewSession(g, NULL, s);
  CHECK_NEAR(help_run(session, u, help_float(5), y, s), -5, 0);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(constants_are_known_and_others_not) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output c = help_const(g, "c", help_float(4), s), x = help_placeholder(g, "x", TF_FLOAT, s);
  TF_Tensor* value = NULL;
  CHECK_INT(TF_TryEvaluateConstant(g, c, &value, s), 1);
  CHECK(CHECK_TF_OK(s) && value && *(float*)TF_TensorData(value) == 4);
  TF_DeleteTensor(value);
  CHECK_INT(TF_TryEvaluateConstant(g, x, &value, s), 0);
  CHECK(CHECK_TF_OK(s) && value == NULL);
  CHECK_INT(TF_TryEvaluateConstant(g, c, NULL, s), 0);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* As a session sees it that shares the containers and is made now: nodes that have run keep the variable that they found. */
static int change_has_value(TF_Graph* g, TF_Session* owner, const HR_Variable* w, TF_Status* s) {
  TF_SessionOptions* o = TF_NewSessionOptions();
  HR_ShareContainers(o, owner);
  TF_Session* session = TF_NewSession(g, o, s);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &w->is_initialized, &result, 1, NULL, 0, NULL, s);
  int has = CHECK_TF_OK(s) ? *(bool*)TF_TensorData(result) : -1;
  TF_DeleteTensor(result);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(o);
  return has;
}

TEST(containers_are_cleared) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_SessionOptions* o = TF_NewSessionOptions();
  HR_Variable w;
  const char* other = "other";
  HR_NewVariable(g, "w", HR_ConstFloat(g, "one", 1, s), 1, &w, s);
  HR_VariableIsInitialized(g, &w, s);
  for (int way = 0; way < 2; ++way) {
    TF_Session* session = TF_NewSession(g, NULL, s);
    TF_ExtendSession(session, s);
    CHECK_TF_OK(s);
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, (const TF_Operation* const[]){w.initializer}, 1, NULL, s);
    CHECK(CHECK_TF_OK(s) && change_has_value(g, session, &w, s) == 1);
    TF_Reset(o, &other, 1, s);
    CHECK(CHECK_TF_OK(s) && change_has_value(g, session, &w, s) == 1);
    if (way) TF_Reset(o, NULL, 0, s);
    else HR_ClearContainer(session, NULL);
    CHECK_INT(change_has_value(g, session, &w, s), 0);
    TF_DeleteSession(session, s);
  }
  TF_ExtendSession(NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  HR_ClearContainer(NULL, "c");
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST_MAIN()
