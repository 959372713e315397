/* SPDX-License-Identifier: Apache-2.0 */
/* Options, log and instruction set, which read the environment once: each case runs in a child of its own. */
#include "base/options.h"
#include <sys/wait.h>
#include <unistd.h>
#include "base/isa.h"
#include "base/log.h"
#include "test.h"

static char logged[4096];
static void keep(hr_log_level_t level, const char* message, void* arg) {
  (void)arg;
  size_t at = strlen(logged);
  snprintf(logged + at, sizeof logged - at, "%d %s\n", (int)level, message);
}

/* Runs the case with NAME=value set; the environment is unread in the child. */
static void in_child(const char* name, const char* value, bool (*body)(void), int line) {
  pid_t child = fork();
  if (child == 0) {
    setenv(name, value, 1);
    hr_log_set_sink(keep, NULL);
    _exit(body() ? 0 : 1);
  }
  int result = -1;
  if (waitpid(child, &result, 0) != child || !WIFEXITED(result) || WEXITSTATUS(result)) hr_test_fail(__FILE__, line, "%s=%s", name, value);
}
#define IN_CHILD(name, value, body) in_child(name, value, body, __LINE__)

static bool threads_are_3(void) { return hr_options()->threads == 3 && !*logged; }
static bool threads_are_default(void) { return hr_options()->threads == 0 && strstr(logged, "HEADRACE_NUM_THREADS"); }
static bool dnn_is_none(void) {
  return strcmp(hr_options()->dnn, "none") == 0 && setenv("HEADRACE_DNN", "x", 1) == 0 && strcmp(hr_options()->dnn, "none") == 0;
}
static bool dnn_is_refused(void) { return !*hr_options()->dnn && strstr(logged, "HEADRACE_DNN"); }
static bool level_is_debug(void) {
  hr_log(HR_LOG_DEBUG, "x=%d", 5);
  return strcmp(logged, "0 x=5\n") == 0;
}
static bool level_is_none(void) {
  hr_log(HR_LOG_ERROR, "x");
  hr_log(HR_LOG_NONE, "x");
  return !*logged && hr_log_level() == HR_LOG_NONE;
}
static bool isa_is_sse2(void) { return hr_isa() == HR_ISA_SSE2 && !*logged; }
static bool isa_is_best(void) { return hr_isa() == hr_isa_best() && strstr(logged, "HEADRACE_ISA is 'quantum'"); }

HR_TEST(integers) {
  IN_CHILD("HEADRACE_NUM_THREADS", "3", threads_are_3);
  IN_CHILD("HEADRACE_NUM_THREADS", "three", threads_are_default);
  IN_CHILD("HEADRACE_NUM_THREADS", "99999999999999999999", threads_are_default);
}

HR_TEST(texts) {
  static char text[20000];
  memset(text, 'x', sizeof text - 1);
  IN_CHILD("HEADRACE_DNN", "none", dnn_is_none);
  IN_CHILD("HEADRACE_DNN", text, dnn_is_refused);
}

HR_TEST(log_levels) {
  IN_CHILD("HEADRACE_LOG", "0", level_is_debug);
  IN_CHILD("HEADRACE_LOG", "-5", level_is_debug);
  IN_CHILD("HEADRACE_LOG", "4", level_is_none);
  IN_CHILD("HEADRACE_LOG", "400", level_is_none);
}

HR_TEST(instruction_sets) {
  IN_CHILD("HEADRACE_ISA", "sse2", isa_is_sse2);
  IN_CHILD("HEADRACE_ISA", "quantum", isa_is_best);
  HR_CHECK_STR(hr_isa_name(HR_ISA_AVX512), "avx512");
  HR_CHECK_STR(hr_isa_name((hr_isa_t)77), "unknown");
  hr_isa_force(HR_ISA_AVX512);
  HR_CHECK(hr_isa() <= hr_isa_best());
  hr_isa_force(HR_ISA_SSE2);
  HR_CHECK(hr_isa() == HR_ISA_SSE2);
}

HR_TEST(long_messages_are_cut) {
  static char text[10000];
  memset(text, 'y', sizeof text - 1);
  hr_log_set_sink(keep, NULL);
  hr_log(HR_LOG_ERROR, "%s", text);
  hr_log_set_sink(NULL, NULL);
  HR_CHECK(strlen(logged) > 1000 && strlen(logged) < 4000);
}

HR_TEST_MAIN()
