/* SPDX-License-Identifier: Apache-2.0 */
/* Building a sorted string table. The index key of a block is its last key: any key between it and the next block's first would do. */
#include "base/hash.h"
#include "io/table.h"
#include "wire/writer.h"

enum { TABLE_RESTART_INTERVAL = 16 };

void hr_table_writer_init(hr_table_writer_t* w) {
  *w = (hr_table_writer_t){.block_limit = 262144};
  hr_writer_fixed32_raw(&w->restarts, 0);
}

void hr_table_writer_deinit(hr_table_writer_t* w) {
  hr_strbuf_t* all[] = {&w->file, &w->block, &w->index, &w->last_key, &w->restarts, &w->index_restarts};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) hr_strbuf_deinit(all[i]);
}

static size_t table_common(hr_str_t a, hr_str_t b) {
  size_t n = 0, most = a.size < b.size ? a.size : b.size;
  while (n < most && a.data[n] == b.data[n]) ++n;
  return n;
}

static void table_put_entry(hr_strbuf_t* block, size_t shared, hr_str_t key, hr_str_t value) {
  hr_writer_varint(block, shared);
  hr_writer_varint(block, key.size - shared);
  hr_writer_varint(block, value.size);
  hr_strbuf_add(block, key.data + shared, key.size - shared);
  hr_strbuf_add_str(block, value);
}

/* Appends entries, restart points, type and checksum to the file; gives the block's handle. */
static void table_put_block(hr_table_writer_t* w, hr_strbuf_t* block, hr_strbuf_t* restarts, hr_strbuf_t* handle) {
  size_t start = w->file.size;
  uint32_t count = (uint32_t)(restarts->size / 4);
  hr_strbuf_add_str(&w->file, hr_strbuf_view(block));
  hr_strbuf_add_str(&w->file, hr_strbuf_view(restarts));
  hr_writer_fixed32_raw(&w->file, count);
  size_t size = w->file.size - start;
  hr_strbuf_add(&w->file, "", 1); /* not compressed */
  if (w->file.failed) return;
  hr_writer_fixed32_raw(&w->file, hr_hash_crc32c_mask(hr_hash_crc32c(0, w->file.data + start, size + 1)));
  hr_writer_varint(handle, start);
  hr_writer_varint(handle, size);
  block->size = 0;
  restarts->size = 0;
}

static void table_close_block(hr_table_writer_t* w) {
  if (w->block.size == 0) return;
  hr_strbuf_t handle;
  hr_strbuf_init(&handle);
  table_put_block(w, &w->block, &w->restarts, &handle);
  hr_writer_fixed32_raw(&w->restarts, 0);
  w->since_restart = 0;
  hr_writer_fixed32_raw(&w->index_restarts, (uint32_t)w->index.size);
  table_put_entry(&w->index, 0, hr_strbuf_view(&w->last_key), hr_strbuf_view(&handle));
  if (handle.failed) w->file.failed = true;
  hr_strbuf_deinit(&handle);
}

static bool table_writer_failed(const hr_table_writer_t* w) {
  return w->file.failed || w->block.failed || w->index.failed || w->last_key.failed || w->restarts.failed || w->index_restarts.failed;
}

hr_status_t hr_table_writer_add(hr_table_writer_t* w, hr_str_t key, hr_str_t value) {
  hr_str_t last = hr_strbuf_view(&w->last_key);
  bool is_first = w->block.size == 0 && w->index.size == 0;
  if (!is_first && hr_str_compare(key, last) <= 0)
    return HR_ERROR(INVALID_ARGUMENT, "table keys must ascend: '%.*s' comes after '%.*s'", HR_STR_ARG(key), HR_STR_ARG(last));
  if (w->block.size >= w->block_limit) table_close_block(w);
  size_t shared = w->block.size ? table_common(key, last) : 0;
  if (w->since_restart == TABLE_RESTART_INTERVAL) {
    hr_writer_fixed32_raw(&w->restarts, (uint32_t)w->block.size);
    w->since_restart = 0;
    shared = 0;
  }
  table_put_entry(&w->block, shared, key, value);
  w->since_restart += 1;
  w->last_key.size = 0;
  hr_strbuf_add_str(&w->last_key, key);
  return table_writer_failed(w) ? hr_status_out_of_memory() : NULL;
}

hr_status_t hr_table_writer_finish(hr_table_writer_t* w) {
  hr_strbuf_t footer, none, no_restarts;
  hr_strbuf_init(&footer);
  hr_strbuf_init(&none);
  hr_strbuf_init(&no_restarts);
  table_close_block(w);
  hr_writer_fixed32_raw(&no_restarts, 0);
  table_put_block(w, &none, &no_restarts, &footer);
  if (w->index_restarts.size == 0) hr_writer_fixed32_raw(&w->index_restarts, 0);
  table_put_block(w, &w->index, &w->index_restarts, &footer);
  while (footer.size < 40 && !footer.failed) hr_strbuf_add(&footer, "", 1);
  hr_writer_fixed64_raw(&footer, UINT64_C(0xdb4775248b80fb57));
  hr_strbuf_add_str(&w->file, hr_strbuf_view(&footer));
  bool failed = footer.failed || no_restarts.failed || table_writer_failed(w);
  hr_strbuf_deinit(&footer);
  hr_strbuf_deinit(&no_restarts);
  return failed ? hr_status_out_of_memory() : NULL;
}
