/* SPDX-License-Identifier: Apache-2.0 */
/* The 64-bit fingerprint that TensorFlow's hash buckets are made from (FarmHash's Fingerprint64); its values are fixed for ever. */
#ifndef HR_OPS_STRING_FINGERPRINT_H
#define HR_OPS_STRING_FINGERPRINT_H
#include "base/str.h"
uint64_t hr_fingerprint(hr_str_t text);
#endif
