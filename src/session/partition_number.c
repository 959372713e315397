/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of edges, which are part of rendezvous keys. They are those that TensorFlow's master arrives at for the same graph, as far as
 * recordings show: three edges between its source and sink come first, then the in-edges of nodes in breadth-first order (a constant
 * operand of a sum before the other one), edges back to loops' beginnings, one edge for each node without inputs and for each that nobody
 * reads, then those of feeds and fetches. Any order would do for tasks of ours, since the numbers travel with the graph. */
#include "op/node_class.h"
#include "session/partition_state.h"

typedef struct {
  hr_partition_state_t* s;
  int32_t* waits;        /* by id: in-edges from nodes that have not been numbered */
  const hr_node_t** queue;
  int64_t first, last;
  int32_t next;
} number_t;

static bool is_live(const hr_partition_state_t* s, const hr_node_t* n) { return n && s->part_of.data[n->id] >= 0; }

static bool is_client(const hr_node_t* n, int class) {
  return n->attrs.def->node_class == class && hr_attrs_bool(&n->attrs, "client_terminated");
}
static bool is_feed(const hr_node_t* n) { return n->attrs.def->node_class == HR_NODE_ARG || is_client(n, HR_NODE_RECV); }
static bool is_fetch(const hr_node_t* n) { return is_client(n, HR_NODE_SEND); }

static bool goes_back(const hr_node_t* src) { return hr_node_class_is_next_iteration(src->attrs.def->node_class); }

static bool counts(const hr_partition_state_t* s, const hr_node_t* src) { return is_live(s, src) && !is_feed(src) && !goes_back(src); }

static const hr_node_t* in_edge(const hr_node_t* n, int32_t at) {
  return at < n->input_count ? n->inputs[at].node : n->controls[at - n->input_count];
}

static int32_t count_in_edges(const hr_partition_state_t* s, const hr_node_t* n) {
  int32_t count = 0;
  for (int32_t i = 0; i < n->input_count + n->control_count; ++i) count += counts(s, in_edge(n, i));
  return count;
}

static void enter_queue(number_t* w, const hr_node_t* n) { w->queue[w->last++] = n; }

static void settle(number_t* w, const hr_node_t* reader) {
  if (is_live(w->s, reader) && !is_fetch(reader) && --w->waits[reader->id] == 0) enter_queue(w, reader);
}

static void number_breadth_first(number_t* w) {
  while (w->first < w->last) {
    const hr_node_t* n = w->queue[w->first++];
    w->s->edge_base[n->id] = w->next;
    w->next += count_in_edges(w->s, n);
    if (goes_back(n) || is_feed(n)) continue;
    for (int64_t i = 0; i < n->consumers.count; ++i) settle(w, n->consumers.data[i].node);
    for (int64_t i = 0; i < n->control_consumers.count; ++i) settle(w, n->control_consumers.data[i]);
  }
}

static int32_t count_live_readers(const hr_partition_state_t* s, const hr_node_t* n) {
  int32_t count = 0;
  for (int64_t i = 0; i < n->consumers.count; ++i) count += is_live(s, n->consumers.data[i].node);
  for (int64_t i = 0; i < n->control_consumers.count; ++i) count += is_live(s, n->control_consumers.data[i]);
  return count;
}

static bool is_read(const hr_partition_state_t* s, const hr_node_t* n) { /* by more than a fetch */
  for (int64_t i = 0; i < n->consumers.count; ++i)
    if (is_live(s, n->consumers.data[i].node) && !is_fetch(n->consumers.data[i].node)) return true;
  for (int64_t i = 0; i < n->control_consumers.count; ++i)
    if (is_live(s, n->control_consumers.data[i])) return true;
  return false;
}

static void number_rest(number_t* w) {
  hr_partition_state_t* s = w->s;
  const hr_program_t* p = s->p;
  for (int64_t i = 0; i < p->live_count; ++i) {
    const hr_node_t* n = p->live[i];
    if (is_feed(n) || is_fetch(n)) continue;
    for (int32_t j = 0; j < n->input_count; ++j) w->next += n->inputs[j].node && goes_back(n->inputs[j].node);
    w->next += n->input_count + n->control_count == 0;
    w->next += !is_read(s, n);
  }
  for (int64_t i = 0; i < p->live_count; ++i) {
    if (!is_feed(p->live[i])) continue;
    s->feed_edges[p->live[i]->id] = w->next + 1;
    w->next += 1 + count_live_readers(s, p->live[i]);
  }
  for (int64_t i = 0; i < p->live_count; ++i)
    if (is_fetch(p->live[i])) s->edge_base[p->live[i]->id] = w->next, w->next += count_in_edges(s, p->live[i]);
}

hr_status_t hr_partition_number(hr_partition_state_t* s) {
  const hr_program_t* p = s->p;
  const size_t limit = (size_t)p->graph->nodes.count + 1;
  number_t w = {.s = s, .next = 3};
  w.waits = hr_alloc_array(limit, sizeof *w.waits);
  w.queue = hr_alloc_array(limit, sizeof *w.queue);
  s->edge_base = hr_alloc_array(limit, sizeof *s->edge_base);
  s->feed_edges = hr_alloc_array(limit, sizeof *s->feed_edges);
  const bool ok = w.waits && w.queue && s->edge_base && s->feed_edges;
  for (int64_t i = 0; ok && i < p->live_count; ++i) {
    const hr_node_t* n = p->live[i];
    w.waits[n->id] = count_in_edges(s, n);
    if (w.waits[n->id] == 0 && !is_fetch(n)) enter_queue(&w, n);
  }
  if (ok) number_breadth_first(&w);
  if (ok) number_rest(&w);
  s->next_edge = w.next;
  hr_free(w.waits);
  hr_free(w.queue);
  return ok ? NULL : hr_status_out_of_memory();
}

static bool constant_goes_first(const hr_node_t* n) {
  const hr_str_t op = n->attrs.def->name;
  return n->input_count == 2 && (hr_str_is(op, "AddV2") || hr_str_is(op, "Add")) && n->inputs[1].node &&
         n->inputs[1].node->attrs.def->node_class == HR_NODE_CONST && n->inputs[0].node != n->inputs[1].node;
}

int32_t hr_partition_edge(hr_partition_state_t* s, const hr_node_t* src, const hr_node_t* dst, int32_t at, int32_t* io_before) {
  if (is_feed(src)) return s->feed_edges[src->id]++;
  if (goes_back(src)) return s->next_edge++;
  const int32_t before = (*io_before)++;
  if (at < 2 && before == at && constant_goes_first(dst)) return s->edge_base[dst->id] + 1 - at;
  return s->edge_base[dst->id] + before;
}
