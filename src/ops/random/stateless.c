/* SPDX-License-Identifier: Apache-2.0 */
/* Stateless random numbers: the same seed pair gives the same numbers, everywhere and always. The pair is scrambled by one Philox call of a
 * fixed key. */
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/random/fill.h"
#include "ops/random/uniform_int.h"

extern const hr_op_t hr_op_StatelessRandomUniform, hr_op_StatelessRandomNormal, hr_op_StatelessTruncatedNormal,
    hr_op_StatelessRandomUniformInt;

static hr_status_t infer_stateless(hr_infer_t* s) {
  const hr_pshape_t* seed;
  int64_t dim;
  HR_TRY(hr_infer_want_rank(s, 1, 1, &seed));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(seed, 0), 2, &dim));
  for (int i = 2; i < hr_infer_input_count(s); ++i) HR_TRY(hr_infer_want_rank(s, i, 0, NULL));
  return hr_fill_infer(s);
}

static hr_status_t stream_of(const hr_kernel_ctx_t* k, hr_rng_t* out) {
  const hr_tensor_t* seed = hr_input(k, 1);
  char text[HR_SHAPE_TEXT];
  int64_t s0, s1;
  uint32_t mixed[4];
  if (seed->shape.rank != 1 || seed->count != 2)
    return HR_ERROR(INVALID_ARGUMENT, "seed must have shape [2], not %s", hr_shape_format(&seed->shape, text));
  HR_TRY(hr_tensor_i64_at(seed, 0, &s0));
  HR_TRY(hr_tensor_i64_at(seed, 1, &s1));
  hr_rng_t scrambler = {{(uint32_t)s0, (uint32_t)((uint64_t)s0 >> 32), (uint32_t)s1, (uint32_t)((uint64_t)s1 >> 32)},
                        {0x3ec8f720u, 0x02461e29u}};
  hr_rng_next(&scrambler, mixed);
  *out = (hr_rng_t){{0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]}};
  return NULL;
}

static hr_status_t stateless_fill(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  hr_rng_t from;
  HR_TRY(stream_of(k, &from));
  HR_TRY(hr_fill_output(k, &out));
  return hr_fill_run(k, (hr_fill_t)(intptr_t)hr_kernel_arg(k), &from, out);
}

static hr_status_t stateless_int(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  hr_rng_t from;
  int64_t least;
  uint64_t range;
  HR_TRY(stream_of(k, &from));
  HR_TRY(hr_fill_output(k, &out));
  HR_TRY(hr_uniform_int_bounds(k, 2, out->count == 0, &least, &range));
  return hr_uniform_int_fill(k, &from, least, range, out);
}

#define STATELESS(Name, what, text)                                                                                                  \
  const hr_op_t hr_op_##Name = {                                                                                                     \
      .name = #Name,                                                                                                                 \
      .sig = "shape: T; seed: Tseed -> output: dtype",                                                                               \
      .attrs = "dtype: type{half,bfloat16,float,double} = float; T: type{int32,int64} = int32; Tseed: type{int32,int64} = int64",    \
      .shape = infer_stateless,                                                                                                      \
      .grad = hr_grad_none,                                                                                                          \
      HR_KERNELS(                                                                                                                    \
          {.where = {{"dtype", HR_M_REAL_FLOAT}}, .host_inputs = 3, .compute = stateless_fill, .arg = (const void*)(intptr_t)what}), \
      .doc = text,                                                                                                                   \
      HR_HERE}
STATELESS(StatelessRandomUniform, HR_FILL_UNIFORM, "uniform numbers in [0, 1) of a seed pair");
STATELESS(StatelessRandomNormal, HR_FILL_NORMAL, "normal numbers of a seed pair");
STATELESS(StatelessTruncatedNormal, HR_FILL_TRUNCATED, "normal numbers within 2 of a seed pair");

const hr_op_t hr_op_StatelessRandomUniformInt = {
    .name = "StatelessRandomUniformInt",
    .sig = "shape: T; seed: Tseed; minval: dtype; maxval: dtype -> output: dtype",
    .attrs = "dtype: type{int32,int64}; T: type{int32,int64}; Tseed: type{int32,int64} = int64",
    .shape = infer_stateless,
    .grad = hr_grad_none,
    HR_KERNELS({.where = {{"dtype", HR_M_INDEX}}, .host_inputs = 15, .compute = stateless_int}),
    .doc = "uniform integers of a seed pair",
    HR_HERE};
