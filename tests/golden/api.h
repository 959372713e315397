/* SPDX-License-Identifier: Apache-2.0 */
/* The library under test: every function of TensorFlow's C API that the golden runner calls, taken from a library opened at run time,
 * so that the same program runs on libheadrace.so and on TensorFlow's own library. `api.TF_Name(...)` calls; one library a process. */
#ifndef GOLDEN_API_H
#define GOLDEN_API_H
#include "tensorflow/c/c_api.h"

#define GOLDEN_API(X)                                                                                                                     \
  X(TF_Version)                                                                                                                           \
  X(TF_NewStatus)                                                                                                                         \
  X(TF_DeleteStatus) X(TF_GetCode) X(TF_Message) X(TF_SetStatus) X(TF_NewBufferFromString) X(TF_DeleteBuffer) X(TF_NewGraph)              \
      X(TF_DeleteGraph) X(TF_NewImportGraphDefOptions) X(TF_DeleteImportGraphDefOptions) X(TF_GraphImportGraphDef)                        \
          X(TF_GraphOperationByName) X(TF_OperationNumOutputs) X(TF_OperationGetAttrTensor) X(TF_GraphGetTensorNumDims)                   \
              X(TF_GraphGetTensorShape) X(TF_AddGradients) X(TF_NewSessionOptions) X(TF_DeleteSessionOptions) X(TF_SetConfig)             \
                  X(TF_SetTarget) X(TF_NewSession) X(TF_CloseSession) X(TF_DeleteSession) X(TF_SessionRun) X(TF_TensorType) X(TF_NumDims) \
                      X(TF_Dim) X(TF_TensorByteSize) X(TF_TensorElementCount) X(TF_TensorData) X(TF_DeleteTensor)                         \
                          X(TF_StringGetDataPointer) X(TF_StringGetSize)

#define GOLDEN_API_FIELD(name) __typeof__(name)* name;
typedef struct {
  GOLDEN_API(GOLDEN_API_FIELD)
} golden_api_t;
#undef GOLDEN_API_FIELD
extern golden_api_t api;

/* Opens the libraries in order and takes the functions from the last; prints what is missing and gives 0 on failure. */
int golden_api_open(char** libraries, int count);
#endif
