/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of one backward walk, shared by the grad*.c files. All of it lies in the walk's own arena; only the emitted nodes stay. */
#ifndef HR_GRAPH_GRAD_PASS_H
#define HR_GRAPH_GRAD_PASS_H
#include "graph/frames.h"
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

/* Where nodes run: the root, a loop's frame of the forward graph, or the frame of the gradient loop that runs such a loop backwards. */
typedef struct hr_grad_place {
  struct hr_grad_place *parent, *next_made;
  int32_t frame;      /* the forward frame that it is, or reverses */
  bool is_reverse;
  hr_str_t name;      /* frame_name */
  int32_t parallel;
  hr_value_t pivot;   /* of the loop's counter: alive in every iteration, once the one before has pushed or popped */
  hr_node_t* tail;    /* the counter's step, which waits for this iteration's pushes or pops... */
  hr_node_t* gate;    /* ...or for this ControlTrigger, where they may be dead */
  hr_map_t known;     /* values of other places -> what they are here */
} hr_grad_place_t;

/* What is taken for granted where a node runs: these predicates had these values. Outermost first through `parent`; NULL: nothing. */
typedef struct hr_grad_guard {
  const struct hr_grad_guard *parent, *next; /* next: made before, of the same parent */
  const struct hr_grad_guard* children;
  hr_value_t pred;
  int32_t branch, depth;
} hr_grad_guard_t;

typedef struct {
  HR_VEC(hr_node_t*) enters; /* that open it */
  HR_VEC(hr_node_t*) items;  /* nodes that run in it, producers first; of each loop in it one Exit stands for the whole */
  hr_node_t* exit;           /* that one Exit */
} hr_grad_loop_t;

typedef struct {
  hr_grad_sum_t* sums;   /* by output; NULL: nothing flowed yet */
  bool is_open, is_done; /* of the search */
  bool is_wanted;        /* an x is upstream of one of its inputs: its gradient is to be called */
  bool has_x, has_stop;  /* some output is an x, a stop */
  bool has_guard;        /* guard is known */
  int32_t mark;          /* of searches within loops */
  const hr_grad_guard_t* guard;
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
  bool has_loops;           /* the walk meets loops: all below is there */
  hr_frames_t frames;       /* of the nodes that were there at the start */
  hr_grad_loop_t* loops;    /* by frame */
  hr_grad_place_t** forward; /* by frame */
  hr_grad_place_t *base, *here, *made; /* where the ys are; where nodes are emitted now; all */
  hr_node_t* anchor;        /* what constants at the base wait for; NULL at the root */
  HR_VEC(hr_grad_place_t*) homes;      /* of the first output of the nodes emitted, by id - info_count */
  const hr_grad_guard_t* first_guard;  /* of those without a parent */
  int32_t marks;
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
bool hr_grad_paths_is_pop(const hr_node_t* n); /* takes from a stack what another node pushes */
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

/* grad_place.c: values where they are needed. Without loops every value is where it is. */
HR_MUST_USE hr_status_t hr_grad_place_start(hr_grad_pass_t* p); /* once the walk's order is known */
void hr_grad_place_deinit(hr_grad_pass_t* p);
hr_grad_place_t* hr_grad_place_home(const hr_grad_pass_t* p, hr_value_t v);
HR_MUST_USE hr_status_t hr_grad_place_create(hr_grad_pass_t* p, hr_grad_place_t* parent, int32_t frame, bool is_reverse, hr_str_t name,
                                             hr_grad_place_t** out);
/* v as a value of place `to`: itself, carried into loops by constant Enters, or pushed on a stack where it is made and popped. */
HR_MUST_USE hr_status_t hr_grad_place_bring(hr_grad_pass_t* p, hr_value_t v, hr_grad_place_t* to, hr_value_t* out);
/* Adds a node at a place. Inputs are brought there; raw: they are used as they are, and the outputs are of place `home`. */
HR_MUST_USE hr_status_t hr_grad_place_add(hr_grad_pass_t* p, hr_grad_place_t* at, const char* op, int input_count, const hr_value_t* inputs,
                                          int attr_count, const hr_named_attr_t* attrs, hr_value_t* out);
HR_MUST_USE hr_status_t hr_grad_place_add_raw(hr_grad_pass_t* p, hr_grad_place_t* home, const hr_node_desc_t* desc, hr_value_t* out);
/* A constant: at the base, or (after: what it waits for) at a place. */
HR_MUST_USE hr_status_t hr_grad_place_int(hr_grad_pass_t* p, hr_grad_place_t* at, int32_t value, hr_node_t* after, hr_value_t* out);
/* The counter's step at that place waits for `node`. */
HR_MUST_USE hr_status_t hr_grad_place_tie(hr_grad_pass_t* p, hr_grad_place_t* at, hr_node_t* node, bool may_be_dead);
/* A node that a gradient emits: in the outermost place that has all inputs, so that what does not change in a loop is computed once. */
HR_MUST_USE hr_status_t hr_grad_place_emit(hr_grad_call_t* c, hr_node_desc_t* desc, hr_value_t* out);
HR_MUST_USE hr_status_t hr_grad_place_name(hr_grad_pass_t* p, const hr_node_t* of, const char* op, hr_str_t* out);
hr_value_t hr_grad_place_zeros(hr_grad_call_t* c, hr_value_t like); /* without carrying `like` itself into loops */

/* grad_guard.c: which branches of conditionals a value stands in. */
HR_MUST_USE hr_status_t hr_grad_guard_find(hr_grad_pass_t* p, hr_value_t v, const hr_grad_guard_t** out);
bool hr_grad_guard_has(const hr_grad_guard_t* g, hr_value_t pred, int32_t branch);

/* grad_cond.c, grad_while.c */
void hr_grad_cond_switch(hr_grad_call_t* c, hr_node_t* node);
void hr_grad_cond_merge(hr_grad_call_t* c, hr_node_t* node);
HR_MUST_USE hr_status_t hr_grad_while_build(hr_grad_pass_t* p, int32_t frame);
HR_MUST_USE hr_status_t hr_grad_walk_items(hr_grad_pass_t* p, int32_t frame); /* grad.c */

/* Classes of nodes, references or not. */
bool hr_grad_is_class(const hr_node_t* n, int node_class); /* the class without Ref */
bool hr_grad_is_loop_switch(const hr_node_t* n);
bool hr_grad_is_loop_merge(const hr_node_t* n);
#endif
