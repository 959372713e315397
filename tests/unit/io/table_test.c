/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted string tables: golden indices, our own of many blocks, seeks, and hostile files. */
#include "io/table.h"
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "base/hash.h"
#include "temp.h"
#include "test.h"

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

HR_TEST_MAIN()
