/* SPDX-License-Identifier: Apache-2.0 */
/* Rows joined by segment, where segment_ids ascend: output[s] joins all data[i] with segment_ids[i] = s. There are as many segments as the
 * last id says, plus one. A segment without rows is 1 for products, else 0. Ids that fall or are negative are INVALID_ARGUMENT. */
#include "ops/reduce/segment_join.h"
#include "ops/reduce/segment_rows.h"

extern const hr_op_t hr_op_SegmentSum, hr_op_SegmentMean, hr_op_SegmentProd, hr_op_SegmentMax, hr_op_SegmentMin;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *data, *ids;
  int64_t rows;
  HR_TRY(hr_infer_want_rank_at_least(s, 0, 1, &data));
  HR_TRY(hr_infer_want_rank(s, 1, 1, &ids));
  HR_TRY(hr_infer_merge_dim(hr_infer_dim(data, 0), hr_infer_dim(ids, 0), &rows));
  return hr_segment_infer(s, -1, data, 1);
}

/* 2. kernel */
static hr_status_t segment_prepare(hr_prepare_ctx_t* p, void* prepared) { return hr_segment_rows_init(p, p->kernel->arg, prepared); }

static hr_status_t segment(hr_kernel_ctx_t* k) {
  const hr_tensor_t *data = hr_input(k, 0), *ids = hr_input(k, 1);
  int64_t segments;
  HR_TRY(hr_want_rank_at_least(k, 0, "data", 1));
  HR_TRY(hr_want_vector(k, 1, "segment_ids should be a vector, not of shape "));
  if (ids->count != data->shape.dims[0])
    return HR_ERROR(INVALID_ARGUMENT, "segment_ids should be the same size as dimension 0 of input: %lld segment ids "
                    "for %lld rows", (long long)ids->count,
                    (long long)data->shape.dims[0]);
  HR_TRY(hr_segment_ascending(ids, &segments));
  return hr_segment_rows_run(k, data, NULL, ids, segments);
}

/* 3. gradients */
#define DATA hr_grad_input(g, 0)
#define IDS hr_grad_input(g, 1)
#define DY hr_grad_upstream(g, 0)

static void grad_sum(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, hr_segment_pick(g, DY, IDS));
}

static void grad_mean(hr_grad_ctx_t* g) { /* dy over the number of rows: ones in the ids' length and data's rank, summed by segment */
  if (!hr_grad_wanted(g, 0)) return;
  hr_value_t dy = DY, ones = hr_emit1(g, "OnesLike", hr_emit_cast(g, IDS, hr_grad_dtype(g, dy)));
  hr_value_t counts = hr_emit2(g, "SegmentSum", ones, IDS);
  hr_value_t per_row = hr_segment_pick(g, counts, IDS), rows = hr_segment_pick(g, dy, IDS);
  const int rank = hr_grad_shape(g, DATA)->rank;
  if (rank >= 0) {
    for (int i = 1; i < rank; ++i) per_row = hr_emit2(g, "ExpandDims", per_row, hr_emit_const_i32(g, -1));
  } else { /* [-1, 1, 1...] */
    hr_value_t less = hr_emit_sub(g, hr_emit1(g, "Rank", DATA), hr_emit_const_i32(g, 1)),
               one = hr_emit_const_i32s(g, (const int64_t[]){1}, 1);
    hr_value_t tail = hr_emit2(g, "Fill", hr_emit_reshape(g, less, one), hr_emit_const_i32(g, 1));
    per_row = hr_emit_reshape(g, per_row,
                              hr_emit3(g, "ConcatV2", hr_emit_const_i32s(g, (const int64_t[]){-1}, 1), tail, hr_emit_const_i32(g, 0)));
  }
  hr_grad_give(g, 0, hr_emit_div(g, rows, per_row));
}

static void grad_extreme(hr_grad_ctx_t* g) { /* shared evenly among the elements that reach the extreme */
  if (!hr_grad_wanted(g, 0)) return;
  hr_value_t dy = DY, hits = hr_emit2(g, "Equal", DATA, hr_segment_pick(g, hr_grad_output(g, 0), IDS));
  hr_value_t count = hr_emit2(g, "SegmentSum", hr_emit_cast(g, hits, hr_grad_dtype(g, dy)), IDS);
  hr_value_t shares = hr_segment_pick(g, hr_emit_div(g, dy, count), IDS);
  hr_grad_give(g, 0, hr_emit3(g, "SelectV2", hits, shares, hr_emit_const_like(g, shares, 0)));
}

static void grad_prod(hr_grad_ctx_t* g) { /* product of the others: see UnsortedSegmentProd */
  if (!hr_grad_wanted(g, 0)) return;
  hr_value_t data = DATA, dy = DY, zeros = hr_emit2(g, "Equal", data, hr_emit_const_like(g, data, 0));
  hr_value_t zero_count = hr_emit2(g, "SegmentSum", hr_emit_cast(g, zeros, HR_I32), IDS);
  hr_value_t several = hr_emit2(g, "Greater", zero_count, hr_emit_const_i32(g, 1));
  hr_value_t open = hr_emit3(g, "SelectV2", several, hr_emit_const_like(g, dy, 0), dy);
  hr_value_t others = hr_emit3(g, "SelectV2", zeros, hr_emit_const_like(g, data, 1), data);
  hr_value_t product = hr_emit2(g, "SegmentProd", others, IDS);
  hr_value_t divided = hr_emit_div(g, hr_segment_pick(g, hr_grad_output(g, 0), IDS), others);
  hr_value_t partial = hr_emit3(g, "SelectV2", zeros, hr_segment_pick(g, product, IDS), divided);
  hr_grad_give(g, 0, hr_emit_mul(g, hr_segment_pick(g, open, IDS), partial));
}

/* 4. definitions */
#define NUMBERS \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define REALS "float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64"
#define SEGMENT(Name, allowed, mask, step, finish, gradient, text)                                                                   \
  static const hr_segment_kind_t kind_##Name = {step, finish};                                                                       \
  const hr_op_t hr_op_##Name = {                                                                                                     \
      .name = #Name, .sig = "data: T; segment_ids: Tindices -> output: T", .attrs = "T: type{" allowed "}; Tindices: type{int32,int64}", \
      .shape = infer, .grad = gradient,                                                                                              \
      HR_KERNELS({.where = {{"T", mask}}, .prepared_bytes = sizeof(hr_segment_rows_t), .prepare = segment_prepare, .compute = segment, \
                  .arg = &kind_##Name}),                                                                                             \
      .doc = text " of the rows of each segment", HR_HERE};
SEGMENT(SegmentSum, NUMBERS, HR_M_NUMBER, STEP_Sum, HR_SEGMENT_WHOLE, grad_sum, "sum")
SEGMENT(SegmentMean, NUMBERS, HR_M_NUMBER, STEP_Sum, HR_SEGMENT_MEAN, grad_mean, "mean")
SEGMENT(SegmentProd, NUMBERS, HR_M_NUMBER, STEP_Prod, HR_SEGMENT_WHOLE, grad_prod, "product")
SEGMENT(SegmentMax, REALS, HR_M_REAL, STEP_Max, HR_SEGMENT_WHOLE, grad_extreme, "maximum")
SEGMENT(SegmentMin, REALS, HR_M_REAL, STEP_Min, HR_SEGMENT_WHOLE, grad_extreme, "minimum")
