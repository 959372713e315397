/* SPDX-License-Identifier: Apache-2.0 */
/* CountUpTo: gives the variable's number and adds one to it, until it is `limit`: OUT_OF_RANGE. */
#include "op/infer_fns.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_CountUpTo, hr_op_ResourceCountUpTo;

static hr_status_t infer_count(hr_infer_t* s) {
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  hr_infer_set(s, 0, &hr_pshape_scalar);
  return NULL;
}

static hr_status_t count_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(int64_t*)prepared = hr_attrs_int(p->attrs, "limit");
  return NULL;
}

static hr_status_t count_on(hr_variable_t* v, int64_t limit, hr_dtype_t type, int64_t* before) { /* locked */
  char text[HR_SHAPE_TEXT];
  hr_tensor_t* t = &v->value;
  if (t->dtype != type)
    return HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' is of type %s, not %s", HR_STR_ARG(v->name), hr_dtype_name((int)t->dtype),
                    hr_dtype_name((int)type));
  if (t->shape.rank != 0)
    return HR_ERROR(INVALID_ARGUMENT, "a counter must be a scalar, variable '%.*s' has shape %s", HR_STR_ARG(v->name),
                    hr_shape_format(&t->shape, text));
  *before = type == HR_I64 ? *(int64_t*)t->data : *(int32_t*)t->data;
  if (*before >= limit) return HR_ERROR(OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
  if (type == HR_I64) *(int64_t*)t->data = *before + 1;
  else *(int32_t*)t->data = (int32_t)(*before + 1); /* before < limit */
  return NULL;
}

static hr_status_t count(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  hr_tensor_t* out;
  const hr_shape_t scalar = hr_shape_scalar();
  const hr_dtype_t type = hr_output_dtype(k, 0);
  int64_t limit = *(int64_t*)hr_prepared(k), before = 0;
  if (type == HR_I32 && limit > INT32_MAX) limit = INT32_MAX;
  HR_TRY(hr_variable_input(k, 0, &v));
  HR_TRY(hr_output(k, 0, &scalar, &out));
  HR_TRY(hr_variable_begin_write(v));
  hr_status_t status = count_on(v, limit, type, &before);
  hr_variable_end_write(v);
  if (status) return status;
  if (type == HR_I64) *(int64_t*)out->data = before;
  else *(int32_t*)out->data = (int32_t)before;
  return NULL;
}

#define COUNT HR_KERNELS({.prepared_bytes = sizeof(int64_t), .prepare = count_prepare, .compute = count})
const hr_op_t hr_op_CountUpTo = {
    .name = "CountUpTo", .sig = "ref: Ref(T) -> output: T", .attrs = "limit: int; T: type{int32,int64}", .flags = HR_OP_SIDE_EFFECT,
    .shape = infer_count, COUNT, .doc = "ref++ while below limit", HR_HERE};
const hr_op_t hr_op_ResourceCountUpTo = {.name = "ResourceCountUpTo",
                                         .sig = "resource: resource -> output: T",
                                         .attrs = "limit: int; T: type{int32,int64}",
                                         .flags = HR_OP_STATEFUL,
                                         .shape = infer_count,
                                         COUNT,
                                         .doc = "variable++ while below limit",
                                         HR_HERE};
