/* SPDX-License-Identifier: Apache-2.0 */
/* Candidate sampling for losses over many classes: LogUniformCandidateSampler, P(k) = log((k + 2) / (k + 1)) / log(range + 1), and
 * UniformCandidateSampler, P(k) = 1 / range. Outputs: the sampled classes, and the expected counts of the true and of the sampled ones. */
#include <math.h>
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"
#include "ops/candidate/sampler.h"

extern const hr_op_t hr_op_LogUniformCandidateSampler, hr_op_UniformCandidateSampler;

/* 1. shapes */
static hr_status_t infer_candidates(hr_infer_t* s) {
  const hr_node_attrs_t* attrs = hr_infer_attrs(s);
  const hr_pshape_t* classes;
  int64_t num_true;
  HR_TRY(hr_infer_want_rank(s, 0, 2, &classes));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(classes, 1), hr_attrs_int(attrs, "num_true"), &num_true));
  const int64_t sampled = hr_attrs_int(attrs, "num_sampled"), dims[] = {hr_infer_dim(classes, 0), num_true};
  HR_TRY(hr_infer_set_vector(s, 0, sampled));
  HR_TRY(hr_infer_set_dims(s, 1, 2, dims));
  return hr_infer_set_vector(s, 2, sampled);
}

/* 2. distributions */
static uint64_t below(hr_words_t* words, uint64_t n) { /* unbiased: what would come too often is drawn again */
  if ((n & (n - 1)) == 0) return hr_words_next64(words) & (n - 1);
  const uint64_t skew = UINT64_MAX % n + 1;
  uint64_t x;
  do x = hr_words_next64(words);
  while (x < skew);
  return x % n;
}

static int64_t draw_uniform(const hr_sampler_t* s, hr_words_t* words) { return (int64_t)below(words, (uint64_t)s->range); }
static float uniform_probability(const hr_sampler_t* s, int64_t value) {
  (void)value;
  return 1.0f / (float)s->range;
}

static int64_t draw_log_uniform(const hr_sampler_t* s, hr_words_t* words) { /* rounding may lead to range: wraps */
  const int64_t value = (int64_t)exp(hr_words_next_double(words) * log1p((double)s->range)) - 1;
  return value % s->range;
}
static float log_uniform_probability(const hr_sampler_t* s, int64_t value) {
  return (float)(log(((double)value + 2.0) / ((double)value + 1.0)) / log1p((double)s->range));
}

/* 3. kernel */
typedef struct { hr_sampler_t sampler; int64_t num_true, num_sampled; bool unique; } candidates_t;

static hr_status_t candidates_prepare(hr_prepare_ctx_t* p, void* prepared) {
  candidates_t* c = prepared;
  const bool is_log = p->kernel->arg != NULL;
  c->num_true = hr_attrs_int(p->attrs, "num_true");
  c->num_sampled = hr_attrs_int(p->attrs, "num_sampled");
  c->unique = hr_attrs_bool(p->attrs, "unique");
  c->sampler = (hr_sampler_t){.range = hr_attrs_int(p->attrs, "range_max"), .draw = is_log ? draw_log_uniform : draw_uniform,
                              .probability = is_log ? log_uniform_probability : uniform_probability};
  return NULL;
}

static hr_status_t check_classes(const hr_kernel_ctx_t* k, const candidates_t* c) {
  const hr_tensor_t* classes = hr_input(k, 0);
  char text[HR_SHAPE_TEXT];
  if (classes->shape.rank != 2)
    return HR_ERROR(INVALID_ARGUMENT, "true_classes must be a matrix, not of shape %s", hr_shape_format(&classes->shape, text));
  if (classes->shape.dims[1] != c->num_true)
    return HR_ERROR(INVALID_ARGUMENT, "true_classes must have num_true columns, expected: %lld was: %lld", (long long)c->num_true,
                    (long long)classes->shape.dims[1]);
  for (int64_t i = 0; i < classes->count; ++i) {
    const int64_t value = ((const int64_t*)classes->data)[i];
    if (value < 0 || value >= c->sampler.range)
      return HR_ERROR(INVALID_ARGUMENT, "true class %lld of row %lld is out of range [0, %lld)", (long long)value,
                      (long long)(i / c->num_true), (long long)c->sampler.range);
  }
  return NULL;
}

static void expect_all(const candidates_t* c, const hr_tensor_t* classes, int64_t tries, hr_tensor_t* out) {
  for (int64_t i = 0; i < classes->count; ++i)
    ((float*)out->data)[i] =
        hr_sampler_expect(c->sampler.probability(&c->sampler, ((const int64_t*)classes->data)[i]), c->unique, c->num_sampled, tries);
}

static hr_status_t candidates(hr_kernel_ctx_t* k) {
  const candidates_t* c = hr_prepared(k);
  const hr_shape_t vector = hr_shape_vector(c->num_sampled);
  hr_tensor_t *sampled, *of_true, *of_sampled;
  int64_t tries;
  HR_TRY(check_classes(k, c));
  HR_TRY(hr_output(k, 0, &vector, &sampled));
  HR_TRY(hr_output(k, 1, &hr_input(k, 0)->shape, &of_true));
  HR_TRY(hr_output(k, 2, &vector, &of_sampled));
  hr_words_t words = hr_words_of(hr_generator_take(hr_state(k), 512 * (uint64_t)c->num_sampled)); /* 2048 words a sample */
  HR_TRY(hr_sampler_draw(&c->sampler, &words, c->unique, c->num_sampled, sampled->data, &tries));
  expect_all(c, hr_input(k, 0), tries, of_true);
  expect_all(c, sampled, tries, of_sampled);
  return NULL;
}

/* 4. definitions */
#define CANDIDATES(Name, is_log, text)                                                                                              \
  const hr_op_t hr_op_##Name = {                                                                                                    \
      .name = #Name,                                                                                                                \
      .sig = "true_classes: int64 -> sampled_candidates: int64; true_expected_count: float; sampled_expected_count: float",         \
      .attrs = "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; " HR_SEED_ATTRS,                      \
      .flags = HR_OP_STATEFUL,                                                                                                      \
      .shape = infer_candidates,                                                                                                    \
      HR_KERNELS({HR_GENERATOR_STATE, .prepared_bytes = sizeof(candidates_t), .prepare = candidates_prepare, .compute = candidates, \
                  .arg = (const void*)(intptr_t)is_log}),                                                                           \
      .doc = text,                                                                                                                  \
      HR_HERE}
CANDIDATES(LogUniformCandidateSampler, 1, "classes drawn log-uniformly, small numbers most often");
CANDIDATES(UniformCandidateSampler, 0, "classes drawn uniformly");
