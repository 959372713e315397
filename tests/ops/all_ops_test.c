/* SPDX-License-Identifier: Apache-2.0 */
/* For EVERY op in the registry, from its definition and its cases: the signature parses and prints, kernels are for types that it allows,
 * it has cases; each case survives its n-th allocation failing, and gives the same bits in four threads and on one or two cores.
 *
 * Arguments choose tests by name. HEADRACE_TEST_OPS="Add Conv2D" confines the cases to some ops; HEADRACE_TEST_ALL=1 takes all cases and
 * every allocation; without it two cases of an op are taken, one of them with a gradient if it has any. */
#include <pthread.h>
#include <sys/stat.h>
#include "base/pool.h"
#include "op/registry.h"
#include "ops/cases.h"
#include "ops/rows.h"
#include "test.h"

static bool ops_env(const char* name) { return getenv(name) && *getenv(name); }

/* ---- definitions */

typedef struct {
  const char* before;
  int count;
} ops_seen_t;

static void ops_check_kernel(const hr_op_def_t* def, const hr_kernel_t* k) {
  HR_CHECK((k->compute != NULL) != (k->start != NULL));
  for (int i = 0; i < 3 && k->where[i].attr; ++i) {
    int attr = hr_sig_find_attr(def, hr_str(k->where[i].attr));
    if (attr < 0) {
      hr_test_fail(__FILE__, __LINE__, "%s: a kernel for attr '%s', which the signature has not", def->op->name, k->where[i].attr);
      continue;
    }
    hr_dtypes_t allowed = def->attrs[attr].types;
    HR_CHECK(k->where[i].types != 0);
    if (allowed && !(k->where[i].types & allowed))
      hr_test_fail(__FILE__, __LINE__, "%s: a kernel for types of '%s' none of which is allowed", def->op->name, k->where[i].attr);
  }
}

static bool ops_check_def(const hr_op_def_t* def, void* arg) {
  ops_seen_t* seen = arg;
  hr_strbuf_t text = {0};
  const hr_op_t* op = def->op;
  if (seen->before && strcmp(seen->before, op->name) >= 0) hr_test_fail(__FILE__, __LINE__, "%s stands after %s", op->name, seen->before);
  hr_sig_print(def, &text);
  if (!text.data || strncmp(text.data, op->name, strlen(op->name)) || !strstr(text.data, "->"))
    hr_test_fail(__FILE__, __LINE__, "%s prints as \"%s\"", op->name, text.data ? text.data : "");
  hr_strbuf_deinit(&text);
  if (!op->shape) hr_test_fail(__FILE__, __LINE__, "%s has no shape function", op->name);
  if (!op->doc || !*op->doc) hr_test_fail(__FILE__, __LINE__, "%s has no sentence that says what it does", op->name);
  if (!op->file || op->line <= 0) hr_test_fail(__FILE__, __LINE__, "%s does not say where it is defined", op->name);
  if (!op->kernel_count) hr_test_fail(__FILE__, __LINE__, "%s has no kernel", op->name);
  for (int i = 0; i < op->kernel_count; ++i) ops_check_kernel(def, &op->kernels[i]);
  seen->before = op->name;
  ++seen->count;
  return true;
}

HR_TEST(every_definition_is_sound) {
  ops_seen_t seen = {0};
  hr_registry_each(ops_check_def, &seen);
  HR_CHECK(seen.count > 200);
}

static void ops_count(const golden_case_t* c, int number, void* arg) {
  (void)number;
  (void)c;
  ++*(int*)arg;
}
/* Whether a test elsewhere runs it: the file is there and says its name. */
static bool ops_is_elsewhere(const char* op) {
  static const char* const rows[][2] = {
#define ELSEWHERE(op, path) {#op, HR_TEST_SOURCE_DIR "/tests/" #path},
#include "ops/elsewhere.def"
#undef ELSEWHERE
  };
  bool found = false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char line[1024];
    FILE* f = strcmp(rows[i][0], op) ? NULL : fopen(rows[i][1], "r");
    while (f && fgets(line, sizeof line, f)) found |= strstr(line, op) != NULL;
    if (f) fclose(f);
  }
  return found;
}
static bool ops_check_has_cases(const hr_op_def_t* def, void* arg) {
  int good = 0;
  op_case_each(def->op->name, ops_count, &good);
  if (!good && !op_row_count(def->op->name) && !ops_is_elsewhere(def->op->name))
    hr_test_fail(__FILE__, __LINE__, "%s has neither golden cases nor a row in tests/ops/rows.def", def->op->name);
  ++*(int*)arg;
  return true;
}
HR_TEST(every_op_has_cases) {
  int ops = 0;
  hr_registry_each(ops_check_has_cases, &ops);
  HR_CHECK(ops > 200);
}

HR_TEST(rows_give_what_they_want) {
  char why[600];
  for (int i = 0; i < op_row_total(); ++i)
    if (!op_row_run(i, why, sizeof why)) hr_test_fail("tests/ops/rows.def", op_row_line(i), "%s: %s", op_row_op(i), why);
}

/* ---- cases */

typedef void (*ops_case_fn_t)(const golden_case_t* c, const char* name);
typedef struct {
  ops_case_fn_t check;
  const char* op;
  int plain, with_gradient, errors; /* cases taken so far */
  int seen;
} ops_walk_t;

/* Large cases would take all the time that there is. */
static bool ops_is_taken(ops_walk_t* w, const golden_case_t* c) {
  if (ops_env("HEADRACE_TEST_ALL")) return true;
  if (c->size > 20000) return false;
  int* taken = *c->error ? &w->errors : c->grad.count ? &w->with_gradient : &w->plain;
  return (*taken)++ < 1;
}
static void ops_visit_case(const golden_case_t* c, int number, void* arg) {
  ops_walk_t* w = arg;
  char name[300];
  if (!ops_is_taken(w, c)) return;
  snprintf(name, sizeof name, "%s case %d (%.200s)", w->op, number, c->note);
  ++w->seen;
  w->check(c, name);
}
static bool ops_is_chosen(const char* op) {
  const char *list = getenv("HEADRACE_TEST_OPS"), *at = list;
  size_t n = strlen(op);
  if (!list || !*list) return true;
  for (; (at = strstr(at, op)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
  return false;
}
static bool ops_visit_op(const hr_op_def_t* def, void* arg) {
  ops_walk_t* w = arg;
  if (!ops_is_chosen(def->op->name)) return true;
  w->op = def->op->name;
  w->plain = w->with_gradient = w->errors = 0;
  op_case_each(def->op->name, ops_visit_case, w);
  return true;
}
static void ops_each_case(ops_case_fn_t check) {
  ops_walk_t w = {.check = check};
  mkdir("golden_tmp", 0777); /* cases with files work below it */
  hr_registry_each(ops_visit_op, &w);
  HR_CHECK(w.seen > (ops_env("HEADRACE_TEST_OPS") ? 0 : 100));
}

/* ---- the n-th allocation fails */

/* What a failing step left must not be in the way of the next: true unless the session is of no use any more. */
static void ops_check_usable(op_case_t* t, bool right, const char* name, int64_t n) {
  char why[600];
  op_case_forget(t);
  TF_SetStatus(t->status, TF_OK, "");
  if (op_case_is_stateful(t)) {
    if (op_case_init(t) == TF_OK) op_case_run(t, NULL);
    TF_Code code = TF_GetCode(t->status);
    if (code == TF_RESOURCE_EXHAUSTED || code == TF_INTERNAL || code == TF_UNKNOWN ||
        (code == TF_CANCELLED && !strstr(TF_Message(t->status), "closed"))) /* a queue that the case closes stays so */
      hr_test_fail(__FILE__, __LINE__, "%s: after allocation %" PRId64 " failed the session answers %s", name, n, TF_Message(t->status));
    return;
  }
  if (op_case_run(t, NULL) != TF_OK || (right && !op_case_is_right(t, why, sizeof why)))
    hr_test_fail(__FILE__, __LINE__, "%s: after allocation %" PRId64 " failed the next step gives %s %s", name, n, TF_Message(t->status),
                 TF_GetCode(t->status) == TF_OK ? why : "");
}

static TF_Code ops_whole_run(op_case_t* t, const golden_case_t* c, bool* ran) {
  TF_Code code = op_case_open(t, c);
  if (code != TF_OK) return code;
  *ran = true;
  code = op_case_init(t);
  if (code == TF_OK) code = op_case_run(t, NULL);
  if (code == TF_OK && c->grad.count && !op_case_is_stateful(t)) code = op_case_run_grad(t);
  return code;
}

/* How a run without a failure ends: what differs on purpose from the wanted values (tests/golden/known_differences.txt) is not held against
 * those with one. */
typedef struct {
  TF_Code code;
  bool right;
} ops_usual_t;

static bool ops_ends_well(op_case_t* t, TF_Code code, ops_usual_t usual, bool failed, const char* name, int64_t n) {
  char why[600] = "";
  if (code == TF_OK) {
    if (!usual.right || op_case_is_right(t, why, sizeof why)) return true;
    return hr_test_fail(__FILE__, __LINE__, "%s: with allocation %" PRId64 " failing: wrong value: %s", name, n, why);
  }
  if (code == usual.code || (failed && code == TF_RESOURCE_EXHAUSTED)) return true;
  return hr_test_fail(__FILE__, __LINE__, "%s%s: with allocation %" PRId64 " failing: code %d (%s)", name,
                      *t->c->error ? " [bad input]" : "", n, (int)code, t->status ? TF_Message(t->status) : "");
}

static void ops_fail_allocations(const golden_case_t* c, const char* name) {
  op_case_t t;
  bool ran = false, good = true, more = true;
  char why[600];
  ops_usual_t usual = {.code = ops_whole_run(&t, c, &ran)}; /* also makes what is made once */
  usual.right = usual.code == TF_OK && op_case_is_right(&t, why, sizeof why);
  op_case_close(&t);
  for (int64_t n = 1; more && good && n < 100000; n += ops_env("HEADRACE_TEST_ALL") ? 1 : 1 + n / 8) {
    int64_t before = hr_test_live_blocks();
    ran = false;
    hr_alloc_fail_at(n, false);
    TF_Code code = ops_whole_run(&t, c, &ran);
    more = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    good = ops_ends_well(&t, code, usual, more, name, n);
    if (ran && more && code == TF_RESOURCE_EXHAUSTED && usual.code == TF_OK) ops_check_usable(&t, usual.right, name, n);
    op_case_close(&t);
    int64_t after = hr_test_live_blocks();
    if (after > before && good)
      good =
          hr_test_fail(__FILE__, __LINE__, "%s: with allocation %" PRId64 " failing %" PRId64 " blocks are lost", name, n, after - before);
  }
}
HR_TEST(every_allocation_may_fail) { ops_each_case(ops_fail_allocations); }

/* ---- threads */

static bool ops_same_bits(op_case_t* t, TF_Tensor* const* out, char* why, size_t why_size) {
  for (int k = 0; k < t->c->fetch.count; ++k) {
    if (!out[k] != !t->out[k]) return snprintf(why, why_size, "one has no value"), false;
    if (out[k] && !golden_match(out[k], t->out[k], "exact", 0, 0, why, why_size)) return false;
  }
  return true;
}

typedef struct {
  op_case_t* t;
  char why[600];
  bool good;
} ops_runner_t;

static void* ops_run_often(void* arg) {
  ops_runner_t* r = arg;
  TF_Tensor* out[GOLDEN_MAX_NAMES];
  TF_Status* s = TF_NewStatus();
  r->good = true;
  for (int i = 0; i < 8 && r->good; ++i) {
    memset(out, 0, sizeof out);
    TF_SessionRun(r->t->session, NULL, r->t->input, r->t->value, i % 2 ? r->t->inputs : 0, r->t->fetch, out, r->t->c->fetch.count, NULL, 0,
                  NULL, s);
    r->good = TF_GetCode(s) == TF_OK;
    if (!r->good) snprintf(r->why, sizeof r->why, "%s", TF_Message(s));
    r->good = r->good && ops_same_bits(r->t, out, r->why, sizeof r->why);
    for (int k = 0; k < r->t->c->fetch.count; ++k) TF_DeleteTensor(out[k]);
  }
  TF_DeleteStatus(s);
  return NULL;
}

enum { OPS_THREADS = 4 };
static void ops_run_in_threads(const golden_case_t* c, const char* name) {
  op_case_t t;
  pthread_t threads[OPS_THREADS];
  ops_runner_t runners[OPS_THREADS];
  if (*c->error) return;
  if (op_case_open(&t, c) == TF_OK && !op_case_is_stateful(&t) && op_case_run(&t, t.value) == TF_OK) {
    for (int i = 0; i < OPS_THREADS; ++i) {
      runners[i] = (ops_runner_t){.t = &t};
      pthread_create(&threads[i], NULL, ops_run_often, &runners[i]);
    }
    for (int i = 0; i < OPS_THREADS; ++i) {
      pthread_join(threads[i], NULL);
      if (!runners[i].good) hr_test_fail(__FILE__, __LINE__, "%s: in thread %d: %s", name, i, runners[i].why);
    }
  }
  op_case_close(&t);
}
HR_TEST(four_threads_give_the_same_bits) { ops_each_case(ops_run_in_threads); }

static void ops_run_on_cores(const golden_case_t* c, const char* name) {
  op_case_t one, two;
  char why[600];
  if (*c->error) return;
  hr_pool_set_threads(1);
  if (op_case_open(&one, c) == TF_OK && op_case_init(&one) == TF_OK) op_case_run(&one, NULL);
  hr_pool_set_threads(2);
  if (op_case_open(&two, c) == TF_OK && op_case_init(&two) == TF_OK) op_case_run(&two, NULL);
  hr_pool_set_threads(0);
  if (TF_GetCode(one.status) != TF_GetCode(two.status)) hr_test_fail(__FILE__, __LINE__, "%s: %s", name, TF_Message(two.status));
  else if (strcmp(c->match, "shape") && !ops_same_bits(&one, two.out, why, sizeof why))
    hr_test_fail(__FILE__, __LINE__, "%s: %s", name, why);
  op_case_close(&one);
  op_case_close(&two);
}
HR_TEST(one_and_two_cores_give_the_same_bits) { ops_each_case(ops_run_on_cores); }

HR_TEST_MAIN()
