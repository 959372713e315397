/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing classes from a distribution over [0, range), each at most once if asked, and how often a class may be expected. */
#ifndef HR_OPS_CANDIDATE_SAMPLER_H
#define HR_OPS_CANDIDATE_SAMPLER_H
#include "base/status.h"
#include "ops/random/generator.h"

typedef struct hr_sampler hr_sampler_t;
struct hr_sampler {
  int64_t range;
  int64_t (*draw)(const hr_sampler_t* s, hr_words_t* words);
  float (*probability)(const hr_sampler_t* s, int64_t value);
  const void* arg; /* the distribution's own */
};

/* `count` classes to `out`. *out_tries: draws that it took (`count` unless unique). INVALID_ARGUMENT when unique classes do not suffice. */
HR_MUST_USE hr_status_t hr_sampler_draw(const hr_sampler_t* s, hr_words_t* words, bool unique, int64_t count, int64_t* out,
                                        int64_t* out_tries);
/* How often a class of this probability is expected among the samples. */
float hr_sampler_expect(float probability, bool unique, int64_t count, int64_t tries);
#endif
