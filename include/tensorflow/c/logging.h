/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to the library's log from plugins. Where the log goes and from which level on: headrace/log.h; TF_RegisterLogListener. */
#ifndef TENSORFLOW_C_LOGGING_H_
#define TENSORFLOW_C_LOGGING_H_
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TF_LogLevel {
  TF_INFO = 0,
  TF_WARNING = 1,
  TF_ERROR = 2,
  TF_FATAL = 3 /* logged as an error: a message never ends the process */
} TF_LogLevel;

/* One message; fmt is printf's. */
TF_CAPI_EXPORT void TF_Log(TF_LogLevel level, const char* fmt, ...);

/* A verbose message: all levels count as debug here. */
TF_CAPI_EXPORT void TF_VLog(int level, const char* fmt, ...);

/* Like TF_VLog in debug builds of this library; nothing in others. */
TF_CAPI_EXPORT void TF_DVLog(int level, const char* fmt, ...);

#ifdef __cplusplus
}
#endif
#endif
