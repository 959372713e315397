/* SPDX-License-Identifier: Apache-2.0 */
/* What the library logs and where. The level at first is the environment's HEADRACE_LOG (else warnings), the place standard error. */
#ifndef HEADRACE_LOG_H_
#define HEADRACE_LOG_H_
#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif
typedef enum HR_LogLevel { HR_LEVEL_DEBUG = 0, HR_LEVEL_INFO = 1, HR_LEVEL_WARNING = 2, HR_LEVEL_ERROR = 3, HR_LEVEL_NONE = 4 } HR_LogLevel;

TF_CAPI_EXPORT void HR_SetLogLevel(HR_LogLevel level); /* the least severe that is logged; NONE: nothing */
TF_CAPI_EXPORT HR_LogLevel HR_GetLogLevel(void);
/* Every message goes to sink(level, text, arg) in place of standard error, from any thread; NULL: standard error again. A message being
 * written while this is called may still reach the old sink. Replaces TF_RegisterLogListener's listener. */
TF_CAPI_EXPORT void HR_SetLogSink(void (*sink)(HR_LogLevel level, const char* message, void* arg), void* arg);
#ifdef __cplusplus
}
#endif
#endif
