/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf writer: fields straight into the buffer; lengths of nested messages are patched when their body is known. */
#include "wire/writer.h"

static int writer_put_varint(uint8_t out[10], uint64_t v) {
  int n = 0;
  for (; v >= 0x80; v >>= 7) out[n++] = (uint8_t)(v | 0x80);
  out[n++] = (uint8_t)v;
  return n;
}

void hr_writer_varint(hr_writer_t* w, uint64_t v) {
  uint8_t bytes[10];
  hr_strbuf_add(w, bytes, (size_t)writer_put_varint(bytes, v));
}

void hr_writer_tag(hr_writer_t* w, uint32_t number, int wire_type) { hr_writer_varint(w, (uint64_t)number << 3 | (unsigned)wire_type); }

void hr_writer_fixed32_raw(hr_writer_t* w, uint32_t v) {
  uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
  hr_strbuf_add(w, b, 4);
}

void hr_writer_fixed64_raw(hr_writer_t* w, uint64_t v) {
  hr_writer_fixed32_raw(w, (uint32_t)v);
  hr_writer_fixed32_raw(w, (uint32_t)(v >> 32));
}

void hr_writer_u64(hr_writer_t* w, uint32_t number, uint64_t v) {
  hr_writer_tag(w, number, 0);
  hr_writer_varint(w, v);
}

void hr_writer_i64(hr_writer_t* w, uint32_t number, int64_t v) { hr_writer_u64(w, number, (uint64_t)v); }
void hr_writer_bool(hr_writer_t* w, uint32_t number, bool v) { hr_writer_u64(w, number, v); }

void hr_writer_fixed32(hr_writer_t* w, uint32_t number, uint32_t v) {
  hr_writer_tag(w, number, 5);
  hr_writer_fixed32_raw(w, v);
}

void hr_writer_fixed64(hr_writer_t* w, uint32_t number, uint64_t v) {
  hr_writer_tag(w, number, 1);
  hr_writer_fixed64_raw(w, v);
}

void hr_writer_f32(hr_writer_t* w, uint32_t number, float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  hr_writer_fixed32(w, number, bits);
}

void hr_writer_f64(hr_writer_t* w, uint32_t number, double v) {
  uint64_t bits;
  memcpy(&bits, &v, 8);
  hr_writer_fixed64(w, number, bits);
}

void hr_writer_bytes(hr_writer_t* w, uint32_t number, const void* data, size_t size) {
  hr_writer_tag(w, number, 2);
  hr_writer_varint(w, size);
  if (size) hr_strbuf_add(w, data, size);
}

void* hr_writer_room(hr_writer_t* w, size_t size) {
  static const char zeros[64];
  size_t at = w->size;
  /* doubling copies of the zeros: strbuf has no call that grows without copying, and a self copy would dangle when it moves */
  for (size_t left = size; left > 0 && !w->failed;) {
    size_t n = left < sizeof zeros ? left : sizeof zeros;
    hr_strbuf_add(w, zeros, n);
    left -= n;
  }
  return w->failed || !w->data ? NULL : w->data + at; /* no bytes of nothing are nowhere */
}

static int writer_length_width(size_t size) {
  uint8_t scratch[10];
  return writer_put_varint(scratch, size);
}

hr_writer_mark_t hr_writer_begin(hr_writer_t* w, uint32_t number, size_t expected_size) {
  static const uint8_t zeros[10];
  hr_writer_tag(w, number, 2);
  hr_strbuf_add(w, zeros, (size_t)writer_length_width(expected_size));
  return (hr_writer_mark_t){w->size};
}

void hr_writer_end(hr_writer_t* w, hr_writer_mark_t mark, size_t expected_size) {
  if (w->failed) return;
  size_t size = w->size - mark.body;
  int reserved = writer_length_width(expected_size), need = writer_length_width(size);
  if (need > reserved) {
    static const uint8_t zeros[10];
    hr_strbuf_add(w, zeros, (size_t)(need - reserved));
    if (w->failed) return;
  }
  char* start = w->data + mark.body - reserved;
  if (need != reserved) memmove(start + need, start + reserved, size);
  if (need < reserved) {
    w->size -= (size_t)(reserved - need);
    w->data[w->size] = 0;
  }
  writer_put_varint((uint8_t*)start, size);
}
