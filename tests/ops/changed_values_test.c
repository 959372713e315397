/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases fed with values and shapes that they were not made for: an index too far, a dimension more or fewer, nothing at all. Each
 * run ends with a status: what is looked for are crashes, hangs and absurd allocations; run it in a sanitizer build. Shapes were inferred
 * from the case's own constants, so only kernels stand between the values and memory.
 *
 * HEADRACE_FUZZ_CASES=n runs each case n times, HEADRACE_FUZZ_SEED=k takes other changes, HEADRACE_TEST_OPS="Add Conv2D" confines the ops.
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include "op/registry.h"
#include "ops/cases.h"
#include "ops/changed.h"
#include "test.h"
#include "tensorflow/c/c_api.h"

enum { CHANGED_RUNS = 2, CHANGED_SECONDS = 20, CHANGED_MOST_CASE = 20000, CHANGED_CASES = 12 };
static const size_t changed_most_bytes = (size_t)64 << 20; /* a block; more is refused as if memory had run out */

static const char* changed_env(const char* name, const char* other) { return getenv(name) && *getenv(name) ? getenv(name) : other; }

/* ---- runs */

static char changed_now[200];
static int64_t changed_runs, changed_good;
static void changed_fetch(op_case_t* t, const TF_Output* in, TF_Tensor** fed, int feeds, const TF_Output* fetch, int n) {
  static const char timeout_ms[] = {0x10, 100};
  TF_Buffer limit = {.data = timeout_ms, .length = sizeof timeout_ms};
  TF_Tensor* out[GOLDEN_MAX_NAMES] = {NULL};
  TF_SetStatus(t->status, TF_OK, "");
  TF_SessionRun(t->session, &limit, in, fed, feeds, fetch, out, n, NULL, 0, NULL, t->status);
  ++changed_runs;
  changed_good += TF_GetCode(t->status) == TF_OK;
  if (TF_GetCode(t->status) != TF_OK && !*TF_Message(t->status))
    hr_test_fail(__FILE__, __LINE__, "%s: a failure without a message", changed_now);
  for (int i = 0; i < n; ++i) TF_DeleteTensor(out[i]);
}
static void changed_run(op_case_t* t) {
  TF_Tensor* fed[OP_CASE_MAX_INPUTS];
  TF_Output in[OP_CASE_MAX_INPUTS], dy[GOLDEN_MAX_NAMES];
  int feeds = 0, n = 0;
  for (int i = 0; i < t->inputs; ++i) {
    TF_Tensor* made = t->inputs == 1 || changed_below(2) ? changed_tensor(t->value[i]) : NULL;
    if (made) in[feeds] = t->input[i], fed[feeds++] = made;
  }
  changed_fetch(t, in, fed, feeds, t->fetch, t->c->fetch.count);
  for (int i = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) dy[n++] = t->dy[i];
  if (n) changed_fetch(t, in, fed, feeds, dy, n);
  for (int i = 0; i < feeds; ++i) TF_DeleteTensor(fed[i]);
}
static void changed_case(const golden_case_t* c, int number, void* arg) {
  op_case_t t;
  int runs = atoi(changed_env("HEADRACE_FUZZ_CASES", "0"));
  bool all = runs > 0;
  if (c->size > CHANGED_MOST_CASE || (!all && number >= CHANGED_CASES)) return;
  snprintf(changed_now, sizeof changed_now, "%s case %d", (const char*)arg, number);
  changed_start(changed_now, (uint64_t)atoi(changed_env("HEADRACE_FUZZ_SEED", "1")));
  alarm(CHANGED_SECONDS);
  if (op_case_open(&t, c) == TF_OK && op_case_init(&t) == TF_OK)
    for (int i = 0; i < (all ? runs : CHANGED_RUNS); ++i) changed_run(&t);
  op_case_close(&t);
  alarm(0);
}
static bool changed_is_chosen(const char* op) {
  const char *list = changed_env("HEADRACE_TEST_OPS", NULL), *at = list;
  size_t n = strlen(op);
  if (!list) return true;
  for (; (at = strstr(at, op)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
  return false;
}
static bool changed_op(const hr_op_def_t* def, void* arg) {
  (void)arg;
  if (changed_is_chosen(def->op->name)) op_case_each(def->op->name, changed_case, (void*)(uintptr_t)def->op->name);
  return true;
}

static void* changed_allocate(size_t bytes, size_t alignment) {
  if (bytes > changed_most_bytes) return NULL;
  return alignment <= 16 ? malloc(bytes) : aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
static void* changed_resize(void* block, size_t bytes) { return bytes > changed_most_bytes ? NULL : realloc(block, bytes); }
static void changed_died(int number) { /* says which case it was, also for a sanitizer with abort_on_error */
  static const char too_long[] = " does not end\n", crash[] = " crashes\n";
  const char* text = number == SIGALRM ? too_long : crash;
  if (write(1, changed_now, strlen(changed_now)) < 0 || write(1, text, strlen(text)) < 0) _exit(2);
  signal(SIGABRT, SIG_DFL);
  abort();
}

HR_TEST(cases_survive_changed_values) {
  static const hr_alloc_hooks_t hooks = {changed_allocate, changed_resize, free};
  hr_alloc_set_hooks(&hooks);
  signal(SIGALRM, changed_died);
  signal(SIGABRT, changed_died);
  op_case_folder(); /* unpacks the cases before the folder changes */
  mkdir("changed_tmp", 0777); /* file ops write relative names */
  HR_REQUIRE(chdir("changed_tmp") == 0);
  mkdir("golden_tmp", 0777);
  hr_registry_each(changed_op, NULL);
  printf("%" PRId64 " runs, %" PRId64 " good\n", changed_runs, changed_good);
  HR_CHECK(changed_good > changed_runs / 20 && changed_good < changed_runs);
}
HR_TEST_MAIN()
