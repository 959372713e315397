/* SPDX-License-Identifier: Apache-2.0 */
/* Runs rows.def through the C API; see rows.h and the grammar on top of rows.def. */
#include "ops/rows.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/match.h"
#include "ops/text.h"

typedef struct {
  const char *op, *inputs, *attrs, *want;
  int line;
} op_row_t;
static const op_row_t op_rows[] = {
#define ROW(op, inputs, attrs, want) {#op, inputs, attrs, want, __LINE__},
#include "ops/rows.def"
#undef ROW
};

int op_row_total(void) { return (int)(sizeof op_rows / sizeof *op_rows); }
const char* op_row_op(int row) { return op_rows[row].op; }
int op_row_line(int row) { return op_rows[row].line; }
int op_row_count(const char* op) {
  int n = 0;
  for (int i = 0; i < op_row_total(); ++i) n += !strcmp(op_rows[i].op, op);
  return n;
}

/* ---- a row as a graph */

typedef struct {
  const op_row_t* row;
  TF_Graph* graph;
  TF_Status* status;
  TF_OperationDescription* node;
  TF_Output reads[TEXT_MAX]; /* of its variables, made after it ran */
  TF_Operation* assigns[TEXT_MAX];
  int variables, inputs;
} row_run_t;

static TF_Output row_const(row_run_t* r, TF_Tensor* value) {
  char name[32];
  snprintf(name, sizeof name, "in_%d", r->inputs++);
  TF_OperationDescription* d = TF_NewOperation(r->graph, "Const", name);
  TF_SetAttrTensor(d, "value", value, r->status);
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  return (TF_Output){TF_FinishOperation(d, r->status), 0};
}

static TF_OperationDescription* row_node(row_run_t* r, const char* op) {
  char name[64];
  snprintf(name, sizeof name, "%s_%d", op, r->variables);
  return TF_NewOperation(r->graph, op, name);
}

/* The variable's reference or handle; its assignment and its read are noted. */
static TF_Output row_variable(row_run_t* r, TF_Tensor* value, bool is_ref) {
  int64_t dims[TEXT_MAX];
  int rank = TF_NumDims(value);
  for (int i = 0; i < rank; ++i) dims[i] = TF_Dim(value, i);
  TF_Output start = row_const(r, value);
  TF_OperationDescription* d = row_node(r, is_ref ? "VariableV2" : "VarHandleOp");
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  TF_SetAttrShape(d, "shape", dims, rank);
  if (!is_ref) {
    char name[32];
    snprintf(name, sizeof name, "v%d", r->variables);
    TF_SetAttrString(d, "shared_name", name, strlen(name));
  }
  TF_Output variable = {TF_FinishOperation(d, r->status), 0};
  d = row_node(r, is_ref ? "Assign" : "AssignVariableOp");
  TF_AddInput(d, variable);
  TF_AddInput(d, start);
  r->assigns[r->variables] = TF_FinishOperation(d, r->status);
  d = row_node(r, is_ref ? "Identity" : "ReadVariableOp");
  TF_AddInput(d, variable);
  if (!is_ref) TF_SetAttrType(d, "dtype", TF_TensorType(value));
  r->reads[r->variables++] = (TF_Output){TF_FinishOperation(d, r->status), 0};
  return variable;
}

/* The inputs of the row; list_of[i]: how many from args[i] on are one list, 0: none. */
static int row_inputs(row_run_t* r, TF_Output* args, int* list_of) {
  int n = 0, first = 0;
  for (const char* at = r->row->inputs; *at && n < TEXT_MAX; ++n) {
    bool is_ref = !strncmp(at, "ref ", 4), is_variable = is_ref || !strncmp(at, "var ", 4);
    TF_Tensor* value = text_tensor(at + (is_variable ? 4 : 0), &at);
    if (!value) return -1;
    args[n] = is_variable ? row_variable(r, value, is_ref) : row_const(r, value);
    TF_DeleteTensor(value);
    if (TF_GetCode(r->status) != TF_OK) return -1;
    list_of[n] = 0;
    const bool goes_on = *at == '|';
    if (goes_on) at += 1 + strspn(at + 1, " ");
    if (goes_on || list_of[first]) list_of[first] = n - first + 1;
    if (!goes_on) first = n + 1;
  }
  return n;
}

static bool row_build(row_run_t* r) {
  TF_Output args[TEXT_MAX];
  int list_of[TEXT_MAX + 1];
  const int n = row_inputs(r, args, list_of);
  if (n < 0) return false;
  r->node = TF_NewOperation(r->graph, r->row->op, "node");
  for (int i = 0; i < n; i += list_of[i] ? list_of[i] : 1) {
    if (list_of[i]) TF_AddInputList(r->node, args + i, list_of[i]);
    else TF_AddInput(r->node, args[i]);
  }
  for (const char* at = r->row->attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(r->node, name, at + strcspn(at, "=") + 1);
  }
  return true;
}

static bool row_compare(const row_run_t* r, TF_Tensor* const* got, int count, char* why, size_t why_size) {
  int n = 0;
  for (const char* at = r->row->want; *at; ++n) {
    TF_Tensor* want = text_tensor(at, &at);
    if (!want) return snprintf(why, why_size, "the row's wanted values cannot be read"), false;
    double rtol = TF_TensorType(want) == TF_DOUBLE ? 1e-11 : 2e-5, atol = TF_TensorType(want) == TF_DOUBLE ? 1e-13 : 2e-6;
    bool good = n < count && got[n] && golden_match(got[n], want, "close", rtol, atol, why, why_size);
    TF_DeleteTensor(want);
    if (!good) return false;
  }
  return n > 0 || (snprintf(why, why_size, "the row wants nothing"), false);
}

static bool row_go(row_run_t* r, char* why, size_t why_size) {
  TF_Operation* node = TF_FinishOperation(r->node, r->status);
  if (TF_GetCode(r->status) != TF_OK) return false;
  TF_Session* session = NULL;
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Output fetch[TEXT_MAX];
  TF_Tensor* got[TEXT_MAX] = {0};
  const bool gives = TF_OperationNumOutputs(node) > 0 && TF_OperationOutputType((TF_Output){node, 0}) < 100; /* 100 and more: references */
  const int outputs = gives ? TF_OperationNumOutputs(node) : 0, n = outputs + r->variables;
  const TF_Operation* target = node;
  for (int i = 0; i < n; ++i) fetch[i] = i < outputs ? (TF_Output){node, i} : r->reads[i - outputs];
  session = TF_NewSession(r->graph, options, r->status);
  for (int i = 0; i < r->variables; ++i) {
    const TF_Operation* assign = r->assigns[i];
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &assign, 1, NULL, r->status);
  }
  if (!gives && TF_GetCode(r->status) == TF_OK)
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, r->status);
  if (TF_GetCode(r->status) == TF_OK)
    TF_SessionRun(session, NULL, NULL, NULL, 0, fetch, got, gives ? outputs : n, NULL, 0, NULL, r->status);
  if (gives && r->variables && TF_GetCode(r->status) == TF_OK)
    TF_SessionRun(session, NULL, NULL, NULL, 0, fetch + outputs, got + outputs, r->variables, NULL, 0, NULL, r->status);
  bool good = TF_GetCode(r->status) == TF_OK && row_compare(r, got, n, why, why_size);
  for (int i = 0; i < n; ++i) TF_DeleteTensor(got[i]);
  TF_Status* end = TF_NewStatus();
  TF_DeleteSession(session, end);
  TF_DeleteStatus(end);
  TF_DeleteSessionOptions(options);
  return good;
}

bool op_row_run(int row, char* why, size_t why_size) {
  row_run_t r = {.row = &op_rows[row], .graph = TF_NewGraph(), .status = TF_NewStatus()};
  snprintf(why, why_size, "the row's inputs cannot be read");
  bool good = row_build(&r) && row_go(&r, why, why_size);
  if (TF_GetCode(r.status) != TF_OK) snprintf(why, why_size, "%s", TF_Message(r.status));
  TF_DeleteGraph(r.graph);
  TF_DeleteStatus(r.status);
  return good;
}
