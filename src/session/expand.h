/* SPDX-License-Identifier: Apache-2.0 */
/* What pass_inline.c and pass_lower.c share: the list of nodes that call functions, and putting a body into the program.
 *
 * A call is expanded unless its function is among those that it stands in already (recursion), or too much has been added: what is left
 * runs by its kernel (session/callee.h), with the same results. */
#ifndef HR_SESSION_EXPAND_H
#define HR_SESSION_EXPAND_H
#include "graph/function_body.h"
#include "session/passes.h"

enum { HR_EXPAND_MOST_DEPTH = 64, HR_EXPAND_MOST_NODES = 200000 };

typedef struct {              /* a function's body within another's, outermost last */
  const hr_function_t* function;
  int32_t parent;             /* -1: the client's graph */
  int32_t depth;
} hr_expand_level_t;

typedef struct {
  hr_node_t* node;
  int32_t level;              /* -1: of the client's graph */
} hr_expand_item_t;

typedef struct {
  hr_program_t* p;
  const hr_session_options_t* options;
  hr_arena_t arena;
  HR_VEC(hr_expand_item_t) items; /* a queue: expanding appends */
  HR_VEC(hr_expand_level_t) levels;
  hr_map_t effects;           /* function (pointer) to whether running it does anything but give values */
  int64_t added;
  bool has_flow;              /* branches or loops somewhere: nodes without inputs must be tied to theirs */
} hr_expand_t;

/* The function that a node calls with its inputs, and the attrs it is given; NULL: the node calls none that way. */
HR_MUST_USE hr_status_t hr_expand_callee(hr_expand_t* x, const hr_node_t* node, const hr_function_t** out, const hr_named_attr_t** out_attrs,
                                         int32_t* out_attr_count);
/* INVALID_ARGUMENT when the library has no such function. */
HR_MUST_USE hr_status_t hr_expand_find(const hr_expand_t* x, hr_str_t name, const hr_function_t** out);
bool hr_expand_may_enter(const hr_expand_t* x, const hr_function_t* f, int32_t level);
HR_MUST_USE hr_status_t hr_expand_push_calls(hr_expand_t* x, hr_node_t* const* nodes, int32_t count, int32_t level);
HR_MUST_USE hr_status_t hr_expand_enter(hr_expand_t* x, const hr_function_t* f, int32_t level, int32_t* out_level);

/* expand_gradient.c */
HR_MUST_USE hr_status_t hr_expand_gradient(hr_expand_t* x, const hr_expand_item_t* item);
/* pass_lower.c: whether the node is If, Case or While, and turning it into Switch, Merge and calls. *out_done false: its kernel stays. */
bool hr_lower_is_conditional(const hr_node_t* n);
HR_MUST_USE hr_status_t hr_lower_node(hr_expand_t* x, const hr_expand_item_t* item, bool* out_done);
#endif
