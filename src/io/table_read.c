/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a sorted string table. Offsets and lengths come from the file and are never used before they are compared with what is there. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "io/snappy.h"
#include "io/table.h"
#include "wire/cursor.h"

enum { TABLE_FOOTER = 48, TABLE_TRAILER = 5, TABLE_SNAPPY_LIMIT = 1 << 30 };
#define TABLE_MAGIC UINT64_C(0xdb4775248b80fb57)

struct hr_table {
  const char* data;
  size_t size;
  char* owned;
  char* name;
  uint64_t index_offset, index_size;
};

static hr_status_t table_lost(const hr_table_t* t, uint64_t offset, const char* what) {
  return HR_ERROR(DATA_LOSS, "%s: table at byte %llu: %s", t->name, (unsigned long long)offset, what);
}

static uint32_t table_get32(const char* p) {
  const uint8_t* b = (const uint8_t*)p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* --- blocks ------------------------------------------------------------------------------------------------------------------- */
static void table_block_drop(hr_table_block_t* b) {
  hr_free(b->owned);
  b->owned = NULL;
  b->data = NULL;
}

static hr_status_t table_block_split(const hr_table_t* t, hr_table_block_t* b, const char* data, size_t size) {
  uint32_t count = size < 4 ? 0 : table_get32(data + size - 4);
  if (size < 4 || count > (size - 4) / 4) return table_lost(t, b->file_offset, "a block without room for its restart points");
  b->data = data;
  b->size = count ? size - 4 - (size_t)count * 4 : 0; /* no restart point: no entries */
  b->restarts = data + size - 4 - (size_t)count * 4;
  b->restart_count = count;
  return NULL;
}

static hr_status_t table_block_load(const hr_table_t* t, hr_table_block_t* b, uint64_t offset, uint64_t size) {
  table_block_drop(b);
  b->file_offset = (size_t)offset;
  size_t room = t->size - TABLE_FOOTER;
  if (offset > room || size > room - offset || room - offset - size < TABLE_TRAILER)
    return table_lost(t, offset, "a block reaches out of the file");
  const char* data = t->data + offset;
  uint32_t crc = hr_hash_crc32c_mask(hr_hash_crc32c(0, data, (size_t)size + 1));
  if (crc != table_get32(data + size + 1)) return table_lost(t, offset, "a block has a wrong checksum");
  size_t n = (size_t)size;
  if (data[size] == 1) {
    hr_status_t status = hr_snappy_decode(data, n, TABLE_SNAPPY_LIMIT, &b->owned, &n);
    if (status) return hr_status_note(status, "%s: table at byte %llu: ", t->name, (unsigned long long)offset);
    data = b->owned;
  } else if (data[size] != 0) {
    return table_lost(t, offset, "a block has an unknown compression");
  }
  return table_block_split(t, b, data, n);
}

static hr_status_t table_block_varint(const hr_table_t* t, hr_table_block_t* b, size_t* at, uint64_t* out) {
  hr_cursor_t c = hr_cursor_make(b->data + *at, b->size - *at);
  hr_status_t status = hr_cursor_varint(&c, out);
  if (status) {
    hr_status_release(status);
    return table_lost(t, b->file_offset, "an entry runs out of its block");
  }
  *at += hr_cursor_offset(&c);
  return NULL;
}

/* Decodes the entry at b->at; is_valid false at the end of the block. Keys must ascend unless `is_jump`. */
static hr_status_t table_block_next(const hr_table_t* t, hr_table_block_t* b, bool is_jump) {
  uint64_t shared, unshared, value;
  size_t at = b->at;
  b->is_valid = false;
  if (at >= b->size) return NULL;
  HR_TRY(table_block_varint(t, b, &at, &shared));
  HR_TRY(table_block_varint(t, b, &at, &unshared));
  HR_TRY(table_block_varint(t, b, &at, &value));
  size_t left = b->size - at;
  if (shared > b->key.size || unshared > left || value > left - unshared)
    return table_lost(t, b->file_offset, "an entry runs out of its block");
  hr_str_t suffix = {b->data + at, (size_t)unshared}, old = {b->key.data ? b->key.data + shared : "", b->key.size - (size_t)shared};
  if (!is_jump && hr_str_compare(suffix, old) <= 0) return table_lost(t, b->file_offset, "keys out of order");
  b->key.size = (size_t)shared;
  hr_strbuf_add_str(&b->key, suffix);
  if (b->key.failed) return hr_status_out_of_memory();
  b->value = (hr_str_t){b->data + at + unshared, (size_t)value};
  b->at = at + (size_t)(unshared + value);
  b->is_valid = true;
  return NULL;
}

static hr_status_t table_block_jump(const hr_table_t* t, hr_table_block_t* b, uint32_t restart) {
  uint32_t offset = table_get32(b->restarts + (size_t)restart * 4);
  if (offset > b->size) return table_lost(t, b->file_offset, "a restart point outside its block");
  b->at = offset;
  b->key.size = 0;
  return table_block_next(t, b, true);
}

static hr_status_t table_block_first(const hr_table_t* t, hr_table_block_t* b) {
  b->at = 0;
  b->key.size = 0;
  return table_block_next(t, b, true);
}

/* To the first entry with a key >= key. */
static hr_status_t table_block_seek(const hr_table_t* t, hr_table_block_t* b, hr_str_t key) {
  uint32_t low = 0, high = b->restart_count; /* the last restart point whose key is < key, by halving */
  while (low + 1 < high) {
    uint32_t middle = low + (high - low) / 2;
    HR_TRY(table_block_jump(t, b, middle));
    if (b->is_valid && hr_str_compare(hr_strbuf_view(&b->key), key) < 0) low = middle;
    else high = middle;
  }
  if (b->restart_count == 0) return table_block_first(t, b);
  HR_TRY(table_block_jump(t, b, low));
  while (b->is_valid && hr_str_compare(hr_strbuf_view(&b->key), key) < 0) HR_TRY(table_block_next(t, b, false));
  return NULL;
}

/* --- the table ---------------------------------------------------------------------------------------------------------------- */
static hr_status_t table_handle(const hr_table_t* t, hr_cursor_t* c, uint64_t offset, uint64_t* out_offset, uint64_t* out_size) {
  hr_status_t status = hr_cursor_varint(c, out_offset);
  if (!status) status = hr_cursor_varint(c, out_size);
  if (!status) return NULL;
  hr_status_release(status);
  return table_lost(t, offset, "a damaged block handle");
}

static hr_status_t table_read_footer(hr_table_t* t) {
  uint64_t meta_offset, meta_size;
  if (t->size < TABLE_FOOTER) return HR_ERROR(DATA_LOSS, "%s: %zu bytes are too few for a table", t->name, t->size);
  size_t at = t->size - TABLE_FOOTER;
  const char* footer = t->data + at;
  if (((uint64_t)table_get32(footer + 44) << 32 | table_get32(footer + 40)) != TABLE_MAGIC)
    return table_lost(t, at + 40, "not a table: wrong magic number");
  hr_cursor_t c = hr_cursor_make(footer, 40);
  HR_TRY(table_handle(t, &c, at, &meta_offset, &meta_size));
  return table_handle(t, &c, at, &t->index_offset, &t->index_size);
}

hr_status_t hr_table_open_memory(const void* data, size_t size, const char* name, hr_table_t** out) {
  hr_table_t* t = hr_alloc_zero(sizeof *t);
  if (!t) return hr_status_out_of_memory();
  t->data = data;
  t->size = size;
  t->name = hr_alloc_copy(name, strlen(name));
  hr_status_t status = t->name ? table_read_footer(t) : hr_status_out_of_memory();
  if (status) hr_table_close(t);
  else *out = t;
  return status;
}

hr_status_t hr_table_open(const char* path, hr_table_t** out) {
  char* data = NULL;
  size_t size;
  HR_TRY(hr_file_read(path, &data, &size));
  hr_status_t status = hr_table_open_memory(data, size, path, out);
  if (status) hr_free(data);
  else (*out)->owned = data;
  return status;
}

void hr_table_close(hr_table_t* t) {
  if (!t) return;
  hr_free(t->owned);
  hr_free(t->name);
  hr_free(t);
}

/* --- iteration ---------------------------------------------------------------------------------------------------------------- */
void hr_table_iter_init(hr_table_iter_t* it, const hr_table_t* t) { *it = (hr_table_iter_t){.table = t}; }

void hr_table_iter_deinit(hr_table_iter_t* it) {
  table_block_drop(&it->index);
  table_block_drop(&it->data);
  hr_strbuf_deinit(&it->index.key);
  hr_strbuf_deinit(&it->data.key);
}

static hr_status_t table_iter_load_index(hr_table_iter_t* it) {
  if (it->index.data) return NULL;
  return table_block_load(it->table, &it->index, it->table->index_offset, it->table->index_size);
}

/* The data block that the index entry names; without one there is no data entry either. */
static hr_status_t table_iter_load_data(hr_table_iter_t* it) {
  uint64_t offset, size;
  it->data.is_valid = false;
  if (!it->index.is_valid) return NULL;
  hr_cursor_t c = hr_cursor_make(it->index.value.data, it->index.value.size);
  HR_TRY(table_handle(it->table, &c, it->index.file_offset, &offset, &size));
  return table_block_load(it->table, &it->data, offset, size);
}

/* While the data block is at its end: the next block's first entry. */
static hr_status_t table_iter_settle(hr_table_iter_t* it) {
  while (!it->data.is_valid && it->index.is_valid) {
    HR_TRY(table_block_next(it->table, &it->index, false));
    HR_TRY(table_iter_load_data(it));
    if (it->index.is_valid) HR_TRY(table_block_first(it->table, &it->data));
  }
  return NULL;
}

hr_status_t hr_table_iter_first(hr_table_iter_t* it) {
  HR_TRY(table_iter_load_index(it));
  HR_TRY(table_block_first(it->table, &it->index));
  HR_TRY(table_iter_load_data(it));
  if (it->index.is_valid) HR_TRY(table_block_first(it->table, &it->data));
  return table_iter_settle(it);
}

hr_status_t hr_table_iter_seek(hr_table_iter_t* it, hr_str_t key) {
  HR_TRY(table_iter_load_index(it));
  HR_TRY(table_block_seek(it->table, &it->index, key));
  HR_TRY(table_iter_load_data(it));
  if (it->index.is_valid) HR_TRY(table_block_seek(it->table, &it->data, key));
  return table_iter_settle(it);
}

hr_status_t hr_table_iter_next(hr_table_iter_t* it) {
  if (!it->data.is_valid) return NULL;
  HR_TRY(table_block_next(it->table, &it->data, false));
  return table_iter_settle(it);
}
