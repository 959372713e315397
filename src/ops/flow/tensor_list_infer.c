/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/flow/tensor_list_infer.h"

const hr_pshape_t* hr_tensor_list_infer_held(hr_infer_t* s, int list) {
  hr_dtype_t held = HR_DTYPE_INVALID;
  const hr_pshape_t* known = NULL;
  hr_infer_handle(s, list, &held, &known);
  return known ? known : &hr_pshape_unknown;
}

hr_status_t hr_tensor_list_infer_element(hr_infer_t* s, int input, int list, const hr_pshape_t** out) {
  *out = &hr_pshape_unknown;
  const hr_tensor_t* scalar = hr_infer_input(s, input)->rank == 0 ? hr_infer_const(s, input) : NULL;
  if (scalar) HR_TRY(hr_infer_const_as_shape(s, input, out)); /* -1 */
  if (!scalar && hr_infer_input(s, input)->rank == 1) HR_TRY(hr_infer_const_as_shape(s, input, out));
  return list >= 0 ? hr_tensor_list_infer_merged(s, list, *out, out) : NULL;
}

hr_status_t hr_tensor_list_infer_merged(hr_infer_t* s, int list, const hr_pshape_t* stated, const hr_pshape_t** out) {
  const hr_pshape_t* known = hr_tensor_list_infer_held(s, list);
  char text[2][HR_SHAPE_TEXT];
  return hr_status_note(hr_infer_merge(s, stated, known, out), "Incompatible shapes during merge: %s vs. %s: ",
                        hr_pshape_format(stated, text[0]), hr_pshape_format(known, text[1]));
}

void hr_tensor_list_infer_list(hr_infer_t* s, const hr_pshape_t* element) {
  hr_infer_set(s, 0, &hr_pshape_scalar);
  hr_infer_set_handle(s, 0, hr_attrs_type(hr_infer_attrs(s), "element_dtype"), element);
}

hr_status_t hr_tensor_list_infer_same(hr_infer_t* s) {
  hr_dtype_t held;
  const hr_pshape_t* shape;
  hr_infer_handle(s, 0, &held, &shape);
  hr_infer_set(s, 0, hr_infer_input(s, 0));
  if (held != HR_DTYPE_INVALID) hr_infer_set_handle(s, 0, held, shape);
  return NULL;
}

hr_status_t hr_tensor_list_infer_rows(hr_infer_t* s, int output, int64_t first, const hr_pshape_t* element) {
  hr_infer_set(s, output, &hr_pshape_unknown);
  if (element->rank < 0) return NULL;
  int64_t* dims = hr_arena_array(hr_infer_arena(s), (size_t)element->rank + 1, sizeof *dims);
  if (!dims) return hr_status_out_of_memory();
  dims[0] = first;
  for (int i = 0; i < element->rank; ++i) dims[i + 1] = element->dims[i];
  return hr_infer_set_dims(s, output, element->rank + 1, dims);
}

hr_value_t hr_tensor_list_emit_element_shape(hr_grad_ctx_t* g, hr_value_t list) {
  return hr_emit(g, "TensorListElementShape", 1, &list, HR_ATTRS(hr_at_type("shape_type", HR_I32)));
}

hr_value_t hr_tensor_list_emit_length(hr_grad_ctx_t* g, hr_value_t list) { return hr_emit1(g, "TensorListLength", list); }

hr_value_t hr_tensor_list_emit_row_shape(hr_grad_ctx_t* g, hr_value_t rows) {
  const int64_t one = 1, rest = -1;
  const hr_value_t shape = hr_emit_shape(g, rows), from = hr_emit_const_i32s(g, &one, 1), size = hr_emit_const_i32s(g, &rest, 1);
  return hr_emit3(g, "Slice", shape, from, size);
}

hr_named_attr_t hr_tensor_list_dtype(hr_grad_ctx_t* g) {
  return hr_at_type("element_dtype", (int)hr_attrs_type(hr_grad_attrs(g), "element_dtype"));
}
