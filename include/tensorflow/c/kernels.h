/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for ops, defined at run time: functions that make, run and delete an object for each node of a session.
 *
 * create_func runs once for a node (NULL: no object) and reads attrs; compute_func runs in every step, in several threads at once when
 * several steps run, and must set every output or fail; delete_func runs when the session no longer needs the node. A failure is
 * reported with TF_OpKernelConstruction_Failure or TF_OpKernelContext_Failure.
 * Tensors given by these functions are handles of the kernel's own: TF_DeleteTensor each. Contexts live for the call only. */
#ifndef TENSORFLOW_C_KERNELS_H_
#define TENSORFLOW_C_KERNELS_H_
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;
typedef struct SP_Stream_st* SP_Stream; /* what the device's stream_create gave (headrace/device.h) */

/* Ends an asynchronous compute: exactly once for each, from any thread, after its outputs are set. */
TF_CAPI_EXPORT void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback* done);

/* A library for TF_LoadLibrary may define this; it is called when the library is opened. */
TF_CAPI_EXPORT void TF_InitKernel(void);

/* --- registering -------------------------------------------------------------------------------------------------------------------- */
/* device_name: "CPU", or the type of a device (headrace/device.h), which may come later. On a device, tensors' data are its addresses,
 * compute puts its work on TF_GetStream's stream and returns; inputs, outputs and TF_AllocateTemp's memory stay until the stream has done
 * what it was given. Only nodes whose values are plain bytes run there. NULL when out of memory. */
TF_CAPI_EXPORT TF_KernelBuilder* TF_NewKernelBuilder(const char* op_name, const char* device_name,
                                                     void* (*create_func)(TF_OpKernelConstruction*),
                                                     void (*compute_func)(void*, TF_OpKernelContext*), void (*delete_func)(void*));
/* For a compute that ends in another thread: the step waits for TF_RunAsyncOpKernelDoneCallback(done), which must come. */
TF_CAPI_EXPORT TF_KernelBuilder* TF_NewAsyncKernelBuilder(const char* op_name, const char* device_name,
                                                          void* (*create_func)(TF_OpKernelConstruction*),
                                                          void (*compute_async_func)(void*, TF_OpKernelContext*,
                                                                                     TF_AsyncOpKernelDoneCallback* done),
                                                          void (*delete_func)(void*));
/* Only for nodes whose type attr has this type; several calls for one attr: one of these. INVALID_ARGUMENT for more than three attrs. */
TF_CAPI_EXPORT void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder* kernel_builder, const char* attr_name, TF_DataType type,
                                                    TF_Status* status);
/* An input or output argument, by its name, that lies in host memory although the device has its own. INVALID_ARGUMENT at registration for
 * one that the op has not. */
TF_CAPI_EXPORT void TF_KernelBuilder_HostMemory(TF_KernelBuilder* kernel_builder, const char* arg_name);
TF_CAPI_EXPORT void TF_KernelBuilder_Priority(TF_KernelBuilder* kernel_builder, int32_t priority_number); /* higher is tried first */
/* A kernel that serves only nodes that ask for it: registering one is UNIMPLEMENTED for now. */
TF_CAPI_EXPORT void TF_KernelBuilder_Label(TF_KernelBuilder* kernel_builder, const char* label);
/* Consumes the builder, also on failure. NOT_FOUND for an op that is not registered. kernel_name is for people. */
TF_CAPI_EXPORT void TF_RegisterKernelBuilder(const char* kernel_name, TF_KernelBuilder* builder, TF_Status* status);
/* Likewise, with constraints from a serialized KernelDef. UNIMPLEMENTED. */
TF_CAPI_EXPORT void TF_RegisterKernelBuilderWithKernelDef(const char* serialized_kernel_def, const char* name, TF_KernelBuilder* builder,
                                                          TF_Status* status);
TF_CAPI_EXPORT void TF_DeleteKernelBuilder(TF_KernelBuilder* builder); /* one that was not registered; accepts NULL */

/* --- in compute ---------------------------------------------------------------------------------------------------------------------- */
TF_CAPI_EXPORT SP_Stream TF_GetStream(TF_OpKernelContext* ctx, TF_Status* status); /* UNIMPLEMENTED on the CPU, which has none */
TF_CAPI_EXPORT int TF_NumInputs(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT int TF_NumOutputs(TF_OpKernelContext* ctx);
/* Input i: read-only, a handle of the kernel's own. OUT_OF_RANGE for one that is not there. */
TF_CAPI_EXPORT void TF_GetInput(TF_OpKernelContext* ctx, int i, TF_Tensor** tensor, TF_Status* status);

/* Which inputs an argument stands for: [start, stop). */
typedef struct TF_InputRange_Args {
  size_t struct_size; /* TF_InputRange_Args_STRUCT_SIZE */
  void* priv;
  int start;
  int stop;
  TF_Status* status;
} TF_InputRange_Args;
#define TF_InputRange_Args_STRUCT_SIZE TF_OFFSET_OF_END(TF_InputRange_Args, status)
TF_CAPI_EXPORT void TF_InputRange(TF_OpKernelContext* ctx, const char* name, TF_InputRange_Args* args); /* by the argument's name */
TF_CAPI_EXPORT TF_DataType TF_InputDatatype(TF_OpKernelContext* ctx, int index); /* of an input */
/* Output i is this tensor from now on; shared. OUT_OF_RANGE, or INVALID_ARGUMENT for another type than declared. */
TF_CAPI_EXPORT void TF_SetOutput(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor, TF_Status* status);
TF_CAPI_EXPORT TF_Tensor* TF_GetMutableOutput(TF_OpKernelContext* ctx, int i, TF_Status* status); /* one allocated before */
TF_CAPI_EXPORT void TF_GetSerializedFunctionDefLibrary(TF_OpKernelContext* ctx, TF_Buffer* serialized_function_def_library,
                                                       TF_Status* status); /* UNIMPLEMENTED */
/* UNIMPLEMENTED */
TF_CAPI_EXPORT void TF_GetSerializedConfigProto(TF_OpKernelContext* ctx, TF_Buffer* serialized_config_proto, TF_Status* status);
TF_CAPI_EXPORT void TF_GetSerializedResourceHandleProto(TF_OpKernelContext* ctx, int i, TF_Buffer* serialized_resource_handle_proto,
                                                        TF_Status* status); /* of resource input i */
/* The step fails with this status. */
TF_CAPI_EXPORT void TF_OpKernelContext_Failure(TF_OpKernelContext* ctx, TF_Status* status);
TF_CAPI_EXPORT TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext* ctx, int i); /* of output i; 0 for one that is not there */
TF_CAPI_EXPORT bool TF_IsHostMemoryInput(TF_OpKernelContext* ctx, int i, TF_Status* status);  /* all are, on the CPU */
TF_CAPI_EXPORT bool TF_IsHostMemoryOutput(TF_OpKernelContext* ctx, int i, TF_Status* status); /* all are, on the CPU */
TF_CAPI_EXPORT int64_t TF_StepId(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT uint64_t TF_GetFrameId(TF_OpKernelContext* ctx); /* 0: loops are not numbered */
TF_CAPI_EXPORT int64_t TF_GetIterId(TF_OpKernelContext* ctx);   /* 0 */
TF_CAPI_EXPORT int64_t TF_GetStepId(TF_OpKernelContext* ctx);   /* TF_StepId */
TF_CAPI_EXPORT int TF_GetDeviceId(TF_OpKernelContext* ctx);     /* the number among its type */
TF_CAPI_EXPORT TF_StringView TF_GetDeviceName(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT int TF_GetGraphDefVersion(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT TF_StringView TF_GetOpKernelName(TF_OpKernelContext* ctx); /* the node's */
TF_CAPI_EXPORT TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext* ctx);
TF_CAPI_EXPORT TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext* ctx, size_t index); /* empty: not kept */
/* A new output; dtype must be the declared one, len the size of the elements. NULL on failure. */
TF_CAPI_EXPORT TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType dtype, const int64_t* dims, int num_dims,
                                            size_t len, TF_Status* status);
/* The first candidate input that nobody else needs and that fits becomes the output (*forwarded_input, may be NULL, is its number), else
 * a new one is made (-1). */
TF_CAPI_EXPORT TF_Tensor* TF_ForwardInputOrAllocateOutput(TF_OpKernelContext* context, const int* candidate_input_indices,
                                                          int num_candidate_input_indices, int output_index, const int64_t* output_dims,
                                                          int output_num_dims, int* forwarded_input, TF_Status* status);
/* Scratch. alloc_attrs may be NULL. */
TF_CAPI_EXPORT TF_Tensor* TF_AllocateTemp(TF_OpKernelContext* context, TF_DataType dtype, const int64_t* dims, int num_dims,
                                          TF_AllocatorAttributes* alloc_attrs, TF_Status* status);
TF_CAPI_EXPORT void TF_IncNumDeferredOps(TF_OpKernelContext* context); /* no effect: a step waits for its kernels */
TF_CAPI_EXPORT void TF_DecNumDeferredOps(TF_OpKernelContext* context); /* no effect */

/* --- in create ----------------------------------------------------------------------------------------------------------------------- */
/* Making the kernel fails with this status. */
TF_CAPI_EXPORT void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* ctx, TF_Status* status);
/* name, op, attrs; the caller's */
TF_CAPI_EXPORT TF_Buffer* TF_OpKernelConstruction_GetNodeDef(TF_OpKernelConstruction* ctx, TF_Status* status);
TF_CAPI_EXPORT TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction* ctx);                    /* the node's */
TF_CAPI_EXPORT bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Status* status);
/* *list_size: elements, -1 when it is no list. *total_size: bytes of a string or strings, dims of a shape or shapes, else -1. */
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* ctx, const char* attr_name, int32_t* list_size,
                                                        int32_t* total_size, TF_Status* status);
/* Values by kind; INVALID_ARGUMENT for another kind or name, or an int that does not fit. Lists: the first max_vals. */
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction* ctx, const char* attr_name, TF_DataType* val,
                                                        TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt32(TF_OpKernelConstruction* ctx, const char* attr_name, int32_t* val,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction* ctx, const char* attr_name, int64_t* val,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrFloat(TF_OpKernelConstruction* ctx, const char* attr_name, float* val,
                                                         TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrBool(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Bool* val,
                                                        TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* ctx, const char* attr_name, char* val, size_t max_length,
                                                          TF_Status* status); /* no NUL */
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Tensor** val,
                                                          TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTypeList(TF_OpKernelConstruction* ctx, const char* attr_name, TF_DataType* vals,
                                                            int max_vals,
                                                            TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction* ctx, const char* attr_name, int32_t* vals,
                                                             int max_vals,
                                                             TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction* ctx, const char* attr_name, int64_t* vals,
                                                             int max_vals,
                                                             TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrFloatList(TF_OpKernelConstruction* ctx, const char* attr_name, float* vals, int max_vals,
                                                             TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrBoolList(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Bool* vals,
                                                            int max_vals,
                                                            TF_Status* status);
/* values[i], lengths[i] point into storage (total_size bytes). */
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction* ctx, const char* attr_name, char** values,
                                                              size_t* lengths, int max_values, void* storage, size_t storage_size,
                                                              TF_Status* status);
TF_CAPI_EXPORT void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Tensor** vals,
                                                              int max_values, TF_Status* status);
/* Serialized NameAttrList; the caller's. */
TF_CAPI_EXPORT TF_Buffer* TF_OpKernelConstruction_GetAttrFunction(TF_OpKernelConstruction* ctx, const char* attr_name, TF_Status* status);

#ifdef __cplusplus
}
#endif
#endif
