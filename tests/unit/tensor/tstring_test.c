/* SPDX-License-Identifier: Apache-2.0 */
/* The four forms of a string element, byte by byte. */
#include "tensor/tstring.h"
#include "test.h"

HR_TEST(every_length_around_the_forms) {
  char text[200];
  hr_tstring_t s = {{0}};
  for (int i = 0; i < 200; ++i) text[i] = (char)('a' + i % 26);
  for (size_t size = 0; size < 200; size += size < 60 ? 1 : 17) {
    HR_CHECK_OK(hr_tstring_set(&s, (hr_str_t){text, size}));
    hr_str_t got = hr_tstring_get(&s);
    HR_CHECK(hr_str_equal(got, (hr_str_t){text, size}) && got.data[size] == 0);
    HR_CHECK_EQ_I64(s.small[0] & 3, size > 22);
  }
  HR_CHECK_OK(hr_tstring_set(&s, hr_str_slice(hr_tstring_get(&s), 3, 150))); /* from itself */
  HR_CHECK(hr_str_equal(hr_tstring_get(&s), (hr_str_t){text + 3, 147}));
  HR_CHECK_OK(hr_tstring_set(&s, hr_str_slice(hr_tstring_get(&s), 1, 6)));
  HR_CHECK_VIEW(hr_tstring_get(&s), "efghi");
  HR_CHECK_OK(hr_tstring_set(&s, hr_str_slice(hr_tstring_get(&s), 1, 4)));
  HR_CHECK_VIEW(hr_tstring_get(&s), "fgh");
  hr_tstring_clear(&s);
  HR_CHECK_EQ_I64(hr_tstring_get(&s).size, 0);
}

HR_TEST(offset_and_view) {
  struct { hr_tstring_t s; char text[8]; } o = {{{0}}, "offset"};
  o.s.offset.size = 6 << 2 | 2;
  o.s.offset.offset = sizeof o.s;
  o.s.offset.count = 1;
  HR_CHECK_VIEW(hr_tstring_get(&o.s), "offset");
  hr_tstring_clear(&o.s);
  hr_tstring_t v = {{0}};
  v.view.size = 4 << 2 | 3;
  v.view.data = "viewed";
  HR_CHECK_VIEW(hr_tstring_get(&v), "view");
  HR_CHECK_OK(hr_tstring_set(&v, HR_STR("own")));
  HR_CHECK_VIEW(hr_tstring_get(&v), "own");
}

HR_TEST(failure_keeps_the_old_text) {
  hr_tstring_t s = {{0}};
  HR_CHECK_OK(hr_tstring_set(&s, HR_STR("old")));
  hr_alloc_fail_at(1, false);
  HR_CHECK_CODE(hr_tstring_set(&s, HR_STR("a new text of more than twenty-two bytes")), HR_RESOURCE_EXHAUSTED, "");
  hr_alloc_fail_at(0, false);
  HR_CHECK_VIEW(hr_tstring_get(&s), "old");
  HR_CHECK_CODE(hr_tstring_set(&s, (hr_str_t){"", SIZE_MAX}), HR_RESOURCE_EXHAUSTED, "");
}

/* Clients that append in place (TF_TString_Append) rely on the capacity: the block, rounded up to 16 bytes, less its final NUL. */
HR_TEST(capacity_of_large_texts) {
  static const struct { size_t size, capacity; } rows[] = {{23, 31}, {31, 31}, {32, 47}, {47, 47}, {48, 63}, {63, 63}, {64, 79}};
  char text[64];
  memset(text, 'x', sizeof text);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hr_tstring_t s = {{0}};
    HR_CHECK_OK(hr_tstring_set(&s, (hr_str_t){text, rows[i].size}));
    HR_CHECK_EQ_I64(s.large.capacity, rows[i].capacity);
    s.large.data[s.large.capacity] = 0; /* the last byte is there */
    hr_tstring_clear(&s);
  }
}

HR_TEST_MAIN()
