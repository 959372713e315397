/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: label every live node with its part, then go through all edges in order and replace those that cross. Readers left behind in
 * another part are taken out of consumer lists at the end, once for each list. Linear in nodes and edges. */
#include "session/partition.h"
#include "graph/edges.h"
#include "session/partition_state.h"

/* --- labels --------------------------------------------------------------------------------------------------------------------------- */

/* Devices of one part have one representative, the first of their task. */
static int32_t representative(const hr_device_set_t* set, hr_partition_by_t by, int32_t device) {
  for (int32_t i = 0; by == HR_PARTITION_BY_TASK && i < device; ++i)
    if (hr_device_same_task(set->devices[i], set->devices[device])) return i;
  return device;
}

static hr_status_t label_nodes(hr_partition_state_t* s, hr_partition_by_t by) {
  const hr_program_t* p = s->p;
  const int64_t limit = p->graph->nodes.count;
  s->part_of_device = hr_alloc_array((size_t)s->devices->count + 1, sizeof *s->part_of_device);
  if (!s->part_of_device) return hr_status_out_of_memory();
  HR_TRY(hr_vec_reserve(&s->part_of, limit));
  HR_TRY(hr_vec_reserve(&s->first_transfer, limit));
  for (int64_t i = 0; i < limit; ++i) s->part_of.data[i] = s->first_transfer.data[i] = -1;
  s->part_of.count = s->first_transfer.count = limit;
  for (int64_t i = 0; i < p->live_count; ++i) s->part_of.data[p->live[i]->id] = 0; /* live; hr_partition_move_flow asks */
  hr_partition_move_flow(s);
  for (int64_t i = 0; i < p->live_count; ++i) s->part_of_device[hr_place_of(p, p->live[i])] = 1;
  for (int32_t d = 0; d < s->devices->count; ++d) {
    const int32_t r = representative(s->devices, by, d);
    if (r < d && s->part_of_device[d]) s->part_of_device[r] = 1;
  }
  for (int32_t d = 0; d < s->devices->count; ++d) {
    const int32_t r = representative(s->devices, by, d);
    if (r < d) s->part_of_device[d] = s->part_of_device[r];
    else s->part_of_device[d] = s->part_of_device[d] ? s->part_count++ : -1;
  }
  for (int64_t i = 0; i < p->live_count; ++i) s->part_of.data[p->live[i]->id] = s->part_of_device[hr_place_of(p, p->live[i])];
  return NULL;
}

/* --- edges ---------------------------------------------------------------------------------------------------------------------------- */

static hr_status_t refuse_reference(const hr_node_t* src, const hr_node_t* dst) {
  return HR_ERROR(INVALID_ARGUMENT, "a reference cannot go from '%s' on %.*s to '%s' on %.*s: a variable and what writes it lie together",
                  src->name.data, HR_STR_ARG(src->device), dst->name.data, HR_STR_ARG(dst->device));
}

static hr_status_t cross_input(hr_partition_state_t* s, hr_node_t* dst, int32_t at, int32_t edge) {
  hr_node_t* end;
  const hr_value_t v = dst->inputs[at];
  if (hr_dtype_is_ref(dst->input_types[at])) return refuse_reference(v.node, dst);
  HR_TRY(hr_partition_bring(s, v.node, v.index, dst, edge, &end));
  HR_TRY(hr_edges_add(s->p->graph, (hr_value_t){end, 0}, dst, at));
  dst->inputs[at] = (hr_value_t){end, 0};
  return NULL;
}

static hr_status_t cross_control(hr_partition_state_t* s, hr_node_t* dst, int32_t at, int32_t edge) {
  hr_node_t* end;
  HR_TRY(hr_partition_bring(s, dst->controls[at], HR_EDGE_CONTROL, dst, edge, &end));
  HR_TRY(hr_edges_add_control(s->p->graph, end, dst));
  dst->controls[at] = end;
  return NULL;
}

static hr_status_t walk_node(hr_partition_state_t* s, hr_node_t* dst) {
  const int32_t part = s->part_of.data[dst->id], data = dst->input_count, count = data + dst->control_count;
  int32_t before = 0;
  HR_TRY(hr_vec_push(&s->sequence, dst));
  for (int32_t i = 0; i < count; ++i) {
    const hr_node_t* src = i < data ? dst->inputs[i].node : dst->controls[i - data];
    if (!src) return HR_ERROR(INVALID_ARGUMENT, "input %d of node '%s' is missing", (int)i, dst->name.data);
    const int32_t edge = hr_partition_edge(s, src, dst, i, &before);
    if (s->part_of.data[src->id] == part) continue;
    HR_TRY(i < data ? cross_input(s, dst, i, edge) : cross_control(s, dst, i - data, edge));
  }
  return NULL;
}

/* Nodes of control loops: only a Switch's predicate may come from elsewhere. */
static hr_status_t walk_extra(hr_partition_state_t* s, hr_node_t* n) {
  HR_TRY(hr_vec_push(&s->sequence, n));
  if (n->input_count != 2 || s->part_of.data[n->inputs[1].node->id] == s->part_of.data[n->id]) return NULL;
  const hr_control_loop_t* loop = hr_partition_loop_of(s, n->inputs[1].node, n);
  if (!loop) return HR_ERROR(INTERNAL, "the control loop at '%s' is not known", n->name.data);
  return cross_input(s, n, 1, loop->edge + 2);
}

static bool stays(const hr_partition_state_t* s, const hr_node_t* n, const hr_node_t* reader) {
  const int32_t part = s->part_of.data[reader->id];
  return part < 0 || part == s->part_of.data[n->id];
}

static void forget_readers(hr_partition_state_t* s, hr_node_t* n) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n->consumers.count; ++i)
    if (stays(s, n, n->consumers.data[i].node)) n->consumers.data[kept++] = n->consumers.data[i];
  n->consumers.count = kept;
  kept = 0;
  for (int64_t i = 0; i < n->control_consumers.count; ++i)
    if (stays(s, n, n->control_consumers.data[i])) n->control_consumers.data[kept++] = n->control_consumers.data[i];
  n->control_consumers.count = kept;
}

static hr_status_t keep_program(hr_partition_state_t* s) { /* it is one part */
  for (int64_t i = 0; i < s->p->live_count; ++i) HR_TRY(hr_vec_push(&s->sequence, s->p->live[i]));
  return NULL;
}

static hr_status_t walk_program(hr_partition_state_t* s) {
  const hr_program_t* p = s->p;
  HR_TRY(hr_partition_number(s));
  HR_TRY(hr_partition_find_loops(s));
  for (int64_t i = 0; i < p->live_count; ++i) HR_TRY(walk_node(s, p->live[i]));
  for (int64_t i = 0; i < s->extra.count; ++i) HR_TRY(walk_extra(s, s->extra.data[i]));
  for (int64_t i = 0; i < p->live_count; ++i) forget_readers(s, p->live[i]);
  return NULL;
}

/* --- the result ----------------------------------------------------------------------------------------------------------------------- */

static hr_status_t cut_parts(hr_partition_state_t* s, hr_partition_t* out) {
  hr_program_t* p = s->p;
  hr_arena_t* arena = &p->graph->arena;
  out->count = s->part_count;
  out->parts = hr_arena_array(arena, (size_t)s->part_count, sizeof *out->parts);
  out->part_of = hr_arena_array(arena, (size_t)s->part_of.count, sizeof *out->part_of);
  hr_node_t** nodes = hr_arena_array(arena, (size_t)s->sequence.count, sizeof *nodes);
  if (!out->parts || !out->part_of || !nodes) return hr_status_out_of_memory();
  if (s->part_of.count) memcpy(out->part_of, s->part_of.data, (size_t)s->part_of.count * sizeof *out->part_of);
  for (int32_t d = s->devices->count; d-- > 0;)
    if (s->part_of_device[d] >= 0) out->parts[s->part_of_device[d]].device = d;
  for (int64_t i = 0; i < s->sequence.count; ++i) ++out->parts[out->part_of[s->sequence.data[i]->id]].node_count;
  for (int32_t i = 0; i < out->count; ++i) {
    out->parts[i].nodes = nodes;
    nodes += out->parts[i].node_count;
    out->parts[i].node_count = 0;
  }
  for (int64_t i = 0; i < s->sequence.count; ++i) {
    hr_part_t* part = &out->parts[out->part_of[s->sequence.data[i]->id]];
    part->nodes[part->node_count++] = s->sequence.data[i];
  }
  return NULL;
}

static void state_deinit(hr_partition_state_t* s) {
  hr_free(s->part_of_device);
  hr_free(s->edge_base);
  hr_free(s->feed_edges);
  hr_vec_deinit(&s->part_of);
  hr_vec_deinit(&s->sequence);
  hr_vec_deinit(&s->extra);
  hr_vec_deinit(&s->transfers);
  hr_vec_deinit(&s->first_transfer);
  hr_vec_deinit(&s->loops);
  hr_map_deinit(&s->loop_of);
  hr_frames_deinit(&s->frames);
}

hr_status_t hr_partition_program(hr_program_t* p, const hr_device_set_t* devices, hr_partition_by_t by, const char* suffix,
                                 int64_t* number, hr_partition_t* out) {
  hr_partition_state_t s = {.p = p, .devices = devices, .suffix = suffix, .next_name = number ? *number : 0};
  *out = (hr_partition_t){0};
  hr_map_init(&s.loop_of);
  hr_status_t status = label_nodes(&s, by);
  if (!status) status = hr_vec_reserve(&s.sequence, p->live_count);
  if (!status) status = s.part_count == 1 ? keep_program(&s) : walk_program(&s);
  if (!status) status = cut_parts(&s, out);
  if (number) *number = s.next_name;
  state_deinit(&s);
  return status;
}
