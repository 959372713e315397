/* SPDX-License-Identifier: Apache-2.0 */
/* The C API: build a graph, differentiate it, run parts of it in a session.
 *
 * Conventions, once:
 * - A TF_X* from TF_NewX is the caller's and goes to TF_DeleteX, which accepts NULL. Everything passed in is borrowed for the call and
 *   copied if it is kept, unless a contract says "takes".
 * - TF_Operation* lives as long as its graph. Strings returned live as long as the object asked.
 * - A status argument is overwritten (tf_status.h) and may be NULL. On failure outputs are NULL, 0 or untouched. Nothing a caller passes
 *   ends the process; a pointer to a deleted object is the exception.
 * - Threads: TF_Graph and TF_Session may be used by any number of threads at once. Options, descriptions, statuses, results and
 *   buffers: one thread at a time.
 * - Fill-in arrays: a `max_` says how much room the caller gave; what does not fit is not written.
 * Where TensorFlow's library leaves a misuse undefined, this one answers INVALID_ARGUMENT where it can tell. */
#ifndef TENSORFLOW_C_C_API_H_
#define TENSORFLOW_C_C_API_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_attrtype.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/c/tf_tstring.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "2.21.0-headrace-0.1.0": the version of the interface that is followed, then this library's. Static. */
TF_CAPI_EXPORT const char* TF_Version(void);

/* Parses a serialized TensorProto into `to`, whose old value is released. */
TF_CAPI_EXPORT void TF_TensorFromProto(const TF_Buffer* from, TF_Tensor* to, TF_Status* status);

/* Bytes of somebody else, not NUL-terminated. */
typedef struct TF_StringView {
  const char* data;
  size_t len;
} TF_StringView;

/* --- session options ------------------------------------------------------------------------------------------------------------ */
typedef struct TF_SessionOptions TF_SessionOptions;
TF_CAPI_EXPORT TF_SessionOptions* TF_NewSessionOptions(void);
/* "" (or NULL): in this process. "grpc://host:port": a cluster's master; UNIMPLEMENTED when the session is made, for now. */
TF_CAPI_EXPORT void TF_SetTarget(TF_SessionOptions* options, const char* target);
/* A serialized ConfigProto, replacing earlier settings; INVALID_ARGUMENT when the bytes do not parse. */
TF_CAPI_EXPORT void TF_SetConfig(TF_SessionOptions* options, const void* proto, size_t proto_len, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteSessionOptions(TF_SessionOptions* options);

/* --- graphs --------------------------------------------------------------------------------------------------------------------- */
typedef struct TF_Graph TF_Graph;
TF_CAPI_EXPORT TF_Graph* TF_NewGraph(void);
/* The graph goes when the last session that uses it has gone too. */
TF_CAPI_EXPORT void TF_DeleteGraph(TF_Graph* graph);

typedef struct TF_OperationDescription TF_OperationDescription; /* an operation being put together */
typedef struct TF_Operation TF_Operation;                       /* a node of a graph; immutable but for TF_UpdateEdge and its like */
typedef struct TF_Input {  /* input `index` of oper */
  TF_Operation* oper;
  int index;
} TF_Input;
typedef struct TF_Output { /* output `index` of oper */
  TF_Operation* oper;
  int index;
} TF_Output;
typedef struct TF_Function TF_Function;
typedef struct TF_FunctionOptions TF_FunctionOptions; /* none exist: pass NULL */

/* Narrows what is known of an output's shape: -1 is an unknown dim, num_dims -1 an unknown rank. INVALID_ARGUMENT when it contradicts. */
TF_CAPI_EXPORT void TF_GraphSetTensorShape(TF_Graph* graph, TF_Output output, const int64_t* dims, const int num_dims, TF_Status* status);
/* The rank of an output, -1 when unknown. */
TF_CAPI_EXPORT int TF_GraphGetTensorNumDims(TF_Graph* graph, TF_Output output, TF_Status* status);
/* The dims of an output, -1 where unknown; num_dims must be its rank. */
TF_CAPI_EXPORT void TF_GraphGetTensorShape(TF_Graph* graph, TF_Output output, int64_t* dims, int num_dims, TF_Status* status);

/* --- adding an operation -----------------------------------------------------------------------------------------------------------
 * TF_NewOperation, then inputs in the order of the op's arguments and attrs in any order, then TF_FinishOperation, which consumes the
 * description and reports whatever went wrong since. A description that is not finished is leaked. */
/* op_type "MatMul"..., oper_name unique in the graph. NULL when out of memory; the functions below accept that. */
TF_CAPI_EXPORT TF_OperationDescription* TF_NewOperation(TF_Graph* graph, const char* op_type, const char* oper_name);
/* The same: kept for clients that name it. */
TF_CAPI_EXPORT TF_OperationDescription* TF_NewOperationLocked(TF_Graph* graph, const char* op_type, const char* oper_name);
/* Where it should run; "" (the default) for anywhere. */
TF_CAPI_EXPORT void TF_SetDevice(TF_OperationDescription* desc, const char* device);
/* The value of the next argument, which is no list. */
TF_CAPI_EXPORT void TF_AddInput(TF_OperationDescription* desc, TF_Output input);
/* The values of the next argument, which is a list. */
TF_CAPI_EXPORT void TF_AddInputList(TF_OperationDescription* desc, const TF_Output* inputs, int num_inputs);
/* The operation runs after `input`. */
TF_CAPI_EXPORT void TF_AddControlInput(TF_OperationDescription* desc, TF_Operation* input);
/* On the device of `op`; adds to the attr "_class". */
TF_CAPI_EXPORT void TF_ColocateWith(TF_OperationDescription* desc, TF_Operation* op);

/* Attrs, one function for a kind and one for a list of it. Type attrs and list lengths that follow from inputs, and attrs with a
 * default, may be left out. */
/* any bytes */
TF_CAPI_EXPORT void TF_SetAttrString(TF_OperationDescription* desc, const char* attr_name, const void* value, size_t length);
TF_CAPI_EXPORT void TF_SetAttrStringList(TF_OperationDescription* desc, const char* attr_name, const void* const* values,
                                         const size_t* lengths, int num_values); /* lengths[i]: bytes of values[i] */
TF_CAPI_EXPORT void TF_SetAttrInt(TF_OperationDescription* desc, const char* attr_name, int64_t value); /* one int */
/* ints */
TF_CAPI_EXPORT void TF_SetAttrIntList(TF_OperationDescription* desc, const char* attr_name, const int64_t* values, int num_values);
TF_CAPI_EXPORT void TF_SetAttrFloat(TF_OperationDescription* desc, const char* attr_name, float value); /* one float */
/* floats */
TF_CAPI_EXPORT void TF_SetAttrFloatList(TF_OperationDescription* desc, const char* attr_name, const float* values, int num_values);
TF_CAPI_EXPORT void TF_SetAttrBool(TF_OperationDescription* desc, const char* attr_name, unsigned char value); /* not 0: true */
/* bools */
TF_CAPI_EXPORT void TF_SetAttrBoolList(TF_OperationDescription* desc, const char* attr_name, const unsigned char* values, int num_values);
TF_CAPI_EXPORT void TF_SetAttrType(TF_OperationDescription* desc, const char* attr_name, TF_DataType value); /* one type */
/* types */
TF_CAPI_EXPORT void TF_SetAttrTypeList(TF_OperationDescription* desc, const char* attr_name, const TF_DataType* values, int num_values);
/* In function bodies: the value is the function's own attr of that name. */
TF_CAPI_EXPORT void TF_SetAttrPlaceholder(TF_OperationDescription* desc, const char* attr_name, const char* placeholder);
/* A function of the graph's library, by name. */
TF_CAPI_EXPORT void TF_SetAttrFuncName(TF_OperationDescription* desc, const char* attr_name, const char* value, size_t length);
/* -1 is an unknown dim, num_dims -1 an unknown rank. */
TF_CAPI_EXPORT void TF_SetAttrShape(TF_OperationDescription* desc, const char* attr_name, const int64_t* dims, int num_dims);
TF_CAPI_EXPORT void TF_SetAttrShapeList(TF_OperationDescription* desc, const char* attr_name, const int64_t* const* dims,
                                        const int* num_dims, int num_shapes); /* shapes, each as above */
/* Shapes from serialized TensorShapeProtos; INVALID_ARGUMENT at once when the bytes do not parse. */
TF_CAPI_EXPORT void TF_SetAttrTensorShapeProto(TF_OperationDescription* desc, const char* attr_name, const void* proto,
                                               size_t proto_len, TF_Status* status);
TF_CAPI_EXPORT void TF_SetAttrTensorShapeProtoList(TF_OperationDescription* desc, const char* attr_name, const void* const* protos,
                                                   const size_t* proto_lens, int num_shapes, TF_Status* status); /* likewise */
/* Copies the elements. */
TF_CAPI_EXPORT void TF_SetAttrTensor(TF_OperationDescription* desc, const char* attr_name, TF_Tensor* value, TF_Status* status);
TF_CAPI_EXPORT void TF_SetAttrTensorList(TF_OperationDescription* desc, const char* attr_name, TF_Tensor* const* values,
                                         int num_values, TF_Status* status); /* copies each */
/* Any kind, from a serialized AttrValue; INVALID_ARGUMENT at once when the bytes do not parse. */
TF_CAPI_EXPORT void TF_SetAttrValueProto(TF_OperationDescription* desc, const char* attr_name, const void* proto, size_t proto_len,
                                         TF_Status* status);

/* Adds the operation, checks it against its op and infers its outputs' shapes. NULL on failure, the graph then unchanged; the
 * description is gone either way. INVALID_ARGUMENT for a name that is taken, NOT_FOUND for an unknown op. */
TF_CAPI_EXPORT TF_Operation* TF_FinishOperation(TF_OperationDescription* desc, TF_Status* status);
/* The same: takes the graph's lock itself. */
TF_CAPI_EXPORT TF_Operation* TF_FinishOperationLocked(TF_OperationDescription* desc, TF_Status* status);

/* --- looking at an operation ------------------------------------------------------------------------------------------------------ */
TF_CAPI_EXPORT const char* TF_OperationName(TF_Operation* oper);
TF_CAPI_EXPORT const char* TF_OperationOpType(TF_Operation* oper);
TF_CAPI_EXPORT const char* TF_OperationDevice(TF_Operation* oper); /* the one asked for; "" for none */
TF_CAPI_EXPORT int TF_OperationNumOutputs(TF_Operation* oper);
/* The type of an output, plus 100 for a reference; 0 for an endpoint that is none. */
TF_CAPI_EXPORT TF_DataType TF_OperationOutputType(TF_Output oper_out);
/* How many outputs the named output argument stands for; INVALID_ARGUMENT and -1 when there is none of that name. */
TF_CAPI_EXPORT int TF_OperationOutputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status);
TF_CAPI_EXPORT int TF_OperationNumInputs(TF_Operation* oper);
TF_CAPI_EXPORT TF_DataType TF_OperationInputType(TF_Input oper_in); /* as the op expects it, like TF_OperationOutputType */
TF_CAPI_EXPORT int TF_OperationInputListLength(TF_Operation* oper, const char* arg_name, TF_Status* status); /* like its twin */
/* Where an input comes from; {NULL, -1} for an input that is none. */
TF_CAPI_EXPORT TF_Output TF_OperationInput(TF_Input oper_in);
TF_CAPI_EXPORT void TF_OperationAllInputs(TF_Operation* oper, TF_Output* inputs, int max_inputs); /* the first max_inputs */
TF_CAPI_EXPORT int TF_OperationOutputNumConsumers(TF_Output oper_out);
/* Inputs fed by an output, in the order they were connected; returns how many were written. */
TF_CAPI_EXPORT int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input* consumers, int max_consumers);
TF_CAPI_EXPORT int TF_OperationNumControlInputs(TF_Operation* oper);
/* returns how many */
TF_CAPI_EXPORT int TF_OperationGetControlInputs(TF_Operation* oper, TF_Operation** control_inputs, int max_control_inputs);
TF_CAPI_EXPORT int TF_OperationNumControlOutputs(TF_Operation* oper);
/* likewise */
TF_CAPI_EXPORT int TF_OperationGetControlOutputs(TF_Operation* oper, TF_Operation** control_outputs, int max_control_outputs);

/* What an attr is, so that room can be made before its value is asked for. */
typedef struct TF_AttrMetadata {
  unsigned char is_list;
  int64_t list_size;  /* elements of a list; -1 when it is none */
  TF_AttrType type;   /* of the value, or of a list's elements */
  int64_t total_size; /* string: bytes; shape: rank (-1 unknown); list of strings: all bytes; list of shapes: all dims */
} TF_AttrMetadata;

/* Attrs of an operation, defaults included. INVALID_ARGUMENT for a name that it has not or a value of another kind. */
TF_CAPI_EXPORT TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation* oper, const char* attr_name, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrString(TF_Operation* oper, const char* attr_name, void* value, size_t max_length,
                                              TF_Status* status); /* the first max_length bytes, no NUL */
/* values[i], lengths[i] point into storage, which has room for total_size bytes; INVALID_ARGUMENT when it has not. */
TF_CAPI_EXPORT void TF_OperationGetAttrStringList(TF_Operation* oper, const char* attr_name, void** values, size_t* lengths,
                                                  int max_values, void* storage, size_t storage_size, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrInt(TF_Operation* oper, const char* attr_name, int64_t* value, TF_Status* status); /* one int */
TF_CAPI_EXPORT void TF_OperationGetAttrIntList(TF_Operation* oper, const char* attr_name, int64_t* values, int max_values,
                                               TF_Status* status); /* the first max_values; likewise below */
TF_CAPI_EXPORT void TF_OperationGetAttrFloat(TF_Operation* oper, const char* attr_name, float* value, TF_Status* status); /* one float */
TF_CAPI_EXPORT void TF_OperationGetAttrFloatList(TF_Operation* oper, const char* attr_name, float* values, int max_values,
                                                 TF_Status* status); /* floats */
/* 0 or 1 */
TF_CAPI_EXPORT void TF_OperationGetAttrBool(TF_Operation* oper, const char* attr_name, unsigned char* value, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrBoolList(TF_Operation* oper, const char* attr_name, unsigned char* values, int max_values,
                                                TF_Status* status); /* bools */
/* one type */
TF_CAPI_EXPORT void TF_OperationGetAttrType(TF_Operation* oper, const char* attr_name, TF_DataType* value, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrTypeList(TF_Operation* oper, const char* attr_name, TF_DataType* values, int max_values,
                                                TF_Status* status); /* types */
/* num_dims must be the rank; nothing is written when the rank is unknown (total_size -1). */
TF_CAPI_EXPORT void TF_OperationGetAttrShape(TF_Operation* oper, const char* attr_name, int64_t* value, int num_dims, TF_Status* status);
/* dims[i] point into storage, which has room for total_size dims; num_dims[i] -1: unknown rank. */
TF_CAPI_EXPORT void TF_OperationGetAttrShapeList(TF_Operation* oper, const char* attr_name, int64_t** dims, int* num_dims,
                                                 int num_shapes, int64_t* storage, int storage_size, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrTensorShapeProto(TF_Operation* oper, const char* attr_name, TF_Buffer* value,
                                                        TF_Status* status); /* serialized; value is empty before */
/* values[i] are new buffers, the caller's. */
TF_CAPI_EXPORT void TF_OperationGetAttrTensorShapeProtoList(TF_Operation* oper, const char* attr_name, TF_Buffer** values,
                                                            int max_values, TF_Status* status);
/* A tensor of the caller's; it shares the elements: do not write them. */
TF_CAPI_EXPORT void TF_OperationGetAttrTensor(TF_Operation* oper, const char* attr_name, TF_Tensor** value, TF_Status* status);
TF_CAPI_EXPORT void TF_OperationGetAttrTensorList(TF_Operation* oper, const char* attr_name, TF_Tensor** values, int max_values,
                                                  TF_Status* status); /* each as above */
/* Any kind, as a serialized AttrValue; the buffer is empty before. */
TF_CAPI_EXPORT void TF_OperationGetAttrValueProto(TF_Operation* oper, const char* attr_name, TF_Buffer* output_attr_value,
                                                  TF_Status* status);
TF_CAPI_EXPORT int TF_OperationGetNumAttrs(TF_Operation* oper); /* attrs are numbered from 0 */
TF_CAPI_EXPORT int TF_OperationGetAttrNameLength(TF_Operation* oper, int i); /* without NUL; -1 for a number that is none */
/* Writes TF_OperationGetAttrNameLength bytes, no NUL. */
TF_CAPI_EXPORT void TF_OperationGetAttrName(TF_Operation* oper, int i, char* output, TF_Status* status);

/* --- looking at a graph ------------------------------------------------------------------------------------------------------------ */
TF_CAPI_EXPORT TF_Operation* TF_GraphOperationByName(TF_Graph* graph, const char* oper_name); /* NULL: none */
/* Iteration: *pos is 0 at first; NULL at the end. Operations added meanwhile are met. */
TF_CAPI_EXPORT TF_Operation* TF_GraphNextOperation(TF_Graph* graph, size_t* pos);
/* Serialized GraphDef, functions included; the buffer is empty before. */
TF_CAPI_EXPORT void TF_GraphToGraphDef(TF_Graph* graph, TF_Buffer* output_graph_def, TF_Status* status);
/* Serialized OpDef of a registered op. */
TF_CAPI_EXPORT void TF_GraphGetOpDef(TF_Graph* graph, const char* op_name, TF_Buffer* output_op_def, TF_Status* status);
/* Serialized VersionDef. */
TF_CAPI_EXPORT void TF_GraphVersions(TF_Graph* graph, TF_Buffer* output_version_def, TF_Status* status);

/* --- importing a GraphDef ------------------------------------------------------------------------------------------------------------ */
typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;
TF_CAPI_EXPORT TF_ImportGraphDefOptions* TF_NewImportGraphDefOptions(void);
TF_CAPI_EXPORT void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions* opts);
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions* opts, const char* prefix); /* names become prefix/name */
/* For nodes that ask for no device. */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions* opts, const char* device);
/* Names that are taken get a suffix instead of failing. */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions* opts, unsigned char uniquify_names);
/* the prefix gets it */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions* opts, unsigned char uniquify_prefix);
/* Inputs that name src_name:src_index come from dst of the graph instead. */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions* opts, const char* src_name, int src_index,
                                                            TF_Output dst);
/* Control inputs ^src_name become dst of the graph instead. */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsRemapControlDependency(TF_ImportGraphDefOptions* opts, const char* src_name, TF_Operation* dst);
/* Every imported node that has no inputs among the imported runs after oper. */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddControlDependency(TF_ImportGraphDefOptions* opts, TF_Operation* oper);
/* Asks for an endpoint back, named as in the GraphDef (mapped ones give what they are mapped to). */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions* opts, const char* oper_name, int index);
TF_CAPI_EXPORT int TF_ImportGraphDefOptionsNumReturnOutputs(const TF_ImportGraphDefOptions* opts);
/* Asks for an operation back. */
TF_CAPI_EXPORT void TF_ImportGraphDefOptionsAddReturnOperation(TF_ImportGraphDefOptions* opts, const char* oper_name);
TF_CAPI_EXPORT int TF_ImportGraphDefOptionsNumReturnOperations(const TF_ImportGraphDefOptions* opts);

typedef struct TF_ImportGraphDefResults TF_ImportGraphDefResults; /* its arrays live as long as it */
TF_CAPI_EXPORT void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults* results, int* num_outputs, TF_Output** outputs);
TF_CAPI_EXPORT void TF_ImportGraphDefResultsReturnOperations(TF_ImportGraphDefResults* results, int* num_opers, TF_Operation*** opers);
/* Input mappings that no node of the GraphDef used and whose name it does not hold. */
TF_CAPI_EXPORT void TF_ImportGraphDefResultsMissingUnusedInputMappings(TF_ImportGraphDefResults* results,
                                                                       int* num_missing_unused_input_mappings,
                                                                       const char*** src_names, int** src_indexes);
TF_CAPI_EXPORT void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults* results);
/* All or nothing: on failure NULL and the graph as it was. options may be NULL. */
TF_CAPI_EXPORT TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResults(TF_Graph* graph, const TF_Buffer* graph_def,
                                                                           const TF_ImportGraphDefOptions* options, TF_Status* status);
/* The same: in TensorFlow graph_def is a C++ object there, here it is bytes. */
TF_CAPI_EXPORT TF_ImportGraphDefResults* TF_GraphImportGraphDefWithResultsNoSerialization(TF_Graph* graph, const TF_Buffer* graph_def,
                                                                                          const TF_ImportGraphDefOptions* options,
                                                                                          TF_Status* status);
/* return_outputs has room for as many as the options ask for, which num_return_outputs must be. */
TF_CAPI_EXPORT void TF_GraphImportGraphDefWithReturnOutputs(TF_Graph* graph, const TF_Buffer* graph_def,
                                                            const TF_ImportGraphDefOptions* options, TF_Output* return_outputs,
                                                            int num_return_outputs, TF_Status* status);
TF_CAPI_EXPORT void TF_GraphImportGraphDef(TF_Graph* graph, const TF_Buffer* graph_def, const TF_ImportGraphDefOptions* options,
                                           TF_Status* status); /* without results */

/* --- functions -------------------------------------------------------------------------------------------------------------------- */
/* Adds func (and its gradient, when not NULL) to the graph's library; an equal one that is there already is fine, another of its name
 * is INVALID_ARGUMENT. */
TF_CAPI_EXPORT void TF_GraphCopyFunction(TF_Graph* g, const TF_Function* func, const TF_Function* grad, TF_Status* status);
TF_CAPI_EXPORT int TF_GraphNumFunctions(TF_Graph* g);
/* the caller's; returns how many */
TF_CAPI_EXPORT int TF_GraphGetFunctions(TF_Graph* g, TF_Function** funcs, int max_func, TF_Status* status);
/* Serialized NodeDef; the buffer is empty before. */
TF_CAPI_EXPORT void TF_OperationToNodeDef(TF_Operation* oper, TF_Buffer* output_node_def, TF_Status* status);
/* A function whose body is the named operations of fn_body (num_opers -1: all but the inputs'), whose arguments are `inputs` and whose
 * results are `outputs`. output_names NULL: named after their operations. The name gets a hash of the body appended on request. */
TF_CAPI_EXPORT TF_Function* TF_GraphToFunction(const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
                                               int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
                                               int noutputs, const TF_Output* outputs, const char* const* output_names,
                                               const TF_FunctionOptions* opts, const char* description, TF_Status* status);
/* Likewise, with operations that every call must run; control_output_names NULL: their own names. */
TF_CAPI_EXPORT TF_Function* TF_GraphToFunctionWithControlOutputs(
    const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name, int num_opers, const TF_Operation* const* opers,
    int ninputs, const TF_Output* inputs, int noutputs, const TF_Output* outputs, const char* const* output_names, int ncontrol_outputs,
    const TF_Operation* const* control_outputs, const char* const* control_output_names, const TF_FunctionOptions* opts,
    const char* description, TF_Status* status);
TF_CAPI_EXPORT const char* TF_FunctionName(TF_Function* func);
TF_CAPI_EXPORT void TF_FunctionToFunctionDef(TF_Function* func, TF_Buffer* output_func_def, TF_Status* status); /* serialized */
TF_CAPI_EXPORT TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t proto_len, TF_Status* status); /* from bytes */
/* Attrs of the function itself, as serialized AttrValues. INVALID_ARGUMENT for one that it has not. */
TF_CAPI_EXPORT void TF_FunctionSetAttrValueProto(TF_Function* func, const char* attr_name, const void* proto, size_t proto_len,
                                                 TF_Status* status);
TF_CAPI_EXPORT void TF_FunctionGetAttrValueProto(TF_Function* func, const char* attr_name, TF_Buffer* output_attr_value, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteFunction(TF_Function* func); /* graphs that have a copy keep it */

/* --- while loops ------------------------------------------------------------------------------------------------------------------- */
typedef struct TF_WhileParams {
  const int ninputs;
  TF_Graph* const cond_graph;          /* fill with a scalar bool computed from cond_inputs */
  const TF_Output* const cond_inputs;
  TF_Output cond_output;
  TF_Graph* const body_graph;          /* fill with the next values, computed from body_inputs */
  const TF_Output* const body_inputs;
  TF_Output* const body_outputs;
  const char* name;                    /* set to a name before finishing */
} TF_WhileParams;
/* A loop whose variables start as the inputs. Fill in cond_output, body_outputs and name, then call exactly one of TF_FinishWhile, which
 * writes the ninputs results, and TF_AbortWhile; both free what the params hold. On failure the params are zeroed. */
TF_CAPI_EXPORT TF_WhileParams TF_NewWhile(TF_Graph* g, TF_Output* inputs, int ninputs, TF_Status* status);
TF_CAPI_EXPORT void TF_FinishWhile(const TF_WhileParams* params, TF_Status* status, TF_Output* outputs);
TF_CAPI_EXPORT void TF_AbortWhile(const TF_WhileParams* params);

/* --- gradients --------------------------------------------------------------------------------------------------------------------- */
/* Adds operations that compute d(sum of y)/dx for nx inputs x into dy. dx has the gradients of the y (NULL: ones). An x that no y
 * depends on gets {NULL, -1}. headrace/gradients.h does more. Note the order of the last two arguments. */
TF_CAPI_EXPORT void TF_AddGradients(TF_Graph* g, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx, TF_Status* status,
                                    TF_Output* dy);
/* The same under a name scope of the caller's (NULL: "gradients"), made unique. */
TF_CAPI_EXPORT void TF_AddGradientsWithPrefix(TF_Graph* g, const char* prefix, TF_Output* y, int ny, TF_Output* x, int nx, TF_Output* dx,
                                              TF_Status* status, TF_Output* dy);
/* 1 and *result (the caller's) when the value follows from constants alone, else 0. */
TF_CAPI_EXPORT unsigned char TF_TryEvaluateConstant(TF_Graph* graph, TF_Output output, TF_Tensor** result, TF_Status* status);

/* --- sessions ---------------------------------------------------------------------------------------------------------------------- */
typedef struct TF_Session TF_Session;
/* Keeps the graph alive. opts may be deleted after. */
TF_CAPI_EXPORT TF_Session* TF_NewSession(TF_Graph* graph, const TF_SessionOptions* opts, TF_Status* status);
/* Loads the model in export_dir whose tags are exactly these into graph (which must be empty), restores its variables and runs its
 * initialiser. meta_graph_def (may be NULL; empty before) receives the serialized MetaGraphDef with its signatures. */
TF_CAPI_EXPORT TF_Session* TF_LoadSessionFromSavedModel(const TF_SessionOptions* session_options, const TF_Buffer* run_options,
                                                        const char* export_dir, const char* const* tags, int tags_len, TF_Graph* graph,
                                                        TF_Buffer* meta_graph_def, TF_Status* status);
/* Cancels what runs and waits for it. Running afterwards is CANCELLED. */
TF_CAPI_EXPORT void TF_CloseSession(TF_Session* session, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteSession(TF_Session* session, TF_Status* status); /* closes it when it is open */
/* One step. inputs[i] has the value input_values[i] (borrowed) in this step; output_values[i], the caller's, receive outputs[i];
 * target_opers run too. run_options: serialized RunOptions or NULL. run_metadata: NULL, or an empty buffer that receives serialized
 * RunMetadata. On failure all output_values are NULL. */
TF_CAPI_EXPORT void TF_SessionRun(TF_Session* session, const TF_Buffer* run_options, const TF_Output* inputs,
                                  TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs, TF_Tensor** output_values,
                                  int noutputs, const TF_Operation* const* target_opers, int ntargets, TF_Buffer* run_metadata,
                                  TF_Status* status);
/* A step in parts: names all that will be fed, fetched and run; *handle goes to TF_DeletePRunHandle. */
TF_CAPI_EXPORT void TF_SessionPRunSetup(TF_Session* session, const TF_Output* inputs, int ninputs, const TF_Output* outputs, int noutputs,
                                        const TF_Operation* const* target_opers, int ntargets, const char** handle, TF_Status* status);
/* One part: feeds some, fetches what those fed so far determine. */
TF_CAPI_EXPORT void TF_SessionPRun(TF_Session* session, const char* handle, const TF_Output* inputs, TF_Tensor* const* input_values,
                                   int ninputs, const TF_Output* outputs, TF_Tensor** output_values, int noutputs,
                                   const TF_Operation* const* target_opers, int ntargets, TF_Status* status);
TF_CAPI_EXPORT void TF_DeletePRunHandle(const char* handle); /* ends the step when it is not through */

/* --- sessions without a graph object (the oldest interface) -------------------------------------------------------------------------- */
typedef struct TF_DeprecatedSession TF_DeprecatedSession;
TF_CAPI_EXPORT TF_DeprecatedSession* TF_NewDeprecatedSession(const TF_SessionOptions* options, TF_Status* status);
TF_CAPI_EXPORT void TF_CloseDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteDeprecatedSession(TF_DeprecatedSession* session, TF_Status* status);
/* Clears the named containers (none: the default one) of every session in this process whose target is the options'. */
TF_CAPI_EXPORT void TF_Reset(const TF_SessionOptions* opt, const char** containers, int ncontainers, TF_Status* status);
/* Adds a serialized GraphDef's nodes to the session's graph. */
TF_CAPI_EXPORT void TF_ExtendGraph(TF_DeprecatedSession* session, const void* proto, size_t proto_len, TF_Status* status);
/* Like TF_SessionRun with names ("x", "x:1"). Takes the input tensors: they are deleted, also on failure. */
TF_CAPI_EXPORT void TF_Run(TF_DeprecatedSession* session, const TF_Buffer* run_options, const char** input_names, TF_Tensor** inputs,
                           int ninputs, const char** output_names, TF_Tensor** outputs, int noutputs, const char** target_oper_names,
                           int ntargets, TF_Buffer* run_metadata, TF_Status* status);
/* by name */
TF_CAPI_EXPORT void TF_PRunSetup(TF_DeprecatedSession* session, const char** input_names, int ninputs, const char** output_names,
                                 int noutputs, const char** target_oper_names, int ntargets, const char** handle, TF_Status* status);
TF_CAPI_EXPORT void TF_PRun(TF_DeprecatedSession* session, const char* handle, const char** input_names, TF_Tensor** inputs, int ninputs,
                            const char** output_names, TF_Tensor** outputs, int noutputs, const char** target_oper_names, int ntargets,
                            TF_Status* status); /* by name; takes the inputs */

/* --- devices ----------------------------------------------------------------------------------------------------------------------- */
typedef struct TF_DeviceList TF_DeviceList;
TF_CAPI_EXPORT TF_DeviceList* TF_SessionListDevices(TF_Session* session, TF_Status* status);                      /* the caller's */
TF_CAPI_EXPORT TF_DeviceList* TF_DeprecatedSessionListDevices(TF_DeprecatedSession* session, TF_Status* status);  /* the caller's */
TF_CAPI_EXPORT void TF_DeleteDeviceList(TF_DeviceList* list);
TF_CAPI_EXPORT int TF_DeviceListCount(const TF_DeviceList* list);
/* Of device `index`; INVALID_ARGUMENT for one that is not there. Name: "/job:localhost/replica:0/task:0/device:CPU:0"; type: "CPU". */
TF_CAPI_EXPORT const char* TF_DeviceListName(const TF_DeviceList* list, int index, TF_Status* status);
TF_CAPI_EXPORT const char* TF_DeviceListType(const TF_DeviceList* list, int index, TF_Status* status);
TF_CAPI_EXPORT int64_t TF_DeviceListMemoryBytes(const TF_DeviceList* list, int index, TF_Status* status);     /* -1 on failure */
/* differs between lives of a device */
TF_CAPI_EXPORT uint64_t TF_DeviceListIncarnation(const TF_DeviceList* list, int index, TF_Status* status);

/* --- ops and libraries ------------------------------------------------------------------------------------------------------------- */
typedef struct TF_Library TF_Library;
/* Opens a shared library whose start-up code, or whose function TF_InitKernel, registers ops and kernels (ops.h, kernels.h). Opening one
 * twice gives the same list. */
TF_CAPI_EXPORT TF_Library* TF_LoadLibrary(const char* library_filename, TF_Status* status);
/* Serialized OpList of what the library registered; owned by the handle. */
TF_CAPI_EXPORT TF_Buffer TF_GetOpList(TF_Library* lib_handle);
TF_CAPI_EXPORT void TF_DeleteLibraryHandle(TF_Library* lib_handle); /* the ops stay registered, the code loaded */
TF_CAPI_EXPORT TF_Buffer* TF_GetAllOpList(void);                    /* serialized OpList of all ops, by name; the caller's */

typedef struct TF_ApiDefMap TF_ApiDefMap; /* documentation of ops: UNIMPLEMENTED for now */
TF_CAPI_EXPORT TF_ApiDefMap* TF_NewApiDefMap(TF_Buffer* op_list_buffer, TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteApiDefMap(TF_ApiDefMap* apimap);
TF_CAPI_EXPORT void TF_ApiDefMapPut(TF_ApiDefMap* api_def_map, const char* text, size_t text_len, TF_Status* status);
TF_CAPI_EXPORT TF_Buffer* TF_ApiDefMapGet(TF_ApiDefMap* api_def_map, const char* name, size_t name_len, TF_Status* status);
/* serialized KernelList; the caller's */
TF_CAPI_EXPORT TF_Buffer* TF_GetAllRegisteredKernels(TF_Status* status);
TF_CAPI_EXPORT TF_Buffer* TF_GetRegisteredKernelsForOp(const char* name, TF_Status* status);         /* of one op */

/* --- changing a graph --------------------------------------------------------------------------------------------------------------- */
/* Input dst comes from new_src from now on; the types must agree. Sessions that ran the operation keep the old edge. */
TF_CAPI_EXPORT void TF_UpdateEdge(TF_Graph* graph, TF_Output new_src, TF_Input dst, TF_Status* status);
TF_CAPI_EXPORT void TF_AddOperationControlInput(TF_Graph* graph, TF_Operation* op, TF_Operation* input); /* op runs after input */
TF_CAPI_EXPORT void TF_SetAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name, TF_Buffer* attr_value_proto,
                               TF_Status* status); /* UNIMPLEMENTED but for names that begin with "_" */
TF_CAPI_EXPORT void TF_ClearAttr(TF_Graph* graph, TF_Operation* op, const char* attr_name, TF_Status* status); /* likewise */
TF_CAPI_EXPORT void TF_SetFullType(TF_Graph* graph, TF_Operation* op, const TF_Buffer* full_type_proto);       /* ignored */
/* for sessions yet to run it */
TF_CAPI_EXPORT void TF_SetRequestedDevice(TF_Graph* graph, TF_Operation* op, const char* device);
TF_CAPI_EXPORT void TF_RemoveAllControlInputs(TF_Graph* graph, TF_Operation* op);
TF_CAPI_EXPORT void TF_SetRequireShapeInferenceFns(TF_Graph* graph, bool require); /* ignored: every op has one */
TF_CAPI_EXPORT void TF_ExtendSession(TF_Session* session, TF_Status* status);      /* nothing to do: runs see new nodes */
/* What is known of the value behind a resource output: serialized CppShapeInferenceResult.HandleData, the caller's. */
TF_CAPI_EXPORT TF_Buffer* TF_GetHandleShapeAndType(TF_Graph* graph, TF_Output output);
TF_CAPI_EXPORT void TF_SetHandleShapeAndType(TF_Graph* graph, TF_Output output, const void* proto, size_t proto_len,
                                             TF_Status* status); /* sets it */
/* One more variable of a While or StatelessWhile node, which starts as new_src; its functions are the caller's to change. */
TF_CAPI_EXPORT void TF_AddWhileInputHack(TF_Graph* graph, TF_Output new_src, TF_Operation* dst, TF_Status* status);

/* --- servers; options beyond these: headrace/server.h -------------------------------------------------------------------------------- */
typedef struct TF_Server TF_Server;
TF_CAPI_EXPORT TF_Server* TF_NewServer(const void* proto, size_t proto_len, TF_Status* status); /* a serialized ServerDef */
TF_CAPI_EXPORT void TF_ServerStart(TF_Server* server, TF_Status* status);
TF_CAPI_EXPORT void TF_ServerStop(TF_Server* server, TF_Status* status);
TF_CAPI_EXPORT void TF_ServerJoin(TF_Server* server, TF_Status* status);
TF_CAPI_EXPORT const char* TF_ServerTarget(TF_Server* server);
TF_CAPI_EXPORT void TF_DeleteServer(TF_Server* server);

/* --- log, plugins --------------------------------------------------------------------------------------------------------------------- */
/* Each message from now on goes to the listener too (one line, "W message"); any thread may call it. NULL ends that. */
TF_CAPI_EXPORT void TF_RegisterLogListener(void (*listener)(const char*));
TF_CAPI_EXPORT void TF_RegisterFilesystemPlugin(const char* plugin_filename, TF_Status* status); /* UNIMPLEMENTED */

#ifdef __cplusplus
}
#endif
#endif
