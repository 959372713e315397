/* SPDX-License-Identifier: Apache-2.0 */
/* The log's public side: listeners, levels, plugins' own messages. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "capi/handles.h"
#include "headrace/log.h"
#include "tensorflow/c/logging.h"

enum { LOG_LINE = 2048 };

static _Atomic(void (*)(const char*)) log_listener;

static void log_to_listener(hr_log_level_t level, const char* message, void* arg) {
  static const char letters[] = "DIWE";
  void (*listener)(const char*) = atomic_load(&log_listener);
  char line[LOG_LINE];
  (void)arg;
  snprintf(line, sizeof line, "%c %s", letters[level], message);
  fprintf(stderr, "headrace %s\n", line);
  if (listener) listener(line);
}

void TF_RegisterLogListener(void (*listener)(const char*)) {
  atomic_store(&log_listener, listener);
  hr_log_set_sink(listener ? log_to_listener : NULL, NULL);
}

void HR_SetLogLevel(HR_LogLevel level) {
  int number = (int)level;
  hr_log_set_level(number < HR_LOG_DEBUG ? HR_LOG_DEBUG : number > HR_LOG_NONE ? HR_LOG_NONE : (hr_log_level_t)number);
}
HR_LogLevel HR_GetLogLevel(void) { return (HR_LogLevel)hr_log_level(); }

/* The sink's level type is ours, the client's is the public one: the same numbers. */
static struct {
  hr_mutex_t mu;
  void (*sink)(HR_LogLevel level, const char* message, void* arg);
  void* arg;
} log_sink = {HR_MUTEX_INIT, NULL, NULL};

static void log_to_sink(hr_log_level_t level, const char* message, void* arg) {
  (void)arg;
  hr_mutex_lock(&log_sink.mu);
  if (log_sink.sink) log_sink.sink((HR_LogLevel)level, message, log_sink.arg);
  hr_mutex_unlock(&log_sink.mu);
}

void HR_SetLogSink(void (*sink)(HR_LogLevel level, const char* message, void* arg), void* arg) {
  hr_mutex_lock(&log_sink.mu);
  log_sink.sink = sink;
  log_sink.arg = arg;
  hr_mutex_unlock(&log_sink.mu);
  hr_log_set_sink(sink ? log_to_sink : NULL, NULL);
}

/* --- plugins ------------------------------------------------------------------------------------------------------------------------- */
static void log_format(hr_log_level_t level, const char* fmt, va_list args) {
  char line[LOG_LINE];
  if (level < hr_log_level() || !fmt) return;
  vsnprintf(line, sizeof line, fmt, args);
  hr_log(level, "%s", line);
}

void TF_Log(TF_LogLevel level, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  log_format(level <= TF_INFO ? HR_LOG_INFO : level == TF_WARNING ? HR_LOG_WARNING : HR_LOG_ERROR, fmt, args);
  va_end(args);
}

void TF_VLog(int level, const char* fmt, ...) {
  va_list args;
  (void)level;
  va_start(args, fmt);
  log_format(HR_LOG_DEBUG, fmt, args);
  va_end(args);
}

void TF_DVLog(int level, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
#ifndef NDEBUG
  log_format(HR_LOG_DEBUG, fmt, args);
#endif
  (void)level;
  va_end(args);
}
