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
#include "base/hash.h"
#include "op/registry.h"
#include "ops/cases.h"
#include "test.h"
#include "tensorflow/c/c_api.h"

enum { CHANGED_RUNS = 2, CHANGED_SECONDS = 20, CHANGED_MOST_CASE = 20000, CHANGED_CASES = 12 };
static const size_t changed_most_bytes = (size_t)64 << 20; /* a block; more is refused as if memory had run out */

static uint64_t changed_state;
static uint64_t changed_random(void) { /* xorshift64* */
  changed_state ^= changed_state >> 12;
  changed_state ^= changed_state << 25;
  changed_state ^= changed_state >> 27;
  return changed_state * UINT64_C(2685821657736338717) >> 11;
}
static int changed_below(int64_t n) { return (int)(changed_random() % (uint64_t)n); }
static const char* changed_env(const char* name, const char* other) { return getenv(name) && *getenv(name) ? getenv(name) : other; }

static int64_t changed_int(void) {
  static const int64_t list[] = {-1, -2, 0, 1, 2, 3, 5, 100, INT32_MAX, INT32_MIN, (int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 40,
                                 1000000000000000000, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 65536, 255, 256};
  return changed_below(2) ? list[changed_below(sizeof list / sizeof *list)] : changed_below(9) - 3;
}
static double changed_real(void) {
  static const double list[] = {0, -0.0, -1, 1e-45, 3.4e38, -3.4e38, INFINITY, -INFINITY, NAN, 2147483648.0, 9.3e18, 0.5};
  return list[changed_below(sizeof list / sizeof *list)];
}
static void changed_text(TF_TString* s) {
  static const char* const list[] = {
      "", "a", "no/such/file", "\x08\x01\x12\x04\xff\xff\xff\x7f", "a text that is too long to lie in the element itself", "%d%s", "*"};
  const char* text = list[changed_below(sizeof list / sizeof *list)];
  TF_StringCopy(s, text, strlen(text));
}
static void changed_element(TF_Tensor* t, int64_t i) {
  TF_DataType type = TF_TensorType(t);
  size_t size = TF_DataTypeSize(type);
  char* at = (char*)TF_TensorData(t) + (size_t)i * size;
  double v = changed_real();
  float f = (float)v;
  int64_t n = changed_int();
  if (type == TF_STRING) changed_text((TF_TString*)TF_TensorData(t) + i);
  else if (type == TF_BOOL) *(bool*)at = n & 1;
  else if (type == TF_FLOAT || type == TF_COMPLEX64) memcpy(at, &f, 4);
  else if (type == TF_DOUBLE || type == TF_COMPLEX128) memcpy(at, &v, 8);
  else if (size <= 8) memcpy(at, &n, size);
}

/* ---- a changed copy */

static int changed_dims(const TF_Tensor* t, int64_t* dims) {
  int rank = TF_NumDims(t), axis = rank ? changed_below(rank) : 0, kind = changed_below(7);
  for (int i = 0; i < rank; ++i) dims[i] = TF_Dim(t, i);
  if (kind == 0 && rank < 10) {
    memmove(dims + axis + 1, dims + axis, (size_t)(rank - axis) * sizeof *dims);
    dims[axis] = 1 + changed_below(2);
    return rank + 1;
  }
  if (kind == 1) return 0;
  if (!rank) return 0;
  if (kind == 2) memmove(dims + axis, dims + axis + 1, (size_t)(rank - axis - 1) * sizeof *dims);
  if (kind == 3) dims[axis] = 0;
  if (kind == 4 && dims[axis] > 0) --dims[axis];
  if (kind == 5) ++dims[axis];
  if (kind == 6) dims[axis] = 1;
  return kind == 2 ? rank - 1 : rank;
}
/* The old elements over and over, in another shape. */
static TF_Tensor* changed_shape(const TF_Tensor* t) {
  int64_t dims[16], count = 1, old = TF_TensorElementCount(t);
  if (TF_NumDims(t) > 10) return NULL;
  int rank = changed_dims(t, dims);
  bool text = TF_TensorType(t) == TF_STRING;
  size_t size = text ? sizeof(TF_TString) : TF_DataTypeSize(TF_TensorType(t));
  for (int i = 0; i < rank; ++i) count *= dims[i];
  TF_Tensor* made = size ? TF_AllocateTensor(TF_TensorType(t), dims, rank, (size_t)count * size) : NULL;
  for (int64_t i = 0; made && i < count; ++i) {
    char* to = (char*)TF_TensorData(made) + (size_t)i * size;
    const char* from = (const char*)TF_TensorData(t) + (size_t)(old ? i % old : 0) * size;
    if (text) TF_StringInit((TF_TString*)(void*)to);
    if (!old && !text) memset(to, 0, size);
    else if (old && text)
      TF_StringCopy((TF_TString*)(void*)to, TF_StringGetDataPointer((const TF_TString*)(const void*)from),
                    TF_StringGetSize((const TF_TString*)(const void*)from));
    else if (old) memcpy(to, from, size);
  }
  return made;
}
static TF_Tensor* changed_same(const TF_Tensor* t) { /* a copy of its own */
  int64_t dims[16];
  size_t bytes = TF_TensorByteSize(t);
  if (TF_NumDims(t) > 16) return NULL;
  for (int i = 0; i < TF_NumDims(t); ++i) dims[i] = TF_Dim(t, i);
  TF_Tensor* made = TF_AllocateTensor(TF_TensorType(t), dims, TF_NumDims(t), bytes);
  if (!made) return NULL;
  if (TF_TensorType(t) != TF_STRING) {
    memcpy(TF_TensorData(made), TF_TensorData(t), bytes);
    return made;
  }
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) {
    const TF_TString* from = (const TF_TString*)TF_TensorData(t) + i;
    TF_StringInit((TF_TString*)TF_TensorData(made) + i);
    TF_StringCopy((TF_TString*)TF_TensorData(made) + i, TF_StringGetDataPointer(from), TF_StringGetSize(from));
  }
  return made;
}
static TF_Tensor* changed_tensor(const TF_Tensor* t) {
  if (!t || (TF_TensorType(t) != TF_STRING && !TF_DataTypeSize(TF_TensorType(t)))) return NULL; /* a handle */
  TF_Tensor* made = changed_below(3) ? changed_same(t) : changed_shape(t);
  if (!made) return NULL;
  int64_t count = TF_TensorElementCount(made);
  if (count && changed_below(2)) changed_element(made, changed_below(count));
  else if (count && !changed_below(6))
    for (int64_t i = 0; i < count; ++i) changed_element(made, i);
  return made;
}

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
  changed_state = hr_hash(changed_now, strlen(changed_now), (uint64_t)atoi(changed_env("HEADRACE_FUZZ_SEED", "1"))) | 1;
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
