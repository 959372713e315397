/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of version 1: one table file, or several that a pattern names. Key "" holds the list of tensors and their slices; each slice
 * has a key of its own with its numbers in a message's typed fields. Tensors without a slice are one slice, the whole. */
#ifndef HR_OPS_IO_LEGACY_H
#define HR_OPS_IO_LEGACY_H
#include "io/slice.h"

typedef struct hr_legacy hr_legacy_t; /* any number of threads may read */
bool hr_legacy_exists(const char* pattern);
/* NOT_FOUND when no file fits, DATA_LOSS for what is no such checkpoint. */
HR_MUST_USE hr_status_t hr_legacy_open(const char* pattern, hr_legacy_t** out);
void hr_legacy_close(hr_legacy_t* l); /* accepts NULL */
/* A whole tensor (spec "") or the part that `spec` names, put together from the slices that are there; NOT_FOUND when they do not cover it.
 */
HR_MUST_USE hr_status_t hr_legacy_read(const hr_legacy_t* l, hr_str_t name, hr_str_t spec, hr_dtype_t dtype, hr_tensor_t* out);

typedef struct { hr_str_t name, spec; const hr_tensor_t* tensor; } hr_legacy_entry_t;
/* Writes all to one file, replacing it whole. UNIMPLEMENTED for types that version 1 does not have. */
HR_MUST_USE hr_status_t hr_legacy_write(const char* path, const hr_legacy_entry_t* entries, int64_t count);
#endif
