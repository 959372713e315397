/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions and gradient emitters that the ops of lists share. */
#ifndef HR_OPS_FLOW_TENSOR_LIST_INFER_H
#define HR_OPS_FLOW_TENSOR_LIST_INFER_H
#include "op/grad_ctx.h"
#include "op/infer_fns.h"

/* What list input `list` is known to hold; unknown at worst. */
const hr_pshape_t* hr_tensor_list_infer_held(hr_infer_t* s, int list);
/* The same and `stated`. */
HR_MUST_USE hr_status_t hr_tensor_list_infer_merged(hr_infer_t* s, int list, const hr_pshape_t* stated, const hr_pshape_t** out);
/* The element shape that input `input` states, as far as known, merged with what list input `list` (-1: none) is known to hold. */
HR_MUST_USE hr_status_t hr_tensor_list_infer_element(hr_infer_t* s, int input, int list, const hr_pshape_t** out);
/* Output 0: a list of elements of this shape and of attr element_dtype. */
void hr_tensor_list_infer_list(hr_infer_t* s, const hr_pshape_t* element);
hr_status_t hr_tensor_list_infer_same(hr_infer_t* s); /* output 0 is a list like input 0 */
/* `first` dimensions (-1: unknown), then the element's. */
HR_MUST_USE hr_status_t hr_tensor_list_infer_rows(hr_infer_t* s, int output, int64_t first, const hr_pshape_t* element);
hr_value_t hr_tensor_list_emit_element_shape(hr_grad_ctx_t* g, hr_value_t list);
hr_value_t hr_tensor_list_emit_length(hr_grad_ctx_t* g, hr_value_t list);
/* Shape(rows) without its first dimension. */
hr_value_t hr_tensor_list_emit_row_shape(hr_grad_ctx_t* g, hr_value_t rows);
hr_named_attr_t hr_tensor_list_dtype(hr_grad_ctx_t* g); /* attr element_dtype of the op */
#endif
