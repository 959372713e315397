/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a plan's nodes: the given one wherever edges allow, except that nodes which may wait for another step come as late as
 * they can, those that give (enqueues) before those that take (dequeues): a step should have done what it can before it sleeps.
 *
 * Edges from a NextIteration back to its Merge do not count.
 *
 * The given order is the order in which the nodes were made. For a training graph that puts updates of variables after every use of
 * their old values, so that the updates work in place. */
#include "exec/plan_state.h"
#include "graph/order.h"

typedef struct {
  hr_node_t** nodes;
  int64_t count;
  const int32_t* place;    /* by node id: index in nodes; -1 */
  int32_t* waits;          /* by index: producers that have not been ordered */
  int32_t* out_begin;      /* by index: first of its consumers in outs; count + 1 entries */
  int32_t* outs;
  uint64_t* heap;          /* rank << 32 | index; least first */
  int64_t heap_count;
} order_t;

static uint64_t node_rank(const hr_node_t* n) {
  if (!(n->attrs.def->op->flags & HR_OP_BLOCKING)) return 0;
  return n->output_count == 0 ? 1 : 2;
}

typedef void (*edge_fn_t)(order_t* o, int32_t from, int32_t to);

static void each_in_edge(order_t* o, int32_t index, edge_fn_t fn) {
  const hr_node_t* n = o->nodes[index];
  for (int32_t i = 0; i < n->input_count; ++i) {
    const hr_node_t* from = n->inputs[i].node;
    if (from && o->place[from->id] >= 0 && !hr_order_is_back_edge(from, n)) fn(o, o->place[from->id], index);
  }
  for (int32_t i = 0; i < n->control_count; ++i) {
    if (o->place[n->controls[i]->id] >= 0) fn(o, o->place[n->controls[i]->id], index);
  }
}

static void count_edge(order_t* o, int32_t from, int32_t to) {
  o->out_begin[from + 1]++;
  o->waits[to]++;
}

static void store_edge(order_t* o, int32_t from, int32_t to) { o->outs[o->out_begin[from]++] = to; }

static void heap_push(order_t* o, uint64_t key) {
  int64_t i = o->heap_count++;
  for (; i > 0 && o->heap[(i - 1) / 2] > key; i = (i - 1) / 2) o->heap[i] = o->heap[(i - 1) / 2];
  o->heap[i] = key;
}

static uint64_t heap_pop(order_t* o) {
  uint64_t top = o->heap[0], last = o->heap[--o->heap_count];
  int64_t i = 0;
  for (int64_t child; (child = 2 * i + 1) < o->heap_count; i = child) {
    if (child + 1 < o->heap_count && o->heap[child + 1] < o->heap[child]) ++child;
    if (o->heap[child] >= last) break;
    o->heap[i] = o->heap[child];
  }
  o->heap[i] = last;
  return top;
}

static void push_ready(order_t* o, int32_t index) { heap_push(o, node_rank(o->nodes[index]) << 32 | (uint32_t)index); }

/* True when the given order already serves. */
static bool order_holds(const order_t* o) {
  for (int64_t i = 0; i < o->count; ++i) {
    const hr_node_t* n = o->nodes[i];
    if (node_rank(n)) return false;
    for (int32_t j = 0; j < n->input_count; ++j)
      if (n->inputs[j].node && o->place[n->inputs[j].node->id] >= i && !hr_order_is_back_edge(n->inputs[j].node, n)) return false;
    for (int32_t j = 0; j < n->control_count; ++j)
      if (o->place[n->controls[j]->id] >= i) return false;
  }
  return true;
}

static hr_status_t build_edges(order_t* o, hr_arena_t* scratch) {
  size_t n = (size_t)o->count;
  o->waits = hr_arena_array(scratch, n, sizeof *o->waits);
  o->out_begin = hr_arena_array(scratch, n + 1, sizeof *o->out_begin);
  o->heap = hr_arena_array(scratch, n, sizeof *o->heap);
  if (!o->waits || !o->out_begin || !o->heap) return hr_status_out_of_memory();
  for (int64_t i = 0; i < o->count; ++i) each_in_edge(o, (int32_t)i, count_edge);
  for (int64_t i = 0; i < o->count; ++i) o->out_begin[i + 1] += o->out_begin[i];
  o->outs = hr_arena_array(scratch, (size_t)o->out_begin[o->count], sizeof *o->outs);
  if (!o->outs) return hr_status_out_of_memory();
  for (int64_t i = 0; i < o->count; ++i) each_in_edge(o, (int32_t)i, store_edge);
  for (int64_t i = o->count; i > 0; --i) o->out_begin[i] = o->out_begin[i - 1]; /* storing moved every beginning to its end */
  o->out_begin[0] = 0;
  return NULL;
}

static hr_status_t sort_nodes(order_t* o, hr_arena_t* scratch) {
  HR_TRY(build_edges(o, scratch));
  hr_node_t** sorted = hr_arena_array(scratch, (size_t)o->count, sizeof *sorted);
  if (!sorted) return hr_status_out_of_memory();
  for (int64_t i = 0; i < o->count; ++i)
    if (o->waits[i] == 0) push_ready(o, (int32_t)i);
  int64_t done = 0;
  while (o->heap_count > 0) {
    int32_t index = (int32_t)(heap_pop(o) & UINT32_MAX);
    sorted[done++] = o->nodes[index];
    for (int32_t e = o->out_begin[index]; e < o->out_begin[index + 1]; ++e)
      if (--o->waits[o->outs[e]] == 0) push_ready(o, o->outs[e]);
  }
  for (int64_t i = 0; done < o->count && i < o->count; ++i)
    if (o->waits[i] > 0) return HR_ERROR(INVALID_ARGUMENT, "node '%s' is on a cycle of the graph", o->nodes[i]->name.data);
  memcpy(o->nodes, sorted, (size_t)o->count * sizeof *sorted);
  return NULL;
}

hr_status_t hr_plan_order(hr_arena_t* scratch, hr_node_t** nodes, int64_t count, int64_t id_limit) {
  int32_t* place = hr_arena_array(scratch, (size_t)id_limit, sizeof *place);
  if (!place) return hr_status_out_of_memory();
  for (int64_t i = 0; i < id_limit; ++i) place[i] = -1;
  for (int64_t i = 0; i < count; ++i) place[nodes[i]->id] = (int32_t)i;
  order_t o = {.nodes = nodes, .count = count, .place = place};
  return order_holds(&o) ? NULL : sort_nodes(&o, scratch);
}
