/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as text. A float takes as few digits as give it back: 6 or 9, a double 15 or 17. */
#include "ops/log/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double hr_log_number(const hr_tensor_t* t, int64_t i) {
  switch (t->dtype) {
    case HR_F32: return ((const float*)t->data)[i];
    case HR_F64: return ((const double*)t->data)[i];
    case HR_F16: return hr_f16_to_f32(((const hr_f16_t*)t->data)[i]);
    case HR_BF16: return hr_bf16_to_f32(((const hr_bf16_t*)t->data)[i]);
    case HR_I8: return ((const int8_t*)t->data)[i];
    case HR_U8: return ((const uint8_t*)t->data)[i];
    case HR_I16: return ((const int16_t*)t->data)[i];
    case HR_U16: return ((const uint16_t*)t->data)[i];
    case HR_I32: return ((const int32_t*)t->data)[i];
    case HR_U32: return ((const uint32_t*)t->data)[i];
    case HR_I64: return (double)((const int64_t*)t->data)[i];
    case HR_U64: return (double)((const uint64_t*)t->data)[i];
    case HR_BOOL: return ((const bool*)t->data)[i];
    default: return 0;
  }
}

static void text_double(double v, int few, int many, hr_strbuf_t* out) {
  char text[40];
  if (isnan(v) || isinf(v)) {
    hr_strbuf_format(out, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    return;
  }
  snprintf(text, sizeof text, "%.*g", few, v);
  if (few < 9 ? strtof(text, NULL) != (float)v : strtod(text, NULL) != v) snprintf(text, sizeof text, "%.*g", many, v);
  hr_strbuf_add(out, text, strlen(text));
}

static void text_escaped(hr_str_t s, hr_strbuf_t* out) {
  static const char special[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
  for (size_t i = 0; i < s.size; ++i) {
    const char c = s.data[i], *found = c ? strchr(special, c) : NULL;
    if (found) hr_strbuf_format(out, "\\%c", letters[found - special]);
    else if (c >= 0x20 && c < 0x7f) hr_strbuf_add(out, &c, 1);
    else hr_strbuf_format(out, "\\%03o", (unsigned)(unsigned char)c);
  }
}

static void text_element(const hr_tensor_t* t, int64_t i, hr_strbuf_t* out) {
  int64_t integer;
  switch (t->dtype) {
    case HR_F32: text_double(hr_log_number(t, i), 6, 9, out); return;
    case HR_F16: case HR_BF16: text_double(hr_log_number(t, i), 6, 9, out); return;
    case HR_F64: text_double(hr_log_number(t, i), 15, 17, out); return;
    case HR_U64: hr_strbuf_format(out, "%llu", (unsigned long long)((const uint64_t*)t->data)[i]); return;
    case HR_BOOL: hr_strbuf_format(out, "%d", ((const bool*)t->data)[i]); return;
    case HR_STRING: text_escaped(hr_tstring_get((const hr_tstring_t*)t->data + i), out); return;
    case HR_C64: {
      const hr_c64_t c = ((const hr_c64_t*)t->data)[i];
      hr_strbuf_format(out, "(%g,%g)", (double)c.re, (double)c.im);
      return;
    }
    case HR_C128: {
      const hr_c128_t c = ((const hr_c128_t*)t->data)[i];
      hr_strbuf_format(out, "(%g,%g)", c.re, c.im);
      return;
    }
    default: break;
  }
  hr_status_t status = hr_dtype_in(t->dtype, HR_M_INTEGER) ? hr_tensor_i64_at(t, i, &integer) : NULL;
  if (!status && hr_dtype_in(t->dtype, HR_M_INTEGER)) hr_strbuf_format(out, "%lld", (long long)integer);
  else hr_strbuf_format(out, "<%s>", hr_dtype_name((int)t->dtype));
  hr_status_release(status);
}

static void text_axis(const hr_tensor_t* t, int axis, int64_t limit, int64_t* at, hr_strbuf_t* out) {
  const int64_t n = t->shape.dims[axis];
  const bool last = axis == t->shape.rank - 1;
  for (int64_t i = 0; i < n; ++i) {
    if (*at >= limit) {
      if (last && axis > 0) hr_strbuf_add(out, "...", 3);
      return;
    }
    if (!last) {
      hr_strbuf_add(out, "[", 1);
      text_axis(t, axis + 1, limit, at, out);
      hr_strbuf_add(out, "]", 1);
      continue;
    }
    if (i > 0) hr_strbuf_add(out, " ", 1);
    text_element(t, (*at)++, out);
  }
}

void hr_log_text(const hr_tensor_t* t, int64_t most, hr_strbuf_t* out) {
  const int64_t limit = most < 0 || most > t->count ? t->count : most;
  int64_t at = 0;
  if (t->shape.rank == 0 && limit > 0) text_element(t, 0, out);
  else if (t->count > 0) text_axis(t, 0, limit, &at, out);
  if (t->count > limit) hr_strbuf_add(out, "...", 3);
}
