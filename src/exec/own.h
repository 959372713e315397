/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for which their device has a kernel of its own (tensorflow/c/kernels.h, TF_NewKernelBuilder with the device's type). Its compute
 * function is given tensors whose data are addresses of the device's, makes outputs there, puts work on the call's stream and returns; the
 * node has ended when the stream has done what it was given. Arguments that were named to TF_KernelBuilder_HostMemory lie on the host. */
#ifndef HR_EXEC_OWN_H
#define HR_EXEC_OWN_H
#include "graph/graph.h"
#include "op/kernel_ctx.h"
#include "rt/device.h"

/* The kernel that a device has of its own for a node; NULL: none, or the device cannot tell when its streams have ended. */
const hr_kernel_t* hr_own_kernel(const hr_device_t* device, const hr_node_t* n);
/* A site whose kernel is a row of the device's: changes it into one that calls that kernel. */
HR_MUST_USE hr_status_t hr_own_site(hr_arena_t* arena, const hr_device_t* device, hr_site_t* site, const hr_node_t* n);
/* Nodes that touch no element, so that any device without kernels for them runs the host's: constants, identities, no-ops. */
bool hr_own_passes_on(const hr_node_t* n);

/* --- for a kernel at work: hr_kernel_ctx_t's `own`, NULL on the host ----------------------------------------------------------------- */
typedef struct hr_own_call hr_own_call_t;
void* hr_own_stream(const hr_own_call_t* c);
const char* hr_own_device(const hr_own_call_t* c, int32_t* out_ordinal); /* full name */
bool hr_own_input_is_host(const hr_own_call_t* c, int32_t i);
bool hr_own_output_is_host(const hr_own_call_t* c, int32_t i);
/* Output i in device memory; or scratch, there or on the host, that stays until the stream has done its work. *out is borrowed. */
HR_MUST_USE hr_status_t hr_own_output(hr_own_call_t* c, hr_kernel_ctx_t* k, int32_t i, const hr_shape_t* shape, hr_tensor_t** out);
HR_MUST_USE hr_status_t hr_own_temp(hr_own_call_t* c, hr_dtype_t dtype, const hr_shape_t* shape, bool on_host, hr_tensor_t** out);
#endif
