/* SPDX-License-Identifier: Apache-2.0 */
/* String views and the growing string. Number parsing does not depend on the locale. */
#include "base/str.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/sync.h"

int hr_str_compare(hr_str_t a, hr_str_t b) {
  size_t common = a.size < b.size ? a.size : b.size;
  int order = common ? memcmp(a.data, b.data, common) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool hr_str_has_prefix(hr_str_t s, hr_str_t prefix) {
  return s.size >= prefix.size && hr_str_equal((hr_str_t){s.data, prefix.size}, prefix);
}

bool hr_str_has_suffix(hr_str_t s, hr_str_t suffix) {
  return s.size >= suffix.size && (suffix.size == 0 || memcmp(s.data + s.size - suffix.size, suffix.data, suffix.size) == 0);
}

int64_t hr_str_find(hr_str_t s, char c) {
  const char* at = s.size ? memchr(s.data, c, s.size) : NULL;
  return at ? at - s.data : -1;
}

hr_str_t hr_str_slice(hr_str_t s, size_t begin, size_t end) {
  if (end > s.size) end = s.size;
  if (begin > end) begin = end;
  return (hr_str_t){s.data ? s.data + begin : NULL, end - begin};
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

hr_str_t hr_str_trim(hr_str_t s) {
  while (s.size && is_space(s.data[0])) ++s.data, --s.size;
  while (s.size && is_space(s.data[s.size - 1])) --s.size;
  return s;
}

bool hr_str_split(hr_str_t* rest, char separator, hr_str_t* out_part) {
  if (!rest->size) return false;
  int64_t at = hr_str_find(*rest, separator);
  size_t end = at < 0 ? rest->size : (size_t)at;
  *out_part = hr_str_slice(*rest, 0, end);
  *rest = hr_str_slice(*rest, end + (at >= 0), rest->size);
  return true;
}

bool hr_str_parse_i64(hr_str_t s, int64_t* out) {
  bool negative = s.size && s.data[0] == '-';
  if (s.size && (negative || s.data[0] == '+')) ++s.data, --s.size;
  if (!s.size) return false;
  int64_t value = 0; /* kept negative, where INT64_MIN fits */
  for (size_t i = 0; i < s.size; ++i) {
    if (s.data[i] < '0' || s.data[i] > '9') return false;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, s.data[i] - '0', &value)) return false;
  }
  if (!negative && value == INT64_MIN) return false;
  *out = negative ? value : -value;
  return true;
}

static locale_t c_locale;
static void c_locale_make(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static bool parse_terminated(const char* text, size_t size, double* out) {
  static hr_once_t once = HR_ONCE_INIT;
  hr_once_run(&once, c_locale_make);
  char* end;
  double value = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
  if (end != text + size) return false;
  *out = value;
  return true;
}

bool hr_str_parse_double(hr_str_t s, double* out) {
  if (!s.size || is_space(s.data[0])) return false;
  char text[128];
  if (s.size >= sizeof text) {
    char* copy = hr_alloc_copy(s.data, s.size);
    bool good = copy && parse_terminated(copy, s.size, out);
    hr_free(copy);
    return good;
  }
  memcpy(text, s.data, s.size);
  text[s.size] = 0;
  return parse_terminated(text, s.size, out);
}

void hr_strbuf_init(hr_strbuf_t* b) { *b = (hr_strbuf_t){0}; }

void hr_strbuf_deinit(hr_strbuf_t* b) {
  hr_free(b->data);
  hr_strbuf_init(b);
}

/* Room for `size` more bytes and a NUL. */
static bool strbuf_reserve(hr_strbuf_t* b, size_t size) {
  size_t need;
  if (b->failed) return false;
  if (!hr_size_add(b->size, size, &need) || !hr_size_add(need, 1, &need)) return !(b->failed = true);
  if (need <= b->capacity) return true;
  size_t grown = b->capacity < 64 ? 64 : b->capacity + b->capacity / 2;
  if (grown < need) grown = need;
  char* data = hr_alloc_resize(b->data, grown);
  if (!data) return !(b->failed = true);
  b->data = data;
  b->capacity = grown;
  return true;
}

void hr_strbuf_add(hr_strbuf_t* b, const void* data, size_t size) {
  if (!size || !strbuf_reserve(b, size)) return;
  memcpy(b->data + b->size, data, size);
  b->size += size;
  b->data[b->size] = 0;
}

void hr_strbuf_add_str(hr_strbuf_t* b, hr_str_t s) { hr_strbuf_add(b, s.data, s.size); }

void hr_strbuf_format(hr_strbuf_t* b, const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t room = b->failed ? 0 : b->capacity - b->size;
  int length = vsnprintf(room ? b->data + b->size : NULL, room, format, args);
  if (length > 0 && strbuf_reserve(b, (size_t)length)) {
    if ((size_t)length >= room) vsnprintf(b->data + b->size, (size_t)length + 1, format, again);
    b->size += (size_t)length;
  }
  if (length < 0) b->failed = true;
  va_end(again);
  va_end(args);
}

hr_status_t hr_strbuf_take(hr_strbuf_t* b, char** out_data, size_t* out_size) {
  if (!b->failed && !b->data) (void)strbuf_reserve(b, 0);
  if (b->failed) {
    hr_strbuf_deinit(b);
    return hr_status_out_of_memory();
  }
  b->data[b->size] = 0;
  *out_data = b->data;
  if (out_size) *out_size = b->size;
  hr_strbuf_init(b);
  return NULL;
}
