/* SPDX-License-Identifier: Apache-2.0 */
/* A window of raw bytes over the file, and zlib over the window. Reads larger than the window go straight into the caller's memory. */
#include "io/stream.h"
#include <limits.h>
#include <zlib.h>
#include "base/alloc.h"
#include "base/file.h"

enum { STREAM_WINDOW = 256 * 1024 };

struct hr_stream {
  hr_file_t* file;      /* NULL: memory */
  char* name;
  char* window;         /* of a file; NULL for memory */
  const char* at;       /* raw bytes not used yet */
  size_t left;
  uint64_t raw_offset;  /* of the byte behind the window */
  uint64_t given;
  hr_stream_coding_t coding;
  z_stream z;
  bool z_is_live, z_is_done;
};

bool hr_stream_parse_coding(hr_str_t name, hr_stream_coding_t* out) {
  static const struct { const char* name; hr_stream_coding_t coding; } rows[] = {
    {"", HR_STREAM_PLAIN}, {"NONE", HR_STREAM_PLAIN}, {"ZLIB", HR_STREAM_ZLIB}, {"GZIP", HR_STREAM_GZIP}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (hr_str_is(name, rows[i].name)) {
      *out = rows[i].coding;
      return true;
    }
  return false;
}

static hr_status_t stream_start_inflate(hr_stream_t* s) {
  if (s->coding == HR_STREAM_PLAIN) return NULL;
  if (inflateInit2(&s->z, s->coding == HR_STREAM_GZIP ? MAX_WBITS + 16 : MAX_WBITS) != Z_OK) return hr_status_out_of_memory();
  s->z_is_live = true;
  return NULL;
}

static hr_status_t stream_create(const char* name, hr_stream_coding_t coding, hr_stream_t** out) {
  hr_stream_t* s = hr_alloc_zero(sizeof *s);
  if (!s) return hr_status_out_of_memory();
  s->coding = coding;
  s->at = ""; /* never NULL: empty windows take part in pointer sums */
  s->name = hr_alloc_copy(name, strlen(name));
  hr_status_t status = s->name ? stream_start_inflate(s) : hr_status_out_of_memory();
  if (status) hr_stream_close(s);
  else *out = s;
  return status;
}

hr_status_t hr_stream_open(const char* path, hr_stream_coding_t coding, hr_stream_t** out) {
  hr_stream_t* s = NULL;
  HR_TRY(stream_create(path, coding, &s));
  hr_status_t status = NULL;
  s->window = hr_alloc(STREAM_WINDOW);
  status = s->window ? hr_file_open(path, &s->file) : hr_status_out_of_memory();
  if (status) hr_stream_close(s);
  else *out = s;
  return status;
}

hr_status_t hr_stream_open_memory(const void* data, size_t size, hr_stream_coding_t coding, hr_stream_t** out) {
  HR_TRY(stream_create("memory", coding, out));
  (*out)->at = size ? data : "";
  (*out)->left = size;
  (*out)->raw_offset = size;
  return NULL;
}

void hr_stream_close(hr_stream_t* s) {
  if (!s) return;
  if (s->z_is_live) inflateEnd(&s->z);
  hr_status_release(hr_file_close(s->file)); /* opened to read: closing cannot lose data */
  hr_free(s->window);
  hr_free(s->name);
  hr_free(s);
}

/* How many raw bytes the file still has behind the window. */
static size_t stream_file_left(const hr_stream_t* s) {
  uint64_t size = s->file ? hr_file_size(s->file) : s->raw_offset;
  return size > s->raw_offset ? (size_t)(size - s->raw_offset) : 0;
}

static hr_status_t stream_fill(hr_stream_t* s) {
  size_t n = stream_file_left(s);
  if (n == 0) return NULL;
  if (n > STREAM_WINDOW) n = STREAM_WINDOW;
  HR_TRY(hr_file_read_at(s->file, s->raw_offset, s->window, n));
  s->raw_offset += n;
  s->at = s->window;
  s->left = n;
  return NULL;
}

static hr_status_t stream_read_plain(hr_stream_t* s, char* out, size_t size, size_t* got) {
  while (size > 0) {
    if (s->left == 0 && size >= STREAM_WINDOW && stream_file_left(s) > 0) {
      size_t n = stream_file_left(s);
      if (n > size) n = size;
      HR_TRY(hr_file_read_at(s->file, s->raw_offset, out, n));
      s->raw_offset += n;
      *got += n;
      return NULL;
    }
    if (s->left == 0) HR_TRY(stream_fill(s));
    if (s->left == 0) return NULL;
    size_t n = size < s->left ? size : s->left;
    memcpy(out, s->at, n);
    s->at += n;
    s->left -= n;
    out += n;
    size -= n;
    *got += n;
  }
  return NULL;
}

/* One call of inflate; *out_stuck when the input has ended. */
static hr_status_t stream_inflate(hr_stream_t* s, char* out, size_t size, size_t* got, bool* out_stuck) {
  if (s->left == 0) HR_TRY(stream_fill(s));
  if (s->z_is_done) { /* behind a member: another one, or the end */
    if (s->left == 0) {
      *out_stuck = true;
      return NULL;
    }
    if (inflateReset(&s->z) != Z_OK) return HR_ERROR(INTERNAL, "%s: zlib cannot start again", s->name);
    s->z_is_done = false;
  }
  uInt in = s->left > UINT_MAX ? UINT_MAX : (uInt)s->left, room = size > UINT_MAX ? UINT_MAX : (uInt)size;
  s->z.next_in = (Bytef*)(uintptr_t)s->at;
  s->z.avail_in = in;
  s->z.next_out = (Bytef*)out;
  s->z.avail_out = room;
  int result = inflate(&s->z, Z_NO_FLUSH);
  s->at += in - s->z.avail_in;
  s->left -= in - s->z.avail_in;
  *got = room - s->z.avail_out;
  if (result == Z_STREAM_END) s->z_is_done = true;
  else if (result == Z_MEM_ERROR) return hr_status_out_of_memory();
  else if (result == Z_BUF_ERROR && in == 0)
    return HR_ERROR(DATA_LOSS, "%s: compressed data ends early, after %llu bytes", s->name, (unsigned long long)s->given);
  else if (result != Z_OK && result != Z_BUF_ERROR)
    return HR_ERROR(DATA_LOSS, "%s: compressed data is damaged near byte %llu: %s", s->name, (unsigned long long)(s->raw_offset - s->left),
                    s->z.msg ? s->z.msg : "zlib gives no reason");
  return NULL;
}

hr_status_t hr_stream_read(hr_stream_t* s, void* out, size_t size, size_t* out_got) {
  hr_status_t status = NULL;
  bool is_stuck = false;
  *out_got = 0;
  if (s->coding == HR_STREAM_PLAIN) status = stream_read_plain(s, out, size, out_got);
  while (s->coding != HR_STREAM_PLAIN && !status && !is_stuck && *out_got < size) {
    size_t n = 0;
    status = stream_inflate(s, (char*)out + *out_got, size - *out_got, &n, &is_stuck);
    *out_got += n;
  }
  s->given += *out_got;
  return status;
}

uint64_t hr_stream_offset(const hr_stream_t* s) { return s->given; }
const char* hr_stream_name(const hr_stream_t* s) { return s->name; }

hr_status_t hr_stream_seek(hr_stream_t* s, uint64_t offset) {
  if (s->coding != HR_STREAM_PLAIN) return HR_ERROR(UNIMPLEMENTED, "%s: seeking in compressed data", s->name);
  uint64_t window_start = s->given, window_end = s->given + s->left; /* in plain data both count the same bytes */
  if (offset >= window_start && offset <= window_end) {
    s->at += offset - window_start;
    s->left -= (size_t)(offset - window_start);
  } else if (!s->file && offset < window_start) {
    s->at -= window_start - offset;
    s->left += (size_t)(window_start - offset);
  } else {
    if (!s->file) return HR_ERROR(OUT_OF_RANGE, "%s: no byte %llu to seek to", s->name, (unsigned long long)offset);
    s->left = 0;
    s->raw_offset = offset;
  }
  s->given = offset;
  return NULL;
}
