/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of golden cases with changed inputs: the code, or the type, shape and (unless it is floating) values of an output, are those
 * of tests/ops/outcomes.txt. Golden cases say what is right; this record says that nothing at the borders between right and wrong has moved
 * unnoticed: index ranges, ranks, checks of shape functions, empty tensors. A change that is wanted is recorded with
 * tests/ops/record_outcomes.py, and the difference of outcomes.txt belongs to the commit.
 *
 * A row: op, number of the case, and RUNS fields. Fields that begin with v are steps with changed values, those with s are graphs whose
 * inputs have other or partly unknown shapes, or other constants, g has the shapes of the case's gradients. "-": not the same on all
 * machines, not compared.
 * HEADRACE_OUTCOMES=FILE writes what there is instead; HEADRACE_TEST_OPS="Add Conv2D" confines the ops. */
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "op/registry.h"
#include "ops/cases.h"
#include "ops/changed.h"
#include "test.h"
#include "tensorflow/c/c_api.h"

enum { VALUE_RUNS = 2, SHAPE_RUNS = 3, RUNS = VALUE_RUNS + SHAPE_RUNS + 1, MOST_CASES = 16, MOST_CASE_BYTES = 20000, FIELD = 600 };
static const size_t most_bytes = (size_t)64 << 20; /* a block; more is refused as if memory had run out */
static FILE *recorded, *written;
static int64_t compared;

/* --- an outcome as text -------------------------------------------------------------------------------------------------------------  */

static void outcome_add(char* text, const char* format, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, FIELD - used, format, args);
  va_end(args);
}

static uint64_t tensor_digest(const TF_Tensor* t) {
  if (TF_TensorType(t) != TF_STRING) return hr_hash(TF_TensorData(t), TF_TensorByteSize(t), 1);
  uint64_t h = 1;
  for (int64_t i = 0; i < TF_TensorElementCount(t); ++i) {
    const TF_TString* s = (const TF_TString*)TF_TensorData(t) + i;
    h = hr_hash(TF_StringGetDataPointer(s), TF_StringGetSize(s), h + 1);
  }
  return h;
}

static bool is_discrete(TF_DataType type) {
  return type == TF_STRING || type == TF_BOOL || type == TF_INT8 || type == TF_INT16 || type == TF_INT32 || type == TF_INT64 ||
         type == TF_UINT8 || type == TF_UINT16 || type == TF_UINT32 || type == TF_UINT64;
}

static void outcome_add_tensor(char* text, const TF_Tensor* t) {
  outcome_add(text, ",%d", t ? (int)TF_TensorType(t) : 0);
  for (int i = 0; t && i < TF_NumDims(t); ++i) outcome_add(text, "%c%lld", i ? 'x' : ':', (long long)TF_Dim(t, i));
  if (t && is_discrete(TF_TensorType(t)) && TF_TensorElementCount(t)) outcome_add(text, "=%06x", (unsigned)tensor_digest(t) & 0xffffff);
}

static void outcome_add_shape(char* text, TF_Graph* g, TF_Output o, TF_Status* s) {
  int64_t dims[64];
  const int rank = TF_GraphGetTensorNumDims(g, o, s);
  outcome_add(text, ",%d", (int)TF_OperationOutputType(o));
  if (rank < 0) outcome_add(text, ":?");
  else TF_GraphGetTensorShape(g, o, dims, rank < 64 ? rank : 64, s);
  for (int i = 0; i < rank && i < 64; ++i) {
    if (dims[i] < 0) outcome_add(text, "%c?", i ? 'x' : ':');
    else outcome_add(text, "%c%lld", i ? 'x' : ':', (long long)dims[i]);
  }
}

/* --- changed values ------------------------------------------------------------------------------------------------------------------- */

static void run_step(op_case_t* t, const TF_Output* in, TF_Tensor** fed, int feeds, const TF_Output* fetch, int n, char* text) {
  static const char timeout_ms[] = {0x10, 100};
  TF_Buffer limit = {.data = timeout_ms, .length = sizeof timeout_ms};
  TF_Tensor* out[GOLDEN_MAX_NAMES] = {NULL};
  TF_SetStatus(t->status, TF_OK, "");
  TF_SessionRun(t->session, &limit, in, fed, feeds, fetch, out, n, NULL, 0, NULL, t->status);
  outcome_add(text, "%d", (int)TF_GetCode(t->status));
  for (int i = 0; i < n; ++i) {
    if (TF_GetCode(t->status) == TF_OK) outcome_add_tensor(text, out[i]);
    TF_DeleteTensor(out[i]);
  }
}

static void run_changed_values(op_case_t* t, char* text) {
  TF_Tensor* fed[OP_CASE_MAX_INPUTS];
  TF_Output in[OP_CASE_MAX_INPUTS], dy[GOLDEN_MAX_NAMES];
  int feeds = 0, n = 0;
  outcome_add(text, "v");
  for (int i = 0; i < t->inputs; ++i) {
    TF_Tensor* made = t->inputs == 1 || changed_below(2) ? changed_tensor(t->value[i]) : NULL;
    if (made) in[feeds] = t->input[i], fed[feeds++] = made;
  }
  run_step(t, in, fed, feeds, t->fetch, t->c->fetch.count, text);
  for (int i = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) dy[n++] = t->dy[i];
  outcome_add(text, ";");
  if (n) run_step(t, in, fed, feeds, dy, n, text);
  for (int i = 0; i < feeds; ++i) TF_DeleteTensor(fed[i]);
}

/* --- changed shapes ------------------------------------------------------------------------------------------------------------------- */

/* Another input in place of the case's: a placeholder of a changed or partly unknown shape, or a changed constant; oper NULL: the same. */
static TF_Output changed_input(TF_Graph* g, const TF_Tensor* value, int k, TF_Status* s) {
  int64_t dims[16];
  char name[32];
  const int kind = changed_below(4), rank = kind == 1 || changed_below(3) == 0 ? changed_dims(value, dims) : TF_NumDims(value);
  TF_Output none = {NULL, 0};
  if (kind == 0 || TF_NumDims(value) > 10) return none;
  snprintf(name, sizeof name, "changed_%d", k);
  TF_OperationDescription* d = TF_NewOperation(g, kind == 3 ? "Const" : "Placeholder", name);
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  if (kind == 3) {
    TF_Tensor* made = changed_tensor(value);
    if (made) TF_SetAttrTensor(d, "value", made, s);
    else TF_SetAttrTensor(d, "value", (TF_Tensor*)(uintptr_t)value, s);
    TF_DeleteTensor(made);
  } else if (kind == 1 || changed_below(3)) {
    for (int i = 0; i < rank; ++i) {
      if (kind == 2 && rank == TF_NumDims(value)) dims[i] = TF_Dim(value, i);
      if (kind == 2 && changed_below(2)) dims[i] = -1;
    }
    TF_SetAttrShape(d, "shape", dims, rank);
  }
  TF_SetStatus(s, TF_OK, "");
  TF_Operation* made = TF_FinishOperation(d, s);
  return (TF_Output){TF_GetCode(s) == TF_OK ? made : NULL, 0};
}

static TF_Output find_output(TF_Graph* g, const char* endpoint) {
  char name[512];
  const char* colon = strrchr(endpoint, ':');
  snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - endpoint) : (int)strlen(endpoint), endpoint);
  return (TF_Output){TF_GraphOperationByName(g, name), colon ? atoi(colon + 1) : 0};
}

static void import_changed_shapes(op_case_t* t, char* text) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Buffer* bytes = TF_NewBufferFromString(t->c->graph, t->c->size);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  for (int i = 0; i < t->inputs; ++i) {
    TF_Output o = t->value[i] ? changed_input(g, t->value[i], i, s) : (TF_Output){NULL, 0};
    if (o.oper) TF_ImportGraphDefOptionsAddInputMapping(options, TF_OperationName(t->input[i].oper), 0, o);
  }
  TF_SetStatus(s, TF_OK, "");
  TF_GraphImportGraphDef(g, bytes, options, s);
  outcome_add(text, "s%d", (int)TF_GetCode(s));
  if (TF_GetCode(s) == TF_OK)
    for (int i = 0; i < t->c->fetch.count; ++i) outcome_add_shape(text, g, find_output(g, t->c->fetch.name[i]), s);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* --- gradients ------------------------------------------------------------------------------------------------------------------------ */

static void infer_gradient_shapes(op_case_t* t, char* text) {
  outcome_add(text, "g");
  for (int i = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) outcome_add_shape(text, t->graph, t->dy[i], t->status);
}

/* --- the record ----------------------------------------------------------------------------------------------------------------------- */

/* A step that was too slow, or asked for more than there is, says nothing of the op. */
static bool is_outcome_of_the_machine(const char* field) {
  return !strcmp(field, "-") || strstr(field, "v4") || strstr(field, ";4") || strstr(field, "v8") || strstr(field, ";8") ||
         strstr(field, "s8");
}

static void check_row(const char* op, int number, char fields[RUNS][FIELD]) {
  char want_op[128] = "", want[RUNS][FIELD];
  int want_number = -2;
  if (written) {
    fprintf(written, "%s %d", op, number);
    for (int i = 0; i < RUNS; ++i) fprintf(written, " %s", is_outcome_of_the_machine(fields[i]) ? "-" : fields[i]);
    fprintf(written, "\n");
    return;
  }
  while (fscanf(recorded, "%127s %d", want_op, &want_number) == 2) {
    for (int i = 0; i < RUNS; ++i)
      if (fscanf(recorded, "%599s", want[i]) != 1) want_number = -2;
    if (!strcmp(want_op, op) && want_number == number) break;
  }
  if (strcmp(want_op, op) || want_number != number) {
    hr_test_fail("tests/ops/outcomes.txt", 0, "%s case %d has no row: run tests/ops/record_outcomes.py", op, number);
    rewind(recorded);
    return;
  }
  for (int i = 0; i < RUNS; ++i) {
    if (is_outcome_of_the_machine(want[i]) || is_outcome_of_the_machine(fields[i])) continue;
    ++compared;
    if (strcmp(want[i], fields[i]))
      hr_test_fail("tests/ops/outcomes.txt", 0, "%s case %d, change %d: %s was recorded, is %s", op, number, i, want[i], fields[i]);
  }
}

static void check_case(const golden_case_t* c, int number, void* arg) {
  static char fields[RUNS][FIELD];
  char name[200];
  op_case_t t;
  if (c->size > MOST_CASE_BYTES || number >= MOST_CASES) return;
  snprintf(name, sizeof name, "%s case %d", (const char*)arg, number);
  memset(fields, 0, sizeof fields);
  if (op_case_open(&t, c) == TF_OK && op_case_init(&t) == TF_OK) {
    for (int i = 0; i < RUNS; ++i) {
      changed_start(name, (uint64_t)i + 100);
      if (i < VALUE_RUNS) run_changed_values(&t, fields[i]);
      else if (i < VALUE_RUNS + SHAPE_RUNS) import_changed_shapes(&t, fields[i]);
      else infer_gradient_shapes(&t, fields[i]);
    }
    check_row(arg, number, fields);
  }
  op_case_close(&t);
}

static bool is_chosen(const char* op) {
  const char *list = getenv("HEADRACE_TEST_OPS"), *at = list;
  const size_t n = strlen(op);
  if (!list || !*list) return true;
  for (; (at = strstr(at, op)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
  return false;
}

static bool check_op(const hr_op_def_t* def, void* arg) {
  (void)arg;
  if (is_chosen(def->op->name)) op_case_each(def->op->name, check_case, (void*)(uintptr_t)def->op->name);
  return true;
}

static void* allocate_bounded(size_t bytes, size_t alignment) {
  if (bytes > most_bytes) return NULL;
  return alignment <= 16 ? malloc(bytes) : aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
static void* resize_bounded(void* block, size_t bytes) { return bytes > most_bytes ? NULL : realloc(block, bytes); }

HR_TEST(changed_cases_end_as_recorded) {
  static const hr_alloc_hooks_t hooks = {allocate_bounded, resize_bounded, free};
  const char* path = getenv("HEADRACE_OUTCOMES");
  hr_alloc_set_hooks(&hooks);
  if (path && *path) written = fopen(path, "w");
  else recorded = fopen(HR_TEST_SOURCE_DIR "/tests/ops/outcomes.txt", "r");
  HR_REQUIRE(written || recorded);
  op_case_folder(); /* unpacks the cases before the folder changes */
  HR_REQUIRE(system("rm -rf outcomes_tmp && mkdir -p outcomes_tmp/golden_tmp") == 0 && chdir("outcomes_tmp") == 0); /* for ops of files */
  hr_registry_each(check_op, NULL);
  if (written) HR_CHECK(fclose(written) == 0);
  else {
    fclose(recorded);
    HR_CHECK(compared > 0);
  }
}
HR_TEST_MAIN()
