/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads, positioned reads, buffered writes, atomic replacement, listing. Failures name the path and carry the code
 * that TensorFlow gives for the errno (ENOENT NOT_FOUND, EACCES PERMISSION_DENIED, ENOSPC RESOURCE_EXHAUSTED...). */
#ifndef HR_BASE_FILE_H
#define HR_BASE_FILE_H
#include <stdbool.h>
#include "base/str.h"

HR_MUST_USE hr_status_t hr_file_error(int error_number, const char* what, const char* path); /* a status for errno */
HR_MUST_USE hr_status_t hr_file_read(const char* path, char** out_data, size_t* out_size);    /* caller frees with hr_free */

typedef struct hr_file hr_file_t; /* one open file; one thread at a time, hr_file_read_at excepted */
HR_MUST_USE hr_status_t hr_file_open(const char* path, hr_file_t** out);                      /* to read */
HR_MUST_USE hr_status_t hr_file_create(const char* path, hr_file_t** out);                    /* to write; truncates */
HR_MUST_USE hr_status_t hr_file_append(const char* path, hr_file_t** out);                    /* to write at the end */
/* Exactly size bytes at offset, else OUT_OF_RANGE. */
HR_MUST_USE hr_status_t hr_file_read_at(hr_file_t* f, uint64_t offset, void* out, size_t size);
uint64_t hr_file_size(const hr_file_t* f);
HR_MUST_USE hr_status_t hr_file_write(hr_file_t* f, const void* data, size_t size);           /* buffered */
HR_MUST_USE hr_status_t hr_file_flush(hr_file_t* f);
HR_MUST_USE hr_status_t hr_file_sync(hr_file_t* f);                                           /* flush + fsync */
void hr_file_start_writeback(hr_file_t* f); /* a hint: what is written so far may go to the disk now, so that a later sync waits less */
HR_MUST_USE hr_status_t hr_file_close(hr_file_t* take_f);                                     /* accepts NULL; frees also on failure */

bool hr_file_exists(const char* path);
HR_MUST_USE hr_status_t hr_file_rename(const char* from, const char* to);
HR_MUST_USE hr_status_t hr_file_remove(const char* path);
HR_MUST_USE hr_status_t hr_file_make_dirs(const char* path);                                  /* like mkdir -p */
HR_MUST_USE hr_status_t hr_file_make_dirs_of(const char* path); /* the folder that a file of this path lies in */
/* Writes to a temporary name beside it, syncs, renames: readers see the old file or the new one. */
HR_MUST_USE hr_status_t hr_file_replace(const char* path, const void* data, size_t size);
#endif
