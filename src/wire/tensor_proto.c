/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto both ways. Two passes: the first finds dtype, shape and content wherever they stand, the second stores typed values
 * straight into the tensor's memory. One row per dtype says which typed field carries it. */
#include "wire/tensor_proto.h"
#include "base/alloc.h"
#include "wire/handle_proto.h"
#include "wire/shape_proto.h"

enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, FLOAT_VAL = 5, DOUBLE_VAL = 6, INT_VAL = 7, STRING_VAL = 8, SCOMPLEX_VAL = 9,
       INT64_VAL = 10, BOOL_VAL = 11, DCOMPLEX_VAL = 12, HALF_VAL = 13, RESOURCE_VAL = 14, UINT32_VAL = 16,
       UINT64_VAL = 17,
       FLOAT8_VAL = 18 };
typedef enum { FORM_VARINT, FORM_FIXED32, FORM_FIXED64, FORM_BYTE, FORM_STRING, FORM_RESOURCE } tensor_form_t;

typedef struct {
  uint8_t field, form, parts; /* parts: values an element is made of (2 for complex) */
} tensor_value_row_t;

static const tensor_value_row_t tensor_value_rows[HR_DTYPE_COUNT] = {
  [HR_F32] = {FLOAT_VAL, FORM_FIXED32, 1}, [HR_F64] = {DOUBLE_VAL, FORM_FIXED64, 1},
  [HR_I32] = {INT_VAL, FORM_VARINT, 1}, [HR_U8] = {INT_VAL, FORM_VARINT, 1}, [HR_I16] = {INT_VAL, FORM_VARINT, 1}, [HR_I8] = {INT_VAL,
      FORM_VARINT, 1},
  [HR_STRING] = {STRING_VAL, FORM_STRING, 1}, [HR_C64] = {SCOMPLEX_VAL, FORM_FIXED32, 2}, [HR_I64] = {INT64_VAL, FORM_VARINT, 1},
  [HR_BOOL] = {BOOL_VAL, FORM_VARINT, 1}, [HR_QI8] = {INT_VAL, FORM_VARINT, 1}, [HR_QU8] = {INT_VAL, FORM_VARINT, 1},
  [HR_QI32] = {INT_VAL, FORM_VARINT, 1}, [HR_BF16] = {HALF_VAL, FORM_VARINT, 1}, [HR_QI16] = {INT_VAL, FORM_VARINT, 1},
  [HR_QU16] = {INT_VAL, FORM_VARINT, 1}, [HR_U16] = {INT_VAL, FORM_VARINT, 1}, [HR_C128] = {DCOMPLEX_VAL, FORM_FIXED64, 2},
  [HR_F16] = {HALF_VAL, FORM_VARINT, 1}, [HR_RESOURCE] = {RESOURCE_VAL, FORM_RESOURCE, 1},
  [HR_U32] = {UINT32_VAL, FORM_VARINT, 1}, [HR_U64] = {UINT64_VAL, FORM_VARINT, 1}, [HR_F8_E5M2] = {FLOAT8_VAL, FORM_BYTE, 1},
  [HR_F8_E4M3FN] = {FLOAT8_VAL, FORM_BYTE, 1}, [HR_F8_E4M3FNUZ] = {FLOAT8_VAL, FORM_BYTE, 1}, [HR_F8_E4M3B11FNUZ] = {FLOAT8_VAL,
      FORM_BYTE, 1},
  [HR_F8_E5M2FNUZ] = {FLOAT8_VAL, FORM_BYTE, 1}, [HR_I4] = {INT_VAL, FORM_VARINT, 1}, [HR_U4] = {INT_VAL, FORM_VARINT, 1},
  [HR_I2] = {INT_VAL, FORM_VARINT, 1}, [HR_U2] = {INT_VAL, FORM_VARINT, 1}, [HR_F4_E2M1FN] = {FLOAT8_VAL, FORM_BYTE, 1},
};

typedef struct {
  uint64_t dtype;
  hr_cursor_t shape, content;
} tensor_head_t;

/* Where typed values go: `at` counts parts. */
typedef struct {
  const tensor_value_row_t* row;
  hr_tensor_t* t;
  uint8_t* out;
  size_t part_size;
  int64_t at, count;
  size_t limit; /* bytes that repeating the last value may take */
} tensor_fill_t;

static hr_status_t tensor_proto_head(hr_cursor_t span, tensor_head_t* head) {
  head->dtype = 0;
  head->shape = head->content = hr_cursor_make(NULL, 0);
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    switch (f.key) {
      case HR_KEY_VARINT(TENSOR_DTYPE): head->dtype = f.value; break;
      case HR_KEY_SPAN(TENSOR_SHAPE): head->shape = f.span; break;
      case HR_KEY_SPAN(TENSOR_CONTENT): head->content = f.span; break;
    }
  }
  return NULL;
}

/* Whether memory of this size may be taken for a message of that size. */
static hr_status_t tensor_proto_check_size(hr_dtype_t dtype, const hr_shape_t* shape, hr_cursor_t span, size_t content, size_t limit) {
  char text[HR_SHAPE_TEXT];
  size_t count = (size_t)hr_shape_count(shape), bytes = 0, data = (size_t)(span.end - span.at);
  if (!hr_size_mul(count, hr_dtype_size(dtype), &bytes))
    return HR_ERROR(INVALID_ARGUMENT, "tensor of shape %s and type %s is larger than memory", hr_shape_format(shape, text),
                    hr_dtype_name(dtype));
  if (content && hr_dtype_is_plain(dtype) && content != bytes)
    return HR_ERROR(INVALID_ARGUMENT, "tensor_content has %zu bytes, shape %s of %s needs %zu", content, hr_shape_format(shape, text),
                    hr_dtype_name(dtype), bytes);
  if (content && dtype == HR_STRING && count > content)
    return HR_ERROR(INVALID_ARGUMENT, "tensor_content has %zu bytes for %zu strings", content, count);
  size_t justified = data * 16; /* the tersest data: 2 bytes for a string of 24 */
  if (bytes > justified && bytes > limit)
    return HR_ERROR(RESOURCE_EXHAUSTED, "tensor of shape %s and type %s takes %zu bytes, its message of %zu bytes may make %zu at most",
                    hr_shape_format(shape, text), hr_dtype_name(dtype), bytes, data, justified > limit ? justified : limit);
  return NULL;
}

/* --- values ------------------------------------------------------------------------------------------------------------------- */
static void tensor_fill_put(tensor_fill_t* fill, uint64_t value) {
  uint8_t* p = fill->out + (size_t)fill->at++ * fill->part_size;
  if (fill->t->dtype == HR_BOOL) value = value != 0;
  uint32_t u32 = (uint32_t)value;
  uint16_t u16 = (uint16_t)value;
  switch (fill->part_size) {
    case 1: *p = (uint8_t)value; break;
    case 2: memcpy(p, &u16, 2); break;
    case 4: memcpy(p, &u32, 4); break;
    case 8: memcpy(p, &value, 8); break;
  }
}

static hr_status_t tensor_fill_packed(tensor_fill_t* fill, hr_cursor_t span) {
  uint64_t value = 0;
  if (fill->row->form != FORM_VARINT) { /* fixed and byte forms: little endian, as in memory */
    size_t have = hr_cursor_left(&span) / fill->part_size, room = (size_t)(fill->count - fill->at);
    if (hr_cursor_left(&span) % fill->part_size)
      return HR_ERROR(INVALID_ARGUMENT, "packed values at byte %zu: %zu bytes are no multiple of %zu", hr_cursor_offset(&span),
                      hr_cursor_left(&span),
                      fill->part_size);
    size_t n = have < room ? have : room;
    if (n) memcpy(fill->out + (size_t)fill->at * fill->part_size, span.at, n * fill->part_size);
    fill->at += (int64_t)n;
    return NULL;
  }
  while (!hr_cursor_is_done(&span)) {
    HR_TRY(hr_cursor_varint(&span, &value));
    if (fill->at < fill->count) tensor_fill_put(fill, value);
  }
  return NULL;
}

static hr_status_t tensor_fill_owned(tensor_fill_t* fill, hr_cursor_t span) {
  if (fill->at >= fill->count) return NULL;
  if (fill->row->form == FORM_STRING) return hr_tstring_set((hr_tstring_t*)fill->t->data + fill->at++, hr_cursor_str(span));
  return hr_handle_proto_decode(span, (hr_handle_t**)fill->t->data + fill->at++);
}

static hr_status_t tensor_fill_field(tensor_fill_t* fill, const hr_field_t* f) {
  if (f->key >> 3 != fill->row->field) return NULL;
  uint32_t wire = f->key & 7;
  switch (fill->row->form) {
    case FORM_STRING:
    case FORM_RESOURCE: return wire == HR_WIRE_SPAN ? tensor_fill_owned(fill, f->span) : NULL;
    case FORM_VARINT: break;
    case FORM_FIXED32: if (wire == HR_WIRE_FIXED64) return NULL; break;
    case FORM_FIXED64: if (wire == HR_WIRE_FIXED32) return NULL; break;
  }
  if (wire == HR_WIRE_SPAN) return tensor_fill_packed(fill, f->span);
  bool fits = fill->row->form == FORM_VARINT ? wire == HR_WIRE_VARINT : wire == HR_WIRE_FIXED32 || wire == HR_WIRE_FIXED64;
  if (fits && fill->row->form != FORM_BYTE && fill->at < fill->count) tensor_fill_put(fill, f->value);
  return NULL;
}

/* The last value again to the end; zeros when there is none. */
static hr_status_t tensor_fill_rest(tensor_fill_t* fill) {
  hr_tensor_t* t = fill->t;
  int64_t elements = fill->at / fill->row->parts;
  if (!hr_dtype_is_plain(t->dtype)) {
    size_t each = elements > 0 && t->dtype == HR_STRING ? hr_tstring_get((hr_tstring_t*)t->data + elements - 1).size : 0, bytes = 0;
    if (!hr_size_mul(each, (size_t)(t->count - elements), &bytes) || bytes > fill->limit)
      return HR_ERROR(RESOURCE_EXHAUSTED, "repeating a string of %zu bytes %lld times", each, (long long)(t->count - elements));
    for (int64_t i = elements; elements > 0 && i < t->count; ++i) HR_TRY(hr_tensor_copy_elements(t, i, t, elements - 1, 1));
    return NULL;
  }
  size_t size = hr_dtype_size(t->dtype), done = (size_t)elements * size, bytes = (size_t)t->count * size;
  if (done == 0 && bytes > 0) memset(fill->out, 0, bytes);
  if (done == 0 || done == bytes) return NULL;
  uint8_t* last = fill->out + done - size;
  size_t have = size, want = bytes - done + size; /* doubles the run that starts at the last value */
  while (have < want) {
    size_t n = have < want - have ? have : want - have;
    memcpy(last + have, last, n);
    have += n;
  }
  return NULL;
}

static hr_status_t tensor_proto_values(hr_cursor_t span, size_t limit, hr_tensor_t* t) {
  const tensor_value_row_t* row = &tensor_value_rows[t->dtype];
  tensor_fill_t fill = {row, t, t->data, hr_dtype_size(t->dtype) / row->parts, 0, t->count * row->parts, limit};
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    HR_TRY(tensor_fill_field(&fill, &f));
  }
  return tensor_fill_rest(&fill);
}

/* All lengths as varints, then all bytes. */
static hr_status_t tensor_proto_string_content(hr_cursor_t content, hr_tensor_t* t) {
  hr_cursor_t lengths = content, bytes = content;
  uint64_t n = 0;
  for (int64_t i = 0; i < t->count; ++i) HR_TRY(hr_cursor_varint(&bytes, &n));
  for (int64_t i = 0; i < t->count; ++i) {
    hr_cursor_t text;
    HR_TRY(hr_cursor_varint(&lengths, &n));
    if (n > hr_cursor_left(&bytes)) return HR_ERROR(INVALID_ARGUMENT, "string %lld of tensor_content runs past the end", (long long)i);
    HR_TRY(hr_cursor_bytes(&bytes, (size_t)n, &text));
    HR_TRY(hr_tstring_set((hr_tstring_t*)t->data + i, hr_cursor_str(text)));
  }
  return hr_cursor_is_done(&bytes) ? NULL : HR_ERROR(INVALID_ARGUMENT, "tensor_content has %zu bytes more than its strings",
                                                     hr_cursor_left(&bytes));
}

/* Raw bytes; any byte but 0 is a true bool, stored as 1: kernels read bools as C does. */
static void tensor_proto_plain_content(hr_cursor_t content, size_t size, hr_tensor_t* t) {
  memcpy(t->data, content.at, size);
  uint8_t* bools = t->data;
  for (size_t i = 0; t->dtype == HR_BOOL && i < size; ++i) bools[i] = bools[i] != 0;
}

hr_status_t hr_tensor_proto_decode(hr_cursor_t span, size_t splat_limit, hr_tensor_t* out) {
  tensor_head_t head;
  hr_shape_t shape;
  HR_TRY(tensor_proto_head(span, &head));
  if (head.dtype == 0 || head.dtype >= HR_DTYPE_COUNT)
    return HR_ERROR(INVALID_ARGUMENT, "tensor has no known dtype: %llu", (unsigned long long)head.dtype);
  hr_dtype_t dtype = (hr_dtype_t)head.dtype;
  size_t content = hr_cursor_left(&head.content);
  HR_TRY(hr_shape_proto_decode(head.shape, &shape));
  HR_TRY(tensor_proto_check_size(dtype, &shape, span, content, splat_limit));
  if (dtype == HR_VARIANT && hr_shape_count(&shape) > 0) return HR_ERROR(UNIMPLEMENTED, "reading variant values from a TensorProto");
  HR_TRY(hr_tensor_create(dtype, &shape, out));
  hr_status_t status = NULL;
  if (content && dtype == HR_STRING) status = tensor_proto_string_content(head.content, out);
  else if (content && hr_dtype_is_plain(dtype)) tensor_proto_plain_content(head.content, content, out);
  else if (out->count > 0) status = tensor_proto_values(span, splat_limit, out);
  if (status) {
    hr_tensor_release(out);
    *out = (hr_tensor_t){0};
  }
  return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------------------ */
size_t hr_tensor_proto_expected(const hr_tensor_t* t) { return hr_tensor_bytes(t) + 16; }

static void tensor_proto_put_single(const hr_tensor_t* t, const tensor_value_row_t* row, hr_writer_t* w) {
  static const hr_dtypes_t is_signed = HR_M_SIGNED | HR_M(QI8) | HR_M(QI16) | HR_M(QI32) | HR_M(I4) | HR_M(I2);
  size_t size = hr_dtype_size(t->dtype);
  if (row->form != FORM_VARINT) {
    hr_writer_bytes(w, row->field, t->data, size);
    return;
  }
  uint64_t value = 0;
  memcpy(&value, t->data, size);
  int unused = 64 - (int)size * 8;
  if (hr_dtype_in(t->dtype, is_signed)) value = (uint64_t)((int64_t)(value << unused) >> unused);
  hr_writer_mark_t mark = hr_writer_begin(w, row->field, 0);
  hr_writer_varint(w, value);
  hr_writer_end(w, mark, 0);
}

static void tensor_proto_put_owned(const hr_tensor_t* t, hr_writer_t* w) {
  for (int64_t i = 0; i < t->count; ++i) {
    if (t->dtype == HR_STRING) {
      hr_writer_str(w, STRING_VAL, hr_tstring_get((const hr_tstring_t*)t->data + i));
      continue;
    }
    hr_writer_mark_t mark = hr_writer_begin(w, RESOURCE_VAL, 0);
    hr_handle_proto_encode(((hr_handle_t* const*)t->data)[i], w);
    hr_writer_end(w, mark, 0);
  }
}

hr_status_t hr_tensor_proto_encode(const hr_tensor_t* t, hr_writer_t* w) {
  if (t->dtype == HR_VARIANT && t->count > 0) return HR_ERROR(UNIMPLEMENTED, "writing variant values to a TensorProto");
  hr_writer_i64(w, TENSOR_DTYPE, t->dtype);
  hr_writer_mark_t mark = hr_writer_begin(w, TENSOR_SHAPE, 0); /* present for scalars too: clients ask whether it is there */
  hr_shape_proto_encode(&t->shape, w);
  hr_writer_end(w, mark, 0);
  if (!hr_dtype_is_plain(t->dtype)) tensor_proto_put_owned(t, w);
  else if (t->count == 1) tensor_proto_put_single(t, &tensor_value_rows[t->dtype], w);
  else if (t->count > 1) hr_writer_bytes(w, TENSOR_CONTENT, t->data, hr_tensor_bytes(t));
  return NULL;
}
