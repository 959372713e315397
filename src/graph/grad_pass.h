/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of one backward walk, shared by the grad*.c files. All of it lies in the walk's own arena; only the emitted nodes stay. */
#ifndef HR_GRAPH_GRAD_PASS_H
#define HR_GRAPH_GRAD_PASS_H
#include "graph/grad.h"
#include "op/grad_state.h"

/* One gradient that flowed into a value; slices may get a dense twin when somebody asks for it. */
typedef struct hr_grad_part {
  struct hr_grad_part* next;
  bool is_slices;
  hr_value_t dense; /* of slices: NULL until made */
  hr_value_t indices, values, dense_shape;
} hr_grad_part_t;

/* All that flowed into one value; merged into one part when it is first read, after which no more may come. */
typedef struct {
  hr_grad_part_t *first, *last;
  int32_t count;
  hr_value_t zeros; /* made when a gradient asks for an output that nothing flowed into */
} hr_grad_sum_t;

typedef struct {
  hr_grad_sum_t* sums;   /* by output; NULL: nothing flowed yet */
  bool is_open, is_done; /* of the search */
  bool is_wanted;        /* an x is upstream of one of its inputs: its gradient is to be called */
  bool has_x, has_stop;  /* some output is an x, a stop */
} hr_grad_info_t;

typedef struct {
  hr_graph_t* g;
  const hr_grad_request_t* request;
  hr_arena_t arena;
  hr_grad_info_t* info;   /* by node id, for the nodes that were there at the start */
  int64_t info_count;
  HR_VEC(hr_node_t*) order; /* what the ys depend on, producers first */
  hr_str_t prefix;
  hr_str_t source;          /* no other walk of this graph has it */
} hr_grad_pass_t;

/* The context of one node's gradient, or (node NULL) of what belongs to no node. */
typedef struct {
  hr_grad_ctx_t base; /* first */
  hr_grad_pass_t* pass;
  hr_node_t* node;
} hr_grad_call_t;

/* grad_paths.c: fills order and flags. */
HR_MUST_USE hr_status_t hr_grad_paths_find(hr_grad_pass_t* p);
bool hr_grad_paths_lead_to_x(const hr_grad_pass_t* p, hr_value_t v);  /* a gradient of v is of use; integers have none */
bool hr_grad_paths_is_stop(const hr_grad_pass_t* p, hr_value_t v);
bool hr_grad_paths_is_trainable(int32_t type);                        /* floating, complex, or a handle */

/* grad_emit.c */
void hr_grad_emit_begin(hr_grad_call_t* c, hr_grad_pass_t* p, hr_node_t* node); /* node NULL: helpers work, the node's part is empty */

/* grad_accumulate.c: values that lead to no x are dropped silently. */
HR_MUST_USE hr_status_t hr_grad_accumulate_dense(hr_grad_pass_t* p, hr_value_t into, hr_value_t gradient);
HR_MUST_USE hr_status_t hr_grad_accumulate_slices(hr_grad_pass_t* p, hr_value_t into, hr_value_t indices, hr_value_t values,
                                                   hr_value_t dense_shape);
hr_grad_sum_t* hr_grad_accumulate_sum(const hr_grad_pass_t* p, hr_value_t v); /* NULL: nothing flowed into it */
HR_MUST_USE hr_status_t hr_grad_accumulate_merge(hr_grad_pass_t* p, hr_grad_sum_t* sum);         /* to one part */
HR_MUST_USE hr_status_t hr_grad_accumulate_densify(hr_grad_call_t* c, hr_grad_part_t* part);     /* part->dense */
#endif
