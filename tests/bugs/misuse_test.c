/* SPDX-License-Identifier: Apache-2.0 */
/* The C API called wrongly: NULLs, indices and counts that are not there, operations of another graph, sizes that lie, use after the end.
 * Each call gives a status (or nothing), and what is called rightly afterwards works. What no library can see (a pointer that was freed)
 * is not tried. */
#include <pthread.h>
#include <unistd.h>
#include "bug.h"
#include "headrace/client.h"
#include "headrace/gradients.h"
#include "headrace/session.h"

static const TF_Output misuse_none = {NULL, 0};

typedef struct {
  TF_Graph* g;
  TF_Status* s;
  TF_Session* session;
  TF_Output x, y, two; /* y = x + 2 */
} misuse_t;

static TF_Session* misuse_session(TF_Graph* g, TF_Status* s) {
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, o, s);
  TF_DeleteSessionOptions(o);
  return session;
}
static misuse_t misuse_open(void) {
  misuse_t m = {.g = TF_NewGraph(), .s = TF_NewStatus()};
  m.x = help_placeholder(m.g, "x", TF_FLOAT, m.s);
  m.two = help_const(m.g, "two", help_float(2), m.s);
  m.y = help_binary(m.g, "AddV2", "y", m.x, m.two, m.s);
  m.session = misuse_session(m.g, m.s);
  CHECK_TF_OK(m.s);
  return m;
}
static void misuse_works(misuse_t* m) { /* the session still does what it should */
  TF_SetStatus(m->s, TF_OK, "");
  CHECK_NEAR(help_run(m->session, m->x, help_float(5), m->y, m->s), 7, 0);
  CHECK_TF_OK(m->s);
}
static void misuse_close(misuse_t* m) {
  if (m->session) misuse_works(m);
  if (m->session) TF_DeleteSession(m->session, m->s);
  TF_DeleteGraph(m->g);
  TF_DeleteStatus(m->s);
}
/* A failure with one of the codes of wrong use. */
#define REFUSES(m)                                                                                                      \
  do {                                                                                                                  \
    TF_Code refused_code = TF_GetCode((m)->s);                                                                          \
    CHECK(refused_code == TF_INVALID_ARGUMENT || refused_code == TF_NOT_FOUND || refused_code == TF_OUT_OF_RANGE ||     \
          refused_code == TF_FAILED_PRECONDITION || refused_code == TF_CANCELLED);                                      \
    CHECK(*TF_Message((m)->s) != 0);                                                                                    \
    TF_SetStatus((m)->s, TF_OK, "");                                                                                    \
  } while (0)

TEST(nulls_that_are_nothing) {
  TF_Status* s = TF_NewStatus();
  TF_DeleteTensor(NULL);
  TF_DeleteBuffer(NULL);
  TF_DeleteGraph(NULL);
  TF_DeleteSessionOptions(NULL);
  TF_DeleteImportGraphDefOptions(NULL);
  TF_DeleteImportGraphDefResults(NULL);
  TF_DeleteFunction(NULL);
  TF_DeletePRunHandle(NULL);
  TF_DeleteDeviceList(NULL);
  TF_DeleteLibraryHandle(NULL);
  TF_DeleteSession(NULL, s);
  CHECK_TF_OK(s);
  HR_DeleteCallable(NULL);
  HR_DeleteCancellation(NULL);
  HR_DeleteOptimizer(NULL);
  TF_DeleteStatus(NULL);
  TF_DeleteStatus(s);
}

static void misuse_run(misuse_t* m, TF_Output in, TF_Tensor* value, TF_Output out) {
  TF_Tensor* got = NULL;
  TF_SessionRun(m->session, NULL, &in, &value, 1, &out, &got, 1, NULL, 0, NULL, m->s);
  CHECK(got == NULL);
  TF_DeleteTensor(got);
}
TEST(endpoints_that_are_not_there) {
  misuse_t m = misuse_open(), other = misuse_open();
  TF_Tensor *v = help_float(1), *got = NULL;
  const TF_Output bad[] = {{NULL, 0}, {m.y.oper, -1}, {m.y.oper, 1}, {m.y.oper, 1 << 30}, {m.y.oper, INT32_MIN}, other.y};
  for (int i = 0; i < (int)(sizeof bad / sizeof *bad); ++i) {
    misuse_run(&m, m.x, v, bad[i]);
    REFUSES(&m);
    misuse_run(&m, bad[i], v, m.y);
    REFUSES(&m);
    HR_Callable* c = HR_NewCallable(m.session, &m.x, 1, &bad[i], 1, NULL, 0, m.s);
    CHECK(c == NULL);
    REFUSES(&m);
    const char* handle = NULL;
    TF_SessionPRunSetup(m.session, &m.x, 1, &bad[i], 1, NULL, 0, &handle, m.s);
    REFUSES(&m);
  }
  misuse_run(&m, m.x, NULL, m.y);
  REFUSES(&m);
  const TF_Operation* target = NULL;
  TF_SessionRun(m.session, NULL, &m.x, &v, 1, &m.y, &got, 1, &target, 1, NULL, m.s);
  REFUSES(&m);
  target = other.y.oper;
  TF_SessionRun(m.session, NULL, &m.x, &v, 1, &m.y, &got, 1, &target, 1, NULL, m.s);
  REFUSES(&m);
  TF_SessionRun(m.session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, m.s); /* nothing at all: TensorFlow refuses as well */
  TF_SetStatus(m.s, TF_OK, "");
  TF_Output twice[] = {m.x, m.x};
  TF_Tensor* values[] = {v, v};
  TF_SessionRun(m.session, NULL, twice, values, 2, &m.y, &got, 1, NULL, 0, NULL, m.s);
  REFUSES(&m);
  TF_DeleteTensor(v);
  misuse_close(&other);
  misuse_close(&m);
}
TEST(counts_below_nothing) {
  misuse_t m = misuse_open();
  TF_Tensor* got = NULL;
  TF_SessionRun(m.session, NULL, &m.x, NULL, -1, &m.y, &got, 1, NULL, 0, NULL, m.s);
  REFUSES(&m);
  TF_SessionRun(m.session, NULL, NULL, NULL, 0, &m.y, &got, -5, NULL, 0, NULL, m.s);
  REFUSES(&m);
  TF_SessionRun(m.session, NULL, NULL, NULL, 0, &m.two, &got, 1, NULL, INT32_MIN, NULL, m.s);
  REFUSES(&m);
  TF_Output dy;
  TF_AddGradients(m.g, &m.y, -1, &m.x, 1, NULL, m.s, &dy);
  REFUSES(&m);
  TF_AddGradients(m.g, &m.y, 1, &m.x, -1, NULL, m.s, &dy);
  REFUSES(&m);
  misuse_close(&m);
}

TEST(feeds_of_another_type_or_shape) {
  misuse_t m = misuse_open();
  int32_t one = 1;
  TF_Tensor* i = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  memcpy(TF_TensorData(i), &one, 4);
  misuse_run(&m, m.x, i, m.y);
  REFUSES(&m);
  TF_DeleteTensor(i);
  TF_Tensor* s = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  misuse_run(&m, m.x, s, m.y);
  REFUSES(&m);
  TF_DeleteTensor(s);
  misuse_close(&m);
}

TEST(questions_about_what_is_not_there) {
  misuse_t m = misuse_open();
  int64_t dims[4] = {0};
  TF_Output in[4], far = {m.y.oper, 7}, below = {m.y.oper, -3};
  TF_Input far_in = {m.y.oper, 9}, below_in = {m.y.oper, -1};
  TF_Input consumers[2];
  TF_Operation* controls[2];
  TF_OperationOutputType(far), TF_OperationOutputType(below);
  TF_OperationInputType(far_in), TF_OperationInputType(below_in);
  CHECK(TF_OperationInput(far_in).oper == NULL);
  CHECK(TF_OperationInput(below_in).oper == NULL);
  CHECK_INT(TF_OperationOutputNumConsumers(far), 0);
  CHECK_INT(TF_OperationOutputNumConsumers(below), 0);
  CHECK_INT(TF_OperationOutputConsumers(far, consumers, 2), 0);
  TF_OperationOutputConsumers(m.x, consumers, 0);
  TF_OperationOutputConsumers(m.x, NULL, 0);
  TF_OperationOutputConsumers(m.x, consumers, -1);
  TF_OperationAllInputs(m.y.oper, in, 1);
  TF_OperationAllInputs(m.y.oper, NULL, 0);
  TF_OperationAllInputs(m.y.oper, in, -2);
  TF_OperationGetControlInputs(m.y.oper, controls, 0);
  TF_OperationGetControlInputs(m.y.oper, NULL, -1);
  TF_OperationGetControlOutputs(m.y.oper, controls, 2);
  CHECK_INT(TF_GraphGetTensorNumDims(m.g, far, m.s), -1);
  REFUSES(&m);
  TF_GraphGetTensorNumDims(m.g, below, m.s);
  REFUSES(&m);
  TF_GraphGetTensorNumDims(m.g, misuse_none, m.s);
  REFUSES(&m);
  TF_GraphGetTensorShape(m.g, m.two, dims, 4, m.s); /* it has 0 */
  REFUSES(&m);
  TF_GraphGetTensorShape(m.g, m.two, dims, -1, m.s);
  TF_SetStatus(m.s, TF_OK, "");
  TF_GraphGetTensorShape(m.g, far, dims, 0, m.s);
  REFUSES(&m);
  TF_GraphSetTensorShape(m.g, far, dims, 1, m.s);
  REFUSES(&m);
  dims[0] = -7;
  TF_GraphSetTensorShape(m.g, m.x, dims, 1, m.s);
  TF_SetStatus(m.s, TF_OK, "");
  TF_GraphSetTensorShape(m.g, m.x, dims, 300, m.s);
  REFUSES(&m);
  TF_OperationOutputListLength(m.y.oper, "no", m.s);
  REFUSES(&m);
  TF_OperationInputListLength(m.y.oper, "", m.s);
  REFUSES(&m);
  CHECK_INT(TF_OperationGetAttrNameLength(m.y.oper, -1), -1);
  CHECK_INT(TF_OperationGetAttrNameLength(m.y.oper, 1000), -1);
  char name[64];
  TF_OperationGetAttrName(m.y.oper, 1000, name, m.s);
  REFUSES(&m);
  CHECK(TF_GraphOperationByName(m.g, "") == NULL);
  size_t pos = SIZE_MAX;
  CHECK(TF_GraphNextOperation(m.g, &pos) == NULL);
  TF_Tensor* t = NULL;
  TF_TryEvaluateConstant(m.g, far, &t, m.s);
  CHECK(t == NULL);
  TF_SetStatus(m.s, TF_OK, "");
  TF_TryEvaluateConstant(m.g, misuse_none, &t, m.s);
  CHECK(t == NULL);
  TF_SetStatus(m.s, TF_OK, "");
  TF_DeleteBuffer(TF_GetHandleShapeAndType(m.g, far));
  TF_SetHandleShapeAndType(m.g, far, "\xff\xff", 2, m.s);
  REFUSES(&m);
  TF_SetHandleShapeAndType(m.g, m.y, "\x0a\xff\xff\xff\xff\x0f", 6, m.s);
  REFUSES(&m);
  misuse_close(&m);
}

TEST(attrs_of_another_kind) {
  misuse_t m = misuse_open();
  char text[4];
  void* texts[2];
  size_t sizes[2];
  int64_t n, list[2];
  float f;
  unsigned char b;
  TF_DataType type;
  TF_Tensor* t = NULL;
  TF_Operation* o = m.two.oper;
  TF_OperationGetAttrString(o, "value", text, 4, m.s);
  REFUSES(&m);
  TF_OperationGetAttrStringList(o, "dtype", texts, sizes, 2, text, 4, m.s);
  REFUSES(&m);
  TF_OperationGetAttrInt(o, "dtype", &n, m.s);
  REFUSES(&m);
  TF_OperationGetAttrIntList(o, "value", list, 2, m.s);
  REFUSES(&m);
  TF_OperationGetAttrFloat(o, "value", &f, m.s);
  REFUSES(&m);
  TF_OperationGetAttrBool(o, "dtype", &b, m.s);
  REFUSES(&m);
  TF_OperationGetAttrType(o, "value", &type, m.s);
  REFUSES(&m);
  TF_OperationGetAttrTypeList(o, "dtype", &type, -1, m.s);
  REFUSES(&m);
  TF_OperationGetAttrShape(o, "dtype", list, 2, m.s);
  REFUSES(&m);
  TF_OperationGetAttrTensor(o, "dtype", &t, m.s);
  REFUSES(&m);
  TF_OperationGetAttrTensor(o, "none", &t, m.s);
  REFUSES(&m);
  TF_OperationGetAttrMetadata(o, "none", m.s);
  REFUSES(&m);
  CHECK(t == NULL);
  misuse_close(&m);
}

static TF_OperationDescription* misuse_begin(misuse_t* m, const char* op) {
  static int number;
  char name[32];
  snprintf(name, sizeof name, "made_%d", number++);
  return TF_NewOperation(m->g, op, name);
}
static void misuse_finish(misuse_t* m, TF_OperationDescription* d) {
  CHECK(TF_FinishOperation(d, m->s) == NULL);
  REFUSES(m);
}
TEST(descriptions_with_nonsense) {
  misuse_t m = misuse_open(), other = misuse_open();
  TF_OperationDescription* d = misuse_begin(&m, "Neg");
  TF_AddInput(d, misuse_none);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Neg");
  TF_AddInput(d, (TF_Output){m.x.oper, -1});
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Neg");
  TF_AddInput(d, other.x);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "AddN");
  TF_AddInputList(d, NULL, 0);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "AddN");
  TF_AddInputList(d, &m.x, -1);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Neg");
  TF_AddInput(d, m.x);
  TF_AddControlInput(d, NULL);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Neg");
  TF_AddInput(d, m.x);
  TF_AddControlInput(d, other.x.oper);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Placeholder");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", (int64_t[]){2}, -5); /* below -1: unknown in TensorFlow too */
  TF_FinishOperation(d, m.s);
  TF_SetStatus(m.s, TF_OK, "");
  d = misuse_begin(&m, "Placeholder");
  TF_SetAttrType(d, "dtype", (TF_DataType)-1);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Placeholder");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", (int64_t[]){INT64_MAX, INT64_MAX}, 2);
  TF_FinishOperation(d, m.s); /* a legal wish; nobody can feed it */
  TF_SetStatus(m.s, TF_OK, "");
  d = misuse_begin(&m, "MaxPool");
  TF_AddInput(d, m.x);
  TF_SetAttrIntList(d, "ksize", NULL, 0);
  TF_SetAttrIntList(d, "strides", (int64_t[]){1}, -1);
  TF_SetAttrString(d, "padding", NULL, 0);
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Const");
  TF_SetAttrTensor(d, "value", NULL, m.s);
  TF_SetStatus(m.s, TF_OK, "");
  misuse_finish(&m, d);
  d = misuse_begin(&m, "Const");
  TF_SetAttrValueProto(d, "value", "\x42\xff\xff\xff\xff\x7f", 6, m.s);
  REFUSES(&m);
  TF_SetAttrValueProto(d, "value", NULL, 0, m.s);
  TF_SetStatus(m.s, TF_OK, "");
  misuse_finish(&m, d);
  d = TF_NewOperation(m.g, "Neg", "y"); /* taken */
  TF_AddInput(d, m.x);
  misuse_finish(&m, d);
  d = TF_NewOperation(m.g, "Neg", "");
  TF_AddInput(d, m.x);
  misuse_finish(&m, d);
  d = TF_NewOperation(m.g, "Neg", "^bad name");
  TF_AddInput(d, m.x);
  misuse_finish(&m, d);
  d = TF_NewOperation(m.g, "", "nothing");
  misuse_finish(&m, d);
  misuse_close(&other);
  misuse_close(&m);
}

TEST(changes_that_cannot_be) {
  misuse_t m = misuse_open(), other = misuse_open();
  TF_UpdateEdge(m.g, misuse_none, (TF_Input){m.y.oper, 0}, m.s);
  REFUSES(&m);
  TF_UpdateEdge(m.g, m.two, (TF_Input){m.y.oper, 5}, m.s);
  REFUSES(&m);
  TF_UpdateEdge(m.g, m.two, (TF_Input){NULL, 0}, m.s);
  REFUSES(&m);
  TF_UpdateEdge(m.g, (TF_Output){m.two.oper, 4}, (TF_Input){m.y.oper, 0}, m.s);
  REFUSES(&m);
  TF_UpdateEdge(m.g, other.x, (TF_Input){m.y.oper, 0}, m.s);
  REFUSES(&m);
  TF_UpdateEdge(m.g, m.y, (TF_Input){m.y.oper, 0}, m.s); /* a cycle: legal for loops, refused when it is run */
  help_run(m.session, m.x, help_float(5), m.y, m.s);
  REFUSES(&m);
  TF_UpdateEdge(m.g, m.x, (TF_Input){m.y.oper, 0}, m.s);
  CHECK_TF_OK(m.s);
  TF_Output dy[2], xs[] = {m.x, misuse_none};
  TF_AddGradients(m.g, xs + 1, 1, xs, 1, NULL, m.s, dy);
  REFUSES(&m);
  TF_AddGradients(m.g, &m.y, 1, xs, 2, NULL, m.s, dy);
  REFUSES(&m);
  TF_AddGradients(m.g, &other.y, 1, xs, 1, NULL, m.s, dy);
  REFUSES(&m);
  TF_AddGradients(m.g, &m.y, 1, (TF_Output[]){{m.x.oper, 3}}, 1, NULL, m.s, dy);
  REFUSES(&m);
  TF_AddGradients(m.g, &m.y, 1, xs, 1, (TF_Output[]){{m.x.oper, -3}}, m.s, dy);
  REFUSES(&m);
  TF_AddGradients(m.g, NULL, 0, xs, 1, NULL, m.s, dy);
  TF_SetStatus(m.s, TF_OK, "");
  TF_AddGradients(m.g, &m.y, 1, NULL, 0, NULL, m.s, NULL);
  TF_SetStatus(m.s, TF_OK, "");
  misuse_close(&other);
  misuse_close(&m);
}

TEST(gradient_requests_with_sizes_that_lie) {
  misuse_t m = misuse_open();
  HR_Gradient out;
  HR_GradientRequest r = {.struct_size = HR_GRADIENT_REQUEST_STRUCT_SIZE, .ys = &m.y, .y_count = 1, .xs = &m.x, .x_count = 1};
  HR_AddGradients(m.g, &r, &out, m.s);
  CHECK_TF_OK(m.s);
  for (size_t size = 0; size <= HR_GRADIENT_REQUEST_STRUCT_SIZE + 8; ++size) {
    r.struct_size = size;
    HR_AddGradients(m.g, &r, &out, m.s);
    TF_SetStatus(m.s, TF_OK, "");
  }
  r.struct_size = SIZE_MAX;
  HR_AddGradients(m.g, &r, &out, m.s);
  TF_SetStatus(m.s, TF_OK, "");
  misuse_close(&m);
}

TEST(functions_of_nothing) {
  misuse_t m = misuse_open();
  TF_Output far = {m.y.oper, 3};
  const TF_Operation* opers[] = {m.y.oper, NULL};
  CHECK(!TF_GraphToFunction(m.g, "f", 0, 2, opers, 1, &m.x, 1, &m.y, NULL, NULL, NULL, m.s));
  REFUSES(&m);
  CHECK(!TF_GraphToFunction(m.g, "f", 0, -1, NULL, 1, &m.x, 1, &far, NULL, NULL, NULL, m.s));
  REFUSES(&m);
  CHECK(!TF_GraphToFunction(m.g, "f", 0, -1, NULL, 1, &far, 1, &m.y, NULL, NULL, NULL, m.s));
  REFUSES(&m);
  CHECK(!TF_GraphToFunction(m.g, "f", 0, -1, NULL, 1, &misuse_none, 1, &misuse_none, NULL, NULL, NULL, m.s));
  REFUSES(&m);
  CHECK(!TF_GraphToFunction(m.g, "f", 0, -1, NULL, -1, NULL, -1, NULL, NULL, NULL, NULL, m.s));
  REFUSES(&m);
  CHECK(!TF_GraphToFunction(m.g, "f", 0, -1, NULL, 2, (TF_Output[]){m.x, m.x}, 1, &m.y, NULL, NULL, NULL, m.s));
  REFUSES(&m);
  CHECK(!TF_FunctionImportFunctionDef("\x0a\xff\xff\xff\xff\x0f", 6, m.s));
  REFUSES(&m);
  TF_DeleteFunction(TF_FunctionImportFunctionDef("", 0, m.s));
  TF_SetStatus(m.s, TF_OK, "");
  CHECK_INT(TF_GraphGetFunctions(m.g, NULL, 0, m.s), 0);
  TF_SetStatus(m.s, TF_OK, "");
  misuse_close(&m);
}

/* ---- tensors */

static void misuse_freed(void* data, size_t size, void* arg) {
  (void)data, (void)size;
  ++*(int*)arg;
}
TEST(tensors_that_lie) {
  static float data[4] = {1, 2, 3, 4};
  const int64_t two[] = {2, 2}, below[] = {2, -2}, huge[] = {INT64_MAX, 2}, wide[] = {(int64_t)1 << 32, (int64_t)1 << 32},
                nothing[] = {0, INT64_MAX, INT64_MAX};
  int freed = 0;
  const struct {
    TF_DataType type;
    const int64_t* dims;
    int rank;
    void* data;
    size_t size;
  } bad[] = {{TF_FLOAT, two, 2, data, 15},         {TF_FLOAT, two, 2, data, 0},         {TF_FLOAT, below, 2, data, 16},
             {TF_FLOAT, huge, 2, data, 16},        {TF_FLOAT, wide, 2, data, 16},       {TF_FLOAT, two, -1, data, 2},
             {TF_FLOAT, two, 2000, data, 16},      {(TF_DataType)0, two, 2, data, 16},  {(TF_DataType)77, two, 2, data, 16},
             {(TF_DataType)101, two, 2, data, 16}, {(TF_DataType)-1, two, 2, data, 16}, {TF_FLOAT, two, 2, NULL, 16},
             {TF_STRING, two, 2, data, 16}};
  for (int i = 0; i < (int)(sizeof bad / sizeof *bad); ++i) {
    TF_Tensor* t = TF_NewTensor(bad[i].type, bad[i].dims, bad[i].rank, bad[i].data, bad[i].size, misuse_freed, &freed);
    if (t && bad[i].rank == 2) test_fail(__FILE__, __LINE__, "tensor %d was made", i);
    TF_DeleteTensor(t);
    t = TF_AllocateTensor(bad[i].type, bad[i].dims, bad[i].rank, bad[i].size);
    TF_DeleteTensor(t);
  }
  TF_Tensor* t = TF_NewTensor(TF_FLOAT, nothing, 3, NULL, 0, misuse_freed, &freed);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_FLOAT, (int64_t[]){1000000000, 1000000000}, 2, SIZE_MAX);
  CHECK(t == NULL);
  t = TF_AllocateTensor(TF_FLOAT, two, 2, 16);
  TF_SetShape(t, below, 2);
  TF_SetShape(t, huge, 2);
  TF_SetShape(t, two, -1);
  TF_SetShape(t, two, 1000);
  TF_SetShape(t, (int64_t[]){4}, 1);
  CHECK_INT(TF_NumDims(t), 1);
  CHECK_INT(TF_Dim(t, -1), -1);
  CHECK_INT(TF_Dim(t, 4), -1);
  TF_Status* s = TF_NewStatus();
  TF_Tensor* u = TF_AllocateTensor(TF_INT32, two, 2, 16);
  TF_TensorBitcastFrom(t, TF_INT64, u, two, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_TensorBitcastFrom(t, TF_STRING, u, two, 0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_TensorBitcastFrom(t, TF_INT32, u, below, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_TensorBitcastFrom(t, (TF_DataType)99, u, two, 2, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteStatus(s);
  TF_DeleteTensor(t);
  TF_DeleteTensor(u);
}

TEST(handles_are_not_made_of_any_bytes) {
  char junk[8];
  int freed = 0;
  memset(junk, 0x41, sizeof junk);
  CHECK(TF_NewTensor(TF_RESOURCE, NULL, 0, junk, sizeof junk, misuse_freed, &freed) == NULL);
  CHECK(TF_NewTensor(TF_VARIANT, NULL, 0, junk, sizeof junk, misuse_freed, &freed) == NULL);
  CHECK(TF_NewTensor(TF_RESOURCE, (int64_t[]){1}, 1, junk, sizeof junk, misuse_freed, &freed) == NULL);
  CHECK_INT(freed, 0);
  static char proto[] = "\x1a\x02no"; /* a ResourceHandleProto that names a resource */
  TF_Tensor* t = TF_NewTensor(TF_RESOURCE, NULL, 0, proto, 4, misuse_freed, &freed);
  CHECK_INT(freed, 1);
  REQUIRE(t != NULL);
  bug_t b = bug_open(false);
  TF_Output x = help_placeholder(b.g, "x", TF_RESOURCE, b.s), y = bug_op(&b, "ReadVariableOp", "dtype=float", 1, &x);
  TF_Tensor* got = NULL;
  bug_start(&b);
  TF_SessionRun(b.session, NULL, &x, &t, 1, &y, &got, 1, NULL, 0, NULL, b.s);
  CHECK(TF_GetCode(b.s) != TF_OK);
  TF_DeleteTensor(t);
  bug_close(&b);
}

TEST(strings_of_every_form_go_through_a_step) {
  static const char text[] = "a text of the caller's that the element merely shows";
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_Output x = help_placeholder(g, "x", TF_STRING, s), y = help_unary(g, "Identity", "y", x, s);
  TF_OperationDescription* d = TF_NewOperation(g, "Pack", "z");
  TF_AddInputList(d, (TF_Output[]){x, y}, 2);
  TF_Output z = {TF_FinishOperation(d, s), 0};
  TF_Session* session = misuse_session(g, s);
  CHECK_TF_OK(s);
  struct {
    TF_TString element[4];
    char tail[64];
  }* memory = calloc(1, sizeof *memory);
  memcpy(memory->tail, text, sizeof text);
  TF_StringInit(&memory->element[0]);
  TF_StringCopy(&memory->element[0], "small", 5);
  TF_StringInit(&memory->element[1]);
  TF_StringCopy(&memory->element[1], text, sizeof text - 1);
  TF_StringInit(&memory->element[2]);
  TF_StringAssignView(&memory->element[2], text, sizeof text - 1);
  TF_TString offset = {.u = {.offset = {.size = TF_TString_ToInternalSizeT((uint32_t)(sizeof text - 1), TF_TSTR_OFFSET),
                                        .offset = (uint32_t)(memory->tail - (char*)&memory->element[3])}}};
  memory->element[3] = offset;
  int freed = 0;
  TF_Tensor* v = TF_NewTensor(TF_STRING, (int64_t[]){4}, 1, memory, sizeof *memory, misuse_freed, &freed);
  REQUIRE(v != NULL);
  TF_Tensor* got[2] = {NULL, NULL};
  TF_SessionRun(session, NULL, &x, &v, 1, (TF_Output[]){y, z}, got, 2, NULL, 0, NULL, s);
  CHECK_TF_OK(s);
  TF_DeleteTensor(v);
  for (int k = 0; k < 2 && got[k]; ++k)
    for (int i = 0; i < 4 * (k + 1); ++i) {
      const TF_TString* e = (const TF_TString*)TF_TensorData(got[k]) + i;
      const char* want = i % 4 ? text : "small";
      CHECK_INT(TF_StringGetSize(e), strlen(want));
      if (TF_StringGetSize(e) == strlen(want)) CHECK_BYTES(TF_StringGetDataPointer(e), want, strlen(want));
    }
  TF_DeleteTensor(got[0]);
  TF_DeleteTensor(got[1]);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  CHECK_INT(freed, 1);
  TF_StringDealloc(&memory->element[1]);
  free(memory);
}

/* ---- ends */

TEST(a_graph_deleted_before_its_session) {
  misuse_t m = misuse_open();
  TF_DeleteGraph(m.g);
  misuse_works(&m);
  TF_DeleteSession(m.session, m.s);
  CHECK_TF_OK(m.s);
  TF_DeleteStatus(m.s);
}
TEST(a_session_that_is_closed) {
  misuse_t m = misuse_open();
  HR_Callable* c = HR_NewCallable(m.session, &m.x, 1, &m.y, 1, NULL, 0, m.s);
  const char* handle = NULL;
  TF_SessionPRunSetup(m.session, &m.x, 1, &m.y, 1, NULL, 0, &handle, m.s);
  CHECK_TF_OK(m.s);
  for (int i = 0; i < 3; ++i) {
    TF_CloseSession(m.session, m.s);
    TF_SetStatus(m.s, TF_OK, "");
  }
  TF_Tensor *v = help_float(1), *got = NULL;
  misuse_run(&m, m.x, v, m.y);
  CHECK_TF_CODE(m.s, TF_CANCELLED);
  HR_CallableRun(c, NULL, NULL, &v, &got, NULL, m.s);
  CHECK_TF_CODE(m.s, TF_CANCELLED);
  TF_SessionPRun(m.session, handle, &m.x, &v, 1, &m.y, &got, 1, NULL, 0, m.s);
  CHECK(TF_GetCode(m.s) != TF_OK);
  TF_SessionPRunSetup(m.session, &m.x, 1, &m.y, 1, NULL, 0, &(const char*){NULL}, m.s);
  CHECK(TF_GetCode(m.s) != TF_OK);
  HR_Callable* late = HR_NewCallable(m.session, &m.x, 1, &m.y, 1, NULL, 0, m.s);
  if (late) HR_CallableRun(late, NULL, NULL, &v, &got, NULL, m.s);
  CHECK_TF_CODE(m.s, TF_CANCELLED);
  HR_DeleteCallable(late);
  TF_SetStatus(m.s, TF_OK, "");
  TF_ExtendSession(m.session, m.s);
  TF_DeleteDeviceList(TF_SessionListDevices(m.session, m.s));
  HR_ClearContainer(m.session, NULL); /* and whatever else looks for its containers */
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_Reset(o, NULL, 0, m.s);
  HR_ShareContainers(o, m.session);
  TF_Session* heir = TF_NewSession(m.g, o, m.s);
  CHECK_TF_OK(m.s);
  TF_DeleteSession(heir, m.s);
  TF_DeleteSessionOptions(o);
  TF_DeleteTensor(v);
  TF_DeletePRunHandle(handle);
  HR_DeleteCallable(c);
  TF_DeleteSession(m.session, m.s);
  m.session = NULL;
  misuse_close(&m);
}
TEST(partial_runs_by_other_names) {
  misuse_t m = misuse_open();
  TF_Tensor *v = help_float(1), *got = NULL;
  TF_SessionPRun(m.session, "no such handle", &m.x, &v, 1, &m.y, &got, 1, NULL, 0, m.s);
  REFUSES(&m);
  TF_SessionPRun(m.session, "", &m.x, &v, 1, &m.y, &got, 1, NULL, 0, m.s);
  REFUSES(&m);
  const char* handle = NULL;
  TF_SessionPRunSetup(m.session, &m.x, 1, &m.y, 1, NULL, 0, &handle, m.s);
  CHECK_TF_OK(m.s);
  TF_SessionPRun(m.session, handle, &m.two, &v, 1, &m.y, &got, 1, NULL, 0, m.s); /* not what was set up */
  REFUSES(&m);
  TF_SessionPRun(m.session, handle, NULL, NULL, 0, &m.y, &got, 1, NULL, 0, m.s); /* not determined yet */
  REFUSES(&m);
  TF_DeletePRunHandle(handle);
  TF_DeleteTensor(v);
  misuse_close(&m);
}
TEST(options_of_noise) {
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_SetConfig(o, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetConfig(o, NULL, 0, s);
  CHECK_TF_OK(s);
  TF_SetTarget(o, "nowhere:1");
  TF_Session* session = TF_NewSession(g, o, s);
  if (session) TF_DeleteSession(session, s);
  TF_SetTarget(o, "");
  session = TF_NewSession(g, o, s);
  CHECK_TF_OK(s);
  TF_Buffer noise = {.data = "\x0a\xff\xff\xff\xff\x0f", .length = 6}, metadata = {0};
  TF_Output c = help_const(g, "c", help_float(1), s);
  TF_Tensor* got = NULL;
  TF_SessionRun(session, &noise, NULL, NULL, 0, &c, &got, 1, NULL, 0, &metadata, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(got == NULL);
  TF_ImportGraphDefOptions* io = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(io, "a b^");
  TF_ImportGraphDefOptionsAddReturnOutput(io, "none", -4);
  TF_ImportGraphDefOptionsAddInputMapping(io, "none", -4, (TF_Output){NULL, -2});
  TF_ImportGraphDefOptionsAddReturnOperation(io, "");
  TF_Buffer empty = {0};
  CHECK(!TF_GraphImportGraphDefWithResults(g, &empty, io, s));
  CHECK(TF_GetCode(s) != TF_OK);
  TF_DeleteImportGraphDefOptions(io);
  const char* tag = "serve";
  CHECK(!TF_LoadSessionFromSavedModel(o, NULL, "no such folder", &tag, 1, g, NULL, s));
  CHECK(TF_GetCode(s) != TF_OK);
  CHECK(!TF_LoadSessionFromSavedModel(o, NULL, "", NULL, 0, g, NULL, s));
  CHECK(TF_GetCode(s) != TF_OK);
  CHECK(!TF_LoadLibrary("no such library", s));
  CHECK(TF_GetCode(s) != TF_OK);
  CHECK(!TF_LoadLibrary("/dev/null", s));
  CHECK(TF_GetCode(s) != TF_OK);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST_MAIN()
