/* SPDX-License-Identifier: Apache-2.0 */
/* Running: feeds, fetches, errors, life times, threads, partial runs, callables, the oldest interface. */
#include <pthread.h>

#include "headrace/session.h"
#include "headrace/version.h"
#include "help.h"

typedef struct {
  TF_Status* s;
  TF_Graph* g;
  TF_Output x, y; /* y = x * x */
  TF_Session* session;
} square_t;

static square_t square_make(void) {
  square_t q = {.s = TF_NewStatus(), .g = TF_NewGraph()};
  q.x = help_placeholder(q.g, "x", TF_FLOAT, q.s);
  q.y = help_unary(q.g, "Square", "y", q.x, q.s);
  q.session = TF_NewSession(q.g, NULL, q.s);
  CHECK_TF_OK(q.s);
  return q;
}
static void square_free(square_t* q) {
  TF_DeleteGraph(q->g); /* before its session: only marked */
  CHECK_NEAR(help_run(q->session, q->x, help_float(5), q->y, q->s), 25, 0);
  TF_CloseSession(q->session, q->s);
  CHECK_TF_OK(q->s);
  CHECK(isnan(help_run(q->session, q->x, help_float(5), q->y, q->s)));
  CHECK_TF_CODE(q->s, TF_CANCELLED);
  TF_DeleteSession(q->session, q->s);
  CHECK_TF_OK(q->s);
  TF_DeleteStatus(q->s);
}

TEST(a_step_runs) {
  square_t q = square_make();
  CHECK_NEAR(help_run(q.session, q.x, help_float(3), q.y, q.s), 9, 0);
  TF_Output fetches[2] = {q.y, q.y};
  TF_Tensor *out[2], *in = help_float(4);
  const TF_Operation* target = q.y.oper;
  TF_Buffer* metadata = TF_NewBuffer();
  TF_SessionRun(q.session, NULL, &q.x, &in, 1, fetches, out, 2, &target, 1, metadata, q.s);
  if (CHECK_TF_OK(q.s)) CHECK(*(float*)TF_TensorData(out[0]) == 16 && *(float*)TF_TensorData(out[1]) == 16);
  TF_DeleteTensor(out[0]);
  TF_DeleteTensor(out[1]);
  TF_DeleteTensor(in);
  TF_DeleteBuffer(metadata);
  square_free(&q);
}

TEST(bad_runs_are_refused) {
  square_t q = square_make();
  TF_Tensor *out = NULL, *wrong = TF_AllocateTensor(TF_INT32, NULL, 0, 4), *none = NULL;
  TF_SessionRun(q.session, NULL, &q.x, &wrong, 1, &q.y, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  CHECK(out == NULL);
  TF_SessionRun(q.session, NULL, &q.x, &none, 1, &q.y, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_SessionRun(q.session, NULL, NULL, NULL, 0, &q.y, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(q.s), "x");
  TF_Output bad = {q.y.oper, 4};
  TF_SessionRun(q.session, NULL, NULL, NULL, 0, &bad, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_SessionRun(q.session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_SessionRun(q.session, NULL, NULL, NULL, -1, &q.y, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_SessionRun(NULL, NULL, NULL, NULL, 0, &q.y, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(wrong);
  square_free(&q);
}

TEST(callables_and_cancellation) {
  square_t q = square_make();
  HR_Callable* c = HR_NewCallable(q.session, &q.x, 1, &q.y, 1, NULL, 0, q.s);
  if (CHECK_TF_OK(q.s)) {
    TF_Tensor *in = help_float(6), *out = NULL;
    HR_CallableRun(c, NULL, NULL, &in, &out, NULL, q.s);
    if (CHECK_TF_OK(q.s)) CHECK(*(float*)TF_TensorData(out) == 36);
    TF_DeleteTensor(out);
    HR_Cancellation* stop = HR_NewCancellation();
    HR_Cancel(stop);
    HR_CallableRun(c, NULL, stop, &in, &out, NULL, q.s);
    CHECK_TF_CODE(q.s, TF_CANCELLED);
    HR_SessionRun(q.session, NULL, stop, &q.x, &in, 1, &q.y, &out, 1, NULL, 0, NULL, q.s);
    CHECK_TF_CODE(q.s, TF_CANCELLED);
    HR_DeleteCancellation(stop);
    TF_DeleteTensor(in);
  }
  HR_DeleteCallable(c);
  square_free(&q);
}

TEST(partial_runs) {
  square_t q = square_make();
  const char* handle = NULL;
  TF_SessionPRunSetup(q.session, &q.x, 1, &q.y, 1, NULL, 0, &handle, q.s);
  if (CHECK_TF_OK(q.s)) {
    TF_Tensor *in = help_float(7), *out = NULL;
    char copy[64];
    snprintf(copy, sizeof copy, "%s", handle);
    TF_SessionPRun(q.session, copy, &q.x, &in, 1, &q.y, &out, 1, NULL, 0, q.s);
    if (CHECK_TF_OK(q.s)) CHECK(*(float*)TF_TensorData(out) == 49);
    TF_DeleteTensor(out);
    TF_DeleteTensor(in);
    TF_DeletePRunHandle(handle);
  }
  TF_SessionPRun(q.session, "nothing", NULL, NULL, 0, NULL, NULL, 0, NULL, 0, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  square_free(&q);
}

TEST(options_and_devices) {
  square_t q = square_make();
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_SetConfig(o, "\x10\x01", 2, q.s);
  CHECK_TF_OK(q.s);
  TF_SetConfig(o, "\xff", 1, q.s);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_SetTarget(o, "nowhere");
  CHECK(TF_NewSession(q.g, o, q.s) == NULL);
  CHECK_TF_CODE(q.s, TF_NOT_FOUND);
  TF_SetTarget(o, "");
  HR_ShareContainers(o, q.session);
  TF_Session* other = TF_NewSession(q.g, o, q.s);
  CHECK_TF_OK(q.s);
  CHECK_NEAR(help_run(other, q.x, help_float(2), q.y, q.s), 4, 0);
  TF_DeleteSession(other, q.s);
  TF_DeleteSessionOptions(o);
  TF_DeviceList* list = TF_SessionListDevices(q.session, q.s);
  CHECK_INT(TF_DeviceListCount(list), 1);
  CHECK_STR(TF_DeviceListType(list, 0, q.s), "CPU");
  CHECK_HAS(TF_DeviceListName(list, 0, q.s), "device:CPU:0");
  CHECK(TF_DeviceListMemoryBytes(list, 0, q.s) > 0 && TF_DeviceListIncarnation(list, 0, q.s) != 0);
  CHECK(TF_DeviceListName(list, 1, q.s) == NULL);
  CHECK_TF_CODE(q.s, TF_INVALID_ARGUMENT);
  TF_DeleteDeviceList(list);
  square_free(&q);
}

TEST(the_oldest_interface) {
  square_t q = square_make();
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(q.g, def, q.s);
  TF_SessionOptions* o = TF_NewSessionOptions();
  TF_DeprecatedSession* old = TF_NewDeprecatedSession(o, q.s);
  TF_ExtendGraph(old, def->data, def->length, q.s);
  CHECK_TF_OK(q.s);
  const char *ins[] = {"x"}, *outs[] = {"y:0"}, *absent[] = {"nobody"};
  TF_Tensor *in = help_float(3), *out = NULL;
  TF_Run(old, NULL, ins, &in, 1, outs, &out, 1, NULL, 0, NULL, q.s);
  if (CHECK_TF_OK(q.s)) CHECK(*(float*)TF_TensorData(out) == 9);
  CHECK(in == NULL);
  TF_DeleteTensor(out);
  TF_Run(old, NULL, NULL, NULL, 0, absent, &out, 1, NULL, 0, NULL, q.s);
  CHECK_TF_CODE(q.s, TF_NOT_FOUND);
  TF_CloseDeprecatedSession(old, q.s);
  TF_DeleteDeprecatedSession(old, q.s);
  TF_DeleteSessionOptions(o);
  TF_DeleteBuffer(def);
  square_free(&q);
}

static atomic_int run_named;

static void* run_many(void* arg) {
  square_t* q = arg;
  TF_Status* s = TF_NewStatus();
  char name[32];
  for (int i = 0; i < 50; ++i) {
    snprintf(name, sizeof name, "t%d", atomic_fetch_add(&run_named, 1));
    TF_Output y = i % 10 ? q->y : help_unary(q->g, "Square", name, q->x, s);
    if (help_run(q->session, q->x, help_float((float)i), y, s) != (float)(i * i)) {
      test_fail(__FILE__, __LINE__, "step %d: %s", i, TF_Message(s));
      break;
    }
  }
  TF_DeleteStatus(s);
  return NULL;
}

TEST(twenty_four_threads_on_one_session) {
  square_t q = square_make();
  pthread_t threads[24];
  for (int i = 0; i < 24; ++i) pthread_create(&threads[i], NULL, run_many, &q);
  for (int i = 0; i < 24; ++i) pthread_join(threads[i], NULL);
  square_free(&q);
}

TEST(versions) {
  CHECK_STR(TF_Version(), "2.21.0-headrace-" HR_VERSION_STRING);
  CHECK_STR(HR_Version(), HR_VERSION_STRING);
  CHECK(HR_GraphVersion() >= 2474);
}

TEST(what_is_not_there_says_so) {
  TF_Status* s = TF_NewStatus();
  CHECK(TF_LoadLibrary("/nowhere/none.so", s) == NULL);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  TF_Graph* g = TF_NewGraph();
  CHECK(TF_LoadSessionFromSavedModel(NULL, NULL, "/nowhere", NULL, 0, g, NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}
TEST_MAIN()
