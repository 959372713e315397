/* SPDX-License-Identifier: Apache-2.0 */
/* Philox against the known answers of its authors' library; skipping. */
#include "base/rng.h"
#include "test.h"

static void check_words(const uint32_t a[4], uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  HR_CHECK_EQ_U64(a[0], w0);
  HR_CHECK_EQ_U64(a[1], w1);
  HR_CHECK_EQ_U64(a[2], w2);
  HR_CHECK_EQ_U64(a[3], w3);
}

HR_TEST(known_answers) {
  uint32_t out[4];
  hr_rng_t r;
  hr_rng_init(&r, 0, 0);
  hr_rng_next(&r, out);
  check_words(out, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  r = (hr_rng_t){{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}};
  hr_rng_next(&r, out);
  check_words(out, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  check_words(r.counter, 0, 0, 0, 0);
  r = (hr_rng_t){{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}};
  hr_rng_next(&r, out);
  check_words(out, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

HR_TEST(seeds_go_where_tensorflow_puts_them) {
  hr_rng_t r;
  hr_rng_init(&r, UINT64_C(0x1122334455667788), UINT64_C(0x99aabbccddeeff00));
  check_words(r.counter, 0, 0, 0xddeeff00, 0x99aabbcc);
  HR_CHECK(r.key[0] == 0x55667788 && r.key[1] == 0x11223344);
}

HR_TEST(skip_equals_so_many_calls) {
  hr_rng_t a, b;
  uint32_t x[4], y[4];
  hr_rng_init(&a, 3, 4);
  hr_rng_init(&b, 3, 4);
  for (int i = 0; i < 1000; ++i) hr_rng_next(&a, x);
  hr_rng_skip(&b, 999);
  hr_rng_next(&b, y);
  check_words(y, x[0], x[1], x[2], x[3]);
  b = (hr_rng_t){{0xffffffff, 0xffffffff, 0xffffffff, 7}, {0, 0}};
  hr_rng_skip(&b, 1);
  check_words(b.counter, 0, 0, 0, 8);
  hr_rng_skip(&b, UINT64_MAX);
  check_words(b.counter, 0xffffffff, 0xffffffff, 0, 8);
}

HR_TEST(system_seeds_differ) { HR_CHECK(hr_rng_system_seed() != hr_rng_system_seed()); }

HR_TEST_MAIN()
