/* SPDX-License-Identifier: Apache-2.0 */
/* Ops at their borders: empty and single inputs, the first and the last index and one beyond, unknown ranks and sizes, every message. Rows
 * of borders_*.def say what an op does with small inputs, in three ways.
 *
 *   BORDER(op, inputs, attrs, fed, constant, gradient)
 *
 * inputs: split by ';', those of a list by '|' (a list of one ends with it). Of each: a value as tests/ops/text.h reads it,
 * "float[2] 1 2"; with "#" before it a value that is a constant in every graph; "float(2,?)", "float(*)": a placeholder of that shape or
 * of any, which gets no value ("?^9": nine times); "{2,?,3}": a vector of int32 of which some elements are known; "ref" or "var" before
 * one: a variable that holds it or, if it has no value, has that shape and was not assigned.
 * attrs: as there, split by ';'.
 * fed: the outputs, then the variables, when values are fed to placeholders of any shape: what the kernel does. The types and shapes of
 * the outputs alone where some input has no value.
 * constant: when they are constants: what the shape function does with all that can be known. "=": the same; "~(..)" after it: the shapes
 * that were inferred, if they are not those of the outputs.
 * gradient: of the inputs of floats, for dy = 1, 2, 3, ..., "-" where there is none; how many nodes it took with values fed and with
 * constants.
 * An error: "!code message", without the node's name.
 *
 * A new row: write "" for the three, and take what HEADRACE_BORDERS=FILE writes, if it is right. */
#include "ops/outcome_text.h"
#include "test.h"

typedef struct {
  const char *op, *inputs, *attrs, *fed, *constant, *gradient;
  int line;
} border_t;

enum { MOST_INPUTS = 12, MOST_FLOATS = 12 };

typedef struct {
  const border_t* row;
  bool constant; /* values are constants, not fed */
  TF_Graph* graph;
  TF_Status* status;
  TF_Session* session;
  TF_Output feeds[MOST_INPUTS];
  TF_Tensor* fed[MOST_INPUTS];
  int feed_count;
  TF_Output floats[MOST_INPUTS]; /* inputs that have a gradient */
  int float_count, names;
  const TF_Operation* assigns[MOST_INPUTS];
  TF_Output reads[MOST_INPUTS];
  int assign_count, read_count;
  bool open; /* an input has no value */
} border_run_t;

/* --- shapes as text ------------------------------------------------------------------------------------------------------------------- */

static void outcome_add_shape(outcome_t* o, border_run_t* r, TF_Output out) {
  int64_t dims[256];
  const int rank = TF_GraphGetTensorNumDims(r->graph, out, r->status);
  if (rank < 0) {
    outcome_add(o, "(*)");
    return;
  }
  TF_GraphGetTensorShape(r->graph, out, dims, rank, r->status);
  outcome_add(o, "(");
  for (int d = 0, same; d < rank; d += same) {
    for (same = 1; d + same < rank && dims[d + same] == dims[d];) ++same;
    if (same < 5) same = 1;
    outcome_add(o, d ? "," : "");
    outcome_add(o, dims[d] < 0 ? "?" : "%lld", (long long)dims[d]);
    if (same > 1) outcome_add(o, "^%d", same);
  }
  outcome_add(o, ")");
}

/* --- inputs --------------------------------------------------------------------------------------------------------------------------- */

static TF_OperationDescription* border_node(border_run_t* r, const char* op) {
  char name[32];
  snprintf(name, sizeof name, "in_%d", r->names++);
  return TF_NewOperation(r->graph, op, name);
}

static TF_Output border_const(border_run_t* r, TF_Tensor* value) {
  TF_OperationDescription* d = border_node(r, "Const");
  TF_SetAttrTensor(d, "value", value, r->status);
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  return (TF_Output){TF_FinishOperation(d, r->status), 0};
}

static TF_Output border_placeholder(border_run_t* r, TF_DataType type, const int64_t* dims, int rank) {
  TF_OperationDescription* d = border_node(r, "Placeholder");
  TF_SetAttrType(d, "dtype", type);
  TF_SetAttrShape(d, "shape", dims, rank);
  return (TF_Output){TF_FinishOperation(d, r->status), 0};
}

/* "2,?^9": up to the closing bracket. */
static int border_dims(const char* at, char close, int64_t* dims) {
  int rank = 0;
  if (*at == '*') return -1;
  while (*at != close) {
    char* end = (char*)(uintptr_t)at + 1;
    const int64_t dim = *at == '?' ? -1 : strtoll(at, &end, 10);
    int64_t times = 1;
    if (*end == '^') times = strtoll(end + 1, &end, 10);
    for (; times > 0 && rank < 256; --times) dims[rank++] = dim;
    at = *end == ',' ? end + 1 : end;
  }
  return rank;
}

/* "{2,?,3}" */
static TF_Output border_sizes(border_run_t* r, const char* at) {
  int64_t dims[256];
  TF_Output parts[256];
  const int count = border_dims(at + 1, '}', dims);
  for (int i = 0; i < count; ++i) {
    const int32_t size = (int32_t)dims[i];
    TF_Tensor* t = TF_AllocateTensor(TF_INT32, NULL, 0, 4);
    memcpy(TF_TensorData(t), &size, 4);
    parts[i] = size == -1 ? border_placeholder(r, TF_INT32, dims, 0) : border_const(r, t);
    TF_DeleteTensor(t);
  }
  TF_OperationDescription* d = border_node(r, "Pack");
  TF_AddInputList(d, parts, count);
  r->open = true;
  return (TF_Output){TF_FinishOperation(d, r->status), 0};
}

static TF_Output border_variable(border_run_t* r, bool is_ref, TF_DataType type, const int64_t* dims, int rank, TF_Tensor* value) {
  char name[32];
  TF_OperationDescription* d = border_node(r, is_ref ? "VariableV2" : "VarHandleOp");
  TF_SetAttrType(d, "dtype", type);
  TF_SetAttrShape(d, "shape", dims, rank);
  snprintf(name, sizeof name, "v%d", r->names);
  TF_SetAttrString(d, "shared_name", name, strlen(name));
  const TF_Output variable = {TF_FinishOperation(d, r->status), 0};
  if (!value) return variable;
  const TF_Output start = border_const(r, value);
  d = border_node(r, is_ref ? "Assign" : "AssignVariableOp");
  TF_AddInput(d, variable);
  TF_AddInput(d, start);
  if (is_ref) TF_SetAttrBool(d, "validate_shape", 0);
  r->assigns[r->assign_count++] = TF_FinishOperation(d, r->status);
  d = border_node(r, is_ref ? "Identity" : "ReadVariableOp");
  TF_AddInput(d, variable);
  if (!is_ref) TF_SetAttrType(d, "dtype", type);
  r->reads[r->read_count++] = (TF_Output){TF_FinishOperation(d, r->status), 0};
  return variable;
}

static bool is_float(TF_DataType type) { return type == TF_FLOAT || type == TF_DOUBLE || type == TF_COMPLEX64; }

/* One input, up to ';' or '|'. */
static TF_Output border_input(border_run_t* r, const char* at) {
  int64_t dims[256];
  const bool is_ref = !strncmp(at, "ref ", 4), is_var = !strncmp(at, "var ", 4), is_fixed = *at == '#';
  at += is_ref || is_var ? 4 : is_fixed;
  if (*at == '{') return border_sizes(r, at);
  const size_t word = strcspn(at, "[(");
  const int type = text_type(at, word);
  if (type < 0) {
    TF_SetStatus(r->status, TF_UNKNOWN, "the row has an unknown type");
    return (TF_Output){NULL, 0};
  }
  TF_Output out;
  if (at[word] == '(') {
    const int rank = border_dims(at + word + 1, ')', dims);
    if (is_ref || is_var) return border_variable(r, is_ref, text_types[type].type, dims, rank, NULL);
    out = border_placeholder(r, text_types[type].type, dims, rank);
    r->open = true;
  } else {
    TF_Tensor* value = text_tensor(at, NULL);
    if (!value) {
      TF_SetStatus(r->status, TF_UNKNOWN, "the row has a value that cannot be read");
      return (TF_Output){NULL, 0};
    }
    for (int d = 0; d < TF_NumDims(value); ++d) dims[d] = TF_Dim(value, d);
    if (is_ref || is_var) {
      out = border_variable(r, is_ref, text_types[type].type, dims, r->constant ? TF_NumDims(value) : -1, value);
      TF_DeleteTensor(value);
      return out;
    }
    if (r->constant || is_fixed) {
      out = border_const(r, value);
      TF_DeleteTensor(value);
    } else {
      out = border_placeholder(r, text_types[type].type, dims, -1);
      r->feeds[r->feed_count] = out;
      r->fed[r->feed_count++] = value;
    }
  }
  if (is_float(text_types[type].type) && !is_fixed) r->floats[r->float_count++] = out;
  return out;
}

/* The op with its inputs and attrs; NULL: the status says why. */
static TF_Operation* border_op(border_run_t* r) {
  TF_Output args[MOST_INPUTS][MOST_INPUTS];
  int count[MOST_INPUTS], groups = 0;
  for (const char* at = r->row->inputs; *at;) {
    bool is_list = false;
    count[groups] = 0;
    for (;;) {
      if (*at != ';' && *at) args[groups][count[groups]++] = border_input(r, at);
      if (TF_GetCode(r->status) != TF_OK) return NULL;
      at += strcspn(at, ";|");
      if (*at != '|') break;
      is_list = true;
      at += 1 + strspn(at + 1, " ");
    }
    if (!is_list) count[groups] = -1;
    ++groups;
    at += *at == ';';
    at += strspn(at, " ");
  }
  TF_OperationDescription* d = TF_NewOperation(r->graph, r->row->op, "node");
  for (int i = 0; i < groups; ++i) {
    if (count[i] < 0) TF_AddInput(d, args[i][0]);
    else TF_AddInputList(d, args[i], count[i]);
  }
  for (const char* at = r->row->attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(d, name, at + strcspn(at, "=") + 1);
  }
  return TF_FinishOperation(d, r->status);
}

/* --- runs ----------------------------------------------------------------------------------------------------------------------------- */

static void border_open(border_run_t* r, const border_t* row, bool constant) {
  *r = (border_run_t){.row = row, .constant = constant, .graph = TF_NewGraph(), .status = TF_NewStatus()};
}

static void border_close(border_run_t* r) {
  TF_Status* end = TF_NewStatus();
  if (r->session) TF_DeleteSession(r->session, end);
  TF_DeleteStatus(end);
  for (int i = 0; i < r->feed_count; ++i) TF_DeleteTensor(r->fed[i]);
  TF_DeleteGraph(r->graph);
  TF_DeleteStatus(r->status);
}

static bool border_start(border_run_t* r) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (!r->session) r->session = TF_NewSession(r->graph, options, r->status);
  TF_DeleteSessionOptions(options);
  for (int i = 0; i < r->assign_count && TF_GetCode(r->status) == TF_OK; ++i)
    TF_SessionRun(r->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &r->assigns[i], 1, NULL, r->status);
  return TF_GetCode(r->status) == TF_OK;
}

static bool border_fetch(border_run_t* r, const TF_Output* outs, int count, const TF_Operation* target, outcome_t* o) {
  TF_Tensor* got[64] = {0};
  if (TF_GetCode(r->status) == TF_OK)
    TF_SessionRun(r->session, NULL, r->feeds, r->fed, r->feed_count, outs, got, count, &target, target ? 1 : 0, NULL, r->status);
  if (TF_GetCode(r->status) != TF_OK) outcome_add_error(o, r->status);
  for (int i = 0; i < count; ++i) {
    if (TF_GetCode(r->status) == TF_OK) {
      if (o->used) outcome_add(o, "; ");
      outcome_add_tensor(o, got[i]);
    }
    TF_DeleteTensor(got[i]);
  }
  return TF_GetCode(r->status) == TF_OK;
}

static void border_shapes(border_run_t* r, TF_Operation* node, bool with_types, outcome_t* o) {
  for (int i = 0; i < TF_OperationNumOutputs(node); ++i) {
    outcome_add(o, i ? "; %s" : "%s", with_types ? type_name(TF_OperationOutputType((TF_Output){node, i})) : "");
    outcome_add_shape(o, r, (TF_Output){node, i});
  }
}

/* What the op gives; the shapes that were inferred too if they are not the outputs' own. */
static bool border_values(border_run_t* r, TF_Operation* node, outcome_t* o) {
  TF_Output outs[64];
  const int count = TF_OperationNumOutputs(node);
  for (int i = 0; i < count && i < 64; ++i) outs[i] = (TF_Output){node, i};
  if (!border_start(r)) return outcome_add_error(o, r->status), false;
  const bool gives = count > 0 && TF_OperationOutputType(outs[0]) < 100;
  if (!border_fetch(r, outs, gives ? count : 0, gives ? NULL : node, o)) return false;
  return r->read_count == 0 || border_fetch(r, r->reads, r->read_count, NULL, o);
}

static void border_outcome(border_run_t* r, outcome_t* o) {
  TF_Operation* node = border_op(r);
  if (!node) outcome_add_error(o, r->status);
  else if (r->open) border_shapes(r, node, true, o);
  else border_values(r, node, o);
}

/* Inferred shapes beside those that came out. */
static void border_inferred(border_run_t* r, const char* values, outcome_t* o) {
  outcome_t shapes = {.used = 0}, real = {.used = 0};
  TF_Operation* node = TF_GraphOperationByName(r->graph, "node");
  if (!node || *values == '!' || TF_OperationNumOutputs(node) == 0 || TF_OperationOutputType((TF_Output){node, 0}) >= 100) return;
  border_shapes(r, node, false, &shapes);
  const char* at = values;
  for (int i = 0; i < TF_OperationNumOutputs(node) && at; ++i) {
    const char* end = strchr(at, ']');
    at = strchr(at, '[');
    if (!at || !end) break;
    outcome_add(&real, "%s(%.*s)", i ? "; " : "", (int)(end - at - 1), at + 1);
    at = strchr(end, ';');
  }
  if (strcmp(shapes.text, real.text)) outcome_add(o, "~%s", shapes.text);
}

static int border_nodes(const TF_Graph* g) {
  size_t at = 0;
  int count = 0;
  while (TF_GraphNextOperation((TF_Graph*)(uintptr_t)g, &at)) ++count;
  return count;
}

/* dy for an output whose value is known: 1, 2, 3, ... */
static TF_Output border_upstream(border_run_t* r, const TF_Tensor* like) {
  int64_t dims[TEXT_MAX];
  for (int d = 0; d < TF_NumDims(like); ++d) dims[d] = TF_Dim(like, d);
  TF_Tensor* t = TF_AllocateTensor(TF_TensorType(like), dims, TF_NumDims(like), TF_TensorByteSize(like));
  const int64_t parts = TF_TensorType(like) == TF_COMPLEX64 ? 2 : 1;
  for (int64_t i = 0; i < TF_TensorElementCount(like) * parts; ++i)
    text_store(TF_TensorType(like), TF_TensorData(t), (size_t)i, (double)(i + 1));
  TF_Output dy = border_const(r, t);
  TF_DeleteTensor(t);
  return dy;
}

/* The gradients of the float inputs, or of graphs without values their shapes; then how many nodes they took. */
static void border_gradient(const border_t* row, bool constant, outcome_t* o, int* nodes) {
  border_run_t r;
  TF_Output y[MOST_FLOATS], dy[MOST_FLOATS], dx[MOST_INPUTS], given[MOST_INPUTS];
  TF_Tensor* got[MOST_FLOATS] = {0};
  int count = 0, given_count = 0;
  border_open(&r, row, constant);
  TF_Operation* node = border_op(&r);
  for (int i = 0; node && i < TF_OperationNumOutputs(node) && count < MOST_FLOATS; ++i)
    if (is_float(TF_OperationOutputType((TF_Output){node, i}))) y[count++] = (TF_Output){node, i};
  if (node && !r.open && border_start(&r))
    TF_SessionRun(r.session, NULL, r.feeds, r.fed, r.feed_count, y, got, count, NULL, 0, NULL, r.status);
  if (TF_GetCode(r.status) == TF_OK && !r.open)
    for (int i = 0; i < count; ++i) dy[i] = border_upstream(&r, got[i]);
  const int before = border_nodes(r.graph);
  if (TF_GetCode(r.status) == TF_OK) TF_AddGradients(r.graph, y, count, r.floats, r.float_count, r.open ? NULL : dy, r.status, dx);
  if (TF_GetCode(r.status) != TF_OK) outcome_add_error(o, r.status);
  *nodes = border_nodes(r.graph) - before;
  for (int i = 0; TF_GetCode(r.status) == TF_OK && i < r.float_count; ++i) {
    if (!dx[i].oper) outcome_add(o, "-; ");
    else if (!r.open) given[given_count++] = dx[i];
    else outcome_add_shape(o, &r, dx[i]), outcome_add(o, "; ");
  }
  if (TF_GetCode(r.status) == TF_OK && given_count > 0) border_fetch(&r, given, given_count, NULL, o);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(got[i]);
  border_close(&r);
}

/* Floats among both inputs and outputs. */
static bool border_has_gradient(const border_t* row) {
  border_run_t r;
  bool has = false;
  border_open(&r, row, false);
  TF_Operation* node = border_op(&r);
  for (int i = 0; node && r.float_count > 0 && i < TF_OperationNumOutputs(node); ++i)
    has = has || is_float(TF_OperationOutputType((TF_Output){node, i}));
  border_close(&r);
  return has;
}

static void border_row(const border_t* row, outcome_t* fed, outcome_t* constant, outcome_t* gradient) {
  border_run_t r;
  outcome_t other = {.used = 0};
  int nodes[2] = {0, 0};
  border_open(&r, row, false);
  border_outcome(&r, fed);
  const bool open = r.open;
  border_close(&r);
  if (!open) {
    border_open(&r, row, true);
    border_outcome(&r, constant);
    if (!strcmp(fed->text, constant->text)) *constant = (outcome_t){"=", 1};
    border_inferred(&r, fed->text, constant);
    border_close(&r);
  }
  if (*fed->text == '!' || !border_has_gradient(row)) return;
  border_gradient(row, false, gradient, &nodes[0]);
  const bool twice = !open && *constant->text != '!';
  if (twice) border_gradient(row, true, &other, &nodes[1]);
  if (twice && strcmp(gradient->text, other.text)) outcome_add(gradient, " | %s", other.text);
  outcome_add(gradient, " {%d", nodes[0]);
  outcome_add(gradient, twice ? " %d}" : "}", nodes[1]);
}

static bool border_is_right(const char* path, const border_t* row, const char* what, const char* got, const char* want) {
  if (!strcmp(got, want)) return true;
  return hr_test_fail(path, row->line, "%s(%s) %s: %s: \"%s\", wanted \"%s\"", row->op, row->inputs, row->attrs, what, got, want);
}

/* A row that gives something else is told as a failure at its line. */
static void borders_run(const char* path, const border_t* rows, size_t count) {
  const char* to = getenv("HEADRACE_BORDERS");
  FILE* f = to ? fopen(to, "a") : NULL;
  for (size_t i = 0; i < count; ++i) {
    static outcome_t got[3];
    memset(got, 0, sizeof got);
    border_row(&rows[i], &got[0], &got[1], &got[2]);
    if (f) {
      fprintf(f, "%d\t%s\t%s\t%s\n", rows[i].line, got[0].text, got[1].text, got[2].text);
      continue;
    }
    border_is_right(path, &rows[i], "fed", got[0].text, rows[i].fed);
    border_is_right(path, &rows[i], "constant", got[1].text, rows[i].constant);
    border_is_right(path, &rows[i], "gradient", got[2].text, rows[i].gradient);
  }
  if (f) fclose(f);
}

/* --- rows ----------------------------------------------------------------------------------------------------------------------------- */

#define BORDER(op, inputs, attrs, fed, constant, gradient) {#op, inputs, attrs, fed, constant, gradient, __LINE__},
static const border_t array_rows[] = {
#include "ops/borders_array.def"
};
static const border_t other_rows[] = {
#include "ops/borders_other.def"
};
static const border_t nn_rows[] = {
#include "ops/borders_nn.def"
};
#undef BORDER

HR_TEST(array) { borders_run("tests/ops/borders_array.def", array_rows, sizeof array_rows / sizeof *array_rows); }
HR_TEST(state_and_strings) { borders_run("tests/ops/borders_other.def", other_rows, sizeof other_rows / sizeof *other_rows); }
HR_TEST(windows_and_numbers) { borders_run("tests/ops/borders_nn.def", nn_rows, sizeof nn_rows / sizeof *nn_rows); }
HR_TEST_MAIN()
