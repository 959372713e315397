/* SPDX-License-Identifier: Apache-2.0 */
/* A device that has kernels of its own and runs none of the host's: type OWN, on the memory and the streams of the test device, which the
 * host cannot touch and which are late. */
#include "../device/test_device.c"
#include "headrace/session.h"
#include "help.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

/* --- kernels: each gives its work to the stream and returns --------------------------------------------------------------------------- */

typedef struct {
  device_t* device;
  const float *a, *b;
  float *out, *temp;
  int64_t count;
} job_t;

static atomic_int jobs_run;

static void square_job(void* arg) { /* a * b by way of the scratch memory */
  job_t* j = arg;
  const float *a = translate(j->device, j->a), *b = translate(j->device, j->b);
  float *out = translate(j->device, j->out), *temp = translate(j->device, j->temp);
  for (int64_t i = 0; i < j->count; ++i) temp[i] = a[i];
  random_nap(j->device);
  for (int64_t i = 0; i < j->count; ++i) out[i] = temp[i] * b[i];
  atomic_fetch_add(&jobs_run, 1);
}

static void fill_job(void* arg) {
  job_t* j = arg;
  const float* value = translate(j->device, j->a);
  float* out = translate(j->device, j->out);
  for (int64_t i = 0; i < j->count; ++i) out[i] = *value;
  atomic_fetch_add(&jobs_run, 1);
}

static void free_job(void* arg, int code, const char* message) {
  (void)code, (void)message;
  free(arg);
}

static void give_job(SP_Stream stream, void (*job)(void*), job_t work) {
  stream_t* s = (stream_t*)(void*)stream;
  job_t* j = malloc(sizeof *j);
  if (!j) abort();
  *j = work;
  j->device = s->device;
  give_work(s, (work_t){.kind = LAUNCH, .kernel = job, .arg = j, .done = free_job, .done_arg = j});
}

static int64_t dims_of(const TF_Tensor* t, int64_t* dims) {
  for (int i = 0; i < TF_NumDims(t); ++i) dims[i] = TF_Dim(t, i);
  return TF_TensorElementCount(t);
}

/* Square and Mul: the product of the first and the last input. */
static void product_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor *a = NULL, *b = NULL;
  int64_t dims[8];
  (void)kernel;
  TF_GetInput(ctx, 0, &a, s);
  TF_GetInput(ctx, TF_NumInputs(ctx) - 1, &b, s);
  CHECK(!TF_IsHostMemoryInput(ctx, 0, s) && !TF_IsHostMemoryOutput(ctx, 0, s));
  CHECK_HAS(TF_GetDeviceName(ctx).data, "/device:OWN:");
  CHECK_INT(TF_GetDeviceId(ctx), TF_GetDeviceName(ctx).data[TF_GetDeviceName(ctx).len - 1] - '0');
  const int64_t count = dims_of(a, dims);
  TF_Tensor* out = TF_AllocateOutput(ctx, 0, TF_FLOAT, dims, TF_NumDims(a), (size_t)count * sizeof(float), s);
  TF_Tensor* temp = TF_AllocateTemp(ctx, TF_FLOAT, dims, TF_NumDims(a), NULL, s);
  TF_AllocatorAttributes attributes = {.struct_size = TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE, .on_host = 1};
  TF_Tensor *on_host = TF_AllocateTemp(ctx, TF_FLOAT, dims, 0, &attributes, s), *nothing;
  if (CHECK_TF_OK(s)) *(float*)TF_TensorData(on_host) = 1; /* the host may write here */
  TF_DeleteTensor(on_host);
  nothing = TF_AllocateTemp(ctx, TF_FLOAT, &(int64_t){0}, 1, NULL, s);
  CHECK(CHECK_TF_OK(s) && TF_TensorByteSize(nothing) == 0);
  TF_DeleteTensor(nothing);
  SP_Stream stream = TF_GetStream(ctx, s);
  if (CHECK_TF_OK(s) && count)
    give_job(stream, square_job, (job_t){NULL, TF_TensorData(a), TF_TensorData(b), TF_TensorData(out), TF_TensorData(temp), count});
  TF_DeleteTensor(temp); /* before the stream has used it */
  TF_DeleteTensor(out);
  TF_DeleteTensor(a);
  TF_DeleteTensor(b);
  TF_DeleteStatus(s);
}

/* Fill, whose dims lie on the host. */
static void fill_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor *wanted = NULL, *value = NULL;
  int64_t dims[8], count = 1;
  (void)kernel;
  TF_GetInput(ctx, 0, &wanted, s);
  TF_GetInput(ctx, 1, &value, s);
  CHECK(TF_IsHostMemoryInput(ctx, 0, s) && !TF_IsHostMemoryInput(ctx, 1, s));
  const int rank = (int)TF_TensorElementCount(wanted);
  for (int i = 0; i < rank; ++i) count *= dims[i] = ((const int32_t*)TF_TensorData(wanted))[i];
  TF_Tensor* out = TF_AllocateOutput(ctx, 0, TF_FLOAT, dims, rank, (size_t)count * sizeof(float), s);
  if (CHECK_TF_OK(s))
    give_job(TF_GetStream(ctx, s), fill_job, (job_t){.a = TF_TensorData(value), .out = TF_TensorData(out), .count = count});
  TF_DeleteTensor(out);
  TF_DeleteTensor(value);
  TF_DeleteTensor(wanted);
  TF_DeleteStatus(s);
}

/* Shape, whose output lies on the host. */
static void shape_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* in = NULL;
  (void)kernel;
  TF_GetInput(ctx, 0, &in, s);
  const int64_t rank = TF_NumDims(in);
  TF_Tensor* out = TF_AllocateOutput(ctx, 0, TF_INT32, &rank, 1, (size_t)rank * sizeof(int32_t), s);
  CHECK(TF_IsHostMemoryOutput(ctx, 0, s));
  for (int i = 0; i < rank; ++i) ((int32_t*)TF_TensorData(out))[i] = (int32_t)TF_Dim(in, i);
  CHECK_TF_OK(s);
  TF_DeleteTensor(out);
  TF_DeleteTensor(in);
  TF_DeleteStatus(s);
}

static void refuse_compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  (void)kernel;
  TF_SetStatus(s, TF_DATA_LOSS, "the device has forgotten it");
  TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
}

static void own_register(const char* op, void (*compute)(void*, TF_OpKernelContext*), const char* host_arg, TF_Status* s) {
  TF_KernelBuilder* b = TF_NewKernelBuilder(op, "OWN", NULL, compute, NULL);
  if (host_arg) TF_KernelBuilder_HostMemory(b, host_arg);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_FLOAT, s);
  CHECK_TF_OK(s);
  TF_RegisterKernelBuilder("own", b, s);
}

static TF_Status* own_begin(void) { /* once a process */
  static bool is_there;
  static HR_DeviceTable own;
  TF_Status* s = TF_NewStatus();
  if (is_there) return s;
  is_there = true;
  own = table;
  own.type = "OWN";
  own.launch_host = NULL;
  own.translate = NULL;
  HR_RegisterDevice(&own, s);
  CHECK_TF_OK(s);
  own_register("Square", product_compute, NULL, s);
  own_register("Mul", product_compute, NULL, s);
  own_register("Fill", fill_compute, "dims", s);
  own_register("Shape", shape_compute, "output", s);
  own_register("Neg", refuse_compute, NULL, s);
  CHECK_TF_OK(s);
  return s;
}

/* --- graphs --------------------------------------------------------------------------------------------------------------------------- */

static TF_Output own_node(TF_Graph* g, const char* op, const char* name, const TF_Output* inputs, int count, const char* device,
                          TF_Status* s) {
  TF_OperationDescription* d = TF_NewOperation(g, op, name);
  for (int i = 0; i < count; ++i) TF_AddInput(d, inputs[i]);
  TF_SetDevice(d, device);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}

static TF_Tensor* own_run(TF_Graph* g, TF_Output x, float value, TF_Output y, bool soft, TF_Status* s) {
  TF_SessionOptions* o = TF_NewSessionOptions();
  if (soft) TF_SetConfig(o, "\x38\x01", 2, s);
  TF_Session* session = TF_NewSession(g, o, s);
  TF_Tensor *in = help_float(value), *out = NULL;
  TF_SessionRun(session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, s);
  TF_DeleteTensor(in);
  TF_DeleteSessionOptions(o);
  TF_Status* closing = TF_NewStatus();
  TF_DeleteSession(session, closing);
  TF_DeleteStatus(closing);
  return out;
}

TEST(a_chain_on_the_device_and_back) {
  TF_Status* s = own_begin();
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = x;
  for (int i = 0; i < 6; ++i) { /* devices 0 and 1 in turn, the host in between */
    static const char* const devices[] = {"/device:OWN:0", "/device:OWN:0", "/device:OWN:1", "/cpu:0"};
    char name[8];
    snprintf(name, sizeof name, "y%d", i);
    const TF_Output pair[] = {y, x};
    y = own_node(g, "Mul", name, pair, 2, devices[i % 4], s);
  }
  atomic_store(&jobs_run, 0);
  TF_Tensor* out = own_run(g, x, 2, y, false, s);
  if (CHECK_TF_OK(s)) CHECK_NEAR(*(float*)TF_TensorData(out), 128, 0);
  CHECK_INT(atomic_load(&jobs_run), 5);
  TF_DeleteTensor(out);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(arguments_in_host_memory) { /* fill(shape(square(fill([2, 3], x))), square(x)): each on the device */
  TF_Status* s = own_begin();
  TF_Graph* g = TF_NewGraph();
  const int64_t two = 2;
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s);
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, &two, 1, 8);
  ((int32_t*)TF_TensorData(t))[0] = 2, ((int32_t*)TF_TensorData(t))[1] = 3;
  TF_OperationDescription* d = TF_NewOperation(g, "Const", "dims");
  TF_SetAttrTensor(d, "value", t, s);
  TF_SetAttrType(d, "dtype", TF_INT32);
  const TF_Output dims = {TF_FinishOperation(d, s), 0}, first[] = {dims, x};
  const TF_Output filled = own_node(g, "Fill", "filled", first, 2, "/device:OWN:0", s);
  const TF_Output squared = own_node(g, "Square", "squared", &filled, 1, "/device:OWN:0", s);
  const TF_Output value = own_node(g, "Square", "value", &x, 1, "/device:OWN:0", s);
  const TF_Output second[] = {own_node(g, "Shape", "shape", &squared, 1, "/device:OWN:0", s), value};
  const TF_Output y = own_node(g, "Fill", "y", second, 2, "/device:OWN:0", s);
  CHECK_TF_OK(s);
  for (int i = 0; i < 50; ++i) { /* streams overtake each other in another way each time */
    TF_Tensor* out = own_run(g, x, 3, y, false, s);
    if (!CHECK_TF_OK(s)) break;
    CHECK(TF_NumDims(out) == 2 && TF_Dim(out, 0) == 2 && TF_Dim(out, 1) == 3);
    for (int e = 0; e < 6; ++e) CHECK_NEAR(((float*)TF_TensorData(out))[e], 9, 0);
    TF_DeleteTensor(out);
  }
  TF_DeleteTensor(t);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(a_kernel_that_fails) {
  TF_Status* s = own_begin();
  TF_Graph* g = TF_NewGraph();
  const TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), squared = own_node(g, "Square", "squared", &x, 1, "/device:OWN:0", s);
  const TF_Output y = own_node(g, "Neg", "refused", &squared, 1, "/device:OWN:0", s);
  CHECK(own_run(g, x, 3, y, false, s) == NULL);
  CHECK_TF_CODE(s, TF_DATA_LOSS);
  CHECK_HAS(TF_Message(s), "refused");
  TF_Tensor* out = own_run(g, x, 3, squared, false, s);
  if (CHECK_TF_OK(s)) CHECK_NEAR(*(float*)TF_TensorData(out), 9, 0);
  TF_DeleteTensor(out);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(what_it_has_no_kernel_for) {
  TF_Status* s = own_begin();
  TF_Graph* g = TF_NewGraph();
  const TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = own_node(g, "Exp", "exponential", &x, 1, "/device:OWN:0", s);
  CHECK(own_run(g, x, 0, y, false, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "exponential");
  TF_Tensor* out = own_run(g, x, 0, y, true, s);
  if (CHECK_TF_OK(s)) CHECK_NEAR(*(float*)TF_TensorData(out), 1, 0);
  TF_DeleteTensor(out);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(identities_and_constants_pass) {
  TF_Status* s = own_begin();
  TF_Graph* g = TF_NewGraph();
  const TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), c = own_node(g, "Identity", "before", &x, 1, "/device:OWN:0", s);
  const TF_Output squared = own_node(g, "Square", "squared", &c, 1, "/device:OWN:0", s);
  const TF_Output y = own_node(g, "Identity", "after", &squared, 1, "/device:OWN:0", s);
  TF_Tensor* out = own_run(g, x, 5, y, false, s);
  if (CHECK_TF_OK(s)) CHECK_NEAR(*(float*)TF_TensorData(out), 25, 0);
  TF_DeleteTensor(out);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(a_device_that_cannot_tell_its_end_runs_the_hosts_kernels) {
  static HR_DeviceTable mute;
  TF_Status* s = own_begin();
  mute = table;
  mute.type = "MUTE", mute.stream_notify = NULL;
  HR_RegisterDevice(&mute, s);
  CHECK_TF_OK(s);
  TF_RegisterKernelBuilder("own", TF_NewKernelBuilder("Square", "MUTE", NULL, refuse_compute, NULL), s);
  CHECK_TF_OK(s);
  TF_Graph* g = TF_NewGraph();
  const TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = own_node(g, "Square", "squared", &x, 1, "/device:MUTE:0", s);
  TF_Tensor* out = own_run(g, x, 3, y, false, s);
  if (CHECK_TF_OK(s)) CHECK_NEAR(*(float*)TF_TensorData(out), 9, 0);
  TF_DeleteTensor(out);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

TEST(tables_that_cannot_work) {
  TF_Status* s = own_begin();
  HR_DeviceTable t = table;
  t.type = "NEITHER", t.stream_notify = NULL, t.launch_host = NULL, t.translate = NULL;
  HR_RegisterDevice(&t, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "stream_notify");
  t = table;
  t.type = "HALF", t.translate = NULL;
  HR_RegisterDevice(&t, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "translate");
  TF_KernelBuilder* b = TF_NewKernelBuilder("Square", "OWN", NULL, product_compute, NULL);
  TF_KernelBuilder_HostMemory(b, "nothing");
  TF_RegisterKernelBuilder("own", b, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(s), "nothing");
  TF_Buffer* kernels = TF_GetRegisteredKernelsForOp("Square", s);
  CHECK(CHECK_TF_OK(s) && kernels && memmem(kernels->data, kernels->length, "OWN", 3));
  TF_DeleteBuffer(kernels);
  TF_DeleteStatus(s);
}

TEST_MAIN()
