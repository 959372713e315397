/* SPDX-License-Identifier: Apache-2.0 */
/* The harness of tests that see public headers only, and short ways to say things through the C API.
 *
 * TEST(name) { ... } registers itself; a failed CHECK goes on, a failed REQUIRE leaves. Arguments choose tests by a part of their name. */
#ifndef HR_TESTS_CAPI_HELP_H
#define HR_TESTS_CAPI_HELP_H
#include "tensorflow/c/c_api.h"
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
  const char* name;
  void (*run)(void);
  struct test_case* next;
} test_case_t;
static test_case_t *test_first, **test_last = &test_first;
static atomic_int test_bad;

#define TEST(test_name)                                                 \
  static void test_run_##test_name(void);                               \
  __attribute__((constructor)) static void test_add_##test_name(void) { \
    static test_case_t t = {#test_name, test_run_##test_name, NULL};    \
    *test_last = &t;                                                    \
    test_last = &t.next;                                                \
  }                                                                     \
  static void test_run_##test_name(void)

__attribute__((format(printf, 3, 4), unused)) static bool test_fail(const char* file, int line, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  printf("%s:%d: %s\n", file, line, text);
  fflush(stdout);
  atomic_fetch_add(&test_bad, 1);
  return false;
}
__attribute__((unused)) static bool test_true(const char* file, int line, bool holds, const char* what) {
  return holds || test_fail(file, line, "not so: %s", what);
}
__attribute__((unused)) static bool test_int(const char* file, int line, const char* what, long long got, long long want) {
  return got == want || test_fail(file, line, "%s is %lld, not %lld", what, got, want);
}
__attribute__((unused)) static bool test_text(const char* file, int line, const char* got, const char* want, bool whole) {
  bool good = got && (whole ? !strcmp(got, want) : strstr(got, want) != NULL);
  return good || test_fail(file, line, "\"%s\", not \"%s\"", got ? got : "(null)", want);
}
__attribute__((unused)) static bool test_near(const char* file, int line, const char* what, double got, double want, double tolerance) {
  return fabs(got - want) <= tolerance || test_fail(file, line, "%s is %.9g, not %.9g", what, got, want);
}

/* Each gives whether it holds. */
#define CHECK(condition) test_true(__FILE__, __LINE__, condition, #condition)
#define CHECK_INT(got, want) test_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_STR(got, want) test_text(__FILE__, __LINE__, got, want, true)
#define CHECK_HAS(got, part) test_text(__FILE__, __LINE__, got, part, false)
#define CHECK_NEAR(got, want, tolerance) test_near(__FILE__, __LINE__, #got, got, want, tolerance)
#define CHECK_BYTES(got, want, n) CHECK(memcmp(got, want, n) == 0)
#define REQUIRE(condition)          \
  do {                              \
    if (!CHECK(condition)) return;  \
  } while (0)

__attribute__((unused)) static int test_main(int argc, char** argv) {
  int passed = 0, failed = 0;
  for (test_case_t* t = test_first; t; t = t->next) {
    bool chosen = argc < 2;
    for (int i = 1; i < argc; ++i) chosen |= strstr(t->name, argv[i]) != NULL;
    if (!chosen) continue;
    atomic_store(&test_bad, 0);
    t->run();
    if (test_bad) printf("FAILED %s\n", t->name);
    ++*(test_bad ? &failed : &passed);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed || !passed;
}
#define TEST_MAIN() \
  int main(int argc, char** argv) { return test_main(argc, argv); }

__attribute__((unused)) static bool test_status(const char* file, int line, const TF_Status* s, TF_Code want) {
  return TF_GetCode(s) == want || test_fail(file, line, "status %d (%s), not %d", (int)TF_GetCode(s), TF_Message(s), (int)want);
}
#define CHECK_TF_OK(s) test_status(__FILE__, __LINE__, s, TF_OK)
#define CHECK_TF_CODE(s, code) test_status(__FILE__, __LINE__, s, code)

__attribute__((unused)) static TF_Tensor* help_floats(const int64_t* dims, int rank, const float* values) {
  size_t n = 1;
  for (int i = 0; i < rank; ++i) n *= (size_t)dims[i];
  TF_Tensor* t = TF_AllocateTensor(TF_FLOAT, dims, rank, n * sizeof(float));
  if (t && n) memcpy(TF_TensorData(t), values, n * sizeof(float));
  return t;
}
__attribute__((unused)) static TF_Tensor* help_float(float value) { return help_floats(NULL, 0, &value); }

__attribute__((unused)) static TF_Output help_const(TF_Graph* g, const char* name, TF_Tensor* take, TF_Status* s) {
  TF_OperationDescription* d = TF_NewOperation(g, "Const", name);
  if (take) TF_SetAttrTensor(d, "value", take, s);
  if (take) TF_SetAttrType(d, "dtype", TF_TensorType(take));
  TF_DeleteTensor(take);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}
__attribute__((unused)) static TF_Output help_placeholder(TF_Graph* g, const char* name, TF_DataType type, TF_Status* s) {
  TF_OperationDescription* d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}
__attribute__((unused)) static TF_Output help_unary(TF_Graph* g, const char* op, const char* name, TF_Output a, TF_Status* s) {
  TF_OperationDescription* d = TF_NewOperation(g, op, name);
  TF_AddInput(d, a);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}
__attribute__((unused)) static TF_Output help_binary(TF_Graph* g, const char* op, const char* name, TF_Output a, TF_Output b,
                                                     TF_Status* s) {
  TF_OperationDescription* d = TF_NewOperation(g, op, name);
  TF_AddInput(d, a);
  TF_AddInput(d, b);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}
/* One feed (or none), one fetch, first element as float; NaN on failure. */
__attribute__((unused)) static float help_run(TF_Session* session, TF_Output in, TF_Tensor* take_value, TF_Output out, TF_Status* s) {
  TF_Tensor* result = NULL;
  float first = NAN;
  TF_SessionRun(session, NULL, &in, &take_value, take_value ? 1 : 0, &out, &result, 1, NULL, 0, NULL, s);
  if (result) first = *(float*)TF_TensorData(result);
  TF_DeleteTensor(result);
  TF_DeleteTensor(take_value);
  return first;
}
#endif
