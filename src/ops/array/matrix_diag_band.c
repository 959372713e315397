/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of diagonals: reading and checking (matrix_diag.h). */
#include "ops/array/matrix_diag.h"

hr_status_t hr_matrix_diag_range(const hr_tensor_t* k, int64_t* k0, int64_t* k1) {
  char text[HR_SHAPE_TEXT];
  if (k->shape.rank > 1)
    return HR_ERROR(INVALID_ARGUMENT, "diag_index must be a scalar or vector, received shape: %s", hr_shape_format(&k->shape, text));
  if (k->count < 1 || k->count > 2)
    return HR_ERROR(INVALID_ARGUMENT, "diag_index must have only one or two elements, received %lld elements", (long long)k->count);
  HR_TRY(hr_tensor_i64_at(k, 0, k0));
  HR_TRY(hr_tensor_i64_at(k, k->count - 1, k1));
  if (*k0 > *k1)
    return HR_ERROR(INVALID_ARGUMENT, "lower_diag_index must not be larger than upper_diag_index: %lld > %lld", (long long)*k0,
                    (long long)*k1);
  return NULL;
}

hr_status_t hr_matrix_diag_fit(hr_matrix_diag_t* d) {
  const int64_t ks[2] = {d->k0, d->k1};
  for (int i = 0; i < 2; ++i)
    if (ks[i] != 0 && (ks[i] <= -d->rows || ks[i] >= d->columns))
      return HR_ERROR(INVALID_ARGUMENT, "%s is out of bound: %lld. It must be between %lld and %lld, both excluded",
                      i == 0 ? "lower_diag_index" : "upper_diag_index", (long long)ks[i], (long long)-d->rows, (long long)d->columns);
  const int64_t high = d->rows + (d->k1 < 0 ? d->k1 : 0), wide = d->columns - (d->k0 > 0 ? d->k0 : 0);
  d->longest = high < wide ? high : wide;
  return NULL;
}

void hr_matrix_diag_align(const hr_node_attrs_t* attrs, hr_matrix_diag_t* d) {
  const hr_attr_t* align = hr_attrs_find(attrs, "align");
  hr_str_t text = align ? align->u.s : HR_STR("LEFT_LEFT"); /* above_below */
  d->upper_right = hr_str_has_prefix(text, HR_STR("RIGHT"));
  d->lower_right = hr_str_has_suffix(text, HR_STR("RIGHT"));
}
