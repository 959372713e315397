/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a tensor with random numbers from a stream, on all cores; the numbers do not depend on how many there are. */
#ifndef HR_OPS_RANDOM_FILL_H
#define HR_OPS_RANDOM_FILL_H
#include "base/rng.h"
#include "op/infer.h"
#include "op/kernel_ctx.h"

typedef enum { HR_FILL_UNIFORM, HR_FILL_NORMAL, HR_FILL_TRUNCATED } hr_fill_t;
enum { HR_FILL_CALLS = 256 }; /* calls that an output element may use: how far a stateful stream moves for each */

/* The first element comes from the call that `from` stands at. out: float, double, half or bfloat16. */
HR_MUST_USE hr_status_t hr_fill_run(hr_kernel_ctx_t* k, hr_fill_t what, const hr_rng_t* from, hr_tensor_t* out);

/* The common shape function and the common first step of the kernels: input 0 is the output's shape. */
hr_status_t hr_fill_infer(hr_infer_t* s);
HR_MUST_USE hr_status_t hr_fill_output(hr_kernel_ctx_t* k, hr_tensor_t** out);
#endif
