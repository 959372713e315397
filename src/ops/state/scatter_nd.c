/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters by index tuples: the last axis of `indices` holds the leading coordinates of a slice, to[indices[i]] op= updates[i]. Over a new
 * tensor of zeros (ScatterNd), a copy of a tensor (TensorScatter*), or a variable in place (ScatterNd*, ResourceScatterNd*). Of bools
 * addition is "or", subtraction "differs"; strings add up by concatenation. */
#include "op/grad_ctx.h"
#include "ops/state/scatter.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_ScatterNd, hr_op_ScatterNdNonAliasingAdd, hr_op_TensorScatterUpdate, hr_op_TensorScatterAdd,
    hr_op_TensorScatterSub, hr_op_TensorScatterMin, hr_op_TensorScatterMax, hr_op_ScatterNdUpdate, hr_op_ScatterNdAdd, hr_op_ScatterNdSub,
    hr_op_ScatterNdMin, hr_op_ScatterNdMax, hr_op_ResourceScatterNdUpdate, hr_op_ResourceScatterNdAdd, hr_op_ResourceScatterNdSub,
    hr_op_ResourceScatterNdMin, hr_op_ResourceScatterNdMax;

static hr_status_t no_axis(int64_t depth) {
  return HR_ERROR(INVALID_ARGUMENT, "Output must be at least 1-D, got shape: [], for index tuples of %lld", (long long)depth);
}

/* 1. shapes: updates = indices[:-1] + to[depth:] */
static hr_status_t check_tuples(const hr_pshape_t* to, const hr_pshape_t* indices, const hr_pshape_t* updates) {
  int64_t dim;
  if (indices->rank < 0 || updates->rank < 0) return NULL;
  if (indices->rank < 1) return HR_ERROR(INVALID_ARGUMENT, "indices must have at least one dimension, they are a scalar");
  const int outer = indices->rank - 1;
  const int64_t depth = indices->dims[outer];
  if (updates->rank < outer)
    return HR_ERROR(INVALID_ARGUMENT, "updates must begin with the %d dimensions of the indices, they have rank %d", outer,
                    (int)updates->rank);
  for (int i = 0; i < outer; ++i) HR_TRY(hr_infer_merge_dim(updates->dims[i], indices->dims[i], &dim));
  if (depth < 0 || to->rank < 0) return NULL;
  if (to->rank == 0 && depth > 0) return no_axis(depth);
  if (depth > to->rank) return HR_ERROR(INVALID_ARGUMENT, "index tuples of %lld are too long for rank %d", (long long)depth, (int)to->rank);
  if (updates->rank - outer != to->rank - depth)
    return HR_ERROR(INVALID_ARGUMENT, "slices of rank %d are scattered, updates have slices of rank %d", (int)(to->rank - depth),
                    (int)updates->rank - outer);
  for (int64_t i = depth; i < to->rank; ++i) HR_TRY(hr_infer_merge_dim(updates->dims[outer + i - depth], to->dims[i], &dim));
  return NULL;
}

static hr_status_t infer_new(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, 2, 1, NULL));
  if (hr_infer_const(s, 2) && hr_infer_input_dtype(s, 2) == HR_I16)
    return HR_ERROR(INVALID_ARGUMENT, "Input tensor must be int32 or int64, but was int16: a shape that is constant (input 2)");
  HR_TRY(hr_infer_const_as_shape(s, 2, &shape));
  HR_TRY(check_tuples(shape, hr_infer_input(s, 0), hr_infer_input(s, 1)));
  hr_infer_set(s, 0, shape);
  return NULL;
}
static hr_status_t infer_onto(hr_infer_t* s) {
  hr_infer_set(s, 0, hr_infer_input(s, 0));
  return check_tuples(hr_infer_input(s, 0), hr_infer_input(s, 1), hr_infer_input(s, 2));
}
static hr_status_t infer_handle(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t* shape;
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  hr_infer_handle(s, 0, &held, &shape);
  return shape ? check_tuples(shape, hr_infer_input(s, 1), hr_infer_input(s, 2)) : NULL;
}

/* 2. kernels */
static hr_status_t tuples_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_str_t policy = hr_attrs_str(p->attrs, "bad_indices_policy");
  hr_scatter_t* s = prepared;
  HR_TRY(hr_scatter_prepare(p, (hr_scatter_op_t)(intptr_t)p->kernel->arg, hr_attrs_type(p->attrs, "T"), s));
  s->ignore_bad = hr_str_equal(policy, HR_STR("IGNORE"));
  if (s->ignore_bad || policy.size == 0 || hr_str_equal(policy, HR_STR("DEFAULT")) || hr_str_equal(policy, HR_STR("ERROR"))) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "bad_indices_policy '%.*s' is none of '', 'DEFAULT', 'ERROR', 'IGNORE'", HR_STR_ARG(policy));
}

static bool slices_fit(const hr_shape_t* to, const hr_shape_t* indices, const hr_shape_t* updates) {
  const int outer = indices->rank - 1;
  const int64_t depth = indices->dims[outer];
  bool fit = updates->rank == outer + to->rank - depth;
  for (int i = 0; fit && i < outer; ++i) fit = updates->dims[i] == indices->dims[i];
  for (int64_t i = depth; fit && i < to->rank; ++i) fit = updates->dims[outer + i - depth] == to->dims[i];
  return fit;
}

/* Which dimensions of the updates are not those of the indices or of what is written. */
static hr_status_t wrong_slices(const hr_tensor_t* to, const hr_tensor_t* indices, const hr_tensor_t* updates, int outer, int depth) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT], c[HR_SHAPE_TEXT];
  hr_shape_format(&updates->shape, a);
  hr_shape_format(&indices->shape, b);
  hr_shape_format(&to->shape, c);
  bool leads = updates->shape.rank >= outer;
  for (int i = 0; leads && i < outer; ++i) leads = updates->shape.dims[i] == indices->shape.dims[i];
  if (!leads)
    return HR_ERROR(INVALID_ARGUMENT, "Dimensions [0,%d) of indices[shape=%s] must match dimensions [0,%d) of updates[shape=%s]", outer, b,
                    outer,
                    a);
  return HR_ERROR(INVALID_ARGUMENT, "Dimensions [%d,%d) of input[shape=%s] must match dimensions [%d,%d) of updates[shape=%s]", depth,
                  to->shape.rank, c, outer, updates->shape.rank, a);
}

/* Either there is nothing to scatter, or nothing is empty: as in TensorFlow, tuples without elements name nothing. */
static hr_status_t check_empty(const hr_tensor_t* to, const hr_tensor_t* indices, const hr_tensor_t* updates) {
  char text[HR_SHAPE_TEXT];
  if ((indices->count == 0 && updates->count == 0) || (to->count && indices->count && updates->count)) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "Indices and updates specified for empty output.  indices shape: %s",
                  hr_shape_format(&indices->shape, text));
}

/* Checks and runs; `to` is ready to be written. A vector of indices would be one tuple; TensorFlow's kernels then take it for a list of
 * numbers, so that no updates fit both. */
static hr_status_t scatter_tuples(hr_kernel_ctx_t* k, hr_tensor_t* to, const hr_tensor_t* indices, const hr_tensor_t* updates) {
  if (indices->shape.rank < 1) return HR_ERROR(INVALID_ARGUMENT, "indices must have at least one dimension, they are a scalar");
  const int outer = indices->shape.rank - 1;
  const int64_t depth = indices->shape.dims[outer];
  if (to->shape.rank == 0 && depth > 0) return no_axis(depth);
  if (depth > to->shape.rank)
    return HR_ERROR(INVALID_ARGUMENT, "index tuples must have 1 to %d elements, the last dimension of indices is %lld", to->shape.rank,
                    (long long)depth);
  if (!slices_fit(&to->shape, &indices->shape, &updates->shape)) return wrong_slices(to, indices, updates, outer, (int)depth);
  HR_TRY(check_empty(to, indices, updates));
  if (to->count == 0) return NULL;
  if (depth == 0) return HR_ERROR(INVALID_ARGUMENT, "index tuples must have 1 to %d elements, they have none", to->shape.rank);
  if (outer == 0)
    return HR_ERROR(INVALID_ARGUMENT, "indices must have at least two dimensions, tuples along the last, not shape [%lld]",
                    (long long)indices->count);
  hr_scatter_job_t job = {to, indices, updates, hr_shape_count_range(&indices->shape, 0, outer), (int)depth, true};
  return hr_scatter_run(k, hr_prepared(k), &job);
}

static hr_status_t over_variable(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  const bool is_handle = hr_output_count(k) == 0;
  HR_TRY(hr_variable_input(k, 0, &v));
  HR_TRY(hr_scatter_begin(v, is_handle, ((const hr_scatter_t*)hr_prepared(k))->type));
  hr_status_t status = scatter_tuples(k, &v->value, hr_input(k, 1), hr_input(k, 2));
  hr_variable_end_write(v);
  if (!status && !is_handle) hr_output_ref(k, 0, v);
  return status;
}

static hr_status_t over_zeros(hr_kernel_ctx_t* k) {
  hr_shape_t shape;
  hr_tensor_t* to;
  HR_TRY(hr_want_vector(k, 2, "shape"));
  HR_TRY(hr_tensor_to_shape(hr_input(k, 2), &shape));
  HR_TRY(hr_output(k, 0, &shape, &to));
  if (to->count && hr_dtype_is_plain(to->dtype)) memset(to->data, 0, hr_tensor_bytes(to));
  return scatter_tuples(k, to, hr_input(k, 0), hr_input(k, 1));
}

static hr_status_t over_tensor(hr_kernel_ctx_t* k) {
  const hr_tensor_t* from = hr_input(k, 0);
  hr_tensor_t* to;
  HR_TRY(hr_output_take(k, 0, 0, &from->shape, &to));
  if (to->data != from->data) HR_TRY(hr_tensor_copy_elements(to, 0, from, 0, from->count));
  return scatter_tuples(k, to, hr_input(k, 1), hr_input(k, 2));
}

/* 3. gradients */
static hr_value_t gathered(hr_grad_ctx_t* g, hr_value_t from, int indices) {
  return hr_emit2(g, "GatherNd", from, hr_grad_input(g, indices));
}

static void grad_new(hr_grad_ctx_t* g) { hr_grad_give(g, 1, gathered(g, hr_grad_upstream(g, 0), 0)); }

static void grad_tensor_add(hr_grad_ctx_t* g) {
  hr_grad_give(g, 0, hr_grad_upstream(g, 0));
  hr_grad_give(g, 2, gathered(g, hr_grad_upstream(g, 0), 1));
}
static void grad_tensor_sub(hr_grad_ctx_t* g) {
  hr_grad_give(g, 0, hr_grad_upstream(g, 0));
  hr_grad_give(g, 2, hr_emit_neg(g, gathered(g, hr_grad_upstream(g, 0), 1)));
}
static void grad_tensor_update(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0);
  hr_grad_give(g, 0, hr_emit3(g, "TensorScatterUpdate", dy, hr_grad_input(g, 1), hr_emit_zeros_like(g, hr_grad_input(g, 2))));
  hr_grad_give(g, 2, gathered(g, dy, 1));
}
/* The gradient goes to what equals the result, in equal parts where several do. */
static void grad_tensor_extreme(hr_grad_ctx_t* g) {
  hr_value_t dy = hr_grad_upstream(g, 0), y = hr_grad_output(g, 0), x = hr_grad_input(g, 0), indices = hr_grad_input(g, 1),
             updates = hr_grad_input(g, 2);
  const hr_dtype_t type = hr_grad_dtype(g, x);
  hr_value_t from_x = hr_emit_cast(g, hr_emit2(g, "Equal", x, y), type);
  hr_value_t from_updates = hr_emit_cast(g, hr_emit2(g, "Equal", updates, gathered(g, y, 1)), type);
  hr_value_t shares = hr_emit3(g, "TensorScatterAdd", from_x, indices, from_updates);
  hr_value_t part = hr_emit2(g, "DivNoNan", dy, shares);
  hr_grad_give(g, 0, hr_emit_mul(g, from_x, part));
  hr_grad_give(g, 2, hr_emit_mul(g, from_updates, gathered(g, part, 1)));
}

/* 4. definitions */
#define NUMBERS \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define POLICY "; bad_indices_policy: string = ''"
#define PLAIN (HR_M_NUMBER | HR_M(BOOL) | HR_M(STRING))
#define ADDED (HR_M_NUMBER | HR_M(BOOL))
#define TUPLES(types, operation, fn)                  \
  HR_KERNELS({.where = {{"T", types}},                \
              .prepared_bytes = sizeof(hr_scatter_t), \
              .prepare = tuples_prepare,              \
              .compute = fn,                          \
              .arg = (const void*)(intptr_t)operation})

const hr_op_t hr_op_ScatterNd = {.name = "ScatterNd",
                                 .sig = "indices: Tindices; updates: T; shape: Tindices -> output: T",
                                 .attrs = "T: type; Tindices: type{int16,int32,int64}" POLICY,
                                 .shape = infer_new,
                                 .grad = grad_new,
                                 HR_KERNELS({.where = {{"T", PLAIN}},
                                             .host_inputs = 4,
                                             .prepared_bytes = sizeof(hr_scatter_t),
                                             .prepare = tuples_prepare,
                                             .compute = over_zeros,
                                             .arg = (const void*)(intptr_t)SCATTER_ADD}),
                                 .doc = "zeros, with updates added at the indices",
                                 HR_HERE};

#define OVER_TENSOR(Name, x, operation, allowed, index_types, types, gradient, text)                                        \
  const hr_op_t hr_op_##Name = {                                                                                            \
      .name = #Name, .sig = x ": T; indices: Tindices; updates: T -> output: T",                                            \
      .attrs = "T: type" allowed "; Tindices: type{" index_types "}" POLICY, .shape = infer_onto, .grad = gradient,         \
      TUPLES(types, operation, over_tensor), .doc = text, HR_HERE}
OVER_TENSOR(ScatterNdNonAliasingAdd, "input", SCATTER_ADD, "{" NUMBERS ",bool}", "int32,int64", ADDED, grad_tensor_add,
            "input, with updates added at the indices");
OVER_TENSOR(TensorScatterUpdate, "tensor", SCATTER_UPDATE, "", "int16,int32,int64,uint16", PLAIN, grad_tensor_update,
            "tensor, with updates at the indices");
OVER_TENSOR(TensorScatterAdd, "tensor", SCATTER_ADD, "", "int32,int64", HR_M_NUMBER, grad_tensor_add,
            "tensor, with updates added at the indices");
OVER_TENSOR(TensorScatterSub, "tensor", SCATTER_SUB, "", "int32,int64", HR_M_NUMBER, grad_tensor_sub,
            "tensor, with updates subtracted at the indices");
OVER_TENSOR(TensorScatterMin, "tensor", SCATTER_MIN, "", "int32,int64", HR_M_REAL, grad_tensor_extreme,
            "the lesser of tensor and updates at the indices");
OVER_TENSOR(TensorScatterMax, "tensor", SCATTER_MAX, "", "int32,int64", HR_M_REAL, grad_tensor_extreme,
            "the greater of tensor and updates at the indices");

#define OVER_REF(Name, operation, allowed, types, locking, gradient, text)                                                       \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                                   \
                                .sig = "ref: Ref(T); indices: Tindices; updates: T -> output_ref: Ref(T)",                       \
                                .attrs = "T: type" allowed "; Tindices: type{int32,int64}; use_locking: bool = " locking POLICY, \
                                .flags = HR_OP_SIDE_EFFECT,                                                                      \
                                .shape = infer_onto,                                                                             \
                                .grad = gradient,                                                                                \
                                TUPLES(types, operation, over_variable),                                                         \
                                .doc = text,                                                                                     \
                                HR_HERE}
OVER_REF(ScatterNdUpdate, SCATTER_UPDATE, "", PLAIN, "true", hr_grad_none, "ref[indices] = updates");
OVER_REF(ScatterNdAdd, SCATTER_ADD, "{" NUMBERS "}", ADDED, "false", hr_grad_none, "ref[indices] += updates");
OVER_REF(ScatterNdSub, SCATTER_SUB, "{" NUMBERS "}", ADDED, "false", hr_grad_none, "ref[indices] -= updates");
OVER_REF(ScatterNdMin, SCATTER_MIN, "{" NUMBERS "}", HR_M_REAL, "false", NULL, "ref[indices] = min(ref[indices], updates)");
OVER_REF(ScatterNdMax, SCATTER_MAX, "{" NUMBERS "}", HR_M_REAL, "false", NULL, "ref[indices] = max(ref[indices], updates)");

#define OVER_HANDLE(Name, operation, types, text)                                                                 \
  const hr_op_t hr_op_##Name = {.name = #Name,                                                                    \
                                .sig = "ref: resource; indices: Tindices; updates: T ->",                         \
                                .attrs = "T: type; Tindices: type{int32,int64}; use_locking: bool = true" POLICY, \
                                .flags = HR_OP_STATEFUL,                                                          \
                                .shape = infer_handle,                                                            \
                                TUPLES(types, operation, over_variable),                                          \
                                .doc = text,                                                                      \
                                HR_HERE}
OVER_HANDLE(ResourceScatterNdUpdate, SCATTER_UPDATE, PLAIN, "variable[indices] = updates");
OVER_HANDLE(ResourceScatterNdAdd, SCATTER_ADD, ADDED, "variable[indices] += updates");
OVER_HANDLE(ResourceScatterNdSub, SCATTER_SUB, ADDED, "variable[indices] -= updates");
OVER_HANDLE(ResourceScatterNdMin, SCATTER_MIN, HR_M_REAL, "variable[indices] = min(variable[indices], updates)");
OVER_HANDLE(ResourceScatterNdMax, SCATTER_MAX, HR_M_REAL, "variable[indices] = max(variable[indices], updates)");
