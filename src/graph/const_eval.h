/* SPDX-License-Identifier: Apache-2.0 */
/* Values known while the graph is built: constants, and nodes computed from constants and static shapes, one by one through
 * their kernels (no executor). Small results only. */
#ifndef HR_GRAPH_CONST_EVAL_H
#define HR_GRAPH_CONST_EVAL_H
#include "graph/graph.h"
/* *out NULL: not known. Borrowed from the graph. */
HR_MUST_USE hr_status_t hr_const_eval(hr_graph_t* g, hr_value_t v, const hr_tensor_t** out);
/* Runs one stateless node on given inputs; outputs are the caller's to release. UNIMPLEMENTED when it has no kernel. Used by folding too.
 */
HR_MUST_USE hr_status_t hr_const_eval_node(const hr_node_t* node, const hr_tensor_t* const* inputs, hr_tensor_t* outputs);
/* An integer vector as a partial shape (Pack/Concat/StridedSlice/Shape of what is partly known). */
HR_MUST_USE hr_status_t hr_const_eval_as_shape(hr_graph_t* g, hr_value_t v, const hr_pshape_t** out);
#endif
