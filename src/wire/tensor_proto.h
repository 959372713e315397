/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto both ways.
 *
 * Reading: tensor_content, or the typed field of the dtype, packed or not; too few values repeat the last, none are zeros, too many
 * are ignored. Sizes are checked before memory is taken: tensor_content must be exactly the shape's bytes, and a value larger
 * than `splat_limit` bytes must come with data in proportion (a 30-byte message may say "a million gigabytes of zeros").
 * Surprise: half and bfloat16 are bit patterns in half_val; a scalar has no shape field at all. Variants with elements are
 * UNIMPLEMENTED. */
#ifndef HR_WIRE_TENSOR_PROTO_H
#define HR_WIRE_TENSOR_PROTO_H
#include "tensor/tensor.h"
#include "wire/cursor.h"
#include "wire/writer.h"

#define HR_TENSOR_PROTO_SPLAT_LIMIT ((size_t)1 << 32) /* the usual limit: 4 GiB */

/* INVALID_ARGUMENT for what contradicts itself, RESOURCE_EXHAUSTED beyond the limit. */
HR_MUST_USE hr_status_t hr_tensor_proto_decode(hr_cursor_t span, size_t splat_limit, hr_tensor_t* out);
/* The message's body, without a tag: tensor_content, typed fields for single elements and for what owns memory.
 * UNIMPLEMENTED for variants; other failures stick to the writer. */
HR_MUST_USE hr_status_t hr_tensor_proto_encode(const hr_tensor_t* t, hr_writer_t* w);
size_t hr_tensor_proto_expected(const hr_tensor_t* t); /* about how many bytes: for hr_writer_begin */
#endif
