/* SPDX-License-Identifier: Apache-2.0 */
/* TensorShapeProto: fully known shapes and partial ones, both ways. A scalar has no bytes; unknown rank is a flag; an unknown
 * dimension is -1. Dimension names are ignored. Failures are INVALID_ARGUMENT (UNIMPLEMENTED for a known shape of more than HR_MAX_RANK
 * dims). */
#ifndef HR_WIRE_SHAPE_PROTO_H
#define HR_WIRE_SHAPE_PROTO_H
#include "tensor/partial_shape.h"
#include "wire/cursor.h"
#include "wire/writer.h"

HR_MUST_USE hr_status_t hr_shape_proto_decode(hr_cursor_t span, hr_shape_t* out); /* INVALID_ARGUMENT unless fully known */
HR_MUST_USE hr_status_t hr_shape_proto_decode_partial(hr_arena_t* arena, hr_cursor_t span, const hr_pshape_t** out);
/* The message's body, without a tag. */
void hr_shape_proto_encode(const hr_shape_t* shape, hr_writer_t* w);
void hr_shape_proto_encode_partial(const hr_pshape_t* shape, hr_writer_t* w);
#endif
