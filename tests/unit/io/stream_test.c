/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: names of codings, reads across the window, seeking. */
#include "io/stream.h"
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "temp.h"
#include "test.h"

HR_TEST(names_of_codings) {
  hr_stream_coding_t c;
  HR_CHECK(hr_stream_parse_coding(HR_STR(""), &c) && c == HR_STREAM_PLAIN);
  HR_CHECK(hr_stream_parse_coding(HR_STR("GZIP"), &c) && c == HR_STREAM_GZIP);
  HR_CHECK(hr_stream_parse_coding(HR_STR("ZLIB"), &c) && c == HR_STREAM_ZLIB);
  HR_CHECK(!hr_stream_parse_coding(HR_STR("LZ"), &c));
}

HR_TEST(reads_and_seeks_anywhere) {
  enum { SIZE = 1000000 };
  hr_stream_t* s = NULL;
  char *data = hr_alloc(SIZE), *got = hr_alloc(SIZE);
  for (size_t i = 0; i < SIZE; ++i) data[i] = (char)(i * 2654435761u >> 11);
  HR_CHECK_OK(hr_file_replace(temp_path("big"), data, SIZE));
  HR_REQUIRE_OK(hr_stream_open(temp_path("big"), HR_STREAM_PLAIN, &s));
  static const struct { uint64_t at; size_t size; } rows[] = {{0, 10}, {10, 300000}, {300010, 5}, {5, 700000}, {999999, 1}, {0, SIZE},
                                                              {262143, 2}, {100, 262144}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    size_t n = 0;
    HR_CHECK_OK(hr_stream_seek(s, rows[i].at));
    HR_CHECK_OK(hr_stream_read(s, got, rows[i].size, &n));
    HR_CHECK_EQ_I64(n, rows[i].size);
    HR_CHECK(memcmp(got, data + rows[i].at, n) == 0);
    HR_CHECK_EQ_I64(hr_stream_offset(s), rows[i].at + n);
  }
  size_t n = 1;
  HR_CHECK_OK(hr_stream_seek(s, SIZE));
  HR_CHECK_OK(hr_stream_read(s, got, 5, &n));
  HR_CHECK_EQ_I64(n, 0);
  hr_stream_close(s);
  hr_free(data);
  hr_free(got);
}

HR_TEST(memory_streams_seek_both_ways) {
  hr_stream_t* s = NULL;
  char got[4] = {0};
  size_t n = 0;
  HR_REQUIRE_OK(hr_stream_open_memory("abcdef", 6, HR_STREAM_PLAIN, &s));
  HR_CHECK_OK(hr_stream_seek(s, 4));
  HR_CHECK_OK(hr_stream_read(s, got, 3, &n));
  HR_CHECK_EQ_I64(n, 2);
  HR_CHECK_OK(hr_stream_seek(s, 1));
  HR_CHECK_OK(hr_stream_read(s, got, 3, &n));
  HR_CHECK_STR(got, "bcd");
  HR_CHECK_CODE(hr_stream_seek(s, 7), HR_OUT_OF_RANGE, "no byte 7");
  hr_stream_close(s);
}

/* All of the input is taken long before its last byte is given out; what is cut off is missed only where it was to begin. */
HR_TEST(much_comes_of_little) {
  enum { SIZE = 100000, PIECE = 7000 };
  static const uint8_t zeros[] = { /* zlib's, of SIZE zeros */
      120, 218, 237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 13, 15, 160, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 87, 3, 134, 175, 0, 1};
  for (size_t cut = 0; cut < 5; cut += 4) { /* 4: without the checksum */
    hr_stream_t* s = NULL;
    static char got[PIECE];
    uint64_t all = 0;
    size_t n = 1;
    hr_status_t status = NULL;
    HR_REQUIRE_OK(hr_stream_open_memory(zeros, sizeof zeros - cut, HR_STREAM_ZLIB, &s));
    while (n && !status) {
      status = hr_stream_read(s, got, PIECE, &n);
      for (size_t i = 0; i < n; ++i) HR_CHECK(got[i] == 0);
      all += n;
    }
    HR_CHECK_EQ_I64(all, SIZE);
    HR_CHECK_EQ_I64(hr_stream_offset(s), SIZE);
    if (cut) HR_CHECK_CODE(status, HR_DATA_LOSS, "ends early, after");
    else HR_CHECK_OK(status);
    hr_stream_close(s);
  }
}

HR_TEST_MAIN()
