/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto = 1 dtype, 2 tensor_shape, 4 tensor_content; unless that is whole, the general decoder reads it from gathered bytes. */
#include "dist/message_reader.h"
#include "dist/message_builder.h"
#include "base/alloc.h"
#include "wire/shape_proto.h"
#include "wire/tensor_proto.h"

enum { SPLAT_BYTES = 1 << 28 }; /* a value that its message only claims ("a million zeros") is no larger */

static void settle(hr_message_reader_t* r) { /* onto a slice that has a byte to read */
  while (r->left && r->at >= r->message->slices[r->slice].size) {
    ++r->slice;
    r->at = 0;
  }
}

hr_message_reader_t hr_message_reader_make(const hr_message_t* m) {
  hr_message_reader_t r = {m, 0, 0, hr_message_size(m)};
  settle(&r);
  return r;
}

static void skip_bytes(hr_message_reader_t* r, size_t n) { /* n <= left */
  r->left -= n;
  while (n) {
    size_t here = r->message->slices[r->slice].size - r->at, step = n < here ? n : here;
    r->at += step;
    n -= step;
    if (n) {
      ++r->slice;
      r->at = 0;
    }
  }
  settle(r);
}

static void copy_bytes(hr_message_reader_t* r, void* out, size_t n) { /* n <= left */
  char* to = out;
  r->left -= n;
  while (n) {
    const hr_slice_t* s = &r->message->slices[r->slice];
    size_t here = s->size - r->at, step = n < here ? n : here;
    if (step) memcpy(to, (const char*)s->data + r->at, step);
    to += step;
    r->at += step;
    n -= step;
    if (n) {
      ++r->slice;
      r->at = 0;
    }
  }
  settle(r);
}

static hr_status_t truncated(void) { return HR_ERROR(INVALID_ARGUMENT, "message ends within a field"); }

static hr_status_t read_varint(hr_message_reader_t* r, uint64_t* out) {
  uint64_t v = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (!r->left) return truncated();
    uint8_t byte;
    copy_bytes(r, &byte, 1);
    v |= (uint64_t)(byte & 127) << shift; /* of the tenth byte one bit counts */
    if (byte < 128) {
      *out = v;
      return NULL;
    }
  }
  return HR_ERROR(INVALID_ARGUMENT, "message has a varint of more than 10 bytes");
}

static hr_status_t read_fixed(hr_message_reader_t* r, size_t size, uint64_t* out) {
  if (r->left < size) return truncated();
  copy_bytes(r, out, size); /* little endian, as this machine is; the bytes above are 0 already */
  return NULL;
}

hr_status_t hr_message_reader_next(hr_message_reader_t* r, uint32_t* out_key, uint64_t* out_value,
                                   hr_message_reader_t* out_span) {
  uint64_t tag;
  HR_TRY(read_varint(r, &tag));
  if (tag >> 3 == 0 || tag > UINT32_MAX)
    return HR_ERROR(INVALID_ARGUMENT, "message has a field with number %llu", (unsigned long long)(tag >> 3));
  *out_key = (uint32_t)tag;
  *out_value = 0;
  *out_span = (hr_message_reader_t){r->message, r->slice, r->at, 0};
  switch (tag & 7) {
    case HR_WIRE_VARINT: return read_varint(r, out_value);
    case HR_WIRE_FIXED64: return read_fixed(r, 8, out_value);
    case HR_WIRE_FIXED32: return read_fixed(r, 4, out_value);
    case HR_WIRE_SPAN: break;
    default: return HR_ERROR(INVALID_ARGUMENT, "message has a field of wire type %d", (int)(tag & 7));
  }
  uint64_t size;
  HR_TRY(read_varint(r, &size));
  if (size > r->left) return truncated();
  *out_span = (hr_message_reader_t){r->message, r->slice, r->at, (size_t)size};
  skip_bytes(r, (size_t)size);
  return NULL;
}

static const void* whole_in_slice(const hr_message_reader_t* r) {
  if (r->left == 0) return "";
  const hr_slice_t* s = &r->message->slices[r->slice];
  return s->size - r->at >= r->left ? (const char*)s->data + r->at : NULL;
}

hr_status_t hr_message_reader_flat(hr_message_reader_t r, hr_strbuf_t* scratch, hr_cursor_t* out) {
  const void* whole = whole_in_slice(&r);
  if (whole) {
    *out = hr_cursor_make(whole, r.left);
    return NULL;
  }
  size_t size = r.left;
  scratch->size = 0;
  void* room = hr_writer_room(scratch, size);
  if (!room) return hr_status_out_of_memory();
  copy_bytes(&r, room, size);
  *out = hr_cursor_make(room, size);
  return NULL;
}

hr_status_t hr_message_reader_text(hr_message_reader_t r, hr_arena_t* arena, hr_str_t* out) {
  hr_strbuf_t scratch;
  hr_cursor_t flat;
  hr_strbuf_init(&scratch);
  hr_status_t status = hr_message_reader_flat(r, &scratch, &flat);
  if (!status && !hr_arena_str(arena, hr_cursor_str(flat), out)) status = hr_status_out_of_memory();
  hr_strbuf_deinit(&scratch);
  return status;
}

hr_status_t hr_message_reader_named(hr_message_reader_t r, hr_strbuf_t* scratch, hr_str_t* out_name, hr_message_reader_t* out_tensor) {
  *out_name = HR_STR("");
  *out_tensor = (hr_message_reader_t){0};
  while (!hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    hr_cursor_t name;
    HR_TRY(hr_message_reader_next(&r, &key, &value, &span));
    if (key == HR_KEY_SPAN(2)) *out_tensor = span;
    if (key != HR_KEY_SPAN(1)) continue;
    HR_TRY(hr_message_reader_flat(span, scratch, &name));
    *out_name = hr_cursor_str(name);
  }
  return out_tensor->message ? NULL : HR_ERROR(INVALID_ARGUMENT, "'%.*s' comes without a value", HR_STR_ARG(*out_name));
}

/* --- tensors -------------------------------------------------------------------------------------------------------------------------- */

typedef struct {
  uint64_t dtype;
  hr_shape_t shape;
  hr_message_reader_t content;
} tensor_head_t;

static hr_status_t read_head(hr_message_reader_t r, tensor_head_t* h) {
  *h = (tensor_head_t){0};
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_status_t status = NULL;
  while (!status && !hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    hr_message_reader_t span;
    hr_cursor_t flat;
    if ((status = hr_message_reader_next(&r, &key, &value, &span))) break;
    switch (key) {
      case HR_KEY_VARINT(1): h->dtype = value; break;
      case HR_KEY_SPAN(2):
        if (!(status = hr_message_reader_flat(span, &scratch, &flat))) status = hr_shape_proto_decode(flat, &h->shape);
        break;
      case HR_KEY_SPAN(4): h->content = span; break;
    }
  }
  hr_strbuf_deinit(&scratch);
  return status;
}

/* Whether the content is all of the tensor's bytes, as they lie in memory: then nothing else counts. A bool's bytes are looked at one by
 * one by the decoder. */
static bool head_is_whole(const tensor_head_t* h) {
  size_t bytes;
  if (h->dtype == 0 || h->dtype >= HR_DTYPE_COUNT || !hr_dtype_is_plain((hr_dtype_t)h->dtype) || h->dtype == HR_BOOL) return false;
  return hr_size_mul((size_t)hr_shape_count(&h->shape), hr_dtype_size((hr_dtype_t)h->dtype), &bytes) && bytes == h->content.left;
}

static hr_status_t decode_gathered(hr_message_reader_t r, hr_tensor_t* out) {
  hr_strbuf_t scratch;
  hr_strbuf_init(&scratch);
  hr_cursor_t flat;
  hr_status_t status = hr_message_reader_flat(r, &scratch, &flat);
  if (!status) status = hr_tensor_proto_decode(flat, SPLAT_BYTES, out);
  hr_strbuf_deinit(&scratch);
  return status;
}

/* Memory that only the message holds may be taken whatever the caller says: nobody else can see it change. */
static bool share_slice(const tensor_head_t* h, bool share, hr_tensor_t* out) {
  if (h->content.left == 0) return false;
  const hr_slice_t* s = &h->content.message->slices[h->content.slice];
  hr_buffer_t* buffer = hr_message_buffer_of_slice(s);
  if (!buffer || (!share && !hr_buffer_is_alone(buffer)) || h->content.at != 0 || s->size != h->content.left) return false;
  *out = (hr_tensor_t){.buffer = hr_buffer_retain(buffer), .data = (void*)(uintptr_t)s->data, .count = hr_shape_count(&h->shape),
                       .dtype = (hr_dtype_t)h->dtype, .shape = h->shape};
  return true;
}

hr_status_t hr_message_reader_tensor(hr_message_reader_t r, bool share, hr_tensor_t* out) {
  if (whole_in_slice(&r)) return decode_gathered(r, out); /* no slice is the body alone */
  tensor_head_t h;
  HR_TRY(read_head(r, &h));
  if (!head_is_whole(&h)) return decode_gathered(r, out);
  if (share_slice(&h, share, out)) return NULL;
  HR_TRY(hr_tensor_create((hr_dtype_t)h.dtype, &h.shape, out));
  copy_bytes(&h.content, out->data, h.content.left);
  return NULL;
}
