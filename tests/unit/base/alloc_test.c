/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator: alignment, overflow, the injected fault, the count. */
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

HR_TEST(zero_bytes_are_a_block) {
  void* p = hr_alloc(0);
  HR_CHECK(p != NULL);
  p = hr_alloc_resize(p, 0);
  HR_CHECK(p != NULL);
  hr_free(p);
  hr_free(NULL);
}

HR_TEST(alignment) {
  for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
    void* p = hr_alloc_aligned(3, alignment);
    HR_CHECK_EQ_I64((uintptr_t)p % alignment, 0);
    hr_free(p);
  }
}

HR_TEST(overflow_is_null) {
  volatile size_t huge = SIZE_MAX;
  HR_CHECK(hr_alloc(huge) == NULL);
  HR_CHECK(hr_alloc_array(huge / 2, 3) == NULL);
  HR_CHECK(hr_alloc_aligned(huge - 3, 64) == NULL);
  HR_CHECK(hr_alloc_copy("", huge) == NULL);
  size_t out = 7;
  HR_CHECK(!hr_size_mul(huge, 2, &out) && !hr_size_add(huge, 1, &out) && out == 7);
  int64_t i = 7;
  HR_CHECK(!hr_i64_mul(INT64_MIN, -1, &i) && i == 7);
  HR_CHECK(hr_i64_mul(INT64_MIN, 1, &i) && i == INT64_MIN);
}

HR_TEST(zeroed_and_copied) {
  char* p = hr_alloc_array(10, 10);
  HR_REQUIRE(p);
  for (int i = 0; i < 100; ++i) HR_CHECK(p[i] == 0);
  hr_free(p);
  p = hr_alloc_copy("ab\0c", 4);
  HR_CHECK(p && memcmp(p, "ab\0c", 5) == 0);
  hr_free(p);
  p = hr_alloc_copy(NULL, 0);
  HR_CHECK(p && *p == 0);
  hr_free(p);
}

HR_TEST(resize_keeps_on_failure) {
  char* p = hr_alloc_copy("keep", 4);
  hr_alloc_fail_at(1, false);
  HR_CHECK(hr_alloc_resize(p, 1000) == NULL);
  hr_alloc_fail_at(0, false);
  HR_CHECK_STR(p, "keep");
  hr_free(p);
}

HR_TEST(transient_and_persistent_faults) {
  hr_alloc_fail_at(2, false);
  void* a = hr_alloc(1);
  HR_CHECK(a && !hr_alloc_has_failed());
  HR_CHECK(hr_alloc(1) == NULL && hr_alloc_has_failed());
  void* b = hr_alloc(1);
  HR_CHECK(b != NULL);
  hr_alloc_fail_at(1, true);
  HR_CHECK(hr_alloc(1) == NULL && hr_alloc_zero(1) == NULL && hr_alloc_aligned(1, 64) == NULL);
  hr_alloc_fail_at(0, true);
  HR_CHECK(!hr_alloc_has_failed());
  hr_free(a);
  hr_free(b);
}

HR_TEST(count) {
  int64_t before = hr_alloc_count();
  void* p = hr_alloc(1);
  p = hr_alloc_resize(p, 100);
  hr_free(p);
  HR_CHECK_EQ_I64(hr_alloc_count() - before, 2);
}

HR_TEST_MAIN()
