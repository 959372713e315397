/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of hr_infer_t: filled by whoever runs a shape function (graph/, tests), read by op/infer.c. */
#ifndef HR_OP_INFER_STATE_H
#define HR_OP_INFER_STATE_H
#include "op/attrs_of.h"
#include "op/infer.h"

struct hr_infer {
  hr_arena_t* arena;                         /* new shapes live here */
  const hr_node_attrs_t* attrs;
  int input_count, output_count;
  const int32_t* input_types;                /* refs allowed */
  const int32_t* output_types;
  const hr_pshape_t* const* input_shapes;    /* no NULL entries */
  const hr_pshape_t** output_shapes;         /* set by the function; preset to unknown */
  const hr_dtype_t* input_handle_types;      /* NULL: nothing known of any */
  const hr_pshape_t* const* input_handle_shapes;
  hr_dtype_t* output_handle_types;           /* preset to INVALID; NULL when no output is a resource */
  const hr_pshape_t** output_handle_shapes;
  /* Known values of inputs; may be NULL functions. */
  hr_status_t (*constant)(void* arg, int input, const hr_tensor_t** out);
  hr_status_t (*as_shape)(void* arg, int input, const hr_pshape_t** out);
  /* What a function's body gives for the node's inputs from `first` on, or for arguments of `shapes`; may be NULL: nothing is known. */
  hr_status_t (*called)(void* arg, const hr_func_attr_t* function, int first, const hr_pshape_t* const* shapes, const hr_pshape_t** out,
                        hr_dtype_t* out_types, const hr_pshape_t** out_handle_shapes);
  void* arg;
  hr_status_t failure;                       /* of a value look-up inside an accessor that cannot return one; checked by hr_infer_run */
};
/* Runs the op's shape function and reports its failure or a sticky one. Ops without one leave every output unknown. */
HR_MUST_USE hr_status_t hr_infer_run(hr_infer_t* s);
#endif
