/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of a convolution and of its two gradient ops, which are each other's. The attrs are handed on as they are. */
#include "ops/nn/conv2d/gradients.h"

static hr_value_t emit_like(hr_grad_ctx_t* g, const char* op, int count, const hr_value_t* inputs) {
  static const char* const names[] = {"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"};
  enum { NAMES = sizeof names / sizeof *names };
  hr_named_attr_t attrs[NAMES];
  int n = 0;
  for (int i = 0; i < NAMES; ++i) {
    const hr_attr_t* value = hr_attrs_find(hr_grad_attrs(g), names[i]);
    if (value) attrs[n++] = hr_at(names[i], *value);
  }
  return hr_emit(g, op, count, inputs, n, attrs);
}

void hr_conv2d_grad(hr_grad_ctx_t* g, const hr_conv2d_names_t* names) {
  hr_value_t x = hr_grad_input(g, 0), f = hr_grad_input(g, 1), dy = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, emit_like(g, names->input, HR_VALUES(hr_emit_shape(g, x), f, dy)));
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, emit_like(g, names->filter, HR_VALUES(x, hr_emit_shape(g, f), dy)));
}

void hr_conv2d_input_grad(hr_grad_ctx_t* g, const hr_conv2d_names_t* names) { /* linear in filter and out_backprop */
  hr_value_t f = hr_grad_input(g, 1), dy = hr_grad_input(g, 2), up = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 1)) hr_grad_give(g, 1, emit_like(g, names->filter, HR_VALUES(up, hr_emit_shape(g, f), dy)));
  if (hr_grad_wanted(g, 2)) hr_grad_give(g, 2, emit_like(g, names->forward, HR_VALUES(up, f)));
}

void hr_conv2d_filter_grad(hr_grad_ctx_t* g, const hr_conv2d_names_t* names) { /* linear in input and out_backprop */
  hr_value_t x = hr_grad_input(g, 0), dy = hr_grad_input(g, 2), up = hr_grad_upstream(g, 0);
  if (hr_grad_wanted(g, 0)) hr_grad_give(g, 0, emit_like(g, names->input, HR_VALUES(hr_emit_shape(g, x), up, dy)));
  if (hr_grad_wanted(g, 2)) hr_grad_give(g, 2, emit_like(g, names->forward, HR_VALUES(x, up)));
}
