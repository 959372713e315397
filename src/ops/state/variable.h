/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels that work on a variable: the object behind a reference input or a handle input alike. */
#ifndef HR_OPS_STATE_VARIABLE_H
#define HR_OPS_STATE_VARIABLE_H
#include "op/kernel_ctx.h"
#include "rt/variable.h"

/* Borrowed for the call. INVALID_ARGUMENT when the input is neither. */
HR_MUST_USE hr_status_t hr_variable_input(const hr_kernel_ctx_t* k, int input, hr_variable_t** out);
#endif
