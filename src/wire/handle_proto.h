/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceHandleProto both ways: the name of an object, never the object itself (its holder looks it up again). */
#ifndef HR_WIRE_HANDLE_PROTO_H
#define HR_WIRE_HANDLE_PROTO_H
#include "tensor/handle.h"
#include "wire/cursor.h"
#include "wire/writer.h"

HR_MUST_USE hr_status_t hr_handle_proto_decode(hr_cursor_t span, hr_handle_t** out); /* one reference */
void hr_handle_proto_encode(const hr_handle_t* h, hr_writer_t* w);                   /* the body; NULL writes nothing */
#endif
