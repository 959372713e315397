/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterAdd and its family: rows of a variable, by reference or handle, updated by index: var[indices[i]] op= updates[i]. The updates have
 * the shape of the indices followed by that of a row, or are one number for all.
 *
 * Differs from TensorFlow: integer division by zero is INVALID_ARGUMENT (there: a crash), and updates of another count are refused for
 * handles too. */
#include "ops/state/scatter.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_ScatterUpdate, hr_op_ScatterAdd, hr_op_ScatterSub, hr_op_ScatterMul, hr_op_ScatterDiv, hr_op_ScatterMin,
    hr_op_ScatterMax, hr_op_ResourceScatterUpdate, hr_op_ResourceScatterAdd, hr_op_ResourceScatterSub, hr_op_ResourceScatterMul,
    hr_op_ResourceScatterDiv, hr_op_ResourceScatterMin, hr_op_ResourceScatterMax;

/* 1. shapes */
static hr_status_t check_updates(hr_infer_t* s, const hr_pshape_t* var) {
  const hr_pshape_t *indices = hr_infer_input(s, 1), *updates = hr_infer_input(s, 2);
  int64_t dim;
  if (updates->rank == 0 || updates->rank < 0 || indices->rank < 0 || var->rank < 0) return NULL;
  if (var->rank < 1) return HR_ERROR(INVALID_ARGUMENT, "a scatter needs a variable of at least one dimension, not a scalar");
  if (updates->rank != indices->rank + var->rank - 1)
    return HR_ERROR(INVALID_ARGUMENT, "updates must have rank %d (that of the indices and of a row), they have rank %d",
                    (int)(indices->rank + var->rank - 1), (int)updates->rank);
  for (int i = 0; i < updates->rank; ++i)
    HR_TRY(hr_infer_merge_dim(updates->dims[i], i < indices->rank ? indices->dims[i] : var->dims[i - indices->rank + 1], &dim));
  return NULL;
}
static hr_status_t infer_ref(hr_infer_t* s) {
  hr_infer_set(s, 0, hr_infer_input(s, 0));
  return check_updates(s, hr_infer_input(s, 0));
}
static hr_status_t infer_handle(hr_infer_t* s) {
  const hr_pshape_t* shape;
  HR_TRY(hr_variable_infer_held(s, hr_infer_input_dtype(s, 2), &shape));
  return shape ? check_updates(s, shape) : NULL;
}

/* 2. kernels */
static hr_status_t rows_prepare(hr_prepare_ctx_t* p, void* prepared) {
  return hr_scatter_prepare(p, (hr_scatter_op_t)(intptr_t)p->kernel->arg, (hr_dtype_t)p->input_types[2], prepared);
}

/* For handles a slice need only have the elements of a row, and without indices the updates' sizes do not matter. */
static bool updates_fit(const hr_shape_t* var, const hr_shape_t* indices, const hr_shape_t* updates, bool is_handle) {
  bool fit = updates->rank == indices->rank + var->rank - 1, same_rows = true;
  if (fit && is_handle && hr_shape_count(indices) == 0) return true;
  for (int i = 0; fit && i < indices->rank; ++i) fit = updates->dims[i] == indices->dims[i];
  for (int i = 1; fit && i < var->rank; ++i) same_rows &= updates->dims[indices->rank + i - 1] == var->dims[i];
  if (!fit || same_rows || !is_handle) return fit && same_rows;
  return hr_shape_count_range(updates, indices->rank, updates->rank) == hr_shape_count_range(var, 1, var->rank);
}

static hr_status_t check_rows(const hr_scatter_job_t* job, bool is_handle) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT], c[HR_SHAPE_TEXT];
  const hr_shape_t* var = &job->to->shape;
  if (var->rank < 1) return HR_ERROR(INVALID_ARGUMENT, "a scatter needs a variable of at least one dimension, not a scalar");
  if (job->updates->shape.rank == 0 || updates_fit(var, &job->indices->shape, &job->updates->shape, is_handle)) return NULL;
  return HR_ERROR(
      INVALID_ARGUMENT,
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape %s, indices.shape %s, "
      "params.shape %s",
      hr_shape_format(&job->updates->shape, a), hr_shape_format(&job->indices->shape, b), hr_shape_format(var, c));
}

hr_status_t hr_scatter_begin(hr_variable_t* v, bool is_handle, hr_dtype_t type) {
  hr_status_t status = hr_variable_begin_write(v);
  if (is_handle && hr_status_code(status) == HR_FAILED_PRECONDITION) {
    hr_status_release(status);
    return HR_ERROR(NOT_FOUND, "Could not find resource: variable '%.*s' has no value", HR_STR_ARG(v->name));
  }
  if (status || v->value.dtype == type) return status;
  hr_variable_end_write(v);
  return HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' is of type %s, the updates of %s", HR_STR_ARG(v->name), hr_dtype_name((int)v->dtype),
                  hr_dtype_name((int)type));
}

static hr_status_t scatter_rows(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  const bool is_handle = hr_output_count(k) == 0;
  const hr_scatter_t* s = hr_prepared(k);
  HR_TRY(hr_variable_input(k, 0, &v));
  HR_TRY(hr_scatter_begin(v, is_handle, s->type));
  hr_scatter_job_t job = {&v->value, hr_input(k, 1), hr_input(k, 2), hr_input(k, 1)->count, 1, false};
  hr_status_t status = check_rows(&job, is_handle);
  if (!status) status = hr_scatter_run(k, s, &job);
  hr_variable_end_write(v);
  if (!status && !is_handle) hr_output_ref(k, 0, v);
  return status;
}

/* 3. definitions */
#define NUMBERS \
  "{float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64}"
#define EXTREMES "{half,bfloat16,float,double,int32,int64}"
#define ANY_BUT_QUANTIZED (HR_M_NUMBER | HR_M(BOOL) | HR_M(STRING) | HR_M(VARIANT))
#define ROWS(attr, types, operation)                  \
  HR_KERNELS({.where = {{attr, types}},               \
              .prepared_bytes = sizeof(hr_scatter_t), \
              .prepare = rows_prepare,                \
              .compute = scatter_rows,                \
              .arg = (const void*)(intptr_t)operation})
#define SCATTER_REF(Name, operation, allowed, types, locking, gradient, text)                                                        \
  const hr_op_t hr_op_##Name = {                                                                                                      \
      .name = #Name, .sig = "ref: Ref(T); indices: Tindices; updates: T -> output_ref: Ref(T)",                                       \
      .attrs = "T: type" allowed "; Tindices: type{int32,int64}; use_locking: bool = " locking, .flags = HR_OP_SIDE_EFFECT,           \
      .shape = infer_ref, .grad = gradient, ROWS("T", types, operation), .doc = text, HR_HERE}
SCATTER_REF(ScatterUpdate, SCATTER_UPDATE, "", ANY_BUT_QUANTIZED | HR_M(RESOURCE), "true", NULL, "ref[indices] = updates");
SCATTER_REF(ScatterAdd, SCATTER_ADD, NUMBERS, HR_M_NUMBER, "false", hr_grad_none, "ref[indices] += updates");
SCATTER_REF(ScatterSub, SCATTER_SUB, NUMBERS, HR_M_NUMBER, "false", hr_grad_none, "ref[indices] -= updates");
SCATTER_REF(ScatterMul, SCATTER_MUL, NUMBERS, HR_M_NUMBER, "false", hr_grad_none, "ref[indices] *= updates");
SCATTER_REF(ScatterDiv, SCATTER_DIV, NUMBERS, HR_M_NUMBER, "false", hr_grad_none, "ref[indices] /= updates");
SCATTER_REF(ScatterMin, SCATTER_MIN, EXTREMES, HR_M_REAL, "false", NULL, "ref[indices] = min(ref[indices], updates)");
SCATTER_REF(ScatterMax, SCATTER_MAX, EXTREMES, HR_M_REAL, "false", NULL, "ref[indices] = max(ref[indices], updates)");

#define SCATTER_HANDLE(Name, operation, allowed, types, text)                                                                         \
  const hr_op_t hr_op_##Name = {                                                                                                      \
      .name = #Name, .sig = "resource: resource; indices: Tindices; updates: dtype ->",                                               \
      .attrs = "dtype: type" allowed "; Tindices: type{int32,int64}", .flags = HR_OP_STATEFUL, .shape = infer_handle,                 \
      ROWS("dtype", types, operation), .doc = text, HR_HERE}
SCATTER_HANDLE(ResourceScatterUpdate, SCATTER_UPDATE, "", ANY_BUT_QUANTIZED, "variable[indices] = updates");
SCATTER_HANDLE(ResourceScatterAdd, SCATTER_ADD, NUMBERS, HR_M_NUMBER, "variable[indices] += updates");
SCATTER_HANDLE(ResourceScatterSub, SCATTER_SUB, NUMBERS, HR_M_NUMBER, "variable[indices] -= updates");
SCATTER_HANDLE(ResourceScatterMul, SCATTER_MUL, NUMBERS, HR_M_NUMBER, "variable[indices] *= updates");
SCATTER_HANDLE(ResourceScatterDiv, SCATTER_DIV, NUMBERS, HR_M_NUMBER, "variable[indices] /= updates");
SCATTER_HANDLE(ResourceScatterMin, SCATTER_MIN, NUMBERS, HR_M_REAL, "variable[indices] = min(variable[indices], updates)");
SCATTER_HANDLE(ResourceScatterMax, SCATTER_MAX, NUMBERS, HR_M_REAL, "variable[indices] = max(variable[indices], updates)");
