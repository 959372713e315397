/* SPDX-License-Identifier: Apache-2.0 */
/* The Snappy decoder on blocks written by hand from the format's description, and on damaged ones. */
#include "io/snappy.h"
#define HR_TEST_LEAKS_CHECKED
#include "test.h"

static void expect(const char* data, size_t size, const char* want) {
  char* out = NULL;
  size_t n = 0;
  if (!HR_CHECK_OK(hr_snappy_decode(data, size, 1 << 20, &out, &n))) return;
  HR_CHECK_VIEW(((hr_str_t){out, n}), want);
  hr_free(out);
}
#define EXPECT(data, want) expect(data, sizeof(data) - 1, want)
#define LOST(data, text) HR_CHECK_CODE(hr_snappy_decode(data, sizeof(data) - 1, 1 << 20, &out, &n), HR_DATA_LOSS, text)

HR_TEST(literals_and_copies) {
  EXPECT("\x00", "");
  EXPECT("\x03\x08" "abc", "abc");
  EXPECT("\x03\xf0\x02" "abc", "abc");             /* length in one byte behind the tag */
  EXPECT("\x07\x08" "abc\x01\x03", "abcabca");      /* copy of 4, 11-bit offset 3, overlapping */
  EXPECT("\x06\x08" "abc\x0a\x03\x00", "abcabc");   /* copy of 3, 16-bit offset */
  EXPECT("\x05\x08" "abc\x07\x02\x00\x00\x00", "abcbc"); /* copy of 2, 32-bit offset */
}

HR_TEST(damage_is_data_loss) {
  char* out = NULL;
  size_t n = 0;
  LOST("", "without a size");
  LOST("\xff\xff\xff\xff\xff\xff", "without a size");
  LOST("\xff\xff\xff\x7f\x00", "at most");
  LOST("\x90\x4e\x00", "cannot hold");
  LOST("\x04\x08" "abc", "damaged after 3 of 4");
  LOST("\x02\x08" "abc", "damaged after 0 of 2");
  LOST("\x03\x08" "ab", "damaged");
  LOST("\x07\x08" "abc\x01\x04", "damaged after 3");
  LOST("\x07\x08" "abc\x01\x00", "damaged");
  LOST("\x07\x08" "abc\x0a\x03", "damaged");
  LOST("\x07\xf4\x08", "damaged");
}

HR_TEST_MAIN()
