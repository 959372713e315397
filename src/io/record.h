/* SPDX-License-Identifier: Apache-2.0 */
/* TFRecord files: 8-byte length, masked CRC-32C of it, the data, masked CRC-32C of the data; whole files may be zlib or gzip.
 *
 * Reading: the clean end is OUT_OF_RANGE; a truncated tail or a wrong checksum is DATA_LOSS with the record's offset. A length is believed
 * only as far as bytes arrive, so a damaged one cannot exhaust memory. One thread at a time. */
#ifndef HR_IO_RECORD_H
#define HR_IO_RECORD_H
#include "io/stream.h"

typedef struct hr_record_reader hr_record_reader_t;
HR_MUST_USE hr_status_t hr_record_reader_open(const char* path, hr_stream_coding_t coding, hr_record_reader_t** out);
HR_MUST_USE hr_status_t hr_record_reader_open_stream(hr_stream_t* take_stream, hr_record_reader_t** out); /* takes it even on failure */
void hr_record_reader_close(hr_record_reader_t* r); /* accepts NULL */
HR_MUST_USE hr_status_t hr_record_reader_next(hr_record_reader_t* r, hr_str_t* out); /* borrowed until the next call */
uint64_t hr_record_reader_offset(const hr_record_reader_t* r); /* of the next record */
HR_MUST_USE hr_status_t hr_record_reader_seek(hr_record_reader_t* r, uint64_t offset); /* to a record's start; plain files */

typedef struct hr_record_writer hr_record_writer_t;
HR_MUST_USE hr_status_t hr_record_writer_create(const char* path, hr_stream_coding_t coding, hr_record_writer_t** out);
HR_MUST_USE hr_status_t hr_record_writer_add(hr_record_writer_t* w, hr_str_t data);
HR_MUST_USE hr_status_t hr_record_writer_flush(hr_record_writer_t* w); /* readers see all records so far */
HR_MUST_USE hr_status_t hr_record_writer_close(hr_record_writer_t* take_w); /* accepts NULL; frees also on failure */
#endif
