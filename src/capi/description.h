/* SPDX-License-Identifier: Apache-2.0 */
/* An operation being put together: what a client said so far, copied. The first failure sticks and comes out at TF_FinishOperation.
 *
 * Descriptions are recycled with their memory: adding a node is a headline figure, and so costs no malloc here. */
#ifndef HR_CAPI_DESCRIPTION_H
#define HR_CAPI_DESCRIPTION_H
#include "capi/handles.h"

struct TF_OperationDescription {
  hr_graph_t* graph;
  hr_arena_t arena;             /* texts and lists */
  hr_attr_keeper_t tensors;     /* copies of tensor attrs */
  hr_str_t op, name, device;
  HR_VEC(hr_value_t) inputs;
  HR_VEC(int32_t) lists;        /* values of each argument so far */
  HR_VEC(hr_node_t*) controls;
  HR_VEC(hr_named_attr_t) attrs;
  HR_VEC(hr_str_t) colocations; /* "loc:@name" */
  bool has_list;
  hr_status_t failure;          /* sticky; one reference */
};

void hr_description_fail(TF_OperationDescription* d, hr_status_t take_status); /* keeps the first */
/* Adds an attr whose value lies in the arena already; saying the same twice is fine, something else is INVALID_ARGUMENT. */
void hr_description_add_attr(TF_OperationDescription* d, const char* name, const hr_attr_t* value);
#endif
