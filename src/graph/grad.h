/* SPDX-License-Identifier: Apache-2.0 */
/* The backward walk: gradients of the sum of ys with respect to xs, as new nodes of the same graph. */
#ifndef HR_GRAPH_GRAD_H
#define HR_GRAPH_GRAD_H
#include "graph/graph.h"

typedef struct {
  hr_value_t dense;                          /* node NULL: no gradient flows (None), or it is slices */
  hr_value_t indices, values, dense_shape;   /* set when it came as slices (gathers) and asked for as such */
  bool is_slices;
} hr_gradient_t;

typedef struct {
  hr_str_t prefix;                 /* name scope of the new nodes; "" : "gradients", made unique */
  const hr_value_t* ys;
  int32_t y_count;
  const hr_value_t* xs;
  int32_t x_count;
  const hr_value_t* upstream;      /* dL/dy, one per y; NULL or null entries: ones of y's shape */
  const hr_value_t* stops;         /* gradients do not flow through these */
  int32_t stop_count;
  bool keep_slices;                /* else slices are turned dense */
  bool ends_at_xs;                 /* nothing upstream of an x leads to another: do not look there */
  int call_depth;                  /* of the walk within a call: how many calls it stands in (graph/grad_call.c) */
  /* User overrides (Python's RegisterGradient, gradient_override_map): may be NULL; *out_handled false: the op's own. */
  hr_status_t (*override)(void* arg, hr_grad_ctx_t* g, const hr_node_t* node, bool* out_handled);
  void* override_arg;
} hr_grad_request_t;
HR_MUST_USE hr_status_t hr_grad_build(hr_graph_t* g, const hr_grad_request_t* request, hr_gradient_t* out); /* x_count entries */
#endif
