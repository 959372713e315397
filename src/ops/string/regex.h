/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions in RE2's syntax, matched against whole strings. The syntax is checked and rewritten here (regex_syntax.c); the engine
 * is PCRE2's breadth-first matcher, which does not backtrack, opened when the first pattern is compiled (regex.c). Without that library
 * compiling gives UNIMPLEMENTED. Text is UTF-8: a string that is not matches nothing. */
#ifndef HR_OPS_STRING_REGEX_H
#define HR_OPS_STRING_REGEX_H
#include "base/str.h"

typedef struct hr_regex hr_regex_t; /* immutable: any number of threads may match */
/* INVALID_ARGUMENT says what is wrong with the pattern. */
HR_MUST_USE hr_status_t hr_regex_create(hr_str_t pattern, hr_regex_t** out);
void hr_regex_destroy(hr_regex_t* r); /* accepts NULL */
/* Whether all of the text matches. RESOURCE_EXHAUSTED when the engine's limits are met. */
HR_MUST_USE hr_status_t hr_regex_match(const hr_regex_t* r, hr_str_t text, bool* out);

/* RE2's syntax in PCRE2's words, without captures. */
HR_MUST_USE hr_status_t hr_regex_translate(hr_str_t pattern, hr_strbuf_t* out);
#endif
