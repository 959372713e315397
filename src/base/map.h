/* SPDX-License-Identifier: Apache-2.0 */
/* Hash map from a string view or a pointer to a pointer or an integer: open addressing, linear probing. The map borrows its keys;
 * whoever owns the key's bytes keeps them alive. Not thread-safe. */
#ifndef HR_BASE_MAP_H
#define HR_BASE_MAP_H
#include "base/hash.h"
#include "base/str.h"

typedef struct {
  hr_str_t key;  /* pointer keys: data is the pointer, size is 0 */
  uint64_t hash; /* never 0 in a used entry */
  uintptr_t value;
} hr_map_entry_t;

typedef struct {
  hr_map_entry_t* entries;
  int64_t count, capacity; /* capacity: 0 or a power of two; removed entries are closed up (backward shift) */
} hr_map_t;

void hr_map_init(hr_map_t* map);
void hr_map_deinit(hr_map_t* map);
/* Room for `more` entries more, so that adding them moves none. */
HR_MUST_USE hr_status_t hr_map_reserve(hr_map_t* map, int64_t more);
HR_MUST_USE hr_status_t hr_map_set(hr_map_t* map, hr_str_t key, uintptr_t value);     /* adds or replaces */
/* Adds unless present; *out_added says which. */
HR_MUST_USE hr_status_t hr_map_add(hr_map_t* map, hr_str_t key, uintptr_t value, bool* out_added);
bool hr_map_find(const hr_map_t* map, hr_str_t key, uintptr_t* out_value);             /* out_value may be NULL */
/* A hint that the key's entry is needed soon: who works through many keys of a big table asks HR_MAP_AHEAD keys ahead. */
void hr_map_prefetch(const hr_map_t* map, hr_str_t key);
enum { HR_MAP_AHEAD = 8 };
bool hr_map_remove(hr_map_t* map, hr_str_t key);
HR_MUST_USE hr_status_t hr_map_set_ptr(hr_map_t* map, const void* key, uintptr_t value);
bool hr_map_find_ptr(const hr_map_t* map, const void* key, uintptr_t* out_value);
bool hr_map_remove_ptr(hr_map_t* map, const void* key);
/* Iteration in table order: for (int64_t i = 0; (e = hr_map_next(map, &i));) ... */
const hr_map_entry_t* hr_map_next(const hr_map_t* map, int64_t* position);
#endif
