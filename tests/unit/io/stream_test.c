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

HR_TEST_MAIN()
