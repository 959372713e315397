/* SPDX-License-Identifier: Apache-2.0 */
/* String views, and a builder that grows. A view borrows its bytes and need not be NUL-terminated. */
#ifndef HR_BASE_STR_H
#define HR_BASE_STR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/status.h"

typedef struct {
  const char* data;
  size_t size;
} hr_str_t;

#define HR_STR(literal) ((hr_str_t){literal, sizeof(literal) - 1})
#define HR_STR_ARG(s) (int)(s).size, (s).data /* for "%.*s" */

static inline hr_str_t hr_str(const char* text) { return (hr_str_t){text, text ? strlen(text) : 0}; }
static inline bool hr_str_equal(hr_str_t a, hr_str_t b) { return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0); }
static inline bool hr_str_is(hr_str_t a, const char* b) { return hr_str_equal(a, hr_str(b)); }
int hr_str_compare(hr_str_t a, hr_str_t b);                    /* bytewise, like memcmp */
bool hr_str_has_prefix(hr_str_t s, hr_str_t prefix);
bool hr_str_has_suffix(hr_str_t s, hr_str_t suffix);
int64_t hr_str_find(hr_str_t s, char c);                       /* -1: not there */
hr_str_t hr_str_slice(hr_str_t s, size_t begin, size_t end);   /* clamped */
hr_str_t hr_str_trim(hr_str_t s);                              /* without spaces at both ends */
bool hr_str_split(hr_str_t* rest, char separator, hr_str_t* out_part); /* false when nothing is left; "a,,b," has the parts a, "", b */
bool hr_str_parse_i64(hr_str_t s, int64_t* out);               /* the whole string, decimal */
bool hr_str_parse_double(hr_str_t s, double* out);             /* the whole string; inf and nan too */

/* A growing string. Errors stick: after out of memory `failed` is set and more text is ignored; check once at the end. */
typedef struct {
  char* data; /* NUL-terminated when size > 0 */
  size_t size, capacity;
  bool failed;
} hr_strbuf_t;

void hr_strbuf_init(hr_strbuf_t* b);
void hr_strbuf_deinit(hr_strbuf_t* b);
void hr_strbuf_add(hr_strbuf_t* b, const void* data, size_t size);
void hr_strbuf_add_str(hr_strbuf_t* b, hr_str_t s);
void hr_strbuf_format(hr_strbuf_t* b, const char* format, ...) HR_PRINTF(2, 3);
HR_MUST_USE hr_status_t hr_strbuf_take(hr_strbuf_t* b, char** out_data, size_t* out_size); /* caller frees with hr_free */
static inline hr_str_t hr_strbuf_view(const hr_strbuf_t* b) { return (hr_str_t){b->data ? b->data : "", b->size}; }
#endif
