/* SPDX-License-Identifier: Apache-2.0 */
/* Picked rows joined by segment: output[s] is the sum of data[indices[i]] over all i with segment_ids[i] = s, as it is (Sum), over the
 * number of rows (Mean) or over its root (SqrtN). Ids ascend; a segment without rows is 0. The forms WithNumSegments state how many
 * segments there are, else the last id does. */
#include "ops/reduce/segment_join.h"
#include "ops/reduce/segment_rows.h"

extern const hr_op_t hr_op_SparseSegmentSum, hr_op_SparseSegmentMean, hr_op_SparseSegmentSqrtN;
extern const hr_op_t hr_op_SparseSegmentSumWithNumSegments, hr_op_SparseSegmentMeanWithNumSegments, hr_op_SparseSegmentSqrtNWithNumSegments;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *data, *indices, *ids;
  int64_t rows = -1, length;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, &data));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &indices));
  HR_TRY(hr_infer_want_rank(s, 2, 1, &ids));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(indices, 0), hr_infer_dim(ids, 0), &length));
  if (hr_infer_input_count(s) == 4) HR_TRY(hr_segment_infer_rows(s, 3, &rows));
  return hr_segment_infer(s, rows, data, 1);
}

/* 2. kernel */
static hr_status_t sparse_prepare(hr_prepare_ctx_t* p, void* prepared) { return hr_segment_rows_init(p, p->kernel->arg, prepared); }

static hr_status_t stated_segments(hr_kernel_ctx_t* k, int64_t used, int64_t* out) {
  HR_TRY(hr_want_scalar(k, 3, "num_segments should be a scalar, not shape "));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 3), "num_segments", out));
  if (*out < 0)
    return HR_ERROR(INVALID_ARGUMENT, "Input num_segments == %lld must not be negative, it is the size of the output", (long long)*out);
  return used > *out ? HR_ERROR(INVALID_ARGUMENT, "segment ids must be < num_segments: id %lld is outside [0, %lld)",
                                (long long)(used - 1), (long long)*out) : NULL;
}

static hr_status_t sparse_segment(hr_kernel_ctx_t* k) {
  const hr_tensor_t *data = hr_input(k, 0), *indices = hr_input(k, 1), *ids = hr_input(k, 2);
  int64_t segments;
  HR_TRY(hr_want_rank_at_least(k, 0, "data Shape must be at least rank 1, not of shape ", 1));
  HR_TRY(hr_want_vector(k, 1, "indices should be a vector, not of shape "));
  HR_TRY(hr_want_vector(k, 2, "segment_ids should be a vector, not of shape "));
  if (indices->count != ids->count)
    return HR_ERROR(INVALID_ARGUMENT, "segment_ids and indices should have same size: %lld indices, %lld segment "
                    "ids", (long long)indices->count, (long long)ids->count);
  HR_TRY(hr_segment_ascending(ids, &segments));
  for (int64_t i = 0; i < indices->count; ++i)
    if (hr_tensor_index_at(indices, i) < 0 || hr_tensor_index_at(indices, i) >= data->shape.dims[0])
      return HR_ERROR(INVALID_ARGUMENT, "indices[%lld] == %lld out of range [0, %lld)", (long long)i,
                      (long long)hr_tensor_index_at(indices, i),
                      (long long)data->shape.dims[0]);
  if (hr_input_count(k) == 4) HR_TRY(stated_segments(k, segments, &segments));
  return hr_segment_rows_run(k, data, indices, ids, segments);
}

/* 3. gradients: rows of dy go back to the rows that were picked. With sparse_gradient they stay slices. */
static void give_gradient(hr_grad_ctx_t* g, const char* op, hr_segment_finish_t finish) {
  if (!hr_grad_wanted(g, 0)) return;
  hr_value_t data = hr_grad_input(g, 0), indices = hr_grad_input(g, 1), ids = hr_grad_input(g, 2), dy = hr_grad_upstream(g, 0),
             shape = hr_emit_shape(g, data);
  if (hr_attrs_bool(hr_grad_attrs(g), "sparse_gradient") && finish == HR_SEGMENT_WHOLE) {
    hr_grad_give_slices(g, 0, indices, hr_segment_pick(g, dy, ids), shape);
    return;
  }
  const int64_t rows = hr_infer_dim(hr_grad_shape(g, data), 0);
  hr_value_t zero = hr_emit_const_i32s(g, (const int64_t[]){0}, 1), one = hr_emit_const_i32s(g, (const int64_t[]){1}, 1);
  hr_value_t count = rows >= 0 && rows <= INT32_MAX
                         ? hr_emit_const_i32(g, (int32_t)rows)
                         : hr_emit(g, "StridedSlice", HR_VALUES(shape, zero, one, one), HR_ATTRS(hr_at_int("shrink_axis_mask", 1)));
  hr_grad_give(g, 0, hr_emit(g, op, HR_VALUES(dy, indices, ids, count), HR_NO_ATTRS));
}
static void grad_sum(hr_grad_ctx_t* g) { give_gradient(g, "SparseSegmentSumGrad", HR_SEGMENT_WHOLE); }
static void grad_mean(hr_grad_ctx_t* g) { give_gradient(g, "SparseSegmentMeanGrad", HR_SEGMENT_MEAN); }
static void grad_sqrt_n(hr_grad_ctx_t* g) { give_gradient(g, "SparseSegmentSqrtNGrad", HR_SEGMENT_SQRT_N); }

/* 4. definitions */
#define REALS "float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64"
#define FLOATS "bfloat16,half,float,double"
#define SPARSE(Name, more_inputs, allowed, more_attrs, mask, finish, gradient, text)                                   \
  static const hr_segment_kind_t kind_##Name = {STEP_Sum, finish};                                                     \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                         \
                                .sig = "data: T; indices: Tidx; segment_ids: Tsegmentids" more_inputs " -> output: T", \
                                .attrs = "T: type{" allowed "}; Tidx: type{int32,int64} = int32; " more_attrs          \
                                         "Tsegmentids: type{int32,int64} = int32; sparse_gradient: bool = false",      \
                                .shape = infer,                                                                        \
                                .grad = gradient,                                                                      \
                                HR_KERNELS({.where = {{"T", mask}},                                                    \
                                            .prepared_bytes = sizeof(hr_segment_rows_t),                               \
                                            .prepare = sparse_prepare,                                                 \
                                            .compute = sparse_segment,                                                 \
                                            .arg = &kind_##Name}),                                                     \
                                .doc = text " of the picked rows of each segment",                                     \
                                HR_HERE};
#define BOTH(Name, allowed, mask, finish, gradient, text)                                                                           \
  SPARSE(Name, "", allowed, "", mask, finish, gradient, text)                                                                       \
  SPARSE(Name##WithNumSegments, "; num_segments: Tnumsegments", allowed, "Tnumsegments: type{int32,int64} = int32; ", mask, finish, \
         gradient, text)
BOTH(SparseSegmentSum, REALS, HR_M_REAL, HR_SEGMENT_WHOLE, grad_sum, "sum")
BOTH(SparseSegmentMean, FLOATS, HR_M_REAL_FLOAT, HR_SEGMENT_MEAN, grad_mean, "mean")
BOTH(SparseSegmentSqrtN, FLOATS, HR_M_REAL_FLOAT, HR_SEGMENT_SQRT_N, grad_sqrt_n, "sum over the root of the number")
