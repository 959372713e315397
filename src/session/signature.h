/* SPDX-License-Identifier: Apache-2.0 */
/* A signature: which endpoints are fed, fetched and run. Literal: in the caller's order, which is what a steady client repeats; it is
 * compared pointer by pointer. Normal: sorted, without repeated fetches and targets; runs that differ in order alone share what was
 * prepared. */
#ifndef HR_SESSION_SIGNATURE_H
#define HR_SESSION_SIGNATURE_H
#include "session/session.h"

typedef struct {
  const hr_value_t* feeds;
  const hr_value_t* fetches;
  hr_node_t* const* targets;
  int32_t feed_count, fetch_count, target_count;
  uint64_t hash;
} hr_signature_t;

static inline hr_signature_t hr_signature_of(const hr_run_t* run) {
  return (hr_signature_t){run->feeds, run->fetches, run->targets, run->feed_count, run->fetch_count, run->target_count, 0};
}
uint64_t hr_signature_hash(const hr_signature_t* s);
bool hr_signature_equal(const hr_signature_t* a, const hr_signature_t* b);
/* INVALID_ARGUMENT: nothing asked for, or something that is not of graph g. */
HR_MUST_USE hr_status_t hr_signature_nothing(void); /* what is said of a run without fetches and targets */
HR_MUST_USE hr_status_t hr_signature_check(const hr_signature_t* s, const hr_graph_t* g);
/* Likewise, of what may ask for nothing: a piece of a partial run. */
HR_MUST_USE hr_status_t hr_signature_check_ends(const hr_signature_t* s, const hr_graph_t* g);
/* A copy in one block (free with hr_free). */
HR_MUST_USE hr_status_t hr_signature_copy(const hr_signature_t* s, hr_signature_t* out, void** out_block);

typedef struct {
  hr_signature_t normal;
  int32_t* feed_from; /* normal feed i is the literal's feed_from[i] */
  int32_t* fetch_of;  /* the literal's fetch j is normal fetch fetch_of[j] */
  void* block;        /* holds all of it; hr_free */
} hr_signature_normal_t;
HR_MUST_USE hr_status_t hr_signature_normalise(const hr_signature_t* s, hr_signature_normal_t* out);
#endif
