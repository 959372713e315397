/* SPDX-License-Identifier: Apache-2.0 */
/* Making one bundle of several: entries are gathered and checked, then data files get their final names, then the index is written.
 * Between the first rename and the index a crash leaves the old index with new data: its checksums then fail, it is never silently
 * wrong. */
#include <unistd.h>
#include "base/file.h"
#include "base/map.h"
#include "io/bundle_entry.h"

typedef struct {
  hr_arena_t arena;
  hr_bundle_entries_t* parts;        /* one list a shard bundle */
  hr_bundle_header_t* headers;
  HR_VEC(hr_bundle_entry_t*) all;
  hr_map_t by_name;
  int64_t shards;
} bundle_merge_t;

static hr_status_t bundle_merge_slices(bundle_merge_t* m, hr_bundle_entry_t* into, const hr_bundle_entry_t* from) {
  if (into->slice_count == 0 || from->slice_count == 0)
    return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' is in two shards", HR_STR_ARG(from->name));
  if (into->dtype != from->dtype || !hr_shape_equal(&into->shape, &from->shape))
    return HR_ERROR(INVALID_ARGUMENT, "parts of tensor '%.*s' disagree on its dtype or shape", HR_STR_ARG(from->name));
  size_t count = (size_t)into->slice_count + (size_t)from->slice_count;
  if (count > INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' has too many parts", HR_STR_ARG(from->name));
  hr_slice_t* joined = hr_arena_array(&m->arena, count, sizeof *joined);
  if (!joined) return hr_status_out_of_memory();
  memcpy(joined, into->slices, (size_t)into->slice_count * sizeof *joined);
  memcpy(joined + into->slice_count, from->slices, (size_t)from->slice_count * sizeof *joined);
  into->slices = joined;
  into->slice_count = (int32_t)count;
  return NULL;
}

static hr_status_t bundle_merge_entries(bundle_merge_t* m, hr_bundle_entries_t* part, int64_t first_shard) {
  for (int64_t i = 0; i < part->count; ++i) {
    hr_bundle_entry_t* e = &part->data[i];
    bool added;
    uintptr_t old;
    e->shard += (int32_t)first_shard;
    HR_TRY(hr_map_add(&m->by_name, e->name, (uintptr_t)e, &added));
    if (added) HR_TRY(hr_vec_push(&m->all, e));
    else if (hr_map_find(&m->by_name, e->name, &old)) HR_TRY(bundle_merge_slices(m, (hr_bundle_entry_t*)old, e));
  }
  return NULL;
}

static hr_status_t bundle_merge_read(bundle_merge_t* m, const hr_str_t* prefixes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    hr_str_t prefix;
    if (!hr_arena_str(&m->arena, prefixes[i], &prefix)) return hr_status_out_of_memory();
    HR_TRY(hr_bundle_entry_read_index(prefix.data, &m->arena, &m->headers[i], &m->parts[i]));
    if (m->headers[i].is_big_endian != m->headers[0].is_big_endian)
      return HR_ERROR(INVALID_ARGUMENT, "shards '%.*s' and '%.*s' have different byte orders", HR_STR_ARG(prefixes[0]),
                      HR_STR_ARG(prefixes[i]));
    HR_TRY(bundle_merge_entries(m, &m->parts[i], m->shards));
    m->shards += m->headers[i].shards;
  }
  return NULL;
}

static hr_status_t bundle_merge_rename(const char* from_prefix, int64_t from_shards, int64_t shard, const char* into, int64_t to_shard,
                                       int64_t shards) {
  char* from = hr_bundle_entry_data_path(from_prefix, shard, from_shards);
  char* to = hr_bundle_entry_data_path(into, to_shard, shards);
  hr_status_t status = from && to ? hr_file_rename(from, to) : hr_status_out_of_memory();
  hr_free(from);
  hr_free(to);
  return status;
}

static hr_status_t bundle_merge_check_files(const bundle_merge_t* m, const hr_str_t* prefixes, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t shard = 0; shard < m->headers[i].shards; ++shard) {
      char* path = hr_bundle_entry_data_path(prefixes[i].data, shard, m->headers[i].shards);
      if (!path) return hr_status_out_of_memory();
      bool exists = hr_file_exists(path);
      hr_status_t status = exists ? NULL : HR_ERROR(NOT_FOUND, "checkpoint data file '%s' is missing", path);
      hr_free(path);
      if (status) return status;
    }
  return NULL;
}

static hr_status_t bundle_merge_rename_all(const bundle_merge_t* m, const hr_str_t* prefixes, int64_t count, const char* into) {
  for (int64_t i = 0, to = 0; i < count; ++i)
    for (int64_t shard = 0; shard < m->headers[i].shards; ++shard, ++to)
      HR_TRY(bundle_merge_rename(prefixes[i].data, m->headers[i].shards, shard, into, to, m->shards));
  return NULL;
}

/* The shards' indices have done their work; what cannot be removed does no harm. */
static void bundle_merge_clean(const char* prefix, const char* into, bool remove_folder) {
  char* index = strcmp(prefix, into) ? hr_bundle_entry_index_path(prefix) : NULL;
  if (index) hr_status_release(hr_file_remove(index));
  hr_free(index);
  const char* slash = strrchr(prefix, '/');
  char* folder = remove_folder && slash && slash != prefix ? hr_alloc_copy(prefix, (size_t)(slash - prefix)) : NULL;
  if (folder && rmdir(folder) != 0) { /* other shards' files are still in it, or others' */
  }
  hr_free(folder);
}

static hr_status_t bundle_merge_run(bundle_merge_t* m, const hr_str_t* prefixes, int64_t count, const char* into, bool remove_folders) {
  HR_TRY(bundle_merge_read(m, prefixes, count));
  HR_TRY(bundle_merge_check_files(m, prefixes, count));
  HR_TRY(bundle_merge_rename_all(m, prefixes, count, into));
  hr_bundle_header_t header = {m->shards, m->headers[0].is_big_endian};
  HR_TRY(hr_bundle_entry_write_index(into, &header, m->all.data, m->all.count));
  for (int64_t i = 0; i < count; ++i) bundle_merge_clean(prefixes[i].data, into, remove_folders);
  return NULL;
}

hr_status_t hr_bundle_merge(const hr_str_t* prefixes, int64_t count, const char* into, bool remove_folders) {
  if (count < 1) return HR_ERROR(INVALID_ARGUMENT, "no checkpoint shards to merge into '%s'", into);
  bundle_merge_t m = {0};
  hr_arena_init(&m.arena);
  hr_map_init(&m.by_name);
  m.parts = hr_alloc_array((size_t)count, sizeof *m.parts);
  m.headers = hr_alloc_array((size_t)count, sizeof *m.headers);
  hr_str_t* names = hr_alloc_array((size_t)count, sizeof *names); /* NUL-terminated copies */
  bool good = m.parts && m.headers && names;
  for (int64_t i = 0; good && i < count; ++i) good = hr_arena_str(&m.arena, prefixes[i], &names[i]);
  hr_status_t status = good ? bundle_merge_run(&m, names, count, into, remove_folders) : hr_status_out_of_memory();
  for (int64_t i = 0; m.parts && i < count; ++i) hr_vec_deinit(&m.parts[i]);
  hr_vec_deinit(&m.all);
  hr_map_deinit(&m.by_name);
  hr_arena_deinit(&m.arena);
  hr_free(names);
  hr_free(m.headers);
  hr_free(m.parts);
  return status;
}
