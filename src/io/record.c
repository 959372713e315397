/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord framing over a stream (reading) and over a file through zlib (writing). */
#include "io/record.h"
#include <limits.h>
#include <zlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"

enum { RECORD_HEADER = 12, RECORD_FOOTER = 4, RECORD_STEP = 1 << 20, RECORD_OUT = 64 * 1024 };

struct hr_record_reader {
  hr_stream_t* stream;
  char* data;
  size_t capacity;
};

struct hr_record_writer {
  hr_file_t* file;
  hr_stream_coding_t coding;
  z_stream z;
  bool z_is_live;
  unsigned char out[RECORD_OUT];
};

static uint32_t record_get32(const void* p) {
  const uint8_t* b = p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void record_put32(void* p, uint32_t v) {
  uint8_t* b = p;
  for (int i = 0; i < 4; ++i) b[i] = (uint8_t)(v >> (8 * i));
}

/* --- reading ------------------------------------------------------------------------------------------------------------------ */
hr_status_t hr_record_reader_open_stream(hr_stream_t* take_stream, hr_record_reader_t** out) {
  hr_record_reader_t* r = hr_alloc_zero(sizeof *r);
  if (!r) {
    hr_stream_close(take_stream);
    return hr_status_out_of_memory();
  }
  r->stream = take_stream;
  *out = r;
  return NULL;
}

hr_status_t hr_record_reader_open(const char* path, hr_stream_coding_t coding, hr_record_reader_t** out) {
  hr_stream_t* stream = NULL;
  HR_TRY(hr_stream_open(path, coding, &stream));
  return hr_record_reader_open_stream(stream, out);
}

void hr_record_reader_close(hr_record_reader_t* r) {
  if (!r) return;
  hr_stream_close(r->stream);
  hr_free(r->data);
  hr_free(r);
}

uint64_t hr_record_reader_offset(const hr_record_reader_t* r) { return hr_stream_offset(r->stream); }
hr_status_t hr_record_reader_seek(hr_record_reader_t* r, uint64_t offset) { return hr_stream_seek(r->stream, offset); }

static hr_status_t record_lost(const hr_record_reader_t* r, uint64_t offset, const char* what) {
  return HR_ERROR(DATA_LOSS, "%s: record at byte %llu %s", hr_stream_name(r->stream), (unsigned long long)offset, what);
}

static hr_status_t record_grow(hr_record_reader_t* r, size_t need) {
  if (need <= r->capacity) return NULL;
  char* data = hr_alloc_resize(r->data, need);
  if (!data) return hr_status_out_of_memory();
  r->data = data;
  r->capacity = need;
  return NULL;
}

/* The body and its checksum, in steps that double, so that memory follows the bytes that are really there. */
static hr_status_t record_read_body(hr_record_reader_t* r, size_t want, uint64_t offset) {
  size_t have = 0;
  for (size_t step = RECORD_STEP; have < want; step *= 2) {
    size_t n = want - have < step ? want - have : step, got = 0;
    HR_TRY(record_grow(r, have + n));
    HR_TRY(hr_stream_read(r->stream, r->data + have, n, &got));
    if (got < n) return record_lost(r, offset, "is truncated");
    have += n;
  }
  return NULL;
}

hr_status_t hr_record_reader_next(hr_record_reader_t* r, hr_str_t* out) {
  uint8_t header[RECORD_HEADER];
  size_t got = 0;
  uint64_t offset = hr_stream_offset(r->stream);
  HR_TRY(hr_stream_read(r->stream, header, sizeof header, &got));
  if (got == 0) return HR_ERROR(OUT_OF_RANGE, "%s: end of file at byte %llu", hr_stream_name(r->stream), (unsigned long long)offset);
  if (got < sizeof header) return record_lost(r, offset, "is truncated");
  if (hr_hash_crc32c_mask(hr_hash_crc32c(0, header, 8)) != record_get32(header + 8))
    return record_lost(r, offset, "has a length with a wrong checksum");
  uint64_t size = (uint64_t)record_get32(header + 4) << 32 | record_get32(header);
  if (size > SIZE_MAX / 2 - RECORD_FOOTER) return record_lost(r, offset, "is longer than memory");
  HR_TRY(record_read_body(r, (size_t)size + RECORD_FOOTER, offset));
  if (hr_hash_crc32c_mask(hr_hash_crc32c(0, r->data, (size_t)size)) != record_get32(r->data + size))
    return record_lost(r, offset, "has a wrong checksum");
  *out = (hr_str_t){r->data, (size_t)size};
  return NULL;
}

/* --- writing ------------------------------------------------------------------------------------------------------------------ */
hr_status_t hr_record_writer_create(const char* path, hr_stream_coding_t coding, hr_record_writer_t** out) {
  hr_record_writer_t* w = hr_alloc_zero(sizeof *w);
  if (!w) return hr_status_out_of_memory();
  w->coding = coding;
  hr_status_t status = NULL;
  int bits = coding == HR_STREAM_GZIP ? MAX_WBITS + 16 : MAX_WBITS;
  if (coding != HR_STREAM_PLAIN) {
    w->z_is_live = deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 9, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!w->z_is_live) status = hr_status_out_of_memory();
  }
  if (!status) status = hr_file_create(path, &w->file);
  if (status) {
    if (w->z_is_live) deflateEnd(&w->z);
    hr_free(w);
  } else {
    *out = w;
  }
  return status;
}

static hr_status_t record_deflate(hr_record_writer_t* w, const void* data, size_t size, int flush) {
  const unsigned char* p = data ? data : (const void*)"";
  do {
    uInt n = size > UINT_MAX ? UINT_MAX : (uInt)size;
    w->z.next_in = (Bytef*)(uintptr_t)p;
    w->z.avail_in = n;
    do {
      w->z.next_out = w->out;
      w->z.avail_out = RECORD_OUT;
      if (deflate(&w->z, size > n ? Z_NO_FLUSH : flush) == Z_STREAM_ERROR) return HR_ERROR(INTERNAL, "zlib cannot go on");
      HR_TRY(hr_file_write(w->file, w->out, RECORD_OUT - w->z.avail_out));
    } while (w->z.avail_out == 0);
    p += n;
    size -= n;
  } while (size > 0);
  return NULL;
}

static hr_status_t record_put(hr_record_writer_t* w, const void* data, size_t size) {
  return w->coding == HR_STREAM_PLAIN ? hr_file_write(w->file, data, size) : record_deflate(w, data, size, Z_NO_FLUSH);
}

hr_status_t hr_record_writer_add(hr_record_writer_t* w, hr_str_t data) {
  uint8_t header[RECORD_HEADER], footer[RECORD_FOOTER];
  record_put32(header, (uint32_t)data.size);
  record_put32(header + 4, (uint32_t)((uint64_t)data.size >> 32));
  record_put32(header + 8, hr_hash_crc32c_mask(hr_hash_crc32c(0, header, 8)));
  record_put32(footer, hr_hash_crc32c_mask(hr_hash_crc32c(0, data.data, data.size)));
  HR_TRY(record_put(w, header, sizeof header));
  if (data.size) HR_TRY(record_put(w, data.data, data.size));
  return record_put(w, footer, sizeof footer);
}

hr_status_t hr_record_writer_flush(hr_record_writer_t* w) {
  if (w->coding != HR_STREAM_PLAIN) HR_TRY(record_deflate(w, NULL, 0, Z_SYNC_FLUSH));
  return hr_file_flush(w->file);
}

hr_status_t hr_record_writer_close(hr_record_writer_t* take_w) {
  if (!take_w) return NULL;
  hr_status_t status = take_w->coding == HR_STREAM_PLAIN ? NULL : record_deflate(take_w, NULL, 0, Z_FINISH);
  hr_status_merge(&status, hr_file_close(take_w->file));
  if (take_w->z_is_live) deflateEnd(&take_w->z);
  hr_free(take_w);
  return status;
}
