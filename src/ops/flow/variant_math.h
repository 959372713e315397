/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise over all tensors that a variant holds (a list, an optional value): the kernels of AddN and ZerosLike for variants. */
#ifndef HR_OPS_FLOW_VARIANT_MATH_H
#define HR_OPS_FLOW_VARIANT_MATH_H
#include "op/kernel_ctx.h"

hr_status_t hr_variant_math_add_n(hr_kernel_ctx_t* k);
hr_status_t hr_variant_math_zeros_like(hr_kernel_ctx_t* k);
#endif
