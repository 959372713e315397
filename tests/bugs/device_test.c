/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are asked for: the host's CPU under all its names, others refused with the node's name, or dropped when soft placement
 * allows it. */
#include "bug.h"

/* Runs Square of 3 with the node on `device`; soft: ConfigProto.allow_soft_placement. */
static TF_Code device_run(const char* device, bool soft, const char* in_message) {
  bug_t b = bug_open(false);
  TF_Output x = bug_value(&b, "float[] 3");
  TF_OperationDescription* d = TF_NewOperation(b.g, "Square", "squared");
  TF_AddInput(d, x);
  TF_SetDevice(d, device);
  TF_Output y = {TF_FinishOperation(d, b.s), 0};
  CHECK_TF_OK(b.s);
  TF_SessionOptions* o = TF_NewSessionOptions();
  if (soft) TF_SetConfig(o, "\x38\x01", 2, b.s);
  b.session = TF_NewSession(b.g, o, b.s);
  TF_DeleteSessionOptions(o);
  TF_Tensor* out = bug_fetch(&b, y);
  const TF_Code code = TF_GetCode(b.s);
  if (code == TF_OK)
    CHECK(*(float*)TF_TensorData(out) == 9.0f);
  else
    CHECK_HAS(TF_Message(b.s), in_message);
  TF_DeleteTensor(out);
  TF_SetStatus(b.s, TF_OK, "");
  bug_close(&b);
  return code;
}

TEST(the_cpu_by_all_its_names) {
  static const char* const names[] = {"",
                                      "/cpu:0",
                                      "/CPU:0",
                                      "/device:CPU:0",
                                      "/device:CPU:*",
                                      "CPU:0",
                                      "/job:localhost",
                                      "/job:localhost/replica:0/task:0/device:CPU:0",
                                      "/replica:0/task:0/cpu:0"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) CHECK_INT(device_run(names[i], false, ""), TF_OK);
}

TEST(a_device_that_is_not_there) {
  static const char* const names[] = {"/gpu:0", "/device:GPU:0", "/device:GPU:*", "/cpu:1", "/job:localhost/device:TPU:0"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    CHECK_INT(device_run(names[i], false, "'squared'"), TF_INVALID_ARGUMENT);
    CHECK_INT(device_run(names[i], false, names[i]), TF_INVALID_ARGUMENT);
    CHECK_INT(device_run(names[i], true, ""), TF_OK);
  }
}

TEST(another_task_and_nonsense) {
  CHECK_INT(device_run("/job:worker/task:3/cpu:0", false, "worker"), TF_INVALID_ARGUMENT);
  CHECK_INT(device_run("/job:worker/task:3/cpu:0", true, "worker"), TF_INVALID_ARGUMENT);
  CHECK_INT(device_run("/task:-1", false, "malformed"), TF_INVALID_ARGUMENT);
  CHECK_INT(device_run("/device:CPU:zero", false, "malformed"), TF_INVALID_ARGUMENT);
  CHECK_INT(device_run("nowhere", true, "malformed"), TF_INVALID_ARGUMENT);
}

TEST_MAIN()
