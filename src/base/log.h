/* SPDX-License-Identifier: Apache-2.0 */
/* Levelled log with one sink: standard error unless the embedder sets another (TF_RegisterLogListener, include/headrace/log.h). */
#ifndef HR_BASE_LOG_H
#define HR_BASE_LOG_H
#include "base/status.h"
typedef enum { HR_LOG_DEBUG, HR_LOG_INFO, HR_LOG_WARNING, HR_LOG_ERROR, HR_LOG_NONE } hr_log_level_t;
typedef void (*hr_log_sink_t)(hr_log_level_t level, const char* message, void* arg);
void hr_log(hr_log_level_t level, const char* format, ...) HR_PRINTF(2, 3);
void hr_log_set_level(hr_log_level_t level);
hr_log_level_t hr_log_level(void);
void hr_log_set_sink(hr_log_sink_t sink, void* arg); /* NULL: standard error again */
#endif
