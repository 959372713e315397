/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of conditionals. What flows into a Merge goes to the branch that was taken, by a Switch on the same predicate; what flows into
 * the branches of a Switch meets in a Merge, where a branch through which nothing flows gives zeros, alive when that branch was taken. */
#include "graph/grad_pass.h"
#include "op/node_class.h"

static void fail_with(hr_grad_call_t* c, hr_status_t take_status) {
  if (take_status) hr_grad_fail(&c->base, take_status);
}

/* --- Switch ------------------------------------------------------------------------------------------------------------------------- */
/* Zeros like the data, alive where output `side` is. */
static hr_value_t zeros_beside(hr_grad_call_t* c, hr_node_t* node, int side) {
  hr_grad_ctx_t* g = &c->base;
  hr_value_t beside = {node, side};
  bool is_near = !c->pass->has_loops || hr_grad_place_home(c->pass, beside) == c->pass->here;
  if (is_near && hr_dtype_base(hr_value_type(beside)) != HR_RESOURCE) return hr_emit_zeros_like(g, beside);
  hr_value_t zeros = hr_grad_place_zeros(c, node->inputs[0]);
  return hr_emit_nth(hr_emit2(g, "Switch", zeros, node->inputs[1]), side);
}

void hr_grad_cond_switch(hr_grad_call_t* c, hr_node_t* node) {
  hr_value_t sides[2];
  if (!hr_grad_wanted(&c->base, 0)) return;
  for (int i = 0; i < 2; ++i) sides[i] = hr_grad_has_upstream(&c->base, i) ? hr_grad_upstream(&c->base, i) : zeros_beside(c, node, i);
  hr_value_t merged = hr_emit(&c->base, "Merge", 2, sides, HR_NO_ATTRS);
  if (merged.node) hr_grad_give(&c->base, 0, merged);
}

/* --- Merge -------------------------------------------------------------------------------------------------------------------------- */
/* A predicate that the two inputs differ in; *side: the branch in which input 0 stands. pred->node NULL: none. */
static hr_status_t find_deciding(hr_grad_pass_t* p, const hr_node_t* node, hr_value_t* pred, int* side) {
  const hr_grad_guard_t *first, *second;
  *pred = HR_NO_VALUE;
  if (node->input_count != 2) return NULL;
  HR_TRY(hr_grad_guard_find(p, node->inputs[0], &first));
  HR_TRY(hr_grad_guard_find(p, node->inputs[1], &second));
  for (; first; first = first->parent) {
    if (!hr_grad_guard_has(second, first->pred, 1 - first->branch)) continue;
    *pred = first->pred;
    *side = first->branch;
  }
  return NULL;
}

/* By the index that the Merge itself gives. */
static void give_by_index(hr_grad_call_t* c, hr_node_t* node, hr_value_t upstream) {
  hr_grad_ctx_t* g = &c->base;
  for (int i = 0; i < node->input_count; ++i) {
    if (!hr_grad_wanted(g, i)) continue;
    hr_value_t is_it = hr_emit2(g, "Equal", (hr_value_t){node, 1}, hr_emit_const_i32(g, i));
    hr_value_t sides = hr_emit2(g, "Switch", upstream, is_it);
    if (sides.node) hr_grad_give(g, i, hr_emit_nth(sides, 1));
  }
}

void hr_grad_cond_merge(hr_grad_call_t* c, hr_node_t* node) {
  hr_grad_ctx_t* g = &c->base;
  hr_value_t pred, upstream = hr_grad_upstream(g, 0);
  int side = 0;
  if (g->failure) return;
  fail_with(c, find_deciding(c->pass, node, &pred, &side));
  if (g->failure) return;
  if (!pred.node) {
    give_by_index(c, node, upstream);
    return;
  }
  hr_value_t sides = hr_emit2(g, "Switch", upstream, pred);
  for (int i = 0; i < 2 && sides.node; ++i)
    if (hr_grad_wanted(g, i)) hr_grad_give(g, i, hr_emit_nth(sides, i == 0 ? side : 1 - side));
}
