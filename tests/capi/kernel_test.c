/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a client's own: what their compute functions see, how they give outputs, when they fail, and which one serves a node. */
#include "help.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

#include <pthread.h>

static const int64_t two[1] = {2};
static int kernel_deleted;

static bool is_text(TF_StringView view, const char* text) { return view.len == strlen(text) && !memcmp(view.data, text, view.len); }

/* --- what a compute function sees ---------------------------------------------------------------------------------------------------- */
static void probe_inputs(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_Tensor* t = NULL;
  TF_InputRange_Args range = {.struct_size = TF_InputRange_Args_STRUCT_SIZE, .status = s};
  CHECK(TF_NumInputs(ctx) == 3 && TF_NumOutputs(ctx) == 2);
  TF_InputRange(ctx, "xs", &range);
  CHECK(CHECK_TF_OK(s) && range.start == 0 && range.stop == 2);
  TF_InputRange(ctx, "n", &range);
  CHECK(CHECK_TF_OK(s) && range.start == 2 && range.stop == 3);
  TF_InputRange(ctx, "none", &range);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_InputRange(ctx, "xs", NULL);
  CHECK(TF_InputDatatype(ctx, 1) == TF_FLOAT && TF_InputDatatype(ctx, 2) == TF_INT32 && TF_InputDatatype(ctx, 3) == 0);
  TF_GetInput(ctx, 2, &t, s);
  CHECK(CHECK_TF_OK(s) && *(int32_t*)TF_TensorData(t) == 9);
  TF_DeleteTensor(t);
  TF_GetInput(ctx, 3, &t, s);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  TF_GetInput(ctx, 0, NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_IsHostMemoryInput(ctx, 0, s) && CHECK_TF_OK(s));
  CHECK(!TF_IsHostMemoryInput(ctx, 3, s));
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  CHECK(TF_IsHostMemoryOutput(ctx, 1, s) && CHECK_TF_OK(s));
  CHECK(!TF_IsHostMemoryOutput(ctx, -1, s));
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
}

static void probe_place(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_Buffer* b = TF_NewBuffer();
  CHECK(TF_StepId(ctx) == TF_GetStepId(ctx) && TF_StepId(ctx) >= 0);
  CHECK(TF_GetFrameId(ctx) == 0 && TF_GetIterId(ctx) == 0 && TF_GetDeviceId(ctx) == 0);
  CHECK(is_text(TF_GetDeviceName(ctx), "/job:localhost/replica:0/task:0/device:CPU:0"));
  CHECK(is_text(TF_GetOpKernelName(ctx), "probe"));
  CHECK(is_text(TF_GetResourceMgrDefaultContainerName(ctx), "localhost"));
  CHECK(is_text(TF_GetOpKernelRequestedInput(ctx, 0), ""));
  CHECK(TF_GetGraphDefVersion(ctx) > 1000);
  TF_IncNumDeferredOps(ctx);
  TF_DecNumDeferredOps(ctx);
  CHECK(TF_GetStream(ctx, s) == NULL);
  CHECK_TF_CODE(s, TF_UNIMPLEMENTED);
  TF_GetSerializedFunctionDefLibrary(ctx, b, s);
  CHECK_TF_CODE(s, TF_UNIMPLEMENTED);
  TF_GetSerializedConfigProto(ctx, b, s);
  CHECK_TF_CODE(s, TF_UNIMPLEMENTED);
  TF_GetSerializedResourceHandleProto(ctx, 0, b, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT); /* a float is no handle */
  TF_GetSerializedResourceHandleProto(ctx, 5, b, s);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  CHECK(b->data == NULL);
  TF_DeleteBuffer(b);
}

static void probe_refusals(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_Tensor* wrong = help_float(1);
  CHECK(TF_ExpectedOutputDataType(ctx, 0) == TF_FLOAT && TF_ExpectedOutputDataType(ctx, 1) == TF_INT32);
  CHECK_INT(TF_ExpectedOutputDataType(ctx, 2), 0);
  CHECK(TF_GetMutableOutput(ctx, 0, s) == NULL);
  CHECK_TF_CODE(s, TF_FAILED_PRECONDITION);
  CHECK(TF_GetMutableOutput(ctx, 2, s) == NULL);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  CHECK(TF_AllocateOutput(ctx, 0, TF_INT32, two, 1, 8, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_AllocateOutput(ctx, 0, TF_FLOAT, two, 1, 9, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_AllocateOutput(ctx, 7, TF_FLOAT, two, 1, 8, s) == NULL);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  TF_SetOutput(ctx, 1, wrong, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_SetOutput(ctx, 2, wrong, s);
  CHECK_TF_CODE(s, TF_OUT_OF_RANGE);
  TF_SetOutput(ctx, 0, NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_AllocateTemp(ctx, (TF_DataType)99, two, 1, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_ForwardInputOrAllocateOutput(ctx, NULL, 1, 0, two, 1, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(wrong);
}

/* y = the sum of xs, m = n + 1. */
static void probe_outputs(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_Tensor *a = NULL, *b = NULL;
  TF_GetInput(ctx, 0, &a, s);
  TF_GetInput(ctx, 1, &b, s);
  TF_Tensor* temp = TF_AllocateTemp(ctx, TF_FLOAT, two, 1, NULL, s);
  TF_Tensor* y = CHECK_TF_OK(s) ? TF_AllocateOutput(ctx, 0, TF_FLOAT, two, 1, 8, s) : NULL;
  TF_Tensor* again = CHECK_TF_OK(s) ? TF_GetMutableOutput(ctx, 0, s) : NULL;
  if (CHECK_TF_OK(s) && CHECK(TF_TensorData(again) == TF_TensorData(y) && TF_TensorByteSize(temp) == 8)) {
    memcpy(TF_TensorData(temp), TF_TensorData(a), 8);
    for (int i = 0; i < 2; ++i) ((float*)TF_TensorData(again))[i] = ((float*)TF_TensorData(temp))[i] + ((float*)TF_TensorData(b))[i];
  }
  TF_Tensor* m = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
  *(int32_t*)TF_TensorData(m) = 10;
  TF_SetOutput(ctx, 1, m, s);
  CHECK_TF_OK(s);
  TF_DeleteTensor(a);
  TF_DeleteTensor(b);
  TF_DeleteTensor(temp);
  TF_DeleteTensor(y);
  TF_DeleteTensor(again);
  TF_DeleteTensor(m);
}

static void probe_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  CHECK(kernel == NULL);
  probe_inputs(ctx, s);
  probe_place(ctx, s);
  probe_refusals(ctx, s);
  probe_outputs(ctx, s);
  TF_DeleteStatus(s);
}

static void kernel_define(const char* op, const char* const* attrs, const char* const* inputs, const char* const* outputs, TF_Status* s) {
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder(op);
  for (; attrs && *attrs; ++attrs) TF_OpDefinitionBuilderAddAttr(b, *attrs);
  for (; inputs && *inputs; ++inputs) TF_OpDefinitionBuilderAddInput(b, *inputs);
  for (; outputs && *outputs; ++outputs) TF_OpDefinitionBuilderAddOutput(b, *outputs);
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_OK(s);
}
#define LIST(...) ((const char* const[]){__VA_ARGS__, NULL})

TEST(a_compute_function_sees_its_node) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestProbe", LIST("N: int >= 1"), LIST("xs: N * float", "n: int32"), LIST("y: float", "m: int32"), s);
  TF_KernelBuilder* b = TF_NewKernelBuilder("TestProbe", "CPU", NULL, probe_compute, NULL);
  TF_KernelBuilder_HostMemory(b, "n");
  TF_RegisterKernelBuilder("TestProbe", b, s);
  CHECK_TF_OK(s);
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), n = help_placeholder(g, "n", TF_INT32, s), xs[2] = {x, x};
  TF_OperationDescription* d = TF_NewOperation(g, "TestProbe", "probe");
  TF_AddInputList(d, xs, 2);
  TF_AddInput(d, n);
  TF_Operation* op = TF_FinishOperation(d, s);
  REQUIRE(CHECK_TF_OK(s));
  TF_Session* session = TF_NewSession(g, NULL, s);
  TF_Tensor *nine = TF_AllocateTensor(TF_INT32, NULL, 0, 4), *results[2] = {0};
  *(int32_t*)TF_TensorData(nine) = 9;
  TF_Tensor* feeds[2] = {help_floats(two, 1, (float[]){3, 4}), nine};
  TF_SessionRun(session, NULL, (TF_Output[]){x, n}, feeds, 2, (TF_Output[]){{op, 0}, {op, 1}}, results, 2, NULL, 0, NULL, s);
  if (CHECK_TF_OK(s)) {
    CHECK(((float*)TF_TensorData(results[0]))[1] == 8 && *(int32_t*)TF_TensorData(results[1]) == 10);
  }
  for (int i = 0; i < 2; ++i) {
    TF_DeleteTensor(feeds[i]);
    TF_DeleteTensor(results[i]);
  }
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* --- forwarding ---------------------------------------------------------------------------------------------------------------------- */
static int forwarded_from = -2;

static void forward_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* x = NULL;
  (void)kernel;
  TF_GetInput(ctx, 0, &x, s);
  float first = *(float*)TF_TensorData(x);
  TF_DeleteTensor(x);
  TF_Tensor* y = TF_ForwardInputOrAllocateOutput(ctx, (int[]){4, 0}, 2, 0, two, 1, &forwarded_from, s);
  if (CHECK_TF_OK(s)) ((float*)TF_TensorData(y))[0] = first + 1;
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}

TEST(an_input_that_nobody_needs_becomes_the_output) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestForward", NULL, LIST("x: float"), LIST("y: float"), s);
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("TestForward", "CPU", NULL, forward_compute, NULL), s);
  CHECK_TF_OK(s);
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = help_unary(g, "TestForward", "y", help_unary(g, "Neg", "n", x, s), s);
  TF_Output z = help_unary(g, "TestForward", "z", x, s);
  TF_Session* session = TF_NewSession(g, NULL, s);
  CHECK_NEAR(help_run(session, x, help_floats(two, 1, (float[]){3, 4}), y, s), -2, 0);
  CHECK_INT(forwarded_from, 0);
  CHECK_NEAR(help_run(session, x, help_floats(two, 1, (float[]){3, 4}), z, s), 4, 0); /* a feed is the caller's */
  CHECK_INT(forwarded_from, -1);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* --- asynchronous, constrained, failing ---------------------------------------------------------------------------------------------- */
static void give_number(TF_OpKernelContext* ctx, float number) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* y = TF_AllocateOutput(ctx, 0, TF_FLOAT, NULL, 0, 4, s);
  if (CHECK_TF_OK(s)) *(float*)TF_TensorData(y) = number;
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}

typedef struct {
  TF_OpKernelContext* ctx;
  TF_AsyncOpKernelDoneCallback* done;
  pthread_t thread;
} later_t;

static void* later_run(void* arg) {
  later_t* later = arg;
  give_number(later->ctx, 77);
  TF_RunAsyncOpKernelDoneCallback(later->done);
  return NULL;
}
static later_t* later_made;
static void* later_create(TF_OpKernelConstruction* ctx) {
  (void)ctx;
  return later_made = calloc(1, sizeof(later_t));
}
static void later_compute(void* kernel, TF_OpKernelContext* ctx, TF_AsyncOpKernelDoneCallback* done) {
  later_t* later = kernel;
  later->ctx = ctx;
  later->done = done;
  CHECK(pthread_create(&later->thread, NULL, later_run, later) == 0);
}
static void later_delete(void* kernel) {
  pthread_join(((later_t*)kernel)->thread, NULL);
  free(kernel);
  ++kernel_deleted;
}

TEST(an_asynchronous_kernel_is_waited_for) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("TestLater");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetIsStateful(b, true);
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_OK(s);
  TF_RegisterKernelBuilder("k", TF_NewAsyncKernelBuilder("TestLater", "CPU", later_create, later_compute, later_delete), s);
  CHECK_TF_OK(s);
  TF_Output y = {TF_FinishOperation(TF_NewOperation(g, "TestLater", "y"), s), 0};
  TF_Session* session = TF_NewSession(g, NULL, s);
  kernel_deleted = 0;
  CHECK_NEAR(help_run(session, (TF_Output){NULL, 0}, NULL, y, s), 77, 0);
  CHECK(CHECK_TF_OK(s) && later_made && kernel_deleted == 0);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  CHECK_INT(kernel_deleted, 1);
  TF_DeleteStatus(s);
}

static void give_one(void* kernel, TF_OpKernelContext* ctx) { give_number(ctx, kernel ? NAN : 1); }
static void give_two(void* kernel, TF_OpKernelContext* ctx) { give_number(ctx, kernel ? NAN : 2); }

static void constrain(const char* op, void (*compute)(void*, TF_OpKernelContext*), TF_DataType type, int priority, TF_Status* s) {
  TF_KernelBuilder* b = TF_NewKernelBuilder(op, "CPU", NULL, compute, NULL);
  TF_KernelBuilder_TypeConstraint(b, "T", type, s);
  CHECK_TF_OK(s);
  TF_KernelBuilder_Priority(b, priority);
  TF_RegisterKernelBuilder("k", b, s);
  CHECK_TF_OK(s);
}

static float constrained_run(TF_Graph* g, const char* op, TF_DataType type, TF_Status* s) {
  static int number;
  char name[16];
  snprintf(name, sizeof name, "n%d", number++);
  TF_OperationDescription* d = TF_NewOperation(g, op, name);
  TF_SetAttrType(d, "T", type);
  TF_Output y = {TF_FinishOperation(d, s), 0};
  if (!CHECK_TF_OK(s)) return NAN;
  TF_Session* session = TF_NewSession(g, NULL, s);
  TF_Status* closing = TF_NewStatus();
  float value = help_run(session, y, NULL, y, s);
  TF_DeleteSession(session, closing);
  TF_DeleteStatus(closing);
  return value;
}

TEST(the_types_and_the_priority_choose_the_kernel) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestTyped", LIST("T: type"), NULL, LIST("y: float"), s);
  kernel_define("TestRanked", LIST("T: type"), NULL, LIST("y: float"), s);
  constrain("TestTyped", give_one, TF_FLOAT, 0, s);
  constrain("TestTyped", give_two, TF_INT32, 0, s);
  constrain("TestRanked", give_one, TF_FLOAT, 1, s);
  constrain("TestRanked", give_two, TF_FLOAT, 5, s);
  CHECK_NEAR(constrained_run(g, "TestTyped", TF_FLOAT, s), 1, 0);
  CHECK_NEAR(constrained_run(g, "TestTyped", TF_INT32, s), 2, 0);
  CHECK_NEAR(constrained_run(g, "TestRanked", TF_FLOAT, s), 2, 0);
  CHECK(isnan(constrained_run(g, "TestTyped", TF_DOUBLE, s)));
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "No OpKernel was registered to support Op 'TestTyped'");
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

static void* refuse_create(TF_OpKernelConstruction* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_SetStatus(s, TF_PERMISSION_DENIED, "not here");
  TF_OpKernelConstruction_Failure(ctx, s);
  TF_DeleteStatus(s);
  return NULL;
}
static void fail_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  (void)kernel;
  TF_SetStatus(s, TF_DATA_LOSS, "nothing left");
  TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
}
static void fail_quietly(void* kernel, TF_OpKernelContext* ctx) {
  (void)kernel;
  TF_OpKernelContext_Failure(ctx, NULL);
}
static void give_nothing(void* kernel, TF_OpKernelContext* ctx) {
  (void)kernel;
  (void)ctx;
}

TEST(failures_reach_the_caller) {
  static const struct {
    const char *op, *message;
    void* (*create)(TF_OpKernelConstruction*);
    void (*compute)(void*, TF_OpKernelContext*);
    TF_Code code;
  } rows[] = {{"TestRefused", "not here", refuse_create, give_one, TF_PERMISSION_DENIED},
              {"TestFailing", "nothing left", NULL, fail_compute, TF_DATA_LOSS},
              {"TestQuiet", "without saying why", NULL, fail_quietly, TF_UNKNOWN},
              {"TestNothing", "", NULL, give_nothing, TF_INTERNAL}};
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kernel_define(rows[i].op, LIST("T: type"), NULL, LIST("y: float"), s);
    TF_RegisterKernelBuilder("k", TF_NewKernelBuilder(rows[i].op, "CPU", rows[i].create, rows[i].compute, NULL), s);
    CHECK_TF_OK(s);
    CHECK(isnan(constrained_run(g, rows[i].op, TF_FLOAT, s)));
    if (!CHECK_TF_CODE(s, rows[i].code) || !CHECK_HAS(TF_Message(s), rows[i].message)) printf("from %s\n", rows[i].op);
  }
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(bad_kernels_are_refused) {
  TF_Status* s = TF_NewStatus();
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("NoSuchOp", "CPU", NULL, give_one, NULL), s);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("Neg", "CPU", NULL, NULL, NULL), s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_RegisterKernelBuilder("k", NULL, s);
  CHECK_TF_CODE(s, TF_RESOURCE_EXHAUSTED);
  TF_KernelBuilder* b = TF_NewKernelBuilder("Neg", "CPU", NULL, give_one, NULL);
  TF_KernelBuilder_Label(b, "special");
  TF_RegisterKernelBuilder("k", b, s);
  CHECK_TF_CODE(s, TF_UNIMPLEMENTED);
  b = TF_NewKernelBuilder("Neg", "CPU", NULL, give_one, NULL);
  TF_KernelBuilder_TypeConstraint(b, "T", (TF_DataType)99, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_KernelBuilder_TypeConstraint(b, NULL, TF_FLOAT, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_KernelBuilder_TypeConstraint(b, "A", TF_FLOAT, s);
  TF_KernelBuilder_TypeConstraint(b, "B", TF_FLOAT, s);
  TF_KernelBuilder_TypeConstraint(b, "C", TF_FLOAT, s);
  CHECK_TF_OK(s);
  TF_KernelBuilder_TypeConstraint(b, "D", TF_FLOAT, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_RegisterKernelBuilder("k", b, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT); /* Neg has no attr A */
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("Neg", "GPU", NULL, give_one, NULL), s);
  CHECK_TF_OK(s); /* never asked for */
  TF_DeleteKernelBuilder(TF_NewKernelBuilder("Neg", "CPU", NULL, give_one, NULL));
  TF_DeleteKernelBuilder(NULL);
  TF_Buffer *one = TF_GetRegisteredKernelsForOp("TestTyped", s), *all = TF_GetAllRegisteredKernels(s);
  CHECK(CHECK_TF_OK(s) && all && one && all->length > one->length && one->length > 10);
  TF_DeleteBuffer(one);
  TF_DeleteBuffer(all);
  TF_DeleteStatus(s);
}
/* --- resources ----------------------------------------------------------------------------------------------------------------------- */
static void handle_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* proto = TF_NewBuffer();
  bool named = false;
  (void)kernel;
  TF_GetSerializedResourceHandleProto(ctx, 0, proto, s);
  if (CHECK_TF_OK(s))
    for (size_t i = 0; i + 6 <= proto->length; ++i) named |= !memcmp((const char*)proto->data + i, "\x1a\x04mine", 6); /* name = 3 */
  give_number(ctx, named);
  TF_Tensor* handle = TF_NewTensor(TF_RESOURCE, NULL, 0, (void*)(uintptr_t)proto->data, proto->length, NULL, NULL); /* and back */
  CHECK(handle && TF_TensorType(handle) == TF_RESOURCE && TF_NumDims(handle) == 0);
  TF_DeleteTensor(handle);
  CHECK(TF_NewTensor(TF_VARIANT, NULL, 0, (void*)(uintptr_t)proto->data, proto->length, NULL, NULL) == NULL);
  CHECK(TF_NewTensor(TF_RESOURCE, two, 1, (void*)(uintptr_t)proto->data, proto->length, NULL, NULL) == NULL);
  TF_DeleteBuffer(proto);
  TF_DeleteStatus(s);
}

TEST(a_kernel_sees_a_handle_as_bytes) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestHandle", NULL, LIST("h: resource"), LIST("y: float"), s);
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("TestHandle", "CPU", NULL, handle_compute, NULL), s);
  TF_OperationDescription* d = TF_NewOperation(g, "VarHandleOp", "v");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", two, 1);
  TF_SetAttrString(d, "shared_name", "mine", 4);
  TF_Output v = {TF_FinishOperation(d, s), 0}, y = help_unary(g, "TestHandle", "y", v, s);
  REQUIRE(CHECK_TF_OK(s));
  TF_Session* session = TF_NewSession(g, NULL, s);
  CHECK_NEAR(help_run(session, y, NULL, y, s), 1, 0);
  CHECK_TF_OK(s);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* --- forwarding: which candidate ------------------------------------------------------------------------------------------------------ */
static int choice_made, choices[4], choice_count;
static int64_t choice_dims[2];
static int choice_rank;

/* Inputs: two of the output's type and size, ints of that size, a scalar. */
static void choose_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  (void)kernel;
  choice_made = -2;
  TF_Tensor* y = TF_ForwardInputOrAllocateOutput(ctx, choices, choice_count, 0, choice_dims, choice_rank, &choice_made, s);
  if (CHECK_TF_OK(s)) memset(TF_TensorData(y), 0, TF_TensorByteSize(y));
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}

TEST(the_first_candidate_that_fits_is_taken) {
  static const struct { int count, candidates[4]; int rank; int64_t dims[2]; int want; } rows[] = {
      {2, {0, 1}, 1, {2}, 0},     {2, {1, 0}, 1, {2}, 1},  {1, {2}, 1, {2}, -1}, {2, {2, 1}, 1, {2}, 1}, {2, {3, 0}, 1, {2}, 0},
      {1, {3}, 1, {2}, -1},       {0, {0}, 1, {2}, -1},    {2, {-1, 4}, 1, {2}, -1}, {1, {0}, 2, {2, 1}, 0}, {1, {0}, 1, {3}, -1},
      {3, {4, -1, 1}, 1, {2}, 1}, {1, {3}, 0, {0}, 3},
  };
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestChoose", NULL, LIST("a: float", "b: float", "c: int32", "d: float"), LIST("y: float"), s);
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("TestChoose", "CPU", NULL, choose_compute, NULL), s);
  CHECK_TF_OK(s);
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), n = help_placeholder(g, "n", TF_INT32, s),
            z = help_placeholder(g, "z", TF_FLOAT, s);
  TF_Output in[4] = {help_unary(g, "Neg", "a", x, s), help_unary(g, "Abs", "b", x, s), help_unary(g, "Neg", "c", n, s),
                     help_unary(g, "Neg", "d", z, s)};
  TF_OperationDescription* d = TF_NewOperation(g, "TestChoose", "y");
  for (int i = 0; i < 4; ++i) TF_AddInput(d, in[i]);
  TF_Output y = {TF_FinishOperation(d, s), 0}, feeds[3] = {x, n, z};
  TF_Session* session = TF_NewSession(g, NULL, s);
  REQUIRE(CHECK_TF_OK(s));
  TF_Tensor* values[3] = {help_floats(two, 1, (float[]){3, 4}), TF_AllocateTensor(TF_INT32, two, 1, 8), help_float(1)};
  memset(TF_TensorData(values[1]), 0, 8);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    TF_Tensor* out = NULL;
    memcpy(choices, rows[i].candidates, sizeof choices);
    memcpy(choice_dims, rows[i].dims, sizeof choice_dims);
    choice_count = rows[i].count, choice_rank = rows[i].rank;
    TF_SessionRun(session, NULL, feeds, values, 3, &y, &out, 1, NULL, 0, NULL, s);
    if (!CHECK_TF_OK(s) || !CHECK_INT(choice_made, rows[i].want)) printf("row %d\n", (int)i);
    TF_DeleteTensor(out);
  }
  for (int i = 0; i < 3; ++i) TF_DeleteTensor(values[i]);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* --- what builders keep --------------------------------------------------------------------------------------------------------------- */
TEST(one_kernel_serves_several_types_and_attrs) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestMany", LIST("A: type = DT_FLOAT", "B: type = DT_FLOAT", "T: type"), NULL, LIST("y: float"), s);
  TF_KernelBuilder* b = TF_NewKernelBuilder("TestMany", "CPU", NULL, give_one, NULL);
  TF_KernelBuilder_TypeConstraint(b, "A", TF_FLOAT, s);
  TF_KernelBuilder_TypeConstraint(b, "B", TF_FLOAT, s);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_FLOAT, s);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_INT32, s); /* the third attr's second type */
  CHECK_TF_OK(s);
  TF_KernelBuilder_TypeConstraint(b, "T", (TF_DataType)0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_KernelBuilder_TypeConstraint(b, "T", (TF_DataType)-1, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_KernelBuilder_Label(b, ""); /* is none */
  TF_RegisterKernelBuilder("k", b, s);
  CHECK_TF_OK(s);
  CHECK_NEAR(constrained_run(g, "TestMany", TF_FLOAT, s), 1, 0);
  CHECK_NEAR(constrained_run(g, "TestMany", TF_INT32, s), 1, 0);
  CHECK(isnan(constrained_run(g, "TestMany", TF_DOUBLE, s)));
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  b = TF_NewKernelBuilder("TestMany", "CPU", NULL, give_two, NULL);
  TF_KernelBuilder_HostMemory(b, "nothing");
  TF_RegisterKernelBuilder("k", b, s);
  CHECK(CHECK_TF_CODE(s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(s), "has no argument 'nothing' to lie in host memory"));
  b = TF_NewKernelBuilder("TestMany", "CPU", NULL, NULL, NULL);
  TF_KernelBuilder_HostMemory(b, "y");
  TF_RegisterKernelBuilder("k", b, s);
  CHECK(CHECK_TF_CODE(s, TF_INVALID_ARGUMENT) && CHECK_HAS(TF_Message(s), "compute function"));
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

static int objects_made, objects_deleted;
static void* object_create(TF_OpKernelConstruction* ctx) {
  if (++objects_made % 2) { /* every other one fails, with an object */
    TF_Status* s = TF_NewStatus();
    TF_SetStatus(s, TF_PERMISSION_DENIED, "not this time");
    TF_OpKernelConstruction_Failure(ctx, s);
    TF_DeleteStatus(s);
  }
  return &objects_made;
}
static void object_delete(void* kernel) { objects_deleted += kernel == &objects_made; }
static void object_compute(void* kernel, TF_OpKernelContext* ctx) { give_number(ctx, kernel == &objects_made ? 5 : NAN); }

TEST(objects_are_deleted_once_also_those_of_kernels_that_failed) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  kernel_define("TestObject", LIST("T: type"), NULL, LIST("y: float"), s);
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("TestObject", "CPU", object_create, object_compute, object_delete), s);
  CHECK(isnan(constrained_run(g, "TestObject", TF_FLOAT, s)));
  CHECK_TF_CODE(s, TF_PERMISSION_DENIED);
  CHECK_INT(objects_deleted, 1);
  CHECK_NEAR(constrained_run(g, "TestObject", TF_FLOAT, s), 5, 0);
  TF_DeleteGraph(g);
  CHECK_INT(objects_deleted, 2);
  TF_DeleteStatus(s);
}

TEST(a_kernel_is_listed_with_what_constrains_it) {
  TF_Status* s = TF_NewStatus();
  kernel_define("TestListed", LIST("T: type", "U: type"), NULL, LIST("y: float"), s);
  for (int priority = 0; priority < 2; ++priority) {
    TF_KernelBuilder* b = TF_NewKernelBuilder("TestListed", priority ? "GPU" : "CPU", NULL, give_one, NULL);
    TF_KernelBuilder_TypeConstraint(b, "T", priority ? TF_DOUBLE : TF_FLOAT, s);
    if (priority) TF_KernelBuilder_TypeConstraint(b, "U", TF_INT32, s);
    TF_KernelBuilder_Priority(b, priority ? 7 : 0);
    TF_RegisterKernelBuilder("k", b, s);
    CHECK_TF_OK(s);
  }
  static const char cpu[] = "\x0a\x1d\x0a\x0aTestListed\x12\x03" "CPU\x1a\x0a\x0a\x01T\x12\x05\x0a\x03\x32\x01\x01";
  static const char gpu[] = "\x0a\x2b\x0a\x0aTestListed\x12\x03GPU\x1a\x0a\x0a\x01T\x12\x05\x0a\x03\x32\x01\x02\x1a\x0a"
                            "\x0a\x01U\x12\x05\x0a\x03"
                            "\x32\x01\x03\x30\x07";
  TF_Buffer* list = TF_GetRegisteredKernelsForOp("TestListed", s);
  if (CHECK_TF_OK(s) && !CHECK(list->length == sizeof cpu + sizeof gpu - 2 && !memcmp(list->data, cpu, sizeof cpu - 1) &&
                               !memcmp((const char*)list->data + sizeof cpu - 1, gpu, sizeof gpu - 1)))
    for (size_t i = 0; i < list->length; ++i) printf("%02x ", ((const unsigned char*)list->data)[i]);
  TF_DeleteBuffer(list);
  TF_DeleteStatus(s);
}
TEST_MAIN()
