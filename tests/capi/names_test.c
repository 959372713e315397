/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest sessions: nodes by name, input tensors taken, a step in parts. */
#include "help.h"

typedef struct {
  TF_Status* s;
  TF_DeprecatedSession* session;
} names_t;

/* x, y placeholders; sum = x + y; square = sum^2. */
static TF_Buffer* names_graph(TF_Status* s) {
  TF_Graph* g = TF_NewGraph();
  TF_Buffer* def = TF_NewBuffer();
  TF_Output x = help_placeholder(g, "x", TF_FLOAT, s), y = help_placeholder(g, "y", TF_FLOAT, s);
  help_unary(g, "Square", "square", help_binary(g, "AddV2", "sum", x, y, s), s);
  TF_GraphToGraphDef(g, def, s);
  CHECK_TF_OK(s);
  TF_DeleteGraph(g);
  return def;
}

static names_t names_start(void) {
  names_t n = {TF_NewStatus(), NULL};
  TF_Buffer* def = names_graph(n.s);
  n.session = TF_NewDeprecatedSession(NULL, n.s);
  if (CHECK_TF_OK(n.s)) TF_ExtendGraph(n.session, def->data, def->length, n.s);
  CHECK_TF_OK(n.s);
  TF_ExtendGraph(n.session, def->data, def->length, n.s); /* the same names again */
  CHECK_TF_CODE(n.s, TF_INVALID_ARGUMENT);
  TF_ExtendGraph(n.session, "\xff", 1, n.s);
  CHECK_TF_CODE(n.s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(def);
  return n;
}

static void names_end(names_t* n) {
  TF_CloseDeprecatedSession(n->session, n->s);
  CHECK_TF_OK(n->s);
  TF_DeleteDeprecatedSession(n->session, n->s);
  CHECK_TF_OK(n->s);
  TF_DeleteStatus(n->s);
}

static float names_value(TF_Tensor* take) {
  float value = take ? *(float*)TF_TensorData(take) : NAN;
  TF_DeleteTensor(take);
  return value;
}

TEST(a_step_by_name) {
  names_t n = names_start();
  const char *in[2] = {"x", "y:0"}, *out[2] = {"square", "sum:0"}, *target = "sum";
  TF_Tensor *inputs[2] = {help_float(2), help_float(3)}, *outputs[2];
  TF_Run(n.session, NULL, in, inputs, 2, out, outputs, 2, &target, 1, NULL, n.s);
  if (CHECK_TF_OK(n.s)) CHECK(names_value(outputs[0]) == 25 && names_value(outputs[1]) == 5);
  CHECK(inputs[0] == NULL && inputs[1] == NULL); /* taken */
  names_end(&n);
}

TEST(names_that_are_none) {
  static const struct {
    const char *input, *output, *target;
    TF_Code code;
  } rows[] = {{"nobody", "sum", "sum", TF_NOT_FOUND},         {"x", "nobody", "sum", TF_NOT_FOUND},
              {"x", "sum", "nobody", TF_NOT_FOUND},           {"x", "sum:1", "sum", TF_INVALID_ARGUMENT},
              {"x:y", "sum", "sum", TF_INVALID_ARGUMENT},     {"x:-1", "sum", "sum", TF_INVALID_ARGUMENT},
              {"x", "sum", "sum", TF_INVALID_ARGUMENT}}; /* y is not fed */
  names_t n = names_start();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const char *in = rows[i].input, *out = rows[i].output, *target = rows[i].target;
    TF_Tensor *input = help_float(2), *output = (TF_Tensor*)&n;
    TF_Run(n.session, NULL, &in, &input, 1, &out, &output, 1, &target, 1, NULL, n.s);
    CHECK_TF_CODE(n.s, rows[i].code);
    CHECK(input == NULL && output == NULL);
  }
  names_end(&n);
}

TEST(a_step_in_parts_by_name) {
  names_t n = names_start();
  const char *in[2] = {"x", "y"}, *out[2] = {"sum", "square"}, *handle = NULL, *nobody = "nobody";
  TF_PRunSetup(n.session, in, 2, out, 2, NULL, 0, &handle, n.s);
  REQUIRE(CHECK_TF_OK(n.s) && handle);
  TF_Tensor *input = help_float(4), *output = NULL;
  TF_PRun(n.session, handle, &in[0], &input, 1, NULL, NULL, 0, NULL, 0, n.s);
  CHECK(CHECK_TF_OK(n.s) && input == NULL);
  input = help_float(5);
  TF_PRun(n.session, handle, &in[1], &input, 1, &out[0], &output, 1, NULL, 0, n.s);
  CHECK(CHECK_TF_OK(n.s) && names_value(output) == 9);
  TF_PRun(n.session, handle, NULL, NULL, 0, &out[1], &output, 1, NULL, 0, n.s);
  CHECK(CHECK_TF_OK(n.s) && names_value(output) == 81);
  TF_DeletePRunHandle(handle);
  TF_PRunSetup(n.session, &nobody, 1, out, 2, NULL, 0, &handle, n.s);
  CHECK_TF_CODE(n.s, TF_NOT_FOUND);
  CHECK(handle == NULL);
  input = help_float(1);
  TF_PRun(n.session, NULL, &in[0], &input, 1, &out[0], &output, 1, NULL, 0, n.s);
  CHECK_TF_CODE(n.s, TF_INVALID_ARGUMENT);
  CHECK(input == NULL && output == NULL);
  names_end(&n);
}

TEST(a_closed_session_runs_nothing_and_lists_its_device) {
  names_t n = names_start();
  const char *in[2] = {"x", "y"}, *out = "sum";
  TF_Tensor *inputs[2] = {help_float(2), help_float(3)}, *output = NULL;
  TF_DeviceList* list = TF_DeprecatedSessionListDevices(n.session, n.s);
  CHECK(CHECK_TF_OK(n.s) && TF_DeviceListCount(list) == 1);
  CHECK_STR(TF_DeviceListType(list, 0, n.s), "CPU");
  TF_DeleteDeviceList(list);
  TF_CloseDeprecatedSession(n.session, n.s);
  CHECK_TF_OK(n.s);
  TF_Run(n.session, NULL, in, inputs, 2, &out, &output, 1, NULL, 0, NULL, n.s);
  CHECK_TF_CODE(n.s, TF_CANCELLED);
  CHECK(output == NULL && inputs[0] == NULL);
  names_end(&n);
}

TEST(no_session_and_a_bad_target) {
  TF_Status* s = TF_NewStatus();
  TF_SessionOptions* o = TF_NewSessionOptions();
  const char *out = "sum", *handle;
  TF_Tensor* output;
  TF_SetTarget(o, "nowhere");
  CHECK(TF_NewDeprecatedSession(o, s) == NULL);
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  TF_Run(NULL, NULL, NULL, NULL, 0, &out, &output, 1, NULL, 0, NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_PRunSetup(NULL, NULL, 0, &out, 1, NULL, 0, &handle, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_ExtendGraph(NULL, "", 0, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_CloseDeprecatedSession(NULL, s);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  CHECK(TF_DeprecatedSessionListDevices(NULL, s) == NULL);
  CHECK_TF_CODE(s, TF_INVALID_ARGUMENT);
  TF_DeleteDeprecatedSession(NULL, s);
  CHECK_TF_OK(s);
  TF_DeleteSessionOptions(o);
  TF_DeleteStatus(s);
}
TEST_MAIN()
