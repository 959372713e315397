/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceHandleProto both ways. Of several dtypes_and_shapes only the first is kept: handles here hold one value. */
#include "wire/handle_proto.h"
#include "wire/shape_proto.h"

enum { HANDLE_DEVICE = 1, HANDLE_CONTAINER = 2, HANDLE_NAME = 3, HANDLE_HASH = 4, HANDLE_TYPE_NAME = 5, HANDLE_VALUE = 6,
       VALUE_DTYPE = 1, VALUE_SHAPE = 2 };

typedef struct {
  hr_str_t device, container, name, type_name;
  uint64_t hash;
  hr_cursor_t value; /* DtypeAndShape */
  bool has_value;
} handle_proto_parts_t;

static hr_status_t handle_proto_read(hr_cursor_t span, handle_proto_parts_t* p) {
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    switch (f.key) {
      case HR_KEY_SPAN(HANDLE_DEVICE): p->device = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(HANDLE_CONTAINER): p->container = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(HANDLE_NAME): p->name = hr_cursor_str(f.span); break;
      case HR_KEY_VARINT(HANDLE_HASH): p->hash = f.value; break;
      case HR_KEY_SPAN(HANDLE_TYPE_NAME): p->type_name = hr_cursor_str(f.span); break;
      case HR_KEY_SPAN(HANDLE_VALUE):
        if (!p->has_value) p->value = f.span;
        p->has_value = true;
        break;
    }
  }
  return NULL;
}

static hr_status_t handle_proto_value(hr_cursor_t span, hr_handle_t* h) {
  hr_cursor_t shape_span = hr_cursor_make(NULL, 0);
  uint64_t dtype = 0;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    if (f.key == HR_KEY_VARINT(VALUE_DTYPE)) dtype = f.value;
    if (f.key == HR_KEY_SPAN(VALUE_SHAPE)) shape_span = f.span;
  }
  if (dtype >= HR_DTYPE_COUNT)
    return HR_ERROR(INVALID_ARGUMENT, "resource handle holds a value of unknown dtype %llu", (unsigned long long)dtype);
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hr_pshape_t* shape = NULL;
  hr_status_t status = hr_shape_proto_decode_partial(&arena, shape_span, &shape);
  if (!status) status = hr_handle_set_value(h, (hr_dtype_t)dtype, shape);
  hr_arena_deinit(&arena);
  return status;
}

hr_status_t hr_handle_proto_decode(hr_cursor_t span, hr_handle_t** out) {
  handle_proto_parts_t p = {.device = HR_STR(""), .container = HR_STR(""), .name = HR_STR(""), .type_name = HR_STR("")};
  HR_TRY(handle_proto_read(span, &p));
  hr_handle_t* h = hr_handle_create(p.device, p.container, p.name, p.type_name);
  if (!h) return hr_status_out_of_memory();
  h->type_hash = p.hash;
  hr_status_t status = p.has_value ? handle_proto_value(p.value, h) : NULL;
  if (status) hr_handle_release(h);
  else *out = h;
  return status;
}

void hr_handle_proto_encode(const hr_handle_t* h, hr_writer_t* w) {
  if (!h) return;
  if (h->device.size) hr_writer_str(w, HANDLE_DEVICE, h->device);
  if (h->container.size) hr_writer_str(w, HANDLE_CONTAINER, h->container);
  if (h->name.size) hr_writer_str(w, HANDLE_NAME, h->name);
  if (h->type_hash) hr_writer_u64(w, HANDLE_HASH, h->type_hash);
  if (h->type_name.size) hr_writer_str(w, HANDLE_TYPE_NAME, h->type_name);
  if (h->dtype == HR_DTYPE_INVALID) return;
  hr_writer_mark_t value = hr_writer_begin(w, HANDLE_VALUE, 0);
  hr_writer_i64(w, VALUE_DTYPE, h->dtype);
  hr_writer_mark_t shape = hr_writer_begin(w, VALUE_SHAPE, 0);
  hr_shape_proto_encode_partial(h->shape ? h->shape : &hr_pshape_unknown, w);
  hr_writer_end(w, shape, 0);
  hr_writer_end(w, value, 0);
}
