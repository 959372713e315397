/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that span parts. A part that receives inside a frame gets a control loop there: Enter, Merge, Switch, NextIteration over an empty
 * constant, turned by the LoopCond of the part that has it. Its Merge starts the receives of each iteration. Frames within frames: the
 * constant of the inner loop waits for the outer loop's Merge. */
#include "op/node_class.h"
#include "session/partition_state.h"

/* --- neighbours ----------------------------------------------------------------------------------------------------------------------- */

static void move_beside(hr_partition_state_t* s, hr_node_t* n, const hr_node_t* neighbour) {
  if (s->devices->devices[hr_place_of(s->p, neighbour)]->table) return; /* control flow is the host's: it looks at values */
  s->p->device_of.data[n->id] = s->p->device_of.data[neighbour->id];
  n->device = neighbour->device;
}

static const hr_node_t* first_reader(const hr_partition_state_t* s, const hr_node_t* n) {
  for (int64_t i = 0; i < n->consumers.count; ++i)
    if (s->part_of.data[n->consumers.data[i].node->id] >= 0) return n->consumers.data[i].node;
  return NULL;
}

/* References are not moved: they lie with their variable. */
void hr_partition_move_flow(hr_partition_state_t* s) {
  const hr_program_t* p = s->p;
  for (int64_t i = 0; i < p->live_count; ++i) {
    hr_node_t* n = p->live[i];
    const int class = n->attrs.def->node_class;
    if (hr_node_class_is_control_flow(class)) s->has_frames = true;
    if ((class == HR_NODE_SWITCH || class == HR_NODE_EXIT) && n->inputs[0].node) move_beside(s, n, n->inputs[0].node);
  }
  for (int64_t i = p->live_count; s->has_frames && i-- > 0;) {
    hr_node_t* n = p->live[i];
    const int class = n->attrs.def->node_class;
    const hr_node_t* reader = class == HR_NODE_ENTER || class == HR_NODE_NEXT_ITERATION ? first_reader(s, n) : NULL;
    if (reader) move_beside(s, n, reader);
  }
}

/* --- control loops -------------------------------------------------------------------------------------------------------------------- */

static int32_t find_loop(const hr_partition_state_t* s, int32_t frame, int32_t part) { /* -1: none */
  uintptr_t at;
  const void* key = (const void*)(((uintptr_t)(uint32_t)frame << 32) | ((uintptr_t)(uint32_t)part + 1));
  return hr_map_find_ptr(&s->loop_of, key, &at) ? (int32_t)at : -1;
}

static hr_status_t keep_loop(hr_partition_state_t* s, hr_control_loop_t loop) {
  const void* key = (const void*)(((uintptr_t)(uint32_t)loop.frame << 32) | ((uintptr_t)(uint32_t)loop.part + 1));
  HR_TRY(hr_vec_push(&s->loops, loop));
  return hr_map_set_ptr(&s->loop_of, key, (uintptr_t)(s->loops.count - 1));
}

typedef struct {
  hr_partition_state_t* s;
  hr_node_t* like;
  hr_str_t base;
  int64_t number; /* names in the order Enter, Merge, Switch, NextIteration, Const */
} loop_maker_t;

static hr_status_t make_node(loop_maker_t* m, const char* op, int place, const hr_value_t* inputs, int32_t count, hr_node_t** out) {
  const hr_named_attr_t type = hr_at_type("T", HR_F32);
  const hr_node_desc_t d = {.op = hr_str(op), .inputs = inputs, .input_count = count, .attrs = &type, .attr_count = 1,
                            .allow_missing_inputs = true};
  return hr_partition_add(m->s, &d, m->base, m->number + place, m->like, out);
}

static hr_status_t make_start(loop_maker_t* m, hr_node_t* waits_for, hr_node_t** out) {
  const hr_shape_t none = hr_shape_vector(0);
  hr_tensor_t empty = {0};
  HR_TRY(hr_tensor_create(HR_F32, &none, &empty));
  const hr_named_attr_t attrs[] = {hr_at_type("dtype", HR_F32), hr_at_tensor("value", &empty)};
  const hr_node_desc_t d = {.op = HR_STR("Const"), .controls = &waits_for, .control_count = waits_for ? 1 : 0, .attrs = attrs,
                            .attr_count = 2};
  hr_status_t status = hr_partition_add(m->s, &d, m->like->name, m->number + 4, m->like, out);
  hr_tensor_release(&empty);
  return status;
}

static hr_status_t make_enter(loop_maker_t* m, const hr_frame_info_t* f, hr_node_t* start, hr_node_t** out) {
  const hr_value_t input = {start, 0};
  const hr_named_attr_t attrs[] = {hr_at_type("T", HR_F32), hr_at("frame_name", HR_AT_SCALAR(HR_ATTR_STRING, s, f->name)),
                                   hr_at_int("parallel_iterations", f->parallel_iterations)};
  const hr_node_desc_t d = {.op = HR_STR("Enter"), .inputs = &input, .input_count = 1, .attrs = attrs, .attr_count = 3};
  return hr_partition_add(m->s, &d, m->base, m->number, m->like, out);
}

static hr_status_t make_loop(loop_maker_t* m, int32_t frame, hr_node_t* outer_merge, hr_control_loop_t* out) {
  hr_partition_state_t* s = m->s;
  const hr_frame_info_t* f = &s->frames.frames.data[frame];
  hr_node_t *start, *enter, *next;
  if (!f->loop_cond)
    return HR_ERROR(INVALID_ARGUMENT, "the loop '%.*s' spans devices (at node '%s') but has no LoopCond", HR_STR_ARG(f->name),
                    m->like->name.data);
  HR_TRY(make_start(m, outer_merge, &start));
  HR_TRY(make_enter(m, f, start, &enter));
  const hr_value_t merged[] = {{enter, 0}, {NULL, 0}};
  HR_TRY(make_node(m, "Merge", 1, merged, 2, &out->merge));
  const hr_value_t turned[] = {{out->merge, 0}, {f->loop_cond, 0}};
  HR_TRY(make_node(m, "Switch", 2, turned, 2, &out->turn));
  const hr_value_t on = {out->turn, 1};
  HR_TRY(make_node(m, "NextIteration", 3, &on, 1, &next));
  HR_TRY(hr_graph_set_input(s->p->graph, out->merge, 1, (hr_value_t){next, 0}));
  hr_node_t* const all[] = {enter, out->merge, out->turn, next, start};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) HR_TRY(hr_vec_push(&s->extra, all[i]));
  return NULL;
}

/* The loop of a frame in dst's part, after those of the frames around it. */
static hr_status_t get_loop(hr_partition_state_t* s, int32_t frame, hr_node_t* dst) {
  const int32_t part = s->part_of.data[dst->id];
  if (frame == 0 || find_loop(s, frame, part) >= 0) return NULL;
  const int32_t parent = s->frames.frames.data[frame].parent;
  HR_TRY(get_loop(s, parent, dst)); /* as deep as loops are nested, which the frame analysis bounds */
  hr_strbuf_t b;
  loop_maker_t m = {.s = s, .like = dst, .number = s->next_name};
  hr_strbuf_init(&b);
  hr_strbuf_format(&b, "_cloop%.*s", HR_STR_ARG(dst->name));
  m.base = hr_strbuf_view(&b);
  hr_control_loop_t loop = {.frame = frame, .part = part, .edge = s->next_edge};
  s->next_name += 5;
  s->next_edge += 3;
  const int32_t outer = find_loop(s, parent, part);
  hr_status_t status = b.failed ? hr_status_out_of_memory() : make_loop(&m, frame, outer >= 0 ? s->loops.data[outer].merge : NULL, &loop);
  hr_strbuf_deinit(&b);
  return status ? status : keep_loop(s, loop);
}

static hr_status_t find_loops_of(hr_partition_state_t* s, hr_node_t* dst) {
  const int32_t part = s->part_of.data[dst->id];
  for (int32_t i = 0; i < dst->input_count + dst->control_count; ++i) {
    const hr_node_t* src = i < dst->input_count ? dst->inputs[i].node : dst->controls[i - dst->input_count];
    if (src && s->part_of.data[src->id] != part) HR_TRY(get_loop(s, hr_frames_of_output(&s->frames, src), dst));
  }
  return NULL;
}

hr_status_t hr_partition_find_loops(hr_partition_state_t* s) {
  const hr_program_t* p = s->p;
  if (!s->has_frames) return NULL;
  HR_TRY(hr_frames_find(p->live, p->live_count, p->graph->nodes.count, &s->frames));
  for (int64_t i = 0; i < p->live_count; ++i) HR_TRY(find_loops_of(s, p->live[i]));
  return NULL;
}

const hr_control_loop_t* hr_partition_loop_of(const hr_partition_state_t* s, const hr_node_t* src, const hr_node_t* dst) {
  if (!s->has_frames) return NULL;
  const int32_t at = find_loop(s, hr_frames_of_output(&s->frames, src), s->part_of.data[dst->id]);
  return at >= 0 ? &s->loops.data[at] : NULL;
}
