/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a backward walk visits: what the ys depend on, in topological order, and of these the ones that depend on an x. Gradients
 * pass neither stops nor values of types that have none (integers, strings).
 *
 * A loop counts as one: who reads one of its Exits comes after all that enters it. Its own nodes are in order too, from what its variables
 * are in an iteration to what they are in the next; the way round is not followed, so what leads to an x is found in several sweeps. */
#include "graph/grad_pass.h"
#include "op/node_class.h"

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
  int64_t next_input;
} search_place_t;
typedef HR_VEC(search_place_t) search_stack_t;

static hr_status_t search_open(hr_grad_pass_t* p, search_stack_t* stack, hr_node_t* node) {
  hr_grad_info_t* info = &p->info[node->id];
  if (info->is_open || info->is_done) return NULL;
  info->is_open = true;
  return hr_vec_push(stack, ((search_place_t){node, 0}));
}

/* --- values that come by way of a stack --------------------------------------------------------------------------------------------- */
static bool is_stack_op(const hr_node_t* n, const char* stem) { /* "StackPop" or "StackPopV2" */
  hr_str_t name = n->attrs.def->name;
  size_t size = strlen(stem);
  return (name.size == size || name.size == size + 2) && memcmp(name.data, stem, size) == 0;
}

static bool hands_on(const hr_node_t* n) { /* a handle */
  return hr_grad_is_class(n, HR_NODE_ENTER) || hr_grad_is_class(n, HR_NODE_SWITCH) || n->attrs.def->node_class == HR_NODE_IDENTITY;
}

static hr_value_t pushed_on(const hr_node_t* handle, int depth) { /* what somebody pushes; node NULL: nobody does */
  for (int64_t i = 0; depth < 32 && i < handle->consumers.count; ++i) {
    const hr_node_t* n = handle->consumers.data[i].node;
    hr_value_t found = {NULL, 0};
    if (handle->consumers.data[i].input != 0) continue;
    if (is_stack_op(n, "StackPush")) return n->inputs[1];
    if (hands_on(n)) found = pushed_on(n, depth + 1);
    if (found.node) return found;
  }
  return HR_NO_VALUE;
}

/* The value that a pop gives as it was pushed; node NULL: the node is no pop. A gradient of it is refused, not forgotten. */
static hr_value_t popped_value(const hr_node_t* n) {
  if (!is_stack_op(n, "StackPop")) return HR_NO_VALUE;
  const hr_node_t* handle = n->inputs[0].node;
  while (handle && hands_on(handle)) handle = handle->inputs[0].node;
  return handle ? pushed_on(handle, 0) : HR_NO_VALUE;
}

bool hr_grad_paths_is_pop(const hr_node_t* n) { return popped_value(n).node != NULL; }

/* Whether an x lies upstream of the node: its producers are done. */
static bool node_is_wanted(const hr_grad_pass_t* p, const hr_node_t* node) {
  hr_value_t popped = popped_value(node);
  if (popped.node && popped.node->id < p->info_count && hr_grad_paths_lead_to_x(p, popped)) return true;
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

static const hr_grad_loop_t* search_loop(const hr_grad_pass_t* p, const hr_node_t* n) { /* that an Exit leaves, once loops are known */
  return p->loops && hr_grad_is_class(n, HR_NODE_EXIT) ? &p->loops[p->frames.of_node[n->id]] : NULL;
}

/* Producer number i, NULL beyond the last (a loop's Exit: first all that enters it). */
static bool search_producer(const hr_grad_pass_t* p, const hr_node_t* n, int64_t i, hr_node_t** out) {
  if (p->request->ends_at_xs && p->info[n->id].has_x) return false;
  const hr_grad_loop_t* l = search_loop(p, n);
  if (l && i < l->enters.count) return *out = l->enters.data[i], true;
  if (l) i -= l->enters.count;
  if (i < n->input_count) return *out = n->inputs[i].node, true;
  *out = popped_value(n).node;
  return i == n->input_count && *out != NULL;
}

/* Depth first from one node. What goes on to the next iteration waits in `later`. */
static hr_status_t search_from(hr_grad_pass_t* p, search_stack_t* stack, search_stack_t* later, hr_node_t* y) {
  HR_TRY(search_open(p, stack, y));
  while (stack->count > 0) {
    search_place_t* top = &stack->data[stack->count - 1];
    hr_node_t* producer;
    if (!search_producer(p, top->node, top->next_input, &producer)) {
      HR_TRY(search_close(p, top->node));
      --stack->count;
      continue;
    }
    ++top->next_input;
    if (!producer) continue;
    if (hr_grad_is_class(producer, HR_NODE_NEXT_ITERATION))
      HR_TRY(hr_vec_push(later, ((search_place_t){producer, 0})));
    else
      HR_TRY(search_open(p, stack, producer));
  }
  return NULL;
}

static hr_status_t search_all(hr_grad_pass_t* p) {
  search_stack_t stack = {0}, later = {0};
  hr_status_t status = NULL;
  for (int32_t i = 0; !status && i < p->request->y_count; ++i) status = search_from(p, &stack, &later, p->request->ys[i].node);
  while (!status && later.count > 0) status = search_from(p, &stack, &later, later.data[--later.count].node);
  hr_vec_deinit(&stack);
  hr_vec_deinit(&later);
  return status;
}

/* --- loops ------------------------------------------------------------------------------------------------------------------------- */
static bool order_has_loops(const hr_grad_pass_t* p) {
  for (int64_t i = 0; i < p->order.count; ++i)
    if (hr_grad_is_class(p->order.data[i], HR_NODE_ENTER)) return true;
  return false;
}

/* All nodes but those that a working copy has removed. */
static hr_status_t find_frames(hr_grad_pass_t* p) {
  int64_t count = 0;
  hr_node_t** nodes = hr_arena_array(&p->arena, (size_t)p->info_count, sizeof *nodes);
  if (!nodes) return hr_status_out_of_memory();
  for (int64_t i = 0; i < p->info_count; ++i)
    if (p->g->nodes.data[i]) nodes[count++] = p->g->nodes.data[i];
  return hr_frames_find(nodes, count, p->info_count, &p->frames);
}

static hr_status_t find_loops(hr_grad_pass_t* p) {
  HR_TRY(find_frames(p));
  p->loops = hr_arena_array(&p->arena, (size_t)p->frames.frames.count, sizeof *p->loops);
  if (!p->loops) return hr_status_out_of_memory();
  for (int64_t i = 0; i < p->info_count; ++i) {
    hr_node_t* n = p->g->nodes.data[i];
    if (n && hr_grad_is_class(n, HR_NODE_ENTER)) HR_TRY(hr_vec_push(&p->loops[hr_frames_of_output(&p->frames, n)].enters, n));
  }
  p->has_loops = true;
  return NULL;
}

static void search_again(hr_grad_pass_t* p) {
  for (int64_t i = 0; i < p->order.count; ++i) {
    hr_grad_info_t* info = &p->info[p->order.data[i]->id];
    info->is_open = info->is_done = info->is_wanted = false;
  }
  p->order.count = 0;
}

/* Round each loop, until nothing more leads to an x. */
static void sweep_wanted(hr_grad_pass_t* p) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (int64_t i = 0; i < p->order.count; ++i) {
      hr_grad_info_t* info = &p->info[p->order.data[i]->id];
      if (info->is_wanted || !node_is_wanted(p, p->order.data[i])) continue;
      info->is_wanted = changed = true;
    }
  }
}

/* Each node to the frame whose walk meets it: an Exit, which stands for its loop, to the frame around. */
static hr_status_t sort_items(hr_grad_pass_t* p) {
  for (int64_t i = 0; i < p->order.count; ++i) {
    hr_node_t* n = p->order.data[i];
    int32_t frame = p->frames.of_node[n->id];
    if (search_loop(p, n)) {
      if (p->loops[frame].exit) continue;
      p->loops[frame].exit = n;
      frame = hr_frames_of_output(&p->frames, n);
    }
    HR_TRY(hr_vec_push(&p->loops[frame].items, n));
  }
  return NULL;
}

hr_status_t hr_grad_paths_find(hr_grad_pass_t* p) {
  HR_TRY(check_request(p));
  HR_TRY(search_all(p));
  if (!order_has_loops(p)) return NULL;
  HR_TRY(find_loops(p));
  search_again(p);
  HR_TRY(search_all(p));
  sweep_wanted(p);
  HR_TRY(sort_items(p));
  return hr_grad_place_start(p);
}
