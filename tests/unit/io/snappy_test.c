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

HR_TEST(damage_at_each_place) {
  char* out = NULL;
  size_t n = 0;
  LOST("\x00\xf0", "damaged after 0 of 0"); /* the length of a literal is missing, then the literal, */
  LOST("\x00\x00", "damaged after 0 of 0");
  LOST("\x00\x01", "damaged after 0 of 0"); /* an offset, then what it points to */
  LOST("\x00\x0a\x01\x00", "damaged after 0 of 0");
  LOST("\x04\x08" "abc\x04" "de", "damaged after 3 of 4");
  LOST("\x05\x08" "abc\x0a\x03\x00", "damaged after 3 of 5");
  LOST("\x80", "without a size");
  LOST("\x80\x80\x80\x80\x80\x00", "without a size");
  LOST("\xc0\x01\x00", "damaged after 0 of 192"); /* three bytes might hold 192, four not 320 */
  LOST("\xc0\x02\x00\x00", "snappy data of 4 bytes cannot hold 320 decoded");
  EXPECT("\x80\x00", "");
  EXPECT("\x06\x08" "abc\x08" "def", "abcdef");
  HR_CHECK_CODE(hr_snappy_decode("\x03\x08" "abc", 5, 2, &out, &n), HR_DATA_LOSS, "snappy data of 3 bytes decoded, 2 at most here");
  if (HR_CHECK_OK(hr_snappy_decode("\x03\x08" "abc", 5, 3, &out, &n))) hr_free(out);
}

/* A literal with its length in two bytes, then one copy: of `length` from `offset` bytes back, in each form that can.*/
static void far_copy(int form, size_t length, size_t offset) {
  enum { LITERAL = 1400 };
  uint8_t in[LITERAL + 16], want[LITERAL + 64];
  size_t at = 0, n = 0;
  char* out = NULL;
  for (size_t i = 0; i < LITERAL; ++i) want[i] = (uint8_t)(i * 2654435761u >> 9);
  for (size_t i = 0; i < length; ++i) want[LITERAL + i] = want[LITERAL + i - offset];
  in[at++] = (uint8_t)((LITERAL + length) & 0x7f) | 0x80;
  in[at++] = (uint8_t)((LITERAL + length) >> 7);
  in[at++] = 61 << 2;
  in[at++] = (LITERAL - 1) & 0xff;
  in[at++] = (LITERAL - 1) >> 8;
  memcpy(in + at, want, LITERAL);
  at += LITERAL;
  in[at++] = (uint8_t)(form == 1 ? (offset >> 8) << 5 | (length - 4) << 2 | 1 : (length - 1) << 2 | (unsigned)form);
  in[at++] = (uint8_t)offset;
  if (form > 1) in[at++] = (uint8_t)(offset >> 8);
  if (form > 2) in[at++] = 0;
  if (form > 2) in[at++] = 0;
  if (!HR_CHECK_OK(hr_snappy_decode(in, at, 1 << 20, &out, &n))) return;
  HR_CHECK(n == LITERAL + length && memcmp(out, want, n) == 0);
  hr_free(out);
}

HR_TEST(copies_of_every_form_and_length) {
  static const size_t offsets[] = {1, 3, 255, 256, 511, 1024, 1300, 1400};
  for (int i = 0; i < 8; ++i)
    for (size_t length = 1; length <= 64; ++length)
      for (int form = 1; form <= 3; ++form)
        if (form > 1 || (length >= 4 && length <= 11)) far_copy(form, length, offsets[i]);
}

HR_TEST_MAIN()
