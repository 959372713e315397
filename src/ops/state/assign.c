/* SPDX-License-Identifier: Apache-2.0 */
/* Assignments: var = value, var += value, var -= value, through references (the output is the reference again) and through handles. */
#include "op/infer_fns.h"
#include "ops/elementwise/binary.h"
#include "ops/state/variable.h"

extern const hr_op_t hr_op_Assign, hr_op_AssignAdd, hr_op_AssignSub, hr_op_AssignVariableOp, hr_op_AssignAddVariableOp,
    hr_op_AssignSubVariableOp;

/* 1. shapes */
static hr_status_t infer_assign(hr_infer_t* s) { /* the value's shape; the variable's too when it is to be validated */
  const hr_pshape_t* shape = hr_infer_input(s, 1);
  if (hr_attrs_bool(hr_infer_attrs(s), "validate_shape")) HR_TRY(hr_infer_merge(s, hr_infer_input(s, 0), shape, &shape));
  hr_infer_set(s, 0, shape);
  return NULL;
}

static hr_status_t infer_assign_handle(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t *shape, *merged;
  HR_TRY(hr_infer_want_rank(s, 0, 0, NULL));
  hr_infer_handle(s, 0, &held, &shape);
  if (held != HR_DTYPE_INVALID && held != hr_infer_input_dtype(s, 1))
    return HR_ERROR(INVALID_ARGUMENT, "a variable of %s cannot take a value of %s", hr_dtype_name((int)held),
                    hr_dtype_name((int)hr_infer_input_dtype(s, 1)));
  return shape ? hr_infer_merge(s, shape, hr_infer_input(s, 1), &merged) : NULL;
}

/* 2. kernels */
static hr_status_t shapes_differ(const hr_variable_t* v, const hr_shape_t* have, const hr_shape_t* got) {
  char a[HR_SHAPE_TEXT], b[HR_SHAPE_TEXT];
  return HR_ERROR(INVALID_ARGUMENT, "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s; lhs is variable '%.*s'",
                  hr_shape_format(have, a), hr_shape_format(got, b), HR_STR_ARG(v->name));
}

static hr_status_t check_shape(hr_variable_t* v, const hr_tensor_t* value) {
  hr_status_t status = NULL;
  hr_mutex_lock(&v->mu);
  const hr_shape_t* have = v->value.dtype != HR_DTYPE_INVALID ? &v->value.shape : v->has_declared ? &v->declared : NULL;
  if (have && !hr_shape_equal(have, &value->shape)) status = shapes_differ(v, have, &value->shape);
  hr_mutex_unlock(&v->mu);
  return status;
}

static hr_status_t assign_prepare(hr_prepare_ctx_t* p, void* prepared) {
  *(bool*)prepared = hr_attrs_bool(p->attrs, "validate_shape");
  return NULL;
}
static hr_status_t assign(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  const hr_tensor_t* value = hr_input(k, 1);
  HR_TRY(hr_variable_input(k, 0, &v));
  if (*(bool*)hr_prepared(k)) HR_TRY(check_shape(v, value));
  HR_TRY(hr_variable_assign(v, value));
  if (hr_output_count(k) == 1) hr_output_ref(k, 0, v);
  return NULL;
}

typedef struct {
  hr_loop2_t loop;
  size_t size;
} update_t;
static hr_status_t update_prepare(hr_prepare_ctx_t* p, void* prepared) {
  update_t* u = prepared;
  const hr_dtype_t type = (hr_dtype_t)p->input_types[1];
  const int op = (int)(intptr_t)p->kernel->arg;
  u->loop = (*HR_ISA_PICK(hr_binary_vec))[op][type][LOOP_BOTH];
  if (!u->loop) u->loop = hr_binary_scalar[op][type][LOOP_BOTH];
  u->size = hr_dtype_size(type);
  return u->loop ? NULL : HR_ERROR(UNIMPLEMENTED, "op '%s' has no kernel for %s on CPU", p->op_name, hr_dtype_name((int)type));
}

typedef struct {
  const update_t* u;
  char* var;
  const char* value;
} span_t;
static hr_status_t update_chunk(void* arg, int64_t begin, int64_t end, int chunk) {
  const span_t* s = arg;
  (void)chunk;
  s->u->loop(s->var + (size_t)begin * s->u->size, s->value + (size_t)begin * s->u->size, s->var + (size_t)begin * s->u->size, end - begin);
  return NULL;
}

static hr_status_t update(hr_kernel_ctx_t* k) {
  hr_variable_t* v;
  const hr_tensor_t* value = hr_input(k, 1);
  HR_TRY(hr_variable_input(k, 0, &v));
  if (v->dtype != value->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "variable '%.*s' is of type %s, the value of %s", HR_STR_ARG(v->name), hr_dtype_name((int)v->dtype),
                    hr_dtype_name((int)value->dtype));
  if (!hr_input_ref(k, 0) && !hr_variable_has_value(v))
    return HR_ERROR(NOT_FOUND, "Could not find resource: variable '%.*s' has no value to update", HR_STR_ARG(v->name));
  HR_TRY(hr_variable_begin_write(v));
  hr_status_t status;
  if (hr_shape_equal(&v->value.shape, &value->shape)) {
    span_t s = {hr_prepared(k), v->value.data, value->data};
    status = hr_parallel(k, value->count, 1.0, update_chunk, &s);
  } else {
    status = shapes_differ(v, &v->value.shape, &value->shape);
  }
  hr_variable_end_write(v);
  if (!status && hr_output_count(k) == 1) hr_output_ref(k, 0, v);
  return status;
}

/* 3. definitions */
const hr_op_t hr_op_Assign = {.name = "Assign",
                              .sig = "ref: Ref(T); value: T -> output_ref: Ref(T)",
                              .attrs = "T: type; validate_shape: bool = true; use_locking: bool = true",
                              .flags = HR_OP_UNINITIALIZED | HR_OP_SIDE_EFFECT,
                              .shape = infer_assign,
                              .grad = hr_grad_none,
                              HR_KERNELS({.prepared_bytes = sizeof(bool), .prepare = assign_prepare, .compute = assign}),
                              .doc = "ref = value",
                              HR_HERE};

const hr_op_t hr_op_AssignVariableOp = {
    .name = "AssignVariableOp",
    .sig = "resource: resource; value: dtype ->",
    .attrs = "dtype: type; validate_shape: bool = false",
    .flags = HR_OP_STATEFUL,
    .shape = infer_assign_handle,
    HR_KERNELS({.host_inputs = 1, .prepared_bytes = sizeof(bool), .prepare = assign_prepare, .compute = assign}),
    .doc = "variable = value",
    HR_HERE};

#define NUMBERS \
  "float,double,int32,uint8,int16,int8,complex64,int64,qint8,quint8,qint32,bfloat16,qint16,quint16,uint16,complex128,half,uint32,uint64"
#define UPDATE_REF(Name, op, text)                                                          \
  const hr_op_t hr_op_##Name = {.name = #Name,                                              \
                                .sig = "ref: Ref(T); value: T -> output_ref: Ref(T)",       \
                                .attrs = "T: type{" NUMBERS "}; use_locking: bool = false", \
                                .flags = HR_OP_SIDE_EFFECT,                                 \
                                .shape = hr_infer_merged,                                   \
                                .grad = hr_grad_none,                                       \
                                HR_KERNELS({.where = {{"T", HR_M_NUMBER}},                  \
                                            .prepared_bytes = sizeof(update_t),             \
                                            .prepare = update_prepare,                      \
                                            .compute = update,                              \
                                            .arg = (const void*)(intptr_t)op}),             \
                                .doc = text,                                                \
                                HR_HERE}
UPDATE_REF(AssignAdd, BINARY_AddV2, "ref += value");
UPDATE_REF(AssignSub, BINARY_Sub, "ref -= value");

#define UPDATE_HANDLE(Name, op, text)                                           \
  const hr_op_t hr_op_##Name = {.name = #Name,                                  \
                                .sig = "resource: resource; value: dtype ->",   \
                                .attrs = "dtype: type",                         \
                                .flags = HR_OP_STATEFUL,                        \
                                .shape = infer_assign_handle,                   \
                                HR_KERNELS({.where = {{"dtype", HR_M_NUMBER}},  \
                                            .host_inputs = 1,                   \
                                            .prepared_bytes = sizeof(update_t), \
                                            .prepare = update_prepare,          \
                                            .compute = update,                  \
                                            .arg = (const void*)(intptr_t)op}), \
                                .doc = text,                                    \
                                HR_HERE}
UPDATE_HANDLE(AssignAddVariableOp, BINARY_AddV2, "variable += value");
UPDATE_HANDLE(AssignSubVariableOp, BINARY_Sub, "variable -= value");
