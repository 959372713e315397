/* SPDX-License-Identifier: Apache-2.0 */
/* A variable: a tensor behind a mutex. Both kinds of variable op (VariableV2's references, VarHandleOp's handles) are this object.
 *
 * Readers share the buffer and hold it without the lock; a writer in place must be alone on the buffer, else it writes a copy
 * (hr_variable_begin_write). So a value once read never changes under its reader, unlike TensorFlow's reference variables; who relies on
 * theirs is made to read again (session/pass_reread.c). */
#ifndef HR_RT_VARIABLE_H
#define HR_RT_VARIABLE_H
#include "rt/resource.h"
#include "tensor/tensor.h"

typedef struct hr_variable {
  hr_resource_t base;
  hr_mutex_t mu;
  hr_tensor_t value;         /* dtype INVALID: no value yet; guarded by mu */
  hr_dtype_t dtype;          /* declared; immutable */
  hr_str_t name;             /* for messages; own bytes; immutable */
  hr_shape_t declared;       /* what the first value of a reference must have; immutable once shared */
  bool has_declared;
} hr_variable_t;
extern const hr_resource_type_t hr_variable_type;

HR_MUST_USE hr_status_t hr_variable_create(hr_dtype_t dtype, hr_str_t name, hr_variable_t** out);
bool hr_variable_has_value(hr_variable_t* v);
/* Shares the value; FAILED_PRECONDITION "Attempting to use uninitialized value <name>". */
HR_MUST_USE hr_status_t hr_variable_read(hr_variable_t* v, hr_tensor_t* out);
/* Replaces the value by a share of t; a borrowed (read-only) buffer is copied. */
HR_MUST_USE hr_status_t hr_variable_assign(hr_variable_t* v, const hr_tensor_t* t);
void hr_variable_clear(hr_variable_t* v); /* takes the value away */
/* Locks v and makes v->value safe to write in place (copied first if others read it). FAILED_PRECONDITION without a value (then not
 * locked). Between begin and end write through v->value.data only. */
HR_MUST_USE hr_status_t hr_variable_begin_write(hr_variable_t* v);
void hr_variable_end_write(hr_variable_t* v);
#endif
