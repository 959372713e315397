/* SPDX-License-Identifier: Apache-2.0 */
/* A status: NULL is success, anything else an immutable, refcounted record of one failure.
 *
 * Success costs nothing: a status is one pointer and OK is zero. A failure carries TensorFlow's code, a message that says
 * what was wrong, where and what would be right, and the source line that made it. One failure may reach many waiters,
 * hence the reference count. Out of memory and cancellation have static instances, so reporting them never allocates;
 * if a message cannot be allocated, the static out-of-memory status is given in its place.
 *
 * Who gets a status owns one reference: pass it on, or release it. Messages are lower case, without a full stop. */
#ifndef HR_BASE_STATUS_H
#define HR_BASE_STATUS_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
#define HR_CODE(name, number) HR_##name = number,
#include "base/codes.def"
#undef HR_CODE
  HR_CODE_COUNT
} hr_code_t;

typedef const struct hr_status* hr_status_t;

#if defined(__GNUC__)
#define HR_MUST_USE __attribute__((warn_unused_result))
#define HR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HR_MUST_USE
#define HR_PRINTF(fmt, args)
#endif

/* Makes a failure; `file` is a literal. Never returns NULL. */
HR_MUST_USE hr_status_t hr_status_create(hr_code_t code, const char* file, int line, const char* format, ...) HR_PRINTF(4, 5);
HR_MUST_USE hr_status_t hr_status_create_v(hr_code_t code, const char* file, int line, const char* format, va_list args);
#define HR_ERROR(code, ...) hr_status_create(HR_##code, __FILE__, __LINE__, __VA_ARGS__)

HR_MUST_USE hr_status_t hr_status_out_of_memory(void); /* RESOURCE_EXHAUSTED, static */
HR_MUST_USE hr_status_t hr_status_cancelled(void);     /* CANCELLED, static */

/* Consumes `take_status` and returns the same failure with text before its message, a ": " between them unless the text ends in a
 * space (note "node 'x' (Add)" gives "node 'x' (Add): ..."). OK stays OK. */
HR_MUST_USE hr_status_t hr_status_note(hr_status_t take_status, const char* format, ...) HR_PRINTF(2, 3);
/* Adds a key and value that travel with the failure (TF_SetPayload); consumes and returns like hr_status_note. */
HR_MUST_USE hr_status_t hr_status_with_payload(hr_status_t take_status, const char* key, const char* value);
void hr_status_each_payload(hr_status_t status, void (*visit)(const char* key, const char* value, void* arg), void* arg);

hr_status_t hr_status_retain(hr_status_t status);
void hr_status_release(hr_status_t status); /* accepts NULL */

hr_code_t hr_status_code(hr_status_t status);
const char* hr_status_message(hr_status_t status); /* "" for OK; lives as long as the status */
const char* hr_status_origin(hr_status_t status, int* out_line);
const char* hr_status_code_name(hr_code_t code); /* "INVALID_ARGUMENT" */

/* Keeps the first of two failures in *first and releases the other. */
void hr_status_merge(hr_status_t* first, hr_status_t take_second);

/* Leaves the calling function on failure; for functions that have nothing to clean up. */
#define HR_TRY(expr)                  \
  do {                                \
    hr_status_t status_ = (expr);     \
    if (__builtin_expect(status_ != NULL, 0)) return status_; \
  } while (0)

#endif
