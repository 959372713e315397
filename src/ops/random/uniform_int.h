/* SPDX-License-Identifier: Apache-2.0 */
/* Uniform integers from a stream, for the stateful and the stateless op. */
#ifndef HR_OPS_RANDOM_UNIFORM_INT_H
#define HR_OPS_RANDOM_UNIFORM_INT_H
#include "base/rng.h"
#include "op/kernel_ctx.h"

/* Reads inputs `input` (minval) and the next (maxval). INVALID_ARGUMENT unless minval < maxval; an empty output takes any. */
HR_MUST_USE hr_status_t hr_uniform_int_bounds(const hr_kernel_ctx_t* k, int input, bool is_empty, int64_t* least, uint64_t* range);
/* least + word mod range; out is int32 or int64; range > 0 unless out is empty. */
HR_MUST_USE hr_status_t hr_uniform_int_fill(hr_kernel_ctx_t* k, const hr_rng_t* from, int64_t least, uint64_t range, hr_tensor_t* out);
#endif
