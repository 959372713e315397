/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in order from a file or from memory, inflated on the way when asked (zlib, gzip; several gzip members in a row are one stream).
 * One thread at a time. Damaged compressed data is DATA_LOSS. */
#ifndef HR_IO_STREAM_H
#define HR_IO_STREAM_H
#include "base/str.h"

typedef enum { HR_STREAM_PLAIN, HR_STREAM_ZLIB, HR_STREAM_GZIP } hr_stream_coding_t;
typedef struct hr_stream hr_stream_t;

/* "", "NONE", "ZLIB", "GZIP"; false for another name. */
bool hr_stream_parse_coding(hr_str_t name, hr_stream_coding_t* out);
HR_MUST_USE hr_status_t hr_stream_open(const char* path, hr_stream_coding_t coding, hr_stream_t** out);
HR_MUST_USE hr_status_t hr_stream_open_memory(const void* data, size_t size, hr_stream_coding_t coding, hr_stream_t** out); /* borrows */
void hr_stream_close(hr_stream_t* s); /* accepts NULL */
/* Up to size bytes; fewer than asked only at the end (0 there). */
HR_MUST_USE hr_status_t hr_stream_read(hr_stream_t* s, void* out, size_t size, size_t* out_got);
uint64_t hr_stream_offset(const hr_stream_t* s); /* bytes given out so far (inflated) */
HR_MUST_USE hr_status_t hr_stream_seek(hr_stream_t* s, uint64_t offset); /* UNIMPLEMENTED for compressed streams */
const char* hr_stream_name(const hr_stream_t* s); /* the path */
#endif
