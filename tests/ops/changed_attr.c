/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/changed_attr.h"
#include <stdio.h>
#include <string.h>
#include "ops/changed.h"
#include "tensorflow/c/c_api.h"

enum { MOST_LIST = 16 };

static TF_Operation* case_op(TF_Graph* g, const char* op) {
  size_t at = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(g, &at));)
    if (!strcmp(TF_OperationOpType(o), op)) return o;
  return NULL;
}

static void copy_attr(TF_OperationDescription* d, TF_Operation* from, const char* name, TF_Status* s) {
  TF_Buffer* bytes = TF_NewBuffer();
  TF_OperationGetAttrValueProto(from, name, bytes, s);
  if (TF_GetCode(s) == TF_OK) TF_SetAttrValueProto(d, name, bytes->data, bytes->length, s);
  TF_DeleteBuffer(bytes);
}

static void change_ints(TF_OperationDescription* d, TF_Operation* from, const char* name, int64_t count, TF_Status* s) {
  static const int64_t numbers[] = {-1, 0, 1, 2, 3, 5, INT32_MAX};
  int64_t list[MOST_LIST + 1] = {0};
  if (count > MOST_LIST) count = MOST_LIST;
  TF_OperationGetAttrIntList(from, name, list, (int)count, s);
  const int how = changed_below(4);
  if (how == 0 && count) --count;
  else if (how == 1) list[count++] = 1;
  else if (count) list[changed_below(count)] = numbers[changed_below(sizeof numbers / sizeof *numbers)];
  TF_SetAttrIntList(d, name, list, (int)count);
}

static void change_scalar(TF_OperationDescription* d, TF_Operation* from, const char* name, TF_AttrType kind, TF_Status* s) {
  static const int64_t numbers[] = {-1, 0, 1, 2, 3, 4, 7, INT32_MAX};
  static const float reals[] = {0, -1, 0.001f, 0.5f, 2};
  static const char* const texts[] = {"", "VALID", "SAME", "EXPLICIT", "NCHW", "NHWC", "REFLECT", "SYMMETRIC", "nonsense"};
  static const TF_DataType types[] = {TF_FLOAT, TF_DOUBLE, TF_INT32, TF_INT64, TF_STRING, TF_BOOL, TF_HALF, TF_COMPLEX64};
  static const int64_t dims[] = {-1, 2, 3};
  unsigned char held = 0;
  const char* text = texts[changed_below(sizeof texts / sizeof *texts)];
  switch (kind) {
    case TF_ATTR_INT: TF_SetAttrInt(d, name, numbers[changed_below(sizeof numbers / sizeof *numbers)]); break;
    case TF_ATTR_FLOAT: TF_SetAttrFloat(d, name, reals[changed_below(sizeof reals / sizeof *reals)]); break;
    case TF_ATTR_STRING: TF_SetAttrString(d, name, text, strlen(text)); break;
    case TF_ATTR_TYPE: TF_SetAttrType(d, name, types[changed_below(sizeof types / sizeof *types)]); break;
    case TF_ATTR_SHAPE: TF_SetAttrShape(d, name, dims, changed_below(5) - 1); break;
    default: TF_OperationGetAttrBool(from, name, &held, s), TF_SetAttrBool(d, name, !held); break;
  }
}

static bool is_changeable(const TF_AttrMetadata* m) {
  if (m->is_list) return m->type == TF_ATTR_INT;
  return m->type == TF_ATTR_INT || m->type == TF_ATTR_FLOAT || m->type == TF_ATTR_STRING || m->type == TF_ATTR_TYPE ||
         m->type == TF_ATTR_SHAPE || m->type == TF_ATTR_BOOL;
}

TF_Operation* changed_attr_node(op_case_t* t, const hr_op_def_t* def, int number, bool* other) {
  TF_Operation* from = case_op(t->graph, def->op->name);
  TF_AttrMetadata held[MOST_LIST];
  char name[64];
  int can = 0, which;
  *other = true;
  for (int i = 0; from && i < def->attr_count && i < MOST_LIST; ++i) {
    snprintf(name, sizeof name, "%.*s", HR_STR_ARG(def->attrs[i].name));
    TF_SetStatus(t->status, TF_OK, "");
    held[i] = TF_OperationGetAttrMetadata(from, name, t->status);
    can += TF_GetCode(t->status) == TF_OK && is_changeable(&held[i]);
  }
  if (!can || def->attr_count > MOST_LIST) return NULL;
  *other = false;
  which = changed_below(can);
  snprintf(name, sizeof name, "changed_attr_%d", number);
  TF_OperationDescription* d = TF_NewOperation(t->graph, def->op->name, name);
  for (int i = 0; i < TF_OperationNumInputs(from); ++i) TF_AddInput(d, TF_OperationInput((TF_Input){from, i}));
  for (int i = 0; i < def->attr_count; ++i) {
    snprintf(name, sizeof name, "%.*s", HR_STR_ARG(def->attrs[i].name));
    TF_SetStatus(t->status, TF_OK, "");
    if (!is_changeable(&held[i]) || which-- != 0) copy_attr(d, from, name, t->status);
    else if (held[i].is_list) change_ints(d, from, name, held[i].list_size, t->status);
    else change_scalar(d, from, name, held[i].type, t->status);
  }
  TF_SetStatus(t->status, TF_OK, "");
  return TF_FinishOperation(d, t->status);
}
