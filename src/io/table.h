/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted string table in leveldb's file format: how a checkpoint keeps its index.
 *
 *   data block...  entries {varint shared, varint unshared, varint value size, key suffix, value}, restart offsets, their count
 *   metaindex block (empty), index block {last key of a data block -> varint offset, varint size}
 *   footer (48 bytes): two handles padded to 40 bytes, magic
 *   each block is followed by a type byte (0 plain, 1 snappy) and a masked CRC-32C of both
 *
 * A table is read from memory: files are read whole (an index is small beside its data). Anything damaged is DATA_LOSS naming file
 * and offset: checksums, handles outside the file, entries outside their block, keys out of order. */
#ifndef HR_IO_TABLE_H
#define HR_IO_TABLE_H
#include "base/str.h"

typedef struct hr_table hr_table_t; /* immutable: any number of threads, each with an iterator of its own */
HR_MUST_USE hr_status_t hr_table_open(const char* path, hr_table_t** out);
/* borrows data, copies name */
HR_MUST_USE hr_status_t hr_table_open_memory(const void* data, size_t size, const char* name, hr_table_t** out);
void hr_table_close(hr_table_t* t); /* accepts NULL */

typedef struct {
  const char* data;      /* the block, decoded; restarts cut off */
  size_t size;
  const char* restarts;
  uint32_t restart_count;
  char* owned;           /* decoded memory; NULL: lies in the file */
  size_t file_offset;    /* for messages */
  size_t at;             /* of the next entry */
  hr_strbuf_t key;
  hr_str_t value;
  bool is_valid;
} hr_table_block_t;

/* Iterates in key order. Zero it (init), use, deinit. Keys and values are borrowed until the next move. */
typedef struct {
  const hr_table_t* table;
  hr_table_block_t index, data;
} hr_table_iter_t;
void hr_table_iter_init(hr_table_iter_t* it, const hr_table_t* t);
void hr_table_iter_deinit(hr_table_iter_t* it);
HR_MUST_USE hr_status_t hr_table_iter_first(hr_table_iter_t* it);
HR_MUST_USE hr_status_t hr_table_iter_seek(hr_table_iter_t* it, hr_str_t key); /* the first entry with a key >= key */
HR_MUST_USE hr_status_t hr_table_iter_next(hr_table_iter_t* it);
static inline bool hr_table_iter_is_valid(const hr_table_iter_t* it) { return it->data.is_valid; } /* false: behind the last entry */
static inline hr_str_t hr_table_iter_key(const hr_table_iter_t* it) { return hr_strbuf_view(&it->data.key); }
static inline hr_str_t hr_table_iter_value(const hr_table_iter_t* it) { return it->data.value; }

/* Builds a table in memory, uncompressed; the caller puts the bytes into a file (hr_file_replace). Keys must ascend strictly. */
typedef struct {
  hr_strbuf_t file, block, index, last_key;
  hr_strbuf_t restarts, index_restarts; /* 4-byte offsets */
  int since_restart;
  size_t block_limit;                   /* 262144; tests make it smaller */
} hr_table_writer_t;
void hr_table_writer_init(hr_table_writer_t* w);
void hr_table_writer_deinit(hr_table_writer_t* w);
HR_MUST_USE hr_status_t hr_table_writer_add(hr_table_writer_t* w, hr_str_t key, hr_str_t value);
HR_MUST_USE hr_status_t hr_table_writer_finish(hr_table_writer_t* w); /* then w->file holds the table */
#endif
