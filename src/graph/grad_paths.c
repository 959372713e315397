/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a backward walk visits: what the ys depend on, in topological order, and of these the ones that depend on an x. Gradients
 * pass neither stops nor values of types that have none (integers, strings). Back edges of loops are not followed; the walk refuses the
 * loop's nodes later. */
#include "graph/grad_pass.h"

bool hr_grad_paths_is_trainable(int32_t type) {
  return hr_dtype_in(hr_dtype_base(type), HR_M_REAL_FLOAT | HR_M_COMPLEX | HR_M(RESOURCE) | HR_M(VARIANT));
}

static bool value_is_in(hr_value_t v, const hr_value_t* values, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (values[i].node == v.node && values[i].index == v.index) return true;
  return false;
}

bool hr_grad_paths_is_stop(const hr_grad_pass_t* p, hr_value_t v) {
  return p->info[v.node->id].has_stop && value_is_in(v, p->request->stops, p->request->stop_count);
}

bool hr_grad_paths_lead_to_x(const hr_grad_pass_t* p, hr_value_t v) {
  const hr_grad_info_t* info = &p->info[v.node->id];
  if (!hr_grad_paths_is_trainable(hr_value_type(v))) return false;
  if (info->has_x && value_is_in(v, p->request->xs, p->request->x_count)) return true;
  return info->is_wanted && !hr_grad_paths_is_stop(p, v);
}

/* --- the request's values ---------------------------------------------------------------------------------------------------------- */
static hr_status_t check_endpoint(const hr_grad_pass_t* p, hr_value_t v, const char* what, int32_t i) {
  if (!v.node) return HR_ERROR(INVALID_ARGUMENT, "%s %d is missing", what, (int)i);
  if (v.node->graph != p->g)
    return HR_ERROR(INVALID_ARGUMENT, "%s %d comes from node '%s' of another graph", what, (int)i, v.node->name.data);
  if (v.index >= 0 && v.index < v.node->output_count) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%s %d is output %d of node '%s', which has %d outputs", what, (int)i, (int)v.index, v.node->name.data,
                  (int)v.node->output_count);
}

static hr_status_t check_request(hr_grad_pass_t* p) {
  const hr_grad_request_t* r = p->request;
  for (int32_t i = 0; i < r->y_count; ++i) HR_TRY(check_endpoint(p, r->ys[i], "y", i));
  for (int32_t i = 0; i < r->x_count; ++i) {
    HR_TRY(check_endpoint(p, r->xs[i], "x", i));
    p->info[r->xs[i].node->id].has_x = true;
  }
  for (int32_t i = 0; i < r->stop_count; ++i) {
    HR_TRY(check_endpoint(p, r->stops[i], "stop gradient", i));
    p->info[r->stops[i].node->id].has_stop = true;
  }
  return NULL;
}

/* --- the search: depth first with a stack of its own, since graphs are deeper than the thread's ------------------------------------ */
typedef struct {
  hr_node_t* node;
  int32_t next_input;
} search_place_t;
typedef HR_VEC(search_place_t) search_stack_t;

static hr_status_t search_open(hr_grad_pass_t* p, search_stack_t* stack, hr_node_t* node) {
  hr_grad_info_t* info = &p->info[node->id];
  if (info->is_open || info->is_done) return NULL;
  info->is_open = true;
  return hr_vec_push(stack, ((search_place_t){node, 0}));
}

/* Whether an x lies upstream of the node: its producers are done. */
static bool node_is_wanted(const hr_grad_pass_t* p, const hr_node_t* node) {
  for (int32_t i = 0; i < node->input_count; ++i)
    if (node->inputs[i].node && hr_grad_paths_lead_to_x(p, node->inputs[i])) return true;
  return false;
}

static hr_status_t search_close(hr_grad_pass_t* p, hr_node_t* node) {
  hr_grad_info_t* info = &p->info[node->id];
  info->is_open = false;
  info->is_done = true;
  info->is_wanted = node_is_wanted(p, node);
  return hr_vec_push(&p->order, node);
}

static hr_status_t search_from(hr_grad_pass_t* p, search_stack_t* stack, hr_node_t* y) {
  HR_TRY(search_open(p, stack, y));
  while (stack->count > 0) {
    search_place_t* top = &stack->data[stack->count - 1];
    if (top->next_input == top->node->input_count) {
      HR_TRY(search_close(p, top->node));
      --stack->count;
      continue;
    }
    hr_node_t* producer = top->node->inputs[top->next_input++].node;
    if (producer) HR_TRY(search_open(p, stack, producer));
  }
  return NULL;
}

hr_status_t hr_grad_paths_find(hr_grad_pass_t* p) {
  search_stack_t stack = {0};
  hr_status_t status = check_request(p);
  for (int32_t i = 0; !status && i < p->request->y_count; ++i) status = search_from(p, &stack, p->request->ys[i].node);
  hr_vec_deinit(&stack);
  return status;
}
