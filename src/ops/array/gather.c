/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked by index: output[b..., o..., i..., n...] = params[b..., o..., indices[b..., i...], n...], where the first batch_dims axes are shared
 * and `axis` is the one picked from. Gather is the form with axis 0; ResourceGather reads a variable. An index out of range is
 * INVALID_ARGUMENT. The gradient along axis 0 is slices: (indices, dy). */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_Gather, hr_op_GatherV2, hr_op_ResourceGather;

/* 1. shapes */
/* The output's dims for known ranks; -1 dims are unknown. */
static hr_status_t gathered_dims(int p_rank, const int64_t* p, int i_rank, const int64_t* i, int axis, int batch, int64_t out[2 * HR_MAX_RANK], int* out_rank) {
  int n = 0;
  if (batch > i_rank || batch > axis)
    return HR_ERROR(INVALID_ARGUMENT, "batch_dims %d must not exceed the rank of indices %d nor the axis %d", batch, i_rank, axis);
  for (int d = 0; d < batch; ++d) {
    int64_t merged;
    HR_TRY(hr_infer_merge_dim(p[d], i[d], &merged));
    out[n++] = merged;
  }
  for (int d = batch; d < axis; ++d) out[n++] = p[d];
  for (int d = batch; d < i_rank; ++d) out[n++] = i[d];
  for (int d = axis + 1; d < p_rank; ++d) out[n++] = p[d];
  *out_rank = n;
  return NULL;
}

static hr_status_t normal_batch(int64_t batch, int i_rank, int* out) {
  if (batch < -i_rank || batch > i_rank) return HR_ERROR(INVALID_ARGUMENT, "batch_dims %lld must be in [%d, %d]", (long long)batch, -i_rank, i_rank);
  *out = (int)(batch < 0 ? batch + i_rank : batch);
  return NULL;
}

static hr_status_t infer_gathered(hr_infer_t* s, const hr_pshape_t* p, const hr_pshape_t* i, int64_t axis_value, int64_t batch_value) {
  int axis = 0, batch = 0, rank = 0;
  int64_t dims[2 * HR_MAX_RANK];
  if (p->rank < 0 || i->rank < 0) return NULL;
  if (p->rank > HR_MAX_RANK || i->rank > HR_MAX_RANK) return HR_ERROR(UNIMPLEMENTED, "gather from rank %d by indices of rank %d; at most %d is supported", p->rank, i->rank, HR_MAX_RANK);
  if (p->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "params must be at least a vector, not a scalar");
  HR_TRY(hr_shape_axis(axis_value, p->rank, &axis));
  HR_TRY(normal_batch(batch_value, i->rank, &batch));
  HR_TRY(gathered_dims(p->rank, p->dims, i->rank, i->dims, axis, batch, dims, &rank));
  return hr_infer_set_dims(s, 0, rank, dims);
}

static hr_status_t infer_gather(hr_infer_t* s) { return infer_gathered(s, hr_infer_input(s, 0), hr_infer_input(s, 1), 0, 0); }

static hr_status_t infer_gather_v2(hr_infer_t* s) {
  const hr_tensor_t* axis = hr_infer_const(s, 2);
  const hr_pshape_t *p = hr_infer_input(s, 0), *i = hr_infer_input(s, 1);
  const int64_t batch = hr_attrs_int(hr_infer_attrs(s), "batch_dims");
  int64_t value;
  HR_TRY(hr_infer_want_rank(s, 2, 0, NULL));
  if (axis) {
    HR_TRY(hr_tensor_scalar_i64(axis, "axis", &value));
    return infer_gathered(s, p, i, value, batch);
  }
  if (p->rank < 0 || i->rank < 0) return NULL;
  const hr_pshape_t* open;
  HR_TRY(hr_infer_unknown_of_rank(s, (int)(p->rank + i->rank - 1 - (batch < 0 ? batch + i->rank : batch)), &open));
  hr_infer_set(s, 0, open);
  return NULL;
}

static hr_status_t infer_resource_gather(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t* p;
  hr_infer_handle(s, 0, &held, &p);
  const int64_t batch = hr_attrs_int(hr_infer_attrs(s), "batch_dims");
  return p ? infer_gathered(s, p, hr_infer_input(s, 1), batch, batch) : NULL;
}

/* 2. kernel */
typedef struct {
  const char* from;
  char* to;
  const void* indices;
  hr_dtype_t index_type;
  int64_t outer, axis_size, picks; /* per batch: outer x picks blocks */
  size_t block;                    /* bytes of a block */
  const hr_tensor_t* params;       /* for elements that own memory */
  hr_tensor_t* out;
  size_t element;
} gather_t;

static inline int64_t index_at(const gather_t* g, int64_t i) {
  return g->index_type == HR_I64 ? ((const int64_t*)g->indices)[i] : g->index_type == HR_I32 ? ((const int32_t*)g->indices)[i] : ((const int16_t*)g->indices)[i];
}

/* Item t of [0, batches * outer * picks) copies one block. */
static hr_status_t gather_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const gather_t* g = arg;
  (void)chunk;
  int64_t pick = begin % g->picks, row = begin / g->picks; /* row: batch * outer + o */
  for (int64_t t = begin; t < end; ++t) {
    const int64_t at = index_at(g, row / g->outer * g->picks + pick);
    if (at < 0 || at >= g->axis_size)
      return HR_ERROR(INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)", (long long)(row / g->outer * g->picks + pick), (long long)at, (long long)g->axis_size);
    const size_t from = (size_t)(row * g->axis_size + at) * g->block, to = (size_t)t * g->block;
    if (g->out) HR_TRY(hr_tensor_copy_elements(g->out, (int64_t)(to / g->element), g->params, (int64_t)(from / g->element), (int64_t)(g->block / g->element)));
    else memcpy(g->to + to, g->from + from, g->block);
    if (++pick == g->picks) pick = 0, ++row;
  }
  return NULL;
}

static hr_status_t gather_from(hr_kernel_ctx_t* k, const hr_tensor_t* params, int64_t axis_value, int64_t batch_value) {
  const hr_tensor_t* indices = hr_input(k, 1);
  const hr_shape_t* p = &params->shape;
  int axis = 0, batch = 0, rank = 0;
  int64_t dims[2 * HR_MAX_RANK];
  hr_shape_t shape;
  hr_tensor_t* out;
  if (p->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "params must be at least a vector, not a scalar");
  HR_TRY(hr_shape_axis(axis_value, p->rank, &axis));
  HR_TRY(normal_batch(batch_value, indices->shape.rank, &batch));
  HR_TRY(gathered_dims(p->rank, p->dims, indices->shape.rank, indices->shape.dims, axis, batch, dims, &rank));
  HR_TRY(hr_shape_make(rank, dims, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  const size_t element = hr_dtype_size(params->dtype);
  const bool plain = hr_dtype_is_plain(params->dtype);
  const int64_t batches = hr_shape_count_range(p, 0, batch);
  gather_t g = {params->data, out->data, indices->data, indices->dtype, hr_shape_count_range(p, batch, axis), p->dims[axis],
                hr_shape_count_range(&indices->shape, batch, indices->shape.rank), (size_t)hr_shape_count_range(p, axis + 1, p->rank) * element, params,
                plain ? NULL : out, element};
  if (out->count == 0) { /* nothing to copy, but a bad index is still an error where there is an axis to index */
    for (int64_t i = 0; i < indices->count; ++i)
      if (index_at(&g, i) < 0 || index_at(&g, i) >= g.axis_size)
        return HR_ERROR(INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)", (long long)i, (long long)index_at(&g, i), (long long)g.axis_size);
    return NULL;
  }
  return hr_parallel(k, batches * g.outer * g.picks, 5.0 + (double)g.block * 0.1, gather_chunk, &g);
}

static hr_status_t batch_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_attr_t* batch = hr_attrs_find(p->attrs, "batch_dims");
  *(int64_t*)prepared = batch ? batch->u.i : 0;
  return NULL;
}

static hr_status_t gather(hr_kernel_ctx_t* k) {
  int64_t axis = 0;
  if (hr_input_count(k) == 3) HR_TRY(hr_tensor_scalar_i64(hr_input(k, 2), "axis", &axis));
  return gather_from(k, hr_input(k, 0), axis, *(int64_t*)hr_prepared(k));
}

static hr_status_t resource_gather(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t value;
  HR_TRY(hr_variable_input(k, 0, &v));
  if (!hr_variable_has_value(v)) return HR_ERROR(NOT_FOUND, "variable '%.*s' has no value to gather from", HR_STR_ARG(v->name));
  HR_TRY(hr_variable_read(v, &value));
  const int64_t batch = *(int64_t*)hr_prepared(k);
  hr_status_t status = value.dtype == hr_output_dtype(k, 0) ? gather_from(k, &value, batch, batch)
                                                            : HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' holds %s, not %s", HR_STR_ARG(v->name),
                                                                       hr_dtype_name((int)value.dtype), hr_dtype_name((int)hr_output_dtype(k, 0)));
  hr_tensor_release(&value);
  return status;
}

/* 3. gradients */
static hr_value_t ints(hr_grad_ctx_t* g, int64_t a) { return hr_emit_const_i32s(g, &a, 1); }

static hr_value_t sizes(hr_grad_ctx_t* g, hr_value_t shape, int from, int to) { /* shape[from:to] */
  return hr_emit(g, "StridedSlice", HR_VALUES(shape, ints(g, from), ints(g, to), ints(g, 1)), HR_NO_ATTRS);
}

static hr_value_t size_of(hr_grad_ctx_t* g, hr_value_t shape, int axis) { /* shape[axis], a scalar */
  return hr_emit(g, "StridedSlice", HR_VALUES(shape, ints(g, axis), ints(g, axis + 1), ints(g, 1)), HR_ATTRS(hr_at_int("shrink_axis_mask", 1)));
}

/* Along axis 0 without batches: the slices (indices flattened, dy as rows). */
static void give_rows(hr_grad_ctx_t* g, hr_value_t params_shape) {
  hr_value_t indices = hr_emit_reshape(g, hr_grad_input(g, 1), ints(g, -1));
  hr_value_t tail = hr_emit(g, "StridedSlice", HR_VALUES(params_shape, ints(g, 1), ints(g, 0), ints(g, 1)), HR_ATTRS(hr_at_int("end_mask", 1)));
  hr_value_t rows = hr_emit3(g, "ConcatV2", ints(g, -1), tail, hr_emit_const_i32(g, 0));
  hr_grad_give_slices(g, 0, indices, hr_emit_reshape(g, hr_grad_upstream(g, 0), rows), params_shape);
}

/* Indices that count through all batches: indices + axis_size * (number of the batch). */
static hr_value_t indices_over_batches(hr_grad_ctx_t* g, hr_value_t shape, int axis, int batch, hr_value_t batch_count) {
  hr_value_t indices = hr_grad_input(g, 1);
  const int ones = hr_grad_shape(g, indices)->rank - batch;
  const int64_t one[HR_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  hr_value_t starts = hr_emit_mul(g, hr_emit3(g, "Range", hr_emit_const_i32(g, 0), batch_count, hr_emit_const_i32(g, 1)), size_of(g, shape, axis));
  hr_value_t spread = hr_emit3(g, "ConcatV2", sizes(g, shape, 0, batch), hr_emit_const_i32s(g, one, ones), hr_emit_const_i32(g, 0));
  return hr_emit_add(g, indices, hr_emit_cast(g, hr_emit_reshape(g, starts, spread), hr_grad_dtype(g, indices)));
}

/* The general case: dy transposed to [batch..., picked..., outer..., inner...], summed into rows, reshaped, and the axes put back. */
static void give_summed(hr_grad_ctx_t* g, int axis, int batch) {
  hr_value_t params = hr_grad_input(g, 0), indices = hr_grad_input(g, 1), shape = hr_emit_shape(g, params);
  const int p_rank = hr_grad_shape(g, params)->rank, picked = hr_grad_shape(g, indices)->rank - batch, o_rank = p_rank + picked - 1;
  int64_t order[2 * HR_MAX_RANK], back[HR_MAX_RANK];
  int n = 0;
  for (int d = 0; d < batch; ++d) order[n++] = d;
  for (int d = axis; d < axis + picked; ++d) order[n++] = d;
  for (int d = batch; d < axis; ++d) order[n++] = d;
  for (int d = axis + picked; d < o_rank; ++d) order[n++] = d;
  for (int d = 0; d < p_rank; ++d) back[d] = d < batch ? d : d < axis ? d + 1 : d == axis ? batch : d;
  hr_value_t rows = hr_emit2(g, "Transpose", hr_grad_upstream(g, 0), hr_emit_const_i32s(g, order, n)), count = size_of(g, shape, axis);
  if (batch > 0) {
    hr_value_t batches = hr_emit2(g, "Prod", sizes(g, shape, 0, batch), hr_emit_const_i32(g, 0));
    indices = indices_over_batches(g, shape, axis, batch, batches);
    count = hr_emit_mul(g, count, batches);
  }
  hr_value_t summed = hr_emit3(g, "UnsortedSegmentSum", rows, indices, count); /* [batches x axis, outer..., inner...] */
  if (batch > 0) {
    hr_value_t parts[4] = {sizes(g, shape, 0, batch), sizes(g, shape, axis, axis + 1), sizes(g, shape, batch, axis), sizes(g, shape, axis + 1, p_rank)};
    summed = hr_emit_reshape(g, summed, hr_emit(g, "ConcatV2", HR_VALUES(parts[0], parts[1], parts[2], parts[3], hr_emit_const_i32(g, 0)), HR_NO_ATTRS));
  }
  hr_grad_give(g, 0, hr_emit2(g, "Transpose", summed, hr_emit_const_i32s(g, back, p_rank)));
}

static void grad_gather(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) give_rows(g, hr_emit_shape(g, hr_grad_input(g, 0)));
}

static void grad_gather_v2(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  const hr_tensor_t* axis_value = hr_grad_const(g, hr_grad_input(g, 2));
  const hr_pshape_t *p = hr_grad_shape(g, hr_grad_input(g, 0)), *i = hr_grad_shape(g, hr_grad_input(g, 1));
  int64_t wanted = 0;
  int axis = 0, batch = 0;
  hr_status_t status = axis_value ? hr_tensor_scalar_i64(axis_value, "axis", &wanted) : HR_ERROR(UNIMPLEMENTED, "the gradient of GatherV2 needs a constant axis");
  const int64_t batch_value = hr_attrs_int(hr_grad_attrs(g), "batch_dims");
  if (!status && wanted == 0 && batch_value == 0) {
    grad_gather(g);
    return;
  }
  if (!status && (p->rank < 0 || i->rank < 0)) status = HR_ERROR(UNIMPLEMENTED, "the gradient of GatherV2 along axis %lld needs params and indices of known rank", (long long)wanted);
  if (!status) status = hr_shape_axis(wanted, p->rank, &axis);
  if (!status) status = normal_batch(batch_value, i->rank, &batch);
  if (status) hr_grad_fail(g, status);
  else give_summed(g, axis, batch);
}

static void grad_resource_gather(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  if (hr_attrs_int(hr_grad_attrs(g), "batch_dims") != 0) hr_grad_fail(g, HR_ERROR(UNIMPLEMENTED, "the gradient of ResourceGather with batch_dims"));
  else give_rows(g, hr_emit1(g, "VariableShape", hr_grad_input(g, 0)));
}

/* 4. definitions */
#define GATHER(compute_fn, hosts) HR_KERNELS({.host_inputs = hosts, .prepared_bytes = sizeof(int64_t), .prepare = batch_prepare, .compute = compute_fn})
const hr_op_t hr_op_Gather = {
    .name = "Gather", .sig = "params: Tparams; indices: Tindices -> output: Tparams",
    .attrs = "validate_indices: bool = true; Tparams: type; Tindices: type{int32,int64}", .shape = infer_gather, .grad = grad_gather, GATHER(gather, 0),
    .doc = "rows of params by index", HR_HERE};

const hr_op_t hr_op_GatherV2 = {
    .name = "GatherV2", .sig = "params: Tparams; indices: Tindices; axis: Taxis -> output: Tparams",
    .attrs = "batch_dims: int = 0; Tparams: type; Tindices: type{int16,int32,int64}; Taxis: type{int32,int64}", .shape = infer_gather_v2,
    .grad = grad_gather_v2, GATHER(gather, 4), .doc = "slices of params along an axis by index", HR_HERE};

const hr_op_t hr_op_ResourceGather = {
    .name = "ResourceGather", .sig = "resource: resource; indices: Tindices -> output: dtype",
    .attrs = "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: type{int32,int64}", .flags = HR_OP_STATEFUL,
    .shape = infer_resource_gather, .grad = grad_resource_gather, GATHER(resource_gather, 1), .doc = "rows of a variable by index", HR_HERE};
