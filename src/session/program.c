/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: the working copy, edits that keep fetches in step with nodes, and what is live at the end. */
#include "session/program.h"
#include "base/alloc.h"
#include "graph/order.h"
#include "op/node_class.h"

static void* program_array(hr_program_t* p, int64_t count, size_t size) { return hr_arena_array(&p->graph->arena, (size_t)count, size); }

static hr_status_t rank_nodes(hr_program_t* p) {
  HR_TRY(hr_vec_reserve(&p->ranks, p->graph->nodes.count));
  p->ranks.count = p->graph->nodes.count;
  for (int64_t i = 0; i < p->ranks.count; ++i) p->ranks.data[i] = 0;
  for (int64_t i = 0; i < p->copy.source_count; ++i)
    if (p->copy.of_source[i]) p->ranks.data[p->copy.of_source[i]->id] = (int32_t)i;
  return NULL;
}

static hr_status_t clear_devices(hr_program_t* p) {
  HR_TRY(hr_vec_reserve(&p->device_of, p->graph->nodes.count));
  p->device_of.count = p->graph->nodes.count;
  for (int64_t i = 0; i < p->device_of.count; ++i) p->device_of.data[i] = -1;
  return NULL;
}

static hr_status_t mark_asked(hr_program_t* p) {
  HR_TRY(hr_vec_reserve(&p->asked, p->graph->nodes.count));
  p->asked.count = p->graph->nodes.count;
  if (p->asked.count) memset(p->asked.data, 0, (size_t)p->asked.count);
  for (int32_t i = 0; i < p->fetch_count; ++i) p->asked.data[p->fetches[i].node->id] |= HR_ASKED_FETCH;
  for (int32_t i = 0; i < p->target_count; ++i) p->asked.data[p->targets[i]->id] |= HR_ASKED_TARGET;
  return NULL;
}

static bool only_placeholders(const hr_prune_request_t* q) {
  for (int32_t i = 0; i < q->feed_count; ++i) {
    const hr_op_def_t* def = q->feeds[i].node->attrs.def;
    if (def->node_class != HR_NODE_PLACEHOLDER && !hr_str_has_prefix(def->name, HR_STR("Placeholder"))) return false;
  }
  return true;
}

static hr_status_t find_request(hr_program_t* p, const hr_prune_request_t* q) {
  p->feed_count = q->feed_count;
  p->fetch_count = q->fetch_count;
  p->feeds = program_array(p, q->feed_count, sizeof *p->feeds);
  p->fetches = program_array(p, q->fetch_count, sizeof *p->fetches);
  p->targets = program_array(p, q->target_count, sizeof *p->targets);
  hr_value_t* sources = program_array(p, (int64_t)q->feed_count + q->fetch_count, sizeof *sources);
  if (!p->feeds || !p->fetches || !p->targets || !sources) return hr_status_out_of_memory();
  if (q->feed_count) memcpy(sources, q->feeds, (size_t)q->feed_count * sizeof *sources);
  if (q->fetch_count) memcpy(sources + q->feed_count, q->fetches, (size_t)q->fetch_count * sizeof *sources);
  p->source_feeds = sources;
  p->source_fetches = sources + q->feed_count;
  for (int32_t i = 0; i < q->feed_count; ++i) p->feeds[i] = (hr_value_t){p->copy.feeds[i], 0};
  for (int32_t i = 0; i < q->fetch_count; ++i) p->fetches[i] = hr_graph_copy_value(&p->copy, q, q->fetches[i]);
  for (int32_t i = 0; i < q->target_count; ++i) {
    hr_node_t* target = p->copy.of_source[q->targets[i]->id];
    if (target) p->targets[p->target_count++] = target; /* else it is fed: nothing to do */
  }
  p->feeds_placeholders_only = only_placeholders(q);
  p->in_parts = q->in_parts;
  return mark_asked(p);
}

hr_status_t hr_program_create(const hr_graph_t* source, const hr_prune_request_t* request, hr_program_t* out) {
  hr_program_t p = {0};
  HR_TRY(hr_graph_copy_pruned(source, request, &p.copy));
  p.graph = p.copy.graph;
  p.source = source;
  hr_status_t status = rank_nodes(&p);
  if (!status) status = clear_devices(&p);
  if (!status) status = find_request(&p, request);
  if (status) hr_program_deinit(&p);
  else *out = p;
  return status;
}

void hr_program_deinit(hr_program_t* p) {
  hr_vec_deinit(&p->ranks);
  hr_vec_deinit(&p->asked);
  hr_vec_deinit(&p->device_of);
  hr_device_set_release(p->devices);
  hr_graph_copy_deinit(&p->copy);
  *p = (hr_program_t){0};
}

/* --- edits -------------------------------------------------------------------------------------------------------------------------- */

hr_status_t hr_program_replace(hr_program_t* p, hr_value_t from, hr_value_t to) {
  HR_TRY(hr_graph_replace_value(p->graph, from, to));
  if (!hr_program_is_fetched(p, from.node)) return NULL;
  p->asked.data[to.node->id] |= HR_ASKED_FETCH;
  for (int32_t i = 0; i < p->fetch_count; ++i)
    if (p->fetches[i].node == from.node && p->fetches[i].index == from.index) p->fetches[i] = to;
  return NULL;
}

hr_status_t hr_program_add(hr_program_t* p, const hr_node_desc_t* desc, const hr_node_t* like, hr_node_t** out) {
  hr_node_desc_t d = *desc;
  d.skip_shapes = true;
  HR_TRY(hr_graph_unique_name(p->graph, desc->name, &d.name));
  hr_node_t* node = NULL;
  HR_TRY(hr_vec_reserve(&p->ranks, 1));
  HR_TRY(hr_vec_reserve(&p->asked, 1));
  HR_TRY(hr_vec_reserve(&p->device_of, 1));
  HR_TRY(hr_graph_add(p->graph, &d, &node));
  p->ranks.data[p->ranks.count++] = p->ranks.data[like->id];
  p->asked.data[p->asked.count++] = 0;
  p->device_of.data[p->device_of.count++] = p->device_of.data[like->id];
  node->device = like->device;
  *out = node;
  return NULL;
}

hr_status_t hr_program_add_const(hr_program_t* p, const hr_tensor_t* value, const hr_node_t* like, hr_node_t** out) {
  hr_named_attr_t attrs[] = {hr_at_tensor("value", value), hr_at_type("dtype", (int)value->dtype)};
  hr_node_desc_t d = {.op = HR_STR("Const"), .name = like->name, .attrs = attrs, .attr_count = 2};
  HR_TRY(hr_program_add(p, &d, like, out));
  const hr_pshape_t* shape = NULL;
  HR_TRY(hr_pshape_from_shape(&p->graph->arena, &value->shape, &shape));
  (*out)->shapes[0] = shape;
  return NULL;
}

static void drop_target(hr_program_t* p, int32_t at) {
  --p->target_count;
  memmove(p->targets + at, p->targets + at + 1, (size_t)(p->target_count - at) * sizeof *p->targets);
}

static void replace_target(hr_program_t* p, hr_node_t* from, hr_node_t* to) {
  p->asked.data[from->id] &= (uint8_t)~HR_ASKED_TARGET;
  if (to) p->asked.data[to->id] |= HR_ASKED_TARGET;
  for (int32_t i = 0; i < p->target_count; ++i) {
    if (p->targets[i] != from) continue;
    if (to) p->targets[i] = to;
    else drop_target(p, i--);
  }
}

hr_status_t hr_program_replace_control(hr_program_t* p, hr_node_t* from, hr_node_t* to) {
  if (hr_program_is_target(p, from)) replace_target(p, from, to);
  if (to) return hr_graph_replace_control(p->graph, from, to);
  while (from->control_consumers.count > 0)
    hr_graph_remove_control(p->graph, from->control_consumers.data[from->control_consumers.count - 1], from);
  return NULL;
}

static bool class_is_plain(int class) {
  return class == HR_NODE_ORDINARY || class == HR_NODE_CONST || class == HR_NODE_IDENTITY || class == HR_NODE_NO_OP;
}

bool hr_program_is_fixed(const hr_node_t* node) {
  const hr_op_def_t* def = node->attrs.def;
  if (def->op->flags & HR_OP_IMPURE) return true;
  if (!class_is_plain(def->node_class)) return true;
  for (int32_t i = 0; i < node->input_count; ++i)
    if (hr_dtype_is_ref(node->input_types[i]) || hr_dtype_is_ref(hr_value_type(node->inputs[i]))) return true;
  for (int32_t i = 0; i < node->output_count; ++i)
    if (hr_dtype_is_ref(node->output_types[i])) return true;
  return false;
}

bool hr_program_has_flow(const hr_program_t* p) {
  for (int64_t i = 0; i < p->graph->nodes.count; ++i) {
    const hr_node_t* n = p->graph->nodes.data[i];
    if (hr_node_class_is_control_flow(n->attrs.def->node_class)) return true;
  }
  return false;
}

const hr_tensor_t* hr_program_constant(hr_value_t v) {
  const hr_node_t* n = v.node;
  return n->attrs.def->node_class == HR_NODE_CONST && n->control_count == 0 ? hr_attrs_tensor(&n->attrs, "value") : NULL;
}

hr_status_t hr_program_adopt(hr_program_t* p, const hr_node_t* like) {
  int64_t extra = p->graph->nodes.count - p->ranks.count;
  HR_TRY(hr_vec_reserve(&p->ranks, extra));
  HR_TRY(hr_vec_reserve(&p->asked, extra));
  HR_TRY(hr_vec_reserve(&p->device_of, extra));
  while (p->ranks.count < p->graph->nodes.count) {
    p->ranks.data[p->ranks.count++] = p->ranks.data[like->id];
    p->asked.data[p->asked.count++] = 0;
    p->device_of.data[p->device_of.count++] = p->device_of.data[like->id];
  }
  return NULL;
}

hr_status_t hr_program_add_target(hr_program_t* p, hr_node_t* node) {
  if (hr_program_is_target(p, node)) return NULL;
  hr_node_t** longer = program_array(p, (int64_t)p->target_count + 1, sizeof *longer);
  if (!longer) return hr_status_out_of_memory();
  if (p->target_count) memcpy(longer, p->targets, (size_t)p->target_count * sizeof *longer);
  longer[p->target_count++] = node;
  p->targets = longer;
  p->asked.data[node->id] |= HR_ASKED_TARGET;
  return NULL;
}

hr_status_t hr_program_renumber(hr_program_t* p) {
  hr_graph_t* g = p->graph;
  int64_t count = 0;
  int32_t* ranks = program_array(p, g->nodes.count, sizeof *ranks);
  int32_t* devices = program_array(p, g->nodes.count, sizeof *devices);
  uint8_t* asked = program_array(p, g->nodes.count, sizeof *asked);
  hr_node_t** nodes = program_array(p, g->nodes.count, sizeof *nodes);
  if (!ranks || !devices || !asked || !nodes) return hr_status_out_of_memory();
  for (int64_t i = 0; i < g->nodes.count; ++i)
    if (g->nodes.data[i]) nodes[count++] = g->nodes.data[i];
  HR_TRY(hr_order_nodes(g, nodes, count));
  for (int64_t i = 0; i < count; ++i) {
    ranks[i] = p->ranks.data[nodes[i]->id];
    asked[i] = p->asked.data[nodes[i]->id];
    devices[i] = p->device_of.data[nodes[i]->id];
  }
  for (int64_t i = 0; i < count; ++i) {
    nodes[i]->id = (int32_t)i;
    g->nodes.data[i] = nodes[i];
    p->ranks.data[i] = ranks[i];
    p->asked.data[i] = asked[i];
    p->device_of.data[i] = devices[i];
  }
  g->nodes.count = p->ranks.count = p->asked.count = p->device_of.count = count;
  return NULL;
}

/* --- what is live ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  uint8_t* marks;     /* by id */
  hr_node_t** stack;  /* each node is pushed once */
  int64_t depth;
} live_walk_t;

static void mark_live(live_walk_t* w, hr_node_t* n) {
  if (w->marks[n->id]) return;
  w->marks[n->id] = true;
  w->stack[w->depth++] = n;
}

static void walk_live(live_walk_t* w) {
  while (w->depth > 0) {
    const hr_node_t* n = w->stack[--w->depth];
    for (int32_t i = 0; i < n->input_count; ++i)
      if (n->inputs[i].node) mark_live(w, n->inputs[i].node);
    for (int32_t i = 0; i < n->control_count; ++i) mark_live(w, n->controls[i]);
  }
}

/* Counting sort by rank: chains of nodes by rank, in order of their ids. */
static hr_status_t sort_live(hr_program_t* p, const live_walk_t* w) {
  int64_t n = p->graph->nodes.count, ranks = p->copy.source_count + 1;
  int32_t* first = hr_alloc_array((size_t)ranks, sizeof *first);
  int32_t* next = hr_alloc_array((size_t)n + 1, sizeof *next);
  if (p->live_room < n) { /* with room for what passes add */
    p->live_room = n + n / 16;
    p->live = program_array(p, p->live_room, sizeof *p->live);
  }
  bool ok = first && next && p->live;
  for (int64_t i = 0; ok && i < ranks; ++i) first[i] = -1;
  for (int64_t i = n - 1; ok && i >= 0; --i) {
    if (!w->marks[i]) continue;
    next[i] = first[p->ranks.data[i]];
    first[p->ranks.data[i]] = (int32_t)i;
  }
  for (int64_t r = 0; ok && r < ranks; ++r)
    for (int32_t i = first[r]; i >= 0; i = next[i]) p->live[p->live_count++] = p->graph->nodes.data[i];
  hr_free(first);
  hr_free(next);
  if (!p->live) p->live_room = 0;
  return ok ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_program_finish(hr_program_t* p) {
  int64_t n = p->graph->nodes.count;
  live_walk_t w = {.marks = hr_alloc_zero((size_t)n + 1), .stack = hr_alloc_array((size_t)n + 1, sizeof(hr_node_t*))};
  hr_status_t status = w.marks && w.stack ? NULL : hr_status_out_of_memory();
  if (!status) {
    p->live_count = 0;
    for (int32_t i = 0; i < p->fetch_count; ++i) mark_live(&w, p->fetches[i].node);
    for (int32_t i = 0; i < p->target_count; ++i) mark_live(&w, p->targets[i]);
    walk_live(&w);
    status = sort_live(p, &w);
  }
  hr_free(w.marks);
  hr_free(w.stack);
  return status;
}
