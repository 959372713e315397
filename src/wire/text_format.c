/* SPDX-License-Identifier: Apache-2.0 */
/* Wire bytes to protobuf text, field by field in the order of the bytes. Floats are written with the fewest digits that read back
 * to the same value; bytes that are not printable ASCII as three octal digits. */
#include <math.h>
#include <stdio.h>
#include "wire/text.h"

typedef struct {
  hr_strbuf_t* out;
  int depth;
} text_printer_t;

static void text_indent(text_printer_t* p) {
  for (int i = 1; i < p->depth; ++i) hr_strbuf_add(p->out, "  ", 2);
}

static void text_put_quoted(hr_strbuf_t* out, hr_str_t s) {
  hr_strbuf_add(out, "\"", 1);
  for (size_t i = 0; i < s.size; ++i) {
    unsigned char c = (unsigned char)s.data[i];
    if (c == '\n') hr_strbuf_add(out, "\\n", 2);
    else if (c == '\r') hr_strbuf_add(out, "\\r", 2);
    else if (c == '\t') hr_strbuf_add(out, "\\t", 2);
    else if (c == '"' || c == '\'' || c == '\\') hr_strbuf_format(out, "\\%c", c);
    else if (c < 0x20 || c > 0x7e) hr_strbuf_format(out, "\\%03o", c);
    else hr_strbuf_add(out, &s.data[i], 1);
  }
  hr_strbuf_add(out, "\"", 1);
}

static void text_put_real(hr_strbuf_t* out, double v, bool is_float) {
  char text[40];
  double back = 0;
  if (!isfinite(v)) {
    hr_strbuf_add_str(out, isnan(v) ? HR_STR("nan") : signbit(v) ? HR_STR("-inf") : HR_STR("inf"));
    return;
  }
  for (int digits = is_float ? 6 : 15; digits <= 17; ++digits) {
    int n = snprintf(text, sizeof text, "%.*g", digits, v);
    for (int i = 0; i < n; ++i) /* a decimal comma, should the locale have one */
      if (!strchr("0123456789+-e", text[i])) text[i] = '.';
    if (hr_str_parse_double(hr_str(text), &back) && (is_float ? (float)back == (float)v : back == v)) break;
  }
  hr_strbuf_add_str(out, hr_str(text));
}

static void text_put_enum(hr_strbuf_t* out, const ProtobufCEnumDescriptor* type, uint64_t value) {
  const ProtobufCEnumValue* v = protobuf_c_enum_descriptor_get_value(type, (int)value);
  if (v) hr_strbuf_add_str(out, hr_str(v->name));
  else hr_strbuf_format(out, "%d", (int)value);
}

static void text_put_scalar(hr_strbuf_t* out, const ProtobufCFieldDescriptor* field, uint64_t v) {
  switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL: hr_strbuf_add_str(out, v ? HR_STR("true") : HR_STR("false")); break;
    case PROTOBUF_C_TYPE_ENUM: text_put_enum(out, field->descriptor, v); break;
    case PROTOBUF_C_TYPE_FLOAT: text_put_real(out, (double)hr_cursor_f32((uint32_t)v), true); break;
    case PROTOBUF_C_TYPE_DOUBLE: text_put_real(out, hr_cursor_f64(v), false); break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SFIXED32: hr_strbuf_format(out, "%d", (int)(uint32_t)v); break;
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SINT64: hr_strbuf_format(out, "%lld", (long long)hr_cursor_unzigzag(v)); break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: hr_strbuf_format(out, "%u", (unsigned)v); break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: hr_strbuf_format(out, "%llu", (unsigned long long)v); break;
    default: hr_strbuf_format(out, "%lld", (long long)v); break;
  }
}

static uint32_t text_wire_type(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32: return HR_WIRE_FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64: return HR_WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return HR_WIRE_SPAN;
    default: return HR_WIRE_VARINT;
  }
}

static void text_print_scalar(text_printer_t* p, const ProtobufCFieldDescriptor* field, uint64_t v) {
  text_indent(p);
  hr_strbuf_format(p->out, "%s: ", field->name);
  text_put_scalar(p->out, field, v);
  hr_strbuf_add(p->out, "\n", 1);
}

static hr_status_t text_print_packed(text_printer_t* p, const ProtobufCFieldDescriptor* field, hr_cursor_t span) {
  uint32_t wire = text_wire_type(field->type), word = 0;
  while (!hr_cursor_is_done(&span)) {
    uint64_t v = 0;
    if (wire == HR_WIRE_FIXED64) HR_TRY(hr_cursor_fixed64(&span, &v));
    else if (wire == HR_WIRE_VARINT) HR_TRY(hr_cursor_varint(&span, &v));
    else HR_TRY(hr_cursor_fixed32(&span, &word));
    text_print_scalar(p, field, wire == HR_WIRE_FIXED32 ? word : v);
  }
  return NULL;
}

static hr_status_t text_print_message(text_printer_t* p, const ProtobufCMessageDescriptor* type, hr_cursor_t span);

static hr_status_t text_print_span(text_printer_t* p, const ProtobufCFieldDescriptor* field, hr_cursor_t span) {
  if (text_wire_type(field->type) != HR_WIRE_SPAN) return text_print_packed(p, field, span);
  text_indent(p);
  if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
    hr_strbuf_format(p->out, "%s: ", field->name);
    text_put_quoted(p->out, hr_cursor_str(span));
    hr_strbuf_add(p->out, "\n", 1);
    return NULL;
  }
  hr_strbuf_format(p->out, "%s {\n", field->name);
  HR_TRY(text_print_message(p, field->descriptor, span));
  text_indent(p);
  hr_strbuf_add(p->out, "}\n", 2);
  return NULL;
}

static hr_status_t text_print_message(text_printer_t* p, const ProtobufCMessageDescriptor* type, hr_cursor_t span) {
  if (p->depth == HR_MESSAGES_DEPTH)
    return HR_ERROR(INVALID_ARGUMENT, "message nests more than %d deep at byte %zu", HR_MESSAGES_DEPTH, hr_cursor_offset(&span));
  p->depth += 1;
  while (!hr_cursor_is_done(&span)) {
    hr_field_t f;
    HR_TRY(hr_cursor_next(&span, &f));
    const ProtobufCFieldDescriptor* field = hr_messages_field(type, f.key >> 3);
    if (!field) continue;
    if ((f.key & 7) == HR_WIRE_SPAN) HR_TRY(text_print_span(p, field, f.span));
    else if ((f.key & 7) == text_wire_type(field->type)) text_print_scalar(p, field, f.value);
  }
  p->depth -= 1;
  return NULL;
}

hr_status_t hr_text_format(const ProtobufCMessageDescriptor* type, const void* data, size_t size, hr_strbuf_t* out) {
  text_printer_t p = {out, 0};
  HR_TRY(text_print_message(&p, type, hr_cursor_make(data, size)));
  return out->failed ? hr_status_out_of_memory() : NULL;
}
