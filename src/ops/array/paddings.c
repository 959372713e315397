/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking paddings, once for shape functions and kernels. */
#include "ops/array/paddings.h"

static hr_status_t check_matrix(const hr_tensor_t* t, int rank) {
  char text[HR_SHAPE_TEXT];
  if (t->shape.rank == 2 && t->shape.dims[1] == 2 && t->shape.dims[0] == rank) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "The first dimension of paddings must be the rank of inputs, and paddings must be "
                  "a matrix with 2 columns: rank %d, shape %s", rank,
                  hr_shape_format(&t->shape, text));
}

static hr_status_t read_pair(const hr_tensor_t* t, int axis, int64_t* before, int64_t* after) {
  HR_TRY(hr_tensor_i64_at(t, 2 * axis, before));
  HR_TRY(hr_tensor_i64_at(t, 2 * axis + 1, after));
  if (*before < 0 || *after < 0)
    return HR_ERROR(INVALID_ARGUMENT, "Paddings must be non-negative: %lld %lld for axis %d", (long long)*before, (long long)*after, axis);
  return NULL;
}

static hr_status_t padded_size(int axis, int64_t dim, int64_t before, int64_t after, int64_t* out) {
  int64_t sum;
  if (__builtin_add_overflow(before, after, &sum) || __builtin_add_overflow(sum, dim, out))
    return HR_ERROR(INVALID_ARGUMENT, "paddings %lld %lld make axis %d longer than can be counted", (long long)before, (long long)after,
                    axis);
  return NULL;
}

hr_status_t hr_paddings_read(const hr_tensor_t* paddings, const hr_shape_t* shape, hr_paddings_t* out) {
  HR_TRY(check_matrix(paddings, shape->rank));
  out->padded.rank = shape->rank;
  for (int d = 0; d < shape->rank; ++d) {
    HR_TRY(read_pair(paddings, d, &out->before[d], &out->after[d]));
    HR_TRY(padded_size(d, shape->dims[d], out->before[d], out->after[d], &out->padded.dims[d]));
  }
  return hr_shape_check(&out->padded);
}

/* Rank of input 0 from its shape or from the number of rows of paddings; -1: unknown. */
static hr_status_t padded_rank(hr_infer_t* s, int64_t* out) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *list;
  HR_TRY(hr_infer_want_rank(s, 1, 2, &list));
  const int64_t rows = hr_infer_dim(list, 0), columns = hr_infer_dim(list, 1);
  if (columns >= 0 && columns != 2) return HR_ERROR(INVALID_ARGUMENT, "paddings must have 2 columns, not %lld", (long long)columns);
  if (x->rank >= 0 && rows >= 0 && x->rank != rows)
    return HR_ERROR(INVALID_ARGUMENT, "paddings have %lld rows for an input of rank %d", (long long)rows, x->rank);
  *out = x->rank >= 0 ? x->rank : rows;
  return NULL;
}

static hr_status_t infer_framed(hr_infer_t* s, bool outward) {
  const hr_pshape_t* x = hr_infer_input(s, 0);
  const hr_tensor_t* paddings = hr_infer_const(s, 1);
  int64_t rank = -1, dims[254];
  HR_TRY(padded_rank(s, &rank));
  if (rank < 0 || rank > 254) return NULL;
  if (paddings) HR_TRY(check_matrix(paddings, (int)rank));
  for (int d = 0; d < rank; ++d) {
    int64_t before = 0, after = 0, dim = hr_infer_dim(x, d);
    dims[d] = -1;
    if (!paddings) continue;
    HR_TRY(read_pair(paddings, d, &before, &after));
    if (dim < 0) continue;
    if (outward)
      HR_TRY(padded_size(d, dim, before, after, &dims[d]));
    else if (before > dim || after > dim - before)
      return HR_ERROR(INVALID_ARGUMENT, "paddings %lld %lld are more than axis %d of size %lld", (long long)before, (long long)after, d,
                      (long long)dim);
    else
      dims[d] = dim - before - after;
  }
  return hr_infer_set_dims(s, 0, rank, dims);
}
hr_status_t hr_paddings_infer(hr_infer_t* s) { return infer_framed(s, true); }
hr_status_t hr_paddings_infer_without(hr_infer_t* s) { return infer_framed(s, false); }
