/* SPDX-License-Identifier: Apache-2.0 */
/* The element of a string tensor, with the layout of TF_TString: 24 bytes; the low two bits of the first byte say which form.
 *   small   [length << 2 | 0][up to 22 bytes][NUL]
 *   large   size << 2 | 1 (8 bytes), capacity (8), owned pointer (8; from malloc, since clients' inline helpers free it)
 *   offset  size << 2 | 2 (4 bytes), offset from this struct (4), count (4)
 *   view    size << 2 | 3 (8 bytes), borrowed pointer (8)
 * Zeroed memory is the empty string. */
#ifndef HR_TENSOR_TSTRING_H
#define HR_TENSOR_TSTRING_H
#include "base/str.h"

typedef union {
  uint8_t small[24];
  struct { uint64_t size, capacity; char* data; } large;
  struct { uint32_t size, offset, count; } offset;
  struct { uint64_t size; const char* data; } view;
} hr_tstring_t;

hr_str_t hr_tstring_get(const hr_tstring_t* s);                      /* borrows */
HR_MUST_USE hr_status_t hr_tstring_set(hr_tstring_t* s, hr_str_t text); /* copies; frees what was there */
void hr_tstring_clear(hr_tstring_t* s);                              /* frees; empty again */
#endif
