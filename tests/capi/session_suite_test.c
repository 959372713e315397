/* SPDX-License-Identifier: Apache-2.0 */
/* The session conformance suite: what any session must do, wherever its nodes run.
 *
 *   session_suite_test                on one device, then spread over four CPU devices by the hash of nodes' names, then over two CPUs and
 *                                     the two devices of tests/device/test_device.c
 *   session_suite_test local|devices|test-device [part...]   one of them; parts of tests' names
 *   session_suite_test in-process [part...]     on a cluster of two tasks within this process, spread over both
 *   session_suite_test --target T [part...]     on the session that T names (grpc://host:port), spread over all its devices
 *
 * Nodes that hold or change state go where the placer puts them, with their variable or queue. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "headrace/session.h"
#include "help.h"

enum { MOST_DEVICES = 64 };

static struct {
  const char* name;
  const char* target;
  const char* config; /* a ConfigProto */
  size_t config_size;
} where;

typedef struct {
  TF_Status* s;
  TF_Graph* g;
  TF_Session* session;
  TF_DeviceList* devices;
} world_t;

static TF_Session* open_session(TF_Graph* g, TF_Status* s) {
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_SetTarget(o, where.target);
  TF_SetConfig(o, where.config, where.config_size, s);
  TF_Session* session = TF_NewSession(g, o, s);
  TF_DeleteSessionOptions(o);
  CHECK_TF_OK(s);
  return session;
}

static world_t world_open(void) {
  world_t w = {.s = TF_NewStatus(), .g = TF_NewGraph()};
  w.session = open_session(w.g, w.s);
  if (w.session) w.devices = TF_SessionListDevices(w.session, w.s);
  CHECK_TF_OK(w.s);
  return w;
}

static void world_close(world_t* w) {
  if (w->session) {
    TF_CloseSession(w->session, w->s);
    CHECK_TF_OK(w->s);
    TF_DeleteSession(w->session, w->s);
  }
  TF_DeleteDeviceList(w->devices);
  TF_DeleteGraph(w->g);
  TF_DeleteStatus(w->s);
}

/* --- nodes ---------------------------------------------------------------------------------------------------------------------------- */

static unsigned name_hash(const char* name) {
  unsigned h = 2166136261u;
  for (; *name; ++name) h = (h ^ (unsigned char)*name) * 16777619u;
  return h ^ h >> 15;
}

static const char* device_for(world_t* w, const char* name) {
  const int count = TF_DeviceListCount(w->devices);
  return count > 0 ? TF_DeviceListName(w->devices, (int)(name_hash(name) % (unsigned)count), w->s) : "";
}

static TF_OperationDescription* begin(world_t* w, const char* op, const char* name) { /* on the device of its name */
  TF_OperationDescription* d = TF_NewOperation(w->g, op, name);
  TF_SetDevice(d, device_for(w, name));
  return d;
}

static TF_Output finish(world_t* w, TF_OperationDescription* d) {
  TF_Output out = {TF_FinishOperation(d, w->s), 0};
  CHECK_TF_OK(w->s);
  return out;
}

static TF_Output unary(world_t* w, const char* op, const char* name, TF_Output a) {
  TF_OperationDescription* d = begin(w, op, name);
  TF_AddInput(d, a);
  return finish(w, d);
}

static TF_Output binary(world_t* w, const char* op, const char* name, TF_Output a, TF_Output b) {
  TF_OperationDescription* d = begin(w, op, name);
  TF_AddInput(d, a);
  TF_AddInput(d, b);
  return finish(w, d);
}

static TF_Output constant(world_t* w, const char* name, TF_Tensor* take) {
  TF_OperationDescription* d = begin(w, "Const", name);
  TF_SetAttrTensor(d, "value", take, w->s);
  TF_SetAttrType(d, "dtype", TF_TensorType(take));
  TF_DeleteTensor(take);
  return finish(w, d);
}

static TF_Output placeholder(world_t* w, const char* name, TF_DataType type) {
  TF_OperationDescription* d = TF_NewOperation(w->g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  return finish(w, d);
}

static TF_Tensor* int_of(int value) {
  TF_Tensor* t = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof value);
  memcpy(TF_TensorData(t), &value, sizeof value);
  return t;
}
static TF_Tensor* bool_of(bool value) {
  TF_Tensor* t = TF_AllocateTensor(TF_BOOL, NULL, 0, 1);
  *(unsigned char*)TF_TensorData(t) = value;
  return t;
}

static TF_Output variable(world_t* w, const char* name) { /* a float scalar behind a reference */
  TF_OperationDescription* d = begin(w, "VariableV2", name);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  return finish(w, d);
}

static TF_Output change(world_t* w, const char* op, const char* name, TF_Output variable, TF_Output value, const TF_Operation* after) {
  TF_OperationDescription* d = TF_NewOperation(w->g, op, name); /* beside the variable */
  TF_AddInput(d, variable);
  TF_AddInput(d, value);
  if (after) TF_AddControlInput(d, (TF_Operation*)(uintptr_t)after);
  return finish(w, d);
}

/* --- steps ---------------------------------------------------------------------------------------------------------------------------- */

static float run1(world_t* w, TF_Output in, TF_Tensor* take_value, TF_Output out) {
  return help_run(w->session, in, take_value, out, w->s);
}
static float fetch1(world_t* w, TF_Output out) { return help_run(w->session, (TF_Output){NULL, 0}, NULL, out, w->s); }
static void run_target(world_t* w, TF_Output target) {
  const TF_Operation* op = target.oper;
  TF_SessionRun(w->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &op, 1, NULL, w->s);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(int ms) {
  const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&t, NULL);
}

/* --- values --------------------------------------------------------------------------------------------------------------------------- */

TEST(a_chain_over_all_devices) {
  world_t w = world_open();
  char name[32];
  TF_Output x = placeholder(&w, "x", TF_FLOAT), y = x;
  for (int i = 0; i < 12; ++i) {
    snprintf(name, sizeof name, "chain_%d", i);
    y = i % 2 ? unary(&w, "Neg", name, y) : binary(&w, "AddV2", name, y, x);
  }
  for (int i = 0; i < 3; ++i) { /* y0 = x, then y = -(y + x): 0, -x, 0, ... */
    CHECK_NEAR(run1(&w, x, help_float((float)i + 1), y), (float)i + 1, 0);
    CHECK_TF_OK(w.s);
  }
  world_close(&w);
}

TEST(feeds_and_fetches_in_any_number) {
  world_t w = world_open();
  TF_Output a = placeholder(&w, "a", TF_FLOAT), b = placeholder(&w, "b", TF_FLOAT);
  TF_Output sum = binary(&w, "AddV2", "sum", a, b), twice = binary(&w, "AddV2", "twice", sum, sum), low = unary(&w, "Neg", "low", twice);
  TF_Output feeds[] = {b, a}, fetches[] = {low, sum, twice, sum};
  TF_Tensor *values[] = {help_float(2), help_float(3)}, *out[4] = {NULL};
  TF_SessionRun(w.session, NULL, feeds, values, 2, fetches, out, 4, NULL, 0, NULL, w.s);
  const float wanted[] = {-10, 5, 10, 5};
  for (int i = 0; CHECK_TF_OK(w.s) && i < 4; ++i) CHECK_NEAR(*(float*)TF_TensorData(out[i]), wanted[i], 0);
  for (int i = 0; i < 4; ++i) TF_DeleteTensor(out[i]);
  for (int i = 0; i < 2; ++i) TF_DeleteTensor(values[i]);
  CHECK_NEAR(run1(&w, sum, help_float(7), low), -14, 0); /* in the middle: a and b are not needed */
  CHECK_NEAR(run1(&w, twice, help_float(1), low), -1, 0);
  world_close(&w);
}

/* Random sums and products of earlier values, against the same in plain C. */
TEST(a_tangle_of_two_hundred_nodes) {
  enum { NODES = 200 };
  world_t w = world_open();
  TF_Output node[NODES];
  double value[NODES];
  unsigned seed = 7;
  char name[32];
  node[0] = placeholder(&w, "x", TF_FLOAT);
  value[0] = 0.5;
  for (int i = 1; i < NODES; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const int a = (int)((seed >> 8) % (unsigned)i), b = (int)((seed >> 16) % (unsigned)i);
    static const char* const ops[] = {"AddV2", "Sub", "Mul", "Maximum"};
    snprintf(name, sizeof name, "node_%d", i);
    TF_Output raw = binary(&w, ops[i % 4], name, node[a], node[b]);
    snprintf(name, sizeof name, "tanh_%d", i);
    node[i] = unary(&w, "Tanh", name, raw);
    value[i] = tanh(i % 4 == 0   ? value[a] + value[b]
                    : i % 4 == 1 ? value[a] - value[b]
                    : i % 4 == 2 ? value[a] * value[b]
                                 : fmax(value[a], value[b]));
  }
  TF_Tensor *x = help_float(0.5f), *out[NODES] = {NULL};
  TF_SessionRun(w.session, NULL, &node[0], &x, 1, node + 1, out + 1, NODES - 1, NULL, 0, NULL, w.s);
  for (int i = 1; CHECK_TF_OK(w.s) && i < NODES; ++i) CHECK_NEAR(*(float*)TF_TensorData(out[i]), value[i], 1e-4);
  for (int i = 1; i < NODES; ++i) TF_DeleteTensor(out[i]);
  CHECK_NEAR(run1(&w, node[0], help_float(0.5f), node[NODES - 1]), value[NODES - 1], 1e-4);
  TF_DeleteTensor(x);
  world_close(&w);
}

TEST(large_values_travel_whole) {
  enum { COUNT = 1 << 20 };
  world_t w = world_open();
  const int64_t dims[] = {COUNT};
  float* ramp = malloc(COUNT * sizeof *ramp);
  for (int i = 0; ramp && i < COUNT; ++i) ramp[i] = (float)(i % 1000);
  REQUIRE(ramp);
  TF_Output x = placeholder(&w, "x", TF_FLOAT), y = unary(&w, "Neg", "l0", x);
  for (int i = 1; i < 4; ++i) {
    char name[8];
    snprintf(name, sizeof name, "l%d", i);
    y = unary(&w, "Neg", name, y);
  }
  TF_Tensor *in = help_floats(dims, 1, ramp), *out = NULL;
  TF_SessionRun(w.session, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, w.s);
  if (CHECK_TF_OK(w.s)) CHECK_BYTES(TF_TensorData(out), ramp, COUNT * sizeof *ramp);
  TF_DeleteTensor(out);
  TF_DeleteTensor(in);
  free(ramp);
  world_close(&w);
}

TEST(strings_travel) {
  world_t w = world_open();
  TF_Tensor *in = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString)), *out = NULL;
  TF_StringInit(TF_TensorData(in));
  TF_StringCopy(TF_TensorData(in), "a text that is longer than what fits in place", 45);
  TF_Output x = placeholder(&w, "x", TF_STRING), a = unary(&w, "Identity", "s0", x), b = unary(&w, "Identity", "s1", a);
  TF_Output c = unary(&w, "Identity", "s22", b);
  TF_SessionRun(w.session, NULL, &x, &in, 1, &c, &out, 1, NULL, 0, NULL, w.s);
  if (CHECK_TF_OK(w.s)) {
    CHECK_INT(TF_StringGetSize(TF_TensorData(out)), 45);
    CHECK_BYTES(TF_StringGetDataPointer(TF_TensorData(out)), "a text", 6);
  }
  TF_DeleteTensor(out);
  TF_StringDealloc(TF_TensorData(in));
  TF_DeleteTensor(in);
  world_close(&w);
}

TEST(the_graph_grows_between_steps) {
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_FLOAT), y = x;
  for (int i = 1; i <= 8; ++i) {
    char name[16];
    snprintf(name, sizeof name, "grow_%d", i);
    y = binary(&w, "AddV2", name, y, x);
    CHECK_NEAR(run1(&w, x, help_float(2), y), 2.0 + 2 * i, 0);
    CHECK_TF_OK(w.s);
  }
  world_close(&w);
}

/* --- state ---------------------------------------------------------------------------------------------------------------------------- */

TEST(variables_last_and_every_signature_sees_them) {
  world_t w = world_open();
  TF_Output one = constant(&w, "one", help_float(1)), v = variable(&w, "v"), u = variable(&w, "u");
  TF_Output set = change(&w, "Assign", "set", v, one, NULL), add = change(&w, "AssignAdd", "add", v, one, NULL);
  TF_Output read = unary(&w, "Identity", "read", v), far = unary(&w, "Neg", "far", read);
  CHECK(isnan(fetch1(&w, far)));
  CHECK_TF_CODE(w.s, TF_FAILED_PRECONDITION);
  CHECK_HAS(TF_Message(w.s), "v");
  run_target(&w, set);
  CHECK_TF_OK(w.s);
  for (int i = 0; i < 3; ++i) run_target(&w, add);
  CHECK_NEAR(fetch1(&w, far), -4, 0);
  CHECK_NEAR(fetch1(&w, read), 4, 0);
  CHECK_NEAR(fetch1(&w, add), 5, 0);
  TF_Output both = change(&w, "Assign", "copy", u, far, add.oper); /* u = -v, read before or after v grows */
  CHECK(fabsf(fetch1(&w, both)) >= 5);
  CHECK_NEAR(fetch1(&w, read), 6, 0);
  world_close(&w);
}

TEST(control_edges_hold_across_devices) {
  world_t w = world_open();
  TF_Output one = constant(&w, "one", help_float(1)), zero = constant(&w, "zero", help_float(0)), v = variable(&w, "v");
  TF_Output set = change(&w, "Assign", "set", v, zero, NULL), add = change(&w, "AssignAdd", "add", v, one, NULL);
  TF_OperationDescription* d = begin(&w, "NoOp", "after"); /* elsewhere, mostly */
  TF_AddControlInput(d, add.oper);
  TF_Output after = finish(&w, d);
  d = TF_NewOperation(w.g, "Identity", "seen");
  TF_AddInput(d, v);
  TF_AddControlInput(d, after.oper);
  TF_Output seen = finish(&w, d);
  run_target(&w, set);
  for (int i = 1; i <= 10; ++i) CHECK_NEAR(fetch1(&w, seen), i, 0);
  run_target(&w, after);
  CHECK_NEAR(fetch1(&w, seen), 12, 0);
  world_close(&w);
}

TEST(handles_of_variables) {
  world_t w = world_open();
  TF_OperationDescription* d = begin(&w, "VarHandleOp", "h");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Output h = finish(&w, d), half = constant(&w, "half", help_float(0.5f));
  TF_Output set = change(&w, "AssignVariableOp", "set", h, half, NULL), add = change(&w, "AssignAddVariableOp", "add", h, half, NULL);
  d = TF_NewOperation(w.g, "ReadVariableOp", "read");
  TF_AddInput(d, h);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output read = finish(&w, d), far = unary(&w, "Neg", "far", read);
  run_target(&w, set);
  run_target(&w, add);
  CHECK_NEAR(fetch1(&w, far), -1, 0);
  CHECK_TF_OK(w.s);
  world_close(&w);
}

/* --- branches ------------------------------------------------------------------------------------------------------------------------- */

TEST(dead_branches_cross_devices_dead) {
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_FLOAT), p = placeholder(&w, "p", TF_BOOL), sw = binary(&w, "Switch", "sw", x, p);
  TF_Output yes = unary(&w, "Neg", "yes", (TF_Output){sw.oper, 1}), no = unary(&w, "Square", "no", sw);
  TF_Output yes2 = unary(&w, "Neg", "yes_2", yes), no2 = unary(&w, "Square", "no_2", no);
  TF_OperationDescription* d = begin(&w, "Merge", "merge");
  TF_Output both[] = {no2, yes2};
  TF_AddInputList(d, both, 2);
  TF_Output merge = finish(&w, d), feeds[] = {x, p}, last = unary(&w, "Neg", "last", merge);
  for (int i = 0; i < 4; ++i) {
    TF_Tensor *values[] = {help_float(3), bool_of(i % 2)}, *out = NULL;
    TF_SessionRun(w.session, NULL, feeds, values, 2, &last, &out, 1, NULL, 0, NULL, w.s);
    if (CHECK_TF_OK(w.s)) CHECK_NEAR(*(float*)TF_TensorData(out), i % 2 ? -3 : -81, 0);
    TF_DeleteTensor(out);
    out = NULL;
    TF_SessionRun(w.session, NULL, feeds, values, 2, i % 2 ? &no2 : &yes2, &out, 1, NULL, 0, NULL, w.s);
    CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT); /* a dead value cannot be fetched */
    TF_DeleteTensor(out);
    TF_DeleteTensor(values[0]);
    TF_DeleteTensor(values[1]);
  }
  world_close(&w);
}

/* --- errors --------------------------------------------------------------------------------------------------------------------------- */

TEST(an_error_names_its_node_and_the_session_goes_on) {
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_INT32), ten = constant(&w, "ten", int_of(10));
  TF_Output bad = binary(&w, "FloorDiv", "division", ten, x), a = unary(&w, "Neg", "e1", bad), b = unary(&w, "Neg", "e2", a);
  TF_Output c = binary(&w, "AddV2", "e3", b, ten), d = unary(&w, "Neg", "other_way", ten), all = binary(&w, "AddV2", "all", c, d);
  for (int i = 0; i < 6; ++i) {
    TF_Tensor *in = int_of(i % 2 ? 5 : 0), *out = NULL;
    TF_SessionRun(w.session, NULL, &x, &in, 1, &all, &out, 1, NULL, 0, NULL, w.s);
    if (i % 2 && CHECK_TF_OK(w.s)) CHECK_INT(*(int*)TF_TensorData(out), 2);
    if (i % 2 == 0) {
      CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
      CHECK_HAS(TF_Message(w.s), "division");
      CHECK(out == NULL);
    }
    TF_DeleteTensor(out);
    TF_DeleteTensor(in);
  }
  world_close(&w);
}

TEST(what_is_wrong_with_a_request_is_said) {
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_FLOAT), y = unary(&w, "Neg", "y", x), z = unary(&w, "Neg", "z", y);
  TF_Tensor *wrong = int_of(1), *out = NULL;
  fetch1(&w, z);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(w.s), "x");
  TF_SessionRun(w.session, NULL, &x, &wrong, 1, &z, &out, 1, NULL, 0, NULL, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  TF_Output beyond = {z.oper, 3}, twice[] = {x, x};
  fetch1(&w, beyond);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  TF_Tensor* values[] = {help_float(1), help_float(1)};
  TF_SessionRun(w.session, NULL, twice, values, 2, &z, &out, 1, NULL, 0, NULL, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  TF_SessionRun(w.session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  TF_OperationDescription* d = TF_NewOperation(w.g, "Neg", "lost");
  TF_AddInput(d, x);
  TF_SetDevice(d, "/job:nowhere/replica:0/task:0/device:CPU:0");
  TF_Output lost = finish(&w, d);
  run1(&w, x, help_float(1), lost);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(w.s), "lost");
  CHECK_NEAR(run1(&w, x, help_float(1), z), 1, 0);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteTensor(wrong);
  world_close(&w);
}

/* --- steps that wait ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
  TF_Output enqueue, take; /* take: after one more device */
  TF_Output value;
} queue_t;

static queue_t queue_make(world_t* w) {
  queue_t q;
  const TF_DataType types[] = {TF_FLOAT};
  TF_OperationDescription* d = begin(w, "FIFOQueueV2", "queue");
  TF_SetAttrTypeList(d, "component_types", types, 1);
  TF_Output handle = finish(w, d);
  q.value = placeholder(w, "value", TF_FLOAT);
  d = TF_NewOperation(w->g, "QueueEnqueueV2", "enqueue");
  TF_AddInput(d, handle);
  TF_AddInputList(d, &q.value, 1);
  q.enqueue = finish(w, d);
  d = TF_NewOperation(w->g, "QueueDequeueV2", "dequeue");
  TF_AddInput(d, handle);
  TF_SetAttrTypeList(d, "component_types", types, 1);
  q.take = unary(w, "Neg", "taken", finish(w, d));
  return q;
}

typedef struct {
  world_t* w;
  queue_t* q;
  HR_Cancellation* stop;
  TF_Code code;
  float got;
} waiter_t;

static void* wait_for_value(void* arg) {
  waiter_t* a = arg;
  TF_Status* s = TF_NewStatus();
  TF_Tensor* out = NULL;
  HR_SessionRun(a->w->session, NULL, a->stop, NULL, NULL, 0, &a->q->take, &out, 1, NULL, 0, NULL, s);
  a->code = TF_GetCode(s);
  if (out) a->got = *(float*)TF_TensorData(out);
  TF_DeleteTensor(out);
  TF_DeleteStatus(s);
  return NULL;
}

TEST(one_step_waits_for_another) {
  world_t w = world_open();
  queue_t q = queue_make(&w);
  waiter_t a = {.w = &w, .q = &q};
  pthread_t t;
  pthread_create(&t, NULL, wait_for_value, &a);
  nap(30);
  const TF_Operation* enqueue = q.enqueue.oper;
  TF_Tensor* in = help_float(8);
  TF_SessionRun(w.session, NULL, &q.value, &in, 1, NULL, NULL, 0, &enqueue, 1, NULL, w.s);
  CHECK_TF_OK(w.s);
  pthread_join(t, NULL);
  CHECK_INT(a.code, TF_OK);
  CHECK_NEAR(a.got, -8, 0);
  TF_DeleteTensor(in);
  world_close(&w);
}

TEST(a_deadline_ends_a_step_on_all_devices) {
  world_t w = world_open();
  queue_t q = queue_make(&w);
  TF_Buffer* options = TF_NewBufferFromString("\x10\x64", 2); /* RunOptions.timeout_in_ms: 100 */
  TF_Tensor* out = NULL;
  for (int i = 0; i < 2; ++i) {
    const double start = seconds();
    TF_SessionRun(w.session, options, NULL, NULL, 0, &q.take, &out, 1, NULL, 0, NULL, w.s);
    CHECK_TF_CODE(w.s, TF_DEADLINE_EXCEEDED);
    CHECK(out == NULL && seconds() - start < 1 && seconds() - start >= 0.09);
  }
  TF_DeleteBuffer(options);
  world_close(&w);
}

TEST(cancelling_ends_one_step) {
  world_t w = world_open();
  queue_t q = queue_make(&w);
  waiter_t a = {.w = &w, .q = &q, .stop = HR_NewCancellation()};
  pthread_t t;
  pthread_create(&t, NULL, wait_for_value, &a);
  nap(50);
  const double start = seconds();
  HR_Cancel(a.stop);
  pthread_join(t, NULL);
  CHECK_INT(a.code, TF_CANCELLED);
  CHECK(seconds() - start < 1);
  HR_DeleteCancellation(a.stop);
  TF_Output c = constant(&w, "c", help_float(1)); /* the session goes on */
  CHECK_NEAR(fetch1(&w, unary(&w, "Neg", "n", c)), -1, 0);
  world_close(&w);
}

TEST(closing_ends_all_steps) {
  enum { WAITERS = 4 };
  world_t w = world_open();
  queue_t q = queue_make(&w);
  waiter_t a[WAITERS];
  pthread_t t[WAITERS];
  for (int i = 0; i < WAITERS; ++i) {
    a[i] = (waiter_t){.w = &w, .q = &q};
    pthread_create(&t[i], NULL, wait_for_value, &a[i]);
  }
  nap(80);
  const double start = seconds();
  TF_CloseSession(w.session, w.s);
  CHECK_TF_OK(w.s);
  CHECK(seconds() - start < 1);
  for (int i = 0; i < WAITERS; ++i) {
    pthread_join(t[i], NULL);
    CHECK_INT(a[i].code, TF_CANCELLED);
  }
  fetch1(&w, q.take);
  CHECK_TF_CODE(w.s, TF_CANCELLED);
  world_close(&w);
}

/* --- other ways to run ---------------------------------------------------------------------------------------------------------------- */

TEST(callables_run_what_they_were_made_for) {
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_FLOAT), y = unary(&w, "Square", "y", x), z = unary(&w, "Neg", "z", y), fetches[] = {z, y};
  HR_Callable* c = HR_NewCallable(w.session, &x, 1, fetches, 2, NULL, 0, w.s);
  if (CHECK_TF_OK(w.s)) {
    for (int i = 0; i < 3; ++i) {
      TF_Tensor *in = help_float((float)i), *out[2] = {NULL};
      HR_CallableRun(c, NULL, NULL, &in, out, NULL, w.s);
      if (CHECK_TF_OK(w.s)) CHECK(*(float*)TF_TensorData(out[0]) == (float)(-i * i) && *(float*)TF_TensorData(out[1]) == (float)(i * i));
      TF_DeleteTensor(out[0]);
      TF_DeleteTensor(out[1]);
      TF_DeleteTensor(in);
    }
    HR_DeleteCallable(c);
  }
  world_close(&w);
}

TEST(partial_runs_go_step_by_step) {
  world_t w = world_open();
  TF_Output a = placeholder(&w, "a", TF_FLOAT), b = placeholder(&w, "b", TF_FLOAT);
  TF_Output x = unary(&w, "Neg", "px", a), y = binary(&w, "AddV2", "py", x, b), feeds[] = {a, b}, fetches[] = {x, y};
  const char* handle = NULL;
  TF_SessionPRunSetup(w.session, feeds, 2, fetches, 2, NULL, 0, &handle, w.s);
  if (CHECK_TF_OK(w.s)) {
    TF_Tensor *in = help_float(4), *out = NULL;
    TF_SessionPRun(w.session, handle, NULL, NULL, 0, &y, &out, 1, NULL, 0, w.s);
    CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT); /* depends on what has not been fed */
    TF_SessionPRun(w.session, handle, &a, &in, 1, &x, &out, 1, NULL, 0, w.s);
    if (CHECK_TF_OK(w.s)) CHECK_NEAR(*(float*)TF_TensorData(out), -4, 0);
    TF_DeleteTensor(out);
    out = NULL;
    TF_SessionPRun(w.session, handle, &b, &in, 1, &y, &out, 1, NULL, 0, w.s);
    if (CHECK_TF_OK(w.s)) CHECK_NEAR(*(float*)TF_TensorData(out), 0, 0);
    TF_DeleteTensor(out);
    TF_DeleteTensor(in);
    TF_DeletePRunHandle(handle);
  }
  world_close(&w);
}

static bool holds(const TF_Buffer* b, const char* text) {
  const size_t size = strlen(text);
  for (size_t i = 0; i + size <= b->length; ++i)
    if (!memcmp((const char*)b->data + i, text, size)) return true;
  return false;
}

TEST(metadata_tells_of_every_device) {
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_FLOAT), y = x;
  char name[16];
  for (int i = 0; i < 16; ++i) {
    snprintf(name, sizeof name, "m%d", i);
    y = unary(&w, "Exp", name, y);
  }
  TF_Buffer* options = TF_NewBufferFromString("\x08\x03\x28\x01", 4); /* FULL_TRACE, output_partition_graphs */
  TF_Buffer* metadata = TF_NewBuffer();
  TF_Tensor *in = help_float(-100), *out = NULL;
  TF_SessionRun(w.session, options, &x, &in, 1, &y, &out, 1, NULL, 0, metadata, w.s);
  CHECK_TF_OK(w.s);
  for (int i = 0; i < 16; ++i) {
    snprintf(name, sizeof name, "m%d", i);
    CHECK(holds(metadata, device_for(&w, name)) && holds(metadata, name));
  }
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  TF_DeleteBuffer(options);
  TF_DeleteBuffer(metadata);
  world_close(&w);
}

typedef struct {
  world_t* w;
  TF_Output x, y;
  int id;
} runner_t;

static void* run_often(void* arg) {
  runner_t* r = arg;
  TF_Status* s = TF_NewStatus();
  for (int i = 0; i < 25; ++i) {
    const float v = (float)(r->id * 100 + i);
    if (help_run(r->w->session, r->x, help_float(v), r->y, s) == 4 * v) continue;
    test_fail(__FILE__, __LINE__, "thread %d step %d: %s", r->id, i, TF_Message(s));
    break;
  }
  TF_DeleteStatus(s);
  return NULL;
}

TEST(many_threads_run_at_once) {
  enum { THREADS = 8 };
  world_t w = world_open();
  TF_Output x = placeholder(&w, "x", TF_FLOAT), a = binary(&w, "AddV2", "ta", x, x), b = binary(&w, "AddV2", "tb", a, x),
            y = binary(&w, "AddV2", "tc", b, x);
  pthread_t t[THREADS];
  runner_t r[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    r[i] = (runner_t){&w, x, y, i};
    pthread_create(&t[i], NULL, run_often, &r[i]);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(t[i], NULL);
  world_close(&w);
}

/* --- where ---------------------------------------------------------------------------------------------------------------------------- */

static int run_here(const char* name, const char* target, const char* config, size_t size, int argc, char** argv) {
  where.name = name;
  where.target = target;
  where.config = config;
  where.config_size = size;
  printf("%s: ", name);
  fflush(stdout);
  return test_main(argc, argv);
}

/* Two devices whose memory the host cannot read, mixed with two CPUs. */
static int run_on_test_device(const char* own_path, int argc, char** argv) {
  static const char two[] = "\x0a\x07\x0a\x03\x43PU\x10\x02\x38\x01"; /* device_count: CPU, 2; allow_soft_placement */
  const char* slash = strrchr(own_path, '/');
  char path[4096];
  snprintf(path, sizeof path, "%.*s/../device/test_device.so", slash ? (int)(slash - own_path) : 1, slash ? own_path : ".");
  TF_Status* s = TF_NewStatus();
  HR_LoadDeviceLibrary(path, s);
  int failed = !CHECK_TF_OK(s);
  HR_LoadDeviceLibrary(path, s);
  failed |= !CHECK_TF_CODE(s, TF_ALREADY_EXISTS);
  HR_LoadDeviceLibrary("/nowhere/device.so", s);
  failed |= !CHECK_TF_CODE(s, TF_NOT_FOUND);
  HR_RegisterDevice(NULL, s);
  failed |= !CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteStatus(s);
  return failed | run_here("test-device", "", two, sizeof two - 1, argc, argv);
}

/* --- a cluster of two tasks within the process ------------------------------------------------------------------------------- */

static int free_port(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof a;
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  const bool ok = s >= 0 && !bind(s, (struct sockaddr*)&a, size) && !getsockname(s, (struct sockaddr*)&a, &size);
  if (s >= 0) close(s);
  return ok ? ntohs(a.sin_port) : 0;
}

/* ServerDef { cluster { job { name: "worker" tasks { 0: ... } tasks { 1: ... } } } job_name: "worker" task_index: i protocol: "grpc" } */
static TF_Server* start_task(const int* ports, char index, TF_Status* s) {
  char tasks[128], def[256];
  size_t n = 0, m = 0;
  for (char i = 0; i < 2; ++i) { /* a map's entry: key, value */
    char address[32];
    const size_t length = (size_t)snprintf(address, sizeof address, "localhost:%d", ports[(int)i]);
    n += (size_t)snprintf(tasks + n, sizeof tasks - n, "\x12%c\x08%c\x12%c", (char)(length + 4), '?', (char)length);
    tasks[n - 3] = i;
    memcpy(tasks + n, address, length);
    n += length;
  }
  const char head[] = {0x0a, (char)(n + 10), 0x0a, (char)(n + 8), 0x0a, 6, 'w', 'o', 'r', 'k', 'e', 'r'};
  const char tail[] = {0x12, 6, 'w', 'o', 'r', 'k', 'e', 'r', 0x18, index, 0x2a, 4, 'g', 'r', 'p', 'c'};
  memcpy(def, head, m = sizeof head);
  memcpy(def + m, tasks, n), m += n;
  memcpy(def + m, tail, sizeof tail), m += sizeof tail;
  TF_Server* server = TF_NewServer(def, m, s);
  if (CHECK_TF_OK(s)) TF_ServerStart(server, s);
  CHECK_TF_OK(s);
  return server;
}

static int run_in_process(int argc, char** argv) {
  TF_Status* s = TF_NewStatus();
  const int ports[] = {free_port(), free_port()};
  TF_Server *first = start_task(ports, 0, s), *second = start_task(ports, 1, s);
  const int failed = first && second ? run_here("in-process", TF_ServerTarget(first), "", 0, argc, argv) : 1;
  TF_DeleteServer(first);
  TF_DeleteServer(second);
  TF_DeleteStatus(s);
  return failed;
}

int main(int argc, char** argv) {
  const char* own_path = argv[0];
  static const char four[] = "\x0a\x07\x0a\x03\x43PU\x10\x04"; /* device_count: CPU, 4 */
  if (argc > 2 && !strcmp(argv[1], "--target")) return run_here(argv[2], argv[2], "", 0, argc - 2, argv + 2);
  const char* only = argc > 1 ? argv[1] : "";
  if (!strcmp(only, "in-process")) return run_in_process(argc - 1, argv + 1);
  const bool named = !strcmp(only, "local") || !strcmp(only, "devices") || !strcmp(only, "test-device");
  const bool local = !named || !strcmp(only, "local"), devices = !named || !strcmp(only, "devices");
  if (named) --argc, ++argv;
  int failed = local ? run_here("local", "", "", 0, argc, argv) : 0;
  if (devices) failed |= run_here("devices", "", four, sizeof four - 1, argc, argv);
  if (named && strcmp(only, "test-device") != 0) return failed;
  return failed | run_on_test_device(own_path, argc, argv);
}
