/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded protobuf reader: good fields, and every way bytes can lie. */
#include "wire/cursor.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

static hr_cursor_t of(const char* bytes, size_t n) { return hr_cursor_make(bytes, n); }
#define BYTES(text) of(text, sizeof(text) - 1)

HR_TEST(reads_each_wire_type) {
  hr_cursor_t c = BYTES("\x08\x96\x01\x12\x03" "abc" "\x1d\x01\x00\x00\x80\x21\x02\x00\x00\x00\x00\x00\x00\x40");
  hr_field_t f;
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_EQ_I64(f.key, HR_KEY_VARINT(1));
  HR_CHECK_EQ_I64(f.value, 150);
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_EQ_I64(f.key, HR_KEY_SPAN(2));
  HR_CHECK(hr_str_is(hr_cursor_str(f.span), "abc"));
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_EQ_I64(f.key, HR_KEY_FIXED32(3));
  HR_CHECK_EQ_I64(f.value, 0x80000001u);
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_EQ_I64(f.key, HR_KEY_FIXED64(4));
  HR_CHECK_EQ_I64(f.value, INT64_C(0x4000000000000002));
  HR_CHECK(hr_cursor_is_done(&c));
}

HR_TEST(reads_the_largest_varint) {
  hr_cursor_t c = BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  uint64_t v = 0;
  HR_REQUIRE_OK(hr_cursor_varint(&c, &v));
  HR_CHECK(v == UINT64_MAX);
}

HR_TEST(steps_over_nested_groups) {
  hr_cursor_t c = BYTES("\x0b\x13\x08\x01\x14\x12\x01x\x0c\x10\x05");
  hr_field_t f;
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_EQ_I64(f.key, 1 << 3 | HR_WIRE_GROUP);
  HR_CHECK_EQ_I64(hr_cursor_left(&f.span), 0);
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_EQ_I64(f.key, HR_KEY_VARINT(2));
}

HR_TEST(names_the_offset_of_what_is_wrong) {
  static const struct { const char* bytes; size_t size; const char* message; } rows[] = {
    {"\x08", 1, "byte 1: a varint runs past the end"},
    {"\x08\x01\x08\x80\x80", 5, "byte 3: a varint runs past the end"},
    {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "byte 1: a varint of more than 10 bytes"},
    {"\x12\x05" "ab", 4, "byte 1: a length of 5 with 2 bytes left"},
    {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "with 0 bytes left"},
    {"\x1d\x01\x02", 3, "byte 1: 4 bytes wanted"},
    {"\x21\x01\x02", 3, "byte 1: 8 bytes wanted"},
    {"\x00", 1, "byte 0: not a field tag"},
    {"\x0f", 1, "byte 0: not a field tag"},
    {"\x80\x80\x80\x80\x80\x01", 6, "byte 0: not a field tag"},
    {"\x0c", 1, "byte 1: the end of a group"},
    {"\x0b\x08\x01", 3, "byte 3: a varint runs past the end"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_cursor_t c = of(rows[i].bytes, rows[i].size);
    hr_status_t status = NULL;
    hr_field_t f;
    while (!status && !hr_cursor_is_done(&c)) status = hr_cursor_next(&c, &f);
    HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, rows[i].message);
  }
}

HR_TEST(offsets_count_from_the_outermost_span) {
  hr_cursor_t c = BYTES("\x08\x01\x12\x02\x08\x80");
  hr_field_t f, inner;
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_REQUIRE_OK(hr_cursor_next(&c, &f));
  HR_CHECK_CODE(hr_cursor_next(&f.span, &inner), HR_INVALID_ARGUMENT, "at byte 5");
}

HR_TEST(an_empty_span_is_done) {
  hr_cursor_t c = hr_cursor_make(NULL, 0);
  HR_CHECK(hr_cursor_is_done(&c));
}

HR_TEST(zigzag_comes_back) {
  HR_CHECK_EQ_I64(hr_cursor_unzigzag(0), 0);
  HR_CHECK_EQ_I64(hr_cursor_unzigzag(1), -1);
  HR_CHECK_EQ_I64(hr_cursor_unzigzag(2), 1);
  HR_CHECK_EQ_I64(hr_cursor_unzigzag(UINT64_MAX), INT64_MIN);
}

/* A cursor on memory of exactly these bytes: a read beyond them is found by the sanitizer's build. */
static hr_cursor_t exactly(const char* bytes, size_t n) {
  char* block = malloc(n ? n : 1);
  if (n) memcpy(block, bytes, n);
  return hr_cursor_make(block, n);
}
static void drop(hr_cursor_t c, size_t n) {
  if (n) free((void*)(uintptr_t)c.base);
}

HR_TEST(varints_of_every_length) {
  static const struct { const char* bytes; size_t size; uint64_t value; } rows[] = {
    {"\x00", 1, 0}, {"\x7f", 1, 127}, {"\x80\x01", 2, 128}, {"\xff\x7f", 2, 16383}, {"\x80\x80\x01", 3, 16384},
    {"\x81\x82\x83\x84\x05", 5, 1 + (2 << 7) + (3 << 14) + (4 << 21) + (UINT64_C(5) << 28)},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x40", 9, UINT64_C(1) << 62},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, UINT64_C(1) << 63}, {"\x80\x00", 2, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_cursor_t c = exactly(rows[i].bytes, rows[i].size), whole = c;
    uint64_t v = 77;
    HR_CHECK_OK(hr_cursor_varint(&c, &v));
    HR_CHECK_EQ_U64(v, rows[i].value);
    HR_CHECK(hr_cursor_is_done(&c));
    for (size_t short_of = 1; short_of <= rows[i].size; ++short_of) {
      c = whole;
      c.end -= short_of;
      HR_CHECK_CODE(hr_cursor_varint(&c, &v), HR_INVALID_ARGUMENT, "at byte 0: a varint runs past the end");
      HR_CHECK(c.at == whole.at);
    }
    drop(whole, rows[i].size);
  }
}

HR_TEST(fixed_words_are_little_endian) {
  hr_cursor_t c = exactly("\x01\x02\x03\x84\x11\x12\x13\x14\x15\x16\x17\x98", 12), whole = c;
  uint32_t word = 0;
  uint64_t pair = 0;
  HR_CHECK_OK(hr_cursor_fixed32(&c, &word));
  HR_CHECK_OK(hr_cursor_fixed64(&c, &pair));
  HR_CHECK_EQ_U64(word, 0x84030201);
  HR_CHECK_EQ_U64(pair, UINT64_C(0x9817161514131211));
  HR_CHECK_CODE(hr_cursor_fixed32(&c, &word), HR_INVALID_ARGUMENT, "at byte 12: 4 bytes wanted, fewer left");
  HR_CHECK_CODE(hr_cursor_fixed64(&c, &pair), HR_INVALID_ARGUMENT, "at byte 12: 8 bytes wanted, fewer left");
  c = whole;
  c.end = c.at + 3;
  HR_CHECK_CODE(hr_cursor_fixed32(&c, &word), HR_INVALID_ARGUMENT, "at byte 0: 4 bytes wanted, fewer left");
  c.end = c.at + 7;
  HR_CHECK_CODE(hr_cursor_fixed64(&c, &pair), HR_INVALID_ARGUMENT, "at byte 0: 8 bytes wanted, fewer left");
  HR_CHECK(c.at == whole.at);
  drop(whole, 12);
}

HR_TEST(spans_end_where_they_say) {
  hr_cursor_t c = BYTES("abcd\x02xyz"), part;
  HR_CHECK_CODE(hr_cursor_bytes(&c, 9, &part), HR_INVALID_ARGUMENT, "at byte 0: more bytes promised than there are");
  HR_CHECK_OK(hr_cursor_bytes(&c, 4, &part));
  HR_CHECK_VIEW(hr_cursor_str(part), "abcd");
  HR_CHECK_OK(hr_cursor_span(&c, &part));
  HR_CHECK_VIEW(hr_cursor_str(part), "xy");
  HR_CHECK_EQ_I64(hr_cursor_offset(&part), 5);
  HR_CHECK_OK(hr_cursor_bytes(&c, 1, &part));
  HR_CHECK_OK(hr_cursor_bytes(&c, 0, &part));
  HR_CHECK(hr_cursor_is_done(&part) && hr_cursor_is_done(&c));
  c = BYTES("\x03xyz");
  HR_CHECK_OK(hr_cursor_span(&c, &part));
  c = BYTES("\x04xyz");
  HR_CHECK_CODE(hr_cursor_span(&c, &part), HR_INVALID_ARGUMENT, "at byte 0: a length of 4 with 3 bytes left");
  HR_CHECK_EQ_I64(hr_cursor_offset(&c), 0);
}

HR_TEST(tags_at_their_limits) {
  static const struct { const char* bytes; size_t size; uint32_t key; } rows[] = { /* key 0: none */
    {"\x08", 1, 8}, {"\x0d", 1, 13}, {"\x0b", 1, 11}, {"\x07", 1, 0}, {"\x05", 1, 0}, {"\x0e", 1, 0}, {"\x0f", 1, 0},
    {"\xfd\xff\xff\xff\x0f", 5, 0xfffffffd}, {"\xfe\xff\xff\xff\x0f", 5, 0}, {"\x80\x80\x80\x80\x10", 5, 0}, {"\x88\x80\x80\x80\x10", 5, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_cursor_t c = of(rows[i].bytes, rows[i].size);
    uint32_t key = 0;
    hr_status_t status = hr_cursor_tag(&c, &key);
    if (rows[i].key) HR_CHECK_OK(status);
    else HR_CHECK_CODE(status, HR_INVALID_ARGUMENT, "at byte 0: not a field tag");
    HR_CHECK_EQ_U64(key, rows[i].key);
  }
}

HR_TEST(a_field_has_a_value_or_a_span) {
  hr_cursor_t c = BYTES("\x08\x05\x12\x01x\x1d\x01\0\0\0\x2b\x08\x01\x12\x01y\x2c\x30\x07");
  hr_field_t f = {.value = 9};
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK(f.value == 5 && hr_cursor_left(&f.span) == 0);
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK(f.value == 0 && hr_cursor_left(&f.span) == 1);
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK(f.value == 1 && hr_cursor_left(&f.span) == 0);
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK(f.key == (5 << 3 | HR_WIRE_GROUP) && f.value == 0 && hr_cursor_left(&f.span) == 0);
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK(f.key == HR_KEY_VARINT(6) && f.value == 7 && hr_cursor_is_done(&c));
}

HR_TEST(a_group_holds_fields_of_every_type) {
  hr_cursor_t c = BYTES("\x0b\x08\x01\x11\1\2\3\4\5\6\7\x08\x1a\x01x\x25\1\2\3\4\x0b\x0c\x13\x0b\x0c\x14\x0c\x08\x05");
  hr_field_t f;
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK_OK(hr_cursor_next(&c, &f));
  HR_CHECK(f.key == HR_KEY_VARINT(1) && f.value == 5 && hr_cursor_is_done(&c));
  c = BYTES("\x0b\x13\x0c");
  HR_CHECK_CODE(hr_cursor_next(&c, &f), HR_INVALID_ARGUMENT, "at byte 3");
  c = BYTES("\x0c");
  HR_CHECK_CODE(hr_cursor_skip(&c, 12), HR_INVALID_ARGUMENT, "at byte 0: the end of a group that did not begin");
}

HR_TEST(entries_of_maps) {
  static const struct { const char* bytes; size_t size; const char *key, *value; } rows[] = {
    {"", 0, "", ""}, {"\x0a\x01k\x12\x01v", 6, "k", "v"}, {"\x12\x01v\x0a\x01k", 6, "k", "v"}, {"\x0a\x01k", 3, "k", ""},
    {"\x12\x01v", 3, "", "v"}, {"\x1a\x01z\x08\x05\x10\x06", 7, "", ""}, {"\x0a\x01" "a\x0a\x02" "bc\x12\x00\x12\x01w", 12, "bc", "w"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_str_t key;
    hr_cursor_t value;
    HR_CHECK_OK(hr_cursor_map_entry(of(rows[i].bytes, rows[i].size), &key, &value));
    HR_CHECK_VIEW(key, rows[i].key);
    HR_CHECK_VIEW(hr_cursor_str(value), rows[i].value);
  }
}

HR_TEST_MAIN()
