/* SPDX-License-Identifier: Apache-2.0 */
/* Node names: which are legal, which are free, and finding a node by its name. */
#include "graph/names.h"

#include <stdio.h>

static inline bool name_char_first(unsigned char c) { return (unsigned)((c | 32) - 'a') < 26 || (unsigned)(c - '0') < 10 || c == '.'; }

static inline bool name_char_later(unsigned char c) { return name_char_first(c) || c == '_' || c == '-' || c == '/' || c == '>'; }

static bool name_is_legal(hr_str_t name, bool internal) {
  if (name.size == 0) return false;
  const unsigned char* c = (const unsigned char*)name.data;
  if (!name_char_first(c[0]) && !(internal && c[0] == '_')) return false;
  for (size_t i = 1; i < name.size; ++i)
    if (!name_char_later(c[i])) return false;
  return true;
}

bool hr_graph_name_is_legal(hr_str_t name) { return name_is_legal(name, false); }

hr_status_t hr_names_check(hr_str_t name, bool internal) {
  if (__builtin_expect(name_is_legal(name, internal), 1)) return NULL;
  if (name.size == 0) return HR_ERROR(INVALID_ARGUMENT, "the node has no name");
  return HR_ERROR(INVALID_ARGUMENT, "illegal node name '%.*s': names match [A-Za-z0-9.][A-Za-z0-9_.\\-/>]*",
                  HR_STR_ARG(hr_str_slice(name, 0, 200)));
}

hr_status_t hr_names_index(hr_graph_t* g) {
  if (!g->names_pending) return NULL;
  HR_TRY(hr_map_reserve(&g->by_name, g->nodes.count));
  for (int64_t i = 0; i < g->nodes.count; ++i) {
    const hr_node_t* later = i + HR_MAP_AHEAD < g->nodes.count ? g->nodes.data[i + HR_MAP_AHEAD] : NULL;
    if (later) hr_map_prefetch(&g->by_name, later->name);
    if (g->nodes.data[i]) HR_TRY(hr_map_set(&g->by_name, g->nodes.data[i]->name, (uintptr_t)g->nodes.data[i]));
  }
  g->names_pending = false;
  g->originals = NULL;
  return NULL;
}

bool hr_names_is_original(hr_graph_t* g, hr_str_t name) {
  if (!g->originals) return false;
  uintptr_t found;
  hr_mutex_lock(&g->originals->mu);
  const bool is_there = hr_map_find(&g->originals->by_name, name, &found) && ((const hr_node_t*)found)->id < g->original_count;
  hr_mutex_unlock(&g->originals->mu);
  return is_there;
}

static bool is_taken(hr_graph_t* g, hr_str_t name) { return hr_map_find(&g->by_name, name, NULL) || hr_names_is_original(g, name); }

hr_node_t* hr_graph_find(const hr_graph_t* g, hr_str_t name) {
  uintptr_t found;
  if (g->names_pending) { /* a pass looks around in a copy, which has one owner and no lock; a scan is right even without memory for a map
                           */
    for (int64_t i = 0; i < g->nodes.count; ++i)
      if (g->nodes.data[i] && hr_str_equal(g->nodes.data[i]->name, name)) return g->nodes.data[i];
    return NULL;
  }
  return hr_map_find(&g->by_name, name, &found) ? (hr_node_t*)found : NULL;
}

/* base_<n> in the arena, n from the table of suffixes so that a thousand equal wishes cost a thousand steps, not a million. */
static hr_status_t name_with_suffix(hr_graph_t* g, hr_str_t base, uintptr_t start, hr_str_t* out) {
  if (base.size > SIZE_MAX / 2) return hr_status_out_of_memory();
  char* text = hr_arena_alloc(&g->arena, base.size + 24);
  if (!text) return hr_status_out_of_memory();
  memcpy(text, base.data, base.size);
  uintptr_t n = start;
  do {
    int length = snprintf(text + base.size, 24, "_%llu", (unsigned long long)n++);
    *out = (hr_str_t){text, base.size + (size_t)length};
  } while (is_taken(g, *out));
  hr_str_t key = {text, base.size}; /* the base lies at the front of the name just made */
  return hr_map_set(&g->next_suffix, key, n);
}

hr_status_t hr_graph_unique_name(hr_graph_t* g, hr_str_t wanted, hr_str_t* out) {
  if (!g->originals) HR_TRY(hr_names_index(g));
  uintptr_t start = 1;
  if (!is_taken(g, wanted)) return hr_arena_str(&g->arena, wanted, out) ? NULL : hr_status_out_of_memory();
  hr_map_find(&g->next_suffix, wanted, &start);
  return name_with_suffix(g, wanted, start, out);
}
