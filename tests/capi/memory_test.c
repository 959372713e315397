/* SPDX-License-Identifier: Apache-2.0 */
/* A whole C program with its first, second, third... allocation failing: every call answers, nothing crashes. */
#include "base/alloc.h"
#include "help.h"

/* Whether it came to the end. */
static bool memory_program(void) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  bool done = false;
  if (s && g) {
    TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), dx = {NULL, -1};
    TF_Output y = TF_GetCode(s) == TF_OK ? help_unary(g, "Square", "y", x, s) : x;
    if (TF_GetCode(s) == TF_OK) TF_AddGradients(g, &y, 1, &x, 1, NULL, s, &dx);
    TF_Session* session = TF_GetCode(s) == TF_OK ? TF_NewSession(g, NULL, s) : NULL;
    TF_Tensor* three = help_float(3);
    if (session && three) {
      TF_Tensor* out = NULL;
      TF_SessionRun(session, NULL, &x, &three, 1, &dx, &out, 1, NULL, 0, NULL, s);
      done = TF_GetCode(s) == TF_OK;
      CHECK(done == (out != NULL));
      if (done) CHECK_NEAR(*(float*)TF_TensorData(out), 6, 0);
      TF_DeleteTensor(out);
    }
    TF_DeleteTensor(three);
    if (session) TF_DeleteSession(session, s);
  }
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  return done;
}

TEST(every_allocation_fails_once) {
  bool done = false;
  CHECK(memory_program()); /* what is made once is made */
  int64_t n = 1;
  for (; !done && n < 5000; ++n) {
    hr_alloc_fail_at(n, false);
    memory_program();
    done = !hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
  }
  CHECK(done && n > 20);
}
TEST_MAIN()
