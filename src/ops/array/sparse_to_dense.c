/* SPDX-License-Identifier: Apache-2.0 */
/* SparseToDense: a tensor of `output_shape` that holds default_value, and at each index the value of that index, or the one value for all.
 * indices: a matrix of an index a row; a vector or a scalar when there is one axis. With validate_indices they must grow from row to
 * row. */
#include <string.h>
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/array/move.h"

extern const hr_op_t hr_op_SparseToDense;

/* 1. kernel */
static hr_status_t prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(p->attrs, "validate_indices");
  return NULL;
}

typedef struct {
  int64_t rows, axes; /* of the indices */
  hr_shape_t shape;
} sparse_t;

static hr_status_t check_inputs(hr_kernel_ctx_t* k, sparse_t* s) {
  const hr_tensor_t *indices = hr_input(k, 0), *dims = hr_input(k, 1), *values = hr_input(k, 2);
  char text[HR_SHAPE_TEXT];
  if (indices->shape.rank > 2)
    return HR_ERROR(INVALID_ARGUMENT, "sparse_indices should be a scalar, vector, or matrix, got shape %s",
                    hr_shape_format(&indices->shape, text));
  s->rows = indices->shape.rank > 0 ? indices->shape.dims[0] : 1;
  s->axes = indices->shape.rank > 1 ? indices->shape.dims[1] : 1;
  HR_TRY(hr_want_vector(k, 1, "output_shape must be rank 1, got shape "));
  if (dims->count != s->axes)
    return HR_ERROR(INVALID_ARGUMENT, "output_shape has incorrect number of elements: %lld should be: %lld", (long long)dims->count,
                    (long long)s->axes);
  if (values->shape.rank > 1 || (values->shape.rank == 1 && values->count != s->rows))
    return HR_ERROR(INVALID_ARGUMENT, "sparse_values has incorrect shape %s, should be [] or [%lld]", hr_shape_format(&values->shape, text),
                    (long long)s->rows);
  HR_TRY(hr_want_scalar(k, 3, "default_value should be a scalar, got shape "));
  return hr_tensor_to_shape(dims, &s->shape);
}

/* The element that row `row` says. */
static hr_status_t place_of(const sparse_t* s, const hr_tensor_t* indices, int64_t row, int64_t* out) {
  uint64_t at = 0; /* unsigned: axes before one of no size may have any */
  for (int64_t d = 0; d < s->axes; ++d) {
    const int64_t i = hr_tensor_index_at(indices, row * s->axes + d);
    if (i < 0 || i >= s->shape.dims[d])
      return HR_ERROR(INVALID_ARGUMENT, "indices[%lld] is out of bounds: %lld is not in [0, %lld) of axis %lld", (long long)row,
                      (long long)i, (long long)s->shape.dims[d], (long long)d);
    at = at * (uint64_t)s->shape.dims[d] + (uint64_t)i;
  }
  *out = (int64_t)at;
  return NULL;
}

static hr_status_t check_order(int64_t row, int64_t before, int64_t at) {
  if (row == 0 || before < at) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "indices[%lld] is %s", (long long)row, before == at ? "repeated" : "out of order");
}

static hr_status_t sparse_to_dense(hr_kernel_ctx_t* k) {
  const hr_tensor_t *indices = hr_input(k, 0), *values = hr_input(k, 2);
  const bool validate = *(const bool*)hr_prepared(k), one = values->shape.rank == 0;
  const size_t size = hr_dtype_size(values->dtype);
  sparse_t s;
  hr_tensor_t* y;
  int64_t at = 0, before = -1;
  HR_TRY(check_inputs(k, &s));
  HR_TRY(hr_output(k, 0, &s.shape, &y));
  HR_TRY(hr_move_fill(k, y, hr_input(k, 3)));
  for (int64_t row = 0; row < s.rows; ++row, before = at) {
    const int64_t from = one ? 0 : row;
    HR_TRY(place_of(&s, indices, row, &at));
    if (validate) HR_TRY(check_order(row, before, at));
    if (hr_dtype_is_plain(y->dtype)) memcpy((char*)y->data + (size_t)at * size, (const char*)values->data + (size_t)from * size, size);
    else HR_TRY(hr_tensor_copy_elements(y, at, values, from, 1));
  }
  return NULL;
}

/* 2. gradient: what stands at the indices; the rest belongs to the default */
static hr_value_t sum_all(hr_grad_ctx_t* g, hr_value_t v) {
  hr_value_t flat = hr_emit_reshape(g, v, hr_emit_const_i32s(g, (const int64_t[]){-1}, 1));
  return hr_emit_sum(g, flat, hr_emit_const_i32s(g, (const int64_t[]){0}, 1), false);
}

/* Indices as a matrix, whose columns are the axes. */
static hr_value_t as_matrix(hr_grad_ctx_t* g, hr_value_t indices) {
  if (hr_grad_shape(g, indices)->rank == 2) return indices;
  hr_value_t any = hr_emit_const_i32s(g, (const int64_t[]){-1}, 1), zero = hr_emit_const_i32(g, 0);
  return hr_emit_reshape(g, indices, hr_emit(g, "ConcatV2", HR_VALUES(any, hr_emit_shape(g, hr_grad_input(g, 1)), zero), HR_NO_ATTRS));
}

static void grad_sparse_to_dense(hr_grad_ctx_t* g) {
  hr_value_t values = hr_grad_input(g, 2), dy = hr_grad_upstream(g, 0);
  hr_value_t taken = hr_emit2(g, "GatherNd", dy, as_matrix(g, hr_grad_input(g, 0)));
  if (hr_grad_wanted(g, 2)) hr_grad_give(g, 2, hr_emit_reduce_to(g, taken, values, taken));
  if (!hr_grad_wanted(g, 3)) return;
  hr_value_t all = sum_all(g, dy), elsewhere = sum_all(g, taken);
  hr_grad_give(g, 3, hr_emit_sub(g, all, elsewhere));
}

/* 3. definition */
static hr_status_t infer(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_const_as_shape(s, 1, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

const hr_op_t hr_op_SparseToDense = {
    .name = "SparseToDense",
    .sig = "sparse_indices: Tindices; output_shape: Tindices; sparse_values: T; default_value: T -> dense: T",
    .attrs = "validate_indices: bool = true; T: type; Tindices: type{int32,int64}",
    .shape = infer,
    .grad = grad_sparse_to_dense,
    HR_KERNELS({.host_inputs = 2, .prepared_bytes = sizeof(bool), .prepare = prepare, .compute = sparse_to_dense}),
    .doc = "a tensor of one value but for those at the indices",
    HR_HERE};
