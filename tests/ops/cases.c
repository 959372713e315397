/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases in this process; see cases.h. */
#include "ops/cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "op/registry.h"

#define CASES_FIELD(name) .name = name,
golden_api_t api = {GOLDEN_API(CASES_FIELD)}; /* what golden/match.c calls: here the functions that we are linked with */
#undef CASES_FIELD

#define ARCHIVE HR_TEST_SOURCE_DIR "/tests/golden/ops.tar.xz"
#define GOLDEN  HR_TEST_BUILD_DIR "/golden"

/* Unpacked by whoever asks first, and again when the archive is newer. */
const char* op_case_folder(void) {
  static bool asked;
  if (!asked && system("test " GOLDEN "/stamp -nt " ARCHIVE " || { mkdir -p " GOLDEN " && tar -xJf " ARCHIVE " -C " GOLDEN
                       " && touch " GOLDEN "/stamp; }"))
    fprintf(stderr, "the golden cases cannot be unpacked to %s\n", GOLDEN);
  asked = true;
  return GOLDEN "/ops";
}

bool op_case_each(const char* op, void (*visit)(const golden_case_t* c, int number, void* arg), void* arg) {
  char path[4096];
  struct stat info;
  golden_file_t file;
  golden_case_t c;
  size_t at = 0;
  snprintf(path, sizeof path, "%s/%s.tfrecord", op_case_folder(), op);
  if (stat(path, &info) || !golden_file_read(path, &file)) return false;
  for (int number = 0; golden_case_next(&file, &at, &c) > 0; ++number) {
    visit(&c, number, arg);
    golden_case_free(&c);
  }
  golden_file_free(&file);
  return true;
}

static TF_Code case_code(const op_case_t* t) { return t->status ? TF_GetCode(t->status) : TF_RESOURCE_EXHAUSTED; }

static TF_Code case_import(op_case_t* t) {
  TF_Buffer* bytes = TF_NewBufferFromString(t->c->graph, t->c->size);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  if (bytes && options) TF_GraphImportGraphDef(t->graph, bytes, options, t->status);
  else TF_SetStatus(t->status, TF_RESOURCE_EXHAUSTED, "out of memory");
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(bytes);
  return case_code(t);
}

static TF_Output case_output(op_case_t* t, const char* endpoint) {
  char name[512];
  const char* colon = strrchr(endpoint, ':');
  snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - endpoint) : (int)strlen(endpoint), endpoint);
  return (TF_Output){TF_GraphOperationByName(t->graph, name), colon ? atoi(colon + 1) : 0};
}

static TF_Output case_node(op_case_t* t, const char* stem, int k) {
  char name[64];
  snprintf(name, sizeof name, "%s_%d", stem, k);
  return (TF_Output){TF_GraphOperationByName(t->graph, name), 0};
}

TF_Tensor* op_case_const(op_case_t* t, const char* stem, int k) {
  TF_Tensor* value = NULL;
  TF_Output o = case_node(t, stem, k);
  if (o.oper) TF_OperationGetAttrTensor(o.oper, "value", &value, t->status);
  return value;
}

static TF_Code case_find(op_case_t* t) {
  for (int i = 0; i < t->c->fetch.count; ++i) t->fetch[i] = case_output(t, t->c->fetch.name[i]);
  for (int i = 0; i < t->c->grad.count; ++i) t->grad[i] = case_output(t, t->c->grad.name[i]);
  for (; t->inputs < OP_CASE_MAX_INPUTS; ++t->inputs) {
    t->input[t->inputs] = case_node(t, "in", t->inputs);
    if (!t->input[t->inputs].oper) break;
    t->value[t->inputs] = op_case_const(t, "in", t->inputs);
    if (case_code(t) != TF_OK) break;
  }
  return case_code(t);
}

static TF_Code case_differentiate(op_case_t* t) {
  TF_Output y[GOLDEN_MAX_NAMES], seed[GOLDEN_MAX_NAMES];
  int n = 0;
  for (int k = 0; k < t->c->fetch.count; ++k) {
    TF_Output s = case_node(t, "seed", k);
    if (!s.oper) continue;
    seed[n] = s;
    y[n++] = t->fetch[k];
  }
  TF_AddGradients(t->graph, y, n, t->grad, t->c->grad.count, seed, t->status, t->dy);
  return case_code(t);
}

TF_Code op_case_open(op_case_t* t, const golden_case_t* c) {
  memset(t, 0, sizeof *t);
  t->c = c;
  t->status = TF_NewStatus();
  t->graph = TF_NewGraph();
  if (!t->status || !t->graph) return TF_RESOURCE_EXHAUSTED;
  if (case_import(t) != TF_OK || case_find(t) != TF_OK) return case_code(t);
  if (c->grad.count && !*c->error && case_differentiate(t) != TF_OK) return case_code(t);
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (!options) return TF_RESOURCE_EXHAUSTED;
  t->session = TF_NewSession(t->graph, options, t->status);
  TF_DeleteSessionOptions(options);
  return case_code(t);
}

/* A step that waits for something that will not come ends soon. */
static void case_step(op_case_t* t, TF_Tensor* const* fed, const TF_Output* fetch, TF_Tensor** out, int n, const TF_Operation* target) {
  TF_Buffer limit = {.data = "\x10\xf4\x03", .length = 3}; /* RunOptions: timeout_in_ms = 500 */
  TF_SessionRun(t->session, op_case_is_stateful(t) ? &limit : NULL, t->input, fed, fed ? t->inputs : 0, fetch, out, n, &target,
                target ? 1 : 0, NULL, t->status);
}

TF_Code op_case_init(op_case_t* t) {
  for (int i = 0; i < t->c->init.count; ++i) {
    case_step(t, NULL, NULL, NULL, 0, TF_GraphOperationByName(t->graph, t->c->init.name[i]));
    if (case_code(t) != TF_OK) break;
  }
  return case_code(t);
}

TF_Code op_case_run(op_case_t* t, TF_Tensor* const* fed) {
  case_step(t, fed, t->fetch, t->out, t->c->fetch.count, NULL);
  return case_code(t);
}

TF_Code op_case_run_grad(op_case_t* t) {
  TF_Output fetch[GOLDEN_MAX_NAMES];
  TF_Tensor* got[GOLDEN_MAX_NAMES] = {0};
  int n = 0;
  for (int i = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) fetch[n++] = t->dy[i];
  if (n) case_step(t, NULL, fetch, got, n, NULL);
  for (int i = 0, k = 0; i < t->c->grad.count; ++i)
    if (t->dy[i].oper) t->dx[i] = got[k++];
  return case_code(t);
}

static void case_free(TF_Tensor** tensors, int count) {
  for (int i = 0; i < count; ++i) {
    TF_DeleteTensor(tensors[i]);
    tensors[i] = NULL;
  }
}

void op_case_forget(op_case_t* t) {
  case_free(t->out, t->c->fetch.count);
  case_free(t->dx, t->c->grad.count);
}

void op_case_close(op_case_t* t) {
  op_case_forget(t);
  case_free(t->value, t->inputs < OP_CASE_MAX_INPUTS ? t->inputs + 1 : t->inputs);
  TF_Status* s = t->session ? TF_NewStatus() : NULL;
  if (t->session) TF_DeleteSession(t->session, s ? s : t->status);
  TF_DeleteStatus(s);
  TF_DeleteGraph(t->graph);
  TF_DeleteStatus(t->status);
}

bool op_case_is_stateful(const op_case_t* t) {
  size_t at = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(t->graph, &at));) {
    const hr_op_def_t* def = NULL;
    if (!strcmp(TF_OperationName(o), "case")) continue; /* the NoOp that holds the case's own attrs */
    hr_status_t s = hr_registry_find(hr_str(TF_OperationOpType(o)), &def);
    hr_status_release(s);
    if (def && def->op->flags & (HR_OP_STATEFUL | HR_OP_SIDE_EFFECT)) return true;
  }
  return t->c->init.count > 0;
}

static bool case_value_is_right(op_case_t* t, const char* stem, int k, const TF_Tensor* got, char* why, size_t why_size) {
  TF_Tensor* want = op_case_const(t, stem, k);
  bool good = true;
  if (want && !got) {
    good = false;
    snprintf(why, why_size, "%s_%d: no tensor", stem, k);
  } else if (want) {
    good = golden_match(got, want, t->c->match, t->c->rtol, t->c->atol, why, why_size);
  }
  TF_DeleteTensor(want);
  return good;
}

bool op_case_is_right(op_case_t* t, char* why, size_t why_size) {
  bool good = true, with_gradients = false;
  for (int k = 0; good && k < t->c->fetch.count; ++k) good = case_value_is_right(t, "want", k, t->out[k], why, why_size);
  for (int i = 0; i < t->c->grad.count; ++i) with_gradients |= t->dx[i] != NULL;
  for (int i = 0; good && with_gradients && i < t->c->grad.count; ++i)
    if (t->dy[i].oper) good = case_value_is_right(t, "want_grad", i, t->dx[i], why, why_size);
  return good;
}
