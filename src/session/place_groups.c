/* SPDX-License-Identifier: Apache-2.0 */
/* Groups. What unites: a `_class` entry "loc:@name", an input that takes a reference, an input that takes a resource's handle. A node
 * colocated with one that this run does not need follows that one's request all the same, so it is looked up in the graph the program was
 * copied from. */
#include "session/place_groups.h"
#include <strings.h>
#include "graph/names.h"
#include "op/node_class.h"

static int32_t first_accepted(const hr_device_set_t* set, const hr_device_name_t* name) { /* -1: none */
  for (int32_t i = 0; i < set->count; ++i)
    if (hr_device_name_accepts(name, &set->devices[i]->parts)) return i;
  return -1;
}

/* With soft placement a type or number that is not there is not asked for. */
static hr_status_t wish_add(hr_place_groups_t* g, hr_wish_t wish, int32_t* out) {
  wish.first = first_accepted(g->how->devices, &wish.name);
  if (wish.first < 0 && g->how->soft) {
    wish.name.type = HR_STR(""), wish.name.id = -1;
    wish.first = first_accepted(g->how->devices, &wish.name);
  }
  HR_TRY(hr_vec_push(&g->wishes, wish));
  *out = (int32_t)(g->wishes.count - 1);
  return NULL;
}

static hr_status_t wish_of_text(hr_place_groups_t* g, hr_str_t text, int32_t* out) {
  uintptr_t known;
  if (text.size == 0) {
    *out = 0;
    return NULL;
  }
  if (text.data == g->last_text) {
    *out = g->last_wish;
    return NULL;
  }
  if (hr_map_find(&g->by_text, text, &known)) {
    *out = (int32_t)known;
  } else {
    hr_wish_t wish = {.text = text};
    HR_TRY(hr_device_name_parse(text, &wish.name));
    HR_TRY(wish_add(g, wish, out));
    HR_TRY(hr_map_set(&g->by_text, text, (uintptr_t)*out));
  }
  g->last_text = text.data;
  g->last_wish = *out;
  return NULL;
}

hr_status_t hr_place_wish(hr_place_groups_t* g, const hr_node_t* n, int32_t* out) {
  hr_status_t status = wish_of_text(g, n->device, out);
  return status ? hr_status_note(status, "node '%s': ", n->name.data) : NULL;
}

bool hr_place_accepts(const hr_place_groups_t* g, int32_t wish, int32_t d) {
  return hr_device_name_accepts(&g->wishes.data[wish].name, &g->how->devices->devices[d]->parts);
}

/* --- merging -------------------------------------------------------------------------------------------------------------------------- */

static bool merge_text(hr_str_t a, hr_str_t* io) {
  if (io->size == 0) *io = a;
  return a.size == 0 || hr_str_equal(a, *io);
}

static bool merge_type(hr_str_t a, hr_str_t* io) { /* "/cpu:0" and "/device:CPU:0" agree */
  if (io->size == 0) *io = a;
  return a.size == 0 || (a.size == io->size && strncasecmp(a.data, io->data, a.size) == 0);
}

static bool merge_number(int64_t a, int64_t* io) {
  if (*io < 0) *io = a;
  return a < 0 || a == *io;
}

/* With soft placement types and numbers that disagree are dropped. */
static bool merge_names(const hr_device_name_t* a, bool soft, hr_device_name_t* io) {
  const bool same_place = merge_text(a->job, &io->job) && merge_number(a->replica, &io->replica) && merge_number(a->task, &io->task);
  const bool same_device = merge_type(a->type, &io->type) && merge_number(a->id, &io->id);
  if (!same_device && soft) io->type = HR_STR(""), io->id = -1;
  return same_place && (same_device || soft);
}

static hr_status_t merge_wishes(hr_place_groups_t* g, int32_t a, int32_t b, int32_t* out) { /* -1: they contradict each other */
  if (a == b || b == 0 || a == 0) {
    *out = a ? a : b;
    return NULL;
  }
  if (a == g->merged_a && b == g->merged_b) {
    *out = g->merged;
    return NULL;
  }
  hr_wish_t w = g->wishes.data[a];
  if (merge_names(&g->wishes.data[b].name, g->how->soft, &w.name)) HR_TRY(wish_add(g, w, out));
  else *out = -1;
  g->merged_a = a, g->merged_b = b, g->merged = *out;
  return NULL;
}

/* --- union-find ----------------------------------------------------------------------------------------------------------------------- */

int32_t hr_place_root(hr_place_groups_t* g, int32_t id) {
  while (g->parent[id] != id) id = g->parent[id] = g->parent[g->parent[id]];
  return id;
}

static const hr_node_t* asking_node(hr_place_groups_t* g, int32_t root, int32_t wish) { /* for a message */
  const hr_graph_t* graph = g->p->graph;
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    if (n->device.size && hr_place_root(g, n->id) == root && hr_str_equal(n->device, g->wishes.data[wish].text)) return n;
  }
  return graph->nodes.data[root];
}

/* `yields`: where the two cannot agree, n goes to the other, whatever it asked for. */
static hr_status_t unite(hr_place_groups_t* g, const hr_node_t* n, int32_t other, const char* why, bool yields) {
  int32_t a = hr_place_root(g, n->id), b = hr_place_root(g, other), merged;
  if (a == b) return NULL;
  HR_TRY(merge_wishes(g, g->wish_of[a], g->wish_of[b], &merged));
  if (merged < 0 && yields) merged = g->wish_of[b];
  if (merged < 0) {
    const hr_wish_t *x = &g->wishes.data[g->wish_of[a]], *y = &g->wishes.data[g->wish_of[b]];
    return HR_ERROR(INVALID_ARGUMENT,
                    "Cannot assign a device for operation '%s': %s puts '%s', which was explicitly assigned to %.*s, together with '%s', "
                    "which was explicitly assigned to %.*s",
                    n->name.data, why, asking_node(g, a, g->wish_of[a])->name.data, HR_STR_ARG(x->text),
                    asking_node(g, b, g->wish_of[b])->name.data, HR_STR_ARG(y->text));
  }
  const int32_t root = a < b ? a : b;
  g->parent[a] = g->parent[b] = root;
  g->wish_of[root] = merged;
  g->marks[root] |= HR_PLACE_GROUPED;
  return NULL;
}

/* --- what unites ---------------------------------------------------------------------------------------------------------------------- */

static const hr_attr_t* class_of(const hr_node_t* n) {
  if (n->attrs.extra_count == 0) return NULL;
  const hr_attr_t* a = hr_attrs_find(&n->attrs, "_class");
  return a && a->is_list && a->kind == HR_ATTR_STRING ? a : NULL;
}

static bool class_names(hr_str_t entry, hr_str_t* out) {
  if (!hr_str_has_prefix(entry, HR_STR("loc:@"))) return false;
  *out = hr_str_slice(entry, 5, entry.size);
  return true;
}

static bool is_copy(const hr_program_t* p, const hr_node_t* n) { /* else a pass made it */
  return p->copy.of_source[p->ranks.data[n->id]] == n;
}

static const hr_node_t* find_in_source(const hr_place_groups_t* g, hr_str_t name, hr_str_t* out_device) {
  hr_mutex_t* mu = &((hr_graph_t*)(uintptr_t)g->p->source)->mu;
  hr_mutex_lock(mu);
  const hr_node_t* n = hr_graph_find(g->p->source, name);
  if (n) *out_device = n->device;
  hr_mutex_unlock(mu);
  return n;
}

static bool request_is_full(hr_place_groups_t* g, const hr_node_t* n) {
  return hr_device_name_is_full(&g->wishes.data[g->wish_of[hr_place_root(g, n->id)]].name);
}

/* `n` stands in for the node of that name, which this run does not need; what that one is colocated with, in turn, is next. */
static hr_status_t follow_pruned(hr_place_groups_t* g, const hr_node_t* n, hr_str_t name, hr_str_t* out_next) {
  uintptr_t other;
  hr_str_t device = {0};
  *out_next = HR_STR("");
  if (hr_map_find(&g->pruned, name, &other)) return unite(g, n, (int32_t)other, "colocation", false);
  if (!is_copy(g->p, n)) return NULL; /* of a function's body, where the name is another's */
  const hr_node_t* there = find_in_source(g, name, &device);
  if (!there) {
    if (request_is_full(g, n)) return NULL;
    return HR_ERROR(INVALID_ARGUMENT, "node '%s' expects to be colocated with unknown node '%.*s'", n->name.data, HR_STR_ARG(name));
  }
  HR_TRY(hr_map_set(&g->pruned, there->name, (uintptr_t)n->id));
  int32_t wish, merged, root = hr_place_root(g, n->id);
  HR_TRY(wish_of_text(g, device, &wish));
  HR_TRY(merge_wishes(g, g->wish_of[root], wish, &merged));
  if (merged < 0)
    return HR_ERROR(INVALID_ARGUMENT,
                    "Cannot assign a device for operation '%s': it asks for %.*s, but is colocated with '%s', which asks for %.*s",
                    n->name.data, HR_STR_ARG(g->wishes.data[g->wish_of[root]].text), there->name.data, HR_STR_ARG(device));
  g->wish_of[root] = merged;
  const hr_attr_t* a = class_of(there);
  if (a && a->count > 0) class_names(a->u.ss[0], out_next);
  return NULL;
}

static hr_status_t unite_with(hr_place_groups_t* g, const hr_node_t* n, hr_str_t name) {
  while (name.size > 0 && !hr_str_equal(name, n->name)) {
    HR_TRY(hr_names_index(g->p->graph)); /* at the first name only: a search in a copy without an index is a scan */
    const hr_node_t* other = hr_graph_find(g->p->graph, name);
    if (other) return unite(g, n, other->id, "colocation", false);
    HR_TRY(follow_pruned(g, n, name, &name));
  }
  return NULL;
}

static hr_status_t unite_node(hr_place_groups_t* g, const hr_node_t* n) {
  const hr_attr_t* a = class_of(n);
  hr_str_t name;
  for (int32_t i = 0; a && i < a->count; ++i)
    if (class_names(a->u.ss[i], &name)) HR_TRY(unite_with(g, n, name));
  for (int32_t i = 0; i < n->input_count; ++i) {
    const hr_node_t* from = n->inputs[i].node;
    if (from->attrs.def->node_class == HR_NODE_ARG) continue;
    if (hr_dtype_is_ref(n->input_types[i])) HR_TRY(unite(g, n, from->id, "a reference", true));
    else if (n->input_types[i] == HR_RESOURCE) HR_TRY(unite(g, n, from->id, "a resource", true));
  }
  return NULL;
}

/* --- what other runs will unite ------------------------------------------------------------------------------------------------------- */
/* A variable that nobody has placed yet is placed for good now, so what the whole graph does with it counts, not only what this run does:
 * along references and handles, through nodes that are not in the program too. */

typedef struct {
  hr_place_groups_t* g;
  const hr_node_t* start;             /* in the program */
  hr_map_t seen;                      /* nodes of the source */
  HR_VEC(const hr_node_t*) to_do;
  int32_t remembered;                 /* where one of them lies; -1: none does yet */
} state_walk_t;

static bool carries_state(int32_t type) { return hr_dtype_is_ref(type) || type == HR_RESOURCE; }

static bool holds_state(const hr_node_t* n) {
  if (!(n->attrs.def->op->flags & HR_OP_STATEFUL)) return false;
  for (int32_t i = 0; i < n->output_count; ++i)
    if (carries_state(n->output_types[i])) return true;
  return false;
}

static hr_status_t meet_node(state_walk_t* w, const hr_node_t* m) {
  hr_place_groups_t* g = w->g;
  const hr_program_t* p = g->p;
  int32_t wish, merged;
  if (m->attrs.def->node_class == HR_NODE_PLACEHOLDER || hr_map_find_ptr(&w->seen, m, NULL)) return NULL;
  HR_TRY(hr_map_set_ptr(&w->seen, m, (uintptr_t)m));
  HR_TRY(hr_vec_push(&w->to_do, m));
  if (w->remembered < 0 && holds_state(m)) w->remembered = hr_place_memory_find(g->how->memory, m->name);
  const hr_node_t* copy = m->id < p->copy.source_count ? p->copy.of_source[m->id] : NULL;
  if (copy) return unite(g, copy, w->start->id, "state", true);
  const int32_t root = hr_place_root(g, w->start->id);
  hr_status_t status = wish_of_text(g, m->device, &wish);
  if (status) { /* it is not of this run: whoever runs it will hear of it */
    hr_status_release(status);
    return NULL;
  }
  HR_TRY(merge_wishes(g, g->wish_of[root], wish, &merged));
  if (merged >= 0) g->wish_of[root] = merged;
  return NULL;
}

static hr_status_t walk_state(state_walk_t* w, const hr_node_t* from) {
  HR_TRY(hr_map_set_ptr(&w->seen, from, (uintptr_t)from));
  HR_TRY(hr_vec_push(&w->to_do, from));
  while (w->to_do.count > 0) {
    const hr_node_t* n = w->to_do.data[--w->to_do.count];
    for (int64_t i = 0; i < n->consumers.count; ++i)
      if (carries_state(n->consumers.data[i].node->input_types[n->consumers.data[i].input]))
        HR_TRY(meet_node(w, n->consumers.data[i].node));
    for (int32_t i = 0; i < n->input_count; ++i)
      if (n->inputs[i].node && carries_state(n->input_types[i])) HR_TRY(meet_node(w, n->inputs[i].node));
  }
  return NULL;
}

hr_status_t hr_place_groups_follow(hr_place_groups_t* g, const hr_node_t* n, int32_t* out_remembered) {
  *out_remembered = -1;
  if (!holds_state(n) || !is_copy(g->p, n)) return NULL;
  hr_mutex_t* mu = &((hr_graph_t*)(uintptr_t)g->p->source)->mu;
  state_walk_t w = {.g = g, .start = n, .remembered = -1};
  hr_map_init(&w.seen);
  hr_mutex_lock(mu);
  hr_status_t status = walk_state(&w, g->p->source->nodes.data[g->p->ranks.data[n->id]]);
  hr_mutex_unlock(mu);
  hr_map_deinit(&w.seen);
  hr_vec_deinit(&w.to_do);
  *out_remembered = w.remembered;
  return status;
}

hr_status_t hr_place_groups_find(hr_place_groups_t* g) {
  const hr_graph_t* graph = g->p->graph;
  const size_t count = (size_t)graph->nodes.count;
  g->wish_of = hr_alloc_array(count + 1, sizeof *g->wish_of);
  g->parent = hr_alloc_array(count + 1, sizeof *g->parent);
  g->marks = hr_alloc_array(count + 1, sizeof *g->marks);
  if (!g->wish_of || !g->parent || !g->marks) return hr_status_out_of_memory();
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    g->parent[i] = (int32_t)i;
    if (n->attrs.def->node_class != HR_NODE_ARG) HR_TRY(hr_place_wish(g, n, &g->wish_of[i]));
  }
  for (int64_t i = 0; i < graph->nodes.count; ++i)
    HR_TRY(unite_node(g, graph->nodes.data[i]));
  return NULL;
}

hr_status_t hr_place_groups_init(hr_place_groups_t* g, hr_program_t* p, const hr_placing_t* how) {
  *g = (hr_place_groups_t){.p = p, .how = how, .merged_a = -1};
  hr_map_init(&g->by_text);
  hr_map_init(&g->pruned);
  int32_t nothing;
  return wish_add(g, (hr_wish_t){.name = {.replica = -1, .task = -1, .id = -1}}, &nothing);
}

void hr_place_groups_deinit(hr_place_groups_t* g) {
  hr_vec_deinit(&g->wishes);
  hr_map_deinit(&g->by_text);
  hr_map_deinit(&g->pruned);
  hr_free(g->wish_of);
  hr_free(g->parent);
  hr_free(g->marks);
}
