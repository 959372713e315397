/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a message: small fields are written together, the bodies of large tensors and other large pieces become slices of their own that
 * share their memory. Errors stick; `take` reports the first. */
#ifndef HR_DIST_MESSAGE_BUILDER_H
#define HR_DIST_MESSAGE_BUILDER_H
#include "dist/transport.h"
#include "tensor/tensor.h"
#include "wire/writer.h"

typedef struct {
  hr_writer_t bytes;     /* for fields of the caller's own, by the functions of wire/writer.h */
  hr_message_t message;
  hr_status_t status;
} hr_message_builder_t;

void hr_message_builder_init(hr_message_builder_t* b);
void hr_message_builder_deinit(hr_message_builder_t* b); /* unless taken */
/* Field `number`, a TensorProto, as TensorFlow's clients and servers write values: everything in tensor_content. */
void hr_message_builder_tensor(hr_message_builder_t* b, uint32_t number, const hr_tensor_t* t);
/* The same within a NamedTensorProto. */
void hr_message_builder_named_tensor(hr_message_builder_t* b, uint32_t number, hr_str_t name, const hr_tensor_t* t);
/* Field `number`, a span: hr_alloc'ed bytes, taken over also on failure. */
void hr_message_builder_span(hr_message_builder_t* b, uint32_t number, char* take_bytes, size_t size);
/* The whole; the builder is empty afterwards, also on failure. */
HR_MUST_USE hr_status_t hr_message_builder_take(hr_message_builder_t* b, hr_message_t* out);

hr_slice_t hr_message_slice_of_buffer(hr_buffer_t* take_buffer); /* all its bytes */
/* The buffer that a slice made here shares; NULL: a slice of another kind. */
hr_buffer_t* hr_message_buffer_of_slice(const hr_slice_t* s);
#endif
