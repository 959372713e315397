/* SPDX-License-Identifier: Apache-2.0 */
/* Depth first from what is asked for, with a stack of our own; a node is emitted after all it needs, so the order is topological. */
#include "graph/prune.h"

#include "op/node_class.h"
#include "graph/order.h"

enum { PRUNE_SEEN = 1, PRUNE_FED = 2 };

typedef struct {
  hr_node_t* node;
  int32_t next;
} prune_frame_t; /* next: data inputs, then controls */

typedef struct {
  const hr_graph_t* g;
  const hr_prune_request_t* request;
  uint8_t* marks; /* by node id */
  hr_map_t feeds; /* of feed_key */
  HR_VEC(prune_frame_t) stack;
  hr_prune_t* out;
} prune_walk_t;

/* An endpoint as a key: the place of its shape is one of a kind. */
static const void* feed_key(hr_value_t v) { return &v.node->shapes[v.index]; }

static hr_status_t prune_check(const hr_graph_t* g, hr_value_t v, const char* what) {
  if (!v.node || v.node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "a %s is not a node of this graph", what);
  if (v.index >= 0 && v.index < v.node->output_count) return NULL;
  return HR_ERROR(INVALID_ARGUMENT, "%s '%s:%d' is out of range: node '%s' (%.*s) has %d outputs", what, v.node->name.data, (int)v.index,
                  v.node->name.data, HR_STR_ARG(v.node->attrs.def->name), (int)v.node->output_count);
}

static hr_status_t prune_take_feeds(prune_walk_t* w) {
  for (int32_t i = 0; i < w->request->feed_count; ++i) {
    hr_value_t v = w->request->feeds[i];
    HR_TRY(prune_check(w->g, v, "feed"));
    if (hr_map_find_ptr(&w->feeds, feed_key(v), NULL))
      return HR_ERROR(INVALID_ARGUMENT, "endpoint '%s:%d' is fed more than once", v.node->name.data, (int)v.index);
    HR_TRY(hr_map_set_ptr(&w->feeds, feed_key(v), (uintptr_t)i));
    w->marks[v.node->id] |= PRUNE_FED;
  }
  return NULL;
}

static bool prune_is_fed(const prune_walk_t* w, hr_value_t v) {
  return (w->marks[v.node->id] & PRUNE_FED) && hr_map_find_ptr(&w->feeds, feed_key(v), NULL);
}

/* A fed placeholder has nothing left to do for whoever only waits for it. */
static bool prune_is_fed_placeholder(const prune_walk_t* w, const hr_node_t* n) {
  if (!(w->marks[n->id] & PRUNE_FED)) return false;
  return n->attrs.def->node_class == HR_NODE_PLACEHOLDER || hr_str_is(n->attrs.def->name, "PlaceholderV2");
}

static hr_status_t prune_enter(prune_walk_t* w, hr_node_t* n) {
  if (w->marks[n->id] & PRUNE_SEEN) return NULL;
  w->marks[n->id] |= PRUNE_SEEN;
  return hr_vec_push(&w->stack, ((prune_frame_t){n, 0}));
}

/* What the frame's node needs next and has not been seen; NULL: all there. */
static hr_node_t* prune_next_need(prune_walk_t* w, prune_frame_t* frame) {
  hr_node_t* n = frame->node;
  while (frame->next < n->input_count) {
    hr_value_t v = n->inputs[frame->next++];
    if (v.node && !(w->marks[v.node->id] & PRUNE_SEEN) && !prune_is_fed(w, v)) return v.node;
  }
  while (frame->next < n->input_count + n->control_count) {
    hr_node_t* c = n->controls[frame->next++ - n->input_count];
    if (!(w->marks[c->id] & PRUNE_SEEN) && !prune_is_fed_placeholder(w, c)) return c;
  }
  return NULL;
}

static hr_status_t prune_walk_from(prune_walk_t* w, hr_node_t* root) {
  HR_TRY(prune_enter(w, root));
  while (w->stack.count) {
    prune_frame_t* top = &w->stack.data[w->stack.count - 1];
    hr_node_t* need = prune_next_need(w, top);
    if (need) {
      HR_TRY(prune_enter(w, need));
      continue;
    }
    HR_TRY(hr_vec_push(&w->out->nodes, top->node));
    --w->stack.count;
  }
  return NULL;
}

static hr_status_t prune_walk(prune_walk_t* w) {
  const hr_prune_request_t* q = w->request;
  HR_TRY(prune_take_feeds(w));
  for (int32_t i = 0; i < q->fetch_count; ++i) {
    HR_TRY(prune_check(w->g, q->fetches[i], "fetch"));
    if (prune_is_fed(w, q->fetches[i]))
      return HR_ERROR(INVALID_ARGUMENT, "endpoint '%s:%d' is both fed and fetched", q->fetches[i].node->name.data,
                      (int)q->fetches[i].index);
    HR_TRY(prune_walk_from(w, q->fetches[i].node));
  }
  for (int32_t i = 0; i < q->target_count; ++i) {
    if (!q->targets[i] || q->targets[i]->graph != w->g) return HR_ERROR(INVALID_ARGUMENT, "a target is not a node of this graph");
    if (!prune_is_fed_placeholder(w, q->targets[i])) HR_TRY(prune_walk_from(w, q->targets[i]));
  }
  return NULL;
}

hr_status_t hr_prune_run(const hr_graph_t* g, const hr_prune_request_t* request, hr_prune_t* out) {
  memset(out, 0, sizeof *out);
  prune_walk_t w = {.g = g, .request = request, .out = out, .marks = hr_alloc_zero((size_t)g->nodes.count + 1)};
  hr_map_init(&w.feeds);
  hr_status_t status = w.marks ? prune_walk(&w) : hr_status_out_of_memory();
  /* A loop's back edge makes the walk emit a Merge before its NextIteration or, entered from there, out of order: sort once more. */
  bool loops = false;
  for (int64_t i = 0; !status && i < out->nodes.count && !loops; ++i)
    loops = hr_node_class_is_merge(out->nodes.data[i]->attrs.def->node_class);
  if (!status && loops) status = hr_order_nodes(g, out->nodes.data, out->nodes.count);
  hr_map_deinit(&w.feeds);
  hr_vec_deinit(&w.stack);
  hr_free(w.marks);
  if (status) hr_prune_deinit(out);
  return status;
}

void hr_prune_deinit(hr_prune_t* p) { hr_vec_deinit(&p->nodes); }
