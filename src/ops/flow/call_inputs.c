/* SPDX-License-Identifier: Apache-2.0 */
/* Values of calls; truth; shapes that attrs state. */
#include "ops/flow/call_inputs.h"

#include "base/alloc.h"
#include "tensor/tstring.h"

hr_status_t hr_call_inputs_begin(hr_call_inputs_t* c, const hr_kernel_ctx_t* k, int first) {
  c->in_count = hr_input_count(k) - first;
  c->out_count = hr_output_count(k);
  size_t total = (size_t)c->in_count + (size_t)c->out_count;
  c->in = total <= HR_CALL_INPUTS_ON_STACK ? c->space : hr_alloc_array(total, sizeof *c->in);
  if (!c->in) return hr_status_out_of_memory();
  memset(c->in, 0, total * sizeof *c->in);
  c->out = c->in + c->in_count;
  for (int i = 0; i < c->in_count; ++i) hr_tensor_lend(hr_input(k, first + i), &c->in[i]);
  return NULL;
}

void hr_call_inputs_end(hr_call_inputs_t* c, hr_kernel_ctx_t* k, bool failed) {
  if (!c->in) return;
  for (int i = 0; i < c->out_count; ++i) {
    if (failed || !c->out[i].buffer)
      hr_tensor_release(&c->out[i]);
    else
      hr_output_move(k, i, &c->out[i]);
  }
  if (c->in != c->space) hr_free(c->in);
}

hr_status_t hr_call_inputs_is_true(const hr_tensor_t* t, bool* out) {
  *out = t->count > 0;
  if (t->shape.rank != 0) return NULL;
  const void* data = t->data;
  hr_dtype_t type = t->dtype;
  if (type == HR_STRING) {
    *out = hr_tstring_get(data).size > 0;
  } else if (type == HR_F32) {
    *out = *(const float*)data != 0;
  } else if (type == HR_F64) {
    *out = *(const double*)data != 0;
  } else if (hr_dtype_in(type, HR_M_INTEGER) || type == HR_BOOL) {
    *out = false;
    for (size_t i = 0; i < hr_dtype_size(type); ++i) *out |= ((const uint8_t*)data)[i] != 0;
  } else {
    return HR_ERROR(INVALID_ARGUMENT, "a %s cannot be a condition", hr_dtype_name((int)type));
  }
  return NULL;
}

/* Attr "output_shapes", else "_output_shapes", if it has a shape for each output; else NULL. */
static const hr_attr_t* stated_shapes(const hr_infer_t* c) {
  const hr_attr_t* shapes = hr_attrs_find(hr_infer_attrs(c), "output_shapes");
  if (!shapes || shapes->count == 0) shapes = hr_attrs_find(hr_infer_attrs(c), "_output_shapes");
  bool fits = shapes && shapes->is_list && shapes->kind == HR_ATTR_SHAPE && shapes->count == hr_infer_output_count(c);
  return fits ? shapes : NULL;
}

hr_status_t hr_call_inputs_shapes(hr_infer_t* c) {
  const hr_attr_t *given = hr_attrs_find(hr_infer_attrs(c), "output_shapes"), *shapes = stated_shapes(c);
  if (given && given->count > 0 && given->count != hr_infer_output_count(c))
    return HR_ERROR(INVALID_ARGUMENT, "`output_shapes` must be the same length as num outputs (%d vs. %d)", (int)given->count,
                    hr_infer_output_count(c));
  for (int i = 0; i < hr_infer_output_count(c); ++i) hr_infer_set(c, i, shapes ? shapes->u.shapes[i] : &hr_pshape_unknown);
  return NULL;
}

hr_status_t hr_call_inputs_called(hr_infer_t* c) {
  const hr_attr_t *off = hr_attrs_find(hr_infer_attrs(c), "_disable_call_shape_inference"), *shapes = stated_shapes(c);
  if (off && off->kind == HR_ATTR_BOOL && off->u.b) return hr_call_inputs_shapes(c);
  HR_TRY(hr_infer_set_called(c, hr_attrs_find(hr_infer_attrs(c), "f")->u.func, 0));
  for (int i = 0; shapes && i < hr_infer_output_count(c); ++i) {
    const hr_pshape_t *found = hr_infer_output(c, i), *both = found;
    hr_status_t status = hr_infer_merge(c, found, shapes->u.shapes[i], &both);
    if (status && hr_status_code(status) == HR_RESOURCE_EXHAUSTED) return status;
    hr_infer_set(c, i, status ? found : both);
    hr_status_release(status);
  }
  return NULL;
}
