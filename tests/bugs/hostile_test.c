/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that attacks on Headrace found, each mended: strings that were copied as bytes, sums that were undefined, a first value of
 * another shape, files without an end, ends of a session in the child of a fork. */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bug.h"
#include "headrace/session.h"

/* ---- strings own memory */

static TF_Output hostile_handle(bug_t* b, const char* shape) {
  char attrs[100];
  snprintf(attrs, sizeof attrs, "dtype=string; shape=%s; shared_name='v'", shape);
  return bug_op(b, "VarHandleOp", attrs, 0, NULL);
}
TEST(scattered_strings_are_copies) {
  for (int feeds = 0; feeds < 2; ++feeds) {
    bug_t b = bug_open(feeds);
    TF_Output v = hostile_handle(&b, "<3>"), first = bug_value(&b, "string[3] a b a_text_too_long_to_lie_in_the_element_itself");
    TF_Output set = bug_op(&b, "AssignVariableOp", "dtype=string", 2, (TF_Output[]){v, first});
    TF_Output at = bug_value(&b, "int32[2] 2 0"), new = bug_value(&b, "string[2] another_text_too_long_to_lie_in_the_element c");
    TF_Output scatter = bug_op(&b, "ResourceScatterUpdate", "dtype=string", 3, (TF_Output[]){v, at, new});
    TF_Output read = bug_op(&b, "ReadVariableOp", "dtype=string", 1, &v);
    bug_target(&b, set);
    for (int i = 0; i < 3; ++i) bug_target(&b, scatter);
    TF_Tensor* got = bug_fetch(&b, read);
    CHECK_TF_OK(b.s);
    REQUIRE(got != NULL);
    const TF_TString* s = TF_TensorData(got);
    CHECK_INT(TF_StringGetSize(s + 2), strlen("another_text_too_long_to_lie_in_the_element"));
    CHECK_BYTES(TF_StringGetDataPointer(s + 2), "another", 7);
    CHECK_INT(TF_StringGetSize(s), 1);
    TF_DeleteTensor(got);
    bug_close(&b);
  }
}
TEST(a_tensor_with_scattered_strings_is_another) {
  for (int feeds = 0; feeds < 2; ++feeds) {
    bug_t b = bug_open(feeds);
    TF_Output x = bug_value(&b, "string[2] first_text_too_long_to_lie_in_the_element second_text_too_long_to_lie_in_the_element");
    TF_Output at = bug_value(&b, "int32[1,1] 1"), new = bug_value(&b, "string[1] third_text_too_long_to_lie_in_the_element");
    TF_Output y = bug_op(&b, "TensorScatterUpdate", "", 3, (TF_Output[]){x, at, new});
    TF_Tensor* got = bug_fetch(&b, y);
    CHECK_TF_OK(b.s);
    REQUIRE(got != NULL);
    const TF_TString* s = TF_TensorData(got);
    CHECK_BYTES(TF_StringGetDataPointer(s), "first", 5);
    CHECK_BYTES(TF_StringGetDataPointer(s + 1), "third", 5);
    TF_DeleteTensor(got);
    bug_close(&b);
  }
}

/* ---- integers */

TEST(sums_and_products_wrap) {
  VALUE("int32[] -2147483648", "Sum", "", "int32[2] 2147483647 1", "int32[1] 0");
  VALUE("int32[2] -2147483632 0", "Sum", "", "int32[2,2] 17 0 2147483647 0", "int32[1] 0");
  VALUE("int64[] -9223372036854775808", "Sum", "", "int64[2] 9223372036854775807 1", "int32[1] 0");
  VALUE("int32[] 0", "Prod", "", "int32[2] 65536 65536", "int32[1] 0");
  VALUE("int32[] 2147352577", "Prod", "", "int32[2] 2147483647 131071", "int32[1] 0");
}

/* ---- variables */

TEST(a_first_value_has_the_shape_that_was_declared) {
  bug_t b = bug_open(true);
  TF_Output v = bug_op(&b, "VariableV2", "dtype=float; shape=<2,3>", 0, NULL), x = bug_value(&b, "float[3] 1 2 3");
  TF_Output set = bug_op(&b, "Assign", "", 2, (TF_Output[]){v, x});
  TF_Output any = bug_op(&b, "Assign", "validate_shape=false", 2, (TF_Output[]){v, x});
  CHECK_TF_OK(b.s); /* nothing is known of what will be fed */
  bug_target(&b, set);
  CHECK_TF_CODE(b.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(b.s), "[2,3]");
  TF_SetStatus(b.s, TF_OK, "");
  bug_target(&b, any);
  CHECK_TF_OK(b.s);
  bug_target(&b, set); /* now it has that shape */
  CHECK_TF_OK(b.s);
  bug_close(&b);
}

/* ---- files */

TEST(devices_and_pipes_are_no_files) { /* one has no end, the other waits for a writer */
  bug_t b = bug_open(true);
  mkfifo("hostile_pipe", 0666);
  TF_Output zero = bug_op(&b, "ReadFile", "", 1, (TF_Output[]){bug_value(&b, "string[] /dev/zero")});
  TF_Output pipe = bug_op(&b, "ReadFile", "", 1, (TF_Output[]){bug_value(&b, "string[] hostile_pipe")});
  CHECK(bug_fetch(&b, zero) == NULL);
  CHECK_TF_CODE(b.s, TF_FAILED_PRECONDITION);
  CHECK_HAS(TF_Message(b.s), "/dev/zero");
  TF_SetStatus(b.s, TF_OK, "");
  CHECK(bug_fetch(&b, pipe) == NULL);
  CHECK_TF_CODE(b.s, TF_FAILED_PRECONDITION);
  unlink("hostile_pipe");
  bug_close(&b);
}

/* ---- fork */

static void* hostile_wait(void* arg) { /* for a value that comes late */
  bug_t* b = arg;
  TF_Output out = {TF_GraphOperationByName(b->g, "node_1"), 0};
  TF_Status* s = TF_NewStatus();
  TF_Tensor* got = NULL;
  TF_SessionRun(b->session, NULL, NULL, NULL, 0, &out, &got, 1, NULL, 0, NULL, s);
  TF_DeleteTensor(got);
  TF_DeleteStatus(s);
  return NULL;
}
TEST(the_child_of_a_fork_deletes_a_session_that_its_parent_runs) {
  TF_DataType type = TF_FLOAT;
  pthread_t waiter;
  int status = -1;
  bug_t b = bug_open(false);
  TF_OperationDescription* d = bug_begin(&b, "FIFOQueueV2", "");
  TF_SetAttrTypeList(d, "component_types", &type, 1);
  TF_Output queue = {TF_FinishOperation(d, b.s), 0};
  d = bug_begin(&b, "QueueDequeueV2", "");
  TF_AddInput(d, queue);
  TF_SetAttrTypeList(d, "component_types", &type, 1);
  TF_FinishOperation(d, b.s);
  bug_start(&b);
  CHECK_TF_OK(b.s);
  REQUIRE(pthread_create(&waiter, NULL, hostile_wait, &b) == 0);
  usleep(200000);
  pid_t child = fork();
  if (child == 0) {
    TF_DeleteSession(b.session, b.s);
    _exit(TF_GetCode(b.s) == TF_OK ? 0 : 1);
  }
  REQUIRE(child > 0);
  for (int i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; ++i) usleep(10000);
  if (!CHECK_INT(status, 0)) kill(child, SIGKILL), waitpid(child, &status, 0);
  TF_CloseSession(b.session, b.s);
  pthread_join(waiter, NULL);
  bug_close(&b);
}
/* The parent's threads for loops, products and convolutions are not there in the child, nor what they held. */
TEST(the_child_of_a_fork_runs_products_and_convolutions) {
  bug_t b = bug_open(false);
  TF_Output shape = bug_value(&b, "int32[2] 300 300"), images = bug_value(&b, "int32[4] 4 28 28 16");
  TF_Output filters = bug_value(&b, "int32[4] 3 3 16 16");
  TF_Output x = bug_op(&b, "RandomUniform", "dtype=float; seed=1; seed2=2", 1, &shape);
  TF_Output y = bug_op(&b, "Exp", "", 1, (TF_Output[]){bug_op(&b, "MatMul", "", 2, (TF_Output[]){x, x})});
  TF_Output image = bug_op(&b, "RandomUniform", "dtype=float; seed=1; seed2=2", 1, &images);
  TF_Output filter = bug_op(&b, "RandomUniform", "dtype=float; seed=1; seed2=2", 1, &filters);
  TF_Output z = bug_op(&b, "Conv2D", "strides=[1,1,1,1]; padding='SAME'", 2, (TF_Output[]){image, filter});
  TF_DeleteTensor(bug_fetch(&b, y));
  TF_DeleteTensor(bug_fetch(&b, z));
  CHECK_TF_OK(b.s);
  for (int anew = 0; anew < 2; ++anew) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      if (anew) b.session = NULL; /* a session of the child's own */
      TF_DeleteTensor(bug_fetch(&b, y));
      TF_DeleteTensor(bug_fetch(&b, z));
      _exit(TF_GetCode(b.s) == TF_OK ? 0 : 1);
    }
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
  }
  bug_close(&b);
}
TEST_MAIN()
