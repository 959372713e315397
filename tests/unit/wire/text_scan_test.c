/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of protobuf text: each kind to its last byte, lines and columns, and what quoted strings stand for. */
#include "wire/text_scan.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

/* Memory of exactly the text's size: a read beyond it is found by the sanitizer's build. */
static hr_str_t exact(const char* text, size_t size) {
  char* block = malloc(size ? size : 1);
  if (size) memcpy(block, text, size);
  return (hr_str_t){block, size};
}

/* "kind line:column text|..." of all tokens, or the failure's message. */
static void expect_tokens(const char* text, const char* wanted) {
  hr_text_scan_t s;
  hr_strbuf_t out = {0};
  hr_str_t given = exact(text, strlen(text));
  hr_status_t status = hr_text_scan_start(&s, given);
  for (; !status && s.token != HR_TOKEN_END; status = hr_text_scan_next(&s))
    hr_strbuf_format(&out, "%c%d:%d %.*s|", "enisp"[s.token], s.line, (int)(s.text.data - s.line_start) + 1, HR_STR_ARG(s.text));
  if (status)
    hr_strbuf_format(&out, "%s", hr_status_message(status));
  else
    hr_strbuf_format(&out, "%d:%d", s.line, (int)(s.text.data - s.line_start) + 1);
  hr_status_release(status);
  HR_CHECK_VIEW(hr_strbuf_view(&out), wanted);
  hr_strbuf_deinit(&out);
  free((void*)(uintptr_t)given.data);
}

HR_TEST(names_numbers_and_marks) {
  expect_tokens("", "1:1");
  expect_tokens("a", "n1:1 a|1:2");
  expect_tokens("azAZ_09 _9:x", "n1:1 azAZ_09|n1:9 _9|p1:11 :|n1:12 x|1:13");
  expect_tokens("a`{@[/-", "n1:1 a|p1:2 `|p1:3 {|p1:4 @|p1:5 [|p1:6 /|p1:7 -|1:8");
  expect_tokens("0", "i1:1 0|1:2");
  expect_tokens("9 0 12a_Z", "i1:1 9|i1:3 0|i1:5 12a_Z|1:10");
  expect_tokens(".", "p1:1 .|1:2");
  expect_tokens(".x", "p1:1 .|n1:2 x|1:3");
  expect_tokens(".5", "i1:1 .5|1:3");
  expect_tokens("5.", "i1:1 5.|1:3");
  expect_tokens("1.25e+10f", "i1:1 1.25e+10f|1:10");
  expect_tokens("1E-5,1e5", "i1:1 1E-5|p1:5 ,|i1:6 1e5|1:9");
  expect_tokens("1+2", "i1:1 1|p1:2 +|i1:3 2|1:4");
  expect_tokens("1-e+3", "i1:1 1|p1:2 -|n1:3 e|p1:4 +|i1:5 3|1:6");
  expect_tokens("0x1e+5", "i1:1 0x1e|p1:5 +|i1:6 5|1:7");
  expect_tokens("0X1E-5", "i1:1 0X1E|p1:5 -|i1:6 5|1:7");
  expect_tokens("1x1e+5", "i1:1 1x1e+5|1:7");
  expect_tokens("0e+5", "i1:1 0e+5|1:5");
  expect_tokens("0x", "i1:1 0x|1:3");
}

HR_TEST(space_lines_and_comments) {
  expect_tokens(" \t\r\v\fa", "n1:6 a|1:7");
  expect_tokens("a\nb\n\n  c\n", "n1:1 a|n2:1 b|n4:3 c|5:1");
  expect_tokens("# one\n# two\n x", "n3:2 x|3:3");
  expect_tokens("a # to the end", "n1:1 a|1:15");
  expect_tokens("#", "1:2");
  expect_tokens("a#\n#\nb", "n1:1 a|n3:1 b|3:2");
  expect_tokens("\x01 \x0e", "p1:1 \x01|p1:3 \x0e|1:4");
}

HR_TEST(strings_to_their_quote) {
  expect_tokens("''", "s1:1 ''|1:3");
  expect_tokens("'a\"b' \"c'd\"e", "s1:1 'a\"b'|s1:7 \"c'd\"|n1:12 e|1:13");
  expect_tokens("'\\''", "s1:1 '\\''|1:5");
  expect_tokens("'\\\\'x", "s1:1 '\\\\'|n1:5 x|1:6");
  expect_tokens("\n  'a\nb'", "text line 2, column 3: a string without an end");
  expect_tokens("'", "text line 1, column 1: a string without an end");
  expect_tokens("'a", "text line 1, column 1: a string without an end");
  expect_tokens("'a\\'", "text line 1, column 1: a string without an end");
  expect_tokens("'a\\", "text line 1, column 1: a string without an end");
  expect_tokens("x 'a\"", "n1:1 x|text line 1, column 3: a string without an end");
}

static void expect_bytes(const char* quoted, size_t quoted_size, const char* bytes, size_t size) {
  hr_text_scan_t s;
  hr_strbuf_t out = {0};
  hr_str_t given = exact(quoted, quoted_size);
  HR_CHECK_OK(hr_text_scan_start(&s, given));
  HR_CHECK_OK(hr_text_scan_unquote(&s, &out));
  if (!HR_CHECK(hr_str_equal(hr_strbuf_view(&out), (hr_str_t){bytes, size}))) printf("  %s\n", quoted);
  hr_strbuf_deinit(&out);
  free((void*)(uintptr_t)given.data);
}
#define STANDS_FOR(text, bytes) expect_bytes("'" text "'", sizeof text + 1, bytes, sizeof bytes - 1)

HR_TEST(quoted_strings_stand_for_bytes) {
  STANDS_FOR("", "");
  STANDS_FOR("a b", "a b");
  STANDS_FOR("\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?", "\a\b\f\n\r\t\v\\'\"?");
  STANDS_FOR("x\\ny\\nz", "x\ny\nz");
  STANDS_FOR("\\0", "\0");
  STANDS_FOR("\\7\\08\\123\\1234\\377", "\7\0008\123\1234\377");
  STANDS_FOR("\\x4", "\4");
  STANDS_FOR("\\x41\\x4a\\x4F\\xfAg\\x4123\\X42\\x0G",
             "\x41\x4a\x4f\xfa"
             "g\x41"
             "23B\0G");
  STANDS_FOR("\\u0041\\u00419", "AA9");
  STANDS_FOR("\\u007f\\u0080\\u07ff\\u0800\\uffff", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf");
  STANDS_FOR("\\U00000041\\U00010000\\U0010FFFF0",
             "A\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"
             "0");
  STANDS_FOR("\\u20ac\\U0001f600", "\xe2\x82\xac\xf0\x9f\x98\x80");
}

HR_TEST(unknown_escapes_are_refused) {
  static const struct {
    const char* text;
    size_t size;
    const char* shown;
  } rows[] = {
      {"'a\\qb'", 6, "\\q"},        {"'\\8'", 4, "\\8"},     {"'\\9'", 4, "\\9"}, {"'\\xg'", 5, "\\x"},        {"'\\X'", 4, "\\X"},
      {"'\\u004'", 7, "\\u"},       {"'\\u004g'", 8, "\\u"}, {"'\\u'", 4, "\\u"}, {"'\\U0000004'", 11, "\\U"}, {"'\\U00110000'", 12, "\\U"},
      {"'\\Uffffffff'", 12, "\\U"}, {"'\\ '", 4, "\\ "},     {"'\\~'", 4, "\\~"}, {"'\\\x1f'", 4, "\\?"},      {"'\\\x7f'", 4, "\\?"},
      {"'\\\0'", 4, "\\?"},         {"'\\\n'", 4, "\\?"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_text_scan_t s;
    hr_strbuf_t out = {0};
    char wanted[80];
    snprintf(wanted, sizeof wanted, "text line 1, column 1: a string has an unknown escape %s", rows[i].shown);
    HR_CHECK_OK(hr_text_scan_start(&s, (hr_str_t){rows[i].text, rows[i].size}));
    hr_status_t status = hr_text_scan_unquote(&s, &out);
    HR_CHECK_STR(hr_status_message(status), wanted);
    hr_status_release(status);
    hr_strbuf_deinit(&out);
  }
}

HR_TEST_MAIN()
