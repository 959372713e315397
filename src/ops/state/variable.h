/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels that work on a variable: the object behind a reference input or a handle input alike. */
#ifndef HR_OPS_STATE_VARIABLE_H
#define HR_OPS_STATE_VARIABLE_H
#include "op/infer.h"
#include "op/kernel_ctx.h"
#include "rt/variable.h"

/* Borrowed for the call. INVALID_ARGUMENT when the input is neither. */
HR_MUST_USE hr_status_t hr_variable_input(const hr_kernel_ctx_t* k, int input, hr_variable_t** out);
/* The shape that handle input 0 says its variable has, NULL when it does not. INVALID_ARGUMENT when it says another dtype than `wanted`. */
HR_MUST_USE hr_status_t hr_variable_infer_held(hr_infer_t* s, hr_dtype_t wanted, const hr_pshape_t** out);
#endif
