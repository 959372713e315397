/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf text format, between text and the wire bytes of a message of a known type (wire/messages.h finds types by name).
 *
 * No message structs are made: text is written from the bytes and read into bytes, driven by the type's descriptor. Nesting is
 * bounded by HR_MESSAGES_DEPTH. Reading accepts what protobuf's own reader does (comments, lists in brackets, < >, adjacent strings,
 * escapes), except extension and Any names in brackets: UNIMPLEMENTED. Unknown fields are INVALID_ARGUMENT in text and dropped when
 * written. Failures name line and column. */
#ifndef HR_WIRE_TEXT_H
#define HR_WIRE_TEXT_H
#include "wire/messages.h"

HR_MUST_USE hr_status_t hr_text_format(const ProtobufCMessageDescriptor* type, const void* data, size_t size, hr_strbuf_t* out);
/* unpacked repeated fields */
HR_MUST_USE hr_status_t hr_text_parse(const ProtobufCMessageDescriptor* type, hr_str_t text, hr_writer_t* out);
#endif
