/* SPDX-License-Identifier: Apache-2.0 */
/* headrace/op.h: gradients of a client's own, with everything an emitter can ask and add. Each op here is differentiated only, so none has
 * a kernel but through the operations that its gradient emits. */
#include "headrace/op.h"

#include "headrace/gradients.h"
#include "help.h"
#include "tensorflow/c/ops.h"

static void emit_define(const char* op, const char* const* specs, HR_GradFunction function, TF_Status* s) { /* attrs, "", inputs */
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder(op);
  for (; **specs; ++specs) TF_OpDefinitionBuilderAddAttr(b, *specs);
  for (++specs; *specs; ++specs) TF_OpDefinitionBuilderAddInput(b, *specs);
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderAddOutput(b, "z: float");
  TF_RegisterOpDefinition(b, s);
  if (CHECK_TF_OK(s)) HR_RegisterGradient(op, function, s);
  CHECK_TF_OK(s);
}
#define SPECS(...) ((const char* const[]){__VA_ARGS__, NULL})

static bool is_none(TF_Output value) { return value.oper == NULL && value.index == -1; }
static bool is_text(TF_StringView view, const char* text) { return view.len == strlen(text) && !memcmp(view.data, text, view.len); }

/* --- asking -------------------------------------------------------------------------------------------------------------------------- */
static void ask_attrs(HR_GradContext* g) {
  const int64_t* ints = NULL;
  CHECK(HR_GradAttrInt(g, "i") == 12 && HR_GradAttrInt(g, "f") == 0 && HR_GradAttrInt(g, "none") == 0);
  CHECK(HR_GradAttrFloat(g, "f") == 2.5f && HR_GradAttrFloat(g, "i") == 0);
  CHECK(HR_GradAttrBool(g, "b") == 1 && HR_GradAttrBool(g, "i") == 0);
  CHECK(HR_GradAttrType(g, "t") == TF_INT64 && HR_GradAttrType(g, "i") == 0);
  CHECK(is_text(HR_GradAttrString(g, "s"), "text") && is_text(HR_GradAttrString(g, "i"), ""));
  CHECK(HR_GradAttrInts(g, "is", &ints) == 3 && ints[2] == 6);
  CHECK(HR_GradAttrInts(g, "is", NULL) == 3 && HR_GradAttrInts(g, "i", &ints) == -1 && ints == NULL);
}

static void ask_grad(HR_GradContext* g) {
  TF_Output x = HR_GradInput(g, 0), y = HR_GradOutput(g, 0), rows[3];
  CHECK(HR_GradNumInputs(g) == 2 && HR_GradNumOutputs(g) == 2);
  CHECK_STR(TF_OperationName(x.oper), "x");
  CHECK_STR(TF_OperationName(y.oper), "asked");
  CHECK(HR_GradHasUpstream(g, 0) && !HR_GradHasUpstream(g, 1) && !HR_GradHasUpstream(g, 2) && !HR_GradHasUpstream(g, -1));
  CHECK(HR_GradWanted(g, 0) && !HR_GradWanted(g, 1) && !HR_GradWanted(g, 7));
  CHECK(!HR_GradUpstreamSlices(g, 0, &rows[0], &rows[1], &rows[2]));
  CHECK(HR_GradDataType(g, x) == TF_FLOAT && HR_GradDataType(g, (TF_Output){NULL, -1}) == 0);
  CHECK(HR_GradNumDims(g, x) == 2 && HR_GradNumDims(g, (TF_Output){NULL, -1}) == -1);
  CHECK(HR_GradDim(g, x, 0) == -1 && HR_GradDim(g, x, 1) == 2 && HR_GradDim(g, x, 2) == -1);
  CHECK(HR_GradDim(g, (TF_Output){NULL, -1}, 0) == -1);
  ask_attrs(g);
  HR_GradGive(g, 0, HR_EmitScale(g, HR_GradUpstream(g, 0), HR_GradAttrFloat(g, "f")));
}

typedef struct {
  TF_Status* s;
  TF_Graph* g;
  TF_Output x, w; /* float [?,2] */
  TF_Session* session;
} emit_t;

static emit_t emit_start(void) {
  emit_t e = {.s = TF_NewStatus(), .g = TF_NewGraph()};
  int64_t dims[2] = {-1, 2};
  e.x = help_placeholder(e.g, "x", TF_FLOAT, e.s);
  e.w = help_placeholder(e.g, "w", TF_FLOAT, e.s);
  TF_GraphSetTensorShape(e.g, e.x, dims, 2, e.s);
  CHECK_TF_OK(e.s);
  e.session = TF_NewSession(e.g, NULL, e.s);
  return e;
}
static void emit_end(emit_t* e) {
  TF_DeleteSession(e->session, e->s);
  TF_DeleteGraph(e->g);
  TF_DeleteStatus(e->s);
}
/* dy/dx at x = [[3, 4]], its first element; y is the first output of op(x...). */
static float emit_derive(emit_t* e, TF_Output y) {
  TF_Output dx = {NULL, -1}, dy = help_const(e->g, "dy", help_floats((int64_t[]){1, 2}, 2, (float[]){1, 1}), e->s);
  TF_AddGradients(e->g, &y, 1, &e->x, 1, &dy, e->s, &dx);
  if (TF_GetCode(e->s) != TF_OK || !dx.oper) return NAN;
  return help_run(e->session, e->x, help_floats((int64_t[]){1, 2}, 2, (float[]){3, 4}), dx, e->s);
}

TEST(an_emitter_asks) {
  emit_t e = emit_start();
  emit_define("TestAsk", SPECS("i: int = 12", "f: float = 2.5", "b: bool = true", "t: type = DT_INT64", "s: string = 'text'",
                               "is: list(int) = [4, 5, 6]", "", "x: float", "w: float"), ask_grad, e.s);
  TF_Output y = help_binary(e.g, "TestAsk", "asked", e.x, e.w, e.s);
  REQUIRE(CHECK_TF_OK(e.s));
  CHECK_NEAR(emit_derive(&e, y), 2.5, 0);
  CHECK_TF_OK(e.s);
  emit_end(&e);
}

/* --- emitting ------------------------------------------------------------------------------------------------------------------------ */
/* What depends on a failure fails too. */
static void make_grad(HR_GradContext* g) {
  TF_Output dy = HR_GradUpstream(g, 0), bad = HR_Emit2(g, "ConcatV2", dy, dy); /* the second is no axis */
  CHECK(is_none(bad) && is_none(HR_EmitCast(g, bad, TF_FLOAT)) && is_none(HR_EmitScale(g, dy, 2)));
  HR_GradGive(g, 0, dy);
}

/* dy * (2 + 3 + 10 + 1 + 2 + 2): each term made another way. */
static void sum_grad(HR_GradContext* g) {
  TF_Output dy = HR_GradUpstream(g, 0), x = HR_GradInput(g, 0);
  TF_Tensor *two = help_float(2), *three = help_float(3);
  const HR_Attr constant[2] = {{.name = "value", .kind = TF_ATTR_TENSOR, .tensor = three},
                               {.name = "dtype", .kind = TF_ATTR_TYPE, .i = TF_FLOAT}};
  const HR_Attr sizes[1] = {{.name = "out_type", .kind = TF_ATTR_TYPE, .i = TF_INT64}};
  TF_Output ones = HR_Emit1(g, "Exp", HR_EmitZerosLike(g, x)); /* [[1, 1]] */
  TF_Output axes = HR_EmitConstInts(g, (int64_t[]){0, 1}, 2);
  TF_Output sum = HR_Emit2(g, "AddV2", HR_EmitConst(g, two), HR_Emit(g, "Const", 0, NULL, 2, constant)); /* 5 */
  sum = HR_Emit2(g, "AddV2", sum, HR_EmitConstLike(g, x, 10));                                           /* 15 */
  sum = HR_Emit2(g, "AddV2", sum, HR_EmitScale(g, HR_EmitSum(g, ones, axes, 1), 0.5));                   /* [[16]] */
  sum = HR_Emit2(g, "AddV2", sum, HR_EmitCast(g, HR_Emit(g, "Size", 1, &x, 1, sizes), TF_FLOAT));        /* [[18]] */
  sum = HR_Emit2(g, "AddV2", sum, HR_EmitCast(g, HR_Emit1(g, "Size", HR_EmitShape(g, x)), TF_FLOAT));    /* [[20]] */
  TF_Output wide = HR_Emit2(g, "Mul", dy, sum);
  TF_Output fitted = HR_EmitReduceTo(g, wide, x, sum);
  HR_EmitControl(g, ones, fitted);
  CHECK(!is_none(HR_GradUpstream(g, 1))); /* zeros: nothing reaches z */
  HR_GradGive(g, 0, HR_EmitReshapeLike(g, fitted, x));
  TF_DeleteTensor(two);
  TF_DeleteTensor(three);
}

TEST(an_emitter_adds_operations) {
  emit_t e = emit_start();
  emit_define("TestSum", SPECS("", "x: float"), sum_grad, e.s);
  TF_Output y = help_unary(e.g, "TestSum", "sum", e.x, e.s);
  CHECK_NEAR(emit_derive(&e, y), 20, 1e-5);
  CHECK_TF_OK(e.s);
  emit_end(&e);
}

TEST(a_failed_emission_sticks) {
  emit_t e = emit_start();
  emit_define("TestMake", SPECS("", "x: float"), make_grad, e.s);
  TF_Output y = help_unary(e.g, "TestMake", "made", e.x, e.s);
  CHECK(isnan(emit_derive(&e, y)));
  CHECK_TF_CODE(e.s, TF_INVALID_ARGUMENT);
  emit_end(&e);
}

/* --- failing ------------------------------------------------------------------------------------------------------------------------- */
static int fail_way;

static void fail_grad(HR_GradContext* g) {
  const HR_Attr nameless = {.kind = TF_ATTR_INT}, func = {.name = "f", .kind = TF_ATTR_FUNC};
  const HR_Attr hollow = {.name = "t", .kind = TF_ATTR_TENSOR};
  TF_Output dy = HR_GradUpstream(g, 0);
  switch (fail_way) {
    case 0: HR_GradFail(g, TF_DATA_LOSS, "as told"); break;
    case 1: HR_GradFail(g, TF_OK, "no failure has this code"); break;
    case 2: CHECK(is_none(HR_GradInput(g, 5))); break;
    case 3: CHECK(is_none(HR_GradOutput(g, -1))); break;
    case 4: CHECK(is_none(HR_GradUpstream(g, 2))); break;
    case 5: HR_GradGive(g, 1, dy); break;
    case 6: HR_GradGiveSlices(g, 1, dy, dy, dy); break;
    case 7: CHECK(is_none(HR_Emit1(g, "NoSuchOp", dy))); break;
    case 8: CHECK(is_none(HR_Emit(g, "Neg", 1, &dy, 1, &nameless))); break;
    case 9: CHECK(is_none(HR_Emit(g, "Neg", 1, &dy, 1, &func))); break;
    case 10: CHECK(is_none(HR_Emit(g, "Neg", 1, &dy, 1, &hollow))); break;
    case 11: CHECK(is_none(HR_Emit(g, "Neg", 1, NULL, 0, NULL))); break;
    case 12: CHECK(is_none(HR_Emit(g, NULL, 1, &dy, 0, NULL))); break;
    case 13: CHECK(is_none(HR_EmitConst(g, NULL))); break;
    case 14: CHECK(is_none(HR_EmitConstInts(g, NULL, 2))); break;
    case 15: CHECK(is_none(HR_Emit(g, "Neg", 1, &dy, 33, &nameless))); break;
    default: break;
  }
  HR_GradGive(g, 0, HR_EmitScale(g, dy, 2)); /* for nothing, after a failure */
}

TEST(failures_of_an_emitter_reach_the_caller) {
  static const TF_Code codes[] = {TF_DATA_LOSS,        TF_UNKNOWN,          TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT,
                                  TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT, TF_NOT_FOUND,        TF_INVALID_ARGUMENT, TF_UNIMPLEMENTED,
                                  TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT, TF_INVALID_ARGUMENT,
                                  TF_INVALID_ARGUMENT, TF_OK};
  emit_t e = emit_start();
  emit_define("TestFail", SPECS("", "x: float"), fail_grad, e.s);
  TF_Output y = help_unary(e.g, "TestFail", "failing", e.x, e.s), dx;
  for (fail_way = 0; fail_way < (int)(sizeof codes / sizeof *codes); ++fail_way) {
    TF_AddGradientsWithPrefix(e.g, "again", &y, 1, &e.x, 1, NULL, e.s, &dx);
    if (!CHECK_TF_CODE(e.s, codes[fail_way])) printf("in way %d\n", fail_way);
  }
  CHECK(dx.oper && !strncmp(TF_OperationName(dx.oper), "again", 5));
  emit_end(&e);
}

TEST(gradients_are_registered_once_and_for_ops) {
  emit_t e = emit_start();
  HR_RegisterGradient("TestAsk", ask_grad, e.s);
  CHECK_TF_CODE(e.s, TF_ALREADY_EXISTS);
  HR_RegisterGradient("NoSuchOp", ask_grad, e.s);
  CHECK_TF_CODE(e.s, TF_NOT_FOUND);
  HR_RegisterGradient(NULL, ask_grad, e.s);
  CHECK_TF_CODE(e.s, TF_INVALID_ARGUMENT);
  emit_define("TestFlat", SPECS("", "x: float"), NULL, e.s); /* not differentiable: nothing flows */
  TF_Output y = help_unary(e.g, "TestFlat", "flat", e.x, e.s), dx;
  TF_AddGradients(e.g, &y, 1, &e.x, 1, NULL, e.s, &dx);
  CHECK(CHECK_TF_OK(e.s) && is_none(dx));
  emit_end(&e);
}

/* --- slices -------------------------------------------------------------------------------------------------------------------------- */
static int slices_seen;

static void slices_grad(HR_GradContext* g) { /* passes what comes as rows on as rows, doubled */
  TF_Output indices, values, shape;
  if (HR_GradUpstreamSlices(g, 0, &indices, &values, &shape)) {
    ++slices_seen;
    HR_GradGiveSlices(g, 0, indices, HR_EmitScale(g, values, 2), shape);
  } else {
    HR_GradGive(g, 0, HR_GradUpstream(g, 0));
  }
}

TEST(rows_come_and_go) {
  emit_t e = emit_start();
  emit_define("TestRows", SPECS("", "x: float"), slices_grad, e.s);
  TF_Output table = help_unary(e.g, "TestRows", "rows", e.x, e.s);
  TF_GraphSetTensorShape(e.g, table, (int64_t[]){3, 2}, 2, e.s);
  TF_Tensor* at = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  *(int32_t*)TF_TensorData(at) = 1;
  TF_Output picked = help_binary(e.g, "Gather", "picked", table, help_const(e.g, "at", at, e.s), e.s);
  REQUIRE(CHECK_TF_OK(e.s));
  HR_Gradient d;
  HR_GradientRequest r = {.struct_size = HR_GRADIENT_REQUEST_STRUCT_SIZE, .ys = &picked, .y_count = 1, .xs = &e.x, .x_count = 1,
                          .keep_slices = 1};
  HR_AddGradients(e.g, &r, &d, e.s);
  REQUIRE(CHECK_TF_OK(e.s));
  CHECK(slices_seen == 1 && d.is_slices && d.values.oper && d.indices.oper && is_none(d.dense));
  float zeros[6] = {0};
  CHECK_NEAR(help_run(e.session, e.x, help_floats((int64_t[]){3, 2}, 2, zeros), d.values, e.s), 2, 0);
  CHECK_TF_OK(e.s);
  emit_end(&e);
}
/* --- attrs of emitted operations, gradients of the caller's -------------------------------------------------------------------------- */
static void kinds_grad(HR_GradContext* g) {
  static const int64_t ints[2] = {TF_INT32, TF_STRING};
  const HR_Attr attrs[] = {{.name = "s", .kind = TF_ATTR_STRING, .s = "text"},
                           {.name = "f", .kind = TF_ATTR_FLOAT, .f = 2.5f},
                           {.name = "b", .kind = TF_ATTR_BOOL, .i = 1},
                           {.name = "i", .kind = TF_ATTR_INT, .i = -3},
                           {.name = "is", .kind = TF_ATTR_INT, .is_list = 1, .ints = ints, .count = 2},
                           {.name = "ts", .kind = TF_ATTR_TYPE, .is_list = 1, .ints = ints, .count = 2},
                           {.name = "sh", .kind = TF_ATTR_SHAPE, .ints = ints, .count = 2},
                           {.name = "any", .kind = TF_ATTR_SHAPE, .count = -1}};
  TF_Output made = HR_Emit(g, "TestKinds", 0, NULL, 8, attrs);
  CHECK(!is_none(made));
  HR_GradGive(g, 0, HR_Emit2(g, "Mul", made, HR_GradUpstream(g, 0)));
}

static void kinds_check(TF_Operation* op, TF_Status* s) {
  char text[5] = {0};
  float f = 0;
  unsigned char b = 0;
  int64_t i = 0, is[2] = {0}, dims[2] = {0};
  TF_DataType ts[2] = {0};
  TF_OperationGetAttrString(op, "s", text, 4, s);
  CHECK(CHECK_TF_OK(s) && !strcmp(text, "text"));
  TF_OperationGetAttrFloat(op, "f", &f, s);
  TF_OperationGetAttrBool(op, "b", &b, s);
  TF_OperationGetAttrInt(op, "i", &i, s);
  CHECK(f == 2.5f && b == 1 && i == -3);
  TF_OperationGetAttrIntList(op, "is", is, 2, s);
  TF_OperationGetAttrTypeList(op, "ts", ts, 2, s);
  CHECK(is[0] == TF_INT32 && is[1] == TF_STRING && ts[0] == TF_INT32 && ts[1] == TF_STRING);
  TF_OperationGetAttrShape(op, "sh", dims, 2, s);
  CHECK(CHECK_TF_OK(s) && dims[0] == TF_INT32 && dims[1] == TF_STRING);
  CHECK_INT(TF_OperationGetAttrMetadata(op, "any", s).total_size, -1);
}

TEST(emitted_operations_have_their_attrs) {
  emit_t e = emit_start();
  emit_define("TestKinds", SPECS("s: string", "f: float", "b: bool", "i: int", "is: list(int)", "ts: list(type)", "sh: shape",
                                 "any: shape", ""), NULL, e.s);
  emit_define("TestKind", SPECS("", "x: float"), kinds_grad, e.s);
  TF_Output y = help_unary(e.g, "TestKind", "y", e.x, e.s), dx;
  TF_AddGradients(e.g, &y, 1, &e.x, 1, NULL, e.s, &dx);
  CHECK_TF_OK(e.s);
  TF_Operation* op = NULL;
  size_t at = 0;
  while ((op = TF_GraphNextOperation(e.g, &at)) && strcmp(TF_OperationOpType(op), "TestKinds")) {}
  if (CHECK(op)) kinds_check(op, e.s);
  emit_end(&e);
}

static TF_Bool override_square(void* arg, HR_GradContext* ctx, TF_Operation* oper) {
  ++*(int*)arg;
  if (strcmp(TF_OperationOpType(oper), "Square")) return 0;
  HR_GradGive(ctx, 0, HR_EmitScale(ctx, HR_GradUpstream(ctx, 0), 7));
  return 1;
}

TEST(the_callers_gradient_goes_first) { /* y = -(x^2), the square's taken as 7 */
  emit_t e = emit_start();
  int asked = 0;
  TF_Output y = help_unary(e.g, "Neg", "y", help_unary(e.g, "Square", "square", e.x, e.s), e.s);
  HR_Gradient d;
  HR_GradientRequest r = {.struct_size = HR_GRADIENT_REQUEST_STRUCT_SIZE, .ys = &y, .y_count = 1, .xs = &e.x, .x_count = 1,
                          .override = override_square, .override_arg = &asked};
  HR_AddGradients(e.g, &r, &d, e.s);
  REQUIRE(CHECK_TF_OK(e.s));
  CHECK_NEAR(help_run(e.session, e.x, help_floats((int64_t[]){1, 2}, 2, (float[]){3, 4}), d.dense, e.s), -7, 0);
  CHECK_INT(asked, 2);
  emit_end(&e);
}
TEST_MAIN()
