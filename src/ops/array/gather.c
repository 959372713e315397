/* SPDX-License-Identifier: Apache-2.0 */
/* Rows picked by index: output[b..., o..., i..., n...] = params[b..., o..., indices[b..., i...], n...], where the first batch_dims axes are
 * shared and `axis` is the one picked from. Gather is the form with axis 0; ResourceGather reads a variable. An index out of range is
 * INVALID_ARGUMENT. The gradient along axis 0 is slices: (indices, dy). */
#include "base/alloc.h"
#include "op/grad_ctx.h"
#include "op/infer_fns.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_Gather, hr_op_GatherV2, hr_op_ResourceGather;

/* 1. shapes */
/* The output's dims for known ranks; -1 dims are unknown. */
static hr_status_t gathered_dims(int p_rank, const int64_t* p, int i_rank, const int64_t* i, int axis, int batch,
                                 int64_t out[2 * HR_MAX_RANK], int* out_rank) {
  int n = 0;
  if (batch > i_rank || batch > axis)
    return HR_ERROR(INVALID_ARGUMENT, "batch_dims %d must not exceed the rank of indices %d nor the axis %d", batch, i_rank, axis);
  for (int d = 0; d < batch; ++d) {
    int64_t merged;
    HR_TRY(hr_status_note(hr_infer_merge_dim(p[d], i[d], &merged), "params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld: ", d,
                          (long long)p[d], d, (long long)i[d]));
    out[n++] = merged;
  }
  for (int d = batch; d < axis; ++d) out[n++] = p[d];
  for (int d = batch; d < i_rank; ++d) out[n++] = i[d];
  for (int d = axis + 1; d < p_rank; ++d) out[n++] = p[d];
  *out_rank = n;
  return NULL;
}

static hr_status_t picked_axis(int64_t wanted, int rank, int* out) {
  const int64_t before = wanted < 0 ? -(wanted + 1) : wanted; /* axes that must be there beside it */
  return hr_status_note(hr_shape_axis(wanted, rank, out), "Shape must be at least rank %llu but is rank %d: ",
                        (unsigned long long)before + 1, rank);
}

static hr_status_t normal_batch(int64_t batch, int i_rank, int* out) {
  if (batch < -i_rank || batch > i_rank)
    return HR_ERROR(INVALID_ARGUMENT, "Expected batch_dims in the range [%d, %d], but got %lld", -i_rank, i_rank, (long long)batch);
  *out = (int)(batch < 0 ? batch + i_rank : batch);
  return NULL;
}

static hr_status_t infer_gathered(hr_infer_t* s, const hr_pshape_t* p, const hr_pshape_t* i, int64_t axis_value, int64_t batch_value) {
  int axis = 0, batch = 0, rank = 0;
  int64_t dims[2 * HR_MAX_RANK];
  if (p->rank < 0 || i->rank < 0) return NULL;
  if (p->rank > HR_MAX_RANK || i->rank > HR_MAX_RANK)
    return HR_ERROR(UNIMPLEMENTED, "gather from rank %d by indices of rank %d; at most %d is supported", p->rank, i->rank, HR_MAX_RANK);
  if (p->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "params must be at least 1 dimensional, not a scalar");
  HR_TRY(picked_axis(axis_value, p->rank, &axis));
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
  const hr_pshape_t* p;
  const int64_t batch = hr_attrs_int(hr_infer_attrs(s), "batch_dims");
  if (batch < 0)
    return HR_ERROR(INVALID_ARGUMENT, "batch_dims is negative (%lld); it is the axis too, counted from the front", (long long)batch);
  HR_TRY(hr_variable_infer_held(s, hr_attrs_type(hr_infer_attrs(s), "dtype"), &p));
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
  const hr_shape_t* places;        /* of the indices */
} gather_t;

static inline int64_t index_at(const gather_t* g, int64_t i) {
  return g->index_type == HR_I64   ? ((const int64_t*)g->indices)[i]
         : g->index_type == HR_I32 ? ((const int32_t*)g->indices)[i]
                                   : ((const int16_t*)g->indices)[i];
}

static hr_status_t bad_pick(const gather_t* g, int64_t i) {
  char place[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "indices%s = %lld is not in [0, %lld)", hr_shape_format_place(g->places, i, place),
                  (long long)index_at(g, i), (long long)g->axis_size);
}

/* Item t of [0, batches * outer * picks) copies one block. */
static hr_status_t gather_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const gather_t* g = arg;
  (void)chunk;
  int64_t pick = begin % g->picks, row = begin / g->picks; /* row: batch * outer + o */
  for (int64_t t = begin; t < end; ++t) {
    const int64_t at = index_at(g, row / g->outer * g->picks + pick);
    if (at < 0 || at >= g->axis_size)
      return bad_pick(g, row / g->outer * g->picks + pick);
    const size_t from = (size_t)(row * g->axis_size + at) * g->block, to = (size_t)t * g->block;
    if (g->out)
      HR_TRY(hr_tensor_copy_elements(g->out, (int64_t)(to / g->element), g->params, (int64_t)(from / g->element),
                                     (int64_t)(g->block / g->element)));
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
  if (p->rank == 0) return HR_ERROR(INVALID_ARGUMENT, "params must be at least 1 dimensional, not a scalar");
  HR_TRY(picked_axis(axis_value, p->rank, &axis));
  HR_TRY(normal_batch(batch_value, indices->shape.rank, &batch));
  HR_TRY(gathered_dims(p->rank, p->dims, indices->shape.rank, indices->shape.dims, axis, batch, dims, &rank));
  HR_TRY(hr_shape_make(rank, dims, &shape));
  HR_TRY(hr_output(k, 0, &shape, &out));
  const size_t element = hr_dtype_size(params->dtype);
  const bool plain = hr_dtype_is_plain(params->dtype);
  const int64_t batches = hr_shape_count_range(p, 0, batch);
  gather_t g = {params->data,
                out->data,
                indices->data,
                indices->dtype,
                hr_shape_count_range(p, batch, axis),
                p->dims[axis],
                hr_shape_count_range(&indices->shape, batch, indices->shape.rank),
                (size_t)hr_shape_count_range(p, axis + 1, p->rank) * element,
                params,
                plain ? NULL : out,
                element,
                &indices->shape};
  if (out->count == 0) return NULL; /* nothing to copy: no index is looked at, as in TensorFlow */
  return hr_parallel(k, batches * g.outer * g.picks, 5.0 + (double)g.block * 0.1, gather_chunk, &g);
}

static hr_status_t batch_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_attr_t* batch = hr_attrs_find(p->attrs, "batch_dims");
  *(int64_t*)prepared = batch ? batch->u.i : 0;
  return NULL;
}

static hr_status_t gather(hr_kernel_ctx_t* k) {
  int64_t axis = 0;
  if (hr_input_count(k) == 3) {
    HR_TRY(hr_want_scalar(k, 2, "axis must be scalar, not of shape "));
    HR_TRY(hr_tensor_scalar_i64(hr_input(k, 2), "axis", &axis));
  }
  return gather_from(k, hr_input(k, 0), axis, *(int64_t*)hr_prepared(k));
}

static hr_status_t resource_gather(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t value;
  HR_TRY(hr_variable_input(k, 0, &v));
  if (!hr_variable_has_value(v)) return HR_ERROR(NOT_FOUND, "variable '%.*s' has no value to gather from", HR_STR_ARG(v->name));
  HR_TRY(hr_variable_read(v, &value));
  const int64_t batch = *(int64_t*)hr_prepared(k);
  hr_status_t status = value.dtype == hr_output_dtype(k, 0)
                           ? gather_from(k, &value, batch, batch)
                           : HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' holds %s, not %s", HR_STR_ARG(v->name),
                                      hr_dtype_name((int)value.dtype), hr_dtype_name((int)hr_output_dtype(k, 0)));
  hr_tensor_release(&value);
  return status;
}

/* 3. gradients */
static hr_value_t ints(hr_grad_ctx_t* g, int64_t a) { return hr_emit_const_i32s(g, &a, 1); }
static hr_value_t number(hr_grad_ctx_t* g, int64_t a) { return hr_emit_const_i32(g, (int32_t)a); }

/* How many rows dy has, a vector of one: -1 lets Reshape count them, which it can where a row has elements. */
static hr_value_t row_count(hr_grad_ctx_t* g, hr_value_t flat_indices) {
  const hr_pshape_t* p = hr_grad_shape(g, hr_grad_input(g, 0));
  bool full = hr_pshape_is_known(p);
  for (int d = 1; full && d < p->rank; ++d) full = p->dims[d] > 0;
  return full ? ints(g, -1) : hr_emit_shape(g, flat_indices);
}

/* Along axis 0 without batches: the slices (indices flattened, dy as rows). */
static void give_rows(hr_grad_ctx_t* g, hr_value_t params_shape) {
  hr_value_t indices = hr_emit_reshape(g, hr_grad_input(g, 1), ints(g, -1));
  hr_value_t tail =
      hr_emit(g, "StridedSlice", HR_VALUES(params_shape, ints(g, 1), ints(g, 0), ints(g, 1)), HR_ATTRS(hr_at_int("end_mask", 1)));
  hr_value_t axis = number(g, 0);
  hr_value_t all = hr_emit_cast(g, row_count(g, indices), hr_grad_dtype(g, tail)); /* int64 where a dimension is too large */
  hr_value_t rows = hr_emit3(g, "ConcatV2", all, tail, axis);
  hr_grad_give_slices(g, 0, indices, hr_emit_reshape(g, hr_grad_upstream(g, 0), rows), params_shape);
}

/* Ranks and axes as int32 scalars: constants while they are known, so that a static graph gets a static gradient. */
static bool known_number(hr_grad_ctx_t* g, hr_value_t v, int64_t* out) {
  const hr_tensor_t* t = hr_grad_const(g, v);
  if (!t) return false;
  hr_status_t status = hr_tensor_scalar_i64(t, "axis", out);
  if (status) hr_grad_fail(g, status);
  return !status;
}
static hr_value_t plus(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) {
  int64_t x, y;
  return known_number(g, a, &x) && known_number(g, b, &y) ? number(g, x + y) : hr_emit_add(g, a, b);
}
static hr_value_t minus(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b) {
  int64_t x, y;
  return known_number(g, a, &x) && known_number(g, b, &y) ? number(g, x - y) : hr_emit_sub(g, a, b);
}
static hr_value_t rank_of(hr_grad_ctx_t* g, hr_value_t v) {
  const int rank = hr_grad_shape(g, v)->rank;
  return rank >= 0 ? number(g, rank) : hr_emit1(g, "Rank", v);
}
static hr_value_t within(hr_grad_ctx_t* g, hr_value_t axis, hr_value_t rank) { /* a negative axis counts from the end */
  int64_t a, r;
  if (known_number(g, axis, &a) && (a >= 0 || known_number(g, rank, &r))) return number(g, a >= 0 ? a : a + r);
  return hr_emit2(g, "FloorMod", axis, rank);
}
static hr_value_t range(hr_grad_ctx_t* g, hr_value_t from, hr_value_t to) { return hr_emit3(g, "Range", from, to, number(g, 1)); }
static hr_value_t as_vector(hr_grad_ctx_t* g, hr_value_t v) { return hr_emit_reshape(g, v, ints(g, 1)); }
static hr_value_t sizes(hr_grad_ctx_t* g, hr_value_t shape, hr_value_t from, hr_value_t to) { /* shape[from:to] */
  return hr_emit(g, "StridedSlice", HR_VALUES(shape, as_vector(g, from), as_vector(g, to), ints(g, 1)), HR_NO_ATTRS);
}
static hr_value_t joined(hr_grad_ctx_t* g, hr_value_t a, hr_value_t b, hr_value_t c, hr_value_t d) {
  return hr_emit(g, "ConcatV2", HR_VALUES(a, b, c, d, number(g, 0)), HR_NO_ATTRS);
}

/* The general case, for any axis and batches b: dy transposed to [b..., picked..., outer..., inner...], summed into rows (indices count
 * through all batches), reshaped, and the axes put back. */
static void give_summed(hr_grad_ctx_t* g, hr_value_t axis, hr_value_t batch) {
  hr_value_t params = hr_grad_input(g, 0), indices = hr_grad_input(g, 1), shape = hr_emit_shape(g, params), zero = number(g, 0),
             one = number(g, 1);
  hr_value_t p_rank = rank_of(g, params), picked = minus(g, rank_of(g, indices), batch), after = plus(g, axis, picked);
  hr_value_t o_rank = minus(g, plus(g, p_rank, picked), one), next = plus(g, axis, one);
  hr_value_t order = joined(g, range(g, zero, batch), range(g, axis, after), range(g, batch, axis), range(g, after, o_rank));
  hr_value_t back = joined(g, range(g, zero, batch), range(g, plus(g, batch, one), next), as_vector(g, batch), range(g, next, p_rank));
  hr_value_t rows = hr_emit2(g, "Transpose", hr_grad_upstream(g, 0), order);
  hr_value_t batch_sizes = sizes(g, shape, zero, batch), batches = hr_emit2(g, "Prod", batch_sizes, zero),
             length = sizes(g, shape, axis, next);
  hr_value_t starts = hr_emit_mul(g, range(g, zero, batches), length); /* where each batch's rows begin */
  hr_value_t ones = hr_emit2(g, "Fill", as_vector(g, picked), one);
  hr_value_t spread = hr_emit_reshape(g, starts, hr_emit3(g, "ConcatV2", batch_sizes, ones, zero));
  hr_value_t at = hr_emit_add(g, indices, hr_emit_cast(g, spread, hr_grad_dtype(g, indices)));
  hr_value_t count = hr_emit_reshape(g, hr_emit_mul(g, length, batches), hr_emit_const_i32s(g, NULL, 0));
  hr_value_t summed = hr_emit3(g, "UnsortedSegmentSum", rows, at, count); /* [batches x axis, outer..., inner...] */
  hr_value_t whole =
      hr_emit_reshape(g, summed, joined(g, batch_sizes, length, sizes(g, shape, batch, axis), sizes(g, shape, next, p_rank)));
  hr_grad_give(g, 0, hr_emit2(g, "Transpose", whole, back));
}

static void grad_gather(hr_grad_ctx_t* g) {
  if (hr_grad_wanted(g, 0)) give_rows(g, hr_emit_shape(g, hr_grad_input(g, 0)));
}

static void grad_gather_v2(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  const int64_t batch = hr_attrs_int(hr_grad_attrs(g), "batch_dims");
  hr_value_t axis = within(g, hr_emit_cast(g, hr_grad_input(g, 2), HR_I32), rank_of(g, hr_grad_input(g, 0)));
  int64_t known;
  if (batch == 0 && known_number(g, axis, &known) && known == 0) grad_gather(g);
  else give_summed(g, axis, within(g, number(g, batch), rank_of(g, hr_grad_input(g, 1))));
}

static void grad_resource_gather(hr_grad_ctx_t* g) {
  if (!hr_grad_wanted(g, 0)) return;
  if (hr_attrs_int(hr_grad_attrs(g), "batch_dims") != 0)
    hr_grad_fail(g, HR_ERROR(UNIMPLEMENTED, "the gradient of ResourceGather with batch_dims"));
  else give_rows(g, hr_emit1(g, "VariableShape", hr_grad_input(g, 0)));
}

/* 4. definitions */
#define GATHER(compute_fn, hosts) \
  HR_KERNELS({.host_inputs = hosts, .prepared_bytes = sizeof(int64_t), .prepare = batch_prepare, .compute = compute_fn})
const hr_op_t hr_op_Gather = {.name = "Gather",
                              .sig = "params: Tparams; indices: Tindices -> output: Tparams",
                              .attrs = "validate_indices: bool = true; Tparams: type; Tindices: type{int32,int64}",
                              .shape = infer_gather,
                              .grad = grad_gather,
                              GATHER(gather, 0),
                              .doc = "rows of params by index",
                              HR_HERE};

const hr_op_t hr_op_GatherV2 = {
    .name = "GatherV2", .sig = "params: Tparams; indices: Tindices; axis: Taxis -> output: Tparams",
    .attrs = "batch_dims: int = 0; Tparams: type; Tindices: type{int16,int32,int64}; Taxis: type{int32,int64}", .shape = infer_gather_v2,
    .grad = grad_gather_v2, GATHER(gather, 4), .doc = "slices of params along an axis by index", HR_HERE};

const hr_op_t hr_op_ResourceGather = {
    .name = "ResourceGather",
    .sig = "resource: resource; indices: Tindices -> output: dtype",
    .attrs = "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: type{int32,int64}",
    .flags = HR_OP_STATEFUL,
    .shape = infer_resource_gather,
    .grad = grad_resource_gather,
    GATHER(resource_gather, 1),
    .doc = "rows of a variable by index",
    HR_HERE};
