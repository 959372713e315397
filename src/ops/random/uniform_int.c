/* SPDX-License-Identifier: Apache-2.0 */
/* RandomUniformInt: minval + word mod (maxval - minval), a word an int32, two an int64: TensorFlow's numbers, with its slight bias. */
#include "ops/random/uniform_int.h"
#include "ops/random/fill.h"
#include "ops/random/generator.h"
#include "ops/random/philox.h"

extern const hr_op_t hr_op_RandomUniformInt;

static hr_status_t infer_uniform_int(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 1, 0, NULL));
  HR_TRY(hr_infer_want_rank(s, 2, 0, NULL));
  return hr_fill_infer(s);
}

typedef struct {
  const hr_philox_vec_t* vec;
  const hr_rng_t* from;
  hr_tensor_t* out;
  int64_t least;
  uint64_t range;
  int width;
} integers_t;

static void put_i32(const integers_t* u, const uint32_t* words, int32_t* out, int64_t n) {
  const uint32_t range = (uint32_t)u->range, least = (uint32_t)u->least;
  const uint64_t inverse = UINT64_MAX / range + 1; /* word mod range is the high word of (inverse x word mod 2^64) x range */
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t rest = inverse * words[i];
    out[i] = (int32_t)(least + (uint32_t)(((rest >> 32) * range + ((rest & 0xffffffffu) * range >> 32)) >> 32));
  }
}

static void put_i64(const integers_t* u, const uint32_t* words, int64_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t word = words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
    out[i] = (int64_t)((uint64_t)u->least + word % u->range);
  }
}

static hr_status_t integers_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* of calls */
  const integers_t* u = arg;
  uint64_t offsets[HR_PHILOX_BLOCK];
  uint32_t words[4 * HR_PHILOX_BLOCK];
  (void)chunk;
  for (int64_t i = begin; i < end; i += HR_PHILOX_BLOCK) {
    const int64_t calls = end - i < HR_PHILOX_BLOCK ? end - i : HR_PHILOX_BLOCK, at = i * u->width;
    const int64_t n = u->out->count - at < calls * u->width ? u->out->count - at : calls * u->width;
    for (int64_t j = 0; j < calls; ++j) offsets[j] = (uint64_t)(i + j);
    u->vec->words(u->from, offsets, calls, words);
    if (u->width == 4) put_i32(u, words, (int32_t*)u->out->data + at, n);
    else put_i64(u, words, (int64_t*)u->out->data + at, n);
  }
  return NULL;
}

hr_status_t hr_uniform_int_fill(hr_kernel_ctx_t* k, const hr_rng_t* from, int64_t least, uint64_t range, hr_tensor_t* out) {
  integers_t u = {HR_ISA_PICK(hr_philox_vec), from, out, least, range, out->dtype == HR_I32 ? 4 : 2};
  return hr_parallel(k, (out->count + u.width - 1) / u.width, 12, integers_chunk, &u);
}

hr_status_t hr_uniform_int_bounds(const hr_kernel_ctx_t* k, int input, bool is_empty, int64_t* least, uint64_t* range) {
  int64_t most;
  HR_TRY(hr_want_scalar(k, input, "minval must be 0-D, got shape "));
  HR_TRY(hr_want_scalar(k, input + 1, "maxval must be 0-D, got shape "));
  HR_TRY(hr_tensor_i64_at(hr_input(k, input), 0, least));
  HR_TRY(hr_tensor_i64_at(hr_input(k, input + 1), 0, &most));
  *range = (uint64_t)most - (uint64_t)*least;
  if (is_empty || *least < most) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld", (long long)*least, (long long)most);
}

static hr_status_t uniform_int(hr_kernel_ctx_t* k) {
  hr_tensor_t* out;
  int64_t least;
  uint64_t range;
  HR_TRY(hr_fill_output(k, &out));
  HR_TRY(hr_uniform_int_bounds(k, 1, out->count == 0, &least, &range));
  const hr_rng_t from = hr_generator_take(hr_state(k), (uint64_t)out->count * HR_FILL_CALLS);
  return hr_uniform_int_fill(k, &from, least, range, out);
}

const hr_op_t hr_op_RandomUniformInt = {
    .name = "RandomUniformInt", .sig = "shape: T; minval: Tout; maxval: Tout -> output: Tout",
    .attrs = HR_SEED_ATTRS "; Tout: type{int32,int64}; T: type{int32,int64}", .flags = HR_OP_STATEFUL, .shape = infer_uniform_int,
    HR_KERNELS({.where = {{"Tout", HR_M_INDEX}}, .host_inputs = 7, HR_GENERATOR_STATE, .compute = uniform_int}),
    .doc = "uniform integers in [minval, maxval)", HR_HERE};
