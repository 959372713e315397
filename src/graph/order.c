/* SPDX-License-Identifier: Apache-2.0 */
/* Kahn's algorithm with a queue: linear, and stable in the sense that what becomes ready first comes first. */
#include "graph/order.h"

#include "op/node_class.h"

bool hr_order_is_back_edge(const hr_node_t* producer, const hr_node_t* consumer) {
  return hr_node_class_is_next_iteration(producer->attrs.def->node_class) && hr_node_class_is_merge(consumer->attrs.def->node_class);
}

typedef struct {
  int32_t* pending; /* by id: in-edges from the subset not yet ordered; -1: not in the subset */
  hr_node_t** queue;
  int64_t head, tail;
} order_t;

static void order_count(order_t* o, const hr_node_t* n) {
  int32_t pending = 0;
  for (int i = 0; i < n->input_count; ++i) {
    const hr_node_t* from = n->inputs[i].node;
    pending += from && o->pending[from->id] >= 0 && !hr_order_is_back_edge(from, n);
  }
  for (int i = 0; i < n->control_count; ++i) pending += o->pending[n->controls[i]->id] >= 0;
  o->pending[n->id] = pending;
}

static void order_done_one(order_t* o, hr_node_t* consumer) {
  if (o->pending[consumer->id] > 0 && --o->pending[consumer->id] == 0) o->queue[o->tail++] = consumer;
}

static void order_release(order_t* o, const hr_node_t* n) {
  for (int64_t i = 0; i < n->consumers.count; ++i)
    if (!hr_order_is_back_edge(n, n->consumers.data[i].node)) order_done_one(o, n->consumers.data[i].node);
  for (int64_t i = 0; i < n->control_consumers.count; ++i) order_done_one(o, n->control_consumers.data[i]);
}

/* What a node that was not ordered waits for. */
static hr_node_t* order_blocker(const order_t* o, const hr_node_t* n) {
  for (int i = 0; i < n->input_count; ++i) {
    hr_node_t* from = n->inputs[i].node;
    if (from && o->pending[from->id] > 0 && !hr_order_is_back_edge(from, n)) return from;
  }
  for (int i = 0; i < n->control_count; ++i)
    if (o->pending[n->controls[i]->id] > 0) return n->controls[i];
  return NULL;
}

static hr_status_t order_cycle(const order_t* o, hr_node_t* const* nodes, int64_t count) {
  while (o->pending[(*nodes)->id] == 0) ++nodes;
  hr_node_t* on = *nodes;
  for (int64_t step = 0; step < count; ++step) { /* after so many steps we are on a cycle, not behind one */
    hr_node_t* before = order_blocker(o, on);
    if (!before) break;
    on = before;
  }
  return HR_ERROR(INVALID_ARGUMENT, "the graph has a cycle through node '%s' (%.*s) that no NextIteration closes", on->name.data,
                  HR_STR_ARG(on->attrs.def->name));
}

hr_status_t hr_order_nodes(const hr_graph_t* g, hr_node_t** nodes, int64_t count) {
  hr_status_t status = NULL;
  if (count == 0) return NULL;
  order_t o = {.pending = hr_alloc_array((size_t)g->nodes.count + 1, sizeof(int32_t)),
               .queue = hr_alloc_array((size_t)count + 1, sizeof(hr_node_t*))};
  if (!o.pending || !o.queue) {
    status = hr_status_out_of_memory();
    goto done;
  }
  memset(o.pending, 0xff, (size_t)g->nodes.count * sizeof(int32_t));
  for (int64_t i = 0; i < count; ++i) o.pending[nodes[i]->id] = 0;
  for (int64_t i = 0; i < count; ++i) order_count(&o, nodes[i]);
  for (int64_t i = 0; i < count; ++i)
    if (o.pending[nodes[i]->id] == 0) o.queue[o.tail++] = nodes[i];
  while (o.head < o.tail) order_release(&o, o.queue[o.head++]);
  if (o.tail < count) {
    status = order_cycle(&o, nodes, count);
    goto done;
  }
  memcpy(nodes, o.queue, (size_t)count * sizeof *nodes);
done:
  hr_free(o.pending);
  hr_free(o.queue);
  return status;
}
