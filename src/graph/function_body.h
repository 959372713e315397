/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a function as nodes of a graph: what a call stands for. One level: calls inside the body stay calls.
 *
 * Attrs of the function (`T`) take the values that the call gives; `_class` and frame names follow the nodes to their new names, so two
 * bodies of one function never share a loop frame. Shape functions run, but what they refuse is left to the kernels: a branch that is not
 * taken may be wrong. */
#ifndef HR_GRAPH_FUNCTION_BODY_H
#define HR_GRAPH_FUNCTION_BODY_H
#include "graph/function.h"

typedef struct {
  const hr_function_t* function;
  const hr_named_attr_t* attrs; /* of the call */
  int32_t attr_count;
  const hr_value_t* inputs; /* one per flattened argument, of the graph that the body goes to */
  int32_t input_count;
  hr_str_t prefix;      /* names become prefix/name, made unique */
  hr_str_t device;      /* of nodes that ask for none */
  hr_node_t* start;     /* nodes without inputs from the body wait for it; NULL */
  bool start_constants; /* constants too: the call stands in a branch or a loop */
  hr_str_t twin;        /* "": none. Else nodes whose value may differ from run to run get attr _forward_twin = twin/name */
} hr_function_body_request_t;

typedef struct {     /* memory of the arena given */
  hr_node_t** nodes; /* producers first */
  int32_t node_count;
  hr_value_t* outputs; /* one per flattened output */
  int32_t output_count;
  hr_node_t** controls; /* what control_ret names */
  int32_t control_count;
} hr_function_body_t;

/* INVALID_ARGUMENT names the function and what does not fit: inputs, attrs without a value, unknown nodes and outputs, cycles. On failure
 * nodes added before stay in the graph, without effect. The caller holds g->mu where others can see g. */
HR_MUST_USE hr_status_t hr_function_body_add(hr_graph_t* g, const hr_function_body_request_t* request, hr_arena_t* arena,
                                             hr_function_body_t* out);
/* The element types of the flattened arguments or outputs, for a call with these attrs. */
HR_MUST_USE hr_status_t hr_function_types(const hr_function_t* f, const hr_named_attr_t* attrs, int32_t attr_count, bool outputs,
                                          hr_arena_t* arena, int32_t** out_types, int* out_count);
#endif
