/* SPDX-License-Identifier: Apache-2.0 */
/* Large blocks past malloc: zeroed, moved by pages, told from malloc's, used again. */
#include <sys/sysinfo.h>
#include "base/large.h"
#include "base/sanitized.h"
#include "test.h"

enum { MB = 1 << 20 };
static const hr_alloc_hooks_t counting = {hr_test_allocate, realloc, hr_test_free};

static void fill(char* p, size_t from, size_t to) {
  for (size_t i = from; i < to; i += 4096) p[i] = (char)(i / 4096 + 1);
}
static bool holds(const char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4096)
    if (p[i] != (char)(i / 4096 + 1)) return false;
  return true;
}
static bool is_zero(const char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (p[i]) return false;
  return true;
}

HR_TEST(own_blocks_of_all_sizes_keep_their_bytes_as_they_grow_and_shrink) {
  static const size_t sizes[] = {100, 3 * MB, 5 * MB, 5 * MB + 1, 40 * MB, 7 * MB, 2 * MB, MB, 50, 2 * MB - 1, 2 * MB, 90 * MB, 4096};
  hr_alloc_set_hooks(NULL);
  char* p = NULL;
  size_t had = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    p = hr_alloc_resize(p, sizes[i]);
    HR_REQUIRE(p);
    HR_CHECK(holds(p, had < sizes[i] ? had : sizes[i]));
    HR_CHECK(HR_SANITIZED || (hr_large_bytes(p) > 0) == (sizes[i] >= LARGE_LEAST));
    fill(p, 0, sizes[i]);
    had = sizes[i];
  }
  hr_free(p);
  hr_alloc_set_hooks(&counting);
}

HR_TEST(zeroed_blocks_are_zero_when_used_again) {
  hr_alloc_set_hooks(NULL);
  for (int round = 0; round < 4; ++round) {
    char* p = hr_alloc_zero(5 * MB);
    HR_REQUIRE(p);
    HR_CHECK(is_zero(p, 5 * MB));
    memset(p, 0x55, 5 * MB);
    hr_free(p);
  }
  hr_alloc_trim();
  hr_alloc_set_hooks(&counting);
}

HR_TEST(aligned_blocks) {
  hr_alloc_set_hooks(NULL);
  for (size_t alignment = 16; alignment <= 8 * MB; alignment *= 2) {
    char *small = hr_alloc_aligned(100, alignment), *large = hr_alloc_aligned(3 * MB, alignment);
    HR_REQUIRE(small && large);
    HR_CHECK_EQ_I64((uintptr_t)small % alignment, 0);
    HR_CHECK_EQ_I64((uintptr_t)large % alignment, 0);
    fill(large, 0, 3 * MB);
    hr_free(small);
    hr_free(large);
  }
  hr_alloc_set_hooks(&counting);
}

HR_TEST(more_than_the_machine_has_is_refused) {
  struct sysinfo machine;
  HR_REQUIRE(!sysinfo(&machine));
  hr_alloc_set_hooks(NULL);
  const uint64_t all = ((uint64_t)machine.totalram + machine.totalswap) * machine.mem_unit;
  HR_CHECK(!hr_alloc(all + 1) && !hr_alloc_zero(all + 1) && !hr_alloc_aligned(2 * all, 64));
  void* p = hr_alloc(3 * MB);
  HR_CHECK(p && !hr_alloc_resize(p, all + 1));
  hr_free(p);
  hr_alloc_set_hooks(&counting);
}

HR_TEST(a_block_given_back_is_used_again) {
  bool zero;
  hr_large_trim();
  char* a = hr_large_take(6 * MB, &zero);
  HR_REQUIRE(a);
  HR_CHECK(zero);
  HR_CHECK(hr_large_give(a));
  HR_CHECK(!hr_large_give(a)); /* it is nobody's now */
  char* b = hr_large_take(5 * MB, &zero);
  HR_CHECK(b == a && !zero);
  char* c = hr_large_take(2 * MB, &zero);
  HR_CHECK(zero && c != a);
  HR_CHECK(hr_large_give(b) && hr_large_give(c));
  c = hr_large_take(2 * MB, &zero);
  HR_CHECK(!zero); /* the small one, not the far too large one */
  HR_CHECK_EQ_I64(hr_large_bytes(c), 2 * MB);
  HR_CHECK(hr_large_give(c));
  hr_large_trim();
}

/* As many as graphs have: each is found, and what is not of this kind is not. */
HR_TEST(many_blocks) {
  enum { MANY = 700 };
  static char* blocks[MANY];
  bool zero;
  uint32_t random = 3;
  for (int i = 0; i < MANY; ++i) {
    blocks[i] = hr_large_take(2 * MB + (size_t)i * 4096, &zero);
    HR_REQUIRE(blocks[i]);
    blocks[i][0] = (char)i;
  }
  for (int i = 0; i < MANY; ++i) {
    random = random * 1664525u + 1013904223u;
    const int j = (int)((random >> 8) % MANY);
    if (!blocks[j]) continue;
    HR_CHECK(blocks[j][0] == (char)j && hr_large_bytes(blocks[j]) == 2 * MB + (size_t)j * 4096);
    HR_CHECK(!hr_large_give(blocks[j] + 4096));
    HR_CHECK(hr_large_give(blocks[j]));
    blocks[j] = NULL;
  }
  for (int i = 0; i < MANY; ++i) HR_CHECK(!blocks[i] || (blocks[i][0] == (char)i && hr_large_give(blocks[i])));
  hr_large_trim();
}

HR_TEST_MAIN()
