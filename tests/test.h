/* SPDX-License-Identifier: Apache-2.0 */
/* The unit test harness: one header, one executable per test file.
 *
 *   HR_TEST(name) { HR_CHECK(condition); ... }      registers itself; tests run in the order of the file
 *   HR_TEST_MAIN()                                  at the end of the file
 *
 * A failing check prints place and values and the test goes on; HR_REQUIRE leaves the test. Arguments of the executable choose
 * tests by substring. Blocks taken through hr_alloc are counted: a test that ends with more live blocks than it began with is told
 * so (HR_TEST_LEAKS_CHECKED), and HR_TEST_EVERY_ALLOCATION_FAILS fails the 1st, 2nd, ... allocation of a body in turn. */
#ifndef HR_TESTS_TEST_H
#define HR_TESTS_TEST_H
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/alloc.h"
#include "base/status.h"
#include "base/str.h"
#include "tensor/buffer.h"

typedef struct hr_test {
  const char* name;
  void (*run)(void);
  struct hr_test* next;
} hr_test_t;

static hr_test_t *hr_test_first, *hr_test_last;
static atomic_int hr_test_failures; /* of the test now running; checks may run in several threads */
static atomic_llong hr_test_blocks; /* live, through the hooks */

static inline void hr_test_add(hr_test_t* t) {
  if (hr_test_last)
    hr_test_last->next = t;
  else
    hr_test_first = t;
  hr_test_last = t;
}

#define HR_TEST(test_name)                                              \
  static void test_run_##test_name(void);                               \
  __attribute__((constructor)) static void test_add_##test_name(void) { \
    static hr_test_t t = {#test_name, test_run_##test_name, NULL};      \
    hr_test_add(&t);                                                    \
  }                                                                     \
  static void test_run_##test_name(void)

HR_PRINTF(3, 4) static inline bool hr_test_fail(const char* file, int line, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  printf("%s:%d: %s\n", file, line, text);
  fflush(stdout);
  atomic_fetch_add(&hr_test_failures, 1);
  return false;
}

#define HR_CHECK(condition) ((condition) ? true : hr_test_fail(__FILE__, __LINE__, "not true: %s", #condition))
#define HR_REQUIRE(condition)          \
  do {                                 \
    if (!HR_CHECK(condition)) return;  \
  } while (0)
#define HR_CHECK_EQ_I64(a, b) hr_test_eq_i64((int64_t)(a), (int64_t)(b), #a, #b, __FILE__, __LINE__)
#define HR_CHECK_EQ_U64(a, b) hr_test_eq_u64((uint64_t)(a), (uint64_t)(b), #a, #b, __FILE__, __LINE__)
#define HR_CHECK_EQ_F64(a, b) hr_test_near((double)(a), (double)(b), 0, #a, #b, __FILE__, __LINE__) /* NaN equals NaN */
#define HR_CHECK_NEAR(a, b, tolerance) hr_test_near((double)(a), (double)(b), (tolerance), #a, #b, __FILE__, __LINE__)
#define HR_CHECK_STR(a, b) hr_test_eq_str(hr_str(a), hr_str(b), #a, __FILE__, __LINE__)        /* C strings */
#define HR_CHECK_VIEW(view, text) hr_test_eq_str((view), hr_str(text), #view, __FILE__, __LINE__) /* hr_str_t and a C string */
#define HR_CHECK_OK(expr) hr_test_ok((expr), #expr, __FILE__, __LINE__)
#define HR_REQUIRE_OK(expr)          \
  do {                               \
    if (!HR_CHECK_OK(expr)) return;  \
  } while (0)
/* A failure with this code whose message contains the text. */
#define HR_CHECK_CODE(expr, wanted_code, text) hr_test_code((expr), (wanted_code), (text), #expr, __FILE__, __LINE__)
/* body: hr_status_t body(void). It must not keep anything, nor swallow a failure. */
#define HR_TEST_EVERY_ALLOCATION_FAILS(body) hr_test_every_allocation_fails((body), #body, __FILE__, __LINE__)

static inline bool hr_test_eq_i64(int64_t a, int64_t b, const char* ta, const char* tb, const char* file, int line) {
  return a == b ? true : hr_test_fail(file, line, "%s is %" PRId64 ", %s is %" PRId64, ta, a, tb, b);
}
static inline bool hr_test_eq_u64(uint64_t a, uint64_t b, const char* ta, const char* tb, const char* file, int line) {
  return a == b ? true : hr_test_fail(file, line, "%s is 0x%" PRIx64 ", %s is 0x%" PRIx64, ta, a, tb, b);
}
static inline bool hr_test_near(double a, double b, double tolerance, const char* ta, const char* tb, const char* file, int line) {
  bool equal = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance;
  return equal ? true : hr_test_fail(file, line, "%s is %.17g, %s is %.17g", ta, a, tb, b);
}
static inline bool hr_test_eq_str(hr_str_t a, hr_str_t b, const char* what, const char* file, int line) {
  return hr_str_equal(a, b) ? true : hr_test_fail(file, line, "%s is \"%.*s\", should be \"%.*s\"", what, HR_STR_ARG(a), HR_STR_ARG(b));
}
static inline bool hr_test_ok(hr_status_t s, const char* what, const char* file, int line) {
  if (!s) return true;
  hr_test_fail(file, line, "%s failed: %s: %s", what, hr_status_code_name(hr_status_code(s)), hr_status_message(s));
  hr_status_release(s);
  return false;
}
static inline bool hr_test_code(hr_status_t s, hr_code_t code, const char* text, const char* what, const char* file, int line) {
  bool good = s && hr_status_code(s) == code && strstr(hr_status_message(s), text);
  if (!good)
    hr_test_fail(file, line, "%s gave %s \"%s\", should be %s with \"%s\"", what, hr_status_code_name(hr_status_code(s)),
                 hr_status_message(s), hr_status_code_name(code), text);
  hr_status_release(s);
  return good;
}

/* Counting hooks around libc. */
static inline void* hr_test_allocate(size_t bytes, size_t alignment) {
  size_t padded = (bytes + alignment - 1) & ~(alignment - 1);
  void* p = alignment <= 16 ? malloc(bytes) : aligned_alloc(alignment, padded);
  if (p) atomic_fetch_add(&hr_test_blocks, 1);
  return p;
}
static inline void hr_test_free(void* block) {
  atomic_fetch_sub(&hr_test_blocks, 1);
  free(block);
}
/* Live blocks, those that the buffer pool merely keeps not counted. */
static inline int64_t hr_test_live_blocks(void) { return (int64_t)atomic_load(&hr_test_blocks) - hr_buffer_spare_blocks(); }

static inline bool hr_test_every_allocation_fails(hr_status_t (*body)(void), const char* what, const char* file, int line) {
  enum { MOST = 1000000 };
  if (!hr_test_ok(body(), what, file, line)) return false; /* also warms what is made once */
  bool good = true;
  for (int64_t n = 1; n < MOST && good; ++n) {
    int64_t before = hr_test_live_blocks();
    hr_alloc_fail_at(n, false);
    hr_status_t s = body();
    bool failed = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    hr_code_t code = hr_status_code(s);
    if (failed && code != HR_RESOURCE_EXHAUSTED)
      good = hr_test_fail(file, line, "%s with allocation %" PRId64 " failing gave %s \"%s\"", what, n, hr_status_code_name(code),
                          hr_status_message(s));
    if (!failed && s) good = hr_test_fail(file, line, "%s failed without a fault: %s", what, hr_status_message(s));
    hr_status_release(s);
    int64_t after = hr_test_live_blocks();
    if (after > before) /* fewer: another thread let go of what an earlier test had */
      good = hr_test_fail(file, line, "%s with allocation %" PRId64 " failing leaks %" PRId64 " blocks", what, n, after - before);
    if (!failed) return good;
  }
  return good ? hr_test_fail(file, line, "%s still allocates at %d", what, MOST) : false;
}

static inline bool hr_test_is_wanted(const char* name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (strstr(name, argv[i])) return true;
  return argc <= 1;
}

/* HR_TEST_LEAKS_CHECKED before the include: a test that leaves blocks behind, and does so again when it is run once more (what is made once
 * is there by then), fails. What other threads are about to let go of is waited for, mostly after that second run. */
#ifdef HR_TEST_LEAKS_CHECKED
#define HR_TEST_LEAKS(before) (hr_test_live_blocks() - (before))
#else
#define HR_TEST_LEAKS(before) ((void)(before), (int64_t)0)
#endif

static inline int64_t hr_test_run_counted(const hr_test_t* t, int most_ms) {
  const struct timespec pause = {0, 1000 * 1000};
  const int64_t before = hr_test_live_blocks();
  t->run();
  for (int ms = 0; HR_TEST_LEAKS(before) > 0 && ms < most_ms; ++ms) nanosleep(&pause, NULL);
  return HR_TEST_LEAKS(before);
}

static inline int hr_test_main(int argc, char** argv) {
  static const hr_alloc_hooks_t hooks = {hr_test_allocate, realloc, hr_test_free};
  hr_alloc_set_hooks(&hooks);
  int passed = 0, failed = 0;
  for (hr_test_t* t = hr_test_first; t; t = t->next) {
    if (!hr_test_is_wanted(t->name, argc, argv)) continue;
    atomic_store(&hr_test_failures, 0);
    hr_buffer_release(hr_buffer_create(1, HR_DTYPE_INVALID)); /* this thread's own list is made here, not within the count */
    int64_t leaked = hr_test_run_counted(t, 20);
    if (leaked > 0) leaked = hr_test_run_counted(t, 1000);
    if (leaked > 0) hr_test_fail(t->name, 0, "%" PRId64 " blocks leaked", leaked);
    bool good = atomic_load(&hr_test_failures) == 0;
    printf("%s %s\n", t->name, good ? "ok" : "FAILED");
    fflush(stdout);
    ++*(good ? &passed : &failed);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}

#define HR_TEST_MAIN(...) \
  int main(int argc, char** argv) { return hr_test_main(argc, argv); }
#endif
