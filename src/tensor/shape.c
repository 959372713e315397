/* SPDX-License-Identifier: Apache-2.0 */
/* Checked shapes. The element count must fit int64 even when some dim is 0, as in TensorFlow: otherwise partial products could
 * overflow in kernels that fold some axes only. */
#include "tensor/shape.h"
#include <inttypes.h>
#include <stdio.h>
#include "base/alloc.h"

static hr_status_t rank_check(int64_t rank) {
  if (rank < 0) return HR_ERROR(INVALID_ARGUMENT, "a rank of %" PRId64 " is negative", rank);
  if (rank > HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "a rank of %" PRId64 " is more than the supported %d", rank, HR_MAX_RANK);
  return NULL;
}

static hr_status_t dims_check(int64_t rank, const int64_t* dims) {
  int64_t count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return HR_ERROR(INVALID_ARGUMENT, "dimension %" PRId64 " of the shape is %" PRId64 ", must be >= 0", i, dims[i]);
    if (!hr_i64_mul(count, dims[i] ? dims[i] : 1, &count))
      return HR_ERROR(INVALID_ARGUMENT,
                      "the shape has too many elements: its first %" PRId64 " dimensions up to %" PRId64 " overflow int64", i + 1, dims[i]);
  }
  return NULL;
}

hr_status_t hr_shape_make(int64_t rank, const int64_t* dims, hr_shape_t* out) {
  HR_TRY(rank_check(rank));
  HR_TRY(dims_check(rank, dims));
  out->rank = (int32_t)rank;
  for (int i = 0; i < rank; ++i) out->dims[i] = dims[i];
  return NULL;
}

hr_status_t hr_shape_check(const hr_shape_t* s) {
  HR_TRY(rank_check(s->rank));
  return dims_check(s->rank, s->dims);
}

int64_t hr_shape_count_range(const hr_shape_t* s, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= s->dims[i];
  return n;
}

hr_status_t hr_shape_append(hr_shape_t* s, int64_t dim) {
  HR_TRY(rank_check((int64_t)s->rank + 1));
  s->dims[s->rank] = dim;
  HR_TRY(dims_check(s->rank + 1, s->dims));
  ++s->rank;
  return NULL;
}

hr_status_t hr_shape_axis(int64_t axis, int rank, int* out_axis) {
  if (axis < -rank || axis >= rank)
    return HR_ERROR(INVALID_ARGUMENT, "axis %" PRId64 " is out of range for %d dimensions. Expected dimension in the "
                    "range [%d, %d), but got %" PRId64, axis, rank, -rank, rank, axis);
  *out_axis = (int)(axis < 0 ? axis + rank : axis);
  return NULL;
}

hr_status_t hr_shape_broadcast(const hr_shape_t* a, const hr_shape_t* b, hr_shape_t* out) {
  hr_shape_t result = {0};
  result.rank = a->rank > b->rank ? a->rank : b->rank;
  for (int i = 1; i <= result.rank; ++i) {
    int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1, y = i <= b->rank ? b->dims[b->rank - i] : 1;
    if (x != y && x != 1 && y != 1) {
      char ta[HR_SHAPE_TEXT], tb[HR_SHAPE_TEXT];
      return HR_ERROR(INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", hr_shape_format(a, ta), hr_shape_format(b, tb));
    }
    result.dims[result.rank - i] = x == 1 ? y : x;
  }
  HR_TRY(dims_check(result.rank, result.dims));
  hr_shape_copy(out, &result);
  return NULL;
}

const char* hr_shape_format_place(const hr_shape_t* s, int64_t element, char text[HR_SHAPE_TEXT]) {
  hr_shape_t place = *s;
  for (int d = s->rank - 1; d >= 0; --d) {
    place.dims[d] = element % s->dims[d]; /* there is an element, so no dimension is 0 */
    element /= s->dims[d];
  }
  return s->rank ? hr_shape_format(&place, text) : strcpy(text, "");
}

const char* hr_shape_format(const hr_shape_t* s, char text[HR_SHAPE_TEXT]) {
  size_t at = 0;
  text[at++] = '[';
  for (int i = 0; i < s->rank; ++i) at += (size_t)snprintf(text + at, HR_SHAPE_TEXT - at, i ? ",%" PRId64 : "%" PRId64, s->dims[i]);
  text[at++] = ']';
  text[at] = 0;
  return text;
}
_Static_assert(HR_SHAPE_TEXT >= HR_MAX_RANK * 21 + 3, "the longest shape must fit its text");
