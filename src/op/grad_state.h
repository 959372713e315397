/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of hr_grad_ctx_t: a table of primitives that graph/grad.c (and a recorder in tests) implements; op/grad_ctx.c builds the
 * helpers (scale, reduce_to...) on it. */
#ifndef HR_OP_GRAD_STATE_H
#define HR_OP_GRAD_STATE_H
#include "op/grad_ctx.h"

typedef struct {
  hr_status_t (*emit)(hr_grad_ctx_t*, const char* op, int input_count, const hr_value_t* inputs, int attr_count,
                      const hr_named_attr_t* attrs, hr_value_t* out);
  hr_status_t (*control)(hr_grad_ctx_t*, hr_value_t from, hr_value_t to);
  hr_dtype_t (*dtype)(hr_grad_ctx_t*, hr_value_t v);
  const hr_pshape_t* (*shape)(hr_grad_ctx_t*, hr_value_t v);
  hr_status_t (*constant)(hr_grad_ctx_t*, hr_value_t v, const hr_tensor_t** out);
  hr_value_t (*input)(hr_grad_ctx_t*, int i);
  hr_value_t (*output)(hr_grad_ctx_t*, int i);
  hr_status_t (*upstream)(hr_grad_ctx_t*, int i, hr_value_t* out);          /* dense; zeros made on demand */
  bool (*has_upstream)(const hr_grad_ctx_t*, int i);
  bool (*upstream_slices)(hr_grad_ctx_t*, int i, hr_value_t* indices, hr_value_t* values, hr_value_t* dense_shape);
  bool (*wanted)(const hr_grad_ctx_t*, int input);
  hr_status_t (*give)(hr_grad_ctx_t*, int input, hr_value_t gradient);
  hr_status_t (*give_slices)(hr_grad_ctx_t*, int input, hr_value_t indices, hr_value_t values, hr_value_t dense_shape);
  hr_str_t (*source)(const hr_grad_ctx_t*);
} hr_grad_table_t;

struct hr_grad_ctx {
  const hr_grad_table_t* table;
  const hr_node_attrs_t* attrs;   /* of the node being differentiated */
  int input_count, output_count;
  hr_status_t failure;            /* sticky; owned */
};
#endif
