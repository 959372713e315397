/* SPDX-License-Identifier: Apache-2.0 */
/* RecvTensorRequest = 1 step_id, 2 rendezvous_key, 7 request_id. RecvTensorResponse = 1 tensor, 2 is_dead, 3 send_start_micros, 5
 * require_ack. TensorProto = 1 dtype, 2 tensor_shape, 4 tensor_content.
 *
 * As TensorFlow writes them: the small fields first; of plain types a scalar has no shape field and the content is there even when empty;
 * dtype and shape stand before the content, which its fast reader wants. */
#include "dist/recv_tensor.h"
#include "dist/message_builder.h"
#include "dist/message_reader.h"
#include "wire/shape_proto.h"

enum { INLINE_BYTES = 1024 };

hr_status_t hr_recv_tensor_request(const hr_recv_tensor_request_t* q, hr_message_t* out) {
  hr_writer_t w;
  char* data;
  size_t size;
  hr_strbuf_init(&w);
  hr_writer_i64(&w, 1, q->step_id);
  hr_writer_str(&w, 2, q->key);
  hr_writer_i64(&w, 7, q->request_id);
  HR_TRY(hr_strbuf_take(&w, &data, &size));
  return hr_message_of_bytes(data, size, out);
}

hr_status_t hr_recv_tensor_read_request(const hr_message_t* m, hr_strbuf_t* scratch, hr_recv_tensor_request_t* out) {
  hr_cursor_t c;
  *out = (hr_recv_tensor_request_t){.key = HR_STR("")};
  HR_TRY(hr_message_reader_flat(hr_message_reader_make(m), scratch, &c));
  while (!hr_cursor_is_done(&c)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&c, &f));
    switch (f.key) {
      case HR_KEY_VARINT(1): out->step_id = (int64_t)f.value; break;
      case HR_KEY_SPAN(2): out->key = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(7): out->request_id = (int64_t)f.value; break;
    }
  }
  return NULL;
}

/* --- the answer ------------------------------------------------------------------------------------------------------------------- */

static void write_head(const hr_tensor_t* t, size_t body, hr_writer_t* w) {
  hr_writer_i64(w, 1, (int64_t)t->dtype);
  if (t->shape.rank > 0) {
    hr_writer_mark_t shape = hr_writer_begin(w, 2, 0);
    hr_shape_proto_encode(&t->shape, w);
    hr_writer_end(w, shape, 0);
  }
  hr_writer_tag(w, 4, HR_WIRE_SPAN);
  hr_writer_varint(w, body);
}

static void release_body(void* owner) { hr_buffer_release(owner); }

static hr_status_t answer_plain(const hr_tensor_t* t, hr_writer_t* take_fields, hr_message_t* out) {
  const size_t body = hr_tensor_bytes(t);
  const bool is_inline = body <= INLINE_BYTES || !t->buffer;
  hr_writer_t head;
  char* data;
  size_t size;
  hr_strbuf_init(&head);
  write_head(t, body, &head);
  hr_writer_tag(take_fields, 1, HR_WIRE_SPAN);
  hr_writer_varint(take_fields, head.size + body);
  hr_strbuf_add_str(take_fields, hr_strbuf_view(&head));
  if (is_inline && body) hr_strbuf_add(take_fields, t->data, body);
  take_fields->failed |= head.failed;
  hr_strbuf_deinit(&head);
  HR_TRY(hr_strbuf_take(take_fields, &data, &size));
  HR_TRY(hr_message_of_bytes(data, size, out));
  if (is_inline) return NULL;
  hr_status_t status = hr_message_add(out, (hr_slice_t){t->data, body, release_body, hr_buffer_retain(t->buffer)});
  if (status) hr_message_deinit(out);
  return status;
}

/* Strings and what else owns memory. */
static hr_status_t answer_other(const hr_tensor_t* t, hr_writer_t* take_fields, hr_message_t* out) {
  hr_message_builder_t b;
  hr_message_builder_init(&b);
  hr_strbuf_add_str(&b.bytes, hr_strbuf_view(take_fields));
  b.bytes.failed |= take_fields->failed;
  hr_strbuf_deinit(take_fields);
  hr_message_builder_tensor(&b, 1, t);
  return hr_message_builder_take(&b, out);
}

hr_status_t hr_recv_tensor_answer(const hr_tensor_t* value, bool is_dead, int64_t send_start_micros, hr_message_t* out) {
  static const hr_tensor_t none = {.dtype = HR_F32, .shape = {.rank = 1}};
  hr_writer_t w;
  hr_strbuf_init(&w);
  if (is_dead) hr_writer_bool(&w, 2, true);
  hr_writer_i64(&w, 3, send_start_micros);
  const hr_tensor_t* t = is_dead || !value || value->dtype == HR_DTYPE_INVALID ? &none : value;
  return hr_dtype_is_plain(t->dtype) ? answer_plain(t, &w, out) : answer_other(t, &w, out);
}

hr_status_t hr_recv_tensor_read_answer(const hr_message_t* m, hr_tensor_t* out, bool* out_is_dead, bool* out_ack) {
  hr_message_reader_t r = hr_message_reader_make(m), span;
  bool has_tensor = false;
  hr_status_t status = NULL;
  *out = (hr_tensor_t){0};
  *out_is_dead = *out_ack = false;
  while (!status && !hr_message_reader_is_done(&r)) {
    uint32_t key;
    uint64_t value;
    if ((status = hr_message_reader_next(&r, &key, &value, &span))) break;
    switch (key) {
      case HR_KEY_SPAN(1):
        hr_tensor_release(out);
        *out = (hr_tensor_t){0};
        has_tensor = !(status = hr_message_reader_tensor(span, false, out));
        break;
      case HR_KEY_VARINT(2): *out_is_dead = value != 0; break;
      case HR_KEY_VARINT(5): *out_ack = value != 0; break;
    }
  }
  if (!status && !has_tensor && !*out_is_dead) status = HR_ERROR(INTERNAL, "an answer of RecvTensor without a tensor");
  if (status) hr_tensor_release(out);
  return status;
}
