/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of a call: a code and, when it failed, a message.
 *
 * Every function that takes a TF_Status* overwrites it: OK on success. One status may serve any number of calls, one thread at a
 * time. Functions of this library accept a NULL status (the outcome is then lost), which others do not. */
#ifndef TENSORFLOW_C_TF_STATUS_H_
#define TENSORFLOW_C_TF_STATUS_H_
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Status TF_Status;

typedef enum TF_Code {
  TF_OK = 0,
  TF_CANCELLED = 1,
  TF_UNKNOWN = 2,
  TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,
  TF_NOT_FOUND = 5,
  TF_ALREADY_EXISTS = 6,
  TF_PERMISSION_DENIED = 7,
  TF_RESOURCE_EXHAUSTED = 8, /* also: out of memory */
  TF_FAILED_PRECONDITION = 9,
  TF_ABORTED = 10,
  TF_OUT_OF_RANGE = 11, /* also: the end of a queue or data set */
  TF_UNIMPLEMENTED = 12,
  TF_INTERNAL = 13,
  TF_UNAVAILABLE = 14,
  TF_DATA_LOSS = 15,
  TF_UNAUTHENTICATED = 16
} TF_Code;

/* A status that is OK. NULL when out of memory. */
TF_CAPI_EXPORT TF_Status* TF_NewStatus(void);

/* Accepts NULL. */
TF_CAPI_EXPORT void TF_DeleteStatus(TF_Status* s);

/* Replaces code and message (copied; NULL is ""); payloads go. An OK status has no message. */
TF_CAPI_EXPORT void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg);

/* Attaches a value to a failure under a key, replacing an earlier one; nothing happens to an OK status. Both are copied. */
TF_CAPI_EXPORT void TF_SetPayload(TF_Status* s, const char* key, const char* value);

/* Calls the visitor once for each payload, in no promised order; the strings live for the call. */
typedef void (*TF_PayloadVisitor)(const char* key, const char* value, void* capture);
TF_CAPI_EXPORT void TF_ForEachPayload(const TF_Status* s, TF_PayloadVisitor visitor, void* capture);

/* From an errno value (ENOENT gives TF_NOT_FOUND...) and what was being done; 0 is OK. */
TF_CAPI_EXPORT void TF_SetStatusFromIOError(TF_Status* s, int error_code, const char* context);

/* The code; TF_OK for NULL. */
TF_CAPI_EXPORT TF_Code TF_GetCode(const TF_Status* s);

/* The message, NUL-terminated, "" when OK; valid until the status is next changed or deleted. */
TF_CAPI_EXPORT const char* TF_Message(const TF_Status* s);

#ifdef __cplusplus
}
#endif
#endif
