/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing classes. Unique ones are drawn until enough differ; of p and n tries a class is then expected 1 - (1 - p)^n times. */
#include "ops/candidate/sampler.h"
#include <math.h>
#include "base/alloc.h"

/* An open-addressed set of the classes drawn so far. */
typedef struct { int64_t* places; uint64_t mask; } drawn_t;
static bool drawn_add(drawn_t* d, int64_t value) { /* false: was there */
  uint64_t i = (uint64_t)value * UINT64_C(0x9e3779b97f4a7c15) >> 20 & d->mask;
  for (; d->places[i]; i = (i + 1) & d->mask)
    if (d->places[i] == value + 1) return false;
  d->places[i] = value + 1;
  return true;
}

static hr_status_t draw_unique(const hr_sampler_t* s, hr_words_t* words, int64_t count, int64_t* out, int64_t* out_tries) {
  drawn_t d = {.mask = 15};
  if (count > s->range) return HR_ERROR(INVALID_ARGUMENT, "Sampler's range is too small: %lld different classes of %lld", (long long)count,
                                        (long long)s->range);
  while (d.mask < (uint64_t)count * 2) d.mask = d.mask * 2 + 1;
  d.places = hr_alloc_array(d.mask + 1, sizeof *d.places);
  if (!d.places) return hr_status_out_of_memory();
  int64_t tries = 0;
  for (int64_t n = 0; n < count; ++tries) {
    const int64_t value = s->draw(s, words);
    if (drawn_add(&d, value)) out[n++] = value;
  }
  hr_free(d.places);
  *out_tries = tries;
  return NULL;
}

hr_status_t hr_sampler_draw(const hr_sampler_t* s, hr_words_t* words, bool unique, int64_t count, int64_t* out, int64_t* out_tries) {
  if (unique) return draw_unique(s, words, count, out, out_tries);
  for (int64_t i = 0; i < count; ++i) out[i] = s->draw(s, words);
  *out_tries = count;
  return NULL;
}

float hr_sampler_expect(float probability, bool unique, int64_t count, int64_t tries) {
  if (!unique || tries == count) return probability * (float)count;
  return (float)-expm1((double)tries * log1p(-(double)probability));
}
