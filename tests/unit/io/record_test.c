/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord files: golden ones, our own in each coding, and damaged ones. */
#include "io/record.h"
#define HR_TEST_LEAKS_CHECKED
#include "base/file.h"
#include "temp.h"
#include "test.h"

static hr_status_t open_memory(const char* data, size_t size, hr_stream_coding_t coding, hr_record_reader_t** out) {
  hr_stream_t* stream = NULL;
  HR_TRY(hr_stream_open_memory(data, size, coding, &stream));
  return hr_record_reader_open_stream(stream, out);
}

HR_TEST(reads_the_golden_file) {
  hr_record_reader_t* r = NULL;
  hr_str_t s;
  HR_REQUIRE_OK(hr_record_reader_open(GOLDEN "records.tfrecord", HR_STREAM_PLAIN, &r));
  if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK_EQ_I64(s.size, 0);
  if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK_VIEW(s, "short");
  uint64_t third = hr_record_reader_offset(r);
  HR_CHECK_EQ_I64(third, 16 + 16 + 5);
  if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK(s.size == 3000 && s.data[2999] == 'x');
  if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK(s.size > 20);
  HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_OUT_OF_RANGE, "end of file at byte 3128");
  HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_OUT_OF_RANGE, "end of file");
  HR_CHECK_OK(hr_record_reader_seek(r, third));
  if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK_EQ_I64(s.size, 3000);
  hr_record_reader_close(r);
}

HR_TEST(reads_the_golden_compressed_files) {
  static const struct { const char* path; hr_stream_coding_t coding; } rows[] = {
    {GOLDEN "records_gzip.tfrecord", HR_STREAM_GZIP}, {GOLDEN "records_zlib.tfrecord", HR_STREAM_ZLIB}};
  for (int i = 0; i < 2; ++i) {
    hr_record_reader_t* r = NULL;
    hr_str_t s;
    HR_REQUIRE_OK(hr_record_reader_open(rows[i].path, rows[i].coding, &r));
    for (int n = 0; n < 4; ++n) {
      if (!HR_CHECK_OK(hr_record_reader_next(r, &s))) break;
      if (n == 1) HR_CHECK_VIEW(s, "short");
      if (n == 2) HR_CHECK_EQ_I64(s.size, 3000);
    }
    HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_OUT_OF_RANGE, "end of file");
    HR_CHECK_CODE(hr_record_reader_seek(r, 0), HR_UNIMPLEMENTED, "compressed");
    hr_record_reader_close(r);
  }
}

HR_TEST(what_is_written_is_read) {
  for (int coding = 0; coding < 3; ++coding) {
    hr_record_writer_t* w = NULL;
    hr_record_reader_t* r = NULL;
    hr_str_t s;
    const char* path = temp_path("records");
    char* big = hr_alloc_zero(3 << 20);
    for (size_t i = 0; i < 3 << 20; ++i) big[i] = (char)(i * 2654435761u >> 13);
    HR_REQUIRE_OK(hr_record_writer_create(path, (hr_stream_coding_t)coding, &w));
    HR_CHECK_OK(hr_record_writer_add(w, HR_STR("first")));
    HR_CHECK_OK(hr_record_writer_flush(w));
    HR_CHECK_OK(hr_record_writer_add(w, (hr_str_t){big, 3 << 20}));
    HR_CHECK_OK(hr_record_writer_add(w, HR_STR("")));
    HR_CHECK_OK(hr_record_writer_close(w));
    HR_REQUIRE_OK(hr_record_reader_open(path, (hr_stream_coding_t)coding, &r));
    if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK_VIEW(s, "first");
    if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK(s.size == 3 << 20 && memcmp(s.data, big, s.size) == 0);
    if (HR_CHECK_OK(hr_record_reader_next(r, &s))) HR_CHECK_EQ_I64(s.size, 0);
    HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_OUT_OF_RANGE, "end of file");
    hr_record_reader_close(r);
    hr_free(big);
  }
}

HR_TEST(gzip_members_in_a_row_are_one_stream) {
  char *data = NULL, *twice;
  size_t size = 0;
  hr_record_reader_t* r = NULL;
  hr_str_t s;
  HR_REQUIRE_OK(hr_file_read(GOLDEN "records_gzip.tfrecord", &data, &size));
  twice = hr_alloc(size * 2);
  memcpy(twice, data, size);
  memcpy(twice + size, data, size);
  HR_CHECK_OK(open_memory(twice, size * 2, HR_STREAM_GZIP, &r));
  for (int i = 0; i < 8; ++i) HR_CHECK_OK(hr_record_reader_next(r, &s));
  HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_OUT_OF_RANGE, "end of file");
  hr_record_reader_close(r);
  hr_free(twice);
  hr_free(data);
}

HR_TEST(every_truncation_is_data_loss) {
  char* data = NULL;
  size_t size = 0;
  HR_REQUIRE_OK(hr_file_read(GOLDEN "records.tfrecord", &data, &size));
  for (size_t n = 0; n < 60; ++n) {
    hr_record_reader_t* r = NULL;
    hr_str_t s;
    hr_status_t status = NULL;
    HR_CHECK_OK(open_memory(data, n, HR_STREAM_PLAIN, &r));
    while (!status) status = hr_record_reader_next(r, &s);
    bool clean = n == 0 || n == 16 || n == 37;
    HR_CHECK_CODE(status, clean ? HR_OUT_OF_RANGE : HR_DATA_LOSS,
                  clean ? "end of file" : n < 16 ? "record at byte 0 is truncated" : "is truncated");
    hr_record_reader_close(r);
  }
  hr_free(data);
}

HR_TEST(every_flipped_bit_is_found) {
  char* data = NULL;
  size_t size = 0;
  HR_REQUIRE_OK(hr_file_read(GOLDEN "records.tfrecord", &data, &size));
  for (size_t bit = 16 * 8; bit < 37 * 8; ++bit) {
    hr_record_reader_t* r = NULL;
    hr_str_t s;
    data[bit / 8] ^= (char)(1 << (bit % 8));
    HR_CHECK_OK(open_memory(data, size, HR_STREAM_PLAIN, &r));
    HR_CHECK_OK(hr_record_reader_next(r, &s));
    HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_DATA_LOSS, "record at byte 16 has");
    hr_record_reader_close(r);
    data[bit / 8] ^= (char)(1 << (bit % 8));
  }
  hr_free(data);
}

HR_TEST(a_huge_length_with_a_good_checksum_takes_no_memory) {
  hr_record_reader_t* r = NULL;
  hr_str_t s;
  static const unsigned char header[8] = {0, 0, 0, 0, 0, 0, 0, 0x10}; /* 2^60 */
  char bytes[12];
  memcpy(bytes, header, 8);
  hr_record_writer_t* w = NULL;
  HR_CHECK_OK(hr_record_writer_create(temp_path("crc"), HR_STREAM_PLAIN, &w)); /* its record's checksum is that of the 8 bytes */
  HR_CHECK_OK(hr_record_writer_add(w, (hr_str_t){(const char*)header, 8}));
  HR_CHECK_OK(hr_record_writer_close(w));
  char* file = NULL;
  size_t size = 0;
  HR_REQUIRE_OK(hr_file_read(temp_path("crc"), &file, &size));
  memcpy(bytes + 8, file + size - 4, 4);
  hr_free(file);
  HR_CHECK_OK(open_memory(bytes, 12, HR_STREAM_PLAIN, &r));
  HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_DATA_LOSS, "is truncated");
  hr_record_reader_close(r);
}

HR_TEST(damaged_compression_is_data_loss) {
  char* data = NULL;
  size_t size = 0;
  hr_record_reader_t* r = NULL;
  hr_str_t s;
  hr_status_t status = NULL;
  HR_REQUIRE_OK(hr_file_read(GOLDEN "records_zlib.tfrecord", &data, &size));
  HR_CHECK_OK(open_memory(data, size - 20, HR_STREAM_ZLIB, &r));
  while (!status) status = hr_record_reader_next(r, &s);
  HR_CHECK_CODE(status, HR_DATA_LOSS, "compressed data ends early");
  hr_record_reader_close(r);
  HR_CHECK_OK(open_memory(data, size, HR_STREAM_GZIP, &r));
  HR_CHECK_CODE(hr_record_reader_next(r, &s), HR_DATA_LOSS, "damaged near byte");
  hr_record_reader_close(r);
  hr_free(data);
}

HR_TEST(a_missing_file_is_not_found) {
  hr_record_reader_t* r = NULL;
  HR_CHECK_CODE(hr_record_reader_open(temp_path("none"), HR_STREAM_PLAIN, &r), HR_NOT_FOUND, "none");
}

HR_TEST_MAIN()
