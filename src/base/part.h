/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: shared objects that lie beside this library and are opened when first needed (oneDNN, gRPC). One symbol each gives a table; what a
 * part needs of us reaches it through another, so it links nothing of ours. A part is never closed. */
#ifndef HR_BASE_PART_H
#define HR_BASE_PART_H
#include <stdbool.h>
#include "base/status.h"

/* Opens `file` beside the object that holds this library's code, or `path` when that is not empty ("none": never), and finds `symbol`
 * (*out: a function, to be copied into a pointer of its type). UNAVAILABLE says why not; *out is then NULL. */
HR_MUST_USE hr_status_t hr_part_open(const char* file, const char* path, const char* symbol, void** out);
#endif
