/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions beyond tensorflow/c/c_api.h: ending a step from another thread, sessions that share variables, prepared calls. */
#ifndef HEADRACE_SESSION_H_
#define HEADRACE_SESSION_H_
#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- devices ------------------------------------------------------------------------------------------------------------------------- */
/* Opens a library that brings devices (headrace/device.h); sessions made afterwards have them. NOT_FOUND, or what is wrong with its table;
 * ALREADY_EXISTS when its type is there. */
TF_CAPI_EXPORT void HR_LoadDeviceLibrary(const char* path, TF_Status* status);
struct HR_DeviceTable;
/* The same for a table in this program; it is copied, what it points to must stay. */
TF_CAPI_EXPORT void HR_RegisterDevice(const struct HR_DeviceTable* table, TF_Status* status);

/* --- sharing state ------------------------------------------------------------------------------------------------------------------- */
/* Sessions made with these options see the containers (variables, queues...) of `session`, which may be deleted before them: a training
 * and an evaluation graph over one set of variables, matched by name. NULL: containers of their own again. */
TF_CAPI_EXPORT void HR_ShareContainers(TF_SessionOptions* options, TF_Session* session);
/* Forgets the variables, queues... of a container ("" or NULL: the default one). Nodes that ran before keep the objects they found;
 * nodes that run for the first time, in this session or in one that shares its containers, find new ones. */
TF_CAPI_EXPORT void HR_ClearContainer(TF_Session* session, const char* container);

/* --- cancelling one step ------------------------------------------------------------------------------------------------------------- */
typedef struct HR_Cancellation HR_Cancellation;
TF_CAPI_EXPORT HR_Cancellation* HR_NewCancellation(void);              /* NULL: out of memory */
TF_CAPI_EXPORT void HR_DeleteCancellation(HR_Cancellation* c);         /* accepts NULL; no step may be using it */
/* Ends the steps that run with it, and those to come, with CANCELLED; from any thread, any number of times. Returns at once. */
TF_CAPI_EXPORT void HR_Cancel(HR_Cancellation* c);
/* TF_SessionRun that HR_Cancel(cancel) ends; cancel may be NULL. */
TF_CAPI_EXPORT void HR_SessionRun(TF_Session* session, const TF_Buffer* run_options, HR_Cancellation* cancel, const TF_Output* inputs,
                                  TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs, TF_Tensor** output_values,
                                  int noutputs, const TF_Operation* const* target_opers, int ntargets, TF_Buffer* run_metadata,
                                  TF_Status* status);

/* --- callables: a step prepared once, run often -------------------------------------------------------------------------------------- */
typedef struct HR_Callable HR_Callable; /* any number of threads may run one; delete it before its session */
/* What will be fed, fetched and run. NULL on failure. */
TF_CAPI_EXPORT HR_Callable* HR_NewCallable(TF_Session* session, const TF_Output* inputs, int ninputs, const TF_Output* outputs,
                                           int noutputs,
                                           const TF_Operation* const* target_opers, int ntargets, TF_Status* status);
/* One step: values in the order of `inputs`, results in the order of `outputs`, as TF_SessionRun. options, cancel and run_metadata may be
 * NULL. */
TF_CAPI_EXPORT void HR_CallableRun(HR_Callable* callable, const TF_Buffer* run_options, HR_Cancellation* cancel,
                                   TF_Tensor* const* input_values, TF_Tensor** output_values, TF_Buffer* run_metadata, TF_Status* status);
TF_CAPI_EXPORT void HR_DeleteCallable(HR_Callable* callable); /* accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
