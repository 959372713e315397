/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the fuzzers' corpus imported, differentiated, run and exported through the C API, with their first, second, third... allocation
 * failing: each call answers with what it answers otherwise, or that memory ran out. */
#include "base/alloc.h"
#include "help.h"

#define CORPUS HR_TEST_SOURCE_DIR "/tests/fuzz/corpus/graph_def/"

enum { MOST = 32 };
typedef struct {
  TF_Graph* g;
  TF_Status* s;
  TF_Output feeds[MOST], fetches[MOST];
  TF_Tensor *fed[MOST], *fetched[MOST];
  const TF_Operation* targets[MOST];
  int feed_count, fetch_count, target_count;
} faults_t;

static bool faults_ok(const faults_t* f) { return TF_GetCode(f->s) == TF_OK; }

static TF_Buffer* faults_file(const char* name) {
  char path[600];
  snprintf(path, sizeof path, CORPUS "%s.pb", name);
  FILE* f = fopen(path, "rb");
  static char bytes[1 << 16];
  const size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  if (f) fclose(f);
  CHECK(size > 0 && size < sizeof bytes);
  return TF_NewBufferFromString(bytes, size);
}

static void faults_import(faults_t* f, const TF_Buffer* def) {
  TF_ImportGraphDefOptions* o = TF_NewImportGraphDefOptions();
  if (!o) {
    TF_SetStatus(f->s, TF_RESOURCE_EXHAUSTED, "no options");
    return;
  }
  TF_GraphImportGraphDef(f->g, def, o, f->s);
  TF_DeleteImportGraphDefOptions(o);
}

/* Two in each dimension that is not known; all bytes zero. */
static TF_Tensor* faults_zeros(faults_t* f, TF_Output x) {
  int64_t dims[8];
  size_t count = 1;
  const int rank = TF_GraphGetTensorNumDims(f->g, x, f->s);
  if (!faults_ok(f) || rank > 8) return NULL;
  if (rank > 0) TF_GraphGetTensorShape(f->g, x, dims, rank, f->s);
  for (int i = 0; i < rank; ++i) count *= (size_t)(dims[i] = dims[i] < 0 ? 2 : dims[i]);
  const TF_DataType type = TF_OperationOutputType(x);
  TF_Tensor* t = faults_ok(f) ? TF_AllocateTensor(type, dims, rank < 0 ? 0 : rank, count * TF_DataTypeSize(type)) : NULL;
  if (t) memset(TF_TensorData(t), 0, TF_TensorByteSize(t));
  return t;
}

/* All placeholders are fed; what nobody reads is fetched, or run. */
static void faults_ask(faults_t* f) {
  size_t at = 0;
  for (TF_Operation* op = TF_GraphNextOperation(f->g, &at); op && faults_ok(f); op = TF_GraphNextOperation(f->g, &at)) {
    const TF_Output out = {op, 0};
    const int outputs = TF_OperationNumOutputs(op);
    bool read = TF_OperationNumControlOutputs(op) > 0;
    for (int i = 0; i < outputs; ++i) read |= TF_OperationOutputNumConsumers((TF_Output){op, i}) > 0;
    if (!strcmp(TF_OperationOpType(op), "Placeholder")) {
      f->feeds[f->feed_count] = out;
      f->fed[f->feed_count] = faults_zeros(f, out);
      if (!f->fed[f->feed_count++]) TF_SetStatus(f->s, TF_RESOURCE_EXHAUSTED, "no tensor");
    } else if (!read) {
      if (outputs) f->fetches[f->fetch_count++] = out;
      else f->targets[f->target_count++] = op;
    }
  }
}

static void faults_differentiate(faults_t* f) {
  TF_Output dx = {NULL, 0};
  const bool floats = f->feed_count && f->fetch_count && TF_OperationOutputType(f->fetches[0]) == TF_FLOAT &&
                      TF_OperationOutputType(f->feeds[0]) == TF_FLOAT;
  if (floats) TF_AddGradients(f->g, f->fetches, 1, f->feeds, 1, NULL, f->s, &dx);
  if (faults_ok(f) && dx.oper) f->fetches[f->fetch_count++] = dx;
}

static void faults_run(faults_t* f, int devices) {
  const char config[] = {0x0a, 0x07, 0x0a, 0x03, 'C', 'P', 'U', 0x10, (char)devices}; /* ConfigProto.device_count */
  TF_SessionOptions* o = TF_NewSessionOptions();
  if (!o) {
    TF_SetStatus(f->s, TF_RESOURCE_EXHAUSTED, "no options");
    return;
  }
  TF_SetConfig(o, config, sizeof config, f->s);
  TF_Session* session = faults_ok(f) ? TF_NewSession(f->g, o, f->s) : NULL;
  TF_DeleteSessionOptions(o);
  TF_Status* end = session ? TF_NewStatus() : NULL;
  for (int turn = 0; turn < 2 && session && faults_ok(f); ++turn) {
    TF_SessionRun(session, NULL, f->feeds, f->fed, f->feed_count, f->fetches, f->fetched, f->fetch_count, f->targets, f->target_count, NULL,
                  f->s);
    for (int i = 0; i < f->fetch_count; ++i) {
      CHECK(faults_ok(f) == (f->fetched[i] != NULL));
      TF_DeleteTensor(f->fetched[i]);
      f->fetched[i] = NULL;
    }
  }
  if (session) TF_DeleteSession(session, end ? end : f->s);
  TF_DeleteStatus(end);
}

static void faults_export(faults_t* f) {
  TF_Buffer* out = TF_NewBuffer();
  if (out) TF_GraphToGraphDef(f->g, out, f->s);
  else TF_SetStatus(f->s, TF_RESOURCE_EXHAUSTED, "no buffer");
  if (faults_ok(f)) CHECK(out->length > 0);
  TF_DeleteBuffer(out);
}

static TF_Code faults_program(const TF_Buffer* def, int devices) {
  faults_t f = {.g = TF_NewGraph(), .s = TF_NewStatus()};
  TF_Code code = TF_RESOURCE_EXHAUSTED;
  if (f.g && f.s) {
    faults_import(&f, def);
    if (faults_ok(&f)) faults_ask(&f);
    if (faults_ok(&f)) faults_differentiate(&f);
    if (faults_ok(&f)) faults_export(&f);
    if (faults_ok(&f)) faults_run(&f, devices);
    code = TF_GetCode(f.s);
  }
  for (int i = 0; i < f.feed_count; ++i) TF_DeleteTensor(f.fed[i]);
  TF_DeleteGraph(f.g);
  TF_DeleteStatus(f.s);
  return code;
}

static void faults_fail_each(const char* name, int devices) {
  TF_Buffer* def = faults_file(name);
  CHECK_INT(faults_program(def, devices), TF_OK);
  bool more = true;
  int64_t n = 1;
  for (; more; n += 1 + n / 32) {
    hr_alloc_fail_at(n, false);
    const TF_Code code = faults_program(def, devices);
    more = hr_alloc_has_failed();
    hr_alloc_fail_at(0, false);
    if (code != TF_OK && !(more && code == TF_RESOURCE_EXHAUSTED))
      test_fail(__FILE__, __LINE__, "%s, allocation %d failing: code %d", name, (int)n, (int)code);
  }
  CHECK(n > 100);
  CHECK_INT(faults_program(def, devices), TF_OK); /* nothing is left behind */
  TF_DeleteBuffer(def);
}

TEST(every_allocation_of_an_imported_graph_may_fail) {
  static const char* const names[] = {"arith", "case_functions", "conv", "function", "gradient_function", "if_functions", "loop",
                                      "loop_in_function", "nested_calls", "shapes", "strings", "while_functions", "variables"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    for (int devices = 1; devices <= 2; ++devices) faults_fail_each(names[i], devices);
}
TEST_MAIN()
