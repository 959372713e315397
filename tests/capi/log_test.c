/* SPDX-License-Identifier: Apache-2.0 */
/* The log: levels, the client's sink, TensorFlow's listener, messages of plugins. And what else is the whole process's: threads. */
#include "headrace/log.h"

#include "headrace/threads.h"
#include "headrace/version.h"
#include "help.h"
#include "tensorflow/c/logging.h"

static struct {
  int count, level;
  char text[256];
} log_seen;

static void log_note(HR_LogLevel level, const char* message, void* arg) {
  ++*(int*)arg;
  log_seen.level = (int)level;
  snprintf(log_seen.text, sizeof log_seen.text, "%s", message);
}

static void log_listen(const char* line) {
  ++log_seen.count;
  snprintf(log_seen.text, sizeof log_seen.text, "%s", line);
}

TEST(the_level_decides_what_reaches_the_sink) {
  static const struct {
    TF_LogLevel from;
    HR_LogLevel to;
  } rows[] = {{TF_INFO, HR_LEVEL_INFO}, {TF_WARNING, HR_LEVEL_WARNING}, {TF_ERROR, HR_LEVEL_ERROR}, {TF_FATAL, HR_LEVEL_ERROR}};
  HR_LogLevel before = HR_GetLogLevel();
  HR_SetLogSink(log_note, &log_seen.count);
  for (int least = HR_LEVEL_DEBUG; least <= HR_LEVEL_NONE; ++least) {
    HR_SetLogLevel((HR_LogLevel)least);
    CHECK_INT(HR_GetLogLevel(), least);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
      log_seen.count = 0;
      TF_Log(rows[i].from, "message %d of %s", (int)i, "a plugin");
      CHECK_INT(log_seen.count, (int)rows[i].to >= least);
      if (!log_seen.count) continue;
      CHECK_INT(log_seen.level, rows[i].to);
      CHECK_HAS(log_seen.text, " of a plugin");
    }
    log_seen.count = 0;
    TF_VLog(3, "verbose %d", 1);
    CHECK_INT(log_seen.count, least == HR_LEVEL_DEBUG);
  }
  HR_SetLogLevel((HR_LogLevel)77);
  CHECK_INT(HR_GetLogLevel(), HR_LEVEL_NONE);
  log_seen.count = 0;
  TF_DVLog(1, "for debug builds %d", 2);
  CHECK_INT(log_seen.count, 0);
  HR_SetLogSink(NULL, NULL);
  HR_SetLogLevel(before);
}

TEST(a_listener_hears_each_line) {
  HR_LogLevel before = HR_GetLogLevel();
  HR_SetLogLevel(HR_LEVEL_WARNING);
  TF_RegisterLogListener(log_listen);
  log_seen.count = 0;
  TF_Log(TF_WARNING, "%s", "heard");
  CHECK_INT(log_seen.count, 1);
  CHECK_STR(log_seen.text, "W heard");
  TF_Log(TF_INFO, "%s", "too quiet");
  CHECK_INT(log_seen.count, 1);
  HR_SetLogSink(log_note, &log_seen.level); /* takes the listener's place */
  TF_Log(TF_ERROR, "%s", "elsewhere");
  CHECK_INT(log_seen.count, 1);
  CHECK_STR(log_seen.text, "elsewhere");
  HR_SetLogSink(NULL, NULL);
  TF_RegisterLogListener(log_listen);
  TF_RegisterLogListener(NULL);
  TF_Log(TF_ERROR, "%s", "to standard error alone: a test's");
  CHECK_INT(log_seen.count, 1);
  HR_SetLogLevel(before);
}

TEST(threads_are_set_and_told) {
  int before = HR_Threads();
  CHECK(before >= 1);
  HR_SetThreads(3);
  CHECK_INT(HR_Threads(), 3);
  HR_SetThreads(0);
  CHECK(HR_Threads() >= 1);
  HR_SetThreads(before);
  CHECK_INT(HR_Threads(), before);
}

TEST(versions) {
  CHECK_STR(HR_Version(), HR_VERSION_STRING);
  CHECK_HAS(TF_Version(), HR_VERSION_STRING);
  CHECK(HR_GraphVersion() > 1000);
}
TEST_MAIN()
