/* SPDX-License-Identifier: Apache-2.0 */
/* An op of a separate shared library (cube_module.c), run and differentiated. */
#include "help.h"
#include "tensorflow/c/ops.h"

#ifndef HR_TEST_BUILD_DIR
#define HR_TEST_BUILD_DIR "."
#endif

TEST(an_op_from_a_library_runs_and_trains) {
  TF_Status* s = TF_NewStatus();
  TF_Library* library = TF_LoadLibrary(HR_TEST_BUILD_DIR "/tests/capi/cube_module.so", s);
  REQUIRE(CHECK_TF_OK(s));
  CHECK(TF_GetOpList(library).length > 0);
  TF_Graph* g = TF_NewGraph();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), dx;
  int64_t dims[2] = {-1, 2};
  TF_GraphSetTensorShape(g, x, dims, 2, s);
  TF_OperationDescription* d = TF_NewOperation(g, "TestCube", "cube");
  TF_AddInput(d, x);
  TF_SetAttrFloat(d, "bias", 1);
  TF_Output y = {TF_FinishOperation(d, s), 0};
  REQUIRE(CHECK_TF_OK(s));
  CHECK_INT(TF_GraphGetTensorNumDims(g, y, s), 2);
  TF_AddGradients(g, &y, 1, &x, 1, NULL, s, &dx);
  CHECK_TF_OK(s);
  TF_Session* session = TF_NewSession(g, NULL, s);
  float values[2] = {2, 3};
  int64_t row[2] = {1, 2};
  CHECK_NEAR(help_run(session, x, help_floats(row, 2, values), y, s), 9, 1e-5);
  CHECK_NEAR(help_run(session, x, help_floats(row, 2, values), dx, s), 12, 1e-5);
  float w = 2; /* three steps of descent on w^3 */
  for (int i = 0; i < 3; ++i) w -= 0.05f * help_run(session, x, help_floats(row, 2, (float[2]){w, 0}), dx, s);
  CHECK(w < 1.3f && w > 0.5f);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteLibraryHandle(library);
  library = TF_LoadLibrary(HR_TEST_BUILD_DIR "/tests/capi/cube_module.so", s); /* again: the same list */
  CHECK(CHECK_TF_OK(s) && TF_GetOpList(library).length > 0);
  TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(s);
}

TEST(bad_definitions_are_refused) {
  TF_Status* s = TF_NewStatus();
  TF_RegisterOpDefinition(TF_NewOpDefinitionBuilder("lower"), s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_OpDefinitionBuilder* b = TF_NewOpDefinitionBuilder("TestBad");
  TF_OpDefinitionBuilderAddInput(b, "x: nosuchattr");
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  b = TF_NewOpDefinitionBuilder("AddV2");
  TF_RegisterOpDefinition(b, s);
  CHECK_TF_CODE(s, TF_ALREADY_EXISTS);
  TF_DeleteOpDefinitionBuilder(TF_NewOpDefinitionBuilder("TestNever"));
  TF_DeleteStatus(s);
}
TEST_MAIN()
