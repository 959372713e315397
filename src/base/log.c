/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one formatted line per call, handed to the sink under a mutex, so lines of different threads never mix. A sink must
 * not log itself. */
#include "base/log.h"
#include <stdatomic.h>
#include <stdio.h>
#include "base/options.h"
#include "base/sync.h"

enum { LEVEL_FROM_OPTIONS = -1, LOG_LINE = 2048 };

static atomic_int level_now = LEVEL_FROM_OPTIONS;
static hr_mutex_t sink_mutex = HR_MUTEX_INIT;
static hr_log_sink_t sink; /* under sink_mutex; NULL: standard error */
static void* sink_arg;

hr_log_level_t hr_log_level(void) {
  int level = atomic_load_explicit(&level_now, memory_order_relaxed);
  if (level == LEVEL_FROM_OPTIONS) {
    int64_t wanted = hr_options()->log_level;
    level = wanted < HR_LOG_DEBUG ? HR_LOG_DEBUG : wanted > HR_LOG_NONE ? HR_LOG_NONE : (int)wanted;
    int expected = LEVEL_FROM_OPTIONS;
    if (!atomic_compare_exchange_strong(&level_now, &expected, level)) level = expected;
  }
  return (hr_log_level_t)level;
}

void hr_log_set_level(hr_log_level_t level) { atomic_store(&level_now, (int)level); }

void hr_log_set_sink(hr_log_sink_t new_sink, void* arg) {
  hr_mutex_lock(&sink_mutex);
  sink = new_sink;
  sink_arg = arg;
  hr_mutex_unlock(&sink_mutex);
}

void hr_log(hr_log_level_t level, const char* format, ...) {
  static const char letters[] = "DIWE";
  if (level < hr_log_level() || level >= HR_LOG_NONE) return;
  char line[LOG_LINE]; /* longer messages are cut: logging must not fail or allocate */
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  hr_mutex_lock(&sink_mutex);
  if (sink)
    sink(level, line, sink_arg);
  else
    fprintf(stderr, "headrace %c %s\n", letters[level], line);
  hr_mutex_unlock(&sink_mutex);
}
