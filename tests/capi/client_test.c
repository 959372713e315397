/* SPDX-License-Identifier: Apache-2.0 */
/* headrace/client.h: every function, with public headers only. What optimizers do is compared with what TensorFlow 2.21's of the same
 * names did (compat.v1: three steps on fed gradients, dense and of rows with a duplicate, variables by reference and by handle). */
#include <unistd.h>
#include "capi/help.h"
#include "headrace/client.h"

typedef struct {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* s;
} world_t;

static bool begin(world_t* w) {
  w->s = TF_NewStatus();
  w->graph = TF_NewGraph();
  TF_SessionOptions* o = TF_NewSessionOptions();
  w->session = TF_NewSession(w->graph, o, w->s);
  TF_DeleteSessionOptions(o);
  return CHECK_TF_OK(w->s);
}
static void end(world_t* w) {
  TF_DeleteSession(w->session, w->s);
  TF_DeleteGraph(w->graph);
  TF_DeleteStatus(w->s);
}
static void run_op(world_t* w, TF_Operation* op) {
  const TF_Operation* target = op;
  TF_SessionRun(w->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, w->s);
}
static void check_floats(world_t* w, TF_Output what, const float* want, int n, double tolerance, const char* label) {
  TF_Tensor* t = NULL;
  TF_SessionRun(w->session, NULL, NULL, NULL, 0, &what, &t, 1, NULL, 0, NULL, w->s);
  if (!CHECK_TF_OK(w->s)) return;
  if (CHECK_INT(TF_TensorElementCount(t), n))
    for (int i = 0; i < n; ++i) {
      const double got = ((float*)TF_TensorData(t))[i];
      if (!(fabs(got - want[i]) <= tolerance)) test_fail(__FILE__, __LINE__, "%s: element %d is %.9g, not %.9g", label, i, got, want[i]);
    }
  TF_DeleteTensor(t);
}
static HR_Variable variable_of(world_t* w, const char* name, const int64_t* dims, int rank, const float* values, bool is_resource) {
  HR_Variable v = {0};
  TF_Tensor* t = help_floats(dims, rank, values);
  TF_Output initial = HR_Const(w->graph, "init", t, w->s);
  TF_DeleteTensor(t);
  if (CHECK_TF_OK(w->s)) HR_NewVariable(w->graph, name, initial, is_resource, &v, w->s);
  CHECK_TF_OK(w->s);
  return v;
}

/* ---- nodes, variables, initial values */

TEST(nodes) {
  world_t w;
  if (!begin(&w)) return;
  TF_Output a = HR_ConstFloat(w.graph, "a", 2.5f, w.s), x = HR_Placeholder(w.graph, "x", TF_FLOAT, NULL, 0, w.s);
  TF_Output in[] = {a, x};
  TF_Output y = HR_Op(w.graph, "Mul", NULL, in, 2, w.s), again = HR_Op(w.graph, "Mul", NULL, in, 2, w.s);
  CHECK_TF_OK(w.s);
  CHECK_STR(TF_OperationName(y.oper), "Mul");
  CHECK_STR(TF_OperationName(again.oper), "Mul_1");
  CHECK_NEAR(help_run(w.session, x, help_float(3), y, w.s), 7.5, 0);
  const int32_t ints[] = {4, 5, 6};
  TF_Output v = HR_ConstInt32s(w.graph, "v", ints, 3, w.s);
  CHECK_TF_OK(w.s);
  TF_Tensor* t = NULL;
  TF_SessionRun(w.session, NULL, NULL, NULL, 0, &v, &t, 1, NULL, 0, NULL, w.s);
  if (CHECK_TF_OK(w.s)) CHECK_INT(((int32_t*)TF_TensorData(t))[2], 6);
  TF_DeleteTensor(t);
  CHECK(HR_Op(w.graph, "NoSuchOp", "n", NULL, 0, w.s).oper == NULL);
  CHECK_HAS(TF_Message(w.s), "NoSuchOp");
  CHECK(HR_Op(w.graph, "Neg", "n", (TF_Output[]){{NULL, 0}}, 1, w.s).oper == NULL);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  CHECK(HR_ConstFloat(NULL, "a", 1, w.s).oper == NULL);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  end(&w);
}

TEST(variables_of_both_kinds) {
  for (int is_resource = 0; is_resource < 2; ++is_resource) {
    world_t w;
    if (!begin(&w)) return;
    const int64_t dims[] = {2};
    const float values[] = {1, -2};
    HR_Variable v = variable_of(&w, "v", dims, 1, values, is_resource), second = variable_of(&w, "v", dims, 1, values, is_resource);
    CHECK_STR(TF_OperationName(v.handle.oper), "v");
    CHECK_STR(TF_OperationName(second.handle.oper), "v_1");
    CHECK_STR(TF_OperationName(v.initializer), "v/Assign");
    CHECK_STR(TF_OperationName(v.read.oper), is_resource ? "v/Read/ReadVariableOp" : "v/read");
    CHECK_INT(v.dtype, TF_FLOAT);
    TF_Output known = HR_VariableIsInitialized(w.graph, &v, w.s), once_more = HR_VariableIsInitialized(w.graph, &v, w.s);
    CHECK_TF_OK(w.s);
    CHECK(known.oper && known.oper == once_more.oper);
    TF_Tensor* t = NULL;
    TF_SessionRun(w.session, NULL, NULL, NULL, 0, &known, &t, 1, NULL, 0, NULL, w.s);
    if (CHECK_TF_OK(w.s)) CHECK(!*(bool*)TF_TensorData(t));
    TF_DeleteTensor(t);
    run_op(&w, v.read.oper);
    CHECK_TF_CODE(w.s, TF_FAILED_PRECONDITION);
    const HR_Variable both[] = {v, second};
    TF_Operation* init = HR_InitializeAll(w.graph, "init_all", both, 2, w.s);
    CHECK_TF_OK(w.s);
    run_op(&w, init);
    CHECK_TF_OK(w.s);
    check_floats(&w, v.read, values, 2, 0, "initial value");
    check_floats(&w, second.read, values, 2, 0, "initial value");
    end(&w);
  }
}

TEST(a_variable_needs_a_known_shape) {
  world_t w;
  if (!begin(&w)) return;
  HR_Variable v;
  HR_NewVariable(w.graph, "v", HR_Placeholder(w.graph, "x", TF_FLOAT, NULL, -1, w.s), 0, &v, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  CHECK_HAS(TF_Message(w.s), "known shape");
  HR_NewVariable(w.graph, "v", (TF_Output){NULL, 0}, 0, &v, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  end(&w);
}

TEST(initial_values) {
  world_t w;
  if (!begin(&w)) return;
  const int64_t dims[] = {50, 40};
  TF_Output values[] = {HR_TruncatedNormal(w.graph, "tn", dims, 2, 5, 0.1f, 87654321, 7, w.s),
                        HR_RandomNormal(w.graph, NULL, dims, 2, 5, 0.1f, 87654321, 7, w.s),
                        HR_RandomUniform(w.graph, NULL, dims, 2, 4.8f, 5.2f, 87654321, 7, w.s),
                        HR_Filled(w.graph, "filled", dims, 2, 5, w.s)};
  if (!CHECK_TF_OK(w.s)) return;
  CHECK_STR(TF_OperationName(values[0].oper), "tn");
  CHECK_STR(TF_OperationName(values[1].oper), "random_normal");
  CHECK_STR(TF_OperationOpType(values[3].oper), "Fill");
  CHECK(TF_GraphOperationByName(w.graph, "tn/TruncatedNormal") != NULL);
  TF_Tensor* t[4] = {0};
  TF_SessionRun(w.session, NULL, NULL, NULL, 0, values, t, 4, NULL, 0, NULL, w.s);
  if (CHECK_TF_OK(w.s))
    for (int k = 0; k < 4; ++k) {
      const float* x = TF_TensorData(t[k]);
      double sum = 0, least = 1e9, most = -1e9;
      for (int i = 0; i < 2000; ++i) sum += x[i], least = fmin(least, x[i]), most = fmax(most, x[i]);
      CHECK_NEAR(sum / 2000, 5, 0.02);
      if (k != 1) CHECK(least >= 4.8 - 1e-6 && most <= 5.2 + 1e-6);
      if (k != 3) CHECK(most - least > 0.3);
    }
  for (int k = 0; k < 4; ++k) TF_DeleteTensor(t[k]);
  CHECK(HR_Filled(w.graph, "bad", (int64_t[]){-1}, 1, 0, w.s).oper == NULL);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  end(&w);
}

/* ---- optimizers against TensorFlow */

typedef struct {
  const char* rule; /* with "+switch" */
  int is_resource, sparse;
  float after[6];
} trained_t;
static const trained_t trained[] = {
    {"GradientDescent", 0, 0, {0.4, 2.6, 2.7, 3.85, 3.8, 5.94}},
    {"GradientDescent", 0, 1, {0.6999999, 1.85, 3, 4, 3.2, 6.539999}},
    {"GradientDescent", 1, 0, {0.4, 2.6, 2.7, 3.85, 3.8, 5.94}},
    {"GradientDescent", 1, 1, {0.6999999, 1.85, 3, 4, 3.2, 6.539999}},
    {"Momentum", 0, 0, {0.04899991, 2.951, 2.5245, 3.76225, 3.098, 5.9049}},
    {"Momentum", 0, 1, {0.5244999, 1.76225, 3, 4, 2.147, 6.8559}},
    {"Momentum", 1, 0, {0.04899991, 2.951, 2.5245, 3.76225, 3.098, 5.9049}},
    {"Momentum", 1, 1, {0.5244999, 1.76225, 3, 4, 2.147, 6.8559}},
    {"Momentum+use_nesterov", 0, 0, {-0.4559, 3.4559, 2.27205, 3.636025, 2.0882, 5.85441}},
    {"Momentum+use_nesterov", 0, 1, {0.27205, 1.636025, 3, 4, 0.6322999, 7.31031}},
    {"Momentum+use_nesterov", 1, 0, {-0.4559, 3.4559, 2.27205, 3.636025, 2.0882, 5.85441}},
    {"Momentum+use_nesterov", 1, 1, {0.27205, 1.636025, 3, 4, 0.6322999, 7.31031}},
    {"Adagrad", 0, 0, {0.7361987, 2.263801, 2.750361, 3.784177, 4.7319, 5.856972}},
    {"Adagrad", 0, 1, {0.7503613, 1.784177, 3, 4, 4.731061, 6.262531}},
    {"Adagrad", 1, 0, {0.7361987, 2.263801, 2.750361, 3.784177, 4.7319, 5.856972}},
    {"Adagrad", 1, 1, {0.7503613, 1.784177, 3, 4, 4.731061, 6.262531}},
    {"Adadelta", 0, 0, {0.99983, 2.00017, 2.99983, 3.99983, 4.99983, 5.99983}},
    {"Adadelta", 0, 1, {0.99983, 1.99983, 3, 4, 4.99983, 6.00017}},
    {"Adadelta", 1, 0, {0.99983, 2.00017, 2.99983, 3.99983, 4.99983, 5.99983}},
    {"Adadelta", 1, 1, {0.99983, 1.99983, 3, 4, 4.99983, 6.00017}},
    {"RMSProp", 0, 0, {0.3533682, 2.646632, 2.608286, 3.789052, 4.089452, 5.913513}},
    {"RMSProp", 0, 1, {0.608286, 1.789052, 3, 4, 3.963192, 6.605189}},
    {"RMSProp", 1, 0, {0.3533682, 2.646632, 2.608286, 3.789052, 4.089452, 5.913513}},
    {"RMSProp", 1, 1, {0.608286, 1.789052, 3, 4, 3.963192, 6.605189}},
    {"RMSProp+centered", 0, 0, {0.3256162, 2.674384, 2.600689, 3.787755, 4.030687, 5.913421}},
    {"RMSProp+centered", 0, 1, {0.6006891, 1.787754, 3, 4, 3.887411, 6.628845}},
    {"RMSProp+centered", 1, 0, {0.3256162, 2.674384, 2.600689, 3.787755, 4.030687, 5.913421}},
    {"RMSProp+centered", 1, 1, {0.6006891, 1.787754, 3, 4, 3.887411, 6.628845}},
    {"Adam", 0, 0, {0.7076827, 2.292317, 2.707683, 3.707683, 4.707683, 5.707683}},
    {"Adam", 0, 1, {0.7076827, 1.707683, 3, 4, 4.707683, 6.292317}},
    {"Adam", 1, 0, {0.7076827, 2.292317, 2.707683, 3.707683, 4.707683, 5.707683}},
    {"Adam", 1, 1, {0.7076827, 1.707683, 3, 4, 4.707683, 6.292317}},
};

static HR_Optimizer* optimizer_of(world_t* w, const char* rule_and_switch) {
  char rule[64];
  snprintf(rule, sizeof rule, "%s", rule_and_switch);
  char* option = strchr(rule, '+');
  if (option) *option++ = 0;
  HR_Optimizer* o = HR_NewOptimizer(w->graph, rule, NULL, w->s);
  HR_OptimizerSetFloat(o, "learning_rate", 0.1, w->s);
  if (!strcmp(rule, "Momentum")) HR_OptimizerSetFloat(o, "momentum", 0.9, w->s);
  if (!strcmp(rule, "RMSProp")) HR_OptimizerSetFloat(o, "momentum", 0.5, w->s);
  if (option) HR_OptimizerSetFloat(o, option, 1, w->s);
  CHECK_TF_OK(w->s);
  return o;
}

static HR_Gradient fed_gradient(world_t* w, bool sparse, TF_Output* g, TF_Output* i) {
  *g = HR_Placeholder(w->graph, "g", TF_FLOAT, (int64_t[]){3, 2}, 2, w->s);
  *i = HR_Placeholder(w->graph, "i", TF_INT32, (int64_t[]){3}, 1, w->s);
  const TF_Output none = {NULL, -1};
  return (HR_Gradient){sparse ? none : *g, sparse ? *i : none, sparse ? *g : none, none, sparse};
}

static void train_step(world_t* w, TF_Output g, TF_Output i, TF_Operation* op, float factor) {
  static const float base[] = {1, -1, .5f, .25f, 2, .1f};
  const int32_t rows[] = {2, 0, 2};
  float values[6];
  for (int k = 0; k < 6; ++k) values[k] = base[k] * factor;
  TF_Tensor* feeds[] = {help_floats((int64_t[]){3, 2}, 2, values), TF_AllocateTensor(TF_INT32, (int64_t[]){3}, 1, sizeof rows)};
  memcpy(TF_TensorData(feeds[1]), rows, sizeof rows);
  const TF_Operation* target = op;
  TF_SessionRun(w->session, NULL, (TF_Output[]){g, i}, feeds, 2, NULL, NULL, 0, &target, 1, NULL, w->s);
  CHECK_TF_OK(w->s);
  TF_DeleteTensor(feeds[0]);
  TF_DeleteTensor(feeds[1]);
}

static void initialize(world_t* w, const HR_Variable* v, const HR_Optimizer* o) {
  HR_Variable all[8] = {*v};
  int count = 1;
  for (int k = 0; k < HR_OptimizerSlotCount(o); ++k) all[count++] = *HR_OptimizerSlot(o, k, NULL, NULL);
  TF_Operation* init = HR_InitializeAll(w->graph, NULL, all, count, w->s);
  CHECK_TF_OK(w->s);
  run_op(w, init);
  CHECK_TF_OK(w->s);
}

TEST(optimizers_do_what_tensorflows_do) {
  static const float start[] = {1, 2, 3, 4, 5, 6};
  for (size_t k = 0; k < sizeof trained / sizeof *trained; ++k) {
    const trained_t* t = &trained[k];
    char label[80];
    world_t w;
    if (!begin(&w)) return;
    snprintf(label, sizeof label, "%s%s%s", t->rule, t->is_resource ? ", handle" : "", t->sparse ? ", rows" : "");
    HR_Variable v = variable_of(&w, "w", (int64_t[]){3, 2}, 2, start, t->is_resource);
    TF_Output g, i;
    HR_Gradient gradient = fed_gradient(&w, t->sparse, &g, &i);
    HR_Optimizer* o = optimizer_of(&w, t->rule);
    TF_Operation* op = HR_OptimizerApply(o, &gradient, &v, 1, NULL, NULL, w.s);
    if (!CHECK_TF_OK(w.s)) printf("  (%s)\n", label);
    if (op) {
      initialize(&w, &v, o);
      for (int step = 1; step <= 3; ++step) train_step(&w, g, i, op, (float)step);
      check_floats(&w, v.read, t->after, 6, 2e-5, label);
    }
    HR_DeleteOptimizer(o);
    end(&w);
  }
}

/* ---- the nodes they are made of */

/* Compares "name|op|inputs" of each node with what TensorFlow made of the same program. */
static bool node_is(world_t* w, const char* name, const char* op, const char* inputs, char* got, size_t size) {
  TF_Operation* o = TF_GraphOperationByName(w->graph, name);
  if (!o) return snprintf(got, size, "no node '%s'", name), false;
  size_t at = 0;
  got[0] = 0;
  for (int i = 0; i < TF_OperationNumInputs(o); ++i) {
    TF_Output from = TF_OperationInput((TF_Input){o, i});
    at += (size_t)snprintf(got + at, size - at, from.index ? "%s%s:%d" : "%s%s", at ? " " : "", TF_OperationName(from.oper), from.index);
  }
  TF_Operation* controls[16];
  const int n = TF_OperationGetControlInputs(o, controls, 16);
  const char* sorted[16];
  for (int i = 0; i < n; ++i) sorted[i] = TF_OperationName(controls[i]);
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j)
      if (strcmp(sorted[i], sorted[j]) > 0) {
        const char* swap = sorted[i];
        sorted[i] = sorted[j];
        sorted[j] = swap;
      }
  for (int i = 0; i < n; ++i) at += (size_t)snprintf(got + at, size - at, "%s^%s", at ? " " : "", sorted[i]);
  return !strcmp(TF_OperationOpType(o), op) && !strcmp(got, inputs);
}

static const char* const nodes_of_programs[] = {
    "GradientDescent|0|0|GradientDescent/learning_rate|Const|",
    "GradientDescent|0|0|GradientDescent/update_w/ApplyGradientDescent|ApplyGradientDescent|w GradientDescent/learning_rate g",
    "GradientDescent|0|0|GradientDescent|NoOp|^GradientDescent/update_w/ApplyGradientDescent",
    "GradientDescent|0|1|GradientDescent/learning_rate|Const|",
    "GradientDescent|0|1|GradientDescent/update_w/mul|Mul|g GradientDescent/learning_rate",
    "GradientDescent|0|1|GradientDescent/update_w/ScatterSub|ScatterSub|w i GradientDescent/update_w/mul",
    "GradientDescent|0|1|GradientDescent|NoOp|^GradientDescent/update_w/ScatterSub",
    "GradientDescent|1|1|GradientDescent/learning_rate|Const|",
    "GradientDescent|1|1|GradientDescent/update_w/Neg|Neg|g",
    "GradientDescent|1|1|GradientDescent/update_w/mul|Mul|GradientDescent/update_w/Neg GradientDescent/learning_rate",
    "GradientDescent|1|1|GradientDescent/update_w/ResourceScatterAdd|ResourceScatterAdd|w i GradientDescent/update_w/mul",
    "GradientDescent|1|1|GradientDescent|NoOp|^GradientDescent/update_w/ResourceScatterAdd",
    "Momentum|1|0|w/Momentum/Initializer/zeros|Const|",
    "Momentum|1|0|w/Momentum|VarHandleOp|",
    "Momentum|1|0|w/Momentum/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|w/Momentum",
    "Momentum|1|0|w/Momentum/Assign|AssignVariableOp|w/Momentum w/Momentum/Initializer/zeros",
    "Momentum|1|0|w/Momentum/Read/ReadVariableOp|ReadVariableOp|w/Momentum",
    "Momentum|1|0|Momentum/learning_rate|Const|",
    "Momentum|1|0|Momentum/momentum|Const|",
    "Momentum|1|0|Momentum/update_w/ResourceApplyMomentum|ResourceApplyMomentum|w w/Momentum Momentum/learning_rate g Momentum/momentum",
    "Momentum|1|0|Momentum|NoOp|^Momentum/update_w/ResourceApplyMomentum",
    "Adagrad|0|1|w/Adagrad/Initializer/Const|Const|",
    "Adagrad|0|1|w/Adagrad|VariableV2|",
    "Adagrad|0|1|w/Adagrad/Assign|Assign|w/Adagrad w/Adagrad/Initializer/Const",
    "Adagrad|0|1|w/Adagrad/read|Identity|w/Adagrad",
    "Adagrad|0|1|Adagrad/learning_rate|Const|",
    "Adagrad|0|1|Adagrad/update_w/Unique|Unique|i",
    "Adagrad|0|1|Adagrad/update_w/Shape|Shape|Adagrad/update_w/Unique",
    "Adagrad|0|1|Adagrad/update_w/strided_slice/stack|Const|",
    "Adagrad|0|1|Adagrad/update_w/strided_slice/stack_1|Const|",
    "Adagrad|0|1|Adagrad/update_w/strided_slice/stack_2|Const|",
    "Adagrad|0|1|Adagrad/update_w/strided_slice|StridedSlice|Adagrad/update_w/Shape Adagrad/update_w/strided_slice/stack "
    "Adagrad/update_w/strided_slice/stack_1 Adagrad/update_w/strided_slice/stack_2",
    "Adagrad|0|1|Adagrad/update_w/UnsortedSegmentSum|UnsortedSegmentSum|g Adagrad/update_w/Unique:1 Adagrad/update_w/strided_slice",
    "Adagrad|0|1|Adagrad/update_w/SparseApplyAdagrad|SparseApplyAdagrad|w w/Adagrad Adagrad/learning_rate "
    "Adagrad/update_w/UnsortedSegmentSum Adagrad/update_w/Unique",
    "Adagrad|0|1|Adagrad|NoOp|^Adagrad/update_w/SparseApplyAdagrad",
    "RMSProp+centered|0|0|w/RMSProp/Initializer/ones|Const|",
    "RMSProp+centered|0|0|w/RMSProp|VariableV2|",
    "RMSProp+centered|0|0|w/RMSProp/Assign|Assign|w/RMSProp w/RMSProp/Initializer/ones",
    "RMSProp+centered|0|0|w/RMSProp/read|Identity|w/RMSProp",
    "RMSProp+centered|0|0|w/RMSProp_1/Initializer/zeros|Const|",
    "RMSProp+centered|0|0|w/RMSProp_1|VariableV2|",
    "RMSProp+centered|0|0|w/RMSProp_1/Assign|Assign|w/RMSProp_1 w/RMSProp_1/Initializer/zeros",
    "RMSProp+centered|0|0|w/RMSProp_1/read|Identity|w/RMSProp_1",
    "RMSProp+centered|0|0|w/RMSProp_2/Initializer/zeros|Const|",
    "RMSProp+centered|0|0|w/RMSProp_2|VariableV2|",
    "RMSProp+centered|0|0|w/RMSProp_2/Assign|Assign|w/RMSProp_2 w/RMSProp_2/Initializer/zeros",
    "RMSProp+centered|0|0|w/RMSProp_2/read|Identity|w/RMSProp_2",
    "RMSProp+centered|0|0|RMSProp/learning_rate|Const|",
    "RMSProp+centered|0|0|RMSProp/decay|Const|",
    "RMSProp+centered|0|0|RMSProp/momentum|Const|",
    "RMSProp+centered|0|0|RMSProp/epsilon|Const|",
    "RMSProp+centered|0|0|RMSProp/update_w/ApplyCenteredRMSProp|ApplyCenteredRMSProp|w w/RMSProp_1 w/RMSProp w/RMSProp_2 "
    "RMSProp/learning_rate RMSProp/decay RMSProp/momentum RMSProp/epsilon g",
    "RMSProp+centered|0|0|RMSProp|NoOp|^RMSProp/update_w/ApplyCenteredRMSProp",
    "Adam|0|0|beta1_power/initial_value|Const|",
    "Adam|0|0|beta1_power|VariableV2|",
    "Adam|0|0|beta1_power/Assign|Assign|beta1_power beta1_power/initial_value",
    "Adam|0|0|beta1_power/read|Identity|beta1_power",
    "Adam|0|0|beta2_power/initial_value|Const|",
    "Adam|0|0|beta2_power|VariableV2|",
    "Adam|0|0|beta2_power/Assign|Assign|beta2_power beta2_power/initial_value",
    "Adam|0|0|beta2_power/read|Identity|beta2_power",
    "Adam|0|0|w/Adam/Initializer/zeros|Const|",
    "Adam|0|0|w/Adam|VariableV2|",
    "Adam|0|0|w/Adam/Assign|Assign|w/Adam w/Adam/Initializer/zeros",
    "Adam|0|0|w/Adam/read|Identity|w/Adam",
    "Adam|0|0|w/Adam_1/Initializer/zeros|Const|",
    "Adam|0|0|w/Adam_1|VariableV2|",
    "Adam|0|0|w/Adam_1/Assign|Assign|w/Adam_1 w/Adam_1/Initializer/zeros",
    "Adam|0|0|w/Adam_1/read|Identity|w/Adam_1",
    "Adam|0|0|Adam/learning_rate|Const|",
    "Adam|0|0|Adam/beta1|Const|",
    "Adam|0|0|Adam/beta2|Const|",
    "Adam|0|0|Adam/epsilon|Const|",
    "Adam|0|0|Adam/update_w/ApplyAdam|ApplyAdam|w w/Adam w/Adam_1 beta1_power/read beta2_power/read Adam/learning_rate Adam/beta1 "
    "Adam/beta2 Adam/epsilon g",
    "Adam|0|0|Adam/mul|Mul|beta1_power/read Adam/beta1 ^Adam/update_w/ApplyAdam",
    "Adam|0|0|Adam/Assign|Assign|beta1_power Adam/mul",
    "Adam|0|0|Adam/mul_1|Mul|beta2_power/read Adam/beta2 ^Adam/update_w/ApplyAdam",
    "Adam|0|0|Adam/Assign_1|Assign|beta2_power Adam/mul_1",
    "Adam|0|0|Adam|NoOp|^Adam/Assign ^Adam/Assign_1 ^Adam/update_w/ApplyAdam",
    "Adam|0|1|beta1_power/initial_value|Const|",
    "Adam|0|1|beta1_power|VariableV2|",
    "Adam|0|1|beta1_power/Assign|Assign|beta1_power beta1_power/initial_value",
    "Adam|0|1|beta1_power/read|Identity|beta1_power",
    "Adam|0|1|beta2_power/initial_value|Const|",
    "Adam|0|1|beta2_power|VariableV2|",
    "Adam|0|1|beta2_power/Assign|Assign|beta2_power beta2_power/initial_value",
    "Adam|0|1|beta2_power/read|Identity|beta2_power",
    "Adam|0|1|w/Adam/Initializer/zeros|Const|",
    "Adam|0|1|w/Adam|VariableV2|",
    "Adam|0|1|w/Adam/Assign|Assign|w/Adam w/Adam/Initializer/zeros",
    "Adam|0|1|w/Adam/read|Identity|w/Adam",
    "Adam|0|1|w/Adam_1/Initializer/zeros|Const|",
    "Adam|0|1|w/Adam_1|VariableV2|",
    "Adam|0|1|w/Adam_1/Assign|Assign|w/Adam_1 w/Adam_1/Initializer/zeros",
    "Adam|0|1|w/Adam_1/read|Identity|w/Adam_1",
    "Adam|0|1|Adam/learning_rate|Const|",
    "Adam|0|1|Adam/beta1|Const|",
    "Adam|0|1|Adam/beta2|Const|",
    "Adam|0|1|Adam/epsilon|Const|",
    "Adam|0|1|Adam/update_w/Unique|Unique|i",
    "Adam|0|1|Adam/update_w/Shape|Shape|Adam/update_w/Unique",
    "Adam|0|1|Adam/update_w/strided_slice/stack|Const|",
    "Adam|0|1|Adam/update_w/strided_slice/stack_1|Const|",
    "Adam|0|1|Adam/update_w/strided_slice/stack_2|Const|",
    "Adam|0|1|Adam/update_w/strided_slice|StridedSlice|Adam/update_w/Shape Adam/update_w/strided_slice/stack "
    "Adam/update_w/strided_slice/stack_1 Adam/update_w/strided_slice/stack_2",
    "Adam|0|1|Adam/update_w/UnsortedSegmentSum|UnsortedSegmentSum|g Adam/update_w/Unique:1 Adam/update_w/strided_slice",
    "Adam|0|1|Adam/update_w/sub/x|Const|",
    "Adam|0|1|Adam/update_w/sub|Sub|Adam/update_w/sub/x beta2_power/read",
    "Adam|0|1|Adam/update_w/Sqrt|Sqrt|Adam/update_w/sub",
    "Adam|0|1|Adam/update_w/mul|Mul|Adam/learning_rate Adam/update_w/Sqrt",
    "Adam|0|1|Adam/update_w/sub_1/x|Const|",
    "Adam|0|1|Adam/update_w/sub_1|Sub|Adam/update_w/sub_1/x beta1_power/read",
    "Adam|0|1|Adam/update_w/truediv|RealDiv|Adam/update_w/mul Adam/update_w/sub_1",
    "Adam|0|1|Adam/update_w/sub_2/x|Const|",
    "Adam|0|1|Adam/update_w/sub_2|Sub|Adam/update_w/sub_2/x Adam/beta1",
    "Adam|0|1|Adam/update_w/mul_1|Mul|Adam/update_w/UnsortedSegmentSum Adam/update_w/sub_2",
    "Adam|0|1|Adam/update_w/mul_2|Mul|w/Adam/read Adam/beta1",
    "Adam|0|1|Adam/update_w/Assign|Assign|w/Adam Adam/update_w/mul_2",
    "Adam|0|1|Adam/update_w/ScatterAdd|ScatterAdd|w/Adam Adam/update_w/Unique Adam/update_w/mul_1 ^Adam/update_w/Assign",
    "Adam|0|1|Adam/update_w/mul_3|Mul|Adam/update_w/UnsortedSegmentSum Adam/update_w/UnsortedSegmentSum",
    "Adam|0|1|Adam/update_w/sub_3/x|Const|",
    "Adam|0|1|Adam/update_w/sub_3|Sub|Adam/update_w/sub_3/x Adam/beta2",
    "Adam|0|1|Adam/update_w/mul_4|Mul|Adam/update_w/mul_3 Adam/update_w/sub_3",
    "Adam|0|1|Adam/update_w/mul_5|Mul|w/Adam_1/read Adam/beta2",
    "Adam|0|1|Adam/update_w/Assign_1|Assign|w/Adam_1 Adam/update_w/mul_5",
    "Adam|0|1|Adam/update_w/ScatterAdd_1|ScatterAdd|w/Adam_1 Adam/update_w/Unique Adam/update_w/mul_4 ^Adam/update_w/Assign_1",
    "Adam|0|1|Adam/update_w/Sqrt_1|Sqrt|Adam/update_w/ScatterAdd_1",
    "Adam|0|1|Adam/update_w/mul_6|Mul|Adam/update_w/truediv Adam/update_w/ScatterAdd",
    "Adam|0|1|Adam/update_w/add|AddV2|Adam/update_w/Sqrt_1 Adam/epsilon",
    "Adam|0|1|Adam/update_w/truediv_1|RealDiv|Adam/update_w/mul_6 Adam/update_w/add",
    "Adam|0|1|Adam/update_w/AssignSub|AssignSub|w Adam/update_w/truediv_1",
    "Adam|0|1|Adam/update_w/group_deps|NoOp|^Adam/update_w/AssignSub ^Adam/update_w/ScatterAdd ^Adam/update_w/ScatterAdd_1",
    "Adam|0|1|Adam/mul|Mul|beta1_power/read Adam/beta1 ^Adam/update_w/group_deps",
    "Adam|0|1|Adam/Assign|Assign|beta1_power Adam/mul",
    "Adam|0|1|Adam/mul_1|Mul|beta2_power/read Adam/beta2 ^Adam/update_w/group_deps",
    "Adam|0|1|Adam/Assign_1|Assign|beta2_power Adam/mul_1",
    "Adam|0|1|Adam|NoOp|^Adam/Assign ^Adam/Assign_1 ^Adam/update_w/group_deps",
    "Adam|1|0|beta1_power/Initializer/initial_value|Const|",
    "Adam|1|0|beta1_power|VarHandleOp|",
    "Adam|1|0|beta1_power/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|beta1_power",
    "Adam|1|0|beta1_power/Assign|AssignVariableOp|beta1_power beta1_power/Initializer/initial_value",
    "Adam|1|0|beta1_power/Read/ReadVariableOp|ReadVariableOp|beta1_power",
    "Adam|1|0|beta2_power/Initializer/initial_value|Const|",
    "Adam|1|0|beta2_power|VarHandleOp|",
    "Adam|1|0|beta2_power/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|beta2_power",
    "Adam|1|0|beta2_power/Assign|AssignVariableOp|beta2_power beta2_power/Initializer/initial_value",
    "Adam|1|0|beta2_power/Read/ReadVariableOp|ReadVariableOp|beta2_power",
    "Adam|1|0|w/Adam/Initializer/zeros|Const|",
    "Adam|1|0|w/Adam|VarHandleOp|",
    "Adam|1|0|w/Adam/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|w/Adam",
    "Adam|1|0|w/Adam/Assign|AssignVariableOp|w/Adam w/Adam/Initializer/zeros",
    "Adam|1|0|w/Adam/Read/ReadVariableOp|ReadVariableOp|w/Adam",
    "Adam|1|0|w/Adam_1/Initializer/zeros|Const|",
    "Adam|1|0|w/Adam_1|VarHandleOp|",
    "Adam|1|0|w/Adam_1/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|w/Adam_1",
    "Adam|1|0|w/Adam_1/Assign|AssignVariableOp|w/Adam_1 w/Adam_1/Initializer/zeros",
    "Adam|1|0|w/Adam_1/Read/ReadVariableOp|ReadVariableOp|w/Adam_1",
    "Adam|1|0|Adam/learning_rate|Const|",
    "Adam|1|0|Adam/beta1|Const|",
    "Adam|1|0|Adam/beta2|Const|",
    "Adam|1|0|Adam/epsilon|Const|",
    "Adam|1|0|Adam/update_w/ResourceApplyAdam/ReadVariableOp|ReadVariableOp|beta1_power",
    "Adam|1|0|Adam/update_w/ResourceApplyAdam/ReadVariableOp_1|ReadVariableOp|beta2_power",
    "Adam|1|0|Adam/update_w/ResourceApplyAdam|ResourceApplyAdam|w w/Adam w/Adam_1 Adam/update_w/ResourceApplyAdam/ReadVariableOp "
    "Adam/update_w/ResourceApplyAdam/ReadVariableOp_1 Adam/learning_rate Adam/beta1 Adam/beta2 Adam/epsilon g",
    "Adam|1|0|Adam/ReadVariableOp|ReadVariableOp|beta1_power ^Adam/update_w/ResourceApplyAdam",
    "Adam|1|0|Adam/mul|Mul|Adam/ReadVariableOp Adam/beta1",
    "Adam|1|0|Adam/AssignVariableOp|AssignVariableOp|beta1_power Adam/mul",
    "Adam|1|0|Adam/ReadVariableOp_1|ReadVariableOp|beta1_power ^Adam/AssignVariableOp ^Adam/update_w/ResourceApplyAdam",
    "Adam|1|0|Adam/ReadVariableOp_2|ReadVariableOp|beta2_power ^Adam/update_w/ResourceApplyAdam",
    "Adam|1|0|Adam/mul_1|Mul|Adam/ReadVariableOp_2 Adam/beta2",
    "Adam|1|0|Adam/AssignVariableOp_1|AssignVariableOp|beta2_power Adam/mul_1",
    "Adam|1|0|Adam/ReadVariableOp_3|ReadVariableOp|beta2_power ^Adam/AssignVariableOp_1 ^Adam/update_w/ResourceApplyAdam",
    "Adam|1|0|Adam|NoOp|^Adam/AssignVariableOp ^Adam/AssignVariableOp_1 ^Adam/update_w/ResourceApplyAdam",
    "Adam|1|1|beta1_power/Initializer/initial_value|Const|",
    "Adam|1|1|beta1_power|VarHandleOp|",
    "Adam|1|1|beta1_power/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|beta1_power",
    "Adam|1|1|beta1_power/Assign|AssignVariableOp|beta1_power beta1_power/Initializer/initial_value",
    "Adam|1|1|beta1_power/Read/ReadVariableOp|ReadVariableOp|beta1_power",
    "Adam|1|1|beta2_power/Initializer/initial_value|Const|",
    "Adam|1|1|beta2_power|VarHandleOp|",
    "Adam|1|1|beta2_power/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|beta2_power",
    "Adam|1|1|beta2_power/Assign|AssignVariableOp|beta2_power beta2_power/Initializer/initial_value",
    "Adam|1|1|beta2_power/Read/ReadVariableOp|ReadVariableOp|beta2_power",
    "Adam|1|1|w/Adam/Initializer/zeros|Const|",
    "Adam|1|1|w/Adam|VarHandleOp|",
    "Adam|1|1|w/Adam/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|w/Adam",
    "Adam|1|1|w/Adam/Assign|AssignVariableOp|w/Adam w/Adam/Initializer/zeros",
    "Adam|1|1|w/Adam/Read/ReadVariableOp|ReadVariableOp|w/Adam",
    "Adam|1|1|w/Adam_1/Initializer/zeros|Const|",
    "Adam|1|1|w/Adam_1|VarHandleOp|",
    "Adam|1|1|w/Adam_1/IsInitialized/VarIsInitializedOp|VarIsInitializedOp|w/Adam_1",
    "Adam|1|1|w/Adam_1/Assign|AssignVariableOp|w/Adam_1 w/Adam_1/Initializer/zeros",
    "Adam|1|1|w/Adam_1/Read/ReadVariableOp|ReadVariableOp|w/Adam_1",
    "Adam|1|1|Adam/learning_rate|Const|",
    "Adam|1|1|Adam/beta1|Const|",
    "Adam|1|1|Adam/beta2|Const|",
    "Adam|1|1|Adam/epsilon|Const|",
    "Adam|1|1|Adam/update_w/Unique|Unique|i",
    "Adam|1|1|Adam/update_w/Shape|Shape|Adam/update_w/Unique",
    "Adam|1|1|Adam/update_w/strided_slice/stack|Const|",
    "Adam|1|1|Adam/update_w/strided_slice/stack_1|Const|",
    "Adam|1|1|Adam/update_w/strided_slice/stack_2|Const|",
    "Adam|1|1|Adam/update_w/strided_slice|StridedSlice|Adam/update_w/Shape Adam/update_w/strided_slice/stack "
    "Adam/update_w/strided_slice/stack_1 Adam/update_w/strided_slice/stack_2",
    "Adam|1|1|Adam/update_w/UnsortedSegmentSum|UnsortedSegmentSum|g Adam/update_w/Unique:1 Adam/update_w/strided_slice",
    "Adam|1|1|Adam/update_w/ReadVariableOp|ReadVariableOp|beta2_power",
    "Adam|1|1|Adam/update_w/sub/x|Const|",
    "Adam|1|1|Adam/update_w/sub|Sub|Adam/update_w/sub/x Adam/update_w/ReadVariableOp",
    "Adam|1|1|Adam/update_w/Sqrt|Sqrt|Adam/update_w/sub",
    "Adam|1|1|Adam/update_w/mul|Mul|Adam/learning_rate Adam/update_w/Sqrt",
    "Adam|1|1|Adam/update_w/ReadVariableOp_1|ReadVariableOp|beta1_power",
    "Adam|1|1|Adam/update_w/sub_1/x|Const|",
    "Adam|1|1|Adam/update_w/sub_1|Sub|Adam/update_w/sub_1/x Adam/update_w/ReadVariableOp_1",
    "Adam|1|1|Adam/update_w/truediv|RealDiv|Adam/update_w/mul Adam/update_w/sub_1",
    "Adam|1|1|Adam/update_w/sub_2/x|Const|",
    "Adam|1|1|Adam/update_w/sub_2|Sub|Adam/update_w/sub_2/x Adam/beta1",
    "Adam|1|1|Adam/update_w/mul_1|Mul|Adam/update_w/UnsortedSegmentSum Adam/update_w/sub_2",
    "Adam|1|1|Adam/update_w/ReadVariableOp_2|ReadVariableOp|w/Adam",
    "Adam|1|1|Adam/update_w/mul_2|Mul|Adam/update_w/ReadVariableOp_2 Adam/beta1",
    "Adam|1|1|Adam/update_w/AssignVariableOp|AssignVariableOp|w/Adam Adam/update_w/mul_2",
    "Adam|1|1|Adam/update_w/ReadVariableOp_3|ReadVariableOp|w/Adam ^Adam/update_w/AssignVariableOp",
    "Adam|1|1|Adam/update_w/ResourceScatterAdd|ResourceScatterAdd|w/Adam Adam/update_w/Unique Adam/update_w/mul_1 "
    "^Adam/update_w/AssignVariableOp",
    "Adam|1|1|Adam/update_w/ReadVariableOp_4|ReadVariableOp|w/Adam ^Adam/update_w/AssignVariableOp ^Adam/update_w/ResourceScatterAdd",
    "Adam|1|1|Adam/update_w/mul_3|Mul|Adam/update_w/UnsortedSegmentSum Adam/update_w/UnsortedSegmentSum",
    "Adam|1|1|Adam/update_w/sub_3/x|Const|",
    "Adam|1|1|Adam/update_w/sub_3|Sub|Adam/update_w/sub_3/x Adam/beta2",
    "Adam|1|1|Adam/update_w/mul_4|Mul|Adam/update_w/mul_3 Adam/update_w/sub_3",
    "Adam|1|1|Adam/update_w/ReadVariableOp_5|ReadVariableOp|w/Adam_1",
    "Adam|1|1|Adam/update_w/mul_5|Mul|Adam/update_w/ReadVariableOp_5 Adam/beta2",
    "Adam|1|1|Adam/update_w/AssignVariableOp_1|AssignVariableOp|w/Adam_1 Adam/update_w/mul_5",
    "Adam|1|1|Adam/update_w/ReadVariableOp_6|ReadVariableOp|w/Adam_1 ^Adam/update_w/AssignVariableOp_1",
    "Adam|1|1|Adam/update_w/ResourceScatterAdd_1|ResourceScatterAdd|w/Adam_1 Adam/update_w/Unique Adam/update_w/mul_4 "
    "^Adam/update_w/AssignVariableOp_1",
    "Adam|1|1|Adam/update_w/ReadVariableOp_7|ReadVariableOp|w/Adam_1 ^Adam/update_w/AssignVariableOp_1 ^Adam/update_w/ResourceScatterAdd_1",
    "Adam|1|1|Adam/update_w/Sqrt_1|Sqrt|Adam/update_w/ReadVariableOp_7",
    "Adam|1|1|Adam/update_w/mul_6|Mul|Adam/update_w/truediv Adam/update_w/ReadVariableOp_4",
    "Adam|1|1|Adam/update_w/add|AddV2|Adam/update_w/Sqrt_1 Adam/epsilon",
    "Adam|1|1|Adam/update_w/truediv_1|RealDiv|Adam/update_w/mul_6 Adam/update_w/add",
    "Adam|1|1|Adam/update_w/AssignSubVariableOp|AssignSubVariableOp|w Adam/update_w/truediv_1",
    "Adam|1|1|Adam/update_w/ReadVariableOp_8|ReadVariableOp|w ^Adam/update_w/AssignSubVariableOp",
    "Adam|1|1|Adam/update_w/group_deps|NoOp|^Adam/update_w/AssignSubVariableOp ^Adam/update_w/ReadVariableOp_4 "
    "^Adam/update_w/ReadVariableOp_7",
    "Adam|1|1|Adam/ReadVariableOp|ReadVariableOp|beta1_power ^Adam/update_w/group_deps",
    "Adam|1|1|Adam/mul|Mul|Adam/ReadVariableOp Adam/beta1",
    "Adam|1|1|Adam/AssignVariableOp|AssignVariableOp|beta1_power Adam/mul",
    "Adam|1|1|Adam/ReadVariableOp_1|ReadVariableOp|beta1_power ^Adam/AssignVariableOp ^Adam/update_w/group_deps",
    "Adam|1|1|Adam/ReadVariableOp_2|ReadVariableOp|beta2_power ^Adam/update_w/group_deps",
    "Adam|1|1|Adam/mul_1|Mul|Adam/ReadVariableOp_2 Adam/beta2",
    "Adam|1|1|Adam/AssignVariableOp_1|AssignVariableOp|beta2_power Adam/mul_1",
    "Adam|1|1|Adam/ReadVariableOp_3|ReadVariableOp|beta2_power ^Adam/AssignVariableOp_1 ^Adam/update_w/group_deps",
    "Adam|1|1|Adam|NoOp|^Adam/AssignVariableOp ^Adam/AssignVariableOp_1 ^Adam/update_w/group_deps",
};

TEST(optimizers_make_tensorflows_nodes) {
  static const float start[] = {1, 2, 3, 4, 5, 6};
  char last[96] = "";
  world_t w = {0};
  HR_Optimizer* o = NULL;
  for (size_t k = 0; k < sizeof nodes_of_programs / sizeof *nodes_of_programs; ++k) {
    char line[400], got[1024], program[96];
    char *field[6], *rest = line;
    snprintf(line, sizeof line, "%s", nodes_of_programs[k]);
    for (int i = 0; i < 6; ++i) {
      field[i] = rest;
      if ((rest = strchr(rest, '|'))) *rest++ = 0;
      else rest = line + strlen(nodes_of_programs[k]);
    }
    snprintf(program, sizeof program, "%.50s %.2s %.2s", field[0], field[1], field[2]);
    if (strcmp(program, last)) {
      if (o) HR_DeleteOptimizer(o), end(&w);
      o = NULL;
      if (!begin(&w)) return;
      snprintf(last, sizeof last, "%s", program);
      HR_Variable v = variable_of(&w, "w", (int64_t[]){3, 2}, 2, start, field[1][0] == '1');
      TF_Output g, i;
      HR_Gradient gradient = fed_gradient(&w, field[2][0] == '1', &g, &i);
      o = optimizer_of(&w, field[0]);
      HR_OptimizerApply(o, &gradient, &v, 1, NULL, NULL, w.s);
      CHECK_TF_OK(w.s);
    }
    if (!node_is(&w, field[3], field[4], field[5], got, sizeof got))
      test_fail(__FILE__, __LINE__, "%s: %s(%s) is not as in TensorFlow; got %s", program, field[3], field[5], got);
  }
  if (o) HR_DeleteOptimizer(o), end(&w);
}

TEST(optimizer_errors) {
  world_t w;
  if (!begin(&w)) return;
  CHECK(!HR_NewOptimizer(w.graph, "Newton", NULL, w.s));
  CHECK_HAS(TF_Message(w.s), "Newton");
  CHECK_HAS(TF_Message(w.s), "Adam");
  HR_Variable v = variable_of(&w, "w", NULL, 0, (float[]){1}, false);
  HR_Optimizer* o = HR_NewOptimizer(w.graph, "Momentum", NULL, w.s);
  HR_OptimizerSetFloat(o, "beta1", 1, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  HR_OptimizerSetFloat(o, "learning_rate", 1, w.s);
  HR_Gradient gradient = {.dense = v.read, .indices = {NULL, -1}, .values = {NULL, -1}};
  CHECK(!HR_OptimizerApply(o, &gradient, &v, 1, NULL, NULL, w.s));
  CHECK_HAS(TF_Message(w.s), "momentum");
  HR_OptimizerSetTensor(o, "momentum", HR_ConstFloat(w.graph, "m", 0.5f, w.s), w.s);
  CHECK_TF_OK(w.s);
  gradient.dense.oper = NULL;
  CHECK(!HR_OptimizerApply(o, &gradient, &v, 1, NULL, NULL, w.s));
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  CHECK_INT(HR_OptimizerSlotCount(o), 0);
  gradient.dense = v.read;
  CHECK(HR_OptimizerApply(o, &gradient, &v, 1, NULL, NULL, w.s) != NULL);
  CHECK_TF_OK(w.s);
  const char* name = NULL;
  TF_Output of = {NULL, -1};
  if (CHECK_INT(HR_OptimizerSlotCount(o), 1)) {
    const HR_Variable* slot = HR_OptimizerSlot(o, 0, &name, &of);
    CHECK_STR(name, "momentum");
    CHECK(of.oper == v.handle.oper);
    CHECK_STR(TF_OperationName(slot->handle.oper), "w/Momentum");
  }
  CHECK(HR_OptimizerApply(o, &gradient, &v, 1, NULL, NULL, w.s) != NULL); /* again: the slots are there */
  CHECK_INT(HR_OptimizerSlotCount(o), 1);
  HR_DeleteOptimizer(o);
  HR_DeleteOptimizer(NULL);
  CHECK(!HR_OptimizerApply(NULL, &gradient, &v, 1, NULL, NULL, w.s));
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  end(&w);
}

TEST(minimize_counts_steps_and_finds_the_minimum) {
  for (int is_resource = 0; is_resource < 2; ++is_resource) {
    world_t w;
    if (!begin(&w)) return;
    HR_Variable v = variable_of(&w, "v", (int64_t[]){2}, 1, (float[]){8, -8}, is_resource);
    HR_Variable step;
    TF_Tensor* zero = TF_AllocateTensor(TF_INT64, NULL, 0, 8);
    *(int64_t*)TF_TensorData(zero) = 0;
    HR_NewVariable(w.graph, "global_step", HR_Const(w.graph, "zero", zero, w.s), is_resource, &step, w.s);
    TF_DeleteTensor(zero);
    TF_Output target = HR_ConstFloat(w.graph, "target", 3, w.s);
    TF_Output distance = HR_Op(w.graph, "Sub", NULL, (TF_Output[]){v.read, target}, 2, w.s);
    TF_Output squared = HR_Op(w.graph, "Square", NULL, &distance, 1, w.s);
    const int32_t axis = 0;
    TF_Output loss = HR_Op(w.graph, "Sum", "loss", (TF_Output[]){squared, HR_ConstInt32s(w.graph, "axes", &axis, 1, w.s)}, 2, w.s);
    HR_Optimizer* o = HR_NewOptimizer(w.graph, "GradientDescent", NULL, w.s);
    HR_OptimizerSetFloat(o, "learning_rate", 0.2, w.s);
    TF_Operation* train = HR_OptimizerMinimize(o, loss, &v, 1, &step, w.s);
    if (!CHECK_TF_OK(w.s)) return;
    CHECK_STR(TF_OperationName(train), "GradientDescent");
    CHECK(TF_GraphOperationByName(w.graph, "GradientDescent/update") != NULL);
    const HR_Variable all[] = {v, step};
    run_op(&w, HR_InitializeAll(w.graph, NULL, all, 2, w.s));
    for (int i = 0; i < 40; ++i) run_op(&w, train);
    CHECK_TF_OK(w.s);
    check_floats(&w, v.read, (float[]){3, 3}, 2, 1e-4, "minimum");
    TF_Tensor* t = NULL;
    TF_SessionRun(w.session, NULL, NULL, NULL, 0, &step.read, &t, 1, NULL, 0, NULL, w.s);
    if (CHECK_TF_OK(w.s)) CHECK_INT(*(int64_t*)TF_TensorData(t), 40);
    TF_DeleteTensor(t);
    HR_DeleteOptimizer(o);
    end(&w);
  }
}

/* ---- savers */

static void save_and_restore(bool sharded) {
  world_t w;
  char folder[] = "client_test_XXXXXX", prefix[64];
  if (!begin(&w)) return;
  REQUIRE(mkdtemp(folder) != NULL);
  const float values[] = {1, -2, 3};
  HR_Variable v[] = {variable_of(&w, "v", (int64_t[]){3}, 1, values, false), variable_of(&w, "a", (int64_t[]){3}, 1, values, true)};
  HR_SaverNodes saver;
  HR_BuildSaver(w.graph, NULL, v, NULL, 2, sharded, &saver, w.s);
  if (!CHECK_TF_OK(w.s)) return;
  CHECK_STR(TF_OperationName(saver.filename.oper), "save/Const");
  CHECK_STR(TF_OperationName(saver.restore), "save/restore_all");
  CHECK_STR(TF_OperationName(saver.save.oper), sharded ? "save/Identity" : "save/control_dependency");
  snprintf(prefix, sizeof prefix, "%s/model-7", folder);
  HR_SaverSave(w.session, &saver, prefix, w.s);
  CHECK_TF_CODE(w.s, TF_FAILED_PRECONDITION); /* no values yet */
  run_op(&w, HR_InitializeAll(w.graph, NULL, v, 2, w.s));
  HR_SaverSave(w.session, &saver, prefix, w.s);
  CHECK_TF_OK(w.s);
  TF_Output minus = HR_Op(w.graph, "Neg", NULL, &v[0].initial_value, 1, w.s);
  run_op(&w, HR_Op(w.graph, "Assign", NULL, (TF_Output[]){v[0].handle, minus}, 2, w.s).oper);
  CHECK_TF_OK(w.s);
  check_floats(&w, v[0].read, (float[]){-1, 2, -3}, 3, 0, "changed");
  HR_SaverRestore(w.session, &saver, prefix, w.s);
  CHECK_TF_OK(w.s);
  check_floats(&w, v[0].read, values, 3, 0, "restored");
  check_floats(&w, v[1].read, values, 3, 0, "restored");
  HR_SaverRestore(w.session, &saver, "no_such_folder/model", w.s);
  CHECK_TF_CODE(w.s, TF_NOT_FOUND);
  const char* const same[] = {"x", "x"};
  HR_SaverNodes second;
  HR_BuildSaver(w.graph, NULL, v, same, 2, 0, &second, w.s);
  CHECK_TF_CODE(w.s, TF_INVALID_ARGUMENT);
  HR_BuildSaver(w.graph, NULL, v, NULL, 2, 0, &second, w.s);
  CHECK_TF_OK(w.s);
  CHECK_STR(TF_OperationName(second.filename.oper), "save_1/Const");
  for (int i = 0; i < 2; ++i) {
    char path[128];
    snprintf(path, sizeof path, i ? "%s.index" : "%s.data-00000-of-00001", prefix);
    CHECK_INT(unlink(path), 0);
  }
  rmdir(folder);
  end(&w);
}
TEST(saver) { save_and_restore(false); }
TEST(sharded_saver) { save_and_restore(true); }

TEST(state_file) {
  TF_Status* s = TF_NewStatus();
  char folder[] = "client_test_XXXXXX", old[64], latest[64], path[64], text[256] = "";
  REQUIRE(mkdtemp(folder) != NULL);
  snprintf(old, sizeof old, "%s/model-1", folder);
  snprintf(latest, sizeof latest, "%s/model-\"2\"", folder);
  snprintf(path, sizeof path, "%s/checkpoint", folder);
  CHECK(!HR_LatestCheckpoint(folder, s));
  CHECK_TF_CODE(s, TF_NOT_FOUND);
  const char* const all[] = {old, latest};
  HR_UpdateCheckpointState(folder, latest, all, 2, s);
  CHECK_TF_OK(s);
  FILE* f = fopen(path, "r");
  REQUIRE(f != NULL);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  CHECK_STR(text,
            "model_checkpoint_path: \"model-\\\"2\\\"\"\nall_model_checkpoint_paths: \"model-1\"\nall_model_checkpoint_paths: "
            "\"model-\\\"2\\\"\"\n");
  TF_Buffer* b = HR_LatestCheckpoint(folder, s);
  if (CHECK_TF_OK(s)) CHECK(b->length == strlen(latest) && !memcmp(b->data, latest, b->length));
  TF_DeleteBuffer(b);
  HR_UpdateCheckpointState("no_such_folder", latest, NULL, 0, s);
  CHECK(TF_GetCode(s) != TF_OK);
  unlink(path);
  rmdir(folder);
  TF_DeleteStatus(s);
}

TEST_MAIN()
