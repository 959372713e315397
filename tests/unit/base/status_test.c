/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses: messages, notes, payloads, sharing, and what happens when they cannot be allocated. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

HR_TEST(ok_is_null_and_harmless) {
  HR_CHECK_EQ_I64(hr_status_code(NULL), HR_OK);
  HR_CHECK_STR(hr_status_message(NULL), "");
  HR_CHECK(hr_status_note(NULL, "note %d", 1) == NULL);
  HR_CHECK(hr_status_with_payload(NULL, "k", "v") == NULL);
  HR_CHECK(hr_status_retain(NULL) == NULL);
  hr_status_release(NULL);
}

HR_TEST(message_and_origin) {
  hr_status_t s = HR_ERROR(NOT_FOUND, "no node '%s' among %d", "x", 3);
  int line = 0;
  HR_CHECK_EQ_I64(hr_status_code(s), HR_NOT_FOUND);
  HR_CHECK_STR(hr_status_message(s), "no node 'x' among 3");
  HR_CHECK(strstr(hr_status_origin(s, &line), "status_test.c") != NULL);
  HR_CHECK_EQ_I64(line, __LINE__ - 5);
  hr_status_release(s);
}

HR_TEST(long_and_empty_messages) {
  static char text[100001];
  memset(text, 'a', 100000);
  hr_status_t s = HR_ERROR(INTERNAL, "%s", text);
  HR_CHECK_EQ_I64(strlen(hr_status_message(s)), 100000);
  hr_status_release(s);
  s = HR_ERROR(INTERNAL, "%s", "");
  HR_CHECK_STR(hr_status_message(s), "");
  hr_status_release(s);
}

HR_TEST(notes_go_before_and_keep_the_rest) {
  hr_status_t s = HR_ERROR(INVALID_ARGUMENT, "bad");
  s = hr_status_with_payload(s, "key", "value");
  s = hr_status_note(s, "node '%s'", "n");
  s = hr_status_note(s, "step 7, ");
  HR_CHECK_STR(hr_status_message(s), "step 7, node 'n': bad");
  HR_CHECK_EQ_I64(hr_status_code(s), HR_INVALID_ARGUMENT);
  HR_CHECK(strstr(hr_status_origin(s, NULL), "status_test.c") != NULL);
  hr_status_release(s);
}

typedef struct { int count; char text[64]; } seen_t;
static void see(const char* key, const char* value, void* arg) {
  seen_t* seen = arg;
  ++seen->count;
  size_t at = strlen(seen->text);
  snprintf(seen->text + at, sizeof seen->text - at, "%s=%s;", key, value);
}

HR_TEST(payloads_replace_and_are_not_shared_back) {
  hr_status_t first = hr_status_with_payload(HR_ERROR(ABORTED, "x"), "a", "1");
  hr_status_t second = hr_status_with_payload(hr_status_retain(first), "a", "2");
  second = hr_status_with_payload(second, "b", "");
  seen_t one = {0, ""}, two = {0, ""};
  hr_status_each_payload(first, see, &one);
  hr_status_each_payload(second, see, &two);
  HR_CHECK_STR(one.text, "a=1;");
  HR_CHECK_STR(two.text, "b=;a=2;");
  hr_status_release(first);
  hr_status_release(second);
  hr_status_each_payload(NULL, see, &one);
  HR_CHECK_EQ_I64(one.count, 1);
}

HR_TEST(static_instances_survive_releases) {
  for (int i = 0; i < 3; ++i) {
    hr_status_release(hr_status_retain(hr_status_out_of_memory()));
    hr_status_release(hr_status_cancelled());
  }
  HR_CHECK_CODE(hr_status_out_of_memory(), HR_RESOURCE_EXHAUSTED, "out of memory");
  HR_CHECK_CODE(hr_status_note(hr_status_cancelled(), "here"), HR_CANCELLED, "here: ");
}

HR_TEST(merge_keeps_the_first) {
  hr_status_t first = NULL;
  hr_status_merge(&first, NULL);
  HR_CHECK(first == NULL);
  hr_status_merge(&first, HR_ERROR(ABORTED, "one"));
  hr_status_merge(&first, HR_ERROR(INTERNAL, "two"));
  hr_status_merge(&first, NULL);
  HR_CHECK_CODE(first, HR_ABORTED, "one");
}

HR_TEST(out_of_memory_takes_the_place) {
  hr_alloc_fail_at(1, true);
  hr_status_t s = HR_ERROR(NOT_FOUND, "x");
  hr_alloc_fail_at(0, false);
  HR_CHECK(s == hr_status_out_of_memory());
  for (int n = 1; n <= 2; ++n) {
    s = HR_ERROR(NOT_FOUND, "x");
    hr_alloc_fail_at(n, false);
    s = hr_status_with_payload(s, "k", "v");
    hr_alloc_fail_at(0, false);
    HR_CHECK(s == hr_status_out_of_memory());
  }
  s = HR_ERROR(NOT_FOUND, "x");
  hr_alloc_fail_at(1, false);
  s = hr_status_note(s, "k");
  hr_alloc_fail_at(0, false);
  HR_CHECK(s == hr_status_out_of_memory());
}

HR_TEST(code_names) {
  HR_CHECK_STR(hr_status_code_name(HR_OK), "OK");
  HR_CHECK_STR(hr_status_code_name(HR_UNAUTHENTICATED), "UNAUTHENTICATED");
  HR_CHECK_STR(hr_status_code_name((hr_code_t)99), "UNKNOWN");
}

HR_TEST(short_messages_and_notes) {
  static const char* const texts[] = {"", "x", "xy", "x ", " "};
  for (int m = 0; m < 5; ++m)
    for (int n = 0; n < 5; ++n) {
      char want[16];
      hr_status_t s = HR_ERROR(ABORTED, "%s", texts[m]);
      HR_CHECK_STR(hr_status_message(s), texts[m]);
      s = hr_status_note(s, "%s", texts[n]);
      snprintf(want, sizeof want, "%s%s%s", texts[n], n == 1 || n == 2 ? ": " : "", texts[m]);
      HR_CHECK_STR(hr_status_message(s), want);
      hr_status_release(s);
    }
  int line = 9;
  (void)hr_status_origin(NULL, &line);
  HR_CHECK_EQ_I64(line, 0);
}

HR_TEST_MAIN()
