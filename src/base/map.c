/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most three quarters full; removal shifts the run behind the hole back, so there are
 * no tombstones and lookups stay short for ever. */
#include "base/map.h"
#include <string.h>
#include "base/alloc.h"

enum { CACHED_ENTRIES = 4096 };

void hr_map_init(hr_map_t* map) { *map = (hr_map_t){0}; }

void hr_map_deinit(hr_map_t* map) {
  hr_free(map->entries);
  hr_map_init(map);
}

static uint64_t text_hash(hr_str_t key) {
  uint64_t h = hr_hash(key.data, key.size, 0);
  return h ? h : 1;
}

static uint64_t pointer_hash(const void* key) {
  uint64_t h = hr_hash_mix((uint64_t)(uintptr_t)key, 0x5bd1e995u);
  return h ? h : 1;
}

static hr_str_t pointer_key(const void* key) { return (hr_str_t){key, 0}; }

/* The entry of the key, or the free one where it belongs. There is always a free one. */
static hr_map_entry_t* map_probe(const hr_map_t* map, hr_str_t key, uint64_t hash, bool by_pointer) {
  uint64_t mask = (uint64_t)map->capacity - 1;
  for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
    hr_map_entry_t* e = &map->entries[i];
    if (e->hash == 0) return e;
    if (e->hash == hash && (by_pointer ? e->key.data == key.data : hr_str_equal(e->key, key))) return e;
  }
}

/* True if so many entries are within three quarters. */
static bool map_holds(int64_t capacity, int64_t count) { return count <= capacity / 4 * 3; }

static bool map_grow(hr_map_t* map, int64_t capacity) {
  hr_map_t grown = {NULL, map->count, capacity};
  grown.entries = hr_alloc_array((size_t)capacity, sizeof *grown.entries);
  if (!grown.entries) return false;
  uint64_t mask = (uint64_t)grown.capacity - 1;
  for (int64_t i = 0; i < map->capacity; ++i) {
    if (!map->entries[i].hash) continue;
    uint64_t at = map->entries[i].hash & mask;
    while (grown.entries[at].hash) at = (at + 1) & mask;
    grown.entries[at] = map->entries[i];
  }
  hr_free(map->entries);
  *map = grown;
  return true;
}

hr_status_t hr_map_reserve(hr_map_t* map, int64_t more) {
  int64_t capacity = map->capacity ? map->capacity : 16;
  if (more > INT64_MAX / 8 - map->count) return hr_status_out_of_memory();
  while (!map_holds(capacity, map->count + more)) capacity *= 2;
  return capacity == map->capacity || map_grow(map, capacity) ? NULL : hr_status_out_of_memory();
}

static hr_status_t map_put(hr_map_t* map, hr_str_t key, uint64_t hash, bool by_pointer, uintptr_t value, bool replace, bool* out_added) {
  if (!map_holds(map->capacity, map->count + 1) && !map_grow(map, map->capacity ? map->capacity * 2 : 16)) return hr_status_out_of_memory();
  hr_map_entry_t* e = map_probe(map, key, hash, by_pointer);
  bool added = e->hash == 0;
  if (added) {
    *e = (hr_map_entry_t){key, hash, value};
    ++map->count;
  } else if (replace) {
    e->value = value;
  }
  if (out_added) *out_added = added;
  return NULL;
}

static bool map_get(const hr_map_t* map, hr_str_t key, uint64_t hash, bool by_pointer, uintptr_t* out_value) {
  if (!map->count) return false;
  const hr_map_entry_t* e = map_probe(map, key, hash, by_pointer);
  if (!e->hash) return false;
  if (out_value) *out_value = e->value;
  return true;
}

/* Moves back each entry of the run behind the hole whose home is not past the hole. */
static void map_close_hole(hr_map_t* map, uint64_t hole) {
  uint64_t mask = (uint64_t)map->capacity - 1;
  for (uint64_t i = (hole + 1) & mask; map->entries[i].hash; i = (i + 1) & mask) {
    uint64_t home = map->entries[i].hash & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    map->entries[hole] = map->entries[i];
    hole = i;
  }
  map->entries[hole].hash = 0;
}

static bool map_drop(hr_map_t* map, hr_str_t key, uint64_t hash, bool by_pointer) {
  if (!map->count) return false;
  hr_map_entry_t* e = map_probe(map, key, hash, by_pointer);
  if (!e->hash) return false;
  map_close_hole(map, (uint64_t)(e - map->entries));
  --map->count;
  return true;
}

hr_status_t hr_map_set(hr_map_t* map, hr_str_t key, uintptr_t value) { return map_put(map, key, text_hash(key), false, value, true, NULL); }

hr_status_t hr_map_add(hr_map_t* map, hr_str_t key, uintptr_t value, bool* out_added) {
  return map_put(map, key, text_hash(key), false, value, false, out_added);
}

bool hr_map_find(const hr_map_t* map, hr_str_t key, uintptr_t* out_value) {
  return map->count && map_get(map, key, text_hash(key), false, out_value);
}

void hr_map_prefetch(const hr_map_t* map, hr_str_t key) {
  if (map->capacity > CACHED_ENTRIES) __builtin_prefetch(&map->entries[text_hash(key) & ((uint64_t)map->capacity - 1)]);
}

bool hr_map_remove(hr_map_t* map, hr_str_t key) { return map->count && map_drop(map, key, text_hash(key), false); }

hr_status_t hr_map_set_ptr(hr_map_t* map, const void* key, uintptr_t value) {
  return map_put(map, pointer_key(key), pointer_hash(key), true, value, true, NULL);
}

bool hr_map_find_ptr(const hr_map_t* map, const void* key, uintptr_t* out_value) {
  return map_get(map, pointer_key(key), pointer_hash(key), true, out_value);
}

bool hr_map_remove_ptr(hr_map_t* map, const void* key) { return map_drop(map, pointer_key(key), pointer_hash(key), true); }

const hr_map_entry_t* hr_map_next(const hr_map_t* map, int64_t* position) {
  while (*position < map->capacity) {
    const hr_map_entry_t* e = &map->entries[(*position)++];
    if (e->hash) return e;
  }
  return NULL;
}
