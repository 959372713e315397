/* SPDX-License-Identifier: Apache-2.0 */
/* What bundle readers and writers share: the messages in the index, file names, and how strings are laid out in data files. */
#ifndef HR_IO_BUNDLE_ENTRY_H
#define HR_IO_BUNDLE_ENTRY_H
#include "base/arena.h"
#include "base/vec.h"
#include "io/bundle.h"

typedef struct {
  int64_t shards;
  bool is_big_endian;
} hr_bundle_header_t;

/* Slices go to the arena; name is left alone. */
HR_MUST_USE hr_status_t hr_bundle_entry_decode(hr_arena_t* arena, hr_cursor_t span, hr_bundle_entry_t* out);
/* All of an index; names in the arena. */
typedef HR_VEC(hr_bundle_entry_t) hr_bundle_entries_t;
HR_MUST_USE hr_status_t hr_bundle_entry_read_index(const char* prefix, hr_arena_t* arena, hr_bundle_header_t* out_header,
                                                   hr_bundle_entries_t* out);
/* Sorts and writes `<prefix>.index`, replacing it whole. INVALID_ARGUMENT for a name that comes twice. */
HR_MUST_USE hr_status_t hr_bundle_entry_write_index(const char* prefix, const hr_bundle_header_t* h, hr_bundle_entry_t** entries,
                                                    int64_t count);

/* The caller frees with hr_free; NULL: out of memory. */
char* hr_bundle_entry_index_path(const char* prefix);
char* hr_bundle_entry_data_path(const char* prefix, int64_t shard, int64_t shards);

/* Strings: all lengths as varints, the masked CRC of the lengths, all bytes. Both CRCs take a length as 4 little-endian bytes (8 if
 * above 2^32 - 1). */
uint32_t hr_bundle_entry_crc_length(uint32_t crc, uint64_t length, bool is_big_endian);
#endif
