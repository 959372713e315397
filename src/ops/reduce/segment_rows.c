/* SPDX-License-Identifier: Apache-2.0 */
/* Output rows split over the cores: each looks up where its segment's run of ids begins and joins that run. */
#include "ops/reduce/segment_rows.h"
#include <math.h>

hr_status_t hr_segment_rows_init(hr_prepare_ctx_t* p, const hr_segment_kind_t* kind, hr_segment_rows_t* out) {
  out->kind = *kind;
  return hr_segment_join_init(p, kind->step, kind->finish == HR_SEGMENT_MEAN, &out->join);
}

typedef struct {
  const hr_segment_rows_t* rows;
  const hr_tensor_t *data, *indices, *ids;
  char* out;
  int64_t inner;
} run_t;

static int64_t first_at_least(const hr_tensor_t* ids, int64_t id) { /* the first place whose id is at least this */
  int64_t low = 0, high = ids->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (hr_tensor_index_at(ids, middle) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

#define DIVIDE(T, count, by) \
  for (int64_t i = 0; i < (count); ++i) ((T*)acc)[i] /= (T)(by)
static void divide(hr_dtype_t type, void* acc, int64_t count, int64_t n, hr_segment_finish_t finish) {
  const double by = finish == HR_SEGMENT_SQRT_N ? sqrt((double)n) : (double)n;
  switch (type) {
    case HR_F32: DIVIDE(float, count, by); break;
    case HR_F64: DIVIDE(double, count, by); break;
    case HR_C64: DIVIDE(float, 2 * count, by); break;
    case HR_C128: DIVIDE(double, 2 * count, by); break;
    case HR_I64: DIVIDE(int64_t, count, n); break;
    default: DIVIDE(uint64_t, count, n); break;
  }
}

static void join_segment(const run_t* r, int64_t begin, int64_t end, char* acc) {
  const hr_segment_join_t* join = &r->rows->join;
  join->step->start(acc, r->inner);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = r->indices ? hr_tensor_index_at(r->indices, i) : i;
    hr_segment_join_row(join, (const char*)r->data->data + (size_t)(row * r->inner) * join->size, r->inner, acc);
  }
  if (r->rows->kind.finish != HR_SEGMENT_WHOLE) divide(join->acc_type, acc, r->inner, end - begin, r->rows->kind.finish);
}

static hr_status_t segments_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const run_t* r = arg;
  const hr_segment_join_t* join = &r->rows->join;
  const bool direct = join->type == join->acc_type;
  const hr_shape_t shape = hr_shape_vector(direct ? 0 : r->inner);
  hr_tensor_t wide;
  (void)chunk;
  HR_TRY(hr_tensor_create(join->acc_type, &shape, &wide));
  int64_t at = first_at_least(r->ids, begin);
  for (int64_t s = begin; s < end; ++s) {
    char* out = r->out + (size_t)(s * r->inner) * join->size;
    int64_t stop = at;
    while (stop < r->ids->count && hr_tensor_index_at(r->ids, stop) == s) ++stop;
    char* acc = direct ? out : wide.data;
    if (stop > at) join_segment(r, at, stop, acc);
    else if (r->rows->kind.step == STEP_Prod) join->step->start(acc, r->inner);
    else memset(acc, 0, (size_t)r->inner * join->acc_size);
    if (!direct) join->narrow(acc, out, r->inner);
    at = stop;
  }
  hr_tensor_release(&wide);
  return NULL;
}

hr_status_t hr_segment_rows_run(hr_kernel_ctx_t* k, const hr_tensor_t* data, const hr_tensor_t* indices, const hr_tensor_t* ids,
                                int64_t segments) {
  hr_shape_t shape = data->shape;
  hr_tensor_t* out;
  shape.dims[0] = segments;
  HR_TRY(hr_shape_check(&shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  if (out->count == 0) return NULL;
  run_t r = {hr_prepared(k), data, indices, ids, out->data, hr_shape_count_range(&shape, 1, shape.rank)};
  return hr_parallel(k, segments, 0.3 * (double)(r.inner * (ids->count + segments)) / (double)segments + 5, segments_chunk, &r);
}
