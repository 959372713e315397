/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of nodes that call functions. */
#ifndef HR_GRAPH_GRAD_CALL_H
#define HR_GRAPH_GRAD_CALL_H
#include "graph/grad_pass.h"

bool hr_grad_call_is_call(const hr_node_t* node);
/* Emits the gradient of a call: what GradientDef names, or the body's own. Consumes nothing; failures are also those of the body's ops. */
HR_MUST_USE hr_status_t hr_grad_call(hr_grad_pass_t* p, hr_grad_call_t* c, hr_node_t* node);
#endif
