/* SPDX-License-Identifier: Apache-2.0 */
/* From a description to what the op's signature makes of it: attrs in the signature's order with types and lengths inferred from the
 * inputs, defaults filled in, and the element types of inputs and outputs. Nothing here changes the graph. */
#ifndef HR_GRAPH_RESOLVE_H
#define HR_GRAPH_RESOLVE_H
#include "graph/graph.h"

enum { HR_RESOLVE_ATTRS = 32, HR_RESOLVE_ARGS = 32, HR_RESOLVE_MOST_OUTPUTS = 1000000 };

typedef enum {
  HR_RESOLVE_UNSET,
  HR_RESOLVE_GIVEN,
  HR_RESOLVE_KEPT
} hr_resolve_origin_t; /* KEPT: needs no copy (a default, or made in the arena) */

typedef struct {
  const hr_node_desc_t* desc;
  const hr_op_def_t* def;
  hr_arena_t* arena;
  hr_attr_t* values;   /* def->attr_count; given ones borrow from desc */
  uint8_t* origins;    /* hr_resolve_origin_t of each */
  int32_t* lengths;    /* flattened inputs of each input argument */
  int32_t extra_count; /* given attrs that the op does not know */
  int32_t output_count;
  hr_attr_t value_space[HR_RESOLVE_ATTRS];
  uint8_t origin_space[HR_RESOLVE_ATTRS];
  int32_t length_space[HR_RESOLVE_ARGS];
} hr_resolve_t;

/* INVALID_ARGUMENT names attr or input argument, what was given and what is right. */
HR_MUST_USE hr_status_t hr_resolve_run(hr_resolve_t* r, hr_arena_t* arena, const hr_op_def_t* def, const hr_node_desc_t* desc);
/* Expected input types (desc->input_count) and output types (output_count), HR_DTYPE_REF added for references. */
void hr_resolve_input_types(const hr_resolve_t* r, int32_t* out_types);
void hr_resolve_output_types(const hr_resolve_t* r, int32_t* out_types);
/* The name of the argument that flattened input `input` belongs to, from lengths. */
hr_str_t hr_resolve_input_name(const hr_resolve_t* r, int input);
#endif
