/* SPDX-License-Identifier: Apache-2.0 */
/* The four forms of a string element. Only bodies of the large form are owned; they come from libc's malloc, not from hr_alloc,
 * because clients' inline helpers free them. The layouts are little-endian: the form bits sit in the first byte. */
#include "tensor/tstring.h"
#include <stdlib.h>
#include "base/alloc.h"

enum { FORM_SMALL, FORM_LARGE, FORM_OFFSET, FORM_VIEW, FORM_MASK = 3, SMALL_CAPACITY = 22, CAPACITY_STEP = 16 };
_Static_assert(sizeof(hr_tstring_t) == 24, "the layout is part of the C API");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian layouts are not written");

hr_str_t hr_tstring_get(const hr_tstring_t* s) {
  switch (s->small[0] & FORM_MASK) {
    case FORM_SMALL: return (hr_str_t){(const char*)s->small + 1, s->small[0] >> 2};
    case FORM_LARGE: return (hr_str_t){s->large.data, (size_t)(s->large.size >> 2)};
    case FORM_OFFSET: return (hr_str_t){(const char*)s + s->offset.offset, s->offset.size >> 2};
    default: return (hr_str_t){s->view.data, (size_t)(s->view.size >> 2)};
  }
}

void hr_tstring_clear(hr_tstring_t* s) {
  if ((s->small[0] & FORM_MASK) == FORM_LARGE) free(s->large.data);
  memset(s, 0, sizeof *s);
}

static void tstring_set_small(hr_tstring_t* s, hr_str_t text) {
  hr_tstring_t made = {{0}}; /* text may lie within s */
  made.small[0] = (uint8_t)(text.size << 2);
  if (text.size) memcpy(made.small + 1, text.data, text.size);
  hr_tstring_clear(s);
  *s = made;
}

hr_status_t hr_tstring_set(hr_tstring_t* s, hr_str_t text) {
  if (text.size <= SMALL_CAPACITY) {
    tstring_set_small(s, text);
    return NULL;
  }
  if (text.size > PTRDIFF_MAX / 4 || hr_alloc_must_fail()) return hr_status_out_of_memory();
  size_t bytes = (text.size + 1 + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP;
  char* data = malloc(bytes);
  if (!data) return hr_status_out_of_memory();
  memcpy(data, text.data, text.size);
  data[text.size] = 0;
  hr_tstring_clear(s);
  s->large.size = (uint64_t)text.size << 2 | FORM_LARGE;
  s->large.capacity = bytes - 1;
  s->large.data = data;
  return NULL;
}
