/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that convolutions share: each family says how its three ops are called. */
#ifndef HR_OPS_NN_CONV2D_GRADIENTS_H
#define HR_OPS_NN_CONV2D_GRADIENTS_H
#include "op/grad_ctx.h"

typedef struct {
  const char *forward, *input, *filter; /* the op, its gradient by the input, and by the filter */
} hr_conv2d_names_t;
void hr_conv2d_grad(hr_grad_ctx_t* g, const hr_conv2d_names_t* names);
void hr_conv2d_input_grad(hr_grad_ctx_t* g, const hr_conv2d_names_t* names);
void hr_conv2d_filter_grad(hr_grad_ctx_t* g, const hr_conv2d_names_t* names);
#endif
