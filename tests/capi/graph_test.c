/* SPDX-License-Identifier: Apache-2.0 */
/* Building, reading, exporting, importing graphs; gradients; functions. */
#include "headrace/gradients.h"
#include "help.h"

TEST(an_operation_tells_what_it_is) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = help_placeholder(g, "y", TF_FLOAT, s);
  TF_OperationDescription* d = TF_NewOperation(g, "AddV2", "sum");
  TF_AddInput(d, x);
  TF_AddInput(d, y);
  TF_AddControlInput(d, y.oper);
  TF_ColocateWith(d, x.oper);
  TF_SetDevice(d, "/cpu:0");
  TF_Operation* sum = TF_FinishOperation(d, s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK_STR(TF_OperationName(sum), "sum");
  CHECK_STR(TF_OperationOpType(sum), "AddV2");
  CHECK_STR(TF_OperationDevice(sum), "/cpu:0");
  CHECK_INT(TF_OperationNumInputs(sum), 2);
  CHECK_INT(TF_OperationNumOutputs(sum), 1);
  CHECK_INT(TF_OperationInputType((TF_Input){sum, 0}), TF_FLOAT);
  CHECK_INT(TF_OperationInputType((TF_Input){sum, 2}), 0);
  CHECK_INT(TF_OperationOutputType((TF_Output){sum, 0}), TF_FLOAT);
  CHECK_INT(TF_OperationOutputType((TF_Output){sum, 9}), 0);
  CHECK_INT(TF_OperationInputListLength(sum, "x", s), 1);
  CHECK_INT(TF_OperationOutputListLength(sum, "z", s), 1);
  CHECK_TF_OK(s);
  CHECK_INT(TF_OperationInputListLength(sum, "nothing", s), -1);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_OperationInput((TF_Input){sum, 1}).oper == y.oper);
  CHECK(TF_OperationInput((TF_Input){sum, 2}).oper == NULL);
  TF_Output all[2];
  TF_OperationAllInputs(sum, all, 2);
  CHECK(all[0].oper == x.oper && all[1].oper == y.oper);
  TF_Input consumer;
  CHECK_INT(TF_OperationOutputNumConsumers(x), 1);
  CHECK_INT(TF_OperationOutputConsumers(x, &consumer, 1), 1);
  CHECK(consumer.oper == sum && consumer.index == 0);
  TF_Operation* other;
  CHECK_INT(TF_OperationNumControlInputs(sum), 1);
  CHECK_INT(TF_OperationGetControlInputs(sum, &other, 1), 1);
  CHECK(other == y.oper);
  CHECK_INT(TF_OperationNumControlOutputs(y.oper), 1);
  CHECK_INT(TF_OperationGetControlOutputs(y.oper, &other, 1), 1);
  CHECK(other == sum);
  CHECK(TF_GraphOperationByName(g, "sum") == sum);
  CHECK(TF_GraphOperationByName(g, "none") == NULL);
  size_t pos = 0;
  int count = 0;
  while (TF_GraphNextOperation(g, &pos)) ++count;
  CHECK_INT(count, 3);
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(sum, "_class", s);
  CHECK_TF_OK(s);
  CHECK_INT(m.is_list, 1);
  CHECK_INT(m.list_size, 1);
  CHECK_INT(m.total_size, 6);
  char storage[6];
  void* text;
  size_t length;
  TF_OperationGetAttrStringList(sum, "_class", &text, &length, 1, storage, sizeof storage, s);
  CHECK_TF_OK(s);
  CHECK_INT(length, 6);
  CHECK_BYTES(text, "loc:@x", 6);
  TF_OperationGetAttrStringList(sum, "_class", &text, &length, 1, storage, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DataType type;
  TF_OperationGetAttrType(sum, "T", &type, s);
  CHECK_INT(type, TF_FLOAT);
  TF_OperationGetAttrType(sum, "U", &type, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  int64_t number;
  TF_OperationGetAttrInt(sum, "T", &number, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_INT(TF_OperationGetNumAttrs(sum), 2);
  char name[8] = {0};
  CHECK_INT(TF_OperationGetAttrNameLength(sum, 0), 1);
  TF_OperationGetAttrName(sum, 0, name, s);
  CHECK_STR(name, "T");
  CHECK_INT(TF_OperationGetAttrNameLength(sum, 5), -1);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(bad_operations_are_refused) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph(), *h = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), foreign = help_placeholder(h, "x", TF_FLOAT, s);
  TF_Output n = help_placeholder(g, "n", TF_INT32, s);
  CHECK(help_placeholder(g, "x", TF_FLOAT, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_FinishOperation(TF_NewOperation(g, "NoSuchOp", "a"), s) == NULL);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  CHECK(help_unary(g, "Neg", "b", foreign, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(help_unary(g, "Neg", "c", (TF_Output){x.oper, 7}, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(help_unary(g, "Neg", "d", (TF_Output){NULL, 0}, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(help_binary(g, "AddV2", "e", x, n, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(help_unary(g, "AddV2", "f", x, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(help_unary(g, "Neg", "bad name", x, s).oper == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", "twice");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrType(d, "dtype", TF_INT32);
  CHECK(TF_FinishOperation(d, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(help_unary(g, "Neg", "fine", x, NULL).oper != NULL);
  CHECK(TF_FinishOperation(TF_NewOperation(NULL, "NoOp", "g"), s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
  TF_DeleteGraph(h);
  TF_DeleteGraph(NULL);
  TF_DeleteStatus(s);
}

TEST(shapes_are_known_and_narrowed) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s);
  int64_t dims[2] = {-1, 3}, got[2], other[1] = {4};
  CHECK_INT(TF_GraphGetTensorNumDims(g, x, s), -1);
  TF_GraphSetTensorShape(g, x, dims, 2, s);
  CHECK_TF_OK(s);
  CHECK_INT(TF_GraphGetTensorNumDims(g, x, s), 2);
  TF_GraphGetTensorShape(g, x, got, 2, s);
  CHECK(CHECK_TF_OK(s) && got[0] == -1 && got[1] == 3);
  TF_GraphGetTensorShape(g, x, got, 1, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_GraphSetTensorShape(g, x, other, 1, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_GraphGetTensorNumDims(g, (TF_Output){x.oper, 3}, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(a_graph_goes_out_and_comes_in) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph(), *h = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s);
  help_unary(g, "Neg", "y", x, s);
  TF_Buffer *def = TF_NewBuffer(), *node = TF_NewBuffer(), *versions = TF_NewBuffer();
  TF_GraphToGraphDef(g, def, s);
  CHECK_TF_OK(s);
  TF_GraphToGraphDef(g, def, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationToNodeDef(x.oper, node, s);
  CHECK(CHECK_TF_OK(s) && node->length > 0);
  TF_GraphVersions(g, versions, s);
  CHECK(CHECK_TF_OK(s) && versions->length > 0);
  TF_Output z = help_placeholder(h, "z", TF_FLOAT, s);
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "in");
  TF_ImportGraphDefOptionsAddInputMapping(o, "x", 0, z);
  TF_ImportGraphDefOptionsAddInputMapping(o, "unused", 0, z);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "y", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(o, "y");
  CHECK_INT(TF_ImportGraphDefOptionsNumReturnOutputs(o), 1);
  CHECK_INT(TF_ImportGraphDefOptionsNumReturnOperations(o), 1);
  TF_ImportGraphDefResults* r = TF_GraphImportGraphDefWithResults(h, def, o, s);
  if (CHECK_TF_OK(s)) {
    int count, *indices;
    TF_Output* outputs;
    TF_Operation** opers;
    const char** names;
    TF_ImportGraphDefResultsReturnOutputs(r, &count, &outputs);
    CHECK(count == 1 && outputs[0].oper == TF_GraphOperationByName(h, "in/y"));
    CHECK(TF_OperationInput((TF_Input){outputs[0].oper, 0}).oper == z.oper);
    TF_ImportGraphDefResultsReturnOperations(r, &count, &opers);
    CHECK(count == 1 && opers[0] == outputs[0].oper);
    TF_ImportGraphDefResultsMissingUnusedInputMappings(r, &count, &names, &indices);
    CHECK(count == 1 && !strcmp(names[0], "unused") && indices[0] == 0);
  }
  TF_DeleteImportGraphDefResults(r);
  TF_GraphImportGraphDef(h, def, o, s); /* the same names again */
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_ImportGraphDefOptionsSetUniquifyNames(o, 1);
  TF_Output again;
  TF_GraphImportGraphDefWithReturnOutputs(h, def, o, &again, 1, s);
  CHECK_TF_OK(s);
  TF_GraphImportGraphDefWithReturnOutputs(h, def, o, &again, 0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_Buffer* broken = TF_NewBufferFromString(def->data, def->length - 3);
  TF_GraphImportGraphDef(h, broken, NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(broken);
  TF_DeleteBuffer(def);
  TF_DeleteBuffer(node);
  TF_DeleteBuffer(versions);
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteImportGraphDefOptions(NULL);
  TF_DeleteGraph(g);
  TF_DeleteGraph(h);
  TF_DeleteStatus(s);
}

TEST(gradients_of_a_square) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), u = help_placeholder(g, "u", TF_FLOAT, s);
  TF_Output y = help_unary(g, "Square", "y", x, s), dy[2], xs[2] = {x, u};
  TF_AddGradients(g, &y, 1, xs, 2, NULL, s, dy);
  REQUIRE(CHECK_TF_OK(s));
  CHECK(dy[0].oper != NULL && dy[1].oper == NULL && dy[1].index == -1);
  TF_Session* session = TF_NewSession(g, NULL, s);
  CHECK_NEAR(help_run(session, x, help_float(3), dy[0], s), 6.0, 1e-6);
  TF_AddGradients(g, &y, 1, &(TF_Output){NULL, 0}, 1, NULL, s, dy);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  HR_Gradient d;
  HR_GradientRequest r = {.struct_size = HR_GRADIENT_REQUEST_STRUCT_SIZE, .ys = &y, .y_count = 1, .xs = &x, .x_count = 1, .stops = &x,
                          .stop_count = 1};
  HR_AddGradients(g, &r, &d, s);
  CHECK_TF_OK(s);
  r.struct_size = 3;
  HR_AddGradients(g, &r, &d, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(functions_are_made_and_copied) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph(), *h = TF_NewGraph();
  TF_Output x = help_placeholder(g, "X", TF_FLOAT, s), y = help_unary(g, "Square", "y", x, s);
  TF_Function* f = TF_GraphToFunction(g, "Sq", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK_STR(TF_FunctionName(f), "Sq");
  TF_GraphCopyFunction(h, f, NULL, s);
  CHECK_TF_OK(s);
  TF_GraphCopyFunction(h, f, NULL, s); /* equal ones are fine */
  CHECK_TF_OK(s);
  CHECK_INT(TF_GraphNumFunctions(h), 1);
  TF_Buffer* def = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, def, s);
  CHECK_TF_OK(s);
  TF_Function* again = TF_FunctionImportFunctionDef(def->data, def->length, s);
  CHECK(CHECK_TF_OK(s) && !strcmp(TF_FunctionName(again), "Sq"));
  TF_FunctionSetAttrValueProto(again, "_note", "\x12\x02hi", 4, s);
  CHECK_TF_OK(s);
  TF_Buffer* value = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(again, "_note", value, s);
  CHECK(CHECK_TF_OK(s) && value->length == 4 && !memcmp(value->data, "\x12\x02hi", 4));
  TF_FunctionGetAttrValueProto(again, "_other", def, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_Function* list[2];
  CHECK_INT(TF_GraphGetFunctions(h, list, 2, s), 1);
  TF_DeleteFunction(list[0]);
  CHECK(TF_GraphToFunction(g, "Bad", 0, -1, NULL, 2, (TF_Output[]){x, x}, 1, &y, NULL, NULL, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_GraphToFunction(g, "Bad", 0, 1, (const TF_Operation*[]){y.oper}, 0, NULL, 1, &y, NULL, NULL, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_FunctionImportFunctionDef("\xff", 1, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(def);
  TF_DeleteBuffer(value);
  TF_DeleteFunction(f);
  TF_DeleteFunction(again);
  TF_DeleteGraph(g);
  TF_DeleteGraph(h);
  TF_DeleteStatus(s);
}

TEST(op_lists_have_ops) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Buffer *all = TF_GetAllOpList(), *one = TF_NewBuffer(), *kernels = TF_GetRegisteredKernelsForOp("MatMul", s);
  CHECK(all && all->length > 1000);
  CHECK(CHECK_TF_OK(s) && kernels->length > 0);
  TF_GraphGetOpDef(g, "MatMul", one, s);
  CHECK(CHECK_TF_OK(s) && one->length > 0);
  TF_DeleteBuffer(one);
  one = TF_NewBuffer();
  TF_GraphGetOpDef(g, "NoSuchOp", one, s);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  TF_DeleteBuffer(all);
  TF_DeleteBuffer(one);
  TF_DeleteBuffer(kernels);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* The texts of attr "_class", each followed by a blank. */
static void read_class(TF_Operation* op, char* out, size_t size, TF_Status* s) {
  char storage[64];
  void* texts[8];
  size_t lengths[8], at = 0;
  const TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, "_class", s);
  out[0] = 0;
  if (!CHECK_TF_OK(s) || !CHECK(m.is_list && m.list_size <= 8)) return;
  TF_OperationGetAttrStringList(op, "_class", texts, lengths, 8, storage, sizeof storage, s);
  for (int64_t i = 0; CHECK_TF_OK(s) && i < m.list_size; ++i)
    at += (size_t)snprintf(out + at, size - at, "%.*s ", (int)lengths[i], (const char*)texts[i]);
}

TEST(colocations_are_named_once_and_in_order) {
  static const struct { const char *given, *with, *want; } rows[] = { /* what the client sets, a letter each; whom it colocates with */
      {"", "a", "loc:@a "},     {"", "cab", "loc:@a loc:@b loc:@c "}, {"", "aa", "loc:@a "},
      {"a", "a", "loc:@a "},    {"b", "a", "loc:@a loc:@b "},         {"ca", "b", "loc:@a loc:@b loc:@c "},
      {"cb", "", "loc:@c loc:@b "}, {"", "bcbac", "loc:@a loc:@b loc:@c "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    TF_Status* s = TF_NewStatus();
    TF_Graph* g = TF_NewGraph();
    TF_Output at[3] = {help_placeholder(g, "a", TF_FLOAT, s), help_placeholder(g, "b", TF_FLOAT, s), help_placeholder(g, "c", TF_FLOAT, s)};
    TF_OperationDescription* d = TF_NewOperation(g, "NoOp", "n");
    static const char* const texts[] = {"loc:@a", "loc:@b", "loc:@c"};
    const void* given[3];
    int count = 0;
    for (const char* c = rows[i].given; *c; ++c) given[count++] = texts[*c - 'a'];
    if (count) TF_SetAttrStringList(d, "_class", given, (size_t[]){6, 6, 6}, count);
    for (const char* c = rows[i].with; *c; ++c) TF_ColocateWith(d, at[*c - 'a'].oper);
    TF_Operation* n = TF_FinishOperation(d, s);
    char text[128];
    if (CHECK_TF_OK(s)) {
      read_class(n, text, sizeof text, s);
      CHECK_STR(text, rows[i].want);
    }
    TF_DeleteGraph(g);
    TF_DeleteStatus(s);
  }
}

TEST(a_class_that_is_no_list_of_texts_gives_way) {
  for (int kind = 0; kind < 2; ++kind) {
    TF_Status* s = TF_NewStatus();
    TF_Graph* g = TF_NewGraph();
    TF_Output a = help_placeholder(g, "a", TF_FLOAT, s);
    TF_OperationDescription* d = TF_NewOperation(g, "NoOp", "n");
    if (kind) TF_SetAttrIntList(d, "_class", (int64_t[]){1, 2}, 2);
    else TF_SetAttrString(d, "_class", "loc:@b", 6);
    TF_ColocateWith(d, a.oper);
    TF_Operation* n = TF_FinishOperation(d, s);
    char text[64];
    REQUIRE(CHECK_TF_OK(s));
    read_class(n, text, sizeof text, s);
    CHECK_STR(text, "loc:@a ");
    TF_DeleteGraph(g);
    TF_DeleteStatus(s);
  }
}

/* Arrays that are too small, endpoints that are not there, no operation at all. */
TEST(edges_are_told_as_far_as_there_is_room) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), cond = help_placeholder(g, "c", TF_BOOL, s);
  TF_Output fork = help_binary(g, "Switch", "fork", x, cond, s), yes = {fork.oper, 1};
  TF_Output a = help_unary(g, "Neg", "a", fork, s), b = help_binary(g, "Sub", "b", yes, fork, s);
  TF_OperationDescription* d = TF_NewOperation(g, "NoOp", "late");
  TF_AddControlInput(d, a.oper);
  TF_AddControlInput(d, b.oper);
  TF_Operation *late = TF_FinishOperation(d, s), *ops[3] = {NULL, NULL, NULL};
  TF_Input in[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
  TF_Output from[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
  REQUIRE(CHECK_TF_OK(s));
  CHECK_INT(TF_OperationOutputNumConsumers(fork), 2);
  CHECK_INT(TF_OperationOutputNumConsumers(yes), 1);
  CHECK_INT(TF_OperationOutputNumConsumers((TF_Output){fork.oper, 2}), 0);
  CHECK_INT(TF_OperationOutputNumConsumers((TF_Output){fork.oper, -1}), 0);
  CHECK_INT(TF_OperationOutputNumConsumers((TF_Output){NULL, 0}), 0);
  CHECK_INT(TF_OperationOutputConsumers(fork, in, 0), 0);
  CHECK_INT(TF_OperationOutputConsumers(fork, in, 1), 1);
  CHECK(in[0].oper == a.oper && in[1].oper == NULL);
  CHECK_INT(TF_OperationOutputConsumers(fork, in, 3), 2);
  CHECK(in[1].oper == b.oper && in[1].index == 1 && in[2].oper == NULL);
  CHECK_INT(TF_OperationOutputConsumers(fork, NULL, 3), 0);
  CHECK_INT(TF_OperationGetControlInputs(late, ops, 0), 0);
  CHECK_INT(TF_OperationGetControlInputs(late, ops, 1), 1);
  CHECK(ops[0] == a.oper && ops[1] == NULL);
  CHECK_INT(TF_OperationGetControlInputs(late, ops, 3), 2);
  CHECK(ops[1] == b.oper && ops[2] == NULL);
  CHECK_INT(TF_OperationNumControlOutputs(a.oper), 1);
  CHECK_INT(TF_OperationGetControlOutputs(a.oper, ops, 0), 0);
  CHECK_INT(TF_OperationGetControlOutputs(a.oper, ops, 3), 1);
  CHECK(ops[0] == late && ops[1] == b.oper);
  TF_OperationAllInputs(b.oper, from, 1);
  CHECK(from[0].oper == fork.oper && from[0].index == 1 && from[1].oper == NULL);
  TF_OperationAllInputs(b.oper, from, 3);
  CHECK(from[1].oper == fork.oper && from[1].index == 0 && from[2].oper == NULL);
  CHECK_INT(TF_OperationOutputType((TF_Output){fork.oper, 1}), TF_FLOAT);
  CHECK_INT(TF_OperationOutputType((TF_Output){fork.oper, 2}), 0);
  CHECK_INT(TF_OperationOutputType((TF_Output){fork.oper, -1}), 0);
  CHECK_INT(TF_OperationInputType((TF_Input){fork.oper, 1}), TF_BOOL);
  CHECK_INT(TF_OperationInputType((TF_Input){fork.oper, -1}), 0);
  CHECK_INT(TF_OperationInput((TF_Input){fork.oper, 2}).index, -1);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(no_operation_has_nothing) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Operation* ops[1] = {NULL};
  CHECK_STR(TF_OperationName(NULL), "");
  CHECK_STR(TF_OperationOpType(NULL), "");
  CHECK_STR(TF_OperationDevice(NULL), "");
  CHECK_STR(TF_OperationDevice(help_placeholder(g, "x", TF_FLOAT, s).oper), "");
  CHECK_INT(TF_OperationNumInputs(NULL), 0);
  CHECK_INT(TF_OperationNumOutputs(NULL), 0);
  CHECK_INT(TF_OperationNumControlInputs(NULL), 0);
  CHECK_INT(TF_OperationGetControlInputs(NULL, ops, 1), 0);
  CHECK_INT(TF_OperationNumControlOutputs(NULL), 0);
  CHECK_INT(TF_OperationGetControlOutputs(NULL, ops, 1), 0);
  CHECK_INT(TF_OperationInputListLength(NULL, "x", s), -1);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_INT(TF_OperationOutputListLength(NULL, "x", s), -1);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST_MAIN()
