/* SPDX-License-Identifier: Apache-2.0 */
/* Making tensors, sharing parts of them, copying and comparing elements. */
#include "tensor/tensor.h"
#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"

static hr_status_t bytes_of_shape(hr_dtype_t dtype, const hr_shape_t* shape, size_t* out) {
  if (!hr_dtype_is_valid((int)dtype) || hr_dtype_is_ref((int)dtype))
    return HR_ERROR(INVALID_ARGUMENT, "a tensor cannot have element type %d (%s)", (int)dtype, hr_dtype_name((int)dtype));
  if (hr_size_mul((size_t)hr_shape_count(shape), hr_dtype_size(dtype), out)) return NULL;
  char text[HR_SHAPE_TEXT];
  return HR_ERROR(RESOURCE_EXHAUSTED, "out of memory: a tensor of shape %s and type %s has more bytes than can be addressed",
                  hr_shape_format(shape, text), hr_dtype_name((int)dtype));
}

static void tensor_fill(hr_buffer_t* b, hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  out->buffer = b;
  out->data = b->data;
  out->count = hr_shape_count(shape);
  out->dtype = dtype;
  hr_shape_copy(&out->shape, shape);
}

hr_status_t hr_tensor_create(hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  size_t bytes = 0;
  HR_TRY(bytes_of_shape(dtype, shape, &bytes));
  hr_buffer_t* b = hr_buffer_create(bytes, dtype);
  if (!b) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(RESOURCE_EXHAUSTED, "out of memory: cannot allocate a tensor of shape %s and type %s (%zu bytes)",
                    hr_shape_format(shape, text), hr_dtype_name((int)dtype), bytes);
  }
  tensor_fill(b, dtype, shape, out);
  return NULL;
}

hr_status_t hr_tensor_create_zero(hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out) {
  HR_TRY(hr_tensor_create(dtype, shape, out));
  if (hr_dtype_is_plain(dtype)) memset(out->data, 0, out->buffer->bytes);
  return NULL;
}

hr_status_t hr_tensor_borrow(hr_dtype_t dtype, const hr_shape_t* shape, void* data, size_t bytes, bool read_only,
                             hr_buffer_free_fn free_fn, void* free_arg, hr_tensor_t* out) {
  size_t need = 0;
  HR_TRY(bytes_of_shape(dtype, shape, &need));
  if (bytes < need) {
    char text[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "a memory of %zu bytes is too small for a tensor of shape %s and type %s, which needs %zu", bytes,
                    hr_shape_format(shape, text), hr_dtype_name((int)dtype), need);
  }
  hr_buffer_t* b = hr_buffer_borrow(data, bytes, read_only, free_fn, free_arg);
  if (!b) return hr_status_out_of_memory();
  tensor_fill(b, dtype, shape, out);
  return NULL;
}

hr_status_t hr_tensor_clone(const hr_tensor_t* t, hr_tensor_t* out) {
  hr_tensor_t copy;
  HR_TRY(hr_tensor_create(t->dtype, &t->shape, &copy));
  hr_status_t status = hr_tensor_copy_elements(&copy, 0, t, 0, t->count);
  if (status) {
    hr_tensor_release(&copy);
    return status;
  }
  hr_tensor_move(&copy, out);
  return NULL;
}

hr_status_t hr_tensor_reshape(const hr_tensor_t* t, const hr_shape_t* shape, hr_tensor_t* out) {
  if (hr_shape_count(shape) != t->count) {
    char from[HR_SHAPE_TEXT], to[HR_SHAPE_TEXT];
    return HR_ERROR(INVALID_ARGUMENT, "a tensor of shape %s with %" PRId64 " elements cannot take shape %s with %" PRId64,
                    hr_shape_format(&t->shape, from), t->count, hr_shape_format(shape, to), hr_shape_count(shape));
  }
  hr_shape_t wanted; /* shape may be out's own */
  hr_shape_copy(&wanted, shape);
  hr_tensor_share(t, out);
  hr_shape_copy(&out->shape, &wanted);
  return NULL;
}

hr_status_t hr_tensor_rows(const hr_tensor_t* t, int64_t begin, int64_t end, hr_tensor_t* out) {
  char text[HR_SHAPE_TEXT];
  if (t->shape.rank < 1) return HR_ERROR(INVALID_ARGUMENT, "a scalar has no rows to take");
  if (begin < 0 || end < begin || end > t->shape.dims[0])
    return HR_ERROR(INVALID_ARGUMENT, "rows [%" PRId64 ", %" PRId64 ") are not within a tensor of shape %s", begin, end,
                    hr_shape_format(&t->shape, text));
  int64_t row = hr_shape_count_range(&t->shape, 1, t->shape.rank);
  hr_tensor_share(t, out);
  out->data = (char*)t->data + (size_t)(begin * row) * hr_dtype_size(t->dtype);
  out->count = (end - begin) * row;
  out->shape.dims[0] = end - begin;
  return NULL;
}

size_t hr_tensor_bytes(const hr_tensor_t* t) { return (size_t)t->count * hr_dtype_size(t->dtype); }

bool hr_tensor_equal(const hr_tensor_t* a, const hr_tensor_t* b) {
  if (a->dtype != b->dtype || !hr_shape_equal(&a->shape, &b->shape)) return false;
  if (a->dtype != HR_STRING) return a->data == b->data || a->count == 0 || memcmp(a->data, b->data, hr_tensor_bytes(a)) == 0;
  const hr_tstring_t *x = a->data, *y = b->data;
  for (int64_t i = 0; i < a->count; ++i)
    if (!hr_str_equal(hr_tstring_get(&x[i]), hr_tstring_get(&y[i]))) return false;
  return true;
}

static hr_status_t copy_strings(hr_tstring_t* to, const hr_tstring_t* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) HR_TRY(hr_tstring_set(&to[i], hr_tstring_get(&from[i])));
  return NULL;
}

static void copy_handles(hr_handle_t** to, hr_handle_t* const* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    hr_handle_t* old = to[i];
    to[i] = hr_handle_retain(from[i]);
    hr_handle_release(old);
  }
}

hr_status_t hr_tensor_copy_elements(hr_tensor_t* dst, int64_t at, const hr_tensor_t* src, int64_t from, int64_t count) {
  if (dst->dtype != src->dtype)
    return HR_ERROR(INVALID_ARGUMENT, "cannot copy elements of type %s into a tensor of type %s", hr_dtype_name((int)src->dtype),
                    hr_dtype_name((int)dst->dtype));
  if (count < 0 || at < 0 || from < 0 || count > dst->count - at || count > src->count - from)
    return HR_ERROR(INVALID_ARGUMENT, "cannot copy %" PRId64 " elements from %" PRId64 " of %" PRId64 " to %" PRId64 " of %" PRId64, count,
                    from, src->count, at, dst->count);
  if (!count) return NULL;
  size_t size = hr_dtype_size(src->dtype);
  void* to = (char*)dst->data + (size_t)at * size;
  const void* source = (const char*)src->data + (size_t)from * size;
  if (src->dtype == HR_STRING) return copy_strings(to, source, count);
  if (hr_dtype_is_plain(src->dtype))
    memmove(to, source, (size_t)count * size);
  else
    copy_handles(to, source, count);
  return NULL;
}
