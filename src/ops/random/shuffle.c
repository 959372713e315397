/* SPDX-License-Identifier: Apache-2.0 */
/* RandomShuffle: the rows of the first axis in random order: for i from 0, row i changes places with row i + word mod (n - i). */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/random/generator.h"

extern const hr_op_t hr_op_RandomShuffle;

typedef struct {
  const hr_tensor_t* from;
  hr_tensor_t* to;
  const int64_t* order;
  int64_t row;    /* elements */
  size_t bytes;   /* of a row; 0: elements that own memory */
} shuffle_t;

static hr_status_t shuffle_rows(void* arg, int64_t begin, int64_t end, int chunk) {
  const shuffle_t* s = arg;
  const char* from = s->from->data;
  char* to = s->to->data;
  (void)chunk;
  for (int64_t i = begin; i < end; ++i) {
    if (!s->bytes) HR_TRY(hr_tensor_copy_elements(s->to, i * s->row, s->from, s->order[i] * s->row, s->row));
    else if (s->bytes == 4) memcpy(to + i * 4, from + s->order[i] * 4, 4);
    else if (s->bytes == 8) memcpy(to + i * 8, from + s->order[i] * 8, 8);
    else memcpy(to + (size_t)i * s->bytes, from + (size_t)s->order[i] * s->bytes, s->bytes);
  }
  return NULL;
}

static void make_order(int64_t n, hr_rng_t rng, int64_t* order) {
  hr_words_t words = hr_words_of(rng);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t i = 0; i < n - 1; ++i) {
    const int64_t j = i + (int64_t)((uint64_t)hr_words_next(&words) % (uint64_t)(n - i)), old = order[i];
    order[i] = order[j];
    order[j] = old;
  }
}

static hr_status_t shuffle(hr_kernel_ctx_t* k) {
  const hr_tensor_t* x = hr_input(k, 0);
  const int64_t n = x->shape.rank ? x->shape.dims[0] : 1;
  hr_tensor_t* y;
  if (n <= 1 || x->count == 0) {
    hr_output_share(k, 0, x);
    return NULL;
  }
  HR_TRY(hr_output(k, 0, &x->shape, &y));
  int64_t* order = hr_alloc_array((size_t)n, sizeof *order);
  if (!order) return hr_status_out_of_memory();
  make_order(n, hr_generator_take(hr_state(k), (uint64_t)(n + 2) / 4), order);
  const int64_t row = x->count / n;
  shuffle_t s = {x, y, order, row, hr_dtype_is_plain(x->dtype) ? (size_t)row * hr_dtype_size(x->dtype) : 0};
  hr_status_t status = hr_parallel(k, n, 2.0 + (double)row * (s.bytes ? 0.1 * (double)hr_dtype_size(x->dtype) : 40.0), shuffle_rows, &s);
  hr_free(order);
  return status;
}

const hr_op_t hr_op_RandomShuffle = {.name = "RandomShuffle",
                                     .sig = "value: T -> output: T",
                                     .attrs = HR_SEED_ATTRS "; T: type",
                                     .flags = HR_OP_STATEFUL,
                                     .shape = hr_infer_same,
                                     .grad = hr_grad_none,
                                     HR_KERNELS({HR_GENERATOR_STATE, .compute = shuffle}),
                                     .doc = "the rows of the first axis in random order",
                                     HR_HERE};
