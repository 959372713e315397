/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: a header of pooled memory, in front of it or (large ones) apart; or (borrowed) a header that points elsewhere. */
#include "tensor/buffer.h"
#include <string.h>
#include "tensor/buffer_heap.h"
#include "tensor/buffer_pool.h"
#include "tensor/handle.h"
#include "tensor/tstring.h"

_Static_assert(sizeof(hr_buffer_t) <= BUFFER_HEADER, "data follows the header at a multiple of 64");

static hr_buffer_t* buffer_make(size_t own_bytes) {
  int size_class;
  hr_buffer_t* b = hr_buffer_pool_take(own_bytes, &size_class);
  if (!b) return NULL;
  atomic_init(&b->refs, 1);
  b->size_class = (uint8_t)size_class;
  b->read_only = false;
  b->element = 0;
  b->data = size_class == BUFFER_LARGE ? hr_buffer_heap_data(b) : (char*)b + BUFFER_HEADER;
  b->bytes = own_bytes;
  b->free_fn = NULL;
  b->free_arg = NULL;
  return b;
}

hr_buffer_t* hr_buffer_create(size_t bytes, hr_dtype_t element) {
  hr_buffer_t* b = buffer_make(bytes);
  if (!b) return NULL;
  if (element != HR_DTYPE_INVALID && !hr_dtype_is_plain(element)) {
    b->element = (uint8_t)element;
    memset(b->data, 0, bytes);
  }
  hr_buffer_pool_account((ptrdiff_t)bytes);
  return b;
}

hr_buffer_t* hr_buffer_borrow(void* data, size_t bytes, bool read_only, hr_buffer_free_fn free_fn, void* free_arg) {
  hr_buffer_t* b = buffer_make(0);
  if (!b) return NULL;
  b->data = data;
  b->bytes = bytes;
  b->read_only = read_only;
  b->free_fn = free_fn;
  b->free_arg = free_arg;
  return b;
}

static void elements_release(const hr_buffer_t* b) {
  if (b->element == HR_STRING) {
    hr_tstring_t* s = b->data;
    for (size_t i = 0; i < b->bytes / sizeof *s; ++i) hr_tstring_clear(&s[i]);
  } else {
    hr_handle_t** h = b->data;
    for (size_t i = 0; i < b->bytes / sizeof *h; ++i) hr_handle_release(h[i]);
  }
}

static bool is_own(const hr_buffer_t* b) { return b->size_class == BUFFER_LARGE || b->data == (const char*)b + BUFFER_HEADER; }

void hr_buffer_destroy(hr_buffer_t* b) {
  if (b->element) elements_release(b);
  if (is_own(b))
    hr_buffer_pool_account(-(ptrdiff_t)b->bytes);
  else if (b->free_fn)
    b->free_fn(b->data, b->bytes, b->free_arg);
  hr_buffer_pool_give(b, b->size_class);
}
