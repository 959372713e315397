/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf text to wire bytes. Repeated scalars are written one by one (readers take both forms); enum values by name or number. */
#include <math.h>
#include <stdio.h>
#include "wire/text.h"
#include "wire/text_scan.h"

typedef struct {
  hr_text_scan_t scan;
  hr_writer_t* out;
  hr_strbuf_t string; /* scratch for unquoting */
  int depth;
} text_reader_t;

static hr_status_t text_read_fields(text_reader_t* r, const ProtobufCMessageDescriptor* type, char close);

static hr_status_t text_expected(const text_reader_t* r, const char* what) {
  return hr_text_scan_error(&r->scan, HR_INVALID_ARGUMENT, "expected %s, found '%.*s'", what,
                            (int)(r->scan.text.size > 60 ? 60 : r->scan.text.size),
                            r->scan.text.data);
}

static bool text_take(text_reader_t* r, char mark, hr_status_t* status) {
  if (!hr_text_scan_is(&r->scan, mark)) return false;
  *status = hr_text_scan_next(&r->scan);
  return true;
}

/* --- numbers ------------------------------------------------------------------------------------------------------------------ */
/* Decimal, 0x hexadecimal or 0 octal digits. */
static bool text_digits(hr_str_t s, uint64_t* out) {
  int base = 10;
  size_t i = 0;
  uint64_t v = 0;
  if (s.size > 2 && s.data[0] == '0' && (s.data[1] == 'x' || s.data[1] == 'X')) base = 16, i = 2;
  else if (s.size > 1 && s.data[0] == '0') base = 8, i = 1;
  for (; i < s.size; ++i) {
    char c = s.data[i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    if (digit >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, (uint64_t)digit, &v)) return false;
  }
  *out = v;
  return true;
}

static hr_status_t text_read_integer(text_reader_t* r, bool is_signed, int bits, uint64_t* out) {
  hr_status_t status = NULL;
  bool negative = text_take(r, '-', &status);
  HR_TRY(status);
  uint64_t v, most = is_signed ? (UINT64_C(1) << (bits - 1)) - !negative : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  if (r->scan.token != HR_TOKEN_NUMBER || (negative && !is_signed) || !text_digits(r->scan.text, &v) || v > most)
    return text_expected(r, is_signed ? bits == 32 ? "an int32" : "an int64" : bits == 32 ? "a uint32" : "a uint64");
  *out = negative ? ~v + 1 : v;
  return hr_text_scan_next(&r->scan);
}

static bool text_is_word(hr_str_t s, const char* lower) {
  if (s.size != strlen(lower)) return false;
  for (size_t i = 0; i < s.size; ++i)
    if ((s.data[i] | 32) != lower[i]) return false;
  return true;
}

/* Of a number's token: hexadecimal digits, or a decimal number with or without an f at its end. */
static bool text_real_number(hr_str_t s, double* out) {
  uint64_t digits;
  if (s.size > 1 && (s.data[1] | 32) == 'x') {
    if (!text_digits(s, &digits)) return false;
    *out = (double)digits;
    return true;
  }
  bool has_suffix = (s.data[s.size - 1] | 32) == 'f';
  return hr_str_parse_double(hr_str_slice(s, 0, s.size - has_suffix), out);
}

static hr_status_t text_read_real(text_reader_t* r, double* out) {
  hr_status_t status = NULL;
  bool negative = text_take(r, '-', &status);
  HR_TRY(status);
  hr_str_t text = r->scan.text;
  bool is_name = r->scan.token == HR_TOKEN_NAME;
  if (is_name && (text_is_word(text, "inf") || text_is_word(text, "infinity"))) *out = (double)INFINITY;
  else if (is_name && text_is_word(text, "nan")) *out = (double)NAN;
  else if (r->scan.token != HR_TOKEN_NUMBER || !text_real_number(text, out)) return text_expected(r, "a number");
  if (negative) *out = -*out;
  return hr_text_scan_next(&r->scan);
}

static hr_status_t text_read_bool(text_reader_t* r, uint64_t* out) {
  static const char* const words[] = {"false", "False", "f", "0", "true", "True", "t", "1"};
  for (int i = 0; i < 8; ++i)
    if (hr_str_is(r->scan.text, words[i])) { /* a string's text has its quotes */
      *out = i >= 4;
      return hr_text_scan_next(&r->scan);
    }
  return text_expected(r, "true or false");
}

static hr_status_t text_read_enum(text_reader_t* r, const ProtobufCEnumDescriptor* type, uint64_t* out) {
  if (r->scan.token != HR_TOKEN_NAME) return text_read_integer(r, true, 32, out);
  for (unsigned i = 0; i < type->n_value_names; ++i)
    if (hr_str_is(r->scan.text, type->values_by_name[i].name)) {
      *out = (uint64_t)(int64_t)type->values[type->values_by_name[i].index].value;
      return hr_text_scan_next(&r->scan);
    }
  return hr_text_scan_error(&r->scan, HR_INVALID_ARGUMENT, "%s has no value '%.*s'", type->name, HR_STR_ARG(r->scan.text));
}

/* --- values ------------------------------------------------------------------------------------------------------------------- */
static hr_status_t text_read_string(text_reader_t* r, uint32_t number) {
  if (r->scan.token != HR_TOKEN_STRING) return text_expected(r, "a string");
  r->string.size = 0;
  while (r->scan.token == HR_TOKEN_STRING) {
    HR_TRY(hr_text_scan_unquote(&r->scan, &r->string));
    HR_TRY(hr_text_scan_next(&r->scan));
  }
  if (r->string.failed) return hr_status_out_of_memory();
  hr_writer_bytes(r->out, number, r->string.data, r->string.size);
  return NULL;
}

static hr_status_t text_read_submessage(text_reader_t* r, const ProtobufCFieldDescriptor* field) {
  hr_status_t status = NULL;
  char close = '}';
  if (text_take(r, '<', &status)) close = '>';
  else if (!text_take(r, '{', &status)) return text_expected(r, "'{'");
  HR_TRY(status);
  hr_writer_mark_t mark = hr_writer_begin(r->out, field->id, 0);
  HR_TRY(text_read_fields(r, field->descriptor, close));
  hr_writer_end(r->out, mark, 0);
  return NULL;
}

static hr_status_t text_read_floating(text_reader_t* r, const ProtobufCFieldDescriptor* field) {
  double d;
  HR_TRY(text_read_real(r, &d));
  if (field->type == PROTOBUF_C_TYPE_FLOAT) hr_writer_f32(r->out, field->id, (float)d);
  else hr_writer_f64(r->out, field->id, d);
  return NULL;
}

static uint64_t text_zigzag(uint64_t v) { return v << 1 ^ (v >> 63 ? UINT64_MAX : 0); }

static hr_status_t text_read_value(text_reader_t* r, const ProtobufCFieldDescriptor* field) {
  uint64_t v;
  switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE: return text_read_submessage(r, field);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES: return text_read_string(r, field->id);
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_DOUBLE: return text_read_floating(r, field);
    case PROTOBUF_C_TYPE_BOOL: HR_TRY(text_read_bool(r, &v)); break;
    case PROTOBUF_C_TYPE_ENUM: HR_TRY(text_read_enum(r, field->descriptor, &v)); break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32: HR_TRY(text_read_integer(r, true, 32, &v)); break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: HR_TRY(text_read_integer(r, true, 64, &v)); break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: HR_TRY(text_read_integer(r, false, 32, &v)); break;
    default: HR_TRY(text_read_integer(r, false, 64, &v)); break;
  }
  switch (field->type) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32: hr_writer_fixed32(r->out, field->id, (uint32_t)v); break;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64: hr_writer_fixed64(r->out, field->id, v); break;
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SINT64: hr_writer_u64(r->out, field->id, text_zigzag(v)); break;
    default: hr_writer_u64(r->out, field->id, v); break;
  }
  return NULL;
}

static hr_status_t text_read_list(text_reader_t* r, const ProtobufCFieldDescriptor* field) {
  hr_status_t status = NULL;
  if (field->label != PROTOBUF_C_LABEL_REPEATED)
    return hr_text_scan_error(&r->scan, HR_INVALID_ARGUMENT, "field '%s' takes one value, not a list", field->name);
  bool closed = text_take(r, ']', &status);
  while (!status && !closed) {
    HR_TRY(text_read_value(r, field));
    closed = text_take(r, ']', &status);
    if (!closed && !text_take(r, ',', &status)) return text_expected(r, "',' or ']'");
  }
  return status;
}

static hr_status_t text_read_field(text_reader_t* r, const ProtobufCMessageDescriptor* type) {
  hr_status_t status = NULL;
  char name[128];
  if (hr_text_scan_is(&r->scan, '['))
    return hr_text_scan_error(&r->scan, HR_UNIMPLEMENTED, "extension and Any names in brackets are not supported");
  if (r->scan.token != HR_TOKEN_NAME) return text_expected(r, "a field name");
  snprintf(name, sizeof name, "%.*s", HR_STR_ARG(hr_str_slice(r->scan.text, 0, sizeof name)));
  const ProtobufCFieldDescriptor* field = protobuf_c_message_descriptor_get_field_by_name(type, name);
  if (!field) return hr_text_scan_error(&r->scan, HR_INVALID_ARGUMENT, "message %s has no field '%s'", type->name, name);
  HR_TRY(hr_text_scan_next(&r->scan));
  bool colon = text_take(r, ':', &status);
  HR_TRY(status);
  if (!colon && field->type != PROTOBUF_C_TYPE_MESSAGE) return text_expected(r, "':'");
  if (text_take(r, '[', &status)) status = status ? status : text_read_list(r, field);
  else status = text_read_value(r, field);
  if (!status && !text_take(r, ',', &status)) (void)text_take(r, ';', &status);
  return status;
}

/* Fields up to the closing mark (or the end, for close 0). */
static hr_status_t text_read_fields(text_reader_t* r, const ProtobufCMessageDescriptor* type, char close) {
  hr_status_t status = NULL;
  if (r->depth == HR_MESSAGES_DEPTH)
    return hr_text_scan_error(&r->scan, HR_INVALID_ARGUMENT, "message nests more than %d deep", HR_MESSAGES_DEPTH);
  r->depth += 1;
  for (;;) {
    if (close && text_take(r, close, &status)) break;
    if (r->scan.token == HR_TOKEN_END) {
      if (close) status = text_expected(r, "the end of the message");
      break;
    }
    HR_TRY(text_read_field(r, type));
  }
  r->depth -= 1;
  return status;
}

hr_status_t hr_text_parse(const ProtobufCMessageDescriptor* type, hr_str_t text, hr_writer_t* out) {
  text_reader_t r = {.out = out};
  hr_strbuf_init(&r.string);
  hr_status_t status = hr_text_scan_start(&r.scan, text);
  if (!status) status = text_read_fields(&r, type, 0);
  if (!status && out->failed) status = hr_status_out_of_memory();
  hr_strbuf_deinit(&r.string);
  return status;
}
