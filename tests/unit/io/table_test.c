/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted string tables: golden indices, our own of many blocks, seeks, and hostile files. */
#include "io/table.h"
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "base/hash.h"
#include "temp.h"
#include "test.h"
#include "wire/cursor.h"
#include "wire/writer.h"

static hr_status_t count_all(const hr_table_t* t, int64_t* out) {
  hr_table_iter_t it;
  hr_table_iter_init(&it, t);
  hr_status_t status = hr_table_iter_first(&it);
  for (*out = 0; !status && hr_table_iter_is_valid(&it); ++*out) status = hr_table_iter_next(&it);
  hr_table_iter_deinit(&it);
  return status;
}

HR_TEST(golden_tables) {
  static const struct { const char* path; int64_t entries; } rows[] = {
    {GOLDEN "checkpoint_v2/model-7.index", 17}, {GOLDEN "saved_model_tf1/variables/variables.index", 2}, {GOLDEN "checkpoint_v1/model",
        15}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_table_t* t = NULL;
    int64_t n = 0;
    HR_REQUIRE_OK(hr_table_open(rows[i].path, &t));
    HR_CHECK_OK(count_all(t, &n));
    HR_CHECK_EQ_I64(n, rows[i].entries);
    hr_table_close(t);
  }
}

static void key_of(int i, char key[32]) { snprintf(key, 32, "layer_%04d/weights", i * 2); }

static bool write_table(hr_table_writer_t* w, int count, size_t block) {
  char key[32], value[64];
  hr_table_writer_init(w);
  w->block_limit = block;
  for (int i = 0; i < count; ++i) {
    key_of(i, key);
    snprintf(value, sizeof value, "value of %d", i);
    if (!HR_CHECK_OK(hr_table_writer_add(w, hr_str(key), hr_str(value)))) return false;
  }
  return HR_CHECK_OK(hr_table_writer_finish(w));
}

HR_TEST(what_is_written_is_found) {
  static const int counts[] = {0, 1, 15, 16, 17, 500};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (size_t block = 64; block <= 262144; block *= 64) {
      hr_table_writer_t w;
      hr_table_t* t = NULL;
      hr_table_iter_t it;
      char key[32], between[32];
      int64_t n = -1;
      HR_REQUIRE(write_table(&w, counts[c], block));
      HR_REQUIRE_OK(hr_table_open_memory(w.file.data, w.file.size, "memory", &t));
      HR_CHECK_OK(count_all(t, &n));
      HR_CHECK_EQ_I64(n, counts[c]);
      hr_table_iter_init(&it, t);
      for (int i = 0; i < counts[c]; ++i) {
        key_of(i, key);
        HR_CHECK_OK(hr_table_iter_seek(&it, hr_str(key)));
        HR_CHECK(hr_table_iter_is_valid(&it) && hr_str_is(hr_table_iter_key(&it), key));
        snprintf(between, sizeof between, "layer_%04d/weights", i * 2 - 1);
        HR_CHECK_OK(hr_table_iter_seek(&it, hr_str(between)));
        HR_CHECK(hr_table_iter_is_valid(&it) && hr_str_is(hr_table_iter_key(&it), key));
      }
      HR_CHECK_OK(hr_table_iter_seek(&it, HR_STR("zzz")));
      HR_CHECK(!hr_table_iter_is_valid(&it));
      hr_table_iter_deinit(&it);
      hr_table_close(t);
      hr_table_writer_deinit(&w);
    }
}

HR_TEST(keys_must_ascend) {
  hr_table_writer_t w;
  hr_table_writer_init(&w);
  HR_CHECK_OK(hr_table_writer_add(&w, HR_STR(""), HR_STR("x")));
  HR_CHECK_CODE(hr_table_writer_add(&w, HR_STR(""), HR_STR("x")), HR_INVALID_ARGUMENT, "must ascend");
  HR_CHECK_OK(hr_table_writer_add(&w, HR_STR("b"), HR_STR("x")));
  HR_CHECK_CODE(hr_table_writer_add(&w, HR_STR("a"), HR_STR("x")), HR_INVALID_ARGUMENT, "'a' comes after 'b'");
  hr_table_writer_deinit(&w);
}

HR_TEST(every_truncation_and_flipped_byte_is_data_loss) {
  hr_table_writer_t w;
  HR_REQUIRE(write_table(&w, 40, 256));
  for (size_t n = 0; n < w.file.size; ++n) {
    hr_table_t* t = NULL;
    HR_CHECK_CODE(hr_table_open_memory(w.file.data, n, "cut", &t), HR_DATA_LOSS, "cut: ");
  }
  size_t lost = 0;
  for (size_t i = 0; i < w.file.size; ++i) {
    hr_table_t* t = NULL;
    int64_t n = 0;
    w.file.data[i] ^= 0x55;
    hr_status_t status = hr_table_open_memory(w.file.data, w.file.size, "bad", &t);
    if (!status) status = count_all(t, &n);
    if (status) HR_CHECK_CODE(status, HR_DATA_LOSS, "bad: ");
    else HR_CHECK_EQ_I64(n, 40); /* the metaindex and padding are not read: nothing may be missing then */
    lost += n < 40;
    hr_table_close(t);
    w.file.data[i] ^= 0x55;
  }
  HR_CHECK(lost >= w.file.size - 13 - 40);
  hr_table_writer_deinit(&w);
}

/* Damage that checksums do not show: the block's checksum is made right again. */
static hr_status_t open_patched(hr_table_writer_t* w, size_t at, char byte) {
  hr_table_t* t = NULL;
  int64_t n = 0;
  hr_strbuf_t copy = {0};
  hr_strbuf_add_str(&copy, hr_strbuf_view(&w->file));
  size_t block = 0; /* one data block, from the start; its size is in the index entry: found by its trailer */
  for (block = 0; block < copy.size - 4; ++block) {
    uint32_t crc = hr_hash_crc32c_mask(hr_hash_crc32c(0, copy.data, block + 1)), stored;
    memcpy(&stored, copy.data + block + 1, 4);
    if (crc == stored) break;
  }
  copy.data[at] = byte;
  uint32_t crc = hr_hash_crc32c_mask(hr_hash_crc32c(0, copy.data, block + 1));
  memcpy(copy.data + block + 1, &crc, 4);
  hr_status_t status = hr_table_open_memory(copy.data, copy.size, "patched", &t);
  if (!status) status = count_all(t, &n);
  hr_table_close(t);
  hr_strbuf_deinit(&copy);
  return status;
}

HR_TEST(bad_entries_with_good_checksums_are_data_loss) {
  hr_table_writer_t w;
  HR_REQUIRE(write_table(&w, 3, 262144));
  HR_CHECK_OK(open_patched(&w, 3, 'l'));                                                           /* no change */
  HR_CHECK_CODE(open_patched(&w, 0, 1), HR_DATA_LOSS, "an entry runs out of its block");           /* shares a byte with nothing */
  HR_CHECK_CODE(open_patched(&w, 1, 0x7f), HR_DATA_LOSS, "an entry runs out of its block");        /* a key longer than the block */
  HR_CHECK_CODE(open_patched(&w, 2, 0x7f), HR_DATA_LOSS, "an entry runs out of its block");
  HR_CHECK_CODE(open_patched(&w, 34, '0'), HR_DATA_LOSS, "keys out of order");
  hr_table_writer_deinit(&w);
}

/* --- tables made by hand ------------------------------------------------------------------------------------------------------------- */

static uint32_t get32(const char* p) {
  const uint8_t* b = (const uint8_t*)p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Appends a block with its type and checksum; its handle goes to `handle`. */
static void put_block(hr_strbuf_t* file, const char* bytes, size_t size, int type, hr_strbuf_t* handle) {
  const size_t at = file->size;
  const char kind = (char)type;
  hr_strbuf_add(file, bytes, size);
  hr_strbuf_add(file, &kind, 1);
  hr_writer_fixed32_raw(file, hr_hash_crc32c_mask(hr_hash_crc32c(0, file->data + at, size + 1)));
  hr_writer_varint(handle, at);
  hr_writer_varint(handle, size);
}

static void put_footer(hr_strbuf_t* file, const hr_strbuf_t* index) {
  hr_strbuf_t footer = {0};
  hr_strbuf_add(&footer, "\0\0", 2); /* of the metaindex, which nothing reads */
  hr_strbuf_add(&footer, index->data, index->size);
  while (footer.size < 40) hr_strbuf_add(&footer, "", 1);
  hr_writer_fixed64_raw(&footer, UINT64_C(0xdb4775248b80fb57));
  hr_strbuf_add_str(file, hr_strbuf_view(&footer));
  hr_strbuf_deinit(&footer);
}

typedef struct { const char* bytes; size_t size; int type; } block_t;
#define BLOCK(text) {text, sizeof(text) - 1, 0}
#define ONE_RESTART "\0\0\0\0\1\0\0\0"

/* A table of these data blocks, named "x", "y", ... in the index; the keys of all entries in a row, or what is wrong. */
static hr_status_t keys_of(const block_t* blocks, int count, const char* seek, char keys[64]) {
  hr_strbuf_t file = {0}, index = {0}, handle = {0};
  for (int i = 0; i < count; ++i) {
    handle.size = 0;
    put_block(&file, blocks[i].bytes, blocks[i].size, blocks[i].type, &handle);
    const char entry[] = {0, 1, (char)handle.size, (char)('x' + i)};
    hr_strbuf_add(&index, entry, 4);
    hr_strbuf_add_str(&index, hr_strbuf_view(&handle));
  }
  hr_strbuf_add(&index, ONE_RESTART, 8);
  handle.size = 0;
  put_block(&file, index.data, index.size, 0, &handle);
  put_footer(&file, &handle);
  char* exact = hr_alloc_copy(file.data, file.size);
  hr_table_t* t = NULL;
  hr_table_iter_t it;
  hr_status_t status = hr_table_open_memory(exact, file.size, "made", &t);
  hr_table_iter_init(&it, t);
  if (!status) status = seek ? hr_table_iter_seek(&it, hr_str(seek)) : hr_table_iter_first(&it);
  for (*keys = 0; !status && hr_table_iter_is_valid(&it); status = hr_table_iter_next(&it))
    snprintf(keys + strlen(keys), 64 - strlen(keys), "<%.*s>", HR_STR_ARG(hr_table_iter_key(&it)));
  hr_table_iter_deinit(&it);
  hr_table_close(t);
  hr_free(exact);
  hr_strbuf_deinit(&file);
  hr_strbuf_deinit(&index);
  hr_strbuf_deinit(&handle);
  return status;
}

HR_TEST(blocks_made_by_hand) {
  static const struct { block_t block; const char* seek; const char* keys;
  } rows[] = {
      {BLOCK(""), NULL, "!without room for its restart points"},
      {BLOCK("\0\0\0"), NULL, "!without room for its restart points"},
      {BLOCK("\0\0\0\0"), NULL, ""},
      {BLOCK("\1\0\0\0"), NULL, "!without room for its restart points"},
      {BLOCK("\0\0\0\0\2\0\0\0"), NULL, "!without room for its restart points"},
      {BLOCK("\0\0\0\0\0\0\0\0"), NULL, ""}, /* no restart point: no entries */
      {BLOCK(ONE_RESTART), NULL, ""},
      {BLOCK("\0\3\0abc" ONE_RESTART), NULL, "<abc>"},
      {BLOCK("\0\1\2abc" ONE_RESTART), NULL, "<a>"},
      {BLOCK("\0\1\3abc" ONE_RESTART), NULL, "!an entry runs out of its block"},
      {BLOCK("\0\4\0abc" ONE_RESTART), NULL, "!an entry runs out of its block"},
      {BLOCK("\200" ONE_RESTART), NULL, "!an entry runs out of its block"},
      {BLOCK("\0\200" ONE_RESTART), NULL, "!an entry runs out of its block"},
      {BLOCK("\0\0\0\0\1\0b" ONE_RESTART), NULL, "<><b>"},
      {BLOCK("\0\4\0aazz\1\1\0b\1\2\0bc" ONE_RESTART), NULL, "<aazz><ab><abc>"}, /* what is left of a longer key does not count */
      {BLOCK("\0\1\0a\1\0\0" ONE_RESTART), NULL, "!keys out of order"},
      {BLOCK("\0\1\0b\0\1\0a" ONE_RESTART), NULL, "!keys out of order"},
      {BLOCK("\0\1\0b\0\1\0a" ONE_RESTART), "c", "!keys out of order"},
      {BLOCK("\0\1\0a\2\1\0b" ONE_RESTART), NULL, "!an entry runs out of its block"},
      {BLOCK("\0\0\0\0\1\0b"
             "\0\0\0\0\3\0\0\0\2\0\0\0"),
       "", "<><b>"}, /* two restart points: of "" and of "b" */
      {BLOCK("\0\0\0\0\1\0b"
             "\0\0\0\0\3\0\0\0\2\0\0\0"),
       "b", "<b>"},
      {BLOCK("\0\1\0a\1\1\0b\0\1\0c"
             "\0\0\0\0\4\0\0\0\2\0\0\0"),
       "b", "!an entry runs out of its block"}, /* shares with none at a restart */
      {BLOCK("\0\1\0a\0\1\0b"
             "\0\0\0\0\11\0\0\0\2\0\0\0"),
       "b", "!a restart point outside its block"},
      {BLOCK("\0\1\0a\0\1\0b"
             "\0\0\0\0\10\0\0\0\2\0\0\0"),
       "b", "<b>"}, /* one at the end has no entry */
      {{"\17\70\0\3\0abc" ONE_RESTART, 16, 1}, NULL, "!snappy data is damaged"},
      {{"\16\64\0\3\0abc" ONE_RESTART, 16, 1}, NULL, "<abc>"}, /* snappy: one literal */
      {{"\201\200\200\200\4\0", 6, 1}, NULL, "!snappy data of 1073741825 bytes decoded, 1073741824 at most here"},
      {{"\0\3\0abc" ONE_RESTART, 14, 2}, NULL, "!unknown compression"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char keys[64];
    hr_status_t status = keys_of(&rows[i].block, 1, rows[i].seek, keys);
    bool good = *rows[i].keys == '!' ? HR_CHECK_CODE(status, HR_DATA_LOSS, rows[i].keys + 1)
                                     : HR_CHECK_OK(status) && HR_CHECK_STR(keys, rows[i].keys);
    if (!good) printf("  row %zu\n", i);
  }
}

HR_TEST(blocks_in_a_row) {
  static const block_t some = BLOCK("\0\1\0a\0\1\0b" ONE_RESTART), more = BLOCK("\0\1\0c" ONE_RESTART), none = BLOCK(ONE_RESTART);
  const block_t orders[][3] = {{some, more, none}, {none, some, more}, {some, none, more}, {none, none, more}, {none, none, none}};
  static const char* const wants[] = {"<a><b><c>", "<a><b><c>", "<a><b><c>", "<c>", ""};
  char keys[64];
  for (int i = 0; i < 5; ++i) {
    HR_CHECK_OK(keys_of(orders[i], 3, NULL, keys));
    HR_CHECK_STR(keys, wants[i]);
  }
}

/* Handles of a data block and the index's own, near the end of what they may reach: the file less its footer and the block's trailer. */
HR_TEST(handles_stay_within_the_file) {
  static const struct { uint64_t offset, size; const char* says; } rows[] = { /* the table has 100 bytes before its footer */
      {101, 0, "byte 101: a block reaches out of the file"},  {100, 0, "byte 100: a block reaches out of the file"},
      {96, 0, "byte 96: a block reaches out of the file"},    {95, 0, "byte 95: a block has a wrong checksum"},
      {0, 96, "byte 0: a block reaches out of the file"},     {0, 95, "byte 0: a block has a wrong checksum"},
      {50, 46, "byte 50: a block reaches out of the file"},   {50, 45, "byte 50: a block has a wrong checksum"},
      {50, 51, "byte 50: a block reaches out of the file"},   {UINT64_MAX, 1, "a block reaches out of the file"},
      {1, UINT64_MAX, "byte 1: a block reaches out of the file"}, {100, UINT64_MAX - 99, "byte 100: a block reaches out of the file"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_strbuf_t file = {0}, handle = {0};
    hr_table_t* t = NULL;
    int64_t n = 0;
    for (int k = 0; k < 100; ++k) hr_strbuf_add(&file, "x", 1);
    hr_writer_varint(&handle, rows[i].offset);
    hr_writer_varint(&handle, rows[i].size);
    put_footer(&file, &handle);
    char* exact = hr_alloc_copy(file.data, file.size);
    HR_CHECK_OK(hr_table_open_memory(exact, file.size, "made", &t));
    HR_CHECK_CODE(count_all(t, &n), HR_DATA_LOSS, rows[i].says);
    hr_table_close(t);
    exact[file.size - 1] ^= 1;
    HR_CHECK_CODE(hr_table_open_memory(exact, file.size, "made", &t), HR_DATA_LOSS,
                  "made: table at byte 140: not a table: wrong magic number");
    HR_CHECK_CODE(hr_table_open_memory(exact, 47, "made", &t), HR_DATA_LOSS, "made: 47 bytes are too few for a table");
    exact[file.size - 1] ^= 1;
    if (HR_CHECK_OK(hr_table_open_memory(exact + 100, 48, "footer", &t))) HR_CHECK_CODE(count_all(t, &n), HR_DATA_LOSS, "reaches out");
    hr_table_close(t);
    hr_free(exact);
    hr_strbuf_deinit(&file);
    hr_strbuf_deinit(&handle);
  }
}

HR_TEST(index_keys_ascend_too) {
  hr_strbuf_t file = {0}, index = {0};
  hr_table_t* t = NULL;
  int64_t n = 0;
  hr_strbuf_t handle = {0};
  put_block(&file, ONE_RESTART, 8, 0, &handle); /* at 0, 8 bytes */
  handle.size = 0;
  put_block(&file, "\0\1\2b\0\10\0\1\2a\0\10" ONE_RESTART, 20, 0, &handle);
  put_footer(&file, &handle);
  HR_REQUIRE_OK(hr_table_open_memory(file.data, file.size, "made", &t));
  HR_CHECK_CODE(count_all(t, &n), HR_DATA_LOSS, "keys out of order");
  hr_table_close(t);
  hr_strbuf_deinit(&file);
  hr_strbuf_deinit(&index);
  hr_strbuf_deinit(&handle);
}

/* --- how tables are laid out -------------------------------------------------------------------------------------------------------- */

/* Walks over one block: an entry in 16 is a restart point and shares nothing, the others share what they have in common with the one
 * before. Returns the entries' number; *out_last: where the last one begins. */
static int check_block(const char* block, size_t size, size_t* out_last) {
  const size_t restarts = get32(block + size - 4), end = size - 4 - 4 * restarts;
  char key[64] = "";
  size_t at = 0, key_size = 0;
  int n = 0;
  for (; at < end; ++n) {
    const size_t shared = (uint8_t)block[at], unshared = (uint8_t)block[at + 1], value = (uint8_t)block[at + 2]; /* all are below 128 */
    *out_last = at;
    if (n % 16 == 0) HR_CHECK(shared == 0 && (size_t)n / 16 < restarts && get32(block + end + 4 * (size_t)(n / 16)) == at);
    else HR_CHECK(unshared > 0 && (shared == key_size || key[shared] != block[at + 3]));
    memcpy(key + shared, block + at + 3, unshared);
    key_size = shared + unshared;
    at += 3 + unshared + value;
  }
  HR_CHECK(at == end);
  HR_CHECK_EQ_I64(restarts, n ? (n + 15) / 16 : 1);
  return n;
}

HR_TEST(restart_points_and_block_sizes) {
  static const int counts[] = {1, 15, 16, 17, 32, 33, 200};
  static const size_t limits[] = {1, 100, 200, 262144};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (size_t l = 0; l < 4; ++l) {
      hr_table_writer_t w;
      HR_REQUIRE(write_table(&w, counts[c], limits[l]));
      const char* footer = w.file.data + w.file.size - 48;
      hr_cursor_t handles = hr_cursor_make(footer, 40);
      uint64_t offset, size;
      for (int k = 0; k < 2; ++k) HR_CHECK(!hr_cursor_varint(&handles, &offset) && !hr_cursor_varint(&handles, &size));
      const char* index = w.file.data + offset;
      const size_t blocks = get32(index + size - 4);
      int entries = 0;
      for (size_t b = 0, at = 0; b < blocks; ++b) {
        HR_CHECK_EQ_I64(get32(index + size - 4 - 4 * (blocks - b)), at);
        const size_t key = (uint8_t)index[at + 1], value = (uint8_t)index[at + 2];
        hr_cursor_t h = hr_cursor_make(index + at + 3 + key, value);
        uint64_t from = 0, bytes = 4;
        size_t last = 0;
        if (!HR_CHECK(index[at] == 0 && !hr_cursor_varint(&h, &from) && !hr_cursor_varint(&h, &bytes))) break;
        entries += check_block(w.file.data + from, bytes, &last);
        HR_CHECK(last < limits[l]);
        if (b + 1 < blocks) HR_CHECK(bytes - 4 - 4 * get32(w.file.data + from + bytes - 4) >= limits[l]);
        at += 3 + key + value;
      }
      HR_CHECK_EQ_I64(entries, counts[c]);
      hr_table_writer_deinit(&w);
    }
  hr_table_writer_t w;
  hr_table_writer_init(&w);
  HR_CHECK_EQ_I64(w.block_limit, 256 * 1024); /* as TensorFlow's */
  HR_CHECK_OK(hr_table_writer_finish(&w));
  static const char empty[] = "\0\0\0\0\1\0\0\0\0"; /* the metaindex, as the index: no entry, one restart point */
  HR_CHECK(w.file.size == 13 + 13 + 48 && memcmp(w.file.data, empty, 9) == 0 && memcmp(w.file.data + 13, empty, 9) == 0);
  HR_CHECK(memcmp(w.file.data + 26, "\0\10\15\10\0", 5) == 0);
  hr_table_writer_deinit(&w);
}

HR_TEST_MAIN()
