/* SPDX-License-Identifier: Apache-2.0 */
/* A fully known shape, by value. Made only through checked builders, so every hr_shape_t has non-negative dims and an element
 * count that fits int64. */
#ifndef HR_TENSOR_SHAPE_H
#define HR_TENSOR_SHAPE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

enum { HR_MAX_RANK = 16 }; /* TensorFlow allows 254; more than 16 is UNIMPLEMENTED */

typedef struct {
  int32_t rank;
  int64_t dims[HR_MAX_RANK]; /* only the first `rank` are set */
} hr_shape_t;

/* INVALID_ARGUMENT for a negative dim or an element count that overflows, UNIMPLEMENTED for too high a rank. */
HR_MUST_USE hr_status_t hr_shape_make(int64_t rank, const int64_t* dims, hr_shape_t* out);
static inline hr_shape_t hr_shape_scalar(void) { hr_shape_t s; s.rank = 0; return s; }
static inline hr_shape_t hr_shape_vector(int64_t n) { hr_shape_t s; s.rank = 1; s.dims[0] = n; return s; } /* n >= 0 */
static inline hr_shape_t hr_shape_matrix(int64_t n, int64_t m) { hr_shape_t s; s.rank = 2; s.dims[0] = n; s.dims[1] = m; return s; }
static inline void hr_shape_copy(hr_shape_t* out, const hr_shape_t* s) {
  out->rank = s->rank;
  for (int i = 0; i < s->rank; ++i) out->dims[i] = s->dims[i];
}
static inline bool hr_shape_equal(const hr_shape_t* a, const hr_shape_t* b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}
static inline int64_t hr_shape_count(const hr_shape_t* s) { /* elements; cannot overflow for a shape that hr_shape_make passed */
  int64_t n = 1;
  for (int i = 0; i < s->rank; ++i) n *= s->dims[i];
  return n;
}
int64_t hr_shape_count_range(const hr_shape_t* s, int begin, int end); /* product of dims[begin..end) */
/* Appends or replaces a dim, keeping the promise; INVALID_ARGUMENT or UNIMPLEMENTED as above. */
HR_MUST_USE hr_status_t hr_shape_append(hr_shape_t* s, int64_t dim);
HR_MUST_USE hr_status_t hr_shape_check(const hr_shape_t* s); /* after setting dims by hand */
/* -rank <= axis < rank, to 0..rank-1; INVALID_ARGUMENT names axis and rank. */
HR_MUST_USE hr_status_t hr_shape_axis(int64_t axis, int rank, int* out_axis);
/* The shape two operands broadcast to (NumPy's rule); INVALID_ARGUMENT names both shapes. */
HR_MUST_USE hr_status_t hr_shape_broadcast(const hr_shape_t* a, const hr_shape_t* b, hr_shape_t* out);

enum { HR_SHAPE_TEXT = 384 };
const char* hr_shape_format_place(const hr_shape_t* s, int64_t element, char text[HR_SHAPE_TEXT]); /* "[0,1]"; "" in a scalar */
const char* hr_shape_format(const hr_shape_t* s, char text[HR_SHAPE_TEXT]); /* "[2,3]"; returns text */
#endif
