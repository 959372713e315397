/* SPDX-License-Identifier: Apache-2.0 */
/* Common subexpressions: of nodes that compute the same from the same, the first stays. The same means: op, attrs, inputs and the nodes
 * waited for are equal, so what a control edge tells apart stays apart. Inputs of commutative ops are compared in either order. Large
 * constants are only equal when they are one tensor; comparing their bytes would cost more than it saves. */
#include "base/alloc.h"
#include "op/node_class.h"
#include "session/passes.h"

enum { CSE_LARGE_BYTES = 1024 };

typedef struct {
  hr_node_t** nodes; /* NULL: free */
  uint64_t mask;
} cse_table_t;

static uint64_t hash_value(hr_value_t v) { return hr_hash_mix((uint64_t)(uintptr_t)v.node, (uint64_t)(uint32_t)v.index); }

static bool inputs_commute(const hr_node_t* n) { return n->input_count == 2 && (n->attrs.def->op->flags & HR_OP_COMMUTATIVE); }

static const hr_tensor_t* large_constant(const hr_node_t* n) {
  if (n->attrs.def->node_class != HR_NODE_CONST) return NULL;
  const hr_tensor_t* t = hr_attrs_tensor(&n->attrs, "value");
  return t && hr_tensor_bytes(t) > CSE_LARGE_BYTES ? t : NULL;
}

static uint64_t hash_node(const hr_node_t* n) {
  uint64_t h = hr_hash_mix((uint64_t)(uintptr_t)n->attrs.def, (uint64_t)n->input_count);
  if (inputs_commute(n)) h = hr_hash_mix(h, hash_value(n->inputs[0]) + hash_value(n->inputs[1]));
  else for (int32_t i = 0; i < n->input_count; ++i) h = hr_hash_mix(h, hash_value(n->inputs[i]));
  for (int32_t i = 0; i < n->control_count; ++i) h = hr_hash_mix(h, (uint64_t)(uintptr_t)n->controls[i]);
  const hr_tensor_t* large = large_constant(n);
  if (large) return hr_hash_mix(h, (uint64_t)(uintptr_t)large->data);
  for (int32_t i = 0; i < n->attrs.def->attr_count; ++i) h = hr_hash_mix(h, hr_attr_hash(&n->attrs.values[i]));
  return h;
}

static bool value_is(hr_value_t a, hr_value_t b) { return a.node == b.node && a.index == b.index; }

static bool same_inputs(const hr_node_t* a, const hr_node_t* b) {
  if (a->input_count != b->input_count || a->control_count != b->control_count) return false;
  for (int32_t i = 0; i < a->control_count; ++i)
    if (a->controls[i] != b->controls[i]) return false;
  if (inputs_commute(a) && value_is(a->inputs[0], b->inputs[1]) && value_is(a->inputs[1], b->inputs[0])) return true;
  for (int32_t i = 0; i < a->input_count; ++i)
    if (!value_is(a->inputs[i], b->inputs[i])) return false;
  return true;
}

static bool same_node(const hr_node_t* a, const hr_node_t* b) {
  if (a->attrs.def != b->attrs.def || !same_inputs(a, b) || !hr_str_equal(a->device, b->device)) return false;
  const hr_tensor_t *large_a = large_constant(a), *large_b = large_constant(b);
  if (large_a || large_b)
    return large_a && large_b && large_a->data == large_b->data && large_a->count == large_b->count && large_a->dtype == large_b->dtype &&
           hr_shape_equal(&large_a->shape, &large_b->shape);
  for (int32_t i = 0; i < a->attrs.def->attr_count; ++i)
    if (!hr_attr_equal(&a->attrs.values[i], &b->attrs.values[i])) return false;
  return true;
}

/* The node that was there before, or `n`, now in the table. */
static hr_node_t* find_or_enter(cse_table_t* t, hr_node_t* n) {
  uint64_t i = hash_node(n) & t->mask;
  for (; t->nodes[i]; i = (i + 1) & t->mask)
    if (same_node(t->nodes[i], n)) return t->nodes[i];
  return t->nodes[i] = n;
}

static hr_status_t merge_node(hr_program_t* p, hr_node_t* n, hr_node_t* first) {
  for (int32_t i = 0; i < n->output_count; ++i) HR_TRY(hr_program_replace(p, (hr_value_t){n, i}, (hr_value_t){first, i}));
  return hr_program_replace_control(p, n, first);
}

hr_status_t hr_pass_cse(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  int64_t count = p->graph->nodes.count;
  size_t size = 16;
  while (size < 2 * (size_t)count) size *= 2;
  cse_table_t t = {hr_alloc_array(size, sizeof *t.nodes), size - 1};
  if (!t.nodes) return hr_status_out_of_memory();
  hr_status_t status = NULL;
  for (int64_t i = 0; i < count && !status; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    if (n->output_count == 0 || hr_program_is_fixed(n)) continue;
    hr_node_t* first = find_or_enter(&t, n);
    if (first != n) status = merge_node(p, n, first);
  }
  hr_free(t.nodes);
  return status;
}
