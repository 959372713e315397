/* SPDX-License-Identifier: Apache-2.0 */
/* Partially known shapes, made in an arena. Whenever a result equals an argument, the argument is shared. */
#include "tensor/partial_shape.h"
#include <inttypes.h>
#include <stdio.h>
#include "base/alloc.h"

enum { PSHAPE_MAX_RANK = 254 };

const hr_pshape_t hr_pshape_unknown = {.rank = -1};
const hr_pshape_t hr_pshape_scalar = {.rank = 0};

static hr_pshape_t* pshape_alloc(hr_arena_t* arena, int64_t rank) {
  hr_pshape_t* s = hr_arena_alloc(arena, sizeof *s + (size_t)rank * sizeof *s->dims);
  if (s) s->rank = (int32_t)rank;
  return s;
}

static hr_status_t pshape_check(int64_t rank, const int64_t* dims) {
  if (rank < -1 || rank > PSHAPE_MAX_RANK)
    return HR_ERROR(INVALID_ARGUMENT, "a shape has rank %" PRId64 ", should be at most %d", rank, PSHAPE_MAX_RANK);
  int64_t count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    if (dims[i] < -1) return HR_ERROR(INVALID_ARGUMENT, "dimension %" PRId64 " of a shape is %" PRId64 ", should be >= -1", i, dims[i]);
    if (dims[i] > 0 && !hr_i64_mul(count, dims[i], &count))
      return HR_ERROR(INVALID_ARGUMENT, "a shape has too many elements: its first %" PRId64 " dimensions overflow int64", i + 1);
  }
  return NULL;
}

hr_status_t hr_pshape_make(hr_arena_t* arena, int64_t rank, const int64_t* dims, const hr_pshape_t** out) {
  HR_TRY(pshape_check(rank, dims));
  if (rank <= 0) {
    *out = rank < 0 ? &hr_pshape_unknown : &hr_pshape_scalar;
    return NULL;
  }
  hr_pshape_t* s = pshape_alloc(arena, rank);
  if (!s) return hr_status_out_of_memory();
  memcpy(s->dims, dims, (size_t)rank * sizeof *dims);
  *out = s;
  return NULL;
}

hr_status_t hr_pshape_from_shape(hr_arena_t* arena, const hr_shape_t* s, const hr_pshape_t** out) {
  return hr_pshape_make(arena, s->rank, s->dims, out);
}

bool hr_pshape_is_known(const hr_pshape_t* s) {
  for (int i = 0; i < s->rank; ++i)
    if (s->dims[i] < 0) return false;
  return s->rank >= 0;
}

bool hr_pshape_to_shape(const hr_pshape_t* s, hr_shape_t* out) {
  if (!hr_pshape_is_known(s) || s->rank > HR_MAX_RANK) return false;
  out->rank = s->rank;
  for (int i = 0; i < s->rank; ++i) out->dims[i] = s->dims[i];
  return true;
}

bool hr_pshape_equal(const hr_pshape_t* a, const hr_pshape_t* b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

bool hr_pshape_accepts(const hr_pshape_t* p, const hr_shape_t* s) {
  if (p->rank < 0) return true;
  if (p->rank != s->rank) return false;
  for (int i = 0; i < p->rank; ++i)
    if (p->dims[i] >= 0 && p->dims[i] != s->dims[i]) return false;
  return true;
}

static hr_status_t pshape_contradiction(const hr_pshape_t* a, const hr_pshape_t* b) {
  char ta[HR_SHAPE_TEXT], tb[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "shapes %s and %s contradict each other", hr_pshape_format(a, ta), hr_pshape_format(b, tb));
}

/* Both of the same known rank. */
static hr_status_t merge_dims(hr_arena_t* arena, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out) {
  int64_t dims[PSHAPE_MAX_RANK];
  bool is_a = true, is_b = true;
  for (int i = 0; i < a->rank; ++i) {
    int64_t x = a->dims[i], y = b->dims[i];
    if (x >= 0 && y >= 0 && x != y) return pshape_contradiction(a, b);
    dims[i] = x >= 0 ? x : y;
    is_a = is_a && dims[i] == x;
    is_b = is_b && dims[i] == y;
  }
  if (is_a || is_b) {
    *out = is_a ? a : b;
    return NULL;
  }
  return hr_pshape_make(arena, a->rank, dims, out);
}

hr_status_t hr_pshape_merge(hr_arena_t* arena, const hr_pshape_t* a, const hr_pshape_t* b, const hr_pshape_t** out) {
  if (a->rank >= 0 && b->rank >= 0) return a->rank == b->rank ? merge_dims(arena, a, b, out) : pshape_contradiction(a, b);
  *out = a->rank < 0 ? b : a;
  return NULL;
}

const char* hr_pshape_format(const hr_pshape_t* s, char text[HR_SHAPE_TEXT]) {
  enum { LONGEST_DIM = 21, ENDING = 6 };
  if (s->rank < 0) return strcpy(text, "<unknown>");
  size_t at = 0;
  text[at++] = '[';
  for (int i = 0; i < s->rank; ++i) {
    if (at + LONGEST_DIM + ENDING > HR_SHAPE_TEXT) { /* very long ones are cut */
      memcpy(text + at, ",...", 4);
      at += 4;
      break;
    }
    if (i) text[at++] = ',';
    at += (size_t)(s->dims[i] < 0 ? snprintf(text + at, 2, "?") : snprintf(text + at, HR_SHAPE_TEXT - at, "%" PRId64, s->dims[i]));
  }
  memcpy(text + at, "]", 2);
  return text;
}
