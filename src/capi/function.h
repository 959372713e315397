/* SPDX-License-Identifier: Apache-2.0 */
/* How the files that make functions hand them over. */
#ifndef HR_CAPI_FUNCTION_H
#define HR_CAPI_FUNCTION_H
#include "capi/handles.h"

/* From the bytes of a FunctionDef (a block of hr_alloc, taken also on failure). */
HR_MUST_USE hr_status_t hr_capi_function_create(char* take_bytes, size_t size, TF_Function** out);
#endif
