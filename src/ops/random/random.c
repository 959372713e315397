/* SPDX-License-Identifier: Apache-2.0 */
/* Random floats of a given shape: RandomUniform in [0, 1), RandomStandardNormal, TruncatedNormal (normal, within 2). Seeded, the numbers
 * are TensorFlow's bit for bit. */
#include "op/grad_ctx.h"
#include "ops/random/fill.h"
#include "ops/random/generator.h"

extern const hr_op_t hr_op_RandomUniform, hr_op_RandomStandardNormal, hr_op_TruncatedNormal;

static hr_status_t random_fill(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  HR_TRY(hr_fill_output(k, &out));
  const hr_rng_t from = hr_generator_take(hr_state(k), (uint64_t)out->count * HR_FILL_CALLS);
  return hr_fill_run(k, (hr_fill_t)(intptr_t)hr_kernel_arg(k), &from, out);
}

#define RANDOM(Name, what, text)                                                                                          \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                            \
                                .sig = "shape: T -> output: dtype",                                                       \
                                .attrs = HR_SEED_ATTRS "; dtype: type{half,bfloat16,float,double}; T: type{int32,int64}", \
                                .flags = HR_OP_STATEFUL,                                                                  \
                                .shape = hr_fill_infer,                                                                   \
                                .grad = hr_grad_none,                                                                     \
                                HR_KERNELS({.where = {{"dtype", HR_M_REAL_FLOAT}},                                        \
                                            .host_inputs = 1,                                                             \
                                            HR_GENERATOR_STATE,                                                           \
                                            .compute = random_fill,                                                       \
                                            .arg = (const void*)(intptr_t)what}),                                         \
                                .doc = text,                                                                              \
                                HR_HERE}
RANDOM(RandomUniform, HR_FILL_UNIFORM, "uniform numbers in [0, 1)");
RANDOM(RandomStandardNormal, HR_FILL_NORMAL, "normal numbers of mean 0 and deviation 1");
RANDOM(TruncatedNormal, HR_FILL_TRUNCATED, "normal numbers of mean 0 and deviation 1, drawn again beyond 2");
