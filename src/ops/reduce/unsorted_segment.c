/* SPDX-License-Identifier: Apache-2.0 */
/* Rows joined by segment, in any order: output[s...] joins all data[i..., ...] with segment_ids[i...] = s, in the order of i (so sums have
 * the same bits on any number of cores). The shape of segment_ids is a prefix of data's. Negative ids are dropped; an id of num_segments or
 * more is INVALID_ARGUMENT. A segment without rows is 0 for sums, 1 for products, and the lowest (highest) finite number for the maximum
 * (minimum). */
#include <float.h>
#include "ops/reduce/segment_join.h"

extern const hr_op_t hr_op_UnsortedSegmentSum, hr_op_UnsortedSegmentProd, hr_op_UnsortedSegmentMax, hr_op_UnsortedSegmentMin;

/* 1. shape */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t *data = hr_infer_input(s, 0), *ids = hr_infer_input(s, 1);
  int64_t rows, merged;
  HR_TRY(hr_segment_infer_rows(s, 2, &rows));
  if (data->rank < 0 || ids->rank < 0) return NULL;
  if (ids->rank > data->rank)
    return HR_ERROR(INVALID_ARGUMENT, "segment_ids of rank %d cannot be a prefix of data of rank %d", ids->rank, data->rank);
  for (int i = 0; i < ids->rank; ++i) {
    hr_status_t status = hr_infer_merge_dim(data->dims[i], ids->dims[i], &merged);
    if (status) return hr_status_note(status, "the shape of segment_ids must be a prefix of data's: ");
  }
  return hr_segment_infer(s, rows, data, ids->rank);
}

/* 2. kernel */
static hr_status_t unsorted_prepare(hr_prepare_ctx_t* p, void* prepared) {
  return hr_segment_join_init(p, (int)(intptr_t)p->kernel->arg, false, prepared);
}

typedef struct {
  const hr_segment_join_t* join;
  const hr_tensor_t *data, *ids;
  char* acc;
  int64_t inner; /* elements of a row */
} unsorted_t;

static hr_status_t unsorted_chunk(void* arg, int64_t begin, int64_t end, int chunk) { /* segments [begin, end): each chunk reads all ids */
  const unsorted_t* u = arg;
  (void)chunk;
  for (int64_t i = 0; i < u->ids->count; ++i) {
    const int64_t id = hr_tensor_index_at(u->ids, i);
    if (id < begin || id >= end) continue;
    hr_segment_join_row(u->join, (const char*)u->data->data + (size_t)(i * u->inner) * u->join->size, u->inner,
                        u->acc + (size_t)(id * u->inner) * u->join->acc_size);
  }
  return NULL;
}

/* Maxima and minima of floats start at the largest finite number, of the narrow type where that is what goes in. */
static void start(const hr_segment_join_t* join, int step, void* acc, int64_t n) {
  join->step->start(acc, n);
  if (step != STEP_Max && step != STEP_Min) return;
  const double top = join->type == HR_F16 ? 65504 : join->type == HR_BF16 ? 0x1.fep127 : join->type == HR_F32 ? FLT_MAX : DBL_MAX;
  const double value = step == STEP_Max ? -top : top;
  if (join->acc_type == HR_F32)
    for (int64_t i = 0; i < n; ++i) ((float*)acc)[i] = (float)value;
  else if (join->acc_type == HR_F64)
    for (int64_t i = 0; i < n; ++i) ((double*)acc)[i] = value;
}

static hr_status_t output_shape(hr_kernel_ctx_t* k, hr_shape_t* out) {
  const hr_tensor_t *data = hr_input(k, 0), *ids = hr_input(k, 1);
  int64_t dims[HR_MAX_RANK + 1], rows;
  int rank = 0;
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  HR_TRY(hr_want_scalar(k, 2, "num_segments should be a scalar, not shape "));
  HR_TRY(hr_tensor_scalar_i64(hr_input(k, 2), "num_segments", &rows));
  if (rows < 0)
    return HR_ERROR(INVALID_ARGUMENT, "Input num_segments == %lld must not be negative, it is the size of the output", (long long)rows);
  bool prefix = ids->shape.rank <= data->shape.rank;
  for (int i = 0; prefix && i < ids->shape.rank; ++i) prefix = ids->shape.dims[i] == data->shape.dims[i];
  if (!prefix)
    return HR_ERROR(INVALID_ARGUMENT, "data.shape = %s does not start with segment_ids.shape = %s", hr_shape_format(&data->shape, b),
                    hr_shape_format(&ids->shape, a));
  dims[rank++] = rows;
  for (int i = ids->shape.rank; i < data->shape.rank; ++i) dims[rank++] = data->shape.dims[i];
  return hr_shape_make(rank, dims, out);
}

static hr_status_t id_error(const hr_tensor_t* ids, int64_t at, int64_t rows) {
  hr_shape_t place = ids->shape; /* dims: the coordinates */
  char text[HR_SHAPE_TEXT];
  const int64_t id = hr_tensor_index_at(ids, at);
  for (int d = place.rank - 1; d >= 0; --d) {
    place.dims[d] = at % ids->shape.dims[d];
    at /= ids->shape.dims[d];
  }
  return HR_ERROR(INVALID_ARGUMENT, "segment_ids%s = %lld is out of range [0, %lld)", hr_shape_format(&place, text),
                  (long long)id, (long long)rows);
}

static hr_status_t run(hr_kernel_ctx_t* k, unsorted_t* u, int64_t rows) {
  enum { SHARED_ROW = 32 }; /* shorter rows: reading the ids again for each chunk would cost more than it saves */
  for (int64_t i = 0; i < u->ids->count; ++i)
    if (hr_tensor_index_at(u->ids, i) >= rows)
      return id_error(u->ids, i, rows);
  if (u->inner == 0 || u->ids->count == 0) return NULL;
  if (u->inner < SHARED_ROW) return unsorted_chunk(u, 0, rows, 0);
  return hr_parallel(k, rows, 0.3 * (double)u->data->count / (double)rows + 1, unsorted_chunk, u);
}

static hr_status_t unsorted_segment(hr_kernel_ctx_t* k) {
  const hr_segment_join_t* join = hr_prepared(k);
  const int step = (int)(intptr_t)hr_kernel_arg(k);
  hr_shape_t shape;
  hr_tensor_t *out, acc;
  HR_TRY(output_shape(k, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  unsorted_t u = {join, hr_input(k, 0), hr_input(k, 1), out->data, hr_shape_count_range(&shape, 1, shape.rank)};
  if (join->type == join->acc_type) {
    start(join, step, out->data, out->count);
    return run(k, &u, shape.dims[0]);
  }
  HR_TRY(hr_temp(k, join->acc_type, &shape, &acc));
  start(join, step, acc.data, acc.count);
  u.acc = acc.data;
  hr_status_t status = run(k, &u, shape.dims[0]);
  if (!status) join->narrow(acc.data, out->data, out->count);
  hr_tensor_release(&acc);
  return status;
}

/* 3. gradients */
#define DATA hr_grad_input(g, 0)
#define IDS hr_grad_input(g, 1)
#define COUNT hr_grad_input(g, 2)
typedef struct {
  hr_value_t ids;  /* negative ones as 0 */
  hr_value_t kept; /* where ids are not negative, to broadcast against rows; no value: nowhere negative */
} picked_t;

static bool known_kept(hr_grad_ctx_t* g) {
  const hr_tensor_t* ids = hr_grad_const(g, IDS);
  if (!ids) return false;
  for (int64_t i = 0; i < ids->count; ++i)
    if (hr_tensor_index_at(ids, i) < 0) return false;
  return true;
}

static picked_t picked(hr_grad_ctx_t* g) {
  hr_value_t ids = IDS, zero = hr_emit_const_like(g, ids, 0), one = hr_emit_const_i32(g, 1);
  const int data_rank = hr_grad_shape(g, DATA)->rank, ids_rank = hr_grad_shape(g, ids)->rank;
  if (known_kept(g)) return (picked_t){ids, HR_NO_VALUE};
  picked_t p = {hr_emit2(g, "Maximum", ids, zero), hr_emit2(g, "GreaterEqual", ids, zero)};
  if (data_rank >= 0 && ids_rank >= 0) {
    for (int i = ids_rank; i < data_rank; ++i) p.kept = hr_emit2(g, "ExpandDims", p.kept, hr_emit_const_i32(g, -1));
    return p;
  }
  hr_value_t more = hr_emit_sub(g, hr_emit1(g, "Rank", DATA), hr_emit1(g, "Rank", ids));
  hr_value_t ones = hr_emit2(g, "Fill", hr_emit_reshape(g, more, hr_emit_const_i32s(g, (const int64_t[]){1}, 1)), one);
  p.kept = hr_emit_reshape(g, p.kept, hr_emit3(g, "ConcatV2", hr_emit_shape(g, ids), ones, hr_emit_const_i32(g, 0)));
  return p;
}

static hr_value_t rows_of(hr_grad_ctx_t* g, picked_t p, hr_value_t segments) { /* each row its segment's values; 0 for dropped rows */
  hr_value_t rows = hr_segment_pick(g, segments, p.ids);
  return p.kept.node ? hr_emit3(g, "SelectV2", p.kept, rows, hr_emit_const_like(g, rows, 0)) : rows;
}

static void grad_sum(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, rows_of(g, picked(g), hr_grad_upstream(g, 0)));
}

static void grad_extreme(hr_grad_ctx_t* g) { /* shared evenly among the elements that reach the extreme */
  if (!hr_grad_wanted(g, 0)) return;
  picked_t p = picked(g);
  hr_value_t dy = hr_grad_upstream(g, 0), hits = hr_emit2(g, "Equal", DATA, hr_segment_pick(g, hr_grad_output(g, 0), p.ids));
  if (p.kept.node) hits = hr_emit2(g, "LogicalAnd", hits, p.kept);
  hr_value_t count = hr_emit3(g, "UnsortedSegmentSum", hr_emit_cast(g, hits, hr_grad_dtype(g, dy)), IDS, COUNT);
  hr_value_t shares = hr_segment_pick(g, hr_emit_div(g, dy, count), p.ids);
  hr_grad_give(g, 0, hr_emit3(g, "SelectV2", hits, shares, hr_emit_const_like(g, shares, 0)));
}

/* Product of the others: output / data; where data is 0, the product of the segment's other elements if that 0 is its only one. There the
 * division is by 1: what is not chosen must not be NaN, or the gradient's gradient is. */
static void grad_prod(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  picked_t p = picked(g);
  hr_value_t data = DATA, dy = hr_grad_upstream(g, 0), zeros = hr_emit2(g, "Equal", data, hr_emit_const_like(g, data, 0));
  hr_value_t zero_count = hr_emit3(g, "UnsortedSegmentSum", hr_emit_cast(g, zeros, HR_I32), IDS, COUNT);
  hr_value_t several = hr_emit2(g, "Greater", zero_count, hr_emit_const_i32(g, 1));
  hr_value_t open = hr_emit3(g, "SelectV2", several, hr_emit_const_like(g, dy, 0), dy);
  hr_value_t others = hr_emit3(g, "SelectV2", zeros, hr_emit_const_like(g, data, 1), data);
  hr_value_t product = hr_emit3(g, "UnsortedSegmentProd", others, IDS, COUNT);
  hr_value_t divided = hr_emit_div(g, hr_segment_pick(g, hr_grad_output(g, 0), p.ids), others);
  hr_value_t partial = hr_emit3(g, "SelectV2", zeros, hr_segment_pick(g, product, p.ids), divided);
  hr_grad_give(g, 0, hr_emit_mul(g, rows_of(g, p, open), partial));
}

/* 4. definitions */
#define NUMBERS \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define REALS "float,double,int32,uint8,int16,int8,int64,bfloat16,uint16,half,uint32,uint64"
#define UNSORTED(Name, allowed, ids, mask, step, gradient, text)                                                                     \
  const hr_op_t hr_op_##Name = {                                                                                                     \
      .name = #Name, .sig = "data: T; segment_ids: Tindices; num_segments: Tnumsegments -> output: T",                               \
      .attrs = "T: type{" allowed "}; Tindices: type{" ids "}; Tnumsegments: type{int32,int64} = int32", .shape = infer,             \
      .grad = gradient,                                                                                                              \
      HR_KERNELS({.where = {{"T", mask}}, .host_inputs = 4, .prepared_bytes = sizeof(hr_segment_join_t), .prepare = unsorted_prepare, \
                  .compute = unsorted_segment, .arg = (const void*)(intptr_t)step}),                                                 \
      .doc = text " of the rows of each segment", HR_HERE};
UNSORTED(UnsortedSegmentSum, NUMBERS, "int16,int32,int64", HR_M_NUMBER, STEP_Sum, grad_sum, "sum")
UNSORTED(UnsortedSegmentProd, NUMBERS, "int32,int64", HR_M_NUMBER, STEP_Prod, grad_prod, "product")
UNSORTED(UnsortedSegmentMax, REALS, "int32,int64", HR_M_REAL, STEP_Max, grad_extreme, "maximum")
UNSORTED(UnsortedSegmentMin, REALS, "int32,int64", HR_M_REAL, STEP_Min, grad_extreme, "minimum")
