/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of SparseSegmentSum, Mean and SqrtN: output[indices[i]] gains grad[segment_ids[i]], over the number of rows of that segment
 * (Mean) or over its root (SqrtN). The output has output_dim0 rows, 0 where nothing is gained. half and bfloat16 gather in float. */
#include <math.h>
#include "ops/reduce/segment_join.h"
#include "ops/reduce/segment_rows.h"

extern const hr_op_t hr_op_SparseSegmentSumGrad, hr_op_SparseSegmentMeanGrad, hr_op_SparseSegmentSqrtNGrad;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *grad, *indices, *ids;
  int64_t rows, length;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, &grad));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &indices));
  HR_TRY(hr_infer_want_rank(s, 2, 1, &ids));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(indices, 0), hr_infer_dim(ids, 0), &length));
  HR_TRY(hr_segment_infer_rows(s, 3, &rows));
  return hr_segment_infer(s, rows, grad, 1);
}

/* 2. kernel */
static hr_status_t check_entries(const hr_tensor_t* indices, const hr_tensor_t* ids, int64_t rows, int64_t segments) {
  if (indices->count != ids->count)
    return HR_ERROR(INVALID_ARGUMENT, "segment_ids and indices should have same size: %lld indices, %lld segment "
                    "ids", (long long)indices->count, (long long)ids->count);
  for (int64_t i = 0; rows > 0 && i < ids->count; ++i) { /* an output without rows: nothing is written, TensorFlow looks at nothing */
    const int64_t at = hr_tensor_index_at(indices, i), id = hr_tensor_index_at(ids, i);
    if (at < 0 || at >= rows)
      return HR_ERROR(INVALID_ARGUMENT, "Index %lld out of range [0, %lld) (number %lld)", (long long)at, (long long)rows, (long long)i);
    if (id < 0 || id >= segments)
      return HR_ERROR(INVALID_ARGUMENT, "Segment id %lld out of range [0, %lld) (number %lld)", (long long)id, (long long)segments,
                      (long long)i);
  }
  return NULL;
}

static void add_scaled(const hr_tensor_t* grad, int64_t from, void* acc, int64_t to, int64_t n, double scale) {
  if (grad->dtype == HR_F64) {
    for (int64_t j = 0; j < n; ++j) ((double*)acc)[to + j] += ((const double*)grad->data)[from + j] * scale;
    return;
  }
  float wide[HR_LOOP_BLOCK];
  for (int64_t i = 0; i < n; i += HR_LOOP_BLOCK) {
    const int64_t m = n - i < HR_LOOP_BLOCK ? n - i : HR_LOOP_BLOCK;
    const float* x = (const float*)grad->data + from + i;
    if (grad->dtype != HR_F32) {
      hr_loop_widen(grad->dtype == HR_BF16, (const uint16_t*)grad->data + from + i, wide, m);
      x = wide;
    }
    for (int64_t j = 0; j < m; ++j) ((float*)acc)[to + i + j] += x[j] * (float)scale;
  }
}

static hr_status_t spread_rows(hr_kernel_ctx_t* k, const hr_tensor_t* grad, hr_tensor_t* acc, hr_segment_finish_t finish) {
  const hr_tensor_t *indices = hr_input(k, 1), *ids = hr_input(k, 2);
  const int64_t inner = hr_shape_count_range(&grad->shape, 1, grad->shape.rank);
  const hr_shape_t segments = hr_shape_vector(grad->shape.dims[0]);
  hr_tensor_t counts;
  HR_TRY(hr_tensor_create_zero(HR_I64, &segments, &counts));
  int64_t* count = counts.data;
  memset(acc->data, 0, hr_tensor_bytes(acc));
  for (int64_t i = 0; i < ids->count; ++i) ++count[hr_tensor_index_at(ids, i)];
  for (int64_t i = 0; i < ids->count; ++i) {
    const int64_t id = hr_tensor_index_at(ids, i);
    const double n = (double)count[id], scale = finish == HR_SEGMENT_WHOLE ? 1 : 1 / (finish == HR_SEGMENT_MEAN ? n : sqrt(n));
    add_scaled(grad, id * inner, acc->data, hr_tensor_index_at(indices, i) * inner, inner, scale);
  }
  hr_tensor_release(&counts);
  return NULL;
}

static hr_status_t segment_grad(hr_kernel_ctx_t* k) {
  const hr_tensor_t* grad = hr_input(k, 0);
  const hr_segment_kind_t* kind = hr_kernel_arg(k);
  const bool narrow = grad->dtype == HR_F16 || grad->dtype == HR_BF16;
  hr_shape_t shape = grad->shape;
  hr_tensor_t *out, acc;
  HR_TRY(hr_want_rank_at_least(k, 0, "grad", 1));
  HR_TRY(hr_want_vector(k, 1, "indices should be a vector, not of shape "));
  HR_TRY(hr_want_vector(k, 2, "segment_ids should be a vector, not of shape "));
  HR_TRY(hr_want_scalar(k, 3, "output_dim0 should be a scalar, not shape "));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 3), "output_dim0", &shape.dims[0]));
  HR_TRY(hr_shape_check(&shape));
  HR_TRY(check_entries(hr_input(k, 1), hr_input(k, 2), shape.dims[0], grad->shape.dims[0]));
  HR_TRY(hr_output(k, 0, &shape, &out));
  if (out->count == 0) return NULL;
  if (!narrow) return spread_rows(k, grad, out, kind->finish);
  HR_TRY(hr_temp(k, HR_F32, &shape, &acc));
  hr_status_t status = spread_rows(k, grad, &acc, kind->finish);
  if (!status) hr_loop_narrow(grad->dtype == HR_BF16, acc.data, out->data, out->count);
  hr_tensor_release(&acc);
  return status;
}

/* 3. definitions */
#define SPARSE_GRAD(Name, finish, text)                                                                                        \
  static const hr_segment_kind_t kind_##Name = {STEP_Sum, finish};                                                             \
  const hr_op_t hr_op_##Name = {                                                                                               \
      .name = #Name,                                                                                                           \
      .sig = "grad: T; indices: Tidx; segment_ids: Tsegmentids; output_dim0: int32 -> output: T",                              \
      .attrs = "T: type{bfloat16,half,float,double}; Tidx: type{int32,int64} = int32; Tsegmentids: type{int32,int64} = int32", \
      .shape = infer,                                                                                                          \
      HR_KERNELS({.where = {{"T", HR_M_REAL_FLOAT}}, .host_inputs = 8, .compute = segment_grad, .arg = &kind_##Name}),         \
      .doc = "the gradient of " text,                                                                                          \
      HR_HERE};
SPARSE_GRAD(SparseSegmentSumGrad, HR_SEGMENT_WHOLE, "SparseSegmentSum")
SPARSE_GRAD(SparseSegmentMeanGrad, HR_SEGMENT_MEAN, "SparseSegmentMean")
SPARSE_GRAD(SparseSegmentSqrtNGrad, HR_SEGMENT_SQRT_N, "SparseSegmentSqrtN")
