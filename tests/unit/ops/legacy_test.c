/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of version 1: the bytes of what is written, for every type, and what is said of files that are damaged or disagree. */
#include "base/file.h"
#include "io/table.h"
#include "ops/io/legacy.h"
#include "test.h"
#include "unit/io/temp.h"

/* --- bytes ---------------------------------------------------------------------------------------------------------------------------- */

static void add_hex(hr_strbuf_t* out, hr_str_t bytes) {
  for (size_t i = 0; i < bytes.size; ++i) hr_strbuf_format(out, "%02x", (unsigned char)bytes.data[i]);
}

/* Each entry of the table: "key=value\n". */
static void dump_table(const char* path, hr_strbuf_t* out) {
  hr_table_t* t = NULL;
  hr_table_iter_t it;
  HR_REQUIRE_OK(hr_table_open(path, &t));
  hr_table_iter_init(&it, t);
  for (hr_status_t s = hr_table_iter_first(&it); HR_CHECK_OK(s) && hr_table_iter_is_valid(&it); s = hr_table_iter_next(&it)) {
    add_hex(out, hr_table_iter_key(&it));
    hr_strbuf_add_str(out, HR_STR("="));
    add_hex(out, hr_table_iter_value(&it));
    hr_strbuf_add_str(out, HR_STR("\n"));
  }
  hr_table_iter_deinit(&it);
  hr_table_close(t);
}

static hr_tensor_t bytes_of(hr_dtype_t type, int64_t count, const void* bytes) {
  hr_tensor_t t = {0};
  const hr_shape_t shape = hr_shape_vector(count);
  HR_CHECK_OK(hr_tensor_create(type, &shape, &t));
  if (hr_dtype_is_plain(type)) memcpy(t.data, bytes, hr_tensor_bytes(&t));
  return t;
}

#define KEY "007400010101807f"
#define META(size, dtype) "0a150a0f0a017412041202" "08" size "18" dtype "22020a0012020801"

/* SavedTensorSlices, by hand: 0a meta { 0a tensor { 0a name, 12 shape { 12 dim { 08 size } }, 18 dtype, 22 slice { 0a extent } },
 * 12 versions { 08 01 } }; then for each slice 12 data { 0a name, 12 slice, 1a TensorProto of numbers alone }. */
HR_TEST(numbers_of_every_type_have_their_field) {
  static const union {
    uint8_t bytes[16];
    uint16_t words[8];
    int32_t ints[4];
    float floats[4];
    double doubles[2];
  } ones = {.words = {1}}, reals = {.floats = {1, 2}}, wide = {.doubles = {1, 2}}, minus = {.ints = {-1, 300}};
  static const struct {
    hr_dtype_t type;
    int64_t count;
    const void* bytes;
    const char *dtype, *proto; /* the tensor's numbers: a field of TensorProto */
  } rows[] = {
      {HR_F32, 2, &reals, "01", "2a080000803f00000040"},
      {HR_F64, 1, &wide, "02", "3208000000000000f03f"},
      {HR_I32, 2, &minus, "03", "3a0cffffffffffffffffff01ac02"},
      {HR_U8, 2, &ones, "04", "3a020100"},
      {HR_I16, 1, &minus, "05", "3a0affffffffffffffffff01"},
      {HR_I8, 1, &minus, "06", "3a0affffffffffffffffff01"},
      {HR_C64, 1, &reals, "08", "4a080000803f00000040"},
      {HR_I64, 1, &ones, "09", "520101"},
      {HR_BOOL, 2, &ones, "0a", "5a020100"},
      {HR_QI8, 1, &ones, "0b", "3a0101"},
      {HR_QU8, 1, &minus, "0c", "3a02ff01"},
      {HR_QI32, 1, &minus, "0d", "3a0affffffffffffffffff01"},
      {HR_U16, 1, &minus, "11", "3a03ffff03"},
      {HR_C128, 1, &wide, "12", "6210000000000000f03f0000000000000040"},
      {HR_F16, 1, &minus, "13", "6a03ffff03"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_tensor_t t = bytes_of(rows[i].type, rows[i].count, rows[i].bytes);
    const hr_legacy_entry_t entry = {HR_STR("t"), HR_STR(""), &t};
    const unsigned numbers = (unsigned)strlen(rows[i].proto) / 2;
    char want[400];
    hr_strbuf_t got;
    hr_strbuf_init(&got);
    snprintf(want, sizeof want, "=" META("%02x", "%s") "\n" KEY "=12%02x0a017412020a001a%02x%s\n", (unsigned)rows[i].count, rows[i].dtype,
             numbers + 9, numbers, rows[i].proto);
    HR_CHECK_OK(hr_legacy_write(temp_path("legacy"), &entry, 1));
    dump_table(temp_path("legacy"), &got);
    HR_CHECK_VIEW(hr_strbuf_view(&got), want);
    hr_strbuf_deinit(&got);
    hr_tensor_release(&t);
  }
}

/* --- damage --------------------------------------------------------------------------------------------------------------------------- */

static hr_str_t bytes_from_hex(const char* hex, char* room) {
  size_t n = 0;
  for (; hex[2 * n]; ++n) {
    unsigned byte = 0;
    sscanf(hex + 2 * n, "%2x", &byte);
    room[n] = (char)byte;
  }
  return (hr_str_t){room, n};
}

static void write_entries(const char* const entries[2][2]) {
  hr_table_writer_t w;
  char key[100], value[1000];
  hr_table_writer_init(&w);
  for (int i = 0; i < 2 && entries[i][0]; ++i)
    HR_CHECK_OK(hr_table_writer_add(&w, bytes_from_hex(entries[i][0], key), bytes_from_hex(entries[i][1], value)));
  HR_CHECK_OK(hr_table_writer_finish(&w));
  HR_CHECK_OK(hr_file_replace(temp_path("legacy"), w.file.data, w.file.size));
  hr_table_writer_deinit(&w);
}

/* "code message" of opening it and reading tensor t, without the file's name; else its elements. */
static void outcome(const char* name, char* out, size_t size) {
  hr_legacy_t* l = NULL;
  hr_tensor_t t = {0};
  hr_status_t status = hr_legacy_open(temp_path("legacy"), &l);
  if (!status) status = hr_legacy_read(l, hr_str(name), HR_STR(""), HR_F32, &t);
  const char *text = status ? hr_status_message(status) : "", *quote = strstr(text, "legacy': ");
  snprintf(out, size, "%d %s", (int)hr_status_code(status), quote ? quote + 9 : text);
  for (int64_t i = 0; !status && i < t.count; ++i) snprintf(out + strlen(out), size - strlen(out), "%g ", (double)((float*)t.data)[i]);
  hr_status_release(status);
  hr_tensor_release(&t);
  hr_legacy_close(l);
}

#define GOOD META("02", "01")
#define VALUE "12130a017412020a001a0a2a080000803f00000040"
HR_TEST(what_is_damaged_is_data_loss) {
  static const struct {
    const char* entries[2][2];
    const char* want;
  } rows[] = {
      {{{KEY, VALUE}}, "15 the table has no list of tensors"},
      {{{"", ""}}, "15 not a checkpoint of version 1"},
      {{{NULL, NULL}}, "15 the table has no list of tensors"},
      {{{"", GOOD}, {KEY, VALUE}}, "0 1 2 "},
      {{{"", "1001" GOOD}, {KEY, "1001" VALUE}}, "0 1 2 "},
      {{{"", META("02", "00")}, {KEY, VALUE}}, "15 tensor 't' has dtype 0"},
      {{{"", META("02", "02")}, {KEY, VALUE}}, "3 tensor 't' is stored as double, not float"},
      {{{"", META("02", "18")}, {KEY, VALUE}}, "3 tensor 't' is stored as float8_e5m2, not float"},
      {{{"", META("02", "65")}, {KEY, VALUE}}, "15 tensor 't' has dtype 101"},
      {{{"", META("03", "01")}, {KEY, VALUE}}, "0 1 2 2 "},
      {{{"", META("01", "01")}, {KEY, VALUE}}, "0 1 "},
      {{{"", GOOD}}, "15 a slice of tensor 't' is listed but not there"},
      {{{"", GOOD}, {KEY, ""}}, "15 not a checkpoint of version 1"},
      {{{"", GOOD}, {"007400010101807e", VALUE}}, "15 a slice of tensor 't' is listed but not there"},
      {{{"", GOOD}, {"0075", VALUE}}, "15 a slice of tensor 't' is listed but not there"},
      {{{"", GOOD}, {KEY, "12070a017412020a00"}}, "15 a slice has no numbers"},
      {{{"", GOOD}, {KEY, "12150a017412020a001a0c08022a080000803f00000040"}},
       "15 a slice's dtype or shape is not what the list of tensors says"},
      {{{"", GOOD}, {KEY, "12150a017412020a001a0c2a080000803f000000400802"}},
       "15 a slice's dtype or shape is not what the list of tensors says"},
      {{{"", GOOD}, {KEY, "12170a017412020a001a0e2a080000803f0000004012020000"}}, "15 malformed protobuf at byte 20: not a field tag"},
      {{{"", GOOD}, {KEY, "12130a017412020a001a0a2a090000803f00000040"}},
       "15 malformed protobuf at byte 9: a length of 9 with 8 bytes left"},
      {{{"", GOOD}, {KEY, "12140a017412020a001a0a2a080000803f00000040"}},
       "15 malformed protobuf at byte 1: a length of 20 with 19 bytes left"},
      {{{"", "0a150a0f0a01741204120208021801"}}, "15 malformed protobuf at byte 1: a length of 21 with 13 bytes left"},
      {{{"", "0a0f0a0d0a0174120412020802180122"}}, "15 malformed protobuf at byte 1: a length of 15 with 14 bytes left"},
      {{{"","0a150a130a0174120412020802180122060a0408011001"}}, "15 a slice of tensor 't' is listed but not there"},
      {{{"", "0a150a130a017412041202080218012206" "0a0408021001"}, {KEY, VALUE}},
       "15 slice [2, +1) of dimension 0 reaches out of shape [2]"},
      {{{"", "0a130a110a0174120412020802180122020a0022020a00"}, {KEY, VALUE}},
       "15 malformed protobuf at byte 20: a length of 2 with 0 bytes left"},
      {{{"", "0a1e0a0f0a0174120412020802180122020a00" "0a0b0a0174120412020802" "1802"}, {KEY, VALUE}},
       "15 the slices of tensor 't' disagree on its dtype or shape"},
      {{{"", "0a1e0a0f0a0174120412020802180122020a00" "0a0b0a0174120412020803" "1801"}, {KEY, VALUE}},
       "15 the slices of tensor 't' disagree on its dtype or shape"},
      {{{"", "0a1e0a0f0a0174120412020802180122020a00" "0a0b0a0175120412020803" "1801"}, {KEY, VALUE}}, "0 1 2 "},
      {{{"", "0a0b0a0912041202080218012200"}}, "15 malformed protobuf at byte 13: a varint runs past the end"},
      {{{"", "0a070a050a01751801"}, {KEY, VALUE}}, "5 tensor 't' is not in the checkpoint"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char got[600];
    write_entries(rows[i].entries);
    outcome("t", got, sizeof got);
    if (strcmp(got, rows[i].want)) hr_test_fail(__FILE__, __LINE__, "row %d: \"%s\", wanted \"%s\"", (int)i, got, rows[i].want);
  }
}
HR_TEST_MAIN()
