/* SPDX-License-Identifier: Apache-2.0 */
/* The function library: each FunctionDef is kept as the bytes it came in (so it goes out unchanged) with its name, signature and the
 * name of its gradient function read out. Bodies are decoded by whoever calls the function. */
#ifndef HR_GRAPH_FUNCTION_H
#define HR_GRAPH_FUNCTION_H
#include "graph/graph.h"

typedef struct hr_function {
  hr_str_t name;
  hr_str_t bytes;              /* the FunctionDef */
  hr_str_t signature;          /* its OpDef, within bytes */
  const hr_op_def_t* def;      /* the same decoded: what a node whose op is the function looks like; not registered */
  hr_str_t gradient;           /* name of the gradient function; "" */
  const hr_str_t* input_names; /* arguments of the signature */
  const hr_str_t* output_names;
  const int32_t* input_types; /* hr_dtype_t; INVALID where an attr of the function says it */
  const int32_t* output_types;
  int32_t input_count, output_count, node_count;
  bool is_stateful;
} hr_function_t;

void hr_functions_deinit(hr_graph_t* g);                             /* called by hr_graph_destroy */
/* NULL: neither g nor g->library (whose mu is taken for the look-up) has it. A function never changes but for its gradient's name. */
hr_function_t* hr_function_find(const hr_graph_t* g, hr_str_t name);
/* What a node's op name means in this graph: an op of the registry or a function of the library. NOT_FOUND names the op. */
HR_MUST_USE hr_status_t hr_function_or_op(const hr_graph_t* g, hr_str_t name, const hr_op_def_t** out);
/* Whether an op definition may be a function's, as far as can be told without a look at the library. */
bool hr_function_is_def(const hr_op_def_t* def);
/* The function that a node calls by having its name as its op; NULL. */
const hr_function_t* hr_function_of_node(const hr_graph_t* g, const hr_node_t* node);
/* Whether two FunctionDefs are equal, whatever the order of their maps. */
bool hr_function_same(hr_str_t a, hr_str_t b);
/* Adds a copy of a serialized FunctionDef. The same one twice is fine; INVALID_ARGUMENT for another under a known name, for bytes
 * that do not parse and for the name of a registered op. `out` may be NULL. */
HR_MUST_USE hr_status_t hr_function_add(hr_graph_t* g, const void* data, size_t size, hr_function_t** out);
/* Names the gradient of a function (GradientDef); INVALID_ARGUMENT when it has another one already, or neither function is known. */
HR_MUST_USE hr_status_t hr_function_set_gradient(hr_graph_t* g, hr_str_t function, hr_str_t gradient);
/* Adds (a copy of) `function` and, if not NULL, its gradient function from graph `from` to graph `to` (TF_GraphCopyFunction). */
HR_MUST_USE hr_status_t hr_function_copy(hr_graph_t* to, const hr_function_t* function, const hr_function_t* gradient);
/* Takes back what was added since the library had `count` functions (gradient names set since then stay). */
void hr_functions_truncate(hr_graph_t* g, int64_t count);
/* Whether output `output` is argument `argument` itself, handed through. */
bool hr_function_hands_through(const hr_function_t* f, int output, int argument);
/* A FunctionDefLibrary: all or nothing. */
HR_MUST_USE hr_status_t hr_function_add_library(hr_graph_t* g, const void* data, size_t size);
#endif
