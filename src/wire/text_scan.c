/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner of protobuf text. Numbers are cut out, not converted: what they may be depends on the field. */
#include "wire/text_scan.h"

hr_status_t hr_text_scan_error(const hr_text_scan_t* s, hr_code_t code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hr_status_t status = hr_status_create_v(code, __FILE__, __LINE__, format, args);
  va_end(args);
  return hr_status_note(status, "text line %d, column %d: ", s->line, (int)(s->text.data - s->line_start) + 1);
}

static bool scan_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool scan_is_digit(char c) { return c >= '0' && c <= '9'; }

static void scan_skip_space(hr_text_scan_t* s) {
  for (; s->at < s->end; ++s->at) {
    char c = *s->at;
    if (c == '#') {
      while (s->at < s->end && *s->at != '\n') ++s->at;
      if (s->at == s->end) return;
      c = '\n';
    }
    if (c == '\n') {
      ++s->line;
      s->line_start = s->at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
      return;
    }
  }
}

static hr_status_t scan_string(hr_text_scan_t* s) {
  char quote = *s->at;
  const char* p = s->at + 1;
  for (; p < s->end && *p != quote; ++p) {
    if (*p == '\n') break;
    if (*p == '\\') ++p;
  }
  s->text = (hr_str_t){s->at, 1};
  if (p >= s->end || *p != quote) return hr_text_scan_error(s, HR_INVALID_ARGUMENT, "a string without an end");
  s->text.size = (size_t)(p + 1 - s->at);
  s->at = p + 1;
  return NULL;
}

static void scan_number(hr_text_scan_t* s) {
  const char* p = s->at;
  bool hex = s->end - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
  for (; p < s->end; ++p) {
    bool sign_of_exponent = (*p == '+' || *p == '-') && !hex && (p[-1] == 'e' || p[-1] == 'E');
    if (!scan_is_digit(*p) && !scan_is_letter(*p) && *p != '.' && !sign_of_exponent) break;
  }
  s->text = (hr_str_t){s->at, (size_t)(p - s->at)};
  s->at = p;
}

hr_status_t hr_text_scan_next(hr_text_scan_t* s) {
  scan_skip_space(s);
  s->text = (hr_str_t){s->at, 0};
  if (s->at >= s->end) {
    s->token = HR_TOKEN_END;
    return NULL;
  }
  char c = *s->at;
  if (c == '"' || c == '\'') {
    s->token = HR_TOKEN_STRING;
    return scan_string(s);
  }
  if (scan_is_digit(c) || (c == '.' && s->end - s->at > 1 && scan_is_digit(s->at[1]))) {
    s->token = HR_TOKEN_NUMBER;
    scan_number(s);
    return NULL;
  }
  const char* p = s->at + 1;
  s->token = scan_is_letter(c) ? HR_TOKEN_NAME : HR_TOKEN_MARK;
  if (s->token == HR_TOKEN_NAME)
    while (p < s->end && (scan_is_letter(*p) || scan_is_digit(*p))) ++p;
  s->text.size = (size_t)(p - s->at);
  s->at = p;
  return NULL;
}

hr_status_t hr_text_scan_start(hr_text_scan_t* s, hr_str_t text) {
  const char* data = text.data ? text.data : "";
  *s = (hr_text_scan_t){.at = data, .end = data + text.size, .line = 1, .line_start = data};
  return hr_text_scan_next(s);
}

/* --- escapes ------------------------------------------------------------------------------------------------------------------ */
static int scan_digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

/* Up to `most` digits of a base from *p on; the closing quote is none. */
static uint32_t scan_digits(const char** p, int base, int most, int* out_digits) {
  uint32_t v = 0;
  int n = 0;
  for (; n < most && scan_digit_value(**p) < base; ++n, ++*p) v = v * (uint32_t)base + (uint32_t)scan_digit_value(**p);
  *out_digits = n;
  return v;
}

static void scan_put_utf8(uint32_t c, hr_strbuf_t* out) {
  char b[4];
  int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (int i = n - 1; i > 0; --i, c >>= 6) b[i] = (char)(0x80 | (c & 0x3f));
  b[0] = (char)(lead[n] | c);
  hr_strbuf_add(out, b, (size_t)n);
}

/* *p is behind the backslash, before the closing quote: scan_string takes a quote after a backslash for a character. */
static hr_status_t scan_escape(const hr_text_scan_t* s, const char** p, hr_strbuf_t* out) {
  static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
  int digits = 0;
  char c = **p;
  const char* known = c ? strchr(from, c) : NULL;
  if (known) {
    ++*p;
    hr_strbuf_add(out, &to[known - from], 1);
    return NULL;
  }
  if (scan_digit_value(c) < 8) {
    char byte = (char)scan_digits(p, 8, 3, &digits);
    hr_strbuf_add(out, &byte, 1);
    return NULL;
  }
  ++*p;
  uint32_t v = c == 'x' || c == 'X' ? scan_digits(p, 16, 2, &digits) : c == 'u' ? scan_digits(p, 16, 4, &digits)
               : c == 'U' ? scan_digits(p, 16, 8, &digits) : 0;
  if (digits == 0 || (c == 'u' && digits != 4) || (c == 'U' && (digits != 8 || v > 0x10ffff)))
    return hr_text_scan_error(s, HR_INVALID_ARGUMENT, "a string has an unknown escape \\%c", c >= ' ' && c <= '~' ? c : '?');
  char byte = (char)v;
  if (c == 'x' || c == 'X') hr_strbuf_add(out, &byte, 1);
  else scan_put_utf8(v, out);
  return NULL;
}

hr_status_t hr_text_scan_unquote(const hr_text_scan_t* s, hr_strbuf_t* out) {
  const char *p = s->text.data + 1, *end = s->text.data + s->text.size - 1;
  for (;;) {
    const char* run = p;
    while (p < end && *p != '\\') ++p;
    hr_strbuf_add(out, run, (size_t)(p - run));
    if (p >= end) return NULL;
    ++p;
    HR_TRY(scan_escape(s, &p, out));
  }
}
