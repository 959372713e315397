/* SPDX-License-Identifier: Apache-2.0 */
/* A table file: walked, searched, its values taken as checkpoint entries; and the bytes as a Snappy block. Checksums are set
 * right first (where blocks can be found), so that what lies behind them is reached. */
#include <stdlib.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "io/bundle_entry.h"
#include "io/snappy.h"
#include "io/table.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void fuzz_fix_block(uint8_t* file, size_t size, uint64_t offset, uint64_t length) {
  if (offset > size || length > size - offset || size - offset - length < 5) return;
  uint32_t crc = hr_hash_crc32c_mask(hr_hash_crc32c(0, file + offset, (size_t)length + 1));
  for (int i = 0; i < 4; ++i) file[offset + length + 1 + (size_t)i] = (uint8_t)(crc >> (8 * i));
}

static void fuzz_fix(uint8_t* file, size_t size) {
  uint64_t v[4] = {0};
  if (size < 48) return;
  hr_cursor_t c = hr_cursor_make(file + size - 48, 40);
  for (int i = 0; i < 4; ++i) hr_status_release(hr_cursor_varint(&c, &v[i]));
  fuzz_fix_block(file, size, v[2], v[3]);
  fuzz_fix_block(file, size, 0, v[0] > 5 ? v[0] - 5 : 0); /* the one data block of a small index ends before the metaindex */
}

static void fuzz_walk(const hr_table_t* t) {
  hr_table_iter_t it;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_table_iter_init(&it, t);
  hr_status_t status = hr_table_iter_first(&it);
  for (int n = 0; !status && hr_table_iter_is_valid(&it) && n < 10000; ++n) {
    hr_bundle_entry_t e;
    hr_str_t value = hr_table_iter_value(&it);
    hr_status_release(hr_bundle_entry_decode(&arena, hr_cursor_make(value.data, value.size), &e));
    status = hr_table_iter_next(&it);
  }
  hr_status_release(status);
  hr_status_release(hr_table_iter_seek(&it, HR_STR("scope/f32")));
  hr_table_iter_deinit(&it);
  hr_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hr_table_t* t = NULL;
  char* out = NULL;
  size_t n = 0;
  uint8_t* copy = (uint8_t*)hr_alloc_copy(data, size);
  if (!copy) return 0;
  fuzz_fix(copy, size);
  hr_status_t status = hr_table_open_memory(copy, size, "fuzz", &t);
  if (!status) fuzz_walk(t);
  hr_status_release(status);
  hr_table_close(t);
  hr_free(copy);
  status = hr_snappy_decode(data, size, 1 << 20, &out, &n);
  if (!status) hr_free(out);
  hr_status_release(status);
  return 0;
}
