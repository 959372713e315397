/* SPDX-License-Identifier: Apache-2.0 */
/* A walk along edges from the nodes that wait for nothing. What a node is reached from first says its frame; every other way to it must
 * say the same. */
#include "graph/frames.h"

#include "op/node_class.h"

enum { FRAME_OUTSIDE = -1, FRAME_UNKNOWN = -2 };

typedef struct {
  hr_frames_t* out;
  hr_map_t by_name; /* index in out->frames */
  hr_node_t** queue;
  int64_t head, tail;
} frames_walk_t;

static bool node_enters(const hr_node_t* n) { return hr_node_class_is_enter(n->attrs.def->node_class); }
static bool node_exits(const hr_node_t* n) { return hr_node_class_is_exit(n->attrs.def->node_class); }
static bool node_goes_on(const hr_node_t* n) { return hr_node_class_is_next_iteration(n->attrs.def->node_class); }

static const char* frame_text(const hr_frames_t* f, int32_t frame) {
  return frame == 0 ? "the root frame" : f->frames.data[frame].name.data;
}

static hr_status_t frame_of_enter(frames_walk_t* w, hr_node_t* n, int32_t parent, int32_t* out) {
  hr_frames_t* f = w->out;
  hr_str_t name = hr_attrs_str(&n->attrs, "frame_name");
  int64_t parallel = hr_attrs_int(&n->attrs, "parallel_iterations");
  uintptr_t found;
  if (name.size == 0)
    return HR_ERROR(INVALID_ARGUMENT, "node '%s' (%.*s): an Enter must have a frame name", n->name.data, HR_STR_ARG(n->attrs.def->name));
  if (hr_map_find(&w->by_name, name, &found)) {
    hr_frame_info_t* have = &f->frames.data[found];
    if (have->parent != parent)
      return HR_ERROR(INVALID_ARGUMENT, "node '%s' (%.*s) enters frame '%.*s' from %s, but another Enter does from %s", n->name.data,
                      HR_STR_ARG(n->attrs.def->name), HR_STR_ARG(name), frame_text(f, parent), frame_text(f, have->parent));
    have->enter_count++;
    *out = (int32_t)found;
    return NULL;
  }
  hr_frame_info_t frame = {.name = name,
                           .parent = parent,
                           .enter_count = 1,
                           .parallel_iterations = parallel < 1           ? 1
                                                  : parallel > INT32_MAX ? INT32_MAX
                                                                         : (int32_t)parallel,
                           .depth = f->frames.data[parent].depth + 1};
  *out = (int32_t)f->frames.count;
  HR_TRY(hr_map_set(&w->by_name, name, (uintptr_t)f->frames.count));
  return hr_vec_push(&f->frames, frame);
}

static hr_status_t frame_of_outputs(frames_walk_t* w, hr_node_t* n, int32_t frame, int32_t* out) {
  hr_frames_t* f = w->out;
  *out = frame;
  if (node_enters(n)) return frame_of_enter(w, n, frame, out);
  if (frame == 0 && (node_exits(n) || node_goes_on(n)))
    return HR_ERROR(INVALID_ARGUMENT, "node '%s' (%.*s) stands outside any loop; an Enter should lead to it", n->name.data,
                    HR_STR_ARG(n->attrs.def->name));
  if (node_exits(n)) *out = f->frames.data[frame].parent;
  if (n->attrs.def->node_class == HR_NODE_LOOP_COND && !f->frames.data[frame].loop_cond) f->frames.data[frame].loop_cond = n;
  return NULL;
}

static hr_status_t frames_reach(frames_walk_t* w, hr_node_t* n, int32_t frame, const hr_node_t* from) {
  hr_frames_t* f = w->out;
  int32_t known = n->id < f->node_limit ? f->of_node[n->id] : FRAME_OUTSIDE;
  if (known == FRAME_OUTSIDE || known == frame) return NULL;
  if (known != FRAME_UNKNOWN)
    return HR_ERROR(INVALID_ARGUMENT, "node '%s' (%.*s) has inputs from different frames: '%s' is of %s, another input is of %s",
                    n->name.data, HR_STR_ARG(n->attrs.def->name), from->name.data, frame_text(f, frame), frame_text(f, known));
  f->of_node[n->id] = frame;
  w->queue[w->tail++] = n;
  return frame_of_outputs(w, n, frame, &f->of_output[n->id]);
}

static hr_status_t frames_walk_on(frames_walk_t* w, const hr_node_t* n) {
  int32_t frame = w->out->of_output[n->id];
  for (int64_t i = 0; i < n->consumers.count; ++i) HR_TRY(frames_reach(w, n->consumers.data[i].node, frame, n));
  for (int64_t i = 0; i < n->control_consumers.count; ++i) HR_TRY(frames_reach(w, n->control_consumers.data[i], frame, n));
  return NULL;
}

static bool node_waits(const hr_frames_t* f, const hr_node_t* n) {
  for (int32_t i = 0; i < n->input_count; ++i) {
    const hr_node_t* from = n->inputs[i].node;
    if (from && from->id < f->node_limit && f->of_node[from->id] != FRAME_OUTSIDE) return true;
  }
  for (int32_t i = 0; i < n->control_count; ++i)
    if (n->controls[i]->id < f->node_limit && f->of_node[n->controls[i]->id] != FRAME_OUTSIDE) return true;
  return false;
}

static bool has_flow(hr_node_t* const* nodes, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (hr_node_class_is_control_flow(nodes[i]->attrs.def->node_class)) return true;
  return false;
}

static hr_status_t frames_walk(frames_walk_t* w, hr_node_t* const* nodes, int64_t count) {
  hr_frames_t* f = w->out;
  HR_TRY(hr_vec_push(&f->frames, ((hr_frame_info_t){.name = HR_STR(""), .parent = -1, .parallel_iterations = 1})));
  if (!has_flow(nodes, count)) { /* the usual case of a large graph: nothing to find out */
    for (int64_t i = 0; i < count; ++i) f->of_node[nodes[i]->id] = f->of_output[nodes[i]->id] = 0;
    return NULL;
  }
  w->queue = hr_alloc_array((size_t)count + 1, sizeof *w->queue);
  if (!w->queue) return hr_status_out_of_memory();
  for (int64_t i = 0; i < count; ++i) f->of_node[nodes[i]->id] = FRAME_UNKNOWN;
  for (int64_t i = 0; i < count; ++i)
    if (!node_waits(f, nodes[i])) HR_TRY(frames_reach(w, nodes[i], 0, nodes[i]));
  while (w->head < w->tail) HR_TRY(frames_walk_on(w, w->queue[w->head++]));
  for (int64_t i = 0; i < count; ++i)
    if (f->of_node[nodes[i]->id] == FRAME_UNKNOWN)
      return HR_ERROR(INVALID_ARGUMENT, "node '%s' (%.*s) waits for itself: it is in a loop that no Enter leads to", nodes[i]->name.data,
                      HR_STR_ARG(nodes[i]->attrs.def->name));
  return NULL;
}

hr_status_t hr_frames_find(hr_node_t* const* nodes, int64_t count, int64_t id_limit, hr_frames_t* out) {
  frames_walk_t w = {.out = out};
  hr_map_init(&w.by_name);
  memset(out, 0, sizeof *out);
  out->node_limit = id_limit;
  out->of_node = hr_alloc_array((size_t)id_limit + 1, sizeof *out->of_node);
  out->of_output = hr_alloc_array((size_t)id_limit + 1, sizeof *out->of_output);
  hr_status_t status = out->of_node && out->of_output ? NULL : hr_status_out_of_memory();
  for (int64_t i = 0; !status && i < id_limit; ++i) out->of_node[i] = out->of_output[i] = FRAME_OUTSIDE;
  if (!status) status = frames_walk(&w, nodes, count);
  hr_map_deinit(&w.by_name);
  hr_free(w.queue);
  if (status) hr_frames_deinit(out);
  return status;
}

void hr_frames_deinit(hr_frames_t* f) {
  hr_vec_deinit(&f->frames);
  hr_free(f->of_node);
  hr_free(f->of_output);
  memset(f, 0, sizeof *f);
}

int32_t hr_frames_of_output(const hr_frames_t* f, const hr_node_t* n) {
  return n->id < f->node_limit ? f->of_output[n->id] : FRAME_OUTSIDE;
}
