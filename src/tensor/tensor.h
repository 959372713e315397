/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor by value: element type, shape, and a counted share of a buffer. Copying the struct does not count; hr_tensor_share does.
 * The zeroed struct is "no tensor" (dtype INVALID), which every release accepts. */
#ifndef HR_TENSOR_TENSOR_H
#define HR_TENSOR_TENSOR_H
#include "tensor/buffer.h"
#include "tensor/handle.h"
#include "tensor/shape.h"
#include "tensor/tstring.h"

typedef struct {
  hr_buffer_t* buffer; /* one reference; NULL in a tensor whose share moved on */
  void* data;          /* first element; row-major, dense */
  int64_t count;       /* elements */
  hr_dtype_t dtype;
  hr_shape_t shape;
} hr_tensor_t;

/* Uninitialised elements (empty strings, NULL handles). RESOURCE_EXHAUSTED names the shape. */
HR_MUST_USE hr_status_t hr_tensor_create(hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out);
HR_MUST_USE hr_status_t hr_tensor_create_zero(hr_dtype_t dtype, const hr_shape_t* shape, hr_tensor_t* out);
/* Foreign memory of `bytes` bytes, enough for the shape (else INVALID_ARGUMENT); free_fn is called at the last release. On failure the
 * caller still owns it. */
HR_MUST_USE hr_status_t hr_tensor_borrow(hr_dtype_t dtype, const hr_shape_t* shape, void* data, size_t bytes, bool read_only,
                                         hr_buffer_free_fn free_fn, void* free_arg, hr_tensor_t* out);
/* A deep copy with own elements. */
HR_MUST_USE hr_status_t hr_tensor_clone(const hr_tensor_t* t, hr_tensor_t* out);
/* The same bytes under another shape of as many elements (INVALID_ARGUMENT otherwise); shares. */
HR_MUST_USE hr_status_t hr_tensor_reshape(const hr_tensor_t* t, const hr_shape_t* shape, hr_tensor_t* out);
/* Rows [begin, end) of the first axis; shares. */
HR_MUST_USE hr_status_t hr_tensor_rows(const hr_tensor_t* t, int64_t begin, int64_t end, hr_tensor_t* out);

/* The value without a reference, for as long as t has its own: never released, shared or moved on by whoever gets it. */
static inline void hr_tensor_lend(const hr_tensor_t* t, hr_tensor_t* out) {
  out->buffer = t->buffer;
  out->data = t->data;
  out->count = t->count;
  out->dtype = t->dtype;
  hr_shape_copy(&out->shape, &t->shape);
}
static inline void hr_tensor_share(const hr_tensor_t* t, hr_tensor_t* out) { /* out: one more reference */
  hr_tensor_lend(t, out);
  hr_buffer_retain(out->buffer);
}
/* t keeps reading rights until its memory changes, but no reference. */
static inline void hr_tensor_move(hr_tensor_t* t, hr_tensor_t* out) {
  hr_tensor_lend(t, out);
  t->buffer = NULL;
}
static inline void hr_tensor_release(hr_tensor_t* t) {
  hr_buffer_t* b = t->buffer;
  t->buffer = NULL;
  hr_buffer_release(b);
}
size_t hr_tensor_bytes(const hr_tensor_t* t); /* count x element size */
bool hr_tensor_equal(const hr_tensor_t* a, const hr_tensor_t* b); /* same type, shape and bits (strings: text) */
/* Copies `count` elements that may own memory from src[from] to dst[at]; dst's old elements are released. */
HR_MUST_USE hr_status_t hr_tensor_copy_elements(hr_tensor_t* dst, int64_t at, const hr_tensor_t* src, int64_t from, int64_t count);

/* Small integer tensors (shapes, axes, sizes) read as int64 whatever integer type they have; INVALID_ARGUMENT for another type. */
HR_MUST_USE hr_status_t hr_tensor_i64_at(const hr_tensor_t* t, int64_t index, int64_t* out);
/* The same and the reverse for an index tensor whose type a signature has checked: int64, int32 (or, read only, int16). */
static inline int64_t hr_tensor_index_at(const hr_tensor_t* t, int64_t i) {
  if (t->dtype == HR_I64) return ((const int64_t*)t->data)[i];
  return t->dtype == HR_I32 ? ((const int32_t*)t->data)[i] : ((const int16_t*)t->data)[i];
}
static inline void hr_tensor_set_index(hr_tensor_t* t, int64_t i, int64_t value) {
  if (t->dtype == HR_I64) ((int64_t*)t->data)[i] = value;
  else ((int32_t*)t->data)[i] = (int32_t)value;
}
/* A scalar (or one-element tensor) as int64; INVALID_ARGUMENT names `what`, which may be a whole demand that ends in a blank. */
HR_MUST_USE hr_status_t hr_tensor_scalar_i64(const hr_tensor_t* t, const char* what, int64_t* out);
HR_MUST_USE hr_status_t hr_tensor_scalar_str(const hr_tensor_t* t, const char* what, hr_str_t* out);
/* A vector of dims as a checked shape. */
HR_MUST_USE hr_status_t hr_tensor_to_shape(const hr_tensor_t* t, hr_shape_t* out);
HR_MUST_USE hr_status_t hr_tensor_from_f32(float value, hr_tensor_t* out); /* a scalar; likewise below */
HR_MUST_USE hr_status_t hr_tensor_from_number(hr_dtype_t dtype, double value, hr_tensor_t* out); /* INTERNAL: no type of numbers */
HR_MUST_USE hr_status_t hr_tensor_from_i32(int32_t value, hr_tensor_t* out);
HR_MUST_USE hr_status_t hr_tensor_from_i64_vec(hr_dtype_t dtype, const int64_t* values, int64_t count,
                                               hr_tensor_t* out); /* dtype int32 or int64 */
HR_MUST_USE hr_status_t hr_tensor_from_str(hr_str_t text, hr_tensor_t* out);
/* First few elements for people: "float[2,2] 1 2 3 4". */
void hr_tensor_print(const hr_tensor_t* t, int most, hr_strbuf_t* out);
#endif
