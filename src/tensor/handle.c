/* SPDX-License-Identifier: Apache-2.0 */
/* Handles: one block for the record and its four texts, one for the shape. */
#include "tensor/handle.h"
#include "base/alloc.h"
#include "base/hash.h"

static hr_str_t text_store(char** at, hr_str_t text) {
  hr_str_t stored = {*at, text.size};
  if (text.size) memcpy(*at, text.data, text.size);
  (*at)[text.size] = 0;
  *at += text.size + 1;
  return stored;
}

hr_handle_t* hr_handle_create(hr_str_t device, hr_str_t container, hr_str_t name, hr_str_t type_name) {
  const hr_str_t texts[] = {device, container, name, type_name};
  size_t bytes = sizeof(hr_handle_t);
  for (int i = 0; i < 4; ++i)
    if (!hr_size_add(bytes, texts[i].size, &bytes) || !hr_size_add(bytes, 1, &bytes)) return NULL;
  hr_handle_t* h = hr_alloc(bytes);
  if (!h) return NULL;
  memset(h, 0, sizeof *h);
  char* at = (char*)(h + 1);
  atomic_init(&h->refs, 1);
  h->device = text_store(&at, device);
  h->container = text_store(&at, container);
  h->name = text_store(&at, name);
  h->type_name = text_store(&at, type_name);
  h->type_hash = hr_hash(type_name.data, type_name.size, 0);
  return h;
}

hr_status_t hr_handle_set_value(hr_handle_t* h, hr_dtype_t dtype, const hr_pshape_t* shape) {
  hr_pshape_t* copy = NULL;
  if (shape) {
    size_t bytes = sizeof *shape + (shape->rank > 0 ? (size_t)shape->rank * sizeof *shape->dims : 0);
    copy = hr_alloc(bytes);
    if (!copy) return hr_status_out_of_memory();
    memcpy(copy, shape, bytes);
  }
  hr_free((void*)h->shape);
  h->shape = copy;
  h->dtype = dtype;
  return NULL;
}

hr_handle_t* hr_handle_retain(hr_handle_t* h) {
  if (h) atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
  return h;
}

void hr_handle_release(hr_handle_t* h) {
  if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1) return;
  if (h->object && h->release_object) h->release_object(h->object);
  hr_free((void*)h->shape);
  hr_free(h);
}
