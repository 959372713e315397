/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: TensorFlow's read, our own of every dtype, parts, merging, failure that leaves the old files, damage. */
#include "io/bundle.h"
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "base/hash.h"
#include "io/bundle_entry.h"
#include "temp.h"
#include "test.h"

#define NONE HR_STR("")

static hr_tensor_t read_golden(hr_bundle_t* b, const char* name, hr_dtype_t dtype) {
  hr_tensor_t t = {0};
  HR_CHECK_OK(hr_bundle_read(b, hr_str(name), NONE, dtype, &t));
  return t;
}

static void expect_bytes(hr_bundle_t* b, const char* name, hr_dtype_t dtype, int rank, const void* want, size_t size) {
  hr_tensor_t t = read_golden(b, name, dtype);
  HR_CHECK_EQ_I64(t.shape.rank, rank);
  HR_CHECK_EQ_I64(hr_tensor_bytes(&t), size);
  HR_CHECK(t.data && memcmp(t.data, want, size) == 0);
  hr_tensor_release(&t);
}

HR_TEST(reads_tensorflows_checkpoint) {
  hr_bundle_t* b = NULL;
  HR_REQUIRE_OK(hr_bundle_open(GOLDEN "checkpoint_v2/model-7", &b));
  HR_CHECK_EQ_I64(hr_bundle_count(b), 16);
  HR_CHECK_EQ_I64(hr_bundle_shards(b), 1);
  hr_tensor_t t = read_golden(b, "scope/f32", HR_F32);
  HR_CHECK(t.shape.rank == 2 && t.shape.dims[0] == 3 && t.shape.dims[1] == 4);
  if (t.data) HR_CHECK_NEAR(((float*)t.data)[11], -0.20487651229f, 0);
  hr_tensor_release(&t);
  t = read_golden(b, "scope/f64", HR_F64);
  if (t.data) HR_CHECK_NEAR(((double*)t.data)[4], 1.1513910094871702, 0);
  hr_tensor_release(&t);
  t = read_golden(b, "scope/f16", HR_F16);
  if (t.data) HR_CHECK_NEAR(hr_f16_to_f32(((hr_f16_t*)t.data)[0]), 1.857421875, 0);
  hr_tensor_release(&t);
  expect_bytes(b, "scope/i8", HR_I8, 1, (int8_t[]){-128, 127}, 2);
  expect_bytes(b, "scope/u8", HR_U8, 1, (uint8_t[]){0, 255}, 2);
  expect_bytes(b, "scope/i16", HR_I16, 1, (int16_t[]){-5, 6}, 4);
  expect_bytes(b, "scope/i32", HR_I32, 2, (int32_t[]){1, 2}, 8);
  expect_bytes(b, "scope/i64", HR_I64, 0, (int64_t[]){INT64_C(1099511627776)}, 8);
  expect_bytes(b, "scope/b", HR_BOOL, 1, (bool[]){true, false}, 2);
  expect_bytes(b, "scope/c64", HR_C64, 1, (float[]){1, 2}, 8);
  t = read_golden(b, "scope/s", HR_STRING);
  if (t.count == 3) {
    HR_CHECK_VIEW(hr_tstring_get((hr_tstring_t*)t.data), "one");
    HR_CHECK_EQ_I64(hr_tstring_get((hr_tstring_t*)t.data + 1).size, 0);
    HR_CHECK(hr_str_equal(hr_tstring_get((hr_tstring_t*)t.data + 2), HR_STR("\0three")));
  }
  hr_tensor_release(&t);
  t = read_golden(b, "scope/empty", HR_DTYPE_INVALID);
  HR_CHECK_EQ_I64(t.count, 0);
  hr_tensor_release(&t);
  t = read_golden(b, "parted", HR_F32);
  HR_CHECK(t.shape.dims[0] == 10 && t.shape.dims[1] == 2);
  for (int i = 0; t.data && i < 20; ++i) HR_CHECK_NEAR(((float*)t.data)[i], i, 0);
  hr_tensor_release(&t);
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("parted"), HR_STR("10 2 3,3:1,1"), HR_F32, &t)); /* over a border of two parts */
  for (int i = 0; t.data && i < 3; ++i) HR_CHECK_NEAR(((float*)t.data)[i], (3 + i) * 2 + 1, 0);
  hr_tensor_release(&t);
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("scope/f32"), HR_STR("3 4 1,1:2,2"), HR_F32, &t));
  if (t.data) HR_CHECK_NEAR(((float*)t.data)[0], -0.9092323780f, 0);
  hr_tensor_release(&t);
  HR_CHECK_CODE(hr_bundle_read(b, HR_STR("nothing"), NONE, HR_F32, &t), HR_NOT_FOUND, "Key nothing not found");
  HR_CHECK_CODE(hr_bundle_read(b, HR_STR("scope/f32"), NONE, HR_I32, &t), HR_INVALID_ARGUMENT, "has dtype float");
  HR_CHECK_CODE(hr_bundle_read(b, HR_STR("scope/f32"), HR_STR("3 5 -:-"), HR_F32, &t), HR_INVALID_ARGUMENT, "has shape [3,4]");
  hr_bundle_close(b);
}

HR_TEST(reads_saved_models_variables) {
  hr_bundle_t* b = NULL;
  HR_REQUIRE_OK(hr_bundle_open(GOLDEN "saved_model_tf2/variables/variables", &b));
  hr_tensor_t t = read_golden(b, "_CHECKPOINTABLE_OBJECT_GRAPH", HR_STRING);
  HR_CHECK_EQ_I64(t.shape.rank, 0);
  hr_tensor_release(&t);
  hr_bundle_close(b);
}

static bool fill(hr_dtype_t dtype, int64_t n, hr_tensor_t* t) {
  hr_shape_t shape = hr_shape_vector(n);
  char text[64];
  if (!HR_CHECK_OK(hr_tensor_create(dtype, &shape, t))) return false;
  for (int64_t i = 0; i < n && dtype == HR_STRING; ++i) {
    int size = snprintf(text, sizeof text, "string %d of some length that grows %.*s", (int)i, (int)(i % 20), "xxxxxxxxxxxxxxxxxxxx");
    if (!HR_CHECK_OK(hr_tstring_set((hr_tstring_t*)t->data + i, (hr_str_t){text, (size_t)size}))) return false;
  }
  for (size_t i = 0; dtype != HR_STRING && i < hr_tensor_bytes(t); ++i)
    ((uint8_t*)t->data)[i] = dtype == HR_BOOL ? i & 1 : (uint8_t)(i * 37 + dtype);
  return true;
}

HR_TEST(every_dtype_comes_back) {
  hr_bundle_writer_t* w = NULL;
  hr_bundle_t* b = NULL;
  HR_REQUIRE_OK(hr_bundle_writer_create(temp_path("new/folder/all"), &w));
  for (int dtype = 1; dtype < HR_DTYPE_COUNT; ++dtype) {
    if (dtype == HR_RESOURCE || dtype == HR_VARIANT) continue;
    hr_tensor_t t = {0};
    if (fill((hr_dtype_t)dtype, 1000, &t)) HR_CHECK_OK(hr_bundle_writer_add(w, hr_str(hr_dtype_name(dtype)), NONE, &t));
    hr_tensor_release(&t);
  }
  HR_CHECK_OK(hr_bundle_writer_finish(w));
  hr_bundle_writer_destroy(w);
  HR_REQUIRE_OK(hr_bundle_open(temp_path("new/folder/all"), &b));
  for (int64_t i = 0; i < hr_bundle_count(b); ++i) {
    const hr_bundle_entry_t* e = hr_bundle_entry(b, i);
    hr_tensor_t t = {0}, want = {0};
    HR_CHECK_VIEW(e->name, hr_dtype_name(e->dtype));
    HR_CHECK_OK(hr_bundle_read(b, e->name, NONE, e->dtype, &t));
    if (fill(e->dtype, 1000, &want)) HR_CHECK(hr_tensor_equal(&t, &want));
    hr_tensor_release(&t);
    hr_tensor_release(&want);
  }
  HR_CHECK_EQ_I64(hr_bundle_count(b), 31);
  hr_bundle_close(b);
}

static hr_status_t save_one(const char* prefix, const char* name, const char* spec, hr_dtype_t dtype, int64_t n, int first) {
  hr_bundle_writer_t* w = NULL;
  hr_tensor_t t = {0};
  HR_TRY(hr_bundle_writer_create(prefix, &w));
  hr_shape_t shape = hr_shape_vector(n);
  hr_status_t status = hr_tensor_create(dtype, &shape, &t);
  for (int64_t i = 0; !status && dtype == HR_I32 && i < n; ++i) ((int32_t*)t.data)[i] = first + (int)i;
  if (!status) status = hr_bundle_writer_add(w, hr_str(name), hr_str(spec), &t);
  if (!status) status = hr_bundle_writer_finish(w);
  hr_bundle_writer_destroy(w);
  hr_tensor_release(&t);
  return status;
}

HR_TEST(shards_merge) {
  hr_bundle_t* b = NULL;
  hr_tensor_t t = {0};
  HR_CHECK_OK(save_one(temp_path("m_temp_1/part-00000-of-00003"), "v", "10 0,4", HR_I32, 4, 0));
  HR_CHECK_OK(save_one(temp_path("m_temp_1/part-00001-of-00003"), "v", "10 4,6", HR_I32, 6, 4));
  HR_CHECK_OK(save_one(temp_path("m_temp_1/part-00002-of-00003"), "w", "", HR_I32, 2, 70));
  hr_str_t parts[3] = {hr_str(temp_path("m_temp_1/part-00000-of-00003")), hr_str(temp_path("m_temp_1/part-00001-of-00003")),
                       hr_str(temp_path("m_temp_1/part-00002-of-00003"))};
  HR_CHECK_OK(hr_bundle_merge(parts, 3, temp_path("merged"), true));
  HR_CHECK(!hr_file_exists(temp_path("m_temp_1")));
  HR_CHECK(hr_file_exists(temp_path("merged.data-00002-of-00003")));
  HR_REQUIRE_OK(hr_bundle_open(temp_path("merged"), &b));
  HR_CHECK_EQ_I64(hr_bundle_shards(b), 3);
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("v"), NONE, HR_I32, &t));
  for (int i = 0; t.data && i < 10; ++i) HR_CHECK_EQ_I64(((int32_t*)t.data)[i], i);
  hr_tensor_release(&t);
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("w"), NONE, HR_I32, &t));
  if (t.data) HR_CHECK_EQ_I64(((int32_t*)t.data)[1], 71);
  hr_tensor_release(&t);
  HR_CHECK_OK(hr_file_remove(temp_path("merged.data-00001-of-00003")));
  hr_bundle_close(b);
  HR_REQUIRE_OK(hr_bundle_open(temp_path("merged"), &b));
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("v"), HR_STR("10 1,2"), HR_I32, &t)); /* does not need the missing shard */
  hr_tensor_release(&t);
  HR_CHECK_CODE(hr_bundle_read(b, HR_STR("v"), NONE, HR_I32, &t), HR_NOT_FOUND, "merged.data-00001-of-00003");
  hr_bundle_close(b);
  HR_CHECK_CODE(hr_bundle_open(temp_path("absent"), &b), HR_NOT_FOUND, "absent.index");
}

HR_TEST(merging_refuses_what_contradicts) {
  HR_CHECK_OK(save_one(temp_path("d1"), "v", "", HR_I32, 2, 0));
  HR_CHECK_OK(save_one(temp_path("d2"), "v", "", HR_I32, 2, 0));
  hr_str_t parts[2] = {hr_str(temp_path("d1")), hr_str(temp_path("d2"))};
  HR_CHECK_CODE(hr_bundle_merge(parts, 2, temp_path("d"), false), HR_INVALID_ARGUMENT, "'v' is in two shards");
  HR_CHECK(hr_file_exists(temp_path("d1.index")));
  HR_CHECK(hr_file_exists(temp_path("d2.data-00000-of-00001")));
  HR_CHECK_CODE(hr_bundle_merge(parts, 0, temp_path("d"), false), HR_INVALID_ARGUMENT, "no checkpoint shards");
}

HR_TEST(a_save_that_fails_leaves_the_old_one) {
  hr_bundle_writer_t* w = NULL;
  hr_bundle_t* b = NULL;
  hr_tensor_t t = {0};
  HR_CHECK_OK(save_one(temp_path("old"), "v", "", HR_I32, 3, 5));
  HR_REQUIRE_OK(hr_bundle_writer_create(temp_path("old"), &w));
  HR_CHECK_OK(hr_tensor_from_i32(1, &t));
  HR_CHECK_OK(hr_bundle_writer_add(w, HR_STR("v"), NONE, &t));
  HR_CHECK_CODE(hr_bundle_writer_add(w, HR_STR("v"), NONE, &t), HR_INVALID_ARGUMENT, "'v' is saved twice");
  HR_CHECK_CODE(hr_bundle_writer_finish(w), HR_INVALID_ARGUMENT, "'v' is saved twice");
  hr_bundle_writer_destroy(w);
  hr_tensor_release(&t);
  HR_REQUIRE_OK(hr_bundle_open(temp_path("old"), &b));
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("v"), NONE, HR_I32, &t));
  HR_CHECK_EQ_I64(t.count, 3);
  if (t.count == 3) HR_CHECK_EQ_I64(((int32_t*)t.data)[2], 7);
  hr_tensor_release(&t);
  hr_bundle_close(b);
}

HR_TEST(writing_refuses_bad_specs) {
  HR_CHECK_CODE(save_one(temp_path("bad"), "v", "10 0,4", HR_I32, 3, 0), HR_INVALID_ARGUMENT, "has shape [3], its slice '10 0,4' has [4]");
  HR_CHECK_CODE(save_one(temp_path("bad"), "", "", HR_I32, 3, 0), HR_INVALID_ARGUMENT, "without a name");
  HR_CHECK_CODE(save_one(temp_path("bad"), "v", "", HR_RESOURCE, 1, 0), HR_INVALID_ARGUMENT, "cannot be saved");
  HR_CHECK(!hr_file_exists(temp_path("bad.index")));
}

static hr_status_t read_all(const char* prefix) {
  hr_bundle_t* b = NULL;
  HR_TRY(hr_bundle_open(prefix, &b));
  hr_status_t status = NULL;
  for (int64_t i = 0; i < hr_bundle_count(b) && !status; ++i) {
    hr_tensor_t t = {0};
    status = hr_bundle_read(b, hr_bundle_entry(b, i)->name, NONE, HR_DTYPE_INVALID, &t);
    hr_tensor_release(&t);
  }
  hr_bundle_close(b);
  return status;
}

HR_TEST(every_damaged_byte_of_data_is_found) {
  char *data = NULL, *index = NULL;
  size_t size = 0, index_size = 0;
  HR_REQUIRE_OK(hr_file_read(GOLDEN "checkpoint_v2/model-7.index", &index, &index_size));
  HR_REQUIRE_OK(hr_file_read(GOLDEN "checkpoint_v2/model-7.data-00000-of-00001", &data, &size));
  HR_CHECK_OK(hr_file_replace(temp_path("hurt.index"), index, index_size));
  for (size_t i = 0; i < size; ++i) {
    data[i] ^= 0x21;
    HR_CHECK_OK(hr_file_replace(temp_path("hurt.data-00000-of-00001"), data, size));
    HR_CHECK_CODE(read_all(temp_path("hurt")), HR_DATA_LOSS, "checkpoint '");
    data[i] ^= 0x21;
  }
  HR_CHECK_OK(hr_file_replace(temp_path("hurt.data-00000-of-00001"), data, size - 1));
  HR_CHECK_CODE(read_all(temp_path("hurt")), HR_DATA_LOSS, "the data file is too short");
  hr_free(data);
  hr_free(index);
}

static hr_status_t read_golden_all(void) { return read_all(GOLDEN "checkpoint_v2/model-7"); }
HR_TEST(reading_survives_each_failing_allocation) { HR_TEST_EVERY_ALLOCATION_FAILS(read_golden_all); }

static hr_status_t save_part(void) { return save_one(temp_path("oom"), "v", "10 0,4", HR_I32, 4, 0); }
HR_TEST(writing_survives_each_failing_allocation) { HR_TEST_EVERY_ALLOCATION_FAILS(save_part); }

/* --- byte orders ---------------------------------------------------------------------------------------------------------------------- */

typedef struct { const char* name; hr_dtype_t dtype; int64_t count; size_t unit; } ordered_t; /* unit: bytes that change places */
static const ordered_t ordered[] = {{"c128", HR_C128, 2, 8}, {"c64", HR_C64, 3, 4}, {"f64", HR_F64, 3, 8}, {"i16", HR_I16, 5, 2},
                                    {"i32", HR_I32, 4, 4},   {"i8", HR_I8, 3, 1}};
enum { ORDERED = sizeof ordered / sizeof *ordered };

static void write_whole(const char* path, const void* data, size_t size) {
  FILE* f = fopen(path, "wb");
  HR_CHECK(f && fwrite(data, 1, size, f) == size);
  if (f) fclose(f);
}

/* Strings as a machine of the other byte order writes them: lengths, the masked sum of the lengths, the bytes. */
static size_t big_strings(char* out, uint32_t* out_crc) {
  static const char* const texts[] = {"", "one", "more than the others"};
  uint32_t crc = 0;
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    out[at++] = (char)strlen(texts[i]);
    crc = hr_hash_crc32c(crc, (const char[]){0, 0, 0, (char)strlen(texts[i])}, 4);
  }
  const uint32_t sum = hr_hash_crc32c_mask(crc);
  for (int i = 0; i < 4; ++i) out[at++] = (char)(sum >> (24 - 8 * i));
  crc = hr_hash_crc32c(crc, out + at - 4, 4);
  for (int i = 0; i < 3; ++i) {
    memcpy(out + at, texts[i], strlen(texts[i]));
    crc = hr_hash_crc32c(crc, texts[i], strlen(texts[i]));
    at += strlen(texts[i]);
  }
  *out_crc = hr_hash_crc32c_mask(crc);
  return at;
}

static void write_big(const char* prefix) {
  static char data[1024];
  char index[1000], shard[1000];
  size_t size = 0;
  hr_bundle_entry_t entries[ORDERED + 1], *all[ORDERED + 1];
  for (int i = 0; i < ORDERED; ++i) {
    hr_tensor_t t = {0};
    if (!fill(ordered[i].dtype, ordered[i].count, &t)) return;
    const size_t bytes = hr_tensor_bytes(&t), unit = ordered[i].unit;
    for (size_t at = 0; at < bytes; ++at) data[size + at] = ((char*)t.data)[at - at % unit + unit - 1 - at % unit];
    entries[i] = (hr_bundle_entry_t){.name = hr_str(ordered[i].name), .dtype = t.dtype, .shape = t.shape, .offset = (int64_t)size,
                                     .size = (int64_t)bytes, .crc = hr_hash_crc32c_mask(hr_hash_crc32c(0, data + size, bytes))};
    size += bytes;
    hr_tensor_release(&t);
  }
  uint32_t crc = 0;
  const size_t strings = big_strings(data + size, &crc);
  entries[ORDERED] = (hr_bundle_entry_t){.name = HR_STR("strings"), .dtype = HR_STRING, .shape = hr_shape_vector(3),
      .offset = (int64_t)size,
                                         .size = (int64_t)strings, .crc = crc};
  for (int i = 0; i <= ORDERED; ++i) all[i] = &entries[i];
  snprintf(shard, sizeof shard, "%s.data-00000-of-00001", prefix);
  snprintf(index, sizeof index, "%s.index", prefix);
  write_whole(shard, data, size + strings);
  const hr_bundle_header_t header = {.shards = 1, .is_big_endian = true};
  HR_CHECK_OK(hr_bundle_entry_write_index(prefix, &header, all, ORDERED + 1));
  HR_CHECK(hr_file_exists(index));
}

HR_TEST(a_checkpoint_of_the_other_byte_order) {
  hr_bundle_t* b = NULL;
  hr_tensor_t t = {0}, want = {0};
  write_big(temp_path("big"));
  HR_REQUIRE_OK(hr_bundle_open(temp_path("big"), &b));
  for (int i = 0; i < ORDERED; ++i) {
    HR_CHECK_OK(hr_bundle_read(b, hr_str(ordered[i].name), NONE, ordered[i].dtype, &t));
    if (fill(ordered[i].dtype, ordered[i].count, &want) && !HR_CHECK(hr_tensor_equal(&t, &want))) printf("  %s\n", ordered[i].name);
    hr_tensor_release(&t);
    hr_tensor_release(&want);
  }
  HR_CHECK_OK(hr_bundle_read(b, HR_STR("strings"), NONE, HR_STRING, &t));
  if (HR_CHECK_EQ_I64(t.count, 3)) {
    HR_CHECK_VIEW(hr_tstring_get((hr_tstring_t*)t.data + 1), "one");
    HR_CHECK_VIEW(hr_tstring_get((hr_tstring_t*)t.data + 2), "more than the others");
  }
  hr_tensor_release(&t);
  hr_bundle_close(b);
  HR_CHECK_OK(save_one(temp_path("little"), "v", "", HR_I32, 2, 0));
  const hr_str_t orders[] = {hr_str(temp_path("little")), hr_str(temp_path("big"))};
  HR_CHECK_CODE(hr_bundle_merge(orders, 2, temp_path("both"), false), HR_INVALID_ARGUMENT, "have different byte orders");
}

/* --- parts that do not belong together ------------------------------------------------------------------------------------------------ */

static hr_status_t add_vector(hr_bundle_writer_t* w, const char* spec, hr_dtype_t dtype, int64_t count) {
  hr_tensor_t t = {0};
  if (!fill(dtype, count, &t)) return NULL;
  hr_status_t status = hr_bundle_writer_add(w, HR_STR("v"), hr_str(spec), &t);
  hr_tensor_release(&t);
  return status;
}

HR_TEST(parts_agree_on_type_and_shape) {
  static const struct { const char* specs[2]; hr_dtype_t dtypes[2]; int64_t counts[2]; const char* says; } rows[] = {
      {{"10 0,4", "10 4,6"}, {HR_I32, HR_I32}, {4, 6}, ""},
      {{"10 0,4", "10 4,6"}, {HR_I32, HR_F32}, {4, 6}, "disagree on its dtype or shape"},
      {{"10 0,4", "11 4,6"}, {HR_I32, HR_I32}, {4, 6}, "disagree on its dtype or shape"},
      {{"", "10 4,6"}, {HR_I32, HR_I32}, {10, 6}, "disagree on its dtype or shape"}, /* it is there as a whole */
      {{"10 4,6", ""}, {HR_I32, HR_I32}, {6, 10}, "is saved twice"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_bundle_writer_t* w = NULL;
    HR_REQUIRE_OK(hr_bundle_writer_create(temp_path("parts"), &w));
    HR_CHECK_OK(add_vector(w, rows[i].specs[0], rows[i].dtypes[0], rows[i].counts[0]));
    hr_status_t status = add_vector(w, rows[i].specs[1], rows[i].dtypes[1], rows[i].counts[1]);
    if (*rows[i].says) HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].says);
    else HR_CHECK_OK(status);
    hr_bundle_writer_destroy(w);
  }
}
HR_TEST_MAIN()
