/* SPDX-License-Identifier: Apache-2.0 */
/* What the ops that call functions share: values in and out as arrays of tensors, and when a value is true. */
#ifndef HR_OPS_FLOW_CALL_INPUTS_H
#define HR_OPS_FLOW_CALL_INPUTS_H
#include "op/caller.h"
#include "op/infer.h"

enum { HR_CALL_INPUTS_ON_STACK = 4 }; /* few: calls nest, and a tensor is large */

/* Room for a call's inputs and outputs. */
typedef struct {
  hr_tensor_t space[HR_CALL_INPUTS_ON_STACK];
  hr_tensor_t *in, *out; /* inputs are lent, outputs owned */
  int in_count, out_count;
} hr_call_inputs_t;

/* Inputs from `first` on; outputs as many as the node has. */
HR_MUST_USE hr_status_t hr_call_inputs_begin(hr_call_inputs_t* c, const hr_kernel_ctx_t* k, int first);
/* Moves the outputs to the node's, unless failed; frees the room. */
void hr_call_inputs_end(hr_call_inputs_t* c, hr_kernel_ctx_t* k, bool failed);
/* A number is true unless zero, a text unless empty, anything that is not a scalar unless it has no elements. */
HR_MUST_USE hr_status_t hr_call_inputs_is_true(const hr_tensor_t* t, bool* out);
/* Outputs as attr output_shapes (or _output_shapes) says, if it has one for each. */
hr_status_t hr_call_inputs_shapes(hr_infer_t* c);
/* Outputs as the body of attr "f" gives them, and as attr _output_shapes says where that agrees. */
hr_status_t hr_call_inputs_called(hr_infer_t* c);
#endif
