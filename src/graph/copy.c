/* SPDX-License-Identifier: Apache-2.0 */
/* Making the working copy: nodes first, then edges, then consumer lists of exactly the right length. Nothing is looked up by name. */
#include "graph/copy.h"

#include "graph/edges.h"
#include "op/node_class.h"

/* --- feeds: ARG nodes, with a definition of their own so that no op registry is needed ------------------------------------------- */
static const hr_op_t copy_arg_op = {.name = "_Arg",
                                    .sig = "-> output: T",
                                    .attrs = "T: type; index: int >= 0",
                                    .doc = "A value that arrives from outside.",
                                    .file = __FILE__,
                                    .line = __LINE__};
static const hr_arg_def_t copy_arg_output = {.name = {"output", 6}, .type_attr = 0, .number_attr = -1, .list_attr = -1};
static const hr_attr_def_t copy_arg_attrs[] = {{.name = {"T", 1}, .kind = HR_ATTR_TYPE},
                                               {.name = {"index", 5}, .kind = HR_ATTR_INT, .has_minimum = true}};
static const hr_op_def_t copy_arg_def = {.op = &copy_arg_op,
                                         .name = {"_Arg", 4},
                                         .outputs = &copy_arg_output,
                                         .attrs = copy_arg_attrs,
                                         .output_count = 1,
                                         .attr_count = 2,
                                         .node_class = HR_NODE_ARG};

typedef struct {
  hr_graph_copy_t* c;
  const hr_graph_t* source;
  const hr_prune_request_t* request;
  uint8_t* fed; /* by source node id */
} copy_t;

static void copy_enter(hr_graph_t* g, hr_node_t* n) { /* room was reserved */
  n->graph = g;
  hr_graph_note_op(g, n->attrs.def->name);
  n->id = (int32_t)g->nodes.count;
  g->nodes.data[g->nodes.count++] = n;
}

static hr_status_t copy_feed_name(hr_graph_t* g, hr_value_t v, int index, hr_str_t* out) {
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  hr_strbuf_format(&b, "_arg_%s_%d_%d", v.node->name.data, (int)v.index, index);
  bool made = !b.failed && hr_arena_str(&g->arena, hr_strbuf_view(&b), out);
  hr_strbuf_deinit(&b);
  return made ? NULL : hr_status_out_of_memory();
}

/* An ARG node and its arrays. */
typedef struct {
  hr_node_t node;
  hr_attr_t values[2];
  int32_t type;
  const hr_pshape_t* shape;
} copy_arg_t;

static hr_status_t copy_feed(copy_t* k, int32_t index) {
  hr_graph_t* g = k->c->graph;
  hr_value_t v = k->request->feeds[index];
  copy_arg_t* made = hr_arena_array(&g->arena, 1, sizeof *made);
  if (!made) return hr_status_out_of_memory();
  hr_node_t* n = &made->node;
  HR_TRY(copy_feed_name(g, v, index, &n->name));
  made->type = hr_dtype_base(hr_value_type(v));
  made->shape = hr_value_shape(v);
  made->values[0] = (hr_attr_t){.kind = HR_ATTR_TYPE, .u.type = made->type};
  made->values[1] = (hr_attr_t){.kind = HR_ATTR_INT, .u.i = index};
  n->attrs = (hr_node_attrs_t){.def = &copy_arg_def, .values = made->values};
  n->device = HR_STR("");
  n->output_count = 1;
  n->output_types = &made->type;
  n->shapes = &made->shape;
  k->c->feeds[index] = n;
  k->fed[v.node->id] = 1;
  copy_enter(g, n);
  return NULL;
}

/* --- nodes ----------------------------------------------------------------------------------------------------------------------- */
static hr_status_t copy_node(copy_t* k, const hr_node_t* from) {
  hr_graph_t* g = k->c->graph;
  size_t inputs = (size_t)from->input_count * sizeof(hr_value_t), controls = (size_t)from->control_count * sizeof(hr_node_t*);
  size_t shapes = (size_t)from->output_count * sizeof(hr_pshape_t*);
  char* block = hr_arena_alloc(&g->arena, sizeof(hr_node_t) + inputs + controls + shapes);
  if (!block) return hr_status_out_of_memory();
  hr_node_t* n = (hr_node_t*)(void*)block;
  *n = *from;
  n->inputs = (hr_value_t*)(void*)(block + sizeof *n);
  n->controls = (hr_node_t**)(void*)(block + sizeof *n + inputs);
  n->shapes = (const hr_pshape_t**)(void*)(block + sizeof *n + inputs + controls);
  if (shapes) memcpy(n->shapes, from->shapes, shapes); /* entries may be refined in the source while we use the copy */
  memset(&n->consumers, 0, sizeof n->consumers);
  memset(&n->control_consumers, 0, sizeof n->control_consumers);
  if (from->attrs.def->node_class != HR_NODE_CONST)
    n->constant = NULL; /* what was found in the source may hang on an output that is fed here */
  k->c->of_source[from->id] = n;
  copy_enter(g, n);
  return NULL;
}

static int32_t copy_feed_of(const hr_prune_request_t* q, hr_value_t v) {
  for (int32_t i = 0; i < q->feed_count; ++i)
    if (q->feeds[i].node == v.node && q->feeds[i].index == v.index) return i;
  return -1;
}

static hr_value_t copy_value(const copy_t* k, hr_value_t v) {
  int32_t feed = k->fed[v.node->id] ? copy_feed_of(k->request, v) : -1;
  if (feed >= 0) return (hr_value_t){k->c->feeds[feed], 0};
  return (hr_value_t){k->c->of_source[v.node->id], v.index};
}

/* --- edges ----------------------------------------------------------------------------------------------------------------------- */
static void copy_in_edges(const copy_t* k, const hr_node_t* from) {
  hr_node_t* n = k->c->of_source[from->id];
  for (int i = 0; i < n->input_count; ++i) {
    n->inputs[i] = from->inputs[i].node ? copy_value(k, from->inputs[i]) : HR_NO_VALUE;
    if (n->inputs[i].node) ++n->inputs[i].node->consumers.capacity;
  }
  n->control_count = 0;
  for (int i = 0; i < from->control_count; ++i) {
    hr_node_t* c = k->c->of_source[from->controls[i]->id];
    if (!c) continue; /* a fed placeholder */
    n->controls[n->control_count++] = c;
    ++c->control_consumers.capacity;
  }
}

static hr_status_t copy_make_lists(hr_graph_t* g, hr_node_t* n) {
  if (n->consumers.capacity && !(n->consumers.data = hr_arena_alloc(&g->arena, (size_t)n->consumers.capacity * sizeof *n->consumers.data)))
    return hr_status_out_of_memory();
  if (n->control_consumers.capacity &&
      !(n->control_consumers.data = hr_arena_alloc(&g->arena, (size_t)n->control_consumers.capacity * sizeof(hr_node_t*))))
    return hr_status_out_of_memory();
  return NULL;
}

static hr_status_t copy_fill(copy_t* k, const hr_prune_t* pruned) {
  hr_graph_t* g = k->c->graph;
  HR_TRY(hr_vec_reserve(&g->nodes, pruned->nodes.count + k->request->feed_count));
  for (int32_t i = 0; i < k->request->feed_count; ++i) HR_TRY(copy_feed(k, i));
  for (int64_t i = 0; i < pruned->nodes.count; ++i) HR_TRY(copy_node(k, pruned->nodes.data[i]));
  for (int64_t i = 0; i < pruned->nodes.count; ++i) copy_in_edges(k, pruned->nodes.data[i]);
  for (int64_t i = 0; i < g->nodes.count; ++i) HR_TRY(copy_make_lists(g, g->nodes.data[i]));
  for (int64_t i = 0; i < g->nodes.count; ++i) HR_TRY(hr_edges_link(g, g->nodes.data[i]));
  return NULL;
}

static hr_status_t copy_make_tables(copy_t* k) {
  hr_graph_copy_t* c = k->c;
  HR_TRY(hr_graph_create(&c->graph));
  c->graph->names_pending = true;
  c->graph->originals = k->source->names_pending ? NULL : (hr_graph_t*)k->source;
  c->graph->original_count = k->source->nodes.count;
  c->graph->library = k->source->library ? k->source->library : (hr_graph_t*)k->source;
  c->graph->producer = k->source->producer;
  c->graph->min_consumer = k->source->min_consumer;
  c->source_count = k->source->nodes.count;
  c->feed_count = k->request->feed_count;
  c->of_source = hr_alloc_array((size_t)c->source_count + 1, sizeof *c->of_source);
  c->feeds = hr_alloc_array((size_t)c->feed_count + 1, sizeof *c->feeds);
  k->fed = hr_alloc_zero((size_t)c->source_count + 1);
  return c->of_source && c->feeds && k->fed ? NULL : hr_status_out_of_memory();
}

hr_status_t hr_graph_copy_pruned(const hr_graph_t* source, const hr_prune_request_t* request, hr_graph_copy_t* out) {
  hr_prune_t pruned;
  copy_t k = {.c = out, .source = source, .request = request};
  memset(out, 0, sizeof *out);
  HR_TRY(hr_prune_run(source, request, &pruned));
  hr_status_t status = copy_make_tables(&k);
  if (!status) status = copy_fill(&k, &pruned);
  hr_prune_deinit(&pruned);
  hr_free(k.fed);
  if (status) hr_graph_copy_deinit(out);
  return status;
}

void hr_graph_copy_deinit(hr_graph_copy_t* c) {
  hr_graph_destroy(c->graph);
  hr_free(c->of_source);
  hr_free(c->feeds);
  memset(c, 0, sizeof *c);
}

hr_value_t hr_graph_copy_value(const hr_graph_copy_t* c, const hr_prune_request_t* request, hr_value_t v) {
  int32_t feed = copy_feed_of(request, v);
  if (feed >= 0) return (hr_value_t){c->feeds[feed], 0};
  hr_node_t* n = v.node->id < c->source_count ? c->of_source[v.node->id] : NULL;
  return (hr_value_t){n, n ? v.index : 0};
}
