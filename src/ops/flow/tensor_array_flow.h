/* SPDX-License-Identifier: Apache-2.0 */
/* What the ops on TensorArrays share: the sum that a gradient's array needs, the check of the element type, and how a gradient finds the
 * gradient's array. */
#ifndef HR_OPS_FLOW_TENSOR_ARRAY_FLOW_H
#define HR_OPS_FLOW_TENSOR_ARRAY_FLOW_H
#include "op/grad_ctx.h"
#include "op/infer.h"
#include "ops/flow/tensor_array.h"

/* Into *(hr_sum_loop_t*)prepared: how values of attr "T" are added; NULL when they cannot be. */
hr_status_t hr_flow_sum_prepare(hr_prepare_ctx_t* p, void* prepared);
/* INVALID_ARGUMENT "<what>: <shape>" unless the input's rank is in the range. */
HR_MUST_USE hr_status_t hr_flow_want_rank(const hr_kernel_ctx_t* k, int input, const char* what, int least, int most);
/* A flow is a scalar, but the first generation of the ops never looked. */
HR_MUST_USE hr_status_t hr_flow_infer_flow(hr_infer_t* s, int input);
/* Output 0 is the flow that comes in as that input. */
HR_MUST_USE hr_status_t hr_flow_infer_flow_out(hr_infer_t* s, int input);
/* Attr "dtype" of a reader against what the array holds. */
HR_MUST_USE hr_status_t hr_flow_check_dtype(const hr_kernel_ctx_t* k, const hr_tensor_array_t* a);

/* Emits the array of the node's gradients (of the generation that the node is of), made once `flow` is there; *out_flow comes after both.
 */
hr_value_t hr_flow_gradient_array(hr_grad_ctx_t* g, hr_value_t flow, hr_value_t* out_flow);
/* Emits op `stem` of the node's generation: "TensorArrayRead" + "", "V2" or "V3". */
hr_value_t hr_flow_emit(hr_grad_ctx_t* g, const char* stem, int input_count, const hr_value_t* inputs, int attr_count,
                        const hr_named_attr_t* attrs);
#endif
