/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of reductions. */
#include "ops/reduce/axes.h"
#include "op/attrs_of.h"

hr_status_t hr_reduce_mask(const hr_tensor_t* axes, int rank, uint32_t* out_mask) {
  uint32_t mask = 0;
  for (int64_t i = 0; i < axes->count; ++i) {
    int64_t wanted;
    int axis;
    HR_TRY(hr_tensor_i64_at(axes, i, &wanted));
    if (wanted < -rank || wanted >= rank)
      return HR_ERROR(INVALID_ARGUMENT, "Invalid reduction dimension (%lld for input with %d dimension(s), it must be in [%d, %d))",
                      (long long)wanted, rank, -rank, rank);
    axis = (int)(wanted < 0 ? wanted + rank : wanted);
    if (mask >> axis & 1) return HR_ERROR(INVALID_ARGUMENT, "Invalid reduction arguments: Axes contains duplicate dimension: %d", axis);
    mask |= UINT32_C(1) << axis;
  }
  *out_mask = mask;
  return NULL;
}

hr_status_t hr_reduce_infer(hr_infer_t* s) {
  const hr_pshape_t *x = hr_infer_input(s, 0), *list = hr_infer_input(s, 1), *unknown;
  const hr_tensor_t* axes = hr_infer_const(s, 1);
  const bool keep = hr_attrs_bool(hr_infer_attrs(s), "keep_dims");
  uint32_t mask;
  if (list->rank > 1) /* kernels take more: old graphs have matrices of axes */
    return HR_ERROR(INVALID_ARGUMENT, "the axes to reduce must be a scalar or a vector, not of rank %d", list->rank);
  if (x->rank < 0 || x->rank > HR_MAX_RANK) return NULL;
  if (!axes) {
    if (!keep) return NULL;
    HR_TRY(hr_infer_unknown_of_rank(s, x->rank, &unknown));
    hr_infer_set(s, 0, unknown);
    return NULL;
  }
  HR_TRY(hr_reduce_mask(axes, x->rank, &mask));
  int64_t dims[HR_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < x->rank; ++i)
    if (!(mask >> i & 1)) dims[rank++] = x->dims[i];
    else if (keep) dims[rank++] = 1;
  return hr_infer_set_dims(s, 0, rank, dims);
}

void hr_reduce_shape(const hr_shape_t* x, uint32_t mask, bool keep_dims, hr_shape_t* out) {
  out->rank = 0;
  for (int i = 0; i < x->rank; ++i)
    if (!(mask >> i & 1)) out->dims[out->rank++] = x->dims[i];
    else if (keep_dims) out->dims[out->rank++] = 1;
}

void hr_reduce_collapse(const hr_shape_t* x, uint32_t mask, hr_reduce_runs_t* out) {
  out->rank = 0;
  out->kept_count = out->reduced_count = 1;
  for (int i = 0; i < x->rank; ++i) {
    const bool reduced = mask >> i & 1;
    *(reduced ? &out->reduced_count : &out->kept_count) *= x->dims[i];
    if (x->dims[i] == 1) continue;
    if (out->rank && out->reduced[out->rank - 1] == reduced) {
      out->dims[out->rank - 1] *= x->dims[i];
    } else {
      out->dims[out->rank] = x->dims[i];
      out->reduced[out->rank++] = reduced;
    }
  }
}
