/* SPDX-License-Identifier: Apache-2.0 */
/* What the ops on TensorArrays share. The gradients of one backward walk meet in one array because they name the same source: the walk's
 * scope. */
#include "ops/flow/tensor_array_flow.h"
#include <stdio.h>
#include "ops/elementwise/binary.h"

hr_status_t hr_flow_sum_prepare(hr_prepare_ctx_t* p, void* prepared) {
  const hr_dtype_t type = hr_attrs_type(p->attrs, "T");
  hr_sum_loop_t* loop = prepared;
  *loop = NULL;
  if (!hr_dtype_in((int)type, HR_M_NUMBER)) return NULL;
  *loop = (*HR_ISA_PICK(hr_binary_vec))[BINARY_AddV2][type][LOOP_BOTH];
  if (!*loop) *loop = hr_binary_scalar[BINARY_AddV2][type][LOOP_BOTH];
  return NULL;
}

hr_status_t hr_flow_infer_flow(hr_infer_t* s, int input) {
  return hr_infer_attrs(s)->def->inputs[0].is_ref ? NULL : hr_infer_want_rank(s, input, 0, NULL);
}

hr_status_t hr_flow_infer_flow_out(hr_infer_t* s, int input) {
  HR_TRY(hr_flow_infer_flow(s, input));
  hr_infer_set(s, 0, hr_infer_attrs(s)->def->inputs[0].is_ref ? hr_infer_input(s, input) : &hr_pshape_scalar);
  return NULL;
}

hr_status_t hr_flow_want_rank(const hr_kernel_ctx_t* k, int input, const char* what, int least, int most) {
  const hr_shape_t* shape = &hr_input(k, input)->shape;
  char text[HR_SHAPE_TEXT];
  if (shape->rank >= least && shape->rank <= most) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%s: %s", what, hr_shape_format(shape, text));
}

hr_status_t hr_flow_check_dtype(const hr_kernel_ctx_t* k, const hr_tensor_array_t* a) {
  const hr_dtype_t held = hr_tensor_array_dtype(a), wanted = hr_output_dtype(k, 0);
  if (held == wanted) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "TensorArray dtype is %s but Op requested dtype %s.", hr_dtype_name((int)held),
                  hr_dtype_name((int)wanted));
}

static const char* generation(hr_grad_ctx_t* g) { /* of the node being differentiated */
  const hr_dtype_t type = hr_grad_dtype(g, hr_grad_input(g, 0));
  const hr_str_t name = hr_grad_attrs(g)->def->name;
  if (type == HR_RESOURCE) return "V3";
  return name.size > 2 && memcmp(name.data + name.size - 2, "V2", 2) == 0 ? "V2" : "";
}

hr_value_t hr_flow_emit(hr_grad_ctx_t* g, const char* stem, int input_count, const hr_value_t* inputs, int attr_count,
                        const hr_named_attr_t* attrs) {
  char op[48];
  snprintf(op, sizeof op, "%s%s", stem, generation(g));
  return hr_emit(g, op, input_count, inputs, attr_count, attrs);
}

hr_value_t hr_flow_gradient_array(hr_grad_ctx_t* g, hr_value_t flow, hr_value_t* out_flow) {
  const hr_named_attr_t source = hr_at("source", HR_AT_SCALAR(HR_ATTR_STRING, s, hr_grad_source(g)));
  hr_value_t array = hr_flow_emit(g, "TensorArrayGrad", HR_VALUES(hr_grad_input(g, 0), flow), HR_ATTRS(source));
  *out_flow = hr_emit1(g, "Identity", flow);
  hr_emit_control(g, array, *out_flow);
  return array;
}
