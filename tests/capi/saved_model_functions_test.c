/* SPDX-License-Identifier: Apache-2.0 */
/* SavedModels that TensorFlow 2.21's tf.saved_model.save wrote (tests/golden/files): signatures that are calls of functions, restored and
 * initialised through functions, run by their endpoint names. A loop (saved_model_tf2), a Keras network (saved_model_keras), a tf.Module
 * with a variable that a call adds to, a branch and a table (saved_model_module). */
#include "help.h"

#define FILES HR_TEST_SOURCE_DIR "/tests/golden/files/"

typedef struct {
  TF_Status* s;
  TF_Graph* g;
  TF_Session* session;
} model_t;

static bool model_open(model_t* m, const char* dir) {
  static const char* const tags[] = {"serve"};
  m->s = TF_NewStatus();
  m->g = TF_NewGraph();
  m->session = TF_LoadSessionFromSavedModel(NULL, NULL, dir, tags, 1, m->g, NULL, m->s);
  return CHECK_TF_OK(m->s);
}
static void model_close(model_t* m) {
  if (m->session) TF_DeleteSession(m->session, m->s);
  TF_DeleteGraph(m->g);
  TF_DeleteStatus(m->s);
}

static TF_Output model_endpoint(const model_t* m, const char* name, int index) {
  return (TF_Output){TF_GraphOperationByName(m->g, name), index};
}

/* Takes the inputs; `outputs` values of `fetch`. */
static bool model_run(model_t* m, int count, const char* const* names, TF_Tensor** take, const char* fetch, int outputs, TF_Tensor** out) {
  TF_Output in[4], want[4];
  for (int i = 0; i < count; ++i) in[i] = model_endpoint(m, names[i], 0);
  for (int i = 0; i < outputs; ++i) want[i] = model_endpoint(m, fetch, i);
  TF_SessionRun(m->session, NULL, in, take, count, want, out, outputs, NULL, 0, NULL, m->s);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(take[i]);
  return CHECK_TF_OK(m->s);
}

static void check_floats(TF_Tensor* take, int count, const float* want, double tolerance) {
  if (CHECK(take && TF_TensorElementCount(take) == count))
    for (int i = 0; i < count; ++i) CHECK_NEAR(((float*)TF_TensorData(take))[i], want[i], tolerance);
  TF_DeleteTensor(take);
}

TEST(a_loop_in_a_function) {
  static const float x[] = {1, -0.5f, -1, -2}, want[] = {3.5f, 5, 199, 290};
  static const int64_t dims[] = {2, 2};
  static const char* const names[] = {"serving_default_x"};
  model_t m;
  if (model_open(&m, FILES "saved_model_tf2")) {
    TF_Tensor *in = help_floats(dims, 2, x), *got = NULL;
    if (model_run(&m, 1, names, &in, "StatefulPartitionedCall", 1, &got)) check_floats(got, 4, want, 1e-4);
  }
  model_close(&m);
}

TEST(a_keras_network) {
  static const float x[] = {0.001f, -0.29f, -1.116f, -0.013f, -0.378f, -0.481f, -1.517f, -0.491f};
  static const float want[] = {0.992838442f, 1.13394299e-05f, 0.00715017132f, 0.989019454f, 3.99558048e-05f, 0.0109405778f};
  static const int64_t dims[] = {2, 4};
  static const char *const names[] = {"serving_default_pixels"}, *const other[] = {"serve_pixels"};
  model_t m;
  if (model_open(&m, FILES "saved_model_keras")) {
    TF_Tensor *in = help_floats(dims, 2, x), *got = NULL;
    if (model_run(&m, 1, names, &in, "StatefulPartitionedCall_1", 1, &got)) check_floats(got, 6, want, 1e-5);
    int64_t shape[2]; /* of a call only the saved "_output_shapes" say it */
    TF_GraphGetTensorShape(m.g, model_endpoint(&m, "StatefulPartitionedCall", 0), shape, 2, m.s);
    if (CHECK_TF_OK(m.s)) CHECK(shape[0] == -1 && shape[1] == 3);
    in = help_floats(dims, 2, x);
    if (model_run(&m, 1, other, &in, "StatefulPartitionedCall", 1, &got)) check_floats(got, 6, want, 1e-5);
  }
  model_close(&m);
}

/* total += sum(x); f = n > 2 ? 2 total : total - n. Outputs: f, total. */
static void check_add(model_t* m, int n, float f, float total) {
  static const float x[] = {1, 2, 3};
  static const int64_t dims[] = {3};
  static const char* const names[] = {"add_n", "add_x"};
  TF_Tensor *in[] = {TF_AllocateTensor(TF_INT32, NULL, 0, 4), help_floats(dims, 1, x)}, *got[2] = {NULL, NULL};
  memcpy(TF_TensorData(in[0]), &n, 4);
  if (!model_run(m, 2, names, in, "StatefulPartitionedCall", 2, got)) return;
  check_floats(got[0], 1, &f, 1e-6);
  check_floats(got[1], 1, &total, 1e-6);
}

TEST(a_module_with_state_a_branch_and_a_table) {
  static const float want[] = {2, -1};
  static const int64_t dims[] = {2};
  static const char* const names[] = {"look_words"};
  model_t m;
  if (model_open(&m, FILES "saved_model_module")) {
    check_add(&m, 1, 5.5f, 6.5f); /* the variable is 0.5 in the file; each call adds once */
    check_add(&m, 3, 25, 12.5f);
    TF_Tensor *in = TF_AllocateTensor(TF_STRING, dims, 1, 2 * sizeof(TF_TString)), *got = NULL;
    TF_TString* words = TF_TensorData(in);
    for (int i = 0; i < 2; ++i) TF_StringInit(&words[i]);
    TF_StringCopy(&words[0], "b", 1);
    TF_StringCopy(&words[1], "zebra", 5);
    if (model_run(&m, 1, names, &in, "StatefulPartitionedCall_1", 1, &got)) check_floats(got, 2, want, 0);
  }
  model_close(&m);
}

TEST_MAIN()
