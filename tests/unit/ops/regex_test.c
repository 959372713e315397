/* SPDX-License-Identifier: Apache-2.0 */
/* RE2's syntax on PCRE2: what matches and what is refused, as TensorFlow's RegexFullMatch does; long texts; hostile patterns. */
#include "ops/string/regex.h"

#include "base/clock.h"
#include "session/session.h"
#include "unit/exec/maker.h"

/* The texts that the rows below are about, each one bit; what a pattern matches is a string of their letters. */
static const struct { char letter; const char* text; } texts[] = {
    {'a', "a"}, {'e', "\u00e9"}, {'E', "\u00c9"}, {'3', "aaa"}, {'v', "\v"}, {'.', "a.b"}, {'x', "xxxxxx"}, {'n', "\n"}, {'N', "a\n"},
    {'0', ""}, {'g', "\u03b1"}, {'{', "{"}, {'(', "a{"}, {',', "a{,3}"}, {'-', "-"}, {'_', "_"}, {'A', "\a"}, {'y', "ab"}, {'b', "b"},
    {'[', "["}, {']', "]"}};
static const struct { const char *pattern, *matches; } rows[] = {
    {"a{,3}", ","}, {"\\v", "v"}, {"\\pL+", "aeE3xgyb"}, {"(?P<x>a)", "a"}, {"(?i)\u00e9", "eE"}, {"[[:word:]]+", "a3x_yb"},
    {"\\Qa.b\\E", "."}, {"\\Qa", "a"}, {"\\x{e9}", "e"}, {"\\xe9", "e"}, {"a{2}?", ""}, {"a??", "a0"}, {"(?U)a*", "a30"}, {"^*", "0"},
    {"[\\d-z]", "-"}, {"\\z", "0"}, {"a$", "a"}, {"(?m)a$", "a"}, {"\\ba\\b", "a"}, {"(a*)*b", "yb"}, {"\\0", ""}, {"\\012", "n"},
    {"\\12", "n"}, {"\\x0a", "n"}, {"\\x{00000a}", "n"}, {"\\x0A", "n"}, {"\\07", "A"}, {"\\0078?", "A"},
    {"\\p{Greek}", "g"}, {"\\p{Lu}", "E"}, {"\\P{^Lu}", "E"}, {"[\\v]", "v"}, {"\\pN", ""}, {"(?-s).", "aeEv{-_Ab[]g"},
    {"(?s).", "aeEvn{-_Ab[]g"},
    {"\\_", "_"}, {"\\-", "-"}, {"{", "{"}, {"a{", "("}, {"a{a}", ""}, {"(?:)", "0"}, {"()", "0"}, {"|", "0"}, {"x{0}", "0"}, {"\\a", "A"},
    {"(?i:a)b", "y"}, {"(?i:A)B", ""}, {"(?i:A)b", "y"}, {"[^\\x00-\\x7f]", "eEg"}, {"\\s", "n"}, {"\\S", "aeEv{-_Ab[]g"},
    {"\\W", "eEvn{-A[]g"},
    {"[]a]", "a]"}, {"[^]a]", "eEvn{-_Ab[g"}, {"[-a]", "a-"}, {"[a-]", "a-"}, {"[a-b-c]", "a-b"}, {"$a", ""}, {"a^", ""}, {"a|b|", "ab0"},
    {"[^\\S]", "n"}, {"[\\s\\w]", "anb_"}, {"[[:^alpha:]]", "eEvn{-_A[]g"}, {"[[:]", "["}, {"(?i)A|B", "ab"}, {"a|(?i)B", "ab"},
    {".*", "aeE3v.x0{(,-_Ayb[]g"},
    {"(?s)a.*", "a3.N(,y"}, {"x{2,3}x+", "x"}, {"(?:x{2}){3}", "x"}, {"\\Aa\\z", "a"}};

HR_TEST(patterns_match_what_they_should) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_regex_t* r = NULL;
    if (!HR_CHECK_OK(hr_regex_create(hr_str(rows[i].pattern), &r))) continue;
    for (size_t j = 0; j < sizeof texts / sizeof *texts; ++j) {
      bool got = false;
      const bool want = strchr(rows[i].matches, texts[j].letter) != NULL;
      HR_CHECK_OK(hr_regex_match(r, hr_str(texts[j].text), &got));
      if (got != want) hr_test_fail(__FILE__, __LINE__, "pattern %s, text %c: %d", rows[i].pattern, texts[j].letter, got);
    }
    hr_regex_destroy(r);
  }
}

HR_TEST(bad_patterns_are_refused) {
  static const char* const patterns[] = {
      "a**", "(?=a)", "(?!a)", "(?<=a)", "(?>a)", "(?|a)", "(?R)", "\\1", "\\8", "\\1a2", "\\7x", "\\18", "a{1001}", "(?<x>a)", "a*+",
      "a++", "x{2}{3}", "\\Z",
      "(", ")", "[", "[a",
      "\\", "a|*", "*", "(?x)a", "\\h", "\\R", "\\K", "[a-\\d]", "[z-a]", "\\p{Foo}", "\\p{", "\\p", "\\pl", "[[:foo:]]", "a{2,1}",
      "\\\u00e9", "(?#c)a", "\\e",
      "\\E", "((((a){10}){10}){10}){10}", "[\\b]", "(*ACCEPT)", "(*UCP)a", "(?P<x>a)(?P<x>b)", "(?P=x)", "(?P<>a)", "(?", "(?i",
      "(?i-)", "(?)", "\xff", "\xc3",
      "[\xff]", "\xed\xa0\x80", "\\x{110000}", "\\x{", "\\x1", "\\xg", "\\N", "\\G", "\\X", "\\c", "(?&x)", "(?1)", "(?C1)"};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
    hr_regex_t* r = NULL;
    if (!HR_CHECK_CODE(hr_regex_create(hr_str(patterns[i]), &r), HR_INVALID_ARGUMENT, "Invalid pattern: "))
      printf("  pattern %s\n", patterns[i]);
    hr_regex_destroy(r);
  }
  hr_regex_t* r = NULL;
  HR_CHECK_CODE(hr_regex_create(HR_STR("\\C"), &r), HR_UNIMPLEMENTED, "\\C");
}

HR_TEST(text_that_is_no_utf8_matches_nothing) {
  hr_regex_t* r = NULL;
  bool got = true;
  HR_REQUIRE_OK(hr_regex_create(HR_STR("(?s).*"), &r));
  HR_CHECK_OK(hr_regex_match(r, HR_STR("a\xff"), &got));
  HR_CHECK(!got);
  HR_CHECK_OK(hr_regex_match(r, (hr_str_t){"a\0b", 3}, &got));
  HR_CHECK(got);
  hr_regex_destroy(r);
}

HR_TEST(what_makes_other_engines_backtrack_takes_no_time) {
  static const char* const patterns[] = {"(a*)*b", "(a|aa)+b", "(?:a?){200}b", "(.*)*(.*)*b", "(((a+)+)+)+b"};
  enum { LENGTH = 5000 };
  char* text = malloc(LENGTH);
  HR_REQUIRE(text != NULL);
  memset(text, 'a', LENGTH);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
    hr_regex_t* r = NULL;
    bool got = true;
    if (!HR_CHECK_OK(hr_regex_create(hr_str(patterns[i]), &r))) continue;
    const int64_t start = hr_clock_now_ns();
    hr_status_t status = hr_regex_match(r, (hr_str_t){text, LENGTH}, &got);
    if (status) HR_CHECK_CODE(status, HR_RESOURCE_EXHAUSTED, "limits");
    else HR_CHECK(!got);
    if (hr_clock_now_ns() - start > 5000000000)
      hr_test_fail(__FILE__, __LINE__, "pattern %s took %g s", patterns[i], (double)(hr_clock_now_ns() - start) * 1e-9);
    hr_regex_destroy(r);
  }
  free(text);
}

HR_TEST(random_patterns_are_a_status) {
  static const char alphabet[] = "ab\\[](){}*+?|^$.-,:PpQEx19\xc3\xa9i<>=!";
  uint32_t random = 5;
  for (int i = 0; i < 20000; ++i) {
    char pattern[24];
    hr_regex_t* r = NULL;
    bool got;
    random = random * 1664525u + 1013904223u;
    const size_t size = (random >> 8) % sizeof pattern;
    for (size_t j = 0; j < size; ++j) {
      random = random * 1664525u + 1013904223u;
      pattern[j] = alphabet[(random >> 8) % (sizeof alphabet - 1)];
    }
    hr_status_t status = hr_regex_create((hr_str_t){pattern, size}, &r);
    if (!status) status = hr_regex_match(r, HR_STR("abba"), &got);
    HR_CHECK(!status || hr_status_code(status) == HR_INVALID_ARGUMENT || hr_status_code(status) == HR_UNIMPLEMENTED);
    hr_status_release(status);
    hr_regex_destroy(r);
  }
}

static hr_status_t create_and_match(void) {
  hr_regex_t* r = NULL;
  bool got;
  HR_TRY(hr_regex_create(HR_STR("(?P<name>[a-z]+)\\d{2,3}|\\pL*"), &r));
  hr_status_t status = hr_regex_match(r, HR_STR("abc123"), &got);
  hr_regex_destroy(r);
  return status;
}
HR_TEST(memory_may_run_out) { HR_TEST_EVERY_ALLOCATION_FAILS(create_and_match); }

HR_TEST(RegexFullMatch_takes_its_pattern_when_it_runs) {
  hr_graph_t* g = maker_graph();
  hr_session_t* s = NULL;
  const hr_value_t in = maker_placeholder(g, "in", HR_STRING, NULL), pattern = maker_placeholder(g, "pattern", HR_STRING, NULL);
  hr_value_t match = maker_2(g, "RegexFullMatch", "match", in, pattern);
  maker_must(hr_session_create(g, NULL, &s), "a session");
  static const struct { const char* pattern; bool want; hr_code_t code; } tries[] = {
    {"a+", true, HR_OK}, {"b", false, HR_OK}, {"(", false, HR_INVALID_ARGUMENT}};
  for (int i = 0; i < 3; ++i) {
    hr_value_t feeds[] = {in, pattern};
    hr_tensor_t values[2] = {{0}, {0}}, out = {0};
    maker_must(hr_tensor_from_str(HR_STR("aa"), &values[0]), "a string");
    maker_must(hr_tensor_from_str(hr_str(tries[i].pattern), &values[1]), "a string");
    hr_run_t run = {.feeds = feeds, .feed_values = values, .feed_count = 2, .fetches = &match, .fetch_count = 1};
    hr_status_t status = hr_session_run(s, NULL, &run, &out, NULL, NULL);
    HR_CHECK(hr_status_code(status) == tries[i].code);
    if (!status) HR_CHECK(*(bool*)out.data == tries[i].want);
    hr_status_release(status);
    hr_tensor_release(&out);
    for (int j = 0; j < 2; ++j) hr_tensor_release(&values[j]);
  }
  hr_session_destroy(s);
  hr_graph_destroy(g);
}
HR_TEST_MAIN()
