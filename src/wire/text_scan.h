/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of protobuf text: names, numbers, quoted strings, punctuation. One token of look-ahead; knows line and column. */
#ifndef HR_WIRE_TEXT_SCAN_H
#define HR_WIRE_TEXT_SCAN_H
#include "base/str.h"

typedef enum { HR_TOKEN_END, HR_TOKEN_NAME, HR_TOKEN_NUMBER, HR_TOKEN_STRING, HR_TOKEN_MARK } hr_token_t;
typedef struct {
  const char* at;
  const char* end;
  int line;
  const char* line_start;
  hr_token_t token; /* the one looked at */
  hr_str_t text;    /* its bytes; a string's with quotes */
} hr_text_scan_t;

HR_MUST_USE hr_status_t hr_text_scan_start(hr_text_scan_t* s, hr_str_t text);
HR_MUST_USE hr_status_t hr_text_scan_next(hr_text_scan_t* s);
static inline bool hr_text_scan_is(const hr_text_scan_t* s, char mark) { return s->token == HR_TOKEN_MARK && *s->text.data == mark; }
HR_MUST_USE hr_status_t hr_text_scan_error(const hr_text_scan_t* s, hr_code_t code, const char* format, ...) HR_PRINTF(3, 4);
/* Appends the bytes that a quoted string stands for. */
HR_MUST_USE hr_status_t hr_text_scan_unquote(const hr_text_scan_t* s, hr_strbuf_t* out);
#endif
