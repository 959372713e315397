/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a computed tensor is the right one: dtype and shape always, then values by the case's rule ("exact", "close", "shape"). */
#ifndef GOLDEN_MATCH_H
#define GOLDEN_MATCH_H
#include <stddef.h>
#include "golden/api.h"

/* 1, or 0 with what differs in `why` (the first differing element, both values, how many differ). */
int golden_match(const TF_Tensor* got, const TF_Tensor* want, const char* rule, double rtol, double atol, char* why, size_t why_size);
#endif
