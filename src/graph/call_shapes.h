/* SPDX-License-Identifier: Apache-2.0 */
/* What a call gives, as far as the function's body tells while the graph is built: its shape functions run, in a graph of their own that
 * is thrown away, on what is known of the call's inputs. Nothing that a body refuses is an error here: the step will say it.
 *
 * Bodies call in turn, recursively too, and a hostile library makes few bytes into many nodes: what is looked into is bounded by depth,
 * by nodes for one call, and by nodes for all calls of a graph; beyond that shapes are unknown. Results are remembered by function,
 * shapes and values. */
#ifndef HR_GRAPH_CALL_SHAPES_H
#define HR_GRAPH_CALL_SHAPES_H
#include "graph/function.h"

typedef struct {
  const hr_function_t* function;
  const hr_named_attr_t* attrs; /* of the call */
  int32_t attr_count;
  const hr_node_t* node; /* the call: its inputs from `first` on are the arguments */
  int32_t first;
  const hr_pshape_t* const* shapes; /* of the arguments; NULL: those of the inputs, whose values count too where they are known */
} hr_call_shapes_request_t;

/* Sets a shape, never NULL, for each of the node's outputs, and what it holds where that is a handle (types, handle_shapes: may be NULL).
 * Fails only for want of memory. Where g is somebody's, its mu is held; in a session's working copies nothing is looked into. */
HR_MUST_USE hr_status_t hr_call_shapes(hr_graph_t* g, const hr_call_shapes_request_t* request, const hr_pshape_t** shapes,
                                       hr_dtype_t* types, const hr_pshape_t** handle_shapes);
void hr_call_shapes_forget(hr_graph_t* g); /* what is remembered: functions have been taken back, or the graph ends */
#endif
