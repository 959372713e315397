/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of a client's own: everything they can ask and make, and what it does to the graph. What an op's builder says of it. */
#include "help.h"
#include "tensorflow/c/ops.h"

typedef struct {
  TF_ShapeInferenceContext* ctx;
  TF_ShapeHandle *a, *b, *out; /* shapes of the inputs ([2,?,5] and unknown), and what is made of them */
  TF_DimensionHandle* dim;
  TF_Status* s;
} shapes_t;

static int64_t shapes_dim(const shapes_t* t, TF_ShapeHandle* of, int64_t i) {
  TF_ShapeInferenceContextDim(t->ctx, of, i, t->dim);
  CHECK_INT(TF_DimensionHandleValueKnown(t->dim), TF_DimensionHandleValue(t->dim) >= 0);
  return TF_DimensionHandleValue(t->dim);
}
static int64_t shapes_rank(const shapes_t* t, TF_ShapeHandle* of) {
  int64_t rank = TF_ShapeInferenceContextRank(t->ctx, of);
  CHECK_INT(TF_ShapeInferenceContextRankKnown(t->ctx, of), rank >= 0);
  return rank;
}

static void shapes_check_inputs(shapes_t* t) {
  TF_DataType type = (TF_DataType)0;
  CHECK_INT(TF_ShapeInferenceContextNumInputs(t->ctx), 2);
  CHECK(TF_DimensionHandleValue(t->dim) == -1 && shapes_rank(t, t->a) == -1);
  TF_ShapeInferenceContextGetInput(t->ctx, 0, t->a, t->s);
  CHECK_TF_OK(t->s);
  TF_ShapeInferenceContextGetInput(t->ctx, 1, t->b, t->s);
  CHECK_TF_OK(t->s);
  TF_ShapeInferenceContextGetInput(t->ctx, 2, t->b, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextGetInput(t->ctx, 0, NULL, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  CHECK(shapes_rank(t, t->a) == 3 && shapes_rank(t, t->b) == -1 && shapes_rank(t, NULL) == -1);
  CHECK(shapes_dim(t, t->a, 0) == 2 && shapes_dim(t, t->a, 1) == -1 && shapes_dim(t, t->a, -1) == 5);
  CHECK(shapes_dim(t, t->a, 3) == -1 && shapes_dim(t, t->b, 0) == -1);
  TF_ShapeInferenceContext_GetAttrType(t->ctx, "T", &type, t->s);
  CHECK(CHECK_TF_OK(t->s) && type == TF_FLOAT);
  TF_ShapeInferenceContext_GetAttrType(t->ctx, "U", &type, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
}

static void shapes_check_ranks(shapes_t* t) {
  TF_ShapeInferenceContextWithRank(t->ctx, t->a, 3, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_dim(t, t->out, 0) == 2);
  TF_ShapeInferenceContextWithRank(t->ctx, t->b, 2, t->out, t->s); /* now it is known */
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == 2 && shapes_dim(t, t->out, 0) == -1);
  TF_ShapeInferenceContextWithRank(t->ctx, t->a, 2, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextWithRank(t->ctx, t->b, -1, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextWithRankAtLeast(t->ctx, t->a, 3, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == 3);
  TF_ShapeInferenceContextWithRankAtLeast(t->ctx, t->a, 4, t->out, t->s);
  CHECK(CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(t->s), "at least 4"));
  TF_ShapeInferenceContextWithRankAtMost(t->ctx, t->a, 3, t->out, t->s);
  CHECK_TF_OK(t->s);
  TF_ShapeInferenceContextWithRankAtMost(t->ctx, t->a, 2, t->out, t->s);
  CHECK(CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(t->s), "at most 2"));
  TF_ShapeInferenceContextWithRankAtMost(t->ctx, NULL, 2, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
}

static void shapes_check_parts(shapes_t* t) {
  TF_ShapeInferenceContextSubshape(t->ctx, t->a, 1, 99, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == 2 && shapes_dim(t, t->out, 1) == 5);
  TF_ShapeInferenceContextSubshape(t->ctx, t->a, -3, -1, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == 2 && shapes_dim(t, t->out, 0) == 2);
  TF_ShapeInferenceContextSubshape(t->ctx, t->a, 2, 1, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSubshape(t->ctx, t->a, -9, 1, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSubshape(t->ctx, t->b, 0, 1, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == -1);
  TF_ShapeInferenceContextConcatenateShapes(t->ctx, t->a, t->b, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == -1);
  TF_ShapeInferenceContextConcatenateShapes(t->ctx, t->a, NULL, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
}

/* y: the first input's shape and 7; z: a scalar; the third output: first unknown like all, then left so. */
static void shapes_set(shapes_t* t) {
  TF_ShapeHandle *scalar = TF_ShapeInferenceContextScalar(t->ctx), *seven = TF_ShapeInferenceContextVectorFromSize(t->ctx, 7);
  CHECK(shapes_rank(t, scalar) == 0 && shapes_rank(t, seven) == 1 && shapes_dim(t, seven, 0) == 7);
  TF_ShapeInferenceContextConcatenateShapes(t->ctx, t->a, seven, t->out, t->s);
  CHECK(CHECK_TF_OK(t->s) && shapes_rank(t, t->out) == 4);
  TF_ShapeInferenceContextSetUnknownShape(t->ctx, t->s);
  CHECK_TF_OK(t->s);
  TF_ShapeInferenceContextSetOutput(t->ctx, 3, t->out, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSetOutput(t->ctx, 0, NULL, t->s);
  CHECK_TF_CODE(t->s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSetOutput(t->ctx, 1, scalar, t->s);
  CHECK_TF_OK(t->s);
  TF_ShapeInferenceContextSetOutput(t->ctx, 0, t->out, t->s);
  CHECK_TF_OK(t->s);
  TF_DeleteShapeHandle(scalar);
  TF_DeleteShapeHandle(seven);
}

static int shapes_called;

static void shapes_infer(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  shapes_t t = {ctx, TF_NewShapeHandle(), TF_NewShapeHandle(), TF_NewShapeHandle(), TF_NewDimensionHandle(), TF_NewStatus()};
  ++shapes_called;
  TF_ShapeInferenceContextGetInput(ctx, 0, t.out, t.s);
  if (TF_ShapeInferenceContextRank(ctx, t.out) == 1) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION, "no vectors");
  } else {
    shapes_check_inputs(&t);
    shapes_check_ranks(&t);
    shapes_check_parts(&t);
    shapes_set(&t);
  }
  TF_DeleteShapeHandle(t.a);
  TF_DeleteShapeHandle(t.b);
  TF_DeleteShapeHandle(t.out);
  TF_DeleteDimensionHandle(t.dim);
  TF_DeleteStatus(t.s);
}

TEST(a_shape_function_sees_and_says) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("TestShapes");
  TF_OpDefinitionBuilderAddAttr(b, "T: type");
  TF_OpDefinitionBuilderAddInput(b, "a: T");
  TF_OpDefinitionBuilderAddInput(b, "b: T");
  TF_OpDefinitionBuilderAddOutput(b, "y: T");
  TF_OpDefinitionBuilderAddOutput(b, "z: T");
  TF_OpDefinitionBuilderAddOutput(b, "u: T");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, shapes_infer);
  TF_RegisterOpDefinition(b, s);
  REQUIRE(CHECK_TF_OK(s));
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), w = help_placeholder(g, "w", TF_FLOAT, s);
  TF_Output v = help_placeholder(g, "v", TF_FLOAT, s);
  TF_GraphSetTensorShape(g, x, (int64_t[]){2, -1, 5}, 3, s);
  TF_GraphSetTensorShape(g, v, (int64_t[]){2}, 1, s);
  TF_Output y = help_binary(g, "TestShapes", "y", x, w, s);
  int64_t dims[4] = {0};
  REQUIRE(CHECK_TF_OK(s) && CHECK_INT(shapes_called, 1));
  CHECK_INT(TF_GraphGetTensorNumDims(g, (TF_Output){y.oper, 1}, s), 0);
  CHECK_INT(TF_GraphGetTensorNumDims(g, (TF_Output){y.oper, 2}, s), -1);
  TF_GraphGetTensorShape(g, y, dims, 4, s);
  CHECK(CHECK_TF_OK(s) && dims[0] == 2 && dims[1] == -1 && dims[2] == 5 && dims[3] == 7);
  CHECK(help_binary(g, "TestShapes", "bad", v, w, s).oper == NULL);
  CHECK(CHECK_TF_CODE(s, TF_FAILED_PRECONDITION) && CHECK_HAS(TF_Message(s), "no vectors"));
  CHECK(TF_GraphOperationByName(g, "bad") == NULL);
  TF_DeleteShapeHandle(NULL);
  TF_DeleteDimensionHandle(NULL);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

static bool has_bytes(const TF_Buffer* b, const char* bytes, size_t count) {
  for (size_t at = 0; at + count <= b->length; ++at)
    if (!memcmp((const char*)b->data + at, bytes, count)) return true;
  return false;
}

TEST(what_a_builder_says_stands_in_the_definition) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Buffer* def = TF_NewBuffer();
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("TestFlags");
  TF_OpDefinitionBuilderAddAttr(b, "N: int >= 1 = 2");
  TF_OpDefinitionBuilderAddInput(b, "xs: N * float");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetIsCommutative(b, true);
  TF_OpDefinitionBuilderSetIsAggregate(b, true);
  TF_OpDefinitionBuilderSetIsStateful(b, true);
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(b, true);
  TF_OpDefinitionBuilderDeprecated(b, 9999, "gone soon");
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_OK(s);
  TF_GraphGetOpDef(g, "TestFlags", def, s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK(has_bytes(def, "\x80\x01\x01", 3));               /* is_aggregate = 16 */
  CHECK(has_bytes(def, "\x88\x01\x01", 3));               /* is_stateful = 17 */
  CHECK(has_bytes(def, "\x90\x01\x01", 3));               /* is_commutative = 18 */
  CHECK(has_bytes(def, "\x98\x01\x01", 3));               /* allows_uninitialized_input = 19 */
  CHECK(has_bytes(def, "\x42\x0e\x08\x8f\x4e\x12\x09gone soon", 16)); /* deprecation = 8 */
  TF_DeleteBuffer(def);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* Borders of ranks and parts, on a scalar, a shape of two dims and one that is not known. */
static void check_rank(const shapes_t* t, TF_ShapeHandle* of, int64_t rank, const char* good) { /* is it, at least, at most: "+" or "-" */
  char got[4] = "---";
  TF_ShapeInferenceContextWithRank(t->ctx, of, rank, t->out, t->s);
  if (TF_GetCode(t->s) == TF_OK) got[0] = '+';
  TF_ShapeInferenceContextWithRankAtLeast(t->ctx, of, rank, t->out, t->s);
  if (TF_GetCode(t->s) == TF_OK) got[1] = '+';
  TF_ShapeInferenceContextWithRankAtMost(t->ctx, of, rank, t->out, t->s);
  if (TF_GetCode(t->s) == TF_OK) got[2] = '+';
  if (!CHECK(!strcmp(got, good))) printf("rank %lld: %s, not %s\n", (long long)rank, got, good);
}

static void check_part(const shapes_t* t, int64_t start, int64_t end, const char* want) { /* digits of [3,?]; "!": there is no such part */
  char text[8] = "";
  TF_ShapeInferenceContextSubshape(t->ctx, t->a, start, end, t->out, t->s);
  if (TF_GetCode(t->s) != TF_OK) strcpy(text, "!");
  for (int64_t i = 0; TF_GetCode(t->s) == TF_OK && i < shapes_rank(t, t->out); ++i) strcat(text, shapes_dim(t, t->out, i) == 3 ? "3" : "?");
  if (!CHECK(!strcmp(text, want))) printf("from %lld to %lld: %s, not %s\n", (long long)start, (long long)end, text, want);
}

static void borders_infer(TF_ShapeInferenceContext* ctx, TF_Status* status) {
  shapes_t t = {ctx, TF_NewShapeHandle(), TF_NewShapeHandle(), TF_NewShapeHandle(), TF_NewDimensionHandle(), TF_NewStatus()};
  TF_ShapeHandle* scalar = TF_ShapeInferenceContextScalar(ctx);
  (void)status;
  TF_ShapeInferenceContextGetInput(ctx, 0, t.a, t.s);
  TF_ShapeInferenceContextGetInput(ctx, 1, t.b, t.s);
  TF_ShapeInferenceContextGetInput(ctx, -1, t.out, t.s);
  CHECK_TF_CODE(t.s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSetOutput(ctx, -1, t.a, t.s);
  CHECK_TF_CODE(t.s, TF_INVALID_ARGUMENT);
  check_rank(&t, t.a, 1, "-+-");
  check_rank(&t, t.a, 2, "+++");
  check_rank(&t, t.a, 3, "--+");
  check_rank(&t, scalar, 0, "+++");
  check_rank(&t, scalar, 1, "--+");
  check_rank(&t, t.b, 0, "+++");
  check_rank(&t, t.b, 254, "+++");
  check_rank(&t, t.b, 255, "-++");
  check_part(&t, 0, 2, "3?");
  check_part(&t, 0, 1, "3");
  check_part(&t, 1, 2, "?");
  check_part(&t, 1, 1, "");
  check_part(&t, 2, 2, "");
  check_part(&t, 3, 3, "");
  check_part(&t, -1, 2, "?");
  check_part(&t, -2, -1, "3");
  check_part(&t, 0, 0, "");
  check_part(&t, 0, -2, "");
  check_part(&t, -3, 2, "!");
  check_part(&t, 1, 0, "!");
  check_part(&t, 0, -3, "!");
  TF_ShapeInferenceContextConcatenateShapes(ctx, t.b, t.a, t.out, t.s);
  CHECK(CHECK_TF_OK(t.s) && shapes_rank(&t, t.out) == -1);
  TF_ShapeInferenceContextConcatenateShapes(ctx, scalar, t.a, t.out, t.s);
  CHECK(CHECK_TF_OK(t.s) && shapes_rank(&t, t.out) == 2 && shapes_dim(&t, t.out, 0) == 3);
  TF_ShapeInferenceContextConcatenateShapes(ctx, t.a, scalar, t.out, t.s);
  CHECK(CHECK_TF_OK(t.s) && shapes_rank(&t, t.out) == 2);
  TF_ShapeHandle *none = TF_ShapeInferenceContextVectorFromSize(ctx, 0), *huge = TF_ShapeInferenceContextVectorFromSize(ctx, SIZE_MAX);
  CHECK(shapes_dim(&t, none, 0) == 0 && shapes_rank(&t, huge) == 1 && shapes_dim(&t, huge, 0) == -1);
  TF_ShapeInferenceContextDim(ctx, NULL, 0, t.dim);
  CHECK(TF_DimensionHandleValue(t.dim) == -1 && !TF_DimensionHandleValueKnown(NULL) && TF_DimensionHandleValue(NULL) == -1);
  TF_ShapeHandle* handles[] = {none, huge, scalar, t.a, t.b, t.out};
  for (int i = 0; i < 6; ++i) TF_DeleteShapeHandle(handles[i]);
  TF_DeleteDimensionHandle(t.dim);
  TF_DeleteStatus(t.s);
  ++shapes_called;
}

TEST(borders_of_ranks_and_parts) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("TestBorders");
  TF_OpDefinitionBuilderAddInput(b, "a: float");
  TF_OpDefinitionBuilderAddInput(b, "b: float");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, borders_infer);
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_OK(s);
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), w = help_placeholder(g, "w", TF_FLOAT, s);
  TF_GraphSetTensorShape(g, x, (int64_t[]){3, -1}, 2, s);
  shapes_called = 0;
  TF_Output y = help_binary(g, "TestBorders", "y", x, w, s);
  REQUIRE(CHECK_TF_OK(s) && CHECK_INT(shapes_called, 1));
  CHECK_INT(TF_GraphGetTensorNumDims(g, y, s), -1); /* nothing was said of it */
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST_MAIN()
