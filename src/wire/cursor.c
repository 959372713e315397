/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded protobuf reader. Nothing here trusts a length before it was compared with what is left. */
#include "wire/cursor.h"

static hr_status_t cursor_error(const hr_cursor_t* c, const char* what) {
  return HR_ERROR(INVALID_ARGUMENT, "malformed protobuf at byte %zu: %s", hr_cursor_offset(c), what);
}

hr_status_t hr_cursor_varint(hr_cursor_t* c, uint64_t* out) {
  const uint8_t* p = c->at;
  uint64_t v = 0;
  for (int shift = 0; shift < 70; shift += 7, ++p) {
    if (p >= c->end) return cursor_error(c, "a varint runs past the end");
    v |= (uint64_t)(*p & 0x7f) << shift;
    if (*p < 0x80) {
      c->at = p + 1;
      *out = v;
      return NULL;
    }
  }
  return cursor_error(c, "a varint of more than 10 bytes");
}

hr_status_t hr_cursor_fixed32(hr_cursor_t* c, uint32_t* out) {
  if (hr_cursor_left(c) < 4) return cursor_error(c, "4 bytes wanted, fewer left");
  const uint8_t* p = c->at;
  *out = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  c->at += 4;
  return NULL;
}

hr_status_t hr_cursor_fixed64(hr_cursor_t* c, uint64_t* out) {
  if (hr_cursor_left(c) < 8) return cursor_error(c, "8 bytes wanted, fewer left");
  uint32_t low = 0, high = 0;
  HR_TRY(hr_cursor_fixed32(c, &low));
  HR_TRY(hr_cursor_fixed32(c, &high));
  *out = (uint64_t)high << 32 | low;
  return NULL;
}

hr_status_t hr_cursor_bytes(hr_cursor_t* c, size_t size, hr_cursor_t* out) {
  if (size > hr_cursor_left(c)) return cursor_error(c, "more bytes promised than there are");
  *out = (hr_cursor_t){c->at, c->at + size, c->base};
  c->at += size;
  return NULL;
}

hr_status_t hr_cursor_span(hr_cursor_t* c, hr_cursor_t* out) {
  hr_cursor_t before = *c;
  uint64_t size = 0;
  HR_TRY(hr_cursor_varint(c, &size));
  size_t left = hr_cursor_left(c);
  if (size > left) {
    *c = before;
    return HR_ERROR(INVALID_ARGUMENT, "malformed protobuf at byte %zu: a length of %llu with %zu bytes left", hr_cursor_offset(c),
                    (unsigned long long)size, left);
  }
  return hr_cursor_bytes(c, (size_t)size, out);
}

hr_status_t hr_cursor_tag(hr_cursor_t* c, uint32_t* out_key) {
  hr_cursor_t before = *c;
  uint64_t tag = 0;
  HR_TRY(hr_cursor_varint(c, &tag));
  if (tag > UINT32_MAX || tag >> 3 == 0 || (tag & 7) > HR_WIRE_FIXED32) return cursor_error(&before, "not a field tag");
  *out_key = (uint32_t)tag;
  return NULL;
}

static hr_status_t cursor_skip_group(hr_cursor_t* c, uint32_t key) {
  hr_field_t f;
  (void)key; /* end tags are counted, not matched by number: unknown groups are dropped whole anyway */
  for (int64_t depth = 1; depth > 0;) {
    HR_TRY(hr_cursor_tag(c, &f.key));
    switch (f.key & 7) {
      case HR_WIRE_GROUP: ++depth; break;
      case HR_WIRE_GROUP_END: --depth; break;
      default: HR_TRY(hr_cursor_skip(c, f.key));
    }
  }
  return NULL;
}

hr_status_t hr_cursor_skip(hr_cursor_t* c, uint32_t key) {
  uint64_t u64;
  uint32_t u32;
  hr_cursor_t span;
  switch (key & 7) {
    case HR_WIRE_VARINT: return hr_cursor_varint(c, &u64);
    case HR_WIRE_FIXED64: return hr_cursor_fixed64(c, &u64);
    case HR_WIRE_SPAN: return hr_cursor_span(c, &span);
    case HR_WIRE_FIXED32: return hr_cursor_fixed32(c, &u32);
    case HR_WIRE_GROUP: return cursor_skip_group(c, key);
    default: return cursor_error(c, "the end of a group that did not begin");
  }
}

hr_status_t hr_cursor_next(hr_cursor_t* c, hr_field_t* out) {
  HR_TRY(hr_cursor_tag(c, &out->key));
  out->value = 0;
  out->span = (hr_cursor_t){c->at, c->at, c->base};
  uint32_t word = 0;
  switch (out->key & 7) {
    case HR_WIRE_VARINT: return hr_cursor_varint(c, &out->value);
    case HR_WIRE_FIXED64: return hr_cursor_fixed64(c, &out->value);
    case HR_WIRE_SPAN: return hr_cursor_span(c, &out->span);
    case HR_WIRE_FIXED32:
      HR_TRY(hr_cursor_fixed32(c, &word));
      out->value = word;
      return NULL;
    default: return hr_cursor_skip(c, out->key);
  }
}

hr_status_t hr_cursor_map_entry(hr_cursor_t entry, hr_str_t* out_key, hr_cursor_t* out_value) {
  hr_field_t field;
  *out_key = HR_STR("");
  *out_value = hr_cursor_make(NULL, 0);
  while (!hr_cursor_is_done(&entry)) {
    HR_TRY(hr_cursor_next(&entry, &field));
    if (field.key == HR_KEY_SPAN(1)) *out_key = hr_cursor_str(field.span);
    if (field.key == HR_KEY_SPAN(2)) *out_value = field.span;
  }
  return NULL;
}
