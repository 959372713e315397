/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: alignment, growth, reset, overflow, faults. */
#define HR_TEST_LEAKS_CHECKED
#include "base/arena.h"
#include "test.h"

HR_TEST(blocks_are_aligned_and_apart) {
  hr_arena_t a;
  hr_arena_init(&a);
  char* last = NULL;
  for (size_t i = 0; i < 2000; ++i) {
    char* p = hr_arena_alloc(&a, i % 97);
    HR_REQUIRE(p);
    HR_CHECK_EQ_I64((uintptr_t)p % 16, 0);
    memset(p, 1, i % 97);
    HR_CHECK(i % 97 == 0 || p != last);
    last = p;
  }
  hr_arena_deinit(&a);
  HR_CHECK_EQ_I64(a.bytes, 0);
}

HR_TEST(large_requests_and_reset) {
  hr_arena_t a;
  hr_arena_init(&a);
  hr_arena_reset(&a);
  char* p = hr_arena_alloc(&a, 3 << 20);
  HR_REQUIRE(p);
  memset(p, 1, 3 << 20);
  HR_CHECK(hr_arena_alloc(&a, 10) != NULL);
  hr_arena_reset(&a);
  HR_CHECK(a.bytes > 0);
  size_t held = a.bytes;
  HR_CHECK(hr_arena_alloc(&a, 10) != NULL);
  HR_CHECK_EQ_I64(a.bytes, held);
  hr_arena_deinit(&a);
}

#if HR_SANITIZED_ADDRESSES
HR_TEST(what_nobody_asked_for_is_forbidden) {
  static const size_t sizes[] = {1, 15, 16, 17, 100, 4096, 3 << 20};
  hr_arena_t a;
  hr_arena_init(&a);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      char* p = hr_arena_alloc(&a, sizes[i]);
      HR_REQUIRE(p);
      HR_CHECK(!__asan_address_is_poisoned(p) && !__asan_address_is_poisoned(p + sizes[i] - 1));
      HR_CHECK(__asan_address_is_poisoned(p + sizes[i]));
    }
    hr_arena_reset(&a);
  }
  hr_arena_deinit(&a);
}
#endif

HR_TEST(overflow_and_arrays) {
  hr_arena_t a;
  hr_arena_init(&a);
  volatile size_t huge = SIZE_MAX;
  HR_CHECK(hr_arena_alloc(&a, huge) == NULL);
  HR_CHECK(hr_arena_alloc(&a, huge - 20) == NULL);
  HR_CHECK(hr_arena_array(&a, huge / 2, 3) == NULL);
  HR_CHECK(hr_arena_array(&a, 0, 8) != NULL);
  int* p = hr_arena_array(&a, 100, sizeof *p);
  HR_REQUIRE(p);
  for (int i = 0; i < 100; ++i) HR_CHECK(p[i] == 0);
  hr_str_t s;
  HR_CHECK(hr_arena_str(&a, HR_STR("text"), &s) && strcmp(s.data, "text") == 0);
  HR_CHECK(hr_arena_str(&a, (hr_str_t){NULL, 0}, &s) && s.size == 0 && *s.data == 0);
  hr_arena_deinit(&a);
}

static hr_status_t fill(void) {
  hr_arena_t a;
  hr_arena_init(&a);
  bool good = true;
  for (int i = 0; i < 100 && good; ++i) good = hr_arena_array(&a, 1000, 1) != NULL;
  hr_arena_deinit(&a);
  return good ? NULL : hr_status_out_of_memory();
}
HR_TEST(every_allocation_fails) { HR_TEST_EVERY_ALLOCATION_FAILS(fill); }

HR_TEST_MAIN()
