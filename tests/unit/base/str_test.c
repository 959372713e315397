/* SPDX-License-Identifier: Apache-2.0 */
/* Views, number parsing, the growing string. */
#define HR_TEST_LEAKS_CHECKED
#include "base/str.h"
#include "test.h"
#include <wchar.h>

HR_TEST(compare_and_affixes) {
  HR_CHECK(hr_str_compare(HR_STR("a"), HR_STR("b")) < 0);
  HR_CHECK(hr_str_compare(HR_STR("ab"), HR_STR("a")) > 0);
  HR_CHECK(hr_str_compare(HR_STR("\xff"), HR_STR("a")) > 0);
  HR_CHECK_EQ_I64(hr_str_compare((hr_str_t){NULL, 0}, HR_STR("")), 0);
  HR_CHECK(hr_str_has_prefix(HR_STR("abc"), HR_STR("ab")) && !hr_str_has_prefix(HR_STR("a"), HR_STR("ab")));
  HR_CHECK(hr_str_has_suffix(HR_STR("abc"), HR_STR("bc")) && !hr_str_has_suffix(HR_STR("c"), HR_STR("bc")));
  HR_CHECK(hr_str_has_prefix((hr_str_t){NULL, 0}, (hr_str_t){NULL, 0}) && hr_str_has_suffix(HR_STR("x"), HR_STR("")));
  HR_CHECK_EQ_I64(hr_str_find(HR_STR("abc"), 'c'), 2);
  HR_CHECK_EQ_I64(hr_str_find((hr_str_t){NULL, 0}, 'c'), -1);
}

HR_TEST(slice_is_clamped) {
  HR_CHECK_VIEW(hr_str_slice(HR_STR("abcd"), 1, 3), "bc");
  HR_CHECK_VIEW(hr_str_slice(HR_STR("abcd"), 3, 1), "");
  HR_CHECK_VIEW(hr_str_slice(HR_STR("abcd"), 2, SIZE_MAX), "cd");
  HR_CHECK_EQ_I64(hr_str_slice((hr_str_t){NULL, 0}, 1, 2).size, 0);
  HR_CHECK_VIEW(hr_str_trim(HR_STR(" \t a b\n ")), "a b");
  HR_CHECK_VIEW(hr_str_trim(HR_STR(" \n")), "");
}

HR_TEST(split) {
  hr_str_t rest = HR_STR("a,,b,"), part;
  HR_CHECK(hr_str_split(&rest, ',', &part));
  HR_CHECK_VIEW(part, "a");
  HR_CHECK(hr_str_split(&rest, ',', &part));
  HR_CHECK_VIEW(part, "");
  HR_CHECK(hr_str_split(&rest, ',', &part));
  HR_CHECK_VIEW(part, "b");
  HR_CHECK(!hr_str_split(&rest, ',', &part));
  rest = HR_STR("");
  HR_CHECK(!hr_str_split(&rest, ',', &part));
}

HR_TEST(integers) {
  static const struct { const char* text; bool good; int64_t value; } rows[] = {
    {"0", true, 0}, {"-0", true, 0}, {"+7", true, 7}, {"9223372036854775807", true, INT64_MAX}, {"9223372036854775808", false, 0},
    {"-9223372036854775808", true, INT64_MIN}, {"-9223372036854775809", false, 0}, {"", false, 0}, {"-", false, 0}, {"1 ", false, 0},
    {" 1", false, 0}, {"1x", false, 0}, {"0x10", false, 0}, {"--1", false, 0}, {"00012", true, 12}, {"99999999999999999999999", false, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    int64_t v = 0;
    if (hr_str_parse_i64(hr_str(rows[i].text), &v) != rows[i].good || v != rows[i].value)
      hr_test_fail(__FILE__, __LINE__, "'%s' gave %lld", rows[i].text, (long long)v);
  }
  int64_t v;
  HR_CHECK(hr_str_parse_i64((hr_str_t){"123456", 3}, &v) && v == 123);
}

HR_TEST(doubles) {
  double v;
  HR_CHECK(hr_str_parse_double(HR_STR("1.5e3"), &v) && v == 1500);
  HR_CHECK(hr_str_parse_double(HR_STR("-inf"), &v) && isinf(v) && v < 0);
  HR_CHECK(hr_str_parse_double(HR_STR("nan"), &v) && isnan(v));
  HR_CHECK(hr_str_parse_double(HR_STR("1e999"), &v) && isinf(v));
  HR_CHECK(!hr_str_parse_double(HR_STR(""), &v) && !hr_str_parse_double(HR_STR(" 1"), &v) && !hr_str_parse_double(HR_STR("1,5"), &v));
  HR_CHECK(!hr_str_parse_double(HR_STR("1\0"), &v));
  HR_CHECK(hr_str_parse_double((hr_str_t){"2.55", 3}, &v) && v == 2.5);
  char text[400];
  memset(text, '0', sizeof text);
  text[0] = '3';
  text[1] = '.';
  HR_CHECK(hr_str_parse_double((hr_str_t){text, sizeof text}, &v) && v == 3);
}

static hr_status_t build(void) {
  hr_strbuf_t b;
  char* text;
  size_t size;
  hr_strbuf_init(&b);
  for (int i = 0; i < 300; ++i) hr_strbuf_format(&b, "%d,", i);
  hr_strbuf_add_str(&b, HR_STR("end"));
  HR_TRY(hr_strbuf_take(&b, &text, &size));
  HR_CHECK_EQ_I64(size, 10 * 2 + 90 * 3 + 200 * 4 + 3);
  HR_CHECK_STR(text + size - 7, "299,end");
  hr_free(text);
  return NULL;
}
HR_TEST(builder_with_every_allocation_failing) { HR_TEST_EVERY_ALLOCATION_FAILS(build); }

HR_TEST(builder_edges) {
  hr_strbuf_t b;
  char* text;
  hr_strbuf_init(&b);
  HR_CHECK_VIEW(hr_strbuf_view(&b), "");
  HR_CHECK_OK(hr_strbuf_take(&b, &text, NULL));
  HR_CHECK_STR(text, "");
  hr_free(text);
  hr_strbuf_format(&b, "%s", "");
  hr_strbuf_add(&b, NULL, 0);
  HR_CHECK_EQ_I64(b.size, 0);
  for (int i = 0; i < 64; ++i) hr_strbuf_format(&b, "x"); /* crosses the capacity by one byte */
  HR_CHECK_EQ_I64(strlen(b.data), 64);
  b.size = SIZE_MAX - 1; /* a string as long as memory */
  hr_strbuf_add(&b, "xx", 2);
  HR_CHECK(b.failed);
  hr_strbuf_deinit(&b);
}

HR_TEST(affixes_and_order_row_by_row) {
  static const struct { const char *s, *affix; bool prefix, suffix; int order; } rows[] = {
      {"", "", true, true, 0},      {"a", "", true, true, 1},      {"", "a", false, false, -1},  {"ab", "ab", true, true, 0},
      {"ab", "a", true, false, 1},  {"ab", "b", false, true, -1},  {"ab", "abc", false, false, -1}, {"xb", "ab", false, false, 1},
      {"abc", "x", false, false, -1}, {"abc", "c", false, true, -1}, {"xyz", "bc", false, false, 1}, {"abx", "aby", false, false, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hr_str_t s = hr_str(rows[i].s), affix = hr_str(rows[i].affix);
    const int order = hr_str_compare(s, affix);
    if (!HR_CHECK(hr_str_has_prefix(s, affix) == rows[i].prefix && hr_str_has_suffix(s, affix) == rows[i].suffix &&
                  (order > 0) - (order < 0) == rows[i].order))
      printf("  row %zu\n", i);
  }
  HR_CHECK_VIEW(hr_str_trim(HR_STR("\r\v\f x\016\r")), "x\016"); /* the byte behind \r is no blank */
}

HR_TEST(long_doubles) { /* around the room that needs no memory */
  static char text[140];
  for (size_t size = 120; size < 140; ++size) {
    double v = 0;
    memset(text, '0', sizeof text);
    memcpy(text, "2.5", 3);
    HR_CHECK(hr_str_parse_double((hr_str_t){text, size}, &v) && v == 2.5);
    text[size - 1] = 'x';
    HR_CHECK(!hr_str_parse_double((hr_str_t){text, size}, &v));
  }
}

HR_TEST(what_is_built_ends_with_a_nul) {
  hr_strbuf_t b = {0};
  hr_strbuf_format(&b, "%s", "");
  HR_CHECK(b.data == NULL && !b.failed); /* nothing takes no memory */
  hr_strbuf_add(&b, "abcdef", 6);
  b.size = 0;
  hr_strbuf_add(&b, "x", 1);
  HR_CHECK_STR(b.data, "x");
  for (int size = 0; size < 200; ++size) { /* a text that fits, just fits, does not fit */
    b.size = 0;
    hr_strbuf_format(&b, "%*s|", size, "");
    HR_CHECK(b.size == (size_t)size + 1 && strlen(b.data) == b.size && b.data[size] == '|');
  }
  hr_strbuf_format(&b, "%lc", (wint_t)0x110000); /* no such character */
  HR_CHECK(b.failed);
  hr_strbuf_deinit(&b);
}

HR_TEST_MAIN()
