/* SPDX-License-Identifier: Apache-2.0 */
/* The placer: groups first (place_groups.c), then one walk in topological order, then constants and other nodes without inputs, which go
 * with those that read them. Shape, Size and Rank go with their input. All of these only where their own request allows it. */
#include "session/place.h"
#include <stdio.h>
#include "exec/own.h"
#include "headrace/device.h"
#include "op/node_class.h"
#include "session/place_groups.h"

/* --- what one signature tells the next ------------------------------------------------------------------------------------------------ */

struct hr_place_memory {
  hr_mutex_t mu;
  hr_arena_t names;  /* guarded by mu, like below: nodes of function bodies die with their program */
  hr_map_t device_of;
};

hr_status_t hr_place_memory_create(hr_place_memory_t** out) {
  hr_place_memory_t* m = hr_alloc_zero(sizeof *m);
  if (!m) return hr_status_out_of_memory();
  hr_mutex_init(&m->mu);
  hr_arena_init(&m->names);
  hr_map_init(&m->device_of);
  *out = m;
  return NULL;
}

void hr_place_memory_destroy(hr_place_memory_t* m) {
  if (!m) return;
  hr_map_deinit(&m->device_of);
  hr_arena_deinit(&m->names);
  hr_mutex_deinit(&m->mu);
  hr_free(m);
}

int32_t hr_place_memory_find(hr_place_memory_t* m, hr_str_t name) {
  uintptr_t device;
  hr_mutex_lock(&m->mu);
  const bool found = hr_map_find(&m->device_of, name, &device);
  hr_mutex_unlock(&m->mu);
  return found ? (int32_t)device : -1;
}

static hr_status_t memory_keep(hr_place_memory_t* m, hr_str_t name, int32_t device) {
  hr_status_t status = NULL;
  hr_mutex_lock(&m->mu);
  if (!hr_map_find(&m->device_of, name, NULL)) {
    char* copy = hr_arena_array(&m->names, name.size + 1, 1);
    if (copy && name.size) memcpy(copy, name.data, name.size);
    status = copy ? hr_map_set(&m->device_of, (hr_str_t){copy, name.size}, (uintptr_t)device) : hr_status_out_of_memory();
  }
  hr_mutex_unlock(&m->mu);
  return status;
}

static bool is_remembered(const hr_place_groups_t* g, const hr_node_t* n) {
  return g->how->memory && n->attrs.def->op->flags & HR_OP_STATEFUL;
}

/* --- which device --------------------------------------------------------------------------------------------------------------------- */

static bool type_is_cpu(const hr_device_t* d) { return hr_str_is((hr_str_t){d->type, strlen(d->type)}, "CPU"); }

static bool types_are_plain(const int32_t* types, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (!hr_dtype_is_plain((hr_dtype_t)types[i])) return false;
  return true;
}

static bool some_device_has_own_kernel(const hr_place_groups_t* g, const hr_node_t* n) {
  const hr_device_set_t* set = g->how->devices;
  for (int32_t i = 0; i < set->count; ++i)
    if (hr_own_kernel(set->devices[i], n)) return true;
  return false;
}

/* Bytes that can be copied from one memory to another, and which follow from the inputs unless a device has a kernel of its own. */
static bool may_leave_host(const hr_place_groups_t* g, const hr_node_t* n) {
  const int class = n->attrs.def->node_class;
  const bool common = class == HR_NODE_ORDINARY || class == HR_NODE_CONST || class == HR_NODE_IDENTITY || class == HR_NODE_NO_OP;
  return common && types_are_plain(n->input_types, n->input_count) && types_are_plain(n->output_types, n->output_count) &&
         (!hr_program_is_fixed(n) || some_device_has_own_kernel(g, n));
}

/* A device with a table has kernels of its own or runs the host's on its memory; of other tasks' devices that are no CPUs nothing is
 * known, so they get what asks for their type. */
static bool device_runs(hr_place_groups_t* g, const hr_device_t* d, const hr_node_t* n, int32_t wish) {
  if (type_is_cpu(d)) return true;
  if (d->is_remote) return g->wishes.data[wish].name.type.size > 0;
  if (!d->table || g->marks[hr_place_root(g, n->id)] & HR_PLACE_HOST_ONLY) return false;
  return hr_own_kernel(d, n) || (!hr_program_is_fixed(n) && (d->table->launch_host || hr_own_passes_on(n)));
}

static __attribute__((noinline, cold)) hr_status_t no_device(const hr_place_groups_t* g, const hr_node_t* n, int32_t wish) {
  enum { MOST_NAMED = 16 };
  const hr_device_set_t* set = g->how->devices;
  const hr_wish_t* w = &g->wishes.data[wish];
  hr_strbuf_t b;
  hr_strbuf_init(&b);
  for (int32_t i = 0; i < set->count && i < MOST_NAMED; ++i) hr_strbuf_format(&b, "%s%s", i ? ", " : "", set->devices[i]->name);
  if (set->count > MOST_NAMED) hr_strbuf_format(&b, ", and %d more", (int)(set->count - MOST_NAMED));
  const char* advice = w->first >= 0     ? "none of those it names has a kernel for it"
                       : g->how->soft ? "make sure the specification refers to a job and task that are there"
                                      : "make sure the specification refers to a valid device; allow_soft_placement would let it run there";
  hr_status_t status = HR_ERROR(
      INVALID_ARGUMENT,
      "Cannot assign a device for operation '%s' (%s): it was explicitly assigned to %.*s but available devices are [ %.*s ]; %s",
      n->name.data, n->attrs.def->name.data, HR_STR_ARG(w->text), HR_STR_ARG(hr_strbuf_view(&b)), advice);
  hr_strbuf_deinit(&b);
  return status;
}

static bool may_lie(hr_place_groups_t* g, const hr_node_t* n, int32_t wish, int32_t device) {
  return device >= 0 && hr_place_accepts(g, wish, device) && device_runs(g, g->how->devices->devices[device], n, wish);
}

static hr_status_t choose_device(hr_place_groups_t* g, const hr_node_t* n, int32_t wish, int32_t* out) {
  const hr_device_set_t* set = g->how->devices;
  for (int32_t i = 0; i < set->count; ++i) { /* those that are preferred to the host */
    const HR_DeviceTable* table = set->devices[i]->table;
    if (!table || table->priority <= 0 || !may_lie(g, n, wish, i)) continue;
    *out = i;
    return NULL;
  }
  for (int32_t i = g->wishes.data[wish].first; i >= 0 && i < set->count; ++i) {
    if (!hr_place_accepts(g, wish, i) || !device_runs(g, set->devices[i], n, wish)) continue;
    *out = i;
    return NULL;
  }
  for (int32_t i = 0; g->how->soft && i < set->count; ++i) { /* type and number do not count, job and task do */
    hr_device_name_t looser = g->wishes.data[wish].name;
    looser.type = HR_STR(""), looser.id = -1;
    if (!hr_device_name_accepts(&looser, &set->devices[i]->parts) || !device_runs(g, set->devices[i], n, wish)) continue;
    *out = i;
    return NULL;
  }
  return no_device(g, n, wish);
}

static bool is_metadata(const hr_node_t* n) {
  const hr_str_t op = n->attrs.def->name;
  return n->input_count == 1 && (hr_str_is(op, "Shape") || hr_str_is(op, "Size") || hr_str_is(op, "Rank"));
}

static bool is_generator(const hr_place_groups_t* g, const hr_node_t* n) {
  return n->input_count == 0 && n->output_count == 1 && n->attrs.def->node_class != HR_NODE_ARG && !(g->marks[n->id] & HR_PLACE_GROUPED) &&
         g->parent[n->id] == n->id && !hr_dtype_is_ref(n->output_types[0]);
}

/* The device of all that read and wait for a node; -1 when they differ or there is none. */
static int32_t readers_device(const hr_place_groups_t* g, const hr_node_t* n) {
  const int32_t* device_of = g->p->device_of.data;
  int32_t device = -1;
  for (int64_t i = 0; i < n->consumers.count + n->control_consumers.count; ++i) {
    const hr_node_t* reader = i < n->consumers.count ? n->consumers.data[i].node : n->control_consumers.data[i - n->consumers.count];
    if (device >= 0 && device_of[reader->id] != device) return -1;
    device = device_of[reader->id];
    if (device < 0) return -1;
  }
  return device;
}

static hr_status_t place_node(hr_place_groups_t* g, const hr_node_t* n, int32_t neighbour) {
  int32_t* device_of = g->p->device_of.data;
  const int32_t root = hr_place_root(g, n->id), wish = g->wish_of[root];
  int32_t device = is_remembered(g, n) ? hr_place_memory_find(g->how->memory, n->name) : -1;
  if (device < 0) device = device_of[root];
  if (device < 0 && may_lie(g, n, wish, neighbour)) device = neighbour;
  if (device < 0) HR_TRY(choose_device(g, n, wish, &device));
  if (device_of[root] < 0) device_of[root] = device;
  device_of[n->id] = device;
  return is_remembered(g, n) ? memory_keep(g->how->memory, n->name, device) : NULL;
}

/* The first remembered node of a group says where the group lies, also for those before it. */
static hr_status_t recall_groups(hr_place_groups_t* g) {
  const hr_graph_t* graph = g->p->graph;
  int32_t* device_of = g->p->device_of.data;
  if (!g->how->memory) return NULL;
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    if (is_remembered(g, n) && hr_place_memory_find(g->how->memory, n->name) < 0) HR_TRY(hr_place_groups_follow(g, n, &device_of[i]));
  }
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    if (!is_remembered(g, n)) continue;
    const int32_t root = hr_place_root(g, n->id), known = hr_place_memory_find(g->how->memory, n->name);
    const int32_t device = known >= 0 ? known : device_of[i];
    if (device >= 0 && device_of[root] < 0) device_of[root] = device;
  }
  return NULL;
}

/* Where one node must stay on the host, so must all it lies with. */
static void mark_host_only(hr_place_groups_t* g) {
  const hr_graph_t* graph = g->p->graph;
  bool any = false;
  for (int32_t i = 0; i < g->how->devices->count; ++i) any |= g->how->devices->devices[i]->table != NULL;
  for (int64_t i = 0; any && i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    if (!may_leave_host(g, n)) g->marks[hr_place_root(g, n->id)] |= HR_PLACE_HOST_ONLY;
  }
}

static hr_status_t place_among(hr_place_groups_t* g) {
  const hr_graph_t* graph = g->p->graph;
  int32_t* device_of = g->p->device_of.data;
  HR_TRY(hr_place_groups_find(g));
  HR_TRY(recall_groups(g));
  mark_host_only(g);
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    if (is_generator(g, n)) continue;
    if (n->attrs.def->node_class == HR_NODE_ARG) device_of[i] = 0;
    else HR_TRY(place_node(g, n, is_metadata(n) ? device_of[n->inputs[0].node->id] : -1));
  }
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    if (is_generator(g, n)) HR_TRY(place_node(g, n, readers_device(g, n)));
  }
  return NULL;
}

/* There is one device: whoever asks for another cannot be placed; nothing else is to be found out. */
static hr_status_t place_alone(hr_place_groups_t* g) {
  const hr_graph_t* graph = g->p->graph;
  for (int64_t i = 0; i < graph->nodes.count; ++i) {
    const hr_node_t* n = graph->nodes.data[i];
    int32_t wish = 0;
    g->p->device_of.data[i] = 0;
    if (n->device.size == 0 || n->attrs.def->node_class == HR_NODE_ARG) continue;
    HR_TRY(hr_place_wish(g, n, &wish));
    if (g->wishes.data[wish].first < 0) return no_device(g, n, wish);
  }
  return NULL;
}

static void name_devices(hr_program_t* p, const hr_device_set_t* set, bool log) {
  for (int64_t i = 0; i < p->graph->nodes.count; ++i) {
    hr_node_t* n = p->graph->nodes.data[i];
    n->device = hr_str(set->devices[p->device_of.data[i]]->name);
    if (log && n->attrs.def->node_class != HR_NODE_ARG)
      printf("%s: (%s): %s\n", n->name.data, n->attrs.def->name.data, n->device.data);
  }
  if (log) fflush(stdout);
}

hr_status_t hr_place_program(hr_program_t* p, const hr_placing_t* how) {
  hr_place_groups_t g;
  hr_status_t status = hr_place_groups_init(&g, p, how);
  if (!status) status = how->devices->count == 1 && type_is_cpu(how->devices->devices[0]) ? place_alone(&g) : place_among(&g);
  hr_place_groups_deinit(&g);
  if (status) return status;
  hr_device_set_release(p->devices);
  p->devices = hr_device_set_retain(how->devices);
  name_devices(p, how->devices, how->log);
  return NULL;
}
