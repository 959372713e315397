/* SPDX-License-Identifier: Apache-2.0 */
/* Making and destroying plans, and binding a caller's order of feeds and fetches to a plan's. */
#include "exec/plan.h"
#include "base/alloc.h"
#include "exec/flow.h"
#include "exec/lanes.h"
#include "rt/device.h"
#include "exec/plan_state.h"

bool hr_plan_is_constant(const hr_node_t* node) { return node->attrs.def->node_class == HR_NODE_CONST; }

const hr_tensor_t* hr_plan_constant(const hr_node_t* node) {
  return node->constant ? node->constant : hr_attrs_tensor(&node->attrs, "value");
}

static hr_status_t check_nodes(const hr_plan_desc_t* d, int64_t* out_id_limit) {
  int64_t limit = 0;
  if (d->node_count >= INT32_MAX / 4) return HR_ERROR(RESOURCE_EXHAUSTED, "a plan of %lld nodes is too large", (long long)d->node_count);
  for (int64_t i = 0; i < d->node_count; ++i) {
    if (d->nodes[i]->id >= limit) limit = d->nodes[i]->id + 1;
  }
  for (int32_t i = 0; i < d->feed_count; ++i)
    if (d->feeds[i].node->id >= limit) limit = d->feeds[i].node->id + 1;
  for (int32_t i = 0; i < d->fetch_count; ++i)
    if (d->fetches[i].node->id >= limit) limit = d->fetches[i].node->id + 1;
  *out_id_limit = limit;
  return NULL;
}

/* A stretch ends after so many sites, and after every site that may have waited. A region of lanes is a stretch. */
static hr_status_t cut_segments(hr_plan_t* p, hr_node_t* const* order) {
  p->segments = hr_arena_array(&p->arena, (size_t)p->site_count, sizeof *p->segments);
  if (!p->segments) return hr_status_out_of_memory();
  int64_t begin = 0, next = 0;
  for (int64_t i = 0; i < p->site_count; ++i) {
    const hr_region_t* region = p->lanes && next < p->lanes->region_count ? &p->lanes->regions[next] : NULL;
    if (region && i == region->begin) {
      if (i > begin) p->segments[p->segment_count++] = i;
      begin = region->end;
      p->segments[p->segment_count++] = begin;
      i = begin - 1;
      ++next;
      continue;
    }
    bool blocking = order[p->sites[i].node]->attrs.def->op->flags & HR_OP_BLOCKING;
    if (!blocking && i + 1 - begin < HR_PLAN_CHECK_EVERY && i + 1 < p->site_count) continue;
    p->segments[p->segment_count++] = i + 1;
    begin = i + 1;
  }
  return NULL;
}

/* A giver before a taker of its own step must not wait for it. */
static void mark_deferrable(hr_plan_t* p, hr_node_t* const* order) {
  bool taker = false;
  for (int64_t i = p->site_count - 1; i >= 0; --i) {
    const hr_node_t* n = order[p->sites[i].node];
    if (!(n->attrs.def->op->flags & HR_OP_BLOCKING)) continue;
    if (n->output_count > 0) taker = true;
    else p->sites[i].site.may_defer = taker;
  }
}

static hr_status_t build_flow(hr_plan_t* p, const hr_plan_desc_t* d, hr_arena_t* scratch, hr_node_t** order, int64_t id_limit) {
  HR_TRY(hr_flow_build(p, scratch, d, order, id_limit));
  HR_TRY(hr_plan_choose_kernels(p, scratch, d, order));
  hr_flow_choose_actions(p, order);
  if (d->keep_values) HR_TRY(hr_plan_find_needs(p, scratch, d, order, id_limit));
  return hr_plan_bind(p, NULL, NULL, p->fetch_count, &p->own);
}

static hr_status_t build_plan(hr_plan_t* p, const hr_plan_desc_t* d, hr_arena_t* scratch) {
  int64_t id_limit = 0;
  HR_TRY(check_nodes(d, &id_limit));
  hr_node_t** order = hr_arena_array(scratch, (size_t)d->node_count, sizeof *order);
  if (!order) return hr_status_out_of_memory();
  if (d->node_count) memcpy(order, d->nodes, (size_t)d->node_count * sizeof *order);
  p->feed_count = d->feed_count;
  p->fetch_count = d->fetch_count;
  HR_TRY(hr_plan_order(scratch, order, d->node_count, id_limit));
  bool flow;
  HR_TRY(hr_flow_is_needed(order, d->node_count, &flow));
  if (flow || (d->device && d->device->table)) return build_flow(p, d, scratch, order, id_limit);
  HR_TRY(hr_plan_assign_slots(p, scratch, d, order, id_limit));
  HR_TRY(hr_plan_choose_kernels(p, scratch, d, order));
  HR_TRY(cut_segments(p, order));
  mark_deferrable(p, order);
  if (d->keep_values) HR_TRY(hr_plan_find_needs(p, scratch, d, order, id_limit));
  return hr_plan_bind(p, NULL, NULL, p->fetch_count, &p->own);
}

hr_status_t hr_plan_create(const hr_plan_desc_t* desc, hr_plan_t** out) {
  hr_plan_t* p = hr_alloc_aligned(sizeof *p, 64);
  if (!p) return hr_status_out_of_memory();
  memset(p, 0, sizeof *p);
  hr_arena_init(&p->arena);
  hr_mutex_init(&p->mu);
  hr_arena_t scratch;
  hr_arena_init(&scratch);
  hr_status_t status = build_plan(p, desc, &scratch);
  hr_arena_deinit(&scratch);
  if (status) hr_plan_destroy(p);
  else *out = p;
  return status;
}

void hr_plan_destroy(hr_plan_t* p) {
  if (!p) return;
  hr_plan_destroy_frames(p);
  hr_plan_unprepare(p);
  hr_plan_binding_deinit(&p->own);
  hr_mutex_deinit(&p->mu);
  hr_arena_deinit(&p->arena);
  hr_free(p);
}

int64_t hr_plan_site_count(const hr_plan_t* p) { return p->site_count; }
int64_t hr_plan_lane_sites(const hr_plan_t* p) {
  int64_t count = 0;
  for (int64_t i = 0; p->lanes && i < p->lanes->region_count; ++i)
    for (int lane = 1; lane < p->lanes->lanes; ++lane) count += p->lanes->regions[i].counts[lane];
  return count;
}
int64_t hr_plan_slot_count(const hr_plan_t* p) { return p->spare - hr_plan_first_temporary(p); }

/* --- bindings ----------------------------------------------------------------------------------------------------------------------- */

static int32_t fetched_slot(const hr_plan_t* p, const int32_t* fetch_of, int32_t j) { return p->fetch_slots[fetch_of ? fetch_of[j] : j]; }

/* The last fetch of a temporary moves it out; all others copy, and come first. */
static void order_fetches(const hr_plan_t* p, const int32_t* fetch_of, int32_t count, int32_t* last, struct hr_plan_fetch* out) {
  int32_t next = 0;
  for (int32_t j = 0; j < count; ++j) last[fetched_slot(p, fetch_of, j)] = j;
  for (int moves = 0; moves < 2; ++moves) {
    for (int32_t j = 0; j < count; ++j) {
      int32_t slot = fetched_slot(p, fetch_of, j);
      bool move = slot >= hr_plan_first_temporary(p) && last[slot] == j;
      if (move == (moves == 1)) out[next++] = (struct hr_plan_fetch){slot, j, move};
    }
  }
}

hr_status_t hr_plan_bind(const hr_plan_t* p, const int32_t* feed_from, const int32_t* fetch_of, int32_t fetch_count,
                         hr_plan_binding_t* out) {
  hr_plan_binding_t b = {.fetch_count = fetch_count};
  b.feed_from = hr_alloc_array((size_t)p->feed_count + 1, sizeof *b.feed_from);
  b.fetches = hr_alloc_array((size_t)fetch_count + 1, sizeof *b.fetches);
  int32_t* last = hr_alloc_array((size_t)p->slot_count, sizeof *last);
  if (b.feed_from && b.fetches && last) {
    for (int32_t i = 0; i < p->feed_count; ++i) b.feed_from[i] = feed_from ? feed_from[i] : i;
    order_fetches(p, fetch_of, fetch_count, last, b.fetches);
    hr_free(last);
    *out = b;
    return NULL;
  }
  hr_free(last);
  hr_plan_binding_deinit(&b);
  return hr_status_out_of_memory();
}

void hr_plan_binding_deinit(hr_plan_binding_t* b) {
  hr_free(b->feed_from);
  hr_free(b->fetches);
  *b = (hr_plan_binding_t){0};
}
