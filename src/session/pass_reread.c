/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of reference variables that a step also writes. An Identity of a reference is a snapshot, but TensorFlow's is the variable's own
 * memory: who reads it after a write sees what was written, and so does who fetches it, whatever the order. Programs rely on both (a
 * variable converted to a tensor before the update that the sum waits for; a loop that reads what its body assigns).
 *
 * So an Identity, Switch or constant Enter of a reference becomes its Ref form, which hands the reference on, where a reader behind it
 * runs after a write of that variable: each reader then reads at its own turn. And what is fetched of a variable that the step writes is
 * read again after the writes (but in a partial run, where a fetch must not wait for feeds it does not need). All other reads stay
 * snapshots: no edge tells whether they come before a write. */
#include "base/alloc.h"
#include "graph/frames.h"
#include "op/node_class.h"
#include "session/passes.h"
#include "session/place.h"

enum { VISITS_PER_NODE = 32 }; /* beyond that a reader counts as behind a write of its variable when it is behind any write */

typedef struct {
  hr_program_t* p;
  int64_t count;           /* nodes at the start */
  int32_t* group;          /* union-find by id: nodes tied by references */
  int32_t* first_writer;   /* by group's root: lists through next_writer; 0 ends: the first node has no inputs, so it writes nothing */
  int32_t* next_writer;    /* by id */
  int32_t* alias_group;    /* by id: the root of the group whose memory output 0 (of a Switch, any) is in TensorFlow; -1: none */
  int32_t* seen;           /* by id: the last walk that came by */
  int32_t walk;
  bool* behind_any;        /* by id: runs after some write */
  bool* convert;           /* by id */
  hr_node_t** stack;       /* each walk pushes a node once */
  hr_node_t** aliases;     /* those with an alias_group, sources first */
  int64_t alias_count, visits;
} reread_t;

/* --- groups and writers --------------------------------------------------------------------------------------------------------------- */

static int32_t group_of(reread_t* r, int32_t id) {
  while (r->group[id] != id) id = r->group[id] = r->group[r->group[id]];
  return id;
}

static bool op_passes_on(const hr_node_t* n) { /* a reference, unwritten */
  static const char* const names[] = {"RefIdentity", "RefSelect", "IsVariableInitialized"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (hr_str_is(n->attrs.def->name, names[i])) return true;
  return hr_node_class_is_control_flow(n->attrs.def->node_class);
}

static bool node_writes(const hr_node_t* n) {
  if (op_passes_on(n)) return false;
  for (int32_t i = 0; i < n->input_count; ++i)
    if (hr_dtype_is_ref(n->input_types[i])) return true;
  return false;
}

static bool any_writes(const hr_program_t* p) {
  for (int64_t i = 0; i < p->graph->nodes.count; ++i)
    if (node_writes(p->graph->nodes.data[i])) return true;
  return false;
}

static void find_groups(reread_t* r) {
  for (int64_t i = 0; i < r->count; ++i) {
    const hr_node_t* n = r->p->graph->nodes.data[i];
    for (int32_t j = 0; j < n->input_count; ++j)
      if (hr_dtype_is_ref(n->input_types[j])) r->group[group_of(r, n->id)] = group_of(r, n->inputs[j].node->id);
  }
  for (int64_t i = 0; i < r->count; ++i) {
    const hr_node_t* n = r->p->graph->nodes.data[i];
    if (!node_writes(n)) continue;
    const int32_t root = group_of(r, n->id);
    r->next_writer[i] = r->first_writer[root];
    r->first_writer[root] = (int32_t)i;
  }
}

/* --- what is behind writes ------------------------------------------------------------------------------------------------------------ */

static void push(reread_t* r, int64_t* depth, hr_node_t* n) {
  if (r->seen[n->id] == r->walk) return;
  r->seen[n->id] = r->walk;
  r->stack[(*depth)++] = n;
}

static void push_consumers(reread_t* r, int64_t* depth, const hr_node_t* n) {
  for (int64_t i = 0; i < n->consumers.count; ++i) push(r, depth, n->consumers.data[i].node);
  for (int64_t i = 0; i < n->control_consumers.count; ++i) push(r, depth, n->control_consumers.data[i]);
}

static void walk_on(reread_t* r, int64_t depth) {
  while (depth > 0) {
    r->visits++;
    push_consumers(r, &depth, r->stack[--depth]);
  }
}

/* Marks in `seen` what runs after any write; the same for the writers of a group. */
static void walk_behind_any(reread_t* r) {
  int64_t depth = 0;
  r->walk++;
  for (int64_t i = 0; i < r->count; ++i)
    if (node_writes(r->p->graph->nodes.data[i])) push_consumers(r, &depth, r->p->graph->nodes.data[i]);
  walk_on(r, depth);
}

static void walk_behind(reread_t* r, int32_t root) {
  int64_t depth = 0;
  r->walk++;
  for (int32_t w = r->first_writer[root]; w; w = r->next_writer[w]) push_consumers(r, &depth, r->p->graph->nodes.data[w]);
  walk_on(r, depth);
}

/* --- aliases -------------------------------------------------------------------------------------------------------------------------- */

static bool node_is_alias(const reread_t* r, const hr_node_t* n, const hr_node_t* source) {
  const int class = n->attrs.def->node_class;
  return (class == HR_NODE_IDENTITY || class == HR_NODE_SWITCH || (class == HR_NODE_ENTER && hr_attrs_bool(&n->attrs, "is_constant"))) &&
         !hr_dtype_is_ref(n->output_types[0]) && hr_place_same(r->p, n, source);
}

static void find_aliases_of(reread_t* r, const hr_node_t* source, int32_t root) {
  for (int64_t i = 0; i < source->consumers.count; ++i) {
    hr_node_t* n = source->consumers.data[i].node;
    if (source->consumers.data[i].input != 0 || r->alias_group[n->id] >= 0) continue;
    if (!hr_dtype_is_ref(hr_value_type(n->inputs[0])) && r->alias_group[source->id] < 0) continue;
    if (!node_is_alias(r, n, source)) continue;
    r->alias_group[n->id] = root;
    r->aliases[r->alias_count++] = n;
  }
}

static void find_aliases(reread_t* r) {
  for (int64_t i = 0; i < r->count; ++i) {
    const int32_t root = group_of(r, (int32_t)i);
    if (r->first_writer[root]) find_aliases_of(r, r->p->graph->nodes.data[i], root);
  }
  for (int64_t i = 0; i < r->alias_count; ++i) find_aliases_of(r, r->aliases[i], r->alias_group[r->aliases[i]->id]);
}

static void convert_chain(reread_t* r, const hr_node_t* n) { /* up to the reference */
  for (; r->alias_group[n->id] >= 0 && !r->convert[n->id]; n = n->inputs[0].node) r->convert[n->id] = true;
}

/* Whether somebody reads alias n behind a write; in `seen` when `exact`, else behind any. */
static bool is_read_behind(const reread_t* r, const hr_node_t* n, bool exact) {
  for (int64_t i = 0; i < n->consumers.count; ++i) {
    const hr_node_t* c = n->consumers.data[i].node;
    if (exact ? r->seen[c->id] == r->walk : r->behind_any[c->id]) return true;
  }
  return false;
}

static void choose(reread_t* r) {
  int32_t walked = -1;
  walk_behind_any(r);
  for (int64_t i = 0; i < r->count; ++i) r->behind_any[i] = r->seen[i] == r->walk;
  for (int64_t i = 0; i < r->alias_count; ++i) {
    const hr_node_t* n = r->aliases[i];
    const int32_t root = r->alias_group[n->id];
    if (!is_read_behind(r, n, false)) continue;
    const bool exact = r->visits < VISITS_PER_NODE * r->count;
    if (exact && root != walked) walk_behind(r, walked = root);
    if (!exact || is_read_behind(r, n, true)) convert_chain(r, n);
  }
}

/* --- rewriting ------------------------------------------------------------------------------------------------------------------------ */

static hr_status_t add_like(hr_program_t* p, const char* op, const hr_node_t* n, hr_node_t** out) {
  static const char* const names[] = {"T", "frame_name", "is_constant", "parallel_iterations"};
  hr_named_attr_t attrs[4];
  const int attr_count = n->attrs.def->node_class == HR_NODE_ENTER ? 4 : 1;
  for (int i = 0; i < attr_count; ++i) attrs[i] = hr_at(names[i], *hr_attrs_find(&n->attrs, names[i]));
  const hr_node_desc_t d = {.op = hr_str(op),
                            .name = n->name,
                            .device = n->device,
                            .inputs = n->inputs,
                            .input_count = n->input_count,
                            .controls = n->controls,
                            .control_count = n->control_count,
                            .attrs = attrs,
                            .attr_count = attr_count};
  HR_TRY(hr_program_add(p, &d, n, out));
  for (int32_t i = 0; i < n->output_count; ++i) (*out)->shapes[i] = n->shapes[i];
  return NULL;
}

static hr_status_t convert_node(hr_program_t* p, hr_node_t* n) {
  const int class = n->attrs.def->node_class;
  hr_node_t* by;
  HR_TRY(add_like(p, class == HR_NODE_ENTER ? "RefEnter" : class == HR_NODE_SWITCH ? "RefSwitch" : "RefIdentity", n, &by));
  for (int32_t i = 0; i < n->output_count; ++i) HR_TRY(hr_program_replace(p, (hr_value_t){n, i}, (hr_value_t){by, i}));
  return hr_program_replace_control(p, n, by);
}

static hr_status_t convert_aliases(reread_t* r) {
  for (int64_t i = 0; i < r->alias_count; ++i)
    if (r->convert[r->aliases[i]->id]) HR_TRY(convert_node(r->p, r->aliases[i]));
  return NULL;
}

/* --- fetches -------------------------------------------------------------------------------------------------------------------------- */

/* The root of the group that fetched value v shows, where the step writes it; else -1. */
static int32_t fetched_group(reread_t* r, hr_value_t v) {
  for (const hr_node_t* n = v.node; r->alias_group[n->id] >= 0; n = n->inputs[0].node)
    if (n->attrs.def->node_class != HR_NODE_IDENTITY) return -1;
  if (r->alias_group[v.node->id] >= 0) return r->alias_group[v.node->id];
  if (!hr_dtype_is_ref(hr_value_type(v)) || v.node->attrs.def->node_class == HR_NODE_REF_SWITCH) return -1;
  const int32_t root = group_of(r, v.node->id), writer = r->first_writer[root];
  return writer && (writer != v.node->id || r->next_writer[writer]) ? root : -1;
}

static hr_status_t add_order(hr_program_t* p, hr_node_t* late, const hr_frames_t* frames, hr_node_t* writer) {
  int32_t frame = frames->of_node ? frames->of_node[writer->id] : 0;
  if (frame <= 0) return hr_graph_add_control(p->graph, late, writer);
  while (frames->frames.data[frame].parent > 0) frame = frames->frames.data[frame].parent;
  for (int64_t i = 0; i < frames->node_limit; ++i) { /* the loop's exits; it has one, or nothing would need it */
    hr_node_t* n = p->graph->nodes.data[i];
    if (frames->of_node[i] != frame || !hr_node_class_is_exit(n->attrs.def->node_class)) continue;
    HR_TRY(hr_graph_add_control(p->graph, late, n));
  }
  return NULL;
}

/* Reads fetch i again once its group is written: an Identity that waits for what was fetched and, dead or alive, for the writes. */
static hr_status_t fetch_late(reread_t* r, int32_t i, int32_t root, const hr_frames_t* frames) {
  hr_program_t* p = r->p;
  hr_value_t v = p->fetches[i], ref = v;
  hr_node_t *gate, *late;
  while (!hr_dtype_is_ref(hr_value_type(ref))) ref = ref.node->inputs[0];
  const hr_str_t gate_op = frames->of_node ? HR_STR("ControlTrigger") : HR_STR("NoOp");
  const hr_node_desc_t g = {.op = gate_op, .name = v.node->name, .device = v.node->device};
  HR_TRY(hr_program_add(p, &g, v.node, &gate));
  for (int32_t w = r->first_writer[root]; w; w = r->next_writer[w]) HR_TRY(add_order(p, gate, frames, p->graph->nodes.data[w]));
  hr_node_t* const controls[] = {gate, v.node};
  const hr_named_attr_t type = hr_at_type("T", (int)hr_dtype_base(hr_value_type(v)));
  const hr_node_desc_t d = {.op = HR_STR("Identity"),
                            .name = v.node->name,
                            .device = v.node->device,
                            .inputs = &ref,
                            .input_count = 1,
                            .controls = controls,
                            .control_count = 2,
                            .attrs = &type,
                            .attr_count = 1};
  HR_TRY(hr_program_add(p, &d, v.node, &late));
  late->shapes[0] = hr_value_shape(v);
  p->fetches[i] = (hr_value_t){late, 0};
  p->asked.data[late->id] |= HR_ASKED_FETCH;
  return NULL;
}

static hr_status_t find_frames(reread_t* r, hr_frames_t* out) {
  if (!hr_program_has_flow(r->p)) return NULL;
  HR_TRY(hr_program_finish(r->p));
  return hr_frames_find(r->p->live, r->p->live_count, r->p->graph->nodes.count, out);
}

static hr_status_t order_fetches(reread_t* r) {
  hr_frames_t frames = {0};
  hr_status_t status = NULL;
  bool found = false;
  for (int32_t i = 0; i < r->p->fetch_count && !status; ++i) {
    const int32_t root = fetched_group(r, r->p->fetches[i]);
    if (root < 0) continue;
    if (!found) status = find_frames(r, &frames);
    found = true;
    if (!status) status = fetch_late(r, i, root, &frames);
  }
  hr_frames_deinit(&frames);
  return status;
}

/* --- pass ----------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t reread_init(reread_t* r, hr_program_t* p) {
  const size_t n = (size_t)p->graph->nodes.count;
  *r = (reread_t){.p = p, .count = (int64_t)n};
  r->group = hr_alloc_array(5 * n, sizeof *r->group);
  r->behind_any = hr_alloc_zero(2 * n);
  r->stack = hr_alloc_array(2 * n, sizeof *r->stack);
  if (!r->group || !r->behind_any || !r->stack) return hr_status_out_of_memory();
  r->first_writer = r->group + n;
  r->next_writer = r->first_writer + n;
  r->alias_group = r->next_writer + n;
  r->seen = r->alias_group + n;
  r->convert = r->behind_any + n;
  r->aliases = r->stack + n;
  for (size_t i = 0; i < n; ++i) {
    r->group[i] = (int32_t)i;
    r->alias_group[i] = -1;
    r->first_writer[i] = r->next_writer[i] = r->seen[i] = 0;
  }
  return NULL;
}

hr_status_t hr_pass_reread(hr_program_t* p, const hr_session_options_t* o) {
  (void)o;
  if (!any_writes(p)) return NULL;
  reread_t r;
  hr_status_t status = reread_init(&r, p);
  if (!status) {
    find_groups(&r);
    find_aliases(&r);
    choose(&r);
    if (!p->in_parts) status = order_fetches(&r);
  }
  if (!status) status = convert_aliases(&r);
  hr_free(r.group);
  hr_free(r.behind_any);
  hr_free(r.stack);
  return status;
}
