/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of a step's objects, in the three ways that TensorFlow has had: a resource handle (which holds the object), a string vector
 * [container, name], and a reference to such a vector (both looked up by name in the step's table). */
#ifndef HR_OPS_FLOW_STEP_OBJECT_H
#define HR_OPS_FLOW_STEP_OBJECT_H
#include "op/kernel_ctx.h"
#include "rt/step.h"
#include "rt/step_locals.h"
#include "rt/variable.h"

typedef enum { HR_NAMED_BY_HANDLE, HR_NAMED_BY_STRINGS, HR_NAMED_BY_REF } hr_naming_t;

typedef struct {
  hr_step_object_t step;    /* first; clear and base.destroy are the kind's own */
  hr_variable_t* reference; /* what a reference refers to; NULL until asked for */
  char* name;               /* unique in its step; own bytes */
} hr_flow_object_t;
void hr_flow_object_deinit(hr_flow_object_t* o); /* of destroy */

/* INTERNAL where nobody gave the step a place for objects (a constant folded). */
HR_MUST_USE hr_status_t hr_flow_locals(const hr_kernel_ctx_t* k, hr_step_locals_t** out);
/* Names a new object after `stem`, adds it to the step and gives output 0, which names it. On failure the object stays the caller's. */
HR_MUST_USE hr_status_t hr_flow_object_add(hr_kernel_ctx_t* k, hr_flow_object_t* o, hr_str_t container, hr_str_t stem, hr_naming_t naming);
/* Output 0 names an object that the step has already. */
HR_MUST_USE hr_status_t hr_flow_object_give(hr_kernel_ctx_t* k, hr_flow_object_t* o, hr_str_t container, hr_naming_t naming);
/* The object that input 0 names; a reference of the caller's. */
HR_MUST_USE hr_status_t hr_flow_object_input(const hr_kernel_ctx_t* k, const hr_resource_type_t* type, hr_flow_object_t** out);
#endif
