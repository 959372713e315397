/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a checkpoint, message by message: what is written, what is refused, and parts that are described wrongly. */
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "base/hash.h"
#include "io/bundle_entry.h"
#include "io/table.h"
#include "temp.h"
#include "test.h"

#define NONE HR_STR("")
#define ONE_SHARD "\x08\x01" /* the least that a header says */

typedef struct { const char* key; size_t key_size; const char* value; size_t value_size; } row_t;
#define ROW(key, value) {key, sizeof(key) - 1, value, sizeof(value) - 1}

/* A checkpoint of these index entries (sorted by key) with `bytes` of data, each its own number. */
static const char* make(const row_t* rows, int count, size_t bytes) {
  const char* prefix = temp_path("made");
  char path[800], data[256];
  hr_table_writer_t w;
  hr_table_writer_init(&w);
  for (int i = 0; i < count; ++i)
    HR_CHECK_OK(hr_table_writer_add(&w, (hr_str_t){rows[i].key, rows[i].key_size}, (hr_str_t){rows[i].value, rows[i].value_size}));
  HR_CHECK_OK(hr_table_writer_finish(&w));
  snprintf(path, sizeof path, "%s.index", prefix);
  HR_CHECK_OK(hr_file_replace(path, w.file.data, w.file.size));
  hr_table_writer_deinit(&w);
  for (size_t i = 0; i < bytes; ++i) data[i] = (char)i;
  snprintf(path, sizeof path, "%s.data-00000-of-00001", prefix);
  HR_CHECK_OK(hr_file_replace(path, data, bytes));
  return prefix;
}

/* Opens it and reads "v", or the part of it that `spec` names. */
static hr_status_t read_v(const row_t* rows, int count, size_t bytes, const char* spec) {
  hr_bundle_t* b = NULL;
  hr_tensor_t t = {0};
  HR_TRY(hr_bundle_open(make(rows, count, bytes), &b));
  hr_status_t status = hr_bundle_find(b, HR_STR("v")) ? hr_bundle_read(b, HR_STR("v"), hr_str(spec), HR_DTYPE_INVALID, &t) : NULL;
  hr_tensor_release(&t);
  hr_bundle_close(b);
  return status;
}

HR_TEST(headers) {
  static const struct { row_t header; hr_code_t code; const char* says; } rows[] = {
      {ROW("", ONE_SHARD), HR_OK, ""},
      {ROW("", "\x08\x80\x80\x40"), HR_OK, ""},
      {ROW("", "\x08\x81\x80\x40"), HR_DATA_LOSS, "checkpoint header says 1048577 shards, 1 to 1048576 are possible"},
      {ROW("", "\x08\x00"), HR_DATA_LOSS, "checkpoint header says 0 shards, 1 to 1048576 are possible"},
      {ROW("", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), HR_DATA_LOSS, "checkpoint header says -1 shards"},
      {ROW("", ""), HR_DATA_LOSS, "checkpoint header says 0 shards"},
      {ROW("", ONE_SHARD "\x1a\x02\x08\x01"), HR_OK, ""},
      {ROW("", ONE_SHARD "\x1a\x02\x08\x05"), HR_OK, ""},
      {ROW("", ONE_SHARD "\x1a\x02\x10\x01"), HR_OK, ""},
      {ROW("", ONE_SHARD "\x1a\x02\x10\x02"), HR_INVALID_ARGUMENT, "checkpoint needs a reader of version 2, this one has 1"},
      {ROW("", ONE_SHARD "\x1a\x02\x18\x01"), HR_INVALID_ARGUMENT, "checkpoint refuses readers of version 1"},
      {ROW("", ONE_SHARD "\x1a\x02\x18\x02"), HR_OK, ""},
      {ROW("", "\x1a\x7f"), HR_DATA_LOSS, "made.index"},
      {ROW("v", ""), HR_DATA_LOSS, "an entry has unknown dtype 0"},
      {ROW("v", "\x08\x03"), HR_DATA_LOSS, "entry 'v' lies in shard 0 of 0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_status_t status = read_v(&rows[i].header, 1, 0, "");
    bool good = rows[i].code ? HR_CHECK_CODE(status, rows[i].code, rows[i].says) : HR_CHECK_OK(status);
    if (!good) printf("  row %zu\n", i);
  }
}

HR_TEST(byte_orders_of_headers) {
  static const row_t rows[][1] = {{ROW("", ONE_SHARD "\x10\x00")}, {ROW("", ONE_SHARD "\x10\x01")}, {ROW("", ONE_SHARD "\x10\x02")}};
  for (int i = 0; i < 3; ++i) {
    hr_arena_t a;
    hr_bundle_header_t header;
    hr_bundle_entries_t entries = {0};
    hr_arena_init(&a);
    HR_CHECK_OK(hr_bundle_entry_read_index(make(rows[i], 1, 0), &a, &header, &entries));
    HR_CHECK(header.shards == 1 && header.is_big_endian == (i == 1) && entries.count == 0);
    hr_vec_deinit(&entries);
    hr_arena_deinit(&a);
  }
}

/* dtype 1, shape 2 {dim 2 {size 1}}, shard 3, offset 4, size 5, crc 6 (fixed), slices 7 */
#define SHAPE2 "\x12\x04\x12\x02\x08\x02"
#define MINUS "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
HR_TEST(entries) {
  static const struct { row_t v; hr_code_t code; const char* says; } rows[] = {
      {ROW("v", "\x08\x22"), HR_DATA_LOSS, "an entry has unknown dtype 34"},
      {ROW("v", "\x08\x65"), HR_DATA_LOSS, "an entry has unknown dtype 101"},
      {ROW("v", SHAPE2), HR_DATA_LOSS, "an entry has unknown dtype 0"},
      {ROW("v", "\x08\x06\x18\x80\x80\x40"), HR_DATA_LOSS, "an entry lies at byte 0 of shard 1048576, 0 bytes"},
      {ROW("v", "\x08\x06\x18\xff\xff\x3f"), HR_DATA_LOSS, "entry 'v' lies in shard 1048575 of 1"},
      {ROW("v", "\x08\x06\x18\x01"), HR_DATA_LOSS, "entry 'v' lies in shard 1 of 1"},
      {ROW("v", "\x08\x06\x20" MINUS), HR_DATA_LOSS, "an entry lies at byte -1 of shard 0, 0 bytes"},
      {ROW("v", "\x08\x06\x28" MINUS), HR_DATA_LOSS, "an entry lies at byte 0 of shard 0, -1 bytes"},
      {ROW("v", "\x08\x06" SHAPE2 "\x28\x01"), HR_DATA_LOSS, "its size does not fit its shape"},
      {ROW("v", "\x08\x06" SHAPE2 "\x28\x03"), HR_DATA_LOSS, "its size does not fit its shape"},
      {ROW("v", "\x08\x06" SHAPE2 "\x28\x02"), HR_DATA_LOSS, "(shard 0, byte 0): wrong checksum"},
      {ROW("v", "\x08\x06" SHAPE2 "\x20\x06\x28\x02"), HR_DATA_LOSS, "(shard 0, byte 6): wrong checksum"},
      {ROW("v", "\x08\x06" SHAPE2 "\x20\x07\x28\x02"), HR_DATA_LOSS, "the data file is too short"},
      {ROW("v", "\x08\x06" SHAPE2 "\x20\x09\x28\x02"), HR_DATA_LOSS, "the data file is too short"},
      {ROW("v", "\x08\x06\x12\x04\x12\x02\x08\x00\x20\x08\x35\xd8\xea\x82\xa2"), HR_OK, ""}, /* nothing, at the end of the file */
      {ROW("v", "\x08\x06\x12\x04\x12\x02\x08\x00\x20\x09\x35\xd8\xea\x82\xa2"), HR_DATA_LOSS, "the data file is too short"},
      {ROW("v", "\x08\x07" SHAPE2 "\x28\x01"), HR_DATA_LOSS, "too few bytes for its strings"},
      {ROW("v", "\x08\x07" SHAPE2 "\x28\x02"), HR_DATA_LOSS, "the strings run past the end"},
      {ROW("v", "\x08\x07" SHAPE2 "\x28\x06"), HR_DATA_LOSS, "the string lengths have a wrong checksum"},
      {ROW("v", "\x08\x14" SHAPE2 "\x28\x02"), HR_UNIMPLEMENTED, "reading resource tensor 'v' from a checkpoint"},
      {ROW("v", "\x08\x15" SHAPE2 "\x28\x02"), HR_UNIMPLEMENTED, "reading variant tensor 'v' from a checkpoint"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const row_t both[] = {ROW("", ONE_SHARD), rows[i].v};
    hr_status_t status = read_v(both, 2, 8, "");
    bool good = rows[i].code ? HR_CHECK_CODE(status, rows[i].code, rows[i].says) : HR_CHECK_OK(status);
    if (!good) printf("  row %zu\n", i);
  }
}

/* --- what is written --------------------------------------------------------------------------------------------------------------- */

static hr_status_t save(const char* prefix, const char* name, const char* spec, hr_dtype_t dtype, int64_t n) {
  hr_bundle_writer_t* w = NULL;
  hr_tensor_t t = {0};
  const hr_shape_t shape = hr_shape_vector(n);
  HR_TRY(hr_bundle_writer_create(prefix, &w));
  hr_status_t status = hr_tensor_create_zero(dtype, &shape, &t);
  for (size_t i = 0; !status && i < hr_tensor_bytes(&t); ++i) ((uint8_t*)t.data)[i] = (uint8_t)(i * 31 + 1);
  if (!status) status = hr_bundle_writer_add(w, hr_str(name), hr_str(spec), &t);
  if (!status) status = hr_bundle_writer_finish(w);
  hr_bundle_writer_destroy(w);
  hr_tensor_release(&t);
  return status;
}

static void check_index(const char* prefix, const row_t* rows, int count) {
  char path[800];
  hr_table_t* t = NULL;
  hr_table_iter_t it;
  int n = 0;
  snprintf(path, sizeof path, "%s.index", prefix);
  HR_REQUIRE_OK(hr_table_open(path, &t));
  hr_table_iter_init(&it, t);
  for (hr_status_t status = hr_table_iter_first(&it); HR_CHECK_OK(status) && hr_table_iter_is_valid(&it);
       status = hr_table_iter_next(&it), ++n) {
    if (!HR_CHECK(n < count)) break;
    HR_CHECK(hr_str_equal(hr_table_iter_key(&it), (hr_str_t){rows[n].key, rows[n].key_size}));
    if (!HR_CHECK(hr_str_equal(hr_table_iter_value(&it), (hr_str_t){rows[n].value, rows[n].value_size})))
      for (size_t i = 0; i < hr_table_iter_value(&it).size; ++i)
        printf("%02x%s", (uint8_t)hr_table_iter_value(&it).data[i], i + 1 < hr_table_iter_value(&it).size ? " " : "\n");
  }
  HR_CHECK_EQ_I64(n, count);
  hr_table_iter_deinit(&it);
  hr_table_close(t);
}

HR_TEST(messages_have_known_bytes) {
  static const row_t whole[] = {ROW("", ONE_SHARD "\x1a\x02\x08\x01"), ROW("v", "\x08\x06\x12\x02\x12\x00\x35\xd8\xea\x82\xa2")};
  HR_CHECK_OK(save(temp_path("w"), "v", "", HR_I8, 0));
  check_index(temp_path("w"), whole, 2);
  static const row_t part[] = {ROW("", ONE_SHARD "\x1a\x02\x08\x01"),
                               ROW("\0v\0\1\1\1\x84\x80", "\x08\x06\x12\x02\x12\x00\x35\xd8\xea\x82\xa2"),
                               ROW("v", "\x08\x06\x12\x04\x12\x02\x08\x0a\x3a\x06\x0a\x04\x08\x04\x10\x00")};
  hr_arena_t a; /* a part without elements cannot be said in text: made by hand */
  hr_slice_t slice = {1, {4}, {0}};
  hr_bundle_entry_t whole_entry = {.name = HR_STR("v"), .dtype = HR_I8, .shape = hr_shape_vector(10), .slice_count = 1, .slices = &slice};
  hr_bundle_entry_t part_entry = {.name = {"\0v\0\1\1\1\x84\x80", 8}, .dtype = HR_I8, .shape = hr_shape_vector(0), .crc = 0xa282ead8};
  hr_bundle_entry_t* entries[] = {&whole_entry, &part_entry};
  const hr_bundle_header_t header = {1, false};
  hr_arena_init(&a);
  HR_CHECK_OK(hr_bundle_entry_write_index(temp_path("p"), &header, entries, 2));
  check_index(temp_path("p"), part, 3);
  hr_bundle_entry_t* twice[] = {&part_entry, &part_entry};
  HR_CHECK_CODE(hr_bundle_entry_write_index(temp_path("p"), &header, twice, 2), HR_INVALID_ARGUMENT, "is there twice");
  static const row_t none[] = {ROW("", ONE_SHARD "\x1a\x02\x08\x01")};
  HR_CHECK_OK(hr_bundle_entry_write_index(temp_path("p"), &header, NULL, 0));
  check_index(temp_path("p"), none, 1);
  static const row_t big[] = {ROW("", "\x08\x03\x10\x01\x1a\x02\x08\x01"),
                              ROW("v", "\x08\x06\x12\x00\x18\x02\x20\x05\x28\x01\x35\x00\x00\x00\x00")};
  const hr_bundle_header_t three = {3, true};
  hr_bundle_entry_t placed = {.name = HR_STR("v"), .dtype = HR_I8, .shape = hr_shape_scalar(), .shard = 2, .offset = 5, .size = 1};
  entries[0] = &placed;
  HR_CHECK_OK(hr_bundle_entry_write_index(temp_path("p"), &three, entries, 1));
  check_index(temp_path("p"), big, 2);
  hr_arena_deinit(&a);
}

HR_TEST(lengths_in_checksums) {
  static const char small_little[] = {1, 2, 3, 4}, small_big[] = {4, 3, 2, 1}, most[] = {-1, -1, -1, -1};
  static const char large_little[] = {0, 0, 0, 0, 1, 0, 0, 2}, large_big[] = {2, 0, 0, 1, 0, 0, 0, 0};
  HR_CHECK_EQ_U64(hr_bundle_entry_crc_length(7, 0x04030201, false), hr_hash_crc32c(7, small_little, 4));
  HR_CHECK_EQ_U64(hr_bundle_entry_crc_length(7, 0x04030201, true), hr_hash_crc32c(7, small_big, 4));
  HR_CHECK_EQ_U64(hr_bundle_entry_crc_length(7, UINT32_MAX, false), hr_hash_crc32c(7, most, 4));
  HR_CHECK_EQ_U64(hr_bundle_entry_crc_length(7, UINT64_C(0x0200000100000000), false), hr_hash_crc32c(7, large_little, 8));
  HR_CHECK_EQ_U64(hr_bundle_entry_crc_length(7, UINT64_C(0x0200000100000000), true), hr_hash_crc32c(7, large_big, 8));
  const hr_bundle_entry_t names[] = {
      {.name = {"", 0}}, {.name = {"\0v", 2}}, {.name = {"\0", 1}}, {.name = {"v", 1}}, {.name = {"v\0", 2}}};
  for (int i = 0; i < 5; ++i) HR_CHECK(hr_bundle_entry_is_part(&names[i]) == (i == 1 || i == 2));
}

/* --- sizes around a piece, which is read and written at once ----------------------------------------------------------------------- */
HR_TEST(sizes_around_a_piece) {
  static const int64_t sizes[] = {0, 1, 2, 262143, 262144, 262145, 524288, 600001};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    hr_bundle_t* b = NULL;
    hr_tensor_t t = {0};
    HR_CHECK_OK(save(temp_path("size"), "v", "", HR_U8, sizes[i]));
    HR_REQUIRE_OK(hr_bundle_open(temp_path("size"), &b));
    HR_CHECK_OK(hr_bundle_read(b, HR_STR("v"), NONE, HR_U8, &t));
    HR_CHECK_EQ_I64(t.count, sizes[i]);
    for (int64_t k = 0; k < t.count; ++k)
      if (((uint8_t*)t.data)[k] != (uint8_t)(k * 31 + 1)) HR_CHECK_EQ_I64(k, -1);
    hr_tensor_release(&t);
    HR_CHECK_OK(hr_file_remove(temp_path("size.data-00000-of-00001"))); /* it was opened and stays so */
    HR_CHECK_OK(hr_bundle_read(b, HR_STR("v"), NONE, HR_U8, &t));
    hr_tensor_release(&t);
    hr_bundle_close(b);
  }
}

/* --- parts ------------------------------------------------------------------------------------------------------------------------- */

/* Parts of "v", a vector of ten bytes, and what is read of it; then of those that are not there. */
HR_TEST(one_to_nine_parts) {
  for (int parts = 1; parts <= 9; ++parts) {
    hr_bundle_writer_t* w = NULL;
    hr_bundle_t* b = NULL;
    hr_tensor_t t = {0};
    char spec[32];
    HR_REQUIRE_OK(hr_bundle_writer_create(temp_path("parts"), &w));
    for (int i = 0; i < parts; ++i) {
      const hr_shape_t one = hr_shape_vector(1);
      HR_REQUIRE_OK(hr_tensor_create(HR_U8, &one, &t));
      *(uint8_t*)t.data = (uint8_t)(i + 40);
      snprintf(spec, sizeof spec, "10 %d,1", i);
      HR_CHECK_OK(hr_bundle_writer_add(w, HR_STR("v"), hr_str(spec), &t));
      hr_tensor_release(&t);
    }
    HR_CHECK_OK(hr_bundle_writer_finish(w));
    hr_bundle_writer_destroy(w);
    HR_REQUIRE_OK(hr_bundle_open(temp_path("parts"), &b));
    HR_CHECK_EQ_I64(hr_bundle_count(b), parts + 1);
    snprintf(spec, sizeof spec, "10 0,%d", parts);
    HR_CHECK_OK(hr_bundle_read(b, HR_STR("v"), hr_str(spec), HR_U8, &t));
    if (HR_CHECK_EQ_I64(t.count, parts))
      for (int i = 0; i < parts; ++i) HR_CHECK_EQ_I64(((uint8_t*)t.data)[i], i + 40);
    hr_tensor_release(&t);
    snprintf(spec, sizeof spec, "10 0,%d", parts + 1);
    HR_CHECK_CODE(hr_bundle_read(b, HR_STR("v"), hr_str(spec), HR_U8, &t), HR_INVALID_ARGUMENT, "its parts do not cover what is asked for");
    HR_CHECK_CODE(hr_bundle_read(b, HR_STR("v"), NONE, HR_U8, &t), HR_INVALID_ARGUMENT, "its parts do not cover what is asked for");
    hr_bundle_close(b);
  }
}

#define TEN "\x12\x04\x12\x02\x08\x0a"
#define SLICE(start, length) "\x3a\x06\x0a\x04\x08" start "\x10" length
#define KEY(start, length) "\0v\0\1\1\1" start length
#define PART(dtype, size) "\x08" dtype "\x12\x04\x12\x02\x08" size "\x28" size
HR_TEST(parts_that_are_described_wrongly) {
  static const struct { row_t rows[4]; const char* says;
  } cases[] = {
      {{ROW("", ONE_SHARD), ROW(KEY("\x81", "\x82"), PART("\x06", "\x02")), ROW("v", "\x08\x06" TEN SLICE("\1", "\2"))}, "wrong checksum"},
      {{ROW("", ONE_SHARD), ROW(KEY("\x81", "\x82"), PART("\x04", "\x02")), ROW("v", "\x08\x06" TEN SLICE("\1", "\2"))},
       "another dtype or shape"},
      {{ROW("", ONE_SHARD), ROW(KEY("\x81", "\x82"), PART("\x06", "\x03")), ROW("v", "\x08\x06" TEN SLICE("\1", "\2"))},
       "another dtype or shape"},
      {{ROW("", ONE_SHARD), ROW(KEY("\x81", "\x82"), PART("\x06", "\x02") SLICE("\0", "\2")), ROW("v", "\x08\x06" TEN SLICE("\1", "\2"))},
       "another dtype or shape"},
      {{ROW("", ONE_SHARD), ROW(KEY("\x81", "\x83"), PART("\x06", "\x02")), ROW("v", "\x08\x06" TEN SLICE("\1", "\2"))},
       "one of its parts is missing"},
      {{ROW("", ONE_SHARD), ROW(KEY("\x81", "\x82"), "\x08\x06\x12\x04\x12\x02\x08\x02\x28\x01"),
        ROW("v", "\x08\x06" TEN SLICE("\1", "\2"))},
       "its size does not fit its shape"},
      {{ROW("", ONE_SHARD), ROW("v", "\x08\x06" TEN SLICE("\1", "\2") SLICE("\2", "\1") SLICE("\5", "\1"))}, "its parts overlap"},
      {{ROW("", ONE_SHARD), ROW("v", "\x08\x06" TEN SLICE("\5", "\1") SLICE("\1", "\2") SLICE("\2", "\1"))}, "its parts overlap"},
      {{ROW("", ONE_SHARD), ROW("v", "\x08\x06" TEN SLICE("\1", "\2") SLICE("\5", "\1") SLICE("\2", "\1"))}, "its parts overlap"},
      {{ROW("", ONE_SHARD), ROW("v", "\x08\x06" TEN SLICE("\1", "\2") SLICE("\5", "\1") SLICE("\3", "\1"))}, "one of its parts is missing"},
      {{ROW("", ONE_SHARD), ROW("v", "\x08\x06" TEN SLICE("\1", "\x0a"))}, "reaches out of shape [10]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int count = 0;
    while (count < 4 && cases[i].rows[count].key) ++count;
    if (!HR_CHECK_CODE(read_v(cases[i].rows, count, 8, "10 1,2"), HR_DATA_LOSS, cases[i].says)) printf("  case %zu\n", i);
  }
}

HR_TEST(so_many_parts_and_no_more) {
  for (int parts = 8192; parts <= 8193; ++parts) {
    hr_strbuf_t v = {0};
    hr_strbuf_add(&v, "\x08\x06" TEN, 8);
    for (int i = 0; i < parts; ++i) hr_strbuf_add(&v, SLICE("\1", "\2"), 8);
    const row_t rows[] = {ROW("", ONE_SHARD), {"v", 1, v.data, v.size}};
    hr_status_t status = read_v(rows, 2, 8, "10 1,2");
    if (parts == 8192) HR_CHECK_CODE(status, HR_DATA_LOSS, "its parts overlap");
    else HR_CHECK_CODE(status, HR_UNIMPLEMENTED, "tensor 'v' has 8193 parts, more than 8192");
    hr_strbuf_deinit(&v);
  }
}

/* --- merging ----------------------------------------------------------------------------------------------------------------------- */
typedef struct { const char* spec; hr_dtype_t dtype; int64_t count; } saved_t;

HR_TEST(what_may_be_merged) {
  static const struct { saved_t a, b; const char* says; } rows[] = {
      {{"10 0,4", HR_U8, 4}, {"10 4,6", HR_U8, 6}, ""},
      {{"", HR_U8, 10}, {"10 4,6", HR_U8, 6}, "tensor 'v' is in two shards"},
      {{"10 4,6", HR_U8, 6}, {"", HR_U8, 10}, "tensor 'v' is in two shards"},
      {{"10 0,4", HR_U8, 4}, {"10 4,6", HR_I8, 6}, "parts of tensor 'v' disagree on its dtype or shape"},
      {{"10 0,4", HR_U8, 4}, {"11 4,6", HR_U8, 6}, "parts of tensor 'v' disagree on its dtype or shape"},
      {{"10 0,4", HR_U8, 4}, {"10 0,4", HR_U8, 4}, "is in two shards"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_str_t parts[] = {hr_str(temp_path("folder/a")), hr_str(temp_path("folder/b"))};
    HR_CHECK_OK(save(parts[0].data, "v", rows[i].a.spec, rows[i].a.dtype, rows[i].a.count));
    HR_CHECK_OK(save(parts[1].data, "v", rows[i].b.spec, rows[i].b.dtype, rows[i].b.count));
    hr_status_t status = hr_bundle_merge(parts, 2, temp_path("whole"), false);
    if (*rows[i].says) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].says);
    else HR_CHECK_OK(status);
    HR_CHECK(hr_file_exists(temp_path("folder/a.index")) == (*rows[i].says != 0));
    HR_CHECK(hr_file_exists(temp_path("folder"))); /* nobody asked for its removal */
  }
}

HR_TEST(merging_one_and_with_a_file_missing) {
  char paths[2][700];
  snprintf(paths[0], sizeof paths[0], "%s", temp_path("x/a"));
  snprintf(paths[1], sizeof paths[1], "%s", temp_path("x/b"));
  const hr_str_t parts[] = {hr_str(paths[0]), hr_str(paths[1])};
  HR_CHECK_OK(save(parts[0].data, "v", "", HR_U8, 3));
  HR_CHECK_OK(hr_bundle_merge(parts, 1, temp_path("one"), true));
  HR_CHECK(!hr_file_exists(temp_path("x")) && hr_file_exists(temp_path("one.index")) &&
           hr_file_exists(temp_path("one.data-00000-of-00001")));
  for (int missing = 0; missing < 2; ++missing) {
    char path[800];
    HR_CHECK_OK(save(parts[0].data, "v", "", HR_U8, 3));
    HR_CHECK_OK(save(parts[1].data, "w", "", HR_U8, 3));
    snprintf(path, sizeof path, "%s.data-00000-of-00001", parts[missing].data);
    HR_CHECK_OK(hr_file_remove(path));
    HR_CHECK_CODE(hr_bundle_merge(parts, 2, temp_path("two"), true), HR_NOT_FOUND, path);
    snprintf(path, sizeof path, "%s.data-00000-of-00001", parts[!missing].data);
    HR_CHECK(hr_file_exists(path) && !hr_file_exists(temp_path("two.index"))); /* checked before the first rename */
  }
}

HR_TEST_MAIN()
