/* SPDX-License-Identifier: Apache-2.0 */
/* Small tensors as C values and back: the shapes, axes, sizes and names that ops are steered by. */
#include <inttypes.h>
#include "tensor/tensor.h"

static hr_status_t i64_of_unsigned(uint64_t value, int64_t* out) {
  if (value > INT64_MAX) return HR_ERROR(INVALID_ARGUMENT, "%" PRIu64 " does not fit int64", value);
  *out = (int64_t)value;
  return NULL;
}

hr_status_t hr_tensor_i64_at(const hr_tensor_t* t, int64_t index, int64_t* out) {
  if (index < 0 || index >= t->count)
    return HR_ERROR(INVALID_ARGUMENT, "element %" PRId64 " of a tensor that has %" PRId64, index, t->count);
  switch (t->dtype) {
    case HR_I8: *out = ((const int8_t*)t->data)[index]; return NULL;
    case HR_I16: *out = ((const int16_t*)t->data)[index]; return NULL;
    case HR_I32: *out = ((const int32_t*)t->data)[index]; return NULL;
    case HR_I64: *out = ((const int64_t*)t->data)[index]; return NULL;
    case HR_U8: *out = ((const uint8_t*)t->data)[index]; return NULL;
    case HR_U16: *out = ((const uint16_t*)t->data)[index]; return NULL;
    case HR_U32: *out = ((const uint32_t*)t->data)[index]; return NULL;
    case HR_U64: return i64_of_unsigned(((const uint64_t*)t->data)[index], out);
    default: return HR_ERROR(INVALID_ARGUMENT, "a tensor of type %s where one of integers should be", hr_dtype_name((int)t->dtype));
  }
}

static hr_status_t one_element_check(const hr_tensor_t* t, const char* what) {
  if (t->count == 1) return NULL;
  char text[HR_SHAPE_TEXT];
  const size_t length = strlen(what);
  hr_shape_format(&t->shape, text);
  if (length > 0 && what[length - 1] == ' ') return HR_ERROR(INVALID_ARGUMENT, "%s%s", what, text);
  return HR_ERROR(INVALID_ARGUMENT, "%s must be a scalar, not shape %s", what, text);
}

hr_status_t hr_tensor_scalar_i64(const hr_tensor_t* t, const char* what, int64_t* out) {
  HR_TRY(one_element_check(t, what));
  return hr_status_note(hr_tensor_i64_at(t, 0, out), "%s", what);
}

hr_status_t hr_tensor_scalar_str(const hr_tensor_t* t, const char* what, hr_str_t* out) {
  HR_TRY(one_element_check(t, what));
  if (t->dtype != HR_STRING) return HR_ERROR(INVALID_ARGUMENT, "%s must be a string, has type %s", what, hr_dtype_name((int)t->dtype));
  *out = hr_tstring_get(t->data);
  return NULL;
}

hr_status_t hr_tensor_to_shape(const hr_tensor_t* t, hr_shape_t* out) {
  char text[HR_SHAPE_TEXT];
  if (t->shape.rank != 1) return HR_ERROR(INVALID_ARGUMENT, "a shape must be a vector, has shape %s", hr_shape_format(&t->shape, text));
  int64_t dims[HR_MAX_RANK];
  for (int64_t i = 0; i < t->count && i < HR_MAX_RANK; ++i) HR_TRY(hr_tensor_i64_at(t, i, &dims[i]));
  return hr_shape_make(t->count, dims, out); /* checks the rank before it reads dims */
}

static hr_status_t scalar_create(hr_dtype_t dtype, hr_tensor_t* out) {
  hr_shape_t scalar = hr_shape_scalar();
  return hr_tensor_create(dtype, &scalar, out);
}

hr_status_t hr_tensor_from_f32(float value, hr_tensor_t* out) {
  HR_TRY(scalar_create(HR_F32, out));
  *(float*)out->data = value;
  return NULL;
}

hr_status_t hr_tensor_from_i32(int32_t value, hr_tensor_t* out) {
  HR_TRY(scalar_create(HR_I32, out));
  *(int32_t*)out->data = value;
  return NULL;
}

static hr_status_t i32_store(const int64_t* values, int64_t count, int32_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < INT32_MIN || values[i] > INT32_MAX) return HR_ERROR(INVALID_ARGUMENT, "%" PRId64 " does not fit int32", values[i]);
    out[i] = (int32_t)values[i];
  }
  return NULL;
}

hr_status_t hr_tensor_from_i64_vec(hr_dtype_t dtype, const int64_t* values, int64_t count, hr_tensor_t* out) {
  if (dtype != HR_I32 && dtype != HR_I64)
    return HR_ERROR(INVALID_ARGUMENT, "a vector of sizes has type %s, should be int32 or int64", hr_dtype_name((int)dtype));
  hr_shape_t shape;
  hr_tensor_t made;
  HR_TRY(hr_shape_make(1, &count, &shape));
  HR_TRY(hr_tensor_create(dtype, &shape, &made));
  hr_status_t status = NULL;
  if (dtype == HR_I32)
    status = i32_store(values, count, made.data);
  else if (count)
    memcpy(made.data, values, (size_t)count * sizeof *values);
  if (status) {
    hr_tensor_release(&made);
    return status;
  }
  hr_tensor_move(&made, out);
  return NULL;
}

hr_status_t hr_tensor_from_str(hr_str_t text, hr_tensor_t* out) {
  hr_tensor_t made;
  HR_TRY(scalar_create(HR_STRING, &made));
  hr_status_t status = hr_tstring_set(made.data, text);
  if (status) {
    hr_tensor_release(&made);
    return status;
  }
  hr_tensor_move(&made, out);
  return NULL;
}

static void print_handle(const hr_handle_t* h, hr_strbuf_t* out) {
  if (h)
    hr_strbuf_format(out, "<%.*s>", HR_STR_ARG(h->name));
  else
    hr_strbuf_format(out, "<none>");
}

static void print_element(const hr_tensor_t* t, int64_t i, hr_strbuf_t* out) {
  const void* p = (const char*)t->data + (size_t)i * hr_dtype_size(t->dtype);
  int64_t integer;
  switch (t->dtype) {
    case HR_F32: hr_strbuf_format(out, "%.9g", (double)*(const float*)p); return;
    case HR_F64: hr_strbuf_format(out, "%.17g", *(const double*)p); return;
    case HR_F16: hr_strbuf_format(out, "%.5g", (double)hr_f16_to_f32(*(const hr_f16_t*)p)); return;
    case HR_BF16: hr_strbuf_format(out, "%.4g", (double)hr_bf16_to_f32(*(const hr_bf16_t*)p)); return;
    case HR_C64: hr_strbuf_format(out, "(%.9g,%.9g)", (double)((const hr_c64_t*)p)->re, (double)((const hr_c64_t*)p)->im); return;
    case HR_C128: hr_strbuf_format(out, "(%.17g,%.17g)", ((const hr_c128_t*)p)->re, ((const hr_c128_t*)p)->im); return;
    case HR_U64: hr_strbuf_format(out, "%" PRIu64, *(const uint64_t*)p); return;
    case HR_BOOL: hr_strbuf_format(out, *(const uint8_t*)p ? "true" : "false"); return;
    case HR_QI8: hr_strbuf_format(out, "%d", *(const int8_t*)p); return;
    case HR_QI16: hr_strbuf_format(out, "%d", *(const int16_t*)p); return;
    case HR_QU16: hr_strbuf_format(out, "%d", *(const uint16_t*)p); return;
    case HR_QI32: hr_strbuf_format(out, "%" PRId32, *(const int32_t*)p); return;
    case HR_STRING: hr_strbuf_format(out, "\"%.*s\"", HR_STR_ARG(hr_tstring_get(p))); return;
    case HR_RESOURCE:
    case HR_VARIANT: print_handle(*(hr_handle_t* const*)p, out); return;
    default: break;
  }
  if (hr_dtype_in(t->dtype, HR_M_INTEGER)) {
    hr_status_release(hr_tensor_i64_at(t, i, &integer)); /* cannot fail for these types */
    hr_strbuf_format(out, "%" PRId64, integer);
    return;
  }
  hr_strbuf_format(out, "0x%02x", *(const uint8_t*)p); /* narrow types: the stored byte */
}

void hr_tensor_print(const hr_tensor_t* t, int most, hr_strbuf_t* out) {
  char text[HR_SHAPE_TEXT];
  hr_strbuf_format(out, "%s%s", hr_dtype_name((int)t->dtype), hr_shape_format(&t->shape, text));
  int64_t shown = t->count < most ? t->count : most;
  for (int64_t i = 0; i < shown; ++i) {
    hr_strbuf_add(out, " ", 1);
    print_element(t, i, out);
  }
  if (shown < t->count) hr_strbuf_add(out, " ...", 4);
}

/* Writes `value` as an element of `dtype`; false for types that are no numbers. */
static bool store_number(hr_dtype_t dtype, double value, void* out) {
  switch (dtype) {
    case HR_F32: *(float*)out = (float)value; return true;
    case HR_F64: *(double*)out = value; return true;
    case HR_F16: *(hr_f16_t*)out = hr_f16_from_f32((float)value); return true;
    case HR_BF16: *(hr_bf16_t*)out = hr_bf16_from_f32((float)value); return true;
    case HR_C64: *(hr_c64_t*)out = (hr_c64_t){(float)value, 0}; return true;
    case HR_C128: *(hr_c128_t*)out = (hr_c128_t){value, 0}; return true;
    case HR_I8: *(int8_t*)out = (int8_t)value; return true;
    case HR_I16: *(int16_t*)out = (int16_t)value; return true;
    case HR_I32: *(int32_t*)out = (int32_t)value; return true;
    case HR_I64: *(int64_t*)out = (int64_t)value; return true;
    case HR_U8: *(uint8_t*)out = (uint8_t)value; return true;
    case HR_U16: *(uint16_t*)out = (uint16_t)value; return true;
    case HR_U32: *(uint32_t*)out = (uint32_t)value; return true;
    case HR_U64: *(uint64_t*)out = (uint64_t)value; return true;
    default: return false;
  }
}

hr_status_t hr_tensor_from_number(hr_dtype_t dtype, double value, hr_tensor_t* out) {
  const hr_shape_t scalar = hr_shape_scalar();
  HR_TRY(hr_tensor_create(dtype, &scalar, out));
  if (store_number(dtype, value, out->data)) return NULL;
  hr_tensor_release(out);
  return HR_ERROR(INTERNAL, "no constant %g of type %s", value, hr_dtype_name((int)dtype));
}
