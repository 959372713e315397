/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of golden cases with changed inputs: the code and the message, or the type, shape and values of an output, are those of
 * tests/ops/outcomes.txt. Golden cases say what is right; this record says that nothing at the borders between right and wrong has moved
 * unnoticed: index ranges, ranks, checks of shape functions, empty tensors, which input a message names. A change that is wanted is
 * recorded with tests/ops/record_outcomes.py, and the difference of outcomes.txt belongs to the commit.
 *
 * A row: op, number of the case, and FIELDS fields. Fields that begin with v are steps with changed values, those with s are graphs whose
 * inputs have other or partly unknown shapes, or other constants, with their gradients; g has those of the case. After shapes of
 * gradients follows a hash of the graph. After a code follow four digits of the message's hash, after a shape some of the values'. Fields
 * with f have, of the floating outputs of the same number's step, the sum of magnitudes and a weighted sum. The rest are hashes of what
 * more steps and graphs gave, and the op with other attrs. "-": not the same on all machines, not compared.
 * HEADRACE_OUTCOMES=FILE writes what there is instead; HEADRACE_TEST_OPS="Add Conv2D" confines the ops. */
#include <sys/stat.h>
#include <unistd.h>
#include "base/half.h"
#include "base/hash.h"
#include "op/registry.h"
#include "ops/cases.h"
#include "ops/changed.h"
#include "ops/changed_attr.h"
#include "test.h"
#include "tensorflow/c/c_api.h"

enum { VALUE_RUNS = 2, SHAPE_RUNS = 3, TEXTS = VALUE_RUNS + SHAPE_RUNS + 1, FLOATS = VALUE_RUNS };
enum { MORE_VALUE_RUNS = 5, MORE_SHAPE_RUNS = 5, ATTR_RUNS = 5, MORE = MORE_VALUE_RUNS + MORE_SHAPE_RUNS + ATTR_RUNS };
enum { FIELDS = TEXTS + FLOATS + MORE, MOST_CASES = 22, MOST_CASE_BYTES = 20000, FIELD = 2000 };
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

/* A code, and which message; without the numbers of names that count what a process made: "_tensor_array_17". */
static void outcome_add_code(char* text, const TF_Status* s) {
  char plain[2000];
  size_t n = 0;
  outcome_add(text, "%d", (int)TF_GetCode(s));
  if (TF_GetCode(s) == TF_OK) return;
  for (const char* at = TF_Message(s); *at && n < sizeof plain; ++at) {
    plain[n++] = *at;
    if (*at == '_') at += strspn(at + 1, "0123456789");
  }
  outcome_add(text, "!%04x", (unsigned)hr_hash(plain, n, 1) & 0xffff);
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

static double float_at(const TF_Tensor* t, int64_t i) {
  const void* data = TF_TensorData(t);
  switch (TF_TensorType(t)) {
    case TF_FLOAT: case TF_COMPLEX64: return (double)((const float*)data)[i];
    case TF_DOUBLE: case TF_COMPLEX128: return ((const double*)data)[i];
    case TF_HALF: return (double)hr_f16_to_f32(((const hr_f16_t*)data)[i]);
    default: return (double)hr_bf16_to_f32(((const hr_bf16_t*)data)[i]);
  }
}

static bool is_floating(TF_DataType type) {
  return type == TF_FLOAT || type == TF_DOUBLE || type == TF_HALF || type == TF_BFLOAT16 || type == TF_COMPLEX64 || type == TF_COMPLEX128;
}

/* Nothing of values that overflow somewhere, nor of those whose sums do not say much. */
static void outcome_add_sums(char* text, const TF_Tensor* t) {
  if (!t || !is_floating(TF_TensorType(t))) return;
  const int64_t n = TF_TensorElementCount(t) * (TF_TensorType(t) == TF_COMPLEX64 || TF_TensorType(t) == TF_COMPLEX128 ? 2 : 1);
  double magnitude = 0, weighted = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = float_at(t, i);
    magnitude += fabs(x);
    weighted += x * (1 + (double)(i * 7 % 11)) / 12;
  }
  if (isfinite(magnitude) && magnitude < 1e6) outcome_add(text, ",%.5g:%.5g", magnitude, weighted);
  else outcome_add(text, ",?");
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

/* What the graph consists of by now: nodes, inputs, attrs. */
static void outcome_add_graph(char* text, TF_Graph* g, TF_Status* s) {
  TF_Buffer* bytes = TF_NewBuffer();
  TF_GraphToGraphDef(g, bytes, s);
  outcome_add(text, "~%04x", (unsigned)hr_hash(bytes->data, bytes->length, 1) & 0xffff);
  TF_DeleteBuffer(bytes);
}

/* --- changed values ------------------------------------------------------------------------------------------------------------------- */

static void run_step(op_case_t* t, const TF_Output* in, TF_Tensor** fed, int feeds, const TF_Output* fetch, int n, char* text,
                     char* sums) {
  static const char timeout_ms[] = {0x10, 100};
  TF_Buffer limit = {.data = timeout_ms, .length = sizeof timeout_ms};
  TF_Tensor* out[GOLDEN_MAX_NAMES] = {NULL};
  TF_SetStatus(t->status, TF_OK, "");
  TF_SessionRun(t->session, &limit, in, fed, feeds, fetch, out, n, NULL, 0, NULL, t->status);
  outcome_add_code(text, t->status);
  for (int i = 0; i < n; ++i) {
    if (TF_GetCode(t->status) == TF_OK) {
      outcome_add_tensor(text, out[i]);
      outcome_add_sums(sums, out[i]);
    }
    TF_DeleteTensor(out[i]);
  }
}

static void run_changed_values(op_case_t* t, char* text, char* sums) {
  TF_Tensor* fed[OP_CASE_MAX_INPUTS];
  TF_Output in[OP_CASE_MAX_INPUTS], dy[GOLDEN_MAX_NAMES];
  int feeds = 0, n = 0;
  outcome_add(text, "v");
  outcome_add(sums, "f");
  for (int i = 0; i < t->inputs; ++i) {
    TF_Tensor* made = t->inputs == 1 || changed_below(2) ? changed_tensor(t->value[i]) : NULL;
    if (made) in[feeds] = t->input[i], fed[feeds++] = made;
  }
  run_step(t, in, fed, feeds, t->fetch, t->c->fetch.count, text, sums);
  for (int i = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) dy[n++] = t->dy[i];
  outcome_add(text, ";");
  if (n) run_step(t, in, fed, feeds, dy, n, text, sums);
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

/* The shapes of the gradients in the changed graph; made: what stands in place of the inputs. */
static void infer_changed_gradients(op_case_t* t, TF_Graph* g, const TF_Output* made, TF_Status* s, char* text) {
  TF_Output y[GOLDEN_MAX_NAMES], x[GOLDEN_MAX_NAMES], seed[GOLDEN_MAX_NAMES], dy[GOLDEN_MAX_NAMES];
  int n = 0;
  for (int k = 0; k < t->c->fetch.count; ++k) {
    char name[32];
    snprintf(name, sizeof name, "seed_%d", k);
    seed[n] = find_output(g, name);
    if (seed[n].oper) y[n++] = find_output(g, t->c->fetch.name[k]);
  }
  for (int i = 0; i < t->c->grad.count; ++i) {
    x[i] = find_output(g, t->c->grad.name[i]);
    for (int k = 0; k < t->inputs; ++k)
      if (made[k].oper && t->input[k].oper == t->grad[i].oper) x[i] = made[k];
  }
  TF_AddGradients(g, y, n, x, t->c->grad.count, seed, s, dy);
  outcome_add(text, ";");
  outcome_add_code(text, s);
  if (TF_GetCode(s) != TF_OK) return;
  for (int i = 0; i < t->c->grad.count; ++i)
    if (dy[i].oper) outcome_add_shape(text, g, dy[i], s);
  outcome_add_graph(text, g, s);
}

static void import_changed_shapes(op_case_t* t, char* text) {
  TF_Output made[OP_CASE_MAX_INPUTS];
  TF_Status* s = TF_NewStatus();
  TF_Graph* g = TF_NewGraph();
  TF_Buffer* bytes = TF_NewBufferFromString(t->c->graph, t->c->size);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  for (int i = 0; i < t->inputs; ++i) {
    made[i] = t->value[i] ? changed_input(g, t->value[i], i, s) : (TF_Output){NULL, 0};
    if (made[i].oper) TF_ImportGraphDefOptionsAddInputMapping(options, TF_OperationName(t->input[i].oper), 0, made[i]);
  }
  TF_SetStatus(s, TF_OK, "");
  TF_GraphImportGraphDef(g, bytes, options, s);
  outcome_add(text, "s");
  outcome_add_code(text, s);
  if (TF_GetCode(s) == TF_OK) {
    for (int i = 0; i < t->c->fetch.count; ++i) outcome_add_shape(text, g, find_output(g, t->c->fetch.name[i]), s);
    if (t->c->grad.count) infer_changed_gradients(t, g, made, s, text);
  }
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
}

/* --- a changed attr ------------------------------------------------------------------------------------------------------------------- */

static void run_changed_attr(op_case_t* t, const char* op, int number, char* text, char* sums) {
  const hr_op_def_t* def = NULL;
  TF_Output fetch[GOLDEN_MAX_NAMES];
  bool other;
  hr_status_release(hr_registry_find(hr_str(op), &def));
  TF_Operation* made = changed_attr_node(t, def, number, &other);
  if (other) return;
  outcome_add(text, "a");
  outcome_add_code(text, t->status);
  const int n = made && TF_OperationNumOutputs(made) <= GOLDEN_MAX_NAMES ? TF_OperationNumOutputs(made) : 0;
  for (int i = 0; i < n; ++i) {
    fetch[i] = (TF_Output){made, i};
    outcome_add_shape(text, t->graph, fetch[i], t->status);
  }
  outcome_add(text, ";");
  if (n) run_step(t, NULL, NULL, 0, fetch, n, text, sums);
}

/* --- gradients ------------------------------------------------------------------------------------------------------------------------ */

static void infer_gradient_shapes(op_case_t* t, char* text) {
  outcome_add(text, "g");
  for (int i = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) outcome_add_shape(text, t->graph, t->dy[i], t->status);
  if (t->c->grad.count) outcome_add_graph(text, t->graph, t->status);
}

/* --- the record ----------------------------------------------------------------------------------------------------------------------- */

/* A step that was too slow, or asked for more than there is, says nothing of the op. */
static bool is_outcome_of_the_machine(const char* field) {
  return !strcmp(field, "-") || strstr(field, "v4") || strstr(field, ";4") || strstr(field, "v8") || strstr(field, ";8") ||
         strstr(field, "s8");
}

/* Sums of floating values, within what instruction sets may differ in; half floats are the coarsest. */
static bool are_near_sums(const char* want, const char* got) {
  for (; *want == *got && *want == 'f'; ++want, ++got) continue;
  while (*want && *got) {
    char *want_end, *got_end;
    double magnitude = 0;
    for (int k = 0; k < 2; ++k) {
      if (*want++ != *got++) return false; /* ',' or ':' */
      if (*want == '?' && *got == '?') {
        ++want, ++got;
        break;
      }
      const double a = strtod(want, &want_end), b = strtod(got, &got_end);
      if (want_end == want || got_end == got) return false;
      if (k == 0) magnitude = fabs(a);
      if (fabs(a - b) > 0.01 * magnitude + 1e-4) return false;
      want = want_end, got = got_end;
    }
  }
  return !*want && !*got;
}

static void check_row(const char* op, int number, char fields[FIELDS][FIELD]) {
  static char want[FIELDS][FIELD];
  char want_op[128] = "";
  int want_number = -2;
  if (written) {
    fprintf(written, "%s %d", op, number);
    for (int i = 0; i < FIELDS; ++i) fprintf(written, " %s", is_outcome_of_the_machine(fields[i]) ? "-" : fields[i]);
    fprintf(written, "\n");
    return;
  }
  while (fscanf(recorded, "%127s %d", want_op, &want_number) == 2) {
    for (int i = 0; i < FIELDS; ++i)
      if (fscanf(recorded, "%1999s", want[i]) != 1) want_number = -2;
    if (!strcmp(want_op, op) && want_number == number) break;
  }
  if (strcmp(want_op, op) || want_number != number) {
    hr_test_fail("tests/ops/outcomes.txt", 0, "%s case %d has no row: run tests/ops/record_outcomes.py", op, number);
    rewind(recorded);
    return;
  }
  for (int i = 0; i < FIELDS; ++i) {
    if (is_outcome_of_the_machine(want[i]) || is_outcome_of_the_machine(fields[i])) continue;
    ++compared;
    if (*want[i] == 'f' && i < TEXTS + FLOATS ? !are_near_sums(want[i], fields[i]) : strcmp(want[i], fields[i]) != 0)
      hr_test_fail("tests/ops/outcomes.txt", 0, "%s case %d, change %d: %s was recorded, is %s", op, number, i, want[i], fields[i]);
  }
}

/* A field in three digits. */
static void shorten(char* field, const char* text) {
  if (is_outcome_of_the_machine(text)) strcpy(field, "-");
  else snprintf(field, FIELD, "%03x", (unsigned)hr_hash(text, strlen(text), 1) & 0xfff);
}

static void fill_row(op_case_t* t, const char* op, const char* name, char fields[FIELDS][FIELD]) {
  static char text[FIELD], sums[FIELD];
  char(*more)[FIELD] = fields + TEXTS + FLOATS;
  for (int i = 0; i < TEXTS; ++i) {
    changed_start(name, (uint64_t)i + 100);
    if (i < VALUE_RUNS) run_changed_values(t, fields[i], fields[TEXTS + i]);
    else if (i < VALUE_RUNS + SHAPE_RUNS) import_changed_shapes(t, fields[i]);
    else infer_gradient_shapes(t, fields[i]);
  }
  for (int i = 0; i < MORE; ++i) {
    *text = *sums = 0;
    changed_start(name, (uint64_t)i + 200);
    if (i < MORE_VALUE_RUNS) run_changed_values(t, text, sums);
    else if (i < MORE_VALUE_RUNS + MORE_SHAPE_RUNS) import_changed_shapes(t, text);
    else run_changed_attr(t, op, i, text, sums);
    shorten(more[i], text);
  }
}

static void check_case(const golden_case_t* c, int number, void* arg) {
  static char fields[FIELDS][FIELD];
  char name[200];
  op_case_t t;
  if (c->size > MOST_CASE_BYTES || number >= MOST_CASES) return;
  snprintf(name, sizeof name, "%s case %d", (const char*)arg, number);
  memset(fields, 0, sizeof fields);
  if (op_case_open(&t, c) == TF_OK && op_case_init(&t) == TF_OK) {
    fill_row(&t, arg, name, fields);
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
  setenv("HEADRACE_DNN", "none", 1); /* infinities times zero are not the same in all libraries */
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
