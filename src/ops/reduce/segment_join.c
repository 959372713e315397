/* SPDX-License-Identifier: Apache-2.0 */
/* Joining rows, and the checks that segment ops share. */
#include "ops/reduce/segment_join.h"
#include "ops/elementwise/cast.h"

static void widen_f16(const void* x, void* y, int64_t n) { hr_loop_widen(false, x, y, n); }
static void widen_bf16(const void* x, void* y, int64_t n) { hr_loop_widen(true, x, y, n); }
static void narrow_f16(const void* x, void* y, int64_t n) { hr_loop_narrow(false, x, y, n); }
static void narrow_bf16(const void* x, void* y, int64_t n) { hr_loop_narrow(true, x, y, n); }

hr_status_t hr_segment_join_init(hr_prepare_ctx_t* p, int step, bool wide_integers, hr_segment_join_t* join) {
  const hr_cast_table_t* casts = HR_ISA_PICK(hr_cast_vec);
  join->type = (hr_dtype_t)p->input_types[0];
  join->acc_type = join->type == HR_F16 || join->type == HR_BF16                                            ? HR_F32
                   : wide_integers && hr_dtype_in(join->type, HR_M_INTEGER) && join->type != HR_U64 ? HR_I64
                                                                                                             : join->type;
  join->widen = join->type == HR_F16 ? widen_f16 : join->type == HR_BF16 ? widen_bf16 : (*casts)[join->type][join->acc_type];
  join->narrow = join->type == HR_F16 ? narrow_f16 : join->type == HR_BF16 ? narrow_bf16 : (*casts)[join->acc_type][join->type];
  join->size = hr_dtype_size(join->type);
  join->acc_size = hr_dtype_size(join->acc_type);
  join->step = &(*HR_ISA_PICK(hr_reduce_vec))[step][join->acc_type];
  return join->step->column ? NULL
                            : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)join->type));
}

enum { BLOCK = 512 };
void hr_segment_join_row(const hr_segment_join_t* join, const char* x, int64_t n, char* acc) {
  int64_t wide[BLOCK];
  if (join->type == join->acc_type) {
    join->step->column(x, n, acc);
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t m = n - i < BLOCK ? n - i : BLOCK;
    join->widen(x + (size_t)i * join->size, wide, m);
    join->step->column(wide, m, acc + (size_t)i * join->acc_size);
  }
}

/* What is wrong with them, in TensorFlow's words: it takes the last id for the largest, and looks at one segment after the other. */
static hr_status_t not_ascending(const hr_tensor_t* ids) {
  const int64_t last = hr_tensor_index_at(ids, ids->count - 1);
  if (last < 0) return HR_ERROR(INVALID_ARGUMENT, "segment ids must be >= 0, but the last is %lld", (long long)last);
  for (int64_t i = 0; i < ids->count; ++i) {
    const int64_t id = hr_tensor_index_at(ids, i), next = i + 1 < ids->count ? hr_tensor_index_at(ids, i + 1) : INT64_MAX;
    if (next == id) continue;
    if (next < id)
      return HR_ERROR(INVALID_ARGUMENT, "segment ids are not increasing: %lld after %lld at place %lld", (long long)next, (long long)id,
                      (long long)(i + 1));
    if (id < 0 || id > last)
      return HR_ERROR(INVALID_ARGUMENT, "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not sorted (place "
                      "%lld)", (long long)id, (long long)last + (last < INT64_MAX), (long long)i);
  }
  return HR_ERROR(INVALID_ARGUMENT, "segment ids are not increasing");
}

hr_status_t hr_segment_ascending(const hr_tensor_t* ids, int64_t* out_segments) {
  int64_t last = 0;
  for (int64_t i = 0; i < ids->count; ++i) {
    const int64_t id = hr_tensor_index_at(ids, i);
    if (id < last) return not_ascending(ids);
    last = id;
  }
  if (last == INT64_MAX) return HR_ERROR(INVALID_ARGUMENT, "segment id %lld is too large", (long long)last);
  *out_segments = ids->count ? last + 1 : 0;
  return NULL;
}

hr_status_t hr_segment_infer(hr_infer_t* s, int64_t rows, const hr_pshape_t* data, int lead) {
  int64_t dims[HR_MAX_RANK + 1];
  int rank = 0;
  if (data->rank < 0 || data->rank > HR_MAX_RANK) return NULL;
  dims[rank++] = rows;
  for (int i = lead; i < data->rank; ++i) dims[rank++] = data->dims[i];
  return hr_infer_set_dims(s, 0, rank, dims);
}

hr_status_t hr_segment_infer_rows(hr_infer_t* s, int input, int64_t* out) {
  const hr_tensor_t* value = hr_infer_const(s, input);
  *out = -1;
  HR_TRY(hr_infer_want_rank(s, input, 0, NULL));
  if (!value) return NULL;
  HR_TRY(hr_tensor_scalar_i64(value, "number of segments", out));
  if (*out >= 0) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "Input num_segments == %lld must not be negative, it is the size of the output", (long long)*out);
}
