/* SPDX-License-Identifier: Apache-2.0 */
/* Attrs of every kind: set on an operation, read back from it, and read once more by the kernel that is made for it. */
#include "help.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static int attrs_kernels; /* kernels made, which all found what they should */

static const int64_t attr_dims[3] = {2, -1, 5};
static const int64_t attr_ints[3] = {7, -8, 1};
static const char attr_shape_proto[] = "\x12\x02\x08\x03\x12\x02\x08\x04"; /* dim 3, dim 4 */

static TF_Tensor* attrs_ints_tensor(void) {
  int64_t dim = 2;
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, &dim, 1, 8);
  ((int32_t*)TF_TensorData(t))[0] = 41;
  ((int32_t*)TF_TensorData(t))[1] = 42;
  return t;
}

static void attrs_check_plain(TF_OpKernelConstruction* ctx, TF_Status* s) {
  TF_DataType type = (TF_DataType)0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  float f = 0;
  TF_Bool b = 0;
  TF_OpKernelConstruction_GetAttrType(ctx, "t", &type, s);
  CHECK(CHECK_TF_OK(s) && type == TF_DOUBLE);
  TF_OpKernelConstruction_GetAttrInt32(ctx, "i", &i32, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT); /* it does not fit */
  TF_OpKernelConstruction_GetAttrInt32(ctx, "small", &i32, s);
  CHECK(CHECK_TF_OK(s) && i32 == -5);
  TF_OpKernelConstruction_GetAttrInt64(ctx, "i", &i64, s);
  CHECK(CHECK_TF_OK(s) && i64 == INT64_C(1) << 40);
  TF_OpKernelConstruction_GetAttrFloat(ctx, "f", &f, s);
  CHECK(CHECK_TF_OK(s) && f == 1.5f);
  TF_OpKernelConstruction_GetAttrBool(ctx, "b", &b, s);
  CHECK(CHECK_TF_OK(s) && b == 1);
  TF_OpKernelConstruction_GetAttrBool(ctx, "f", &b, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
}

static void attrs_check_lists(TF_OpKernelConstruction* ctx, TF_Status* s) {
  TF_DataType types[2] = {0};
  int32_t i32s[3] = {0};
  int64_t i64s[3] = {0};
  float fs[2] = {0};
  TF_Bool bs[3] = {0};
  TF_OpKernelConstruction_GetAttrTypeList(ctx, "ts", types, 2, s);
  CHECK(CHECK_TF_OK(s) && types[0] == TF_INT32 && types[1] == TF_STRING);
  TF_OpKernelConstruction_GetAttrInt32List(ctx, "is", i32s, 3, s);
  CHECK(CHECK_TF_OK(s) && i32s[0] == 7 && i32s[1] == -8 && i32s[2] == 1);
  TF_OpKernelConstruction_GetAttrInt64List(ctx, "is", i64s, 2, s); /* the first two */
  CHECK(CHECK_TF_OK(s) && i64s[0] == 7 && i64s[1] == -8 && i64s[2] == 0);
  TF_OpKernelConstruction_GetAttrFloatList(ctx, "fs", fs, 2, s);
  CHECK(CHECK_TF_OK(s) && fs[0] == 0.5f && fs[1] == -2);
  TF_OpKernelConstruction_GetAttrBoolList(ctx, "bs", bs, 3, s);
  CHECK(CHECK_TF_OK(s) && bs[0] == 1 && bs[1] == 0 && bs[2] == 1);
}

static void attrs_check_texts(TF_OpKernelConstruction* ctx, TF_Status* s) {
  char text[8] = {0}, storage[8], *values[2] = {0};
  size_t lengths[2] = {0};
  int32_t list_size = 0, total = 0;
  TF_OpKernelConstruction_GetAttrString(ctx, "s", text, sizeof text, s);
  CHECK(CHECK_TF_OK(s) && !strcmp(text, "one"));
  TF_OpKernelConstruction_GetAttrSize(ctx, "ss", &list_size, &total, s);
  CHECK(CHECK_TF_OK(s) && list_size == 2 && total == 6);
  TF_OpKernelConstruction_GetAttrSize(ctx, "none", &list_size, &total, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OpKernelConstruction_GetAttrStringList(ctx, "ss", values, lengths, 2, storage, sizeof storage, s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK(lengths[0] == 2 && !memcmp(values[0], "ab", 2) && lengths[1] == 4 && !memcmp(values[1], "c\0de", 4));
}

static void attrs_check_rest(TF_OpKernelConstruction* ctx, TF_Status* s) {
  TF_Tensor *one = NULL, *list[2] = {0};
  TF_StringView name = TF_OpKernelConstruction_GetName(ctx);
  CHECK(name.len == 4 && !memcmp(name.data, "node", 4));
  CHECK(TF_OpKernelConstruction_HasAttr(ctx, "te", s) && !TF_OpKernelConstruction_HasAttr(ctx, "none", s));
  CHECK(!TF_OpKernelConstruction_HasAttr(ctx, NULL, s));
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OpKernelConstruction_GetAttrTensor(ctx, "te", &one, s);
  CHECK(CHECK_TF_OK(s) && one && ((int32_t*)TF_TensorData(one))[1] == 42);
  TF_OpKernelConstruction_GetAttrTensorList(ctx, "tes", list, 2, s);
  CHECK(CHECK_TF_OK(s) && list[1] && *(float*)TF_TensorData(list[1]) == 2.5f);
  TF_Buffer* func = TF_OpKernelConstruction_GetAttrFunction(ctx, "fn", s);
  CHECK(CHECK_TF_OK(s) && func && func->length == 4 && !memcmp(func->data, "\x0a\x02Sq", 4));
  TF_Buffer* none = TF_OpKernelConstruction_GetAttrFunction(ctx, "i", s);
  CHECK(none == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_Buffer* def = TF_OpKernelConstruction_GetNodeDef(ctx, s);
  CHECK(CHECK_TF_OK(s) && def && def->length > 17 && !memcmp(def->data, "\x0a\x04node\x12\x09TestAttrs", 17));
  TF_DeleteTensor(one);
  TF_DeleteTensor(list[0]);
  TF_DeleteTensor(list[1]);
  TF_DeleteBuffer(func);
  TF_DeleteBuffer(def);
}

static void* attrs_create(TF_OpKernelConstruction* ctx) {
  TF_Status* s = TF_NewStatus();
  attrs_check_plain(ctx, s);
  attrs_check_lists(ctx, s);
  attrs_check_texts(ctx, s);
  attrs_check_rest(ctx, s);
  TF_DeleteStatus(s);
  ++attrs_kernels;
  return NULL;
}

static void attrs_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* y = TF_AllocateOutput(ctx, 0, TF_FLOAT, NULL, 0, sizeof(float), s);
  CHECK(kernel == NULL && CHECK_TF_OK(s));
  if (y) *(float*)TF_TensorData(y) = 11;
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}

static void attrs_register(TF_Status* s) {
  static const char* const specs[] = {"s: string", "ss: list(string)", "i: int", "small: int", "is: list(int)", "f: float",
                                      "fs: list(float)", "b: bool", "bs: list(bool)", "t: type", "ts: list(type)", "sh: shape",
                                      "shs: list(shape)", "sp: shape", "sps: list(shape)", "te: tensor", "tes: list(tensor)", "fn: func"};
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("TestAttrs");
  for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) TF_OpDefinitionBuilderAddAttr(op, specs[i]);
  TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_RegisterOpDefinition(op, s);
  if (CHECK_TF_OK(s))
    TF_RegisterKernelBuilder("TestAttrs", TF_NewKernelBuilder("TestAttrs", "CPU", attrs_create, attrs_compute, NULL), s);
  CHECK_TF_OK(s);
}

static void attrs_add_function(TF_Graph* g, TF_Status* s) {
  TF_Graph* body = TF_NewGraph();
  TF_Output x = help_placeholder(body, "x", TF_FLOAT, s), y = help_unary(body, "Square", "y", x, s);
  TF_Function* f = TF_GraphToFunction(body, "Sq", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
  TF_GraphCopyFunction(g, f, NULL, s);
  CHECK_TF_OK(s);
  TF_DeleteFunction(f);
  TF_DeleteGraph(body);
}

static void attrs_set_shapes(TF_OperationDescription* d, TF_Status* s) {
  const int64_t* dims[3] = {attr_dims, attr_dims, NULL};
  const void* protos[2] = {attr_shape_proto, attr_shape_proto};
  size_t lengths[2] = {8, 4};
  TF_SetAttrShape(d, "sh", attr_dims, 3);
  TF_SetAttrShapeList(d, "shs", dims, (int[]){3, 1, -1}, 3);
  TF_SetAttrTensorShapeProto(d, "sp", "\x12\x05", 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetAttrTensorShapeProto(d, "sp", attr_shape_proto, 8, s);
  CHECK_TF_OK(s);
  TF_SetAttrTensorShapeProtoList(d, "sps", protos, lengths, 2, s);
  CHECK_TF_OK(s);
}

static TF_Operation* attrs_make(TF_Graph* g, TF_Status* s) {
  TF_Tensor *t = attrs_ints_tensor(), *list[2] = {help_float(1.5f), help_float(2.5f)};
  const void* texts[2] = {"ab", "c\0de"};
  TF_OperationDescription* d = TF_NewOperationLocked(g, "TestAttrs", "node");
  TF_SetAttrString(d, "s", "one", 3);
  TF_SetAttrStringList(d, "ss", texts, (size_t[]){2, 4}, 2);
  TF_SetAttrInt(d, "i", INT64_C(1) << 40);
  TF_SetAttrInt(d, "small", -5);
  TF_SetAttrIntList(d, "is", attr_ints, 3);
  TF_SetAttrFloat(d, "f", 1.5f);
  TF_SetAttrFloatList(d, "fs", (float[]){0.5f, -2}, 2);
  TF_SetAttrBool(d, "b", 7);
  TF_SetAttrBoolList(d, "bs", (unsigned char[]){2, 0, 1}, 3);
  TF_SetAttrType(d, "t", TF_DOUBLE);
  TF_SetAttrTypeList(d, "ts", (TF_DataType[]){TF_INT32, TF_STRING}, 2);
  attrs_set_shapes(d, s);
  TF_SetAttrTensor(d, "te", t, s);
  CHECK_TF_OK(s);
  TF_SetAttrTensorList(d, "tes", list, 2, s);
  CHECK_TF_OK(s);
  TF_SetAttrFuncName(d, "fn", "Sq", 2);
  ((int32_t*)TF_TensorData(t))[1] = 0; /* the attr has a copy */
  TF_DeleteTensor(t);
  TF_DeleteTensor(list[0]);
  TF_DeleteTensor(list[1]);
  return TF_FinishOperationLocked(d, s);
}

static void attrs_read_plain(TF_Operation* op, TF_Status* s) {
  char text[4] = {0};
  int64_t i = 0, is[3] = {0};
  float f = 0, fs[2] = {0};
  unsigned char b = 0, bs[3] = {0};
  TF_DataType t = (TF_DataType)0, ts[2] = {0};
  TF_OperationGetAttrString(op, "s", text, 2, s);
  CHECK(CHECK_TF_OK(s) && !strcmp(text, "on"));
  TF_OperationGetAttrInt(op, "i", &i, s);
  CHECK(CHECK_TF_OK(s) && i == INT64_C(1) << 40);
  TF_OperationGetAttrIntList(op, "is", is, 3, s);
  CHECK(CHECK_TF_OK(s) && !memcmp(is, attr_ints, sizeof is));
  TF_OperationGetAttrFloat(op, "f", &f, s);
  CHECK(CHECK_TF_OK(s) && f == 1.5f);
  TF_OperationGetAttrFloatList(op, "fs", fs, 2, s);
  CHECK(CHECK_TF_OK(s) && fs[0] == 0.5f && fs[1] == -2);
  TF_OperationGetAttrBool(op, "b", &b, s);
  CHECK(CHECK_TF_OK(s) && b == 1);
  TF_OperationGetAttrBoolList(op, "bs", bs, 3, s);
  CHECK(CHECK_TF_OK(s) && bs[0] == 1 && bs[1] == 0 && bs[2] == 1);
  TF_OperationGetAttrType(op, "t", &t, s);
  CHECK(CHECK_TF_OK(s) && t == TF_DOUBLE);
  TF_OperationGetAttrTypeList(op, "ts", ts, 2, s);
  CHECK(CHECK_TF_OK(s) && ts[0] == TF_INT32 && ts[1] == TF_STRING);
  TF_OperationGetAttrTypeList(op, "t", ts, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
}

static void attrs_read_shapes(TF_Operation* op, TF_Status* s) {
  int64_t dims[3] = {0}, storage[4], *lists[3];
  int ranks[3];
  TF_Buffer *proto = TF_NewBuffer(), *protos[2] = {0};
  TF_OperationGetAttrShape(op, "sh", dims, 3, s);
  CHECK(CHECK_TF_OK(s) && !memcmp(dims, attr_dims, sizeof dims));
  TF_OperationGetAttrShape(op, "sh", dims, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrShapeList(op, "shs", lists, ranks, 3, storage, 4, s);
  if (CHECK_TF_OK(s)) {
    CHECK(ranks[0] == 3 && ranks[1] == 1 && ranks[2] == -1);
    CHECK(!memcmp(lists[0], attr_dims, sizeof dims) && lists[1][0] == 2);
  }
  TF_OperationGetAttrShapeList(op, "shs", lists, ranks, 3, storage, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrTensorShapeProto(op, "sp", proto, s);
  CHECK(CHECK_TF_OK(s) && proto->length == 8 && !memcmp(proto->data, attr_shape_proto, 8));
  TF_OperationGetAttrTensorShapeProtoList(op, "sps", protos, 2, s);
  if (CHECK_TF_OK(s)) CHECK(protos[0]->length == 8 && protos[1]->length == 4 && !memcmp(protos[1]->data, attr_shape_proto, 4));
  TF_DeleteBuffer(protos[0]);
  TF_DeleteBuffer(protos[1]);
  TF_OperationGetAttrTensorShapeProtoList(op, "sp", protos, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(proto);
}

static void attrs_read_rest(TF_Operation* op, TF_Status* s) {
  TF_Tensor *one = NULL, *list[2] = {0};
  TF_Buffer* value = TF_NewBuffer();
  TF_OperationGetAttrTensor(op, "te", &one, s);
  CHECK(CHECK_TF_OK(s) && one && ((int32_t*)TF_TensorData(one))[1] == 42);
  TF_OperationGetAttrTensorList(op, "tes", list, 2, s);
  CHECK(CHECK_TF_OK(s) && list[0] && *(float*)TF_TensorData(list[0]) == 1.5f);
  TF_OperationGetAttrValueProto(op, "s", value, s);
  CHECK(CHECK_TF_OK(s) && value->length == 5 && !memcmp(value->data, "\x12\x03one", 5));
  TF_OperationGetAttrValueProto(op, "none", value, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(one);
  TF_DeleteTensor(list[0]);
  TF_DeleteTensor(list[1]);
  TF_DeleteBuffer(value);
}

static void attrs_read_metadata(TF_Operation* op, TF_Status* s) {
  static const struct {
    const char* name;
    TF_AttrType type;
    int list_size, total_size;
  } rows[] = {
      {"s", TF_ATTR_STRING, -1, 3},  {"ss", TF_ATTR_STRING, 2, 6}, {"i", TF_ATTR_INT, -1, -1},    {"is", TF_ATTR_INT, 3, -1},
      {"f", TF_ATTR_FLOAT, -1, -1},  {"fs", TF_ATTR_FLOAT, 2, -1}, {"b", TF_ATTR_BOOL, -1, -1},   {"bs", TF_ATTR_BOOL, 3, -1},
      {"t", TF_ATTR_TYPE, -1, -1},   {"ts", TF_ATTR_TYPE, 2, -1},  {"sh", TF_ATTR_SHAPE, -1, 3},  {"shs", TF_ATTR_SHAPE, 3, 4},
      {"te", TF_ATTR_TENSOR, -1, -1}, {"tes", TF_ATTR_TENSOR, 2, -1}, {"fn", TF_ATTR_FUNC, -1, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, rows[i].name, s);
    bool good = m.is_list == (rows[i].list_size >= 0) && m.list_size == rows[i].list_size && m.type == rows[i].type;
    if (!CHECK(good) || !CHECK_INT(m.total_size, rows[i].total_size)) printf("of attr %s\n", rows[i].name);
    CHECK_TF_OK(s);
  }
  char name[8] = {0};
  CHECK_INT(TF_OperationGetNumAttrs(op), 18);
  CHECK_INT(TF_OperationGetAttrNameLength(op, 1), 2);
  TF_OperationGetAttrName(op, 1, name, s);
  CHECK(CHECK_TF_OK(s) && !strcmp(name, "ss"));
  TF_OperationGetAttrName(op, 18, name, s);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
}

TEST(attrs_come_back_as_they_went_in) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  attrs_register(s);
  attrs_add_function(g, s);
  TF_Operation* op = attrs_make(g, s);
  REQUIRE(CHECK_TF_OK(s) && op);
  attrs_read_plain(op, s);
  attrs_read_shapes(op, s);
  attrs_read_rest(op, s);
  attrs_read_metadata(op, s);
  TF_Session* session = TF_NewSession(g, NULL, s);
  CHECK_NEAR(help_run(session, (TF_Output){NULL, 0}, NULL, (TF_Output){op, 0}, s), 11, 0);
  CHECK_TF_OK(s);
  CHECK_INT(attrs_kernels, 1);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(getters_without_an_operation_fail) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* b = TF_NewBuffer();
  TF_Tensor* t = NULL;
  int64_t i = 3;
  TF_OperationGetAttrMetadata(NULL, "a", s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrInt(NULL, "a", &i, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrTensor(NULL, "a", &t, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrTensorList(NULL, "a", &t, 1, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OperationGetAttrValueProto(NULL, "a", b, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(i == 3 && t == NULL && TF_OperationGetNumAttrs(NULL) == 0 && TF_OperationGetAttrNameLength(NULL, 0) == -1);
  TF_DeleteBuffer(b);
  TF_DeleteStatus(s);
}

TEST(bad_values_fail_when_the_operation_is_finished) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", "ints");
  TF_SetAttrIntList(d, "shape", NULL, 2);
  CHECK(TF_FinishOperation(d, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  d = TF_NewOperation(g, "Placeholder", "texts");
  TF_SetAttrStringList(d, "dtype", NULL, NULL, 1);
  CHECK(TF_FinishOperation(d, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  d = TF_NewOperation(g, "Placeholder", "open");
  TF_SetAttrPlaceholder(d, "dtype", "T"); /* only in a function's body */
  TF_Operation* open = TF_FinishOperation(d, s);
  CHECK(open == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetAttrInt(NULL, "a", 1);
  TF_SetAttrString(NULL, "a", "b", 1);
  TF_SetAttrBoolList(NULL, "a", NULL, 0);
  TF_SetAttrPlaceholder(NULL, "a", "b");
  TF_SetAttrFuncName(NULL, "a", "b", 1);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* A list without elements says nothing of its kind; the op's definition does, and of attrs that no op knows it is a list of texts. */
TEST(empty_lists_are_of_the_kind_that_the_op_says) {
  static const struct { const char* name; TF_AttrType type; } rows[] = {
      {"is", TF_ATTR_INT}, {"ss", TF_ATTR_STRING}, {"fs", TF_ATTR_FLOAT}, {"ts", TF_ATTR_TYPE}, {"_mine", TF_ATTR_STRING}};
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("TestEmptyLists");
  TF_OpDefinitionBuilderAddAttr(b, "is: list(int)");
  TF_OpDefinitionBuilderAddAttr(b, "ss: list(string)");
  TF_OpDefinitionBuilderAddAttr(b, "fs: list(float)");
  TF_OpDefinitionBuilderAddAttr(b, "ts: list(type)");
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_OK(s);
  TF_OperationDescription* d = TF_NewOperation(g, "TestEmptyLists", "n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    TF_SetAttrValueProto(d, rows[i].name, "\x0a\x00", 2, s);
    CHECK_TF_OK(s);
  }
  TF_Operation* op = TF_FinishOperation(d, s);
  REQUIRE(CHECK_TF_OK(s));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, rows[i].name, s);
    if (!CHECK(m.is_list && m.list_size == 0) || !CHECK_INT(m.type, rows[i].type)) printf("of attr %s\n", rows[i].name);
  }
  int64_t i = 3;
  TF_OperationGetAttrIntList(op, "is", &i, 1, s);
  CHECK(CHECK_TF_OK(s) && i == 3);
  TF_OperationGetAttrInt(op, "is", &i, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(texts_go_into_storage_of_just_their_size) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OperationDescription* d = TF_NewOperation(g, "NoOp", "n");
  const void* texts[4] = {"ab", "", "cde", "f"};
  TF_SetAttrStringList(d, "_texts", texts, (size_t[]){2, 0, 3, 1}, 4);
  TF_Operation* op = TF_FinishOperation(d, s);
  void* values[4] = {0};
  size_t lengths[4] = {9, 9, 9, 9};
  char storage[8] = "zzzzzzz";
  REQUIRE(CHECK_TF_OK(s));
  TF_OperationGetAttrStringList(op, "_texts", values, lengths, 4, storage, 6, s);
  CHECK(CHECK_TF_OK(s) && !memcmp(storage, "abcdefz", 7));
  CHECK(lengths[0] == 2 && lengths[1] == 0 && lengths[2] == 3 && lengths[3] == 1);
  CHECK(values[0] == storage && values[2] == storage + 2 && values[3] == storage + 5);
  TF_OperationGetAttrStringList(op, "_texts", values, lengths, 4, storage, 5, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  lengths[2] = 9;
  TF_OperationGetAttrStringList(op, "_texts", values, lengths, 2, storage, 2, s);
  CHECK(CHECK_TF_OK(s) && lengths[2] == 9);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(each_way_to_set_an_attr_copies_and_refuses_arrays_that_are_not_there) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  for (int way = 0; way < 12; ++way) {
    char name[16];
    snprintf(name, sizeof name, "n%d", way);
    TF_OperationDescription* d = TF_NewOperation(g, "NoOp", name);
    const void* texts[1] = {"a"};
    const int64_t* dims[1] = {NULL};
    const void* protos[1] = {""};
    switch (way) {
      case 0: TF_SetAttrIntList(d, "_a", NULL, 1); break;
      case 1: TF_SetAttrFloatList(d, "_a", NULL, 1); break;
      case 2: TF_SetAttrTypeList(d, "_a", NULL, 1); break;
      case 3: TF_SetAttrBoolList(d, "_a", NULL, 1); break;
      case 4: TF_SetAttrStringList(d, "_a", texts, NULL, 1); break;
      case 5: TF_SetAttrStringList(d, "_a", texts, (size_t[]){1}, -1); break;
      case 6: TF_SetAttrShapeList(d, "_a", dims, NULL, 1); break;
      case 7: TF_SetAttrShapeList(d, "_a", NULL, (int[]){0}, 1); break;
      case 8: TF_SetAttrShape(d, "_a", NULL, 1); break;
      case 9: TF_SetAttrShapeList(d, "_a", dims, (int[]){1}, 1); break;
      case 10: TF_SetAttrShapeList(d, "_a", dims, (int[]){0}, 1); break; /* a scalar has no dims */
      case 11: TF_SetAttrTensorShapeProtoList(d, "_a", protos, NULL, 1, s); break;
      default: break;
    }
    if (way == 11) CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
    CHECK((TF_FinishOperation(d, s) != NULL) == (way >= 10));
    if (!CHECK_TF_CODE(s, way >= 10 ? TF_OK : TF_INVALID_ARGUMENT)) printf("way %d\n", way);
  }
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(no_text_is_an_empty_one) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OperationDescription* d = TF_NewOperation(g, "NoOp", "n");
  TF_SetAttrString(d, "_null", NULL, 5);
  TF_SetAttrString(d, "_empty", "ignored", 0);
  TF_SetAttrString(d, "_text", "some text", 4);
  TF_Operation* op = TF_FinishOperation(d, s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK_INT(TF_OperationGetAttrMetadata(op, "_null", s).total_size, 0);
  CHECK_INT(TF_OperationGetAttrMetadata(op, "_empty", s).total_size, 0);
  CHECK_INT(TF_OperationGetAttrMetadata(op, "_text", s).total_size, 4);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST_MAIN()
