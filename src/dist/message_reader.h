/* SPDX-License-Identifier: Apache-2.0 */
/* Reads protobuf bytes that lie in slices, without joining them: small fields are gathered, a tensor's body is copied once, straight from
 * the slices into the tensor, or not at all where the slice is the tensor's own memory (a message that never left this process).
 *
 * A reader is a span by value, like hr_cursor_t: copy it to read the bytes again. */
#ifndef HR_DIST_MESSAGE_READER_H
#define HR_DIST_MESSAGE_READER_H
#include "base/arena.h"
#include "dist/transport.h"
#include "tensor/tensor.h"
#include "wire/cursor.h"

typedef struct {
  const hr_message_t* message;
  int32_t slice;  /* where it reads: byte `at` of this slice */
  size_t at, left;
} hr_message_reader_t;

hr_message_reader_t hr_message_reader_make(const hr_message_t* m);
static inline bool hr_message_reader_is_done(const hr_message_reader_t* r) { return r->left == 0; }
/* The next field: its key as hr_cursor_next's; *out_value of varints and fixed ones; *out_span of spans. INVALID_ARGUMENT for what is not
 * protobuf; groups too. */
HR_MUST_USE hr_status_t hr_message_reader_next(hr_message_reader_t* r, uint32_t* out_key, uint64_t* out_value,
                                               hr_message_reader_t* out_span);
/* The span as one piece: where it lies, or gathered into `scratch` (initialised by the caller, valid until it is used or freed). */
HR_MUST_USE hr_status_t hr_message_reader_flat(hr_message_reader_t r, hr_strbuf_t* scratch, hr_cursor_t* out);
/* The span as a text of the arena's. */
HR_MUST_USE hr_status_t hr_message_reader_text(hr_message_reader_t r, hr_arena_t* arena, hr_str_t* out);
/* A NamedTensorProto: *out_name lies in the message or in `scratch`; *out_tensor is what the next function reads. */
HR_MUST_USE hr_status_t hr_message_reader_named(hr_message_reader_t r, hr_strbuf_t* scratch, hr_str_t* out_name,
                                                hr_message_reader_t* out_tensor);
/* A TensorProto. `share`: memory of this process's may be shared rather than copied. Limits as in hr_tensor_proto_decode. */
HR_MUST_USE hr_status_t hr_message_reader_tensor(hr_message_reader_t r, bool share, hr_tensor_t* out);
#endif
