/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes one Snappy block (the raw format, as in table files): a varint of the decoded size, then literals and copies. */
#ifndef HR_IO_SNAPPY_H
#define HR_IO_SNAPPY_H
#include "base/str.h"

/* DATA_LOSS for damaged data, or a decoded size above `limit` bytes. The caller frees *out with hr_free. */
HR_MUST_USE hr_status_t hr_snappy_decode(const void* data, size_t size, size_t limit, char** out, size_t* out_size);
#endif
