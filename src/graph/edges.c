/* SPDX-License-Identifier: Apache-2.0 */
/* Consumer lists. The newest edge is last, so undoing an add finds it at once. */
#include "graph/edges.h"

static bool edge_list_grow(hr_graph_t* g, void** data, int32_t count, int32_t* capacity, int64_t extra, size_t size) {
  int64_t wanted = *capacity ? (int64_t)*capacity * 2 : 2;
  if (wanted < count + extra) wanted = count + extra;
  if (wanted > INT32_MAX) return false;
  void* bigger = hr_arena_alloc(&g->arena, (size_t)wanted * size);
  if (!bigger) return false;
  if (count) memcpy(bigger, *data, (size_t)count * size);
  *data = bigger;
  *capacity = (int32_t)wanted;
  return true;
}

#define EDGE_LIST_HAS_ROOM_FOR(g, v, extra) \
  ((v)->capacity - (v)->count >= (extra) || edge_list_grow(g, (void**)&(v)->data, (v)->count, &(v)->capacity, extra, sizeof *(v)->data))
#define EDGE_LIST_HAS_ROOM(g, v) EDGE_LIST_HAS_ROOM_FOR(g, v, 1)

hr_status_t hr_edges_reserve(hr_graph_t* g, hr_node_t* from, int64_t extra, int64_t extra_controls) {
  bool room = EDGE_LIST_HAS_ROOM_FOR(g, &from->consumers, extra) && EDGE_LIST_HAS_ROOM_FOR(g, &from->control_consumers, extra_controls);
  return room ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_edges_add(hr_graph_t* g, hr_value_t from, hr_node_t* consumer, int input) {
  hr_node_t* n = from.node;
  if (!EDGE_LIST_HAS_ROOM(g, &n->consumers)) return hr_status_out_of_memory();
  const int32_t at = n->consumers.count++;
  n->consumers.data[at].node = consumer;
  n->consumers.data[at].input = input;
  n->consumers.data[at].output = from.index;
  return NULL;
}

hr_status_t hr_edges_add_control(hr_graph_t* g, hr_node_t* from, hr_node_t* consumer) {
  if (!EDGE_LIST_HAS_ROOM(g, &from->control_consumers)) return hr_status_out_of_memory();
  from->control_consumers.data[from->control_consumers.count++] = consumer;
  return NULL;
}

void hr_edges_move(hr_value_t to, const hr_node_t* consumer, int input) {
  for (int64_t i = to.node->consumers.count; i-- > 0;)
    if (to.node->consumers.data[i].node == consumer && to.node->consumers.data[i].input == input)
      to.node->consumers.data[i].output = to.index;
}

void hr_edges_remove(hr_value_t from, const hr_node_t* consumer, int input) {
  hr_node_t* n = from.node;
  for (int64_t i = n->consumers.count; i-- > 0;) {
    if (n->consumers.data[i].node != consumer || n->consumers.data[i].input != input) continue;
    int64_t after = --n->consumers.count - i;
    memmove(&n->consumers.data[i], &n->consumers.data[i + 1], (size_t)after * sizeof *n->consumers.data);
    return;
  }
}

void hr_edges_remove_control(hr_node_t* from, const hr_node_t* consumer) {
  for (int64_t i = from->control_consumers.count; i-- > 0;) {
    if (from->control_consumers.data[i] != consumer) continue;
    int64_t after = --from->control_consumers.count - i;
    memmove(&from->control_consumers.data[i], &from->control_consumers.data[i + 1], (size_t)after * sizeof(hr_node_t*));
    return;
  }
}

static void edge_unlink_first(hr_node_t* node, int inputs, int controls) {
  for (int i = controls; i-- > 0;) hr_edges_remove_control(node->controls[i], node);
  for (int i = inputs; i-- > 0;)
    if (node->inputs[i].node) hr_edges_remove(node->inputs[i], node, i);
}

hr_status_t hr_edges_link(hr_graph_t* g, hr_node_t* node) {
  hr_status_t status = NULL;
  for (int i = 0; i < node->input_count; ++i) {
    if (!node->inputs[i].node || !(status = hr_edges_add(g, node->inputs[i], node, i))) continue;
    edge_unlink_first(node, i, 0);
    return status;
  }
  for (int i = 0; i < node->control_count; ++i) {
    if (!(status = hr_edges_add_control(g, node->controls[i], node))) continue;
    edge_unlink_first(node, node->input_count, i);
    return status;
  }
  return NULL;
}

void hr_edges_unlink(hr_node_t* node) { edge_unlink_first(node, node->input_count, node->control_count); }
