/* SPDX-License-Identifier: Apache-2.0 */
/* Edits that passes make on working copies. Each either happens whole or leaves the copy as it was. */
#include "graph/copy.h"
#include "graph/edges.h"

static int64_t edit_count_consumers(hr_value_t v, const hr_node_t* but) {
  int64_t count = 0;
  for (int64_t i = 0; i < v.node->consumers.count; ++i)
    count += v.node->consumers.data[i].output == v.index && v.node->consumers.data[i].node != but;
  return count;
}

hr_status_t hr_graph_replace_value(hr_graph_t* g, hr_value_t from, hr_value_t to) {
  if (hr_dtype_base(hr_value_type(from)) != hr_dtype_base(hr_value_type(to)))
    return HR_ERROR(INVALID_ARGUMENT, "'%s:%d' (%s) cannot stand for '%s:%d' (%s)", to.node->name.data, (int)to.index,
                    hr_dtype_name(hr_value_type(to)), from.node->name.data, (int)from.index, hr_dtype_name(hr_value_type(from)));
  HR_TRY(hr_edges_reserve(g, to.node, edit_count_consumers(from, to.node), 0));
  int64_t kept = 0, count = from.node->consumers.count;
  for (int64_t i = 0; i < count; ++i) {
    hr_node_t* consumer = from.node->consumers.data[i].node;
    int32_t input = from.node->consumers.data[i].input;
    bool moves = from.node->consumers.data[i].output == from.index && consumer != to.node;
    if (moves) consumer->inputs[input] = to;
    if (moves && to.node != from.node) {
      hr_status_release(hr_edges_add(g, to, consumer, input)); /* cannot fail: room was reserved */
      continue;
    }
    if (moves) from.node->consumers.data[i].output = to.index;
    from.node->consumers.data[kept++] = from.node->consumers.data[i];
  }
  from.node->consumers.count = kept;
  return NULL;
}

static void edit_drop_control(hr_node_t* node, int at) {
  --node->control_count;
  memmove(node->controls + at, node->controls + at + 1, (size_t)(node->control_count - at) * sizeof *node->controls);
}

static int edit_find_control(const hr_node_t* node, const hr_node_t* waits_for) {
  for (int i = 0; i < node->control_count; ++i)
    if (node->controls[i] == waits_for) return i;
  return -1;
}

hr_status_t hr_graph_replace_control(hr_graph_t* g, hr_node_t* from, hr_node_t* to) {
  if (from == to) return NULL;
  HR_TRY(hr_edges_reserve(g, to, 0, from->control_consumers.count));
  for (int64_t i = 0; i < from->control_consumers.count; ++i) {
    hr_node_t* waiter = from->control_consumers.data[i];
    int at = edit_find_control(waiter, from);
    if (waiter == to || edit_find_control(waiter, to) >= 0) {
      edit_drop_control(waiter, at);
      continue;
    }
    waiter->controls[at] = to;
    hr_status_release(hr_edges_add_control(g, to, waiter)); /* cannot fail: room was reserved */
  }
  from->control_consumers.count = 0;
  return NULL;
}

void hr_graph_remove_control(hr_graph_t* g, hr_node_t* node, hr_node_t* waits_for) {
  (void)g;
  int at = edit_find_control(node, waits_for);
  if (at < 0) return;
  hr_edges_remove_control(waits_for, node);
  edit_drop_control(node, at);
}

hr_status_t hr_graph_remove(hr_graph_t* g, hr_node_t* node) {
  if (node->consumers.count || node->control_consumers.count)
    return HR_ERROR(FAILED_PRECONDITION, "node '%s' has %lld consumers and cannot be removed", node->name.data,
                    (long long)(node->consumers.count + node->control_consumers.count));
  hr_edges_unlink(node);
  if (!g->names_pending || g->originals) hr_map_remove(&g->by_name, node->name);
  g->nodes.data[node->id] = NULL;
  return NULL;
}
