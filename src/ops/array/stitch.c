/* SPDX-License-Identifier: Apache-2.0 */
/* Rows laid out by index, and dealt out by number.
 * DynamicStitch: merged[indices[m][i...], ...] = data[m][i..., ...]; of an index given twice the last one is taken, and a row that no index
 * names is zero (TensorFlow leaves it as it was in memory). ParallelDynamicStitch says that the order does not matter; it is the same here.
 * DynamicPartition: output p has, in order, the rows data[i..., ...] where partitions[i...] == p. */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "op/kernel_ctx.h"

extern const hr_op_t hr_op_DynamicPartition, hr_op_DynamicStitch, hr_op_ParallelDynamicStitch;

/* 1. shapes: that of `lead` and then that of a row */
static hr_status_t check_lead(const char* what, const char* lead_name, int m, const hr_pshape_t* data, const hr_pshape_t* lead) {
  char text[2][HR_SHAPE_TEXT];
  bool fits = lead->rank < 0 || data->rank < 0 || data->rank >= lead->rank;
  for (int d = 0; fits && data->rank >= 0 && d < lead->rank; ++d)
    fits = data->dims[d] < 0 || lead->dims[d] < 0 || data->dims[d] == lead->dims[d];
  if (fits) return NULL;
  hr_pshape_format(data, text[0]);
  hr_pshape_format(lead, text[1]);
  if (m < 0)
    return HR_ERROR(INVALID_ARGUMENT, "%s.shape must start with %s.shape, got %s.shape = %s, %s.shape = %s", what, lead_name, what, text[0],
                    lead_name, text[1]);
  return HR_ERROR(INVALID_ARGUMENT, "%s[%d].shape = %s does not start with %s[%d].shape = %s", what, m, text[0], lead_name, m, text[1]);
}

static hr_status_t infer_largest(hr_infer_t* s, int count, int64_t* out) { /* -1: not known */
  int64_t largest = -1, at;
  *out = -1;
  for (int m = 0; m < count; ++m) {
    const hr_tensor_t* known = hr_infer_const(s, m);
    if (!known) return NULL;
    for (int64_t i = 0; i < known->count; ++i) {
      HR_TRY(hr_tensor_i64_at(known, i, &at));
      if (at > largest) largest = at;
    }
  }
  *out = largest + 1;
  return NULL;
}

static hr_status_t infer_stitch(hr_infer_t* s) {
  const int count = (int)hr_attrs_int(hr_infer_attrs(s), "N");
  int64_t dims[HR_MAX_RANK + 1];
  int rank = -1;
  for (int m = 0; m < count; ++m) {
    const hr_pshape_t *indices = hr_infer_input(s, m), *data = hr_infer_input(s, count + m);
    HR_TRY(check_lead("data", "indices", m, data, indices));
    if (indices->rank < 0 || data->rank < 0) continue;
    const int row = (int)(data->rank - indices->rank);
    if (row > HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "rows of rank %d; at most %d is supported", row, HR_MAX_RANK);
    if (rank >= 0 && rank != row)
      return HR_ERROR(INVALID_ARGUMENT, "the rows of data[%d] have rank %d, those before rank %d", m, row, rank);
    for (int d = 0; d < row; ++d) {
      if (rank < 0) dims[1 + d] = data->dims[indices->rank + d];
      else HR_TRY(hr_infer_merge_dim(dims[1 + d], data->dims[indices->rank + d], &dims[1 + d]));
    }
    rank = row;
  }
  if (rank < 0) return NULL;
  HR_TRY(infer_largest(s, count, &dims[0]));
  return hr_infer_set_dims(s, 0, rank + 1, dims);
}

static hr_status_t infer_partition(hr_infer_t* s) {
  const hr_pshape_t *data = hr_infer_input(s, 0), *lead = hr_infer_input(s, 1);
  int64_t dims[HR_MAX_RANK + 1];
  HR_TRY(check_lead("data", "partitions", -1, data, lead));
  if (data->rank < 0 || lead->rank < 0 || data->rank - lead->rank > HR_MAX_RANK) return NULL;
  const int row = (int)(data->rank - lead->rank);
  dims[0] = -1;
  for (int d = 0; d < row; ++d) dims[1 + d] = data->dims[lead->rank + d];
  for (int p = 0; p < hr_infer_output_count(s); ++p) HR_TRY(hr_infer_set_dims(s, p, row + 1, dims));
  return NULL;
}

/* 2. kernels */
/* [rows, what follows the first `skip` dims of `from`] */
static hr_status_t rows_shape(int64_t rows, const hr_shape_t* from, int skip, hr_shape_t* out) {
  int64_t dims[HR_MAX_RANK + 1];
  dims[0] = rows;
  for (int d = skip; d < from->rank; ++d) dims[1 + d - skip] = from->dims[d];
  return hr_shape_make(from->rank - skip + 1, dims, out);
}

static bool same_row(const hr_shape_t* a, int a_skip, const hr_shape_t* b, int b_skip) {
  bool same = a->rank - a_skip == b->rank - b_skip;
  for (int d = a_skip; same && d < a->rank; ++d) same = a->dims[d] == b->dims[d - a_skip + b_skip];
  return same;
}

static bool leads(const hr_shape_t* lead, const hr_shape_t* data) {
  bool same = lead->rank <= data->rank;
  for (int d = 0; same && d < lead->rank; ++d) same = lead->dims[d] == data->dims[d];
  return same;
}

static hr_status_t check_stitched(const hr_kernel_ctx_t* k, int count) {
  char text[4][HR_SHAPE_TEXT];
  const hr_shape_t *first = &hr_input(k, count)->shape, *first_lead = &hr_input(k, 0)->shape;
  for (int m = 0; m < count; ++m) {
    const hr_shape_t *lead = &hr_input(k, m)->shape, *data = &hr_input(k, count + m)->shape;
    if (!leads(lead, data))
      return HR_ERROR(INVALID_ARGUMENT, "data[%d].shape = %s does not start with indices[%d].shape = %s", m,
                      hr_shape_format(data, text[0]), m, hr_shape_format(lead, text[1]));
    if (!same_row(data, lead->rank, first, first_lead->rank))
      return HR_ERROR(INVALID_ARGUMENT,
                      "Need data[0].shape[%d:] = data[%d].shape[%d:], got data[0].shape = %s, data[%d].shape = %s, indices[0].shape = %s, "
                      "indices[%d].shape = %s",
                      (int)first_lead->rank, m, (int)lead->rank, hr_shape_format(first, text[0]), m, hr_shape_format(data, text[1]),
                      hr_shape_format(first_lead, text[2]), m, hr_shape_format(lead, text[3]));
  }
  return NULL;
}

static hr_status_t find_largest(const hr_kernel_ctx_t* k, int count, int64_t* out) {
  *out = -1;
  for (int m = 0; m < count; ++m) {
    const hr_tensor_t* t = hr_input(k, m);
    for (int64_t i = 0; i < t->count; ++i) {
      const int32_t at = ((const int32_t*)t->data)[i];
      if (at < 0) return HR_ERROR(INVALID_ARGUMENT, "indices[%d] is out of range: element %lld is %d", m, (long long)i, (int)at);
      if (at > *out) *out = at;
    }
  }
  return NULL;
}

static hr_status_t copy_row(hr_tensor_t* to, int64_t at, const hr_tensor_t* from, int64_t row, int64_t size) {
  const size_t bytes = hr_dtype_size(to->dtype) * (size_t)size;
  if (!hr_dtype_is_plain(to->dtype)) return hr_tensor_copy_elements(to, at * size, from, row * size, size);
  memcpy((char*)to->data + (size_t)at * bytes, (const char*)from->data + (size_t)row * bytes, bytes);
  return NULL;
}

static hr_status_t stitch(hr_kernel_ctx_t* k) {
  const int count = hr_input_count(k) / 2;
  const hr_tensor_t* first = hr_input(k, count);
  int64_t largest = 0;
  hr_shape_t shape;
  hr_tensor_t* out = NULL;
  HR_TRY(check_stitched(k, count));
  HR_TRY(find_largest(k, count, &largest));
  HR_TRY(rows_shape(largest + 1, &first->shape, hr_input(k, 0)->shape.rank, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  const int64_t size = hr_shape_count_range(&shape, 1, shape.rank);
  if (hr_dtype_is_plain(out->dtype) && out->count) memset(out->data, 0, hr_dtype_size(out->dtype) * (size_t)out->count);
  for (int m = 0; m < count; ++m) {
    const hr_tensor_t *indices = hr_input(k, m), *data = hr_input(k, count + m);
    for (int64_t i = 0; size && i < indices->count; ++i) HR_TRY(copy_row(out, ((const int32_t*)indices->data)[i], data, i, size));
  }
  return NULL;
}

static hr_status_t count_rows(const hr_tensor_t* partitions, int count, int64_t* sizes) {
  char place[HR_SHAPE_TEXT];
  for (int p = 0; p < count; ++p) sizes[p] = 0;
  for (int64_t i = 0; i < partitions->count; ++i) {
    const int32_t p = ((const int32_t*)partitions->data)[i];
    if (p < 0 || p >= count)
      return HR_ERROR(INVALID_ARGUMENT, "partitions%s = %d is not in [0, %d)", hr_shape_format_place(&partitions->shape, i, place), (int)p,
                      count);
    ++sizes[p];
  }
  return NULL;
}

/* sizes[p] is how many rows part p has, `done` as many that it has by now. */
static hr_status_t deal(hr_kernel_ctx_t* k, const int64_t* sizes, int64_t* done, hr_tensor_t** parts) {
  const hr_tensor_t *data = hr_input(k, 0), *partitions = hr_input(k, 1);
  hr_shape_t shape;
  for (int p = 0; p < hr_output_count(k); ++p) {
    HR_TRY(rows_shape(sizes[p], &data->shape, partitions->shape.rank, &shape));
    HR_TRY(hr_output(k, p, &shape, &parts[p]));
    done[p] = 0;
  }
  const int64_t size = hr_shape_count_range(&data->shape, partitions->shape.rank, data->shape.rank);
  for (int64_t i = 0; size && i < partitions->count; ++i) {
    const int32_t p = ((const int32_t*)partitions->data)[i];
    HR_TRY(copy_row(parts[p], done[p]++, data, i, size));
  }
  return NULL;
}

static hr_status_t partition(hr_kernel_ctx_t* k) {
  const hr_tensor_t *data = hr_input(k, 0), *partitions = hr_input(k, 1);
  const int count = hr_output_count(k);
  char text[2][HR_SHAPE_TEXT];
  if (!leads(&partitions->shape, &data->shape))
    return HR_ERROR(INVALID_ARGUMENT, "data.shape must start with partitions.shape, got data.shape = %s, partitions.shape = %s",
                    hr_shape_format(&data->shape, text[0]), hr_shape_format(&partitions->shape, text[1]));
  hr_tensor_t scratch = {0}; /* of each part: its size, how much of it is there, and the output */
  const hr_shape_t words = hr_shape_vector(3 * (int64_t)count);
  HR_TRY(hr_temp(k, HR_I64, &words, &scratch));
  int64_t* sizes = scratch.data;
  hr_status_t status = count_rows(partitions, count, sizes);
  if (!status) status = deal(k, sizes, sizes + count, (hr_tensor_t**)(void*)(sizes + 2 * count));
  hr_tensor_release(&scratch);
  return status;
}

/* 3. gradients: each piece of data went where its indices say; the parts are stitched together again by where their rows were */
static void grad_stitch(hr_grad_ctx_t* g) {
  const int count = hr_grad_input_count(g) / 2;
  for (int m = 0; m < count; ++m)
    if (hr_grad_wanted(g, count + m))
      hr_grad_give(g, count + m, hr_emit3(g, "GatherV2", hr_grad_upstream(g, 0), hr_grad_input(g, m), hr_emit_const_i32(g, 0)));
}

static void grad_partition(hr_grad_ctx_t* g) {
  const int count = hr_grad_output_count(g);
  hr_value_t data = hr_grad_input(g, 0), partitions = hr_grad_input(g, 1);
  hr_value_t* parts = hr_alloc_array((size_t)count * 2, sizeof *parts);
  if (!parts) {
    hr_grad_fail(g, hr_status_out_of_memory());
    return;
  }
  hr_value_t size = hr_emit(g, "Size", HR_VALUES(partitions), HR_NO_ATTRS);
  hr_value_t places = hr_emit3(g, "Range", hr_emit_const_i32(g, 0), size, hr_emit_const_i32(g, 1));
  places = hr_emit_reshape(g, places, hr_emit_shape(g, partitions));
  hr_value_t dealt = hr_emit(g, "DynamicPartition", HR_VALUES(places, partitions), HR_ATTRS(hr_at_int("num_partitions", count)));
  for (int p = 0; p < count; ++p) {
    parts[p] = hr_emit_nth(dealt, p);
    parts[count + p] = hr_grad_upstream(g, p);
  }
  hr_value_t joined = hr_emit(g, "ParallelDynamicStitch", 2 * count, parts, HR_ATTRS(hr_at_int("N", count)));
  hr_grad_give(g, 0, hr_emit_reshape_like(g, joined, data));
  hr_free(parts);
}

/* 4. definitions */
#define STITCH(Name, text)                                           \
  const hr_op_t hr_op_##Name = {.name = #Name,                       \
                                .sig = "indices: N*int32; data: N*T -> merged: T", \
                                .attrs = "N: int >= 1; T: type",     \
                                .shape = infer_stitch,               \
                                .grad = grad_stitch,                 \
                                HR_KERNELS(HR_CPU_ANY(stitch)),      \
                                .doc = text,                         \
                                HR_HERE}
STITCH(DynamicStitch, "merged[indices[m][i], ...] = data[m][i, ...], the last of them where an index comes twice");
STITCH(ParallelDynamicStitch, "merged[indices[m][i], ...] = data[m][i, ...], any of them where an index comes twice");
const hr_op_t hr_op_DynamicPartition = {.name = "DynamicPartition",
                                        .sig = "data: T; partitions: int32 -> outputs: num_partitions*T",
                                        .attrs = "num_partitions: int >= 1; T: type",
                                        .shape = infer_partition,
                                        .grad = grad_partition,
                                        HR_KERNELS(HR_CPU_ANY(partition)),
                                        .doc = "output p has the rows of data where partitions is p",
                                        HR_HERE};
