/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by the block of calls. Uniform and normal: call i gives elements 4i... (2i... for double). Truncated normal: elements come
 * in groups of as many; group i may use the calls from 256 i on (128 i for double) and takes values within 2 until it is full; here all
 * groups of a block draw their first call, then those that miss values their second, and so on. */
#include "ops/random/fill.h"
#include <math.h>
#include "op/infer_fns.h"
#include "ops/elementwise/loops.h"
#include "ops/random/philox.h"

hr_status_t hr_fill_infer(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 1, NULL));
  return hr_infer_shape_given(s);
}

hr_status_t hr_fill_output(hr_kernel_ctx_t* k, hr_tensor_t** out) {
  hr_shape_t shape;
  HR_TRY(hr_want_vector(k, 0, "shape must be a vector, got shape "));
  HR_TRY(hr_tensor_to_shape(hr_input(k, 0), &shape));
  return hr_output(k, 0, &shape, out);
}

typedef struct {
  const hr_philox_vec_t* vec;
  hr_fill_t what;
  hr_dtype_t type;
  int width;          /* values a call: 4, or 2 for double */
  size_t size;        /* of an element */
  const hr_rng_t* from;
  char* out;
  int64_t count;
} fill_t;

typedef union { float f[4 * HR_PHILOX_BLOCK]; double d[2 * HR_PHILOX_BLOCK]; uint16_t h[4 * HR_PHILOX_BLOCK]; } block_t;

static void normal_block(const fill_t* f, const uint32_t* words, int64_t calls, block_t* out) {
  if (f->type == HR_F64) f->vec->normal_f64(words, calls, out->d);
  else f->vec->normal_f32(words, calls, out->f);
}

static void uniform_block(const fill_t* f, const uint32_t* words, int64_t calls, block_t* out) {
  if (f->type == HR_F64) {
    f->vec->uniform_f64(words, calls, out->d);
  } else if (f->type == HR_F32) {
    f->vec->uniform_f32(words, calls, out->f);
  } else {
    const bool bf16 = f->type == HR_BF16;
    float values[4 * HR_PHILOX_BLOCK];
    for (int64_t i = 0; i < 4 * calls; ++i) { /* 7 or 10 bits of a word: the value is exact in the narrow type */
      const uint32_t bits = 127u << 23 | (bf16 ? (words[i] & 0x7fu) << 16 : (words[i] & 0x3ffu) << 13);
      memcpy(&values[i], &bits, 4);
      values[i] -= 1;
    }
    hr_loop_narrow(bf16, values, out->h, 4 * calls);
  }
}

static void truncated_block(const fill_t* f, int64_t first, int64_t groups, block_t* out) {
  const uint64_t stride = HR_FILL_CALLS * (uint64_t)f->width / 4;
  uint64_t offsets[HR_PHILOX_BLOCK];
  uint32_t words[4 * HR_PHILOX_BLOCK];
  int16_t waiting[HR_PHILOX_BLOCK];
  uint8_t have[HR_PHILOX_BLOCK] = {0};
  block_t drawn;
  int64_t n = groups;
  for (int64_t i = 0; i < n; ++i) waiting[i] = (int16_t)i;
  for (uint64_t call = 0; n > 0; ++call) {
    for (int64_t i = 0; i < n; ++i) offsets[i] = (uint64_t)(first + waiting[i]) * stride + call;
    f->vec->words(f->from, offsets, n, words);
    normal_block(f, words, n, &drawn);
    int64_t still = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int g = waiting[i];
      for (int j = 0; j < f->width && have[g] < f->width; ++j) {
        const int64_t from = i * f->width + j, to = g * f->width + have[g];
        if (f->type == HR_F64) {
          if (fabs(drawn.d[from]) < 2) out->d[to] = drawn.d[from], ++have[g];
        } else if (fabsf(drawn.f[from]) < 2) {
          out->f[to] = drawn.f[from], ++have[g];
        }
      }
      if (have[g] < f->width) waiting[still++] = (int16_t)g;
    }
    n = still;
  }
}

static void make_block(const fill_t* f, int64_t first, int64_t calls, block_t* out) {
  if (f->what == HR_FILL_TRUNCATED) {
    truncated_block(f, first, calls, out);
  } else {
    uint64_t offsets[HR_PHILOX_BLOCK];
    uint32_t words[4 * HR_PHILOX_BLOCK];
    for (int64_t i = 0; i < calls; ++i) offsets[i] = (uint64_t)(first + i);
    f->vec->words(f->from, offsets, calls, words);
    if (f->what == HR_FILL_UNIFORM) {
      uniform_block(f, words, calls, out);
      return;
    }
    normal_block(f, words, calls, out);
  }
  if (f->size == 2) {
    const block_t wide = *out;
    hr_loop_narrow(f->type == HR_BF16, wide.f, out->h, 4 * calls);
  }
}

static hr_status_t fill_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* of calls */
  const fill_t* f = arg;
  block_t block;
  (void)chunk;
  for (int64_t i = begin; i < end; i += HR_PHILOX_BLOCK) {
    const int64_t calls = end - i < HR_PHILOX_BLOCK ? end - i : HR_PHILOX_BLOCK, at = i * f->width;
    const int64_t n = f->count - at < calls * f->width ? f->count - at : calls * f->width;
    make_block(f, i, calls, &block);
    memcpy(f->out + (size_t)at * f->size, &block, (size_t)n * f->size);
  }
  return NULL;
}

hr_status_t hr_fill_run(hr_kernel_ctx_t* k, hr_fill_t what, const hr_rng_t* from, hr_tensor_t* out) {
  static const double cost[] = {[HR_FILL_UNIFORM] = 4, [HR_FILL_NORMAL] = 20, [HR_FILL_TRUNCATED] = 30}; /* nanoseconds a call */
  fill_t f = {HR_ISA_PICK(hr_philox_vec), what, out->dtype, out->dtype == HR_F64 ? 2 : 4,
              hr_dtype_size(out->dtype),  from, out->data,  out->count};
  return hr_parallel(k, (out->count + f.width - 1) / f.width, cost[what], fill_chunk, &f);
}
