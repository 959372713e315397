/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded reader of protobuf bytes: one field at a time, no recursion, no allocation.
 *
 * A cursor is a span by value: copy it to read the bytes again. Every read is checked against the end; bytes that are not protobuf
 * are INVALID_ARGUMENT naming the byte's offset from where the outermost span began. Surprise: switch on `key`, not on the field's
 * number: a field that comes with another wire type than expected is then an unknown field and ignored, which is protobuf's own rule.
 * Packed and unpacked repeated scalars are two keys (HR_KEY_SPAN(n) and HR_KEY_VARINT(n), for example). */
#ifndef HR_WIRE_CURSOR_H
#define HR_WIRE_CURSOR_H
#include "base/str.h"

typedef struct {
  const uint8_t* at;
  const uint8_t* end;
  const uint8_t* base; /* of the outermost span: offsets in messages count from here */
} hr_cursor_t;

enum { HR_WIRE_VARINT = 0, HR_WIRE_FIXED64 = 1, HR_WIRE_SPAN = 2, HR_WIRE_GROUP = 3, HR_WIRE_GROUP_END = 4, HR_WIRE_FIXED32 = 5 };
#define HR_KEY_VARINT(number) ((uint32_t)(number) << 3 | HR_WIRE_VARINT)
#define HR_KEY_FIXED64(number) ((uint32_t)(number) << 3 | HR_WIRE_FIXED64)
#define HR_KEY_SPAN(number) ((uint32_t)(number) << 3 | HR_WIRE_SPAN)
#define HR_KEY_FIXED32(number) ((uint32_t)(number) << 3 | HR_WIRE_FIXED32)

typedef struct {
  uint32_t key;     /* number << 3 | wire type */
  uint64_t value;   /* varint, fixed32, fixed64 */
  hr_cursor_t span; /* length-delimited; empty otherwise */
} hr_field_t;

static inline hr_cursor_t hr_cursor_make(const void* data, size_t size) {
  static const uint8_t empty[1];
  const uint8_t* p = size ? (const uint8_t*)data : empty;
  return (hr_cursor_t){p, p + size, p};
}
static inline bool hr_cursor_is_done(const hr_cursor_t* c) { return c->at >= c->end; }
static inline size_t hr_cursor_left(const hr_cursor_t* c) { return (size_t)(c->end - c->at); }
static inline size_t hr_cursor_offset(const hr_cursor_t* c) { return (size_t)(c->at - c->base); }
static inline hr_str_t hr_cursor_str(hr_cursor_t c) { return (hr_str_t){(const char*)c.at, (size_t)(c.end - c.at)}; }

/* The next field, its value read; groups are stepped over (nested ones too) and come back as a key with an empty span. */
HR_MUST_USE hr_status_t hr_cursor_next(hr_cursor_t* c, hr_field_t* out);
HR_MUST_USE hr_status_t hr_cursor_tag(hr_cursor_t* c, uint32_t* out_key);
HR_MUST_USE hr_status_t hr_cursor_varint(hr_cursor_t* c, uint64_t* out);
HR_MUST_USE hr_status_t hr_cursor_fixed32(hr_cursor_t* c, uint32_t* out);
HR_MUST_USE hr_status_t hr_cursor_fixed64(hr_cursor_t* c, uint64_t* out);
HR_MUST_USE hr_status_t hr_cursor_span(hr_cursor_t* c, hr_cursor_t* out);      /* a length and that many bytes */
HR_MUST_USE hr_status_t hr_cursor_bytes(hr_cursor_t* c, size_t size, hr_cursor_t* out); /* exactly that many bytes */
HR_MUST_USE hr_status_t hr_cursor_skip(hr_cursor_t* c, uint32_t key);          /* the value that follows a tag */
/* A map's entry (1 key, 2 value) with a text key: the key, "" when absent, and the value's bytes. */
HR_MUST_USE hr_status_t hr_cursor_map_entry(hr_cursor_t entry, hr_str_t* out_key, hr_cursor_t* out_value);

static inline uint64_t hr_cursor_unzigzag(uint64_t v) { return v >> 1 ^ (~(v & 1) + 1); }
static inline float hr_cursor_f32(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline double hr_cursor_f64(uint64_t bits) { double d; memcpy(&d, &bits, 8); return d; }
#endif
