/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions turned into what they stand for, everywhere in a set of nodes: bodies in the place of calls, Switch and Merge for If
 * and Case, a loop for While. Sessions do it to their working copies, gradients to copies of a call's body in the client's graph; the two
 * differ in how a node is replaced, which is `edit`.
 *
 * A call is expanded unless its function is among those that it stands in already (recursion), or too much has been added: what is left
 * runs by its kernel, with the same results. */
#ifndef HR_GRAPH_EXPAND_H
#define HR_GRAPH_EXPAND_H
#include "graph/function_body.h"

enum { HR_EXPAND_MOST_DEPTH = 64, HR_EXPAND_MOST_NODES = 200000 };

typedef struct { /* a function's body within another's, outermost last */
  const hr_function_t* function;
  int32_t parent; /* -1: the client's graph */
  int32_t depth;
} hr_expand_level_t;

typedef struct {
  hr_node_t* node;
  int32_t level; /* -1: of the client's graph */
} hr_expand_item_t;

typedef struct hr_expand hr_expand_t;
typedef struct {
  hr_status_t (*replace)(hr_expand_t* x, hr_value_t from, hr_value_t to);         /* for all who read it */
  hr_status_t (*replace_control)(hr_expand_t* x, hr_node_t* from, hr_node_t* to); /* for all who wait for it; `to` NULL: nobody need wait */
  hr_status_t (*must_run)(hr_expand_t* x, hr_node_t* node);                       /* also if nobody reads it */
  hr_status_t (*added)(hr_expand_t* x, const hr_node_t* like);                    /* nodes were added, in the place of `like` */
  hr_status_t (*removed)(hr_expand_t* x, hr_node_t* node);                        /* nothing refers to it any more */
  bool (*is_asked)(const hr_expand_t* x, const hr_node_t* node);                  /* to run, by the caller */
} hr_expand_edit_t;

struct hr_expand {
  hr_graph_t* g;
  const hr_expand_edit_t* edit;
  void* owner; /* edit's */
  hr_arena_t arena;
  HR_VEC(hr_expand_item_t) items; /* a queue: expanding appends */
  HR_VEC(hr_expand_level_t) levels;
  hr_map_t effects; /* graph/effects.h */
  int64_t added;
  bool drops_twins; /* while a loop is taken apart: what runs many times has no twin */
  bool lowers;   /* If, Case and While too; else they keep their kernels */
  bool has_flow; /* branches or loops somewhere: nodes without inputs must be tied to theirs */
};
void hr_expand_init(hr_expand_t* x, hr_graph_t* g, const hr_expand_edit_t* edit, void* owner);
void hr_expand_deinit(hr_expand_t* x);
/* Queues the calls among the nodes, then expands until none is left that should be. */
HR_MUST_USE hr_status_t hr_expand_push(hr_expand_t* x, hr_node_t* const* nodes, int64_t count, int32_t level);
HR_MUST_USE hr_status_t hr_expand_run(hr_expand_t* x);

/* The function that a node calls with its inputs, and the attrs it is given; NULL: the node calls none that way. */
HR_MUST_USE hr_status_t hr_expand_callee(hr_expand_t* x, const hr_node_t* node, const hr_function_t** out,
                                         const hr_named_attr_t** out_attrs, int32_t* out_attr_count);

/* --- for the files of expanding ------------------------------------------------------------------------------------------------------ */
/* INVALID_ARGUMENT when the library has no such function. */
HR_MUST_USE hr_status_t hr_expand_find(const hr_expand_t* x, hr_str_t name, const hr_function_t** out);
bool hr_expand_may_enter(const hr_expand_t* x, const hr_function_t* f, int32_t level);
HR_MUST_USE hr_status_t hr_expand_enter(hr_expand_t* x, const hr_function_t* f, int32_t level, int32_t* out_level);
/* `node`/rest, in the arena. */
HR_MUST_USE hr_status_t hr_expand_name(hr_expand_t* x, const hr_node_t* node, const char* rest, hr_str_t* out);
/* A loop's invariants (constant Enters) are there once more than its body runs. Whether v is one; and an input of n that is none, so there
 * only when n is to run (NULL: all are; then n waits for something else). */
bool hr_expand_is_invariant(hr_value_t v);
hr_node_t* hr_expand_gate(const hr_node_t* n);
/* Adds a node named like->name/rest, on like's device. desc->name and device are filled in. */
HR_MUST_USE hr_status_t hr_expand_add(hr_expand_t* x, const hr_node_t* like, const char* rest, hr_node_desc_t desc, hr_node_t** out);
/* Calls a function by an op with attr f. */
HR_MUST_USE hr_status_t hr_expand_add_call(hr_expand_t* x, const hr_node_t* like, const char* rest, const hr_func_attr_t* f,
                                           hr_node_desc_t desc, const int32_t* output_types, int32_t output_count, hr_node_t** out);
/* expand_gradient.c: SymbolicGradient. */
HR_MUST_USE hr_status_t hr_expand_gradient(hr_expand_t* x, const hr_expand_item_t* item);
/* lower.c: If, Case and While. */
bool hr_lower_is_conditional(const hr_node_t* n);
HR_MUST_USE hr_status_t hr_lower_node(hr_expand_t* x, const hr_expand_item_t* item);

/* The attr that says which node of a call's body a node made for a gradient is the twin of. */
#define HR_EXPAND_TWIN "_forward_twin"
hr_str_t hr_expand_twin_of(const hr_node_t* n); /* "" */
#endif
