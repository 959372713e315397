/* SPDX-License-Identifier: Apache-2.0 */
/* BundleHeaderProto and BundleEntryProto, the index as a whole, file names. */
#include "io/bundle_entry.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/hash.h"
#include "io/table.h"
#include "wire/shape_proto.h"

enum { HEADER_SHARDS = 1, HEADER_ENDIAN = 2, HEADER_VERSION = 3, VERSION_PRODUCER = 1, VERSION_MIN_CONSUMER = 2, VERSION_BAD = 3,
       ENTRY_DTYPE = 1, ENTRY_SHAPE = 2, ENTRY_SHARD = 3, ENTRY_OFFSET = 4, ENTRY_SIZE = 5, ENTRY_CRC = 6, ENTRY_SLICES = 7 };
enum { BUNDLE_VERSION = 1, BUNDLE_MAX_SHARDS = 1 << 20 };

static hr_status_t bundle_check_version(hr_cursor_t span) {
  uint64_t min_consumer = 0;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(VERSION_MIN_CONSUMER)) min_consumer = f.value;
    if (f.key == HR_KEY_VARINT(VERSION_BAD) && f.value == BUNDLE_VERSION)
      return HR_ERROR(INVALID_ARGUMENT, "checkpoint refuses readers of version %d", BUNDLE_VERSION);
  }
  if (min_consumer > BUNDLE_VERSION)
    return HR_ERROR(INVALID_ARGUMENT, "checkpoint needs a reader of version %llu, this one has %d", (unsigned long long)min_consumer,
                    BUNDLE_VERSION);
  return NULL;
}

static hr_status_t header_decode(hr_cursor_t span, hr_bundle_header_t* out) {
  *out = (hr_bundle_header_t){0};
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(HEADER_SHARDS)) out->shards = (int64_t)f.value;
    if (f.key == HR_KEY_VARINT(HEADER_ENDIAN)) out->is_big_endian = f.value == 1;
    if (f.key == HR_KEY_SPAN(HEADER_VERSION)) HR_TRY(bundle_check_version(f.span));
  }
  if (out->shards < 1 || out->shards > BUNDLE_MAX_SHARDS)
    return HR_ERROR(DATA_LOSS, "checkpoint header says %lld shards, 1 to %d are possible", (long long)out->shards, BUNDLE_MAX_SHARDS);
  return NULL;
}

static void header_encode(const hr_bundle_header_t* h, hr_writer_t* w) {
  hr_writer_i64(w, HEADER_SHARDS, h->shards);
  if (h->is_big_endian) hr_writer_i64(w, HEADER_ENDIAN, 1);
  hr_writer_mark_t mark = hr_writer_begin(w, HEADER_VERSION, 0);
  hr_writer_i64(w, VERSION_PRODUCER, BUNDLE_VERSION);
  hr_writer_end(w, mark, 0);
}

static hr_status_t bundle_decode_slices(hr_arena_t* arena, hr_cursor_t span, int64_t count, hr_bundle_entry_t* out) {
  hr_shape_t part;
  if (count == 0) return NULL;
  if (count > INT32_MAX) return HR_ERROR(DATA_LOSS, "an entry has %lld slices", (long long)count);
  hr_slice_t* slices = hr_arena_array(arena, (size_t)count, sizeof *slices);
  if (!slices) return hr_status_out_of_memory();
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key != HR_KEY_SPAN(ENTRY_SLICES)) continue;
    HR_TRY(hr_slice_decode(f.span, &slices[out->slice_count]));
    HR_TRY(hr_slice_shape(&slices[out->slice_count], &out->shape, &part));
    out->slice_count += 1;
  }
  out->slices = slices;
  return NULL;
}

hr_status_t hr_bundle_entry_decode(hr_arena_t* arena, hr_cursor_t span, hr_bundle_entry_t* out) {
  int64_t slices = 0;
  uint64_t dtype = 0, shard = 0;
  out->offset = out->size = 0;
  out->crc = 0;
  out->slice_count = 0;
  out->slices = NULL;
  out->shape = hr_shape_scalar();
  for (hr_cursor_t c = span; !hr_cursor_is_done(&c);) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_VARINT(ENTRY_DTYPE): dtype = f.value; break;
      case HR_KEY_SPAN(ENTRY_SHAPE): HR_TRY(hr_shape_proto_decode(f.span, &out->shape)); break;
      case HR_KEY_VARINT(ENTRY_SHARD): shard = f.value; break;
      case HR_KEY_VARINT(ENTRY_OFFSET): out->offset = (int64_t)f.value; break;
      case HR_KEY_VARINT(ENTRY_SIZE): out->size = (int64_t)f.value; break;
      case HR_KEY_FIXED32(ENTRY_CRC): out->crc = (uint32_t)f.value; break;
      case HR_KEY_SPAN(ENTRY_SLICES): ++slices; break;
    }
  }
  if (dtype == 0 || dtype >= HR_DTYPE_COUNT) return HR_ERROR(DATA_LOSS, "an entry has unknown dtype %llu", (unsigned long long)dtype);
  if (shard >= BUNDLE_MAX_SHARDS || out->offset < 0 || out->size < 0)
    return HR_ERROR(DATA_LOSS, "an entry lies at byte %lld of shard %llu, %lld bytes", (long long)out->offset, (unsigned long long)shard,
                    (long long)out->size);
  out->dtype = (hr_dtype_t)dtype;
  out->shard = (int32_t)shard;
  return bundle_decode_slices(arena, span, slices, out);
}

static void entry_encode(const hr_bundle_entry_t* e, hr_writer_t* w) {
  hr_writer_i64(w, ENTRY_DTYPE, e->dtype);
  hr_writer_mark_t mark = hr_writer_begin(w, ENTRY_SHAPE, 0);
  hr_shape_proto_encode(&e->shape, w);
  hr_writer_end(w, mark, 0);
  for (int32_t i = 0; i < e->slice_count; ++i) {
    mark = hr_writer_begin(w, ENTRY_SLICES, 0);
    hr_slice_encode(&e->slices[i], w);
    hr_writer_end(w, mark, 0);
  }
  if (e->slice_count > 0) return;
  if (e->shard) hr_writer_i64(w, ENTRY_SHARD, e->shard);
  if (e->offset) hr_writer_i64(w, ENTRY_OFFSET, e->offset);
  if (e->size) hr_writer_i64(w, ENTRY_SIZE, e->size);
  hr_writer_fixed32(w, ENTRY_CRC, e->crc);
}

/* --- the index ---------------------------------------------------------------------------------------------------------------- */
static hr_status_t bundle_index_add(hr_arena_t* arena, hr_str_t key, hr_str_t value, hr_bundle_header_t* header, hr_bundle_entries_t* out) {
  if (key.size == 0) return header_decode(hr_cursor_make(value.data, value.size), header);
  hr_bundle_entry_t e;
  HR_TRY(hr_bundle_entry_decode(arena, hr_cursor_make(value.data, value.size), &e));
  if (!hr_arena_str(arena, key, &e.name)) return hr_status_out_of_memory();
  if (e.shard >= header->shards)
    return HR_ERROR(DATA_LOSS, "entry '%.*s' lies in shard %d of %lld", HR_STR_ARG(key), e.shard, (long long)header->shards);
  return hr_vec_push(out, e);
}

static hr_status_t bundle_index_each(hr_table_iter_t* it, hr_arena_t* arena, hr_bundle_header_t* header, hr_bundle_entries_t* out) {
  header->shards = 0;
  HR_TRY(hr_table_iter_first(it));
  while (hr_table_iter_is_valid(it)) {
    HR_TRY(bundle_index_add(arena, hr_table_iter_key(it), hr_table_iter_value(it), header, out));
    if (header->shards == 0) break;
    HR_TRY(hr_table_iter_next(it));
  }
  return header->shards ? NULL : HR_ERROR(DATA_LOSS, "the header (the entry with an empty key) is missing");
}

/* Whatever is wrong with bytes in the index is lost data to who reads a checkpoint. */
static hr_status_t bundle_index_failure(hr_status_t take_status, const char* path) {
  bool is_refusal = strstr(hr_status_message(take_status), "version") != NULL;
  if (hr_status_code(take_status) != HR_INVALID_ARGUMENT || is_refusal) return hr_status_note(take_status, "checkpoint index '%s': ", path);
  hr_status_t status = HR_ERROR(DATA_LOSS, "checkpoint index '%s': %s", path, hr_status_message(take_status));
  hr_status_release(take_status);
  return status;
}

hr_status_t hr_bundle_entry_read_index(const char* prefix, hr_arena_t* arena, hr_bundle_header_t* out_header, hr_bundle_entries_t* out) {
  hr_table_t* table = NULL;
  hr_table_iter_t it;
  char* path = hr_bundle_entry_index_path(prefix);
  if (!path) return hr_status_out_of_memory();
  hr_status_t status = hr_table_open(path, &table);
  hr_table_iter_init(&it, table);
  if (!status) {
    status = bundle_index_each(&it, arena, out_header, out);
    if (status) status = bundle_index_failure(status, path);
  }
  hr_table_iter_deinit(&it);
  hr_table_close(table);
  hr_free(path);
  return status;
}

static int bundle_compare(const void* a, const void* b) {
  return hr_str_compare((*(hr_bundle_entry_t* const*)a)->name, (*(hr_bundle_entry_t* const*)b)->name);
}

static hr_status_t bundle_fill_table(hr_table_writer_t* table, hr_writer_t* value, const hr_bundle_header_t* h,
                                     hr_bundle_entry_t** entries, int64_t count) {
  header_encode(h, value);
  HR_TRY(hr_table_writer_add(table, HR_STR(""), hr_strbuf_view(value)));
  for (int64_t i = 0; i < count; ++i) {
    if (i && hr_str_equal(entries[i]->name, entries[i - 1]->name))
      return HR_ERROR(INVALID_ARGUMENT, "tensor '%.*s' is there twice", HR_STR_ARG(entries[i]->name));
    value->size = 0;
    entry_encode(entries[i], value);
    if (value->failed) return hr_status_out_of_memory();
    HR_TRY(hr_table_writer_add(table, entries[i]->name, hr_strbuf_view(value)));
  }
  return hr_table_writer_finish(table);
}

hr_status_t hr_bundle_entry_write_index(const char* prefix, const hr_bundle_header_t* h, hr_bundle_entry_t** entries, int64_t count) {
  hr_table_writer_t table;
  hr_writer_t value;
  char* path = hr_bundle_entry_index_path(prefix);
  if (!path) return hr_status_out_of_memory();
  hr_table_writer_init(&table);
  hr_strbuf_init(&value);
  if (count) qsort(entries, (size_t)count, sizeof *entries, bundle_compare);
  hr_status_t status = bundle_fill_table(&table, &value, h, entries, count);
  if (!status) status = hr_file_replace(path, table.file.data, table.file.size);
  hr_strbuf_deinit(&value);
  hr_table_writer_deinit(&table);
  hr_free(path);
  return status;
}

/* --- names and strings -------------------------------------------------------------------------------------------------------- */
char* hr_bundle_entry_index_path(const char* prefix) {
  size_t n = strlen(prefix) + sizeof ".index";
  char* path = hr_alloc(n);
  if (path) snprintf(path, n, "%s.index", prefix);
  return path;
}

char* hr_bundle_entry_data_path(const char* prefix, int64_t shard, int64_t shards) {
  size_t n = strlen(prefix) + 64;
  char* path = hr_alloc(n);
  if (path) snprintf(path, n, "%s.data-%05lld-of-%05lld", prefix, (long long)shard, (long long)shards);
  return path;
}

uint32_t hr_bundle_entry_crc_length(uint32_t crc, uint64_t length, bool is_big_endian) {
  uint8_t b[8];
  int n = length > UINT32_MAX ? 8 : 4;
  for (int i = 0; i < n; ++i) b[is_big_endian ? n - 1 - i : i] = (uint8_t)(length >> (8 * i));
  return hr_hash_crc32c(crc, b, (size_t)n);
}
