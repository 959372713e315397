/* SPDX-License-Identifier: Apache-2.0 */
/* The harness of every C test program: tests register themselves, checks report file and line, the last line counts.
 *
 *   #include "test.h"
 *   TEST(adds_two_sizes) { CHECK_INT(1 + 1, 2); }
 *   TEST_MAIN()
 *
 * A failed check marks its test failed and goes on; a REQUIRE also leaves the function. Program arguments choose tests by a part
 * of their name; -v names each. A helper file without a main includes this header as well (the state is shared, weak symbols).
 * The program ends with "N passed, N failed" and a non-zero status if any failed or none ran. */
#ifndef HR_TESTS_TEST_H
#define HR_TESTS_TEST_H
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
  const char* name;
  void (*run)(void);
  struct test_case* next;
} test_case_t;

__attribute__((weak)) test_case_t* test_list;
__attribute__((weak)) int test_bad_checks;       /* of the running test; written from any of its threads */
__attribute__((weak)) const char* test_note_text = ""; /* what a table-driven test is at; printed with failures */

__attribute__((unused)) static void test_add(test_case_t* t) {
  test_case_t** at = &test_list;
  while (*at) at = &(*at)->next;
  *at = t;
}

#define TEST(name)                                                                            \
  static void name##_body(void);                                                              \
  __attribute__((constructor)) static void name##_register(void) {                            \
    static test_case_t row = {#name, name##_body, NULL};                                      \
    test_add(&row);                                                                           \
  }                                                                                           \
  static void name##_body(void)

/* Says which row of a table runs: TEST_NOTE(row->name). The text must outlive the checks. */
#define TEST_NOTE(text) (test_note_text = (text))

__attribute__((format(printf, 3, 4), unused)) static bool test_fail(const char* file, int line, const char* format, ...) {
  va_list args;
  va_start(args, format);
  flockfile(stdout);
  printf("%s:%d: ", file, line);
  if (*test_note_text) printf("[%s] ", test_note_text);
  vprintf(format, args);
  printf("\n");
  fflush(stdout);
  funlockfile(stdout);
  va_end(args);
  __atomic_add_fetch(&test_bad_checks, 1, __ATOMIC_RELAXED);
  return false;
}

__attribute__((unused)) static bool test_true(const char* file, int line, const char* what, bool holds) {
  return holds || test_fail(file, line, "not so: %s", what);
}
__attribute__((unused)) static bool test_int(const char* file, int line, const char* what, int64_t got, int64_t want) {
  return got == want || test_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, got, want);
}
__attribute__((unused)) static bool test_str(const char* file, int line, const char* what, const char* got, const char* want) {
  if (got && want && !strcmp(got, want)) return true;
  return got == want || test_fail(file, line, "%s is \"%s\", not \"%s\"", what, got ? got : "(null)", want ? want : "(null)");
}
__attribute__((unused)) static bool test_has(const char* file, int line, const char* what, const char* got, const char* part) {
  return (got && strstr(got, part)) || test_fail(file, line, "%s is \"%s\", without \"%s\"", what, got ? got : "(null)", part);
}
__attribute__((unused)) static bool test_near(const char* file, int line, const char* what, double got, double want, double tolerance) {
  if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance) return true;
  return test_fail(file, line, "%s is %.17g, not %.17g", what, got, want);
}
__attribute__((unused)) static bool test_bytes(const char* file, int line, const char* what, const void* got, const void* want, size_t n) {
  const unsigned char *g = got, *w = want;
  for (size_t i = 0; i < n; i++)
    if (g[i] != w[i]) return test_fail(file, line, "%s: byte %zu is 0x%02x, not 0x%02x", what, i, g[i], w[i]);
  return true;
}

/* Each gives whether it holds. */
#define CHECK(cond) test_true(__FILE__, __LINE__, #cond, cond)
#define CHECK_INT(got, want) test_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define CHECK_STR(got, want) test_str(__FILE__, __LINE__, #got, got, want)
#define CHECK_HAS(got, part) test_has(__FILE__, __LINE__, #got, got, part)
#define CHECK_NEAR(got, want, tolerance) test_near(__FILE__, __LINE__, #got, got, want, tolerance)
#define CHECK_BYTES(got, want, n) test_bytes(__FILE__, __LINE__, #got, got, want, n)
#define REQUIRE(cond)           \
  do {                          \
    if (!CHECK(cond)) return;   \
  } while (0)

/* For programs that see base/status.h. Both release the status. CHECK_CODE also wants `part` in the message ("" for any). */
#ifdef HR_BASE_STATUS_H
__attribute__((unused)) static bool test_code(const char* file, int line, const char* what, hr_status_t status, hr_code_t code, const char* part) {
  bool good = hr_status_code(status) == code && strstr(hr_status_message(status), part);
  if (!good)
    test_fail(file, line, "%s gives %s: \"%s\", not %s \"%s\"", what, hr_status_code_name(hr_status_code(status)), hr_status_message(status),
              hr_status_code_name(code), part);
  hr_status_release(status);
  return good;
}
#define CHECK_OK(expr) test_code(__FILE__, __LINE__, #expr, (expr), HR_OK, "")
#define CHECK_CODE(expr, code, part) test_code(__FILE__, __LINE__, #expr, (expr), (code), (part))
#define REQUIRE_OK(expr)         \
  do {                           \
    if (!CHECK_OK(expr)) return; \
  } while (0)
#endif

__attribute__((unused)) static bool test_is_chosen(const char* name, int argc, char** argv) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-') continue;
    any = true;
    if (strstr(name, argv[i])) return true;
  }
  return !any;
}

__attribute__((unused)) static int test_main(int argc, char** argv) {
  int passed = 0, failed = 0;
  bool verbose = argc > 1 && !strcmp(argv[1], "-v");
  for (test_case_t* t = test_list; t; t = t->next) {
    if (!test_is_chosen(t->name, argc, argv)) continue;
    if (verbose) printf("%s\n", t->name);
    fflush(stdout);
    test_bad_checks = 0;
    test_note_text = "";
    t->run();
    if (test_bad_checks) printf("FAILED %s\n", t->name);
    if (test_bad_checks) failed++;
    else passed++;
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed || !passed;
}
#define TEST_MAIN() \
  int main(int argc, char** argv) { return test_main(argc, argv); }
#endif
