/* SPDX-License-Identifier: Apache-2.0 */
/* Writes protobuf bytes into a growing buffer, with no limit at 2 GB.
 *
 * A writer is an hr_strbuf_t (errors stick; init, take and deinit with its functions). Nested messages are written in one pass:
 * begin leaves room for the length, end fills it in and moves the body only if the room was wrong. Give begin the expected size
 * where bodies are large, and nothing moves. */
#ifndef HR_WIRE_WRITER_H
#define HR_WIRE_WRITER_H
#include "base/str.h"

typedef hr_strbuf_t hr_writer_t;
typedef struct { size_t body; } hr_writer_mark_t; /* where the nested body starts; room for the length is before it */

void hr_writer_varint(hr_writer_t* w, uint64_t v);
void hr_writer_tag(hr_writer_t* w, uint32_t number, int wire_type);
void hr_writer_fixed32_raw(hr_writer_t* w, uint32_t v); /* without a tag; little endian */
void hr_writer_fixed64_raw(hr_writer_t* w, uint64_t v);

/* One field each, written even when it is the default value. */
void hr_writer_u64(hr_writer_t* w, uint32_t number, uint64_t v);
void hr_writer_i64(hr_writer_t* w, uint32_t number, int64_t v); /* int32, int64, enum: negative values take 10 bytes */
void hr_writer_bool(hr_writer_t* w, uint32_t number, bool v);
void hr_writer_f32(hr_writer_t* w, uint32_t number, float v);
void hr_writer_f64(hr_writer_t* w, uint32_t number, double v);
void hr_writer_fixed32(hr_writer_t* w, uint32_t number, uint32_t v);
void hr_writer_fixed64(hr_writer_t* w, uint32_t number, uint64_t v);
void hr_writer_bytes(hr_writer_t* w, uint32_t number, const void* data, size_t size);
static inline void hr_writer_str(hr_writer_t* w, uint32_t number, hr_str_t s) { hr_writer_bytes(w, number, s.data, s.size); }

/* Bytes that nothing but the caller fills: the place is valid until the next write; NULL when the buffer has failed. */
void* hr_writer_room(hr_writer_t* w, size_t size);

HR_MUST_USE hr_writer_mark_t hr_writer_begin(hr_writer_t* w, uint32_t number, size_t expected_size);
void hr_writer_end(hr_writer_t* w, hr_writer_mark_t mark, size_t expected_size); /* expected_size: as given to begin */
#endif
