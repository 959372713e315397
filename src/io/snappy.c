/* SPDX-License-Identifier: Apache-2.0 */
/* The Snappy decoder, written from the format's description: tag byte, low two bits choose literal (0) or a copy with an 11-, 16- or
 * 32-bit offset. Every read is checked against the input's end and every write against the decoded size. A copy may overlap
 * what it writes (offset below length): byte by byte it repeats a pattern. */
#include "io/snappy.h"
#include "base/alloc.h"

typedef struct {
  const uint8_t* in;
  const uint8_t* end;
  char* out;
  size_t at, size; /* written, decoded size */
} snappy_state_t;

static bool snappy_little_endian(snappy_state_t* s, int bytes, size_t* out) {
  if (s->end - s->in < bytes) return false;
  *out = 0;
  for (int i = 0; i < bytes; ++i) *out |= (size_t)*s->in++ << (8 * i);
  return true;
}

static bool snappy_literal(snappy_state_t* s, unsigned tag) {
  size_t n = tag >> 2;
  if (n >= 60 && !snappy_little_endian(s, (int)n - 59, &n)) return false;
  n += 1;
  if (n > (size_t)(s->end - s->in) || n > s->size - s->at) return false;
  memcpy(s->out + s->at, s->in, n);
  s->in += n;
  s->at += n;
  return true;
}

static bool snappy_copy(snappy_state_t* s, unsigned tag) {
  size_t n = (tag >> 2) + 1, offset;
  if (!snappy_little_endian(s, (tag & 3) == 3 ? 4 : (int)(tag & 3), &offset)) return false;
  if ((tag & 3) == 1) {
    n = (tag >> 2 & 7) + 4;
    offset |= (size_t)(tag >> 5) << 8;
  }
  if (offset == 0 || offset > s->at || n > s->size - s->at) return false;
  for (; n > 0; --n, ++s->at) s->out[s->at] = s->out[s->at - offset];
  return true;
}

static bool snappy_size(snappy_state_t* s) {
  for (int shift = 0; shift < 35 && s->in < s->end; shift += 7) {
    uint8_t b = *s->in++;
    s->size |= (size_t)(b & 0x7f) << shift;
    if (b < 0x80) return true;
  }
  return false;
}

hr_status_t hr_snappy_decode(const void* data, size_t size, size_t limit, char** out, size_t* out_size) {
  snappy_state_t s = {data, (const uint8_t*)data + size, NULL, 0, 0};
  if (size == 0 || !snappy_size(&s)) return HR_ERROR(DATA_LOSS, "snappy data without a size");
  if (s.size > limit) return HR_ERROR(DATA_LOSS, "snappy data of %zu bytes decoded, %zu at most here", s.size, limit);
  /* 64 bytes from a 2-byte copy at best */
  if (s.size / 64 > size) return HR_ERROR(DATA_LOSS, "snappy data of %zu bytes cannot hold %zu decoded", size, s.size);
  s.out = hr_alloc(s.size ? s.size : 1);
  if (!s.out) return hr_status_out_of_memory();
  bool good = true;
  while (good && s.in < s.end) {
    unsigned tag = *s.in++;
    good = (tag & 3) == 0 ? snappy_literal(&s, tag) : snappy_copy(&s, tag);
  }
  if (!good || s.at != s.size) {
    hr_free(s.out);
    return HR_ERROR(DATA_LOSS, "snappy data is damaged after %zu of %zu bytes", s.at, s.size);
  }
  *out = s.out;
  *out_size = s.size;
  return NULL;
}
