/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that were defined at run time, as the files of capi/ share them. */
#ifndef HR_CAPI_KERNEL_H
#define HR_CAPI_KERNEL_H
#include "capi/handles.h"
#include "base/vec.h"
#include "op/kernel_ctx.h"
#include "rt/step.h"
#include "tensorflow/c/kernels.h"

/* What a client registered; lives as long as the process. The row's `arg` points here. */
struct TF_KernelBuilder {
  char *op_name, *device, *label;
  HR_VEC(char*) host_args; /* names */
  void* (*create)(TF_OpKernelConstruction*);
  void (*compute)(void*, TF_OpKernelContext*);
  void (*compute_async)(void*, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback*);
  void (*destroy)(void*);
  hr_kernel_t row;
  hr_status_t failure; /* sticky until registering */
};

/* One node's object: the row's prepared memory, or its state when the op is stateful. */
typedef struct {
  void* object;
  void (*destroy)(void*);
  const hr_op_def_t* def;
  int32_t* starts; /* first input of each argument, and the number of inputs */
} hr_capi_kernel_t;

struct TF_OpKernelConstruction {
  hr_prepare_ctx_t* prepare;
  hr_status_t failure;
};
struct TF_OpKernelContext {
  hr_kernel_ctx_t* ctx; /* its `own` is set on a device */
  const hr_capi_kernel_t* kernel;
  hr_status_t failure;
};
#endif
