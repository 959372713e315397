/* SPDX-License-Identifier: Apache-2.0 */
/* NamedTensorProto = 1 name, 2 tensor. TensorProto = 1 dtype, 2 tensor_shape (present for scalars too), 4 tensor_content, absent when
 * empty. Strings in tensor_content are all lengths as varints, then all bytes. Lengths are known before anything is written, so nothing
 * moves. */
#include "dist/message_builder.h"
#include "base/alloc.h"
#include "wire/shape_proto.h"
#include "wire/tensor_proto.h"

enum { INLINE_BYTES = 1024 }; /* a body up to here is copied beside the other fields */

void hr_message_builder_init(hr_message_builder_t* b) {
  *b = (hr_message_builder_t){0};
  hr_strbuf_init(&b->bytes);
}

void hr_message_builder_deinit(hr_message_builder_t* b) {
  hr_strbuf_deinit(&b->bytes);
  hr_message_deinit(&b->message);
  hr_status_release(b->status);
  b->status = NULL;
}

static void flush_bytes(hr_message_builder_t* b) {
  if (b->bytes.size == 0 || b->status) return;
  char* data;
  size_t size;
  b->status = hr_strbuf_take(&b->bytes, &data, &size);
  hr_strbuf_init(&b->bytes);
  if (!b->status) b->status = hr_message_add(&b->message, (hr_slice_t){data, size, hr_free, data});
}

static void release_buffer(void* owner) { hr_buffer_release(owner); }

hr_buffer_t* hr_message_buffer_of_slice(const hr_slice_t* s) { return s->release == release_buffer ? s->owner : NULL; }

hr_slice_t hr_message_slice_of_buffer(hr_buffer_t* take_buffer) {
  return (hr_slice_t){take_buffer->data, take_buffer->bytes, release_buffer, take_buffer};
}

static void add_body(hr_message_builder_t* b, const hr_tensor_t* t, size_t size) {
  if (size <= INLINE_BYTES || !t->buffer) {
    hr_strbuf_add(&b->bytes, t->data, size);
    return;
  }
  flush_bytes(b);
  if (!b->status) b->status = hr_message_add(&b->message, (hr_slice_t){t->data, size, release_buffer, hr_buffer_retain(t->buffer)});
}

static void encode_strings(const hr_tensor_t* t, hr_writer_t* w) {
  const hr_tstring_t* s = t->data;
  for (int64_t i = 0; i < t->count; ++i) hr_writer_varint(w, hr_tstring_get(s + i).size);
  for (int64_t i = 0; i < t->count; ++i) hr_strbuf_add_str(w, hr_tstring_get(s + i));
}

static size_t varint_size(uint64_t v) {
  size_t n = 1;
  while (v >>= 7) ++n;
  return n;
}
static size_t span_size(size_t body) { return 1 + varint_size(body) + body; } /* field numbers here are below 16 */

/* What stands before the body: dtype, shape and, if there are bytes, the tag of tensor_content and their number. */
static void encode_head(const hr_tensor_t* t, size_t body, hr_writer_t* w) {
  hr_writer_i64(w, 1, (int64_t)t->dtype);
  hr_writer_mark_t shape = hr_writer_begin(w, 2, 0);
  hr_shape_proto_encode(&t->shape, w);
  hr_writer_end(w, shape, 0);
  if (body == 0) return;
  hr_writer_tag(w, 4, HR_WIRE_SPAN);
  hr_writer_varint(w, body);
}

static void put_tensor(hr_message_builder_t* b, uint32_t number, const hr_str_t* name, const hr_tensor_t* t) {
  hr_writer_t head, strings;
  hr_strbuf_init(&head);
  hr_strbuf_init(&strings);
  size_t body = 0;
  if (hr_dtype_is_plain(t->dtype)) body = hr_tensor_bytes(t);
  else if (t->dtype == HR_STRING) {
    encode_strings(t, &strings);
    body = strings.size;
  }
  if (hr_dtype_is_plain(t->dtype) || t->dtype == HR_STRING) encode_head(t, body, &head);
  else if (!b->status) b->status = hr_tensor_proto_encode(t, &head);
  const size_t tensor = head.size + body;
  hr_writer_tag(&b->bytes, number, HR_WIRE_SPAN);
  if (name) {
    hr_writer_varint(&b->bytes, span_size(name->size) + span_size(tensor));
    hr_writer_str(&b->bytes, 1, *name);
    hr_writer_tag(&b->bytes, 2, HR_WIRE_SPAN);
  }
  hr_writer_varint(&b->bytes, tensor);
  hr_strbuf_add_str(&b->bytes, hr_strbuf_view(&head));
  if (t->dtype == HR_STRING) hr_strbuf_add_str(&b->bytes, hr_strbuf_view(&strings));
  else if (body) add_body(b, t, body);
  if ((head.failed || strings.failed) && !b->status) b->status = hr_status_out_of_memory();
  hr_strbuf_deinit(&head);
  hr_strbuf_deinit(&strings);
}

void hr_message_builder_tensor(hr_message_builder_t* b, uint32_t number, const hr_tensor_t* t) { put_tensor(b, number, NULL, t); }
void hr_message_builder_named_tensor(hr_message_builder_t* b, uint32_t number, hr_str_t name, const hr_tensor_t* t) {
  put_tensor(b, number, &name, t);
}

void hr_message_builder_span(hr_message_builder_t* b, uint32_t number, char* take_bytes, size_t size) {
  hr_writer_tag(&b->bytes, number, HR_WIRE_SPAN);
  hr_writer_varint(&b->bytes, size);
  flush_bytes(b);
  if (b->status) hr_free(take_bytes);
  else b->status = hr_message_add(&b->message, (hr_slice_t){take_bytes, size, hr_free, take_bytes});
}

hr_status_t hr_message_builder_take(hr_message_builder_t* b, hr_message_t* out) {
  if (b->bytes.failed && !b->status) b->status = hr_status_out_of_memory();
  flush_bytes(b);
  hr_status_t status = b->status;
  b->status = NULL;
  *out = b->message;
  b->message = (hr_message_t){0};
  if (status) hr_message_deinit(out);
  hr_message_builder_deinit(b);
  return status;
}
