/* SPDX-License-Identifier: Apache-2.0 */
/* In which branches of conditionals a value stands, read off the graph: a Switch's outputs stand in its branches, everything stands where
 * all that it waits for does, and a Merge stands where all its inputs have in common. A loop's frame begins anew: what is taken for
 * granted of the loop as a whole holds for its Exits. */
#include "graph/grad_pass.h"
#include "op/node_class.h"

static bool same_value(hr_value_t a, hr_value_t b) { return a.node == b.node && a.index == b.index; }

bool hr_grad_guard_has(const hr_grad_guard_t* g, hr_value_t pred, int32_t branch) {
  for (; g; g = g->parent)
    if (g->branch == branch && same_value(g->pred, pred)) return true;
  return false;
}

/* The one guard of these three. */
static hr_status_t guard_below(hr_grad_pass_t* p, const hr_grad_guard_t* parent, hr_value_t pred, int32_t branch,
                               const hr_grad_guard_t** out) {
  const hr_grad_guard_t** first = parent ? (const hr_grad_guard_t**)(uintptr_t)&parent->children : &p->first_guard;
  for (const hr_grad_guard_t* g = *first; g; g = g->next)
    if (g->branch == branch && same_value(g->pred, pred)) return *out = g, NULL;
  enum { MOST_DEEP = 5000 }; /* branches within branches; their lists are walked by recursion */
  if (parent && parent->depth >= MOST_DEEP) return HR_ERROR(UNIMPLEMENTED, "gradients of conditionals more than %d deep", MOST_DEEP);
  hr_grad_guard_t* made = hr_arena_alloc(&p->arena, sizeof *made);
  if (!made) return hr_status_out_of_memory();
  *made = (hr_grad_guard_t){.parent = parent, .next = *first, .pred = pred, .branch = branch, .depth = parent ? parent->depth + 1 : 1};
  *first = *out = made;
  return NULL;
}

/* All that either takes for granted. */
static hr_status_t guards_joined(hr_grad_pass_t* p, const hr_grad_guard_t* a, const hr_grad_guard_t* b, const hr_grad_guard_t** out) {
  if (a == b || !b) return *out = a, NULL;
  if (!a) return *out = b, NULL;
  if (b->depth > a->depth) {
    const hr_grad_guard_t* swap = a;
    a = b;
    b = swap;
  }
  HR_TRY(guards_joined(p, a, b->parent, &a));
  if (hr_grad_guard_has(a, b->pred, b->branch)) return *out = a, NULL;
  return guard_below(p, a, b->pred, b->branch, out);
}

static hr_status_t guards_shared(hr_grad_pass_t* p, const hr_grad_guard_t* a, const hr_grad_guard_t* b, const hr_grad_guard_t** out) {
  if (a == b) return *out = a, NULL;
  if (!a || !b) return *out = NULL, NULL;
  const hr_grad_guard_t* above;
  HR_TRY(guards_shared(p, a->parent, b, &above));
  if (!hr_grad_guard_has(b, a->pred, a->branch)) return *out = above, NULL;
  return guard_below(p, above, a->pred, a->branch, out);
}

/* --- what a node waits for ---------------------------------------------------------------------------------------------------------- */
static const hr_grad_loop_t* loop_left(const hr_grad_pass_t* p, const hr_node_t* n) { /* by an Exit; NULL: it is none */
  if (!p->has_loops || !hr_grad_is_class(n, HR_NODE_EXIT)) return NULL;
  return &p->loops[p->frames.of_node[n->id]];
}

static int64_t wait_count(const hr_grad_pass_t* p, const hr_node_t* n) {
  const hr_grad_loop_t* l = loop_left(p, n);
  return l ? l->enters.count : n->input_count + n->control_count;
}

/* NULL: nobody, or round the loop. */
static hr_node_t* wait_at(const hr_grad_pass_t* p, const hr_node_t* n, int64_t i) {
  const hr_grad_loop_t* l = loop_left(p, n);
  if (l) return l->enters.data[i];
  hr_node_t* from = i < n->input_count ? n->inputs[i].node : n->controls[i - n->input_count];
  return from && (from->id >= p->info_count || hr_grad_is_class(from, HR_NODE_NEXT_ITERATION)) ? NULL : from;
}

static hr_value_t plain_pred(hr_value_t v) {
  while (v.node->attrs.def->node_class == HR_NODE_IDENTITY) v = v.node->inputs[0];
  return v;
}

/* Of an output, the node's own being known. */
static hr_status_t guard_of_output(hr_grad_pass_t* p, hr_value_t v, const hr_grad_guard_t** out) {
  *out = p->info[v.node->id].guard;
  if (hr_grad_is_class(v.node, HR_NODE_ENTER)) return *out = NULL, NULL;
  if (!hr_grad_is_class(v.node, HR_NODE_SWITCH) || hr_grad_is_loop_switch(v.node)) return NULL;
  return guard_below(p, *out, plain_pred(v.node->inputs[1]), v.index, out);
}

static hr_status_t guard_of_node(hr_grad_pass_t* p, hr_node_t* n) { /* those it waits for being known */
  const hr_grad_guard_t *all = NULL, *one;
  bool is_merge = hr_grad_is_class(n, HR_NODE_MERGE), is_first = true;
  int64_t count = wait_count(p, n);
  for (int64_t i = 0; i < count; ++i) {
    hr_node_t* from = wait_at(p, n, i);
    if (!from) continue;
    bool is_data = !loop_left(p, n) && i < n->input_count;
    if (is_data)
      HR_TRY(guard_of_output(p, n->inputs[i], &one));
    else
      one = loop_left(p, n) || !hr_grad_is_class(from, HR_NODE_ENTER) ? p->info[from->id].guard : NULL;
    if (is_merge && is_data && !is_first)
      HR_TRY(guards_shared(p, all, one, &all));
    else
      HR_TRY(guards_joined(p, all, one, &all));
    is_first = false;
  }
  p->info[n->id].guard = all;
  p->info[n->id].has_guard = true;
  return NULL;
}

/* --- the search --------------------------------------------------------------------------------------------------------------------- */
typedef struct {
  hr_node_t* node;
  int64_t next;
} guard_place_t;
typedef HR_VEC(guard_place_t) guard_stack_t;

static hr_status_t guard_search(hr_grad_pass_t* p, guard_stack_t* stack, hr_node_t* n) {
  HR_TRY(hr_vec_push(stack, ((guard_place_t){n, 0})));
  while (stack->count > 0) {
    guard_place_t* top = &stack->data[stack->count - 1];
    if (top->next < wait_count(p, top->node)) {
      hr_node_t* from = wait_at(p, top->node, top->next++);
      if (!from || p->info[from->id].has_guard || p->info[from->id].mark == p->marks) continue;
      p->info[from->id].mark = p->marks;
      HR_TRY(hr_vec_push(stack, ((guard_place_t){from, 0})));
      continue;
    }
    HR_TRY(guard_of_node(p, top->node));
    --stack->count;
  }
  return NULL;
}

/* Of a node that this walk emitted: a counter's Exit stands where its loop does, others (a stack, a shape) where their inputs do. */
static hr_status_t guard_of_emitted(hr_grad_pass_t* p, const hr_node_t* n, const hr_grad_guard_t** out) {
  const hr_grad_guard_t* one;
  if (hr_grad_is_class(n, HR_NODE_ENTER) || hr_grad_is_class(n, HR_NODE_NEXT_ITERATION)) return NULL;
  if (hr_grad_is_class(n, HR_NODE_EXIT)) {
    const hr_grad_loop_t* l = &p->loops[hr_grad_place_home(p, n->inputs[0])->frame];
    for (int64_t i = 0; i < l->enters.count; ++i) {
      HR_TRY(hr_grad_guard_find(p, l->enters.data[i]->inputs[0], &one));
      HR_TRY(guards_joined(p, *out, one, out));
    }
    return NULL;
  }
  for (int i = 0; i < n->input_count; ++i) {
    HR_TRY(hr_grad_guard_find(p, n->inputs[i], &one));
    HR_TRY(guards_joined(p, *out, one, out));
  }
  return NULL;
}

hr_status_t hr_grad_guard_find(hr_grad_pass_t* p, hr_value_t v, const hr_grad_guard_t** out) {
  *out = NULL;
  if (v.node->id >= p->info_count) return guard_of_emitted(p, v.node, out);
  if (!p->info[v.node->id].has_guard) {
    guard_stack_t stack = {0};
    ++p->marks;
    hr_status_t status = guard_search(p, &stack, v.node);
    hr_vec_deinit(&stack);
    if (status) return status;
  }
  return guard_of_output(p, v, out);
}
