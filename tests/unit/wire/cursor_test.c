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

HR_TEST_MAIN()
