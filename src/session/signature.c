/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: one hash of pointers for the fast path; sorting for the slow one. A node's address is its identity for the graph's life. */
#include "session/signature.h"
#include <stdlib.h>
#include "base/alloc.h"

static inline uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}

static inline uint64_t mix_values(uint64_t h, const hr_value_t* v, int32_t count) {
  for (int32_t i = 0; i < count; ++i) h = mix(h, (uint64_t)(uintptr_t)v[i].node + ((uint64_t)(uint32_t)v[i].index << 48));
  return mix(h, (uint64_t)count);
}

uint64_t hr_signature_hash(const hr_signature_t* s) {
  uint64_t h = mix_values(mix_values(0x243f6a88, s->feeds, s->feed_count), s->fetches, s->fetch_count);
  for (int32_t i = 0; i < s->target_count; ++i) h = mix(h, (uint64_t)(uintptr_t)s->targets[i]);
  return h;
}

static bool values_equal(const hr_value_t* a, const hr_value_t* b, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (a[i].node != b[i].node || a[i].index != b[i].index) return false;
  return true;
}

bool hr_signature_equal(const hr_signature_t* a, const hr_signature_t* b) {
  if (a->feed_count != b->feed_count || a->fetch_count != b->fetch_count || a->target_count != b->target_count) return false;
  for (int32_t i = 0; i < a->target_count; ++i)
    if (a->targets[i] != b->targets[i]) return false;
  return values_equal(a->feeds, b->feeds, a->feed_count) && values_equal(a->fetches, b->fetches, a->fetch_count);
}

static hr_status_t check_values(const hr_value_t* v, int32_t count, const hr_graph_t* g, const char* what) {
  for (int32_t i = 0; i < count; ++i) {
    if (!v[i].node || v[i].node->graph != g) return HR_ERROR(INVALID_ARGUMENT, "%s %d is not an endpoint of the session's graph", what, i);
    if (v[i].index < 0 || v[i].index >= v[i].node->output_count)
      return HR_ERROR(INVALID_ARGUMENT, "%s %d is '%s:%d', but node '%s' (%s) has %d outputs", what, i, v[i].node->name.data, v[i].index,
                      v[i].node->name.data, v[i].node->attrs.def->name.data, v[i].node->output_count);
  }
  return NULL;
}

hr_status_t hr_signature_check_ends(const hr_signature_t* s, const hr_graph_t* g) {
  HR_TRY(check_values(s->feeds, s->feed_count, g, "feed"));
  HR_TRY(check_values(s->fetches, s->fetch_count, g, "fetch"));
  for (int32_t i = 0; i < s->target_count; ++i)
    if (!s->targets[i] || s->targets[i]->graph != g) return HR_ERROR(INVALID_ARGUMENT, "target %d is not a node of the session's graph", i);
  return NULL;
}

hr_status_t hr_signature_nothing(void) {
  return HR_ERROR(INVALID_ARGUMENT, "nothing to run: specify at least one target to fetch or execute, there is neither");
}

hr_status_t hr_signature_check(const hr_signature_t* s, const hr_graph_t* g) {
  if (s->fetch_count == 0 && s->target_count == 0) return hr_signature_nothing();
  return hr_signature_check_ends(s, g);
}

static void* copy_words(void** at, const void* from, size_t bytes) {
  void* here = *at;
  if (bytes) memcpy(here, from, bytes);
  *at = (char*)here + bytes;
  return here;
}

hr_status_t hr_signature_copy(const hr_signature_t* s, hr_signature_t* out, void** out_block) {
  size_t values = sizeof(hr_value_t) * ((size_t)s->feed_count + (size_t)s->fetch_count);
  void* at = hr_alloc(values + sizeof(hr_node_t*) * (size_t)s->target_count + 1);
  if (!at) return hr_status_out_of_memory();
  *out_block = at;
  *out = *s;
  out->feeds = copy_words(&at, s->feeds, sizeof(hr_value_t) * (size_t)s->feed_count);
  out->fetches = copy_words(&at, s->fetches, sizeof(hr_value_t) * (size_t)s->fetch_count);
  out->targets = copy_words(&at, s->targets, sizeof(hr_node_t*) * (size_t)s->target_count);
  return NULL;
}

/* --- normal form --------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  hr_value_t v;
  int32_t place;
} placed_value_t;

static int compare_placed(const void* pa, const void* pb) {
  const placed_value_t *a = pa, *b = pb;
  if (a->v.node->id != b->v.node->id) return a->v.node->id < b->v.node->id ? -1 : 1;
  if (a->v.index != b->v.index) return a->v.index < b->v.index ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static void sort_placed(const hr_value_t* v, int32_t count, placed_value_t* out) {
  for (int32_t i = 0; i < count; ++i) out[i] = (placed_value_t){v[i], i};
  qsort(out, (size_t)count, sizeof *out, compare_placed);
}

static int compare_targets(const void* a, const void* b) {
  int32_t x = (*(hr_node_t* const*)a)->id, y = (*(hr_node_t* const*)b)->id;
  return x < y ? -1 : x > y;
}

static int32_t sort_targets(const hr_signature_t* s, hr_node_t** out) {
  int32_t kept = 0;
  if (s->target_count == 0) return 0;
  memcpy(out, s->targets, sizeof *out * (size_t)s->target_count);
  qsort(out, (size_t)s->target_count, sizeof *out, compare_targets);
  for (int32_t i = 0; i < s->target_count; ++i)
    if (i == 0 || out[i] != out[kept - 1]) out[kept++] = out[i];
  return kept;
}

hr_status_t hr_signature_normalise(const hr_signature_t* s, hr_signature_normal_t* out) {
  size_t feeds = (size_t)s->feed_count, fetches = (size_t)s->fetch_count, targets = (size_t)s->target_count;
  size_t widest = feeds > fetches ? feeds : fetches;
  placed_value_t* placed = hr_alloc_array(widest + 1, sizeof *placed);
  char* block = hr_alloc((feeds + fetches) * (sizeof(hr_value_t) + sizeof(int32_t)) + targets * sizeof(hr_node_t*) + 1);
  if (!placed || !block) {
    hr_free(placed);
    hr_free(block);
    return hr_status_out_of_memory();
  }
  hr_value_t* feed_values = (hr_value_t*)(void*)block;
  hr_value_t* fetch_values = feed_values + feeds;
  hr_node_t** target_nodes = (hr_node_t**)(void*)(fetch_values + fetches);
  out->feed_from = (int32_t*)(void*)(target_nodes + targets);
  out->fetch_of = out->feed_from + feeds;
  out->block = block;
  sort_placed(s->feeds, s->feed_count, placed);
  for (int32_t i = 0; i < s->feed_count; ++i) {
    feed_values[i] = placed[i].v;
    out->feed_from[i] = placed[i].place;
  }
  int32_t kept = 0;
  sort_placed(s->fetches, s->fetch_count, placed);
  for (int32_t i = 0; i < s->fetch_count; ++i) {
    if (i == 0 || !values_equal(&placed[i].v, &fetch_values[kept - 1], 1)) fetch_values[kept++] = placed[i].v;
    out->fetch_of[placed[i].place] = kept - 1;
  }
  out->normal = (hr_signature_t){feed_values, fetch_values, target_nodes, s->feed_count, kept, sort_targets(s, target_nodes), 0};
  out->normal.hash = hr_signature_hash(&out->normal);
  hr_free(placed);
  return NULL;
}
