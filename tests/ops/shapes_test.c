/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions, a row of shapes.def at a time: each operand of unknown rank, with unknown dimensions, of a rank too few or too many, at
 * a limit and one past it; values known and not known. What follows is all that may be known, and what is refused is refused in these
 * words. HEADRACE_TEST_OPS="Add Conv2D" confines the ops. */
#include "ops/text.h"
#include "test.h"
#include "tensorflow/c/c_api.h"

typedef struct {
  const char *op, *attrs, *inputs, *want;
  int line;
} shapes_row_t;
static const shapes_row_t shapes_rows[] = {
#define SHAPES(op, attrs, inputs, want) {#op, attrs, inputs, want, __LINE__},
#include "ops/shapes.def"
#undef SHAPES
};
enum { SHAPES_INPUTS = 12, SHAPES_TEXT = 600 };

typedef struct {
  TF_Graph* graph;
  TF_Status* status;
  int nodes;
} shapes_graph_t;

static TF_OperationDescription* shapes_node(shapes_graph_t* g, const char* op) {
  char name[32];
  snprintf(name, sizeof name, "n%d", g->nodes++);
  return TF_NewOperation(g->graph, op, name);
}

/* "float<2,?>", "float<*>". */
static TF_DataType shapes_parse(const char* at, int64_t dims[TEXT_MAX], int* rank) {
  const int type = text_type(at, strcspn(at, "<"));
  *rank = 0;
  at += strcspn(at, "<") + 1;
  if (*at == '*') *rank = -1;
  for (; *at != '>' && *at != '*' && *rank < TEXT_MAX; at += *at == ',') {
    char* end = (char*)(uintptr_t)at + 1;
    dims[(*rank)++] = *at == '?' ? -1 : strtoll(at, &end, 10);
    at = end;
  }
  return type < 0 ? TF_RESOURCE : text_types[type].type;
}

static TF_Output shapes_input(shapes_graph_t* g, const char* text) {
  const bool is_ref = !strncmp(text, "ref ", 4), is_var = !strncmp(text, "var ", 4);
  const char* at = text + (is_ref || is_var ? 4 : 0);
  int64_t dims[TEXT_MAX];
  int rank;
  if (!strchr(at, '<')) {
    TF_Tensor* value = text_tensor(at, NULL);
    TF_OperationDescription* d = shapes_node(g, "Const");
    TF_SetAttrTensor(d, "value", value, g->status);
    TF_SetAttrType(d, "dtype", TF_TensorType(value));
    TF_DeleteTensor(value);
    return (TF_Output){TF_FinishOperation(d, g->status), 0};
  }
  const TF_DataType type = shapes_parse(at, dims, &rank);
  TF_OperationDescription* d = shapes_node(g, is_ref ? "VariableV2" : is_var ? "VarHandleOp" : "Placeholder");
  TF_SetAttrType(d, "dtype", type);
  TF_SetAttrShape(d, "shape", dims, rank);
  return (TF_Output){TF_FinishOperation(d, g->status), 0};
}

static int shapes_inputs(shapes_graph_t* g, const char* text, TF_Output* in) {
  int count = 0;
  for (const char* at = text; *at && count < SHAPES_INPUTS; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char one[100];
    snprintf(one, sizeof one, "%.*s", (int)strcspn(at, ";"), at);
    in[count++] = shapes_input(g, one);
  }
  return count;
}

static void shapes_add(char* text, shapes_graph_t* g, TF_Output o) {
  int64_t dims[TEXT_MAX];
  size_t used = strlen(text);
  const int rank = TF_GraphGetTensorNumDims(g->graph, o, g->status);
  if (rank >= 0) TF_GraphGetTensorShape(g->graph, o, dims, rank, g->status);
  used += (size_t)snprintf(text + used, SHAPES_TEXT - used, "%s%s", o.index ? " " : "", rank < 0 ? "*" : "[");
  for (int i = 0; i < rank; ++i)
    used += (size_t)(dims[i] < 0 ? snprintf(text + used, SHAPES_TEXT - used, "%s?", i ? "," : "")
                                 : snprintf(text + used, SHAPES_TEXT - used, "%s%" PRId64, i ? "," : "", dims[i]));
  if (rank >= 0) snprintf(text + used, SHAPES_TEXT - used, "]");
}

static void shapes_of(const shapes_row_t* row, char* text) {
  shapes_graph_t g = {TF_NewGraph(), TF_NewStatus(), 0};
  TF_Output in[SHAPES_INPUTS];
  const int count = shapes_inputs(&g, row->inputs, in);
  TF_OperationDescription* d = TF_NewOperation(g.graph, row->op, "node");
  for (int i = 0; i < count; ++i) TF_AddInput(d, in[i]);
  for (const char* at = row->attrs; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "="), at);
    text_attr(d, name, at + strcspn(at, "=") + 1);
  }
  TF_Operation* node = TF_FinishOperation(d, g.status);
  *text = 0;
  const char* said = strstr(TF_Message(g.status), "): "); /* after the node's name and op */
  if (TF_GetCode(g.status) != TF_OK) snprintf(text, SHAPES_TEXT, "!%s", said ? said + 3 : TF_Message(g.status));
  for (int i = 0; node && i < TF_OperationNumOutputs(node); ++i) shapes_add(text, &g, (TF_Output){node, i});
  TF_DeleteGraph(g.graph);
  TF_DeleteStatus(g.status);
}

HR_TEST(what_is_known_of_shapes) {
  const char* only = getenv("HEADRACE_TEST_OPS");
  for (size_t i = 0; i < sizeof shapes_rows / sizeof *shapes_rows; ++i) {
    char got[SHAPES_TEXT];
    if (only && !strstr(only, shapes_rows[i].op)) continue;
    shapes_of(&shapes_rows[i], got);
    if (strcmp(got, shapes_rows[i].want) != 0)
      hr_test_fail("tests/ops/shapes.def", shapes_rows[i].line, "%s of %s gives\n  %s", shapes_rows[i].op, shapes_rows[i].inputs, got);
  }
}
HR_TEST_MAIN()
