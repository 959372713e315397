/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of values among the live nodes. Passes before have left dead nodes that still count as consumers in the graph. */
#include "session/fuse.h"
#include "base/alloc.h"

hr_status_t hr_fuse_init(hr_program_t* p, hr_fuse_t* out) {
  const int64_t count = p->graph->nodes.count;
  *out = (hr_fuse_t){.p = p, .limit = count, .live = hr_alloc_zero((size_t)count + 1), .has_flow = hr_program_has_flow(p)};
  if (!out->live) return hr_status_out_of_memory();
  hr_status_t status = hr_program_finish(p);
  if (status) {
    hr_fuse_deinit(out);
    return status;
  }
  for (int64_t i = 0; i < p->live_count; ++i) out->live[p->live[i]->id] = true;
  return NULL;
}

void hr_fuse_deinit(hr_fuse_t* f) {
  hr_free(f->live);
  f->live = NULL;
}

static bool node_is_shape(const hr_node_t* n) { return hr_str_is(n->attrs.def->name, "Shape") && n->control_count == 0; }

hr_node_t* hr_fuse_reader(const hr_fuse_t* f, hr_value_t v, int32_t* out_input, int32_t* io_oldest_shape) {
  hr_node_t* reader = NULL;
  const hr_node_t* n = v.node;
  if (hr_program_is_fetched(f->p, n) || hr_program_is_target(f->p, n)) return NULL;
  for (int64_t i = 0; i < n->control_consumers.count; ++i)
    if (hr_fuse_is_live(f, n->control_consumers.data[i])) return NULL;
  for (int64_t i = 0; i < n->consumers.count; ++i) {
    hr_node_t* c = n->consumers.data[i].node;
    if (!hr_fuse_is_live(f, c)) continue;
    if (n->consumers.data[i].output != v.index) return NULL;
    if (!f->has_flow && node_is_shape(c)) {
      const int32_t rank = f->p->ranks.data[c->id];
      if (rank < *io_oldest_shape) *io_oldest_shape = rank;
      continue;
    }
    if (reader || !hr_place_same(f->p, c, n)) return NULL;
    reader = c;
    *out_input = n->consumers.data[i].input;
  }
  return reader;
}

hr_status_t hr_fuse_move_shapes(const hr_fuse_t* f, hr_value_t from, hr_value_t to) {
  for (int64_t i = from.node->consumers.count - 1; i >= 0; --i) {
    hr_node_t* c = from.node->consumers.data[i].node;
    if (hr_fuse_is_live(f, c) && node_is_shape(c)) HR_TRY(hr_graph_set_input(f->p->graph, c, 0, to));
  }
  return NULL;
}
