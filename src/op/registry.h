/* SPDX-License-Identifier: Apache-2.0 */
/* The op registry: the manifest's sorted const array (handed over by manifest/ at start-up), plus ops and kernels added at run time
 * (C API, loaded libraries). Look-up is thread-safe; entries are never removed. */
#ifndef HR_OP_REGISTRY_H
#define HR_OP_REGISTRY_H
#include "op/sig.h"

void hr_registry_set_manifest(const hr_op_t* const* sorted, int count); /* once, before any look-up */
/* NULL: unknown. Parses the signature at the first look-up. NOT_FOUND names the op; other failures: malformed signature, memory. */
HR_MUST_USE hr_status_t hr_registry_find(hr_str_t name, const hr_op_def_t** out);
HR_MUST_USE hr_status_t hr_registry_add(const hr_op_t* op);       /* borrowed for the process's life; ALREADY_EXISTS */
/* Copied; tried after the op's own of the same priority. */
HR_MUST_USE hr_status_t hr_registry_add_kernel(const char* op_name, const hr_kernel_t* kernel);
HR_MUST_USE hr_status_t hr_registry_set_grad(const char* op_name, hr_grad_fn_t grad); /* for run-time ops; ALREADY_EXISTS if it has one */
hr_grad_fn_t hr_registry_grad(const hr_op_def_t* def);
/* All registered ops in name order: visit returns false to stop. */
void hr_registry_each(bool (*visit)(const hr_op_def_t* def, void* arg), void* arg);

/* The kernel for a node's attrs; NOT_FOUND with op, types and the list of what is supported ("op 'X' has no kernel for T=...");
 * UNIMPLEMENTED for an op that has no kernel at all. */
HR_MUST_USE hr_status_t hr_registry_kernel(const hr_op_def_t* def, const hr_attr_t* attrs, const hr_kernel_t** out);
/* The kernel that devices of a type have of their own for such a node; NULL when there is none. */
const hr_kernel_t* hr_registry_device_kernel(const hr_op_def_t* def, const hr_attr_t* attrs, const char* device_type);
/* Kernels that were added at run time, in order; NULL at the end. The manifest's are in def->op. */
const hr_kernel_t* hr_registry_added_kernel(const hr_op_def_t* def, int index);
#endif
