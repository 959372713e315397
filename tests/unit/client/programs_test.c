/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that the client layer makes, all of them, as text (tests/golden/client_nodes.txt): variables, initial values, optimizers of
 * every rule, savers; and what it refuses, word for word. Who changes them on purpose records anew, with HEADRACE_RECORD_CLIENT=FILE in the
 * environment, and reads what changed. What of it TensorFlow's clients make is compared in tests/capi/client_test.c. */
#define HR_TEST_LEAKS_CHECKED
#include <sys/stat.h>
#include <unistd.h>
#include "client/build.h"
#include "client/optimizer.h"
#include "tensorflow/c/c_api.h"
#include "unit/graph/listing.h"

typedef struct {
  TF_Graph* graph;
  TF_Status* s;
  hr_strbuf_t* out;
  int64_t shown; /* nodes */
} world_t;

static world_t begin(hr_strbuf_t* out, const char* title) {
  world_t w = {TF_NewGraph(), TF_NewStatus(), out, 0};
  hr_strbuf_format(out, "# %s\n", title);
  return w;
}
static void tell(world_t* w) { /* the last call's outcome, and the nodes that are new */
  if (TF_GetCode(w->s) != TF_OK) hr_strbuf_format(w->out, "> %d: %s\n", (int)TF_GetCode(w->s), TF_Message(w->s));
  hr_graph_t* g = hr_capi_graph(w->graph);
  listing_nodes(w->out, g, w->shown);
  w->shown = g->nodes.count;
}
static void end(world_t* w) {
  tell(w);
  hr_strbuf_format(w->out, "\n");
  TF_DeleteGraph(w->graph);
  TF_DeleteStatus(w->s);
}

static const int64_t m32[] = {3, 2};
static const TF_Output nowhere = {NULL, -1};

static TF_Output zeros(world_t* w, TF_DataType type, int rank) {
  TF_Tensor* t = TF_AllocateTensor(type, m32, rank, (rank == 2 ? 6 : rank == 1 ? 3 : 1) * TF_DataTypeSize(type));
  memset(TF_TensorData(t), 0, TF_TensorByteSize(t));
  TF_Output c = HR_Const(w->graph, "zeros", t, w->s);
  TF_DeleteTensor(t);
  return c;
}
static HR_Variable variable(world_t* w, const char* name, TF_DataType type, int rank, bool is_resource) {
  HR_Variable v = {0};
  HR_NewVariable(w->graph, name, zeros(w, type, rank), is_resource, &v, w->s);
  return v;
}

/* --- variables and values ------------------------------------------------------------------------------------------------------------- */
static void put_output(world_t* w, const char* what, TF_Output v) {
  hr_strbuf_format(w->out, "> %s", what);
  listing_value(w->out, hr_capi_value(v));
  if (!v.oper) hr_strbuf_format(w->out, " %d", v.index);
  hr_strbuf_format(w->out, "\n");
}

static void make_variables(hr_strbuf_t* out, bool is_resource) {
  world_t w = begin(out, is_resource ? "variables by handle" : "variables by reference");
  HR_Variable v[3] = {variable(&w, "w", TF_FLOAT, 2, is_resource), variable(&w, NULL, TF_DOUBLE, 0, is_resource),
                      variable(&w, "w", TF_INT64, 1, is_resource)};
  HR_Variable again = variable(&w, "", TF_FLOAT, 1, is_resource);
  tell(&w);
  for (int i = 0; i < 2; ++i) put_output(&w, "initialized", HR_VariableIsInitialized(w.graph, &v[1], w.s));
  put_output(&w, "read", v[0].read);
  put_output(&w, "handle", v[0].handle);
  put_output(&w, "initial value", v[0].initial_value);
  put_output(&w, "initializer", (TF_Output){v[0].initializer, 0});
  put_output(&w, "initialized", v[0].is_initialized);
  hr_strbuf_format(out, "> %d %d %d\n", (int)v[1].dtype, (int)v[1].is_resource, (int)again.dtype);
  HR_InitializeAll(w.graph, NULL, v, 3, w.s);
  HR_InitializeAll(w.graph, "", v, 1, w.s);
  HR_InitializeAll(w.graph, "start", v, 0, w.s);
  end(&w);
}

static void make_values(hr_strbuf_t* out) {
  static const int64_t empty[] = {0, 3}, large[] = {7, 143}, larger[] = {1001}, part[] = {-1, 2};
  static const int32_t numbers[] = {5, -6, 7};
  world_t w = begin(out, "values");
  TF_Output x = HR_Placeholder(w.graph, "x", TF_FLOAT, part, 2, w.s), y = HR_Placeholder(w.graph, NULL, TF_INT32, NULL, -1, w.s);
  HR_Placeholder(w.graph, "scalar", TF_BOOL, NULL, 0, w.s);
  HR_Op(w.graph, "Mul", "product", (TF_Output[]){x, x}, 2, w.s);
  HR_Op(w.graph, "Neg", NULL, &y, 1, w.s);
  HR_Op(w.graph, "Neg", "", &y, 1, w.s);
  HR_Op(w.graph, "NoOp", "nothing", NULL, 0, w.s);
  HR_ConstFloat(w.graph, NULL, 1.5f, w.s);
  HR_ConstFloat(w.graph, "half", 0.5f, w.s);
  HR_ConstInt32s(w.graph, NULL, numbers, 3, w.s);
  HR_ConstInt32s(w.graph, "none", NULL, 0, w.s);
  for (int named = 0; named < 2; ++named) {
    HR_TruncatedNormal(w.graph, named ? "a" : NULL, m32, 2, 0.25f, 0.5f, 1, 2, w.s);
    HR_RandomNormal(w.graph, named ? "b" : NULL, m32, 1, 1.25f, 1.5f, 3, 4, w.s);
    HR_RandomUniform(w.graph, named ? "c" : NULL, m32, 0, -1, 2, 5, 6, w.s);
    HR_Filled(w.graph, named ? "d" : NULL, m32, 2, 3, w.s);
  }
  HR_Filled(w.graph, "empty", empty, 2, 3, w.s);
  HR_Filled(w.graph, "large", large, 2, 3, w.s);
  HR_Filled(w.graph, "larger", larger, 1, 3, w.s);
  end(&w);
}

/* --- optimizers ----------------------------------------------------------------------------------------------------------------------- */
static HR_Gradient gradient(world_t* w, TF_DataType type, int rank, bool rows) {
  const TF_Output g = HR_Placeholder(w->graph, "g", type, m32, rank, w->s);
  if (!rows) return (HR_Gradient){g, nowhere, nowhere, nowhere, 0};
  return (HR_Gradient){nowhere, HR_Placeholder(w->graph, "i", TF_INT32, m32, 1, w->s), g, nowhere, 1};
}

static HR_Optimizer* optimizer(world_t* w, const char* rule, const char* option, const char* name) {
  static const char* const required[][2] = {{"GradientDescent", ""}, {"Momentum", "momentum"}, {"Adagrad", ""}, {"RMSProp", ""},
                                            {"ProximalGradientDescent", ""}, {"ProximalAdagrad", ""}, {"Ftrl", ""}};
  HR_Optimizer* o = HR_NewOptimizer(w->graph, rule, name, w->s);
  if (!o) return NULL;
  for (size_t i = 0; i < sizeof required / sizeof *required; ++i) {
    if (strcmp(required[i][0], rule)) continue;
    HR_OptimizerSetFloat(o, "learning_rate", 0.5, w->s);
    if (*required[i][1]) HR_OptimizerSetFloat(o, required[i][1], 0.25, w->s);
  }
  if (*option) HR_OptimizerSetFloat(o, option, 1, w->s);
  return o;
}

static void put_slots(world_t* w, const HR_Optimizer* o) {
  const char* name = "?";
  TF_Output of;
  hr_strbuf_format(w->out, "> slots %d", HR_OptimizerSlotCount(o));
  for (int i = -1; i <= HR_OptimizerSlotCount(o); ++i) {
    const HR_Variable* v = HR_OptimizerSlot(o, i, i ? &name : NULL, i == 1 ? NULL : &of);
    if (v) hr_strbuf_format(w->out, ", %s %s", i ? name : "", TF_OperationName(v->handle.oper));
    if (v && i != 1) hr_strbuf_format(w->out, " of %s", of.oper ? TF_OperationName(of.oper) : "none");
    if (v && i != 1 && !of.oper) HR_CHECK_EQ_I64(of.index, -1);
  }
  hr_strbuf_format(w->out, "\n");
}

/* Three variables, of which the second has no gradient; applied twice: the slots are there then. */
static void apply_rule(hr_strbuf_t* out, const char* rule, const char* option, bool is_resource, bool rows, TF_DataType type) {
  char title[100];
  snprintf(title, sizeof title, "%s %s%s%s%s", rule, option, is_resource ? " by handle" : "", rows ? " of rows" : "",
           type == TF_DOUBLE ? " in double" : "");
  world_t w = begin(out, title);
  HR_Variable v[] = {variable(&w, "z", type, 2, is_resource), variable(&w, "y", type, 2, is_resource),
                     variable(&w, "a", type, rows ? 2 : 1, is_resource)};
  HR_Variable step = variable(&w, "step", TF_INT64, 0, is_resource);
  HR_Gradient g[] = {gradient(&w, type, 2, rows), {nowhere, nowhere, nowhere, nowhere, rows}, gradient(&w, type, rows ? 2 : 1, rows)};
  HR_Optimizer* o = optimizer(&w, rule, option, NULL);
  tell(&w);
  HR_OptimizerApply(o, g, v, 3, is_resource ? &step : NULL, NULL, w.s);
  put_slots(&w, o);
  tell(&w);
  HR_OptimizerApply(o, g, v, 1, is_resource ? NULL : &step, "again", w.s);
  put_slots(&w, o);
  HR_DeleteOptimizer(o);
  end(&w);
}

static void apply_with_tensors(hr_strbuf_t* out) { /* hyperparameters as nodes, scopes, a name */
  for (int is_resource = 0; is_resource < 2; ++is_resource) {
    world_t w = begin(out, is_resource ? "tensors and scopes by handle" : "tensors and scopes");
    HR_Variable v = variable(&w, "w", TF_FLOAT, 2, is_resource);
    HR_Gradient g = gradient(&w, TF_FLOAT, 2, false);
    HR_Optimizer* o = optimizer(&w, "Adam", "", "Named");
    TF_Output rate = HR_Placeholder(w.graph, "rate", TF_DOUBLE, NULL, 0, w.s), beta = HR_ConstFloat(w.graph, "beta", 0.75f, w.s);
    HR_OptimizerSetTensor(o, "learning_rate", rate, w.s);
    HR_OptimizerSetTensor(o, "beta1", beta, w.s);
    HR_OptimizerSetFloat(o, "beta2", 0.5, w.s);
    HR_OptimizerSetTensor(o, "epsilon", beta, w.s);
    HR_OptimizerSetFloat(o, "epsilon", 0.125, w.s);
    HR_OptimizerSetScope(o, "slots/", "outer/inner/", w.s);
    if (is_resource) HR_OptimizerSetScope(o, "", "outer/", w.s);
    HR_OptimizerApply(o, &g, &v, 1, NULL, is_resource ? "" : "train", w.s);
    tell(&w);
    HR_OptimizerSetFloat(o, "beta2", 0.5, w.s);
    tell(&w);
    HR_OptimizerSetScope(o, "slots", "", w.s);
    tell(&w);
    HR_OptimizerSetScope(o, "", "scope", w.s);
    HR_DeleteOptimizer(o);
    end(&w);
  }
}

static void minimize(hr_strbuf_t* out) {
  world_t w = begin(out, "the loss and its variables");
  HR_Variable v[] = {variable(&w, "w", TF_FLOAT, 1, true), variable(&w, "u", TF_FLOAT, 0, false),
                     variable(&w, "unused", TF_FLOAT, 0, true)};
  HR_Variable step = variable(&w, "step", TF_INT32, 0, false);
  TF_Output loss = HR_Op(w.graph, "Mul", "loss", (TF_Output[]){v[0].read, v[1].read}, 2, w.s);
  HR_Optimizer* o = optimizer(&w, "Adagrad", "", "");
  HR_OptimizerSetFloat(o, "initial_accumulator_value", 0.5, w.s);
  tell(&w);
  HR_OptimizerMinimize(o, loss, v, 3, &step, w.s);
  tell(&w);
  HR_OptimizerMinimize(o, loss, v, 0, &step, w.s);
  tell(&w);
  HR_OptimizerMinimize(o, loss, &v[2], 1, &step, w.s);
  HR_DeleteOptimizer(o);
  end(&w);
}

/* --- savers --------------------------------------------------------------------------------------------------------------------------- */
static void make_savers(hr_strbuf_t* out, bool sharded) {
  static const char* const names[] = {"second", NULL, "first"};
  static const char* const same[] = {"key", "other", "key"};
  world_t w = begin(out, sharded ? "sharded savers" : "savers");
  HR_Variable v[] = {variable(&w, "w", TF_FLOAT, 2, true), variable(&w, "u", TF_DOUBLE, 1, false), variable(&w, "a", TF_INT64, 0, true)};
  HR_SaverNodes n = {nowhere, nowhere, NULL};
  tell(&w);
  HR_BuildSaver(w.graph, NULL, v, NULL, 3, sharded, &n, w.s);
  put_output(&w, "file", n.filename);
  put_output(&w, "save", n.save);
  put_output(&w, "restore", (TF_Output){n.restore, 0});
  tell(&w);
  HR_BuildSaver(w.graph, "", v, names, 3, sharded, &n, w.s);
  tell(&w);
  HR_BuildSaver(w.graph, "mine", v, names, 1, sharded, &n, w.s);
  tell(&w);
  HR_BuildSaver(w.graph, "mine", v, same, 3, sharded, &n, w.s);
  tell(&w);
  HR_BuildSaver(w.graph, "mine", v, NULL, 0, sharded, &n, w.s);
  end(&w);
}

/* --- refusals ------------------------------------------------------------------------------------------------------------------------- */
#define ASK(call) (call, tell(&w))
static const int64_t part_known[] = {-1};

static void refuse_nodes(hr_strbuf_t* out) {
  world_t w = begin(out, "refused nodes"), far = begin(out, "another graph");
  TF_Output x = HR_Placeholder(w.graph, "x", TF_FLOAT, part_known, 1, w.s), high = {x.oper, 1};
  TF_Output far_x = HR_Placeholder(far.graph, "far", TF_FLOAT, m32, 1, far.s);
  tell(&w);
  ASK(HR_Op(NULL, "Neg", NULL, &x, 1, w.s));
  ASK(HR_Op(w.graph, NULL, NULL, &x, 1, w.s));
  ASK(HR_Op(w.graph, "Neg", NULL, NULL, 1, w.s));
  ASK(HR_Op(w.graph, "Neg", NULL, &x, -1, w.s));
  ASK(HR_Op(w.graph, "Neg", NULL, &high, 1, w.s));
  ASK(HR_Op(w.graph, "Add", NULL, (TF_Output[]){x, far_x}, 2, w.s));
  ASK(HR_Op(w.graph, "NoSuchOp", NULL, NULL, 0, w.s));
  ASK(HR_Const(w.graph, NULL, NULL, w.s));
  ASK(HR_ConstInt32s(w.graph, NULL, NULL, 2, w.s));
  ASK(HR_ConstInt32s(w.graph, NULL, NULL, -1, w.s));
  ASK(HR_ConstFloat(NULL, NULL, 1, w.s));
  ASK(HR_Placeholder(w.graph, "p", TF_FLOAT, NULL, 2, w.s));
  ASK(HR_Filled(w.graph, NULL, part_known, 1, 1, w.s));
  ASK(HR_Filled(w.graph, NULL, NULL, 1, 1, w.s));
  ASK(HR_RandomUniform(w.graph, NULL, NULL, -1, 0, 1, 1, 1, w.s));
  end(&far);
  end(&w);
}

static void refuse_variables(hr_strbuf_t* out) {
  world_t w = begin(out, "refused variables"), far = begin(out, "another graph");
  TF_Output x = HR_Placeholder(w.graph, "x", TF_FLOAT, part_known, 1, w.s), high = {x.oper, 1};
  HR_Variable v = variable(&w, "v", TF_FLOAT, 1, true), r = variable(&w, "r", TF_FLOAT, 1, false),
              far_v = variable(&far, "f", TF_FLOAT, 1, true);
  HR_Variable none = {nowhere, nowhere, nowhere, NULL, nowhere, TF_FLOAT, 0}, odd = r, unset = v, got;
  TF_Output far_x = far_v.initial_value;
  HR_SaverNodes n;
  odd.read = high;
  unset.initializer = NULL;
  tell(&w);
  ASK(HR_NewVariable(w.graph, "q", x, 1, &got, w.s));
  ASK(HR_NewVariable(w.graph, "q", x, 1, NULL, w.s));
  ASK(HR_NewVariable(w.graph, "q", far_x, 1, &got, w.s));
  ASK(HR_VariableIsInitialized(w.graph, NULL, w.s));
  ASK(HR_VariableIsInitialized(w.graph, &none, w.s));
  ASK(HR_VariableIsInitialized(w.graph, &far_v, w.s));
  ASK(HR_VariableIsInitialized(w.graph, &odd, w.s));
  ASK(HR_InitializeAll(w.graph, NULL, NULL, 1, w.s));
  ASK(HR_InitializeAll(w.graph, NULL, (HR_Variable[]){v, unset}, 2, w.s));
  ASK(HR_InitializeAll(w.graph, NULL, (HR_Variable[]){v, none}, 2, w.s));
  ASK(HR_BuildSaver(NULL, NULL, &v, NULL, 1, 0, &n, w.s));
  ASK(HR_BuildSaver(w.graph, NULL, &v, NULL, 1, 0, NULL, w.s));
  ASK(HR_BuildSaver(w.graph, NULL, NULL, NULL, 1, 0, &n, w.s));
  ASK(HR_BuildSaver(w.graph, NULL, (HR_Variable[]){v, far_v}, NULL, 2, 0, &n, w.s));
  end(&far);
  end(&w);
}

static void refuse_hyperparameters(hr_strbuf_t* out) {
  world_t w = begin(out, "refused hyperparameters");
  TF_Output x = HR_Placeholder(w.graph, "x", TF_FLOAT, NULL, 0, w.s), high = {x.oper, 1};
  HR_Optimizer *o = optimizer(&w, "GradientDescent", "", NULL), *m = HR_NewOptimizer(w.graph, "Momentum", NULL, w.s);
  tell(&w);
  ASK(HR_NewOptimizer(NULL, "Adam", NULL, w.s));
  ASK(HR_NewOptimizer(w.graph, NULL, NULL, w.s));
  ASK(HR_NewOptimizer(w.graph, "Adamant", NULL, w.s));
  ASK(HR_OptimizerSetFloat(NULL, "learning_rate", 1, w.s));
  ASK(HR_OptimizerSetFloat(o, NULL, 1, w.s));
  ASK(HR_OptimizerSetFloat(o, "learning_rat", 1, w.s));
  ASK(HR_OptimizerSetFloat(o, "learning_rate2", 1, w.s));
  ASK(HR_OptimizerSetTensor(m, "use_nesterov", x, w.s));
  ASK(HR_OptimizerSetTensor(m, "momentum", high, w.s));
  ASK(HR_OptimizerSetTensor(m, "momentun", x, w.s));
  ASK(HR_OptimizerSetScope(NULL, "", "", w.s));
  ASK(HR_OptimizerSetScope(o, NULL, "", w.s));
  ASK(HR_OptimizerSetScope(o, "", NULL, w.s));
  HR_DeleteOptimizer(o);
  HR_DeleteOptimizer(m);
  end(&w);
}

static void refuse_gradients(hr_strbuf_t* out) {
  world_t w = begin(out, "refused gradients"), far = begin(out, "another graph");
  HR_Variable v = variable(&w, "v", TF_FLOAT, 1, true), far_v = variable(&far, "f", TF_FLOAT, 1, true);
  HR_Variable none = {nowhere, nowhere, nowhere, NULL, nowhere, TF_FLOAT, 0};
  HR_Gradient g = gradient(&w, TF_FLOAT, 1, false), rows = gradient(&w, TF_FLOAT, 1, true), far_g = gradient(&far, TF_FLOAT, 1, false);
  HR_Gradient far_rows = rows, empty = {nowhere, nowhere, nowhere, nowhere, 0};
  TF_Output x = g.dense;
  HR_Optimizer *o = optimizer(&w, "GradientDescent", "", NULL), *m = HR_NewOptimizer(w.graph, "Momentum", NULL, w.s);
  far_rows.indices = far_g.dense;
  tell(&w);
  ASK(HR_OptimizerApply(NULL, &g, &v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, NULL, &v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &g, NULL, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &empty, &v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &g, &v, 0, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &far_g, &v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &far_rows, &v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &g, &far_v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &g, &none, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerApply(o, &g, &v, 1, &far_v, NULL, w.s));
  ASK(HR_OptimizerApply(m, &g, &v, 1, NULL, NULL, w.s));
  ASK(HR_OptimizerMinimize(NULL, x, &v, 1, NULL, w.s));
  ASK(HR_OptimizerMinimize(o, x, NULL, 1, NULL, w.s));
  HR_CHECK(HR_OptimizerSlotCount(NULL) == 0 && HR_OptimizerSlot(NULL, 0, NULL, NULL) == NULL);
  HR_DeleteOptimizer(NULL);
  HR_DeleteOptimizer(o);
  HR_DeleteOptimizer(m);
  end(&far);
  end(&w);
}

static void make_all(hr_str_t recorded, hr_strbuf_t* out) {
  static const struct {
    const char *rule, *option;
  } rules[] = {{"GradientDescent", ""}, {"Momentum", ""}, {"Momentum", "use_nesterov"}, {"Adagrad", ""},
               {"Adadelta", ""},        {"RMSProp", ""},  {"RMSProp", "centered"},      {"Adam", ""},
               {"ProximalGradientDescent", ""}, {"ProximalAdagrad", ""}, {"Ftrl", ""}, {"Ftrl", "l2_shrinkage_regularization_strength"}};
  (void)recorded;
  for (int is_resource = 0; is_resource < 2; ++is_resource) {
    make_variables(out, is_resource);
    make_savers(out, is_resource);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; ++k)
      for (int rows = 0; rows < 2; ++rows)
        apply_rule(out, rules[k].rule, rules[k].option, is_resource, rows, k == 7 || rows ? TF_DOUBLE : TF_FLOAT);
    apply_rule(out, "Adam", "", is_resource, true, TF_FLOAT);
  }
  make_values(out);
  apply_with_tensors(out);
  minimize(out);
  refuse_nodes(out);
  refuse_variables(out);
  refuse_hyperparameters(out);
  refuse_gradients(out);
}

HR_TEST(nodes_are_as_recorded) { listing_check("HEADRACE_RECORD_CLIENT", HR_TEST_SOURCE_DIR "/tests/golden/client_nodes.txt", make_all); }

/* --- running savers ------------------------------------------------------------------------------------------------------------------- */
static void expect_refused(TF_Status* s, const char* message) {
  HR_CHECK_STR(TF_Message(s), message);
  HR_CHECK_EQ_I64(TF_GetCode(s), TF_INVALID_ARGUMENT);
}

HR_TEST(savers_are_whole) {
  TF_Graph* g = TF_NewGraph();
  TF_Status* s = TF_NewStatus();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(g, options, s);
  HR_Variable v;
  HR_SaverNodes n, part;
  HR_NewVariable(g, "v", HR_ConstFloat(g, NULL, 1, s), 1, &v, s);
  HR_BuildSaver(g, NULL, &v, NULL, 1, 0, &n, s);
  HR_CHECK_EQ_I64(TF_GetCode(s), TF_OK);
  HR_SaverSave(NULL, &n, "p", s);
  expect_refused(s, "the session is NULL");
  HR_SaverRestore(session, NULL, "p", s);
  expect_refused(s, "the saver is NULL");
  HR_SaverSave(session, &n, NULL, s);
  expect_refused(s, "the prefix is NULL");
  for (int i = 0; i < 3; ++i) {
    part = n;
    if (i == 0) part.filename.oper = NULL;
    if (i == 1) part.save.oper = NULL;
    if (i == 2) part.restore = NULL;
    HR_SaverSave(session, &part, "p", s);
    expect_refused(s, "the saver is NULL");
  }
  TF_CloseSession(session, s);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(s);
  TF_DeleteGraph(g);
}

/* --- the state file ------------------------------------------------------------------------------------------------------------------- */
static void check_state(const char* directory, const char* latest, const char* const* all, int count, const char* wanted,
                        const char* found) {
  TF_Status* s = TF_NewStatus();
  char path[64], *text = NULL;
  size_t size = 0;
  HR_UpdateCheckpointState(directory, latest, all, count, s);
  HR_CHECK_STR(TF_Message(s), "");
  snprintf(path, sizeof path, "%s%scheckpoint", directory, *directory && directory[strlen(directory) - 1] != '/' ? "/" : "");
  if (HR_CHECK_OK(hr_file_read(path, &text, &size))) HR_CHECK_VIEW(((hr_str_t){text, size}), wanted);
  TF_Buffer* b = HR_LatestCheckpoint(directory, s);
  HR_CHECK_STR(TF_Message(s), "");
  if (HR_CHECK(b)) HR_CHECK_VIEW(((hr_str_t){b->data, b->length}), found);
  TF_DeleteBuffer(b);
  hr_free(text);
  TF_DeleteStatus(s);
}
#define ONE(path) "model_checkpoint_path: \"" path "\"\nall_model_checkpoint_paths: \"" path "\"\n"

static void check_state_refusals(void) {
  TF_Status* s = TF_NewStatus();
  HR_UpdateCheckpointState(NULL, "m", NULL, 0, s);
  expect_refused(s, "the directory is NULL");
  HR_UpdateCheckpointState("sub", NULL, NULL, 0, s);
  expect_refused(s, "the latest prefix is NULL");
  HR_UpdateCheckpointState("sub", "m", NULL, 1, s);
  expect_refused(s, "there are 1 prefixes but their array is NULL");
  HR_CHECK(HR_LatestCheckpoint(NULL, s) == NULL);
  expect_refused(s, "the directory is NULL");
  HR_CHECK(HR_LatestCheckpoint("nowhere", s) == NULL);
  HR_CHECK_EQ_I64(TF_GetCode(s), TF_NOT_FOUND);
  HR_CHECK_OK(hr_file_replace("sub/checkpoint", "all_model_checkpoint_paths: 'x'", 31));
  HR_CHECK(HR_LatestCheckpoint("sub", s) == NULL);
  HR_CHECK_EQ_I64(TF_GetCode(s), TF_NOT_FOUND);
  HR_CHECK_STR(TF_Message(s), "the state file in 'sub' names no checkpoint");
  HR_CHECK_OK(hr_file_replace("sub/checkpoint", "model_checkpoint_path: x", 24));
  HR_CHECK(HR_LatestCheckpoint("sub", s) == NULL);
  expect_refused(s, "text line 1, column 24: expected a string, found 'x'");
  TF_DeleteStatus(s);
}

HR_TEST(the_state_file_names_what_is_below_it_by_short_names) {
  static const char* const all[] = {"sub/a", "other/b", "sub/c"};
  char folder[] = "/tmp/hr_state_XXXXXX", before[4096], whole[64], below[80], wanted[300];
  HR_REQUIRE(getcwd(before, sizeof before) && mkdtemp(folder) && chdir(folder) == 0 && mkdir("sub", 0700) == 0);
  check_state("", "m", NULL, 0, ONE("m"), "m");
  check_state("sub", "sub/m", NULL, 0, ONE("m"), "sub/m");
  check_state("sub/", "sub/m", NULL, 0, ONE("m"), "sub/m");
  check_state("sub", "sub//m", NULL, 0, ONE("m"), "sub/m");
  check_state("sub", "subway/m", NULL, 0, ONE("subway/m"), "sub/subway/m");
  check_state("sub", "sub", NULL, 0, ONE("sub"), "sub/sub");
  check_state("sub", "sub/", NULL, 0, ONE("sub/"), "sub/sub/");
  check_state("sub/", "sub/", NULL, 0, ONE("sub/"), "sub/sub/");
  check_state("sub", "su", NULL, 0, ONE("su"), "sub/su");
  check_state("sub", "/m", NULL, 0, ONE("/m"), "/m");
  snprintf(whole, sizeof whole, "%s/sub", folder);
  check_state(whole, "/m", NULL, 0, ONE("/m"), "/m");
  snprintf(below, sizeof below, "%s/m", whole);
  snprintf(wanted, sizeof wanted, ONE("%s"), below, below);
  check_state(whole, below, NULL, 0, wanted, below);
  HR_REQUIRE(mkdir("sub/d", 0700) == 0);
  check_state("sub/d", "sub/d/m", NULL, 0, ONE("m"), "sub/d/m");
  HR_CHECK(unlink("sub/d/checkpoint") == 0 && rmdir("sub/d") == 0);
#define REST "all_model_checkpoint_paths: \"a\"\nall_model_checkpoint_paths: \"other/b\"\nall_model_checkpoint_paths: \"c\"\n"
  check_state("sub", "sub/a", all, 3, "model_checkpoint_path: \"a\"\n" REST, "sub/a");
  check_state("sub", "other/b", all, 3, "model_checkpoint_path: \"other/b\"\n" REST, "sub/other/b");
  check_state("sub", "sub/c", all, 3, "model_checkpoint_path: \"c\"\n" REST, "sub/c");
  check_state("sub", "d", all, 3, "model_checkpoint_path: \"d\"\n" REST "all_model_checkpoint_paths: \"d\"\n", "sub/d");
  check_state_refusals();
  HR_CHECK(unlink("checkpoint") == 0 && unlink("sub/checkpoint") == 0 && rmdir("sub") == 0 && chdir(before) == 0 && rmdir(folder) == 0);
}

HR_TEST_MAIN()
