/* SPDX-License-Identifier: Apache-2.0 */
/* An optional value: what the one element of its variant tensor refers to (tensor/handle.h). Once made it does not change. */
#ifndef HR_OPS_FLOW_OPTIONAL_H
#define HR_OPS_FLOW_OPTIONAL_H
#include "op/kernel_ctx.h"

typedef struct {
  int32_t count; /* 0: none */
  hr_tensor_t values[];
} hr_optional_t;

const hr_optional_t* hr_optional_in(const hr_handle_t* h); /* NULL: something else, or h is NULL */
/* For `count` values, which the maker fills in by *out_values; they may stay empty. */
HR_MUST_USE hr_status_t hr_optional_create(int32_t count, hr_handle_t** out, hr_tensor_t** out_values);
#endif
