/* SPDX-License-Identifier: Apache-2.0 */
/* What a training program needs beside graphs and sessions: variables, initial values, optimizers, savers. They build ordinary graph
 * nodes, with the names and the structure that TensorFlow's Python client gives them, so that a graph trained here is restored there.
 * The Python package calls these functions; a C, Go or Rust program may as well.
 *
 * Conventions: as tensorflow/c/c_api.h. All functions add to `graph` and may be called while sessions run it. On failure nothing is
 * returned and the nodes added so far stay in the graph, unused. Names given are made unique ("Variable_1"). */
#ifndef HEADRACE_CLIENT_H_
#define HEADRACE_CLIENT_H_
#include "headrace/gradients.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- nodes, briefly ------------------------------------------------------------------------------------------------------------------- */
/* One output of a new operation; attrs that can be inferred from the inputs are. For attrs use the functions below before _Finish. */
TF_CAPI_EXPORT TF_Output HR_Op(TF_Graph* graph, const char* op, const char* name, const TF_Output* inputs, int input_count,
                               TF_Status* status);
TF_CAPI_EXPORT TF_Output HR_Const(TF_Graph* graph, const char* name, TF_Tensor* value, TF_Status* status); /* value is borrowed */
TF_CAPI_EXPORT TF_Output HR_ConstFloat(TF_Graph* graph, const char* name, float value, TF_Status* status);
TF_CAPI_EXPORT TF_Output HR_ConstInt32s(TF_Graph* graph, const char* name, const int32_t* values, int count,
                                        TF_Status* status); /* a vector */
TF_CAPI_EXPORT TF_Output HR_Placeholder(TF_Graph* graph, const char* name, TF_DataType dtype, const int64_t* dims, int rank,
                                        TF_Status* status);

/* --- variables ------------------------------------------------------------------------------------------------------------------------ */
typedef struct HR_Variable {
  TF_Output handle;            /* VariableV2's reference, or VarHandleOp's resource */
  TF_Output read;              /* the value: `<name>/read` (Identity) or `<name>/Read/ReadVariableOp` */
  TF_Output initial_value;
  TF_Operation* initializer;   /* runs the first assignment: `<name>/Assign` */
  TF_Output is_initialized;    /* HR_VariableIsInitialized makes it on demand; oper NULL until then */
  TF_DataType dtype;
  TF_Bool is_resource;
} HR_Variable;
/* A variable with the shape of initial_value (which must be known), named `name`. */
TF_CAPI_EXPORT void HR_NewVariable(TF_Graph* graph, const char* name, TF_Output initial_value, TF_Bool use_resource, HR_Variable* out,
                                   TF_Status* status);
/* Whether it has a value yet, as a bool; kept in variable->is_initialized. */
TF_CAPI_EXPORT TF_Output HR_VariableIsInitialized(TF_Graph* graph, HR_Variable* variable, TF_Status* status);
/* One operation that runs the initializers of all. */
TF_CAPI_EXPORT TF_Operation* HR_InitializeAll(TF_Graph* graph, const char* name, const HR_Variable* variables, int count,
                                              TF_Status* status);

/* --- initial values, as TensorFlow's initializers make them; seed, seed2: the pair the op gets ---------------------------------------- */
TF_CAPI_EXPORT TF_Output HR_TruncatedNormal(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float mean, float stddev,
                                            int64_t seed, int64_t seed2, TF_Status* status);
TF_CAPI_EXPORT TF_Output HR_RandomNormal(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float mean, float stddev,
                                         int64_t seed, int64_t seed2, TF_Status* status);
TF_CAPI_EXPORT TF_Output HR_RandomUniform(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float low, float high,
                                          int64_t seed, int64_t seed2, TF_Status* status);
TF_CAPI_EXPORT TF_Output HR_Filled(TF_Graph* graph, const char* name, const int64_t* dims, int rank, float value, TF_Status* status);

/* --- optimizers ----------------------------------------------------------------------------------------------------------------------- */
/* A rule is one of "GradientDescent", "Momentum", "Adagrad", "Adadelta", "RMSProp", "Adam", "Ftrl", "ProximalGradientDescent",
 * "ProximalAdagrad" (rows of src/client/optimizers.def: inputs, hyperparameters, defaults). Slots are variables
 * `<variable>/<rule name>` (`_1` for the second), with Adam's powers `beta1_power`, `beta2_power`. Sparse gradients update only their rows.
 */
typedef struct HR_Optimizer HR_Optimizer;
TF_CAPI_EXPORT HR_Optimizer* HR_NewOptimizer(TF_Graph* graph, const char* rule, const char* name, TF_Status* status);
TF_CAPI_EXPORT void HR_DeleteOptimizer(HR_Optimizer* optimizer);
/* Hyperparameters by TensorFlow's argument names ("learning_rate", "momentum", "beta1", "epsilon", "decay", "initial_accumulator_value",
 * "use_nesterov" (0 or 1), "centered"...). Those not set have TensorFlow's defaults; learning_rate must be set (but Adam and RMSProp have
 * defaults as TensorFlow's). */
TF_CAPI_EXPORT void HR_OptimizerSetFloat(HR_Optimizer* optimizer, const char* hyperparameter, double value, TF_Status* status);
TF_CAPI_EXPORT void HR_OptimizerSetTensor(HR_Optimizer* optimizer, const char* hyperparameter, TF_Output scalar, TF_Status* status);
/* Where the nodes go that HR_OptimizerApply adds, "" or ending in '/': slots are named slot_prefix + "<variable>/<rule name>" (a Python
 * client's variable scope), all others (updates, hyperparameters, Adam's powers) scope + their name (its name scope). Default "" for both.
 */
TF_CAPI_EXPORT void HR_OptimizerSetScope(HR_Optimizer* optimizer, const char* slot_prefix, const char* scope, TF_Status* status);
/* Adds the updates of `variables` by `gradients` (entries without a gradient are left out) and gives the operation that runs them all;
 * global_step (oper NULL: none) is a variable counted up after them. */
TF_CAPI_EXPORT TF_Operation* HR_OptimizerApply(HR_Optimizer* optimizer, const HR_Gradient* gradients, const HR_Variable* variables,
                                               int count, const HR_Variable* global_step, const char* name, TF_Status* status);
/* Gradients of loss and their application in one. */
TF_CAPI_EXPORT TF_Operation* HR_OptimizerMinimize(HR_Optimizer* optimizer, TF_Output loss, const HR_Variable* variables, int count,
                                                  const HR_Variable* global_step, TF_Status* status);
/* Slot variables made so far, to initialise and to save: slot_name is TensorFlow's ("momentum", "m", "v"...); variable_index -1 for those
 * that belong to no variable (Adam's powers). */
TF_CAPI_EXPORT int HR_OptimizerSlotCount(const HR_Optimizer* optimizer);
TF_CAPI_EXPORT const HR_Variable* HR_OptimizerSlot(const HR_Optimizer* optimizer, int index, const char** slot_name,
                                                   TF_Output* of_variable);

/* --- savers --------------------------------------------------------------------------------------------------------------------------- */
/* The save and restore operations of a V2 checkpoint, `<name>/Const`, `<name>/SaveV2`, `<name>/restore_all`... as TensorFlow's Saver builds
 * them. */
typedef struct HR_SaverNodes {
  TF_Output filename;          /* feed: the checkpoint's prefix */
  TF_Output save;              /* fetch to save: gives the prefix */
  TF_Operation* restore;       /* run to restore */
} HR_SaverNodes;
/* names[i] is the key of variables[i] in the checkpoint; NULL: their own names. */
TF_CAPI_EXPORT void HR_BuildSaver(TF_Graph* graph, const char* name, const HR_Variable* variables, const char* const* names, int count,
                                  TF_Bool sharded, HR_SaverNodes* out, TF_Status* status);
TF_CAPI_EXPORT void HR_SaverSave(TF_Session* session, const HR_SaverNodes* saver, const char* prefix, TF_Status* status);
TF_CAPI_EXPORT void HR_SaverRestore(TF_Session* session, const HR_SaverNodes* saver, const char* prefix, TF_Status* status);
/* The state file `checkpoint` beside a prefix: written whole or not at all; the latest prefix named there (caller frees with
 * TF_DeleteBuffer). */
TF_CAPI_EXPORT void HR_UpdateCheckpointState(const char* directory, const char* latest, const char* const* all, int count,
                                             TF_Status* status);
TF_CAPI_EXPORT TF_Buffer* HR_LatestCheckpoint(const char* directory, TF_Status* status);

#ifdef __cplusplus
}
#endif
#endif
